//! Holds `docs/limits.md` and the code together.

use std::collections::BTreeMap;

use super::units::{format_duration, format_size};
use super::{CliOverrides, load};
use crate::extract::ExtractLimits;
use crate::fetch::{ErrorKind, FetchSettings};
use crate::record::LinkOutcome;
use crate::sitemap::SitemapLimits;

/// Rows of the document: name to value.
fn documented() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name.to_owned(), rest.split(" |").next()?.to_owned()))
    });
    rows.collect()
}

#[test]
fn the_document_holds_the_limits_with_their_defaults() {
    let mut rows = documented();
    let defaults = load(&CliOverrides::default(), [], None).unwrap();
    for (key, value, _) in defaults.entries() {
        let row = rows.remove(key.path);
        assert!(row.is_some() || !key.path.starts_with("limits."), "{} isn't in docs/limits.md", key.path);
        if let Some(row) = row {
            assert_eq!(row, value.trim_matches('"'), "{}", key.path);
        }
    }
    let fetch = FetchSettings::new("SuperRobot/1.0");
    let page = ExtractLimits::default();
    let sitemap = SitemapLimits::default();
    assert_eq!(sitemap.octets as u64, fetch.max_sitemap);
    let size = |octets: usize| format_size(octets as u64);
    for (name, value) in [
        ("max_robots", format!("{}B", fetch.max_robots)),
        ("max_header_count", fetch.max_header_count.to_string()),
        ("dns_timeout", format_duration(fetch.dns_timeout)),
        ("connect_timeout", format_duration(fetch.connect_timeout)),
        ("idle_timeout", format_duration(fetch.idle_timeout)),
        ("connection_life", format_duration(fetch.connection_life)),
        ("href_bytes", size(page.href_bytes)),
        ("link_bytes", size(page.link_bytes)),
        ("anchor_bytes", size(page.anchor_bytes)),
        ("text_bytes", size(page.text_bytes)),
        ("title_bytes", size(page.title_bytes)),
        ("meta_bytes", size(page.meta_bytes)),
        ("metas", page.metas.to_string()),
        ("meta_value_bytes", size(page.meta_value_bytes)),
        ("json_ld_bytes", size(page.json_ld_bytes)),
        ("max_sitemap", format_size(fetch.max_sitemap)),
        ("sitemaps.urls", sitemap.urls.to_string()),
        ("sitemaps.per_host", sitemap.per_host.to_string()),
        ("sitemaps.nesting", sitemap.nesting.to_string()),
        ("sitemaps.elements", sitemap.elements.to_string()),
        ("sitemaps.value_bytes", size(sitemap.value_bytes)),
    ] {
        assert_eq!(rows.remove(name).as_deref(), Some(value.as_str()), "{name}");
    }
    assert_eq!(rows, BTreeMap::new());
}

#[test]
fn the_document_tells_every_kind_of_failure() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("## Kinds of failure").unwrap();
    let told: Vec<&str> = section
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| ")?.split_once(" | ")?.0))
        .filter(|name| *name != "kind")
        .collect();
    let network = [
        ErrorKind::Timeout,
        ErrorKind::Connection,
        ErrorKind::Dns,
        ErrorKind::Tls,
        ErrorKind::BlockedAddress,
        ErrorKind::Protocol,
        ErrorKind::TooLarge,
        ErrorKind::Truncated,
        ErrorKind::Decode,
    ];
    let redirects = [LinkOutcome::RedirectLoop, LinkOutcome::TooManyRedirects];
    let mut kinds: Vec<&str> = network.iter().map(|kind| kind.as_str()).collect();
    kinds.extend(["mime", ErrorKind::Parse.as_str()]);
    kinds.extend(redirects.iter().map(|outcome| outcome.as_str()));
    kinds.extend(["robots", "http_404 ..."]);
    assert_eq!(told, kinds);
}
