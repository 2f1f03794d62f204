//! `RobotRules`: many sites in one object (specification 1.8).
#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

use std::time::Duration;

use jiff::Timestamp;
use robots::{Agent, Decision, Reason, RobotRules, Robots};

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

#[test]
fn one_object_holds_many_sites_by_scheme_host_and_port() {
    let mut rules = RobotRules::new("SuperRobot/1.0 (+https://robots.example)");
    assert_eq!((rules.agent().name(), rules.agent().token()), ("SuperRobot", "superrobot"));
    rules.parse("http://joes.example/robots.txt", b"User-agent: *\nDisallow: /tmp", None, now());
    rules.parse(
        "http://marys.example:8080/robots.txt",
        b"User-agent: superrobot\nDisallow: /private",
        None,
        now(),
    );
    let allowed = |url: &str| rules.allowed(url, now()).is_allowed();
    assert!(allowed("http://joes.example/index.html"));
    assert!(!allowed("http://JOES.example:80/tmp/x"));
    assert!(allowed("http://marys.example:8080/tmp/x"));
    assert!(!allowed("http://u:p@marys.example:8080/private"));
    for unknown in [
        "https://joes.example/",
        "http://joes.example:81/",
        "http://marys.example/",
        "http://sub.joes.example/",
    ] {
        assert_eq!(rules.allowed(unknown, now()), Decision::Unknown, "{unknown}");
    }
    assert_eq!(rules.allowed("ftp://joes.example/", now()), Decision::Unsupported);
}

#[test]
fn a_file_is_fresh_until_it_is_not() {
    let mut rules = RobotRules::new("SuperRobot/1.0");
    let site = "http://a.example/";
    rules.parse(site, b"", None, now());
    assert_eq!(rules.fresh_until(site), Some(now() + Duration::from_hours(24)));
    assert!(rules.allowed(site, now() + Duration::from_secs(86_399)).is_allowed());
    assert_eq!(rules.allowed(site, now() + Duration::from_secs(86_400)), Decision::Unknown);
    rules.set_fresh_until(site, now() + Duration::from_hours(48));
    assert!(rules.allowed(site, now() + Duration::from_hours(30)).is_allowed());
    rules.parse(site, b"User-agent: *\nDisallow: /", Some(now() + Duration::from_secs(60)), now());
    assert!(!rules.allowed("http://a.example/x", now()).is_allowed());
    assert_eq!(rules.fresh_until(site), Some(now() + Duration::from_secs(60)));
}

#[test]
fn full_urls_in_rules_are_compared_with_the_site() {
    let mut rules = RobotRules::new("SuperRobot/1.0");
    let file = b"User-agent: *\nDisallow: http://a.example/mine\nDisallow: http://b.example/theirs\n";
    rules.parse("http://a.example/robots.txt", file, None, now());
    assert!(!rules.allowed("http://a.example/mine/x", now()).is_allowed());
    assert!(rules.allowed("http://a.example/theirs/x", now()).is_allowed());
}

#[test]
fn a_changed_name_clears_what_is_stored() {
    let mut rules = RobotRules::new("SuperRobot/1.0");
    rules.parse("http://a.example/", b"", None, now());
    rules.set_agent(Agent::new("SuperRobot/1.1"));
    assert!(rules.robots("http://a.example/").is_some());
    rules.set_agent(Agent::new("Other/1.1"));
    assert_eq!(rules.allowed("http://a.example/", now()), Decision::Unknown);
}

#[test]
fn visits_are_counted_by_site() {
    let mut rules = RobotRules::new("SuperRobot/1.0");
    rules.visit("http://a.example/1", now());
    rules.visit("http://A.example:80/2", now() + Duration::from_secs(5));
    assert_eq!(rules.visits("http://a.example/"), 2);
    assert_eq!(rules.last_visit("http://a.example/"), Some(now() + Duration::from_secs(5)));
    assert_eq!((rules.visits("http://b.example/"), rules.last_visit("http://b.example/")), (0, None));
}

#[test]
fn answers_without_a_file_are_stored_as_well() {
    let mut rules = RobotRules::new("SuperRobot/1.0");
    rules.store("http://a.example/robots.txt", Robots::deny_all("closed: 403").into(), None, now());
    let Decision::Known(verdict) = rules.allowed("http://a.example/x", now()) else { panic!("stored") };
    assert!(!verdict.allowed);
    assert_eq!(verdict.reason, Reason::Access("closed: 403".into()));
    assert_eq!(verdict.to_string(), "not allowed: closed: 403 (hardened)");
    assert!(rules.allowed("http://a.example/robots.txt", now()).is_allowed());
}

#[test]
fn the_rules_that_bind_us_are_those_of_our_groups() {
    let file = b"User-agent: *\nDisallow: /all\n\nUser-agent: us\nDisallow: /a\nCrawl-delay: 3\nAllow: /a/b # why\n\n\
                 User-agent: them\nDisallow: /\n\nUser-agent: us\nDisallow: /late\n";
    let binding = |agent: &str| {
        let robots =
            robots::Robots::parse(file, &robots::Agent::new(agent), &robots::Options::default(), None);
        robots.binding().into_iter().map(|(line, text)| format!("{line} {text}")).collect::<Vec<_>>()
    };
    assert_eq!(binding("us/1.0"), ["5 Disallow: /a", "7 Allow: /a/b", "13 Disallow: /late"]);
    assert_eq!(binding("other/1.0"), ["2 Disallow: /all"]);
    assert!(robots::Robots::deny_all("closed").binding().is_empty());
}
