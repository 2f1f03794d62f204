//! Where connections may go: resolve rules and the address guard.

use crawler::fetch::{ErrorKind, FetchRequest, FetchSettings, HttpFetch, RequestKind};

use std::sync::Arc;

use crawler::fetch::{AddressClass, Booked, OwnSeeds};

use crate::server::{Server, bounded, closed, request, settings};

fn page(url: &str) -> FetchRequest {
    request(url, RequestKind::Page)
}

/// Settings with seeds, which open nothing else.
fn seeded(seeds: &[String]) -> HttpFetch {
    let seeds: Vec<url::Url> = seeds.iter().map(|url| url.parse().unwrap()).collect();
    HttpFetch::new(FetchSettings { own_seeds: OwnSeeds::of(&seeds), ..closed() }).unwrap()
}

/// A server that answers with the Host field.
async fn echo() -> Server {
    Server::start(|mut conn| async move {
        while let Some(head) = conn.request().await {
            let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
            conn.send(crate::server::answer("", host.as_bytes())).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_rule_with_a_port_serves_urls_without_one_and_the_host_field_stays() {
    let (by_rule, other) = (echo().await, echo().await);
    let rule = format!("joes.example:127.0.0.1:{}", by_rule.addr.port()).parse().unwrap();
    // The rule itself opens the address, with its port.
    let http = HttpFetch::new(FetchSettings { resolve: vec![rule], ..closed() }).unwrap();
    let explicit = by_rule.addr.port();
    for (url, host) in [
        ("http://joes.example/".to_owned(), "joes.example".to_owned()),
        ("http://JOES.example:80/x".to_owned(), "joes.example".to_owned()),
        (format!("http://joes.example:{explicit}/"), format!("joes.example:{explicit}")),
    ] {
        let response = bounded(&http, page(&url)).await.unwrap();
        assert_eq!(response.body, host.as_bytes(), "{url}");
        assert_eq!(response.remote, Some(by_rule.addr), "{url}");
    }
    let url = format!("http://joes.example:{}/", other.addr.port());
    let error = bounded(&http, page(&url)).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{error}");
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_rule_without_a_port_opens_the_address_of_its_host() {
    let server = echo().await;
    let rule = "joes.example:127.0.0.1".parse().unwrap();
    let http = HttpFetch::new(FetchSettings { resolve: vec![rule], ..closed() }).unwrap();
    let port = server.addr.port();
    assert!(bounded(&http, page(&format!("http://joes.example:{port}/"))).await.is_ok());
    let error = bounded(&http, page(&format!("http://127.0.0.1:{port}/"))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BlockedAddress, "the rule is for its host");
}

#[tokio::test]
async fn a_rule_for_every_host_serves_names_and_no_addresses() {
    let server = echo().await;
    let rule = format!("*:127.0.0.1:{}", server.addr.port()).parse().unwrap();
    let http = HttpFetch::new(FetchSettings { resolve: vec![rule], ..closed() }).unwrap();
    assert_eq!(bounded(&http, page("http://any.example./")).await.unwrap().body, "any.example.");
    let error = bounded(&http, page(&format!("http://{}/", server.addr))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BlockedAddress);
}

#[tokio::test]
async fn own_addresses_are_closed_in_every_spelling() {
    let server = echo().await;
    let port = server.addr.port();
    let http = HttpFetch::new(closed()).unwrap();
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0x7f.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "user@127.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "LOCALHOST.",
        "169.254.169.254",
        "0.0.0.0",
        "0",
        "100.64.0.1",
        "[fc00::1]",
        "[fe80::1]",
        "224.0.0.1",
    ] {
        let error = bounded(&http, page(&format!("http://{host}:{port}/"))).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{host}: {error}");
    }
    // A UNC path becomes a host where it is resolved against a page.
    let unc = url::Url::parse("http://a.example/").unwrap().join(r"\\127.0.0.1\share").unwrap();
    let error = bounded(&http, page(unc.as_str())).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BlockedAddress);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn robots_txt_and_sitemaps_are_guarded_like_pages() {
    let server = echo().await;
    let http = HttpFetch::new(closed()).unwrap();
    for purpose in [RequestKind::Robots, RequestKind::Sitemap, RequestKind::SiteFile] {
        let error = bounded(&http, server.request("/", purpose)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::BlockedAddress);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_seed_opens_its_own_address_and_port_alone() {
    let (server, other) = (echo().await, echo().await);
    let (port, its) = (server.addr.port(), other.addr.port());
    let own = |host: &str, port: u16| format!("http://{host}:{port}/");
    let http = seeded(&[
        own("127.0.0.1", port),
        own("localhost", port),
        own("a.localhost", port),
        own("a.test", port),
    ]);
    for host in ["127.0.0.1", "localhost", "localhost.", "LOCALHOST", "127.1"] {
        assert!(bounded(&http, page(&own(host, port))).await.is_ok(), "{host}");
        let error = bounded(&http, page(&own(host, its))).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{host}: {error}");
    }
    for host in ["127.0.0.2", "[::ffff:127.0.0.1]", "b.localhost"] {
        let error = bounded(&http, page(&own(host, port))).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::BlockedAddress, "{host}: {error}");
    }
    assert_eq!(other.connections(), 0);
    let allowed = HttpFetch::new(settings()).unwrap();
    for host in ["127.0.0.1", "localhost"] {
        assert!(bounded(&allowed, page(&own(host, port))).await.is_ok(), "{host}");
    }
}

#[tokio::test]
async fn a_booked_request_is_connected_to_its_address_alone() {
    let server = echo().await;
    let port = server.addr.port();
    // Nobody listens at the first one: without a booking, the client would fall back to the second.
    let rules = [format!("a.test:127.0.0.77:{port}"), format!("a.test:127.0.0.1:{port}")];
    let resolve = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let http = HttpFetch::new(FetchSettings { resolve, ..closed() }).unwrap();
    let booked = |addr: &str| {
        let mut request = page("http://a.test/");
        request.booked = Some(Booked::At(addr.parse().unwrap()));
        request
    };
    assert_eq!(
        bounded(&http, page("http://a.test/")).await.unwrap().remote,
        Some(server.addr),
        "it falls back"
    );
    let error = bounded(&http, booked("127.0.0.77")).await.unwrap_err();
    assert_eq!((error.kind, error.connected), (ErrorKind::Connection, false), "{error}");
    // The open connection to another address isn't used.
    assert_eq!(server.connections(), 1);
    for connections in [2, 2] {
        assert_eq!(bounded(&http, booked("127.0.0.1")).await.unwrap().remote, Some(server.addr));
        assert_eq!(server.connections(), connections, "kept for the same booking");
    }
    assert!(bounded(&http, booked("127.0.0.77")).await.is_err());
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn the_class_of_the_first_answer_is_reported_and_no_rule_or_literal_sets_one() {
    let server = echo().await;
    let port = server.addr.port();
    let rule = format!("a.test:127.0.0.1:{port}").parse().unwrap();
    let http = HttpFetch::new(FetchSettings { resolve: vec![rule], ..settings() }).unwrap();
    for (host, expected) in
        [("localhost", Some(AddressClass::Loopback)), ("a.test", None), ("127.0.0.1", None)]
    {
        let request = page(&format!("http://{host}:{port}/"));
        let class = Arc::clone(&request.class);
        assert!(bounded(&http, request).await.is_ok(), "{host}");
        assert_eq!(class.get().copied(), expected, "{host}");
    }
}

#[tokio::test]
async fn userinfo_is_not_sent() {
    let server = Server::start(|mut conn| async move {
        let head = conn.request().await.unwrap();
        conn.send(crate::server::answer("", head.as_bytes())).await;
    })
    .await;
    let http = HttpFetch::new(settings()).unwrap();
    let url = format!("http://user:secret@{}/#frag", server.addr);
    let response = bounded(&http, request(&url, RequestKind::Page)).await.unwrap();
    let head = String::from_utf8(response.body.to_vec()).unwrap();
    for secret in ["user", "secret", "frag", "uthorization", "ookie"] {
        assert!(!head.replace("user-agent", "").contains(secret), "{secret} in {head}");
    }
}
