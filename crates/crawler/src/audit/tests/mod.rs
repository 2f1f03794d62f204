//! A crawl that kept every promise, and each promise broken in its records.

mod discovery;
mod leaks;
mod network;
mod records;
mod requests;
mod settings;
mod streamed;
mod tampered;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use meta::consent::Purpose;

use super::*;
use crate::commit::{Batch, Committer, SettledPage, Totals};
use crate::config::{self, Record};
use crate::frontier::{HostId, Via};
use crate::pace::{Delay, DelayReason};
use crate::page_store::{self, PageWriter, scan_with_links};
use crate::record::{
    Archived, Decision, Evidence, Layer, LinkOutcome, LinkRecord, PageRecord, RepairRecord, RequestMade,
    RobotsConsent, RobotsRecord, Withdrawal, encode_links,
};
use crate::store::{MemoryStore, Write};
use crate::warc::{Exchange, WarcInfo, encode};
use page::clock::Now;
use page::extract::ExtractLimits;
use page::url::CrawlUrl;

const KEY: FingerprintKey = FingerprintKey::new([7; 16]);
const SITE: &str = "http://a.test";

fn at(seconds: f64) -> Now {
    let mono = Duration::from_secs_f64(seconds);
    let base: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
    Now { mono, wall: base + SignedDuration::try_from(mono).unwrap() }
}

fn rules() -> AuditRules {
    AuditRules {
        is_running: false,
        agent: robots::Agent::new("SuperRobot"),
        options: robots::Options::default(),
        limits: ExtractLimits::default(),
        page_agent: meta::Agent::new("SuperRobot/1.0"),
        policy: Policy::new([Purpose::Search, Purpose::Archive]),
        delay: Duration::from_secs(1),
        settings: settings(),
        seeds: vec![format!("{SITE}/")],
        key: KEY,
        head: None,
        temporary: None,
    }
}

/// What the crawl was made with.
fn settings() -> Settings {
    let mut settings = Settings::default();
    "SuperRobot/1.0".clone_into(&mut settings.agent.product);
    settings.scope.exclude = vec!["/private/".to_owned()];
    settings.limits.max_depth = Some(2);
    settings.limits.max_pages = Some(9);
    settings.limits.max_pages_per_host = Some(6);
    settings
}

fn decision(now: Now, url: &str, decision: &str, layer: Layer, evidence: Evidence) -> Decision {
    Decision {
        at: now.wall,
        url: url.to_owned(),
        host: "a.test".to_owned(),
        decision: decision.into(),
        layer,
        reason: "test".into(),
        evidence,
        via: None,
    }
}

/// A request of a tenth of a second.
fn request(second: f64, gap: f64) -> Evidence {
    let delay = Delay { length: Duration::from_secs_f64(gap), why: DelayReason::Configured };
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
        access: access.into(),
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
        consent_lines: None,
        clocks: None,
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
    /// Pages whose records are taken out again.
    forgotten: Vec<String>,
}

fn link(to: &str, outcome: LinkOutcome) -> LinkRecord {
    LinkRecord {
        to: format!("{SITE}{to}").into(),
        kind: "a".into(),
        rel: String::new(),
        text: "anchor".into(),
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

fn print(path: &str) -> page::url::Fingerprint {
    CrawlUrl::parse(&format!("{SITE}{path}")).unwrap().fingerprint(&KEY)
}

impl Records {
    /// robots.txt at 0 s, `/` at 3 s, `/b` at 6 s; Crawl-delay 2.
    fn kept() -> Self {
        let seeds = [CrawlUrl::parse(&format!("{SITE}/")).unwrap()];
        let (run, text) = config::run_settings(&settings(), &seeds).unwrap();
        let record = Record { seeds: seeds.iter().map(ToString::to_string).collect(), ..Record::default() };
        let begun = config::to_toml(&settings(), &record).unwrap();
        let after = vec![Write::put(Tree::Meta, run.key(), text), Write::put(Tree::Meta, "settings", begun)];
        let words = Evidence::from("run 1; delay 1 s, adaptive 5, max-delay 30 s");
        let evidence = Evidence { run: Some(Box::new(run)), ..words };
        let start = decision(at(0.0), "", "started", Layer::Stop, evidence);
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
            after,
            forgotten: Vec::new(),
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
        let (top, store) = self.stored();
        audit(&store, Some(top.path()), rules).unwrap()
    }

    /// The records in a database, with the archive's directory.
    fn stored(self) -> (tempfile::TempDir, Arc<MemoryStore>) {
        let top = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStore::default());
        store.commit(vec![Write::put(Tree::Meta, "crawl_id", "one")]).unwrap();
        let info = WarcInfo::example(at(0.0).wall);
        let pages = self.pages.into_iter().map(|(mut record, links, body)| SettledPage {
            host: HostId(0),
            page: CrawlUrl::parse(&record.url).unwrap().fingerprint(&KEY),
            text: None,
            discovery: None,
            warc: body.map(|mut body| {
                // The page has the links that were found on it.
                body.extend(
                    links.iter().map(|link| format!("<a href=\"{}\" rel=\"{}\">x</a>", link.to, link.rel)),
                );
                let digest = crate::record::robots::digest(body.as_bytes());
                record.digest = record.digest.take().map(|_| digest);
                encode(&Exchange {
                    headers: &[("content-type".to_owned(), b"text/html".to_vec())],
                    ..Exchange::example(&record.url, body.as_bytes(), record.fetched_at)
                })
            }),
            record,
            links,
            keeps_links: false,
            blanks_links: false,
        });
        let batch = Batch {
            pages: pages.collect(),
            robots: self.robots.into_iter().map(std::sync::Arc::new).collect(),
            decisions: self.decisions,
            totals: Totals { requests: self.requests, runs: 1, ..Totals::default() },
            ..Batch::default()
        };
        let mut committer = Committer::open(Arc::clone(&store), Some((top.path(), &info, 1 << 30))).unwrap();
        committer.commit(batch).unwrap();
        drop(committer);
        store.commit(self.after).unwrap();
        for page in self.forgotten {
            forget(&store, &page);
        }
        (top, store)
    }
}

/// Takes a page out.
fn forget(store: &MemoryStore, url: &str) {
    rewrite(store, |pages| pages.retain(|(record, _)| record.url != url));
}

/// Stores the pages again, changed, without an entry in the ledger.
fn rewrite(store: &MemoryStore, change: impl FnOnce(&mut Vec<(PageRecord, Vec<LinkRecord>)>)) {
    let pages: Vec<_> = scan_with_links(store).map(Result::unwrap).collect();
    let mut writes = vec![Write::remove(Tree::Meta, page_store::STATE)];
    for tree in [Tree::Pages, Tree::Links, Tree::PageIndex] {
        writes.extend(store.scan(tree, &[]).map(|pair| Write::remove(tree, pair.unwrap().0)));
    }
    store.commit(writes).unwrap();
    let mut kept = pages.iter().map(|page| (page.record().unwrap(), page.links().unwrap())).collect();
    change(&mut kept);
    let kept = kept.iter().map(|(record, links)| page_store::Change {
        host: HostId(0),
        page: CrawlUrl::parse(&record.url).unwrap().fingerprint(&KEY),
        record: serde_json::to_vec(record).unwrap(),
        links: Some(encode_links(links).unwrap()),
    });
    let writes = PageWriter::open(store).unwrap().store(store, kept.collect()).unwrap();
    store.commit(writes).unwrap();
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
    assert!(String::from_utf8(text).unwrap().contains("couldn't be judged"));
}
