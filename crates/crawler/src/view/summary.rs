//! The summary of a crawl: what it is, what it did, what it skipped, and whether each host is complete.

use std::collections::{BTreeMap, BinaryHeap};

use robots::StatusClass;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::coverage::{Counted, HeldBack, HeldBackBy, HostStatement, Status, hold_back, statement};
use super::groups::{GroupSummary, Tally, note};
use super::hosts::seconds;
use super::limits::{Reached, cut_by, is_limit};
use super::moment::Moment;
use super::moved_seeds::{MovedSeedSummary, stored_moved_seeds};
use super::open::{View, ViewError};
use super::sitemaps::SitemapSummary;
use super::tally::most_frequent;
use crate::commit::Totals;
use crate::config::{Record, read_own, read_record, read_record_text};
use crate::costly::cheaper_ways;
use crate::frontier::HostRecord;
use crate::ledger::{self, Head};
use crate::page_store::{self, StoredPage};
use crate::record::{EndRecord, PageRecord, RUN_END, Reason, kinds_of_hosts, unread_texts};
use crate::seeds::BadLine;
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

/// Sitemaps that the summary lists; the others are counted.
pub(super) const SITEMAPS_LISTED: usize = 200;

/// Moved seeds that the summary lists; the others are counted.
pub(super) const MOVED_SEEDS_LISTED: usize = 200;

/// Seeds of a crawl without a page that the summary explains.
pub(super) const SEEDS_EXPLAINED: usize = 5;

/// Hosts that the summary lists; the others are counted, and table `hosts` has them all.
pub(super) const HOSTS_LISTED: usize = 10_000;

/// Lines of the seed file that can't be used, of which the summary lists so many.
pub(super) const UNUSABLE_LISTED: usize = 20;

/// What `crawl show DIR` prints, as `--json` gives it.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Form of this object: 1.
    pub v: u32,
    /// The crawl's id.
    pub crawl_id: String,
    /// When it was started.
    pub started: Option<Moment>,
    /// The User-Agent.
    pub agent: Option<String>,
    /// The seeds, normalised.
    pub seeds: Vec<String>,
    /// Lines of the seed file that are no URL that can be crawled; none of them was.
    pub unusable_seeds: u64,
    /// The first 20 of them, with what is wrong.
    pub unusable: Vec<BadLine>,
    /// What became of the first 5 seeds, where the crawl has no page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfetched_seeds: Vec<SeedAnswer>,
    /// How much of the crawl is there: incomplete where it has no page.
    pub status: Status,
    /// True where `status` is `complete`.
    pub complete: bool,
    /// What was sent and received over all runs, and how many URLs are stored, failed or were skipped, each counted once.
    pub totals: Totals,
    /// URLs in the queue.
    pub queued: u64,
    /// Answered URLs by status.
    pub statuses: BTreeMap<u16, u64>,
    /// URLs that failed, by kind, as in table `errors`.
    pub errors: BTreeMap<String, u64>,
    /// Walls that were sent instead of pages, by what they are, the most frequent first. They are among the URLs that failed.
    pub walls: Vec<Counted>,
    /// Pages and errors that look like walls: column `suspect` of table `pages`.
    pub suspects: u64,
    /// Limits that were reached, by the name they have in `docs/limits.md`, the most frequent first.
    pub limits: Vec<Counted>,
    /// Pages that may be indexed.
    pub indexed: u64,
    /// Pages that may not.
    pub noindex: u64,
    /// Bodies archived.
    pub archived: u64,
    /// Pages with status 2xx whose links may be followed.
    pub followed: u64,
    /// Skipped URLs, by reason, the most frequent first.
    pub skipped: Vec<Counted>,
    /// Those that cost their site much, by the kind of site and the class: `mediawiki:history`. The most frequent first.
    pub costly: Vec<Counted>,
    /// Cheaper ways to the content of hosts, by the kinds of site that their pages show. Of the first 100 hosts that have any.
    pub cheaper: Vec<CheaperWay>,
    /// Skipped URLs that no entry of the ledger and no row of table `skipped` has, as the pages and sitemaps count them that name them: a URL
    /// that several name is counted for each.
    pub skipped_not_listed: u64,
    /// Sitemaps known.
    pub sitemaps_known: u64,
    /// Those of them whose reading ended a process: the list says so of each.
    #[serde(skip)]
    pub sitemaps_crashed: u64,
    /// Sitemaps one by one, at most 200.
    pub sitemaps: Vec<SitemapSummary>,
    /// Seeds that redirect to another site, or out of the scope that the seeds give the crawl.
    pub moved_seeds_known: u64,
    /// Those seeds one by one, at most 200.
    pub moved_seeds: Vec<MovedSeedSummary>,
    /// Origins by what their latest robots.txt meant and why, the most frequent first.
    pub robots: Vec<Counted>,
    /// Hosts known.
    pub hosts_known: u64,
    /// Hosts of which everything that may be fetched is there.
    pub hosts_complete: u64,
    /// Hosts of which nothing lacks but what a limit keeps out.
    pub hosts_complete_within_limits: u64,
    /// Hosts of which nothing lacks but what walls keep out.
    pub hosts_complete_except_walls: u64,
    /// Hosts of which more may be fetched.
    pub hosts_incomplete: u64,
    /// Groups of several hosts that share one slot and one delay, the largest first, at most 200.
    pub groups: Vec<GroupSummary>,
    /// How many there are.
    pub groups_known: u64,
    /// The registrable domain with the most hosts that were requested, where these are more than 50, and each is by itself.
    pub large_domain: Option<Counted>,
    /// How the last run ended: `running` (or killed), `complete`, `limit`, `interrupted`, `forced`.
    pub end: Option<EndRecord>,
    /// Hosts, unfinished ones first, at most 10,000; table `hosts` has them all.
    pub hosts: Vec<HostSummary>,
    /// The head of the ledger's chain; none where no ledger is kept. `crawl audit --head` compares it.
    pub head: Option<Head>,
}

