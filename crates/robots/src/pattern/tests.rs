use proptest::prelude::*;

use super::*;

fn matches(pattern: &str, url: &str) -> bool {
    let mut arena = Vec::new();
    let bytes = pattern.as_bytes();
    let subject = Subject::new(url.as_bytes());
    Pattern::compile(bytes, classes(bytes), &mut arena)
        .is_some_and(|(pattern, _)| pattern.matches(&subject, &arena))
}

/// The position-set method of the specification, one byte at a time: slow, and too simple to be wrong.
fn by_position_set(pattern: &[u8], url: &[u8]) -> bool {
    let (pattern, to_end) = match pattern.strip_suffix(b"$") {
        Some(body) => (body, true),
        None => (pattern, false),
    };
    let mut at: Vec<bool> = (0..=url.len()).map(|i| i == 0).collect();
    for &b in pattern {
        let mut next = vec![false; url.len() + 1];
        if b == b'*' {
            let first = at.iter().position(|&here| here);
            if let Some(first) = first {
                next[first..].fill(true);
            }
        } else {
            (0..url.len()).for_each(|i| next[i + 1] = at[i] && url[i] == b);
        }
        at = next;
    }
    if to_end { at[url.len()] } else { at.contains(&true) }
}

#[test]
fn rfc9309_2_2_3_special_characters() {
    let rows = [
        ("/fish*.php", "/fishheads/catfish.php?p", true),
        ("/fish*.php", "/Fish.PHP", false),
        ("/*.php$", "/filename.php", true),
        ("/*.php$", "/filename.php5", false),
        ("*.gif$", "/a/b.gif", true),
        ("/x$$", "/x$", true),
        ("/x$$", "/x", false),
        ("/x$*", "/x$y", true),
        ("/x$*", "/xy", false),
        ("/x*$", "/x/y", true),
        ("/x%2a", "/x*", true),
        ("/x%2a", "/xy", false),
        ("/x%2a", "/x%2A", true),
        ("/x%2a%24%2a", "/x*%24*y", true),
        ("/x%24", "/x$", true),
        ("/a$b", "/a$b", true),
        ("/a$b", "/a%24b", false),
        // The escape of a literal star is not in the URL, so no part of a rule finds it there.
        ("/*A", "/a*", false),
        ("/*2", "/a*", false),
        ("/*a*ab$", "/aab", true),
        ("/*ab*ab$", "/ab", false),
        ("/a*a$", "/a", false),
        ("*", "/", true),
        ("x/", "/x/", false),
        ("", "/", false),
    ];
    for (pattern, url, expected) in rows {
        assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
    }
}

#[test]
fn length_counts_normalised_bytes_and_specials() {
    let length = |value: &str| {
        let bytes = value.as_bytes();
        Pattern::compile(bytes, classes(bytes), &mut Vec::new()).map(|(_, length)| length)
    };
    assert_eq!(length("/a*b$"), Some(5));
    assert_eq!(length("/%7Ea/***"), Some(7));
    assert_eq!(length("/é"), Some(7));
    assert_eq!(length("/a$b"), Some(4));
}

/// The readings of a rule, each written out: every escape of `*` and `$` as it is or as its character, of the first four each
/// choice, of more the others as the first one.
fn written_out(text: &[u8]) -> Vec<Vec<u8>> {
    let places = escaped_specials(text);
    let counted = places.len().min(4);
    (0..1_u32 << counted)
        .map(|choice| {
            let is_chosen = |i: usize| choice >> (if i < counted { i } else { 0 }) & 1 == 1;
            let chosen = places.iter().enumerate().filter(|&(i, _)| is_chosen(i)).map(|(_, &at)| at);
            literal_specials(text, chosen)
        })
        .collect()
}

/// Tries each length of each `*`.
fn by_backtracking(pattern: &[u8], url: &[u8]) -> bool {
    match pattern {
        [] => true,
        b"$" => url.is_empty(),
        [b'*', b'*', rest @ ..] => by_backtracking(&[b"*", rest].concat(), url),
        [b'*', rest @ ..] => (0..=url.len()).any(|length| by_backtracking(rest, &url[length..])),
        [byte, rest @ ..] => url.strip_prefix(&[*byte]).is_some_and(|url| by_backtracking(rest, url)),
    }
}

/// Compares a URL with each reading of a rule by the position-set method.
fn any_reading_matches(rule: &str, url: &str) -> bool {
    any_reading(rule, url, by_position_set)
}

