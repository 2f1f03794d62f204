//! What verdicts, warnings and values say in words, and which line, group and reason they name.
#![allow(clippy::unwrap_used, reason = "a test that can't read its own text has failed")]

use robots::{Agent, Collector, Dialect, Options, Reason, Robots, WarningKind as K, lint};

fn read(file: &str, agent: &Agent, options: &Options) -> Robots {
    Robots::parse(file.as_bytes(), agent, options, None)
}

fn robots(file: &str) -> Robots {
    read(file, &Agent::new("SuperRobot/1.0"), &Options::default())
}

fn kinds(robots: &Robots) -> Vec<(u32, K)> {
    robots.warnings().iter().map(|warning| (warning.line, warning.kind)).collect()
}

#[test]
fn a_verdict_is_one_sentence() {
    let robots = robots("User-agent: SuperRobot\nDisallow: /private\n");
    assert_eq!(
        robots.verdict("/private").to_string(),
        "not allowed: line 2 `Disallow: /private` in the group `SuperRobot` (hardened)"
    );
    let other = robots.verdict("/public").to_string();
    assert!(
        other.starts_with("allowed: ") && other.ends_with(" in the group `SuperRobot` (hardened)"),
        "{other}"
    );
}

#[test]
fn where_no_rule_decides_the_reason_says_why() {
    for dialect in [Dialect::Rfc9309, Dialect::Hardened] {
        for (file, reason) in [
            ("", Reason::NoRules),
            ("Sitemap: http://a.example/s.xml\n", Reason::NoRules),
            ("User-agent: other\nDisallow: /x\n", Reason::NoGroup),
            ("User-agent: *\nDisallow:\n", Reason::NoRulesInGroup),
            ("User-agent: *\nDisallow: /x\n", Reason::NoRuleMatches),
        ] {
            let robots = read(file, &Agent::new("SuperRobot"), &dialect.into());
            let verdict = robots.verdict("/y");
            assert_eq!((verdict.allowed, &verdict.reason), (true, &reason), "{file} [{dialect}]");
        }
    }
}

#[test]
fn a_reason_is_read_as_it_was_written() {
    for reason in [
        Reason::Rule,
        Reason::NoRuleMatches,
        Reason::NoRulesInGroup,
        Reason::NoGroup,
        Reason::NoRules,
        Reason::RobotsTxt,
        Reason::OnlyAllowLines,
        Reason::Access("unavailable: 404".into()),
    ] {
        let text = serde_json::to_string(&reason).unwrap();
        assert_eq!(serde_json::from_str::<Reason>(&text).unwrap(), reason, "{text}");
    }
}

#[test]
fn the_group_is_named_as_the_line_names_us() {
    let agent = Agent::new("NewName/2").with_aliases(["OldName"]);
    let group = |file: &str| {
        let verdict = read(file, &agent, &Options::default()).verdict("/x");
        assert!(!verdict.allowed, "{file}");
        verdict.group.unwrap().to_string()
    };
    assert_eq!(group("User-agent: OldName\nDisallow: /x\n"), "OldName");
    // Both names are ours; the first one decided.
    assert_eq!(group("User-agent: OldName\nUser-agent: NewName\nDisallow: /x\n"), "NewName");
    assert_eq!(group("User-agent: other\nUser-agent: *\nDisallow: /x\n"), "*");
}

#[test]
fn a_group_that_only_restricts_is_cited_with_its_own_lines_and_its_pace_counts() {
    // H8: a name that is cut before its digits would select the second group, which may deny and slow, and allows nothing.
    let file = "User-agent: MJ12bot\nAllow: /a\nAllow: /b\nVisit-time: 0100-0200\n\n\
                User-agent: MJ\nDisallow: /x\nRequest-rate: 1/50\nVisit-time: 0300-0400\n";
    let robots = read(file, &Agent::new("MJ12bot"), &Options::default());
    let verdict = robots.verdict("/x");
    assert_eq!(
        (verdict.allowed, verdict.line, verdict.rule.as_deref()),
        (false, Some(7), Some("Disallow: /x"))
    );
    let rates: Vec<_> =
        robots.timing().rates().iter().map(|rate| (rate.line, rate.interval().as_secs())).collect();
    assert_eq!(rates, [(8, 50)]);
    let visits: Vec<_> = robots.timing().visits().iter().map(ToString::to_string).collect();
    assert_eq!(visits, ["0100-0200"], "times beside ours would widen them");
    let file = "User-agent: MJ12bot\nAllow: /a\n\nUser-agent: MJ\nDisallow: /x\nVisit-time: 0300-0459\n";
    let robots = read(file, &Agent::new("MJ12bot"), &Options::default());
    let visits: Vec<_> = robots.timing().visits().iter().map(ToString::to_string).collect();
    assert_eq!(visits, ["0300-0459"], "ours says none");
}

