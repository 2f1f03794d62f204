//! Every page was found in a permitted way: as a seed, in a sitemap, by a redirect, or by a link that may be followed.

use std::collections::{HashMap, HashSet};

use super::{AuditError, AuditRules, Check, LISTED, Part, session};
use crate::page_store::{self, StoredPage};
use crate::record::{LinkOutcome, PageRecord, SitemapRecord};
use crate::sorter::{self, Sorted, Sorter};
use crate::store::{Store, Tree};
use page::url::{CrawlUrl, Fingerprint};

/// Kinds of what is sorted by the fingerprint of a page or sitemap: what it is, the pages that were found on it, and those of its
/// links that a later run let in.
const PAGE: u8 = 0;
const SITEMAP: u8 = 1;
const FOUND: u8 = 2;
pub(super) const ADMITTED: u8 = 3;

/// Links from the root of a site to a URL of its sitemap.
const DEPTH_OF_SITEMAP: u32 = 1;

/// Bits of the number of a page in its store.
const PAGE_BITS: u64 = (1 << 48) - 1;

/// A page that was visited again may have lost the link since.
const VISITED_AGAIN: &str = "visited_again";

/// Pages that were found on one whose links were removed by `crawl forget`.
const FORGOTTEN: &str = "forgotten";

/// Judges how each page was found. `admitted` holds what the ledger says of links that a later run let in. Cost: two passes over the
/// pages. Memory: the pages that were found on one page.
pub(super) fn judge(parts: &[Part<'_>], rules: &AuditRules, admitted: Sorter) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "discovery",
        "every page is a seed, or was found through a sitemap, a redirect, or a link of a stored page that may be followed, and has the resulting depth",
    );
    let seeds: HashSet<_> = rules.seeds.iter().filter_map(|seed| print(rules, seed)).collect();
    let runs = parts.iter().flat_map(|part| &part.runs);
    let settings = runs.filter_map(|run| run.settings.as_ref());
    let most = settings.map(|settings| settings.limits.max_redirects).max();
    let most = most.unwrap_or(rules.settings.limits.max_redirects);
    let mut ways = admitted;
    for (place, part) in (0..).zip(parts) {
        for page in page_store::scan(part.store) {
            let page = page?;
            let record = page.record()?;
            check.case();
            let (number, depth) = (joint(place, page.number).to_be_bytes(), record.depth.to_be_bytes());
            let own = page.page.0.to_be_bytes();
            ways.push_parts(&[&own, &[PAGE], &number])?;
            // A page that was read again from the archive may not know any more where it was found.
            let is_lost = part.repair.as_ref().is_some_and(|repair| record.fetched_at < repair.at);
            let at = Some(record.fetched_at);
            match record.via {
                Some(via) => {
                    let host =
                        CrawlUrl::parse(&record.url).map(|url| url.host().to_owned()).unwrap_or_default();
                    ways.push_parts(&[
                        &via.page.0.to_be_bytes(),
                        &[FOUND],
                        &own,
                        &number,
                        &depth,
                        &[u8::from(is_lost)],
                        host.as_bytes(),
                    ])?;
                }
                None if !seeds.contains(&page.page) => {
                    check.lost_or_broken(is_lost, &record.url, at, "neither a seed nor found on a page");
                }
                None if record.depth > 0 => {
                    let what = format!("a seed at depth {}", record.depth);
                    check.lost_or_broken(is_lost, &record.url, at, what);
                }
                None => {}
            }
        }
        for pair in part.store.scan(Tree::Sitemaps, &[]) {
            let record = SitemapRecord::read(&pair?.1).map_err(AuditError::record(Tree::Sitemaps))?;
            if let Ok(url) = CrawlUrl::parse(&record.url)
                && record.urls > 0
            {
                let hosts = [&[url.host().to_owned()], &record.speaks_for[..]].concat().join("\0");
                let print = url.fingerprint(&rules.key).0.to_be_bytes();
                ways.push_parts(&[&print, &[SITEMAP], hosts.as_bytes()])?;
            }
        }
    }
    let mut found = found_by_page(parts, ways.sorted()?, rules, &mut check)?.peekable();
    for (place, part) in (0..).zip(parts) {
        for page in page_store::scan_with_links(part.store) {
            let page = page?;
            let number = joint(place, page.number);
            let mut here = Here::default();
            while let Some(record) = found.next_if(|record| {
                record.as_ref().map_or(true, |record| sorter::number(record, 0, 8) <= number)
            }) {
                here.take(&record?);
            }
            if !here.found.is_empty() {
                here.judge(parts, part, &page, rules, most, &mut check)?;
            }
        }
    }
    Ok(check)
}

