//! What the stored robots.txt, the crawl's scope and the host's state mean for a URL now.

use serde::Serialize;

use super::super::hosts::seconds;
use super::super::moment::Moment;
use super::super::open::{View, ViewError};
use super::statement::{AS_SEED, Advice};
use crate::config::{
    self, Record, ScopeMode, ScopeSettings, Settings, read_own, read_record, read_record_text,
    read_settings_in_force,
};
use crate::forgotten::{Forgotten, forget_rules};
use crate::frontier::stored_host;
use crate::page_store;
use crate::record::{
    EndRecord, JUDGED_BY, LICENSES, LinkOutcome, RUN_END, RobotsAccess, RobotsEvidence, Round, RunSettings,
    brought_in, moved_seeds,
};
use crate::robots_history;
use crate::scope::Scope;
use crate::store::{Store, Tree};
use crate::wishes::{Wishes, set_wishes};
use page::clean::clean;
use page::url::CrawlUrl;

/// What the stored robots.txt of an origin says to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsNow {
    /// Scheme, host and port.
    pub origin: String,
    /// It may be fetched.
    pub allowed: bool,
    /// The line that says so.
    pub says: RobotsEvidence,
    /// What the last answer meant.
    pub access: RobotsAccess,
    /// When it was fetched.
    pub fetched_at: Moment,
    /// Until when it holds.
    pub expires: Moment,
    /// Answers that are stored.
    pub versions: u64,
    /// Its `License` lines, the first eight: what the site says, no permission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub license: Vec<LicenseLine>,
}

/// A `License` line of robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LicenseLine {
    /// Its number, from 1.
    pub line: u32,
    /// The address of the licence as the line has it, cleaned.
    pub url: String,
}

impl RobotsNow {
    /// True if there was no usable response: pages wait until there is one.
    pub fn is_deferred(&self) -> bool {
        self.access == RobotsAccess::Defer
    }
}

/// What would let a URL in, by the settings in force.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what is known of one URL")]
pub(super) struct Hints {
    /// The narrowest wider scope that it lies in.
    pub(super) wider: Option<&'static str>,
    /// It belongs to the site that a seed redirects to.
    pub(super) is_of_moved_seed: bool,
    /// An `--exclude` matches it.
    pub(super) is_excluded: bool,
    /// Links from a seed to it.
    pub(super) depth: u32,
    /// It is a resource of a page under noimageindex.
    pub(super) is_barred: bool,
    /// The crawl keeps no bodies.
    pub(super) is_unarchived: bool,
    /// It is a crawl on many machines.
    pub(super) is_of_cluster: bool,
    /// The limit that ended the last run: its name and value.
    pub(super) limit: Option<String>,
    /// Why its host is skipped, or that of the page that links to it.
    pub(super) parked: Option<String>,
    /// Why the page that links to it lies outside the settings, and isn't fetched again.
    pub(super) source_outside: Option<String>,
    /// A number of pages of a host is set, which counts each visit of a page.
    pub(super) is_host_limited: bool,
    /// A recrawl was begun that hasn't visited everything yet: the next one continues it.
    pub(super) is_recrawl_open: bool,
    /// No page was answered yet that a link could be found on.
    pub(super) has_no_pages: bool,
}

impl Hints {
    /// What would bring a URL into the scope.
    pub(super) fn wider(&self) -> Vec<(Advice, String)> {
        let wider = self.wider.map(|mode| {
            let pattern = if self.is_excluded { " with --exclude patterns that don't match it" } else { "" };
            (Advice::WiderScope, format!("`crawl resume DIR --scope {mode}`{pattern}, if a page links to it"))
        });
        let follow = "`crawl resume DIR --follow-moved-seeds`, if a page links to it".to_owned();
        let follow = self.is_of_moved_seed.then_some((Advice::FollowMovedSeeds, follow));
        follow.into_iter().chain(wider).chain([(Advice::AsSeed, AS_SEED.to_owned())]).collect()
    }
}

/// Whether a URL lies in the crawl's scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeNow {
    /// The settings or seeds aren't stored.
    Unknown,
    Inside,
    /// Why it doesn't.
    Outside(LinkOutcome),
}

impl ScopeNow {
    fn of(outcome: Option<LinkOutcome>) -> Self {
        outcome.map_or(Self::Inside, Self::Outside)
    }

    /// Why it lies outside, as records name it.
    pub(super) fn outside(self) -> Option<String> {
        match self {
            Self::Outside(outcome) => Some(outcome.as_str().to_owned()),
            Self::Unknown | Self::Inside => None,
        }
    }
}

