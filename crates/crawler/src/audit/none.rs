//! Pages under noindex and nofollow: their links are only counted, and listed nowhere.

use std::collections::HashSet;

use super::{AuditError, AuditRules, Check, content};
use crate::ledger;
use crate::page_store::scan_with_links;
use crate::record::{Decided, Decision, EffectsTaken, Layer, RepairRecord};
use crate::store::{Store, Tree};

pub(super) fn judge<S: Store>(
    store: &S,
    rules: &AuditRules,
    repair: Option<&RepairRecord>,
) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "none",
        "no link of a page under noindex and nofollow is in table links or the ledger; only their number is",
    );
    let ledger = Ledger::read(store, &mut check)?;
    for page in scan_with_links(store) {
        let page = page?;
        let record = page.record()?;
        let at = record.fetched_at;
        let may = content::allowed(&record, rules, at);
        if may.text || may.links {
            continue;
        }
        check.case();
        let links = page.links()?;
        if !links.is_empty() {
            check.broken(&record.url, Some(at), format!("{} of its links are listed", links.len()));
        }
        let has_links = record.links_out > u64::from(record.redirect.is_some());
        if has_links && ledger.entries > 0 && !ledger.counted.contains(&hash(&record.url)) {
            let what = "the number of its links isn't in the ledger";
            check.lost_or_broken(repair.is_some(), &record.url, Some(at), what);
        }
    }
    Ok(check)
}

/// What the ledger says of such pages. In memory: some 60 bytes for each of them.
#[derive(Default)]
struct Ledger {
    entries: u64,
    /// Pages with an entry that tells the number of their links, hashed.
    counted: HashSet<u128>,
    /// Pages whose last visit so far found them closed, hashed.
    closed: HashSet<u128>,
}

fn hash(url: &str) -> u128 {
    blake3::hash(url.as_bytes()).as_bytes()[..16].iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

impl Ledger {
    fn read<S: Store>(store: &S, check: &mut Check) -> Result<Self, AuditError> {
        let mut ledger = Self::default();
        for pair in store.scan(Tree::Ledger, &[]) {
            let (_, value) = pair?;
            // What can't be read is a fault of the chain, and reported there.
            let Ok(block) = ledger::read(&value) else { continue };
            for entry in block.decisions {
                ledger.take(entry, check);
            }
        }
        Ok(ledger)
    }

    fn take(&mut self, entry: Decision, check: &mut Check) {
        self.entries += 1;
        let Decision { at, url, decision, layer, evidence, via, .. } = entry;
        match decision {
            Decided::Fetched => {
                let effects = evidence.effects;
                if matches!(effects, Some(EffectsTaken { indexed: false, followed: false, .. })) {
                    self.closed.insert(hash(&url));
                } else if !self.closed.is_empty() {
                    self.closed.remove(&hash(&url));
                }
            }
            Decided::NotListed if layer == Layer::Directive => {
                self.counted.insert(hash(&url));
            }
            // What was queued before the page was closed may be skipped for other reasons later.
            Decided::Skipped if matches!(layer, Layer::Scope | Layer::Directive | Layer::Limit) => {
                if let Some(via) =
                    via.filter(|via| !self.closed.is_empty() && self.closed.contains(&hash(via)))
                {
                    check.broken(&via, Some(at), format!("the ledger lists {url} as a link of it"));
                }
            }
            _ => {}
        }
    }
}
