//! Every page came into the crawl by a way that was open: a seed, or a link that may be followed.

use std::collections::{HashMap, HashSet};

use super::{AuditError, AuditRules, Check, TOLD};
use crate::page_store::{self, StoredPage};
use crate::record::{LinkOutcome, PageRecord, RepairRecord};
use crate::sorter::{self, Sorted};
use crate::store::Store;
use crate::url::{CrawlUrl, Fingerprint};

/// Kinds of what is sorted by a fingerprint: a page, and a page that was found on it.
const PAGE: u8 = 0;
const FOUND: u8 = 1;

pub(super) fn judge<S: Store>(
    store: &S,
    rules: &AuditRules,
    repair: Option<&RepairRecord>,
) -> Result<Check, AuditError> {
    let mut check =
        Check::new("discovery", "every page is a seed, or was queued through a link that may be followed");
    let seeds: HashSet<_> = rules.seeds.iter().filter_map(|seed| print(rules, seed)).collect();
    let mut ways = rules.sorter();
    for page in page_store::scan(store) {
        let page = page?;
        let record = page.record()?;
        check.case();
        let number = page.number.to_be_bytes();
        ways.push_parts(&[&page.page.0.to_be_bytes(), &[PAGE], &number])?;
        match record.via {
            Some(via) => {
                ways.push_parts(&[&via.page.0.to_be_bytes(), &[FOUND], &page.page.0.to_be_bytes(), &number])?;
            }
            None if !seeds.contains(&page.page) && !is_from_sitemap(&record) => {
                // A page that was read again from the archive doesn't know any more where it was found.
                let is_lost = repair.is_some_and(|repair| record.fetched_at < repair.at);
                let at = Some(record.fetched_at);
                check.lost_or_broken(is_lost, &record.url, at, "neither a seed nor found on a page");
            }
            None => {}
        }
    }
    let mut found = found_by_page(ways.sorted()?, rules)?.peekable();
    for page in page_store::scan_with_links(store) {
        let page = page?;
        let mut here: HashMap<Fingerprint, u64> = HashMap::new();
        while let Some(record) = found.next_if(|record| {
            record.as_ref().map_or(true, |record| sorter::number(record, 0, 8) <= page.number)
        }) {
            let record = record?;
            here.insert(Fingerprint(sorter::number(&record, 8, 8)), sorter::number(&record, 16, 8));
        }
        for number in closed_ways(&page, &here, rules)? {
            closed(store, number, &mut check)?;
        }
    }
    Ok(check)
}

/// What was found on each page: the page's number, and fingerprint and number of the page that was found; by the first of these.
fn found_by_page(ways: Sorted, rules: &AuditRules) -> Result<Sorted, AuditError> {
    let mut by_page = rules.sorter();
    let mut via = None;
    for record in ways {
        let record = record?;
        let page = sorter::number(&record, 0, 8);
        if record.get(8) == Some(&PAGE) {
            via = Some((page, sorter::number(&record, 9, 8)));
        } else if let Some((_, number)) = via.filter(|(known, _)| *known == page) {
            by_page.push_parts(&[&number.to_be_bytes(), &record[9..]])?;
        }
    }
    Ok(by_page.sorted()?)
}

/// The pages that were found on `page` and have links there of which none may be followed. A page that was visited again may have lost
/// the link since.
fn closed_ways(
    page: &StoredPage,
    found: &HashMap<Fingerprint, u64>,
    rules: &AuditRules,
) -> Result<Vec<u64>, AuditError> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut open: HashMap<Fingerprint, bool> = HashMap::new();
    for link in page.links()? {
        if let Some(print) = print(rules, &link.to).filter(|print| found.contains_key(print)) {
            let queued = matches!(link.outcome, LinkOutcome::Queued | LinkOutcome::Seen | LinkOutcome::Untested)
                    // Other settings of a later run may have let it in.
                    || !link.outcome.keys().is_empty();
            *open.entry(print).or_default() |= queued && !link.nofollow;
        }
    }
    let mut closed: Vec<_> =
        open.into_iter().filter(|(_, open)| !open).map(|(print, _)| found[&print]).collect();
    closed.sort_unstable();
    Ok(closed)
}

fn closed<S: Store>(store: &S, number: u64, check: &mut Check) -> Result<(), AuditError> {
    // Those behind are counted.
    let record =
        if check.first.len() < TOLD { page_store::record_at(store, number)? } else { PageRecord::default() };
    check.broken(
        record.url,
        Some(record.fetched_at),
        "the page that it was found on doesn't let it be followed",
    );
    Ok(())
}

fn print(rules: &AuditRules, url: &str) -> Option<Fingerprint> {
    CrawlUrl::parse(url).ok().map(|url| url.fingerprint(&rules.key))
}

/// A URL that a sitemap names has no page that links to it.
fn is_from_sitemap(record: &PageRecord) -> bool {
    record.depth > 0
}
