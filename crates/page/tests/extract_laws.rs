//! What holds for every page, hostile ones among them.

#![allow(clippy::unwrap_used, clippy::format_collect, reason = "helpers of tests stop where tests do")]

use std::fmt::Write;

use html5ever::driver::{self, ParseOpts};
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use page::extract::{ExtractInput, ExtractLimits, Extracted, JSON_LD_BLOCK, LimitHit, extract};
use page::url::CrawlUrl;
use proptest::prelude::*;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};
use url::Url;

fn read_with(body: &[u8], content_type: Option<&str>, limits: &ExtractLimits, want_text: bool) -> Extracted {
    let url = Url::parse("http://e.example/d/p.html").unwrap();
    extract(&ExtractInput {
        body,
        content_type,
        url: &url,
        link_headers: &[],
        limits,
        want_text,
        want_styles: false,
    })
}

fn read(html: &str) -> Extracted {
    read_with(html.as_bytes(), Some("text/html;charset=utf-8"), &ExtractLimits::default(), true)
}

const SMALL: ExtractLimits = ExtractLimits {
    links: 5,
    href_bytes: 40,
    link_bytes: 400,
    anchor_bytes: 10,
    text_bytes: 30,
    title_bytes: 10,
    meta_bytes: 400,
    metas: 3,
    meta_value_bytes: 20,
    json_ld_bytes: 60,
    json_ld_block_bytes: 20,
    description_bytes: 20,
    keywords_bytes: 20,
    header_bytes: 20,
    reference_bytes: 20,
};

fn assert_within(page: &Extracted, limits: &ExtractLimits, body: usize) {
    assert!(page.links.len() <= limits.links);
    let bytes: usize =
        page.links.iter().map(|l| l.target.as_ref().map_or_else(String::len, |u| u.as_str().len())).sum();
    assert!(bytes <= limits.link_bytes);
    for link in &page.links {
        assert!(link.text.len() <= limits.anchor_bytes && link.rel.as_str().len() <= 256);
        if let Ok(url) = &link.target {
            assert_eq!(CrawlUrl::parse(url.as_str()).as_ref(), Ok(url));
        }
    }
    assert!(page.title.as_ref().is_none_or(|t| t.len() <= limits.title_bytes));
    let text = page.text.as_deref().unwrap_or_default();
    assert!(text.len() <= limits.text_bytes);
    for range in &page.no_snippet {
        assert!(
            range.start < range.end && text.get(range.clone()).is_some()
                || !text.is_char_boundary(range.start)
        );
    }
    assert!(page.metas.len() <= limits.metas);
    for meta in &page.metas {
        assert!((meta.position as usize) < limits.meta_bytes.min(body * 3 + 1));
        for value in [&meta.name, &meta.http_equiv, &meta.property, &meta.content].into_iter().flatten() {
            assert!(value.len() <= limits.meta_value_bytes);
        }
    }
    let json_ld = page.json_ld.iter().map(|json| serde_json::to_string(json).unwrap().len() + JSON_LD_BLOCK);
    assert!(json_ld.sum::<usize>() <= limits.json_ld_bytes);
    for json in &page.json_ld {
        assert!(
            serde_json::from_str::<serde_json::Value>(json).is_ok()
                && json.len() <= limits.json_ld_block_bytes
        );
    }
    assert!(page.limits_hit.is_sorted());
}

