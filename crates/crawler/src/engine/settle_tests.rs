//! What settling a visit leads to: each test hands the engine an outcome, and looks at what it is about to commit. No request is made, so
//! that a host may be leased again before the commit.

use std::sync::Mutex;
use std::time::Duration;

use meta::Effects;
use tokio::time::Instant;

use super::records::Chain;
use super::*;
use crate::commit::{Batch, Committer, Discovery};
use crate::config::{LedgerLevel, Settings};
use crate::consent::tests::response;
use crate::encoded::packed_size;
use crate::fetch::{DnsAnswer, ErrorKind, FetchError, FetchRequest, FetchResult};
use crate::frontier::{Permit, RobotsFetch, Via};
use crate::job;
use crate::origin_cache::OriginCache;
use crate::record::{
    Decided, Decision, LinkOutcome, LinkRecord, PageRecord, PlainReason, RobotsEvidence, due_key,
};
use crate::robots_cache::{Entry, RobotsStep};
use crate::store::{MemoryStore, PowerCutStore};
use crate::visit::{
    BacklogBytes, Captured, Event, FoundLink, Growth, Outcome, Requested, Revisiting, Visited,
};
use crate::warc::Encoded;
use page::clock::{Now, instant};
use page::extract::MainText;
use page::url::{CrawlUrl, Fingerprint};

const KEY: FingerprintKey = FingerprintKey::new([7; 16]);

/// The longest gap that these crawls wait for.
const LONGEST: Duration = Duration::from_mins(5);

/// Answers nothing, and has asked name servers for what is given.
#[derive(Default)]
struct Names(Mutex<Vec<DnsAnswer>>);

impl Fetch for Names {
    async fn fetch(&self, _request: FetchRequest) -> FetchResult {
        Err(FetchError::new(ErrorKind::Connection, "nobody is there"))
    }

    fn take_dns_answers(&self) -> Vec<DnsAnswer> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// What a listener heard.
#[derive(Default)]
struct Heard {
    /// Pages that were judged, and whether they may be fetched.
    judged: Vec<(String, bool)>,
    /// Pages that were durable, each time that it said so.
    pages: Vec<u64>,
}

/// A crawl, and what its listener heard.
struct Crawl {
    engine: Engine<Names, PowerCutStore>,
    heard: Arc<Mutex<Heard>>,
}

impl Crawl {
    fn new(seeds: &[&str]) -> Self {
        Self::with(seeds, |settings| settings)
    }

    /// A new crawl from these seeds, with hosts that have no gap, that looks for no sitemaps.
    fn with(seeds: &[&str], adjust: impl Fn(EngineSettings) -> EngineSettings) -> Self {
        let mut settings = Settings::default();
        settings.pace.delay = Duration::ZERO;
        settings.pace.max_crawl_delay = LONGEST;
        settings.scope.sitemaps = false;
        let store = Arc::new(PowerCutStore::new(Arc::<MemoryStore>::default(), u64::MAX).unwrap());
        let clock = Clock::simulated("2026-03-01T00:00:00Z".parse().unwrap());
        let mut scope = job::scope(&settings).unwrap();
        let seeds: Vec<_> = seeds.iter().map(|seed| url(seed)).collect();
        for seed in &seeds {
            scope.add_seed(seed);
        }
        job::queue_seeds(&store, &scope, &seeds, &[], KEY, clock.now().wall).unwrap();
        let caches = Arc::new(OriginCache::new(1 << 20));
        let context = Arc::new(VisitContext {
            fetch: Names::default(),
            caches: Arc::clone(&caches),
            robots: job::robots_cache(&settings, Arc::clone(&store), &caches).with_clock(clock),
            consent: job::consent_cache(&settings, Arc::clone(&store), &caches),
            revisiting: Revisiting::never(),
            pages: Arc::new(job::page_rules(&settings, Vec::new(), KEY)),
            clock,
            seed_hosts: seeds.iter().map(|seed| seed.host().into()).collect(),
            max_crawl_delay: LONGEST,
            retries: settings.fetch.retries,
            max_wait: settings.pace.max_wait,
        });
        let heard = Arc::<Mutex<Heard>>::default();
        let listener = Arc::clone(&heard);
        let committer = Committer::open(Arc::clone(&store), None).unwrap();
        let listen = move |event: CrawlEvent<'_>| match event {
            CrawlEvent::Judged { url, allowed, .. } => {
                listener.lock().unwrap().judged.push((url.to_string(), allowed));
            }
            CrawlEvent::Committed(totals) => listener.lock().unwrap().pages.push(totals.pages),
            _ => {}
        };
        let parts = EngineParts::new(committer, Box::new(listen));
        let settings = adjust(job::engine_settings(&settings, KEY));
        Self { engine: Engine::open(settings, context, &store, scope, parts).unwrap(), heard }
    }

