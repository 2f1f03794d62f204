//! Laws that hold for every file, agent and URL.

use proptest::prelude::*;
use robots::{Additions, Agent, Collector, Dialect, Options, Robots};

/// Files out of lines that matter, with slips, in every order.
fn file() -> impl Strategy<Value = String> {
    let path = "(/|\\*|[ab]|%2[Ff]|%61|\\$|\\?|é| |http://s.example/a){0,6}";
    let line = prop_oneof![
        4 => (prop_oneof![Just("Disallow"), Just("Allow"), Just("disalow"), Just("DISALLOW ")], path)
            .prop_map(|(field, path)| format!("{field}: {path}")),
        2 => prop_oneof!["", "\\*", "a", "b", "ab", "a b", "\\* a", "a/1.0", "a,b"]
            .prop_map(|name| format!("User-agent: {name}")),
        1 => prop_oneof!["", "# c", "Robot-version: 2.0", "Crawl-delay: 5", "junk", "Disallow /a", "Sitemap: x"],
    ];
    (prop::collection::vec(line, 0..12), prop_oneof![Just("\n"), Just("\r\n"), Just("\r")])
        .prop_map(|(lines, end)| lines.join(end))
}

fn path() -> impl Strategy<Value = String> {
    "/([/ab*$?]|%2F|%61){0,8}"
}

fn robots(file: &str, dialect: Dialect) -> Robots {
    Robots::parse(file.as_bytes(), &Agent::new("a/1.0"), &dialect.into(), Some("http://s.example"))
}

