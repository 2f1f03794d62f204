//! What the Content-Usage and Content-Signal lines of a robots.txt permit (IETF AIPREF drafts, Content Signals).

use jiff::Timestamp;
use meta::consent::{
    Claim, Combined, Consent, ConsentLines, Grade, Purpose, RobotsSignals, combine, content_signal,
    content_usage,
};
use robots::{Agent, Options, Robots};

fn read(file: &str) -> Robots {
    Robots::parse(file.as_bytes(), &Agent::new("SuperRobot/1.0"), &Options::default(), None)
}

/// What a file says about a path.
fn of(robots: &Robots, path: &str) -> Combined {
    let signals = RobotsSignals::new(&ConsentLines::from(robots.signals()));
    combine(&signals.statements(path, Timestamp::UNIX_EPOCH))
}

/// Search, AI input, AI training and the grade of use, as claims say.
fn summary(claims: &[Claim]) -> (Option<bool>, Option<bool>, Option<bool>, Option<Grade>) {
    let purpose = |purpose| {
        claims.iter().rev().find_map(|claim| match claim {
            Claim::Purpose(of, consent) if *of == purpose => Some(*consent == Consent::Allow),
            _ => None,
        })
    };
    let grade = claims.iter().find_map(|claim| match claim {
        Claim::Use(grade) => Some(*grade),
        Claim::Purpose(..) => None,
    });
    (purpose(Purpose::Search), purpose(Purpose::AiInput), purpose(Purpose::AiTrain), grade)
}

#[test]
fn aipref_attach_longest_path_speaks() {
    let file = "User-agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: / train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n";
    let robots = read(file);
    assert_eq!(of(&robots, "/test").consent(Purpose::AiTrain), Some(Consent::Deny));
    assert_eq!(of(&robots, "/ai-ok/x").consent(Purpose::AiTrain), Some(Consent::Allow));
    assert!(!robots.verdict("/never/x").allowed);
}

#[test]
fn aipref_vocab_dictionaries() {
    let (yes, no) = (Some(true), Some(false));
    let rows = [
        ("train-ai=n, search=y", (yes, None, no, None)),
        ("train-ai=n,search=y , ai-use=n", (yes, no, no, None)),
        // Duplicate key: the last. A key alone is true, a string is no token: both unknown.
        ("train-ai=y, train-ai, search=n, search=\"n\"", (None, None, None, None)),
        ("train-ai=n, train-ai=y", (None, None, yes, None)),
        ("train-ai=maybe", (None, None, None, None)),
        ("train-ai=n;ext=1, other=5", (None, None, no, None)),
        ("bots=(a b c), train-ai=n", (None, None, no, None)),
        ("text=\"a, train-ai=y \\\" \", train-ai=n", (None, None, no, None)),
        // Keys are lower case: a failure to parse makes everything unknown.
        ("Train-AI=n", (None, None, None, None)),
        ("train-ai=n,", (None, None, None, None)),
        ("train-ai=n search=y", (None, None, None, None)),
        ("train-ai==n", (None, None, None, None)),
        ("train-ai=\"n", (None, None, None, None)),
        ("", (None, None, None, None)),
    ];
    for (value, want) in rows {
        assert_eq!(summary(&content_usage(value)), want, "{value}");
    }
}

#[test]
fn content_signal_lists() {
    let (yes, no) = (Some(true), Some(false));
    let rows = [
        ("search=yes, ai-train=no, use=reference", (yes, None, no, Some(Grade::Reference))),
        ("search=yes, ai-input=no, ai-train=no", (yes, no, no, None)),
        ("Search = YES", (yes, None, None, None)),
        ("ai-train=perhaps", (None, None, None, None)),
        ("use=immediate", (None, None, None, Some(Grade::Immediate))),
        ("nonsense", (None, None, None, None)),
    ];
    for (value, want) in rows {
        assert_eq!(summary(&content_signal(value)), want, "{value}");
    }
    let robots = read(
        "User-Agent: *\nContent-signal: search=yes, ai-train=no\nContent-Signal: /a ai-train=yes\nAllow: /\n",
    );
    let (search, train) = (Purpose::Search, Purpose::AiTrain);
    assert_eq!(of(&robots, "/x").consent(search), Some(Consent::Allow));
    assert_eq!(of(&robots, "/x").consent(train), Some(Consent::Deny));
    assert_eq!(of(&robots, "/a/b").consent(search), None);
    assert_eq!(of(&robots, "/a/b").consent(train), Some(Consent::Allow));
}

#[test]
fn equal_paths_deny_wins_and_systems_are_joined() {
    let file = "User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: / train-ai=n\nContent-Signal: ai-train=yes, search=yes\n";
    let combined = of(&read(file), "/x");
    assert_eq!(combined.consent(Purpose::Search), Some(Consent::Allow));
    assert_eq!(combined.consent(Purpose::AiInput), None);
    assert_eq!(combined.consent(Purpose::AiTrain), Some(Consent::Deny));
}

#[test]
fn lines_of_other_groups_say_nothing_to_us() {
    let file = "User-agent: SuperRobot\nDisallow: /x\n\nUser-agent: *\nContent-Usage: train-ai=n\n";
    assert_eq!(of(&read(file), "/"), Combined::default());
}