    fn now(&self) -> Now {
        self.engine.clock.now()
    }

    fn lease(&mut self) -> Permit {
        let now = self.now();
        self.engine.frontier.lease(now).unwrap().expect("a host is ready")
    }

    /// Leases a host, and settles the visit with what happens. Returns the URL.
    fn settle(&mut self, event: Event) -> String {
        self.settle_as(outcome(event))
    }

    fn settle_as(&mut self, outcome: Outcome) -> String {
        let permit = self.lease();
        let url = permit.lease().url.to_string();
        self.engine.settle(permit, outcome).unwrap();
        url
    }

    /// What is about to be committed.
    fn batch(&self) -> &Batch {
        &self.engine.group.batch
    }

    fn decided(&self, decision: &Decided) -> Vec<&Decision> {
        self.batch().decisions.iter().filter(|entry| entry.decision == *decision).collect()
    }

    /// The robots.txt of <http://a.test> with this text.
    fn robots(&self, text: &str) -> Arc<Entry> {
        let origin = url("http://a.test/").origin();
        let fetch = RobotsFetch::new(origin.clone(), origin.robots_url().unwrap());
        let answer = Ok(response(200, &[], text));
        match self.engine.context.robots.answered(&fetch, &answer, self.now()).unwrap() {
            RobotsStep::Known(entry) => entry,
            RobotsStep::Hop(_) => panic!("no redirect"),
        }
    }
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn outcome(event: Event) -> Outcome {
    Outcome {
        request: None,
        robots_url: None,
        asked: None,
        half_rate: false,
        held: BacklogBytes::default(),
        captured: None,
        event,
    }
}

fn link(kind: &'static str, to: &str) -> FoundLink {
    let to = url(to);
    let fingerprint = to.fingerprint(&KEY);
    FoundLink {
        normal: None,
        target: Ok((to, fingerprint)),
        kind,
        rel: String::new(),
        rel_words: Vec::new(),
        text: "".into(),
        position: None,
        hreflang: None,
        is_resource: false,
        nofollow: false,
        skip: None,
    }
}

/// A page that may be indexed and followed.
fn page(at: &str, status: u16, links: Vec<FoundLink>) -> Visited {
    let record = PageRecord {
        url: at.to_owned(),
        status: Some(status),
        indexed: true,
        followed: true,
        ..PageRecord::default()
    };
    Visited {
        page: Fingerprint(1),
        verdict: None,
        record,
        links,
        warc: None,
        text: None,
        status: Some(status),
        keeps_links: false,
        withdrawn: Vec::new(),
        mark: None,
        kinds: Vec::new(),
        effects: Effects::default(),
        denials: None,
        encoded: None,
        growth: Growth::default(),
    }
}

fn found(at: &str, status: u16, links: Vec<FoundLink>) -> Event {
    Event::Page(Box::new(page(at, status, links)))
}

/// Any records for the archive.
fn records(of: &str) -> Encoded {
    Encoded::of_dns_answer(of, jiff::Timestamp::UNIX_EPOCH, &[])
}

#[tokio::test(start_paused = true)]
async fn robots_txt_and_answers_of_name_servers_go_to_the_archive() {
    let mut crawl = Crawl::new(&["http://a.test/"]);
    tokio::time::advance(Duration::from_secs(60)).await;
    let earlier: Instant = instant().checked_sub(Duration::from_secs(5)).unwrap();
    let lines = vec!["a.test.\t60\tIN\tA\t192.0.2.1".to_owned()];
    let answer = |host: &str, at| DnsAnswer { host: host.to_owned(), at, records: lines.clone() };
    *crawl.engine.context.fetch.0.lock().unwrap() =
        vec![answer("a.test", earlier), answer("b.test", instant())];
    let captured = Captured {
        url: url("http://a.test/robots.txt"),
        encoded: records("for robots.txt"),
        held: BacklogBytes::default(),
    };
    crawl.settle_as(Outcome { captured: Some(captured), ..outcome(Event::Unanswered) });
    let at = |text: &str| text.parse().unwrap();
    let dns = |host: &str, at| (format!("dns:{host}"), Encoded::of_dns_answer(host, at, &lines));
    let expected = [
        ("http://a.test/robots.txt".to_owned(), records("for robots.txt")),
        // When the answer came, not when it was taken.
        dns("a.test", at("2026-03-01T00:00:55Z")),
        dns("b.test", at("2026-03-01T00:01:00Z")),
    ];
    assert_eq!(crawl.batch().archive, expected);
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_robots_txt_asks_for_more_than_is_waited_for_is_parked_at_once() {
    let second = Duration::from_secs(1);
    for (length, is_parked) in
        [(LONGEST.saturating_sub(second), false), (LONGEST, false), (LONGEST + second, true)]
    {
        let mut crawl = Crawl::new(&["http://a.test/"]);
        let entry = crawl.robots(&format!("User-agent: *\nCrawl-delay: {}\n", length.as_secs()));
        let asked = Some(Delay { length, why: DelayReason::CrawlDelay });
        crawl.settle_as(Outcome { asked, ..outcome(Event::Robots(Arc::clone(&entry))) });
        assert_eq!(crawl.batch().robots, [Arc::clone(&entry.record)], "{length:?}");
        let parked = crawl.decided(&Decided::Parked);
        let reasons: Vec<_> = parked.iter().map(|entry| (&*entry.host, entry.reason.clone())).collect();
        let expected = is_parked.then(|| ("a.test", PlainReason::MaxCrawlDelay.into()));
        assert_eq!(reasons, Vec::from_iter(expected), "{length:?}");
        assert_eq!(crawl.engine.frontier.parked_for().unwrap().is_some(), is_parked, "{length:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_robots_txt_counts_as_it_is_stored_until_it_is_committed() {
    let mut crawl = Crawl::new(&["http://a.test/"]);
    let text = format!("User-agent: *\nDisallow: /{}\n", "x".repeat(100_000));
    let entry = crawl.robots(&text);
    let held = BacklogBytes::of_a_test(1 << 30);
    crawl.settle_as(Outcome { held, ..outcome(Event::Robots(entry)) });
    let held: usize = crawl.batch().held.iter().map(BacklogBytes::bytes).sum();
    // As the record, and as its JSON; nothing of the rules.
    assert!((2 * text.len()..3 * text.len()).contains(&held), "{held}");
}

#[tokio::test(start_paused = true)]
async fn urls_of_an_unreachable_origin_go_behind_the_others_until_none_else_remain() {
    let urls = ["http://a.test/", "https://a.test/1", "http://a.test/more", "https://a.test/2"];
    let mut crawl = Crawl::new(&urls);
    let never_known = || {
        Event::NeverKnown(Delay { length: LONGEST, why: DelayReason::RobotsUnreachable }, "tls".to_owned())
    };
    let mut asked = Vec::new();
    for is_known in [true, false, true, false, false, false] {
        let event = if is_known { found("http://a.test/", 200, Vec::new()) } else { never_known() };
        asked.push(crawl.settle(event));
    }
    // The page between them is something else that had its turn: the two URLs are put back once each after it. Then the host waits.
    let expected = [urls[0], urls[1], urls[2], urls[3], urls[1], urls[3]];
    assert_eq!(asked, expected);
    let paused: Vec<_> = crawl.decided(&Decided::Paused).iter().map(|entry| &*entry.url).collect();
    assert_eq!(paused, [urls[3]]);
    let now = crawl.now();
    assert!(crawl.engine.frontier.lease(now).unwrap().is_none(), "the host pauses");
    // Entered once for the origin.
    let put_back: Vec<_> = crawl.decided(&Decided::PutBack).iter().map(|entry| &*entry.url).collect();
    assert_eq!(put_back, [urls[1]]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_told_what_robots_txt_says_to_each_page() {
    for plan in [true, false] {
        let mut crawl =
            Crawl::with(&["http://a.test/1", "http://a.test/2"], |s| EngineSettings { plan, ..s });
        crawl.settle(Event::Judged(RobotsEvidence::default()));
        crawl.settle(Event::Denied(RobotsEvidence::default()));
        let heard = crawl.heard.lock().unwrap();
        let expected = [("http://a.test/1".to_owned(), true), ("http://a.test/2".to_owned(), false)];
        assert_eq!(heard.judged, if plan { expected.to_vec() } else { Vec::new() });
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_stored_with_how_it_was_found() {
    let mut crawl = Crawl::new(&["http://a.test/"]);
    let [seed, linked, moved] = ["http://a.test/", "http://a.test/linked", "http://a.test/moved"];
    crawl.settle(found(seed, 200, vec![link("a", linked)]));
    crawl.settle(found(linked, 301, vec![link("redirect", moved)]));
    crawl.settle(found(moved, 200, Vec::new()));
    let stored =
        crawl.batch().pages.iter().map(|page| (&*page.record.url, page.discovery.as_deref().cloned()));
    let by = |via: Option<&str>, depth, redirects| {
        Some(Discovery { via: via.map(str::to_owned), depth, redirects, kept: None })
    };
    let expected = [(seed, by(None, 0, 0)), (linked, by(Some(seed), 1, 0)), (moved, by(Some(linked), 1, 1))];
    assert_eq!(stored.collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_led_to_others_is_looked_up_with_those_stored_beside_it() {
    let pages = ["http://a.test/1", "http://a.test/2", "http://a.test/3"];
    let mut crawl = Crawl::new(&pages);
    for page in pages {
        crawl.settle(found(page, 200, Vec::new()));
    }
    let now = crawl.now();
    let mut committing = crawl.engine.begin_commit(now).unwrap().unwrap();
    committing.write();
    crawl.engine.written(Ok(committing)).unwrap();
    let via = |crawl: &Crawl, url: &str| {
        let url = CrawlUrl::parse(url).unwrap();
        let host = crawl.engine.frontier.known(url.host()).expect("it was asked");
        page::ids::Via { host, page: url.fingerprint(&crawl.engine.key) }
    };
    crawl.engine.urls = UrlsOfPages::new(8);
    let [first, second, third] = pages.map(|page| via(&crawl, page));
    assert_eq!(crawl.engine.url_of(second).as_deref(), Some(pages[1]));
    let mut remembered = |via| crawl.engine.urls.get(via).map(str::to_owned);
    assert_eq!([first, third].map(&mut remembered), [Some(pages[0].to_owned()), Some(pages[2].to_owned())]);
    let unknown = via(&crawl, "http://a.test/4");
    assert_eq!(crawl.engine.url_of(unknown), None);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_to_itself_is_a_failure_with_its_reason() {
    let mut crawl = Crawl::new(&["http://a.test/"]);
    crawl.settle(found("http://a.test/", 301, vec![link("redirect", "http://a.test/")]));
    let errors: Vec<_> = crawl.batch().pages.iter().map(|page| page.record.error.as_deref()).collect();
    assert_eq!(errors, [Some("redirect_loop")]);
}

#[tokio::test(start_paused = true)]
async fn links_of_a_page_that_forbids_to_index_and_to_follow_are_not_stored() {
    for (indexed, followed, listed) in
        [(true, true, 1), (true, false, 1), (false, true, 1), (false, false, 0)]
    {
        let mut crawl = Crawl::new(&["http://a.test/"]);
        let mut visited = page("http://a.test/", 200, vec![link("a", "http://a.test/1")]);
        visited.record = PageRecord { indexed, followed, ..visited.record };
        crawl.settle(Event::Page(Box::new(visited)));
        let pages = &crawl.batch().pages;
        assert_eq!(pages.iter().map(|page| page.links.len()).collect::<Vec<_>>(), [listed]);
    }
}

#[tokio::test(start_paused = true)]
async fn everything_of_a_page_counts_for_the_size_of_the_commit() {
    let mut crawl =
        Crawl::with(&["http://a.test/"], |settings| EngineSettings { ledger: LedgerLevel::Off, ..settings });
    let permit = crawl.lease();
    let mut visited = page("http://a.test/", 200, Vec::new());
    visited.warc = Some(records("for the page"));
    visited.text = Some(Box::new(MainText { text: "x".repeat(1_000), ..MainText::default() }));
    let links: Vec<LinkRecord> = vec![link("a", "http://a.test/1").into_record(LinkOutcome::Queued)];
    let expected = serde_json::to_vec(&visited.record).unwrap().len()
        + records("for the page").bytes.len()
        + 1_000
        + packed_size(&links);
    let before = crawl.engine.group.bytes;
    let fingerprint = permit.lease().url.fingerprint(&KEY);
    crawl.engine.store_page(permit.lease(), fingerprint, visited, links);
    assert_eq!(crawl.engine.group.bytes - before, expected);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_changed_nothing_is_stored_with_its_own_time_and_status() {
    let mut crawl = Crawl::new(&["http://a.test/"]);
    tokio::time::advance(Duration::from_secs(60)).await;
    // The record is that of an earlier visit.
    let visited = page("http://a.test/", 200, Vec::new());
    crawl.settle(Event::Page(Box::new(Visited { status: Some(304), keeps_links: true, ..visited })));
    let kept: Vec<_> = crawl.batch().pages.iter().map(|page| page.discovery.as_ref().unwrap().kept).collect();
    assert_eq!(kept, [Some(("2026-03-01T00:01:00Z".parse().unwrap(), Some(304)))]);
}

#[tokio::test(start_paused = true)]
async fn the_date_from_which_on_a_page_is_unavailable_is_entered_while_there_is_content() {
    let date = "2026-03-02T00:00:00Z".parse().unwrap();
    for has_content in [true, false] {
        let mut crawl = Crawl::new(&["http://a.test/"]);
        let mut visited = page("http://a.test/", 200, Vec::new());
        visited.record.unavailable_after = Some(date);
        visited.record.indexed = has_content;
        crawl.settle(Event::Page(Box::new(visited)));
        let frontier = &mut crawl.engine.frontier;
        let key = due_key(date, frontier.host_id("a.test").unwrap(), url("http://a.test/").fingerprint(&KEY));
        assert_eq!(frontier.get(Tree::Due, &key).unwrap().is_some(), has_content);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_waits_for_its_robots_txt_that_is_elsewhere_and_no_longer() {
    let [page, elsewhere] = ["http://a.test/", "http://b.test/robots.txt"];
    let mut crawl = Crawl::new(&[page]);
    let fetch = RobotsFetch::new(url(page).origin(), url(elsewhere));
    assert_eq!(crawl.settle(Event::RobotsHop(fetch)), page);
    let permit = crawl.lease();
    let asked = (crawl.engine.frontier.name(permit.lease().host), permit.lease().url.as_str());
    assert_eq!(asked, ("b.test", elsewhere));
    let now = crawl.now();
    assert!(crawl.engine.frontier.lease(now).unwrap().is_none(), "the page's host waits");
    let entry = crawl.robots("User-agent: *\nDisallow: /x\n");
    crawl.engine.settle(permit, outcome(Event::Robots(entry))).unwrap();
    assert_eq!(crawl.lease().lease().url.as_str(), page);
}

#[tokio::test(start_paused = true)]
async fn a_host_is_asked_again_once_its_answer_is_written_which_counts_once_it_is_synced() {
    let urls: Vec<String> = (1..10).map(|number| format!("http://a.test/{number}")).collect();
    let mut crawl = Crawl::new(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let counted = |crawl: &Crawl| -> Vec<u64> { crawl.heard.lock().unwrap().pages.clone() };
    let answer = |crawl: &mut Crawl| {
        let permit = crawl.lease();
        let (at, now) = (permit.lease().url.to_string(), crawl.now());
        let request = Requested {
            started: now,
            ended: now,
            bytes: 1,
            status: Some(200),
            retry_after: None,
            address: None,
            unreached: false,
            given_up: false,
        };
        let answered = Outcome { request: Some(request), ..outcome(found(&at, 200, Vec::new())) };
        crawl.engine.settle(permit, answered).unwrap();
    };
    let write = |crawl: &mut Crawl| {
        let now = crawl.now();
        let mut committing = crawl.engine.begin_commit(now).unwrap().unwrap();
        committing.write();
        crawl.engine.written(Ok(committing)).unwrap();
    };
    answer(&mut crawl);
    let now = crawl.now();
    assert!(crawl.engine.frontier.lease(now).unwrap().is_none(), "a kill would undo the answer");
    assert!(crawl.engine.batch_due(0, now), "somebody waits for the commit");
    write(&mut crawl);
    assert_eq!(counted(&crawl), Vec::<u64>::new());
    answer(&mut crawl);
    write(&mut crawl);
    assert_eq!(counted(&crawl), Vec::<u64>::new());

    // Both are synced at once.
    let sync = crawl.engine.start_sync().expect("something is to be synced");
    assert!(crawl.engine.start_sync().is_none(), "one at a time");
    answer(&mut crawl);
    write(&mut crawl);
    let done = sync.await;
    crawl.engine.synced(done).unwrap();
    assert_eq!(counted(&crawl), [2]);

    // A disk that doesn't keep up holds up what is written next.
    let now = crawl.now();
    assert!(!crawl.engine.group.is_behind(now));
    tokio::time::advance(Duration::from_millis(100)).await;
    let now = crawl.now();
    assert!(crawl.engine.group.is_behind(now));
    let sync = crawl.engine.start_sync().expect("the third");
    assert!(crawl.engine.group.is_behind(now), "until it is over");
    let done = sync.await;
    crawl.engine.synced(done).unwrap();
    assert!(!crawl.engine.group.is_behind(now));
    assert_eq!(counted(&crawl), [2, 3]);
    assert!(crawl.engine.start_sync().is_none(), "nothing remains");

    // Where the processors are busy, visits in flight may join the next one until 7 ms after the last.
    let mut rested = |is_busy: bool| {
        answer(&mut crawl);
        write(&mut crawl);
        crawl.engine.group.busy.set(is_busy);
        answer(&mut crawl);
        let now = crawl.now();
        assert!(crawl.engine.frontier.lease(now).unwrap().is_none());
        let later = Now { mono: now.mono + Duration::from_millis(7), ..now };
        assert!(crawl.engine.batch_due(0, now), "nobody may join it");
        assert!(crawl.engine.batch_due(1, now), "half of the hosts wait for it");
        assert!(crawl.engine.batch_due(2, later), "they don't come soon");
        let due = crawl.engine.batch_due(2, now);
        write(&mut crawl);
        due
    };
    assert!(!rested(true), "two may join it");
    assert!(rested(false));
}

#[tokio::test(start_paused = true)]
async fn a_chain_of_redirects_is_followed_back_to_its_first_url() {
    let urls = ["http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"];
    let mut crawl = Crawl::new(&urls);
    let host = crawl.engine.frontier.known("a.test").unwrap();
    let via = |at: &str| Some(Via { host, page: url(at).fingerprint(&KEY) });
    // The first three redirect to the one after them; a page that links led to the first of the other chain, which has one redirect.
    for (nth, before) in [(0, None), (1, via(urls[0])), (2, via(urls[1])), (3, via("http://a.test/front"))] {
        let mut visited = page(urls[nth], 301, Vec::new());
        visited.record.via = before;
        visited.record.redirect = Some(urls.get(nth + 1).unwrap_or(&"http://a.test/5").to_string());
        assert_eq!(crawl.settle(Event::Page(Box::new(visited))), urls[nth]);
    }
    let chain = |at: &str, led: Option<Via>| {
        let Chain { first, redirects, is_whole } = crawl.engine.records().chain_to(at, led).unwrap();
        (first, redirects, is_whole)
    };
    let from = |first: &str, redirects, is_whole| (first.to_owned(), redirects, is_whole);
    assert_eq!(chain(urls[0], None), from(urls[0], 0, true));
    assert_eq!(chain(urls[1], via(urls[0])), from(urls[0], 1, true));
    assert_eq!(chain(urls[3], via(urls[2])), from(urls[0], 3, true));
    // Found on a page, which no record has; and by a link on a page that redirects elsewhere.
    assert_eq!(chain("http://a.test/5", via(urls[3])), from(urls[3], 1, false));
    assert_eq!(chain("http://a.test/x", via(urls[2])), from("http://a.test/x", 0, false));
}
