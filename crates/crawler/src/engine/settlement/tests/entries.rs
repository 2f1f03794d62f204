//! What is counted of a visit, and what its entries and records say.

use robots::Agent;
use robots::access::Policy;

use super::super::failure::{Blame, blames};
use super::*;
use crate::origin_cache::OriginCache;
use crate::record::{EffectsTaken, SiteFile};
use crate::robots_cache::{RobotsCache, RobotsStep};
use crate::store::MemoryStore;
use crate::visit::SitemapRead;
use ::page::ids::{HopId, Via};
use ::page::url::Fingerprint;

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

/// What robots.txt said, distinguished by its reason.
fn evidence(reason: &str) -> RobotsEvidence {
    RobotsEvidence { reason: reason.to_owned(), ..RobotsEvidence::default() }
}

/// A page's event, changed before it is settled.
fn page_with(status: u16, change: impl FnOnce(&mut Visited)) -> Outcome {
    let mut event = page(status);
    if let Event::Page(visited) = &mut event {
        change(visited);
    }
    outcome(Some(asked(Some(status))), event)
}

fn entry<'a>(settled: &'a Settled, decision: &Decided) -> Option<&'a Decision> {
    settled.entries.iter().map(|entry| &entry.decision).find(|entry| entry.decision == *decision)
}

#[test]
fn each_request_for_a_robots_txt_counts_as_one() {
    let entries = Arc::new(OriginCache::new(1 << 20));
    let cache = RobotsCache::new(
        Arc::new(MemoryStore::default()),
        Agent::new("SuperRobot"),
        robots::Options::default(),
        Policy::default(),
        entries,
    );
    let origin = url("http://a.test/").origin();
    let own = RobotsFetch::new(origin.clone(), origin.robots_url().unwrap());
    let failed = Err(FetchError::new(ErrorKind::Dns, "for the test"));
    let RobotsStep::Known(known) = cache.answered(&own, &failed, at(10_100)).unwrap() else {
        panic!("a failure is known")
    };
    for (request, requests) in [(Some(asked(Some(200))), 1), (None, 0)] {
        let own = settled(Work::Visit(item(0)), outcome(request, Event::Robots(Arc::clone(&known))));
        assert!(matches!(own.follow_up, FollowUp::Robots { .. }));
        assert_eq!(own.settlement.host.counts.robots_requests, requests);
        let before = Event::RobotsBefore(Arc::clone(&known), Ok(robots_fetch()));
        let before = settled(Work::RobotsFetch(robots_fetch()), outcome(request, before));
        assert!(matches!(before.follow_up, FollowUp::RobotsBefore { .. }));
        assert_eq!(before.settlement.host.counts.robots_requests, requests);
    }
}

#[test]
fn a_hop_says_whose_robots_txt_is_looked_for_and_where_it_leads() {
    let hop = outcome(Some(asked(Some(301))), Event::RobotsHop(robots_fetch()));
    let settled = settled(Work::RobotsFetch(robots_fetch()), hop);
    let entry = entry(&settled, &Decided::Redirected).unwrap();
    assert_eq!(entry.url, "http://b.test/robots.txt", "it was asked for before this hop");
    assert_eq!(entry.evidence.to.as_deref(), Some("http://a.test/robots.txt"));
    assert_eq!(entry.evidence.words.as_deref(), Some("robots.txt of http://b.test"));
}

#[test]
fn a_hop_for_another_partition_is_a_request_and_its_answer_is_entered_there() {
    let for_other = || {
        let id = HopId { part: 1, fence: 2, number: 3 };
        let failed = Err(FetchError::new(ErrorKind::Timeout, "for the test"));
        Event::HopForOther(Box::new(HopAnswer::new(id, at(10_100).wall, &failed)))
    };
    let robots_url = Some(url("http://a.test/other.txt"));
    let made = Outcome { robots_url, ..outcome(Some(asked(None)), for_other()) };
    let made = settled(Work::RobotsFetch(robots_fetch()), made);
    assert!(matches!(made.follow_up, FollowUp::HopForOther(_)));
    assert_eq!(made.settlement.host.counts.robots_requests, 1);
    let [entered] = &made.entries[..] else { panic!("{:?}", made.entries) };
    let Decision { url, decision, reason, evidence, .. } = &entered.decision;
    assert_eq!((url.as_str(), decision), ("http://a.test/other.txt", &Decided::Asked));
    assert_eq!(*reason, Reason::from(PlainReason::RobotsElsewhere));
    assert_eq!(evidence.words.as_deref(), Some("robots.txt of http://b.test"));
    assert!(evidence.request.is_some());

    let not_made = settled(Work::RobotsFetch(robots_fetch()), outcome(None, for_other()));
    assert_eq!((not_made.settlement.host.counts.robots_requests, not_made.entries.len()), (0, 0));
}

