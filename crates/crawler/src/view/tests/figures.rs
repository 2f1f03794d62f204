//! The figures of a report: requests over time, gaps, contents, links between hosts.

use super::*;
use crate::record::{Evidence, RequestMade};
use crate::view::{Counted, HostLink};

fn counted(what: &str, count: u64) -> Counted {
    Counted { what: what.to_owned(), count }
}

/// A request to a host, so many milliseconds after the run began, with the length of its response and the delay in effect.
fn ask(crawl: &mut Crawl, host: &str, (start, took, gap): (u64, u64, u64), status: Option<u16>) {
    let clock = Duration::from_millis(start);
    let request = RequestMade {
        started: at(0) + clock,
        took: Duration::from_millis(took),
        clock,
        status,
        bytes: 10,
        gap: Duration::from_millis(gap),
        gap_reason: if gap == 0 { "configured" } else { "crawl-delay" }.into(),
        address: None,
    };
    enter(crawl, host, "fetched", Some(request));
}

fn enter(crawl: &mut Crawl, host: &str, decision: &str, request: Option<RequestMade>) {
    let layer = if host.is_empty() { Layer::Stop } else { Layer::Fetch };
    crawl.batch.decisions.push(Decision {
        at: at(0),
        url: if host.is_empty() { String::new() } else { format!("http://{host}/") },
        host: host.to_owned(),
        decision: decision.into(),
        layer,
        reason: "status".into(),
        evidence: Evidence::default().with_request(request),
        via: None,
    });
}

#[test]
fn gaps_are_those_of_one_host_in_one_run() {
    let mut crawl = Crawl::new();
    enter(&mut crawl, "", "started", None);
    ask(&mut crawl, "a.test", (0, 100, 0), Some(200));
    // Another host between two requests of the first one.
    ask(&mut crawl, "b.test", (200, 100, 0), Some(404));
    // 1.1 times the delay, exactly the delay, and half of it.
    ask(&mut crawl, "a.test", (1_200, 100, 1_000), Some(200));
    ask(&mut crawl, "a.test", (2_300, 100, 1_000), None);
    ask(&mut crawl, "b.test", (800, 100, 1_000), Some(200));
    // The next run's clock starts over: no gap to the run before.
    enter(&mut crawl, "", "resumed", None);
    ask(&mut crawl, "a.test", (0, 400, 1_000), Some(200));
    // Before the last response was complete; and with no delay in effect.
    ask(&mut crawl, "a.test", (300, 50, 1_000), Some(200));
    ask(&mut crawl, "a.test", (500, 50, 0), Some(200));
    let view = crawl.view();
    // Of one host: its requests alone, and the gaps of the runs that others began as well.
    let of_b = view.activity_of(Some("b.test"), &|| Ok(())).unwrap();
    assert_eq!((of_b.requests, of_b.gaps.count, of_b.gaps.short), (2, 1, 1));
    assert_eq!(of_b.delays, [counted("configured", 1), counted("crawl-delay", 1)]);
    assert_eq!(view.activity_of(Some("c.test"), &|| Ok(())).unwrap().requests, 0);
    let stop = || Err(ViewError::from(std::io::Error::other("enough")));
    view.activity_of(None, &stop).unwrap_err();
    let activity = view.activity().unwrap();
    assert_eq!(activity.requests, 8);
    let gaps = &activity.gaps;
    assert_eq!((gaps.count, gaps.short, gaps.overlaps, gaps.without_delay), (5, 2, 1, 1));
    assert_eq!(gaps.least, Some(0.0));
    let classes: Vec<_> = gaps.classes.iter().map(|class| (class.from, class.to, class.count)).collect();
    assert_eq!(classes[..3], [(0.0, Some(1.0), 2), (1.0, Some(1.05), 1), (1.05, Some(1.25), 1)]);
    let words: Vec<_> = gaps.classes.iter().map(ToString::to_string).collect();
    assert_eq!(words[..2], ["shorter than the delay", "1 to 1.05 times the delay"]);
    assert_eq!(words.last().map(String::as_str), Some("100 times the delay or more"));
    assert_eq!(classes.iter().map(|class| class.2).sum::<u64>(), 4);
    assert_eq!(activity.delays, [counted("crawl-delay", 5), counted("configured", 3)]);
    assert_eq!((&activity.statuses, activity.unanswered), (&BTreeMap::from([(200, 6), (404, 1)]), 1));
    let runs: Vec<_> = activity
        .runs
        .iter()
        .map(|run| (run.run, run.requests, run.gaps, run.least_gap, run.median_gap, run.ended))
        .collect();
    // Of the first run 1.1, 1.0 and 0.5 s; of the second one none and 0.1 s.
    assert_eq!(runs, [(1, 5, 3, Some(0.5), Some(1.0), None), (2, 3, 2, Some(0.0), Some(0.1), None)]);
}

