//! Laws: any text gives a judgement, none depends on the order of header fields or of what was shown; what is stripped once is stripped for good;
//! effects are requested only as seeds.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use costly::{
    Action, CLASSES, Class, Judge, Kinds, Link, Mode, Month, PageSigns, Shown, Site, Standing, Switches,
    group, recognise,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const NOW: Month = Month { year: 2026, month: 11 };

static KINDS: LazyLock<Kinds> = LazyLock::new(|| Kinds::embedded().unwrap());

const PIECES: &[&str] = &[
    "/",
    "?",
    "&",
    "=",
    ";",
    "%",
    "%2",
    "%20",
    "+",
    "#",
    ":",
    "w",
    "wiki",
    "Special:",
    "index.php",
    "action",
    "edit",
    "logout",
    "login",
    "next",
    "sid",
    "0a1b2c3d4e5f60718293",
    "utm_source",
    "f[a]",
    "f%5Bb%5D",
    "sort",
    "title",
    "jsessionid",
    "(S(4sd0we55yrtgvj45ihqmxg3z))",
    "-",
    "blame",
    "t",
    "12",
    "45",
    "date",
    "2031-05",
    "2031",
    "05",
    "é",
    "{special}",
    "*",
    "Signature",
];

const STANDINGS: [Standing; 8] = [
    Standing::Found,
    Standing::Seed,
    Standing::Sitemap,
    Standing::Allowed,
    Standing::Canonical,
    Standing::Requisite,
    Standing::Included,
    Standing::Stored,
];

fn urls() -> impl Strategy<Value = String> {
    let path = vec(select(PIECES), 0..20).prop_map(|pieces| format!("https://a.test/{}", pieces.concat()));
    prop_oneof![path, ".{0,60}"]
}

fn site(names: &[&str]) -> Site {
    let mut site = Site::default();
    let shown =
        names.iter().map(|name| Shown { kind: (*name).to_owned(), prefix: "/".to_owned(), word: None });
    site.add(shown.collect());
    site
}

proptest! {
    #[test]
    fn any_url_is_judged_and_stripping_ends(
        url in urls(),
        page in urls(),
        names in vec(select(KINDS.iter().map(costly::Kind::name).collect::<Vec<_>>()), 0..4),
    ) {
        let switches = Switches::default();
        let judge = Judge { kinds: &KINDS, switches: &switches, now: NOW };
        let of = |names: &[&str], url: &str, standing| {
            let site = site(names);
            let judged = judge.judge(&Link { url, page: Some(&page), standing }, Some(&site), |_| false);
            (judged.action.clone(), judged.reason.map(|reason| reason.to_string()), judged.reason.map(|reason| reason.class))
        };
        let (action, reason, class) = of(&names, &url, Standing::Found);
        prop_assert_eq!(reason.is_some(), action != Action::Keep);
        let turned: Vec<_> = names.iter().rev().copied().collect();
        prop_assert_eq!(of(&turned, &url, Standing::Found), (action.clone(), reason, class));
        // At most a few times shorter, then for good.
        let mut at = (action.clone(), url.clone());
        for _ in 0..4 {
            let Action::Normalise(next) = &at.0 else { break };
            prop_assert!(next.len() < at.1.len(), "{} {next}", at.1);
            at = (of(&names, next, Standing::Found).0, next.clone());
        }
        prop_assert!(!matches!(at.0, Action::Normalise(_)), "{:?}", at);
        for standing in STANDINGS {
            let (action, _, own) = of(&names, &url, standing);
            match standing {
                Standing::Found => {}
                Standing::Seed => prop_assert_eq!(action, Action::Keep),
                _ if own == Some(Class::Effect) => prop_assert_eq!(action, Action::Skip),
                _ => prop_assert_eq!(action, Action::Keep),
            }
        }
        let _group = group(&url);
    }

    #[test]
    fn any_page_is_recognised_whatever_the_order_of_its_fields(
        url in urls(),
        markup in vec(select(vec!["<", ">", "\"", "<body class=\"mediawiki", "Powered by", "/wiki/", "wgFormattedNamespaces", "\"-1\":\"", "\\u0421", "content=\"WordPress 6", "é"]), 0..20),
        fields in vec(select(vec![("set-cookie", "i_like_gitea=1; Path=/git"), ("Set-Cookie", "phpbb3_x_sid=1"), ("link", "</blog/wp-json/>; rel=\"https://api.w.org/\""), ("x-generator", "Drupal 10")]), 0..4),
    ) {
        let markup = markup.concat();
        let of = |headers: &[(&str, &str)]| {
            recognise(&PageSigns { url: &url, generators: &[], headers, markup: &markup }, &KINDS)
        };
        let turned: Vec<_> = fields.iter().rev().copied().collect();
        prop_assert_eq!(of(&fields), of(&turned));
        prop_assert!(of(&fields).iter().all(|shown| shown.prefix.starts_with('/') && shown.prefix.ends_with('/')));
    }
}

