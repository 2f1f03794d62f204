//! A crawl that kept every promise, and each promise broken in its records.

use std::sync::Arc;

use jiff::SignedDuration;
use meta::consent::Purpose;

use super::*;
use crate::clock::Now;
use crate::commit::{Batch, Committer, SettledPage, Totals};
use crate::extract::ExtractLimits;
use crate::frontier::{HostId, Via};
use crate::pace::{Delay, Why};
use crate::record::{
    Archived, Decision, Evidence, Layer, LinkOutcome, LinkRecord, PageRecord, RepairRecord, RequestMade,
    RobotsRecord, Withdrawal, page_key,
};
use crate::store::{MemoryStore, Write};
use crate::url::CrawlUrl;
use crate::warc::{Exchange, WarcInfo, encode};

const KEY: FingerprintKey = FingerprintKey([7; 32]);
const SITE: &str = "http://a.test";

fn at(seconds: f64) -> Now {
    let mono = Duration::from_secs_f64(seconds);
    let base: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
    Now { mono, wall: base + SignedDuration::try_from(mono).unwrap() }
}

fn rules() -> AuditRules {
    AuditRules {
        agent: robots::Agent::new("SuperRobot"),
        options: robots::Options::default(),
        limits: ExtractLimits::default(),
        page_agent: meta::Agent::new("SuperRobot/1.0"),
        policy: Policy::new([Purpose::Search, Purpose::Archive]),
        delay: Duration::from_secs(1),
        seeds: vec![format!("{SITE}/")],
        key: KEY,
    }
}

fn decision(now: Now, url: &str, decision: &str, layer: Layer, evidence: Evidence) -> Decision {
    Decision {
        at: now.wall,
        url: url.to_owned(),
        host: "a.test".to_owned(),
        decision: decision.to_owned(),
        layer,
        reason: "test".to_owned(),
        evidence,
        via: None,
    }
}

/// A request of a tenth of a second.
fn request(second: f64, gap: f64) -> Evidence {
    let delay = Delay { length: Duration::from_secs_f64(gap), why: Why::Configured };
    let made = RequestMade::new(at(second), at(second + 0.1), Some(200), 10, delay);
    Evidence::default().with_request(Some(made))
}

fn robots_txt(second: f64, body: &str, access: &str) -> RobotsRecord {
    let fetched_at = at(second).wall;
    let mut record = RobotsRecord {
        v: 1,
        origin: SITE.to_owned(),
        fetched_at,
        status: Some(200),
        access: access.to_owned(),
        reason: access.to_owned(),
        expires: fetched_at + SignedDuration::from_hours(24),
        digest: None,
        bytes: 0,
        body: None,
        body_base64: None,
        hops: Vec::new(),
        headers: Vec::new(),
        warnings: Vec::new(),
        first_failure: None,
        failures: 0,
        good_copy: None,
        failure: None,
    };
    record.set_body(body.as_bytes());
    record
}

/// A crawl of two pages, in parts that a test may change before it is judged.
struct Records {
    decisions: Vec<Decision>,
    robots: Vec<RobotsRecord>,
    pages: Vec<(PageRecord, Vec<LinkRecord>, Option<String>)>,
    requests: u64,
    after: Vec<Write>,
}

fn link(to: &str, outcome: LinkOutcome) -> LinkRecord {
    LinkRecord {
        to: format!("{SITE}{to}"),
        kind: "a".to_owned(),
        rel: String::new(),
        text: "anchor".to_owned(),
        nofollow: false,
        outcome,
        position: None,
        hreflang: None,
    }
}

fn page(path: &str, second: f64, via: Option<Via>) -> PageRecord {
    PageRecord {
        v: 1,
        url: format!("{SITE}{path}"),
        status: Some(200),
        title: Some("a title".to_owned()),
        fetched_at: at(second).wall,
        indexed: true,
        archived: true,
        followed: true,
        depth: u32::from(via.is_some()),
        via,
        ..PageRecord::default()
    }
}

fn print(path: &str) -> crate::url::Fingerprint {
    CrawlUrl::parse(&format!("{SITE}{path}")).unwrap().fingerprint(&KEY)
}

