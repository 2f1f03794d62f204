//! TLS: who is trusted, and HTTP/2.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crawler::fetch::{ErrorKind, FetchSettings, HttpFetch, RequestKind};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{Server, answer, bounded, request, settings};

const SERVERS: &str = "CRAWL_TEST_TLS_SERVERS";

type Stream = tokio_rustls::server::TlsStream<tokio::net::TcpStream>;
type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// How a server behaves once TLS is established.
#[derive(Clone)]
enum Behaviour {
    /// Answers "secret" over HTTP/1.1.
    Http1,
    /// Answers "secret" over HTTP/2.
    Http2,
    /// Answers over HTTP/2 with a header section that never ends; counts the connections that were closed.
    Flood(Arc<AtomicUsize>),
    /// Answers every PING of HTTP/2 and sends more of its own, but never an answer; counts the connections that were closed.
    Pings(Arc<AtomicUsize>),
    /// Offers both; answers "secret" over HTTP/1.1; over HTTP/2 sends these bytes and closes the connection.
    Broken(Vec<u8>),
    /// The same, but has HTTP/2 alone.
    BrokenAlone(Vec<u8>),
}

/// Starts a server under the name `name`.
async fn serve(authority: &Authority, name: &str, behaviour: Behaviour) -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let cert = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, authority).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .unwrap();
    let protocols: &[&str] = match behaviour {
        Behaviour::Http1 => &["http/1.1"],
        Behaviour::Broken(_) => &["h2", "http/1.1"],
        _ => &["h2"],
    };
    config.alpn_protocols = protocols.iter().map(|protocol| (*protocol).into()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, behaviour) = (acceptor.clone(), behaviour.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(tcp).await else { return };
                match behaviour {
                    Behaviour::Http1 => speak_http1(stream).await,
                    Behaviour::Http2 => speak_http2(stream).await,
                    Behaviour::Broken(_) if stream.get_ref().1.alpn_protocol() == Some(b"http/1.1") => {
                        speak_http1(stream).await;
                    }
                    Behaviour::Broken(said) | Behaviour::BrokenAlone(said) => {
                        break_http2(stream, &said).await;
                    }
                    Behaviour::Flood(closed) => {
                        flood_http2(stream).await;
                        closed.fetch_add(1, Ordering::SeqCst);
                    }
                    Behaviour::Pings(closed) => {
                        ping_http2(stream).await;
                        closed.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    addr
}

/// Answers until the client closes: a server that closes first may do so while the next request is on its way.
async fn speak_http1(mut stream: Stream) {
    let mut head = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        head.push(byte);
        if head.ends_with(b"\r\n\r\n") {
            stream.write_all(b"HTTP/1.1 200 Fine Enough\r\nContent-LENGTH: 6\r\n\r\nsecret").await.unwrap();
            stream.flush().await.unwrap();
            head.clear();
        }
    }
}

async fn speak_http2(stream: Stream) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        assert!(!request.headers().contains_key("host"), "HTTP/2 has :authority");
        let answer = hyper::Response::builder().status(200).header("x-a", "b").body(()).unwrap();
        let mut body = respond.send_response(answer, false).unwrap();
        body.send_data("secret".into(), true).unwrap();
    }
}

/// Sends SETTINGS and `said` as soon as a request came, and closes the connection.
async fn break_http2(mut stream: Stream, said: &[u8]) {
    let talk: std::io::Result<()> = async {
        stream.read_exact(&mut [0; 24]).await?;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await?;
            let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
            stream.read_exact(&mut payload).await?;
            if head[3] == 1 {
                break;
            }
        }
        stream.write_all(&frame(4, 0, 0, &[])).await?;
        stream.write_all(said).await?;
        stream.shutdown().await?;
        // Until the client has read it all.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
        Ok(())
    }
    .await;
    drop(talk);
}

/// One frame (RFC 9113 section 4.1).
fn frame(kind: u8, flags: u8, stream_id: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream_id];
    bytes.extend_from_slice(payload);
    bytes
}

/// `RST_STREAM` with an error code (RFC 9113 section 7).
fn reset(code: u32) -> Vec<u8> {
    frame(3, 0, 1, &code.to_be_bytes())
}

/// Status 200 with one more field and no body.
fn answer_with(name: &str, value: &str) -> Vec<u8> {
    let field = [&[0x88, 0, name.len() as u8][..], name.as_bytes(), &[value.len() as u8], value.as_bytes()];
    frame(1, 0b101, 1, &field.concat())
}

