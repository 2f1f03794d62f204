//! Corners of the readings: escapes, wildcards of each kind, encodings, records, and addresses.

use robots::access::{Access, History, Outcome, Policy, ResponseHead, judge};
use robots::{Additions, Agent, Dialect, Options, Robots, origin_of, path_of_url};

fn allows(file: &str, options: impl Into<Options>, path: &str) -> bool {
    Robots::parse(file.as_bytes(), &Agent::new("SuperRobot"), &options.into(), None).verdict(path).allowed
}

/// Encyclopedias explain these lines as all files of a type; with a `$` they name one path, without one a beginning.
#[test]
fn no_dialect_takes_a_bare_extension_for_all_files_of_a_type() {
    for dialect in Dialect::ALL {
        for (line, path) in [("/.jpg$", "/photos/a.jpg"), (".htm$", "/a.htm"), ("/.jpg", "/a.jpg")] {
            let file = format!("User-agent: *\nDisallow: {line}\n");
            assert!(allows(&file, dialect, path), "{dialect:?} {line}");
        }
        let meant = allows("User-agent: *\nDisallow: /*.jpg$\n", dialect, "/photos/a.jpg");
        let has_patterns = matches!(dialect, Dialect::Rfc9309 | Dialect::Hardened | Dialect::Strictest);
        assert_eq!(meant, !has_patterns, "{dialect:?}");
    }
}

/// Version 2 of Conner's draft, whose paths are patterns of a shell.
fn conner(rules: &str, path: &str) -> bool {
    allows(&format!("User-agent: *\nRobot-version: 2.0.0\n{rules}"), Dialect::Conner1996, path)
}

#[test]
fn conner_sets_hold_what_is_between_the_brackets() {
    for (set, inside, outside) in [
        ("[ab]", "ab", "c-["),
        ("[a-c]", "abc", "d-"),
        ("[!a]", "b![", "a"),
        ("[^a-c]", "d^[-", "abc"),
        // A hyphen at the end stands for itself.
        ("[a-]", "a-", "b"),
        ("[]a]", "]a", "b"),
    ] {
        let rules = format!("Disallow: /{set}x\n");
        for (letters, denied) in [(inside, true), (outside, false)] {
            for letter in letters.chars() {
                assert_eq!(!conner(&rules, &format!("/{letter}x")), denied, "{set} {letter}");
            }
        }
    }
}

#[test]
fn conner_a_backslash_takes_the_next_character_literally() {
    assert!(!conner("Disallow: /a\\*b\n", "/a*b") && conner("Disallow: /a\\*b\n", "/axb"));
    // The last one has no next character.
    assert!(!conner("Disallow: /a\\\n", "/a\\") && conner("Disallow: /a\\\n", "/a"));
}

#[test]
fn conner_an_explicit_path_comes_before_a_longer_pattern() {
    let rules = "Disallow: /p*a*g*e*\nAllow: /page\n";
    assert!(conner(rules, "/page") && !conner(rules, "/pages"));
    let rules = "Allow: /p*a*g*e*\nDisallow: /page\n";
    assert!(!conner(rules, "/page") && conner(rules, "/pages"));
}

#[test]
fn conner_only_a_group_of_allow_lines_alone_forbids_the_rest() {
    assert!(!conner("Allow: /a*\n", "/c"));
    assert!(conner("Allow: /a*\nDisallow: /b*\n", "/c"));
    assert!(conner("Disallow: /b*\n", "/c"));
}

#[test]
fn koster1994_a_record_ends_with_a_blank_line() {
    // "The file consists of one or more records separated by one or more blank lines": the second one names nobody.
    let file = "User-agent: *\nDisallow: /x\n\nDisallow: /y\n";
    for dialect in [Dialect::Koster1994, Dialect::Koster1996] {
        assert!(!allows(file, dialect, "/x") && allows(file, dialect, "/y"), "{dialect}");
    }
    assert!(!allows(file, Dialect::Rfc9309, "/y"), "there blank lines mean nothing");
}

#[test]
fn a_misspelt_field_counts_where_h5_or_the_practice_of_rfc_9309_says_so() {
    let file = "User-agent: *\nDisalow: /x\n";
    let without = Options::default().with_additions(Additions::HARDENED.without(Additions::H5));
    assert!(allows(file, without, "/x") && !allows(file, Options::default(), "/x"));
    // As Google's parser has it.
    assert!(!allows(file, Dialect::Rfc9309, "/x"));
    for dialect in [Dialect::Koster1994, Dialect::Koster1996, Dialect::Conner1996] {
        assert!(allows(file, dialect, "/x"), "{dialect}");
    }
}