/// What became of a seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeedAnswer {
    /// The seed, normalised.
    pub url: String,
    /// The answer of `crawl explain`; of a redirect that about its last target.
    pub answer: String,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostSummary {
    /// Its name.
    pub host: String,
    /// Responses with status 2xx except 206.
    pub pages: u64,
    /// Requests, robots.txt included.
    pub requests: u64,
    /// Failed visits.
    pub errors: u64,
    /// URLs in the queue.
    pub queued: u64,
    /// The gap between two requests, in seconds.
    pub delay: f64,
    /// What set it.
    pub delay_reason: &'static str,
    /// Complete, or why not.
    pub state: HostState,
    /// How much of it the crawl has.
    pub coverage: Status,
    /// What the words state.
    #[serde(skip)]
    pub statement: HostStatement,
    /// The same in words.
    pub because: String,
    /// How many of its URLs each reason holds back, the most frequent first.
    pub held_back: Vec<Counted>,
    /// What else is to be known of it: seeds that redirect to another site, sitemaps that couldn't be read to their end.
    pub notes: Vec<String>,
}

/// Whether a host is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// URLs wait.
    Queued,
    /// URLs are queued, and the host was skipped.
    Parked,
    /// Nothing waits.
    Complete,
}

impl Summary {
    /// What is to be known besides, in words.
    pub fn notes(&self) -> Vec<String> {
        self.large_domain.iter().map(note).collect()
    }

    /// The status of a crawl that doesn't run, as `crawl status --json` prints it: `v state status totals queued hosts begun ended limit`. Of a run
    /// that was killed it is known when it began, of every other one when it ended.
    pub fn at_rest(&self) -> serde_json::Value {
        let end = self.end.as_ref();
        let state = match (end.map(|end| end.end.as_str()), self.status) {
            (Some("running"), _) => "killed",
            (Some("interrupted" | "forced"), _) => "stopped",
            (_, Status::Incomplete) => "incomplete",
            _ => "finished",
        };
        let at = end.map(|end| Moment(end.at));
        let (begun, ended) = if state == "killed" { (at, None) } else { (None, at) };
        serde_json::json!({
            "v": 1, "state": state, "status": self.status, "totals": self.totals, "queued": self.queued,
            "hosts": self.hosts_known, "begun": begun, "ended": ended,
            "limit": end.and_then(|end| end.limit.clone()),
        })
    }
}

