//! Names with digits and other characters beyond the grammar of RFC 9309 (specification 1.6 steps 2 and 4).

use robots::{Additions, Agent, Dialect, Options, Robots};

/// The columns of `names.tsv`: lines, agent, path, and what `rfc9309` and `hardened` answer.
#[test]
fn names_are_compared_whole() {
    let mut asked = 0;
    for row in include_str!("data/names.tsv").lines().filter(|row| !row.starts_with('#') && !row.is_empty()) {
        let [file, agent, path, rfc9309, hardened, _why] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("six columns wanted: {row}");
        };
        let file = file.replace(" ; ", "\n");
        for (dialect, want) in [(Dialect::Rfc9309, rfc9309), (Dialect::Hardened, hardened)] {
            let robots = Robots::parse(file.as_bytes(), &Agent::new(agent), &dialect.into(), None);
            let verdict = robots.verdict(path);
            assert_eq!(if verdict.allowed { "allow" } else { "deny" }, want, "{row}\n{dialect}: {verdict}");
        }
        asked += 1;
    }
    assert!(asked > 30, "{asked}");
}

#[test]
fn a_denial_by_a_cut_name_is_traced_to_its_line_and_addition() {
    let file = b"User-agent: Agent1\nDisallow: /private\nAllow: /private/x\nCrawl-delay: 7\nVisit-time: 0100-0200\n\n\
                 User-agent: *\nDisallow: /all\n";
    let robots = Robots::parse(file, &Agent::new("Agent2/1.0"), &Dialect::Hardened.into(), None);
    let verdict = robots.verdict("/private/x");
    assert_eq!((verdict.allowed, verdict.line), (false, Some(2)));
    assert_eq!(verdict.rule.as_deref(), Some("Disallow: /private"));
    assert_eq!(verdict.group.as_deref(), Some("Agent1"));
    assert_eq!(robots.verdict("/all").group.as_deref(), Some("*"));
    assert_eq!(robots.verdict("/").group.as_deref(), Some("*"));
    assert_eq!(robots.additions(), Additions::H8);
    let binding: Vec<_> = robots.binding().into_iter().map(|(line, _)| line).collect();
    assert_eq!(binding, [2, 8]);
    // What slows or limits us counts too.
    assert_eq!(robots.timing().crawl_delay(), Some(std::time::Duration::from_secs(7)));
    assert_eq!(robots.timing().visits().len(), 1);
}

#[test]
fn a_name_in_latin1_restricts_and_never_opens() {
    let file = b"User-agent: R\xd6bot\nAllow: /\nDisallow: /x\n\nUser-agent: *\nDisallow: /y\n";
    let robots = |name: &str, dialect: Dialect| Robots::parse(file, &Agent::new(name), &dialect.into(), None);
    let answers = |name: &str, dialect: Dialect| {
        ["/x", "/y", "/z"].map(|path| robots(name, dialect).verdict(path).allowed)
    };
    assert_eq!(answers("r\u{f6}bot/1.0", Dialect::Hardened), [false, false, true]);
    assert_eq!(answers("r\u{f6}bot/1.0", Dialect::Rfc9309), [true, false, true]);
    assert_eq!(answers("rabot/1.0", Dialect::Hardened), [true, false, true]);
}

/// Whether a file allows a path, by each dialect.
fn answers(file: &[u8], path: &str) -> Vec<(Dialect, bool)> {
    let allows = |dialect: Dialect| {
        Robots::parse(file, &Agent::new("SuperRobot/1.0"), &dialect.into(), None).verdict(path).allowed
    };
    Dialect::ALL.map(|dialect| (dialect, allows(dialect))).to_vec()
}

#[test]
fn marks_around_a_star_or_a_word_for_every_robot_close_for_every_robot() {
    let names: [&[u8]; 34] = [
        b"\"*\"",
        b"'*'",
        b"`*`",
        b"*;",
        b"*:",
        b"*.",
        b"(*)",
        b"[*]",
        b"<*>",
        b"{*}",
        b"\"*",
        b"*'",
        b"( * )",
        b"\"*\";",
        b"\"*\", \"otherbot\"",
        b"**",
        b"*.*",
        b"*/*",
        b"*/1.0",
        b"\"*/1.0\"",
        b"/*",
        b".*",
        b"^*$",
        b"\\*",
        "\u{201c}*\u{201d}".as_bytes(),
        "\u{ab} * \u{bb}".as_bytes(),
        b"\x93*\x94",
        b"\"robots\"",
        b"(bots)",
        b"<Crawlers>",
        b"[spider]",
        b"'robot/1.0'",
        b"robots.",
        b"\x93bots\x94",
    ];
    for name in names {
        let file = [
            b"User-agent: SuperRobot\nDisallow: /y\n\nUser-agent: ",
            name,
            b"\nDisallow: /x\nAllow: /y/z\nCrawl-delay: 7\n",
        ]
        .concat();
        let name = name.escape_ascii();
        for (dialect, is_allowed) in answers(&file, "/x") {
            let adds = matches!(dialect, Dialect::Hardened | Dialect::Strictest);
            assert_eq!(is_allowed, !adds, "{name} {dialect}");
        }
        assert!(answers(&file, "/y/z").iter().all(|(_, is_allowed)| !is_allowed), "{name}");
        assert!(answers(&file, "/").iter().all(|(_, is_allowed)| *is_allowed), "{name}");
        let agent = Agent::new("SuperRobot/1.0");
        let robots = Robots::parse(&file, &agent, &Dialect::Hardened.into(), None);
        assert!(robots.additions().contains(Additions::H11), "{name}");
        assert_eq!(robots.timing().crawl_delay(), Some(std::time::Duration::from_secs(7)), "{name}");
        let off = Options::default().with_additions(Additions::HARDENED.without(Additions::H11));
        assert!(Robots::parse(&file, &agent, &off, None).verdict("/x").allowed, "{name}");
    }
    // Names of other robots, and `*` as RFC 9309 reads it.
    for name in [
        "*",
        "* ",
        "* (all)",
        "*bot",
        "bot*",
        "(other)",
        "\"other\"",
        "robots-x",
        "\u{e9}bot",
        "-bot",
        "''",
        "?",
        "superbot",
    ] {
        let file = format!("User-agent: SuperRobot\nAllow: /\n\nUser-agent: {name}\nDisallow: /x\n");
        let robots =
            Robots::parse(file.as_bytes(), &Agent::new("SuperRobot/1.0"), &Dialect::Hardened.into(), None);
        assert!(robots.verdict("/x").allowed, "{name}");
        assert!(!robots.additions().contains(Additions::H11), "{name}");
    }
}

