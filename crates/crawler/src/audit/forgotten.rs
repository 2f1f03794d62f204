//! What a user had removed by `crawl forget`: nothing of it is stored, and it wasn't asked for again.

use jiff::Timestamp;

use super::{AuditError, Check};
use crate::forgotten::{Forgotten, forget_rules};
use crate::ledger;
use crate::page_store::scan_with_links;
use crate::post::ForgottenFile;
use crate::record::{Decided, ForgetRule};
use crate::store::{Store, Tree};

/// The rules of the crawl, each by itself.
pub(super) struct Rules(Vec<(Forgotten, ForgetRule)>);

impl Rules {
    pub(super) fn read<S: Store>(store: &S) -> Result<Self, AuditError> {
        let mut rules = Vec::new();
        for (_, rule) in forget_rules(store)? {
            let forgotten = Forgotten::new(std::iter::once(&rule)).map_err(AuditError::record(Tree::Meta))?;
            rules.push((forgotten, rule));
        }
        Ok(Self(rules))
    }

    /// When a URL was forgotten first.
    pub(super) fn since(&self, url: &str) -> Option<Timestamp> {
        self.0.iter().filter(|(forgotten, _)| forgotten.has(url)).map(|(_, rule)| rule.at).min()
    }
}

pub(super) fn judge<S: Store>(store: &S) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "forgotten",
        "nothing of what was removed by `crawl forget` is stored, and it wasn't requested afterwards",
    );
    let forgotten = Rules::read(store)?;
    for (_, rule) in forgotten.0.iter().filter(|(_, rule)| !rule.done) {
        check.case();
        let what = "its removal was interrupted; `crawl resume`, or the same command again, finishes it";
        check.broken(rule.forget.text(), Some(rule.at), what);
    }
    for pair in store.scan(Tree::Meta, ForgottenFile::PREFIX) {
        let Some(file) = ForgottenFile::read(&pair?.0) else { continue };
        check.case();
        let what = "the archive file hasn't been searched for what was forgotten: start the worker that has it with its directory";
        check.broken(file.to_string(), None, what);
    }
    if forgotten.0.is_empty() {
        return Ok(check);
    }
    for page in scan_with_links(store) {
        let page = page?;
        let record = page.record()?;
        let Some(since) = forgotten.since(&record.url) else { continue };
        check.case();
        if !record.forgotten {
            check.broken(
                &record.url,
                Some(record.fetched_at),
                "its record still has what came from the server",
            );
        } else if record.holds_content() || !page.links()?.is_empty() {
            check.broken(&record.url, Some(since), "its record or its links are there again");
        }
    }
    for pair in store.scan(Tree::Ledger, &[]) {
        // What can't be read is a fault of the chain, and reported there.
        let Ok(block) = ledger::read(&pair?.1) else { continue };
        for entry in block.decisions {
            let at = match (&entry.decision, &entry.evidence.request) {
                (Decided::Fetched | Decided::Retry | Decided::Failed, _) => entry.at,
                // It is entered by the process after the one that sent it.
                (Decided::Interrupted, Some(request)) => request.started,
                _ => continue,
            };
            if forgotten.since(&entry.url).is_some_and(|since| at > since) {
                check.case();
                check.broken(&entry.url, Some(at), "it was requested after it was forgotten");
            }
        }
    }
    Ok(check)
}
