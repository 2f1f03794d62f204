//! TLS: whose certificate is accepted.

use std::net::TcpListener;
use std::time::Duration;

use crawler::causes::with_causes;
use crawler::cluster::{Address, Database, Terms};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
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
    serve_with(dir, certified_by, &[])
}

/// As [`serve`], with further options.
fn serve_with(dir: &TempDir, certified_by: Option<&Authority>, further: &[String]) -> Option<(Server, u16)> {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut options = vec!["listen_addresses=127.0.0.1".to_owned()];
    options.extend_from_slice(further);
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

/// A server that asks for a certificate takes that of the URL, by its name, and none of another authority.
#[test]
fn a_client_shows_its_certificate() {
    let (dir, ours) = (TempDir::new().unwrap(), authority());
    let ca = Server::file(dir.path(), "ca.pem", &ours.pem());
    let hba = Server::file(dir.path(), "hba", "local all all trust\nhostssl all all 127.0.0.1/32 cert\n");
    let options = [format!("ssl_ca_file={}", ca.display()), format!("hba_file={}", hba.display())];
    let Some((server, port)) = serve_with(&dir, Some(&ours), &options) else { return };
    let client = |name: &str, by: &Authority| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, by).unwrap();
        let file = |kind: &str, text: &str| {
            Server::file(dir.path(), &format!("{name}.{kind}"), text).display().to_string()
        };
        (file("pem", &certificate.pem()), file("key", &key.serialize_pem()))
    };
    let url = |rest: &str| {
        let database = server.database();
        let name = database.split("///").nth(1).unwrap().split('?').next().unwrap();
        format!("postgres://crawl@localhost:{port}/{name}?sslrootcert={}{rest}", ca.display())
    };
    let (certificate, key) = client("crawl", &ours);
    let both = format!("&sslcert={certificate}&sslkey={key}");
    assert_eq!(connect(&url(&both)), Ok(()));
    let (other, other_key) = client("eve", &ours);
    let (foreign, foreign_key) = client("mallory", &authority());
    for (rest, why) in [
        (String::new(), "connection requires a valid client certificate"),
        (format!("&sslcert={other}&sslkey={other_key}"), "certificate authentication failed"),
        (format!("&sslcert={foreign}&sslkey={foreign_key}"), ""),
        (format!("&sslcert={certificate}&sslkey={other_key}"), "TLS can't be set up"),
        (format!("&sslcert={key}&sslkey={key}"), "no certificate"),
        (format!("&sslcert={certificate}&sslkey={certificate}"), "sslkey"),
    ] {
        let error = connect(&url(&rest)).unwrap_err();
        assert!(error.contains(why), "{rest}: {error}");
    }
    let by_variables = |certificate: &str| {
        let mut command = crate::program::crawl(&["cluster", "status", &url("")]);
        command.env("PGSSLCERT", certificate).env("PGSSLKEY", &key);
        crate::program::text(&command.output().unwrap())
    };
    // There is no crawl: who gets this answer was let in.
    let said = by_variables(&certificate);
    assert!(said.contains("there is no crawl"), "{said}");
    let said = by_variables("/nowhere/own.pem");
    assert!(said.contains("sslcert") && said.contains("/nowhere/own.pem"), "{said}");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let error = connect(&url(&both)).unwrap_err();
    assert!(error.contains("chmod 600"), "{error}");
}

/// `crawl` takes the password from where it is kept, and says so where it is in the process list.
#[test]
fn a_password_is_read_from_the_file_that_others_use_too() {
    let dir = TempDir::new().unwrap();
    let hba = Server::file(
        dir.path(),
        "hba",
        "local postgres all trust\nlocal all ann scram-sha-256\nlocal all all trust\n",
    );
    let Some(server) = Server::start(&[format!("hba_file={}", hba.display())]) else { return };
    server.sql("postgres", "create role ann login superuser password 'right'");
    let database = server.database();
    let url = database.replace("user=crawl", "user=ann");
    let name = url.split("///").nth(1).unwrap().split('?').next().unwrap();
    let socket = server.dir().display();
    let (file, home) = (dir.path().join("pass"), dir.path().join("home"));
    std::fs::create_dir(&home).unwrap();
    let status = |url: &str, set: &[(&str, &std::path::Path)]| {
        let mut command = crate::program::crawl(&["cluster", "status", url]);
        command.env_remove("PGPASSWORD").env_remove("PGPASSFILE").env("HOME", "/nowhere");
        crate::program::text(&command.envs(set.iter().copied()).output().unwrap())
    };
    // There is no crawl: who gets this answer was let in.
    let (let_in, refused) = ("there is no crawl", "can't be reached");
    let write = |path: &std::path::Path, password: &str, mode: u32| {
        std::fs::write(path, format!("{socket}:5432:{name}:ann:{password}\n")).unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    assert!(status(&url, &[]).contains(refused));
    write(&file, "right", 0o600);
    assert!(status(&url, &[("PGPASSFILE", &file)]).contains(let_in));
    write(&home.join(".pgpass"), "right", 0o600);
    assert!(status(&url, &[("HOME", &home)]).contains(let_in));
    write(&file, "wrong", 0o600);
    assert!(status(&url, &[("PGPASSFILE", &file), ("HOME", &home)]).contains(refused));
    assert!(status(&url, &[("PGPASSFILE", &file), ("PGPASSWORD", "right".as_ref())]).contains(let_in));
    write(&file, "right", 0o644);
    let said = status(&url, &[("PGPASSFILE", &file)]);
    assert!(said.contains(refused) && said.contains("warning") && said.contains("chmod 600"), "{said}");
    let said = status(&format!("{url}&password=right"), &[]);
    assert!(
        said.contains(let_in) && said.contains("warning") && said.contains("list of processes"),
        "{said}"
    );
    assert!(!status(&url, &[("HOME", &home)]).contains("warning"));
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
