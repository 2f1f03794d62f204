//! Hours of simulated time on sites that ask for everything that slows a crawler, with restarts in between.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crawler::commit::CommitError;
use crawler::engine::End;
use crawler::store::{CrashStore, MemoryStore, StoreError};
use whole_program::oracle::{Promise, judge};
use whole_program::rules::{Rate, Rules};
use whole_program::simweb::{
    Failure, Kind, Link, LinkKind, Page, Resource, Robots, RobotsForm, SimWeb, Site, Web,
};
use whole_program::timing_oracle::{Timing, judge_timing};

use crate::crawl::{Crawl, DELAY};

/// A site of `pages` pages, in a tree of four links each; `failures` by page come before its content.
fn site(
    host: &str,
    pages: usize,
    rules: Rules,
    latency: Duration,
    failures: &dyn Fn(usize) -> Vec<Failure>,
) -> Site {
    let path = |n: usize| if n == 0 { "/".to_owned() } else { format!("/n{n}") };
    let link = |n: usize| Link {
        kind: LinkKind::Anchor,
        to: format!("http://{host}{}", path(n)),
        href: path(n),
        nofollow: false,
    };
    let resource = |n: usize| {
        let links = (4 * n + 1..pages.min(4 * n + 5)).map(link).collect();
        let marker = format!("marker-{host}-{n}");
        let page = Page { marker, links, directives: Vec::new(), base: None, padding: 0 };
        (path(n), Resource { failures: failures(n), kind: Kind::Page(page) })
    };
    let robots = Robots { rules, form: RobotsForm::Star, failures: Vec::new(), max_age: None };
    Site { robots, latency, resources: (0..pages).map(resource).collect() }
}

fn web() -> Web {
    let fast = Duration::from_millis(20);
    let none = |_| Vec::new();
    let phases = |n: usize| match n % 12 {
        // A site in trouble: now with a date, now without, on several answers in a row.
        3 => vec![Failure::Status(503, Some(90)), Failure::Status(503, None)],
        7 => vec![Failure::Status(429, None)],
        10 => vec![Failure::Timeout],
        11 => vec![Failure::Status(500, Some(45))],
        _ => Vec::new(),
    };
    let rules = Rules::default;
    let every = |seconds| vec![Rate { pages: 1, per: Duration::from_secs(seconds), within: None }];
    let rate = Rules { rates: every(20), ..rules() };
    let both = Rules { rates: every(7), ..rules().delay(Duration::from_secs(13)) };
    // The simulated day begins at midnight.
    let window = Rules { visit: Some((30, 75)), ..rules() };
    let sites = BTreeMap::from([
        ("delay.test", site("delay.test", 420, rules().delay(Duration::from_secs(10)), fast, &none)),
        ("rate.test", site("rate.test", 240, rate, fast, &none)),
        ("both.test", site("both.test", 100, both, fast, &none)),
        ("window.test", site("window.test", 300, window, fast, &none)),
        ("slow.test", site("slow.test", 120, rules(), Duration::from_secs(4), &none)),
        ("crawling.test", site("crawling.test", 40, rules(), Duration::from_secs(12), &none)),
        ("busy.test", site("busy.test", 60, rules(), fast, &phases)),
        ("plain.test", site("plain.test", 400, rules(), fast, &none)),
    ]);
    let seeds = sites.keys().map(|host| format!("http://{host}/")).collect();
    Web { seed: 0, sites: sites.into_iter().map(|(host, site)| (host.to_owned(), site)).collect(), seeds }
}

#[tokio::test(start_paused = true)]
async fn hours_of_delays_rates_windows_outages_and_restarts_bring_no_violation() {
    let sim = SimWeb::new(web());
    let store = Arc::new(MemoryStore::default());
    let crawl = Crawl::new(&sim, Arc::clone(&store));
    let mut restarts = 0;
    loop {
        let dying = crawl.on(Arc::new(CrashStore::new(Arc::clone(&store), 150, restarts % 2 == 0)));
        match dying.run(None).await {
            Ok(summary) => {
                assert_eq!(summary.end, End::Complete);
                break;
            }
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => restarts += 1,
            Err(error) => panic!("{error}"),
        }
    }
    let log = sim.log();
    assert!(sim.now() > Duration::from_hours(1), "{:?}", sim.now());
    assert!(restarts >= 5, "{restarts} restarts");
    let pages = sim.page_counts();
    for (host, site) in &sim.web().sites {
        for path in site.resources.keys() {
            assert!(pages.contains_key(&format!("http://{host}{path}")), "{host}{path} was never asked for");
        }
    }
    let mut wrong: Vec<String> = judge(&log, Promise { delay: DELAY, slack: Duration::ZERO })
        .iter()
        .map(ToString::to_string)
        .collect();
    let timing = Timing {
        adaptive: 5.0,
        most: Duration::from_secs(30),
        push_back: Duration::from_secs(60),
        began: Duration::ZERO,
    };
    wrong.extend(judge_timing(&log, timing));
    wrong.extend(crawl.audit(None));
    assert!(
        wrong.is_empty(),
        "{} in {} requests:\n{}",
        wrong.len(),
        log.len(),
        wrong[..wrong.len().min(9)].join("\n")
    );
    println!("{} requests in {:.1} h with {restarts} restarts", log.len(), sim.now().as_secs_f64() / 3600.0);
}