/// A way to the content of a host that costs it less than a crawl.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CheaperWay {
    /// The host.
    pub host: String,
    /// The kind of site, for people.
    pub kind: String,
    /// What it is: `dump`, `git clone`, `api`, `oai-pmh`, `feed`.
    pub way: String,
    /// Where, as a path below the site or a page that describes it.
    pub at: String,
}

/// Hosts of which cheaper ways are listed.
pub(super) const CHEAPER_LISTED: usize = 100;

impl View {
    /// Reads the whole crawl once. Memory as [`View::skipped`].
    pub fn summary(&self) -> Result<Summary, ViewError> {
        let meta = |name: &str| -> Result<Option<String>, ViewError> {
            let value = self.store().get(Tree::Meta, name.as_bytes())?;
            Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
        };
        let totals: Totals = match self.store().get(Tree::Meta, b"totals")? {
            Some(value) => {
                serde_json::from_slice(&value).map_err(|error| ViewError::record(Tree::Meta, error))?
            }
            None => Totals::default(),
        };
        let (agent, record) = self.settings();
        let mut reached = Reached::default();
        let mut pages = Pages::default();
        let (skipped, costly) = self.skip_reasons(&mut pages, &mut reached)?;
        let end = meta(RUN_END)?.and_then(|text| serde_json::from_str(&text).ok());
        for unreachable in self.unreachable() {
            *pages.errors.entry(unreachable?.kind).or_default() += 1;
        }
        // The stored URLs, in place of the crawl's own counters, which count visits.
        let totals = Totals {
            pages: pages.fetched,
            resources: pages.resources,
            redirects: pages.redirects,
            failed: pages.errors.values().sum(),
            skipped: skipped.iter().map(|counted| counted.count).sum(),
            indexed: pages.indexed,
            archived: pages.archived,
            ..totals
        };
        let mut summary = Summary {
            v: 1,
            crawl_id: meta("crawl_id")?.unwrap_or_default(),
            started: meta("started")?.and_then(|text| text.parse().ok()).map(Moment),
            agent,
            unusable_seeds: record.unusable_seeds,
            unusable: record.unusable.into_iter().take(UNUSABLE_LISTED).collect(),
            seeds: record.seeds,
            unfetched_seeds: Vec::new(),
            status: Status::Complete,
            complete: true,
            totals,
            queued: 0,
            statuses: pages.statuses,
            errors: pages.errors,
            walls: most_frequent(pages.walls),
            suspects: pages.suspects,
            limits: Vec::new(),
            indexed: pages.indexed,
            noindex: pages.noindex,
            archived: pages.archived,
            followed: pages.followed,
            skipped,
            costly,
            cheaper: self.cheaper_ways()?,
            skipped_not_listed: pages.not_listed,
            sitemaps_known: 0,
            sitemaps_crashed: 0,
            sitemaps: Vec::new(),
            moved_seeds_known: 0,
            moved_seeds: Vec::new(),
            robots: self.robots_states(&mut reached)?,
            hosts_known: 0,
            hosts_complete: 0,
            hosts_complete_within_limits: 0,
            hosts_complete_except_walls: 0,
            hosts_incomplete: 0,
            groups: Vec::new(),
            groups_known: 0,
            large_domain: None,
            end,
            hosts: Vec::new(),
            head: ledger::head(self.store())?,
        };
        self.list_moved_seeds(&mut summary, &mut pages.held_back)?;
        for sitemap in self.sitemaps() {
            let sitemap = sitemap?;
            reached.sitemap(sitemap.detail.as_deref());
            if let (Some(note), Ok(url)) = (sitemap.note(), CrawlUrl::parse(&sitemap.url)) {
                pages.held_back.entry(url.host().to_owned()).or_default().note(note);
            }
            summary.skipped_not_listed += sitemap.skipped_not_listed;
            summary.sitemaps_known += 1;
            summary.sitemaps_crashed += u64::from(sitemap.is_crashed());
            if summary.sitemaps.len() < SITEMAPS_LISTED {
                summary.sitemaps.push(sitemap);
            }
        }
        self.count_hosts(&mut summary, &pages.held_back, &mut reached)?;
        for unread in unread_texts(self.store()) {
            reached.unread_text(unread?);
        }
        summary.limits = most_frequent(reached.counts());
        if summary.totals.pages == 0 {
            let seeds = summary.seeds.iter().take(SEEDS_EXPLAINED);
            summary.unfetched_seeds = seeds.map(|seed| self.seed_answer(seed)).collect::<Result<_, _>>()?;
        }
        summary.judge();
        Ok(summary)
    }

