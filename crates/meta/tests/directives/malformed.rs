//! Values that no grammar divides, as rows of a table.

use meta::{Agent, Dialect, Directives, MetaTag, Sources, resolve};

fn decide(place: &str, value: &str, dialect: Dialect) -> Directives {
    let (kind, name) = place.split_once(' ').unwrap();
    let name = unescape(name);
    let tag = MetaTag { content: Some(value.to_owned()), ..MetaTag::default() };
    let (headers, metas) = match kind {
        "header" => (vec![(name, value.to_owned())], Vec::new()),
        "meta" => (Vec::new(), vec![MetaTag { name: Some(name), ..tag }]),
        "http-equiv" => (Vec::new(), vec![MetaTag { http_equiv: Some(name), ..tag }]),
        other => panic!("no such source: {other}"),
    };
    let agent = Agent::new("examplebot");
    let sources = Sources { headers: &headers, metas: &metas };
    resolve(&sources, &agent, dialect, "2026-01-01T00:00:00Z".parse().unwrap())
}

/// Puts the character in for each `\u{...}`.
fn unescape(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| {
        let (code, rest) = part.split_once('}').unwrap();
        let c = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
        format!("{text}{c}{rest}")
    })
}

fn rows() -> Vec<(String, String, String)> {
    let table = include_str!("../data/malformed.tsv");
    let rows = table.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        (columns[0].to_owned(), unescape(columns[1]), columns[2].to_owned())
    });
    rows.collect()
}

#[test]
fn what_restricts_counts_in_every_value_malformed() {
    let mut wrong = Vec::new();
    for (place, value, flags) in rows() {
        let d = decide(&place, &value, Dialect::Strict);
        let found = [d.index, d.follow, d.archive, d.snippet].map(|flag| if flag { 'y' } else { 'n' });
        let found: String = found.iter().collect();
        if found != flags {
            wrong.push(format!(
                "{place}: {value:?} is {found}, not {flags}: {:?} {:?}",
                d.because, d.warnings
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_was_read_malformed_is_told_as_a_warning() {
    for value in ["noindex|nofollow", "noindex.", "index=no", "max-snippet:0."] {
        for place in ["header X-Robots-Tag", "header Robots-Tag", "meta robots"] {
            let warnings = decide(place, value, Dialect::Strict).warnings;
            let told =
                warnings.iter().any(|warning| warning.message.starts_with("malformed directive, applied: "));
            assert!(told, "{place}: {value}: {warnings:?}");
        }
    }
    let scope = decide("header X-Robots-Tag", "other bot: noindex", Dialect::Strict).warnings;
    assert_eq!(scope[0].message, "malformed agent scope, applied to every robot: other bot:");
    let list = decide("header X-Robots-Tag", "examplebot, otherbot: noindex", Dialect::Strict).warnings;
    assert_eq!(list[0].message, "malformed agent scope, applied to this robot: examplebot");
    let name = decide("meta robots,otherbot", "noindex", Dialect::Strict).warnings;
    assert_eq!(name[0].message, "malformed name, applied to this robot: robots,otherbot");
    for clean in [
        "noindex, nofollow",
        "noindex nofollow",
        "no-index; max-snippet:0",
        "noindex: yes",
        "sparkle, noindex",
    ] {
        let warnings = decide("meta robots", clean, Dialect::Strict).warnings;
        assert!(
            warnings.iter().all(|warning| warning.message == "no known directive: sparkle"),
            "{clean}: {warnings:?}"
        );
    }
}

#[test]
fn a_value_malformed_lifts_nothing_in_any_dialect() {
    for dialect in Dialect::ALL {
        for lift in ["index|follow|all|archive", "index. follow. all. archive.", "all/index"] {
            let headers = [("X-Robots-Tag".to_owned(), "noindex, noarchive".to_owned())];
            let tags = ["noindex, noarchive", lift].map(|content| MetaTag {
                name: Some("robots".to_owned()),
                content: Some(content.to_owned()),
                ..MetaTag::default()
            });
            let agent = Agent::new("examplebot");
            for headers in [&headers[..], &[]] {
                let d =
                    resolve(&Sources { headers, metas: &tags }, &agent, dialect, jiff::Timestamp::UNIX_EPOCH);
                assert!(!d.index && (dialect == Dialect::Google || !d.archive), "{dialect}: {lift}");
            }
        }
    }
}

#[test]
fn no_flood_of_terms_or_words_hides_a_later_restriction() {
    let flood = |word: &str| vec![word; 20_000].join(", ");
    for flood in
        [flood("x"), flood("noarchive"), flood("noindex|"), flood("max-snippet:5"), "x ".repeat(40_000)]
    {
        for end in ["nofollow", "nofollow|x", "max-snippet:0"] {
            let d = decide("meta robots", &format!("{flood}, {end}"), Dialect::Strict);
            let is_obeyed = if end == "max-snippet:0" { !d.snippet } else { !d.follow };
            assert!(is_obeyed, "{}...{end}", &flood[..20]);
            assert!(d.warnings.len() <= 64 && d.because.len() <= 16 * 25);
        }
    }
}

/// 64 warnings are kept of a page, those about what was applied first.
#[test]
fn no_flood_of_unusable_values_hides_what_was_applied() {
    let tag = |content: String| MetaTag {
        name: Some("robots".into()),
        content: Some(content),
        ..MetaTag::default()
    };
    let mut metas: Vec<_> = (0..3_000).map(|n| tag(format!("max-snippet:x{n}"))).collect();
    metas.push(tag("noindex|x".into()));
    let sources = Sources { headers: &[], metas: &metas };
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let warnings = resolve(&sources, &Agent::new("examplebot"), Dialect::Strict, now).warnings;
    let about = |words: &str| warnings.iter().filter(|warning| warning.message.starts_with(words)).count();
    assert_eq!(
        (about("the value can't be used: max-snippet:x"), about("malformed directive, applied: ")),
        (63, 1),
        "{warnings:?}"
    );
}
