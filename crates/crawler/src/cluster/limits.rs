//! Limits of the whole crawl, which its workers keep together.
//!
//! Of `max_pages` and `max_resources` each partition has a share: the number that it may store in all. A row of the table `share` says how large
//! it is, under the fence of the partition's owner; the sum of all shares never exceeds the limit. So the limit holds whatever crashes: who takes a
//! partition over has its share too. An owner asks for more when it can use it, and gives back what it can't.
//!
//! `max_bytes` and `max_time` end the crawl once they are reached; so does `max_pages`. What counts is what is committed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::ClusterError;
use super::connection::{Error, Link};
use super::layout::Layout;
use super::mail::Outbox;
use crate::config::Settings;
use crate::engine::{Allowance, Share};
use page::clock;

/// A new owner takes the shares of its partitions over: from then on the owner before can't change them.
const TAKE: &str = "
update share set fence = asked.fence from unnest($1::int4[], $2::int8[]) as asked(part, fence)
where share.part = asked.part and share.fence <= asked.fence returning share.part, pages, resources";

const TAKEN: &str = "
select changes, (select coalesce(sum(pages), 0)::int8 from share), (select coalesce(sum(resources), 0)::int8 from share),
    (select count(*) from worker where alive) from quota";

/// Changes shares, unless another worker has since they were added up.
const CHANGE: &str = "
with first as (update quota set changes = changes + 1 where changes = $1 returning changes)
update share set pages = asked.pages, resources = asked.resources
from unnest($2::int4[], $3::int8[], $4::int8[], $5::int8[]) as asked(part, fence, pages, resources)
where share.part = asked.part and share.fence = asked.fence and exists (select from first)
returning share.part";

const WORKED: &str = "
update crawl set worked_ms = greatest(worked_ms, $1) where run = $2 and state = 'running'";

/// What all partitions of a database have committed, and for how long this run has worked, as the first database knows it.
const COUNTED: &str = "
select coalesce(sum((totals ->> 'pages')::int8), 0)::int8, coalesce(sum((totals ->> 'resources')::int8), 0)::int8,
    coalesce(sum((totals ->> 'bytes')::int8), 0)::int8, (select worked_ms from crawl)
from part cross join lateral (
    select convert_from(value, 'UTF8')::json as totals from kv where kv.part = part.id and tree = 0 and key = 'totals'
) as counted";

/// Tries to change shares before the next round does.
const TRIES: usize = 3;

/// The limits that a crawl has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pages: Option<u64>,
    resources: Option<u64>,
    bytes: Option<u64>,
    time: Option<Duration>,
    /// Resources are fetched: those of the last pages, too.
    fetches_resources: bool,
}

/// What of the whole crawl counts for limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counted {
    pages: u64,
    resources: u64,
    bytes: u64,
    worked: Duration,
}

impl Limits {
    /// Those of the settings, where there are any.
    pub(super) fn of(settings: &Settings) -> Option<Self> {
        let limits = &settings.limits;
        let found = Self {
            pages: limits.max_pages,
            resources: limits.max_resources,
            bytes: limits.max_bytes,
            time: limits.max_time,
            fetches_resources: settings.scope.resources,
        };
        let any = found.pages.or(found.resources).or(found.bytes).is_some() || found.time.is_some();
        any.then_some(found)
    }

    /// Whether pages, and resources, are through; and the limit that ends the crawl, with its value.
    fn reached(&self, counted: Counted) -> (bool, bool, Option<String>) {
        let is_over = |most: Option<u64>, have| most.is_some_and(|most| have >= most);
        let (pages, resources) =
            (is_over(self.pages, counted.pages), is_over(self.resources, counted.resources));
        let ended = |name: &str, most: Option<u64>| most.map(|most| format!("{name} {most}"));
        // The resources of those pages are still to be fetched.
        let goes_on = self.fetches_resources && !resources;
        let limit = if pages && !goes_on {
            ended("max-pages", self.pages)
        } else if is_over(self.bytes, counted.bytes) {
            ended("max-bytes", self.bytes)
        } else {
            let time = self.time.filter(|most| counted.worked >= *most);
            time.map(|most| format!("max-time {}s", most.as_secs()))
        };
        (pages, resources, limit)
    }
}

/// The shares of a partition as the database has them.
#[derive(Debug, Clone, Copy)]
struct Known {
    fence: i64,
    shares: [u64; 2],
    /// What was taken when this was looked at before.
    taken: [u64; 2],
}

/// Whose turn it is to get more of a limit, and how much is free.
fn granted(free: u64, workers: u64, asked: u64) -> u64 {
    // Each time half of what would be fair: others ask as well.
    asked.min((free / (2 * workers.max(1))).max(1)).min(free)
}

/// Which limits are reached: of pages, of resources, and the one that has ended the crawl, with its value.
#[derive(Debug, Clone, Default)]
pub(super) struct Reached(Arc<Mutex<(bool, bool, Option<String>)>>);

impl Reached {
    fn set(&self, reached: (bool, bool, Option<String>)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reached;
    }

