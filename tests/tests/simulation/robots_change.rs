//! robots.txt files that change, or become unreachable, while a crawl runs and is resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crawler::commit::CommitError;
use crawler::engine::End;
use crawler::record::{Decided, Decision};
use crawler::store::{CrashStore, MemoryStore, StoreError};
use whole_program::oracle::{Promise, assert_polite};
use whole_program::request_log::{Request, RequestKind};
use whole_program::rules::Rules;
use whole_program::simweb::{
    Failure, Kind, Later, Link, LinkKind, Page, Resource, Robots, RobotsForm, SimWeb, Site,
};

use crate::crawl::{Crawl, DELAY};
use crate::hours::web;

const HOST: &str = "a.test";

/// A site whose front page links to so many pages of each folder, in this order. Its file is asked for every ten minutes.
fn site(folders: &[(&str, usize)], rules: Rules, later: Vec<Later>) -> SimWeb {
    let link = |path: &str| Link {
        kind: LinkKind::Anchor,
        to: format!("http://{HOST}{path}"),
        href: path.to_owned(),
        nofollow: false,
    };
    let page = |path: &str, links| {
        let marker = format!("marker {path}");
        let kind = Kind::Page(Page { marker, links, directives: Vec::new(), base: None, padding: 0 });
        (path.to_owned(), Resource { failures: Vec::new(), kind })
    };
    let paths: Vec<String> = folders
        .iter()
        .flat_map(|(folder, pages)| (0..*pages).map(move |n| format!("/{folder}/{n}")))
        .collect();
    let mut resources: BTreeMap<_, _> = paths.iter().map(|path| page(path, Vec::new())).collect();
    resources.extend([page("/", paths.iter().map(|path| link(path)).collect())]);
    let robots = Robots { rules, form: RobotsForm::Star, failures: Vec::new(), later, max_age: Some(1) };
    let latency = Duration::from_millis(20);
    SimWeb::new(web(BTreeMap::from([(HOST, Site { robots, latency, resources })])))
}

