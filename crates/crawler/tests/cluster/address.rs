//! TLS: whose certificate is accepted.

use std::net::TcpListener;
use std::time::Duration;

use crawler::causes::with_causes;
use crawler::cluster::{Address, Database, Terms};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::server::Server;
use crate::store::make;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A server on a port of 127.0.0.1, with a certificate for `localhost` or without TLS.
fn serve(dir: &TempDir, certified_by: Option<&Authority>) -> Option<(Server, u16)> {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut options = vec!["listen_addresses=127.0.0.1".to_owned()];
    if let Some(authority) = certified_by {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, authority).unwrap();
        let certificate = Server::file(dir.path(), "server.pem", &certificate.pem());
        let key = Server::file(dir.path(), "server.key", &key.serialize_pem());
        options.push("ssl=on".to_owned());
        options.push(format!("ssl_cert_file={}", certificate.display()));
        options.push(format!("ssl_key_file={}", key.display()));
    }
    Some((Server::start_on(port, &options)?, port))
}

fn connect(url: &str) -> Result<(), String> {
    let address: Address = url.parse().map_err(|error| with_causes(&error))?;
    let opened = make(&address, Terms { lease: Duration::from_secs(3), partitions: 4 })
        .and_then(|()| Database::open(address, Duration::from_secs(5)));
    opened.map(drop).map_err(|error| with_causes(&error))
}

/// The name and the authority have to be right; nothing is sent before they are known to be.
#[test]
fn the_certificate_of_a_server_is_verified() {
    let (dir, ours) = (TempDir::new().unwrap(), authority());
    let Some((server, port)) = serve(&dir, Some(&ours)) else { return };
    let trusted = Server::file(dir.path(), "ca.pem", &ours.pem());
    let other = Server::file(dir.path(), "other.pem", &authority().pem());
    let empty = Server::file(dir.path(), "empty.pem", "");
    let url = |host: &str, ca: &std::path::Path, rest: &str| {
        let database = server.database();
        let name = database.split("///").nth(1).unwrap().split('?').next().unwrap();
        format!("postgres://crawl@{host}:{port}/{name}?sslrootcert={}{rest}", ca.display())
    };
    assert_eq!(connect(&url("localhost", &trusted, "")), Ok(()));
    assert_eq!(connect(&url("localhost", &trusted, "&sslmode=require")), Ok(()));
    for (url, why) in [
        (url("127.0.0.1", &trusted, "&sslmode=require"), "not valid for name"),
        (url("localhost", &other, "&sslmode=verify-ca"), "invalid peer certificate"),
        (url("localhost", &other, ""), "invalid peer certificate"),
        (url("localhost", std::path::Path::new("system"), ""), "invalid peer certificate"),
        (url("localhost", &empty, ""), "no certificate"),
    ] {
        let error = connect(&url).unwrap_err();
        assert!(error.contains(why), "{url}: {error}");
    }
}

#[test]
fn a_server_without_tls_is_refused_unless_the_url_says_plain() {
    let dir = TempDir::new().unwrap();
    let Some((server, port)) = serve(&dir, None) else { return };
    let url = |mode: &str| {
        let database = server.database();
        let name = database.split("///").nth(1).unwrap().split('?').next().unwrap();
        format!("postgres://crawl@127.0.0.1:{port}/{name}{mode}")
    };
    for mode in ["", "?sslmode=require", "?sslmode=verify-full"] {
        let error = connect(&url(mode)).unwrap_err();
        assert!(error.contains("server does not support TLS"), "{error}");
    }
    assert_eq!(connect(&url("?sslmode=disable")), Ok(()));
}
