//! Resources of pages (`--resources`), and responses that are refused by their heads: types, and large files.

use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

fn page(sites: Sites, path: &str, body: &str) -> Sites {
    sites.page("a.test", path, Answer::html(body))
}

fn resource(sites: Sites, url: &str, content_type: &str, body: &str) -> Sites {
    let (host, path) = url.trim_start_matches("http://").split_once('/').expect("a URL with a path");
    sites.page(host, &format!("/{path}"), Answer::content(content_type, body))
}

/// Every way in which a page names a resource, each with the URL that it leads to. The sources are the HTML standard (4.2.4, 4.8.3, 4.8.4,
/// 4.12.1) and the CSS modules that `extract/css.rs` names.
const FRONT: &str = r#"<html><head>
    <link rel=stylesheet href=/css/main.css>
    <link rel="shortcut icon" href=/favicon.ico>
    <link rel=preconnect href=http://hint.test/ping>
    <link rel=pingback href=/pingback>
    <style>@import "/css/inline.css"; body { background: url(/i/style.png) }</style>
    <script src=/js/a.js></script></head>
    <body style="background: url('/i/attribute.png')">
    <img src=/i/a.png srcset="/i/a-2x.png 2x, /i/a-3x.png 3x">
    <picture><source srcset="/i/b.avif, /i/b-2x.avif 2x" type=image/avif><img src=/i/b.png></picture>
    <video src=/v/small.mp4 poster=/i/poster.png></video>
    <a href=/one>1</a> <a href=/two>2</a> <form action=/search></form>"#;
const MAIN_CSS: &str = "@import url(second.css); @font-face { src: url(../f/font.woff2) } a { background: image-set('/i/set.png' 1x) }";
const RESOURCES: [(&str, &str, &str); 18] = [
    ("/css/main.css", "text/css", MAIN_CSS),
    ("/css/second.css", "text/css", "@import 'third.css'; a { background: url(../i/second.png) }"),
    ("/css/third.css", "text/css", "@import 'main.css';"),
    ("/css/inline.css", "text/css", ""),
    ("/f/font.woff2", "font/woff2", "w"),
    ("/favicon.ico", "image/x-icon", "i"),
    ("/js/a.js", "text/javascript", "1"),
    ("/i/style.png", "image/png", "s"),
    ("/i/attribute.png", "image/png", "t"),
    ("/i/set.png", "image/png", "u"),
    ("/i/second.png", "image/png", "v"),
    ("/i/a.png", "image/png", "a"),
    ("/i/a-2x.png", "image/png", "a2"),
    ("/i/a-3x.png", "image/png", "a3"),
    ("/i/b.avif", "image/avif", "b"),
    ("/i/b-2x.avif", "image/avif", "b2"),
    ("/i/b.png", "image/png", "b3"),
    ("/i/poster.png", "image/png", "p"),
];

fn site() -> Sites {
    let sites = page(page(page(Sites::new(), "/", FRONT), "/one", "<a href=/three>3</a>"), "/two", "2");
    let sites = page(sites, "/three", "3").page("a.test", "/v/small.mp4", Answer::content("video/mp4", "v"));
    let with = |sites, (path, content_type, body): (&str, &str, &str)| {
        resource(sites, &format!("http://a.test{path}"), content_type, body)
    };
    RESOURCES.into_iter().fold(sites, with)
}

const PAGES: [&str; 4] = ["http://a.test/", "http://a.test/one", "http://a.test/two", "http://a.test/three"];

fn totals(scene: &Scene) -> serde_json::Value {
    scene.look("show", &["--json"]).expect(0).json().remove(0)["totals"].clone()
}

/// The URLs of table `skipped` with their reasons.
fn skipped(scene: &Scene) -> Vec<(String, String)> {
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    scene.table("skipped").iter().map(|row| (text(row, "url"), text(row, "reason"))).collect()
}

/// Every request but those for robots.txt: method and path, in order.
fn asked(scene: &Scene) -> Vec<String> {
    let mut hits = scene.server.hits();
    hits.sort_by_key(|hit| hit.request.start);
    let pages = hits.iter().filter(|hit| hit.request.path != "/robots.txt");
    pages.map(|hit| format!("{} {}", hit.method, hit.request.path)).collect()
}

fn assert_sound(scene: &Scene) {
    scene.assert_polite();
    scene.look("audit", &[]).expect(0);
}