    /// What became of a seed, in the words of `crawl explain`.
    fn seed_answer(&self, seed: &str) -> Result<SeedAnswer, ViewError> {
        let explained = |url: &str| {
            let url = CrawlUrl::parse(url).map_err(|error| ViewError::record(Tree::Meta, error))?;
            self.explain(&url)
        };
        let story = explained(seed)?;
        let answer = match story.redirects.last() {
            Some((target, _)) => format!("redirects to {target}, which is {}", explained(target)?.answer),
            None => story.answer,
        };
        Ok(SeedAnswer { url: seed.to_owned(), answer })
    }

    /// The agent, and how the crawl began, as far as `crawl.toml` still says it.
    fn settings(&self) -> (Option<String>, Record) {
        let Some(dir) = self.dir() else {
            // A partition of a cluster's crawl has no directory.
            let text = self.store().get(Tree::Meta, b"settings").ok().flatten().unwrap_or_default();
            return match read_record_text(&String::from_utf8_lossy(&text)) {
                Ok((settings, record)) => (Some(settings.agent.user_agent()), record),
                Err(_) => (None, Record::default()),
            };
        };
        let file = dir.settings();
        let settings = read_own(&file, dir.root()).ok();
        let record = read_record(&file).unwrap_or_default();
        (settings.map(|settings| settings.agent.user_agent()), record)
    }

    fn count_hosts(
        &self,
        summary: &mut Summary,
        held_back: &HeldBackBy,
        reached: &mut Reached,
    ) -> Result<(), ViewError> {
        let mut groups = Tally::new(self.group_names()?);
        let mut listed: BinaryHeap<Listed> = BinaryHeap::new();
        for record in self.host_records() {
            let record = record?;
            reached.host(&record);
            let host = host_summary(&record, summary.end.as_ref(), held_back.get(&record.host));
            groups.take(&record.host, record.counts.requests);
            summary.queued += host.queued;
            summary.hosts_known += 1;
            match host.coverage {
                Status::Complete => summary.hosts_complete += 1,
                Status::CompleteWithinLimits => summary.hosts_complete_within_limits += 1,
                Status::CompleteExceptWalls => summary.hosts_complete_except_walls += 1,
                Status::Incomplete => summary.hosts_incomplete += 1,
            }
            listed.push(Listed(host));
            if listed.len() > HOSTS_LISTED {
                listed.pop();
            }
        }
        summary.hosts = listed.into_sorted_vec().into_iter().map(|Listed(host)| host).collect();
        (summary.groups, summary.groups_known, summary.large_domain) = groups.finish();
        Ok(())
    }

    fn list_moved_seeds(&self, summary: &mut Summary, held_back: &mut HeldBackBy) -> Result<(), ViewError> {
        let follows = self.crawl_settings().is_some_and(|settings| settings.scope.follow_moved_seeds);
        for moved in stored_moved_seeds(self.store(), follows) {
            let moved = moved?;
            if let Ok(seed) = CrawlUrl::parse(&moved.seed) {
                held_back.entry(seed.host().to_owned()).or_default().note(moved.line());
            }
            summary.moved_seeds_known += 1;
            if summary.moved_seeds.len() < MOVED_SEEDS_LISTED {
                summary.moved_seeds.push(moved);
            }
        }
        Ok(())
    }

