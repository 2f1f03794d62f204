//! The dry run of a crawl, from robots.txt and sitemaps only: per host what may be fetched, which rules
//! apply, how fast, and how long it takes at least.

mod least;
mod text;
mod wishes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use robots::IntervalReason;
use serde::{Serialize, Serializer};

use crate::host_groups::HostGroups;
use crate::record::{RobotsAccess, RobotsEvidence};
use crate::robots_cache::{Entry, Known, RobotsCache};
use crate::store::{Store, StoreError};
use crate::view::{CheaperWay, Counted, MovedSeedSummary, SitemapSummary};
use crate::wishes::{Wish, Wishes};
use page::clean::clean_to;
use page::clock::Now;
use page::url::{CrawlUrl, Origin};

/// Rules and warnings of one robots.txt that are listed; the others are counted.
const LISTED: usize = 100;

/// Collects URLs and what robots.txt says to each.
#[derive(Debug, Default)]
pub struct Planner {
    origins: BTreeMap<(Box<str>, String), (Origin, Counts)>,
}

#[derive(Debug, Default)]
struct Counts {
    allowed: u64,
    blocked: u64,
    unknown: u64,
    blocked_by: BTreeMap<(Option<u32>, String), (u64, String)>,
}

impl Planner {
    /// Takes in a verdict.
    pub fn judged(&mut self, url: &CrawlUrl, evidence: &RobotsEvidence, allowed: bool) {
        let counts = self.counts(url);
        if allowed {
            counts.allowed += 1;
            return;
        }
        counts.blocked += 1;
        let words = evidence.rule.clone().unwrap_or_else(|| evidence.reason.clone());
        let (count, _) = counts
            .blocked_by
            .entry((evidence.line, words))
            .or_insert_with(|| (0, clean_to(url.as_str(), 200)));
        *count += 1;
    }

    /// Takes in a URL of which nobody knows whether it may be fetched.
    pub fn unknown(&mut self, url: &CrawlUrl) {
        self.counts(url).unknown += 1;
    }

    /// Judges a URL by what is known of its origin.
    pub fn judge<S: Store>(
        &mut self,
        url: &CrawlUrl,
        robots: &RobotsCache<S>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match robots.lookup(&url.origin(), Now::of_day(now))? {
            Known::Fresh(entry) | Known::Stale(entry) if !entry.deferred => {
                let verdict = entry.robots.verdict(url.path_and_query());
                self.judged(url, &crate::visit::evidence(&verdict, &entry), verdict.allowed);
            }
            _ => self.unknown(url),
        }
        Ok(())
    }

    fn counts(&mut self, url: &CrawlUrl) -> &mut Counts {
        let origin = url.origin();
        let key = (origin.host.clone(), origin.to_string());
        &mut self.origins.entry(key).or_insert_with(|| (origin, Counts::default())).1
    }
}

/// What a plan rests on.
#[derive(Debug, Clone)]
pub struct Basis {
    /// The robot, as in the User-Agent header.
    pub agent: String,
    /// What URLs are known from, in words.
    pub known_from: String,
    /// The configured gap.
    pub delay: Duration,
    /// Longest gap that is waited for.
    pub max_crawl_delay: Duration,
    /// Which hosts share one slot and one gap. At which address a host will be asked isn't known.
    pub groups: HostGroups,
    /// What owners of hosts asked for.
    pub wishes: Wishes,
    /// When.
    pub now: Timestamp,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Form of this object: 1.
    pub v: u32,
    /// The robot.
    pub agent: String,
    /// What URLs are known from, in words.
    pub known_from: String,
    /// URLs known that would be fetched.
    pub allowed: u64,
    /// URLs known that robots.txt denies.
    pub blocked: u64,
    /// URLs known that robots.txt allows, on hosts that would be skipped.
    pub skipped: u64,
    /// URLs known of which it isn't known: their robots.txt is unreachable.
    pub unknown: u64,
    /// Requests that it takes at least.
    pub requests: u64,
    /// The least time that it takes, in seconds, from its first request to its last: that of the host or group that takes longest.
    pub least_duration: f64,
    /// Seeds of a stored crawl that redirect to another site, or out of its scope. Empty in a plan of a new crawl, which requests no page.
    pub moved_seeds: Vec<MovedSeedSummary>,
    /// URLs of a stored crawl that cost their site much, by the kind of site and the class, as it skipped them: `mediawiki:history`.
    pub costly: Vec<Counted>,
    /// Cheaper ways to the content, by the kinds of site that hosts of a stored crawl have shown.
    pub cheaper: Vec<CheaperWay>,
    /// Groups of several hosts that share one delay.
    pub groups: Vec<GroupPlan>,
    /// The hosts.
    pub hosts: Vec<HostPlan>,
}

