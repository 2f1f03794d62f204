//! Which readings of a file `hardened` asks beside its own, and what counts of each.
#![allow(clippy::unwrap_used, reason = "a test that can't read its own text has failed")]

use std::time::Duration;

use robots::{Additions, Agent, Dialect, Options, Robots, WarningKind as K};

fn read(file: impl AsRef<[u8]>, agent: &Agent, options: impl Into<Options>) -> Robots {
    Robots::parse(file.as_ref(), agent, &options.into(), None)
}

fn robots(file: impl AsRef<[u8]>) -> Robots {
    read(file, &Agent::new("SuperRobot/1.0"), Options::default())
}

fn allows(file: impl AsRef<[u8]>, path: &str) -> bool {
    robots(file).verdict(path).allowed
}

fn rfc9309(file: impl AsRef<[u8]>, path: &str) -> bool {
    read(file, &Agent::new("SuperRobot/1.0"), Dialect::Rfc9309).verdict(path).allowed
}

#[test]
fn h7_adds_the_rules_of_everybody_to_ours_and_opens_nothing() {
    let h7 = Options::default().with_additions(Additions::HARDENED.with(Additions::H7));
    let agent = Agent::new("SuperRobot");
    let file =
        "User-agent: SuperRobot\nDisallow: /a\nDisallow: /b\n\nUser-agent: *\nDisallow: /c\nAllow: /b\n";
    let with = read(file, &agent, h7.clone());
    for path in ["/a", "/c"] {
        assert!(!with.verdict(path).allowed, "{path}");
    }
    assert!(with.verdict("/d").allowed);
    // RFC 9309 denies it: the line of the other group is for others.
    assert!(!with.verdict("/b").allowed);
    assert_eq!(with.additions(), Additions::H7);
    let without = robots(file);
    assert!(without.verdict("/c").allowed);
    assert_eq!(without.additions(), Additions::NONE);
    // Where the group of everybody is ours, or nobody names us, it adds nothing.
    for file in ["User-agent: SuperRobot\nUser-agent: *\nDisallow: /a\n", "User-agent: *\nDisallow: /a\n"] {
        let robots = read(file, &agent, h7.clone());
        assert_eq!((robots.verdict("/a").allowed, robots.additions()), (false, Additions::NONE), "{file}");
    }
}

#[test]
fn an_older_name_that_rfc_9309_finds_is_asked_for_as_well() {
    // The list of 1994 names our new name, but RFC 9309 sees the old one alone, and never more is allowed than by it.
    let file = "User-agent: other NewName\nDisallow: /y\n\nUser-agent: OldName\nDisallow: /x\n";
    let agent = Agent::new("NewName").with_aliases(["OldName"]);
    assert!(!read(file, &agent, Dialect::Rfc9309).verdict("/x").allowed);
    assert!(!read(file, &agent, Dialect::Hardened).verdict("/x").allowed);
}

#[test]
fn a_group_that_names_us_in_plain_words_is_read_as_rfc_9309_does() {
    // A list beside our name changes nothing: the standard of 1994, which knows no Allow, isn't asked.
    for names in [
        "User-agent: SuperRobot\nUser-agent: other SuperRobot\n",
        "User-agent: other SuperRobot\nUser-agent: SuperRobot\n",
        "User-agent: SuperRobot\nUser-agent: superrobot/2.0\nUser-agent: other SuperRobot\n",
    ] {
        let file = format!("{names}Disallow: /x\nAllow: /x/y\n");
        assert!(rfc9309(&file, "/x/y") && allows(&file, "/x/y"), "{names}");
        assert!(!allows(&file, "/x"), "{names}");
    }
}

#[test]
fn a_group_that_is_everybodys_in_plain_words_is_read_once() {
    // Splitting the list changes nothing, so that no second reading is kept beside the first one.
    for names in [
        "User-agent: *\nUser-agent: other *\n",
        "User-agent: other *\nUser-agent: *\n",
        "User-agent: *\nUser-agent: *\nUser-agent: other *\n",
    ] {
        let file = format!("{names}Disallow: /x\n");
        let whole = Options::default().with_additions(Additions::HARDENED.without(Additions::H2));
        let (split, whole) = (robots(&file), read(&file, &Agent::new("SuperRobot/1.0"), whole));
        assert_eq!((split.additions(), whole.additions()), (Additions::H2, Additions::NONE), "{names}");
        assert!(!split.verdict("/x").allowed && !whole.verdict("/x").allowed, "{names}");
        assert_eq!(split.memory(), whole.memory(), "{names}");
    }
}