#[test]
fn resources_come_after_the_pages_and_dont_count_as_pages() {
    let scene = Scene::new(site());
    scene.crawl().args(["--resources", "--max-pages", "4"]).run().expect(10);
    let urls = scene.server.pages();
    let (pages, resources) = urls.split_at(PAGES.len());
    assert_eq!(sorted(pages), sorted(&PAGES), "the pages come first");
    let mut expected: Vec<String> = RESOURCES.map(|(path, ..)| format!("http://a.test{path}")).to_vec();
    // Asked for by HEAD, then by GET.
    expected.extend(["http://a.test/v/small.mp4"; 2].map(str::to_owned));
    assert_eq!(sorted(resources), sorted(&expected), "each once, and no hints");
    let totals = totals(&scene);
    assert_eq!((&totals["pages"], &totals["resources"]), (&4.into(), &19.into()), "{totals}");
    let rows = scene.table("pages");
    let marked = rows.iter().filter(|row| row["resource"] == true);
    assert_eq!(marked.count(), 19);
    let links = scene.table("links");
    let kinds = |kind: &str| links.iter().filter(|link| link["kind"] == kind).count();
    assert_eq!((kinds("css_import"), kinds("css_font"), kinds("css_image")), (4, 1, 4), "{links:?}");
    assert_sound(&scene);
}

fn sorted<T: AsRef<str>>(urls: &[T]) -> Vec<&str> {
    let mut urls: Vec<&str> = urls.iter().map(AsRef::as_ref).collect();
    urls.sort_unstable();
    urls
}

#[test]
fn without_resources_none_is_fetched_and_styles_arent_read() {
    let scene = Scene::new(site());
    scene.crawl().run().expect(0);
    assert_eq!(sorted(&scene.server.pages()), sorted(&PAGES));
    assert!(scene.table("links").iter().all(|link| !link["kind"].to_string().contains("css")));
    assert_sound(&scene);
}

#[test]
fn max_resources_bounds_them_and_a_resume_goes_on_without_asking_twice() {
    let scene = Scene::new(site());
    scene.crawl().args(["--resources", "--max-resources", "3"]).run().expect(10);
    let totals_then = totals(&scene);
    assert_eq!((&totals_then["pages"], &totals_then["resources"]), (&4.into(), &3.into()));
    assert_sound(&scene);
    let queue = scene.table("queue");
    assert!(!queue.is_empty() && queue.iter().all(|row| row["priority"] == "resource"), "{queue:?}");
    scene.resume().args(["--max-resources", "none"]).run().expect(0);
    assert_eq!(totals(&scene)["resources"], 19);
    let mut gets: Vec<String> = asked(&scene).into_iter().filter(|line| line.starts_with("GET")).collect();
    let all = gets.len();
    gets.sort();
    gets.dedup();
    assert_eq!((gets.len(), all), (PAGES.len() + 19, PAGES.len() + 19), "each once");
    assert_sound(&scene);
}

