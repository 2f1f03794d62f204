//! The fields beside the rules (docs/robots.md).

use robots::{Agent, Robots};

fn robots(file: &str) -> Robots {
    Robots::parse(file.as_bytes(), &Agent::new("SuperRobot/1.0"), &robots::Options::default(), None)
}

#[test]
fn signals_belong_to_the_group_that_binds_us() {
    let file = "User-agent: SuperRobot\nDisallow: /x\nComment: hello\n\nUser-agent: *\nContent-Usage: train-ai=n\nComment: other\nNoindex: /n\n";
    let robots = robots(file);
    assert!(robots.signals().content_usage().is_empty());
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
    let clean: Vec<_> =
        signals.clean_params().iter().map(|line| (line.params.join("&"), line.path.as_str())).collect();
    assert_eq!(clean, [("sid&ref".to_owned(), "/shop/"), ("utm".to_owned(), "/")]);
    assert_eq!(signals.noindex("/nax"), Some(7));
    assert_eq!(signals.noindex("/nax/"), None);
    assert!(robots.verdict("/nax").allowed);
}
