//! Each rule of pace and of robots.txt, broken.

use super::*;
use crate::record::RobotsAccess;

#[test]
fn each_violated_rule_of_pace_is_reported() {
    // Sent before the answer to the one before was complete.
    assert_eq!(broken_by(|r| r.asked("/", 6.05, 0.0)), ["overlap", "gap", "configured_delay", "site_delay"]);
    // Later than the operator's delay and the site's, earlier than the pause in force.
    assert_eq!(broken_by(|r| r.asked("/", 9.0, 60.0)), ["gap"]);
    // The ledger claims a shorter gap than robots.txt asks for.
    assert_eq!(broken_by(|r| r.asked("/", 7.5, 1.0)), ["site_delay"]);
    assert_eq!(broken_by(|r| r.asked("/", 6.6, 0.1)), ["configured_delay", "site_delay"]);
    // A pause that was entered isn't kept.
    assert_eq!(
        broken_by(|r| {
            let pause = Delay { length: Duration::from_secs(60), why: DelayReason::RetryAfter };
            r.decisions.push(decision(at(6.2), "http://a.test/b", "paused", Layer::Pace, pause.into()));
            r.asked("/", 20.0, 2.0);
        }),
        ["pauses"]
    );
    assert_eq!(
        broken_by(|r| {
            let mut late = robots_txt(6.5, "", "defer");
            late.status = Some(503);
            late.headers = vec![("retry-after".to_owned(), "3600".to_owned())];
            r.robots.push(late);
            r.robots.push(robots_txt(9.1, "", "rules"));
            r.decisions.push(decision(at(9.1), SITE, "robots_rules", Layer::Robots, request(9.0, 2.0)));
            r.requests += 1;
        }),
        ["robots_retry"]
    );
}

#[test]
fn each_violated_rule_of_robots_txt_is_reported() {
    assert_eq!(broken_by(|r| r.asked("/denied", 9.0, 2.0)), ["denied"]);
    assert_eq!(broken_by(|r| r.robots[0].access = RobotsAccess::Defer), ["denied"]);
    assert_eq!(broken_by(|r| r.robots[0].fetched_at = at(5.0).wall), ["robots_known"]);
    assert_eq!(broken_by(|r| r.robots[0].expires = at(5.0).wall), ["robots_known"]);
    assert_eq!(
        broken_by(|r| r.robots[0].set_body(b"User-agent: *\nDisallow: /denied\nVisit-time: 0100-0200\n")),
        ["visit_time"]
    );
    assert_eq!(
        broken_by(|r| r.robots[0]
            .set_body(b"User-agent: *\nContent-Signal: search=no, use=reference\nDisallow: /denied\n")),
        ["purposes"]
    );
}

#[test]
fn what_robots_txt_says_to_uses_is_read_from_the_version_that_a_page_refers_to() {
    let body = |lines: &str| format!("User-agent: *\n{lines}\nDisallow: /denied\nCrawl-delay: 2\n");
    let refer = |r: &mut Records, at| {
        r.pages[1].0.robots_consent = Some(RobotsConsent { digest: None, at, lines: vec![2] });
    };
    let said = |lines: &str| {
        broken_by(|r| {
            r.robots[0].set_body(body(lines).as_bytes());
            refer(r, r.robots[0].fetched_at);
        })
    };
    assert_eq!(said("Content-Signal: /b use=immediate"), ["noindex", "noarchive", "archive"]);
    assert_eq!(said("Content-Signal: /b use=reference"), ["noarchive", "archive"]);
    assert_eq!(said("Content-Signal: /c use=immediate"), [""; 0]);
    // Nobody knows what the lines say that aren't read.
    let many = vec!["Content-Signal: /b/ search=yes"; 1_001].join("\n");
    assert_eq!(said(&many), [""; 0]);
    let many = format!("{many}\nContent-Usage: /b x=y");
    assert_eq!(said(&many), ["purposes", "noindex", "noarchive", "archive"]);
    // A version that a repair lost says nothing.
    assert_eq!(broken_by(|r| refer(r, at(0.25).wall)), [""; 0]);
}