#[test]
fn a_crawl_that_is_killed_among_its_resources_goes_on_with_them() {
    let scene = Scene::new(site());
    let running = scene.crawl_every("60ms").args(["--resources"]).start();
    while scene.server.count() < 10 {
        std::thread::yield_now();
    }
    running.kill();
    scene.resume().run().expect(0);
    assert_eq!(totals(&scene)["resources"], 19);
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_full_host_still_gives_the_resources_of_its_pages() {
    let scene = Scene::new(site());
    scene.crawl().args(["--resources", "--max-pages-per-host", "1"]).run().expect(10);
    let totals = totals(&scene);
    assert_eq!((&totals["pages"], &totals["resources"]), (&1.into(), &19.into()), "{totals}");
    assert_sound(&scene);
}

#[test]
fn robots_txt_forbids_resources_as_it_does_pages() {
    let rules = Answer::robots(Rules::default().deny("/css/").deny("/i/"));
    let scene = Scene::new(site().page("a.test", "/robots.txt", rules));
    scene.crawl().args(["--resources"]).run().expect(0);
    let denied = |url: &&String| url.contains("/css/") || url.contains("/i/");
    assert_eq!(scene.server.pages().iter().filter(denied).count(), 0);
    let skipped = skipped(&scene);
    assert!(
        skipped.contains(&("http://a.test/css/main.css".to_owned(), "robots_txt".to_owned())),
        "{skipped:?}"
    );
    assert!(scene.server.pages().contains(&"http://a.test/js/a.js".to_owned()));
    assert_sound(&scene);
}

#[test]
fn resources_are_on_the_host_of_their_page_unless_more_is_allowed() {
    let front = "<img src=/own.png><img src=http://static.a.test/d.png><link rel=stylesheet href=http://cdn.test/c.css>\
        <a href=http://static.a.test/page>x</a>";
    let sites = page(Sites::new(), "/", front);
    let sites = resource(sites, "http://a.test/own.png", "image/png", "o");
    let sites = resource(sites, "http://static.a.test/d.png", "image/png", "d");
    let sites = resource(sites, "http://cdn.test/c.css", "text/css", "a{background:url(e.png)}");
    let sites = resource(sites, "http://cdn.test/e.png", "image/png", "e");
    let (own, domain) = ("http://a.test/own.png", "http://static.a.test/d.png");
    let (sheet, of_sheet) = ("http://cdn.test/c.css", "http://cdn.test/e.png");
    for (hosts, expected) in
        [("host", vec![own]), ("domain", vec![own, domain]), ("any", vec![own, domain, sheet, of_sheet])]
    {
        let scene = Scene::new(sites.clone());
        std::fs::write(scene.seeds(), "http://a.test/\n").expect("the seed file can be written");
        // Patterns and depth concern pages.
        let options = ["--resources", "--resource-hosts", hosts, "--include", "test/$", "--max-depth", "0"];
        scene.crawl().args(options).run().expect(0);
        let fetched = scene.server.pages();
        let resources: Vec<&String> = fetched.iter().filter(|url| *url != "http://a.test/").collect();
        assert_eq!(sorted(&resources), sorted(&expected), "{hosts}");
        let others = skipped(&scene);
        for url in [domain, sheet].iter().filter(|url| !expected.contains(url)) {
            assert!(
                others.contains(&((*url).to_owned(), "other_host".to_owned())),
                "{hosts} {url}: {others:?}"
            );
        }
        assert_sound(&scene);
    }
}

/// A page that links to a file of so many bytes.
fn file(path: &str, answer: Answer) -> Sites {
    page(Sites::new(), "/", &format!("<a href='{path}'>x</a>")).page("a.test", path, answer)
}

fn with_limit(scene: &Scene) -> Vec<String> {
    let config = scene.path("c.toml");
    std::fs::write(&config, "[limits]\nmax_media = \"1000B\"\n").expect("the configuration can be written");
    vec!["--config".to_owned(), config.to_string_lossy().into_owned()]
}

#[test]
fn large_files_are_asked_for_by_head_first_and_skipped() {
    let scene = Scene::new(file("/film.mp4", Answer::content("video/mp4", "x".repeat(1001))));
    scene.crawl().args(with_limit(&scene)).run().expect(10);
    assert_eq!(asked(&scene), ["GET /", "HEAD /film.mp4"]);
    let url = "http://a.test/film.mp4";
    assert_eq!(skipped(&scene), [(url.to_owned(), "type".to_owned())]);
    let told = scene.look("explain", &[url]);
    assert!(told.stdout.contains("video/mp4, 1001 bytes: larger than limits.max_media, 1KB"), "{told}");
    assert_sound(&scene);
    // With a higher limit it is judged again.
    let text = std::fs::read_to_string(scene.out().join("crawl.toml")).expect("the settings of the crawl");
    let text = text.replace("max_media = \"1KB\"", "max_media = \"2KB\"");
    std::fs::write(scene.out().join("crawl.toml"), text).expect("the settings can be written");
    scene.resume().run().expect(0);
    assert_eq!(asked(&scene)[2..], ["HEAD /film.mp4", "GET /film.mp4"]);
    assert_eq!(skipped(&scene), []);
    assert_sound(&scene);
}

#[test]
fn files_within_the_limit_are_fetched_after_their_head() {
    let scene = Scene::new(file("/a.zip", Answer::content("application/zip", "x".repeat(1000))));
    scene.crawl().args(with_limit(&scene)).run().expect(0);
    assert_eq!(asked(&scene), ["GET /", "HEAD /a.zip", "GET /a.zip"]);
    let entries = scene.table("ledger");
    let head = entries.iter().find(|entry| entry["reason"] == "head").expect("an entry for the HEAD request");
    assert_eq!(head["decision"], "asked");
    assert!(head["evidence"].to_string().contains("application/zip, 1000 bytes"), "{head}");
    assert_sound(&scene);
}

#[test]
fn a_server_that_refuses_head_is_asked_by_get_and_the_body_is_not_read() {
    for status in [405, 501] {
        let answer = Answer::content("video/mp4", "x".repeat(9_000_000)).head_status(status);
        let scene = Scene::new(file("/film.mp4", answer));
        scene.crawl().args(with_limit(&scene)).run().expect(10);
        assert_eq!(asked(&scene), ["GET /", "HEAD /film.mp4", "GET /film.mp4"], "{status}");
        assert_eq!(skipped(&scene), [("http://a.test/film.mp4".to_owned(), "type".to_owned())]);
        let bytes = totals(&scene)["bytes"].as_u64().expect("a number");
        assert!(bytes < 1000, "{bytes} bytes of bodies");
        assert_sound(&scene);
    }
}

#[test]
fn a_seed_may_be_a_large_file_and_no_limit_asks_for_no_head() {
    let scene = Scene::new(file("/film.mp4", Answer::content("video/mp4", "x".repeat(2000))));
    std::fs::write(scene.seeds(), "http://a.test/film.mp4\n").expect("the seed file can be written");
    scene.crawl().args(with_limit(&scene)).run().expect(0);
    assert_eq!(asked(&scene), ["GET /film.mp4"]);
    let scene = Scene::new(file("/film.mp4", Answer::content("video/mp4", "x".repeat(2000))));
    let config = scene.path("c.toml");
    std::fs::write(&config, "[limits]\nmax_media = \"none\"\n").expect("the configuration can be written");
    scene.crawl().args([std::path::Path::new("--config"), &config]).run().expect(0);
    assert_eq!(asked(&scene), ["GET /", "GET /film.mp4"]);
}

#[test]
fn types_are_refused_after_the_head() {
    let front =
        "<a href=/a.pdf>a</a><a href=/b>b</a><a href=/c>c</a><a href=/none>d</a><a href=/film.mp4>e</a>";
    let sites = page(Sites::new(), "/", front)
        .page("a.test", "/a.pdf", Answer::content("application/pdf", "%PDF"))
        .page("a.test", "/b", Answer::content("Image/PNG", "x".repeat(5_000_000)))
        .page("a.test", "/film.mp4", Answer::content("video/mp4", "x"))
        .page("a.test", "/c", Answer::content("text/plain; charset=utf-8", "c"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--types", "text/*,application/pdf"]).run().expect(0);
    let mut asked = asked(&scene);
    asked.sort();
    assert_eq!(asked, ["GET /", "GET /a.pdf", "GET /b", "GET /c", "GET /none", "HEAD /film.mp4"]);
    let rows = scene.table("pages");
    let mut stored: Vec<&str> = rows.iter().filter_map(|row| row["url"].as_str()).collect();
    stored.sort_unstable();
    // An error isn't judged by its type.
    assert_eq!(stored, ["/", "/a.pdf", "/c", "/none"].map(|path| format!("http://a.test{path}")));
    let mut skipped = skipped(&scene);
    skipped.sort();
    assert_eq!(skipped, ["/b", "/film.mp4"].map(|path| (format!("http://a.test{path}"), "type".to_owned())));
    let told = scene.look("explain", &["http://a.test/b"]);
    assert!(told.stdout.contains("image/png: not among scope.types"), "{told}");
    assert!(totals(&scene)["bytes"].as_u64().expect("a number") < 1000);
    assert_sound(&scene);
    // With the type among those wanted it is judged again.
    scene.resume().args(["--types", "text/*,application/pdf,image/*"]).run().expect(0);
    assert!(scene.table("pages").iter().any(|row| row["url"] == "http://a.test/b"));
    assert_sound(&scene);
}

#[test]
fn a_type_that_isnt_one_is_refused_before_the_crawl() {
    let scene = Scene::new(site());
    let refused = scene.crawl().args(["--types", "pdf"]).run();
    refused.expect(2);
    assert!(refused.stderr.contains("\"pdf\" isn't a MIME type"), "{refused}");
    assert!(!scene.out().exists());
}