/// Hosts that share one delay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupPlan {
    /// Name of the list, or registrable domain.
    pub group: String,
    /// How many hosts it has.
    pub hosts: u64,
    /// Requests that they take at least, without hosts that would be skipped.
    pub requests: u64,
    /// The least time that these take, one after the other, in seconds.
    pub least_duration: f64,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostPlan {
    /// Its name.
    pub host: String,
    /// The gap between two requests, in seconds; a slow site may be asked more slowly.
    pub delay: f64,
    /// Where the gap comes from, in words.
    pub delay_from: String,
    /// What its owner asked for, in words.
    pub wishes: Vec<String>,
    /// Set where the whole host would be skipped, in words: it asks for too long a gap, or its robots.txt is unreachable or
    /// closes it. Of such a host robots.txt alone is asked for.
    pub skip_reason: Option<String>,
    /// URLs known that would be fetched; none where the host would be skipped.
    pub allowed: u64,
    /// Requests that they take at least, with robots.txt and sitemaps.
    pub requests: u64,
    /// The least time that they take, in seconds, from the first request to the last; gaps, Visit-time windows, and hours and daily requests of
    /// wishes count.
    pub least_duration: f64,
    /// Its origins: scheme, host and port.
    pub origins: Vec<OriginPlan>,
}

/// One origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OriginPlan {
    /// Scheme, host and port.
    pub origin: String,
    /// What its robots.txt means; `unknown` in JSON where it was not fetched.
    #[serde(serialize_with = "or_unknown")]
    pub access: Option<RobotsAccess>,
    /// Why, in words.
    pub reason: String,
    /// The status of robots.txt.
    pub status: Option<u16>,
    /// The rules that apply: number of the line, and the line; at most 100.
    pub rules: Vec<PlanLine>,
    /// Rules beyond those.
    pub more_rules: u64,
    /// When visits are welcome (UTC); empty: always.
    pub visit_times: Vec<String>,
    /// URLs known that would be fetched.
    pub allowed: u64,
    /// URLs known that robots.txt denies.
    pub blocked: u64,
    /// URLs known that robots.txt allows, where the host would be skipped.
    pub skipped: u64,
    /// URLs known of which it isn't known.
    pub unknown: u64,
    /// The rules that block some of them, the most effective first.
    pub blocked_by: Vec<BlockedBy>,
    /// Sitemaps.
    pub sitemaps: Vec<SitemapSummary>,
    /// What is wrong with its robots.txt; at most 100.
    pub warnings: Vec<PlanLine>,
}

/// A line of a robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanLine {
    /// Its number, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The line, or what is wrong with it.
    pub text: String,
}

/// A rule with the URLs that it blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockedBy {
    /// The line's number; none where no line said so.
    pub line: Option<u32>,
    /// The rule, or the reason in words.
    pub rule: String,
    /// How many URLs.
    pub count: u64,
    /// One of them.
    pub example: String,
}

impl Plan {
    /// Draws up the plan.
    pub fn new<S: Store>(
        planner: Planner,
        robots: &RobotsCache<S>,
        sitemaps: Vec<SitemapSummary>,
        basis: &Basis,
    ) -> Result<Self, StoreError> {
        let mut by_origin: BTreeMap<String, Vec<SitemapSummary>> = BTreeMap::new();
        for sitemap in sitemaps {
            let origin = CrawlUrl::parse(&sitemap.url).map(|url| url.origin().to_string());
            by_origin.entry(origin.unwrap_or_default()).or_default().push(sitemap);
        }
        let mut drafts: Vec<Draft> = Vec::new();
        for ((host, name), (origin, counts)) in planner.origins {
            let entry = match robots.lookup(&origin, Now::of_day(basis.now))? {
                Known::Fresh(entry) | Known::Stale(entry) => Some(entry),
                Known::Missing => None,
            };
            if drafts.last().is_none_or(|last| last.host.host != *host) {
                drafts.push(Draft::new(&host, basis));
            }
            if let Some(last) = drafts.last_mut() {
                last.take(entry, counts, name.clone(), by_origin.remove(&name), basis);
            }
        }
        let mut rows: BTreeMap<Arc<str>, (u64, u64, Row)> = BTreeMap::new();
        let mut hosts: Vec<HostPlan> = Vec::new();
        for draft in drafts {
            let (host, row) = draft.plan(basis);
            if let (Some(group), None) = (basis.groups.of(&host.host).name(), &host.skip_reason) {
                let (hosts, requests, all) = rows.entry(group).or_default();
                (*hosts, *requests) = (*hosts + 1, *requests + host.requests);
                all.add(row);
            }
            hosts.push(host);
        }
        let groups = rows.into_iter().filter(|(_, (hosts, ..))| *hosts > 1);
        let groups: Vec<GroupPlan> = groups
            .map(|(group, (hosts, requests, row))| {
                let least_duration = row.least().as_secs_f64();
                GroupPlan { group: group.to_string(), hosts, requests, least_duration }
            })
            .collect();
        let longest = hosts.iter().map(|host| host.least_duration);
        let longest = longest.chain(groups.iter().map(|group| group.least_duration)).fold(0.0, f64::max);
        let sum = |of: fn(&OriginPlan) -> u64| hosts.iter().flat_map(|host| &host.origins).map(of).sum();
        Ok(Self {
            v: 1,
            agent: basis.agent.clone(),
            known_from: basis.known_from.clone(),
            allowed: sum(|origin| origin.allowed),
            blocked: sum(|origin| origin.blocked),
            skipped: sum(|origin| origin.skipped),
            unknown: sum(|origin| origin.unknown),
            requests: hosts.iter().map(|host| host.requests).sum(),
            least_duration: longest,
            moved_seeds: Vec::new(),
            costly: Vec::new(),
            cheaper: Vec::new(),
            groups,
            hosts,
        })
    }