#[test]
fn aliases_are_compared_whole_as_well() {
    let file = b"User-agent: Old1\nDisallow: /one\n\nUser-agent: Old2\nDisallow: /two\n\nUser-agent: *\nDisallow: /all\n";
    let agent = Agent::new("New/3.0").with_aliases(["Old2/1.0"]);
    let robots = Robots::parse(file, &agent, &Dialect::Rfc9309.into(), None);
    assert_eq!(["/one", "/two", "/all"].map(|path| robots.verdict(path).allowed), [true, false, true]);
    let robots = Robots::parse(file, &agent, &Dialect::Hardened.into(), None);
    assert_eq!(["/one", "/two", "/all"].map(|path| robots.verdict(path).allowed), [false, false, true]);
}

/// The one exception: a list of plain names is the form of 1994, and its reading is asked in place of RFC 9309's.
#[test]
fn a_repaired_name_opens_nothing_but_by_a_list_of_1994() {
    let rows = [
        // The example of the Lycos article: Fred may see everything.
        ("User-agent: Copernicus Fred\nDisallow:\n\nUser-agent: *\nDisallow: /t\n", true),
        // Allow is unknown to 1994.
        ("User-agent: Copernicus Fred\nAllow: /tmp\nDisallow: /t\n\nUser-agent: *\nDisallow: /t\n", false),
        ("User-agent: Copernicus, Fred\nDisallow:\n\nUser-agent: *\nDisallow: /t\n", false),
        ("User-agent: Copernicus/1.0,Fred\nDisallow:\n\nUser-agent: *\nDisallow: /t\n", false),
        ("User-agent: Copernicus2 Fred\nDisallow:\n\nUser-agent: *\nDisallow: /t\n", false),
        // RFC 9309 finds a group of our name as well.
        ("User-agent: Copernicus Fred\nAllow: /tmp/x\n\nUser-agent: Fred\nDisallow: /t\n", false),
        // An empty name counts as `*`, whose other group stays closed.
        ("User-agent:\nAllow: /tmp/x\n\nUser-agent: *\nDisallow: /t\n", false),
    ];
    for (file, want) in rows {
        let robots = Robots::parse(file.as_bytes(), &Agent::new("Fred/1.0"), &Dialect::Hardened.into(), None);
        let verdict = robots.verdict("/tmp/x");
        assert_eq!(verdict.allowed, want, "{file}{verdict}");
        assert_eq!(verdict.dialect, Dialect::Hardened);
    }
}

#[test]
fn a_list_of_1994_may_name_any_of_our_names() {
    let file = b"User-agent: Copernicus Fred\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n";
    let answers = |agent: &Agent| {
        let robots = Robots::parse(file, agent, &Dialect::Hardened.into(), None);
        ["/tmp/x", "/private"].map(|path| robots.verdict(path).allowed)
    };
    assert_eq!(answers(&Agent::new("Fred/1.0")), [true, false]);
    assert_eq!(answers(&Agent::new("Ginger/1.0").with_aliases(["Fred/1.0"])), [true, false]);
    assert_eq!(answers(&Agent::new("Ginger/1.0").with_aliases(["Rogers/1.0", "Fred/1.0"])), [true, false]);
    assert_eq!(answers(&Agent::new("Ginger/1.0")), [false, false]);
}

#[test]
fn an_addition_is_named_only_where_it_changed_the_reading() {
    let additions = |name: &str| {
        let file = format!("User-agent: {name}\nDisallow: /private\n");
        Robots::parse(file.as_bytes(), &Agent::new("Agent2/1.0"), &Dialect::Hardened.into(), None).additions()
    };
    for plain in ["*", "Agent2", "agent2/0.9", "Other", "Other3"] {
        assert_eq!(additions(plain), Additions::NONE, "{plain}");
    }
    for cut in ["Agent", "Agent1", "agent/1.0"] {
        assert_eq!(additions(cut), Additions::H8, "{cut}");
    }
    for list in ["Other Agent2", "Other, Agent2"] {
        assert_eq!(additions(list), Additions::H2, "{list}");
    }
    assert_eq!(additions(""), Additions::H3);
}
