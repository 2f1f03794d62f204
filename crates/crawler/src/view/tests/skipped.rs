use super::*;
use crate::view::SkippedRow;

fn found(crawl: &mut Crawl) -> Vec<(String, String)> {
    let rows: Vec<SkippedRow> = rows(crawl.view().skipped().unwrap());
    rows.into_iter().map(|row| (row.url, row.reason.to_string())).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(url, reason)| ((*url).to_owned(), (*reason).to_owned())).collect()
}

#[test]
fn each_url_has_one_row_with_its_last_reason_the_newest_first() {
    let mut crawl = Crawl::new();
    crawl.decide("http://x.test/", "skipped", Layer::Scope, "other_path");
    crawl.decide("http://y.test/", "skipped", Layer::Scope, "other_host");
    crawl.decide("mailto:someone", "skipped", Layer::Scope, "not_http");
    crawl.commit();
    crawl.decide("http://x.test/", "skipped", Layer::Scope, "other_host");
    crawl.decide("mailto:someone", "skipped", Layer::Scope, "not_http");
    crawl.decide("http://x.test/", "paused", Layer::Pace, "back_off");
    assert_eq!(
        found(&mut crawl),
        pairs(&[
            ("mailto:someone", "not_http"),
            ("http://x.test/", "other_host"),
            ("http://y.test/", "other_host")
        ])
    );
}

#[test]
fn of_several_links_the_one_that_got_furthest_counts() {
    let mut crawl = Crawl::new();
    for (layer, reason) in [
        (Layer::Scope, "resource"),
        (Layer::Scope, "other_host"),
        (Layer::Limit, "too_deep"),
        (Layer::Directive, "nofollow_rel"),
        (Layer::Scope, "other_host"),
    ] {
        crawl.decide("http://a.test/x", "skipped", layer, reason);
    }
    assert_eq!(found(&mut crawl), pairs(&[("http://a.test/x", "too_deep")]));
}

#[test]
fn a_link_that_led_nowhere_doesnt_count_where_the_url_came_in_otherwise() {
    let mut crawl = Crawl::new();
    for path in ["visited", "queued", "gone", "left"] {
        crawl.decide(&format!("http://a.test/{path}"), "skipped", Layer::Directive, "nofollow_rel");
    }
    crawl.store_page(page("http://a.test/visited", Some(200)), Vec::new());
    crawl.store_page(page("http://a.test/gone", Some(410)), Vec::new());
    crawl.queue("http://a.test/queued", Priority::Link, None);
    // Escapes of unreserved characters make no other URL.
    crawl.decide("http://a.test/%76isited", "skipped", Layer::Directive, "nofollow_rel");
    assert_eq!(found(&mut crawl), pairs(&[("http://a.test/left", "nofollow_rel")]));
}

#[test]
fn a_denial_or_failure_outweighs_what_later_links_say() {
    let mut crawl = Crawl::new();
    crawl.decide("http://a.test/private", "skipped", Layer::Robots, "robots_txt");
    crawl.decide("http://a.test/slow", "failed", Layer::Fetch, "timeout");
    crawl.decide("http://a.test/cut", "failed", Layer::Fetch, "truncated");
    crawl.store_page(page("http://a.test/slow", None), Vec::new());
    crawl.store_page(page("http://a.test/cut", Some(200)), Vec::new());
    crawl.commit();
    for path in ["private", "slow", "cut"] {
        crawl.decide(&format!("http://a.test/{path}"), "skipped", Layer::Directive, "nofollow_page");
    }
    assert_eq!(
        found(&mut crawl),
        pairs(&[("http://a.test/slow", "timeout"), ("http://a.test/private", "robots_txt")]),
        "what was answered is a page"
    );
}

#[test]
fn urls_of_a_skipped_host_are_skipped() {
    let mut crawl = Crawl::new();
    crawl.store_page(page("http://a.test/", Some(200)), Vec::new());
    crawl.queue("http://a.test/1", Priority::Link, Some("http://a.test/"));
    crawl.queue("http://b.test/2", Priority::Link, None);
    crawl.decide("http://a.test/1", "skipped", Layer::Directive, "nofollow_rel");
    crawl.decide("http://a.test/", "parked", Layer::Pace, "max_crawl_delay");
    let host = crawl.host("http://a.test/");
    crawl.frontier.park(host, "crawl_delay 900 s is over max-crawl-delay");
    let rows = rows(crawl.view().skipped().unwrap());
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!((row.url.as_str(), &*row.reason.as_str()), ("http://a.test/1", "parked"));
    assert_eq!(row.detail.as_deref(), Some("crawl_delay 900 s is over max-crawl-delay"));
    assert_eq!(row.at.map(|at| at.to_string()).as_deref(), Some("2026-01-01T00:00:02.005Z"));
    assert_eq!(row.via.as_deref(), Some("http://a.test/"));
}

#[test]
fn what_failed_and_waits_for_a_skipped_host_is_listed_as_failed() {
    let mut crawl = Crawl::new();
    crawl.decide("http://a.test/slow", "failed", Layer::Fetch, "timeout");
    crawl.store_page(page("http://a.test/slow", None), Vec::new());
    crawl.store_page(page("http://a.test/", Some(200)), Vec::new());
    crawl.queue("http://a.test/slow", Priority::Link, None);
    crawl.queue("http://a.test/", Priority::Link, None);
    crawl.commit();
    assert_eq!(found(&mut crawl), pairs(&[]), "it is tried again");
    let host = crawl.host("http://a.test/");
    crawl.frontier.park(host, "max-pages-per-host 1");
    assert_eq!(found(&mut crawl), pairs(&[("http://a.test/slow", "timeout")]));
}

#[test]
fn what_kind_of_link_was_skipped_is_said_in_words() {
    let mut crawl = Crawl::new();
    for (path, evidence) in [("form", "form"), ("link", "a"), ("image", "img"), ("other", "mailto:")] {
        crawl.decide(&format!("http://a.test/{path}"), "skipped", Layer::Scope, "resource");
        crawl.batch.decisions.last_mut().unwrap().evidence = evidence.into();
    }
    let rows: Vec<SkippedRow> = rows(crawl.view().skipped().unwrap());
    let mut details: Vec<_> = rows.iter().filter_map(|row| row.detail.as_deref()).collect();
    details.sort_unstable();
    assert_eq!(details, ["form target", "image <img>", "link <a>", "mailto:"]);
}
