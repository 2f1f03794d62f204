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

#[test]
fn a_pause_and_a_delay_that_the_user_ordered_have_to_be_kept() {
    let order = |r: &mut Records, second: f64, host: &str, what: &str, delay: Option<u64>| {
        let delay =
            delay.map(|seconds| Delay { length: Duration::from_secs(seconds), why: DelayReason::Operator });
        let evidence = delay.map_or_else(Evidence::default, Evidence::from).with_clock(at(second).mono);
        let entry = decision(at(second), host, what, Layer::Pace, evidence);
        r.decisions.push(Decision { host: host.to_owned(), ..entry });
    };
    for (host, expected) in [("a.test", &["operator"][..]), ("", &["operator"]), ("b.test", &[])] {
        // The request of 6 s may have been about to start: the one before it had ended. The one of 9 s wasn't.
        let paused = |until: Option<f64>| {
            broken_by(|r| {
                order(r, 4.0, host, "operator_paused", None);
                if let Some(until) = until {
                    order(r, until, host, "operator_continued", None);
                }
                r.asked("/", 9.0, 2.0);
            })
        };
        assert_eq!(paused(None), expected, "{host}");
        assert_eq!(paused(Some(8.0)), [""; 0], "{host}");
        let set = |second: f64, delays: &[u64]| {
            broken_by(|r| {
                for (number, delay) in (0_u8..).zip(delays) {
                    order(r, 4.0 + f64::from(number) / 10.0, host, "delay_set", Some(*delay));
                }
                r.asked("/", second, 2.0);
            })
        };
        assert_eq!(set(9.0, &[5]), expected, "{host}");
        assert_eq!(set(11.2, &[5]), [""; 0], "longer than configured: {host}");
        assert_eq!(set(9.0, &[5, 2]), [""; 0], "the last one counts: {host}");
    }
    assert!(
        !Records::kept().judge().checks.iter().any(|check| check.name == "operator"),
        "nothing was ordered"
    );
}

#[test]
fn what_a_running_crawl_adds_to_its_archive_behind_the_last_commit_is_not_judged() {
    let judge = |is_running: bool, cut: bool| {
        let (top, store) = Records::kept().stored();
        let file = std::fs::read_dir(top.path()).unwrap().next().unwrap().unwrap().path();
        let mut bytes = std::fs::read(&file).unwrap();
        // What a commit that isn't done yet has appended: whole records, or a part of one.
        let more = if cut { bytes[..200].to_vec() } else { bytes.clone() };
        bytes.extend(more);
        std::fs::write(&file, bytes).unwrap();
        std::fs::write(file.with_file_name("z-00002.warc.gz"), "not even that").unwrap();
        broken(&audit(&store, Some(top.path()), &AuditRules { is_running, ..rules() }).unwrap())
    };
    for cut in [false, true] {
        assert_eq!(judge(true, cut), [""; 0]);
        assert!(judge(false, cut).contains(&"archive"));
    }
}