    /// Adds the costly URLs of a stored crawl, and cheaper ways to the content.
    #[must_use]
    pub fn with_costly(self, costly: Vec<Counted>, cheaper: Vec<CheaperWay>) -> Self {
        Self { costly, cheaper, ..self }
    }

    /// Adds the moved seeds of a stored crawl.
    #[must_use]
    pub fn with_moved_seeds(self, moved_seeds: Vec<MovedSeedSummary>) -> Self {
        Self { moved_seeds, ..self }
    }
}

/// One host while its origins are gathered.
struct Draft {
    host: HostPlan,
    origins: Vec<DraftOrigin>,
}

/// One origin: what its robots.txt says, and the requests to it.
struct DraftOrigin {
    entry: Option<Arc<Entry>>,
    /// For robots.txt.
    robots: u64,
    /// For pages and sitemaps.
    others: u64,
}

impl Draft {
    fn new(host: &str, basis: &Basis) -> Self {
        let of_wishes = basis.wishes.of(host).map(Wish::least_delay).max().unwrap_or_default();
        let (delay, delay_from) =
            if of_wishes > basis.delay { (of_wishes, "a wish") } else { (basis.delay, "configured") };
        let host = HostPlan {
            host: host.to_owned(),
            delay: delay.as_secs_f64(),
            delay_from: delay_from.to_owned(),
            wishes: basis.wishes.of(host).map(Wish::in_words).collect(),
            skip_reason: None,
            allowed: 0,
            requests: 0,
            least_duration: 0.0,
            origins: Vec::new(),
        };
        Self { host, origins: Vec::new() }
    }

    fn take(
        &mut self,
        entry: Option<Arc<Entry>>,
        counts: Counts,
        name: String,
        sitemaps: Option<Vec<SitemapSummary>>,
        basis: &Basis,
    ) {
        let host = &mut self.host;
        if let Some(asked) = entry.as_ref().and_then(|entry| entry.robots.timing().interval(basis.now)) {
            let field = match asked.reason {
                IntervalReason::CrawlDelay => "Crawl-delay",
                IntervalReason::RequestRate => "Request-rate",
            };
            let every = asked.every.as_secs_f64();
            if asked.every > basis.max_crawl_delay {
                let most = basis.max_crawl_delay.as_secs_f64();
                host.skip_reason =
                    Some(format!("{field} {every} s (line {}) is over max-crawl-delay {most} s", asked.line));
            }
            if every > host.delay {
                host.delay = every;
                host.delay_from = format!("{field}, line {} of {name}/robots.txt", asked.line);
            }
        }
        let sitemaps = sitemaps.unwrap_or_default();
        // The sitemaps that are or were asked for.
        let asked = sitemaps.iter().filter(|sitemap| sitemap.state != "denied").count() as u64;
        let robots = entry.as_ref().map_or(1, |entry| robots_requests(entry, &host.host));
        host.origins.push(OriginPlan::new(entry.as_deref(), counts, name, sitemaps));
        let others = host.origins.last().map_or(0, |origin| origin.allowed) + asked;
        self.origins.push(DraftOrigin { entry, robots, others });
    }

    /// The host's plan, and its requests for its group.
    fn plan(self, basis: &Basis) -> (HostPlan, Row) {
        let Self { mut host, mut origins } = self;
        host.skip_reason = host.skip_reason.take().or_else(|| closed(&origins));
        if host.skip_reason.is_some() {
            for origin in &mut host.origins {
                origin.skipped = std::mem::take(&mut origin.allowed);
            }
            for origin in &mut origins {
                origin.others = 0;
            }
        }
        host.allowed = host.origins.iter().map(|origin| origin.allowed).sum();
        host.requests = origins.iter().map(|origin| origin.robots + origin.others).sum();
        let (least, row) = least_duration(&origins, basis);
        if host.skip_reason.is_none() {
            let by_wish = |wish: &Wish| wishes::least(wish, basis.delay, basis.now, host.requests);
            let by_wishes = basis.wishes.of(&host.host).map(by_wish).max().unwrap_or_default();
            host.least_duration = least.max(by_wishes).as_secs_f64();
        }
        (host, row)
    }
}