    /// Tells a partition what is known.
    pub(super) fn tell(&self, allowance: &Allowance) {
        let (pages, resources, limit) = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        allowance.reached(pages, resources, limit);
    }

    /// The limit that has ended the crawl, with its value.
    pub(super) fn limit(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).2.clone()
    }
}

/// A worker's part in keeping the limits.
pub(super) struct Keeper {
    /// To the first database, which has all shares.
    link: Link,
    /// To the others.
    further: Vec<Link>,
    limits: Limits,
    known: HashMap<i32, Known>,
    /// The run that this worker joined, the time that it had worked by then, and when that was.
    run: i64,
    before: Duration,
    joined: Instant,
    reached: Reached,
}

impl Keeper {
    pub(super) fn new(layout: &Layout, limits: Limits, (run, before): (i64, Duration)) -> Self {
        let mut links =
            layout.databases().iter().map(|address| Link::new(Arc::clone(address), None, Duration::ZERO));
        let link =
            links.next().unwrap_or_else(|| Link::new(Arc::clone(layout.first()), None, Duration::ZERO));
        let further = links.collect();
        let (known, joined) = (HashMap::new(), clock::instant());
        Self { link, further, limits, known, run, before, joined, reached: Reached::default() }
    }

    pub(super) async fn connect(&mut self, layout: &Layout) -> Result<(), ClusterError> {
        let links = std::iter::once(&mut self.link).chain(&mut self.further);
        for (link, address) in links.zip(layout.databases()) {
            link.open().await.map_err(ClusterError::connections(address))?;
        }
        Ok(())
    }

    /// What it finds, for those who begin with a partition.
    pub(super) fn reached(&self) -> Reached {
        self.reached.clone()
    }

    /// Looks how far the whole crawl is, and tells the partitions which limits are reached.
    pub(super) async fn look(&mut self, outboxes: &HashMap<i32, Outbox>) -> Result<(), Error> {
        if self.limits.time.is_some() {
            let worked = (self.before + clock::instant().saturating_duration_since(self.joined)).as_millis();
            let worked = i64::try_from(worked).unwrap_or(i64::MAX);
            self.link.read(WORKED, &[&worked, &self.run]).await?;
        }
        let rows = self.link.read(COUNTED, &[]).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let number = |at| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
        let (mut pages, mut resources, mut bytes) = (number(0), number(1), number(2));
        let worked = Duration::from_millis(number(3));
        for link in &mut self.further {
            let rows = link.read(COUNTED, &[]).await?;
            let Some(row) = rows.first() else { return Ok(()) };
            let number = |at| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
            (pages, resources, bytes) = (pages + number(0), resources + number(1), bytes + number(2));
        }
        self.reached.set(self.limits.reached(Counted { pages, resources, bytes, worked }));
        for of in outboxes.values() {
            self.reached.tell(&of.allowance);
        }
        Ok(())
    }

    /// Asks for what the partitions want of the limits, and gives back what they don't need.
    pub(super) async fn divide(&mut self, outboxes: &HashMap<i32, Outbox>) -> Result<(), Error> {
        if self.limits.pages.is_none() && self.limits.resources.is_none() {
            return Ok(());
        }
        let divided = self.try_divide(outboxes).await;
        if divided.is_err() {
            // Whether the database has it is read again.
            self.known.clear();
        }
        divided
    }

    async fn try_divide(&mut self, outboxes: &HashMap<i32, Outbox>) -> Result<(), Error> {
        self.take(outboxes).await?;
        for _ in 0..TRIES {
            let wanted = self.wanted(outboxes);
            if wanted.is_empty() || self.change(outboxes, &wanted).await? {
                break;
            }
        }
        for (part, known) in &mut self.known {
            if let Some(of) = outboxes.get(part) {
                known.taken = shares_of(of).map(Share::taken);
            }
        }
        Ok(())
    }

    /// Reads the shares of partitions that are new to this worker.
    async fn take(&mut self, outboxes: &HashMap<i32, Outbox>) -> Result<(), Error> {
        let fence = |part: &i32| outboxes.get(part).map(|of| of.store.claim().fence);
        self.known.retain(|part, known| fence(part) == Some(known.fence));
        let (parts, fences): (Vec<i32>, Vec<i64>) = outboxes
            .iter()
            .filter(|(part, _)| !self.known.contains_key(part))
            .map(|(part, of)| (*part, of.store.claim().fence))
            .unzip();
        if parts.is_empty() {
            return Ok(());
        }
        for row in self.link.read(TAKE, &[&parts, &fences]).await? {
            let part: i32 = row.get(0);
            let Some(of) = outboxes.get(&part) else { continue };
            let found = [1, 2].map(|at| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default());
            let fence = of.store.claim().fence;
            for (share, most) in shares_of(of).into_iter().zip(found) {
                share.raise(most);
            }
            of.allowance.wake();
            self.known.insert(part, Known { fence, shares: found, taken: shares_of(of).map(Share::taken) });
        }
        Ok(())
    }

