//! Single values: what headers and tags say beside directives, how sources are merged, and what is said of uses.

use jiff::Timestamp;
use meta::consent::{
    Claim, Consent, ConsentLines, Grade, Location, Policy, Purpose, RobotsLine, Signal, Statement,
    page_statements,
};
use meta::{
    Agent, Cause, Dialect, Directives, Effect, Effects, ImagePreview, Limit, MetaTag, NoFollow, Source,
    SourceKind, Sources, link_rel, parse_date, resolve,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn of(headers: &[(&str, &str)], metas: &[MetaTag]) -> Directives {
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    resolve(&Sources { headers: &headers, metas }, &Agent::new("SuperRobot/1.0"), Dialect::Strict, NOW)
}

#[test]
fn headers_say_more_than_directives() {
    let said = of(
        &[
            ("Link", "<http://a.example/c>; rel=canonical"),
            ("REFRESH", "5; url=/next"),
            ("content-language", "de-DE, en"),
            // Of several the first one counts.
            ("Content-Language", "fr"),
        ],
        &[],
    );
    assert_eq!(said.canonical.as_deref(), Some("http://a.example/c"));
    let refresh = said.refresh.expect("a refresh");
    assert_eq!((refresh.seconds, refresh.url.as_deref()), (5, Some("/next")));
    assert_eq!(said.language.as_deref(), Some("de-de"));
    for no_tag in ["not a tag", "", "a_b", "a-tag-that-is-longer-than-any-language-has"] {
        assert_eq!(of(&[("content-language", no_tag)], &[]).language, None, "{no_tag}");
    }
}

#[test]
fn a_refresh_is_read_of_http_equiv_alone() {
    let tag = |name: Option<&str>, http_equiv: Option<&str>| MetaTag {
        name: name.map(Into::into),
        http_equiv: http_equiv.map(Into::into),
        content: Some("7".into()),
        ..MetaTag::default()
    };
    assert_eq!(of(&[], &[tag(None, Some("refresh"))]).refresh.map(|refresh| refresh.seconds), Some(7));
    assert_eq!(of(&[], &[tag(Some("refresh"), None)]).refresh, None);
    let named = MetaTag::named("robots", "noindex");
    assert_eq!((named.name.as_deref(), named.content.as_deref()), (Some("robots"), Some("noindex")));
    assert!(!of(&[], &[named]).index);
}

#[test]
fn a_merge_permits_what_both_permit() {
    let flags: [fn(&mut Directives) -> &mut bool; 6] = [
        |said| &mut said.index,
        |said| &mut said.follow,
        |said| &mut said.archive,
        |said| &mut said.snippet,
        |said| &mut said.imageindex,
        |said| &mut said.translate,
    ];
    for (n, flag) in flags.into_iter().enumerate() {
        let mut denies = Directives::default();
        *flag(&mut denies) = false;
        for (a, b) in [(denies.clone(), Directives::default()), (Directives::default(), denies.clone())] {
            let merged = a.merge(b);
            assert_eq!(merged, denies, "{n}");
            assert!(merged.permits_no_more_than(&Directives::default()), "{n}");
            assert!(!Directives::default().permits_no_more_than(&merged), "{n}");
        }
    }
    let mut embedded = Directives::default();
    embedded.indexifembedded = true;
    assert!(embedded.clone().merge(Directives::default()).indexifembedded);
    assert!(!Directives::default().restricted_by(embedded).indexifembedded);
}

#[test]
fn a_limit_is_no_wider_than_the_lesser_of_two() {
    let limits: [fn(&mut Directives, u32); 4] = [
        |said, n| said.max_snippet = Some(Limit::AtMost(n)),
        |said, n| said.max_video_preview = Some(Limit::AtMost(n)),
        |said, n| {
            said.max_image_preview = Some(if n < 10 { ImagePreview::None } else { ImagePreview::Large });
        },
        |said, n| said.unavailable_after = Timestamp::from_second(n.into()).ok(),
    ];
    for (which, limit) in limits.into_iter().enumerate() {
        let with = |n: u32| {
            let mut said = Directives::default();
            limit(&mut said, n);
            said
        };
        let (low, high, none) = (with(5), with(50), Directives::default());
        assert!(low.permits_no_more_than(&high) && !high.permits_no_more_than(&low), "{which}");
        assert!(low.permits_no_more_than(&none) && !none.permits_no_more_than(&low), "{which}");
        for merged in [low.clone().merge(high.clone()), high.merge(low.clone()), none.merge(low.clone())] {
            assert_eq!(merged, low, "{which}");
        }
    }
    let words = |words: &[&str]| {
        let mut said = Directives::default();
        said.keywords = words.iter().map(|word| (*word).to_owned()).collect();
        said
    };
    assert_eq!(words(&[]).merge(words(&["b", "c"])).keywords, ["b", "c"]);
    assert_eq!(words(&["b"]).merge(words(&["a", "z"])).keywords, ["a", "z"]);
}

#[test]
fn of_two_effects_either_forbids() {
    let forbids = |cause| Effect::Forbidden(cause);
    let one = Effects { store_text: forbids(Cause::Consent), ..Effects::default() };
    let other = Effects {
        store_text: forbids(Cause::Unstated),
        enqueue_links: forbids(Cause::Unstated),
        ..Effects::default()
    };
    let both = one.clone().or(other.clone());
    assert_eq!(both.store_text, forbids(Cause::Consent), "the cause of the first");
    assert_eq!((both.store_body, both.enqueue_links), (Effect::Allowed, forbids(Cause::Unstated)));
    assert_eq!(Effects::default().or(other.clone()), other);
}

#[test]
fn a_link_type_that_is_written_badly_still_restricts() {
    for (rel, nofollow, noreferrer, malformed) in [
        ("noreferrer", None, true, false),
        ("noreferrer,noopener", None, true, true),
        ("ugc,noopener", Some(NoFollow::Ugc), false, true),
        ("sponsored;x", Some(NoFollow::Sponsored), false, true),
        ("no referrer", None, true, true),
        ("referrer,opener", None, false, false),
        ("noopener", None, false, false),
    ] {
        let effects = link_rel(rel);
        assert_eq!(
            (effects.nofollow, effects.noreferrer, effects.malformed),
            (nofollow, noreferrer, malformed),
            "{rel}"
        );
    }
}

#[test]
fn a_zone_has_hours_and_minutes_of_a_clock() {
    let at = |zone: &str| parse_date(&format!("Wed, 03 Dec 2025 13:09:53 {zone}"));
    let utc = at("GMT").expect("a date");
    for (zone, hours) in [("+0200", -2), ("-08:00", 8), ("+02", -2), ("+0230", -2)] {
        let minutes = if zone == "+0230" { -30 } else { 0 };
        let shift = jiff::SignedDuration::from_mins(hours * 60 + minutes);
        assert_eq!(at(zone), Some(utc + shift), "{zone}");
    }
    // RFC 822, section 5.1, and those of Alaska and Hawaii.
    for (name, hours) in [
        ("Z", 0),
        ("UT", 0),
        ("UTC", 0),
        ("GMT", 0),
        ("EST", 5),
        ("EDT", 4),
        ("CST", 6),
        ("CDT", 5),
        ("MST", 7),
        ("MDT", 6),
        ("PST", 8),
        ("PDT", 7),
        ("AKST", 9),
        ("AKDT", 8),
        ("HST", 10),
    ] {
        assert_eq!(at(name), Some(utc + jiff::SignedDuration::from_hours(hours)), "{name}");
    }
    for zone in ["+0260", "+02:60", "+1600", "+2x00", "+:00"] {
        assert_eq!(at(zone), None, "{zone}");
    }
}

#[test]
fn a_path_of_a_consent_line_is_compared_without_regard_to_its_escapes() {
    for (pattern, path, covers) in [
        ("/%7Ea", "/~a", true),
        ("/~a", "/%7ea", true),
        ("/%2fa", "/%2Fa", true),
        ("/%2fa", "//a", false),
        ("/\u{e9}", "/%C3%A9", true),
        ("/%c3%a9x", "/\u{e9}x", true),
        ("/%41%42", "/AB", true),
        ("/a*c", "/abbbc", true),
        ("/a*c$", "/abcc", true),
        ("/a*c$", "/abcd", false),
        ("/*bc", "/abbc", true),
        ("/a*", "/a", true),
        ("/a*b", "/a", false),
    ] {
        assert_eq!(Location::new(pattern).matches(path), covers, "{pattern} {path}");
    }
}

fn statement(claim: Claim) -> Statement {
    let source = Source::new(SourceKind::Header, 0, "Content-Signal", "for the test");
    Statement { signal: Signal::ContentSignal, claim, source, at: NOW }
}

#[test]
fn what_nobody_said_is_what_the_policy_presumes() {
    let policy = Policy::new([Purpose::AiTrain, Purpose::Search]);
    assert_eq!(policy.purposes(), [Purpose::Search, Purpose::AiTrain]);
    let consents =
        |policy: &Policy| [Purpose::Search, Purpose::AiTrain, Purpose::Archive].map(|of| policy.presumed(of));
    assert_eq!(consents(&policy), [Consent::Allow, Consent::Deny, Consent::Allow]);
    let policy = policy.presume(Purpose::Search, Consent::Deny).presume(Purpose::AiTrain, Consent::Allow);
    assert_eq!(consents(&policy), [Consent::Deny, Consent::Allow, Consent::Allow]);
    let policy = policy.presume(Purpose::Search, Consent::Allow);
    assert_eq!(consents(&policy), [Consent::Allow, Consent::Allow, Consent::Allow], "the last word counts");
}

#[test]
fn a_grade_below_full_keeps_no_copy() {
    let policy = Policy::new([Purpose::Archive, Purpose::Search]);
    for (grade, archives) in [(Grade::Full, true), (Grade::Reference, false), (Grade::Immediate, false)] {
        let said = [statement(Claim::Use(grade))];
        let judgement = policy.judge(&said);
        assert_eq!(judgement.serves(Purpose::Archive), archives, "{grade:?}");
        assert!(judgement.serves(Purpose::Search), "{grade:?}");
    }
}

#[test]
fn names_of_signals_and_consents() {
    let names = [
        (Signal::ContentUsage, "content-usage"),
        (Signal::ContentSignal, "content-signal"),
        (Signal::TdmRep, "tdm-rep"),
        (Signal::AiTxt, "ai-txt"),
        (Signal::NoAi, "no-ai"),
        (Signal::AiBlockHint, "ai-block-hint"),
    ];
    for (signal, name) in names {
        assert_eq!(signal.name(), name);
    }
    assert_eq!([Consent::Allow.to_string(), format!("{:>6}", Consent::Deny)], ["allow", "  deny"]);
}

#[test]
fn lines_of_other_fields_are_none_of_consent() {
    let read =
        |field: &'static str| ConsentLines::read([RobotsLine { line: 3, field, value: "ai-train=no" }]);
    assert!(ConsentLines::default().is_empty() && read("noindex").is_empty() && read("Disallow").is_empty());
    assert!(!read("Content-Signal").is_empty() && !read("content-usage").is_empty());
    assert_eq!(read("CONTENT-SIGNAL").lines[0].signal, Signal::ContentSignal);
    assert_eq!(read("Content-Usage").lines[0].signal, Signal::ContentUsage);
}

#[test]
fn a_reservation_is_cited_where_it_was_said() {
    let said = |headers: &[(&str, &str)], metas: &[MetaTag]| {
        let directives = of(headers, metas);
        let all = page_statements(&[], &directives, None, NOW);
        let of_tdm = all.into_iter().filter(|statement| statement.signal == Signal::TdmRep);
        let found: Vec<_> = of_tdm.map(|statement| (statement.claim, statement.source.to_string())).collect();
        (found, directives.tdm_policy)
    };
    let deny = Claim::Purpose(Purpose::Tdm, Consent::Deny);
    let noindex = MetaTag::named("robots", "noindex");
    let (found, policy) = said(
        &[
            ("tdm-reservation", "1"),
            ("tdm-policy", ""),
            ("tdm-policy", "http://a.example/p"),
            ("tdm-policy", "/q"),
        ],
        &[noindex],
    );
    assert_eq!(found, [(deny, "header tdm-reservation: 1".to_owned())]);
    assert_eq!(policy.as_deref(), Some("http://a.example/p"), "the first that is one");
}