/// The state of a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostNow {
    /// Its name.
    pub host: String,
    /// URLs in the queue.
    pub queued: u64,
    /// The earliest time of its next request.
    pub next_at: Moment,
    /// Why that isn't earlier.
    pub wait_reason: &'static str,
    /// The gap between two requests, in seconds.
    pub delay: f64,
    /// What set it.
    pub delay_reason: &'static str,
    /// Why it is skipped.
    pub parked: Option<String>,
    /// The group of hosts with which it shares one slot and one delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// What its owner asked for, if it waits for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wish: Option<String>,
}

impl View {
    /// The settings of the last run; of a crawl without them on record, those of `crawl.toml`.
    pub(crate) fn crawl_settings(&self) -> Option<Settings> {
        if let Ok(Some(settings)) = self.last_settings() {
            return Some(settings);
        }
        let dir = self.dir()?;
        read_own(&dir.settings(), dir.root()).ok()
    }

    /// What owners of hosts asked for, by the settings of the last run and by `crawl set`.
    pub(crate) fn wishes(&self) -> Wishes {
        let pace = self.crawl_settings().unwrap_or_default().pace;
        let set = set_wishes(self.store()).unwrap_or_default();
        Wishes::read(&pace.wishes, &pace.zone).unwrap_or_default().with_set(&set)
    }

    fn last_settings(&self) -> Result<Option<Settings>, ViewError> {
        let Some(digest) = self.store().get(Tree::Meta, JUDGED_BY.as_bytes())? else { return Ok(None) };
        let text = self.store().get(Tree::Meta, &[RunSettings::PREFIX.as_bytes(), &digest].concat())?;
        Ok(text.and_then(|text| read_settings_in_force(&String::from_utf8_lossy(&text)).ok()))
    }