#[test]
fn lists_of_1994_bind_us_however_many_there_are() {
    // As in "User-agent: Copernicus Fred"; RFC 9309 would bind us by the group of everybody.
    for names in
        ["User-agent: other SuperRobot\n", "User-agent: other SuperRobot\nUser-agent: more SuperRobot\n"]
    {
        let file = format!("{names}Disallow: /x\n\nUser-agent: *\nDisallow: /\n");
        assert!(!allows(&file, "/x") && allows(&file, "/y"), "{names}");
    }
}

#[test]
fn a_star_within_a_list_is_everybody() {
    for names in ["other *", "other, *", "*, other"] {
        assert!(!allows(format!("User-agent: {names}\nDisallow: /x\n"), "/x"), "{names}");
    }
    let group = |file: &str| robots(file).verdict("/x").group.unwrap().to_string();
    assert_eq!(group("User-agent: *\nUser-agent: * other\nDisallow: /x\n"), "*", "the first one");
}

#[test]
fn names_that_would_be_ours_if_they_were_cut_restrict_us_however_many_there_are() {
    for names in ["User-agent: MJ\n", "User-agent: MJ\nUser-agent: mj/2.0\n"] {
        let file = format!("User-agent: MJ12bot\nAllow: /\n\n{names}Disallow: /x\n");
        let robots = read(&file, &Agent::new("MJ12bot"), Options::default());
        assert!(!robots.verdict("/x").allowed && robots.verdict("/y").allowed, "{names}");
    }
}

#[test]
fn a_name_that_was_cut_with_its_line_opens_nothing() {
    // Where the limit of a line falls behind our name, the whole line names another robot.
    let opened = (16_600..16_700).filter(|blanks| {
        let names = format!("User-agent:{}SuperRobots", " ".repeat(*blanks));
        let file = format!("User-agent: *\nDisallow: /\n\n{names}\nAllow: /\n");
        assert!(!rfc9309(&file, "/x"), "{blanks}");
        allows(&file, "/x")
    });
    assert_eq!(opened.collect::<Vec<_>>(), []);
}

#[test]
fn what_another_reading_says_beside_rules_counts_too() {
    // A list with commas is no form of any standard, so that RFC 9309, which binds us by the other group, is asked as well.
    let file = "User-agent: other, SuperRobot\nContent-Signal: search=yes\nRequest-rate: 1/5\nDisallow: /x\n\n\
                User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: train-ai=n\nRequest-rate: 1/60\n\
                Visit-time: 0300-0400\nDisallow: /y\n";
    let robots = self::robots(file);
    let lines = |lines: &[robots::SignalLine]| lines.iter().map(|line| line.line).collect::<Vec<_>>();
    assert_eq!(lines(robots.signals().content_signal()), [2, 7]);
    assert_eq!(lines(robots.signals().content_usage()), [8]);
    let rates: Vec<_> = robots.timing().rates().iter().map(robots::RequestRate::interval).collect();
    assert_eq!(rates, [Duration::from_secs(5), Duration::from_secs(60)]);
    let visits =
        |robots: &Robots| robots.timing().visits().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(visits(&robots), ["0300-0400"]);
    // Times beside ours would widen them.
    let ours = self::robots(file.replace("Request-rate: 1/5\n", "Visit-time: 0100-0200\n"));
    assert_eq!(visits(&ours), ["0100-0200"]);
}

#[test]
fn what_an_encoding_is_decoded_by_depends_on_it_and_its_mark() {
    let file = "User-agent: *\nDisallow: /\u{e9}\n";
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let utf32 = |text: &str| text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<u8>>();
    let marked = format!("\u{feff}{file}");
    for (name, body, by) in [
        ("UTF-16 with a mark", utf16(&marked), Additions::H6),
        ("UTF-16", utf16(file), Additions::H10),
        ("UTF-32 with a mark", utf32(&marked), Additions::H10),
        ("UTF-32", utf32(file), Additions::H10),
    ] {
        for without in [Additions::H6, Additions::H10] {
            let options = Options::default().with_additions(Additions::HARDENED.without(without));
            let robots = read(&body, &Agent::new("SuperRobot"), options);
            assert_eq!(robots.verdict("/%C3%A9").allowed, without == by, "{name} without {without}");
        }
    }
}

