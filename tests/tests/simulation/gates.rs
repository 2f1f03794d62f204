//! Quotas over all hosts on the paused clock: exact, and no slower than they must be.

use std::sync::Arc;
use std::time::Duration;

use crawler::engine::EngineSettings;
use crawler::record::Decided;
use crawler::store::MemoryStore;
use whole_program::oracle::{Promise, assert_polite};
use whole_program::request_log::Request;
use whole_program::simweb::{SimWeb, Size, generate};

use crate::crawl::{Crawl, DELAY};

/// Crawls a web of many hosts; gives its log by start, its bytes, and the reasons of pauses.
async fn crawl(adjust: fn(EngineSettings) -> EngineSettings) -> (Vec<Request>, u64, Vec<String>) {
    let sim = SimWeb::new(generate(1, Size { hosts: 40, resources: 10, ..Size::default() }));
    let mut crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    crawl.adjust = adjust;
    let summary = crawl.run(None).await.expect("the crawl ends");
    let mut log = sim.log();
    assert_polite(&log, Promise::delay(DELAY));
    log.sort_by_key(|request| request.start);
    let decisions = crawl.decisions.lock().expect("nobody panicked");
    let paused = decisions.iter().filter(|decision| decision.decision == Decided::Paused);
    (log, summary.totals.bytes, paused.map(|decision| decision.reason.to_string()).collect())
}

#[tokio::test(start_paused = true)]
async fn a_quota_of_requests_spreads_them_over_all_hosts() {
    let (free, _, _) = crawl(|settings| settings).await;
    let (log, _, reasons) = crawl(|settings| EngineSettings { max_rate: Some(4.0), ..settings }).await;
    let gaps: Vec<Duration> =
        log.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].start)).collect();
    let least = gaps.iter().min().unwrap();
    assert!(*least >= Duration::from_millis(250), "{least:?}");
    assert!(
        free.windows(2).any(|pair| pair[1].start.saturating_sub(pair[0].start) < Duration::from_millis(250))
    );
    // While 40 hosts are ready nothing but the quota holds requests back.
    let first = log[100].start.saturating_sub(log[0].start);
    assert!(first <= Duration::from_millis(100 * 251 + 500), "{first:?}");
    assert_eq!(reasons.iter().filter(|reason| *reason == "max-rate").count(), 1, "{reasons:?}");
}

#[tokio::test(start_paused = true)]
async fn a_quota_of_bytes_is_kept_over_all_hosts() {
    const MOST: u64 = 5_000;
    let (_, _, reasons) = crawl(|s| EngineSettings { max_bandwidth: Some(1 << 40), ..s }).await;
    assert!(!reasons.iter().any(|reason| reason == "max-bandwidth"), "{reasons:?}");
    let (log, bytes, reasons) = crawl(|s| EngineSettings { max_bandwidth: Some(MOST), ..s }).await;
    assert!(reasons.iter().any(|reason| reason == "max-bandwidth"), "{reasons:?}");
    // A second's worth at the start, and bodies under way when the quota began to bind: no host has two.
    let least = bytes.saturating_sub(MOST + 40 * 5_000 + 3 * 512_000) / MOST;
    let took = log.last().unwrap().start.as_secs();
    assert!(least > 60 && took >= least, "{bytes} bytes in {took} s, at least {least}");
}
