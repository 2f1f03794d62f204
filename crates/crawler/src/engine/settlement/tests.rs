mod entries;

use std::fmt::Write as _;

use jiff::Timestamp;
use meta::Effects;
use proptest::prelude::*;

use super::*;
use crate::fetch::{ErrorKind, FetchError};
use crate::frontier::{HostCounts, HostState};
use crate::pace::{DelayReason, HostPace, as_the_site_sees};
use crate::record::{SitemapFound, Wall};
use crate::visit::{BacklogBytes, Growth};
use ::page::ids::HostId;
use ::page::url::Fingerprint;
use walls::{Answer, Streak, Verdict, classify};

fn rules() -> Rules {
    Rules {
        pace: PaceRules {
            delay: secs(1),
            adaptive: 5.0,
            max_delay: secs(60),
            max_backoff: Duration::from_mins(15),
        },
        retries: 2,
        max_crawl_delay: secs(300),
        max_pages_per_host: None,
        local_patience: secs(600),
        ledger: LedgerLevel::Decisions,
        archive: true,
    }
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A moment, in milliseconds after the start.
fn at(ms: u32) -> Now {
    let wall = Timestamp::from_millisecond(1_000_000 + i64::from(ms)).unwrap();
    Now { mono: Duration::from_millis(ms.into()), wall }
}

/// The visit is settled at 10.5 s; its request took from 10.0 to 10.1 s.
fn facts() -> Facts {
    Facts {
        own_delay: Delay { length: Duration::ZERO, why: DelayReason::Operator },
        now: at(10_500),
        jitter: 0.0,
        stands_aside: false,
        shortage: None,
        original: None,
        redirect: None,
    }
}

fn asked(status: Option<u16>) -> Requested {
    Requested {
        started: at(10_000),
        ended: at(10_100),
        bytes: 700,
        status,
        retry_after: None,
        address: None,
        unreached: false,
        given_up: false,
    }
}

const ENDED: Duration = Duration::from_millis(10_100);

fn lease(work: Work) -> Lease {
    let url = CrawlUrl::parse("http://a.test/page").unwrap();
    let state = HostState {
        gap: Delay { length: secs(1), why: DelayReason::Configured },
        waited: Delay { length: secs(4), why: DelayReason::RetryAfter },
        not_before: secs(9),
        ..HostState::of_a_test()
    };
    let class = Arc::default();
    Lease { host: HostId(3), token: 1, url, work, rested: None, class, booking: None, state }
}

fn item(tries: u8) -> QueuedUrl {
    let url = CrawlUrl::parse("http://a.test/page").unwrap();
    QueuedUrl { tries, ..QueuedUrl::link(&url, 2, None) }
}

fn robots_fetch() -> RobotsFetch {
    let of = CrawlUrl::parse("http://b.test/").unwrap();
    let url = CrawlUrl::parse("http://a.test/robots.txt").unwrap();
    let hops = vec!["http://b.test/robots.txt".to_owned()];
    RobotsFetch { hops, judged: true, ..RobotsFetch::new(of.origin(), url) }
}

fn sitemap(tries: u8) -> Work {
    let found = SitemapRecord::found(
        "http://a.test/page".to_owned(),
        SitemapFound::WellKnown,
        "http://a.test".to_owned(),
        Timestamp::UNIX_EPOCH,
    );
    Work::Sitemap(Box::new(SitemapRecord { tries, ..found }))
}

fn outcome(request: Option<Requested>, event: Event) -> Outcome {
    Outcome {
        request,
        robots_url: None,
        asked: None,
        half_rate: false,
        held: BacklogBytes::default(),
        captured: None,
        event,
    }
}

fn page(status: u16) -> Event {
    let record = PageRecord {
        url: "http://a.test/page".to_owned(),
        status: Some(status),
        indexed: true,
        archived: true,
        followed: true,
        ..PageRecord::default()
    };
    Event::Page(Box::new(Visited {
        page: Fingerprint(9),
        verdict: None,
        record,
        links: Vec::new(),
        warc: None,
        text: None,
        status: Some(status),
        keeps_links: status == 304,
        withdrawn: Vec::new(),
        mark: None,
        kinds: Vec::new(),
        effects: Effects::default(),
        denials: None,
        encoded: None,
        growth: Growth::default(),
    }))
}

fn failure(kind: ErrorKind) -> Event {
    let mut error = FetchError::new(kind, "for the test");
    error.connected = !matches!(kind, ErrorKind::Dns | ErrorKind::Connection | ErrorKind::BlockedAddress);
    Event::Failed(error, RobotsEvidence::default())
}

/// What is decided, as one line: the URL's place, the wait after the response (or after 10.5 s), and the entries.
fn summary(settled: &Settled, from: Duration) -> String {
    let Settlement { done, again, not_before, wait, host, .. } = &settled.settlement;
    let mut line = match (done, again) {
        (_, Some(item)) => format!("try {}", item.tries),
        (true, None) => "done".to_owned(),
        (false, None) => "stays".to_owned(),
    };
    let waits = not_before.saturating_sub(from).saturating_sub(as_the_site_sees(Duration::ZERO));
    write!(line, ", {} ms for {}", waits.as_millis(), wait.why).unwrap();
    if let Some(parked) = &host.parked {
        write!(line, ", parked: {parked}").unwrap();
    }
    for entry in &settled.entries {
        let Decision { decision, reason, evidence, .. } = &entry.decision;
        let with = if evidence.request.is_some() { " with the request" } else { "" };
        write!(line, "; {decision} {reason}{with}").unwrap();
    }
    line
}

fn settled(work: Work, outcome: Outcome) -> Settled {
    settle(&lease(work), outcome, facts(), &rules())
}

#[test]
fn what_a_response_means_for_the_url_and_its_host() {
    // A gap of 1 s is kept for 1,005 ms, and a pause of a minute for 35 ms more than it lasts: the site's own clock shall not show less.
    for (tries, status, expected) in [
        (0, 200, "done, 1005 ms for configured; fetched http_200 with the request"),
        (0, 404, "done, 1005 ms for configured; fetched http_404 with the request"),
        (0, 301, "done, 1005 ms for configured; fetched http_301 with the request"),
        (0, 304, "done, 1005 ms for configured; fetched http_304 with the request"),
        // Of a server error the page is at fault: the host goes on, the URL is tried twice more.
        (0, 500, "try 1, 1005 ms for configured; retry status with the request"),
        (1, 500, "try 2, 1005 ms for configured; retry status with the request"),
        (2, 500, "done, 1005 ms for configured; fetched http_500 with the request"),
        (0, 503, "try 1, 60035 ms for back-off; paused back-off; retry status with the request"),
        (0, 429, "try 1, 60035 ms for back-off; paused back-off; retry status with the request"),
        (2, 429, "done, 60035 ms for back-off; paused back-off; fetched http_429 with the request"),
    ] {
        let settled = settled(Work::Visit(item(tries)), outcome(Some(asked(Some(status))), page(status)));
        assert_eq!(summary(&settled, ENDED), expected, "{status} at try {tries}");
        assert!(settled.settlement.asked);
        let counts = settled.settlement.host.counts;
        assert_eq!((counts.requests, counts.bytes, counts.slowest_ms), (1, 700, 100), "{status}");
        let is_kept = settled.settlement.again.is_none();
        assert_eq!(matches!(settled.follow_up, FollowUp::Page(..)), is_kept, "{status} at try {tries}");
    }
}

#[test]
fn a_page_counts_once_as_what_it_is() {
    let counted = |status: u16| {
        let settled = settled(Work::Visit(item(2)), outcome(Some(asked(Some(status))), page(status)));
        let Totals { pages, redirects, unchanged, failed, .. } = settled.totals;
        let host = settled.settlement.host.counts;
        assert_eq!((host.pages, host.errors), (pages, failed), "{status}");
        (pages, redirects, unchanged, failed)
    };
    assert_eq!(counted(200), (1, 0, 0, 0));
    assert_eq!(counted(302), (0, 1, 0, 0));
    assert_eq!(counted(304), (0, 0, 1, 0));
    assert_eq!(counted(410), (0, 0, 0, 1));
    assert_eq!(counted(500), (0, 0, 0, 1));
}

#[test]
fn a_retry_after_is_kept_whatever_was_asked_for() {
    let request = Requested { retry_after: Some(secs(120)), ..asked(Some(200)) };
    let page = settled(Work::Visit(item(0)), outcome(Some(request), page(200)));
    let expected = "done, 120065 ms for retry-after; paused retry-after; fetched http_200 with the request";
    assert_eq!((summary(&page, ENDED).as_str(), page.soon), (expected, true));
    // Here the file is what is wrong, and its host waits all the same.
    let refused = settled(Work::Visit(item(0)), outcome(Some(request), failure(ErrorKind::Truncated)));
    let expected = "try 1, 120065 ms for retry-after; paused retry-after; retry truncated with the request";
    assert_eq!((summary(&refused, ENDED).as_str(), refused.soon), (expected, true));
    let elsewhere =
        settled(Work::RobotsFetch(robots_fetch()), outcome(Some(request), Event::RobotsHop(robots_fetch())));
    let expected =
        "stays, 120065 ms for retry-after; paused retry-after; redirected robots_txt with the request";
    assert_eq!(summary(&elsewhere, ENDED), expected);
}

#[test]
fn a_failure_is_the_hosts_where_nothing_came_and_the_pages_where_something_did() {
    for (kind, expected) in [
        (ErrorKind::Connection, "try 1, 1005 ms for configured; retry connection with the request"),
        (ErrorKind::Timeout, "try 1, 1005 ms for configured; retry timeout with the request"),
        (ErrorKind::Dns, "try 1, 1005 ms for configured; retry dns with the request"),
        (ErrorKind::Tls, "done, 1005 ms for configured; failed tls with the request"),
        (ErrorKind::Truncated, "try 1, 1005 ms for configured; retry truncated with the request"),
        (ErrorKind::Protocol, "try 1, 1005 ms for configured; retry protocol with the request"),
        (ErrorKind::TooLarge, "done, 1005 ms for configured; failed too_large with the request"),
    ] {
        let mut lease = lease(Work::Visit(item(0)));
        let first = settle(&lease, outcome(Some(asked(None)), failure(kind)), facts(), &rules());
        assert_eq!(summary(&first, ENDED), expected, "{kind:?}");
        // The fifth in a row: 1, 60, 120, 240, 480 s for a host that isn't there, the usual gap for one that is.
        lease.state.pace = HostPace { pushbacks: 4, ..HostPace::default() };
        let fifth = settle(&lease, outcome(Some(asked(None)), failure(kind)), facts(), &rules());
        let is_host =
            matches!(kind, ErrorKind::Connection | ErrorKind::Timeout | ErrorKind::Dns | ErrorKind::Tls);
        let waits = fifth.settlement.not_before.saturating_sub(ENDED);
        assert_eq!(waits, as_the_site_sees(if is_host { secs(480) } else { secs(1) }), "{kind:?}");
        let paused = fifth.entries.iter().filter(|entry| entry.decision.decision == Decided::Paused).count();
        assert_eq!((paused, fifth.soon), (usize::from(is_host), is_host), "{kind:?}");
        let pushbacks = fifth.settlement.host.pace.unwrap().pushbacks;
        assert_eq!(pushbacks, if is_host { 5 } else { 0 }, "{kind:?}");
        assert_eq!(matches!(first.follow_up, FollowUp::Failed(_)), first.settlement.again.is_none());
    }
}

#[test]
fn a_robots_txt_without_an_answer_is_asked_for_again_after_the_pauses_of_a_page() {
    let own = Some(CrawlUrl::parse("http://a.test/robots.txt").unwrap());
    for (work, whose) in
        [(Work::Visit(item(0)), ""), (Work::RobotsFetch(robots_fetch()), "robots.txt of http://b.test: ")]
    {
        for (failures, wait) in [(0, "1005 ms for configured"), (1, "60035 ms for back-off; paused back-off")]
        {
            let mut lease = lease(work.clone());
            lease.state.pace =
                HostPace { pushbacks: failures, robots_failures: failures, ..HostPace::default() };
            let event = Event::RobotsAgain(FetchError::new(ErrorKind::Connection, "refused"));
            let outcome = Outcome { robots_url: own.clone(), ..outcome(Some(asked(None)), event) };
            let settled = settle(&lease, outcome, facts(), &rules());
            let expected = format!("stays, {wait}; retry connection with the request");
            assert_eq!(summary(&settled, ENDED), expected, "{whose}");
            let Decision { url, layer, evidence, .. } = &settled.entries.last().unwrap().decision;
            assert_eq!((url.as_str(), layer), ("http://a.test/robots.txt", &Layer::Robots));
            let words = format!("{whose}connection: refused, try {}", failures + 1);
            assert_eq!(evidence.words.as_ref(), Some(&words));
            let pace = settled.settlement.host.pace.unwrap();
            assert_eq!((pace.pushbacks, pace.robots_failures), (failures + 1, failures + 1));
            assert_eq!(settled.settlement.host.counts.robots_requests, 1);
            assert_eq!(settled.resend.is_some(), !whose.is_empty());
        }
        // The answer ends the row; the attempt after which it counts as unreachable doesn't.
        for (status, left) in [(Some(301), Some(0)), (None, None)] {
            let mut lease = lease(work.clone());
            lease.state.pace = HostPace { pushbacks: 2, robots_failures: 2, ..HostPace::default() };
            let event = Event::RobotsHop(robots_fetch());
            let settled = settle(&lease, outcome(Some(asked(status)), event), facts(), &rules());
            assert_eq!(settled.settlement.host.pace.map(|pace| pace.pushbacks), left);
        }
    }
}

#[test]
fn without_a_request_the_host_waits_no_longer_than_before() {
    // The host was ready from 9 s on, after a pause of 4 s.
    let refused = || Event::Denied(RobotsEvidence::default());
    let blocked = || failure(ErrorKind::BlockedAddress);
    for (event, expected) in [
        (refused(), "done, 9000 ms for retry-after; skipped robots_txt"),
        (Event::Refused(Vec::new()), "done, 9000 ms for retry-after; skipped consent"),
        (Event::Judged(RobotsEvidence::default()), "done, 9000 ms for retry-after"),
        (Event::Addresses(Vec::new()), "stays, 9000 ms for retry-after"),
        (Event::Unanswered, "stays, 9000 ms for retry-after"),
        (blocked(), "done, 9000 ms for retry-after; failed blocked_address"),
    ] {
        let name = format!("{event:?}");
        let is_skip = matches!(event, Event::Denied(_) | Event::Refused(_));
        let settled = settled(Work::Visit(item(0)), outcome(None, event));
        assert_eq!(summary(&settled, Duration::ZERO), expected, "{name}");
        assert!(!settled.settlement.asked, "{name}");
        let skipped = (settled.settlement.host.counts.skipped, settled.totals.skipped);
        assert_eq!(skipped, (u64::from(is_skip), u64::from(is_skip)), "{name}");
        assert_eq!(settled.settlement.host.gap, None, "{name}");
    }
}

#[test]
fn a_host_waits_is_skipped_or_lets_its_other_origins_go_first() {
    let wait = Delay { length: secs(30), why: DelayReason::VisitTime };
    let of = |event| settled(Work::Visit(item(0)), outcome(None, event));
    let now = facts().now.mono;
    let waits = of(Event::Wait(wait, "Visit-time".to_owned()));
    assert_eq!(summary(&waits, now), "stays, 30000 ms for visit-time; paused visit-time");

    let wait = Delay { length: secs(40), why: DelayReason::RobotsUnreachable };
    let never_known = || outcome(None, Event::NeverKnown(wait, "500".to_owned()));
    let waits = settle(&lease(Work::Visit(item(0))), never_known(), facts(), &rules());
    let expected = "stays, 40000 ms for robots.txt unreachable; paused robots.txt unreachable";
    assert_eq!(summary(&waits, now), expected);
    let facts = Facts { stands_aside: true, ..facts() };
    let aside = settle(&lease(Work::Visit(item(0))), never_known(), facts, &rules());
    assert_eq!(summary(&aside, Duration::ZERO), "done, 9000 ms for retry-after");
    assert!(matches!(aside.follow_up, FollowUp::Aside(..)));

    let slow = of(Event::TooSlow(Delay { length: secs(900), why: DelayReason::CrawlDelay }));
    let expected = "stays, 9000 ms for retry-after, parked: crawl-delay 900 s is over max-crawl-delay; \
                    parked max_crawl_delay";
    assert_eq!(summary(&slow, Duration::ZERO), expected);
    let limit = slow.entries[0].decision.evidence.limit.as_ref().unwrap();
    assert_eq!((limit.name.as_str(), limit.value.as_str()), ("max-crawl-delay", "300s"));
}

#[test]
fn the_gap_is_that_of_the_host_that_was_asked() {
    let asks = |work: Work, event: Event, gap: u64| {
        let length = secs(gap);
        let mut lease = lease(work);
        lease.state.gap = Delay { length: secs(7), why: DelayReason::CrawlDelay };
        let asked_for = Some(Delay { length, why: DelayReason::CrawlDelay });
        let outcome = Outcome { asked: asked_for, ..outcome(Some(asked(Some(200))), event) };
        settle(&lease, outcome, facts(), &rules()).settlement
    };
    // Its own robots.txt says 20 s now, where it said 7 s.
    let own = asks(Work::Visit(item(0)), page(200), 20);
    assert_eq!((own.host.gap.unwrap().length, own.wait.length), (secs(20), secs(20)));
    // It has taken the line back.
    let own = asks(Work::Visit(item(0)), page(200), 2);
    assert_eq!(own.host.gap.unwrap().length, secs(2));
    // It was asked for the robots.txt of b.test, which asks for 20 s: that isn't its own, and its own 7 s stay.
    let foreign = asks(Work::RobotsFetch(robots_fetch()), Event::RobotsHop(robots_fetch()), 20);
    assert_eq!((foreign.host.gap.unwrap().length, foreign.host.counts.robots_requests), (secs(7), 1));
}

#[test]
fn half_the_rate_is_twice_the_gap_and_a_slow_server_gets_five_times_its_own() {
    let with = |took_ms: u32, half_rate: bool| {
        let request = Requested { started: at(10_100 - took_ms), ..asked(Some(200)) };
        let outcome = Outcome { half_rate, ..outcome(Some(request), page(200)) };
        settled(Work::Visit(item(0)), outcome).settlement.wait
    };
    assert_eq!(with(100, true).length, secs(2));
    assert_eq!(with(4_000, false), Delay { length: secs(20), why: DelayReason::Adaptive });
    assert_eq!(with(4_000, true).length, secs(40));
}

#[test]
fn a_response_that_was_given_up_is_followed_by_25_ms_more() {
    let lease = lease(Work::Visit(item(0)));
    let rules = Rules {
        pace: PaceRules { delay: Duration::from_millis(20), adaptive: 0.0, ..rules().pace },
        ..rules()
    };
    let next = |given_up| {
        let request = Requested { given_up, ..asked(Some(200)) };
        settle(&lease, outcome(Some(request), page(200)), facts(), &rules)
            .settlement
            .not_before
            .saturating_sub(ENDED)
    };
    assert_eq!((next(false), next(true)), (Duration::from_micros(20_400), Duration::from_millis(45)));
}

#[test]
fn a_host_that_has_brought_enough_pages_is_skipped() {
    let mut lease = lease(Work::Visit(item(0)));
    let rules = Rules { max_pages_per_host: Some(5), ..rules() };
    for (before, parked) in [(3, None), (4, Some("max-pages-per-host 5"))] {
        lease.state.counts = HostCounts { pages: before, ..HostCounts::default() };
        let settled = settle(&lease, outcome(Some(asked(Some(200))), page(200)), facts(), &rules);
        assert_eq!(settled.settlement.host.parked.as_deref(), parked);
        let entry = settled.entries.iter().any(|entry| entry.decision.decision == Decided::Parked);
        assert_eq!(entry, parked.is_some());
    }
}

#[test]
fn a_redirect_that_is_not_followed_is_the_pages_error() {
    let facts = Facts { redirect: Some(LinkOutcome::RedirectLoop), ..facts() };
    let lease = lease(Work::Visit(item(0)));
    let settled = settle(&lease, outcome(Some(asked(Some(302))), page(302)), facts, &rules());
    let FollowUp::Page(visited, ..) = &settled.follow_up else { panic!("{:?}", settled.follow_up) };
    assert_eq!(visited.record.error.as_deref(), Some("redirect_loop"));
    assert_eq!((settled.totals.redirects, settled.totals.failed), (0, 1));
}

#[test]
fn the_body_of_a_duplicate_stays_out_of_the_archive() {
    let original = CrawlUrl::parse("http://a.test/original").unwrap();
    let facts = Facts { original: Some((original, "rel=canonical")), ..facts() };
    let lease = lease(Work::Visit(item(0)));
    let settled = settle(&lease, outcome(Some(asked(Some(200))), page(200)), facts, &rules());
    let expected = "done, 1005 ms for configured; not_archived duplicate; fetched http_200 with the request";
    assert_eq!(summary(&settled, ENDED), expected);
    let FollowUp::Page(visited, ..) = &settled.follow_up else { panic!("{:?}", settled.follow_up) };
    assert_eq!(visited.record.duplicate_of.as_deref(), Some("http://a.test/original"));
    assert_eq!((visited.record.archived, settled.totals.archived, settled.totals.indexed), (false, 0, 1));
}

#[test]
fn what_a_page_forbids_is_entered_and_a_ledger_that_is_off_has_nothing() {
    let mut event = page(200);
    if let Event::Page(visited) = &mut event {
        visited.record.indexed = false;
        visited.record.archived = false;
        visited.denials = Some("robots.txt: Content-Signal: search=no".to_owned());
    }
    let settled = settled(Work::Visit(item(0)), outcome(Some(asked(Some(200))), event));
    let expected = "done, 1005 ms for configured; fetched http_200 with the request; not_indexed consent; \
                    not_archived consent";
    assert_eq!(summary(&settled, ENDED), expected);
    let off = Rules { ledger: LedgerLevel::Off, ..rules() };
    let lease = lease(Work::Visit(item(0)));
    let settled = settle(&lease, outcome(Some(asked(Some(200))), page(200)), facts(), &off);
    assert!(settled.entries.iter().all(|entry| entry.decision.decision == Decided::Asked));
    let full = Rules { ledger: LedgerLevel::Full, ..rules() };
    let settled = settle(&lease, outcome(Some(asked(Some(200))), page(200)), facts(), &full);
    let expected = "done, 1005 ms for configured; waits configured; fetched http_200 with the request";
    assert_eq!(summary(&settled, ENDED), expected);
}

#[test]
fn a_shortage_of_this_machine_is_nobodys_failure_until_patience_ends() {
    let local = || Event::Local(FetchError::new(ErrorKind::Local, "too many open files"));
    let short = |work: Work, request: Option<Requested>, begins: bool, gives_up: bool| {
        let shortage = Some(Shortfall { begins, gives_up, wait: secs(2) });
        settle(&lease(work), outcome(request, local()), Facts { shortage, ..facts() }, &rules())
    };
    let now = facts().now.mono;
    let begins = short(Work::Visit(item(0)), None, true, false);
    assert_eq!(summary(&begins, now), "stays, 2006 ms for local shortage; paused local");
    let goes_on = short(Work::Visit(item(0)), None, false, false);
    assert_eq!(summary(&goes_on, now), "stays, 2006 ms for local shortage");
    let no_memory = short(Work::Visit(item(0)), Some(asked(Some(200))), false, false);
    let expected = "stays, 2006 ms for local shortage; paused local with the request";
    assert_eq!(summary(&no_memory, ENDED), expected);
    let over = short(Work::Visit(item(0)), None, false, true);
    assert_eq!(summary(&over, Duration::ZERO), "done, 9000 ms for retry-after; failed local");
    assert!(matches!(&over.follow_up, FollowUp::Failed(record) if record.error.as_deref() == Some("local")));
    // Pages of another origin wait for that robots.txt: it stays to be asked for, much later.
    let robots = short(Work::RobotsFetch(robots_fetch()), None, false, true);
    assert_eq!(summary(&robots, now), "stays, 900455 ms for back-off");
    assert_eq!(robots.resend, Some(robots_fetch()));
    let sitemap = short(sitemap(0), None, false, true);
    assert!(matches!(&sitemap.follow_up, FollowUp::Sitemap { event: Event::Failed(..), again: false, .. }));
}

#[test]
fn a_sitemap_is_tried_again_like_a_page() {
    let failed = |tries| settled(sitemap(tries), outcome(Some(asked(None)), failure(ErrorKind::Timeout)));
    for (tries, expected) in [(0, true), (1, true), (2, false)] {
        let settled = failed(tries);
        let FollowUp::Sitemap { again, .. } = settled.follow_up else { panic!("{:?}", settled.follow_up) };
        assert_eq!(again, expected, "{tries}");
        assert!(settled.settlement.done && settled.request.is_some(), "{tries}");
    }
    let denied = settled(sitemap(0), outcome(None, Event::Denied(RobotsEvidence::default())));
    assert!(matches!(denied.follow_up, FollowUp::Sitemap { again: false, .. }));
    assert_eq!(denied.totals.skipped, 0, "a sitemap isn't a page");
}

#[test]
fn what_was_not_answered_is_asked_again_and_still_a_request() {
    let url = CrawlUrl::parse("http://a.test/robots.txt").unwrap();
    let unanswered =
        Outcome { robots_url: Some(url.clone()), ..outcome(Some(asked(None)), Event::Unanswered) };
    let settled = settled(Work::RobotsFetch(robots_fetch()), unanswered);
    assert_eq!(summary(&settled, ENDED), "stays, 1005 ms for configured; asked robots_txt with the request");
    assert_eq!(
        (settled.resend, settled.entries[0].decision.url.as_str()),
        (Some(robots_fetch()), url.as_str())
    );
}

fn events() -> impl Strategy<Value = (u8, Event)> {
    let status = prop_oneof![Just(200_u16), Just(301), Just(304), Just(404), Just(429), Just(500), Just(503)];
    let kind = prop_oneof![
        Just(ErrorKind::Timeout),
        Just(ErrorKind::Connection),
        Just(ErrorKind::Tls),
        Just(ErrorKind::Truncated),
        Just(ErrorKind::TooLarge),
    ];
    (0_u8..6, status, kind, 0_u8..4).prop_map(|(which, status, kind, tries)| {
        let event = match which {
            0 | 1 => page(status),
            2 | 3 => failure(kind),
            4 => Event::Unanswered,
            _ => Event::RobotsHop(robots_fetch()),
        };
        (tries, event)
    })
}

proptest! {
    /// Each request is in the ledger once; no gap is shorter than the delay, what robots.txt asks for, or `Retry-After`.
    #[test]
    fn each_request_is_entered_once_and_no_gap_is_short(
        (tries, event) in events(),
        work in 0_u8..3,
        retry_after in proptest::option::of(0_u64..100_000),
        crawl_delay in proptest::option::of(0_u64..300),
        pushbacks in 0_u32..12,
        jitter in 0.0_f64..1.0,
        full in proptest::bool::ANY,
    ) {
        let is_page = work == 0;
        let mut lease = lease(match work {
            0 => Work::Visit(item(tries)),
            1 => Work::RobotsFetch(robots_fetch()),
            _ => sitemap(tries),
        });
        lease.state.pace.pushbacks = pushbacks;
        let ledger = if full { LedgerLevel::Full } else { LedgerLevel::Decisions };
        let request = Requested { retry_after: retry_after.map(secs), ..asked(Some(200)) };
        let asked = crawl_delay.map(|length| Delay { length: secs(length), why: DelayReason::CrawlDelay });
        let outcome = Outcome { asked, ..outcome(Some(request), event) };
        let settled = settle(&lease, outcome, Facts { jitter, ..facts() }, &Rules { ledger, ..rules() });
        let entered = settled.entries.iter().filter(|entry| entry.decision.evidence.request.is_some()).count();
        prop_assert_eq!(entered + usize::from(settled.request.is_some()), 1);
        let waits = settled.settlement.not_before.saturating_sub(ENDED);
        prop_assert!(waits >= secs(1));
        prop_assert!(waits >= secs(retry_after.unwrap_or_default()));
        prop_assert!(!is_page || waits >= secs(crawl_delay.unwrap_or_default()));
        prop_assert!(settled.settlement.asked);
        prop_assert!(settled.settlement.wait.length <= waits);
    }
}

/// A lease of a host that answered in this way before.
fn after_walls(count: u64, verdict: &Verdict) -> Lease {
    let mut lease = lease(Work::Visit(item(0)));
    for url in 0..count {
        lease.state.walls.observe(verdict, url);
    }
    lease
}

/// A page with a verdict, as the visit hands it on.
fn walled(status: u16, verdict: &Verdict) -> Event {
    let Event::Page(mut visited) = page(status) else { panic!("a page") };
    visited.record.wall = Wall::of(verdict);
    visited.record.indexed = !verdict.is_certain();
    visited.verdict = Some(verdict.clone());
    Event::Page(visited)
}

#[test]
fn walls_in_a_row_pause_a_host_and_end_it_until_the_next_run() {
    let challenge = [("cf-mitigated", "challenge".as_bytes())];
    let verdict = classify(&Answer::new(403, "http://a.test/page").with_headers(challenge));
    let pause = |settled: &Settled| {
        (settled.settlement.wait.why == DelayReason::Wall).then_some(settled.settlement.wait.length)
    };
    let of = |before| {
        settle(
            &after_walls(before, &verdict),
            outcome(Some(asked(Some(403))), walled(403, &verdict)),
            facts(),
            &rules(),
        )
    };
    assert_eq!(
        [0, 1, 2, 3].map(|before| pause(&of(before))),
        [None, Some(secs(600)), Some(secs(3600)), None]
    );
    let ended = of(3);
    assert_eq!(
        ended.settlement.host.parked.as_deref(),
        Some("wall: challenged by cloudflare (cf-mitigated: challenge)")
    );
    let decisions: Vec<_> =
        ended.entries.iter().map(|entry| entry.decision.decision.as_str().to_owned()).collect();
    assert!(
        decisions.contains(&"parked".to_owned()) && decisions.contains(&"not_indexed".to_owned()),
        "{decisions:?}"
    );
    // A page between starts again.
    let plain = classify(&Answer::new(200, "http://a.test/page"));
    let settled = settle(
        &after_walls(3, &verdict),
        outcome(Some(asked(Some(200))), walled(200, &plain)),
        facts(),
        &rules(),
    );
    assert_eq!((pause(&settled), settled.settlement.host.parked), (None, None));
    assert_eq!(settled.settlement.host.walls, Some(Streak::default()));
}

#[test]
fn the_fifth_equal_likely_wall_makes_those_before_it_walls() {
    let body = "<title>Checking your browser</title><p>Please wait.</p>";
    let verdict = classify(&Answer::new(200, "http://a.test/page").with_body(body.as_bytes()));
    assert_eq!((verdict.outcome, verdict.suspect.is_some()), (walls::Outcome::Page, true));
    let lease = after_walls(4, &verdict);
    let settled = settle(&lease, outcome(Some(asked(Some(200))), walled(200, &verdict)), facts(), &rules());
    let FollowUp::Page(visited, _, earlier) = &settled.follow_up else { panic!("{:?}", settled.follow_up) };
    assert_eq!(*earlier, [0, 1, 2, 3].map(Fingerprint));
    assert_eq!((visited.record.outcome(), visited.record.indexed), ("challenged", false));
    assert_eq!((settled.totals.pages, settled.totals.failed), (0, 1));
}
