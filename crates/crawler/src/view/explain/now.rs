//! What robots.txt, the crawl's scope and the host's state say to a URL now, by what is stored.

use serde::Serialize;

use super::super::cell::Moment;
use super::super::hosts::{queued, seconds};
use super::super::open::{View, ViewError};
use crate::config::{CliOverrides, Settings, load, read_record};
use crate::frontier::stored_host;
use crate::record::RobotsEvidence;
use crate::robots_history;
use crate::store::{Store, Tree};
use crate::url::CrawlUrl;

/// What the stored robots.txt of an origin says to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsNow {
    /// Scheme, host and port.
    pub origin: String,
    /// It may be fetched.
    pub allowed: bool,
    /// The line that says so.
    pub says: RobotsEvidence,
    /// What the last answer meant: `rules`, `stored`, `allow_all`, `deny_all` or `defer`.
    pub access: String,
    /// When it was fetched.
    pub fetched_at: Moment,
    /// Until when it holds.
    pub expires: Moment,
    /// Answers that are stored.
    pub versions: u64,
}

/// The state of a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostNow {
    /// Its name.
    pub host: String,
    /// URLs that wait.
    pub queued: u64,
    /// The earliest time of its next request.
    pub next_at: Moment,
    /// Why that isn't earlier.
    pub wait_reason: &'static str,
    /// The gap between two requests, in seconds.
    pub delay: f64,
    /// What set it.
    pub delay_reason: &'static str,
    /// Why it is left alone.
    pub parked: Option<String>,
}

impl<S: Store> View<S> {
    /// The settings of the crawl, as far as `crawl.toml` still says them.
    pub(in crate::view) fn crawl_settings(&self) -> Option<Settings> {
        let file = self.dir()?.settings();
        load(&CliOverrides::default(), [], Some(&file)).ok().map(|loaded| loaded.settings)
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
        }))
    }

    /// Why a URL at this depth lies outside; none if it doesn't, or if nobody can tell.
    pub(super) fn scope_now(
        &self,
        url: &CrawlUrl,
        depth: u32,
        settings: Option<&Settings>,
    ) -> Result<Option<String>, ViewError> {
        #[derive(serde::Deserialize)]
        struct Added {
            urls: Vec<String>,
        }
        let (Some(settings), Some(dir)) = (settings, self.dir()) else { return Ok(None) };
        let Ok(mut scope) = crate::job::scope(settings) else { return Ok(None) };
        let mut seeds = read_record(&dir.settings()).map(|record| record.seeds).unwrap_or_default();
        if let Some(value) = self.store().get(Tree::Meta, b"scope_added")? {
            let added: Added =
                serde_json::from_slice(&value).map_err(|error| ViewError::record(Tree::Meta, &error))?;
            seeds.extend(added.urls);
        }
        for seed in &seeds {
            let seed = CrawlUrl::parse(seed).map_err(|error| ViewError::record(Tree::Meta, &error))?;
            scope.add_seed(&seed);
        }
        Ok(scope.judge(url, depth).map(|outcome| outcome.as_str().to_owned()))
    }

    pub(super) fn host_now(&self, url: &CrawlUrl) -> Result<Option<HostNow>, ViewError> {
        let Some(id) = self.id_of(url.host())? else { return Ok(None) };
        let Some(record) = stored_host(self.store(), id)? else { return Ok(None) };
        Ok(Some(HostNow {
            queued: queued(&record),
            next_at: Moment(record.next_at),
            wait_reason: record.wait_reason.as_str(),
            delay: seconds(record.delay_ms),
            delay_reason: record.delay_reason.as_str(),
            parked: record.parked,
            host: record.host,
        }))
    }
}
