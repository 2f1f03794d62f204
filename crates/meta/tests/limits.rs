//! Limits, each with exactly as much as is allowed and one more, and marks of the grammars where they are and where they aren't.

use jiff::Timestamp;
use meta::consent::tdm::TdmFile;
use meta::consent::{
    AiTxt, Claim, Consent, ConsentLines, Grade, Location, Purpose, RobotsLine, Signal, Statement,
    content_usage, page_statements,
};
use meta::{
    Agent, Dialect, Directives, Limit, MetaTag, Scope, Sources, Term, parse_content, parse_date,
    parse_header_line, resolve,
};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
/// Bytes of a value that are read.
const VALUE: usize = 64 * 1024;
/// Bytes of a file that are read.
const FILE: usize = 512 * 1024;

fn by(agent: &str, headers: &[(&str, &str)], metas: &[MetaTag]) -> Directives {
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    resolve(&Sources { headers: &headers, metas }, &Agent::new(agent), Dialect::Strict, NOW)
}

fn header(value: &str) -> Directives {
    by("SuperRobot", &[("X-Robots-Tag", value)], &[])
}

fn tag(name: &str, content: &str) -> Directives {
    by("SuperRobot", &[], &[MetaTag::named(name, content)])
}

/// The warnings without their places.
fn warnings(directives: &Directives) -> Vec<&str> {
    directives.warnings.iter().map(|warning| warning.message.as_str()).collect()
}

fn of_headers(headers: &[(&str, &str)]) -> Vec<Statement> {
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    page_statements(&headers, &Directives::default(), None, NOW)
}

/// Lengthens a text with blanks.
fn padded(text: &str, length: usize) -> String {
    text.to_owned() + &" ".repeat(length - text.len())
}

const NO_TRAINING: Claim = Claim::Purpose(Purpose::AiTrain, Consent::Deny);

#[test]
fn a_tag_within_a_text_ends_with_a_bracket() {
    let description = |text: &str| tag("description", text).description;
    assert_eq!(description("<b>bold</b> is <i unclosed").as_deref(), Some("bold is <i unclosed"));
    assert_eq!(description("<b without an end").as_deref(), Some("<b without an end"));
}

#[test]
fn one_keyword_more_than_is_stored_is_read() {
    let words: Vec<_> = (0..300).map(|n| n.to_string()).collect();
    assert_eq!(tag("keywords", &words.join(",")).keywords, words[..201]);
}

#[test]
fn a_date_is_at_most_96_bytes_with_the_digits_that_its_parts_have() {
    let is_read = |length: usize| parse_date(&padded("2025-12-03", length)).is_some();
    assert!(is_read(96) && !is_read(97));
    let day = parse_date("2022-01-05");
    for text in ["05-Jan-2022", "05-Jan-22", "5-jan-2022", "Wednesday, 05-Jan-2022 00:00:00 GMT"] {
        assert!(day.is_some() && parse_date(text) == day, "{text}");
    }
    for text in ["005-Jan-2022", "+5-Jan-2022", "05-Jan-222", "05-Jan-02022", "2022-01-005"] {
        assert_eq!(parse_date(text), None, "{text}");
    }
}

#[test]
fn a_date_within_more_than_one_has_is_applied_with_a_warning() {
    let date = "2027-01-01T00:00:00Z".parse::<Timestamp>().ok();
    for (value, is_clean) in [
        (format!("unavailable_after:{}2027-01-01", ",".repeat(7)), true),
        (format!("unavailable_after:{}2027-01-01", ",".repeat(8)), false),
        (format!("unavailable_after:{:96}", "2027-01-01"), true),
        (format!("unavailable_after:{:97}", "2027-01-01"), false),
        ("unavailable_after: 2027-01-01".to_owned(), true),
    ] {
        let said = header(&value);
        assert_eq!(said.unavailable_after, date, "{value}");
        assert_eq!(said.warnings.is_empty(), is_clean, "{value} {:?}", said.warnings);
    }
    let said = header("unavailable_after: (2027-01-01) x, noindex");
    assert_eq!((said.index, said.unavailable_after), (false, date), "what follows it is read");
}