    pub(super) fn robots_now(
        &self,
        url: &CrawlUrl,
        settings: Option<&Settings>,
    ) -> Result<Option<RobotsNow>, ViewError> {
        let Some(settings) = settings else { return Ok(None) };
        let versions = robots_history::versions(self.store(), &url.origin().to_string())?;
        let agent = robots::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases);
        let options = settings.robots_options();
        let Some((rules, last)) = robots_history::rules(&versions, &agent, &options) else { return Ok(None) };
        let verdict = rules.verdict(url.path_and_query());
        let digest = robots_history::among(&versions).and_then(|in_force| in_force.digest);
        Ok(Some(RobotsNow {
            origin: last.origin,
            allowed: verdict.allowed,
            says: RobotsEvidence {
                line: verdict.line,
                rule: verdict.rule.as_deref().map(str::to_owned),
                group: verdict.group.as_deref().map(str::to_owned),
                dialect: verdict.dialect,
                reason: verdict.reason.to_string(),
                digest,
            },
            access: last.access,
            fetched_at: Moment(last.fetched_at),
            expires: Moment(last.expires),
            versions: versions.len() as u64,
            license: rules
                .signals()
                .licenses()
                .iter()
                .zip(rules.signals().license_lines())
                .take(LICENSES)
                .map(|(url, &line)| LicenseLine { line, url: clean(url).into_owned() })
                .collect(),
        }))
    }

    /// Whether a URL at this depth lies in the crawl's scope.
    pub(super) fn scope_now(
        &self,
        url: &CrawlUrl,
        depth: u32,
        settings: Option<&Settings>,
    ) -> Result<ScopeNow, ViewError> {
        let Some(scope) = self.scope_of(settings)? else { return Ok(ScopeNow::Unknown) };
        let outcome = scope.judge(url, depth);
        if matches!(outcome, Some(LinkOutcome::OtherHost | LinkOutcome::OtherPath)) {
            for moved in moved_seeds(self.store()) {
                if moved?.1.to == url.as_str() {
                    return Ok(ScopeNow::of(scope.judge_moved_seed(url, depth)));
                }
            }
        }
        Ok(ScopeNow::of(outcome))
    }

    /// How the crawl began: as `crawl.toml` says it, or, where there is no directory, the database. Of a partition of a cluster's crawl the seeds of
    /// its own hosts.
    fn begun_with(&self) -> Option<Record> {
        if let Some(dir) = self.dir() {
            return Some(read_record(&dir.settings()).unwrap_or_default());
        }
        let text = self.store().get(Tree::Meta, b"settings").ok().flatten()?;
        read_record_text(&String::from_utf8_lossy(&text)).ok().map(|(_, record)| record)
    }

    /// Whether the user gave it as a seed.
    pub(super) fn is_seed(&self, url: &CrawlUrl) -> bool {
        let seeds = self.begun_with().unwrap_or_default().seeds;
        seeds.iter().any(|seed| CrawlUrl::parse(seed).is_ok_and(|seed| seed == *url))
    }

    /// Whether a rule of `crawl forget` keeps it out.
    pub(super) fn is_forgotten(&self, url: &CrawlUrl) -> Result<bool, ViewError> {
        let rules = forget_rules(self.store())?;
        let forgotten = Forgotten::new(rules.iter().map(|(_, rule)| rule));
        let forgotten = forgotten.map_err(|error| ViewError::record(Tree::Meta, error))?;
        Ok(forgotten.has(url.as_str()))
    }

    /// What would let a URL at this depth in.
    pub(super) fn hints(
        &self,
        url: &CrawlUrl,
        depth: u32,
        settings: Option<&Settings>,
    ) -> Result<Hints, ViewError> {
        let end = self.store().get(Tree::Meta, RUN_END.as_bytes())?;
        let end = end.and_then(|value| serde_json::from_slice::<EndRecord>(&value).ok());
        let is_of_cluster = self.store().get(Tree::Meta, b"partition")?.is_some();
        let limit = end.and_then(|end| end.limit);
        // Another partition of a cluster's crawl may have pages.
        let has_no_pages = !is_of_cluster && page_store::scan(self.store()).next().transpose()?.is_none();
        let is_recrawl_open = Round::is_open(self.store())?;
        let mut hints =
            Hints { depth, is_of_cluster, limit, is_recrawl_open, has_no_pages, ..Hints::default() };
        let Some(settings) = settings else { return Ok(hints) };
        hints.is_unarchived = !settings.warc.enabled;
        let excluded = regex::RegexSet::new(&settings.scope.exclude);
        hints.is_excluded = excluded.is_ok_and(|set| set.is_match(url.as_str()));
        let by_host = |scope: &Scope| {
            matches!(scope.judge(url, depth), Some(LinkOutcome::OtherHost | LinkOutcome::OtherPath))
        };
        // Neither helps where something else keeps it out.
        if !self.scope_of(Some(settings))?.is_some_and(|scope| by_host(&scope)) {
            return Ok(hints);
        }
        let follows = Settings {
            scope: ScopeSettings { follow_moved_seeds: true, ..settings.scope.clone() },
            ..settings.clone()
        };
        hints.is_of_moved_seed = !settings.scope.follow_moved_seeds
            && self.scope_of(Some(&follows))?.is_some_and(|scope| scope.is_inside(url));
        for (mode, name) in
            [(ScopeMode::Host, "host"), (ScopeMode::Domain, "domain"), (ScopeMode::Any, "any")]
        {
            let mut wider = settings.clone();
            wider.scope.mode = mode;
            if let Some(scope) = self.scope_of(Some(&wider))?
                && !by_host(&scope)
            {
                hints.wider = Some(name);
                break;
            }
        }
        Ok(hints)
    }

    /// The boundary that these settings give the crawl, with its seeds.
    fn scope_of(&self, settings: Option<&Settings>) -> Result<Option<Scope>, ViewError> {
        let (Some(settings), Some(record)) = (settings, self.begun_with()) else { return Ok(None) };
        // A partition of a cluster's crawl has the seeds of its own hosts, and another host of their domain may be in another one.
        if settings.scope.mode == ScopeMode::Domain && self.store().get(Tree::Meta, b"partition")?.is_some() {
            return Ok(None);
        }
        let Ok(mut scope) = config::scope(settings) else { return Ok(None) };
        let mut seeds = record.seeds;
        let brought_in = brought_in(self.store(), settings.scope.follow_moved_seeds)?;
        seeds.extend(brought_in.iter().map(CrawlUrl::to_string));
        for seed in &seeds {
            let seed = CrawlUrl::parse(seed).map_err(|error| ViewError::record(Tree::Meta, error))?;
            scope.add_seed(&seed);
        }
        Ok(Some(scope))
    }

    /// Why the host of a page is skipped; none where it isn't.
    pub(super) fn parked_host_of(&self, page: &str) -> Result<Option<String>, ViewError> {
        let Ok(page) = CrawlUrl::parse(page) else { return Ok(None) };
        Ok(self.host_now(&page)?.and_then(|host| host.parked))
    }

    pub(super) fn host_now(&self, url: &CrawlUrl) -> Result<Option<HostNow>, ViewError> {
        let Some(id) = self.id_of(url.host())? else { return Ok(None) };
        let Some(record) = stored_host(self.store(), id)? else { return Ok(None) };
        let wish = || self.wishes().awaited(&record.host, record.wait_reason);
        Ok(Some(HostNow {
            wish: record.wait_reason.is_wish().then(wish).flatten(),
            queued: record.queued(),
            next_at: Moment(record.next_at),
            wait_reason: record.wait_reason.as_str(),
            delay: seconds(record.delay_ms),
            delay_reason: record.delay_reason.as_str(),
            parked: record.parked,
            group: self.group_names()?.of(&record.host).map(|group| group.to_string()),
            host: record.host,
        }))
    }
}