#[test]
fn the_answer_for_a_file_of_the_site_is_entered_under_its_url() {
    let file = SiteFile::AiTxt;
    let of = |record: Option<bool>| {
        let record = record.map(|unreachable| {
            Arc::new(SiteFileRecord {
                v: 1,
                origin: "http://a.test".to_owned(),
                file,
                url: "http://a.test/ai.txt".to_owned(),
                fetched_at: at(10_100).wall,
                expires: at(20_000).wall,
                status: Some(200),
                reason: "for the test".to_owned(),
                unreachable,
                body: None,
            })
        });
        let url = url("http://a.test/ai.txt");
        let status = Some(200);
        let answer = SiteFileAnswer { file, url, record, size: Size::default(), status, failure: None };
        let event = Event::SiteFile(Box::new(answer));
        settled(Work::Visit(item(0)), outcome(Some(asked(status)), event))
    };
    for (record, decision) in
        [(Some(true), Decided::FileUnreachable), (Some(false), Decided::FileKnown), (None, Decided::Retry)]
    {
        let settled = of(record);
        let [entered] = &settled.entries[..] else { panic!("{:?}", settled.entries) };
        let Decision { at: when, url, decision: decided, .. } = &entered.decision;
        assert_eq!((decided, url.as_str()), (&decision, "http://a.test/ai.txt"));
        assert_eq!(*when, at(10_100).wall, "when the answer was over");
        assert_eq!(matches!(settled.follow_up, FollowUp::SiteFile(..)), record.is_some());
    }
}

#[test]
fn an_answer_for_a_sitemap_is_judged_by_its_status_and_what_is_its_hosts_says_nothing_of_it() {
    let read = |tries: u8, status: u16, wall: Option<&Verdict>| {
        let read = SitemapRead {
            robots: RobotsEvidence::default(),
            status,
            bytes: 0,
            redirect: None,
            sitemap: None,
            wall: wall.cloned(),
        };
        let event = Event::Sitemap(Box::new(read));
        let settled = settled(sitemap(tries), outcome(Some(asked(Some(status))), event));
        let FollowUp::Sitemap { again, .. } = settled.follow_up else { panic!("{:?}", settled.follow_up) };
        (again, settled.soon, settled.settlement.host.walls)
    };
    // Whether it is tried again, and whether its host pauses.
    assert_eq!(read(0, 200, None), (false, false, None));
    assert_eq!(read(0, 404, None), (false, false, None));
    assert_eq!(read(0, 500, None), (true, false, None));
    assert_eq!(read(0, 503, None), (true, true, None));
    assert_eq!(read(2, 503, None), (false, true, None));

    // The wall that it meets again counts among those of its host.
    let header = [("cf-mitigated", "challenge".as_bytes())];
    let wall = classify(&Answer::new(503, "http://a.test/sitemap.xml").with_headers(header));
    let mut counted = Streak::default();
    counted.observe(&wall, 0);
    assert!(wall.is_certain() && counted != Streak::default());
    assert_eq!(read(0, 503, Some(&wall)), (false, true, Some(counted)));

    let unanswered = settled(sitemap(0), outcome(Some(asked(None)), Event::Unanswered));
    assert!(matches!(unanswered.follow_up, FollowUp::Nothing));
    assert!(!unanswered.settlement.done, "it is asked for again");
}

#[test]
fn a_request_whose_response_was_not_read_to_its_end_has_its_status() {
    let mut error = FetchError::new(ErrorKind::Timeout, "the body took too long");
    (error.connected, error.status) = (true, Some(206));
    let unwanted = UnwantedAnswer {
        is_limit: false,
        status: 200,
        words: "application/zip".to_owned(),
        robots: RobotsEvidence::default(),
    };
    for (event, status) in [
        (Event::Unwanted(unwanted), Some(200)),
        (Event::Failed(error, RobotsEvidence::default()), Some(206)),
        (Event::Failed(FetchError::new(ErrorKind::Timeout, "nothing"), RobotsEvidence::default()), None),
    ] {
        let settled = settled(Work::Visit(item(0)), outcome(Some(asked(None)), event));
        let of_request = |entered: &Entered| entered.decision.evidence.request.clone();
        let made = settled.entries.iter().find_map(of_request).expect("a request");
        for entered in &settled.entries {
            let evidence = entered.decision.evidence.to_string();
            assert!(!evidence.contains("(hardened)"), "nothing is known of robots.txt: {evidence}");
        }
        assert_eq!(made.status, status);
        assert_eq!(made.to_string().contains("no response"), status.is_none(), "{made}");
    }
}

