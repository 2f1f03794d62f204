//! A defect of the crawler's own: whoever reads the answer panics. It costs that URL alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crawler::engine::End;
use crawler::page_store;
use crawler::record::{Decided, PlainReason};
use crawler::store::MemoryStore;
use whole_program::oracle::{Promise, assert_polite};
use whole_program::rules::Rules;
use whole_program::simweb::{
    Content, Failure, Kind, Link, LinkKind, Page, Resource, Robots, RobotsForm, SimWeb, Site,
};

use crate::crawl::{Crawl, DELAY};
use crate::hours::{site, web};

#[tokio::test(start_paused = true)]
async fn a_panic_costs_only_its_url_and_is_reported() {
    let link = |path: &str| Link {
        kind: LinkKind::Anchor,
        to: format!("http://a.test{path}"),
        href: path.to_owned(),
        nofollow: false,
    };
    let page = |path: &str, links| {
        let kind = Kind::Page(Page {
            marker: format!("marker {path}"),
            links,
            directives: Vec::new(),
            base: None,
            padding: 0,
        });
        (path.to_owned(), Resource { failures: Vec::new(), kind })
    };
    let mut resources: BTreeMap<_, _> =
        ["/1", "/2", "/3"].into_iter().map(|path| page(path, Vec::new())).collect();
    resources.extend([page("/", ["/1", "/2", "/3"].map(link).into())]);
    resources.insert("/2".to_owned(), Resource { failures: Vec::new(), kind: Kind::Broken(Failure::Panic) });
    let robots = Robots {
        rules: Rules::default(),
        form: RobotsForm::Star,
        failures: Vec::new(),
        later: Vec::new(),
        max_age: None,
    };
    let site = Site { robots, latency: Duration::from_millis(20), resources };
    let sim = SimWeb::new(web(BTreeMap::from([("a.test", site)])));
    let store = Arc::new(MemoryStore::default());
    let crawl = Crawl::new(&sim, Arc::clone(&store));
    let summary = crawl.run(None).await.expect("the crawl ends");
    assert_eq!((summary.end, summary.totals.failed), (End::Complete, 1));
    let asked: Vec<_> = sim.log().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, ["/robots.txt", "/", "/1", "/2", "/3"]);
    assert_polite(&sim.log(), Promise::delay(DELAY));
    let decisions = crawl.decisions.lock().unwrap().clone();
    let found: Vec<_> = decisions.iter().filter(|decision| decision.decision == Decided::Failed).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].url.as_str(), &found[0].reason), ("http://a.test/2", &PlainReason::Internal.into()));
    let records = page_store::scan(&*store).map(|page| page.unwrap().record().unwrap());
    let kinds: BTreeMap<_, _> = records.map(|page| (page.url, page.error)).collect();
    let kind = |path: &str| kinds[&format!("http://a.test{path}")].as_deref();
    assert_eq!(["/", "/1", "/2", "/3"].map(kind), [None, None, Some("parse"), None]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_over_a_robots_txt_elsewhere_holds_up_its_site_until_the_next_try_alone() {
    let plain = |host| site(host, (4, 4), Rules::default(), Duration::from_millis(20), |_| Vec::new());
    let mut a = plain("a.test");
    a.robots.form = RobotsForm::Moved("http://b.test/rules-of-a".to_owned());
    let mut b = plain("b.test");
    let rules = Content { content_type: "text/plain", body: "User-agent: *\nDisallow: /n2\n".to_owned() };
    let elsewhere = Resource { failures: vec![Failure::Panic], kind: Kind::Other(rules) };
    b.resources.insert("/rules-of-a".to_owned(), elsewhere);
    let sim = SimWeb::new(web(BTreeMap::from([("a.test", a), ("b.test", b)])));
    let crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    let summary = crawl.run(None).await.expect("the crawl ends");
    assert_eq!((summary.end, summary.queued), (End::Complete, 0));
    let asked = |host: &str| -> Vec<(String, u64)> {
        let log = sim.log().into_iter().filter(|request| request.host == host);
        log.map(|request| (request.path, request.start.as_secs())).collect()
    };
    let of_a = asked("a.test");
    let paths: Vec<_> = of_a.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/robots.txt", "/robots.txt", "/", "/n1", "/n3"], "by the rules that came then");
    // Requested again after five minutes, as any unreachable one.
    assert!((300..400).contains(&of_a[1].1), "{of_a:?}");
    let of_b = asked("b.test").len();
    assert_eq!(of_b, 1 + 4 + 2, "its robots.txt, its pages, the rules of the other one twice");
    let decisions = crawl.decisions.lock().unwrap().clone();
    let failed: Vec<_> = decisions.iter().filter(|decision| decision.decision == Decided::Failed).collect();
    assert_eq!(failed.len(), 1, "{failed:#?}");
}