#[test]
fn what_only_looks_like_a_term_is_none() {
    for text in [
        // No mark of a value between the two.
        "index no!",
        // The word between is longer than any term.
        &format!("no {} index.", "a".repeat(33)),
        // So is the number, whose last digit counts.
        &format!("(max-snippet:{}5)", "0".repeat(32)),
        // A permission among other words.
        "index sparkle",
    ] {
        assert_eq!(parse_content(text), [], "{text}");
    }
}

#[test]
fn letters_that_look_like_others_bound_a_word_or_belong_to_it() {
    for text in [
        "noindex\u{430}",
        "noindex%41",
        "no\u{456}ndex",
        "noin\u{1}\u{1}\u{1}\u{1}dex",
        "n\u{1}o\u{1}i\u{1}n\u{1}d\u{1}e\u{1}x",
    ] {
        assert_eq!(parse_content(text), [Term::NoIndex], "{}", text.escape_debug());
    }
}

#[test]
fn names_among_others_and_in_other_letters_are_ours() {
    for (agent, name, is_ours) in [
        ("super-bot", "\u{ff53}\u{ff55}\u{ff50}\u{ff45}\u{ff52}-bot", true),
        ("SuperRobot", "\u{ff52}\u{ff4f}\u{ff42}\u{ff4f}\u{ff54}\u{ff53}, otherbot", true),
        ("SuperRobot", "\u{ff52}\u{ff4f}\u{ff42}\u{ff4f}\u{ff54}\u{ff53},otherbot", true),
        ("r\u{f6}bot", "R\u{d6}BOT/1.0", true),
        ("SuperRobot", "robots\u{f6}", false),
        ("SuperRobot", "rob%6fts", true),
        ("SuperRobot", "otherbot", false),
        // The name of a header field in quote marks.
        ("SuperRobot", "\u{201c}X-Robots-Tag\u{201d}", true),
    ] {
        let said = by(agent, &[], &[MetaTag::named(name, "noindex")]);
        assert_eq!(!said.index, is_ours, "{name} for {agent}");
    }
    // A tag that only seems to be meant for us permits nothing.
    assert!(tag("robots", "indexifembedded").indexifembedded);
    assert!(!tag("robots, otherbot", "indexifembedded").indexifembedded);
}

#[test]
fn evidence_names_the_tag_and_its_attribute() {
    let http_equiv = |name: &str, content_unread| MetaTag {
        http_equiv: Some(name.into()),
        content: Some("noindex".into()),
        content_unread,
        ..MetaTag::default()
    };
    let name = |tag: MetaTag| by("SuperRobot", &[], &[tag]).because[0].source.name.clone();
    assert_eq!(name(http_equiv("X-Robots-Tag", false)), "http-equiv x-robots-tag");
    assert_eq!(name(MetaTag::named(" ROBOTS ", "noindex")), "robots");
    // What couldn't be read counts where the tag is one of directives.
    assert!(!by("SuperRobot", &[], &[http_equiv("x-robots-tag", true)]).archive);
    assert!(by("SuperRobot", &[], &[http_equiv("content-type", true)]).archive);
}

#[test]
fn of_a_term_64_places_are_kept_with_the_strictest_among_them() {
    let said = |limits: &[u32]| {
        let values: Vec<_> = limits.iter().map(|limit| format!("max-snippet:{limit}")).collect();
        let headers: Vec<_> = values.iter().map(|value| ("X-Robots-Tag", value.as_str())).collect();
        let said = by("SuperRobot", &headers, &[]);
        let places = said.because.into_iter().map(|because| (because.directive, because.source.position));
        (said.max_snippet, places.collect::<Vec<_>>())
    };
    let first = |directive: &str, position| Some((directive.to_owned(), position));
    let (limit, places) = said(&[[50; 64].as_slice(), &[5, 40]].concat());
    assert_eq!((limit, places.into_iter().next()), (Some(Limit::AtMost(5)), first("max-snippet:5", 64)));
    // Of equal ones the first is named; one that isn't stricter is passed over.
    let (_, places) = said(&[[50; 63].as_slice(), &[5, 5]].concat());
    assert_eq!(places.into_iter().next(), first("max-snippet:5", 63));
    let (_, places) = said(&[[50; 64].as_slice(), &[100]].concat());
    assert_eq!(places.into_iter().next(), first("max-snippet:50", 0));
    let (_, places) = said(&[[50; 63].as_slice(), &[100]].concat());
    assert_eq!(places.into_iter().next(), first("max-snippet:100", 63));
}

