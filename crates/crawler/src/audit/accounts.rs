//! Every URL that was found is stored, waits, or has a reason: the sum of reasons is what was discovered less what is stored.

use std::collections::HashSet;

use super::{AuditError, AuditRules, Check};
use crate::frontier::stored_queue;
use crate::ledger;
use crate::page_store;
use crate::record::{LinkOutcome, RepairRecord};
use crate::store::{Store, Tree};
use crate::url::{CrawlUrl, Fingerprint};

/// Decisions that say what became of a URL.
const ENDS: [&str; 5] = ["skipped", "failed", "quarantined", "blocked", "refused"];

pub(super) fn judge<S: Store>(
    store: &S,
    rules: &AuditRules,
    repair: Option<&RepairRecord>,
) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "accounts",
        "every URL that was discovered is stored, waits, or has a reason in the ledger",
    );
    let print = |url: &str| CrawlUrl::parse(url).ok().map(|url| url.fingerprint(&rules.key));
    let mut accounted: HashSet<Fingerprint> = HashSet::new();
    for page in page_store::scan(store) {
        accounted.insert(page?.page);
    }
    for url in stored_queue(store)? {
        let url = url?;
        accounted.extend(url.url.url(&url.host.host).ok().map(|url| url.fingerprint(&rules.key)));
    }
    let mut entries = 0_u64;
    for pair in store.scan(Tree::Ledger, &[]) {
        let (_, value) = pair?;
        let Ok(block) = ledger::read(&value) else { continue };
        for entry in block.decisions {
            entries += 1;
            if ENDS.contains(&entry.decision.as_str()) {
                accounted.extend(print(&entry.url));
            }
        }
    }
    if entries == 0 && store.get(Tree::Meta, b"totals")?.is_some() {
        check.unjudged = Some("the ledger was off: reasons aren't on record".to_owned());
        return Ok(check);
    }
    let mut found: HashSet<Fingerprint> = HashSet::new();
    for seed in &rules.seeds {
        if is_unaccounted(print(seed), &mut found, &accounted, &mut check) {
            check.broken(seed, None, "neither stored nor waiting nor with a reason; as a link: a seed");
        }
    }
    for page in page_store::scan_with_links(store) {
        for link in page?.links()? {
            if !is_unaccounted(print(&link.to), &mut found, &accounted, &mut check) {
                continue;
            }
            // The reason stood in the ledger, of which a repair saved a part; the link still has it.
            let open =
                matches!(link.outcome, LinkOutcome::Queued | LinkOutcome::Seen | LinkOutcome::Untested);
            let what =
                format!("neither stored nor waiting nor with a reason; as a link: {}", link.outcome.as_str());
            check.lost_or_broken(repair.is_some() && !open, &link.to, None, what);
        }
    }
    Ok(check)
}

/// Counts a URL the first time that it is met; true if nothing accounts for it.
fn is_unaccounted(
    print: Option<Fingerprint>,
    found: &mut HashSet<Fingerprint>,
    accounted: &HashSet<Fingerprint>,
    check: &mut Check,
) -> bool {
    let Some(print) = print.filter(|print| found.insert(*print)) else { return false };
    check.case();
    !accounted.contains(&print)
}
