//! Limits of the TOML: each is honoured, reported in the record of what it truncated, and counted by the name of its key.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Every limit so low that a small page shows it.
const CONFIG: &str = r#"
[limits]
max_header_count = 15
max_url_length = 200
max_links_per_page = 40
[page]
href_bytes = "64B"
link_bytes = "2KiB"
title_bytes = "64B"
json_ld_bytes = "1KiB"
json_ld_block_bytes = "600B"
description_bytes = "40B"
keywords_bytes = "40B"
header_bytes = "64B"
reference_bytes = "100B"
anchor_bytes = "40B"
tree_nodes = 120
tree_depth = 10
field_values = 5
field_bytes = "32B"
fields_bytes = "100B"
[sitemap]
max_body = "600B"
urls = 2
elements = 4
nesting = 0
per_host = 4
[[extract]]
name = "p"
selector = "p"
all = true
"#;

/// What goes beyond a limit, under its key and with the word of `limits_hit`.
fn pages() -> Vec<(&'static str, &'static str, String)> {
    let base = format!("<base href='/{}/'>", "b".repeat(50));
    let ld = |text: &str| format!("<script type='application/ld+json'>\"{text}\"</script>");
    vec![
        ("page.href_bytes", "href", format!("<a href='/{}'>x</a>", "h".repeat(70))),
        ("page.link_bytes", "link addresses", base + &links(30)),
        ("limits.max_links_per_page", "links", links(41)),
        ("page.title_bytes", "title", format!("<title>{}</title>", "t".repeat(70))),
        ("page.json_ld_bytes", "json-ld", ld(&"j".repeat(500)).repeat(2)),
        ("page.json_ld_block_bytes", "json-ld block", ld(&"j".repeat(599))),
        (
            "JSON-LD syntax",
            "json-ld syntax",
            "<script type='application/ld+json'>{\"a\":</script>".to_owned(),
        ),
        (
            "page.description_bytes",
            "description",
            format!("<meta name=description content='{}'>", "d".repeat(41)),
        ),
        (
            "page.keywords_bytes",
            "keywords",
            format!(
                "<meta name=keywords content='{}'>",
                "one,two,three,four,five,six,seven,eight,nine,ten,eleven"
            ),
        ),
        ("page.header_bytes", "header", "its Content-Language is long".to_owned()),
        (
            "page.reference_bytes",
            "reference",
            format!("<meta name=url content='http://pages.test/{}'>", "u".repeat(90)),
        ),
        ("page.anchor_bytes", "anchor", format!("<a href='?a' rel=nofollow>{}</a>", "a".repeat(41))),
        ("page.meta_value_bytes", "meta value", format!("<meta name=d content='{}'>", "m".repeat(17 << 10))),
        ("page.tree_nodes", "tree nodes", "<i></i>".repeat(120)),
        ("page.tree_depth", "tree depth", "<div>".repeat(11)),
        ("page.field_values", "field values", "<p>v</p>".repeat(6)),
        ("page.field_bytes", "field", format!("<p>{}</p>", "f".repeat(33))),
        ("page.fields_bytes", "fields", format!("<p>{}</p>", "g".repeat(30)).repeat(4)),
    ]
}

fn path_of(key: &str) -> String {
    format!("/{}", key.replace(' ', "-"))
}

fn links(count: usize) -> String {
    (0..count).map(|n| format!("<a href='?{n}' rel=nofollow></a>")).collect::<Vec<_>>().concat()
}

fn urlset(urls: usize) -> String {
    let urls: Vec<_> = (0..urls).map(|n| format!("<url><loc>http://maps.test/{n}</loc></url>")).collect();
    format!("<urlset>{}</urlset>", urls.concat())
}

