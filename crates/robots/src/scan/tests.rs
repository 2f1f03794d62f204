use proptest::prelude::*;

use crate::{Additions, Agent, Dialect, Options, Robots};

/// Reads a file twice, with its rules prepared and without.
fn both(file: &[u8], agent: &Agent, options: &Options) -> [Robots; 2] {
    [usize::MAX, 0].map(|room| {
        let robots = Robots::parse_within(file, agent, options, Some("https://a.example"), room, room);
        assert_eq!(robots.file().is_some(), room == 0);
        robots
    })
}

fn all_options() -> impl Iterator<Item = Options> {
    let h7 = Options::default().with_additions(Additions::HARDENED.with(Additions::H7));
    let folder = Options::from(Dialect::Rfc9309).with_index_folder(true);
    let cut = Options::default().with_max_bytes(60);
    Dialect::ALL.into_iter().map(Options::from).chain([h7, folder, cut])
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let agents = ["*", "Super2Robot", "super", "other Super2Robot", "OtherRobot", "x", "", "*, y"];
    let fields = ["Disallow", "Allow", "disalow", "Robot-version", "Noindex", "junk"];
    let values = [
        "/",
        "/a",
        "/a/index.html",
        "/*b$",
        "/a /b",
        "a/b",
        "",
        "/%24%2A*%24",
        "/$a$",
        "*[ab]?",
        "https://a.example/a",
        "https://b.example/a",
        "2.0",
        "/\u{200b}a",
        "/\u{e9}",
        "/%2fa%61",
        "/a # x",
        "/\\*",
        "/[ab",
    ];
    prop_oneof![
        4 => (prop::sample::select(agents.to_vec())).prop_map(|agent| format!("User-agent: {agent}\n").into_bytes()),
        8 => (prop::sample::select(fields.to_vec()), prop::sample::select(values.to_vec()))
            .prop_map(|(field, value)| format!("{field}: {value}\n").into_bytes()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"Disallow\xa3\xba/b\n".to_vec()),
        1 => Just(b"# \0\n".to_vec()),
        1 => Just(b"User-agent: *\x0bDisallow: /a\x0cDisallow: /b\n".to_vec()),
        1 => Just(br"\nUser-agent: bot\n\nDisallow: /\n".to_vec()),
        1 => Just("Disallow:\u{a0}/a\u{200b}\n".as_bytes().to_vec()),
        1 => Just([&b"Disallow: /"[..], vec![b'b'; 16_700].as_slice(), b"\n"].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_file_that_is_read_again_answers_as_one_whose_rules_are_prepared(
        pieces in prop::collection::vec(piece(), 0..14),
        is_wide in any::<bool>(),
        url in prop::sample::select(&[
            "/", "/a", "/b", "/a/index.html", "/ab", "/$*$", "/%24%2A", "/x%24", "/a/b", "/%C3%A9", "/%2Fa", "/[ab", "/bbb",
        ][..]),
    ) {
        let mut file = pieces.concat();
        if is_wide {
            file = String::from_utf8_lossy(&file).encode_utf16().flat_map(u16::to_le_bytes).collect();
        }
        let agent = Agent::new("Super2Robot/1.0").with_aliases(["OtherRobot/1.0"]);
        for options in all_options() {
            let [prepared, again] = both(&file, &agent, &options);
            prop_assert_eq!(prepared.verdict(url), again.verdict(url), "{:?}", options);
            prop_assert_eq!(prepared.binding(), again.binding(), "{:?}", options);
            prop_assert_eq!(prepared.warnings(), again.warnings());
            prop_assert_eq!(prepared.additions(), again.additions());
        }
    }
}
