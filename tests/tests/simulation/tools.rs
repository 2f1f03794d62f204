//! The tools judge right: a plain robot that keeps the rules passes, and each of its faults is noticed.

use std::collections::BTreeSet;
use std::time::Duration;

use whole_program::oracle::{Invariant, Promise, judge};
use whole_program::simweb::{Limits, SimWeb, Size, generate, truth};

use crate::plain_robot::{Fault, PlainRobot};

const DELAY: Duration = Duration::from_secs(1);
const LIMITS: Limits = Limits { redirects: 10, tries: 3 };

/// What was found wrong in the crawls of some webs: broken invariants, and whether a set of pages was another than the truth.
async fn crawls(fault: Fault) -> (BTreeSet<Invariant>, bool) {
    let mut broken = BTreeSet::new();
    let mut other = false;
    for seed in 0..12 {
        let web = generate(seed, Size::default());
        let sim = SimWeb::new(web.clone());
        PlainRobot::new(&sim, fault, DELAY).crawl().await;
        let found = judge(&sim.log(), Promise::delay(DELAY));
        if let (Fault::Nothing, Some(violation)) = (fault, found.first()) {
            panic!("seed {seed}: {violation}");
        }
        broken.extend(found.iter().map(|violation| violation.invariant));
        let pages: BTreeSet<String> = sim.page_counts().into_keys().collect();
        other |= pages != truth(&web, LIMITS).requested;
    }
    (broken, other)
}

#[tokio::test(start_paused = true)]
async fn a_robot_that_keeps_the_rules_finds_the_truth() {
    assert_eq!(crawls(Fault::Nothing).await, (BTreeSet::new(), false));
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_noticed() {
    for (fault, invariant) in [
        (Fault::IgnoresRules, Invariant::I5),
        (Fault::AsksRobotsLate, Invariant::I3),
        (Fault::Hurries, Invariant::I2),
        (Fault::IgnoresCrawlDelay, Invariant::I2),
        (Fault::IgnoresRetryAfter, Invariant::I2),
        (Fault::FailsOpen, Invariant::I4),
        (Fault::KeepsRobotsForever, Invariant::I3),
    ] {
        let (broken, _) = crawls(fault).await;
        assert!(broken.contains(&invariant), "{fault:?}: {broken:?}");
    }
    for fault in [Fault::FollowsNofollow, Fault::ForgetsALink, Fault::LeavesScope] {
        assert!(crawls(fault).await.1, "{fault:?}");
    }
}
