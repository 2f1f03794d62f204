//! Many webs, crawled whole: nothing impolite, and exactly the pages of the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crawler::engine::End;
use crawler::store::MemoryStore;
use whole_program::oracle::{Promise, assert_polite, judge};
use whole_program::output_dir::files_with;
use whole_program::request_log::RequestKind;
use whole_program::rules::Rules;
use whole_program::simweb::{RobotsForm, SimWeb, Site, Size, generate, truth};

use crate::crawl::{Crawl, DELAY, LIMITS};
use crate::hours;
use crate::statements::false_ones;

/// How many webs; `WHOLE_PROGRAM_SEEDS` sets another number, `WHOLE_PROGRAM_SEED` names a single one.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    match (number("WHOLE_PROGRAM_SEED"), number("WHOLE_PROGRAM_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, count) => 0..count.unwrap_or(40),
    }
}

/// Webs of which every URL is explained where nothing says how many are crawled.
const EXPLAINED: u64 = 2;

/// Crawls the web of a seed and gives what is wrong with the crawl.
async fn crawl(seed: u64, size: Size) -> Vec<String> {
    let web = generate(seed, size);
    let truth = truth(&web, LIMITS);
    let sim = SimWeb::new(web);
    let crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    let mut wrong = Vec::new();
    match crawl.run(None).await {
        Ok(summary) if summary.end == End::Complete => {}
        other => wrong.push(format!("seed {seed}: ended with {other:?}")),
    }
    let log = sim.log();
    for violation in judge(&log, Promise::delay(DELAY)) {
        wrong.push(format!("seed {seed}: {violation}"));
    }
    let counts = sim.page_counts();
    let asked: BTreeSet<String> = counts.keys().cloned().collect();
    for url in truth.requested.difference(&asked) {
        wrong.push(format!("seed {seed}: {url} wasn't asked for: {:#?}", crawl.decisions_on(url)));
    }
    for url in asked.difference(&truth.requested) {
        wrong.push(format!(
            "seed {seed}: {url} should not have been asked for: {:#?}",
            crawl.decisions_on(url)
        ));
    }
    for (url, count) in counts {
        let again = sim.web().resource(&url).map_or(0, |resource| resource.failures.len());
        let failing = log
            .iter()
            .any(|r| r.url() == url && r.status.is_none_or(|status| status >= 500 || status == 429));
        if count > 1 + again && !failing {
            wrong.push(format!("seed {seed}: {url} was asked for {count} times"));
        }
    }
    // Hosts outside the scope see nothing of us, unless a robots.txt was moved there.
    for request in log.iter().filter(|r| r.host.starts_with("outside") && r.purpose == RequestKind::Page) {
        wrong.push(format!("seed {seed}: outside the scope: {request}"));
    }
    wrong.extend(crawl.audit(None).into_iter().map(|what| format!("seed {seed}: {what}")));
    if seed < EXPLAINED || std::env::var_os("WHOLE_PROGRAM_SEEDS").is_some() {
        wrong.extend(false_ones(&format!("seed {seed}"), &crawl, false));
    }
    wrong
}