/// What servers that break HTTP/2 say.
fn broken_http2() -> Vec<(&'static str, Behaviour)> {
    const REQUIRED: u32 = 0xd;
    let begun = |more: Vec<u8>| [frame(1, 0b100, 1, &[0x88]), more].concat();
    vec![
        ("required", Behaviour::Broken(reset(REQUIRED))),
        ("goaway", Behaviour::Broken(frame(7, 0, 0, &[0, 0, 0, 0, 0, 0, 0, REQUIRED as u8]))),
        ("internal", Behaviour::Broken(reset(2))),
        ("in-body", Behaviour::Broken(begun(reset(2)))),
        ("plain", Behaviour::Broken(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())),
        ("closes", Behaviour::Broken(Vec::new())),
        ("connection", Behaviour::Broken(answer_with("connection", "close"))),
        ("upgrade", Behaviour::Broken(answer_with("upgrade", "h2,h2c"))),
        ("keep-alive", Behaviour::Broken(answer_with("keep-alive", "timeout=5"))),
        ("control", Behaviour::Broken(answer_with("x-a", "b\x01"))),
        ("alone", Behaviour::BrokenAlone(reset(REQUIRED))),
        ("calm", Behaviour::Broken(reset(0xb))),
    ]
}

/// Sends SETTINGS, HEADERS without an end, and CONTINUATION frames (RFC 9113 section 6.10) until the client closes.
async fn flood_http2(stream: Stream) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    // What the client says isn't judged, but read, so that it is never the one that waits.
    let reading = tokio::spawn(async move { tokio::io::copy(&mut reader, &mut tokio::io::sink()).await });
    let mut said = frame(4, 0, 0, &[]);
    // 0x88 is `:status: 200` in HPACK's static table.
    said.extend(frame(1, 0, 1, &[0x88]));
    // A literal field line without indexing, `a: b`.
    let more = frame(9, 0, 1, &[0x00, 1, b'a', 1, b'b']).repeat(50);
    while writer.write_all(&said).await.is_ok() && writer.flush().await.is_ok() {
        said.clone_from(&more);
    }
    reading.abort();
}

/// Sends SETTINGS, then PINGs, and acknowledges those of the client (RFC 9113 section 6.7), until the client closes.
async fn ping_http2(stream: Stream) {
    const PING: [u8; 9] = [0, 0, 8, 6, 0, 0, 0, 0, 0];
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (asked, mut answers) = tokio::sync::mpsc::unbounded_channel::<[u8; 8]>();
    let reading = async {
        let mut preface = [0; 24];
        reader.read_exact(&mut preface).await?;
        loop {
            let mut head = [0; 9];
            reader.read_exact(&mut head).await?;
            let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
            reader.read_exact(&mut payload).await?;
            if head[3] == PING[3] && head[4] == 0 {
                asked.send(payload.try_into().unwrap()).unwrap();
            }
        }
    };
    let writing = async {
        writer.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
        loop {
            let mut said = [&PING[..], &[7; 8]].concat().repeat(20);
            while let Ok(payload) = answers.try_recv() {
                said.extend_from_slice(&[0, 0, 8, 6, 1, 0, 0, 0, 0]);
                said.extend_from_slice(&payload);
            }
            writer.write_all(&said).await?;
            writer.flush().await?;
            tokio::task::yield_now().await;
        }
    };
    let ended: std::io::Result<()> = tokio::select! { end = reading => end, end = writing => end };
    drop(ended);
}

fn rules(servers: &str) -> Vec<crawler::config::ResolveRule> {
    servers.split(' ').map(|rule| rule.parse().unwrap()).collect()
}