impl Records {
    /// robots.txt at 0 s, `/` at 3 s, `/b` at 6 s; Crawl-delay 2.
    fn kept() -> Self {
        let start = decision(
            at(0.0),
            "",
            "started",
            Layer::Stop,
            "run 1; delay 1 s, adaptive 5, max-delay 30 s".into(),
        );
        let html = |text: &str| format!("<html><body>{text}</body></html>");
        let via = Via { host: HostId(0), page: print("/") };
        Self {
            decisions: vec![
                start,
                decision(at(0.1), SITE, "robots_rules", Layer::Robots, request(0.0, 0.0)),
                decision(at(3.1), &format!("{SITE}/"), "fetched", Layer::Fetch, request(3.0, 2.0)),
                decision(at(6.1), &format!("{SITE}/b"), "fetched", Layer::Fetch, request(6.0, 2.0)),
                decision(at(6.1), &format!("{SITE}/denied"), "skipped", Layer::Robots, Evidence::default()),
            ],
            robots: vec![robots_txt(0.1, "User-agent: *\nDisallow: /denied\nCrawl-delay: 2\n", "rules")],
            pages: vec![
                (
                    page("/", 3.0, None),
                    vec![link("/b", LinkOutcome::Queued), link("/denied", LinkOutcome::Queued)],
                    Some(html("front")),
                ),
                (page("/b", 6.0, Some(via)), Vec::new(), Some(html("b"))),
            ],
            requests: 3,
            after: Vec::new(),
        }
    }

    fn asked(&mut self, path: &str, second: f64, gap: f64) {
        let url = format!("{SITE}{path}");
        let entry = decision(at(second + 0.1), &url, "fetched", Layer::Fetch, request(second, gap));
        self.decisions.push(entry);
        self.requests += 1;
    }

    fn judge(self) -> Report {
        self.judge_by(&rules())
    }

    fn judge_by(self, rules: &AuditRules) -> Report {
        let top = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::default());
        store.commit(vec![Write::put(Tree::Meta, "crawl_id", "one")]).unwrap();
        let info = WarcInfo {
            software: "test".to_owned(),
            robots: "obeyed".to_owned(),
            user_agent: "SuperRobot/1.0".to_owned(),
            from: None,
            is_part_of: "test".to_owned(),
            started_at: at(0.0).wall,
        };
        let pages = self.pages.into_iter().map(|(record, links, body)| SettledPage {
            host: HostId(0),
            page: CrawlUrl::parse(&record.url).unwrap().fingerprint(&KEY),
            warc: body.map(|body| {
                encode(&Exchange {
                    url: &record.url,
                    request_head: b"GET / HTTP/1.1\r\n\r\n",
                    status: 200,
                    reason: "OK",
                    version: "HTTP/1.1",
                    headers: &[("content-type".to_owned(), b"text/html".to_vec())],
                    wire_body: body.as_bytes(),
                    truncated: None,
                    ip: None,
                    fetched_at: record.fetched_at,
                })
            }),
            record,
            links,
            keeps_links: false,
        });
        let batch = Batch {
            pages: pages.collect(),
            robots: self.robots,
            decisions: self.decisions,
            totals: Totals { requests: self.requests, runs: 1, ..Totals::default() },
            ..Batch::default()
        };
        let mut committer = Committer::open(Arc::clone(&store), Some((top.path(), &info, 1 << 30))).unwrap();
        committer.commit(batch).unwrap();
        drop(committer);
        store.commit(self.after).unwrap();
        audit(&*store, Some(top.path()), rules).unwrap()
    }
}

/// The names of the checks that were broken.
fn broken(report: &Report) -> Vec<&'static str> {
    report.checks.iter().filter(|check| check.violations > 0).map(|check| check.name).collect()
}

fn broken_by(change: impl FnOnce(&mut Records)) -> Vec<&'static str> {
    let mut records = Records::kept();
    change(&mut records);
    broken(&records.judge())
}