async fn crawl_all(size: Size) {
    let mut wrong = Vec::new();
    let mut crawled = 0;
    for seed in seeds() {
        wrong.extend(crawl(seed, size).await);
        crawled += 1;
        assert!(
            wrong.len() < 20,
            "{} things are wrong in {crawled} webs:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
    assert!(wrong.is_empty(), "{} things are wrong in {crawled} webs:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn whole_crawls_are_polite_and_fetch_exactly_the_truth() {
    crawl_all(Size::default()).await;
}

#[tokio::test(start_paused = true)]
async fn hosts_with_unreachable_robots_are_skipped_and_the_others_crawled() {
    crawl_all(Size { hosts: 12, resources: 15, lasting_outages: true, ..Size::default() }).await;
}

#[tokio::test(start_paused = true)]
async fn the_archive_holds_what_may_be_kept_and_nothing_else() {
    for seed in 0..6 {
        let web = generate(seed, Size { hosts: 4, ..Size::default() });
        let truth = truth(&web, LIMITS);
        let sim = SimWeb::new(web);
        let directory = tempfile::tempdir().unwrap();
        let crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
        crawl.run(Some(directory.path())).await.unwrap();
        let hidden: Vec<&str> = truth.unseen.iter().chain(&truth.unkept).map(String::as_str).collect();
        assert_eq!(files_with(directory.path(), &hidden), [], "seed {seed}");
        let kept: Vec<&str> = truth.kept.iter().map(String::as_str).collect();
        let found: BTreeSet<String> =
            files_with(directory.path(), &kept).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, truth.kept, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_hosts_are_crawled_side_by_side() {
    let sim = SimWeb::new(generate(1, Size { hosts: 60, resources: 10, ..Size::default() }));
    Crawl::new(&sim, Arc::new(MemoryStore::default())).run(None).await.unwrap();
    assert!(sim.most_open() >= 40, "at most {} requests were open at once", sim.most_open());
}

#[tokio::test(start_paused = true)]
async fn two_hosts_whose_robots_redirect_to_each_other_are_skipped_and_delay_nobody() {
    let hosts = ["a.test", "b.test", "c.test"];
    let latency = Duration::from_millis(20);
    let mut sites: BTreeMap<&str, Site> = hosts
        .map(|host| (host, hours::site(host, (20, 3), Rules::default(), latency, |_| Vec::new())))
        .into();
    for (host, other) in [("a.test", "b.test"), ("b.test", "a.test")] {
        let site = sites.get_mut(host).expect("a site of these");
        site.robots.form = RobotsForm::Moved(format!("http://{other}/robots-of-{host}.txt"));
    }
    let sim = SimWeb::new(hours::web(sites));
    let crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    crawl.run(None).await.expect("the crawl ends well");
    let log = sim.log();
    assert_polite(&log, Promise::delay(DELAY));
    let pages = |host: &str| log.iter().filter(|r| r.host == host && r.purpose == RequestKind::Page).count();
    assert_eq!(hosts.map(pages), [0, 0, 20]);
    // Neither is asked for the other's file: what its own file says to that is where nobody may look before.
    assert!(!log.iter().any(|request| request.path.starts_with("/robots-of-")));
    // Five minutes, fifteen, an hour and hourly from then on; each try asks the other's robots.txt as well.
    for host in ["a.test", "b.test"] {
        let tries = log.iter().filter(|request| request.host == host).count();
        assert!((4..60).contains(&tries), "{host}: {tries}");
    }
    assert_eq!(crawl.audit(None), Vec::<String>::new());
}

/// Webs in which something went wrong once.
#[tokio::test(start_paused = true)]
async fn an_address_that_is_style_sheet_and_next_page_is_queued() {
    assert_eq!(crawl(171, Size::default()).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn crawl_delay_counts_although_robots_came_from_another_host() {
    for seed in [17, 27, 35] {
        assert_eq!(crawl(seed, Size::default()).await, Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_crawl_delay_holds_for_the_hops_of_the_next_robots_too() {
    let rules = Rules::default().delay(Duration::from_secs(20));
    // On its own host, and on one that has rules of its own.
    for to in ["http://a.test/robots-of-a.test.txt", "http://b.test/robots-of-a.test.txt"] {
        let plain = |host| {
            let site = hours::site(host, (50, 50), rules.clone(), Duration::from_millis(20), |_| Vec::new());
            (host, site)
        };
        let mut sites = BTreeMap::from([plain("a.test"), plain("b.test")]);
        for site in sites.values_mut() {
            site.robots.max_age = Some(1);
        }
        if let Some(site) = sites.get_mut("a.test") {
            site.robots.form = RobotsForm::Moved(to.to_owned());
        }
        let sim = SimWeb::new(hours::web(sites));
        let crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
        assert_eq!(crawl.run(None).await.expect("the crawl ends well").end, End::Complete);
        let log = sim.log();
        assert_polite(&log, Promise::delay(DELAY));
        // Both files are asked for again after ten minutes, with every hop.
        let robots = log.iter().filter(|request| request.purpose == RequestKind::Robots);
        assert!(robots.count() >= 6, "{to}");
        assert_eq!(sim.page_counts().len(), 100, "{to}");
        let audit = crawl.audit(None);
        assert!(audit.is_empty(), "{to}: {audit:#?}");
    }
}