#[test]
fn every_limit_of_the_file_is_honoured_reported_and_counted() {
    let mut sites = Sites::new();
    let mut front = String::new();
    for (key, _, body) in pages() {
        let path = path_of(key);
        let _ = write!(front, "<a href='{path}'></a>");
        let answer = match key {
            "page.header_bytes" => Answer::html(body).header("Content-Language", &"en, ".repeat(20)),
            _ => Answer::html(body),
        };
        sites = sites.page("pages.test", &path, answer);
    }
    let mut many = Answer::html("many lines");
    for n in 0..16 {
        many = many.header(&format!("X-Line-{n}"), "x");
    }
    let xml = |body: String| Answer::content("application/xml", body);
    let index = "<sitemapindex><sitemap><loc>http://pages.test/below.xml</loc></sitemap></sitemapindex>";
    let named = ["none.xml", "many.xml", "deep.xml", "long.xml", "surplus.xml"];
    let lines: String = named.map(|name| format!("Sitemap: http://maps.test/{name}\n")).concat();
    let robots = format!("{lines}#{}\nUser-agent: *\nDisallow: /\n", "x".repeat(512_000 - lines.len() - 3));
    let sites = sites
        .page("pages.test", "/", Answer::html(front))
        .page("head.test", "/", many)
        .page("maps.test", "/robots.txt", Answer::content("text/plain", robots))
        .page("maps.test", "/", Answer::html("maps"))
        .page("maps.test", "/0", Answer::html("0"))
        .page("maps.test", "/1", Answer::html("1"))
        .page("pages.test", "/sitemap.xml", xml(index.to_owned()))
        .page("maps.test", "/many.xml", xml(urlset(3)))
        .page("maps.test", "/deep.xml", xml(format!("<urlset>{}", "<a>".repeat(4))))
        .page("maps.test", "/long.xml", xml(format!("{}<!-- {} -->", urlset(1), "l".repeat(600))));
    let scene = Scene::new(sites);
    let config = scene.path("c.toml");
    std::fs::write(&config, CONFIG).unwrap();
    scene.crawl().args(["--sitemaps", "--config"]).args([&config]).run().expect(10);

    let of_pages = scene.table("pages");
    for (key, word, _) in pages() {
        let url = format!("http://pages.test{}", path_of(key));
        let page = of_pages.iter().find(|page| page["url"] == url).unwrap_or_else(|| panic!("{url}"));
        assert_eq!(page["limits_hit"], serde_json::json!([word]), "{key}");
    }
    let field = |key: &str| {
        let url = format!("http://pages.test/{key}");
        of_pages.iter().find(|page| page["url"] == url).map(|page| page["fields"].to_string())
    };
    assert_eq!(field("page.field_values").as_deref(), Some(r#"{"p":["v","v","v","v","v"]}"#));
    assert_eq!(field("page.tree_nodes").as_deref(), Some("{}"));

    let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
    let limits = summary["limits"].as_array().unwrap();
    let counted = |limit: &serde_json::Value| {
        (limit["what"].as_str().unwrap().to_owned(), limit["count"].as_u64().unwrap())
    };
    let counts: BTreeMap<_, _> = limits.iter().map(counted).collect();
    let mut expected: BTreeMap<_, _> = pages().into_iter().map(|(key, ..)| (key.to_owned(), 1)).collect();
    for (key, count) in [
        ("limits.max_header_bytes or limits.max_header_count", 1),
        ("limits.max_robots", 1),
        ("sitemap.urls", 1),
        ("sitemap.elements", 1),
        ("sitemap.max_body", 1),
        ("sitemap.nesting", 1),
        // The fifth that robots.txt names, and /sitemap.xml.
        ("sitemap.per_host", 2),
    ] {
        expected.insert(key.to_owned(), count);
    }
    assert_eq!(counts, expected);
    // The rule that would deny it is after the limit.
    assert!(of_pages.iter().any(|page| page["url"] == "http://maps.test/1" && page["status"] == 200));
    let skipped = scene.table("skipped");
    let why = |url: &str| {
        skipped.iter().find(|row| row["url"] == url).map(|row| format!("{} {}", row["reason"], row["detail"]))
    };
    assert_eq!(
        why("http://pages.test/below.xml").as_deref(),
        Some(r#""sitemap_nesting" "http://pages.test/sitemap.xml; sitemap.nesting 0""#)
    );
    assert_eq!(
        why("http://maps.test/surplus.xml").as_deref(),
        Some(r#""sitemaps_per_host" "sitemap.per_host 4""#)
    );
    let errors = scene.table("errors");
    assert!(
        errors.iter().any(|row| row["url"] == "http://head.test/" && row["kind"] == "too_large"),
        "{errors:?}"
    );
    scene.look("audit", &[]).expect(0);
}
