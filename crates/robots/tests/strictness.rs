//! How strict the dialects are: `strictest` never allows more than `hardened`, nor `hardened` more than `rfc9309`.

use proptest::prelude::*;
use proptest::sample::select;
use robots::{Additions, Agent, Dialect, Options, Robots};

const AGENTS: [&str; 6] = ["a/1.0", "ab", "a1", "bot2.0", "r\u{f6}b/1", "b-1/2"];
const ALIASES: [&[&str]; 4] = [&[], &["ab"], &["b1", "old"], &["bot", "a"]];

const NAMES: [&str; 20] = [
    "a", "A", "ab", "a1", "a2", "bot", "bot2", "bot2.0", "b", "b-1", "old", "other", "*", "a/1.0", "a*",
    "\"a\"", "r\u{f6}b", "R\u{d6}B", "\u{ff21}", "",
];

/// Names of ours, of our relatives and of others, alone and in every list, with slips.
fn agent_line() -> impl Strategy<Value = String> {
    let plain = select(&["User-agent: ", "User-agent:", "user-agent : "][..]);
    let slip = select(
        &[
            "useragent: ",
            "User agent: ",
            "User-agent ",
            "User-agent\u{a0}:",
            "\u{feff}User-agent: ",
            "User\u{2011}agent: ",
            "User-agent\u{ff1a}",
        ][..],
    );
    let gap = select(&[" ", " ", ", ", ",", "\t", " # ", "/", "\u{a0}", "\u{3000}"][..]);
    let list =
        (select(&NAMES[..]), gap, select(&NAMES[..])).prop_map(|(one, gap, two)| format!("{one}{gap}{two}"));
    let edge = select(&["\u{a0}", "\u{feff}", ",", " "][..]);
    let name = prop_oneof![
        3 => select(&NAMES[..]).prop_map(str::to_owned),
        1 => Just("*".to_owned()),
        3 => list,
        1 => (edge, select(&NAMES[..])).prop_map(|(edge, name)| format!("{edge}{name}{edge}")),
    ];
    (prop_oneof![4 => plain, 1 => slip], name).prop_map(|(field, name)| format!("{field}{name}"))
}

fn rule_line() -> impl Strategy<Value = String> {
    let plain = select(&["Disallow: ", "Disallow: ", "Disallow:", "Allow: ", "Allow:"][..]);
    let slip = select(
        &[
            "disalow: ",
            "DISALLOW : ",
            "Disallow ",
            "Allow ",
            "Disallow\u{a0}: ",
            "\u{a0}Allow: ",
            "\u{feff}Disallow:",
            "Disallow\u{ff1a}",
        ][..],
    );
    let path = select(
        &[
            "", "/", "/", "/a", "/b", "/a/b", "/*", "*b", "/a$", "/$", "/a$b", "/a*b$", "/%61", "/%24b",
            "/%2a",
        ][..],
    );
    let slipped = select(
        &[
            "a",
            "/a /b",
            "/\u{a0}",
            "\u{a0}/",
            "\u{2003}/a",
            "/a\u{200b}",
            "/a\u{a0}/b",
            "\u{ff0f}",
            "/\u{e9}",
            "http://s.example/a",
            "http://t.example/a",
            "/a # c",
            "/a#b",
            "/x$$",
            "/%",
            "\u{1}/",
        ][..],
    );
    (prop_oneof![4 => plain, 1 => slip], prop_oneof![4 => path, 1 => slipped])
        .prop_map(|(field, value)| format!("{field}{value}"))
}

fn file() -> impl Strategy<Value = Vec<String>> {
    let other = select(
        &["", "", "# c", "Robot-version: 2.0", "Crawl-delay: 5", "junk", "Sitemap: x", "Foo: bar"][..],
    );
    let line = prop_oneof![
        5 => agent_line(),
        6 => rule_line(),
        2 => other.prop_map(str::to_owned),
    ];
    prop::collection::vec(line, 2..11)
}