#[test]
fn a_time_line_has_at_most_240_steps_and_every_request() {
    let mut crawl = Crawl::new();
    enter(&mut crawl, "", "started", None);
    // One request a minute for ten hours: 600 minutes are 282 steps of 128 s, and 141 of 256 s.
    for minute in 0..600 {
        ask(&mut crawl, "a.test", (minute * 60_000, 5, 1_000), (minute % 10 > 0).then_some(200));
    }
    let timeline = crawl.view().activity().unwrap().timeline;
    assert_eq!(timeline.step_s, 256);
    assert!((140..=142).contains(&timeline.steps.len()), "{}", timeline.steps.len());
    let sum = |of: fn(&crate::view::TimeStep) -> u64| timeline.steps.iter().map(of).sum::<u64>();
    assert_eq!(
        (sum(|step| step.requests), sum(|step| step.failed), sum(|step| step.bytes)),
        (600, 60, 6_000)
    );
    let start = timeline.start.unwrap().0;
    assert!(start <= at(0) && at(0).duration_since(start).as_secs() < 256);
    assert_eq!(timeline.time_of(1).unwrap().0.duration_since(start).as_secs(), 256);
    assert_eq!(timeline.time_of(timeline.steps.len()), None);
}

#[test]
fn a_crawl_without_requests_has_no_time_line() {
    let activity = Crawl::new().view().activity().unwrap();
    assert_eq!((activity.requests, activity.timeline.steps.len(), activity.gaps.count), (0, 0, 0));
    assert_eq!((activity.first_request, activity.timeline.start), (None, None));
}

#[test]
fn contents_count_pages_and_name_failures() {
    let mut crawl = crawl();
    let other = PageRecord {
        content_type: Some("Application/PDF; x=y".to_owned()),
        language: None,
        depth: 3,
        bytes: 5_000,
        directives: vec![directive("nofollow"), directive("max-snippet:20"), directive("max-snippet:30")],
        ..page("http://a.test/other", Some(200))
    };
    crawl.store_page(other, Vec::new());
    let contents = crawl.view().contents().unwrap();
    assert_eq!(contents.pages, 2);
    let kinds: Vec<_> =
        contents.kinds.iter().map(|count| (count.kind, count.pages, count.resources)).collect();
    assert_eq!(kinds, [("HTML page", 1, 0), ("PDF file", 1, 0)]);
    assert_eq!(contents.hosts, 1);
    assert_eq!(contents.types, [counted("application/pdf", 1), counted("text/html", 1)]);
    assert_eq!(contents.languages, [counted("de", 1), counted("none declared", 1)]);
    assert_eq!(contents.depths, BTreeMap::from([(1, 1), (3, 1)]));
    assert_eq!(contents.sizes, BTreeMap::from([(256, 1), (4096, 1)]));
    assert_eq!(contents.directives, [counted("max-snippet", 1), counted("nofollow", 1)]);
    assert_eq!(contents.failure_count, 2);
    let failures: Vec<_> =
        contents.failures.iter().map(|row| (row.url.as_str(), row.via.as_deref())).collect();
    assert_eq!(failures, [("http://a.test/two", Some("http://a.test/")), ("http://b.test/slow", None)]);
}

#[test]
fn links_between_hosts_are_counted_and_the_strongest_kept() {
    let mut crawl = Crawl::new();
    let links =
        |targets: &[&str]| targets.iter().map(|to| link(to, LinkOutcome::OtherHost)).collect::<Vec<_>>();
    crawl.store_page(
        page("http://a.test/", Some(200)),
        links(&[
            "http://b.test/1",
            "http://b.test/2",
            "http://c.test/",
            "http://a.test/own",
            "http://d.test/",
        ]),
    );
    crawl.store_page(
        page("http://b.test/", Some(200)),
        links(&["http://a.test/", "http://a.test/", "http://a.test/"]),
    );
    let mut mail = link("mailto:someone@e.test", LinkOutcome::NotHttp);
    mail.kind = "a".into();
    crawl.store_page(page("http://c.test/", Some(200)), vec![mail]);
    // A page under noindex that may be followed: its links don't count.
    let noindex = PageRecord { indexed: false, ..page("http://n.test/", Some(200)) };
    crawl.store_page(noindex, links(&["http://a.test/"]));
    let links = crawl.view().host_links(2).unwrap();
    let pair = |from: &str, to: &str, links| HostLink { from: from.to_owned(), to: to.to_owned(), links };
    assert_eq!(links.strongest, [pair("b.test", "a.test", 3), pair("a.test", "b.test", 2)]);
    assert_eq!((links.pairs, links.links), (4, 7));
}
