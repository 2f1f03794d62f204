//! URLs that cost a site much: they are skipped, and everything with content is fetched.

use std::collections::BTreeSet;

use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Pages with content.
const CONTENT: [&str; 13] = [
    "/",
    "/list",
    "/list?page=2",
    "/list?filter[]=owl",
    "/docs/auth/signout",
    "/how-to-logout",
    "/post",
    "/archive/2019/05/",
    "/wiki/Special_relativity",
    "/member/login",
    "/of-sitemap/login?next=/",
    "/marked",
    "/print/",
];

/// Links to what costs much, and why it is skipped.
const COSTLY: [(&str, &str); 10] = [
    ("/login?next=/", "any:login"),
    ("/user/register", "any:login"),
    ("/cart?add=7", "any:effect"),
    ("/shop?add-to-cart=7", "any:effect"),
    ("/logout", "any:effect"),
    ("/post?replytocom=3", "any:reply"),
    ("/list?sort=asc", "any:sort"),
    ("/list?filter[]=owl&filter[]=jay", "any:facet"),
    ("/post?print=1", "any:variant"),
    ("/events/?ical=1", "any:calendar"),
];

fn sites() -> Sites {
    let links = |paths: &mut dyn Iterator<Item = &str>| -> String {
        let links: Vec<_> = paths.map(|path| format!("<p>to {path}<a href='{path}'>x</a>")).collect();
        links.concat()
    };
    let costly = || COSTLY.iter().map(|(path, _)| *path);
    let content = CONTENT.iter().copied().filter(|path| !path.starts_with("/of-sitemap"));
    let mut home = links(&mut content.chain(costly()));
    home.push_str("<a href='/marked?utm_source=a&utm_medium=b'>x</a>");
    let robots = "User-agent: *\nAllow: /member/\nSitemap: http://a.test/sitemap.xml\n";
    let sitemap = "http://a.test/of-sitemap/login?next=/\nhttp://a.test/rate?action=vote\n";
    let mut sites = Sites::new().page("a.test", "/robots.txt", Answer::content("text/plain", robots)).page(
        "a.test",
        "/sitemap.xml",
        Answer::content("text/plain", sitemap),
    );
    for path in CONTENT.into_iter().chain(costly()).chain(["/rate?action=vote"]) {
        let body = match path {
            "/" => home.clone(),
            // What costs much is found again where it doesn't look like the page itself.
            "/list" => format!("<p>{path}<a href='/list?sort=asc'>x</a><a href='/post?print=1'>x</a>"),
            path => format!("<p>{path}</p>"),
        };
        sites = sites.page("a.test", path, Answer::html(body));
    }
    sites
}

/// The pages that the server was asked for.
fn requested(scene: &Scene) -> BTreeSet<String> {
    scene.server.pages().into_iter().filter(|url| !url.ends_with("/sitemap.xml")).collect()
}

/// The answer of `crawl explain` about a URL that is skipped, and what would change it.
fn explained(scene: &Scene, url: &str) -> String {
    let story = scene.look("explain", &[url, "--json"]).expect(1).json().remove(0);
    format!("{} {}", story["answer"], story["change"])
}

fn urls<'a>(paths: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    paths.into_iter().map(|path| format!("http://a.test{path}")).collect()
}

