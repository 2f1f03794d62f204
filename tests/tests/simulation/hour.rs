//! An hour of a crawl that every kind of pace rule binds, with restarts, judged from the web's side.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crawler::commit::CommitError;
use crawler::engine::End;
use crawler::store::{CrashStore, MemoryStore, StoreError};
use whole_program::pace_oracle::{Pace, judge};
use whole_program::request_log::{Purpose, Request};
use whole_program::rules::Rules;
use whole_program::simweb::{
    Failure, Kind, Link, LinkKind, Page, Resource, Robots, RobotsForm, SimWeb, Site, Web,
};

use crate::crawl::{Crawl, DELAY};

/// Pages of each host besides its front page.
const PAGES: usize = 150;

const PACE: Pace = Pace { delay: DELAY, adaptive: 5, longest_adaptive: Duration::from_secs(30) };

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A host whose front page links to all others; the answers to the first requests for some of them are failures.
fn site(host: &str, rules: Rules, latency: Duration, failures: &[(usize, &[Failure])]) -> (String, Site) {
    let url = |n: usize| format!("http://{host}/{n}");
    let link = |n: usize| Link { kind: LinkKind::Anchor, to: url(n), href: url(n), nofollow: false };
    let page = |links: Vec<Link>| {
        Kind::Page(Page {
            marker: format!("{host} {}", links.len()),
            links,
            directives: Vec::new(),
            base: None,
            padding: 0,
        })
    };
    let mut resources: BTreeMap<String, Resource> = (1..=PAGES)
        .map(|n| {
            let first = failures.iter().find(|(at, _)| *at == n).map_or(&[][..], |(_, failures)| failures);
            (format!("/{n}"), Resource { failures: first.to_vec(), kind: page(Vec::new()) })
        })
        .collect();
    let front = page((1..=PAGES).map(link).collect());
    resources.insert("/".to_owned(), Resource { failures: Vec::new(), kind: front });
    let robots = Robots { rules, form: RobotsForm::Star, failures: Vec::new(), max_age: None };
    (host.to_owned(), Site { robots, latency, resources })
}

fn web() -> Web {
    use Failure::{Refused, Status, Timeout};
    let none = Rules::default;
    let quick = Duration::from_millis(50);
    let pushes: &[(usize, &[Failure])] = &[
        (5, &[Status(503, None), Status(503, None)]),
        (20, &[Status(503, Some(120)), Status(429, Some(30))]),
        (40, &[Status(404, Some(45))]),
        (41, &[Status(200, Some(20))]),
        (42, &[Status(301, Some(25))]),
        (60, &[Timeout, Refused]),
        (80, &[Status(429, None)]),
    ];
    let phase: &[(usize, &[Failure])] = &[
        (10, &[Status(503, Some(5)), Status(503, Some(5))]),
        (11, &[Status(503, Some(5)), Status(503, None)]),
        (12, &[Status(429, Some(7))]),
    ];
    let rates = none().rate(1, secs(5), None).rate(1, secs(30), Some((10, 20)));
    let mut sites: BTreeMap<String, Site> = [
        site("delay.test", none().delay(secs(20)), quick, &[]),
        site("rate.test", rates, quick, &[]),
        site("window.test", none().visit(15, 40), quick, &[]),
        site("both.test", none().visit(5, 50).delay(secs(12)), quick, pushes),
        site("slow.test", none(), secs(4), &[]),
        site("pushes.test", none(), quick, pushes),
        site("phase.test", none(), quick, phase),
        site("robots.test", none(), quick, &[]),
    ]
    .into();
    if let Some(site) = sites.get_mut("robots.test") {
        site.robots.failures = vec![Status(503, Some(700))];
    }
    let seeds = sites.keys().map(|host| format!("http://{host}/")).collect();
    Web { seed: 0, sites, seeds }
}

#[tokio::test(start_paused = true)]
async fn an_hour_under_every_rule_of_pace_with_restarts_has_no_violation() {
    let sim = SimWeb::new(web());
    let store = Arc::new(MemoryStore::default());
    let crawl = Crawl::new(&sim, Arc::clone(&store));
    let mut deaths = 0;
    loop {
        let dying = crawl.on(Arc::new(CrashStore::new(Arc::clone(&store), 60, true)));
        match dying.run(None).await {
            Ok(summary) => {
                assert_eq!(summary.end, End::Complete);
                break;
            }
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => deaths += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(deaths < 2_000, "no progress");
    }
    let log = sim.log();
    let found = judge(&log, PACE);
    assert!(found.is_empty(), "{} violations in {} requests:\n{}", found.len(), log.len(), found.join("\n"));
    // The rules bound something, or this would show nothing.
    let last = log.iter().map(|request| request.end).max().unwrap_or_default();
    assert!(last > secs(3_000) && deaths >= 10, "{last:?}, {deaths} restarts");
    let count = |of: fn(&Request) -> bool| log.iter().filter(|request| of(request)).count();
    assert!(count(|r| matches!(r.status, Some(429 | 503))) >= 12);
    assert!(count(|r| r.retry_after.is_some() && matches!(r.status, Some(200 | 301 | 404))) >= 6);
    for host in sim.web().sites.keys() {
        let pages = log.iter().filter(|r| r.host == *host && r.purpose == Purpose::Page);
        let paths: std::collections::BTreeSet<&str> = pages.map(|r| r.path.as_str()).collect();
        assert!(paths.len() > PAGES, "{host}: {}", paths.len());
    }
}