#[test]
fn an_index_page_allows_its_folder_where_that_is_asked_for_alone() {
    let file = "User-agent: *\nAllow: /x/index.html\nDisallow: /x/\n";
    for dialect in [Dialect::Rfc9309, Dialect::Hardened] {
        assert!(!allows(file, dialect, "/x/"), "{dialect}");
        let options = Options::from(dialect).with_index_folder(true);
        assert_eq!(allows(file, options, "/x/"), dialect == Dialect::Rfc9309, "{dialect}");
    }
}

#[test]
fn an_escaped_star_is_a_literal_one_however_many_there_are() {
    let file = "User-agent: *\nDisallow: /%2A%2A%2A%2A%2A%2A\n";
    for path in ["/******", "/%2A%2a%2A%2a%2A%2a"] {
        assert!(!allows(file, Dialect::Rfc9309, path), "{path}");
    }
    assert!(allows(file, Dialect::Rfc9309, "/*****"), "one less");
}

#[test]
fn utf16_and_utf32_hold_any_character() {
    let file = "User-agent: *\nDisallow: /\u{1f600}\n";
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(file.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let utf32: Vec<u8> =
        ['\u{feff}'].into_iter().chain(file.chars()).flat_map(|c| u32::from(c).to_be_bytes()).collect();
    for body in [utf16, utf32] {
        let robots = Robots::parse(&body, &Agent::new("SuperRobot"), &Options::default(), None);
        assert!(!robots.verdict("/%F0%9F%98%80").allowed);
        assert!(robots.verdict("/%EF%BF%BD").allowed, "the replacement character is another one");
    }
}

#[test]
fn a_field_name_as_long_as_a_line_may_be_has_no_value() {
    for length in [16_662, 16_663, 16_664] {
        let file = format!("User-agent: *\nDisallow: /x\n{}: y\n", "a".repeat(length));
        assert!(!allows(&file, Options::default(), "/x"), "{length}");
    }
}

#[test]
fn an_address_behind_a_path_is_no_scheme() {
    assert_eq!(path_of_url("a.example/a?u=http://b.example/c"), "/a?u=http://b.example/c");
    assert_eq!(path_of_url("a.example?u=http://b.example/c"), "/?u=http://b.example/c");
    assert_eq!(path_of_url("http://a.example/c"), "/c");
}

#[test]
fn the_colons_of_an_ipv6_address_begin_no_port() {
    assert_eq!(origin_of("http://[::1]/x").as_deref(), Some("http://[::1]"));
    assert_eq!(origin_of("http://[::1]:8080/x").as_deref(), Some("http://[::1]:8080"));
    assert_eq!(origin_of("http://[::0a]/x").as_deref(), Some("http://[::0a]"));
}

fn judged(headers: &[(&str, &str)], body: &[u8]) -> (Access, std::time::Duration) {
    let head = ResponseHead::new(200, headers.iter().copied());
    let now = "2026-03-01T12:00:00Z".parse().expect("a time");
    let judgement = judge(&Outcome::Answer { head, body }, &History::default(), &Policy::default(), now);
    (judgement.access, judgement.lifetime)
}

#[test]
fn a_plain_text_without_a_known_field_is_a_robots_txt_without_rules() {
    assert_eq!(judged(&[("content-type", "text/plain")], b"hello\n").0, Access::Rules);
    assert_eq!(judged(&[("content-type", "text/html")], b"hello\n").0, Access::AllowAll);
    // UTF-16 of either order has NUL bytes, and is text.
    for mark in [[0xfe, 0xff], [0xff, 0xfe]] {
        let body = [&mark[..], b"\0h\0e\0l\0l\0o\0"].concat();
        assert_eq!(judged(&[], &body).0, Access::Rules, "{mark:?}");
    }
    assert_eq!(judged(&[], b"\0h\0e\0l\0l\0o\0").0, Access::AllowAll, "binary");
}

#[test]
fn a_directive_within_quotes_is_none() {
    let hours =
        |value| judged(&[("cache-control", value)], b"User-agent: *\nDisallow: /x\n").1.as_secs() / 3600;
    assert_eq!(hours("other=\"a, no-store, b\", max-age=43200"), hours("max-age=43200"));
    assert_ne!(hours("no-store, max-age=43200"), hours("max-age=43200"));
}

#[test]
fn control_characters_that_nobody_sees_part_no_field() {
    for control in ['\u{1}', '\u{8}', '\u{e}', '\u{1f}', '\u{7f}'] {
        for line in [format!("Dis{control}allow: /x"), format!("Disallow{control}: {control}/x{control}")] {
            assert!(!allows(&format!("User-agent: *\n{line}\n"), Options::default(), "/x"), "{line:?}");
        }
    }
}
