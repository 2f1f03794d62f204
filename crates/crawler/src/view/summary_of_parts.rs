//! The summary of a crawl on many machines: those of its partitions, added up.

use std::collections::BTreeMap;

use super::coverage::Counted;
use super::groups::joined;
use super::open::{View, ViewError};
use super::summary::{
    HOSTS_LISTED, Listed, MOVED_SEEDS_LISTED, SEEDS_EXPLAINED, SITEMAPS_LISTED, Summary, UNUSABLE_LISTED,
};
use super::tally::most_frequent;
use crate::commit::Totals;
use crate::ledger;
use crate::record::EndRecord;
use crate::store::AnyStore;

/// Reads a crawl in several partitions once. `is_running`: workers crawl it. `runs`: how often it was begun or continued, since each partition counts its
/// owners. Memory: as [`View::summary`], and the lists of two partitions.
pub fn summary_of(parts: &[(String, View)], is_running: bool, runs: u64) -> Result<Summary, ViewError> {
    let mut all: Option<Summary> = None;
    for (_, part) in parts {
        let summary = part.summary()?;
        all = Some(match all {
            None => summary,
            Some(all) => all.with(summary),
        });
    }
    let mut all = all.ok_or_else(|| ViewError::from(crate::store::StoreError::Stopped))?;
    all.totals.runs = runs;
    let stores: Vec<AnyStore> = parts.iter().map(|(_, part)| AnyStore::clone(part.store())).collect();
    all.head = all.head.and(Some(ledger::joint_head(&stores)?));
    if is_running && let Some(end) = &mut all.end {
        "running".clone_into(&mut end.end);
    }
    all.judge();
    Ok(all)
}

impl Summary {
    fn with(mut self, more: Self) -> Self {
        // As a list of all fields: a new one can't be forgotten.
        let Self {
            v: _,
            crawl_id: _,
            started: _,
            agent: _,
            seeds,
            unfetched_seeds,
            unusable_seeds,
            unusable,
            status: _,
            complete: _,
            totals,
            queued,
            statuses,
            errors,
            walls,
            suspects,
            limits,
            indexed,
            noindex,
            archived,
            followed,
            skipped,
            costly,
            cheaper,
            skipped_not_listed,
            sitemaps_known,
            sitemaps_crashed,
            sitemaps,
            moved_seeds_known,
            moved_seeds,
            robots,
            hosts_known,
            hosts_complete,
            hosts_complete_within_limits,
            hosts_complete_except_walls,
            hosts_incomplete,
            groups,
            groups_known,
            large_domain,
            end,
            hosts,
            head,
        } = more;
        self.seeds.extend(seeds);
        self.unusable_seeds += unusable_seeds;
        self.unusable.extend(unusable);
        self.unusable.truncate(UNUSABLE_LISTED);
        let runs = self.totals.runs.max(totals.runs);
        self.totals.add(&totals);
        self.unfetched_seeds.extend(unfetched_seeds);
        self.unfetched_seeds.truncate(if self.totals.pages == 0 { SEEDS_EXPLAINED } else { 0 });
        self.totals = Totals { runs, ..self.totals };
        self.queued += queued;
        for (status, count) in statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (kind, count) in errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.walls = added(self.walls, walls);
        self.suspects += suspects;
        self.limits = added(self.limits, limits);
        self.indexed += indexed;
        self.noindex += noindex;
        self.archived += archived;
        self.followed += followed;
        self.skipped = added(self.skipped, skipped);
        self.costly = added(self.costly, costly);
        self.cheaper.extend(cheaper);
        self.cheaper.sort();
        self.skipped_not_listed += skipped_not_listed;
        self.sitemaps_known += sitemaps_known;
        self.sitemaps_crashed += sitemaps_crashed;
        self.sitemaps.extend(sitemaps);
        self.sitemaps.truncate(SITEMAPS_LISTED);
        // Each partition has all of them.
        self.moved_seeds_known = self.moved_seeds_known.max(moved_seeds_known);
        self.moved_seeds.extend(moved_seeds);
        self.moved_seeds.sort();
        self.moved_seeds.dedup();
        self.moved_seeds.truncate(MOVED_SEEDS_LISTED);
        self.robots = added(self.robots, robots);
        self.hosts_known += hosts_known;
        self.hosts_complete += hosts_complete;
        self.hosts_complete_within_limits += hosts_complete_within_limits;
        self.hosts_complete_except_walls += hosts_complete_except_walls;
        self.hosts_incomplete += hosts_incomplete;
        // A list may have hosts in several partitions, a domain has all of its hosts in one.
        let listed = self.groups.len() + groups.len();
        let known = self.groups_known + groups_known;
        self.groups = joined(self.groups, groups);
        self.groups_known = known
            .saturating_sub(listed.saturating_sub(self.groups.len()) as u64)
            .max(self.groups.len() as u64);
        self.large_domain =
            self.large_domain.into_iter().chain(large_domain).max_by_key(|domain| domain.count);
        self.end = worse(self.end, end);
        let mut listed: Vec<Listed> = self.hosts.into_iter().chain(hosts).map(Listed).collect();
        listed.sort();
        self.hosts = listed.into_iter().take(HOSTS_LISTED).map(|Listed(host)| host).collect();
        self.head = self.head.or(head);
        self
    }
}

fn added(some: Vec<Counted>, more: Vec<Counted>) -> Vec<Counted> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for Counted { what, count } in some.into_iter().chain(more) {
        *counts.entry(what).or_default() += count;
    }
    most_frequent(counts)
}

/// The end of the partition that is furthest from complete; of equal ones, the later.
fn worse(some: Option<EndRecord>, more: Option<EndRecord>) -> Option<EndRecord> {
    let rank = |end: &EndRecord| match end.end.as_str() {
        "complete" => 0,
        "limit" => 1,
        "interrupted" => 2,
        "forced" => 3,
        _ => 4,
    };
    some.into_iter().chain(more).max_by_key(|end| (rank(end), end.at))
}