/// How the text is sent.
fn encoded(text: &str, encoding: usize, noise: usize) -> Vec<u8> {
    let wide16 = |big: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    };
    let wide32 = |big: bool| -> Vec<u8> {
        let bytes = |c: char| if big { (c as u32).to_be_bytes() } else { (c as u32).to_le_bytes() };
        text.chars().flat_map(bytes).collect()
    };
    let mut bytes = match encoding {
        0 => [&[0xff, 0xfe][..], &wide16(false)].concat(),
        1 => wide16(false),
        2 => wide16(true),
        3 => wide32(false),
        4 => wide32(true),
        5 => [&[0, 0, 0xfe, 0xff][..], &wide32(true)].concat(),
        // Latin-1, where that has the characters.
        6 => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect(),
        // UTF-16 behind lines of ASCII, as some shells append it.
        7 => [b"User-agent: *\r\nDisallow: /b\r\n", &wide16(false)[..]].concat(),
        _ => text.as_bytes().to_vec(),
    };
    if noise > 0 && noise < bytes.len() {
        bytes.splice(noise..noise, [0; 3]);
    }
    bytes
}

/// Answers whether the text names one of ours in a list of plain names, the form of the standard of 1994.
fn has_list_of_1994(text: &str, ours: &[String]) -> bool {
    text.split(['\n', '\r']).any(|line| {
        let line = line.split('#').next().unwrap_or_default();
        let value = line.split_once(':').map(|(_, value)| value).unwrap_or_default();
        let plain = |word: &str| word.bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'-' | b'_'));
        let words: Vec<_> =
            value.split_ascii_whitespace().map(|word| word.split('/').next().unwrap_or_default()).collect();
        words.len() > 1
            && words.iter().all(|word| *word == "*" || plain(word))
            && words[1..].iter().any(|word| ours.iter().any(|name| name.eq_ignore_ascii_case(word)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(7_000))]

    #[test]
    fn strictest_is_within_hardened_and_hardened_within_rfc9309(
        lines in file(),
        end in select(&["\n", "\r\n", "\r"][..]),
        encoding in 0..40_usize,
        noise in 0..400_usize,
        agent in select(&AGENTS[..]),
        aliases in select(&ALIASES[..]),
        with_h7 in prop::bool::weighted(0.125),
        paths in prop::collection::vec("/([/ab*$?]|%2F|%61|%24|%2a){0,4}", 3),
    ) {
        let text = lines.join(end);
        let body = encoded(&text, encoding, noise);
        let agent = Agent::new(agent).with_aliases(aliases);
        let h7 = if with_h7 { Additions::H7 } else { Additions::NONE };
        let options = |dialect: Dialect| Options::from(dialect).with_additions(Additions::HARDENED.with(h7));
        let read = Dialect::ALL.map(|dialect| Robots::parse(&body, &agent, &options(dialect), Some("http://s.example")));
        let ours: Vec<_> = std::iter::once(&agent).chain(agent.aliases()).map(|agent| agent.token().to_owned()).collect();
        for path in &paths {
            let [koster1994, koster1996, conner1996, rfc9309, hardened, strictest] =
                Dialect::ALL.map(|dialect| read[dialect as usize].verdict(path).allowed);
            // The one exception: where a list in the form of 1994 names us, that standard's reading must allow.
            let bound = rfc9309 || koster1994 && has_list_of_1994(&text, &ours);
            prop_assert!(!hardened || bound, "{path}: {}\n{}", read[4].verdict(path), read[3].verdict(path));
            prop_assert_eq!(strictest, koster1994 && koster1996 && conner1996 && hardened);
            // What `hardened` denies beyond RFC 9309, the additions that it names deny; without those of names, others may come to bear.
            if hardened != rfc9309 && !with_h7 {
                let mut additions = Additions::HARDENED.without(Additions::H5);
                let mut traced = read[4].additions().without(Additions::H5);
                let mut allowed = hardened;
                while allowed != rfc9309 && !traced.is_empty() {
                    additions = additions.without(traced);
                    let options = Options::default().with_additions(additions.with(Additions::H5));
                    let plain = Robots::parse(&body, &agent, &options, Some("http://s.example"));
                    allowed = plain.verdict(path).allowed;
                    traced = plain.additions().without(Additions::H5);
                }
                prop_assert_eq!(allowed, rfc9309, "{}: {}", path, read[4].additions());
            }
        }
    }
}