    /// The cheaper ways to the content of hosts.
    pub(crate) fn cheaper_ways(&self) -> Result<Vec<CheaperWay>, ViewError> {
        let mut ways = Vec::new();
        let mut hosts = 0;
        for (host, kinds) in kinds_of_hosts(self.store())? {
            let before = ways.len();
            for shown in &kinds.shown {
                let Some((title, instead)) = cheaper_ways(&shown.kind) else { continue };
                ways.extend(instead.iter().map(|instead| CheaperWay {
                    host: host.clone(),
                    kind: title.to_owned(),
                    way: instead.way.clone(),
                    at: instead.at.clone(),
                }));
            }
            hosts += usize::from(ways.len() > before);
            if hosts == CHEAPER_LISTED {
                break;
            }
        }
        Ok(ways)
    }

    /// The reasons of skipped URLs, and of costly ones the kinds and classes. Counts the pages on its way, since it needs all of them as well.
    fn skip_reasons(
        &self,
        pages: &mut Pages,
        reached: &mut Reached,
    ) -> Result<(Vec<Counted>, Vec<Counted>), ViewError> {
        let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
        let mut costly: BTreeMap<String, u64> = BTreeMap::new();
        let counted = page_store::scan(self.store()).map(|page| {
            let page = page?;
            let record = match Plain::of(&page)? {
                Some(plain) => plain.into_record(),
                None => self.shown(page.record()?),
            };
            let is_answered = record.status.is_some();
            reached.page(&record);
            pages.add(record);
            Ok((page.page, is_answered))
        });
        for row in self.skipped_beside(counted)? {
            let row = row?;
            hold_back(&mut pages.held_back, &row);
            reached.skipped(&row.reason);
            // What failed is counted as that.
            if !matches!(row.reason, Reason::Failure(_)) {
                *reasons.entry(row.reason.to_string()).or_default() += 1;
            }
            if let Some(class) = row.costly_class() {
                *costly.entry(class.to_owned()).or_default() += 1;
            }
        }
        Ok((most_frequent(reasons), most_frequent(costly)))
    }

    fn robots_states(&self, reached: &mut Reached) -> Result<Vec<Counted>, ViewError> {
        let most = self.crawl_settings().unwrap_or_default().limits.max_robots;
        let mut states: BTreeMap<String, u64> = BTreeMap::new();
        let mut rows = self.robots().peekable();
        while let Some(row) = rows.next() {
            let row = row?;
            // A later version of the same origin follows at once.
            if !matches!(rows.peek(), Some(Ok(next)) if next.origin == row.origin) {
                reached.robots(row.bytes, most);
                *states.entry(format!("{}: {}", row.access, row.reason)).or_default() += 1;
            }
        }
        Ok(most_frequent(states))
    }
}

/// What is counted of a page that was taken as it came, as most are: no limit cut it, nothing forbids to show it. The rest of its record is
/// looked through and not put together, which takes a third of the time.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "fields of the record")]
pub(super) struct Plain {
    status: Option<u16>,
    error: Option<IgnoredAny>,
    truncated: Option<IgnoredAny>,
    limits_hit: Vec<IgnoredAny>,
    unavailable_after: Option<IgnoredAny>,
    wall: Option<IgnoredAny>,
    indexed: bool,
    withheld: bool,
    archived: bool,
    followed: bool,
    resource: bool,
}

impl Plain {
    /// None of any other page.
    pub(super) fn of(page: &StoredPage) -> Result<Option<Self>, ViewError> {
        let plain: Self = page.read()?;
        let has_limit = plain.truncated.is_some() || !plain.limits_hit.is_empty();
        let may_be_shown = plain.indexed && !plain.withheld && plain.unavailable_after.is_none();
        let is_sound = plain.error.is_none() && plain.wall.is_none();
        Ok((may_be_shown && is_sound && !has_limit).then_some(plain))
    }

    /// A record that counts as the page's own does.
    pub(super) fn into_record(self) -> PageRecord {
        let Self { status, indexed, archived, followed, resource, .. } = self;
        PageRecord { status, indexed, archived, followed, resource, ..PageRecord::default() }
    }
}

/// What was counted of the stored pages.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// With status 2xx, resources not among them.
    fetched: u64,
    resources: u64,
    redirects: u64,
    statuses: BTreeMap<u16, u64>,
    errors: BTreeMap<String, u64>,
    indexed: u64,
    noindex: u64,
    archived: u64,
    followed: u64,
    walls: BTreeMap<String, u64>,
    suspects: u64,
    /// URLs that they name and the ledger doesn't.
    not_listed: u64,
    /// What keeps parts of them back, and URLs that aren't stored.
    held_back: HeldBackBy,
}