/// Pieces that pages are made of, well-formed or not.
const SOUP: &[&str] = &[
    "<title>",
    "</title>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<style>",
    "</style>",
    "<textarea>",
    "</textarea>",
    "<a href=x>",
    "<a href='#y'>",
    "</a>",
    "<a href=\"mailto:z\" rel=nofollow>",
    "<meta name=robots content=noindex>",
    "<meta name=a content='b&amp;c'>",
    "<base href=/b/>",
    "<svg>",
    "</svg>",
    "<math>",
    "</math>",
    "<title/>",
    "<p>",
    "</p>",
    "<template>",
    "</template>",
    "<noscript>",
    "</noscript>",
    "<div class=robots-nocontent>",
    "</div>",
    "<noindex>",
    "</noindex>",
    "<foreignObject>",
    "</foreignObject>",
    "<![CDATA[",
    "]]>",
    "<plaintext>",
    "<iframe src=i>",
    "</iframe>",
    "<img src=1 srcset='2,3 2x' alt=alt>",
    "<",
    ">",
    "\"",
    "'",
    "=",
    "&",
    "&lt;",
    "&#x41;",
    "&notin",
    "\0",
    "é",
    "€",
    " ",
    "\r\n",
    "text",
    "<html lang=de>",
    "<link rel=canonical href=c>",
    "<script type=application/ld+json>",
    "<script type=application/ld+json>[1]</script>",
    "<script type=application/ld+json>\"\u{1}\"</script>",
    "{}",
    "<b",
    "/",
    "<span data-nosnippet>",
    "</span>",
    "<!--googleoff: all-->",
    "<!--googleon: all-->",
    "<li>",
    "<ul>",
    "</ul>",
    "<table>",
    "<td class=robots-nocontent>",
    "</table>",
    "<desc>",
    "<mi>",
    "<font color=red>",
    "<meta charset=utf-16>",
    "\u{1b}",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(SOUP), 0..80).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_bytes_give_a_page_within_the_limits(body in prop::collection::vec(any::<u8>(), 0..600), want_text: bool) {
        assert_within(&read_with(&body, None, &SMALL, want_text), &SMALL, body.len());
    }

    #[test]
    fn any_soup_gives_a_page_within_the_limits(html in soup(), want_text: bool) {
        assert_within(&read_with(html.as_bytes(), None, &SMALL, want_text), &SMALL, html.len());
        assert_within(&read(&html), &ExtractLimits::default(), html.len());
    }

    #[test]
    fn text_changes_nothing_else(html in soup()) {
        let with = read(&html);
        let without = read_with(html.as_bytes(), Some("text/html;charset=utf-8"), &ExtractLimits::default(), false);
        prop_assert_eq!(&with.links, &without.links);
        prop_assert_eq!(&with.metas, &without.metas);
        prop_assert_eq!(&with.title, &without.title);
        prop_assert_eq!(without.text, None);
    }

    #[test]
    fn a_meta_is_at_its_position(html in soup()) {
        for meta in read(&html).metas {
            // The tokenizer counts a CR LF as what it is: two bytes.
            let at = html.as_bytes().get(meta.position as usize..).unwrap_or_default();
            prop_assert!(at.starts_with(b"<meta"), "{} in {html:?}", meta.position);
        }
    }
}

/// A title without the marks of its CDATA sections, which a tree has as text.
fn without_marks(title: &str) -> String {
    let Some((before, section)) = title.split_once("<![CDATA[") else { return title.to_owned() };
    let (section, after) = section.split_once("]]>").unwrap_or((section, ""));
    before.to_owned() + section + &without_marks(after)
}

/// What a tree of the whole page, built by another tokenizer, has.
fn of_tree(html: &str) -> (Option<String>, Vec<(String, String)>) {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let tree = driver::parse_document(HtmlTreeSink::new(Html::new_document()), options).one(html);
    let all = |css: &str| -> Vec<ElementRef<'_>> {
        let selector = Selector::parse(css).unwrap();
        let found: Vec<_> = tree.select(&selector).collect();
        found
            .into_iter()
            .filter(|e| e.value().name.ns == html5ever::ns!(html))
            .filter(|e| !e.ancestors().filter_map(ElementRef::wrap).any(|a| a.value().name() == "template"))
            .collect()
    };
    let fold = |text: String| text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let title = all("title").first().map(|e| fold(without_marks(&e.text().collect::<String>())));
    let attr = |e: &ElementRef<'_>, name| e.attr(name).unwrap_or("-").to_owned();
    let metas = all("meta").iter().map(|e| (attr(e, "name"), attr(e, "content"))).collect();
    (title, metas)
}

