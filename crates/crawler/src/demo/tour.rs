//! The crawls of the demo: each robot crawls the two sites, and its database shows what it was allowed to see.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use robots::StatusClass;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::report::{Directive, RobotReport, Row};
use super::{ROBOTS, server, sites};
use crate::config::{ResolveRule, Settings};
use crate::engine::Stop;
use crate::job::{Job, JobError, origin_cache, robots_cache};
use crate::ledger;
use crate::page_store;
use crate::record::{Decided, Decision, PageRecord, PlainReason};
use crate::robots_cache::Known;
use crate::store::{SledStore, Store, Tree};
use page::clock::Now;
use page::clock::wall;
use page::url::CrawlUrl;

/// The gap between two requests to a host: short, since the sites are ours.
const DELAY: Duration = Duration::from_millis(40);

/// Why the demo could not be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TourError {
    /// The two sites could not be served.
    #[error("can't serve the two sites on 127.0.0.1")]
    Serve(#[source] std::io::Error),
    /// One of the crawls failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// An entry of the ledger could not be read back.
    #[error("the ledger can't be read")]
    Ledger(#[from] ledger::LedgerError),
}

/// Serves the sites, crawls them with the three robots into sub-directories of `out`, and gives what each could see.
pub fn tour<'a>(
    out: &'a Path,
    program: &'a str,
) -> Pin<Box<dyn Future<Output = Result<Vec<RobotReport>, TourError>> + 'a>> {
    Box::pin(tour_here(out, program))
}

async fn tour_here(out: &Path, program: &str) -> Result<Vec<RobotReport>, TourError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(TourError::Serve)?;
    let served = server::serve(listener).map_err(TourError::Serve)?;
    let mut reports = Vec::new();
    for robot in ROBOTS {
        let name = robot.split('/').next().unwrap_or(robot);
        let settings = settings(robot, &out.join(name), served.addr());
        let seeds: Vec<CrawlUrl> = sites::all()
            .iter()
            .filter_map(|site| CrawlUrl::parse(&format!("http://{}/", site.host)).ok())
            .collect();
        let now = wall();
        let job = Job::start(settings.clone(), &seeds.into(), program, now)?;
        let (_keep, stop) = watch::channel(Stop::No);
        job.run(stop, Box::new(|_| {})).await?;
        let store = SledStore::open(&settings.out.join("db")).map_err(JobError::from)?;
        reports.push(RobotReport { robot: robot.to_owned(), rows: rows(&settings, store)? });
    }
    Ok(reports)
}

fn settings(robot: &str, out: &Path, addr: SocketAddr) -> Settings {
    let mut settings = Settings { out: out.to_owned(), ..Settings::default() };
    robot.clone_into(&mut settings.agent.product);
    settings.pace.delay = DELAY;
    settings.pace.adaptive = 0.0;
    settings.fetch.resolve = sites::all()
        .iter()
        .map(|site| ResolveRule { host: site.host.to_owned(), addr: addr.ip(), port: Some(addr.port()) })
        .collect();
    settings
}

fn rows(settings: &Settings, store: SledStore) -> Result<Vec<Row>, TourError> {
    let store = std::sync::Arc::new(store);
    let cache = robots_cache(settings, std::sync::Arc::clone(&store), &origin_cache(settings));
    let mut rows = BTreeMap::new();
    for pair in store.scan(Tree::Ledger, &[]) {
        let (_, value) = pair.map_err(JobError::from)?;
        for decision in ledger::read(&value)?
            .decisions
            .into_iter()
            .filter(|decision| decision.decision == Decided::Skipped)
        {
            let row = skipped(&cache, decision)?;
            rows.insert(row.url.clone(), row);
        }
    }
    for page in page_store::scan(&store) {
        let record = page.and_then(|page| page.record()).map_err(JobError::from)?;
        rows.insert(record.url.clone(), visited(record));
    }
    Ok(rows.into_values().collect())
}

/// A URL that was skipped: by robots.txt, whose line is read from the stored file again, or by another layer.
fn skipped<S: Store>(
    cache: &crate::robots_cache::RobotsCache<S>,
    decision: Decision,
) -> Result<Row, TourError> {
    let verdict = match CrawlUrl::parse(&decision.url) {
        Ok(url) if decision.reason == PlainReason::RobotsTxt => {
            match cache.lookup(&url.origin(), Now::of_day(decision.at)).map_err(JobError::from)? {
                Known::Fresh(entry) | Known::Stale(entry) => Some(entry.robots.verdict(url.path_and_query())),
                Known::Missing => None,
            }
        }
        _ => None,
    };
    let rule = verdict.as_ref().and_then(|verdict| verdict.rule.as_deref()).map(str::to_owned);
    Ok(Row {
        url: decision.url,
        line: verdict.and_then(|verdict| verdict.line),
        reason: rule.unwrap_or_else(|| crate::record::in_words(&decision.reason.as_str())),
        ..Row::default()
    })
}

fn visited(record: PageRecord) -> Row {
    let page = record.status.is_some_and(|status| StatusClass::of(status).is_success());
    Row {
        url: record.url,
        fetched: record.status,
        line: record.robots.line,
        reason: record.robots.rule.unwrap_or(record.robots.reason),
        indexed: page.then_some(record.indexed),
        archived: page.then_some(record.archived),
        followed: page.then_some(record.followed),
        directives: record
            .directives
            .into_iter()
            .map(|because| Directive { term: because.directive, found: format!("{}", because.source) })
            .collect(),
    }
}
