//! A crawl is either making progress, waiting for a stated time, or over: asserted whenever the engine's loop goes to rest.

use std::time::Duration;

use crawler::event::Step;
use whole_program::simweb::{Space, Web};

/// Turns of the loop that may do nothing, one after the other, without a time to wait for: a lease that found nothing, say.
const IDLE_TURNS: u64 = 4;

/// Times that may be put off, one after the other, without anything done: a debt of bytes is paid second by second.
const PUT_OFF: u64 = 10_000;

/// Visits in vain for each host of the web, one after the other: it waits for a window, for its robots.txt, for a descriptor.
const VAIN_A_HOST: u64 = 40;

/// Fruitful visits for each URL of the web (tries, redirects, robots.txt), and for each host (robots.txt by the hour).
const FRUITFUL_A_URL: u64 = 8;
const FRUITFUL_A_HOST: u64 = 500;

/// Judges the steps of one run.
#[derive(Debug)]
pub(crate) struct Steps {
    seed: u64,
    hosts: u64,
    urls: u64,
    last: Option<Step>,
    idle: u64,
    put_off: u64,
    /// Visits over when the last fruitful one was.
    over: u64,
}

impl Steps {
    pub(crate) fn new(web: &Web, space: Option<Space>) -> Self {
        let hosts = web.sites.len() as u64;
        let urls: u64 = web.sites.values().map(|site| site.resources.len() as u64).sum();
        // A space has URLs without end: some more of them than real pages are asked for.
        let urls = urls + space.map_or(0, |space| 5 * space.pages as u64 + 600);
        Self { seed: web.seed, hosts, urls, last: None, idle: 0, put_off: 0, over: 0 }
    }

    pub(crate) fn check(&mut self, step: Step) {
        let seed = self.seed;
        assert!(
            step.until.is_some() || step.in_flight() > 0 || step.is_committing,
            "seed {seed}: waits for nothing that could come: {step:?}"
        );
        if let Some(last) = self.last {
            let did = (last.begun, last.over, last.commits, last.is_committing)
                != (step.begun, step.over, step.commits, step.is_committing);
            // What was waited for has come, and nothing was done about it: the loop turns on the spot.
            let is_due = last.until.is_some_and(|until| until <= step.at);
            let is_put_off = step.until.is_some_and(|until| until > step.at);
            self.idle = if did || !is_due || is_put_off { 0 } else { self.idle + 1 };
            self.put_off = if did { 0 } else { self.put_off + u64::from(is_due) };
            let is_late = self.idle > IDLE_TURNS || self.put_off > PUT_OFF;
            assert!(!is_late, "seed {seed}: does nothing at its time: {last:?}, then {step:?}");
            if step.fruitful > last.fruitful {
                self.over = step.over;
            }
        }
        let vain = step.over - self.over;
        let most = VAIN_A_HOST * self.hosts + 256;
        assert!(vain <= most, "seed {seed}: {vain} visits in vain, one after the other: {step:?}");
        let most = FRUITFUL_A_URL * self.urls + FRUITFUL_A_HOST * self.hosts;
        assert!(
            step.fruitful <= most,
            "seed {seed}: {} visits of {} URLs: {step:?}",
            step.fruitful,
            self.urls
        );
        assert!(
            step.until.is_none_or(|until| until < step.at + Duration::from_hours(24 * 8)),
            "seed {seed}: waits for longer than a site may ask: {step:?}"
        );
        self.last = Some(step);
    }
}

#[test]
fn a_loop_that_turns_on_the_spot_or_waits_for_nothing_is_noticed() {
    let web = Web { seed: 0, sites: std::collections::BTreeMap::new(), seeds: Vec::new() };
    let at = |second, until| Step {
        at: Duration::from_secs(second),
        until,
        begun: 0,
        over: 0,
        fruitful: 0,
        commits: 0,
        is_committing: false,
    };
    let broken = |steps: Vec<Step>| {
        let web = web.clone();
        let judge = move || {
            let mut judge = Steps::new(&web, None);
            for step in steps {
                judge.check(step);
            }
        };
        std::panic::catch_unwind(judge).is_err()
    };
    let second = |n| Some(Duration::from_secs(n));
    assert!(!broken((0..99).map(|n| at(n, second(100))).collect()), "waits for a stated time");
    assert!(broken((0..9).map(|n| at(n, second(0))).collect()), "turns on the spot");
    assert!(broken(vec![at(0, None)]), "waits for nothing");
    assert!(
        !broken((0..9_999).map(|n| at(n, second(n + 1))).collect()),
        "a debt that is paid second by second"
    );
    assert!(broken((0..19_999).map(|n| at(n, second(n + 1))).collect()), "puts it off forever");
    let vain = |n| Step { begun: n, over: n, ..at(n, second(n + 1)) };
    assert!(!broken((0..200).map(vain).collect()));
    assert!(broken((0..300).map(vain).collect()), "goes on in vain");
}