#[test]
fn costly_urls_are_skipped_and_all_content_is_fetched() {
    let scene = Scene::new(sites());
    std::fs::write(scene.seeds(), "http://a.test/\n").unwrap();
    scene.crawl().args(["--sitemaps"]).run().expect(0);
    let asked = requested(&scene);
    assert_eq!(asked, urls(CONTENT));
    let skipped = scene.table("skipped");
    let skipped: BTreeSet<(&str, &str, &str)> = skipped
        .iter()
        .map(|row| {
            let text = |column: &str| row[column].as_str().unwrap();
            (text("url"), text("reason"), text("detail"))
        })
        .collect();
    let expected: Vec<_> = COSTLY
        .iter()
        .chain([&("/rate?action=vote", "any:effect")])
        .map(|(path, why)| (format!("http://a.test{path}"), *why))
        .collect();
    let expected: BTreeSet<_> = expected.iter().map(|(url, why)| (url.as_str(), "costly", *why)).collect();
    assert_eq!(skipped, expected);
    let says = explained(&scene, "http://a.test/login?next=/");
    assert!(says.contains("it costs its site much and brings nothing new: any:login"), "{says}");
    assert!(says.contains("--costly keep`"), "{says}");
    scene.look("audit", &[]).expect(0);

    // All but what changes something.
    scene.resume().args(["--costly", "keep"]).run().expect(0);
    let asked = requested(&scene);
    let effects = COSTLY.iter().filter(|(_, why)| *why != "any:effect").map(|(path, _)| *path);
    assert_eq!(asked, urls(CONTENT.into_iter().chain(effects)));
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_seed_and_what_the_user_includes_are_requested_whatever_they_cost() {
    let scene = Scene::new(sites());
    std::fs::write(scene.seeds(), "http://a.test/\nhttp://a.test/logout\n").unwrap();
    scene.crawl().args(["--include", "login|/$|logout|cart"]).run().expect(0);
    let asked = requested(&scene);
    let expected =
        ["/", "/logout", "/login?next=/", "/member/login", "/print/", "/archive/2019/05/", "/how-to-logout"];
    assert_eq!(asked, urls(expected));
    scene.look("audit", &[]).expect(0);
}

#[test]
fn single_classes_and_hosts_are_kept_where_the_settings_say_so() {
    for (lines, kept) in [
        ("[costly.classes]\nreply = \"keep\"\n", &["/post?replytocom=3"][..]),
        (
            "[costly]\naction = \"budget\"\n[costly.classes]\nlogin = \"skip\"\n",
            &[
                "/post?replytocom=3",
                "/list?sort=asc",
                "/list?filter[]=owl&filter[]=jay",
                "/post?print=1",
                "/events/?ical=1",
            ],
        ),
    ] {
        let scene = Scene::new(sites());
        std::fs::write(scene.seeds(), "http://a.test/\n").unwrap();
        std::fs::write(scene.path("study.toml"), lines).unwrap();
        scene.crawl().args(["--sitemaps", "--config"]).args([scene.path("study.toml")]).run().expect(0);
        let asked = requested(&scene);
        assert_eq!(asked, urls(CONTENT.into_iter().chain(kept.iter().copied())), "{lines}");
        scene.look("audit", &[]).expect(0);
    }
}

/// 300 lists that differ in one value: 200 of them are requested, after all other pages.
#[test]
fn a_group_of_costly_urls_has_a_budget() {
    let links: Vec<_> = (0..300).map(|n| format!("<a href='/x?fq=a{n}&fq=b'>x</a>")).collect();
    let front = Answer::html(links.concat() + "<a href=/owls>Owls</a>");
    let mut sites = Sites::new().page("a.test", "/", front);
    sites = sites.page("a.test", "/owls", Answer::html("<a href=/owls/barn>Barn owls</a>"));
    sites = sites.page("a.test", "/owls/barn", Answer::html("<p>A barn owl."));
    for n in 0..300 {
        sites = sites.page("a.test", &format!("/x?fq=a{n}&fq=b"), Answer::html(format!("<p>{n}")));
    }
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), "http://a.test/\n").unwrap();
    scene.crawl().args(["--costly", "budget"]).run().expect(0);
    let asked = scene.server.pages();
    assert_eq!(asked.len(), 203);
    // They come after everything else, whenever that was found.
    assert_eq!(asked[..3], ["http://a.test/", "http://a.test/owls", "http://a.test/owls/barn"]);
    let skipped = scene.table("skipped");
    assert_eq!(skipped.iter().filter(|row| row["reason"] == "costly").count(), 100);
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_crawl_of_an_earlier_version_requests_costly_urls_as_before() {
    let scene = Scene::new(sites());
    std::fs::write(scene.seeds(), "http://a.test/\n").unwrap();
    scene.crawl().args(["--max-pages", "1"]).run().expect(10);
    let own = scene.out().join("crawl.toml");
    let text = std::fs::read_to_string(&own).unwrap();
    // What versions before it wrote of it.
    let (before, rest) = text.split_once("[costly]").unwrap();
    let after = rest.find("\n[fetch]").map_or("", |at| &rest[at..]);
    std::fs::write(&own, format!("{before}[costly]\nsession = \"normalise\"\n{after}")).unwrap();
    scene.resume().args(["--max-pages", "1000"]).run().expect(0);
    let asked = requested(&scene);
    assert!(asked.contains("http://a.test/login?next=/"), "{asked:?}");
    assert!(asked.contains("http://a.test/logout"), "{asked:?}");
    scene.look("audit", &[]).expect(0);
}