/// Compares a URL with each reading of a rule.
fn any_reading(rule: &str, url: &str, matches: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let bytes = rule.as_bytes();
    let text = normalise(bytes, classes(bytes));
    let subject = Subject::new(url.as_bytes());
    matches!(bytes.first(), Some(b'/' | b'*'))
        && written_out(&text).iter().any(|reading| {
            // A `$` within the rule is a literal one.
            let (body, end) = match reading.strip_suffix(b"$") {
                Some(body) => (body, &b"$"[..]),
                None => (&reading[..], &b""[..]),
            };
            let body: Vec<u8> = body.iter().map(|&b| if b == b'$' { LITERAL_DOLLAR } else { b }).collect();
            matches(&[&body, end].concat(), subject.bytes())
        })
}

#[test]
fn escapes_of_star_and_dollar_match_both_forms() {
    let rows = [
        ("/%24%24", "/$%24", true),
        ("/*4%24", "/%24%24", true),
        ("/*%24a$", "/b$a", true),
        ("/*%24a$", "/%24a%24a", true),
        ("/*%24a$", "/%24ab", false),
        ("/%24$", "/$", true),
        ("/%24$", "/$$", false),
        // The fifth is read as the first one.
        ("/%24%24%24%24%24", "/$$$$$", true),
        ("/%24%24%24%24%24", "/$%24%24%24$", true),
        ("/%24%24%24%24%24", "/$$$$%24", false),
        ("/%24%24%24%24%24", "/%24$$$%24", true),
        ("/%24%24%24%24*%24%2A", "/$$$$abc$*", true),
        ("/%24%24%24%24*%24%2A", "/$$$$abc$%2A", false),
    ];
    for (rule, url, expected) in rows {
        assert_eq!(any_reading_matches(rule, url), expected, "reference: {rule} {url}");
        assert_eq!(matches(rule, url), expected, "{rule} {url}");
    }
}

#[test]
fn a_pattern_takes_no_more_than_its_normalised_text() {
    for value in ["/%24%24%24%24", "/%2a%2A%24", "/a%24*%24%24%24%24%24b$", "/\"\"\""] {
        let bytes = value.as_bytes();
        let mut arena = Vec::new();
        let _pattern = Pattern::compile(bytes, classes(bytes), &mut arena);
        assert!(arena.len() <= normalise(bytes, classes(bytes)).len(), "{value}");
    }
}

proptest! {
    #[test]
    fn one_pattern_answers_as_all_readings_of_a_rule(
        rule in "[/*](%24|%2A|%2a|[*$24A%a/]){0,9}[$]?",
        url in "/(%24|%2A|[*$24A%a/]){0,10}",
    ) {
        prop_assert_eq!(matches(&rule, &url), any_reading_matches(&rule, &url));
    }

    #[test]
    fn one_pattern_finds_what_a_rule_was_made_of(
        parts in prop::collection::vec(("(%24|%2A|a|4){0,3}", any::<[bool; 3]>(), "[a/]{0,2}"), 1..4),
        to_end in any::<bool>(),
    ) {
        let mut rule = "/".to_owned();
        let mut url = "/".to_owned();
        for (part, as_character, between) in &parts {
            rule.push_str(part);
            let mut rest = part.clone();
            for is_character in as_character {
                if *is_character {
                    rest = rest.replacen("%24", "$", 1).replacen("%2A", "*", 1);
                }
            }
            url.push_str(&rest);
            url.push_str(between);
            rule.push('*');
        }
        if to_end {
            rule.push_str("a$");
            url.push('a');
        }
        prop_assert_eq!(matches(&rule, &url), any_reading_matches(&rule, &url));
    }

    #[test]
    fn a_long_url_is_answered_as_by_backtracking(
        unit in "(%24|%2A|%2a|%25|[$*a2]){1,4}",
        times in 0..60_usize,
        tail in "(%24|%2A|%25|[$*a2]){0,4}",
        parts in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..90_usize, any::<[bool; 2]>(), "(|||a|2|4|%24|%2a)"), 1..3),
        is_anchored in any::<bool>(),
        end in "[*$]{0,2}",
    ) {
        let url = format!("/{}{tail}", unit.repeat(times));
        let mut rule = if is_anchored { "/".to_owned() } else { "*".to_owned() };
        for (from, length, [stars, dollars], more) in parts {
            let from = from.index(url.len());
            let mut part = url[from..(from + length).min(url.len())].replace('*', "%2A");
            if dollars {
                part = part.replace('$', "%24");
            }
            if stars {
                part = part.replacen("%24", "$", 1);
            }
            rule.push_str(&part);
            rule.push_str(&more);
            rule.push('*');
        }
        rule.push_str(&end);
        prop_assert_eq!(matches(&rule, &url), any_reading(&rule, &url, by_backtracking), "{} {}", rule, url);
    }

    #[test]
    fn agrees_with_the_position_set_method(pattern in "[/*][/ab*]{0,10}[$]?", url in "/[/ab]{0,14}") {
        prop_assert_eq!(matches(&pattern, &url), by_position_set(pattern.as_bytes(), url.as_bytes()));
    }
}
