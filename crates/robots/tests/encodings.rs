//! Files that look right and aren't: Unicode spaces, UTF-16 without a mark, UTF-32, NUL bytes (addition H10).

use std::time::Duration;

use jiff::Timestamp;
use robots::access::{Access, History, Outcome, Policy, ResponseHead, judge};
use robots::{Additions, Agent, Dialect, Options, Robots, WarningKind as K};

const FILE: &str = "# rules of the site\r\nUser-agent: *\r\nDisallow: /caf\u{e9}\r\nAllow: /caf\u{e9}/x\r\nCrawl-delay: 7\r\nSitemap: https://a.example/m.xml\r\n";

fn robots(body: &[u8], dialect: Dialect) -> Robots {
    Robots::parse(body, &Agent::new("SuperRobot/1.0"), &dialect.into(), None)
}

fn wide(text: &str, width: usize, is_big: bool) -> Vec<u8> {
    let units: Vec<u32> = match width {
        2 => text.encode_utf16().map(u32::from).collect(),
        _ => text.chars().map(u32::from).collect(),
    };
    let bytes = |unit: u32| {
        if is_big { unit.to_be_bytes()[4 - width..].to_vec() } else { unit.to_le_bytes()[..width].to_vec() }
    };
    units.into_iter().flat_map(bytes).collect()
}

#[test]
fn what_a_reader_sees_as_a_closed_site_is_closed() {
    let rows: &[&[u8]] = &[
        "User-agent: *\nDisallow:\u{a0}/".as_bytes(),
        "User-agent: *\nDisallow:\u{3000}/".as_bytes(),
        "User-agent: *\nDisallow: \u{200b}/".as_bytes(),
        "User-agent: *\nDisallow: /\u{a0}".as_bytes(),
        "User-agent: *\nDisallow\u{a0}: /".as_bytes(),
        "User-agent: *\n\u{a0}Disallow: /".as_bytes(),
        "User-agent: *\n\u{2003}Disallow\u{2003}/".as_bytes(),
        "User-agent: *\nDisallow\u{ff1a}/".as_bytes(),
        "User-agent: *\nDisallow: \u{ff0f}".as_bytes(),
        "User-agent:\u{a0}*\nDisallow: /".as_bytes(),
        "User-agent: *\u{a0}\nDisallow: /".as_bytes(),
        "User-agent:\u{a0}SuperRobot\nDisallow: /".as_bytes(),
        "User\u{2011}agent: *\nDisallow: /".as_bytes(),
        "User-agent\u{ff1a}\u{ff0a}\nDisallow\u{ff1a}\u{ff0f}".as_bytes(),
        "\u{feff}\u{feff}User-agent: *\nDisallow: /".as_bytes(),
        "\u{ef}\u{bb}\u{bf}User-agent: *\nDisallow: /".as_bytes(),
        "User-agent: a\nAllow: /\n\u{feff}User-agent: *\nDisallow: /".as_bytes(),
        b"User-agent: *\nDisallow:\xa0/",
        b"User-agent:\xa0*\nDisallow:\xa0/",
        b"User-agent: *\nDisallow\xa3\xba/",
        b"User-agent: *\nDisallow:\x01/",
        b"User-agent: *\nDis\0allow: /",
        b"User-agent: *\nDisallow:\0/",
    ];
    for body in rows {
        for dialect in [Dialect::Hardened, Dialect::Strictest] {
            let robots = robots(body, dialect);
            let verdict = robots.verdict("/page");
            assert!(!verdict.allowed, "{} {dialect}: {verdict}", body.escape_ascii());
            assert!(robots.additions().contains(Additions::H10), "{}", body.escape_ascii());
        }
    }
}

#[test]
fn a_spoilt_allow_opens_nothing() {
    for file in [
        "User-agent: *\nDisallow: /\nAllow:\u{a0}/a",
        "User-agent: *\nDisallow: /\nAllow: /\u{a0}",
        "User-agent: *\nDisallow: /\n\nUser-agent:\u{a0}SuperRobot\nAllow: /",
        "User-agent: *\nDisallow: /\nAllow\u{ff1a}/a",
    ] {
        assert!(!robots(file.as_bytes(), Dialect::Hardened).verdict("/a").allowed, "{file}");
    }
}

#[test]
fn wide_encodings_are_read_with_and_without_a_mark() {
    for (width, is_big) in [(2, false), (2, true), (4, false), (4, true)] {
        let plain = wide(FILE, width, is_big);
        let marked = wide(&format!("\u{feff}{FILE}"), width, is_big);
        // A byte too much at the start: no unit is at its place.
        let moved = [b"\n", &plain[..]].concat();
        for (body, is_decoded) in [(&plain, true), (&marked, true), (&moved, false)] {
            let what = format!("{width} {is_big} {}", body.escape_ascii());
            let robots = robots(body, Dialect::Hardened);
            if is_decoded {
                let verdict = robots.verdict("/caf%C3%A9/y");
                assert_eq!((verdict.allowed, verdict.line), (false, Some(3)), "{what}: {verdict}");
                assert_eq!(verdict.rule.as_deref(), Some("Disallow: /caf\u{e9}"));
                assert!(robots.verdict("/other").allowed, "{what}");
                let kind = if width == 2 { K::Utf16 } else { K::Utf32 };
                assert!(robots.warnings().iter().any(|warning| warning.kind == kind), "{what}");
            }
            assert!(!robots.verdict("/caf%E9").allowed || is_decoded, "{what}");
            assert_eq!(robots.timing().crawl_delay(), Some(Duration::from_secs(7)), "{what}");
            assert_eq!(robots.sitemaps(), ["https://a.example/m.xml"], "{what}");
        }
    }
}

