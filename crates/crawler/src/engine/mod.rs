//! Carries a crawl out. `run` is the loop; what an outcome means is judged in `settlement`, without clock, store or runtime.

mod address_pool;
mod allowance;
mod aside;
mod busy;
mod careful;
mod costly;
mod entries;
mod failure;
mod gates;
mod group;
mod hops;
mod host_groups;
mod interrupted;
mod lifecycle;
mod limits;
mod links;
mod lost;
mod parts;
mod pauses;
mod permits;
mod pool;
mod portions;
mod post;
mod progress;
mod quota;
mod records;
mod rejudge;
mod run;
mod settings;
mod settle;
#[cfg(test)]
mod settle_tests;
mod settlement;
mod shortage;
mod sitemaps;
mod steer;
mod takeover;
mod turns;
mod urls_of_pages;
mod withdraw;

use std::collections::HashMap;
use std::sync::Arc;

pub use self::address_pool::AddressPool;
pub use self::allowance::{Allowance, Share};
use self::aside::Asides;
use self::careful::Careful;
use self::costly::KnownKinds;
use self::entries::URLS_REMEMBERED;
use self::gates::Gates;
use self::group::Group;
use self::limits::Limits;
use self::links::Bounds;
pub use self::lost::LOST;
/// The key of `meta` that says that reading a URL ended a process once; of a partition, empty.
pub const CRASHED: &[u8] = b"crashed";
pub use self::parts::{EngineParts, PartitionParts};
pub use self::pool::Pool;
use self::pool::Pooled;
pub use self::portions::Portions;
pub use self::post::{Post, Standing, Stored};
use self::progress::Reports;
use self::quota::Quotas;
pub use self::settings::{End, EngineSettings, HOSTS_LISTED, Stop, Summary};
use self::settle::Judge;
use self::sitemaps::Sitemaps;
use self::steer::Steers;
pub use self::steer::{HostSteering, Steer, Steering};
#[cfg(feature = "cluster")]
pub(crate) use self::steer::{KEY as STEERING, MAX_DELAY};
use self::takeover::Takeover;
use self::turns::Turns;
use self::urls_of_pages::UrlsOfPages;
use crate::commit::{CommitError, Totals};
use crate::event::CrawlEvent;
use crate::fetch::Fetch;
use crate::frontier::{FingerprintSet, Frontier, Lease, Opening};
use crate::intents::Intents;
use crate::pace::{Delay, DelayReason, Jitter};
use crate::pauses::PauseLog;
use crate::record;
use crate::scope::Scope;
use crate::store::{Store, Tree};
use crate::trap::Domains;
use crate::view::View;
use crate::visit::VisitContext;
use page::clock::Clock;
use page::url::FingerprintKey;

/// URLs whose skip was entered, remembered so that a footer's links are entered once and not once a page.
const SKIPS_REMEMBERED: usize = 500_000;

