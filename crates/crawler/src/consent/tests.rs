//! The files of a site, from the first request to the last try.

use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::fetch::ErrorKind;
use crate::frontier::RobotsFetch;
use crate::robots_cache::{RobotsCache, RobotsStep};
use crate::store::{MemoryStore, Write};
use page::clock::Now;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub(crate) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    let headers =
        headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
    Response {
        status,
        version: "HTTP/1.1",
        headers,
        wire_body: Bytes::copy_from_slice(body.as_bytes()),
        body: Bytes::copy_from_slice(body.as_bytes()),
        content_encoding: None,
        truncated: None,
        remote: None,
        tls: None,
        response_head: None,
        request_head: Vec::new(),
        elapsed: Duration::ZERO,
        permit: crate::fetch::BodyPermit::default(),
    }
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

struct Site {
    store: Arc<MemoryStore>,
    cache: ConsentCache<MemoryStore>,
    robots: Arc<Entry>,
}

impl Site {
    fn new(purposes: &[Purpose], robots_txt: &str, ai_block_hint: bool) -> Self {
        let store = Arc::new(MemoryStore::default());
        let rules = ConsentRules { policy: Policy::new(purposes.iter().copied()), ai_block_hint };
        let agent = meta::Agent::new("SuperRobot/1.0");
        let robots = RobotsCache::new(
            Arc::clone(&store),
            robots::Agent::new("SuperRobot"),
            Options::default(),
            robots::access::Policy::default(),
            Arc::default(),
        );
        let origin = url("http://a.test/").origin();
        let robots_fetch = RobotsFetch::new(origin.clone(), origin.robots_url().unwrap());
        let answer = Ok(response(200, &[], robots_txt));
        let RobotsStep::Known(robots) = robots.answered(&robots_fetch, &answer, Now::of_day(at(0))).unwrap()
        else {
            panic!("no hop");
        };
        Self { cache: ConsentCache::new(Arc::clone(&store), rules, agent, Arc::default()), store, robots }
    }

    fn before(&self, path: &str, second: i64) -> Before {
        self.cache.before(&self.robots, &url(&format!("http://a.test{path}")), at(second)).unwrap()
    }

    fn asks(&self, path: &str, second: i64) -> Option<String> {
        match self.before(path, second) {
            Before::Ask(_, url) => Some(url.path_and_query().to_owned()),
            Before::SiteStatements(_) => None,
        }
    }

    fn said(&self, path: &str, second: i64) -> Vec<String> {
        match self.before(path, second) {
            Before::Ask(_, url) => panic!("asks for {url}"),
            Before::SiteStatements(said) => said
                .before()
                .map(|s| format!("{} {}", s.claim.purpose_name(), s.claim.verdict_name()))
                .collect(),
        }
    }

    fn answer(
        &self,
        asked: &str,
        answer: &Result<Response, FetchError>,
        second: i64,
    ) -> Option<SiteFileRecord> {
        let file = if asked.contains("ai.txt") { SiteFile::AiTxt } else { SiteFile::TdmRep };
        let asked = url(&format!("http://a.test{asked}"));
        let may_ask = |to: &CrawlUrl| Ok(self.robots.robots.verdict(to.path_and_query()).allowed);
        match self.cache.answered(file, &asked, answer, 2, at(second), may_ask).unwrap() {
            SiteFileStep::Known(record) => {
                self.store
                    .commit(vec![Write::put(Tree::SiteFiles, record.key(), record.write().unwrap())])
                    .unwrap();
                Some(SiteFileRecord::clone(&record))
            }
            SiteFileStep::Again => None,
        }
    }
}

const TDM: &str = "/.well-known/tdmrep.json";

#[test]
fn a_file_is_asked_for_once_a_day_and_read_again_from_the_store() {
    let site = Site::new(&[Purpose::Tdm], "", false);
    assert_eq!(site.asks("/x", 0).as_deref(), Some(TDM));
    let body = r#"[{"location":"/x","tdm-reservation":1}]"#;
    assert!(site.answer(TDM, &Ok(response(200, &[], body)), 1).is_some());
    assert_eq!(site.said("/x", 2), ["tdm deny"]);
    assert_eq!(site.said("/y", 2), [""; 0]);
    site.cache.held.limit(Kind::TdmRep, 0);
    assert_eq!(site.said("/x", 3), ["tdm deny"], "from the store");
    assert_eq!(site.asks("/x", 24 * 3600 + 2).as_deref(), Some(TDM), "a day later");
    assert_eq!(site.asks("/x", -5).as_deref(), Some(TDM), "the clock was set back");
}