#[test]
fn a_host_that_is_too_slow_is_the_one_that_is_named() {
    let asked = Delay { length: secs(900), why: DelayReason::CrawlDelay };
    // Its robots.txt was asked for at another host.
    let (_, entry) = too_slow("http://a.test/robots.txt", "b.test", asked, &rules(), at(0));
    assert_eq!((entry.host.as_str(), entry.url.as_str()), ("b.test", "http://a.test/robots.txt"));
}

#[test]
fn nobody_is_at_fault_where_nothing_was_asked_or_this_machine_was_short() {
    let of = |kind, connected| {
        let mut error = FetchError::new(kind, "for the test");
        error.connected = connected;
        blames(&error)
    };
    assert_eq!(of(ErrorKind::Local, true), Blame::Nobody, "no memory for the response");
    assert_eq!(of(ErrorKind::Local, false), Blame::Nobody);
    assert_eq!(of(ErrorKind::BlockedAddress, false), Blame::Nobody);
    assert_eq!(of(ErrorKind::Protocol, true), Blame::Page);
    assert_eq!(of(ErrorKind::Protocol, false), Blame::Nobody);
    assert_eq!(of(ErrorKind::Timeout, true), Blame::Host);
}

#[test]
fn the_record_of_a_failure_says_what_is_known_of_the_url() {
    let via = Some(Via { host: HostId(9), page: Fingerprint(77) });
    let mut error = FetchError::new(ErrorKind::TooLarge, "more than it may have");
    (error.connected, error.status, error.elapsed) = (true, Some(206), Duration::from_millis(1_234));
    let request = Some(asked(Some(206)));
    let work = Work::Visit(QueuedUrl { via, ..item(2) });
    let failed = settled(work, outcome(request, Event::Failed(error, evidence("line 3"))));
    assert_eq!((failed.settlement.host.counts.errors, failed.totals.failed), (1, 1));
    let entry = entry(&failed, &Decided::Failed).unwrap();
    assert_eq!(entry.layer, Layer::Fetch);
    let FollowUp::Failed(record) = failed.follow_up else { panic!("{:?}", failed.follow_up) };
    let expected = PageRecord {
        v: 1,
        url: "http://a.test/page".to_owned(),
        status: Some(206),
        error: Some("too_large".to_owned()),
        detail: Some("more than it may have".to_owned()),
        depth: 2,
        via,
        fetched_at: at(10_100).wall,
        duration_ms: 1_234,
        robots: evidence("line 3"),
        tries: 3,
        ..PageRecord::default()
    };
    assert_eq!(*record, expected);

    let blocked = settled(Work::Visit(item(0)), outcome(None, failure(ErrorKind::BlockedAddress)));
    assert_eq!(blocked.entries[0].decision.layer, Layer::Address);
}

#[test]
fn a_shortage_with_a_request_is_entered_once_and_a_robots_fetch_goes_on() {
    let short = |work: Work, request: Option<Requested>, gives_up: bool| {
        let event = Event::Local(FetchError::new(ErrorKind::Local, "no memory"));
        let shortage = Some(Shortfall { begins: false, gives_up, wait: secs(2) });
        settle(&lease(work), outcome(request, event), Facts { shortage, ..facts() }, &rules())
    };
    let request = Some(asked(Some(200)));
    let page = short(Work::Visit(item(0)), request, true);
    assert_eq!(summary(&page, ENDED), "done, 1005 ms for configured; failed local with the request");
    let robots = short(Work::RobotsFetch(robots_fetch()), request, true);
    let expected = "stays, 900455 ms for back-off; paused local with the request";
    assert_eq!(summary(&robots, ENDED), expected);
    let patient = short(Work::RobotsFetch(robots_fetch()), None, false);
    assert_eq!(summary(&patient, facts().now.mono), "stays, 2006 ms for local shortage");
}

#[test]
fn the_wait_of_a_host_is_entered_under_its_name() {
    let full = Rules { ledger: LedgerLevel::Full, ..rules() };
    let outcome = outcome(Some(asked(Some(200))), page(200));
    let settled = settle(&lease(Work::Visit(item(0))), outcome, facts(), &full);
    assert_eq!(entry(&settled, &Decided::Waits).unwrap().url, "a.test");
}