#[test]
fn a_reading_without_groups_brings_no_addition() {
    // The bytes of a mark of UTF-16 before a text in ASCII: decoded, it holds nothing.
    let robots = robots(b"\xff\xfeUser-agent: other\nUser-agent: *\nDisallow: /x\n");
    assert_eq!((robots.verdict("/x").allowed, robots.additions()), (false, Additions::NONE));
}

#[test]
fn the_line_that_denies_as_the_url_is_written_is_named_first() {
    let file = "User-agent: *\nDisallow: /a\nDisallow: /a$b\n";
    let line = |dialect: Dialect| {
        let verdict = read(file, &Agent::new("SuperRobot"), dialect).verdict("/a%24b");
        (verdict.allowed, verdict.line)
    };
    assert_eq!(line(Dialect::Hardened), line(Dialect::Rfc9309));
}

#[test]
fn strictest_cites_hardened_where_all_allow() {
    let file = "User-agent: *\nAllow: /x\nAllow: /x/y\nDisallow: /z\n";
    let verdict = read(file, &Agent::new("SuperRobot"), Dialect::Strictest).verdict("/x/y");
    // The first line that matches is the second one: that is what the dialects of 1996 go by.
    assert_eq!((verdict.allowed, verdict.line, verdict.dialect), (true, Some(3), Dialect::Strictest));
}

#[test]
fn odd_characters_are_read_as_they_look() {
    for (line, paths) in [
        // A number sign begins a comment in its full width as well.
        ("Disallow: /x\u{ff03} a remark".as_bytes(), &["/x"][..]),
        // Tabs and line separators part words, and don't vanish.
        ("Disallow\u{a0}: /x\t/y".as_bytes(), &["/x", "/y"]),
        ("Disallow\u{a0}: /x\u{85}/y".as_bytes(), &["/x", "/y"]),
        // Lines of Latin-1.
        (b"Dis\x01allow:\xa0/x", &["/x"]),
        (b"Disallow:\xa0/\x01x", &["/x"]),
        (b"Disallow:\xa0/xy\x01z", &["/xyz"]),
        (b"Disallow:\xa0/x\t/y", &["/x", "/y"]),
        (b"\x01Disallow\x7f:\xa0/x\x01", &["/x"]),
        (b"\tDisallow\t:\xa0/x", &["/x"]),
    ] {
        let file = [b"User-agent: *\n", line, b"\n"].concat();
        for path in paths {
            assert!(!allows(&file, path), "{path} by {}", line.escape_ascii());
        }
    }
}

#[test]
fn fields_that_say_nothing_leave_nothing() {
    let empty = robots("User-agent: *\nNoindex:\nHost:\nLicense:\nComment:\nDisallow: /x\n");
    assert_eq!(empty.signals(), robots("User-agent: *\nDisallow: /x\n").signals());
}

#[test]
fn values_and_names_that_are_none_are_warned_of() {
    let kinds = |line: &str| {
        let robots = robots(format!("User-agent: *\n{line}\nDisallow: /x\n"));
        robots
            .warnings()
            .iter()
            .filter(|warning| warning.line == 2)
            .map(|warning| warning.kind)
            .collect::<Vec<_>>()
    };
    // RFC 9651: an item is a number, a text, a token (which begins with a letter or `*`), bytes, or a Boolean.
    for (item, is_item) in
        [("n", true), ("*", true), ("-1", true), ("@1", true), ("!n", false), ("_n", false), ("~", false)]
    {
        let warned = kinds(&format!("Content-Usage: train-ai={item}")).contains(&K::BadSignal);
        assert_eq!(!warned, is_item, "{item}");
    }
    // Two letters off, and a separator that is taken for the hyphen.
    for name in ["Reqest_rte", "Reqest rte", "Reqest-rte"] {
        assert_eq!(kinds(&format!("{name}: 1/5")), [K::LikelyTypo], "{name}");
    }
    // The last minute of a day is 2400.
    for (time, is_time) in [
        ("0100-2400", true),
        ("0100-2401", false),
        ("0100-2430", false),
        ("0100-2500", false),
        ("0100-2460", false),
    ] {
        assert_eq!(!kinds(&format!("Visit-time: {time}")).contains(&K::BadVisitTime), is_time, "{time}");
    }
}

