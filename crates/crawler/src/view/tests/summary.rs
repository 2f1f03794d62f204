use super::*;
use crate::page_store;
use crate::view::limits::Reached;
use crate::view::summary::{Pages, Plain};
use crate::view::{Counted, HostState, Status, Summary};

fn printed(summary: &Summary) -> String {
    let mut out = Vec::new();
    summary.write_text("crawl-data", false, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn counted(what: &str, count: u64) -> Counted {
    Counted { what: what.to_owned(), count }
}

#[test]
fn the_summary_counts_what_the_tables_hold() {
    let mut crawl = crawl();
    let noindex = PageRecord {
        indexed: false,
        directives: vec![directive("noindex")],
        ..page("http://a.test/no", Some(200))
    };
    crawl.store_page(PageRecord { archived: false, followed: false, ..noindex }, Vec::new());
    crawl.batch.robots.push(std::sync::Arc::new(robots("http://a.test", 9, "stored")));
    crawl.batch.robots.push(std::sync::Arc::new(robots("http://b.test", 1, "rules")));
    let summary = crawl.view().summary().unwrap();
    assert_eq!(summary.crawl_id, "the-id");
    assert_eq!(summary.statuses, BTreeMap::from([(200, 2), (404, 1)]));
    assert_eq!(summary.errors, BTreeMap::from([("http_404".to_owned(), 1), ("timeout".to_owned(), 1)]));
    assert_eq!((summary.indexed, summary.noindex, summary.archived, summary.followed), (1, 1, 3, 1));
    // The URL that failed is among the errors, and counted once.
    assert_eq!(summary.skipped, [counted("nofollow_rel", 1), counted("robots_txt", 1)]);
    assert_eq!(summary.robots, [counted("rules: status 200", 1), counted("stored: status 200", 1)]);
    assert_eq!(
        (summary.complete, summary.queued, summary.hosts_known, summary.hosts_complete),
        (false, 1, 2, 1),
        "{:?}",
        summary.hosts
    );
    let mut line = Vec::new();
    summary.write_json(&mut line).unwrap();
    let line = String::from_utf8(line).unwrap();
    assert_eq!(line.lines().count(), 1);
    let object: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&object["v"], &object["totals"]["requests"]), (&1.into(), &9.into()));
}

#[test]
fn a_page_counts_the_same_by_a_part_of_its_record_and_by_all_of_it() {
    let mut crawl = Crawl::new();
    let plain = |number: u32| page(&format!("http://a.test/{number}"), Some(200));
    let hit = || vec!["links".to_owned()];
    let records = vec![
        plain(0),
        PageRecord { resource: true, ..plain(1) },
        PageRecord { archived: false, followed: false, ..plain(2) },
        PageRecord { indexed: false, directives: vec![directive("noindex")], ..plain(3) },
        PageRecord { withheld: true, ..plain(4) },
        PageRecord { truncated: Some("wire".to_owned()), ..plain(5) },
        PageRecord { limits_hit: hit(), ..plain(6) },
        PageRecord { unavailable_after: Some(at(-9)), ..plain(7) },
        page("http://a.test/8", Some(404)),
        page("http://a.test/9", Some(301)),
        PageRecord { error: Some("timeout".to_owned()), ..page("http://a.test/10", None) },
    ];
    let many = records.len();
    for record in records {
        crawl.store_page(record, Vec::new());
    }
    let view = crawl.view();
    let mut plain = 0;
    for page in page_store::scan(view.store()) {
        let page = page.unwrap();
        let (mut by_all, mut by_part) = (Pages::default(), Pages::default());
        let (mut reached, mut reached_by_part) = (Reached::default(), Reached::default());
        let record = view.shown(page.record().unwrap());
        reached.page(&record);
        by_all.add(record);
        if let Some(part) = Plain::of(&page).unwrap() {
            plain += 1;
            let record = part.into_record();
            reached_by_part.page(&record);
            by_part.add(record);
            assert_eq!(format!("{by_part:?} {reached_by_part:?}"), format!("{by_all:?} {reached:?}"));
        }
    }
    assert_eq!((plain, many), (3, 11));
}