#[test]
fn a_long_rule_is_cut_for_people() {
    let rule = |length: usize| {
        let line = format!("Disallow: /{}", "x".repeat(length - 11));
        let robots = robots(&format!("User-agent: *\n{line}\n"));
        let shown = robots.verdict(&line["Disallow: ".len()..]).rule.unwrap();
        (shown.chars().count(), shown.ends_with('…'))
    };
    assert_eq!(rule(2_048), (2_048, false));
    assert_eq!(rule(2_049), (2_049, true));
    assert_eq!(rule(5_000), (2_049, true));
}

#[test]
fn each_dialect_signs_its_verdicts() {
    for dialect in Dialect::ALL {
        let robots = read("User-agent: *\nDisallow: /x\n", &Agent::new("SuperRobot"), &dialect.into());
        assert_eq!(robots.verdict("/y").dialect, dialect);
        // What all have to allow is denied by one of them, which is named.
        let denied = robots.verdict("/x").dialect;
        assert!(denied == dialect || dialect == Dialect::Strictest, "{denied} {dialect}");
        assert_eq!(dialect.name().parse::<Dialect>().unwrap(), dialect);
    }
    let error = "rfc1".parse::<Dialect>().unwrap_err();
    assert!(error.to_string().contains("`rfc1`"), "{error}");
}

#[test]
fn a_warning_is_one_sentence_and_says_its_line() {
    let robots = robots("User-agent: *\nDisallow: /x\nDisalow: /x\n");
    let warning = robots.warnings().iter().find(|warning| warning.line == 3).unwrap();
    assert_eq!(
        warning.to_string(),
        "line 3: `Disalow: /x`: the field is misspelt; some robots will skip the line"
    );
    // What concerns the whole file has no line and no text.
    let html = self::robots("<html></html>");
    let warning = html.warnings().iter().find(|warning| warning.kind == K::Html).unwrap();
    assert_eq!(warning.to_string(), K::Html.advice());
    assert!(!K::Html.advice().is_empty());
}

#[test]
fn other_readings_of_a_file_repeat_no_warning() {
    for dialect in [Dialect::Hardened, Dialect::Strictest] {
        let file = "User-agent: SuperRobot other\nDisallow: /a /b\nUnknown: x\n";
        let robots = read(file, &Agent::new("SuperRobot"), &dialect.into());
        let several = kinds(&robots).into_iter().filter(|kind| *kind == (2, K::SeveralPaths)).count();
        assert_eq!(several, 1, "{dialect}");
    }
}

#[test]
fn what_is_odd_about_a_path_is_said_and_what_is_not_odd_is_not() {
    let of = |value: &[u8]| {
        let file = [b"User-agent: *\nDisallow: ", value, b"\n"].concat();
        kinds(&Robots::parse(&file, &Agent::new("SuperRobot"), &Options::default(), None))
    };
    assert_eq!(of(b"/a%41%2f%7e"), []);
    assert!(of(b"/a%4").contains(&(2, K::BadEscape)));
    let all = of(b"/a b$c\xe9\"%zz");
    for kind in [K::SeveralPaths, K::DollarInside, K::BadEscape, K::NotUtf8] {
        assert!(all.contains(&(2, kind)), "{kind:?} in {all:?}");
    }
}

#[test]
fn preferences_that_can_be_read_bring_no_warning() {
    // The vocabulary of contentsignals.org and of draft-romm-aipref-contentsignals.
    for (value, is_good) in [
        ("search=yes, ai-train=no", true),
        ("SEARCH = Yes ; ai-input=no", true),
        ("use=reference", true),
        ("use=full, search=yes", true),
        ("other=whatever", true),
        ("use=maybe", false),
        ("search=maybe", false),
        ("search", false),
        ("search=yes, ai-train", false),
        ("", false),
    ] {
        let robots = robots(&format!("User-agent: *\nContent-Signal: {value}\nDisallow: /x\n"));
        assert_eq!(!kinds(&robots).contains(&(2, K::BadSignal)), is_good, "{value}");
    }
    let robots = robots("User-agent: *\nContent-Signal: search=maybe\nDisallow: /x\n");
    let warning = robots.warnings().iter().find(|warning| warning.kind == K::BadSignal).unwrap();
    assert_eq!(warning.text, "Content-Signal: search=maybe");
}

