use proptest::prelude::*;

use super::*;

fn glob(pattern: &str, path: &str) -> bool {
    matches(&tokens(pattern.as_bytes()), &decode(path.as_bytes()), &mut None)
}

#[test]
fn conner_shell_patterns_cover_the_whole_path() {
    let rows = [
        ("*index.html", "/a/index.html", true),
        ("*index.html", "/a/index.htmlx", false),
        ("/a?c", "/abc", true),
        ("/a?c", "/ac", false),
        ("/[a-c]x", "/bx", true),
        ("/[!a-c]x", "/bx", false),
        ("/[^a-c]x", "/dx", true),
        ("/[]x]y", "/]y", true),
        ("/[ax", "/[ax", true),
        ("/a\\*b", "/a*b", true),
        ("/a\\*b", "/axb", false),
        ("/a%2Ab*", "/a*bc", true),
        ("/a%2Ab*", "/axbc", false),
        ("/a%2Fb*", "/a/b", false),
        ("*a*a*a*b", "/aaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
    ];
    for (pattern, path, expected) in rows {
        assert_eq!(glob(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn versions_are_the_first_number() {
    let read = |value: &str| version(value.as_bytes());
    for two in ["2.0", "2.0.0", "2", "Version 2.0"] {
        assert_eq!(read(two), Version::Two, "{two}");
    }
    for one in ["", "x", "1.0", "0", "1.9"] {
        assert_eq!(read(one), Version::One, "{one}");
    }
    for higher in ["2.1", "3", "99999999999999"] {
        assert_eq!(read(higher), Version::Higher, "{higher}");
    }
}

/// Tries each length of each run: slow, and too simple to be wrong.
fn by_trial(pattern: &[Token], path: &[u16]) -> bool {
    let (Some((token, pattern)), rest) = (pattern.split_first(), path.get(1..)) else {
        return path.is_empty();
    };
    let has = |is_wanted: &dyn Fn(u16) -> bool| {
        rest.is_some_and(|rest| is_wanted(path[0]) && by_trial(pattern, rest))
    };
    match token {
        Token::Run => (0..=path.len()).any(|length| by_trial(pattern, &path[length..])),
        Token::One => has(&|_| true),
        Token::Literal(literal) => has(&|symbol| symbol == *literal),
        Token::Set { ranges, complement } => {
            has(&|symbol| ranges.iter().any(|&(from, to)| (from..=to).contains(&symbol)) != *complement)
        }
    }
}

proptest! {
    #[test]
    fn shell_patterns_answer_as_trials_of_each_length_do(
        start in r"/?([ab?]|%2F|\[a-b\]|\[!b\]|\[b-a%\]|\[/b-\u{ff}\]){0,6}",
        middle in r"(\*([ab/]|\[\^a%\]|%e9){0,3}){0,2}",
        end in r"[ab*]{0,2}",
        url in r"/([ab]|%2F|%e9){0,6}",
        repeated in "(ab|a|aab|%2Fa|%e9b){1,2}",
        times in 0..70_usize,
    ) {
        let (pattern, path) = ([start, middle, end].concat(), decode([url, repeated.repeat(times)].concat().as_bytes()));
        let pattern = tokens(pattern.as_bytes());
        prop_assert_eq!(matches(&pattern, &path, &mut None), by_trial(&pattern, &path));
    }

    #[test]
    fn shell_patterns_cover_what_they_were_made_of(
        unit in "(a|b|%2F|%e9){1,5}",
        times in 1..60_usize,
        tail in "[ab]{0,3}",
        runs in prop::collection::vec((any::<prop::sample::Index>(), 0..90_usize), 0..3),
        one in any::<prop::sample::Index>(),
    ) {
        let path = decode([unit.repeat(times), tail].concat().as_bytes());
        let mut pattern: Vec<Token> = path.iter().map(|&symbol| Token::Literal(symbol)).collect();
        pattern[one.index(path.len())] = Token::One;
        for (at, length) in runs {
            let at = at.index(pattern.len());
            let end = (at + length).min(pattern.len());
            pattern.splice(at..end, [Token::Run]);
        }
        prop_assert!(matches(&pattern, &path, &mut None));
        pattern.push(Token::Literal(u16::from(b'x')));
        prop_assert!(!matches(&pattern, &path, &mut None));
    }
}
