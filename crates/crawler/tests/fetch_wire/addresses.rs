//! Where connections may go: resolve rules and the address guard.

use crawler::fetch::{ErrorKind, FetchRequest, FetchSettings, HttpFetch, Purpose};

use crate::server::{Server, bounded, seed, settings};

fn unnamed(url: &str) -> FetchRequest {
    FetchRequest::new(url.parse().unwrap(), Purpose::Page)
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
async fn a_rule_with_a_port_redirects_urls_without_one_and_the_host_field_stays() {
    let (by_rule, by_url) = (echo().await, echo().await);
    let rule = format!("joes.example:127.0.0.1:{}", by_rule.addr.port()).parse().unwrap();
    let http = HttpFetch::new(FetchSettings { resolve: vec![rule], ..settings() }).unwrap();
    // No seed names the host: the rule itself opens the address.
    let explicit = by_url.addr.port();
    for (url, host, server) in [
        ("http://joes.example/".to_owned(), "joes.example".to_owned(), &by_rule),
        ("http://JOES.example:80/x".to_owned(), "joes.example".to_owned(), &by_rule),
        (format!("http://joes.example:{explicit}/"), format!("joes.example:{explicit}"), &by_url),
    ] {
        let response = bounded(&http, unnamed(&url)).await.unwrap();
        assert_eq!(response.body, host.as_bytes(), "{url}");
        assert_eq!(response.remote, Some(server.addr), "{url}");
    }
}

#[tokio::test]
async fn a_rule_for_every_host_serves_names_and_no_addresses() {
    let server = echo().await;
    let rule = format!("*:127.0.0.1:{}", server.addr.port()).parse().unwrap();
    let http = HttpFetch::new(FetchSettings { resolve: vec![rule], ..settings() }).unwrap();
    assert_eq!(bounded(&http, unnamed("http://any.example./")).await.unwrap().body, "any.example.");
    let error = bounded(&http, unnamed(&format!("http://{}/", server.addr))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BlockedAddress);
}

#[tokio::test]
async fn own_addresses_are_closed_in_every_spelling() {
    let server = echo().await;
    let port = server.addr.port();
    let http = HttpFetch::new(settings()).unwrap();
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
        let error = bounded(&http, unnamed(&format!("http://{host}:{port}/"))).await.unwrap_err();
        assert_eq!((error.kind, error.connected), (ErrorKind::BlockedAddress, false), "{host}: {error}");
    }
    // A UNC path becomes a host where it is resolved against a page.
    let unc = url::Url::parse("http://a.example/").unwrap().join(r"\\127.0.0.1\share").unwrap();
    let error = bounded(&http, FetchRequest::new(unc, Purpose::Page)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BlockedAddress);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn robots_txt_and_sitemaps_are_guarded_like_pages() {
    let server = echo().await;
    let http = HttpFetch::new(settings()).unwrap();
    for purpose in [Purpose::Robots, Purpose::Sitemap] {
        let request = FetchRequest { host_is_seed: false, ..server.request("/", purpose) };
        assert_eq!(bounded(&http, request).await.unwrap_err().kind, ErrorKind::BlockedAddress);
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn seeds_and_allowed_networks_are_open() {
    let server = echo().await;
    let port = server.addr.port();
    let closed = HttpFetch::new(settings()).unwrap();
    let nets = vec!["127.0.0.0/8".parse().unwrap()];
    let allowed = HttpFetch::new(FetchSettings { allow_net: nets, ..settings() }).unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{port}/");
        assert!(bounded(&closed, seed(&url, Purpose::Page)).await.is_ok(), "{host}");
        assert!(bounded(&allowed, unnamed(&url)).await.is_ok(), "{host}");
        // The connection that a seed left is not for others.
        assert_eq!(
            bounded(&closed, unnamed(&url)).await.unwrap_err().kind,
            ErrorKind::BlockedAddress,
            "{host}"
        );
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
    let response = bounded(&http, seed(&url, Purpose::Page)).await.unwrap();
    let head = String::from_utf8(response.body.to_vec()).unwrap();
    for secret in ["user", "secret", "frag", "uthorization", "ookie"] {
        assert!(!head.replace("user-agent", "").contains(secret), "{secret} in {head}");
    }
}
