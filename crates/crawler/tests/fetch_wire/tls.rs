//! TLS: who is trusted, and HTTP/2.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use crawler::fetch::{ErrorKind, FetchSettings, HttpFetch, Purpose};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{bounded, seed, settings};

const SERVERS: &str = "CRAWL_TEST_TLS_SERVERS";

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Starts a server under the name `name` that speaks `protocol` alone and answers "secret".
async fn serve(authority: &Authority, name: &str, protocol: &'static str) -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let cert = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, authority).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(tcp).await else { return };
                if protocol == "h2" { speak_http2(stream).await } else { speak_http1(stream).await }
            });
        }
    });
    addr
}

async fn speak_http1(mut stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(octet) = stream.read_u8().await else { return };
        head.push(octet);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret").await.unwrap();
    stream.shutdown().await.unwrap();
}

async fn speak_http2(stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        assert!(!request.headers().contains_key("host"), "HTTP/2 has :authority");
        let answer = hyper::Response::builder().status(200).header("x-a", "b").body(()).unwrap();
        let mut body = respond.send_response(answer, false).unwrap();
        body.send_data("secret".into(), true).unwrap();
    }
}

fn rules(servers: &str) -> Vec<crawler::fetch::ResolveRule> {
    servers.split(' ').map(|rule| rule.parse().unwrap()).collect()
}

async fn start_servers(authority: &Authority) -> String {
    let one = serve(authority, "one.example", "http/1.1").await;
    let two = serve(authority, "two.example", "h2").await;
    let wrong = serve(authority, "other.example", "http/1.1").await;
    format!("one.example:{one} two.example:{two} wrong.example:{wrong}")
}

#[tokio::test]
async fn an_unknown_authority_is_a_tls_error() {
    let servers = start_servers(&authority()).await;
    let http = HttpFetch::new(FetchSettings { resolve: rules(&servers), ..settings() }).unwrap();
    for name in ["one.example", "two.example"] {
        let error = bounded(&http, seed(&format!("https://{name}/"), Purpose::Page)).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::Tls, false), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_tls_error() {
    let talkative = crate::server::Server::start(|mut conn| async move {
        conn.send("220 mail.example ESMTP\r\n").await;
        conn.request().await;
    })
    .await;
    let http = HttpFetch::new(settings()).unwrap();
    let error =
        bounded(&http, seed(&format!("https://{}/", talkative.addr), Purpose::Page)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Tls, "{error}");
}

#[test]
fn ssl_cert_file_names_the_trusted_authorities() {
    let test = "tls::ssl_cert_file_names_the_trusted_authorities";
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    if let Ok(servers) = std::env::var(SERVERS) {
        runtime.block_on(fetch_as_the_child(&servers));
        return;
    }
    let authority = authority();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let servers = runtime.block_on(start_servers(&authority));
    let child = |file: &std::path::Path| {
        let this = std::env::current_exe().unwrap();
        Command::new(this)
            .args(["--exact", test])
            .env("SSL_CERT_FILE", file)
            .env(SERVERS, &servers)
            .output()
            .unwrap()
    };
    let output = child(&file);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let missing = child(&dir.path().join("missing.pem"));
    let said = String::from_utf8_lossy(&missing.stdout).into_owned();
    assert!(
        !missing.status.success() && said.contains("TrustStore"),
        "a file that isn't there is no trust: {said}"
    );
}

async fn fetch_as_the_child(servers: &str) {
    let http = HttpFetch::new(FetchSettings { resolve: rules(servers), ..settings() }).unwrap();
    for (name, version) in [("one.example", "HTTP/1.1"), ("two.example", "HTTP/2")] {
        for _ in 0..2 {
            let response = bounded(&http, seed(&format!("https://{name}/"), Purpose::Page)).await.unwrap();
            assert_eq!((response.version, &response.body[..]), (version, &b"secret"[..]));
        }
    }
    let error = bounded(&http, seed("https://wrong.example/", Purpose::Page)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Tls, "a certificate for another name: {error}");
}
