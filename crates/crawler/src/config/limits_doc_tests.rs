//! Holds `docs/limits.md` and the code together.

use std::collections::BTreeMap;

use super::{CliOverrides, load};
use crate::fetch::ErrorKind;
use crate::record::LinkOutcome;

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
    // The name of a limit without a key has no dot.
    rows.retain(|name, _| name.contains('.'));
    let defaults = load(&CliOverrides::default(), [], None).unwrap();
    let whole = ["limits.", "traps.", "page.", "sitemap."];
    for (key, value, _) in defaults.entries() {
        let row = rows.remove(key.path);
        let must = whole.iter().any(|section| key.path.starts_with(section));
        assert!(row.is_some() || !must, "{} isn't in docs/limits.md", key.path);
        if let Some(row) = row {
            assert_eq!(row, value.trim_matches('"'), "{}", key.path);
        }
    }
    assert_eq!(rows, BTreeMap::new(), "no key has this name");
}

#[test]
fn the_document_tells_every_kind_of_failure() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once("## Kinds of failure").unwrap();
    let message: Vec<&str> = section
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
        ErrorKind::Local,
    ];
    let redirects = [LinkOutcome::RedirectLoop, LinkOutcome::TooManyRedirects];
    let mut kinds: Vec<&str> = network.iter().map(|kind| kind.as_str()).collect();
    kinds.push("mime");
    kinds.push("challenged, refused, rate_limited, payment, login, consent, placeholder, shell");
    kinds.extend([ErrorKind::Parse.as_str(), ErrorKind::Crashed.as_str()]);
    kinds.extend(redirects.iter().map(|outcome| outcome.as_str()));
    kinds.push("no_location");
    kinds.extend(["robots", "http_404 ..."]);
    assert_eq!(message, kinds);
}
