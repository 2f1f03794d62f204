//! The log of an origin's robots.txt, and the difference between two answers.

use super::*;
use crate::record::RobotsAccess;
use crate::view::Which;
use crate::view::changed_lines as lines;

fn version(second: i64, access: &str, body: Option<&str>) -> RobotsRecord {
    let mut record = RobotsRecord { body: None, digest: None, ..robots("http://a.test", second, access) };
    if let Some(body) = body {
        record.set_body(body.as_bytes());
    }
    record
}

fn crawl() -> Crawl {
    let mut crawl = Crawl::new();
    let first = "User-agent: *\nCrawl-delay: 2\nDisallow: /old\n";
    let second = "User-agent: *\nCrawl-delay: 5\nDisallow: /new\n";
    crawl.batch.robots.push(std::sync::Arc::new(version(1, "rules", Some(first))));
    crawl.batch.robots.push(std::sync::Arc::new(version(2, "rules", Some(first))));
    crawl.batch.robots.push(std::sync::Arc::new(version(3, "defer", None)));
    crawl.batch.robots.push(std::sync::Arc::new(version(4, "stored", None)));
    crawl.batch.robots.push(std::sync::Arc::new(version(5, "rules", Some(second))));
    crawl.batch.robots.push(std::sync::Arc::new(version(6, "allow_all", Some("not found"))));
    crawl.queue("http://a.test/new/waits", Priority::First, None);
    crawl.queue("http://a.test:81/new/elsewhere", Priority::First, None);
    crawl.store_page(page("http://a.test/new/visited", Some(200)), Vec::new());
    crawl.store_page(page("http://a.test/", Some(200)), Vec::new());
    crawl.decide("http://a.test/old/denied", "skipped", Layer::Robots, "robots_txt");
    crawl
}

#[test]
fn the_log_tells_when_other_rules_were_in_force() {
    let view = crawl().view();
    let log = view.robots_log("http://a.test").unwrap();
    let found: Vec<_> =
        log.iter().map(|answer| (answer.number, answer.access.as_str(), answer.changed)).collect();
    let expected = [
        (1, "rules", false),
        // The same text, an outage, and the stored copy change nothing.
        (2, "rules", false),
        (3, "defer", false),
        (4, "stored", false),
        (5, "rules", true),
        (6, "allow_all", true),
    ];
    assert_eq!(found, expected);
    // The version in force is named where no body came.
    assert!(log[1].digest.is_some());
    assert_eq!((&log[2].digest, &log[3].digest), (&None, &log[1].digest));
    let row = view.robots().map(Result::unwrap).find(|row| row.access == RobotsAccess::Stored).unwrap();
    assert_eq!(row.digest, log[1].digest);
    assert_eq!(view.robots_log("http://b.test").unwrap(), []);
}

#[test]
fn the_difference_tells_lines_gap_and_the_urls_it_matters_to() {
    let view = crawl().view();
    let pair = |a: &str, b: &str| [Which(a.to_owned()), Which(b.to_owned())];
    let difference = view.robots_diff("http://a.test", Some(&pair("4", "5"))).unwrap().unwrap();
    assert_eq!(
        difference.lines,
        [" User-agent: *", "-Crawl-delay: 2", "-Disallow: /old", "+Crawl-delay: 5", "+Disallow: /new"]
    );
    assert_eq!(difference.delay, [Some(2.0), Some(5.0)]);
    assert_eq!(difference.judged, 4);
    assert_eq!(difference.denied, ["http://a.test/new/visited", "http://a.test/new/waits"]);
    assert_eq!(difference.allowed, ["http://a.test/old/denied"]);
    let digest = difference.after.digest.clone().unwrap();
    let by_digest = view.robots_diff("http://a.test", Some(&pair("1", &digest[..16]))).unwrap().unwrap();
    assert_eq!((by_digest.before.number, by_digest.after.number), (1, 5));
    // Without a pair: the last change.
    let last = view.robots_diff("http://a.test", None).unwrap().unwrap();
    assert_eq!((last.before.number, last.after.number), (5, 6));
    assert_eq!((last.denied_count, last.allowed_count), (0, 2));
    assert_eq!(view.robots_diff("http://a.test", Some(&pair("1", "7"))).unwrap(), None);
    assert_eq!(view.robots_diff("http://b.test", None).unwrap(), None);
}

#[test]
fn an_origin_is_found_by_url_origin_or_host() {
    let view = crawl().view();
    for (text, found) in [
        ("http://a.test", true),
        ("http://a.test/some/page", true),
        ("a.test", true),
        ("https://a.test", false),
        ("a.test:81", false),
        ("b.test", false),
        ("", false),
    ] {
        let origins = view.robots_origins(text).unwrap();
        assert_eq!(origins, Vec::from_iter(found.then_some("http://a.test")), "{text:?}");
    }
}

#[test]
fn lines_far_apart_are_shown_with_three_around_each() {
    let before = "User-agent: *\nDisallow: /a\nDisallow: /b\n\nCrawl-delay: 2\nDisallow: /c\nDisallow: /d\n\n\
                  Allow: /e\nAllow: /f\nAllow: /g\nSitemap: /s\n";
    let after = before.replace("/a", "/x").replace("Sitemap: /s", "Allow: /h");
    // The lines of `diff -U3` (GNU diffutils 3.8), without its heads.
    let expected = [
        " User-agent: *",
        "-Disallow: /a",
        "+Disallow: /x",
        " Disallow: /b",
        " ",
        " Crawl-delay: 2",
        " ...",
        " Allow: /e",
        " Allow: /f",
        " Allow: /g",
        "-Sitemap: /s",
        "+Allow: /h",
    ];
    assert_eq!(lines(before, &after), expected);
    assert_eq!(lines(before, before), Vec::<String>::new());
    assert_eq!(lines("", "a\n"), ["+a"]);
    assert_eq!(lines("a\r\nb", ""), ["-a", "-b"]);
}
