//! What earlier versions wrote.

use std::path::Path;

use super::*;
use crate::format::FormatError;
use crate::frontier::HostId;
use crate::record::{LinkOutcome, LinkRecord, PageRecord, encode_links, link_key};
use crate::store::{SledStore, Store, Write};
use crate::view::View;
use page::url::{CrawlUrl, FingerprintKey};

fn link(to: &str) -> LinkRecord {
    LinkRecord {
        to: to.into(),
        kind: "a".into(),
        rel: String::new(),
        text: "anchor".into(),
        nofollow: false,
        outcome: LinkOutcome::Queued,
        position: None,
        hreflang: None,
    }
}

/// A database of format 1: a page a value, by host, fingerprint and visit, and its links by host and fingerprint.
fn of_format_1(root: &Path, pages: &[(&str, Vec<LinkRecord>)]) {
    let dir = CrawlDir::create(root).unwrap();
    dir.write_settings("[agent]\nproduct = \"SuperRobot/1.0\"\n[record]\nseeds = [\"http://a.test/\"]\n")
        .unwrap();
    let store = SledStore::create(&dir.unfinished_db()).unwrap();
    let key = FingerprintKey::from_bytes(&[7; 32]).unwrap();
    let mut writes = vec![
        Write::put(Tree::Meta, "format", "1"),
        Write::put(Tree::Meta, "crawl_id", "old"),
        Write::put(Tree::Meta, "fingerprint_key", key.bytes()),
    ];
    for (url, links) in pages {
        let page = link_key(HostId(0), CrawlUrl::parse(url).unwrap().fingerprint(&key));
        let record = PageRecord {
            v: 1,
            url: (*url).to_owned(),
            status: Some(200),
            title: Some(format!("title of {url}")),
            indexed: true,
            links_out: links.len() as u64,
            ..PageRecord::default()
        };
        let key = [&page[..], &0_u32.to_be_bytes()].concat();
        writes.push(Write::put(Tree::Pages, key, serde_json::to_vec(&record).unwrap()));
        if !links.is_empty() {
            writes.push(Write::put(Tree::Links, page, crate::packed::pack(encode_links(links).unwrap())));
        }
    }
    store.commit(writes).unwrap();
    drop(store);
    dir.finish_db().unwrap();
}

#[test]
fn a_database_of_format_1_is_refused_and_repair_reads_it() {
    let top = tempfile::tempdir().unwrap();
    let (old, new) = (top.path().join("old"), top.path().join("new"));
    let many: Vec<String> = (0..40).map(|page| format!("http://a.test/{page}")).collect();
    let first = ("http://a.test/", many.iter().map(|url| link(url)).collect::<Vec<_>>());
    let rest = many.iter().map(|url| (url.as_str(), vec![link("http://a.test/")]));
    let pages: Vec<_> = std::iter::once(first).chain(rest).collect();
    of_format_1(&old, &pages);
    let error = View::open(&old).unwrap_err().to_string();
    assert!(
        error.contains("format 1") && error.contains("formats 2 to 5") && error.contains("crawl repair"),
        "{error}"
    );

    let repaired = repair(&old, &new, "2026-01-01T00:00:00Z".parse().unwrap()).unwrap();
    assert_eq!((repaired.pages, repaired.pages_lost, repaired.queued), (41, Some(0), 0), "{repaired:?}");
    assert!(!repaired.has_losses(), "{repaired:?}");
    let view = View::open(&new).unwrap();
    let mut titles: Vec<_> = view.pages().map(|page| page.unwrap().title.unwrap()).collect();
    let mut expected: Vec<_> = pages.iter().map(|(url, _)| format!("title of {url}")).collect();
    titles.sort();
    expected.sort();
    assert_eq!(titles, expected);
    assert_eq!(view.links().map(Result::unwrap).count(), 80);
}

#[test]
fn a_database_of_a_later_version_is_refused_by_its_number() {
    let error = FormatError::Other { found: "9".to_owned(), is_older: false }.to_string();
    assert!(error.contains("format 9") && error.contains("newer"), "{error}");
}