async fn start_servers(authority: &Authority) -> String {
    let one = serve(authority, "one.example", Behaviour::Http1).await;
    let two = serve(authority, "two.example", Behaviour::Http2).await;
    let wrong = serve(authority, "other.example", Behaviour::Http1).await;
    let closed = [Arc::<AtomicUsize>::default(), Arc::default()];
    let flood = serve(authority, "flood.example", Behaviour::Flood(Arc::clone(&closed[0]))).await;
    let pings = serve(authority, "pings.example", Behaviour::Pings(Arc::clone(&closed[1]))).await;
    let count = Server::start(move |mut conn| {
        let closed = closed.clone();
        async move {
            while let Some(head) = conn.request().await {
                let closed = &closed[usize::from(head.starts_with("GET /pings"))];
                conn.send(answer("", closed.load(Ordering::SeqCst).to_string().as_bytes())).await;
            }
        }
    })
    .await;
    let silent = Server::start(|conn| async move {
        std::future::pending::<()>().await;
        drop(conn);
    })
    .await;
    let mut broken = Vec::new();
    for (name, behaviour) in broken_http2() {
        broken.push((name, serve(authority, &format!("{name}.example"), behaviour).await));
    }
    [("one", one), ("two", two), ("wrong", wrong), ("flood", flood), ("pings", pings)]
        .into_iter()
        .chain(broken)
        .chain([("count", count.addr), ("silent", silent.addr)])
        .map(|(name, addr)| format!("{name}.example:{addr}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn an_unknown_authority_is_a_tls_error() {
    let servers = start_servers(&authority()).await;
    let http = HttpFetch::new(FetchSettings { resolve: rules(&servers), ..settings() }).unwrap();
    for name in ["one.example", "two.example"] {
        let error =
            bounded(&http, request(&format!("https://{name}/"), RequestKind::Page)).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::Tls, false), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_a_tls_error() {
    let talkative = Server::start(|mut conn| async move {
        conn.send("220 mail.example ESMTP\r\n").await;
        conn.request().await;
    })
    .await;
    let http = HttpFetch::new(settings()).unwrap();
    let error = bounded(&http, request(&format!("https://{}/", talkative.addr), RequestKind::Page))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Tls, "{error}");
}

#[tokio::test]
async fn a_handshake_without_an_answer_ends_at_the_connect_timeout() {
    let silent = Server::start(|conn| async move {
        std::future::pending::<()>().await;
        drop(conn);
    })
    .await;
    let hasty = FetchSettings { connect_timeout: Duration::from_millis(200), ..settings() };
    let request = request(&format!("https://{}/", silent.addr), RequestKind::Page);
    let error = bounded(&HttpFetch::new(hasty).unwrap(), request).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::Timeout, false), "{error}");
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
            let response =
                bounded(&http, request(&format!("https://{name}/"), RequestKind::Page)).await.unwrap();
            assert_eq!((response.version, &response.body[..]), (version, &b"secret"[..]));
            let tls = response.tls.unwrap();
            assert_eq!(tls.protocol, "tls/1.3");
            assert!(tls.cipher_suite.starts_with("TLS_"), "{tls:?}");
            let head = response.response_head.map(|head| String::from_utf8(head).unwrap());
            // Over HTTP/2 a head has no text.
            let sent = "HTTP/1.1 200 Fine Enough\r\nContent-LENGTH: 6\r\n\r\n";
            assert_eq!(head.as_deref(), (version == "HTTP/1.1").then_some(sent));
        }
    }
    let error = bounded(&http, request("https://wrong.example/", RequestKind::Page)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Tls, "a certificate for another name: {error}");
    flooded(&http).await;
    pinged(servers).await;
    broken(&http).await;
}

/// A host that can't be asked over HTTP/2 is to be asked again, over HTTP/1.1, and stays on it (RFC 9113 section 7).
async fn broken(http: &HttpFetch) {
    let ask =
        async |name| bounded(http, request(&format!("https://{name}.example/"), RequestKind::Page)).await;
    for (name, behaviour) in broken_http2() {
        let error = ask(name).await.unwrap_err();
        assert!(error.connected && !error.stale, "{name}: {error}");
        match behaviour {
            Behaviour::BrokenAlone(_) => {
                assert!(error.http_1, "{name}: {error}");
                for _ in 0..2 {
                    let error = ask(name).await.unwrap_err();
                    assert_eq!((error.kind, error.http_1), (ErrorKind::Protocol, false), "{name}: {error}");
                }
            }
            _ if name == "calm" => {
                assert!(!error.http_1, "{name}: {error}");
                let error = ask(name).await.unwrap_err();
                assert!(!error.http_1, "{name}: {error}");
            }
            _ => {
                assert!(error.http_1, "{name}: {error}");
                for _ in 0..2 {
                    let response = ask(name).await.unwrap();
                    assert_eq!(
                        (response.version, &response.body[..]),
                        ("HTTP/1.1", &b"secret"[..]),
                        "{name}"
                    );
                }
            }
        }
    }
}

/// The end of a try that ran out of time is the end of its connection, though the server answers every probe; whatever other
/// hosts do meanwhile, and without harm to them.
async fn pinged(servers: &str) {
    let http = HttpFetch::new(FetchSettings {
        resolve: rules(servers),
        timeout: Duration::from_secs(1),
        ..settings()
    })
    .unwrap();
    let patient = tokio::time::timeout(Duration::from_secs(3), async {
        let error = bounded(&http, request("https://pings.example/", RequestKind::Page)).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::Timeout, true), "{error}");
        while bounded(&http, request("http://count.example/pings", RequestKind::Page)).await.unwrap().body
            == "0"
        {}
    });
    let others = async {
        loop {
            let error =
                bounded(&http, request("http://silent.example/", RequestKind::Page)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
        }
    };
    tokio::select! {
        ended = patient => ended.expect("the connection ends with the try"),
        () = others => {}
    }
}

async fn flooded(http: &HttpFetch) {
    let error = bounded(http, request("https://flood.example/", RequestKind::Page)).await.unwrap_err();
    // The connection is closed at the limit; whether the request hears of the reason first is a matter of turns.
    assert!([ErrorKind::TooLarge, ErrorKind::Connection].contains(&error.kind), "{error}");
    assert_eq!(error.status, None);
    // The end of the request isn't enough: the connection ends as well.
    for _ in 0..100_000 {
        let count = bounded(http, request("http://count.example/", RequestKind::Page)).await.unwrap();
        if count.body != "0" {
            return;
        }
    }
    panic!("the flooded connection lives on");
}