#[test]
fn limits_are_counted_by_the_names_of_their_keys() {
    let mut crawl = Crawl::new();
    let cut = |url: &str, truncated: Option<&str>, hits: &[&str]| PageRecord {
        truncated: truncated.map(str::to_owned),
        limits_hit: hits.iter().map(|&hit| hit.to_owned()).collect(),
        ..page(url, Some(200))
    };
    crawl.store_page(cut("http://a.test/1", Some("wire"), &["links", "metas"]), Vec::new());
    crawl.store_page(cut("http://a.test/2", Some("decoded"), &["links"]), Vec::new());
    crawl.store_page(cut("http://a.test/3", None, &[]), Vec::new());
    crawl.store_page(cut("http://a.test/4", Some("disconnect"), &[]), Vec::new());
    crawl.store_page(cut("http://a.test/5", Some("framing"), &[]), Vec::new());
    crawl.decide("http://a.test/deep", "skipped", Layer::Scope, "too_deep");
    for sitemap in ["http://a.test/1.xml", "http://a.test/2.xml", "http://a.test/2.xml"] {
        crawl.decide(sitemap, "sitemap_refused", Layer::Limit, "sitemap_nesting");
    }
    crawl.queue("http://a.test/", Priority::First, None);
    let host = crawl.host("http://a.test/");
    crawl.frontier.park(host, "max-pages-per-host 3");
    let summary = crawl.view().summary().unwrap();
    assert_eq!(
        summary.limits,
        [
            counted("limits.max_links_per_page", 2),
            counted("sitemap.nesting", 2),
            counted("incomplete bodies", 1),
            counted("limits.max_body, as sent", 1),
            counted("limits.max_body, decoded", 1),
            counted("limits.max_depth", 1),
            counted("limits.max_pages_per_host", 1),
            counted("page.metas", 1),
        ]
    );
    let text = printed(&summary);
    assert!(text.contains("5 in table pages: "), "{text}");
    assert!(text.contains(
        "Limits reached\n         2  pages had more links than were read (limits.max_links_per_page)\n"
    ));
}

#[test]
fn each_host_is_complete_or_says_why_not() {
    let mut crawl = Crawl::new();
    for host in ["done", "waiting", "pausing", "parked"] {
        crawl.queue(&format!("http://{host}.test/"), Priority::First, None);
    }
    while crawl.take().is_some_and(|url| url != "http://done.test/") {}
    for host in ["waiting", "pausing", "parked"] {
        crawl.queue(&format!("http://{host}.test/more"), Priority::Link, None);
    }
    let pausing = crawl.host("http://pausing.test/");
    let wait = Delay { length: Duration::from_mins(1), why: DelayReason::RobotsUnreachable };
    crawl.frontier.wait(pausing, Duration::from_mins(1), wait);
    let parked = crawl.host("http://parked.test/");
    crawl.frontier.park(parked, "max-pages-per-host");
    let summary = crawl.view().summary().unwrap();
    let state = |name: &str| summary.hosts.iter().find(|host| host.host == name).unwrap();
    assert_eq!(state("done.test").state, HostState::Complete);
    assert_eq!(state("waiting.test").state, HostState::Queued);
    assert_eq!(state("pausing.test").state, HostState::Queued);
    assert!(state("pausing.test").because.contains("robots.txt unreachable"), "{:?}", state("pausing.test"));
    assert!(
        state("pausing.test").because.contains("2026-01-01T00:01:00.005Z"),
        "{:?}",
        state("pausing.test")
    );
    assert_eq!(state("parked.test").state, HostState::Parked);
    assert!(state("parked.test").because.contains("max-pages-per-host"));
    assert_eq!(summary.hosts.last().unwrap().host, "done.test", "unfinished hosts come first");
    let text = printed(&summary);
    for line in [
        "  done.test is complete: nothing remains to be fetched",
        "  parked.test is complete within limits (max-pages-per-host): 2 URLs remain",
        "      not fetched: 2 parked",
        "  pausing.test is incomplete: 2 URLs remain, robots.txt unreachable until 2026-01-01T00:01:00.005Z",
        "  waiting.test is incomplete: 2 URLs remain",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line}: {text}");
    }
}

#[test]
fn the_text_is_clean_and_fits_100_columns() {
    let mut crawl = crawl();
    for number in 0..450 {
        crawl.queue(&format!("http://h{number}.{}.test/", "long".repeat(12)), Priority::Link, None);
        crawl.decide(
            &format!("http://x{number}.test/"),
            "skipped",
            Layer::Scope,
            &format!("reason {number} {}", "x".repeat(90)),
        );
    }
    for status in 400..460 {
        crawl.store_page(page(&format!("http://a.test/s{status}"), Some(status)), Vec::new());
    }
    let mut summary = crawl.view().summary().unwrap();
    summary.agent = Some("Robot\u{1b}[31m/1.0".to_owned());
    assert_eq!((summary.hosts_known, summary.hosts.len()), (452, 452));
    let text = printed(&summary);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
    assert!(text.contains("and 252 more"), "{text}");
    assert!(text.contains("http_459: 1"), "{text}");
}

