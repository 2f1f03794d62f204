//! `--sitemaps`: what robots.txt names is read, and its URLs are crawled by scope, robots.txt and order.

use std::io::Write as _;
use std::time::Duration;

use serde_json::Value;
use whole_program::program::Crawl;
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};
use crate::stop::pause;

fn robots(rules: Rules, sitemaps: &[&str]) -> Answer {
    let mut answer = Answer::robots(rules);
    for sitemap in sitemaps {
        answer.body.extend(format!("Sitemap: {sitemap}\n").bytes());
    }
    answer
}

fn urlset(entries: &[(&str, &str)]) -> String {
    let entry = |(url, more): &(&str, &str)| format!("<url><loc>{url}</loc>{more}</url>");
    format!("<?xml version='1.0'?><urlset>{}</urlset>", entries.iter().map(entry).collect::<String>())
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn xml(text: impl Into<Vec<u8>>) -> Answer {
    Answer::content("application/xml", text)
}

fn sites() -> Sites {
    let index = "<sitemapindex><sitemap><loc>http://a.test/maps/one.xml.gz</loc></sitemap>\
                 <sitemap><loc>http://a.test/maps/two.txt</loc></sitemap></sitemapindex>";
    let one = urlset(&[
        ("http://a.test/low", "<priority>0.1</priority>"),
        ("http://a.test/old", "<lastmod>2020-01-01</lastmod>"),
        ("http://a.test/new", "<lastmod>2024-01-01</lastmod>"),
        ("http://a.test/high?a=1&amp;b=2", "<priority>1.0</priority>"),
        ("http://a.test/private/x", ""),
        ("http://b.test/stolen", ""),
        ("http://out.test/x", ""),
        ("http://a.test/", ""),
    ]);
    let names = [
        "http://a.test/maps/index.xml",
        "http://b.test/for-a.xml",
        "http://out.test/s.xml",
        "http://a.test/private/s.xml",
    ];
    let mut sites = Sites::new()
        .page("a.test", "/robots.txt", robots(Rules::default().deny("/private/"), &names))
        .page("a.test", "/maps/index.xml", xml(index))
        .page("a.test", "/maps/one.xml.gz", Answer::content("application/x-gzip", gzip(&one)))
        .page("a.test", "/maps/two.txt", Answer::content("text/plain", "http://a.test/from-text\n"))
        .page("b.test", "/for-a.xml", xml(urlset(&[("http://a.test/from-b", ""), ("http://b.test/own", "")])))
        .page(
            "b.test",
            "/sitemap.xml",
            xml("<!DOCTYPE x [<!ENTITY y SYSTEM 'http://a.test/entity'>]><urlset/>"),
        );
    for (host, path) in [
        ("a.test", "/"),
        ("b.test", "/"),
        ("a.test", "/from-b"),
        ("a.test", "/from-text"),
        ("b.test", "/own"),
    ]
    .into_iter()
    .chain(["/low", "/old", "/new", "/high?a=1&b=2"].map(|path| ("a.test", path)))
    {
        sites = sites.page(host, path, Answer::html(format!("<title>{path}</title>")));
    }
    sites
}

#[test]
fn sitemaps_bring_their_urls_by_robots_scope_and_order() {
    let scene = Scene::new(sites());
    scene.crawl().args(["--sitemaps"]).run().expect(0);
    scene.assert_polite();
    let asked = scene.server.pages();
    let expected = [
        "http://a.test/",
        "http://a.test/from-b",
        "http://a.test/from-text",
        "http://a.test/high?a=1&b=2",
        "http://a.test/low",
        "http://a.test/maps/index.xml",
        "http://a.test/maps/one.xml.gz",
        "http://a.test/maps/two.txt",
        "http://a.test/new",
        "http://a.test/old",
        "http://a.test/sitemap.xml",
        "http://b.test/",
        "http://b.test/for-a.xml",
        "http://b.test/own",
        "http://b.test/sitemap.xml",
    ];
    assert_eq!(sorted(asked.clone()), expected);
    let at = |path: &str| asked.iter().position(|url| url.ends_with(path)).unwrap();
    assert!(at("b=2") < at("/new") && at("/new") < at("/old") && at("/old") < at("/low"), "{asked:?}");

    let pages = scene.table("pages");
    let urls: Vec<_> = pages.iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect();
    let of_sitemaps = |url: &&str| !url.contains("/maps/") && !url.contains(".xml");
    assert_eq!(
        sorted(urls),
        expected.into_iter().filter(of_sitemaps).collect::<Vec<_>>(),
        "a sitemap is no page"
    );
    let page = pages.iter().find(|page| page["url"] == "http://a.test/low").unwrap();
    assert_eq!((&page["via"], &page["depth"]), (&"http://a.test/maps/one.xml.gz".into(), &1.into()));

    let skipped = scene.table("skipped");
    let reason = |url: &str| {
        let row =
            skipped.iter().find(|row| row["url"] == url).unwrap_or_else(|| panic!("{url}: {skipped:?}"));
        (row["reason"].as_str().unwrap(), row["via"].as_str().unwrap())
    };
    let one = "http://a.test/maps/one.xml.gz";
    assert_eq!(reason("http://a.test/private/x"), ("robots_txt", one));
    assert_eq!(reason("http://b.test/stolen"), ("sitemap_other_host", one));
    assert_eq!(reason("http://out.test/x"), ("sitemap_other_host", one));
    let ledger = scene.table("ledger");
    let refused: Vec<_> = ledger
        .iter()
        .filter(|entry| entry["decision"] == "sitemap_refused")
        .map(|entry| (entry["url"].as_str().unwrap(), entry["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        refused,
        [("http://out.test/s.xml", "other_host"), ("http://a.test/private/s.xml", "robots_txt")]
    );

    let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
    let reported = |url: &str| {
        let list = summary["sitemaps"].as_array().unwrap();
        list.iter().find(|sitemap| sitemap["url"] == url).cloned().unwrap_or(Value::Null)
    };
    for (url, state, found, urls, queued) in [
        ("http://a.test/maps/index.xml", "read", "robots_txt", 2, 0),
        (one, "read", "index", 8, 5),
        ("http://a.test/maps/two.txt", "read", "index", 1, 1),
        ("http://a.test/private/s.xml", "denied", "robots_txt", 0, 0),
        ("http://a.test/sitemap.xml", "failed", "well_known", 0, 0),
        ("http://b.test/for-a.xml", "read", "robots_txt", 2, 2),
        ("http://b.test/sitemap.xml", "failed", "well_known", 0, 0),
    ] {
        let sitemap = reported(url);
        assert_eq!((&sitemap["state"], &sitemap["found"]), (&state.into(), &found.into()), "{url}");
        assert_eq!((&sitemap["urls"], &sitemap["queued"]), (&urls.into(), &queued.into()), "{url}");
    }
    assert_eq!(summary["sitemaps_known"], 7);
    assert!(scene.look("show", &[]).expect(0).stdout.contains("\nSitemaps: 7\n"));
    scene.look("audit", &[]).expect(0);
    let way = |url: &str| {
        let explain = Crawl::new(["explain", url]).args([scene.out()]).args(["--json"]);
        let reported = explain.run().json().remove(0);
        let found = reported["found"].as_array().cloned().unwrap_or_default();
        found.iter().map(|step| step["by"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(way("http://a.test/low"), ["robots_txt", "sitemap", "sitemap"]);
    assert_eq!(way("http://a.test/private/x"), ["robots_txt", "sitemap", "sitemap"]);
    assert_eq!(way("http://a.test/"), ["seed"]);
}

#[test]
fn without_the_option_no_sitemap_is_asked_for() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    assert_eq!(sorted(scene.server.pages()), ["http://a.test/", "http://b.test/"]);
}

#[test]
fn a_sitemap_under_way_when_the_crawl_is_killed_is_read_by_the_next_run() {
    let map = urlset(&[("http://a.test/1", ""), ("http://a.test/2", "")]);
    let sites = Sites::new()
        .page("a.test", "/robots.txt", robots(Rules::default(), &["/slow.xml"]))
        .page("a.test", "/slow.xml", xml(map.clone()).after(Duration::from_secs(30)))
        .page("a.test", "/slow.xml", xml(map))
        .page("a.test", "/", Answer::html("<p>front"))
        .page("a.test", "/1", Answer::html("<p>1"))
        .page("a.test", "/2", Answer::html("<p>2"));
    let scene = Scene::new(sites);
    let running = scene.crawl().args(["--sitemaps"]).start();
    while scene.server.count() == 0 {
        pause(Duration::from_millis(20));
    }
    // robots.txt is on record, and the sitemap asked for.
    pause(Duration::from_millis(1_500));
    running.kill();
    assert_eq!(scene.server.pages(), Vec::<String>::new());
    scene.resume().args(scene.server.resolve()).run().expect(0);
    let pages: Vec<_> =
        scene.table("pages").iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect();
    assert_eq!(sorted(pages), ["http://a.test/", "http://a.test/1", "http://a.test/2"]);
}

#[test]
fn a_sitemap_of_several_parts_is_read_whole_and_its_long_urls_are_counted() {
    let tail = "x".repeat(300);
    let mut entries: Vec<_> = (0..40_000).map(|n| format!("http://a.test/{n}/{tail}")).collect();
    // Short enough as they are written, and three times as long once they are encoded.
    let long = (0..3).map(|n| format!("http://a.test/{n}/{}", "\u{e9}".repeat(600)));
    entries.extend(long);
    let entries: Vec<_> = entries.iter().map(|url| (url.as_str(), "")).collect();
    let map = gzip(&urlset(&entries));
    let sites = Sites::new()
        .page("a.test", "/robots.txt", robots(Rules::default(), &["/map.xml.gz"]))
        .page("a.test", "/map.xml.gz", Answer::content("application/x-gzip", map))
        .page("a.test", "/", Answer::html("<p>front"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--sitemaps", "--max-pages", "1"]).run().expect(10);
    let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
    let list = summary["sitemaps"].as_array().unwrap();
    let map = list.iter().find(|sitemap| sitemap["url"] == "http://a.test/map.xml.gz").unwrap();
    assert_eq!((&map["state"], &map["urls"]), (&"read".into(), &40_000.into()), "{map}");
    assert_eq!((&map["queued"], &map["refused"]), (&40_000.into(), &3.into()), "{map}");
    let ledger = scene.table("ledger");
    let of_length: Vec<_> = ledger.iter().filter(|entry| entry["reason"] == "too_long").collect();
    assert_eq!(of_length.len(), 1, "one entry for all of them: {of_length:?}");
    assert!(of_length[0].to_string().contains("percent-encoded: 3"), "{of_length:?}");
    scene.look("audit", &[]).expect(0);
}

#[test]
fn the_coverage_of_a_host_names_its_sitemaps_that_are_not_read_whole() {
    let entry = |path: &str| format!("<url><loc>http://a.test{path}</loc></url>");
    let cut = format!("<urlset>{}<url><loc>http://a.te", entry("/cut"));
    let ill_formed = format!(
        "<urlset>{}<url>R&D < 3<loc>/relative?a=1&b=2</loc></url>{}</urlset>",
        entry("/1"),
        entry("/2")
    );
    let whole = gzip(&urlset(&[("http://a.test/1", ""), ("http://a.test/2", "")]));
    let names =
        ["cut", "ill-formed", "html", "gone", "half"].map(|name| format!("http://a.test/maps/{name}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sites = Sites::new()
        .page("a.test", "/robots.txt", robots(Rules::default(), &names))
        .page("a.test", "/maps/cut", xml(cut))
        .page("a.test", "/maps/ill-formed", xml(ill_formed))
        .page("a.test", "/maps/half", xml(&whole[..whole.len() / 2]).header("Content-Encoding", "gzip"))
        .page("a.test", "/maps/html", Answer::html("<html><body>no</body></html>"))
        // Nobody says that this is one.
        .page("a.test", "/sitemap.xml", Answer::html("<html><body>front page</body></html>"));
    let sites = ["/", "/cut", "/1", "/2", "/relative?a=1&b=2"]
        .iter()
        .fold(sites, |sites, path| sites.page("a.test", path, Answer::html("x")));
    let scene = Scene::new(sites);
    scene.crawl().args(["--sitemaps", "--retries", "0"]).run().expect(0);
    let is_sitemap = |url: &String| url.contains("/maps/") || url.ends_with("/sitemap.xml");
    let pages: Vec<String> = scene.server.pages().into_iter().filter(|url| !is_sitemap(url)).collect();
    let expected = ["/", "/1", "/2", "/cut", "/relative?a=1&b=2"].map(|path| format!("http://a.test{path}"));
    assert_eq!(sorted(pages), expected);
    let summary = &scene.look("show", &["--json"]).expect(0).json()[0];
    let notes: Vec<String> = serde_json::from_value(summary["hosts"][0]["notes"].clone()).expect("a list");
    assert_eq!(
        sorted(notes),
        [
            "sitemap http://a.test/maps/cut couldn't be read to its end: broken: it ends unexpectedly",
            "sitemap http://a.test/maps/gone couldn't be fetched: http_404",
            "sitemap http://a.test/maps/half couldn't be read: broken: incomplete deflate stream",
            "sitemap http://a.test/maps/html couldn't be read: not a sitemap",
        ]
    );
    let of = |name: &str| {
        let url = format!("http://a.test/maps/{name}");
        let all = summary["sitemaps"].as_array().expect("a list");
        all.iter().find(|row| row["url"] == *url).expect("it is known").clone()
    };
    assert_eq!((&of("cut")["incomplete"], &of("ill-formed")["incomplete"]), (&true.into(), &false.into()));
    assert_eq!(of("ill-formed")["detail"], "1 relative URL, resolved");
    let shown = scene.look("show", &[]).expect(0).stdout.clone();
    assert!(shown.contains("      sitemap http://a.test/maps/cut couldn't be read to its end"), "{shown}");
    scene.look("audit", &[]).expect(0);
}