#[test]
fn an_unreachable_file_denies_after_three_attempts_and_a_missing_one_has_no_statement() {
    let refused = || Err(FetchError::new(ErrorKind::Timeout, "30 s"));
    for failure in [|| Ok(response(503, &[], "")), || Ok(response(429, &[], "")), refused] {
        let site = Site::new(&[Purpose::Tdm], "", false);
        assert!(site.answer(TDM, &failure(), 1).is_none());
        assert_eq!(site.asks("/x", 2).as_deref(), Some(TDM));
        assert!(site.answer(TDM, &failure(), 3).is_none());
        let record = site.answer(TDM, &failure(), 5).expect("the last try");
        assert!(record.unreachable, "{}", record.reason);
        assert_eq!(site.said("/x", 6), ["tdm deny"]);
    }
    let site = Site::new(&[Purpose::Tdm], "", false);
    let record = site.answer(TDM, &Ok(response(200, &[], &" ".repeat(FILE_LIMIT + 1))), 1).expect("known");
    assert!(record.unreachable, "{}", record.reason);
    assert_eq!(site.said("/x", 2), ["tdm deny"], "too large to be read");
    for status in [401, 403, 404, 410] {
        let site = Site::new(&[Purpose::AiTrain], "", false);
        assert_eq!(site.asks("/x", 0).as_deref(), Some("/ai.txt"));
        assert!(site.answer("/ai.txt", &Ok(response(status, &[], "Disallow: /")), 1).is_some());
        assert_eq!(site.said("/x", 2), [""; 0], "{status}");
    }
}