fn allowed(file: &str, dialect: Dialect, path: &str) -> bool {
    robots(file, dialect).verdict(path).allowed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn rfc9309_2_2_2_a_longer_matching_allow_wins(file in file(), path in path()) {
        // The whole path, closed by `$`, is longer than any rule that matches it without a star.
        let file = file.replace('*', "");
        let wins = format!("User-agent: a\n{}\nUser-agent: a\nAllow: {}$\n", file, path.replace('*', "%2A").replace('$', "%24"));
        for dialect in [Dialect::Rfc9309, Dialect::Hardened] {
            prop_assert!(allowed(&wins, dialect, &path), "{} {}", wins, robots(&wins, dialect).verdict(&path));
        }
    }

    #[test]
    fn adding_disallow_never_allows(file in file(), rule in "/[ab/*]{0,4}[$]?", path in path()) {
        let more = format!("{file}\nDisallow: {rule}");
        for dialect in [Dialect::Koster1994, Dialect::Koster1996, Dialect::Rfc9309, Dialect::Hardened] {
            prop_assert!(allowed(&file, dialect, &path) || !allowed(&more, dialect, &path), "{dialect}\n{more}");
        }
        // The one exception: a 2.0 record that had Allow lines alone (specification 1.5 step 7).
        if !file.contains("Robot-version") {
            prop_assert!(allowed(&file, Dialect::Strictest, &path) || !allowed(&more, Dialect::Strictest, &path));
        }
    }

    #[test]
    fn strictest_never_allows_what_a_member_denies(file in file(), path in path()) {
        let members = [Dialect::Koster1994, Dialect::Koster1996, Dialect::Conner1996, Dialect::Hardened];
        let all = members.into_iter().all(|member| allowed(&file, member, &path));
        let verdict = robots(&file, Dialect::Strictest).verdict(&path);
        prop_assert_eq!(verdict.allowed, all);
        prop_assert!(verdict.allowed || members.contains(&verdict.dialect));
    }

    #[test]
    fn hardened_differs_from_rfc9309_by_its_additions_alone(file in file(), path in path()) {
        let rfc9309 = allowed(&file, Dialect::Rfc9309, &path);
        let mut additions = Additions::HARDENED;
        let mut hardened = robots(&file, Dialect::Hardened);
        // Without an addition that picked another group, others may come to bear.
        while hardened.verdict(&path).allowed != rfc9309 {
            let trace = hardened.additions().without(Additions::H5);
            prop_assert!(!trace.is_empty());
            additions = additions.without(trace);
            let plain = Options::default().with_additions(additions);
            hardened = Robots::parse(file.as_bytes(), &Agent::new("a/1.0"), &plain, Some("http://s.example"));
        }
    }

    /// The additions that pick no other group only forbid, without the help of another reading (`strictness.rs`).
    #[test]
    fn additions_of_rules_only_forbid(file in file(), path in path()) {
        let only = Options::default().with_additions(Additions::H1.with(Additions::H4).with(Additions::H5).with(Additions::H6));
        let robots = Robots::parse(file.as_bytes(), &Agent::new("a/1.0"), &only, Some("http://s.example"));
        prop_assert!(!robots.verdict(&path).allowed || allowed(&file, Dialect::Rfc9309, &path), "{file}");
    }

    #[test]
    fn escapes_of_unreserved_characters_change_nothing(file in file(), path in path()) {
        let other = path.replace('a', "%61").replace("%6%61", "%6a");
        for dialect in [Dialect::Rfc9309, Dialect::Koster1996] {
            prop_assert_eq!(allowed(&file, dialect, &path), allowed(&file, dialect, &other), "{} {}", path, other);
        }
    }

    #[test]
    fn robots_txt_itself_is_always_allowed(file in file()) {
        for dialect in Dialect::ALL {
            prop_assert!(allowed(&file, dialect, "/robots.txt"));
            prop_assert!(allowed(&file, dialect, "https://s.example/robots.txt#x"));
        }
    }

    #[test]
    fn any_bytes_give_a_value_and_the_evidence_is_in_the_file(body: Vec<u8>, path in ".{0,30}") {
        for dialect in Dialect::ALL {
            let robots = Robots::parse(&body, &Agent::new("a"), &dialect.into(), None);
            let verdict = robots.verdict(&path);
            prop_assert!(verdict.line.unwrap_or(1) as usize <= body.len() + 1);
            prop_assert!(robots.warnings().len() <= 205);
        }
    }

    /// However a body comes in, it is read as a whole one: same answer, same cut.
    #[test]
    fn chunked_is_whole(file in file(), path in path(), chunk in 1..40_usize, limit in 0..200_usize) {
        let options = Options::default().with_max_bytes(limit);
        let agent = Agent::new("a");
        let mut body = Collector::new(&options);
        for chunk in file.as_bytes().chunks(chunk) {
            if !body.push(chunk) {
                break;
            }
        }
        let (chunked, whole) = (body.parse(&agent, &options, None), Robots::parse(file.as_bytes(), &agent, &options, None));
        prop_assert_eq!(chunked.verdict(&path), whole.verdict(&path));
        prop_assert_eq!(chunked.truncated(), whole.truncated());
        prop_assert_eq!(chunked.warnings(), whole.warnings());
        prop_assert!(body.bytes().len() <= limit + 1);
    }

    /// A file that is cut at the limit decides as the file that ends before the cut line.
    #[test]
    fn a_cut_file_is_its_whole_lines(file in file(), path in path(), limit in 0..120_usize, nul in 0..400_usize) {
        // One NUL byte in most files: it must count in the lines that are read, and in no other.
        let mut file = file;
        if file.is_char_boundary(nul) {
            file.insert(nul, '\0');
        }
        let options = Options::default().with_max_bytes(limit);
        let agent = Agent::new("a");
        let cut = Robots::parse(file.as_bytes(), &agent, &options, None);
        let whole = if file.len() <= limit || matches!(file.as_bytes()[limit], b'\n' | b'\r') {
            &file.as_bytes()[..file.len().min(limit)]
        } else {
            let end = file.as_bytes()[..limit].iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |at| at + 1);
            &file.as_bytes()[..end]
        };
        prop_assert_eq!(cut.truncated(), file.len() > limit);
        prop_assert_eq!(cut.verdict(&path), Robots::parse(whole, &agent, &Options::default(), None).verdict(&path));
    }
}

#[test]
fn empty_files_allow_everything() {
    for dialect in Dialect::ALL {
        assert!(allowed("", dialect, "/x") && allowed("\n\n# only a comment\n", dialect, "/x"));
    }
}
