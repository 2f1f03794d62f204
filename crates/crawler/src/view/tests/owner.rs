//! Each sentence of the report for a site's owner, with records that bear it out and with records that contradict it.

use super::*;
use crate::record::{Caching, Evidence, RequestMade};

/// A request that was sent so many milliseconds after the run began; its answer took `took`, the delay in force was `gap`.
fn ask(crawl: &mut Crawl, path: &str, (start, took, gap): (u64, u64, u64)) {
    let clock = Duration::from_millis(start);
    let started = at(0) + clock;
    let request = RequestMade {
        started,
        took: Duration::from_millis(took),
        clock,
        status: Some(200),
        bytes: 10,
        gap: Duration::from_millis(gap),
        gap_reason: "crawl-delay".into(),
        address: None,
    };
    enter(crawl, path, "fetched", Layer::Fetch, started, Some(request));
    let host = crawl.host("http://a.test/");
    let counts = crawl.frontier.counts_mut(host);
    counts.requests += 1;
}

fn enter(
    crawl: &mut Crawl,
    path: &str,
    decision: &str,
    layer: Layer,
    at: Timestamp,
    request: Option<RequestMade>,
) {
    let reason = if decision == "skipped" { "robots_txt" } else { "status" };
    let is_of_run = layer == Layer::Stop;
    crawl.batch.decisions.push(Decision {
        at,
        url: if is_of_run { String::new() } else { format!("http://a.test{path}") },
        host: if is_of_run { String::new() } else { "a.test".to_owned() },
        decision: decision.into(),
        layer,
        reason: reason.into(),
        evidence: Evidence::default().with_request(request),
        via: None,
    });
}

fn deny(crawl: &mut Crawl, path: &str, milliseconds: i64) {
    let when = at(0) + Duration::from_millis(milliseconds as u64);
    enter(crawl, path, "skipped", Layer::Robots, when, None);
}

fn begin(crawl: &mut Crawl, decision: &str) {
    enter(crawl, "", decision, Layer::Stop, at(0), None);
}

/// A run with these requests, and what the report says.
fn report(requests: &[(&str, (u64, u64, u64))]) -> (Crawl, String) {
    let mut crawl = Crawl::new();
    begin(&mut crawl, "started");
    for (path, times) in requests {
        ask(&mut crawl, path, *times);
    }
    let text = text(&mut crawl);
    (crawl, text)
}