/// Some shells append UTF-16 to a file of ASCII; editors leave NUL bytes behind.
#[test]
fn lines_in_another_encoding_are_read_wherever_they_stand() {
    let appended = [&b"User-agent: *\r\nDisallow: /a\r\n"[..], &wide("Disallow: /b\r\n", 2, false)].concat();
    let marked =
        [&b"User-agent: *\r\nDisallow: /a\r\n"[..], &wide("\u{feff}Disallow: /b\r\n", 2, false)].concat();
    let before = [&wide("User-agent: *\r\nDisallow: /a\r\n", 2, false), &b"Disallow: /b\r\n"[..]].concat();
    let noise = [&b"\0\0\0User-agent: *\r\nDisallow: /a\r\n\0"[..], b"\0\0Disallow: /b\0\r\n"].concat();
    for body in [appended, marked, before, noise] {
        let robots = robots(&body, Dialect::Hardened);
        for (path, want) in [("/a", false), ("/b", false), ("/c", true)] {
            let verdict = robots.verdict(path);
            assert_eq!(verdict.allowed, want, "{path} {}: {verdict}", body.escape_ascii());
        }
    }
}

#[test]
fn other_dialects_but_rfc9309_decode_what_is_wide_as_a_whole() {
    for (width, is_big) in [(2, false), (2, true), (4, false), (4, true)] {
        let body = wide("User-agent: *\nDisallow: /a\n", width, is_big);
        for dialect in Dialect::ALL {
            assert_eq!(
                robots(&body, dialect).verdict("/a").allowed,
                dialect == Dialect::Rfc9309,
                "{dialect}"
            );
        }
    }
}

#[test]
fn the_line_is_quoted_as_it_was_written_and_told() {
    let file = "User-agent: *\nDisallow:\u{a0}/a # no\u{a0}matter\nDisallow: /b\u{e9}\nDisallow\u{a0}: /c\n";
    let robots = robots(file.as_bytes(), Dialect::Hardened);
    let verdict = robots.verdict("/a");
    assert_eq!((verdict.line, verdict.rule.as_deref()), (Some(2), Some("Disallow:\u{a0}/a")));
    let warnings: Vec<_> = robots.warnings().iter().map(|warning| (warning.line, warning.kind)).collect();
    assert_eq!(warnings, [(2, K::OddCharacter), (4, K::OddCharacter)]);
    let file = "User-agent: *\nDisallow:\u{a0}/a\nSitemap:\u{a0}https://a.example/m.xml\n";
    assert_eq!(hardened(file).sitemaps(), ["https://a.example/m.xml"]);
    // Legitimate paths in other scripts are no slips.
    let file = "User-agent: *\nDisallow: /\u{65e5}\u{672c}\u{8a9e}\nDisallow: /caf\u{e9}\n";
    let robots = hardened(file);
    assert!(robots.additions().is_empty() && robots.warnings().is_empty());
}

fn hardened(file: &str) -> Robots {
    robots(file.as_bytes(), Dialect::Hardened)
}

#[test]
fn the_addition_can_be_switched_off() {
    let off = Options::default().with_additions(Additions::HARDENED.without(Additions::H10));
    let body = "User-agent: *\nDisallow:\u{a0}/".as_bytes();
    assert!(Robots::parse(body, &Agent::new("a"), &off, None).verdict("/a").allowed);
}

/// Specification 2.4: a file with NUL bytes that names a robot is no binary file.
#[test]
fn access_a_wide_or_spoilt_file_is_never_taken_for_binary_or_html() {
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap_or_default();
    let access = |body: &[u8], content_type: &str| {
        let head = ResponseHead::new(200, [("content-type", content_type)]);
        judge(&Outcome::Answer { head, body }, &History::default(), &Policy::default(), now).access
    };
    let file = "User-agent: *\nDisallow: /\n";
    for (width, is_big) in [(2, false), (2, true), (4, false), (4, true)] {
        for text in [file.to_owned(), format!("\u{feff}{file}")] {
            assert_eq!(access(&wide(&text, width, is_big), "text/plain"), Access::Rules, "{width} {is_big}");
        }
    }
    assert_eq!(access(b"User-agent: *\nDisallow: /\n\0\0\0", "text/plain"), Access::Rules);
    assert_eq!(access("User-agent\u{ff1a}*\nDisallow\u{ff1a}/\n".as_bytes(), "text/html"), Access::Rules);
    assert_eq!(access(b"\x7fELF\0\0\0nothing to read", "text/plain"), Access::AllowAll);
    assert_eq!(access(b"<p>Not found</p>", "text/html"), Access::AllowAll);
}
