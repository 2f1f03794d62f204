//! What `extract` finds in a page, by the table in `data/extract-pages.jsonl` and by the shared page vectors.

#![allow(clippy::unwrap_used, clippy::format_collect, reason = "helpers of tests stop where tests do")]

use page::extract::{ExtractInput, ExtractLimits, Extracted, Link, extract};
use page::url::CrawlUrl;
use serde_json::Value;
use url::Url;

const PAGE: &str = "http://e.example/d/p.html";

fn read(html: &str, url: &Url, want_text: bool) -> Extracted {
    extract(&ExtractInput {
        body: html.as_bytes(),
        content_type: Some("text/html; charset=utf-8"),
        url,
        link_headers: &[],
        limits: &ExtractLimits::default(),
        want_text,
        want_styles: false,
    })
}

fn target(link: &Link) -> String {
    match &link.target {
        Ok(url) => url.to_string(),
        Err(raw) => format!("!{raw}"),
    }
}

fn shown(page: &Extracted, key: &str) -> Value {
    let strings = |all: Vec<String>| Value::from(all);
    let links = |f: &dyn Fn(&Link) -> String| strings(page.links.iter().map(f).collect());
    match key {
        "title" => page.title.clone().into(),
        "base" => page.base.to_string().into(),
        "language" => page.language.clone().into(),
        "canonical" => page.canonical.as_ref().map(ToString::to_string).into(),
        "repeated" => page.repeated.into(),
        "same_page" => page.same_page.into(),
        "other_schemes" => page.other_schemes.into(),
        "text" => page.text.clone().into(),
        "json_ld" => strings(page.json_ld.clone()),
        "links" => links(&|l| format!("{} {}", l.kind.name(), target(l))),
        "texts" => links(&|l| l.text.to_string()),
        "nofollow" => strings(page.links.iter().filter(|l| l.nofollow).map(target).collect()),
        "no_snippet" => {
            let text = page.text.as_deref().unwrap_or_default();
            strings(page.no_snippet.iter().map(|r| text[r.clone()].trim().to_owned()).collect())
        }
        "metas" => Value::Array(page.metas.iter().map(meta).collect()),
        other => panic!("the table has an unknown key {other}"),
    }
}

fn meta(tag: &meta::MetaTag) -> Value {
    let mut fields = serde_json::Map::new();
    for (name, value) in [
        ("name", &tag.name),
        ("http-equiv", &tag.http_equiv),
        ("property", &tag.property),
        ("content", &tag.content),
    ] {
        if let Some(value) = value {
            fields.insert(name.into(), value.clone().into());
        }
    }
    fields.insert("position".into(), tag.position.into());
    Value::Object(fields)
}

#[test]
fn the_table_of_pages_holds() {
    let table = include_str!("data/extract-pages.jsonl");
    let mut wrong = Vec::new();
    for line in table.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let page = read(case["html"].as_str().unwrap(), &Url::parse(PAGE).unwrap(), true);
        for (key, expected) in case["expect"].as_object().unwrap() {
            let mut found = shown(&page, key);
            for (found, expected) in
                found.as_array_mut().into_iter().flatten().zip(expected.as_array().into_iter().flatten())
            {
                if let (Value::Object(found), None) = (found, expected.get("position")) {
                    found.remove("position");
                }
            }
            if found != *expected {
                wrong.push(format!("{}: {key} is {found}, not {expected}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(table.lines().count() >= 97);
}

/// The vectors' links and canonical, and that each page gives the metas that have its directives: the decisions
/// themselves are the `meta` crate's to make.
#[test]
fn the_page_vectors_give_their_links() {
    let vectors = include_str!("../../../tests/data/vectors/meta/page-directives.jsonl");
    let mut pages = 0;
    for line in vectors.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (Some(html), id) = (case["html"].as_str(), case["id"].as_str().unwrap()) else { continue };
        pages += 1;
        let url = Url::parse(case["url"].as_str().unwrap_or(PAGE)).unwrap();
        let page = read(html, &url, false);
        let is_titled = html.contains("<title>t</title>");
        assert_eq!(page.title.as_deref(), is_titled.then_some("t"), "{id}");
        assert_eq!(page.text, None);
        let expected = &case["expect"];
        if let Some(canonical) = expected["canonical"].as_str() {
            assert_eq!(page.canonical.as_ref().map(CrawlUrl::as_str), Some(canonical), "{id}");
        }
        if let Some(links) = expected["links"].as_array().filter(|_| expected["follow"] != false) {
            let followed: Vec<_> =
                page.links.iter().filter(|l| !l.nofollow && l.is_navigational()).map(target).collect();
            assert_eq!(Value::from(followed), Value::Array(links.clone()), "{id}");
        }
        let robots = page.metas.iter().filter(|m| m.name.is_some() && m.content.is_some()).count();
        let without =
            ["M003", "M032", "M092", "M093", "M094", "M099", "M100", "M113", "M114", "M116", "M117"];
        let is_without =
            without.contains(&id) && id != "M116" || !html.to_ascii_lowercase().contains("<meta");
        assert_eq!(robots == 0, is_without, "{id}: {:?}", page.metas);
    }
    assert!(pages >= 50, "{pages} vectors with a page");
}