#[test]
fn unusable_values_displace_no_warning_about_what_was_applied() {
    let words = |count: usize| (0..count).map(|n| format!("z{n}")).collect::<Vec<_>>().join(",");
    let flood = words(1_500);
    let headers: Vec<_> = std::iter::once(flood.as_str())
        .chain(["noindex|x"; 10])
        .map(|value| ("X-Robots-Tag", value))
        .collect();
    let said = by("SuperRobot", &headers, &[]);
    let applied = warnings(&said).into_iter().filter(|text| text.starts_with("malformed directive, applied"));
    assert_eq!(applied.count(), 10);
    // A thousand unusable values are kept until the warnings are put in order, and none beyond.
    let is_kept =
        |before: usize| warnings(&header(&(words(before) + ",a"))).contains(&"no known directive: a");
    assert!(is_kept(999) && !is_kept(1_000));
}

#[test]
fn a_value_is_read_up_to_its_limit_and_beyond_it_for_what_restricts() {
    let said = |value: &str| {
        let said = header(value);
        let is_cut = warnings(&said).iter().any(|text| text.starts_with("too long"));
        (said.index, is_cut)
    };
    assert_eq!(said(&padded("nofollow,", VALUE)), (true, false));
    assert_eq!(said(&padded("nofollow,", VALUE + 1)), (true, true));
    // A term that spans the limit.
    assert_eq!(said(&(padded("nofollow,", VALUE - 3) + "noindex")), (false, true));
    // What was said to another robot before isn't read again.
    let other = format!("{}otherbot: noindex", "x,".repeat(1_000));
    assert_eq!(said(&padded(&other, VALUE + 100)), (true, true));
}

#[test]
fn a_link_is_read_up_to_the_limit_of_a_value() {
    let canonical = |before: usize| {
        let link = "<http://a.example/c>; rel=canonical";
        by("SuperRobot", &[("Link", &(" ".repeat(before - link.len()) + link))], &[]).canonical
    };
    assert_eq!(canonical(VALUE).as_deref(), Some("http://a.example/c"));
    assert_eq!(canonical(VALUE + 1), None);
}

#[test]
fn a_piece_with_several_names_says_what_its_first_term_says() {
    let all = |value: &str| {
        let said = parse_header_line("X-Robots-Tag", value);
        said.into_iter().map(|scoped| (scoped.scope, scoped.term)).collect::<Vec<_>>()
    };
    assert_eq!(all("index: sparkle: yes"), [(Scope::All, Term::Index)]);
    assert_eq!(all("otherbot: index: yes"), [(Scope::Agent("otherbot".into()), Term::Index)]);
    assert_eq!(all("robots/1.0: noindex"), [(Scope::Agent("robots".into()), Term::NoIndex)]);
    assert_eq!(all("robots: noindex"), [(Scope::All, Term::NoIndex)]);
    let said = header("*/2: noindex");
    assert!(!said.index && warnings(&said)[0].starts_with("malformed agent scope"), "{said:?}");
}

#[test]
fn a_piece_is_either_unknown_or_applied() {
    let said = tag("robots", "noindex|nofollow sparkle");
    assert_eq!(
        warnings(&said),
        ["malformed directive, applied: nofollow", "malformed directive, applied: noindex"]
    );
    assert_eq!(warnings(&tag("robots", "noindex sparkle")), ["no known directive: sparkle"]);
}

#[test]
fn a_backslash_escapes_within_quotes_alone() {
    for parameters in
        ["title=\"a \\\" ; x\"; rel=canonical", "title=\\; rel=canonical", "title=\"\\\\\"; rel=canonical"]
    {
        let said = by("SuperRobot", &[("Link", &format!("<http://a.example/c>; {parameters}"))], &[]);
        assert_eq!(said.canonical.as_deref(), Some("http://a.example/c"), "{parameters}");
    }
}

