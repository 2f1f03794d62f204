//! The limits of a run: which queues they close, and when they end it. Pure in the totals and the time.

use std::sync::Arc;
use std::time::Duration;

use super::allowance::{Allowance, Share};
use super::{EngineSettings, Leases};
use crate::commit::Totals;
use crate::frontier::{Frontier, Lease, OpenQueues, Work};
use crate::store::Store;
use page::clock::Now;

/// The limits over all hosts, and what this engine may use of them.
#[derive(Debug)]
pub(super) struct Limits {
    pages: Option<u64>,
    resources: Option<u64>,
    bytes: Option<u64>,
    time: Option<Duration>,
    /// Resources of pages are fetched: a limit on pages doesn't end the run before they are.
    fetches_resources: bool,
    /// A pause longer than this is no reason to wait.
    max_wait: Duration,
    /// The partition's part, where this is one of a cluster's crawl: the limits are the whole crawl's then.
    own: Option<Arc<Allowance>>,
}

/// Pages and resources that are stored, or in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) pages: u64,
    pub(super) resources: u64,
}

impl Taken {
    /// What is in flight: each visit may bring a page, or a resource.
    pub(super) fn in_flight(leases: &Leases) -> Self {
        let is_resource = |lease: &&Lease| matches!(&lease.work, Work::Visit(item) if item.is_resource());
        let resources = leases.values().filter(is_resource).count();
        Self { pages: (leases.len() - resources) as u64, resources: resources as u64 }
    }
}

impl Limits {
    /// `own`: the partition's part, where this is one of a cluster's crawl.
    pub(super) fn new(settings: &EngineSettings, own: Option<Arc<Allowance>>) -> Self {
        Self {
            pages: settings.max_pages,
            resources: settings.max_resources,
            bytes: settings.max_bytes,
            time: settings.max_time,
            fetches_resources: settings.resources,
            max_wait: settings.max_wait,
            own,
        }
    }

    /// The partition's part, where this is one of a cluster's crawl.
    pub(super) fn own(&self) -> Option<&Arc<Allowance>> {
        self.own.as_ref()
    }

    /// The limit that ends the whole crawl of a cluster, where it is reached.
    pub(super) fn whole(&self) -> Option<String> {
        self.own.as_ref()?.over()
    }

    /// How many pages and resources may be stored; none for as many as there are.
    fn most(&self) -> (Option<u64>, Option<u64>) {
        match &self.own {
            Some(own) => (self.pages.map(|_| own.pages.most()), self.resources.map(|_| own.resources.most())),
            None => (self.pages, self.resources),
        }
    }

    /// The queues that no limit has closed.
    pub(super) fn open_queues(&self, totals: &Totals) -> OpenQueues {
        let (pages, resources) = self.most();
        let is_below = |most: Option<u64>, have: u64| most.is_none_or(|most| have < most);
        OpenQueues { pages: is_below(pages, totals.pages), resources: is_below(resources, totals.resources) }
    }

    /// Whether the limits hold, whatever those in flight and one more bring. Once one is reached, its queue is closed instead.
    pub(super) fn has_capacity(&self, totals: &Totals, in_flight: &Leases) -> bool {
        let (pages, resources) = self.most();
        if pages.is_none() && resources.is_none() {
            return true;
        }
        let coming = Taken::in_flight(in_flight);
        let keeps = |most: Option<u64>, have: u64, coming: u64| {
            most.is_none_or(|most| have >= most || have + coming < most)
        };
        keeps(pages, totals.pages, coming.pages) && keeps(resources, totals.resources, coming.resources)
    }

    /// The limit of pages or bytes that ends the run, with its value, where it is reached. `open`: the queues as they are.
    pub(super) fn reached(&self, totals: &Totals, open: OpenQueues) -> Option<String> {
        if self.own.is_some() {
            // They are the whole crawl's: one partition doesn't judge them.
            return None;
        }
        let over = |name: &str, most: Option<u64>, have: u64| {
            most.filter(|most| have >= *most).map(|most| format!("{name} {most}"))
        };
        // The resources of those pages are still to be fetched.
        let goes_on = self.fetches_resources && open.resources;
        over("max-pages", self.pages, totals.pages)
            .filter(|_| !goes_on)
            .or_else(|| over("max-bytes", self.bytes, totals.bytes))
    }

    /// The limit of time, with its value, where it is reached.
    pub(super) fn time_over(&self, now: Now) -> Option<String> {
        let most = self.time.filter(|most| self.own.is_none() && now.mono >= *most)?;
        Some(format!("max-time {}s", most.as_secs()))
    }

    /// The limit because of which URLs remain in a queue that is closed. `open`: the queues as they are; `has_closed`: one of
    /// those that aren't has URLs.
    pub(super) fn closed(&self, open: OpenQueues, has_closed: bool) -> Option<String> {
        let open = match &self.own {
            Some(own) => OpenQueues { pages: !own.pages.is_over(), resources: !own.resources.is_over() },
            None => open,
        };
        match (self.pages, self.resources) {
            (Some(most), _) if !open.pages => Some(format!("max-pages {most}")),
            (_, Some(most)) if !open.resources && has_closed => Some(format!("max-resources {most}")),
            _ => None,
        }
    }

