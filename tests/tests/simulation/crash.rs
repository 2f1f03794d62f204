//! A crawl whose process dies at each of its commits and is taken up again: nothing lost, nothing impolite (I8, I11).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crawler::commit::{CommitError, Totals};
use crawler::engine::End;
use crawler::store::{AnyStore, CrashStore, MemoryStore, PowerCutStore, Store as _, StoreError, Tree};
use whole_program::oracle::{Promise, assert_polite};
use whole_program::request_log::Request;
use whole_program::simweb::{SimWeb, Size, generate, truth};

use crate::crawl::{Crawl, DELAY, LIMITS};
use crate::statements::false_ones;

/// The log without what a process learnt in the time before its death and could not keep: such a request counts for the ordinary
/// gap; a longer one that its answer asked for may have died with the process.
pub(crate) fn remembered(mut log: Vec<Request>, forgotten: &[(Duration, Duration)]) -> Vec<Request> {
    for request in &mut log {
        if forgotten.iter().any(|(commit, death)| (*commit..=*death).contains(&request.end)) {
            request.retry_after = None;
            if let Some(rules) = request.lesson.as_mut().and_then(|lesson| lesson.rules.as_mut()) {
                rules.crawl_delay = None;
            }
        }
    }
    log
}

/// What ends a process, at every n-th commit or sync.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// A kill after the commit, before it is acknowledged.
    Acknowledging,
    /// A kill before the commit.
    Writing,
    /// A power cut while the commit is synced: it is undone, and what was written since the last sync.
    PowerCut,
}

/// Runs a crawl that dies at every `step`-th commit until it is through; gives the number of deaths.
async fn crawl(seed: u64, step: u64, death: Death, archive: bool) -> usize {
    let web = generate(seed, Size { hosts: 3, resources: 12, outside: 1, lasting_outages: false });
    let truth = truth(&web, LIMITS);
    let sim = SimWeb::new(web);
    let store = Arc::new(MemoryStore::default());
    let crawl = Crawl::new(&sim, Arc::clone(&store));
    let directory = tempfile::tempdir().expect("a directory");
    let archive = archive.then(|| directory.path());
    let mut deaths = 0;
    // From the last commit that was acknowledged to the death that followed: what was answered then may be forgotten.
    let mut forgotten: Vec<(Duration, Duration)> = Vec::new();
    loop {
        let disk = Arc::clone(&store);
        let lands = matches!(death, Death::Acknowledging);
        let dying: AnyStore = match death {
            Death::PowerCut => Arc::new(PowerCutStore::new(disk, step).expect("the disk can be read")),
            Death::Acknowledging | Death::Writing => Arc::new(CrashStore::new(disk, step, lands)),
        };
        let dying = crawl.on(Arc::new(dying));
        match dying.run(archive).await {
            Ok(summary) => {
                assert_eq!(summary.end, End::Complete, "seed {seed}");
                break;
            }
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => {
                deaths += 1;
                let stored = store.get(Tree::Meta, b"totals").expect("the store answers");
                let stored: Totals =
                    serde_json::from_slice(&stored.unwrap_or(b"{}".to_vec())).expect("totals");
                let acknowledged = crawl.acknowledged();
                assert!(stored.requests >= acknowledged, "{} of {acknowledged} requests", stored.requests);
                if !lands {
                    forgotten.push((crawl.last_commit(), sim.now()));
                }
            }
            Err(error) => panic!("seed {seed}, step {step}: {error}"),
        }
        if step <= 2 && deaths > if step == 2 && lands { 300 } else { 3 } {
            // A process that dies at its first commits (the first one says that it runs, the last one that it ended)
            // never gets to its end; one that lives must find everything.
            crawl.run(archive).await.expect("the crawl ends well");
            break;
        }
        assert!(deaths < 2_000, "seed {seed}, step {step}: no progress");
    }
    let audit = crawl.audit(archive);
    assert!(audit.is_empty(), "seed {seed}, step {step}, {death:?}:\n{}", audit.join("\n"));
    if seed < 2 {
        let wrong = false_ones(&format!("seed {seed}, step {step}, {death:?}"), &crawl, archive.is_some());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    let counts = sim.page_counts();
    let asked: BTreeSet<String> = counts.keys().cloned().collect();
    assert_eq!(asked, truth.requested, "seed {seed}, step {step}, {death:?}");
    // A death costs at most the requests of one commit: one a host.
    let failures: usize =
        counts.keys().filter_map(|url| sim.web().resource(url)).map(|found| found.failures.len()).sum();
    let broken = 2 * counts.len();
    let again: usize = counts.values().map(|count| count - 1).sum();
    assert!(again <= 3 * deaths + failures + broken, "seed {seed}: {again} again after {deaths} deaths");
    assert_polite(&remembered(sim.log(), &forgotten), Promise::delay(DELAY));
    deaths
}

#[tokio::test(start_paused = true)]
async fn i11_a_crawl_that_dies_at_the_nth_commit_resumes_without_loss() {
    let mut deaths = 0;
    for seed in 0..6 {
        for step in [1, 2, 3, 5, 8] {
            for death in [Death::Writing, Death::Acknowledging] {
                deaths += crawl(seed, step, death, false).await;
            }
        }
    }
    assert!(deaths > 100, "only {deaths} deaths");
}

#[tokio::test(start_paused = true)]
async fn i11_the_archive_is_cut_back_to_what_was_committed() {
    for seed in 0..3 {
        assert!(crawl(seed, 4, Death::Writing, true).await > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn i11_a_power_cut_takes_back_what_was_written_since_the_last_sync_and_nothing_that_counts() {
    let mut deaths = 0;
    for seed in 0..6 {
        for step in [1, 2, 3, 5, 8] {
            deaths += crawl(seed, step, Death::PowerCut, false).await;
        }
        deaths += crawl(seed, 4, Death::PowerCut, true).await;
    }
    assert!(deaths > 50, "only {deaths} deaths");
}