/// Crawls to the end, dying every so many commits, of which every second one is lost where `loses` says so; gives the log
/// and the decisions.
async fn crawl(sim: &SimWeb, commits: u64, loses: bool) -> (Vec<Request>, Vec<Decision>) {
    let store = Arc::new(MemoryStore::default());
    let crawl = Crawl::new(sim, Arc::clone(&store));
    for restarts in 0.. {
        assert!(restarts < 1_000, "no progress");
        let dying =
            crawl.on(Arc::new(CrashStore::new(Arc::clone(&store), commits, !loses || restarts % 2 == 0)));
        match dying.run(None).await {
            Ok(summary) => {
                assert_eq!(summary.end, End::Complete);
                assert!(restarts >= 3, "{restarts}");
                break;
            }
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let audit = crawl.audit(None);
    assert!(audit.is_empty(), "{audit:#?}");
    let decisions = crawl.decisions.lock().expect("nobody panicked").clone();
    (sim.log(), decisions)
}

#[tokio::test(start_paused = true)]
async fn a_changed_robots_re_judges_what_is_queued() {
    let first = Rules::default().deny("/closed/");
    let second = Rules::default().allow("/opened/").deny("/x").deny("/shut/").delay(Duration::from_secs(3));
    let first = first.deny("/opened/");
    let folders = [("closed", 20), ("open", 700), ("opened", 40), ("shut", 100)];
    let sim = site(&folders, first, vec![Later::Rules(second.clone())]);
    let (log, decisions) = crawl(&sim, 120, true).await;
    // The general oracle knows which file binds which request, and the delay that the second one asks for.
    assert_polite(&log, Promise::delay(DELAY));
    let changed =
        log.iter().find(|request| request.lesson.as_ref().is_some_and(|l| l.rules.as_ref() == Some(&second)));
    let changed = changed.expect("the file was asked for again").end;
    assert!((600..900).contains(&changed.as_secs()), "{changed:?}");
    let asked = |folder: &str, since: bool| {
        let within = format!("/{folder}/");
        let pages = log.iter().filter(|r| r.purpose == RequestKind::Page && r.path.starts_with(&within));
        let pages = pages.filter(|request| (request.start >= changed) == since);
        // What was under way at a crash is asked for twice.
        pages.map(|request| request.path.as_str()).collect::<BTreeSet<_>>().len()
    };
    // The first file denied these; they had their turn while it was in force, and remain denied.
    assert_eq!((asked("closed", false), asked("closed", true)), (0, 0));
    assert!(asked("open", false) > 400 && asked("open", true) > 50, "the change came in the middle");
    assert_eq!((asked("opened", false), asked("opened", true)), (0, 40), "denied, then allowed");
    assert_eq!(
        (asked("shut", false), asked("shut", true)),
        (0, 0),
        "allowed when it was queued, then denied"
    );

    let change: Vec<_> =
        decisions.iter().filter(|decision| decision.decision == Decided::RobotsChanged).collect();
    let versions = change.last().and_then(|change| change.evidence.versions.clone()).expect("both versions");
    assert_eq!(change.iter().map(|change| change.url.as_str()).collect::<Vec<_>>(), ["http://a.test"]);
    assert!(versions.before.is_some() && versions.before != versions.after);
    let denied = |folder: &str| {
        let within = format!("http://{HOST}/{folder}/");
        let skips = decisions.iter().filter(|d| d.decision == Decided::Skipped && d.url.starts_with(&within));
        let mut skips: Vec<_> =
            skips.map(|d| (d.url.clone(), d.evidence.robots.clone().expect("the line"))).collect();
        skips.sort_by(|a, b| a.0.cmp(&b.0));
        // A decision whose commit was lost is made again.
        skips.dedup_by(|a, b| a.0 == b.0);
        skips.into_iter().map(|(_, robots)| (robots.line, robots.rule, robots.digest)).collect::<Vec<_>>()
    };
    let line = |line, rule: &str, digest: &Option<String>| {
        (Some(line), Some(format!("Disallow: {rule}")), digest.clone())
    };
    assert_eq!(denied("closed"), vec![line(2, "/closed/", &versions.before); 20]);
    assert_eq!(denied("shut"), vec![line(5, "/shut/", &versions.after); 100]);
    assert_eq!(denied("opened"), vec![]);
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_robots_closes_its_site_for_12_hours_then_counts_as_last_fetched() {
    let rules = Rules::default().deny("/closed/");
    let outage = vec![Later::Failure(Failure::Status(500, None)), Later::Failure(Failure::Timeout)];
    let sim = site(&[("open", 700), ("closed", 5)], rules, outage);
    let (log, _) = crawl(&sim, 60, false).await;
    let robots: Vec<&Request> = log.iter().filter(|request| request.purpose == RequestKind::Robots).collect();
    let lost = robots[1];
    assert!(lost.status == Some(500) && (600..700).contains(&lost.start.as_secs()), "{lost}");
    let reopened = lost.end + Duration::from_hours(12);
    let waits: Vec<u64> =
        robots[1..].windows(2).map(|pair| (pair[1].start.saturating_sub(pair[0].end)).as_secs()).collect();
    let within = robots[1..].iter().filter(|request| request.start < reopened).count();
    for (at, (wait, least)) in
        waits[..within].iter().zip([300, 900, 3_600].into_iter().chain(std::iter::repeat(3_600))).enumerate()
    {
        // A restart resets none of these steps; jitter adds a tenth and a minute at the most.
        assert!((least..=least + least / 4 + 60).contains(wait), "try {at} after {wait} s: {waits:?}");
    }
    let pages: Vec<&Request> = log.iter().filter(|request| request.purpose == RequestKind::Page).collect();
    let early = pages.iter().filter(|page| page.start > lost.start && page.start < reopened).count();
    assert_eq!(early, 0, "nothing is requested from a site whose rules are unreachable");
    let late: Vec<_> = pages.iter().filter(|page| page.start >= reopened).collect();
    assert!(late.len() > 50, "{}", late.len());
    for pair in late.windows(2) {
        assert!(pair[1].start >= pair[0].end + 2 * DELAY, "at half the rate: {} {}", pair[0], pair[1]);
    }
    assert!(pages.iter().all(|page| !page.path.starts_with("/closed/")));
    let open: BTreeSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    assert_eq!(open.len(), 701);
}
