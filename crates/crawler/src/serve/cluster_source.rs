//! The database of a crawl on many machines: its connections, which requests share, and what the crawl does now, asked for seldom.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::crawl_view::CrawlView;
use super::failure::Failure;
use crate::causes::with_causes;
use crate::cluster::{self, Address, ClusterError, Parts, ReadError, State, Status};
use crate::warc::Directories;
use page::clean::clean;
use page::clock;

/// How long a request waits for a database that is out of reach.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long connections stay open that nobody uses.
const IDLE: Duration = Duration::from_mins(1);

/// How long an answer about the whole crawl holds.
const FRESH: Duration = Duration::from_secs(2);

/// The time that the rate of pages is taken over.
const RATE_OVER: Duration = Duration::from_secs(10);

/// Connections to the database, opened when they are asked for.
pub(super) struct ClusterSource {
    database: Address,
    archive: Directories,
    open: Mutex<Option<(Arc<Parts>, Instant)>>,
    last: Mutex<Last>,
}

/// The last answer about the whole crawl.
#[derive(Default)]
struct Last {
    answer: Option<(Instant, Result<Value, String>)>,
    /// How many pages there were, lately.
    pages: VecDeque<(Instant, u64)>,
}

impl ClusterSource {
    pub(super) fn new(database: &Address, archive: &[PathBuf]) -> Self {
        Self {
            database: database.clone(),
            archive: Directories::new(archive.to_vec()),
            open: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// A view for one reader.
    pub(super) fn view(&self) -> Result<CrawlView, Failure> {
        let now = clock::real_time();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = match open.take() {
            Some((parts, _)) => parts,
            None => Arc::new(
                Parts::open(&self.database, self.archive.clone(), PATIENCE)
                    .map_err(|error| failure(&error))?,
            ),
        };
        *open = Some((Arc::clone(&parts), now));
        Ok(CrawlView::of_cluster(&parts))
    }

    /// Closes connections that nobody uses.
    pub(super) fn tidy(&self) {
        let now = clock::real_time();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|(_, used)| now.saturating_duration_since(*used) >= IDLE) {
            *open = None;
        }
    }

    /// What the crawl does. Blocks until the database has answered; asks it every two seconds at most, however many look.
    pub(super) fn now(&self) -> Result<Value, Failure> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::real_time();
        if let Some((at, answer)) = &last.answer
            && now.saturating_duration_since(*at) < FRESH
        {
            return answer.clone().map_err(Failure::busy);
        }
        let answer = match cluster::status(&self.database) {
            Ok(status) => Ok(object(&status, rate(&mut last.pages, now, status.totals.pages))),
            Err(error) => Err(with_causes(&error)),
        };
        last.answer = Some((clock::real_time(), answer.clone()));
        answer.map_err(Failure::busy)
    }
}

fn failure(error: &ReadError) -> Failure {
    let what = with_causes(error);
    match error {
        ReadError::Cluster(ClusterError::Connect { .. } | ClusterError::Server { .. }) => Failure::busy(what),
        _ => Failure::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, what),
    }
}

/// Pages a second over the last ten seconds; none before two counts. Counts from before a longer time in which nobody looked don't count.
fn rate(counts: &mut VecDeque<(Instant, u64)>, now: Instant, pages: u64) -> Option<f64> {
    let age = |at: Instant| now.saturating_duration_since(at);
    if counts.back().is_some_and(|(at, _)| age(*at) > RATE_OVER) {
        counts.clear();
    }
    counts.push_back((now, pages));
    while counts.len() > 2 && counts.get(1).is_some_and(|(at, _)| age(*at) >= RATE_OVER) {
        counts.pop_front();
    }
    let (at, before) = *counts.front()?;
    let seconds = age(at).as_secs_f64();
    (seconds > 0.0).then(|| pages.saturating_sub(before) as f64 / seconds)
}

/// What the crawl does, as the API answers.
fn object(status: &Status, rate: Option<f64>) -> Value {
    let workers: Vec<Value> = status
        .workers
        .iter()
        .map(|worker| {
            json!({
                "id": worker.id, "name": clean(&worker.name), "partitions": worker.partitions, "queued": worker.queued,
                "in_flight": worker.in_flight,
            })
        })
        .collect();
    let longest: Vec<Value> = status
        .longest
        .iter()
        .map(|part| {
            json!({
                "partition": part.part, "worker": part.owner, "queued": part.queued, "in_flight": part.in_flight,
                "letters": part.letters,
            })
        })
        .collect();
    let in_flight: u64 = status.workers.iter().map(|worker| worker.in_flight).sum();
    let mut object = json!({
        "v": 1, "state": state(status), "totals": status.totals, "queued": status.queued, "in_flight": in_flight,
        "limit": status.limit, "letters": status.letters, "partitions": status.terms.partitions,
        "partitions_free": status.free, "workers": workers, "longest_partitions": longest,
    });
    if let Some(rate) = rate {
        object["pages_per_second"] = json!(rate);
    }
    object
}

/// The state in a word.
fn state(status: &Status) -> &'static str {
    match status.state {
        State::Running if status.workers.is_empty() => "waiting_for_workers",
        State::Complete if status.limit.is_some() => "complete_within_limits",
        state => state.as_str(),
    }
}

/// Whether workers may crawl, by what [`ClusterSource::now`] said.
pub(super) fn is_running(now: &Value) -> bool {
    matches!(now["state"].as_str(), Some("running" | "waiting_for_workers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let (mut counts, start) = (VecDeque::new(), clock::real_time());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(rate(&mut counts, at(0), 100), None);
        assert_eq!(rate(&mut counts, at(2), 120), Some(10.0));
        for seconds in (4..40).step_by(2) {
            rate(&mut counts, at(seconds), 120);
        }
        assert_eq!(rate(&mut counts, at(40), 170), Some(5.0), "of 10 seconds");
        assert!(counts.len() < 8, "few are kept");
        assert_eq!(rate(&mut counts, at(100), 900), None, "nobody looked for a minute");
    }
}