fn text(crawl: &mut Crawl) -> String {
    let mut out = Vec::new();
    crawl.view().owner_report("a.test").unwrap().unwrap().write_text(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn assert_says(text: &str, line: &str, says: bool) {
    assert_eq!(text.lines().any(|found| found == line), says, "{line}\n{text}");
}

const NEVER: &str = "- never more than one request at a time";
const AS_ASKED: &str = "- none was shorter than the delay in effect";

#[test]
fn never_two_at_once_is_said_where_no_two_overlap() {
    let (_, text) = report(&[("/1", (0, 100, 0)), ("/2", (1_100, 100, 1_000)), ("/3", (2_200, 50, 1_000))]);
    assert_says(&text, NEVER, true);
    assert_says(&text, AS_ASKED, true);
    assert_says(
        &text,
        "- from the end of a response to the next request: minimum 1 s, median 1 s (2 pauses measured)",
        true,
    );
    assert_says(&text, "- from 2026-01-01T00:00:00.005Z to 2026-01-01T00:00:02.205Z", true);
}

#[test]
fn two_requests_that_overlap_are_counted() {
    // The ledger has them in the order in which they ended; the third lies within the first.
    let overlapping =
        [("/2", (2_000, 100, 0)), ("/3", (4_000, 50, 0)), ("/1", (0, 9_000, 0)), ("/4", (9_500, 1, 0))];
    let (_, text) = report(&overlapping);
    assert_says(&text, NEVER, false);
    assert_says(&text, "- 2 requests were sent before an earlier response was complete", true);
    let (_, one) = report(&[("/1", (0, 100, 0)), ("/2", (99, 100, 0))]);
    assert_says(&one, NEVER, false);
    assert_says(&one, "- 1 request was sent before an earlier response was complete", true);
}

#[test]
fn a_pause_shorter_than_asked_is_counted() {
    let (_, text) = report(&[("/1", (0, 100, 0)), ("/2", (1_099, 100, 1_000)), ("/3", (9_000, 50, 1_000))]);
    assert_says(&text, AS_ASKED, false);
    assert_says(&text, "- 1 was shorter than the delay in effect", true);
    assert_says(&text, NEVER, true);
}

#[test]
fn what_is_not_on_record_is_not_said() {
    let (mut crawl, _) = report(&[("/1", (0, 100, 0)), ("/2", (2_000, 100, 1_000))]);
    let host = crawl.host("http://a.test/");
    crawl.frontier.counts_mut(host).requests += 5;
    deny(&mut crawl, "/private", 4_000);
    let part = text(&mut crawl);
    assert_says(&part, NEVER, false);
    assert_says(
        &part,
        "- the times of 2 of 7 requests are recorded; the figures below are about those",
        true,
    );
    assert_says(
        &part,
        "- 1 URL was denied by robots.txt and not requested, as far as requests are recorded",
        true,
    );

    let mut silent = Crawl::new();
    let host = silent.host("http://a.test/");
    silent.frontier.counts_mut(host).requests = 3;
    let nothing = text(&mut silent);
    assert_says(&nothing, NEVER, false);
    assert_says(
        &nothing,
        "- the times of 0 of 3 requests are recorded; the figures below are about those",
        true,
    );
    assert_says(&nothing, "- the URLs that robots.txt denied aren't recorded", true);
    assert_says(&nothing, "No response is recorded.", true);
    assert_says(&nothing, "None recorded.", true);
    for word in ["median", "not requested", "shorter"] {
        assert!(!nothing.contains(word), "{word}\n{nothing}");
    }
}

#[test]
fn the_clock_of_each_run_is_its_own() {
    let (mut crawl, _) = report(&[("/1", (5_000, 100, 0)), ("/2", (7_000, 100, 1_000))]);
    begin(&mut crawl, "resumed");
    ask(&mut crawl, "/3", (5_050, 100, 0));
    let text = text(&mut crawl);
    assert_says(&text, NEVER, true);
    assert!(text.contains("(1 pause measured)"), "{text}");
}

#[test]
fn a_denied_url_that_was_requested_is_not_among_those_that_were_not() {
    let (mut crawl, _) =
        report(&[("/before", (0, 100, 0)), ("/after", (9_000, 100, 0)), ("/open", (20_000, 9, 0))]);
    for path in ["/before", "/after", "/never", "/never"] {
        deny(&mut crawl, path, 5_000);
    }
    let text = text(&mut crawl);
    assert_says(&text, "- 1 URL was found but not requested, because robots.txt denied access", true);
    assert_says(
        &text,
        "- 2 URLs were denied at one time and requested at another, 1 of them after the denial",
        true,
    );
    let (mut crawl, _) = report(&[("/open", (0, 100, 0))]);
    deny(&mut crawl, "/never", 5_000);
    let good = self::text(&mut crawl);
    assert!(!good.contains("denied at one time"), "{good}");
}

#[test]
fn urls_of_the_site_are_no_markup() {
    let (_, text) =
        report(&[("/*a*[b](http://evil.test/)<i>", (0, 100, 0)), ("/plain_url", (1_100, 50, 1_000))]);
    assert!(text.contains(r"http://a.test/\*a\*\[b\](http://evil.test/)\<i\>"), "{text}");
    assert!(text.contains("  http://a.test/plain_url  "), "{text}");
    let (_, text) = report(&[("/*a*[b](http://evil.test/)", (0, 100, 0))]);
    assert!(text.contains("<http://a.test/*a*[b](http://evil.test/)>"), "{text}");
}

#[test]
fn the_share_of_responses_that_no_cache_gave_is_of_those_that_say_so() {
    let (mut crawl, text) = report(&[("/1", (0, 100, 0))]);
    assert!(!text.contains("a cache gave"), "{text}");
    for (path, status, from_cache) in [
        ("/a", Some(200), Some(true)),
        ("/b", Some(404), Some(false)),
        ("/c", Some(301), Some(false)),
        ("/d", Some(200), None),
        ("/e", None, None),
    ] {
        let caching = from_cache.map(|_| Box::new(Caching { from_cache, ..Caching::default() }));
        crawl.store_page(PageRecord { caching, ..page(&format!("http://a.test{path}"), status) }, Vec::new());
    }
    let caching = Some(Box::new(Caching { from_cache: Some(true), ..Caching::default() }));
    crawl.store_page(PageRecord { caching, ..page("http://b.test/", Some(200)) }, Vec::new());
    let said = "- of the last responses to 4 URLs a cache gave 1 and the site itself 2 (67% of these), by their headers; 1 don't say";
    assert_says(&self::text(&mut crawl), said, true);
}
