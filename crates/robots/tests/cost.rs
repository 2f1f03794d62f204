//! Hostile files stay cheap: bounded work per question, whatever the file holds.

use std::time::Instant;

use robots::{Agent, Dialect, Robots};

/// 500 KiB of wildcards, and the URL that suits them worst. To the dialect of version 2.0, they are shell patterns.
fn hostile() -> Vec<(&'static str, String, String)> {
    let lines = |line: &dyn Fn(usize) -> String| {
        let mut file = "User-agent: *\nRobot-version: 2.0\n".to_owned();
        let mut i = 0;
        while file.len() < 511_700 {
            file.push_str(&line(i));
            file.push('\n');
            i += 1;
        }
        file
    };
    // The `b` keeps the rules from being refused by the bytes that they need.
    let url = format!("/b{}", "a".repeat(2_000));
    vec![
        ("stars and letters", lines(&|_| "Disallow: *a*a*a*a*a*a*a*a*a*a*ab".to_owned()), url.clone()),
        ("long needles", lines(&|_| format!("Disallow: *{}b", "a".repeat(200))), url.clone()),
        (
            "short needles",
            lines(&|i| format!("Disallow:*a{}bc", i % 10)),
            format!("/c{}", "ba0a1a2a3a4a5a6a7a8a9".repeat(100)),
        ),
        ("near misses", lines(&|_| "Disallow:*aab*aac".to_owned()), format!("/bc{}", "a".repeat(2_000))),
        ("one line of stars", format!("User-agent: *\nDisallow: /{}b", "*a".repeat(200_000)), url.clone()),
        (
            "one long path",
            format!("User-agent: *\nDisallow: /{}$", "a".repeat(400_000)),
            format!("/{}", "a".repeat(10_000)),
        ),
        ("different rules", lines(&|i| format!("Disallow: /*{i}*$")), url.clone()),
        ("ends", lines(&|i| format!("Disallow: *a{i}$")), url),
        // An escape may be the character, too: at the start of what is searched for, at its end, within it, and again and again.
        (
            "escapes",
            lines(&|_| format!("Disallow: *{}x", "%24".repeat(200))),
            format!("/x{}", "$".repeat(10_000)),
        ),
        (
            "short runs of escapes",
            lines(&|_| "Disallow: *%24%2A%24%2A%24x".to_owned()),
            format!("/x{}", "$*%24%2A".repeat(2_500)),
        ),
        (
            "letters before an escape",
            lines(&|_| format!("Disallow: *{}%24", "a".repeat(1_000))),
            format!("/$%{}", "a".repeat(10_000)),
        ),
        (
            "letters around an escape",
            lines(&|_| format!("Disallow: *{0}%2A{0}b", "a".repeat(400))),
            format!("/b{}*{0}", "a".repeat(5_000)),
        ),
        (
            "letters behind escapes",
            lines(&|_| format!("Disallow: *%24*%24*%24*%24*%24*{}b", "a".repeat(1_000))),
            format!("/b$%24$%24$%24$%24{}", "a".repeat(10_000)),
        ),
        (
            "sets",
            lines(&|_| format!("Disallow: *{}b", "[a-z]".repeat(200))),
            format!("/b{}", "a".repeat(10_000)),
        ),
        (
            "single characters",
            lines(&|_| format!("Disallow: *{}b", "?".repeat(900))),
            format!("/b{}", "a".repeat(10_000)),
        ),
    ]
}

/// The time is printed, and compared with a bound so wide that only a wrong order of growth breaks it (a debug build on a busy
/// machine passes; the benchmark holds the figures).
#[test]
fn hostile_wildcards_are_answered_in_bounded_time() {
    for ((name, file, url), dialect) in hostile()
        .iter()
        .flat_map(|row| [Dialect::Hardened, Dialect::Conner1996].map(|dialect| (row, dialect)))
    {
        let agent = Agent::new("a");
        #[expect(clippy::disallowed_methods, reason = "the cost itself is measured")]
        let start = Instant::now();
        let robots = Robots::parse(file.as_bytes(), &agent, &dialect.into(), None);
        let parsed = start.elapsed();
        let verdict = robots.verdict(url);
        let asked = start.elapsed().saturating_sub(parsed);
        eprintln!("{dialect}, {name}: parsed in {parsed:?}, asked in {asked:?}: {}", verdict.allowed);
        assert!(verdict.allowed, "{dialect}, {name}");
        assert!(parsed.as_secs() < 10 && asked.as_secs() < 5, "{dialect}, {name}: {parsed:?} {asked:?}");
    }
}

#[test]
fn many_groups_are_read_in_linear_time() {
    let agent = Agent::new("a");
    let file = "User-agent:*\nDisallow:/x\n".repeat(20_000);
    let names = "User-agent: a\n".repeat(36_000);
    for file in [file, names] {
        for dialect in Dialect::ALL {
            #[expect(clippy::disallowed_methods, reason = "the cost itself is measured")]
            let start = Instant::now();
            let robots = Robots::parse(file.as_bytes(), &agent, &dialect.into(), None);
            assert!(robots.verdict("/y").allowed);
            assert!(start.elapsed().as_secs() < 10, "{dialect}: {:?}", start.elapsed());
        }
    }
}
