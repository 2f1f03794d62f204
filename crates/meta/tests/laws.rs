//! Laws: merging can only restrict, whatever is merged; reading never fails, whatever is read.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use jiff::Timestamp;
use meta::consent::{
    AiTxt, Claim, Consent, Location, Policy, Purpose, RobotsLine, combine, content_signal, content_usage,
    page_statements, robots_statements, tdm,
};
use meta::{
    Agent, Dialect, DirectiveSource, Directives, DocumentState, Effects, ImagePreview, Limit, MetaTag,
    Source, SourceKind, Sources, Warning, link_rel, parse_content, parse_date, parse_header_line, resolve,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Pieces that foreign text is made of: terms, marks, and what breaks parsers.
const PIECES: &[&str] = &[
    "noindex",
    "NOFOLLOW",
    "none",
    "all",
    "index",
    "follow",
    "noarchive",
    "nocache",
    "archive",
    "nosnippet",
    "snippet",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
    "unavailable_after",
    "noimageindex",
    "notranslate",
    "indexifembedded",
    "noai",
    "noml",
    "noimageai",
    "noodp",
    "large",
    "standard",
    "0",
    "-1",
    "50",
    "2020-09-21",
    "Wed, 03 Dec 2025 13:09:53 GMT",
    "2030-01-01",
    ":",
    "=",
    ",",
    ";",
    "，",
    "；",
    "、",
    " ",
    "\t",
    "\"",
    "'",
    "”",
    "*",
    "robots",
    "examplebot",
    "otherbot",
    "ExampleBot/1.0",
    "-",
    "_",
    "(",
    "<",
    ">",
    "/",
    "$",
    "%2F",
    "%",
    "\u{0}",
    "\u{feff}",
    "ä",
    "😀",
    "\r\n",
    "1",
    "yes",
    "no",
    "y",
    "n",
    "train-ai",
    "search",
    "ai-train",
    "use",
    "immediate",
    "rel",
    "canonical",
    "url",
    "User-Agent",
    "Disallow",
    "Allow",
    "\n",
];

const NAMES: &[&str] = &[
    "robots",
    "Robots ",
    "examplebot",
    "otherbot",
    "googlebot",
    "”robots”",
    "description",
    "keywords",
    "revisit-after",
    "document-state",
    "url",
    "refresh",
    "tdm-reservation",
    "tdm-policy",
    "X-Robots-Tag",
    "content-language",
    "og:title",
];

const FIELDS: &[&str] = &[
    "X-Robots-Tag",
    "x-robots-tag",
    "Robots-Tag",
    "Content-Usage",
    "Content-Signal",
    "tdm-reservation",
    "Link",
    "Refresh",
    "Content-Language",
    "X-Other",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => vec(select(PIECES), 0..12).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
    ]
}

fn tag() -> impl Strategy<Value = MetaTag> {
    let name = || option::of(select(NAMES).prop_map(str::to_owned));
    (name(), name(), name(), option::weighted(0.9, text()), 0..100_u32).prop_map(
        |(name, http_equiv, property, content, position)| MetaTag {
            name,
            http_equiv,
            property,
            content,
            position,
            ..MetaTag::default()
        },
    )
}