    /// Says what of the partition's part is used, and returns whether it waits for more. `may_do`: something is to be done now or soon.
    pub(super) fn tell_taken<S: Store>(
        &self,
        frontier: &mut Frontier<S>,
        taken: Taken,
        may_do: bool,
        now: Now,
    ) -> bool {
        let Some(own) = &self.own else { return false };
        let open = frontier.open_queues();
        let more = OpenQueues {
            pages: open.pages || !own.pages.is_over(),
            resources: open.resources || !own.resources.is_over(),
        };
        let waits =
            own.over().is_none() && more != open && frontier.has_prospect_with(more, now, self.max_wait);
        let tell = |share: &Share, taken: u64, is_open: bool| {
            share.tell(taken, !share.is_over() && if is_open { may_do } else { waits });
        };
        tell(&own.pages, taken.pages, open.pages);
        tell(&own.resources, taken.resources, open.resources);
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(pages: Option<u64>, resources: Option<u64>) -> Limits {
        let (bytes, time) = (Some(1_000), Some(Duration::from_secs(60)));
        let max_wait = Duration::from_secs(9);
        Limits { pages, resources, bytes, time, fetches_resources: resources.is_some(), max_wait, own: None }
    }

    fn totals(pages: u64, resources: u64, bytes: u64) -> Totals {
        Totals { pages, resources, bytes, ..Totals::default() }
    }

    fn at(secs: u64) -> Now {
        Now { mono: Duration::from_secs(secs), wall: jiff::Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn a_limit_closes_its_queue_and_ends_the_run_once_nothing_else_is_to_be_done() {
        let open = |pages, resources| OpenQueues { pages, resources };
        // Limits on pages and resources; pages, resources and bytes so far; the queues then; why the run ends.
        for ((most, most_resources), (pages, resources, bytes), queues, end) in [
            ((None, None), (9_999, 9_999, 999), open(true, true), None),
            ((None, None), (0, 0, 1_000), open(true, true), Some("max-bytes 1000")),
            ((Some(5), None), (4, 0, 0), open(true, true), None),
            ((Some(5), None), (5, 0, 0), open(false, true), Some("max-pages 5")),
            ((Some(5), None), (6, 0, 1_000), open(false, true), Some("max-pages 5")),
            ((Some(5), Some(2)), (5, 1, 0), open(false, true), None),
            ((Some(5), Some(2)), (5, 1, 1_000), open(false, true), Some("max-bytes 1000")),
            ((Some(5), Some(2)), (5, 2, 0), open(false, false), Some("max-pages 5")),
            ((Some(5), Some(2)), (4, 2, 0), open(true, false), None),
        ] {
            let (limits, totals) = (limits(most, most_resources), totals(pages, resources, bytes));
            assert_eq!(limits.open_queues(&totals), queues, "{most:?} {most_resources:?} {totals:?}");
            assert_eq!(
                limits.reached(&totals, queues).as_deref(),
                end,
                "{most:?} {most_resources:?} {totals:?}"
            );
        }
    }

    #[test]
    fn time_is_over_at_its_limit_and_never_for_one_partition_of_many() {
        let mut limits = limits(Some(5), None);
        assert_eq!(limits.time_over(at(59)), None);
        assert_eq!(limits.time_over(at(60)).as_deref(), Some("max-time 60s"));
        limits.own = Some(Arc::default());
        assert_eq!(limits.time_over(at(60)), None);
        assert_eq!(limits.reached(&totals(5, 0, 1_000), OpenQueues { pages: false, resources: false }), None);
    }

    #[test]
    fn what_remains_behind_a_closed_queue_is_put_down_to_its_limit() {
        let open = |pages, resources| OpenQueues { pages, resources };
        for (most, queues, has_closed, end) in [
            ((Some(5), Some(2)), open(true, true), true, None),
            ((Some(5), Some(2)), open(false, true), false, Some("max-pages 5")),
            ((Some(5), Some(2)), open(true, false), true, Some("max-resources 2")),
            ((Some(5), Some(2)), open(true, false), false, None),
            ((None, None), open(false, false), true, None),
        ] {
            let limits = limits(most.0, most.1);
            assert_eq!(limits.closed(queues, has_closed).as_deref(), end, "{most:?} {queues:?} {has_closed}");
        }
    }

    #[test]
    fn a_partition_keeps_to_its_part_and_the_whole_crawl_judges_the_limit() {
        let mut limits = limits(Some(100), None);
        let own = Arc::new(Allowance::default());
        limits.own = Some(Arc::clone(&own));
        own.pages.raise(3);
        assert!(limits.open_queues(&totals(2, 0, 0)).pages && !limits.open_queues(&totals(3, 0, 0)).pages);
        let closed = OpenQueues { pages: false, resources: true };
        assert_eq!(limits.closed(closed, true), None, "it may get more");
        assert!(limits.whole().is_none());
        own.reached(true, false, Some("max-pages 100".to_owned()));
        assert_eq!(limits.closed(closed, true).as_deref(), Some("max-pages 100"));
        assert_eq!(limits.whole().as_deref(), Some("max-pages 100"));
    }
}
