//! Every URL that was found is stored, waits, or has a reason: the sum of reasons is what was discovered less what is stored.

use std::collections::HashSet;

use super::{AuditError, AuditRules, Check};
use crate::frontier::stored_queue;
use crate::ledger;
use crate::record::{PageRecord, read_links};
use crate::store::{Store, Tree};
use crate::url::{CrawlUrl, Fingerprint};

/// Decisions that say what became of a URL.
const ENDS: [&str; 5] = ["skipped", "failed", "quarantined", "blocked", "refused"];

pub(super) fn judge<S: Store>(store: &S, rules: &AuditRules) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "accounts",
        "every URL that was discovered is stored, waits, or has a reason in the ledger",
    );
    let print = |url: &str| CrawlUrl::parse(url).ok().map(|url| url.fingerprint(&rules.key));
    let mut accounted: HashSet<Fingerprint> = HashSet::new();
    for pair in store.scan(Tree::Pages, &[]) {
        let (_, value) = pair?;
        let record: PageRecord =
            serde_json::from_slice(&value).map_err(|error| AuditError::record(Tree::Pages)(&error))?;
        accounted.extend(print(&record.url));
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
        judge_url(seed, "a seed", print(seed), &accounted, &mut found, &mut check);
    }
    for pair in store.scan(Tree::Links, &[]) {
        let (_, value) = pair?;
        let links = read_links(&value).map_err(|error| AuditError::record(Tree::Links)(&error))?;
        for link in links {
            let outcome = link.outcome.as_str();
            judge_url(&link.to, outcome, print(&link.to), &accounted, &mut found, &mut check);
        }
    }
    Ok(check)
}

fn judge_url(
    url: &str,
    outcome: &str,
    print: Option<Fingerprint>,
    accounted: &HashSet<Fingerprint>,
    found: &mut HashSet<Fingerprint>,
    check: &mut Check,
) {
    let Some(print) = print else { return };
    if found.insert(print) {
        check.case();
        if !accounted.contains(&print) {
            check.broken(
                url,
                None,
                format!("neither stored nor waiting nor with a reason; as a link: {outcome}"),
            );
        }
    }
}