/// Receives events. Called in the loop: it must not wait.
pub type Listener = Box<dyn FnMut(CrawlEvent<'_>) + Send>;

/// The leases of the visits under way.
type Leases = HashMap<tokio::task::Id, Lease>;

/// One crawl.
pub struct Engine<F, S> {
    settings: EngineSettings,
    judge: Judge,
    context: Arc<VisitContext<F, S>>,
    frontier: Frontier<S>,
    /// What belongs to the crawl: scope, and budgets over several hosts.
    bounds: Bounds,
    limits: Limits,
    /// What delays a ready host besides its own delay.
    gates: Gates,
    /// The kinds of site that hosts have.
    kinds: KnownKinds,
    /// What waits to be committed.
    group: Group<S>,
    reports: Reports,
    key: FingerprintKey,
    clock: Clock,
    /// Everything settled, committed or not.
    totals: Totals,
    sitemaps: Sitemaps,
    /// The earliest date at which a stored page becomes unavailable.
    next_due: Option<jiff::Timestamp>,
    /// Hops of robots.txt redirects between partitions.
    hops: hops::Hops,
    /// Pauses that are noted before they are on record.
    pauses: Option<Arc<PauseLog>>,
    /// Where requests are noted before they are sent.
    intents: Option<Arc<Intents>>,
    /// The pages that URLs were found on lately.
    urls: UrlsOfPages,
    /// What is judged again at the start of the run, where settings are different.
    skipped_urls: Option<View>,
    /// What the user changes meanwhile.
    steers: Steers,
    /// The other partitions, where this is one of a cluster's crawl.
    post: Option<Post>,
    /// What the last owner of the partition may have died of.
    careful: Careful,
    /// Who has the partition, and who had it when it died.
    takeover: Takeover,
    /// What it may hold beside the engines of other partitions.
    portions: Option<Portions>,
    /// How many fingerprints of URLs that were skipped are remembered, and how many of those that were sent.
    remembered_at_most: usize,
}

impl<F, S: std::fmt::Debug> std::fmt::Debug for Engine<F, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("frontier", &self.frontier).finish_non_exhaustive()
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Takes up the crawl that the store holds; an empty store is a new one.
    ///
    /// Errors: what the store holds can't be read.
    pub fn open(
        mut settings: EngineSettings,
        context: Arc<VisitContext<F, S>>,
        store: &Arc<S>,
        mut scope: Scope,
        parts: EngineParts<S>,
    ) -> Result<Self, CommitError> {
        let EngineParts { committer, listener, pauses, intents, orders, skipped_urls, partition } = parts;
        let (intents, left) = intents.unzip();
        let PartitionParts { worker, post, deadline, allowance, pool, addresses, portions } = partition;
        let clock = context.clock;
        let now = clock.now();
        let key = context.pages.key;
        let first_gap = Delay { length: settings.pace.delay, why: DelayReason::Configured };
        let totals: Totals = match store.get(Tree::Meta, b"totals")? {
            Some(value) => serde_json::from_slice(&value)?,
            None => Totals::default(),
        };
        let mut domains = Domains::default();
        let mut count = |host: &str| {
            if !context.seed_hosts.contains(host) {
                domains.add(host);
            }
        };
        let takeover = match (&post, worker) {
            (Some(post), Some(worker)) => {
                let timeout = intents.as_ref().map(|intents| intents.timeout()).unwrap_or_default();
                Takeover::of_partition(&**store, (post.part(), worker), totals.runs, timeout, now)?
            }
            _ => Takeover::default(),
        };
        let rest = (totals.runs > 0).then_some(settings.pace.delay);
        let at_work = takeover.at_work;
        let opening = Opening { now, clock: Some(clock), rest, at_work, names: &mut count };
        let mut frontier = Frontier::reopen(store, settings.frontier, first_gap, key, opening)?;
        for url in record::brought_in(&**store, scope.follows_moved_seeds())? {
            scope.add_seed(&url);
        }
        let jitter = Jitter::new(settings.jitter);
        let mut quotas = Quotas::new(settings.max_rate, settings.max_bandwidth, now);
        if let Some(pool) = pool {
            quotas = Quotas::pooled(Pooled::new(pool), now);
        } else if totals.runs > 0 {
            quotas.restore(store.get(Tree::Meta, quota::KEY)?.as_deref(), now, clock.boot());
        }
        let ended = (totals.runs > 0).then(|| now.mono + frontier.still_at_work());
        let turns = (!settings.groups.is_none()).then(|| {
            let turns = Turns::new(settings.groups.clone(), settings.pace.delay, ended);
            match addresses {
                Some(pool) => turns.shared(pool),
                None => turns,
            }
        });
        frontier.set_traps(settings.traps);
        let known = sitemaps::restore(&mut frontier)?;
        let sitemaps = Sitemaps::new(known, settings.sitemap_limits, settings.max_redirects);
        if let Some(most) = settings.max_pages_per_host {
            frontier.park_full(most)?;
        }
        let totals = Totals { runs: totals.runs + 1, ..totals };
        let mut steers = Steers::new(Steering::stored(&**store)?, orders);
        settings.wishes = settings.wishes.with_set(&steers.now.wishes);
        if let Some(post) = &post {
            steers.accept(crate::post::orders_under_way(&**store, post.part())?, now.mono);
        }
        let rules = settlement::Rules {
            pace: settings.pace,
            retries: settings.retries,
            max_crawl_delay: context.max_crawl_delay,
            max_pages_per_host: settings.max_pages_per_host,
            local_patience: settings.local_patience,
            ledger: settings.ledger,
            archive: context.pages.archive,
        };
        // A crawl on one machine has notes.
        let careful = if post.is_some() { Careful::of_partition(&**store)? } else { Careful::default() };
        let mut engine = Self {
            limits: Limits::new(&settings, allowance),
            settings,
            judge: Judge { rules, jitter, asides: Asides::default() },
            context,
            frontier,
            bounds: Bounds { scope, domains, skips: FingerprintSet::default() },
            kinds: KnownKinds::default(),
            gates: Gates::new(quotas, turns, deadline),
            group: Group::new(committer, totals, clock),
            reports: Reports::new(listener),
            key,
            clock,
            totals,
            sitemaps,
            next_due: Some(jiff::Timestamp::MIN),
            hops: hops::Hops::default(),
            pauses,
            intents,
            urls: UrlsOfPages::new(URLS_REMEMBERED[usize::from(post.is_some())]),
            skipped_urls,
            steers,
            post,
            careful,
            takeover,
            portions,
            remembered_at_most: SKIPS_REMEMBERED,
        };
        engine.restore_groups()?;
        engine.enter_left(left.unwrap_or_default())?;
        engine.park_slow()?;
        Ok(engine)
    }
}
