//! `%24` and `%2A` of a URL beside `$` and `*` of a rule (RFC 9309 section 2.2.3; addition H9).

use robots::{Additions, Agent, Dialect, Options, Robots};

fn robots(rules: &str, options: &Options) -> Robots {
    Robots::parse(format!("User-agent: *\n{rules}\n").as_bytes(), &Agent::new("a"), options, None)
}

#[test]
fn hardened_denies_where_either_reading_of_an_escape_denies() {
    // Rules, URL, and whether `rfc9309` and `hardened` allow it.
    let rows = [
        ("Disallow: /a$b", "/a$b", false, false),
        ("Disallow: /a$b", "/a%24b", true, false),
        ("Disallow: /a$b", "/a%24c", true, true),
        ("Disallow: /a%24b", "/a$b", false, false),
        ("Disallow: /a%24b", "/a%24b", false, false),
        ("Disallow: /x$*", "/x%24y", true, false),
        ("Disallow: /x$$", "/x%24", true, false),
        ("Disallow: /x$$", "/x%24y", true, true),
        // At the end it marks the end of the URL and is no character.
        ("Disallow: /x$", "/x%24", true, true),
        ("Disallow: /x$", "/x", false, false),
        ("Disallow: /*$b%2A", "/a%24b%2a", true, false),
        ("Disallow: /a*b", "/a%2Ab", false, false),
        ("Disallow: /a%2Ab", "/a*b", false, false),
        ("Disallow: /a%2Ab", "/a%2ab", false, false),
        ("Disallow: /a%2Ab", "/axb", true, true),
        ("Disallow: /a%2Ab$c", "/a%2ab$c", false, false),
        ("Disallow: /a%2Ab$c", "/a*b%24c", true, false),
        // Neither reading opens what the other one denies.
        ("Disallow: /a\nAllow: /a$b", "/a%24b", false, false),
        ("Disallow: /a\nAllow: /a$b", "/a$b", true, true),
        ("Disallow: /a$b\nAllow: /a%24b", "/a%24b", true, true),
        ("Disallow: /a$bcde\nAllow: /a%24b", "/a%24bcde", true, false),
    ];
    for (rules, url, rfc9309, hardened) in rows {
        for (dialect, want) in [(Dialect::Rfc9309, rfc9309), (Dialect::Hardened, hardened)] {
            let verdict = robots(rules, &dialect.into()).verdict(url);
            assert_eq!(verdict.allowed, want, "{rules} {url}: {verdict}");
        }
    }
}

#[test]
fn the_addition_is_named_and_can_be_switched_off() {
    let rules = "Disallow: /a$b";
    let robots9 = robots(rules, &Options::default());
    assert_eq!(robots9.additions(), Additions::H9);
    assert_eq!(robots9.verdict("/a%24b").line, Some(2));
    let off = Options::default().with_additions(Additions::HARDENED.without(Additions::H9));
    assert!(robots(rules, &off).verdict("/a%24b").allowed);
    assert!(robots("Disallow: /a$", &Options::default()).additions().is_empty());
}