fn header() -> impl Strategy<Value = (String, String)> {
    (select(FIELDS).prop_map(str::to_owned), text())
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn read(headers: &[(String, String)], metas: &[MetaTag], dialect: Dialect) -> Directives {
    let agent = Agent::new("ExampleBot/1.0");
    resolve(&Sources { headers, metas }, &agent, dialect, now())
}

fn flags(d: &Directives) -> [bool; 7] {
    [d.index, d.follow, d.archive, d.snippet, d.imageindex, d.translate, d.indexifembedded]
}

/// Compares what restricts, and not the evidence: its positions differ.
fn restrict_alike(a: &Directives, b: &Directives) -> bool {
    a.permits_no_more_than(b) && b.permits_no_more_than(a) && flags(a) == flags(b)
}

prop_compose! {
    fn limits()(
        snippet in option::of(limit()),
        video in option::of(limit()),
        image in option::of(select(&[ImagePreview::None, ImagePreview::Standard, ImagePreview::Large])),
        after in option::of(-3..3_i64),
        revisit in option::of(0..5_u64),
        state in option::of(select(&[DocumentState::Static, DocumentState::Dynamic])),
        consents in [option::of(consent()), option::of(consent())],
        tdm in option::of(0..2_u8),
    ) -> Directives {
        let mut limits = Directives::default();
        limits.max_snippet = snippet;
        limits.max_video_preview = video;
        limits.max_image_preview = image;
        limits.unavailable_after = after.map(|days| now() + jiff::SignedDuration::from_hours(24 * days));
        limits.revisit_after = revisit.map(|days| Duration::from_hours(24 * days));
        limits.document_state = state;
        limits.ai_train = consents[0];
        limits.ai_train_images = consents[1];
        limits.tdm_reservation = tdm;
        limits
    }
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![Just(Limit::Unlimited), (0..4_u32).prop_map(Limit::AtMost)]
}

fn consent() -> impl Strategy<Value = Consent> {
    select(&[Consent::Allow, Consent::Deny])
}

fn word() -> impl Strategy<Value = Option<String>> {
    option::of(select(&["a", "b", "c"]).prop_map(str::to_owned))
}

prop_compose! {
    fn directives()(
        limits in limits(),
        flags in any::<[bool; 7]>(),
        words in [word(), word(), word(), word()],
        keywords in vec(select(&["k", "l"]).prop_map(str::to_owned), 0..3),
        evidence in vec((select(&["noindex", "max-snippet:1", "max-snippet:2"]), 0..40_u32), 0..40),
    ) -> Directives {
        let [description, canonical, meta_url, language] = words;
        let source = |position| Source::new(SourceKind::Meta, position, "robots", "x");
        let because = evidence.iter().map(|(directive, n)| DirectiveSource { directive: (*directive).to_owned(), source: source(*n) });
        let warnings = evidence.iter().map(|(message, n)| Warning { message: (*message).to_owned(), source: source(*n) });
        let [index, follow, archive, snippet, imageindex, translate, indexifembedded] = flags;
        let mut made = limits;
        [made.index, made.follow, made.archive, made.snippet] = [index, follow, archive, snippet];
        [made.imageindex, made.translate, made.indexifembedded] = [imageindex, translate, indexifembedded];
        [made.description, made.canonical, made.meta_url, made.language] = [description, canonical, meta_url, language];
        made.keywords = keywords;
        made.because = because.collect();
        made.warnings = warnings.collect();
        // Evidence is sorted and bounded in whatever the crate makes; merging brings it there.
        made.merge(Directives::default())
    }
}

proptest! {
    #[test]
    fn merging_is_commutative(a in directives(), b in directives()) {
        prop_assert_eq!(a.clone().merge(b.clone()), b.merge(a));
    }

    #[test]
    fn merging_is_associative(a in directives(), b in directives(), c in directives()) {
        let left = a.clone().merge(b.clone()).merge(c.clone());
        prop_assert_eq!(left, a.merge(b.merge(c)));
    }

    #[test]
    fn merging_is_idempotent_and_silence_is_neutral(a in directives()) {
        prop_assert_eq!(a.clone().merge(a.clone()), a.clone());
        prop_assert_eq!(Directives::default().merge(a.clone()), a);
    }

    #[test]
    fn merging_can_only_restrict(a in directives(), b in directives()) {
        let merged = a.clone().merge(b.clone());
        prop_assert!(merged.permits_no_more_than(&a) && merged.permits_no_more_than(&b));
        let (ours, theirs): (Effects, Effects) = (merged.effects(), a.effects());
        prop_assert!(ours.store_text.is_allowed() <= theirs.store_text.is_allowed());
        prop_assert!(ours.store_body.is_allowed() <= theirs.store_body.is_allowed());
        prop_assert!(ours.enqueue_links.is_allowed() <= theirs.enqueue_links.is_allowed());
        prop_assert!(merged.excerpt_limit().unwrap_or(usize::MAX) <= a.excerpt_limit().unwrap_or(usize::MAX));
        prop_assert!(merged.at(now()).permits_no_more_than(&a.at(now())));
    }

    #[test]
    fn directives_survive_being_stored(a in directives()) {
        let json = serde_json::to_string(&a).unwrap();
        prop_assert_eq!(serde_json::from_str::<Directives>(&json).unwrap(), a);
    }

    #[test]
    fn strict_adds_up_sources_in_any_order(
        headers in vec(header(), 0..4), metas in vec(tag(), 0..5), seed in any::<prop::sample::Index>(),
    ) {
        // A reservation may be replaced by a later place, which is its own protocol's rule (C22).
        let (mut headers, mut metas) = (headers, metas);
        headers.retain(|(name, _)| !name.starts_with("tdm"));
        metas.retain(|tag| tag.name.as_ref().is_none_or(|name| !name.starts_with("tdm")));
        let whole = read(&headers, &metas, Dialect::Strict);
        let one_by_one = headers.iter().map(|line| read(std::slice::from_ref(line), &[], Dialect::Strict))
            .chain(metas.iter().map(|tag| read(&[], std::slice::from_ref(tag), Dialect::Strict)))
            .fold(Directives::default(), Directives::merge);
        prop_assert!(restrict_alike(&whole, &one_by_one), "{:?}\n{:?}", whole, one_by_one);

        if !metas.is_empty() {
            let turn = seed.index(metas.len());
            metas.rotate_left(turn);
        }
        headers.reverse();
        prop_assert!(restrict_alike(&whole, &read(&headers, &metas, Dialect::Strict)));
    }

    #[test]
    fn no_source_ever_widens_strict(headers in vec(header(), 0..4), metas in vec(tag(), 0..4), more in tag(), line in header()) {
        let before = read(&headers, &metas, Dialect::Strict);
        let (mut headers, mut metas) = (headers, metas);
        if !more.name.as_ref().is_some_and(|name| name.starts_with("tdm")) {
            metas.push(more);
        }
        headers.push(line);
        prop_assert!(read(&headers, &metas, Dialect::Strict).permits_no_more_than(&before));
    }

    #[test]
    fn every_negative_flag_has_its_evidence(
        headers in vec(header(), 0..4), metas in vec(tag(), 0..4), dialect in select(&Dialect::ALL[..]),
    ) {
        let d = read(&headers, &metas, dialect);
        let said = |keys: &[&str]| d.because.iter().any(|because| {
            keys.contains(&because.directive.split(':').next().unwrap_or_default())
        });
        prop_assert!(d.index || said(&["noindex", "unavailable_after"]));
        prop_assert!(d.follow || said(&["nofollow"]));
        prop_assert!(d.archive || said(&["noarchive"]));
        prop_assert!(d.snippet || said(&["nosnippet", "max-snippet", "unavailable_after"]));
        prop_assert!(d.imageindex || said(&["noimageindex"]));
        prop_assert!(d.translate || said(&["notranslate"]));
        prop_assert!(d.ai_train != Some(Consent::Deny) || said(&["noai", "noml"]));
        prop_assert!(d.tdm_reservation.is_none() || said(&["tdm-reservation"]));
        prop_assert!(d.because.iter().all(|because| because.source.text.chars().all(|c| !c.is_control())));
    }

    #[test]
    fn other_agents_terms_never_touch_us(terms in vec(select(&PIECES[..21]), 1..5)) {
        let line = ("X-Robots-Tag".to_owned(), format!("otherbot: {}", terms.join(", ")));
        let tag = MetaTag { name: Some("otherbot".to_owned()), content: Some(terms.join(", ")), ..MetaTag::default() };
        prop_assert_eq!(read(&[line], &[tag], Dialect::Strict), Directives::default());
    }

    #[test]
    fn a_term_between_marks_restricts_whatever_the_marks(
        term in select(&["noindex", "NoIndex", "no-index", "no index", "none", "index=no", "ｎｏｉｎｄｅｘ"]),
        before in "[^\\p{Alphabetic}\\p{N}]{0,6}", after in "\\P{Alphabetic}{0,6}", rest in text(), is_tag in any::<bool>(),
    ) {
        // Whatever else the value says: after a line break, which every form takes for a blank.
        let value = format!("{before}{term}{after}\n{rest}");
        let line = [("X-Robots-Tag".to_owned(), value.clone())];
        let tag = [MetaTag { name: Some("robots".to_owned()), content: Some(value), ..MetaTag::default() }];
        let d = if is_tag { read(&[], &tag, Dialect::Strict) } else { read(&line, &[], Dialect::Strict) };
        prop_assert!(!d.index, "{:?}", if is_tag { &tag[0].content } else { &None });
    }

    #[test]
    fn a_word_that_goes_on_in_letters_is_no_term(before in "[a-z]{0,3}", after in "[a-z]{1,5}") {
        let word = format!("{before}noindex{after}");
        let d = read(&[("X-Robots-Tag".to_owned(), format!("the {word} rules"))], &[], Dialect::Strict);
        prop_assert!(d.index, "{word}");
    }

    #[test]
    fn readers_take_any_text_and_are_bounded(value in text(), name in text(), path in text()) {
        prop_assert!(parse_content(&value).len() <= value.len() + 1);
        prop_assert!(parse_header_line("X-Robots-Tag", &value).len() <= value.len());
        prop_assert!(parse_header_line("Robots-Tag", &value).len() <= value.len());
        let _date = parse_date(&value);
        let _effects = link_rel(&value);
        prop_assert!(content_usage(&value).len() <= 3);
        prop_assert!(content_signal(&value).len() <= value.len());
        prop_assert!(Location::new("/").matches(&path) == path.starts_with('/'));
        let _covered = Location::new(&value).matches(&path);
        let line = RobotsLine { field: "Content-Signal", value: &value, line: 1 };
        prop_assert!(robots_statements([line], &path, now()).len() <= value.len());
        let agent = Agent::new(&name).with_aliases([&value]);
        prop_assert!(!agent.answers_to(""));
        let file = AiTxt::parse(value.as_bytes(), &agent);
        prop_assert!(file.statement(&path, now()).is_none_or(|s| s.claim == Claim::Purpose(Purpose::AiTrain, Consent::Deny)));
        prop_assert!(tdm::TdmFile::parse(value.as_bytes()).lookup(&path).is_none());
    }

    #[test]
    fn consent_is_taken_away_by_denials_only(headers in vec(header(), 0..4), more in vec(header(), 0..2)) {
        let statements = |headers: &[(String, String)]| {
            page_statements(headers, &read(headers, &[], Dialect::Strict), None, now())
        };
        let signals = |mut headers: Vec<(String, String)>| {
            headers.retain(|(name, _)| name == "Content-Signal");
            headers
        };
        let before = signals(headers);
        let after = [before.clone(), signals(more)].concat();
        let (before, after) = (combine(&statements(&before)), statements(&after));
        for purpose in Purpose::ALL {
            prop_assert!(combine(&after).consent(purpose) >= before.consent(purpose));
        }
        let limited = Policy::default().judge(&after).limit(Effects::default());
        prop_assert!(limited.store_body.is_allowed() <= limited.store_text.is_allowed());
    }
}

#[test]
fn long_and_adversarial_values_are_read_in_linear_time() {
    for piece in [
        "unavailable_after: ",
        "unavailable_after:,",
        "x:",
        "no index ",
        "\"",
        "<",
        "max-snippet:1,",
        "noindex,",
    ] {
        let value = piece.repeat(400_000 / piece.len());
        let headers =
            vec![("X-Robots-Tag".to_owned(), value.clone()), ("Robots-Tag".to_owned(), value.clone())];
        let names = ["robots", "description", "keywords", "refresh"];
        let tag = |name: &str| MetaTag {
            name: Some(name.into()),
            content: Some(value.clone()),
            ..MetaTag::default()
        };
        let directives = read(&headers, &names.map(tag), Dialect::Strict);
        assert!(directives.because.len() <= 16 * 25 && directives.warnings.len() <= 64, "{piece}");
    }
}
