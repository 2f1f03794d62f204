//! The warnings that a site owner reads: every line is accounted for.

use robots::{Agent, Dialect, Options, Robots, WarningKind as K};

/// A file and its warnings.
type Row = (&'static [u8], &'static [(u32, K)]);

fn warnings(file: &[u8]) -> Vec<(u32, K)> {
    let robots =
        Robots::parse(file, &Agent::new("SuperRobot"), &Options::default(), Some("https://a.example"));
    robots.warnings().iter().map(|w| (w.line, w.kind)).collect()
}

#[test]
fn every_kind_has_its_line() {
    let rows: &[Row] = &[
        (b"User-agent: *\nDisallow: /x\n", &[]),
        (b"User-agent: *\nDisalow: /x\n", &[(2, K::Typo)]),
        (b"User agent: *\nDisallow: /x\n", &[(1, K::Typo)]),
        (b"User-agent: *\nDisallows: /x\nDisallow: /y", &[(2, K::LikelyTypo)]),
        (b"User-agent: *\nFoo: /x\nDisallow: /y", &[(2, K::UnknownField)]),
        (b"User-agent: *\nDisallow /x\n", &[(2, K::MissingColon)]),
        (b"User-agent: *\nplease stay away from here\nDisallow:", &[(2, K::NotAPair)]),
        (b"User-agent: *\nhello you\nDisallow:", &[(2, K::NotAPair)]),
        (b"Disallow: /x\nUser-agent: *\nDisallow: /y", &[(1, K::RuleBeforeAgent)]),
        (b"User-agent:\nDisallow: /x", &[(1, K::EmptyAgent)]),
        (b"User-agent: a, b\nDisallow: /x", &[(1, K::SeveralAgents)]),
        (b"User-agent: a b\nDisallow: /x", &[(1, K::SeveralAgents)]),
        (b"User-agent: MJ12bot/1.0\nDisallow: /x", &[(1, K::AgentCharacters)]),
        (b"User-agent: *\nDisallow: /x\n\nUser-agent: a\n", &[(4, K::GroupWithoutRules)]),
        (b"User-agent: *\n\nDisallow: /x\n", &[(3, K::BlankInGroup)]),
        (b"User-agent: *\nDisallow: /x\nUser-agent: a\nDisallow: /", &[(3, K::NoBlankBetweenGroups)]),
        (b"User-agent: *\nDisallow: /x /y\n", &[(2, K::SeveralPaths)]),
        (b"User-agent: *\nDisallow: x\n", &[(2, K::NoSlash)]),
        (b"User-agent: *\nDisallow: https://A.example:443/x\n", &[(2, K::FullUrl)]),
        (b"User-agent: *\nDisallow: https://b.example/x\n", &[(2, K::OtherSite)]),
        (b"User-agent: *\nAllow:\n", &[(2, K::EmptyAllow)]),
        (b"User-agent: *\nDisallow: /100%\n", &[(2, K::BadEscape)]),
        (b"User-agent: *\nDisallow: /a$b\n", &[(2, K::DollarInside)]),
        (b"User-agent: *\nDisallow: /a$\n", &[]),
        (b"User-agent: *\nDisallow: /\xff\n", &[(2, K::NotUtf8)]),
        (b"User-agent: *\nDisallow: /a\0\n", &[(2, K::Nul)]),
        (b"User-agent: *\nCrawl-delay: slow\nDisallow:", &[(2, K::BadDelay)]),
        (b"User-agent: *\nRequest-rate: 5\nDisallow:", &[(2, K::BadRate)]),
        (b"User-agent: *\nVisit-time: 0600-0600\nDisallow:", &[(2, K::BadVisitTime)]),
        (b"Sitemap:\n", &[(1, K::EmptySitemap)]),
        (b"Sitemap: /map.xml\n", &[(1, K::RelativeSitemap)]),
        (b"User-agent: *\nContent-Usage: Train-AI=n\nDisallow:", &[(2, K::BadSignal)]),
        (b"User-agent: *\nContent-Signal: search=maybe\nDisallow:", &[(2, K::BadSignal)]),
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /x\n", &[(0, K::ByteOrderMark)]),
        (b"\xff\xfeS\0i\0t\0e\0m\0a\0p\0:\0a\0:\0/\0/\0b\0", &[(0, K::Utf16)]),
        (
            b"S\0\0\0i\0\0\0t\0\0\0e\0\0\0m\0\0\0a\0\0\0p\0\0\0:\0\0\0a\0\0\0:\0\0\0/\0\0\0/\0\0\0b\0\0\0",
            &[(0, K::Utf32)],
        ),
        ("User-agent: *\nDisallow\u{a0}: /x\n".as_bytes(), &[(2, K::OddCharacter)]),
        (b"User-agent: *\nDisallow: /a\x0bDisallow: /b\n", &[(2, K::LineSeparator)]),
        (br"User-agent: *\nDisallow: /b\n", &[(1, K::LineSeparator)]),
        (b"User-agent: *\nCrawl-delay: 5 s\nDisallow: /x", &[(2, K::TextAfterValue)]),
        (b"<html>\n", &[(0, K::Html), (1, K::NotAPair)]),
        (b"hello\n", &[(0, K::NoKnownField), (1, K::NotAPair)]),
        (b"", &[]),
    ];
    for (file, want) in rows {
        assert_eq!(warnings(file), *want, "{}", String::from_utf8_lossy(file));
    }
}

#[test]
fn long_lines_and_long_files_are_told() {
    let line = format!("User-agent: *\nDisallow: /{}\nAllow: /{}\n", "a".repeat(17_000), "b".repeat(17_000));
    assert_eq!(warnings(line.as_bytes()), [(2, K::LongLine), (3, K::LongLine)]);
    let comment = format!("User-agent: *\nAllow: /x # {}\nDisallow: /\n", "a".repeat(70_000));
    assert_eq!(warnings(comment.as_bytes()), []);
    let long = format!("User-agent: *\nDisallow: /x\n{}Disallow: /y\n", "# comment\n".repeat(60_000));
    let robots = Robots::parse(long.as_bytes(), &Agent::new("a"), &Options::default(), None);
    assert!(robots.truncated() && robots.verdict("/y").allowed && !robots.verdict("/x").allowed);
    assert_eq!(robots.warnings().iter().map(|w| w.kind).collect::<Vec<_>>(), [K::TooLong]);
}

#[test]
fn warnings_are_bounded_and_say_so() {
    let junk = "junk\n".repeat(5_000);
    let robots = Robots::parse(junk.as_bytes(), &Agent::new("a"), &Options::default(), None);
    assert_eq!(robots.warnings().len(), 202);
    assert_eq!(robots.warnings().last().map(|w| w.kind), Some(K::More));
    // As many as fit, and one about the file as a whole.
    let fits = warnings("junk\n".repeat(200).as_bytes());
    assert_eq!((fits.len(), fits[0].0), (201, 0));
    assert!(fits[1..].iter().zip(1..).all(|(warning, line)| *warning == (line, K::NotAPair)), "{fits:?}");
}

#[test]
fn warnings_hold_no_control_characters() {
    let file = b"User-agent: *\nx\x1b[31m: \x07y\nDisallow: /\x1b[2J z";
    for dialect in Dialect::ALL {
        let robots = Robots::parse(file, &Agent::new("a"), &dialect.into(), None);
        for warning in robots.warnings() {
            assert!(!warning.to_string().contains(char::is_control), "{warning:?}");
        }
        let rule = robots.verdict("/%1b[2J").rule;
        assert!(rule.is_none_or(|rule| !rule.contains(char::is_control)));
    }
}
