//! In which part of a page its links are: by the table in `data/link-positions.tsv`, and as a tree of the page has it.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where tests do")]

use std::fmt::Write;

use html5ever::driver::{self, ParseOpts};
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use page::extract::{ExtractInput, ExtractLimits, Position, extract};
use proptest::prelude::*;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};
use url::Url;

/// Each link's file name and position, `-` for none.
fn positions(html: &str) -> Vec<(String, &'static str)> {
    let url = Url::parse("http://e.example/").unwrap();
    let page = extract(&ExtractInput {
        body: html.as_bytes(),
        content_type: Some("text/html; charset=utf-8"),
        url: &url,
        link_headers: &[],
        limits: &ExtractLimits::default(),
        want_text: false,
        want_styles: false,
    });
    let name = |position: Option<Position>| position.map_or("-", Position::name);
    page.links.iter().map(|l| (l.target.as_ref().unwrap().path()[1..].to_owned(), name(l.position))).collect()
}

#[test]
fn the_table_of_positions_holds() {
    let table = include_str!("data/link-positions.tsv");
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    let mut wrong = Vec::new();
    for row in &rows {
        let [name, expected, html] = row.splitn(3, '\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let found: Vec<_> = positions(html).into_iter().map(|(_, position)| position).collect();
        if found.join(" ") != expected {
            wrong.push(format!("{name}: {found:?}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows.len() >= 50);
}

#[test]
fn hreflang_is_kept_with_its_link() {
    let url = Url::parse("http://e.example/").unwrap();
    let page = extract(&ExtractInput {
        body: b"<link rel=alternate hreflang=de-AT href=1><a hreflang=fr href=2></a><a href=3></a>",
        content_type: None,
        url: &url,
        link_headers: &["</4>; rel=alternate; hreflang=it".to_owned()],
        limits: &ExtractLimits::default(),
        want_text: false,
        want_styles: false,
    });
    let found: Vec<_> = page.links.iter().map(|l| (l.hreflang.as_deref(), l.position)).collect();
    let head = Some(Position::Head);
    assert_eq!(found, [(Some("it"), None), (Some("de-AT"), head), (Some("fr"), None), (None, None)]);
}

/// The same from a tree of the whole page, by the definitions of the standards.
fn of_tree(html: &str) -> Vec<(String, &'static str)> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    let tree = driver::parse_document(HtmlTreeSink::new(Html::new_document()), options).one(html);
    let images = Selector::parse("img").unwrap();
    let mut found: Vec<_> = tree
        .select(&images)
        .map(|image| (image.attr("src").unwrap().to_owned(), position_in_tree(image)))
        .collect();
    // Tables push what doesn't belong in them to the front of them: in order of the numbers, which is that of the text.
    found.sort_by_key(|(src, _)| src.parse::<usize>().unwrap());
    found
}

fn position_in_tree(of: ElementRef<'_>) -> &'static str {
    let mut around: Vec<_> = of.ancestors().filter_map(ElementRef::wrap).collect();
    around.reverse();
    let (mut position, mut sectioned) = ("-", false);
    for element in around {
        let name = match (element.attr("role"), element.value().name()) {
            (Some("navigation"), _) => "nav",
            (Some("main"), _) => "main",
            (Some("banner"), _) => "banner",
            (_, name) => name,
        };
        match name {
            "head" => position = "head",
            "nav" => position = "nav",
            "aside" => position = "aside",
            "main" => position = "content",
            "article" if position == "-" => position = "content",
            "banner" => position = "header",
            "header" if !sectioned => position = "header",
            "footer" if !sectioned => position = "footer",
            _ => {}
        }
        sectioned |= matches!(name, "nav" | "aside" | "main" | "article" | "section");
    }
    position
}

/// Tags that open and close parts in any order, and what bounds them.
const SOUP: &[&str] = &[
    "<nav>",
    "</nav>",
    "<main>",
    "</main>",
    "<header>",
    "</header>",
    "<footer>",
    "</footer>",
    "<aside>",
    "</aside>",
    "<article>",
    "</article>",
    "<section>",
    "</section>",
    "<div>",
    "</div>",
    "<div role=navigation>",
    "<div role=main>",
    "<ul role=navigation>",
    "<ul>",
    "</ul>",
    "<section role=banner>",
    "<p>",
    "</p>",
    "text",
    " ",
    "<table><tr><td>",
    "</table>",
    "<tr><td>",
    "</td></tr></table>",
    "<td>",
    "</td><td>",
    "<td role=navigation>",
    "<object>",
    "</object>",
    "<head>",
    "</head>",
    "<body>",
    "</body>",
    "</html>",
    "<title>t</title>",
    "<meta name=a>",
    "<br>",
    "<b>",
    "</b>",
    "<!-- <nav> -->",
    "<template><nav></template>",
    "<li>",
    "</li>",
    "<blockquote>",
    "</blockquote>",
];

#[test]
fn positions_are_those_of_a_tree() {
    let strategy = prop::collection::vec((prop::sample::select(SOUP), any::<bool>()), 0..40);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(3_000));
    runner
        .run(&strategy, |parts| {
            let mut html = String::new();
            for (n, (part, with_image)) in parts.iter().enumerate() {
                html.push_str(part);
                if *with_image {
                    write!(html, "<img src={n}>").unwrap();
                }
            }
            prop_assert_eq!(positions(&html), of_tree(&html), "{}", html);
            Ok(())
        })
        .unwrap();
}
