//! Consent signals and the fields beside the rules (specification 1.7 and 5).

use robots::{Agent, CleanParam, Consent, Grade, Robots};

fn robots(file: &str) -> Robots {
    Robots::parse(file.as_bytes(), &Agent::new("SuperRobot/1.0"), &robots::Options::default(), None)
}

fn said(
    search: Option<bool>,
    ai_input: Option<bool>,
    ai_train: Option<bool>,
    grade: Option<Grade>,
) -> Consent {
    Consent { search, ai_input, ai_train, grade }
}

#[test]
fn aipref_attach_longest_path_speaks() {
    let file = "User-agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: / train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n";
    let robots = robots(file);
    assert_eq!(robots.signals().consent("/test").ai_train, Some(false));
    assert_eq!(robots.signals().consent("/ai-ok/x").ai_train, Some(true));
    assert!(!robots.verdict("/never/x").allowed);
}

#[test]
fn aipref_vocab_dictionaries() {
    let (yes, no) = (Some(true), Some(false));
    let rows = [
        ("train-ai=n, search=y", said(yes, None, no, None)),
        ("train-ai=n,search=y , ai-use=n", said(yes, no, no, None)),
        // Duplicate key: the last. A key alone is true, a string is no token: both unknown.
        ("train-ai=y, train-ai, search=n, search=\"n\"", said(None, None, None, None)),
        ("train-ai=n, train-ai=y", said(None, None, yes, None)),
        ("train-ai=maybe", said(None, None, None, None)),
        ("train-ai=n;ext=1, other=5", said(None, None, no, None)),
        ("bots=(a b c), train-ai=n", said(None, None, no, None)),
        ("text=\"a, train-ai=y \\\" \", train-ai=n", said(None, None, no, None)),
        // Keys are lower case: a failure to parse makes everything unknown.
        ("Train-AI=n", said(None, None, None, None)),
        ("train-ai=n,", said(None, None, None, None)),
        ("train-ai=n search=y", said(None, None, None, None)),
        ("train-ai==n", said(None, None, None, None)),
        ("train-ai=\"n", said(None, None, None, None)),
        ("", said(None, None, None, None)),
    ];
    for (value, want) in rows {
        assert_eq!(Consent::content_usage(value), want, "{value}");
    }
}

#[test]
fn content_signal_lists() {
    let (yes, no) = (Some(true), Some(false));
    let rows = [
        ("search=yes, ai-train=no, use=reference", said(yes, None, no, Some(Grade::Reference))),
        ("search=yes, ai-input=no, ai-train=no", said(yes, no, no, None)),
        ("Search = YES", said(yes, None, None, None)),
        ("ai-train=perhaps", said(None, None, None, None)),
        ("use=immediate", said(None, None, None, Some(Grade::Immediate))),
        ("nonsense", said(None, None, None, None)),
    ];
    for (value, want) in rows {
        assert_eq!(Consent::content_signal(value), want, "{value}");
    }
    let robots = robots(
        "User-Agent: *\nContent-signal: search=yes, ai-train=no\nContent-Signal: /a ai-train=yes\nAllow: /\n",
    );
    assert_eq!(robots.signals().consent("/x"), said(yes, None, no, None));
    assert_eq!(robots.signals().consent("/a/b"), said(None, None, yes, None));
}

#[test]
fn equal_paths_deny_wins_and_systems_are_joined() {
    let file = "User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: / train-ai=n\nContent-Signal: ai-train=yes, search=yes\n";
    assert_eq!(robots(file).signals().consent("/x"), said(Some(true), None, Some(false), None));
}

#[test]
fn signals_belong_to_the_group_that_binds_us() {
    let file = "User-agent: SuperRobot\nDisallow: /x\nComment: hello\n\nUser-agent: *\nContent-Usage: train-ai=n\nComment: other\nNoindex: /n\n";
    let robots = robots(file);
    assert_eq!(robots.signals().consent("/"), Consent::default());
    assert_eq!(robots.signals().comments(), ["hello"]);
    assert_eq!(robots.signals().noindex("/n"), None);
}

#[test]
fn file_wide_fields_are_kept_wherever_they_stand() {
    let file = "Sitemap: HTTP://a.example/S.xml\nHost: www.a.example\nUser-agent: *\nClean-param: sid&ref /shop/\nSitemap: http://a.example/S.xml\n\
                Sitemap:\nNoindex: /n*x$\nDisallow: /d\nLicense: https://a.example/rsl\nclean-param: utm\nSite-map: b\n";
    let robots = robots(file);
    assert_eq!(robots.sitemaps(), ["HTTP://a.example/S.xml", "http://a.example/S.xml", "b"]);
    let signals = robots.signals();
    assert_eq!(signals.hosts(), ["www.a.example"]);
    assert_eq!(signals.licenses(), ["https://a.example/rsl"]);
    let clean = |params: &[&str], path: &str| CleanParam {
        params: params.iter().map(|&name| name.to_owned()).collect(),
        path: path.to_owned(),
    };
    assert_eq!(signals.clean_params(), [clean(&["sid", "ref"], "/shop/"), clean(&["utm"], "/")]);
    assert_eq!(signals.noindex("/nax"), Some(7));
    assert_eq!(signals.noindex("/nax/"), None);
    assert!(robots.verdict("/nax").allowed);
}