/// A wiki below `/` whose first page says nothing of its kind, and a forum that does from the beginning.
fn wiki() -> Sites {
    let head =
        "<html><head><meta name='generator' content='MediaWiki 1.43.1'></head><body class='mediawiki ltr'>";
    let costly = "<a href='/w/index.php?title=Owl&amp;action=history'>h</a><a href='/w/index.php?title=Owl&amp;action=edit'>e</a>\
                  <a href='/w/index.php?title=Owl&amp;diff=prev&amp;oldid=7'>d</a><a href='/wiki/Special:Search'>s</a>";
    let mut sites = Sites::new().page(
        "wiki.test",
        "/",
        Answer::html(format!("<a href='/wiki/Owl'>Owl</a>{costly}<a href='/wiki/Jay'>Jay</a>")),
    );
    for name in ["Owl", "Jay"] {
        let page = format!("{head}<h1>{name}</h1><a href='/wiki/Talk:{name}'>t</a>{costly}");
        sites = sites.page("wiki.test", &format!("/wiki/{name}"), Answer::html(page));
        let talk = format!("{head}<p>Talk of {name}");
        sites = sites.page("wiki.test", &format!("/wiki/Talk:{name}"), Answer::html(talk));
    }
    for path in [
        "/w/index.php?title=Owl&action=history",
        "/w/index.php?title=Owl&action=edit",
        "/w/index.php?title=Owl&diff=prev&oldid=7",
        "/wiki/Special:Search",
    ] {
        sites = sites.page("wiki.test", path, Answer::html(format!("{head}<p>{path}")));
    }
    sites
}

#[test]
fn a_kind_that_becomes_known_is_used_for_what_waits_and_after_a_restart() {
    let scene = Scene::new(wiki());
    std::fs::write(scene.seeds(), "http://wiki.test/\n").unwrap();
    // The first page, and the one that shows the kind.
    scene.crawl().args(["--max-pages", "2"]).run().expect(10);
    assert_eq!(scene.table("hosts")[0]["kinds"], serde_json::json!(["mediawiki"]));
    scene.resume().args(["--max-pages", "none"]).run().expect(0);
    let expected = ["/", "/wiki/Owl", "/wiki/Jay", "/wiki/Talk:Owl", "/wiki/Talk:Jay"];
    let expected: BTreeSet<_> = expected.iter().map(|path| format!("http://wiki.test{path}")).collect();
    assert_eq!(requested(&scene), expected);
    let history = "http://wiki.test/w/index.php?title=Owl&action=history";
    let says = explained(&scene, history);
    assert!(says.contains("mediawiki:history (versions of a page or a file)"), "{says}");
    assert!(says.contains("in [costly.kinds] of"), "{says}");
    let summary = &scene.look("show", &["--json"]).expect(0).json()[0];
    let counted: BTreeSet<_> =
        summary["costly"].as_array().unwrap().iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(
        counted,
        BTreeSet::from(["mediawiki:diff", "mediawiki:edit", "mediawiki:history", "mediawiki:search"])
    );
    let plan = Crawl::new(["plan", "--offline"]).args([scene.out()]).args(["--json"]).run();
    let plan = plan.expect(0).json().remove(0);
    assert_eq!((&plan["costly"], &plan["cheaper"]), (&summary["costly"], &summary["cheaper"]));
    let cheaper = summary["cheaper"].as_array().unwrap();
    assert!(
        cheaper.iter().any(|way| way["host"] == "wiki.test" && way["kind"] == "MediaWiki"),
        "{cheaper:?}"
    );
    scene.look("audit", &[]).expect(0);

    // What was dropped from its queue comes back.
    scene.resume().args(["--costly", "keep", "--max-pages", "none"]).run().expect(0);
    assert!(requested(&scene).contains(history));
    scene.look("audit", &[]).expect(0);
}
