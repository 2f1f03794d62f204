//! The name service: what it answers, what it doesn't, and what it says the second time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crawler::fetch::{AddressClass, ErrorKind, FetchSettings, HttpFetch, RequestKind};
use tokio::net::UdpSocket;
use tokio::time::Instant;

use crate::server::{Server, answer, bounded, closed, request, settings};

/// What the name server says to a question.
enum Says {
    Addresses(Vec<[u8; 4]>),
    Code(u8),
    Nothing,
}

/// A name server that answers by `says`, which is given the name and how often it was asked for an IPv4 address before.
async fn name_server(says: impl Fn(&str, usize) -> Says + Send + 'static) -> (SocketAddr, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let addr = socket.local_addr().unwrap();
    let questions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&questions);
    tokio::spawn(async move {
        let mut asked = std::collections::HashMap::<String, usize>::new();
        let mut bytes = [0; 1500];
        while let Ok((size, client)) = socket.recv_from(&mut bytes).await {
            let query = &bytes[..size];
            let (name, end) = question(query);
            // RFC 1035 section 4.1.2: the type follows the name, 1 is A.
            let is_v4 = query[end..end + 2] == [0, 1];
            count.fetch_add(1, Ordering::SeqCst);
            let nth = asked.entry(name.clone()).or_default();
            let said = match says(&name, *nth) {
                Says::Nothing => continue,
                Says::Code(code) => message(query, end, code, &[]),
                Says::Addresses(found) if is_v4 => message(query, end, 0, &found),
                Says::Addresses(_) => message(query, end, 0, &[]),
            };
            *nth += usize::from(is_v4);
            socket.send_to(&said, client).await.unwrap();
        }
    });
    (addr, questions)
}

/// The name in a query, and the position of its type.
fn question(query: &[u8]) -> (String, usize) {
    let (mut name, mut at) = (String::new(), 12);
    while query[at] != 0 {
        let end = at + 1 + usize::from(query[at]);
        name.push_str(&String::from_utf8_lossy(&query[at + 1..end]));
        name.push('.');
        at = end;
    }
    (name.to_ascii_lowercase(), at + 1)
}

/// RFC 1035 section 4.1: the question again, and addresses that hold for no time.
fn message(query: &[u8], end: usize, code: u8, found: &[[u8; 4]]) -> Vec<u8> {
    let mut bytes = vec![query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, found.len() as u8, 0, 0, 0, 0];
    bytes.extend_from_slice(&query[12..end + 4]);
    for addr in found {
        bytes.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        bytes.extend(addr);
    }
    bytes
}

const HERE: [u8; 4] = Ipv4Addr::LOCALHOST.octets();

fn http(dns: SocketAddr, more: FetchSettings) -> HttpFetch {
    HttpFetch::new(FetchSettings { dns: vec![dns], ..more }).unwrap()
}

#[tokio::test]
async fn the_name_servers_of_the_settings_are_asked() {
    let server = Server::saying(answer("", b"ok")).await;
    let (dns, questions) = name_server(|_, _| Says::Addresses(vec![HERE])).await;
    let http = http(dns, settings());
    let url = format!("http://a.test:{}/", server.addr.port());
    assert_eq!(bounded(&http, request(&url, RequestKind::Page)).await.unwrap().remote, Some(server.addr));
    assert!(questions.load(Ordering::SeqCst) > 0);
}