#[test]
fn a_crawl_that_is_through_says_so() {
    let mut crawl = Crawl::new();
    crawl.queue("http://a.test/", Priority::First, None);
    assert!(crawl.take().is_some());
    crawl.store_page(page("http://a.test/", Some(200)), Vec::new());
    let summary = crawl.view().summary().unwrap();
    assert!(summary.complete);
    assert!(printed(&summary).contains("  status    complete\n"), "{}", printed(&summary));
}

#[test]
fn each_host_tells_how_many_urls_each_reason_holds_back() {
    let mut crawl = Crawl::new();
    for host in ["a", "b", "c"] {
        crawl.queue(&format!("http://{host}.test/"), Priority::First, None);
    }
    while crawl.take().is_some() {}
    for (host, pages, errors) in [("a", 3, 4), ("b", 2, 1), ("c", 0, 1)] {
        let id = crawl.host(&format!("http://{host}.test/"));
        let counts = crawl.frontier.counts_mut(id);
        (counts.pages, counts.errors) = (pages, errors);
    }
    // What failed in an earlier run alone doesn't count.
    for url in ["http://a.test/", "http://c.test/"] {
        let failed = PageRecord { error: Some("timeout".to_owned()), ..page(url, None) };
        crawl.store_page(failed, Vec::new());
    }
    crawl.decide("http://a.test/private", "skipped", Layer::Robots, "robots_txt");
    crawl.decide("http://a.test/secret", "skipped", Layer::Robots, "robots_txt");
    crawl.decide("http://a.test/x", "skipped", Layer::Directive, "nofollow_rel");
    crawl.decide("http://else.test/", "skipped", Layer::Scope, "other_host");
    for page in 0..5 {
        crawl.decide(&format!("http://b.test/deep/{page}"), "skipped", Layer::Limit, "too_deep");
    }
    crawl.decide("http://b.test/deny", "skipped", Layer::Robots, "robots_txt");
    let summary = crawl.view().summary().unwrap();
    let found: Vec<_> = summary
        .hosts
        .iter()
        .map(|host| (host.host.as_str(), host.coverage, host.held_back.clone()))
        .collect();
    assert_eq!(
        found,
        [
            ("b.test", Status::CompleteWithinLimits, vec![counted("too_deep", 5), counted("robots_txt", 1)]),
            ("a.test", Status::Complete, vec![counted("robots_txt", 2), counted("nofollow_rel", 1)]),
            ("c.test", Status::Complete, vec![]),
        ]
    );
    let text = printed(&summary);
    for line in [
        "Coverage: 2 hosts complete, 1 complete within limits, 0 incomplete",
        "  a.test is complete: nothing remains to be fetched; 1 URL failed",
        "      not fetched: 2 robots_txt, 1 nofollow_rel",
        "  b.test is complete within limits (too deep): 5 URLs skipped",
        "  c.test is complete: nothing remains to be fetched; 1 URL failed",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[test]
fn the_limit_that_ended_the_run_bounds_what_still_waits() {
    for (end, limit, coverage, words) in [
        (
            "limit",
            Some("max-pages 7"),
            Status::CompleteWithinLimits,
            "complete within limits (max-pages 7): 1 URL remains",
        ),
        ("interrupted", None, Status::Incomplete, "incomplete: 1 URL remains, the crawl was stopped"),
        ("running", None, Status::Incomplete, "incomplete: 1 URL remains, the crawl has not ended"),
    ] {
        let mut crawl = Crawl::new();
        crawl.queue("http://a.test/", Priority::First, None);
        let end =
            crate::record::EndRecord { end: end.to_owned(), limit: limit.map(str::to_owned), at: at(9) };
        crawl.frontier.put(Tree::Meta, b"end".to_vec(), serde_json::to_vec(&end).unwrap());
        let summary = crawl.view().summary().unwrap();
        assert_eq!((summary.hosts[0].coverage, summary.hosts[0].because.as_str()), (coverage, words));
        assert_eq!(summary.end, Some(end));
    }
}
