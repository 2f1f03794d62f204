//! Records of requests to the wrong machine, or by the wrong robots.txt.

use super::*;

/// A request for the robots.txt of another host, to `address`, of a tenth of a second.
fn to(address: &str, host: &str, second: f64) -> Decision {
    let evidence = request(second, 0.0);
    let made = evidence.request.map(|made| made.with_address(Some(address.parse().unwrap())));
    let entry = decision(
        at(second + 0.1),
        &format!("http://{host}"),
        "robots_rules",
        Layer::Robots,
        Evidence::default(),
    );
    Decision { host: host.to_owned(), evidence: Evidence::default().with_request(made), ..entry }
}

/// The checks that these requests break, with this option in force.
fn broken_under(option: &str, requests: &[(&str, &str, f64)]) -> Vec<&'static str> {
    broken_by(|records| {
        let words = format!("run 1; delay 1 s, adaptive 5, max-delay 30 s{option}");
        records.decisions[0].evidence = words.into();
        records.requests += requests.len() as u64;
        records.decisions.extend(requests.iter().map(|(host, address, second)| to(address, host, *second)));
    })
}

/// The checks that these requests break, with `--per-ip` in force and without it.
fn broken_with(requests: &[(&str, &str, f64)]) -> [Vec<&'static str>; 2] {
    [", per-ip", ""].map(|option| broken_under(option, requests))
}

#[test]
fn simultaneous_requests_to_one_address_are_reported() {
    let shared = vec!["shared_address"];
    let none: Vec<&str> = Vec::new();
    // At the same time, and sooner than the operator's delay of a second after the other's answer.
    for second in [9.05, 10.0] {
        for other in ["1.2.3.4", "::ffff:1.2.3.4", "::1.2.3.4", "64:ff9b::102:304"] {
            let found = broken_with(&[("b.test", "1.2.3.4", 9.0), ("c.test", other, second)]);
            assert_eq!(found, [shared.clone(), none.clone()], "{other} at {second}");
        }
    }
    // Later, or elsewhere.
    for (other, second) in [("1.2.3.4", 10.2), ("1.2.3.5", 9.05), ("2606:4700::2", 9.05)] {
        let found = broken_with(&[("b.test", "1.2.3.4", 9.0), ("c.test", other, second)]);
        assert_eq!(found, [none.clone(), none.clone()], "{other} at {second}");
    }
    // Not in the order of the ledger, and with a short one within a long one.
    let found = broken_with(&[("b.test", "1.2.3.4", 20.0), ("c.test", "1.2.3.4", 19.5)]);
    assert_eq!(found, [shared, none]);
}

#[test]
fn simultaneous_requests_to_one_group_are_reported() {
    let (one, other) = (("b.uni.test", "1.2.3.4", 9.0), |second| ("c.uni.test", "1.2.3.5", second));
    for second in [9.05, 10.0] {
        let by_domain = broken_under(", groups domain", &[one, other(second)]);
        assert_eq!(by_domain, ["shared_group"], "{second}");
        for option in [", groups address", ", groups host, lists 1", ", per-ip", ""] {
            assert_eq!(broken_under(option, &[one, other(second)]), [""; 0], "{option}");
        }
    }
    assert_eq!(broken_under(", groups domain", &[one, other(10.2)]), [""; 0]);
    assert_eq!(broken_under(", groups domain", &[one, ("c.test", "1.2.3.4", 9.05)]), [""; 0]);
}

#[test]
fn a_request_to_a_group_before_the_longest_delay_of_its_hosts_is_reported() {
    let broken_with = |option: &str, why: DelayReason| {
        broken_by(|records| {
            let words = format!("run 1; delay 1 s, adaptive 5, max-delay 30 s{option}");
            records.decisions[0].evidence = words.into();
            records.requests += 2;
            let mut later = to("1.2.3.4", "c.uni.test", 12.0);
            if let Some(made) = &mut later.evidence.request {
                (made.gap, made.gap_reason) = (Duration::from_secs(5), why.as_str().into());
            }
            records.decisions.extend([to("1.2.3.4", "b.uni.test", 9.0), later]);
        })
    };
    for why in [DelayReason::CrawlDelay, DelayReason::Adaptive, DelayReason::SharedGroup] {
        assert_eq!(broken_with(", groups domain", why), ["shared_group"], "{why}");
        assert_eq!(broken_with(", groups address", why), ["shared_address"], "{why}");
        assert_eq!(broken_with(", per-ip", why), [""; 0], "an earlier version promised less");
    }
    // A pause is the host's own, and began earlier.
    assert_eq!(broken_with(", groups domain", DelayReason::RetryAfter), [""; 0]);
}

#[test]
fn a_robots_txt_from_a_denied_redirect_target_is_reported() {
    // `/denied` and others of a.test were asked for as the robots.txt of b.test.
    let hop = |path: &str, second: f64| {
        let words = Evidence::from("robots.txt of http://b.test");
        let evidence = Evidence { request: request(second, 2.0).request, ..words };
        decision(at(second + 0.1), &format!("{SITE}{path}"), "asked", Layer::Robots, evidence)
    };
    let broken_after = |robots: Option<RobotsRecord>, hops: &[(&str, f64)]| {
        broken_by(|records| {
            records.robots.extend(robots);
            records.requests += hops.len() as u64;
            records.decisions.extend(hops.iter().map(|(path, second)| hop(path, *second)));
        })
    };
    assert_eq!(broken_after(None, &[("/denied", 9.0)]), ["robots_redirects"]);
    assert_eq!(broken_after(None, &[("/allowed", 9.0)]), [""; 0]);
    assert_eq!(broken_after(None, &[("/robots.txt", 9.0)]), [""; 0]);
    let lost = || Some(robots_txt(8.0, "", "defer"));
    assert_eq!(broken_after(lost(), &[("/allowed", 9.0)]), ["robots_redirects"]);
    // Its own robots.txt isn't known any more: it has to be asked for first, unless it led there itself.
    let day = 24.0 * 3600.0;
    assert_eq!(broken_after(None, &[("/allowed", day + 9.0)]), ["robots_redirects"]);
    assert_eq!(broken_after(None, &[("/robots.txt", day + 9.0), ("/allowed", day + 19.0)]), [""; 0]);
    // Of its own origin a robots.txt may lie anywhere.
    let own = |records: &mut Records| {
        let entry = hop("/denied", 9.0);
        let words = Some(format!("robots.txt of {SITE}"));
        records.decisions.push(Decision { evidence: Evidence { words, ..entry.evidence }, ..entry });
        records.requests += 1;
    };
    assert_eq!(broken_by(own), [""; 0]);
}

#[test]
fn a_max_age_of_any_size_is_a_number() {
    // RFC 9111 section 1.2.2: what exceeds 2^31 is as large as can be.
    let broken_with = |cache_control: &str| {
        broken_by(|records| {
            let headers = &mut records.robots[0].headers;
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("cache-control"));
            headers.push(("cache-control".to_owned(), cache_control.to_owned()));
        })
    };
    for age in ["86400", "4294967295", "4294967296", "99999999999999999999999999"] {
        assert_eq!(broken_with(&format!("max-age={age}")), [""; 0], "{age}");
    }
    for age in ["3600", "-1", "x"] {
        assert_eq!(broken_with(&format!("max-age={age}")), ["robots_access"], "{age}");
    }
}
