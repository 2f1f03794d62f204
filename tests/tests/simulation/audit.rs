//! The audit against an engine that is less polite than it says.

use std::collections::BTreeMap;
use std::sync::Arc;

use crawler::store::MemoryStore;
use whole_program::simweb::{SimWeb, Size, generate};

use crate::crawl::Crawl;

/// Violations by check, and cases judged by check, over some webs.
async fn audits(impolite: bool) -> (BTreeMap<&'static str, u64>, BTreeMap<&'static str, u64>) {
    let (mut broken, mut judged) = (BTreeMap::new(), BTreeMap::new());
    for seed in 0..12 {
        let sim = SimWeb::new(generate(seed, Size { lasting_outages: false, ..Size::default() }));
        let mut crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
        crawl.impolite = impolite;
        let directory = tempfile::tempdir().expect("a directory");
        crawl.run(Some(directory.path())).await.expect("the crawl ends");
        let (requests, denied) = crawl.read_again();
        *judged.entry("RFC 9309").or_default() += requests;
        if !denied.is_empty() {
            *broken.entry("RFC 9309").or_default() += denied.len() as u64;
        }
        for check in crawl.audit_report(Some(directory.path())).checks {
            *judged.entry(check.name).or_default() += check.judged;
            if check.violations > 0 {
                *broken.entry(check.name).or_default() += check.violations;
            }
        }
    }
    (broken, judged)
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_reads_less_than_it_should_is_caught_and_a_polite_one_is_not() {
    let (broken, judged) = audits(false).await;
    assert_eq!(broken, BTreeMap::new());
    for check in [
        "overlap",
        "gap",
        "site_delay",
        "pauses",
        "robots_known",
        "denied",
        "noindex",
        "noarchive",
        "nofollow",
        "none",
        "discovery",
        "archive",
        "archived_words",
        "accounts",
        "robots_access",
        "archived_links",
        "seals",
        "settings",
        "scope",
        "limits",
        "costly",
        "archived_digests",
        "RFC 9309",
    ] {
        assert!(judged[check] > 10, "{check}: {judged:?}");
    }
    let (broken, _) = audits(true).await;
    for check in ["denied", "archived_words", "RFC 9309"] {
        assert!(broken.contains_key(check), "{check}: {broken:?}");
    }
}