#[test]
fn what_was_fetched_counts_as_what_it_is() {
    let counted = |status: u16, change: fn(&mut Visited)| {
        let settled = settled(Work::Visit(item(2)), page_with(status, change));
        let Totals { pages, resources, unchanged, failed, archived, .. } = settled.totals;
        let host = settled.settlement.host.counts;
        assert_eq!((host.pages, host.errors), (pages, failed), "{status}");
        [pages, resources, unchanged, failed, archived]
    };
    assert_eq!(counted(200, |_| {}), [1, 0, 0, 0, 1]);
    assert_eq!(counted(200, |visited| visited.record.resource = true), [0, 1, 0, 0, 1]);
    let bad = |visited: &mut Visited| visited.record.error = Some("truncated".to_owned());
    assert_eq!(counted(200, bad), [0, 0, 0, 1, 1]);
    let bad_resource = |visited: &mut Visited| {
        visited.record.resource = true;
        visited.record.error = Some("truncated".to_owned());
    };
    assert_eq!(counted(200, bad_resource), [0, 0, 0, 1, 1]);
    assert_eq!(counted(200, |visited| visited.record.archived = false), [1, 0, 0, 0, 0]);
    // There is nothing here that could be unchanged.
    assert_eq!(counted(304, |visited| visited.keeps_links = false), [0, 0, 0, 1, 1]);
}

#[test]
fn the_entry_of_a_page_says_what_robots_txt_said_what_was_taken_and_where_it_leads() {
    let settled_page = settled(
        Work::Visit(item(0)),
        page_with(200, |visited| {
            visited.record.robots = evidence("line 7");
            visited.record.followed = false;
            visited.record.redirect = Some("http://a.test/next".to_owned());
        }),
    );
    let fetched = entry(&settled_page, &Decided::Fetched).unwrap();
    assert_eq!(fetched.evidence.robots, Some(evidence("line 7")));
    let taken = EffectsTaken { indexed: true, archived: true, followed: false };
    assert_eq!(fetched.evidence.effects, Some(taken));
    assert_eq!(fetched.evidence.to.as_deref(), Some("http://a.test/next"));

    let again =
        settled(Work::Visit(item(0)), page_with(500, |visited| visited.record.robots = evidence("line 8")));
    assert_eq!(entry(&again, &Decided::Retry).unwrap().evidence.robots, Some(evidence("line 8")));
}

#[test]
fn the_entry_of_a_duplicate_names_the_original() {
    let facts = Facts { original: Some((url("http://a.test/original"), "rel=canonical")), ..facts() };
    let settled = settle(&lease(Work::Visit(item(0))), page_with(200, |_| {}), facts, &rules());
    let entry = entry(&settled, &Decided::NotArchived).unwrap();
    assert_eq!(entry.evidence.to.as_deref(), Some("http://a.test/original"));
}

#[test]
fn a_body_that_nobody_expects_in_the_archive_is_not_said_to_be_missing() {
    let without_body = |visited: &mut Visited| visited.record.archived = false;
    let settled_by = |status: u16, archive: bool| {
        let rules = Rules { archive, ..rules() };
        settle(&lease(Work::Visit(item(2))), page_with(status, without_body), facts(), &rules)
    };
    assert!(entry(&settled_by(200, true), &Decided::NotArchived).is_some());
    assert!(entry(&settled_by(200, false), &Decided::NotArchived).is_none(), "this crawl has no archive");
    assert!(entry(&settled_by(404, true), &Decided::NotArchived).is_none(), "this is no page");
}

#[test]
fn links_that_are_listed_nowhere_are_counted_in_the_ledger() {
    let of = |links_out: u64, followed: bool| {
        let change = |visited: &mut Visited| {
            visited.record.indexed = false;
            visited.record.followed = followed;
            visited.record.links_out = links_out;
        };
        let settled = settled(Work::Visit(item(0)), page_with(200, change));
        let entry = entry(&settled, &Decided::NotListed)?;
        assert_eq!((entry.host.as_str(), entry.url.as_str()), ("a.test", "http://a.test/page"));
        entry.evidence.words.clone()
    };
    assert_eq!(of(0, false), None);
    assert_eq!(of(1, false).as_deref(), Some("1 link"));
    assert_eq!(of(3, false).as_deref(), Some("3 links"));
    assert_eq!(of(3, true), None, "they are listed");
}

#[test]
fn what_was_refused_at_an_earlier_visit_is_said_by_the_record_that_is_kept() {
    let source = meta::Source::new(meta::SourceKind::Meta, 0, "robots", "noindex");
    let said = meta::DirectiveSource { directive: "noindex".to_owned(), source };
    let change = |visited: &mut Visited| {
        visited.record.indexed = false;
        visited.record.serves = vec![meta::consent::Purpose::Search];
        visited.record.directives = vec![said];
    };
    let settled = settled(Work::Visit(item(0)), page_with(304, change));
    let entry = entry(&settled, &Decided::NotIndexed).unwrap();
    assert_eq!((entry.layer, &entry.reason), (Layer::Directive, &Reason::from(PlainReason::Directive)));
    assert_eq!(entry.evidence.words.as_deref(), Some("meta robots: noindex"));
}
