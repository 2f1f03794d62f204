//! Every page came into the crawl by a way that was open: a seed, or a link that may be followed.

use std::collections::HashSet;

use super::{AuditError, AuditRules, Check};
use crate::page_store;
use crate::record::{LinkOutcome, PageRecord, RepairRecord};
use crate::store::Store;
use crate::url::CrawlUrl;

pub(super) fn judge<S: Store>(
    store: &S,
    rules: &AuditRules,
    repair: Option<&RepairRecord>,
) -> Result<Check, AuditError> {
    let mut check =
        Check::new("discovery", "every page is a seed, or was queued through a link that may be followed");
    let print = |url: &str| CrawlUrl::parse(url).ok().map(|url| url.fingerprint(&rules.key));
    let seeds: HashSet<_> = rules.seeds.iter().filter_map(|seed| print(seed)).collect();
    for page in page_store::scan(store) {
        let record = page?.record()?;
        check.case();
        let at = Some(record.fetched_at);
        let own = print(&record.url);
        let Some(via) = record.via else {
            if own.is_none_or(|own| !seeds.contains(&own)) && !is_from_sitemap(&record) {
                // A page that was read again from the archive doesn't know any more where it was found.
                let is_lost = repair.is_some_and(|repair| record.fetched_at < repair.at);
                check.lost_or_broken(is_lost, &record.url, at, "neither a seed nor found on a page");
            }
            continue;
        };
        // A page that was visited again may have lost the link since.
        let links = page_store::links_of(store, via.host, via.page)?;
        let mut same = links.iter().filter(|link| own.is_some() && print(&link.to) == own).peekable();
        if same.peek().is_none() {
            continue;
        }
        let open =
            |outcome| matches!(outcome, LinkOutcome::Queued | LinkOutcome::Seen | LinkOutcome::Untested);
        if !same.any(|link| open(link.outcome) && !link.nofollow) {
            check.broken(&record.url, at, "the page that it was found on doesn't let it be followed");
        }
    }
    Ok(check)
}

/// A URL that a sitemap names has no page that links to it.
fn is_from_sitemap(record: &PageRecord) -> bool {
    record.depth > 0
}