#[test]
fn an_ai_txt_is_read_up_to_its_limits() {
    let denies = |file: &str| {
        AiTxt::parse(file.as_bytes(), &Agent::new("SuperRobot")).statement("/other", NOW).is_some()
    };
    let rules = |count: usize| {
        std::iter::once("User-agent: *\n".to_owned())
            .chain((0..count).map(|n| format!("Disallow: /p{n}\n")))
            .collect::<String>()
    };
    assert!(!denies(&rules(10_000)) && denies(&rules(10_001)));
    let file = "User-agent: *\nDisallow: /x\n#";
    assert!(!denies(&padded(file, FILE)) && denies(&padded(file, FILE + 1)));
}

#[test]
fn a_tdm_file_is_read_up_to_its_limit() {
    let reserved = |length: usize| {
        let file = padded(r#"[{"location":"/x","tdm-reservation":0}]"#, length);
        TdmFile::parse(file.as_bytes()).lookup("/other").is_some()
    };
    assert!(!reserved(FILE) && reserved(FILE + 1));
}

#[test]
fn a_reservation_is_replaced_by_another_value_alone() {
    let said = |page: &str| {
        let said = by("SuperRobot", &[("tdm-reservation", "1")], &[MetaTag::named("tdm-reservation", page)]);
        (said.tdm_reservation, warnings(&said).len())
    };
    assert_eq!(said("1"), (Some(1), 0));
    assert_eq!(said("0"), (Some(0), 1));
}

#[test]
fn values_of_consent_are_read_up_to_their_limit() {
    assert_eq!(content_usage(&padded("train-ai=n", VALUE)), [NO_TRAINING]);
    assert_eq!(content_usage(&padded("train-ai=n", VALUE + 1)), []);
    // Behind the limit of a list denials count.
    let value = padded("search=yes,", VALUE + 1) + "ai-train=no";
    let claims: Vec<_> =
        of_headers(&[("Content-Signal", &value)]).into_iter().map(|statement| statement.claim).collect();
    assert!(claims.contains(&NO_TRAINING), "{claims:?}");
}

#[test]
fn a_grade_of_use_counts_in_a_malformed_list() {
    for (value, grade) in [("use: immediate", Grade::Immediate), ("use: reference", Grade::Reference)] {
        let said = of_headers(&[("Content-Signal", value)]);
        assert_eq!(said.iter().map(|said| said.claim).collect::<Vec<_>>(), [Claim::Use(grade)], "{value}");
    }
}

#[test]
fn of_a_claim_eight_places_are_kept() {
    let mut headers = vec![("Content-Signal", "ai-train=no"); 10];
    headers.push(("Content-Signal", "search=no"));
    let said = of_headers(&headers);
    assert_eq!(said.iter().filter(|said| said.claim == NO_TRAINING).count(), 8);
    assert_eq!(said.len(), 9, "another claim is kept beside them");
}

#[test]
fn lines_of_consent_are_read_up_to_their_limits() {
    let read = |values: &[String]| {
        let lines =
            values.iter().zip(1..).map(|(value, line)| RobotsLine { line, field: "Content-Usage", value });
        let read = ConsentLines::read(lines);
        (read.lines.len(), read.unread.map_or(0, |unread| unread.count))
    };
    let value = |length: usize| format!("{:length$}", "train-ai=n");
    assert_eq!(read(&[value(2_048)]), (1, 0));
    assert_eq!(read(&[value(2_049)]), (0, 1));
    assert_eq!(read(&vec![value(2_048); 32]), (32, 0), "64 KiB in all");
    assert_eq!(read(&[vec![value(2_048); 31], vec![value(2_047), value(10)]].concat()), (32, 1));
    assert_eq!(read(&vec![value(10); 1_000]), (1_000, 0));
    assert_eq!(read(&vec![value(10); 1_003]), (1_000, 3));
    let signal = ConsentLines::read([RobotsLine { line: 1, field: "Content-Signal", value: "ai-train=no" }]);
    assert_eq!(signal.lines[0].signal, Signal::ContentSignal);
}

#[test]
fn escapes_count_wherever_they_are_in_a_path() {
    for (pattern, path) in [("/ab%41c", "/abAc"), ("/a%7e%7eb", "/a~~b"), ("/abc%2F", "/abc%2f")] {
        assert!(Location::new(pattern).matches(path), "{pattern} {path}");
    }
    assert!(!Location::new("/ab%41c").matches("/abA"));
}