#[test]
fn switches_say_what_is_done_and_none_lifts_effects() {
    let url = "https://wiki.test/w/index.php?title=A&action=history";
    let effect = "https://wiki.test/logout";
    let site = site(&["mediawiki"]);
    let action = |switches: &Switches, url: &str| {
        let judge = Judge { kinds: &KINDS, switches, now: NOW };
        judge.judge(&Link { url, page: None, standing: Standing::Found }, Some(&site), |_| false).action
    };
    let all = |mode| Switches { all: mode, ..Switches::default() };
    for (mode, expected) in
        [(Mode::Skip, Action::Skip), (Mode::Budget, Action::Budget), (Mode::Keep, Action::Keep)]
    {
        let of = |name: &str| BTreeMap::from([(name.to_owned(), mode)]);
        let classes = BTreeMap::from([(Class::History, mode)]);
        for switches in [
            all(mode),
            Switches { hosts: of("wiki.test"), ..Switches::default() },
            Switches { kinds: of("mediawiki"), ..Switches::default() },
            Switches { classes, ..Switches::default() },
        ] {
            assert_eq!(action(&switches, url), expected, "{switches:?}");
            assert_eq!(action(&switches, effect), Action::Skip);
        }
    }
    let marked = "https://wiki.test/wiki/A?utm_source=x";
    assert_eq!(action(&all(Mode::Keep), marked), Action::Keep);
    assert_eq!(action(&all(Mode::Budget), marked), Action::Normalise("https://wiki.test/wiki/A".to_owned()));
    assert!(CLASSES.into_iter().all(|class| class.name().parse() == Ok(class)));
}

#[test]
fn a_kind_holds_for_its_part_of_a_host() {
    let headers = [("link", "<https://a.test/blog/wp-json/>; rel=\"https://api.w.org/\"")];
    let page = PageSigns { url: "https://a.test/blog/walk/", generators: &[], headers: &headers, markup: "" };
    let mut site = Site::default();
    assert!(site.add(recognise(&page, &KINDS)) && !site.add(recognise(&page, &KINDS)));
    assert_eq!(site.shown()[0].prefix, "/blog/");
    let switches = Switches::default();
    let judge = Judge { kinds: &KINDS, switches: &switches, now: NOW };
    let action = |url| {
        judge.judge(&Link { url, page: None, standing: Standing::Found }, Some(&site), |_| false).action
    };
    assert_eq!(action("https://a.test/blog/?s=owl"), Action::Skip);
    assert_eq!(action("https://a.test/?s=owl"), Action::Keep);
    assert_eq!(action("https://a.test/blogs/?s=owl"), Action::Keep);
}

#[test]
fn a_word_in_a_text_is_no_sign_and_one_weak_sign_is_none() {
    let of = |markup: &str| {
        let page = PageSigns { url: "https://a.test/x", generators: &[], headers: &[], markup };
        recognise(&page, &KINDS).into_iter().map(|shown| shown.kind).collect::<Vec<_>>()
    };
    assert!(of("<p>Powered by MediaWiki, with content=\"MediaWiki 1.43\" in its head").is_empty());
    assert!(of("<p>id=\"tracpowered\"</p>").is_empty());
    assert!(of("<a href=\"https://www.phpbb.com/\">phpBB</a>").is_empty());
    assert_eq!(of("<div><a id=\"tracpowered\">"), ["trac"]);
    let both = "<link href=\"/wp-content/themes/x.css\"><script src=\"/wp-includes/x.js\">";
    assert_eq!(of(both), ["wordpress"]);
}

/// The namespace of special pages has a name of its own on each wiki.
#[test]
fn the_word_of_a_wiki_is_learnt_from_its_pages() {
    let markup = "<body class=\"mediawiki\"><script>\"wgFormattedNamespaces\":{\"-2\":\"Meedia\",\"-1\":\"Eri\\u0061line\",\"0\":\"\"}";
    let page = PageSigns { url: "https://a.test/wiki/A", generators: &[], headers: &[], markup };
    let mut site = Site::default();
    site.add(recognise(&page, &KINDS));
    assert_eq!(site.shown()[0].word.as_deref(), Some("Erialine"));
    let switches = Switches::default();
    let judge = Judge { kinds: &KINDS, switches: &switches, now: NOW };
    for (path, expected) in [
        ("/wiki/Erialine:Logi", Action::Skip),
        ("/w/index.php?title=Erialine:Logi/x", Action::Skip),
        ("/wiki/Erialine:MyLanguage/A", Action::Keep),
        ("/wiki/Arutelu:A", Action::Keep),
    ] {
        let url = format!("https://a.test{path}");
        let judged =
            judge.judge(&Link { url: &url, page: None, standing: Standing::Found }, Some(&site), |_| false);
        assert_eq!(judged.action, expected, "{path}");
    }
}