/// What becomes of a file that is answered with this status as often as it is asked for, and how often that is.
fn meaning(status: u16) -> (&'static str, u8) {
    let site = Site::new(&[Purpose::Tdm], "", false);
    let answer =
        Ok(response(status, &[("location", "/elsewhere")], r#"[{"location":"/","tdm-reservation":0}]"#));
    for tries in 1.. {
        let Some(record) = site.answer(TDM, &answer, 1) else {
            if site.asks("/x", 1).as_deref() != Some(TDM) {
                return ("redirect", tries);
            }
            continue;
        };
        let said = site.said("/x", 2);
        let meaning = match said.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["tdm allow"] => "read",
            ["tdm deny"] if record.unreachable => "denies",
            [] => "silent",
            _ => panic!("{said:?}"),
        };
        return (meaning, tries);
    }
    unreachable!("a file has few tries")
}

#[test]
fn each_status_of_a_file_of_consent_means_what_the_documents_say() {
    let document = include_str!("../../../../docs/politeness.md");
    let section = document.split("\n## What a status means\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut reported = 0;
    for line in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| status")) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [statuses, _, _, _, expected, repeat, _] = cells[..] else { panic!("{line}") };
        for range in statuses.split(',').next().unwrap().split(' ') {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            for status in from.parse::<u16>().unwrap()..=to.parse().unwrap() {
                let tries = if repeat == "yes" { 3 } else { 1 };
                assert_eq!(meaning(status), (expected, tries), "{status}");
                reported += 1;
            }
        }
    }
    assert_eq!(reported, 800);
}

#[test]
fn redirects_are_followed_within_the_origin_where_robots_txt_allows_and_five_times() {
    let site = Site::new(&[Purpose::Tdm], "User-agent: *\nDisallow: /closed\n", false);
    let to = |target: &str| Ok(response(301, &[("location", target)], ""));
    assert!(site.answer(TDM, &to("/elsewhere.json"), 1).is_none());
    assert_eq!(site.asks("/x", 2).as_deref(), Some("/elsewhere.json"));
    for (target, unreachable) in [
        ("http://b.test/t", false),
        ("https://a.test/t", false),
        ("/closed/t", false),
        ("/elsewhere.json", true),
        ("http://[::", true),
    ] {
        let record = site.answer("/elsewhere.json", &to(target), 3).unwrap_or_else(|| panic!("{target}"));
        assert!(record.body.is_none());
        assert_eq!(record.unreachable, unreachable, "{target}");
        site.cache.held.limit(Kind::TdmRep, 0);
    }
    let mut asked = TDM.to_owned();
    let mut hops = 0;
    while site.answer(&asked, &to(&format!("/{hops}")), 4).is_none() {
        asked = format!("/{hops}");
        hops += 1;
    }
    assert_eq!(hops, 5);
}

#[test]
fn a_file_that_robots_txt_closes_is_not_asked_for() {
    let site = Site::new(&[Purpose::Tdm, Purpose::AiTrain], "User-agent: *\nDisallow: /.well-known\n", false);
    assert_eq!(site.asks("/x", 0).as_deref(), Some("/ai.txt"));
    assert!(site.answer("/ai.txt", &Ok(response(200, &[], "User-agent: *\nDisallow: /x")), 1).is_some());
    assert_eq!(site.said("/x", 2), ["ai-train deny"]);
    let usual = Site::new(&[Purpose::Search, Purpose::Archive], "", false);
    assert_eq!(usual.asks("/x", 0), None, "no purpose that a file could deny");
}

#[test]
fn robots_txt_that_denies_every_purpose_ends_the_asking() {
    let site =
        Site::new(&[Purpose::AiTrain], "User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n", false);
    assert_eq!(site.said("/x", 0), ["ai-train deny"]);
}

#[test]
fn closed_doors_are_a_hint_where_the_operator_wants_it() {
    let robots = "User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: ClaudeBot\nDisallow: /\n";
    for (hint, expected) in [(true, &["ai-train deny"][..]), (false, &[])] {
        let site = Site::new(&[Purpose::Search], robots, hint);
        assert_eq!(site.said("/x", 0), expected);
    }
}

#[test]
fn a_page_refers_to_the_version_that_holds_the_lines_about_it() {
    let lines = "Content-Signal: /x search=yes, ai-train=no\n".repeat(40);
    let robots = format!("User-agent: *\nAllow: /\n{lines}Content-Usage: /y search=n\n");
    let mut site = Site::new(&[Purpose::Search], &robots, false);
    let said = |site: &Site, path: &str| match site.before(path, 0) {
        Before::SiteStatements(said) => said,
        Before::Ask(_, url) => panic!("asks for {url}"),
    };
    let x = said(&site, "/x");
    let from = x.robots_from.clone().expect("a reference");
    assert_eq!((x.robots.len(), x.statements.len(), x.before().count()), (2, 0, 2));
    assert_eq!(from.lines, (3..19).collect::<Vec<_>>(), "the first of them");
    assert_eq!((from.at, from.digest), (site.robots.record.fetched_at, site.robots.digest.clone()));
    assert!(said(&site, "/z").robots_from.is_none());
    // What the record refers to is read again as it was said.
    let version = &site.robots.record;
    site.store.commit(vec![Write::put(Tree::Robots, version.key(), version.write().unwrap())]).unwrap();
    let mut record = crate::record::PageRecord {
        url: "http://a.test/x".to_owned(),
        robots_consent: x.robots_from.clone(),
        consent: unreachable(SiteFile::AiTxt, "why", at(0)),
        ..Default::default()
    };
    RobotsStatements::default().complete(&*site.store, &mut record).unwrap();
    assert_eq!(
        (&record.consent[..2], record.consent.len()),
        (&x.robots[..], 17),
        "eight places of two claims"
    );
    assert_eq!(record.consent_more, 64);
    // A version from before the lines were kept: the page holds what it says itself.
    let mut entry = Arc::into_inner(site.robots).expect("held once");
    Arc::get_mut(&mut entry.record).expect("held once").consent_lines = None;
    site.robots = Arc::new(entry);
    let old = said(&site, "/x");
    assert_eq!((old.robots_from, old.robots.len()), (None, 0));
    assert_eq!(old.statements, record.consent[..16]);
}

#[test]
fn the_ledger_tells_the_first_denials_and_how_many_there_are() {
    let statements: Vec<Statement> =
        (0..5).flat_map(|n| unreachable(SiteFile::TdmRep, &format!("no {n}"), at(0))).collect();
    assert_eq!(denials(&statements[..0]), None);
    let words = denials(&statements[..2]).unwrap();
    assert_eq!(words.matches("tdm deny").count(), 2, "{words}");
    let many: Vec<Statement> = statements.iter().cycle().take(20).cloned().collect();
    let words = denials(&many).unwrap();
    assert!(words.ends_with("; and 12 more") && words.matches("tdm deny").count() == 8, "{words}");
}

#[test]
fn a_file_evicted_before_its_commit_isnt_fetched_again() {
    let mut site = Site::new(&[Purpose::Tdm], "", false);
    site.cache.held = Arc::new(OriginCache::new(1));
    let asked = url(&format!("http://a.test{TDM}"));
    let body = r#"[{"location":"/x","tdm-reservation":1}]"#;
    let step =
        site.cache.answered(SiteFile::TdmRep, &asked, &Ok(response(200, &[], body)), 2, at(1), |_| Ok(true));
    let SiteFileStep::Known(batch) = step.unwrap() else { panic!("known") };
    assert_eq!(site.cache.held.len(Kind::TdmRep), 0);
    assert_eq!(site.said("/x", 2), ["tdm deny"]);
    site.store.commit(vec![Write::put(Tree::SiteFiles, batch.key(), batch.write().unwrap())]).unwrap();
    drop(batch);
    assert_eq!(site.said("/x", 3), ["tdm deny"], "from the store");
}

#[test]
fn files_of_many_origins_stay_in_the_budget_and_say_the_same() {
    let mut site = Site::new(&[Purpose::Tdm, Purpose::AiTrain], "", false);
    site.cache.held = Arc::new(OriginCache::new(64 << 10));
    let said = |site: &Site, host: &str| {
        let page = url(&format!("http://{host}/x"));
        match site.cache.before(&site.robots, &page, at(2)).unwrap() {
            Before::SiteStatements(said) => {
                said.before().map(|said| said.claim.verdict_name()).collect::<Vec<_>>()
            }
            Before::Ask(_, url) => panic!("asks for {url}"),
        }
    };
    for n in 0..500 {
        for (file, body) in [
            (SiteFile::TdmRep, format!(r#"[{{"location":"/x","tdm-reservation":{}}}]"#, n % 2)),
            (SiteFile::AiTxt, format!("User-agent: *\nDisallow: /{}\n", ["x", "y"][n / 2 % 2])),
        ] {
            let asked = url(&format!("http://h{n}.test{}", file.path()));
            let answer = Ok(response(200, &[], &body));
            let step = site.cache.answered(file, &asked, &answer, 2, at(1), |_| Ok(true)).unwrap();
            let SiteFileStep::Known(record) = step else { panic!("known") };
            site.store
                .commit(vec![Write::put(Tree::SiteFiles, record.key(), record.write().unwrap())])
                .unwrap();
        }
    }
    for n in 0..500 {
        let mut expected = if n / 2 % 2 == 0 { vec!["deny"] } else { Vec::new() };
        expected.push(["allow", "deny"][n % 2]);
        assert_eq!(said(&site, &format!("h{n}.test")), expected);
        assert!(site.cache.held.bytes() <= 64 << 10);
    }
}

#[test]
fn a_thousand_lines_that_decide_alike_are_kept_as_their_few_claims() {
    let lines = "Content-Signal: search=yes, ai-train=no, x=no\n".repeat(900);
    let robots_txt =
        format!("User-agent: *\n{lines}Content-Signal: search=no\nContent-Usage: train-ai=n\nAllow: /\n");
    let site = Site::new(&[Purpose::Archive], &robots_txt, false);
    let Before::SiteStatements(said) = site.before("/page", 1) else {
        panic!("no file matters to an archive")
    };
    let lines: Vec<_> = said.robots.iter().map(|statement| statement.source.position).collect();
    assert_eq!(lines, [903, 2, 2, 902], "the first line of each claim, Content-Usage before Content-Signal");
    assert_eq!(
        site.said("/page", 1),
        ["ai-train deny", "search allow", "ai-train deny", "search deny"],
        "no claim is lost"
    );
}
