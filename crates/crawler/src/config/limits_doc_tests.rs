//! Holds `docs/limits.md` and the code together.

use std::collections::BTreeMap;

use super::units::{format_duration, format_size};
use super::{CliOverrides, load};
use crate::extract::ExtractLimits;
use crate::fetch::{ErrorKind, FetchSettings};

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
    ] {
        assert_eq!(rows.remove(name).as_deref(), Some(value.as_str()), "{name}");
    }
    for kind in ErrorKind::ALL {
        assert!(rows.remove(kind.as_str()).is_some(), "{kind} isn't in docs/limits.md");
    }
    assert_eq!(rows, BTreeMap::new());
}