impl Pages {
    pub(super) fn add(&mut self, record: PageRecord) {
        if let Some(status) = record.status {
            *self.statuses.entry(status).or_default() += 1;
        }
        self.indexed += u64::from(record.indexed);
        self.noindex += u64::from(record.is_withheld() && record.error.is_none());
        self.archived += u64::from(record.archived);
        self.not_listed += record.skipped_not_listed;
        let is_success = record.status.is_some_and(|status| StatusClass::of(status).is_success());
        self.followed += u64::from(record.followed && is_success);
        let certain = record.certain_wall().map(|wall| wall.outcome);
        if let Some(outcome) = certain {
            *self.walls.entry(outcome.name().to_owned()).or_default() += 1;
        }
        self.suspects += u64::from(record.wall.is_some() && certain.is_none());
        let cut = cut_by(&record);
        if (cut.is_some() || record.error.is_some())
            && let Ok(url) = CrawlUrl::parse(&record.url)
        {
            let held = self.held_back.entry(url.host().to_owned()).or_default();
            if let Some(limit) = cut {
                held.cut(limit);
            }
            if record.error.is_some() {
                held.fail();
            }
            if let Some(outcome) = certain {
                held.wall(outcome);
            }
        }
        match record.error {
            Some(kind) => *self.errors.entry(kind).or_default() += 1,
            None if is_success && record.resource => self.resources += 1,
            None if is_success => self.fetched += 1,
            None => self.redirects += 1,
        }
    }
}

impl Summary {
    /// Says how much of the crawl is there.
    pub(super) fn judge(&mut self) {
        self.status = self.worst();
        self.complete = self.status == Status::Complete;
    }

    /// How much of the crawl is there: as much as of the host that lacks most.
    fn worst(&self) -> Status {
        let runs = self.end.as_ref().is_some_and(|end| end.end == "running");
        let is_empty = self.totals.pages == 0 && !self.seeds.is_empty();
        if is_empty
            || self.hosts_incomplete > 0
            || self.unusable_seeds > 0
            || self.sitemaps_crashed > 0
            || runs
        {
            return Status::Incomplete;
        }
        if self.hosts_complete_except_walls > 0 {
            return Status::CompleteExceptWalls;
        }
        let of_sitemaps = self.limits.iter().any(|limit| limit.what.starts_with("sitemap."));
        // Its host may be unknown: a budget of hosts leaves nothing else behind.
        let of_urls = self.skipped.iter().any(|reason| is_limit(&reason.what));
        if self.hosts_complete_within_limits > 0 || of_sitemaps || of_urls {
            return Status::CompleteWithinLimits;
        }
        Status::Complete
    }
}

/// A host in the order of the summary's list.
pub(super) struct Listed(pub(super) HostSummary);

impl Ord for Listed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b) = (&self.0, &other.0);
        let order = a.coverage.cmp(&b.coverage).then(b.queued.cmp(&a.queued));
        order.then(b.pages.cmp(&a.pages)).then_with(|| a.host.cmp(&b.host))
    }
}

impl PartialOrd for Listed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Listed {}

fn host_summary(record: &HostRecord, end: Option<&EndRecord>, held: Option<&HeldBack>) -> HostSummary {
    let queued = record.queued();
    let counts = record.counts;
    let state = match record.parked {
        _ if queued == 0 => HostState::Complete,
        Some(_) => HostState::Parked,
        None => HostState::Queued,
    };
    let (coverage, statement, because, held_back) = statement(record, end, held);
    HostSummary {
        host: record.host.clone(),
        pages: counts.pages,
        requests: counts.requests,
        errors: counts.errors,
        queued,
        delay: seconds(record.delay_ms),
        delay_reason: record.delay_reason.as_str(),
        state,
        coverage,
        statement,
        because,
        held_back,
        notes: held.map(HeldBack::notes).unwrap_or_default(),
    }
}