/// The number of a page among those of all stores: the number of its store, and 48 bits for its own.
fn joint(place: u64, number: u64) -> u64 {
    place << 48 | number & PAGE_BITS
}

/// What was found on each page, by the page's number; what was found in a sitemap, or nowhere, is judged.
fn found_by_page(
    parts: &[Part<'_>],
    ways: Sorted,
    rules: &AuditRules,
    check: &mut Check,
) -> Result<Sorted, AuditError> {
    let mut by_page = rules.sorter();
    let mut of = None;
    let (mut page, mut hosts): (Option<u64>, Option<Vec<u8>>) = (None, None);
    for record in ways {
        let record = record?;
        let (print, rest) = (sorter::number(&record, 0, 8), record.get(9..).unwrap_or_default());
        if of.replace(print) != Some(print) {
            (page, hosts) = (None, None);
        }
        match (record.get(8), page) {
            (Some(&PAGE), _) => page = Some(sorter::number(rest, 0, 8)),
            (Some(&SITEMAP), _) => hosts = Some(rest.to_vec()),
            (Some(&ADMITTED), Some(number)) => {
                by_page.push_parts(&[&number.to_be_bytes(), &[ADMITTED], rest])?;
            }
            (Some(&FOUND), _) => {
                let found = Found::read(rest);
                let host = rest.get(Found::BYTES..).unwrap_or_default();
                let is_spoken_for = hosts
                    .as_ref()
                    .is_some_and(|hosts| hosts.split(|byte| *byte == 0).any(|known| known == host));
                if is_spoken_for && found.depth == DEPTH_OF_SITEMAP {
                    continue;
                }
                if let Some(number) = page {
                    by_page.push_parts(&[&number.to_be_bytes(), &[FOUND], &rest[..Found::BYTES]])?;
                } else {
                    let what = match &hosts {
                        Some(_) if is_spoken_for => "its depth isn't that of a URL of a sitemap",
                        Some(_) => "the sitemap in which it was found isn't authoritative for its host",
                        None => "it was found neither on a stored page nor in a sitemap that was read",
                    };
                    tell(parts, &found, found.is_lost, what, check)?;
                }
            }
            _ => {}
        }
    }
    Ok(by_page.sorted()?)
}

/// A page as far as it matters how it was found.
#[derive(Debug, Clone, Copy)]
struct Found {
    print: Fingerprint,
    number: u64,
    depth: u32,
    /// A repair may have lost how it was found.
    is_lost: bool,
}

impl Found {
    const BYTES: usize = 8 + 8 + 4 + 1;

    fn read(bytes: &[u8]) -> Self {
        Self {
            print: Fingerprint(sorter::number(bytes, 0, 8)),
            number: sorter::number(bytes, 8, 8),
            depth: sorter::number(bytes, 16, 4) as u32,
            is_lost: bytes.get(20) == Some(&1),
        }
    }
}

/// The ways from one page to another.
#[derive(Debug, Default, Clone, Copy)]
struct Ways {
    by_link: bool,
    by_redirect: bool,
    /// A link that may not be followed.
    closed: bool,
    /// A link that the settings excluded, and that no later run admitted.
    skipped: Option<LinkOutcome>,
}

/// What was found on one page.
#[derive(Debug, Default)]
struct Here {
    found: HashMap<Fingerprint, Found>,
    admitted: HashSet<Fingerprint>,
}

impl Here {
    fn take(&mut self, record: &[u8]) {
        let rest = record.get(9..).unwrap_or_default();
        if record.get(8) == Some(&ADMITTED) {
            self.admitted.insert(Fingerprint(sorter::number(rest, 0, 8)));
        } else {
            let found = Found::read(rest);
            self.found.insert(found.print, found);
        }
    }

    fn judge(
        self,
        parts: &[Part<'_>],
        part: &Part<'_>,
        page: &StoredPage,
        rules: &AuditRules,
        most: u32,
        check: &mut Check,
    ) -> Result<(), AuditError> {
        let record = page.record()?;
        let is_lost = part.repair.as_ref().is_some_and(|repair| record.fetched_at < repair.at);
        let ways = self.ways(page, &record, rules)?;
        let mut found: Vec<Found> = self.found.into_values().collect();
        found.sort_unstable_by_key(|found| found.number);
        for found in found {
            let Ways { by_link, by_redirect, closed, skipped } =
                ways.get(&found.print).copied().unwrap_or_default();
            let is_lost = is_lost || found.is_lost;
            let fits = |depth: Option<u32>| depth == Some(found.depth);
            if by_link && fits(record.depth.checked_add(1)) {
                continue;
            }
            if by_redirect && fits(Some(record.depth)) {
                let count = redirects(part.store, &record, most)?;
                if count > most {
                    let what =
                        format!("found by {count} redirects in a row or more; max_redirects is {most}");
                    tell(parts, &found, is_lost, &what, check)?;
                }
                continue;
            }
            if by_link || by_redirect {
                let what = format!(
                    "its depth is {}, that of the page on which it was found {}",
                    found.depth, record.depth
                );
                tell(parts, &found, is_lost, &what, check)?;
            } else if record.forgotten {
                check.unchecked(FORGOTTEN);
            } else if record.visits_before > 0 {
                check.unchecked(VISITED_AGAIN);
            } else if let Some(outcome) = skipped {
                let what = format!(
                    "the link through which it was found was skipped ({}), and the ledger has no entry that queues it",
                    outcome.as_str()
                );
                tell(parts, &found, is_lost, &what, check)?;
            } else if closed {
                let what = "the page on which it was found forbids following it";
                tell(parts, &found, false, what, check)?;
            } else {
                tell(parts, &found, is_lost, "the page on which it was found has no link to it", check)?;
            }
        }
        Ok(())
    }

    /// How the page leads to what was found on it.
    fn ways(
        &self,
        page: &StoredPage,
        record: &PageRecord,
        rules: &AuditRules,
    ) -> Result<HashMap<Fingerprint, Ways>, AuditError> {
        let mut all: HashMap<Fingerprint, Ways> = HashMap::new();
        let links = page.links()?;
        for link in &links {
            let is_found = |print: &Fingerprint| self.found.contains_key(print);
            let others = || session::forms(&link.to).into_iter().filter_map(|form| print(rules, &form));
            let print = print(rules, &link.to).filter(is_found).or_else(|| others().find(is_found));
            let Some(print) = print else { continue };
            let ways = all.entry(print).or_default();
            let is_redirect = link.kind == "redirect";
            let is_closed = !is_redirect && (link.nofollow || !record.followed);
            let is_queued =
                matches!(link.outcome, LinkOutcome::Queued | LinkOutcome::Seen | LinkOutcome::Untested);
            if is_closed {
                ways.closed = true;
            } else if is_queued || !link.outcome.keys().is_empty() && self.admitted.contains(&print) {
                *(if is_redirect { &mut ways.by_redirect } else { &mut ways.by_link }) = true;
            } else if link.outcome.keys().is_empty() {
                ways.closed = true;
            } else {
                ways.skipped = Some(link.outcome);
            }
        }
        // Of a page under noindex and nofollow no link is listed; its record names where it redirects to.
        let target = record.redirect.as_deref();
        let others = target.map(session::forms).unwrap_or_default();
        let targets = target.into_iter().chain(others.iter().map(String::as_str));
        let mut prints = targets.filter_map(|to| print(rules, to));
        if let Some(print) = prints.find(|print| self.found.contains_key(print))
            && links.iter().all(|link| link.kind != "redirect")
            && (record.error.is_none() || self.admitted.contains(&print))
        {
            all.entry(print).or_default().by_redirect = true;
        }
        Ok(all)
    }
}

/// How many redirects in a row the one from this page is, counted up to one more than `most`. A page that was visited again begins
/// again: by itself it isn't the target of a redirect. Cost: a lookup for each of them.
fn redirects<S: Store>(store: &S, page: &PageRecord, most: u32) -> Result<u32, AuditError> {
    let mut count = 1;
    let (mut url, mut via, mut is_again) = (page.url.clone(), page.via, page.visits_before > 0);
    while count <= most
        && !is_again
        && let Some(hop) = via
        && let Some(before) = page_store::record_of(store, hop.host, hop.page)?
            .filter(|before| before.redirect.as_deref().is_some_and(|to| session::is_to(to, &url)))
    {
        count += 1;
        (url, via, is_again) = (before.url, before.via, before.visits_before > 0);
    }
    Ok(count)
}

/// Reports a page. Those behind the first are counted.
fn tell(
    parts: &[Part<'_>],
    found: &Found,
    is_lost: bool,
    what: &str,
    check: &mut Check,
) -> Result<(), AuditError> {
    let is_named = !is_lost && check.first.len() < LISTED;
    let part = parts.get((found.number >> 48) as usize).filter(|_| is_named);
    let record = part.map(|part| page_store::record_at(part.store, found.number & PAGE_BITS)).transpose()?;
    let record = record.unwrap_or_default();
    check.lost_or_broken(is_lost, &record.url, Some(record.fetched_at), what);
    Ok(())
}

fn print(rules: &AuditRules, url: &str) -> Option<Fingerprint> {
    CrawlUrl::parse(url).ok().map(|url| url.fingerprint(&rules.key))
}
