//! Explains a URL of a crawl on many machines, of which each partition knows a part.

use super::super::open::{View, ViewError};
use super::find::PathStep;
use super::{Explanation, governing};
use crate::post;
use crate::record::Decision;
use crate::store::StoreError;
use page::url::CrawlUrl;

/// How often the path to a URL is followed from one partition to another.
const PARTITIONS: usize = 100;

/// Explains every decision about a URL of a crawl in several partitions, which are in the order of their numbers. What was fetched, waits, or was skipped when
/// its turn came is on record in the partition of its host; a link that was skipped, in that of the page that links to it. The path to the URL leads through all of them.
/// Of one crawl alone: as [`View::explain`].
///
/// Reads the ledger of the host's partition once, and those of the others if that one doesn't know the URL.
pub fn explain_among(parts: &[(String, View)], url: &CrawlUrl) -> Result<Explanation, ViewError> {
    let parts = Parts(parts);
    let own = parts.of_host(url.host()).ok_or_else(|| ViewError::from(StoreError::Stopped))?;
    let mut story = own.explain_with(url, parts)?;
    for _ in 0..PARTITIONS {
        let Some(page) = story.found.first().and_then(PathStep::page_of_other) else { break };
        let Some(view) = parts.of_host(page.host()) else { break };
        if !view.lengthen(&mut story.found)? {
            break;
        }
    }
    Ok(story)
}

/// All partitions of a cluster's crawl, in the order of their numbers; none of a crawl that has no partitions.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts<'a>(&'a [(String, View)]);

impl<'a> Parts<'a> {
    /// The partition of a host.
    pub(super) fn of_host(self, host: &str) -> Option<&'a View> {
        let of = u32::try_from(self.0.len()).ok().filter(|of| *of > 0)?;
        self.0.get(post::partition(host, of) as usize).map(|(_, view)| view)
    }

    /// The views of all partitions but this one.
    pub(super) fn beside(self, own: &View) -> impl Iterator<Item = &'a View> {
        self.0.iter().map(|(_, view)| view).filter(move |view| !std::ptr::eq(*view, own))
    }
}

/// What other partitions decided about links to a URL that its own one doesn't know.
#[derive(Default)]
pub(super) struct Elsewhere<'a> {
    /// Their decisions, one partition after the other.
    pub(super) decisions: Vec<(u64, Decision)>,
    /// The skip that keeps it from its request, and where it is on record.
    pub(super) skip: Option<(Decision, &'a View)>,
}

impl<'a> Elsewhere<'a> {
    /// Reads their ledgers. `is_allowed` and `is_in_scope` are what its own partition says of it now.
    pub(super) fn read(
        others: impl Iterator<Item = &'a View>,
        url: &CrawlUrl,
        (is_allowed, is_in_scope): (bool, bool),
    ) -> Result<Self, ViewError> {
        let mut found = Self::default();
        let mut skips: Vec<(Decision, &'a View)> = Vec::new();
        for view in others {
            let decisions = view.decisions_on(&[url.to_string()])?;
            let skip = governing(&view.of_last_runs(&decisions)?, is_allowed, is_in_scope).cloned();
            let skip = if skip.is_some() { skip } else { view.not_listed(url)? };
            skips.extend(skip.map(|skip| (skip, view)));
            found.decisions.extend(decisions);
        }
        skips.sort_by_key(|(skip, _)| skip.at);
        let all: Vec<&Decision> = skips.iter().map(|(skip, _)| skip).collect();
        let first = governing(&all, is_allowed, is_in_scope).cloned();
        found.skip = first.and_then(|first| skips.into_iter().find(|(skip, _)| *skip == first));
        Ok(found)
    }
}