    /// The partitions whose shares should be others: pages and resources of each, as they should be were there no limit.
    fn wanted(&self, outboxes: &HashMap<i32, Outbox>) -> Vec<(i32, [u64; 2])> {
        let limited = [self.limits.pages.is_some(), self.limits.resources.is_some()];
        let mut wanted = Vec::new();
        for (part, known) in &self.known {
            let Some(of) = outboxes.get(part) else { continue };
            let mut should = known.shares;
            for (at, share) in shares_of(of).into_iter().enumerate().filter(|(at, _)| limited[*at]) {
                let taken = share.taken();
                // As much as it took since the last look, and as much again.
                let reserve = (2 * taken.saturating_sub(known.taken[at])).max(1);
                share.set_reserve(reserve);
                should[at] = share.most();
                if share.is_wanted() && share.most() < taken + reserve.div_ceil(2) {
                    should[at] = taken + reserve;
                }
            }
            if should != known.shares {
                wanted.push((*part, should));
            }
        }
        // Those who have least come first.
        wanted.sort_by_key(|(part, _)| (self.known.get(part).map(|known| known.shares[0]), *part));
        wanted
    }

    /// Makes shares as they should be, as far as the limits allow it. False where another worker came first.
    async fn change(
        &mut self,
        outboxes: &HashMap<i32, Outbox>,
        wanted: &[(i32, [u64; 2])],
    ) -> Result<bool, Error> {
        let rows = self.link.read(TAKEN, &[]).await?;
        let Some(row) = rows.first() else { return Ok(true) };
        let seen: i64 = row.get(0);
        let number = |at| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
        let most = [self.limits.pages, self.limits.resources].map(|most| most.unwrap_or(u64::MAX));
        let mut free = [most[0].saturating_sub(number(1)), most[1].saturating_sub(number(2))];
        let workers = number(3);
        let asking = wanted.len() as u64;
        let (mut parts, mut fences, mut columns) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
        let mut new = Vec::new();
        for (part, should) in wanted {
            let Some(known) = self.known.get(part) else { continue };
            let mut shares = known.shares;
            for at in 0..2 {
                let more = should[at].saturating_sub(known.shares[at]);
                let granted = granted(free[at], workers * asking, more);
                free[at] -= granted;
                shares[at] = should[at].min(known.shares[at] + granted);
            }
            if shares != known.shares {
                parts.push(*part);
                fences.push(known.fence);
                for (column, share) in columns.iter_mut().zip(shares) {
                    column.push(i64::try_from(share).unwrap_or(i64::MAX));
                }
                new.push((*part, shares));
            }
        }
        if parts.is_empty() {
            return Ok(true);
        }
        let rows = self.link.read(CHANGE, &[&seen, &parts, &fences, &columns[0], &columns[1]]).await?;
        let changed: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
        for (part, shares_now) in new.into_iter().filter(|(part, _)| changed.contains(part)) {
            let (Some(known), Some(of)) = (self.known.get_mut(&part), outboxes.get(&part)) else { continue };
            let grew = shares_now[0] > known.shares[0] || shares_now[1] > known.shares[1];
            known.shares = shares_now;
            for (share, most) in shares_of(of).into_iter().zip(shares_now) {
                share.raise(most);
            }
            if grew {
                of.allowance.wake();
            }
        }
        Ok(!changed.is_empty())
    }
}

fn shares_of(of: &Outbox) -> [&Share; 2] {
    [&of.allowance.pages, &of.allowance.resources]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_the_crawl_is_named_with_its_value() {
        let limits = Limits {
            pages: Some(10),
            resources: Some(5),
            bytes: Some(1000),
            time: Some(Duration::from_secs(60)),
            fetches_resources: true,
        };
        let counted = |pages, resources, bytes, seconds| Counted {
            pages,
            resources,
            bytes,
            worked: Duration::from_secs(seconds),
        };
        let ended = |limit: &str| Some(limit.to_owned());
        for (counted, expected) in [
            (counted(9, 4, 999, 59), (false, false, None)),
            (counted(9, 5, 0, 0), (false, true, None)),
            // Their resources are still to be fetched.
            (counted(10, 4, 0, 0), (true, false, None)),
            (counted(10, 5, 0, 0), (true, true, ended("max-pages 10"))),
            (counted(0, 0, 1000, 0), (false, false, ended("max-bytes 1000"))),
            (counted(0, 0, 0, 60), (false, false, ended("max-time 60s"))),
        ] {
            assert_eq!(limits.reached(counted), expected, "{counted:?}");
        }
        let limits = Limits { fetches_resources: false, ..limits };
        assert_eq!(limits.reached(counted(10, 0, 0, 0)), (true, false, ended("max-pages 10")));
    }

    #[test]
    fn the_last_of_a_limit_is_given_one_by_one_and_never_more_than_there_is() {
        assert_eq!([granted(100, 5, 3), granted(100, 5, 30), granted(100, 5, 0)], [3, 10, 0]);
        assert_eq!([granted(3, 5, 8), granted(1, 5, 8), granted(0, 5, 8)], [1, 1, 0]);
    }
}
