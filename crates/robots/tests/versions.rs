//! Robot-version in the extended standard of 1996 (Conner): which records count.

use robots::{Agent, Dialect, Options, Robots};

/// Says whether robot `a` may fetch the path, in this dialect.
fn allows(file: &str, dialect: Dialect, path: &str) -> bool {
    Robots::parse(file.as_bytes(), &Agent::new("a/1.0"), &Options::from(dialect), None).verdict(path).allowed
}

#[test]
fn conner_1996_skips_a_record_of_a_higher_version() {
    let file = "User-agent: a\nRobot-version: 3.0\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n";
    assert!(allows(file, Dialect::Conner1996, "/y"), "the record of version 3.0 isn't for us");
    assert!(!allows(file, Dialect::Conner1996, "/x"), "the record of * is");
    // Nobody else knows the line.
    assert!(!allows(file, Dialect::Rfc9309, "/y"));
    assert!(!allows(file, Dialect::Hardened, "/y"));
}

#[test]
fn conner_1996_ignores_empty_lines_of_a_record_of_version_2() {
    let record = |lines: &str| format!("User-agent: a\nRobot-version: 2.0\n{lines}\n");
    for (lines, is_allowed) in [
        ("Allow: /x\n", false),
        ("Allow: /x\nDisallow:\n", false),
        ("Disallow:\nAllow: /x\nAllow:\n", false),
        ("Allow:\n", true),
        ("Allow:\nDisallow:\n", true),
        ("Disallow:\n", true),
        ("Allow: /x\nDisallow: /z\n", true),
    ] {
        assert_eq!(allows(&record(lines), Dialect::Conner1996, "/y"), is_allowed, "{lines}");
    }
}