#[test]
fn statements_of_our_group_are_given_with_their_lines() {
    let robots = robots(
        "User-agent: *\nContent-Usage: train-ai=n\nContent-Signal: ai-train=no\nContent-Usage: /x search=y\nDisallow: /x\n",
    );
    let lines = |lines: &[robots::SignalLine]| {
        lines.iter().map(|line| (line.line, line.raw.clone())).collect::<Vec<_>>()
    };
    let signals = robots.signals();
    let usage = [(2, "train-ai=n".to_owned()), (4, "/x search=y".to_owned())];
    assert_eq!(lines(signals.content_usage()), usage);
    assert_eq!(lines(signals.content_signal()), [(3, "ai-train=no".to_owned())]);
}

#[test]
fn fields_without_a_value_say_nothing() {
    let robots = robots("User-agent: *\nNoindex:\nHost:\nLicense:\nComment:\nDisallow: /x\n");
    let signals = robots.signals();
    assert_eq!(signals.noindex("/"), None);
    assert!(signals.hosts().is_empty() && signals.licenses().is_empty() && signals.comments().is_empty());
}

#[test]
fn rates_and_times_of_visits_are_given_as_they_count() {
    let robots = robots("User-agent: *\nRequest-rate: 2/1m\nVisit-time: 0600-0845\nDisallow: /x\n");
    let rates: Vec<_> =
        robots.timing().rates().iter().map(|rate| (rate.line, rate.interval().as_secs())).collect();
    assert_eq!(rates, [(2, 30)]);
    let visits: Vec<_> = robots.timing().visits().iter().map(ToString::to_string).collect();
    assert_eq!(visits, ["0600-0845"]);
}

#[test]
fn what_is_no_time_of_day_is_no_visit_time() {
    for (value, is_good) in [
        ("0600-2400", true),
        ("06:00:00-08:45:59", true),
        ("0060-0200", false),
        ("0175-0200", false),
        ("2401-0100", false),
        ("2430-0100", false),
        ("2500-0100", false),
        ("6:000-8:45", false),
        ("06:00:xx-08:45", false),
        ("06:00:0x-08:45", false),
        ("06:00:x0-08:45", false),
    ] {
        let robots = robots(&format!("User-agent: *\nVisit-time: {value}\nDisallow: /x\n"));
        assert_eq!(robots.timing().visits().len(), usize::from(is_good), "{value}");
        assert_eq!(kinds(&robots).contains(&(2, K::BadVisitTime)), !is_good, "{value}");
    }
}

#[test]
fn an_author_is_told_the_line_behind_blank_ones_and_long_groups_are_not_compared() {
    let of = |file: &str, kind: K| {
        let warnings = lint(file.as_bytes(), &Options::default());
        warnings.iter().filter(|warning| warning.kind == kind).map(|warning| warning.line).collect::<Vec<_>>()
    };
    assert_eq!(of("User-agent: *\n\n\nDisallow: /a#b\n", K::HashInPath), [4]);
    assert_eq!(of("User-agent: *\r\n\r\nDisallow: /a#b\r\n", K::HashInPath), [3]);
    // Cost of comparing is the product of both kinds: at most a thousand of each.
    let group = |allows: usize, denies: usize| {
        let allows = (0..allows).map(|n| format!("Allow: /a{n}/\n"));
        let denies = (0..denies).map(|n| format!("Disallow: /b{n}/\n"));
        let file =
            std::iter::once("User-agent: *\n".to_owned()).chain(allows).chain(denies).collect::<String>();
        !of(&file, K::AllowWithoutEffect).is_empty()
    };
    assert!(group(1_000, 1) && group(1, 1_000));
    assert!(!group(1_001, 1) && !group(1, 1_001) && !group(1_002, 1) && !group(1, 1_002));
}

#[test]
fn a_collector_keeps_one_byte_more_than_the_limit_and_says_when_it_is_full() {
    let mut body = Collector::new(&Options::default().with_max_bytes(4));
    assert!(body.push(b"abc") && body.push(b"d"));
    assert_eq!(body.bytes(), b"abcd");
    assert!(!body.push(b"efg") && !body.push(b"h"));
    assert_eq!(body.bytes(), b"abcde");
}

#[test]
fn an_agent_keeps_the_whole_value() {
    assert_eq!(
        Agent::new(" SuperRobot/1.0 (+http://a.example/) ").full(),
        "SuperRobot/1.0 (+http://a.example/)"
    );
}