/// Requests that follow each other, each by the shortest gap that its origin ever asks for.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// All of these gaps.
    together: Duration,
    /// The longest of them: nothing need be waited for behind the last request.
    last: Duration,
}

impl Row {
    fn add(&mut self, other: Self) {
        self.together = self.together.saturating_add(other.together);
        self.last = self.last.max(other.last);
    }

    fn least(self) -> Duration {
        self.together.saturating_sub(self.last)
    }
}

/// The least time of all requests to one host. Each origin's own requests take what [`least::least`] says; those of
/// several follow each other too, each by the shortest gap that its origin ever asks for.
fn least_duration(origins: &[DraftOrigin], basis: &Basis) -> (Duration, Row) {
    let mut longest = Duration::ZERO;
    let mut row = Row::default();
    for origin in origins {
        let timing = origin.entry.as_ref().map(|entry| entry.robots.timing());
        let requests = origin.robots + origin.others;
        longest = longest.max(least::least(timing, basis.delay, basis.now, requests));
        let gap = least::shortest_gap(timing, basis.delay);
        let together = gap.saturating_mul(u32::try_from(requests).unwrap_or(u32::MAX));
        row.add(Row { together, last: gap });
    }
    (longest.max(row.least()), row)
}

/// Why no URL of a host would be fetched, regardless of its rules.
fn closed(origins: &[DraftOrigin]) -> Option<String> {
    let mut records = origins.iter().map(|origin| origin.entry.as_ref().map(|entry| &entry.record));
    let first = records.clone().next()??;
    if !records.all(|record| {
        record.is_some_and(|it| matches!(it.access, RobotsAccess::Defer | RobotsAccess::DenyAll))
    }) {
        return None;
    }
    let why = if first.is_unreachable() { "is unreachable" } else { "closes the whole site" };
    Some(format!("robots.txt {why}: {}", first.reason))
}

#[expect(clippy::ref_option, reason = "the form that serde calls")]
fn or_unknown<S: Serializer>(access: &Option<RobotsAccess>, serializer: S) -> Result<S::Ok, S::Error> {
    access.as_ref().map_or("unknown", RobotsAccess::as_str).serialize(serializer)
}

/// Requests for robots.txt that its own host got: one, and those that it redirected to itself.
fn robots_requests(entry: &Entry, host: &str) -> u64 {
    let hops = entry.record.hops.iter().filter_map(|hop| CrawlUrl::parse(hop).ok());
    hops.filter(|hop| hop.host() == host).count().max(1) as u64
}

impl OriginPlan {
    fn new(entry: Option<&Entry>, counts: Counts, origin: String, sitemaps: Vec<SitemapSummary>) -> Self {
        let (rules, more_rules) = entry.map(rules).unwrap_or_default();
        let Counts { allowed, blocked, unknown, blocked_by } = counts;
        let mut blocked_by: Vec<_> = blocked_by
            .into_iter()
            .map(|((line, rule), (count, example))| BlockedBy { line, rule, count, example })
            .collect();
        blocked_by.sort_by(|a, b| b.count.cmp(&a.count).then(a.line.cmp(&b.line)));
        let warnings = entry.map(|entry| &entry.record.warnings[..]).unwrap_or_default();
        let timing = entry.map(|entry| entry.robots.timing());
        Self {
            origin,
            access: entry.map(|entry| entry.record.access.clone()),
            reason: entry.map_or_else(|| "not fetched".to_owned(), |entry| entry.record.reason.clone()),
            status: entry.and_then(|entry| entry.record.status),
            rules,
            more_rules,
            visit_times: timing.iter().flat_map(|timing| timing.visits()).map(ToString::to_string).collect(),
            allowed,
            blocked,
            skipped: 0,
            unknown,
            blocked_by,
            sitemaps,
            warnings: warnings
                .iter()
                .take(LISTED)
                .map(|(line, text)| PlanLine { line: *line, text: text.clone() })
                .collect(),
        }
    }
}

/// The rules that apply, and how many more there are.
fn rules(entry: &Entry) -> (Vec<PlanLine>, u64) {
    let binding = entry.robots.binding();
    let more = binding.len().saturating_sub(LISTED) as u64;
    let line = |(line, text): (u32, Arc<str>)| PlanLine { line, text: clean_to(&text, 200) };
    (binding.into_iter().take(LISTED).map(line).collect(), more)
}