/// Tags and references as html5ever's tokenizer and tree builder see them: pages without the elements for which a tree
/// builder needs more than the tags (tables, select, frames, plaintext and svg content that isn't closed).
#[test]
fn titles_and_metas_are_those_of_a_tree() {
    let without =
        ["<table>", "<plaintext>", "<svg>", "<math>", "<foreignObject>", "<desc>", "<mi>", "<iframe src=i>"];
    let parts: Vec<&str> = SOUP.iter().copied().filter(|p| !without.contains(p)).collect();
    let strategy = prop::collection::vec(prop::sample::select(parts), 0..40);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(1_500));
    runner
        .run(&strategy, |parts| {
            let html = parts.concat();
            let page = read(&html);
            let metas: Vec<_> = page
                .metas
                .iter()
                .map(|m| (m.name.clone().unwrap_or("-".into()), m.content.clone().unwrap_or("-".into())))
                .collect();
            let expected = of_tree(&html);
            prop_assert_eq!((page.title, metas), expected, "{:?}", html);
            Ok(())
        })
        .unwrap();
}

#[test]
fn each_limit_is_reported_when_it_cuts() {
    let long = "x".repeat(50);
    for (html, hit) in [
        (
            (0..6).fold(String::new(), |mut s, n| {
                write!(s, "<a href={n}>").unwrap();
                s
            }),
            LimitHit::Links,
        ),
        (format!("<a href={long}>"), LimitHit::Href),
        (format!("<base href={long}>"), LimitHit::Href),
        (format!("<title>{long}"), LimitHit::Title),
        (format!("<p>{long}"), LimitHit::Text),
        ("<meta name=a>".repeat(4), LimitHit::Metas),
        (format!("{}<meta name=a>", " ".repeat(400)), LimitHit::Metas),
        (format!("<meta content={long}>"), LimitHit::MetaValue),
        (format!("<script type=application/ld+json>{long}</script>"), LimitHit::JsonLdBlock),
        ("<script type=application/ld+json>[0,1,2]</script>".repeat(2), LimitHit::JsonLd),
    ] {
        let page = read_with(html.as_bytes(), None, &SMALL, hit == LimitHit::Text);
        assert_eq!(page.limits_hit, [hit], "{html}");
    }
    let cut = read_with(b"<a href=1>", None, &ExtractLimits { link_bytes: 19, ..SMALL }, false);
    assert_eq!((cut.links.len(), cut.limits_hit), (0, vec![LimitHit::LinkBytes]));
}

