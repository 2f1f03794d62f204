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
