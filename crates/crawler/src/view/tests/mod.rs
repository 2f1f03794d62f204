//! Tables of small crawls that were written by the real frontier and committer.

mod diff;
mod directory;
mod duplicates;
mod figures;
mod formats;
mod forms;
mod noindex;
mod owner;
mod queue;
mod skipped;
mod stable;
mod summary;
mod tables;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{Row, Table, TableFormat, View, ViewError, write_table};
use crate::commit::{Batch, Committer, SettledPage, Totals};
use crate::frontier::{Frontier, FrontierLimits, HostId, Marks, Priority, QueuedUrl, Settlement, Via, Work};
use crate::pace::{Delay, DelayReason};
use crate::record::{
    Archived, Decision, Layer, LinkOutcome, LinkRecord, PageRecord, PageState, RobotsEvidence, RobotsRecord,
};
use crate::store::{MemoryStore, Store, Tree, Write};
use page::clock::Now;
use page::extract::Position;
use page::url::{CrawlUrl, FingerprintKey};

const KEY: FingerprintKey = FingerprintKey::new([7; 16]);

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_225_600_000 + second * 1000 + 5).unwrap()
}

fn now(second: i64) -> Now {
    Now { mono: Duration::from_secs(second as u64), wall: at(second) }
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

/// A crawl in the making: what was done since the last commit, and what is committed.
struct Crawl {
    store: Arc<MemoryStore>,
    frontier: Frontier<MemoryStore>,
    committer: Committer<MemoryStore>,
    batch: Batch,
    second: i64,
    limits: FrontierLimits,
}

impl Crawl {
    fn new() -> Self {
        Self::with(FrontierLimits::default())
    }

    fn with(limits: FrontierLimits) -> Self {
        let store = Arc::new(MemoryStore::default());
        let about = vec![
            Write::put(Tree::Meta, "format", crate::format::FORMAT.to_string()),
            Write::put(Tree::Meta, "crawl_id", "the-id"),
            Write::put(Tree::Meta, "fingerprint_key", KEY.bytes()),
            Write::put(Tree::Meta, "started", at(0).to_string()),
        ];
        store.commit(about).unwrap();
        let frontier = open(&store, limits, 0);
        let committer = Committer::open(Arc::clone(&store), None).unwrap();
        Self { store, frontier, committer, batch: Batch::default(), second: 0, limits }
    }

    /// What a restart of the process does.
    fn reopen(&mut self) {
        self.frontier = open(&self.store, self.limits, self.second);
    }

    fn host(&mut self, text: &str) -> HostId {
        self.frontier.host_id(url(text).host()).unwrap()
    }

    fn via(&mut self, text: &str) -> Via {
        Via { host: self.host(text), page: url(text).fingerprint(&KEY) }
    }

    fn queue(&mut self, text: &str, priority: Priority, via: Option<&str>) {
        let via = via.map(|via| self.via(via));
        let host = self.host(text);
        let item = QueuedUrl::link(&url(text), 1, via);
        let item = if via.is_none() { item.marked(Marks::SEED) } else { item };
        self.frontier.admit(host, url(text).fingerprint(&KEY), item, priority, true).unwrap();
    }

    /// Leases the next URL and settles it as done.
    fn take(&mut self) -> Option<String> {
        let permit = self.frontier.lease(now(self.second)).unwrap()?;
        assert!(matches!(permit.lease().work, Work::Visit(_)));
        let text = permit.lease().url.to_string();
        let wait = Delay { length: Duration::ZERO, why: DelayReason::Configured };
        let not_before = Duration::ZERO;
        self.frontier.settle(permit, Settlement::finished(not_before, wait));
        Some(text)
    }

    /// Enters a visit's record.
    fn store_page(&mut self, record: PageRecord, links: Vec<LinkRecord>) {
        let url = url(&record.url);
        let host = self.frontier.host_id(url.host()).unwrap();
        let page = url.fingerprint(&KEY);
        self.batch.pages.push(SettledPage::taken_over(host, page, record, links));
    }

    fn decide(&mut self, url: &str, decision: &str, layer: Layer, reason: &str) {
        self.second += 1;
        let host = CrawlUrl::parse(url).map(|url| url.host().to_owned()).unwrap_or_default();
        self.batch.decisions.push(Decision {
            at: at(self.second),
            url: url.to_owned(),
            host,
            decision: decision.into(),
            layer,
            reason: reason.into(),
            evidence: "evidence".into(),
            via: (layer != Layer::Robots).then(|| "http://a.test/".to_owned()),
        });
    }

    fn commit(&mut self) {
        let (generation, writes) = self.frontier.cut(now(self.second)).unwrap();
        let batch = std::mem::take(&mut self.batch);
        let totals = Totals { requests: 9, pages: 4, runs: 2, ..Totals::default() };
        self.committer.commit(Batch { generation, writes, totals, ..batch }).unwrap();
        self.frontier.committed(generation);
    }

    fn view(&mut self) -> View {
        self.commit();
        View::over(Arc::clone(&self.store)).unwrap()
    }
}

fn open(store: &Arc<MemoryStore>, limits: FrontierLimits, second: i64) -> Frontier<MemoryStore> {
    let gap = Delay { length: Duration::from_millis(1500), why: DelayReason::CrawlDelay };
    Frontier::open(store, limits, gap, KEY, now(second)).unwrap()
}

fn page(url: &str, status: Option<u16>) -> PageRecord {
    PageRecord {
        v: 1,
        url: url.to_owned(),
        status,
        error: status.filter(|status| *status >= 400).map(|status| format!("http_{status}")),
        detail: None,
        content_type: Some("text/html".to_owned()),
        charset: Some("utf-8".to_owned()),
        title: Some("a title".to_owned()),
        description: Some("a description".to_owned()),
        keywords: Some(vec!["nails".to_owned(), "wood".to_owned()]),
        language: Some("de".to_owned()),
        depth: 1,
        via: None,
        fetched_at: at(3),
        duration_ms: 12,
        bytes: 500,
        wire_bytes: 300,
        digest: Some("blake3:00".to_owned()),
        truncated: None,
        directives: Vec::new(),
        directive_warnings: Vec::new(),
        indexed: status.is_some_and(|status| (200..300).contains(&status)),
        archived: true,
        followed: true,
        canonical: Some("http://a.test/c".to_owned()),
        redirect: None,
        links_out: 1,
        robots: RobotsEvidence {
            group: Some("*".to_owned()),
            dialect: robots::Dialect::Hardened,
            line: Some(3),
            rule: Some("Allow: /".to_owned()),
            reason: "allowed by rule".to_owned(),
            digest: Some("blake3:11".to_owned()),
        },
        warc: Some(Archived { file: "a.warc.gz".to_owned(), offset: 7, length: 9 }),
        fields: BTreeMap::from([("price".to_owned(), vec!["7".to_owned()])]),
        tries: 1,
        ..PageRecord::default()
    }
}

fn directive(text: &str) -> meta::DirectiveSource {
    let source = meta::Source::new(meta::SourceKind::Meta, 0, "robots", text);
    meta::DirectiveSource { directive: text.to_owned(), source }
}

fn link(to: &str, outcome: LinkOutcome) -> LinkRecord {
    LinkRecord {
        to: to.into(),
        kind: "a".into(),
        rel: String::new(),
        text: "anchor".into(),
        nofollow: outcome == LinkOutcome::RelNofollow,
        outcome,
        position: Some(Position::Nav),
        hreflang: None,
    }
}

fn robots(origin: &str, second: i64, access: &str) -> RobotsRecord {
    RobotsRecord {
        v: 1,
        origin: origin.to_owned(),
        fetched_at: at(second),
        status: Some(200),
        access: access.into(),
        reason: "status 200".to_owned(),
        expires: at(second + 86_400),
        digest: Some("blake3:11".to_owned()),
        bytes: 20,
        body: Some("User-agent: *\n".to_owned()),
        body_base64: None,
        hops: Vec::new(),
        headers: Vec::new(),
        warnings: vec![(2, "line 2: unknown field".to_owned()), (4, "no group".to_owned())],
        first_failure: None,
        consent_lines: None,
        clocks: None,
        failures: 0,
        good_copy: None,
        failure: None,
    }
}

fn rows<R: Row>(rows: impl Iterator<Item = Result<R, ViewError>>) -> Vec<R> {
    rows.map(Result::unwrap).collect()
}

/// A table's name on the command line.
fn name(table: Table) -> String {
    table.name().to_owned()
}

fn text(view: &View, table: Table, form: TableFormat) -> String {
    let mut out = Vec::new();
    write_table(view, table, form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn jsonl(view: &View, table: Table) -> Vec<Value> {
    text(view, table, TableFormat::Jsonl).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One of everything.
fn crawl() -> Crawl {
    let mut crawl = Crawl::new();
    crawl.queue("http://a.test/", Priority::First, None);
    assert!(crawl.take().is_some());
    crawl.store_page(
        page("http://a.test/", Some(200)),
        vec![
            link("http://a.test/two", LinkOutcome::Queued),
            link("http://a.test/x", LinkOutcome::RelNofollow),
            link("mailto:a", LinkOutcome::NotHttp),
        ],
    );
    let via = crawl.via("http://a.test/");
    // It was there once.
    let before = PageState {
        at: at(1),
        last_seen: at(2),
        status: Some(200),
        digest: Some("blake3:01".to_owned()),
        simhash: None,
        indexed: true,
        redirect: None,
    };
    let two = PageRecord { history: vec![before], ..page("http://a.test/two", Some(404)) };
    crawl.store_page(PageRecord { via: Some(via), ..two }, Vec::new());
    crawl.store_page(
        PageRecord {
            error: Some("timeout".to_owned()),
            detail: Some("after 30 s".to_owned()),
            ..page("http://b.test/slow", None)
        },
        Vec::new(),
    );
    crawl.queue("http://a.test/later?x=1", Priority::Link, Some("http://a.test/"));
    crawl.decide("http://a.test/x", "skipped", Layer::Directive, "nofollow_rel");
    crawl.decide("http://a.test/private", "skipped", Layer::Robots, "robots_txt");
    crawl.decide("http://b.test/slow", "failed", Layer::Fetch, "timeout");
    crawl.batch.robots.push(std::sync::Arc::new(robots("http://a.test", 1, "rules")));
    let host = crawl.host("http://a.test/");
    let counts = crawl.frontier.counts_mut(host);
    *counts = crate::frontier::HostCounts {
        requests: 3,
        pages: 1,
        bytes: 800,
        errors: 1,
        skipped: 2,
        robots_requests: 1,
        slowest_ms: 44,
    };
    crawl.frontier.set_robots_status(host, "rules: status 200");
    crawl
}