/// Pages that take a tree builder minutes or gigabytes. Quadratic time would keep this test from ending.
#[test]
fn hostile_pages_are_read_through() {
    let mut million = String::new();
    for n in 0..1_000_000 {
        write!(million, "<a href={n}>").unwrap();
    }
    let formatting: String = (0..20_000).map(|n| format!("<b {n}><i {n}>")).collect();
    let pages = [
        ("unclosed tags", "<div><span>".repeat(50_000)),
        ("nested lists", "<ul><li>".repeat(50_000)),
        ("end tags", "</p></b></template></svg>".repeat(80_000)),
        ("open formatting", format!("<p>{formatting}{}", "<p>x".repeat(50_000))),
        ("a huge attribute", format!("<a href='{}'>", "x".repeat(2_000_000))),
        ("many attributes", format!("<a {}>", "x=1 ".repeat(250_000))),
        ("one attribute, many times", format!("<meta {}>", "content=1 ".repeat(250_000))),
        ("a huge name", format!("<{}>", "x".repeat(2_000_000))),
        ("references", "&amp;&notanything;&#1;&#xfffffffffff;".repeat(50_000)),
        ("a reference without end", format!("<a href='&{}'>", "a".repeat(250_000))),
        ("digits without end", format!("&#{}", "9".repeat(250_000))),
        ("comments", "<!-- -- --!- <!-- ".repeat(50_000)),
        ("script escapes", format!("<script>{}", "<!--<script></script".repeat(80_000))),
        ("end tags in a title", format!("<title>{}", "</titl</title-".repeat(50_000))),
        ("svg in svg", "<svg><foreignObject><math><mi>".repeat(50_000)),
        ("templates", "<template>".repeat(250_000)),
        ("template and svg", "<template><svg></template>".repeat(80_000)),
        ("cdata", format!("<svg><![CDATA[{}", "]]".repeat(250_000))),
        ("omitted regions", "<div class=robots-nocontent><span data-nosnippet>x".repeat(50_000)),
        ("snippet ranges", "<span data-nosnippet>x</span>".repeat(50_000)),
        ("images", format!("<img srcset='{}'>", "x,".repeat(250_000))),
        ("lesser-than signs", "<".repeat(2_000_000)),
        ("nulls", "\0".repeat(2_000_000)),
        ("parts", "<nav><div role=main><table><td>".repeat(50_000)),
        ("ends of a part", format!("<nav>{}{}", "<div>".repeat(300), "</main></aside></li>".repeat(80_000))),
        ("a million links", million),
    ];
    let limits = ExtractLimits::default();
    for (name, html) in &pages {
        let page = read(html);
        assert_within(&page, &limits, html.len());
        match *name {
            "a million links" => {
                assert_eq!((page.links.len(), page.limits_hit), (10_000, vec![LimitHit::Links]));
            }
            "snippet ranges" => {
                assert_eq!((page.no_snippet.len(), page.no_snippet[999].end), (1_000, 50_000));
            }
            _ => {}
        }
    }
}

#[test]
fn a_long_base_doesnt_multiply() {
    let links: String = (0..10_000).map(|n| format!("<a href=?{n}>")).collect();
    let html = format!("<base href='/{}'>{links}", "x".repeat(8_000));
    let page = read(&html);
    assert_within(&page, &ExtractLimits::default(), html.len());
    assert!(page.links.len() < 1_100);
    assert_eq!(page.limits_hit, [LimitHit::LinkBytes]);
}

#[test]
fn links_of_headers_come_first_and_resolve_against_the_response() {
    let url = Url::parse("http://e.example/d/p.html").unwrap();
    let fields = [
        "<c>; rel=canonical, </x>; rel=\"next nofollow\"; hreflang=de; title=X".to_owned(),
        "<mailto:x>".into(),
    ];
    let page = extract(&ExtractInput {
        body: b"<base href=/b/><a href=1>",
        content_type: None,
        url: &url,
        link_headers: &fields,
        limits: &ExtractLimits::default(),
        want_text: false,
        want_styles: false,
    });
    let targets: Vec<_> = page.links.iter().map(|l| l.target.as_ref().unwrap().path()).collect();
    assert_eq!(targets, ["/d/c", "/x", "/b/1"]);
    assert_eq!(page.canonical.unwrap().path(), "/d/c");
    assert_eq!(
        (page.links[1].nofollow, page.links[1].hreflang.as_deref(), page.links[1].text.as_str()),
        (true, Some("de"), "X")
    );
    assert_eq!(page.other_schemes, 1);
}

#[test]
fn a_query_is_written_in_the_encoding_of_the_page() {
    let (body, _, _) = encoding_rs::KOI8_R.encode("<title>да</title><a href='/д?q=д'>да</a>");
    let page = read_with(&body, Some("text/html; charset=koi8-r"), &ExtractLimits::default(), false);
    assert_eq!(page.title.as_deref(), Some("да"));
    assert_eq!(page.links[0].target.as_ref().unwrap().as_str(), "http://e.example/%D0%B4?q=%C4");
}