#[tokio::test]
async fn a_rule_and_an_address_need_no_name_server() {
    let server = Server::saying(answer("", b"ok")).await;
    let (dns, questions) = name_server(|_, _| Says::Code(2)).await;
    let rule = format!("a.test:127.0.0.1:{}", server.addr.port()).parse().unwrap();
    let http = http(dns, FetchSettings { resolve: vec![rule], ..settings() });
    for url in ["http://a.test/".to_owned(), format!("http://{}/", server.addr)] {
        assert!(bounded(&http, request(&url, RequestKind::Page)).await.is_ok(), "{url}");
    }
    assert_eq!(questions.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn names_without_addresses_are_dns_errors_that_say_why() {
    let (dns, _) = name_server(|name, _| match name {
        "none.test." => Says::Code(3),
        "empty.test." => Says::Addresses(Vec::new()),
        _ => Says::Code(2),
    })
    .await;
    let http = http(dns, settings());
    for (host, words) in
        [("none.test", "doesn't exist"), ("empty.test", "has no address"), ("broken.test", "")]
    {
        let error = bounded(&http, request(&format!("http://{host}/"), RequestKind::Page)).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::Dns, false), "{host}: {error}");
        assert!(error.detail.contains(words), "{host}: {error}");
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the wait itself is measured")]
async fn a_name_server_that_doesnt_answer_for_one_host_delays_no_other() {
    let server = Server::saying(answer("", b"ok")).await;
    let (dns, _) =
        name_server(
            |name, _| {
                if name.starts_with("black") { Says::Nothing } else { Says::Addresses(vec![HERE]) }
            },
        )
        .await;
    let deadline = Duration::from_secs(3);
    let http = Arc::new(http(dns, FetchSettings { dns_timeout: deadline, ..settings() }));
    let begun = Instant::now();
    let silent: Vec<_> = (0..100)
        .map(|n| {
            let http = Arc::clone(&http);
            tokio::spawn(async move {
                bounded(&http, request(&format!("http://black{n}.test/"), RequestKind::Page))
                    .await
                    .unwrap_err()
            })
        })
        .collect();
    let url = format!("http://a.test:{}/", server.addr.port());
    assert!(bounded(&http, request(&url, RequestKind::Page)).await.is_ok());
    assert!(begun.elapsed() < deadline, "{:?}", begun.elapsed());
    for task in silent {
        let error = task.await.unwrap();
        assert_eq!((error.kind, error.connected), (ErrorKind::Dns, false), "{error}");
        assert!(error.elapsed < deadline * 3, "{error} after {:?}", error.elapsed);
    }
}

#[tokio::test]
async fn addresses_from_dns_are_guarded_and_open_ones_used() {
    let server = Server::saying(answer("", b"ok")).await;
    let (dns, _) = name_server(|name, _| match name {
        "private.test." => Says::Addresses(vec![HERE, [10, 0, 0, 1], [169, 254, 169, 254]]),
        _ => Says::Addresses(vec![[169, 254, 169, 254], HERE]),
    })
    .await;
    let closed = http(dns, closed());
    let port = server.addr.port();
    let unnamed = |host: &str| request(&format!("http://{host}:{port}/"), RequestKind::Page);
    let error = bounded(&closed, unnamed("private.test")).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{error}");
    assert!(error.detail.contains("--allow-net 127.0.0.1/32"), "{error}");
    let nets = vec!["127.0.0.1/32".parse().unwrap()];
    let open = http(dns, FetchSettings { allow_net: nets, ..settings() });
    assert_eq!(bounded(&open, unnamed("mixed.test")).await.unwrap().remote, Some(server.addr));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_judged_by_each_one() {
    let server = Server::saying(answer("", b"ok")).await;
    let (dns, _) =
        name_server(|_, nth| Says::Addresses(vec![[127, 0, 0, if nth == 0 { 1 } else { 2 }]])).await;
    let nets = vec!["127.0.0.1/32".parse().unwrap()];
    // Every request has a connection of its own, as after its life span.
    let http = http(dns, FetchSettings { allow_net: nets, connection_life: Duration::ZERO, ..settings() });
    let url = format!("http://rebind.test:{}/", server.addr.port());
    let page = || request(&url, RequestKind::Page);
    assert!(bounded(&http, page()).await.is_ok());
    let error = bounded(&http, page()).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{error}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_that_changes_its_class_isnt_followed_whatever_is_open() {
    let server = Server::saying(answer("", b"ok")).await;
    let port = server.addr.port();
    let (dns, _) = name_server(|name, nth| match (name, nth) {
        ("moved.test.", 1..) => Says::Addresses(vec![[10, 0, 0, 1]]),
        _ => Says::Addresses(vec![HERE]),
    })
    .await;
    let nets = ["127.0.0.0/8", "10.0.0.0/8"].map(|net| net.parse().unwrap()).to_vec();
    // Every request has a connection of its own, as after its life span.
    let http = http(dns, FetchSettings { allow_net: nets, connection_life: Duration::ZERO, ..closed() });
    let ask = |host: &str, class: &Arc<OnceLock<AddressClass>>| {
        let mut request = request(&format!("http://{host}:{port}/"), RequestKind::Page);
        request.class = Arc::clone(class);
        request
    };
    // Its first answer, in an earlier run say, was public. A seed's name is a name like any other.
    let public = Arc::new(OnceLock::from(AddressClass::Public));
    for host in ["rebound.test", "localhost"] {
        let error = bounded(&http, ask(host, &public)).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{error}");
        assert!(error.detail.contains("loopback") && error.detail.contains("public"), "{error}");
    }
    // Or it was loopback, which is open, and is another network of one's own now, which is open too.
    let first = Arc::default();
    assert!(bounded(&http, ask("moved.test", &first)).await.is_ok());
    assert_eq!(first.get(), Some(&AddressClass::Loopback));
    let error = bounded(&http, ask("moved.test", &first)).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{error}");
    assert_eq!(server.connections(), 1);
}
