//! Every URL that was found is stored, queued, or has a reason: the number of reasons is what was discovered less what is stored.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{AuditError, AuditRules, Check, LISTED, Part, session};
use crate::frontier::stored_queue;
use crate::ledger;
use crate::page_store;
use crate::post;
use crate::record::{Decided, LinkOutcome};
use crate::sorter::{self, SortError, Sorter};
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

/// Kinds of what is known of a URL, by its fingerprint.
const ACCOUNTED: u8 = 0;
const SEED: u8 = 1;
const LINK: u8 = 2;

/// Judges the whole crawl: what was found in one of its stores may be accounted for in another.
pub(super) fn judge(parts: &[Part<'_>], rules: &AuditRules) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "accounts",
        "every URL found is stored, queued, has a reason in the ledger, or is one of those that its page counts as not listed",
    );
    let mut known = Known { rules, sorter: rules.sorter() };
    let (mut entries, mut has_run, mut has_sessions) = (0_u64, false, false);
    // Of a crawl that runs, a letter may be taken from its writer to its reader meanwhile, and from there to the queue: read in this order
    // and twice, it is met in one of these places.
    for part in parts.iter().chain(parts) {
        for url in post::links_under_way(part.store) {
            known.account(&url?)?;
        }
    }
    for part in parts {
        for url in stored_queue(part.store)? {
            let url = url?;
            if let Ok(url) = url.url.url(&url.host.host) {
                known.account(url.as_str())?;
            }
        }
        for pair in part.store.scan(Tree::Ledger, &[]) {
            let (_, value) = pair?;
            let Ok(block) = ledger::read(&value) else { continue };
            for entry in block.decisions {
                entries += 1;
                // What says what became of a URL.
                if matches!(entry.decision, Decided::Skipped | Decided::Failed) {
                    known.account(&entry.url)?;
                }
            }
        }
        has_run |= part.store.get(Tree::Meta, b"totals")?.is_some();
    }
    if entries == 0 && has_run {
        check.unjudged = Some("the ledger was off: reasons aren't recorded".to_owned());
        return Ok(check);
    }
    for (place, seed) in (0_u64..).zip(&rules.seeds) {
        known.add_url(seed, &[&[SEED], &place.to_be_bytes()[..]].concat())?;
    }
    let mut not_listed = BTreeMap::new();
    for (number, part) in (0_u16..).zip(parts) {
        for page in page_store::scan_with_links(part.store) {
            let page = page?;
            known.add(page.page.0, &[ACCOUNTED])?;
            let NotListed { skipped_not_listed } = page.read()?;
            if skipped_not_listed > 0 {
                not_listed.insert((number, page.number), skipped_not_listed);
            }
            for (place, link) in (0_u32..).zip(page.links()?) {
                let open =
                    matches!(link.outcome, LinkOutcome::Queued | LinkOutcome::Seen | LinkOutcome::Untested);
                let place = [
                    &page.number.to_be_bytes()[..],
                    &place.to_be_bytes(),
                    &[u8::from(open)],
                    &number.to_be_bytes(),
                ];
                let bare = session::bare(&link.to);
                has_sessions |= bare.is_some();
                let to = bare.as_deref().unwrap_or(&link.to);
                known.add_url(to, &[&[LINK], &place.concat()[..]].concat())?;
            }
        }
    }
    for part in parts.iter().filter(|_| has_sessions) {
        // Links with a session id are looked for without it: so are pages that were requested with theirs.
        for page in page_store::scan(part.store) {
            if let Some(bare) = session::bare(&page?.record()?.url) {
                known.add_url(&bare, &[ACCOUNTED])?;
            }
        }
    }
    let mut last = None;
    let mut is_accounted = false;
    let mut is_counted = false;
    for record in known.sorter.sorted()? {
        let record = record?;
        let url = sorter::number(&record, 0, 8);
        if last.replace(url) != Some(url) {
            (is_accounted, is_counted) = (false, false);
        }
        if record.get(8) == Some(&ACCOUNTED) {
            is_accounted = true;
        } else if !is_counted {
            // The first place where it was found.
            is_counted = true;
            check.case();
            if !is_accounted && !is_counted_by_page(&record[8..], &mut not_listed) {
                unaccounted(parts, &record[8..], rules, &mut check)?;
            }
        }
    }
    Ok(check)
}

/// The number of URLs that a page names, skipped and not in the ledger.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NotListed {
    skipped_not_listed: u64,
}

/// Whether the page on which a skipped URL was found first counts it: as many as it counts are accounted for.
fn is_counted_by_page(place: &[u8], not_listed: &mut BTreeMap<(u16, u64), u64>) -> bool {
    let is_skipped_link = place.first() == Some(&LINK) && place.get(13) == Some(&0);
    let page = (sorter::number(place, 14, 2) as u16, sorter::number(place, 1, 8));
    let Some(count) = not_listed.get_mut(&page).filter(|count| is_skipped_link && **count > 0) else {
        return false;
    };
    *count -= 1;
    true
}

/// What is known of URLs, by their fingerprints.
struct Known<'a> {
    rules: &'a AuditRules,
    sorter: Sorter,
}

impl Known<'_> {
    fn add(&mut self, print: u64, what: &[u8]) -> Result<(), SortError> {
        self.sorter.push_parts(&[&print.to_be_bytes(), what])
    }

    /// A URL that is accounted for, and with it the same one without its session id.
    fn account(&mut self, url: &str) -> Result<(), SortError> {
        if let Some(bare) = session::bare(url) {
            self.add_url(&bare, &[ACCOUNTED])?;
        }
        self.add_url(url, &[ACCOUNTED])
    }

    fn add_url(&mut self, url: &str, what: &[u8]) -> Result<(), SortError> {
        match CrawlUrl::parse(url) {
            Ok(url) => self.add(url.fingerprint(&self.rules.key).0, what),
            Err(_) => Ok(()),
        }
    }
}

/// Tells of a URL that nothing accounts for, by the place where it was found.
fn unaccounted(
    parts: &[Part<'_>],
    place: &[u8],
    rules: &AuditRules,
    check: &mut Check,
) -> Result<(), AuditError> {
    const WHAT: &str = "not stored, not queued and without a reason; as a link:";
    if place.first() == Some(&SEED) {
        let seed = usize::try_from(sorter::number(place, 1, 8)).ok().and_then(|place| rules.seeds.get(place));
        check.broken(seed.map_or("", String::as_str), None, format!("{WHAT} a seed"));
        return Ok(());
    }
    let Some(part) = parts.get(sorter::number(place, 14, 2) as usize) else { return Ok(()) };
    // The reason was in the ledger, of which a repair saved a part; the link still has it.
    let is_lost = part.repair.is_some() && place.get(13) == Some(&0);
    let mut link = None;
    if !is_lost && check.first.len() < LISTED {
        let links = page_store::links_at_number(part.store, sorter::number(place, 1, 8))?;
        link =
            usize::try_from(sorter::number(place, 9, 4)).ok().and_then(|place| links.into_iter().nth(place));
    }
    let (to, outcome) =
        link.map_or((String::new(), ""), |link| (link.to.into_string(), link.outcome.as_str()));
    check.lost_or_broken(is_lost, &to, None, format!("{WHAT} {outcome}"));
    Ok(())
}