#[test]
fn each_addition_is_a_set_of_its_own_and_hardened_has_all_but_h7() {
    let all = [
        Additions::H1,
        Additions::H2,
        Additions::H3,
        Additions::H4,
        Additions::H5,
        Additions::H6,
        Additions::H7,
        Additions::H8,
        Additions::H9,
        Additions::H10,
        Additions::H11,
        Additions::H12,
    ];
    let mut union = Additions::NONE;
    for (i, addition) in all.into_iter().enumerate() {
        assert_eq!(addition.to_string(), format!("H{}", i + 1));
        assert!(!addition.is_empty() && !union.contains(addition) && !Additions::NONE.contains(addition));
        union = union.with(addition);
        assert!(union.contains(addition) && !union.without(addition).contains(addition));
    }
    assert_eq!(Additions::HARDENED, union.without(Additions::H7));
    assert_eq!(Additions::HARDENED.to_string(), "H1 H2 H3 H4 H5 H6 H8 H9 H10 H11 H12");
    assert_eq!(format!("{:?}", Additions::H1.with(Additions::H10)), "Additions(H1 H10)");
    assert!(Additions::NONE.is_empty() && Additions::NONE.to_string().is_empty());
}

#[test]
fn line_separators_and_a_written_line_end_end_lines_and_only_deny() {
    for separator in [
        "\u{b}", "\u{c}", "\u{1c}", "\u{85}", "\u{2028}", "\u{2029}", r"\n", r"\r\n", r"\\n", r"\\r\\n",
        r"\n\t",
    ] {
        let file =
            format!("User-agent: *{separator}Disallow: /a{separator}Allow: /a/b{separator}Crawl-delay: 7");
        assert!(rfc9309(&file, "/a"), "{separator:?}");
        let robots = robots(&file);
        let verdict = robots.verdict("/a/c");
        assert_eq!((verdict.allowed, verdict.line), (false, Some(1)), "{separator:?}");
        assert!(robots.verdict("/a/b").allowed && robots.verdict("/").allowed, "{separator:?}");
        assert!(robots.additions().contains(Additions::H12), "{separator:?}");
        assert_eq!(robots.timing().crawl_delay(), Some(Duration::from_secs(7)), "{separator:?}");
        let agent = Agent::new("SuperRobot");
        assert!(!read(&file, &agent, Dialect::Strictest).verdict("/a").allowed, "{separator:?}");
        let off = Options::default().with_additions(Additions::HARDENED.without(Additions::H12));
        assert!(read(&file, &agent, off).verdict("/a").allowed, "{separator:?}");
        // What follows a comment is a line, and nothing is opened by one.
        assert!(!allows(format!("User-agent: *\n# x{separator}Disallow: /"), "/"), "{separator:?}");
        assert!(!allows(format!("User-agent: *\nDisallow: /\n#{separator}Allow: /"), "/"), "{separator:?}");
        // Beside other slips.
        let file = format!("User-agent\u{ff1a}\u{a0}*{separator}Disallow\u{ff1a}\u{a0}/a");
        assert!(!allows(&file, "/a"), "{separator:?}");
        let wide: Vec<u8> = file.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(!allows(wide, "/a"), "{separator:?}");
    }
    // A written CR is one where a field follows, and a part of a path elsewhere.
    for separator in [r"\r", r"\\r", r"\r\t", r"\r\r"] {
        let file = format!("User-agent: *{separator}Disallow: /a{separator}Allow: /a/b");
        assert!(rfc9309(&file, "/a") && !allows(&file, "/a") && allows(&file, "/a/b"), "{separator}");
    }
    assert!(
        allows(r"User-agent: *\rDisallow: /a\reports", "/a")
            && !allows(r"User-agent: *\rDisallow: /a\r", "/a")
    );
    // Lines keep their numbers.
    assert_eq!(
        robots("User-agent: *\nDisallow: /a\u{2028}Disallow: /b\nDisallow: /c").verdict("/c").line,
        Some(3)
    );
}