#[test]
fn a_crawl_that_kept_its_promises_passes_and_tells_its_margins() {
    let report = Records::kept().judge();
    assert_eq!(broken(&report), [""; 0], "{report:#?}");
    let margin = |name: &str| {
        report
            .checks
            .iter()
            .find(|check| check.name == name)
            .unwrap()
            .margin_s
            .map(|s| (s * 10.0).round() / 10.0)
    };
    assert_eq!(margin("overlap"), Some(2.9));
    assert_eq!(margin("gap"), Some(0.9));
    assert_eq!(margin("site_delay"), Some(0.9));
    assert_eq!(margin("configured_delay"), Some(1.9));
    let judged: Vec<_> = report.checks.iter().map(|check| (check.name, check.judged)).collect();
    for (name, least) in
        [("ledger", 5), ("requests", 3), ("robots_known", 2), ("denied", 2), ("archive", 2), ("accounts", 3)]
    {
        assert!(judged.contains(&(name, least)), "{name}: {judged:?}");
    }
    assert!(report.checks.iter().all(|check| check.unjudged.is_none()));
}

#[test]
fn each_rule_of_pace_that_is_broken_is_told() {
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
            let pause = Delay { length: Duration::from_secs(60), why: Why::RetryAfter };
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
fn each_rule_of_robots_txt_that_is_broken_is_told() {
    assert_eq!(broken_by(|r| r.asked("/denied", 9.0, 2.0)), ["denied"]);
    assert_eq!(broken_by(|r| r.robots[0].access = "defer".to_owned()), ["denied"]);
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
fn each_word_of_a_page_that_is_broken_is_told() {
    let said = |word: &str| meta::Because {
        directive: word.to_owned(),
        source: meta::Source::new(meta::Origin::Meta, 0, "robots", word),
    };
    assert_eq!(
        broken_by(|r| r.pages[1].0.directives.push(said("noindex"))),
        ["noindex", "noarchive", "archive"]
    );
    assert_eq!(broken_by(|r| r.pages[1].0.directives.push(said("noarchive"))), ["noarchive", "archive"]);
    assert_eq!(
        broken_by(|r| r.pages[1]
            .0
            .headers
            .push(("x-robots-tag".to_owned(), "superrobot: noarchive".to_owned()))),
        ["noarchive", "archive"]
    );
    assert_eq!(
        broken_by(|r| {
            let (record, links, body) = &mut r.pages[1];
            record.directives.push(said("noindex"));
            (record.title, record.indexed, record.archived) = (None, false, false);
            *body = None;
            links.push(link("/", LinkOutcome::Seen));
        }),
        ["noindex"],
        "an anchor text"
    );
    assert_eq!(broken_by(|r| r.pages[0].0.directives.push(said("nofollow"))), ["nofollow"]);
    assert_eq!(broken_by(|r| "a NoFollow".clone_into(&mut r.pages[0].1[0].rel)), ["nofollow"]);
    assert_eq!(
        broken_by(|r| {
            r.pages[0].1[0].outcome = LinkOutcome::RelNofollow;
            r.pages[0].1[0].nofollow = true;
        }),
        ["discovery"]
    );
    assert_eq!(
        broken_by(|r| r.pages[1].2 = Some("<meta name=robots content=noindex>".to_owned())),
        ["archived_words"]
    );
}

#[test]
fn what_was_not_read_and_kept_all_the_same_is_told() {
    let unread = |part: &str| {
        broken_by(|r| {
            r.pages[1].0.unread.push(format!("{part}: it wasn't read"));
        })
    };
    assert_eq!(unread("head"), ["noindex", "noarchive", "archive"]);
    assert_eq!(unread("body"), ["noindex", "noarchive", "archive"]);
    assert_eq!(
        broken_by(|r| r.pages[1].0.error = Some("mime".to_owned())),
        ["noindex", "noarchive", "archive"]
    );
    // The archived response, read again, tells by itself.
    let late = format!("<head><style>{}</style><meta name=x content=y></head>", "x".repeat(512 * 1024));
    let utf_16 =
        "<\0m\0e\0t\0a\0 \0n\0a\0m\0e\0=\0r\0o\0b\0o\0t\0s\0 \0c\0o\0n\0t\0e\0n\0t\0=\0n\0o\0n\0e\0>\0";
    for body in [&late, "%PDF-1.7", utf_16] {
        assert_eq!(broken_by(|r| r.pages[1].2 = Some(body.to_owned())), ["archived_words"], "{}", &body[..8]);
    }
}

#[test]
fn a_head_that_was_not_read_may_be_kept_where_the_dialect_closes_nothing() {
    let mut records = Records::kept();
    records.pages[1].0.unread.push("head: it wasn't read".to_owned());
    let mut rules = rules();
    rules.options.dialect = robots::Dialect::Rfc9309;
    assert_eq!(broken(&records.judge_by(&rules)), [""; 0]);
}

#[test]
fn records_that_do_not_fit_together_are_told() {
    assert_eq!(broken_by(|r| r.requests += 1), ["requests"]);
    assert_eq!(broken_by(|r| drop(r.decisions.pop())), ["accounts"]);
    assert_eq!(
        broken_by(|r| r.after.push(Write::remove(Tree::Pages, page_key(HostId(0), print("/b"), 0)))),
        ["archive", "accounts"]
    );
    let ledger = broken_by(|r| r.after.push(Write::put(Tree::Ledger, 0_u64.to_be_bytes(), vec![9; 80])));
    assert!(ledger.contains(&"ledger"), "{ledger:?}");
    assert_eq!(
        broken_by(|r| {
            let place =
                Archived { file: "crawl-20260101120000-00009.warc.gz".to_owned(), offset: 7, length: 9 };
            r.pages[1].0.earlier.push(place);
        }),
        ["archive"]
    );
    let withdrawn = broken_by(|r| {
        // The second response is on the list of what was withdrawn, and still there.
        for offset in 0..3_000 {
            let withdrawal = Withdrawal {
                v: 1,
                url: format!("{SITE}/b"),
                place: Archived { file: "crawl-20260101120000-00001.warc.gz".to_owned(), offset, length: 1 },
                at: at(7.0).wall,
                because: "noindex".to_owned(),
                done: true,
            };
            let value = serde_json::to_vec(&withdrawal).unwrap();
            r.after.push(Write::put(Tree::Withdrawn, withdrawal.key(), value));
        }
    });
    assert!(withdrawn.contains(&"withdrawn"), "{withdrawn:?}");
}

#[test]
fn what_a_repair_couldnt_save_is_lost_and_what_came_after_it_is_judged() {
    let repaired = |r: &mut Records, second: f64, requests_lost: u64| {
        let record = RepairRecord { v: 1, at: at(second).wall, requests_lost };
        r.after.push(Write::put(Tree::Meta, RepairRecord::KEY, record.write().unwrap()));
    };
    // The request for /b, how it was found, and why /denied was left out, are gone.
    let damaged = |r: &mut Records| {
        r.decisions.truncate(3);
        r.pages[1].0 = page("/b", 6.0, None);
        r.pages[0].1 = vec![link("/b", LinkOutcome::Seen), link("/denied", LinkOutcome::RelNofollow)];
    };
    assert_eq!(broken_by(damaged), ["requests", "discovery", "accounts"]);
    let mut records = Records::kept();
    damaged(&mut records);
    records.robots.clear();
    repaired(&mut records, 10.0, 1);
    let report = records.judge();
    assert_eq!(broken(&report), [""; 0], "{report:#?}");
    let lost: Vec<_> = report.checks.iter().map(|c| (c.name, c.lost)).filter(|(_, lost)| *lost > 0).collect();
    assert_eq!(lost, [("requests", 1), ("robots_known", 1), ("discovery", 1), ("accounts", 1)]);
    let mut text = Vec::new();
    report.write_text(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("kept; 1 can't be judged since the repair\n"), "{text}");
    assert!(text.ends_with("Nothing violated; 4 cases can't be judged since the repair.\n"), "{text}");

    let after = broken_by(|r| {
        damaged(r);
        r.robots.clear();
        r.asked("/b", 6.0, 2.0);
        repaired(r, 5.0, 0);
        // Nothing tells what became of a link that was queued.
        r.pages[0].1 = vec![link("/b", LinkOutcome::Seen), link("/denied", LinkOutcome::Queued)];
    });
    assert_eq!(after, ["requests", "robots_known", "discovery", "accounts"]);
}

#[test]
fn a_crawl_without_a_ledger_is_judged_as_far_as_it_goes() {
    let mut records = Records::kept();
    records.decisions.clear();
    let report = records.judge();
    assert_eq!(broken(&report), [""; 0]);
    let unjudged: Vec<_> =
        report.checks.iter().filter(|check| check.unjudged.is_some()).map(|check| check.name).collect();
    for name in ["requests", "overlap", "gap", "denied", "accounts"] {
        assert!(unjudged.contains(&name), "{name}");
    }
    let mut text = Vec::new();
    report.write_text(&mut text).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("could not be judged"));
}
