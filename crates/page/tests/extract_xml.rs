//! XHTML and other XML: what an XML parser makes of a page counts, beside what an HTML parser does.

#![allow(clippy::unwrap_used, clippy::format_collect, reason = "helpers of tests stop where tests do")]

use std::fmt::Write;

use jiff::Timestamp;
use meta::{Agent, Dialect, Directives};
use page::extract::{Document, ExtractInput, ExtractLimits, Extracted, Readings, read};
use proptest::prelude::*;
use url::Url;

const XHTML: &str = "application/xhtml+xml";
const NS: &str = "http://www.w3.org/1999/xhtml";

fn readings(content_type: &str, body: &str) -> Readings {
    readings_within(content_type, body, &ExtractLimits::default())
}

fn readings_within(content_type: &str, body: &str, limits: &ExtractLimits) -> Readings {
    readings_of(&document(content_type, body), body, limits)
}

fn document(content_type: &str, body: &str) -> Document {
    Document::of([("content-type", content_type.as_bytes())].into_iter(), body.as_bytes())
}

fn readings_of(document: &Document, body: &str, limits: &ExtractLimits) -> Readings {
    let input = ExtractInput {
        body: body.as_bytes(),
        content_type: document.content_type.as_deref(),
        url: &Url::parse("http://e.example/d/p.html").unwrap(),
        link_headers: &[],
        limits,
        want_text: true,
        want_styles: false,
    };
    read(&input, document, &agent())
}

fn agent() -> Agent {
    Agent::new("examplebot")
}

fn page(content_type: &str, body: &str) -> Extracted {
    readings(content_type, body).page.unwrap()
}

fn directives(content_type: &str, body: &str) -> Directives {
    readings(content_type, body).resolve(&[], &agent(), Dialect::Strict, Timestamp::UNIX_EPOCH, false)
}

/// Index, archive and follow are all forbidden, or none is.
fn is_closed(content_type: &str, body: &str) -> bool {
    let d = directives(content_type, body);
    assert!(d.index == d.archive && d.archive == d.follow, "{content_type} {body}: {d:?}");
    !d.index
}

/// A page whose head is `head`, with a doctype.
fn xhtml(subset: &str, head: &str) -> String {
    format!("<!DOCTYPE html [{subset}]><html xmlns='{NS}'><head>{head}</head><body><p>x</p></body></html>")
}

#[test]
fn empty_elements_swallow_nothing() {
    let meta = "<meta name='robots' content='none, noarchive'/>";
    for empty in ["script", "style", "title", "textarea", "iframe", "xmp", "noframes", "noembed", "plaintext"]
    {
        for tag in
            [format!("<{empty}/>"), format!("<{empty} class='x' />"), format!("<h:{empty} xmlns:h='{NS}'/>")]
        {
            let body = xhtml("", &format!("{tag}{meta}"));
            for content_type in
                [XHTML, "application/xml", "text/xml; charset=utf-8", "application/x+xml", "image/svg+xml"]
            {
                assert!(is_closed(content_type, &body), "{content_type} {tag}");
            }
            assert!(is_closed("text/html", &format!("<?xml version='1.0'?>{body}")), "{tag}");
        }
        let html_alone = xhtml("", &format!("<{empty}/>{meta}"));
        assert!(
            is_closed("text/html", &html_alone),
            "{empty}: in HTML this is text, but who wrote it didn't mean it"
        );
        let closed = html_alone.replace("/><meta", &format!("></{empty}><meta"));
        assert!(is_closed("text/html", &closed) || empty == "plaintext", "{empty}");
        let text = format!("<html><head><{empty}>{meta}</{empty}></head></html>");
        assert!(!is_closed("text/html", &text), "{empty}: this is text");
    }
}

#[test]
fn tags_are_never_a_title() {
    let head = "<title/><meta name='robots' content='nofollow'/><meta name='description' content='SECRET'/>";
    let ld = "<script type='application/ld+json'/><meta name='x' content='SECRET'/><title>T</title>";
    for (content_type, declaration) in
        [(XHTML, ""), ("text/html", "<?xml version='1.0'?>"), ("text/html", "")]
    {
        let page_of = |head: &str| page(content_type, &format!("{declaration}{}", xhtml("", head)));
        assert_eq!(page_of(head).title.as_deref(), Some(""), "{content_type} {declaration}");
        assert_eq!(page_of(ld).title.as_deref(), Some("T"), "{content_type} {declaration}");
        assert_eq!(page_of(ld).json_ld, [""; 0], "{content_type} {declaration}");
    }
    for (head, title) in [
        ("<title>a <![CDATA[<b> & c]]> d</title>", "a <b> & c d"),
        ("<title>a<b>c</b>d</title>", "ad"),
        ("<h:title xmlns:h='http://www.w3.org/1999/xhtml'>a</h:title>", "a"),
        ("<title>&eacute;&t;&#33;</title>", "étitle!"),
        ("<svg xmlns='http://www.w3.org/2000/svg'><title>no</title></svg><title>a</title>", "a"),
        ("<title><!-- <meta name='robots'/> -->a</title>", "a"),
    ] {
        let page = page(XHTML, &xhtml("<!ENTITY t 'title'>", head));
        assert_eq!(page.title.as_deref(), Some(title), "{head}");
    }
}

#[test]
fn names_are_distinguished_by_their_namespace() {
    let tag = |name: &str| format!("<{name} name='robots' content='none, noarchive'/>");
    for (body, expected) in [
        (format!("<h:html xmlns:h='{NS}'><h:head>{}</h:head></h:html>", tag("h:meta")), true),
        (
            format!(
                "<svg xmlns='http://www.w3.org/2000/svg' xmlns:h='{NS}'><metadata>{}</metadata></svg>",
                tag("h:meta")
            ),
            true,
        ),
        (
            format!(
                "<rss><channel><x:meta xmlns:x='{NS}' name='robots' content='none, noarchive'/></channel></rss>"
            ),
            true,
        ),
        (format!("<feed xmlns='http://www.w3.org/2005/Atom' xmlns:x='{NS}'>{}</feed>", tag("x:meta")), true),
        (
            format!("<d xmlns='urn:d'><x:y xmlns:x='{NS}'/><x:y xmlns:x='urn:e'>{}</x:y></d>", tag("x:meta")),
            false,
        ),
        (format!("<d xmlns:x='urn:d'>{}</d>", tag("x:meta")), false),
        (format!("<d xmlns:x='&n;'>{}</d>", tag("x:meta")), true),
        (format!("<html>{}</html>", tag("h:meta")), true),
        (format!("<html><head><script/>{}</head></html>", tag("meta")), true),
        (format!("<d><script/>{}</d>", tag("meta")), true),
        (format!("<html xmlns='http://www.w3.org/TR/REC-html40'><style/>{}</html>", tag("meta")), true),
        (format!("<HTML><SCRIPT/>{}</HTML>", tag("META")), true),
    ] {
        assert_eq!(is_closed("application/xml", &body), expected, "{body}");
    }
}

#[test]
fn what_xml_has_no_elements_in_says_nothing() {
    let meta = "<h:meta name='robots' content='none, noarchive'/>";
    for body in [
        format!("<![CDATA[{meta}]]>"),
        format!("<!-- {meta} -->"),
        format!("<?x {meta} ?>"),
        format!("<template>{meta}</template>"),
        format!("<h:template>{meta}</h:template>"),
        meta.replace('<', "&lt;"),
        "<h:meta property='robots' content='none, noarchive'/>".to_owned(),
        "<h:meta name='otherbot' content='none, noarchive'/>".to_owned(),
    ] {
        let body = format!("<html xmlns='{NS}' xmlns:h='{NS}'><head>{body}</head></html>");
        assert!(!is_closed(XHTML, &body), "{body}");
    }
    assert!(!is_closed(XHTML, &xhtml(&format!("<!ENTITY unused \"{meta}\">"), "")));
}

#[test]
fn entities_are_used_within_bounds() {
    let robots = |content: &str| format!("<meta name='robots' content='{content}'/>");
    for (subset, head) in [
        ("<!ENTITY r 'none, noarchive'>", robots("&r;")),
        ("<!ENTITY r 'none'><!ENTITY s '&r;, noarchive'>", robots("&s;")),
        ("<!ENTITY n 'robots'>", "<meta name='&n;' content='none, noarchive'/>".to_owned()),
        ("<!ENTITY m \"<meta name='robots' content='none, noarchive'/>\">", "&m;".to_owned()),
        ("<!ENTITY m \"&#60;meta name='robots' content='none, noarchive'/>\">", "&m;".to_owned()),
        (
            "<!ENTITY m \"<meta name='robots' content='none, noarchive'/>\"><!ENTITY k '&m;'>",
            "<title/>&k;".to_owned(),
        ),
        ("<!ATTLIST meta content CDATA 'none, noarchive'>", "<meta name='robots'/>".to_owned()),
        (
            "<!ATTLIST x xmlns CDATA #FIXED 'http://www.w3.org/1999/xhtml'>",
            format!("<x/>{}", robots("none, noarchive")),
        ),
        // None of these can be known here.
        ("<!ENTITY r SYSTEM 'http://e.example/r'>", robots("&r;")),
        ("", robots("index, &undeclared;")),
        ("", "<meta name='&undeclared;' content='none, noarchive'/>".to_owned()),
        ("", "<meta name='&undeclared;' content='&undeclared;'/>".to_owned()),
        ("<!ENTITY r '&r;'>", robots("&r;")),
    ] {
        let body = xhtml(subset, &head);
        assert!(is_closed(XHTML, &body), "{body}");
    }
    let untold = directives(XHTML, &xhtml("", &robots("index, &undeclared;")));
    assert!(untold.warnings.iter().any(|w| w.message.contains("could not be read")), "{:?}", untold.warnings);
    for (subset, head) in [
        ("<!ENTITY r 'index'>", robots("&r;")),
        ("", robots("&#105;ndex&nbsp;")),
        ("", "<meta name='description' content='&undeclared;'/>&undeclared;".to_owned()),
        ("<!ENTITY m \"&lt;meta name='robots' content='none, noarchive'/>\">", "&m;".to_owned()),
        ("<!ATTLIST meta content CDATA 'none, noarchive'>", "<meta name='robots' content='all'/>".to_owned()),
    ] {
        let body = xhtml(subset, &head);
        assert!(!is_closed(XHTML, &body), "{body}");
    }
}

/// `&b15;` stands for a quadrillion laughs.
fn laughs(last: &str) -> String {
    (1..16).fold(format!("<!ENTITY b0 '{last}'>"), |mut subset, n| {
        write!(subset, "<!ENTITY b{n} '{}'>", format!("&b{};", n - 1).repeat(10)).unwrap();
        subset
    })
}

#[test]
fn a_billion_laughs_close_the_page() {
    for (last, head) in
        [("ha", "<meta name='robots' content='&b15;'/>"), ("<p/>", "&b15;"), ("ha", "&b15;"), ("", "&b15;")]
    {
        assert!(is_closed(XHTML, &xhtml(&laughs(last), head)), "{last} {head}");
    }
    assert!(!is_closed(XHTML, &xhtml(&laughs("ha"), "&b3;")), "a thousand are fine");
    assert!(
        is_closed(XHTML, &xhtml(&"<!ATTLIST a b CDATA 'c'>".repeat(2_000), "")),
        "declarations without end"
    );
}

#[test]
fn a_page_that_isnt_well_formed_is_read_on() {
    let meta = "<meta name='robots' content='none, noarchive'/>";
    for before in [
        "<br>",
        "</p>",
        "</b></html>",
        "a < b & c",
        "&nbsp;",
        "<!foo>",
        "<![if IE]>",
        "<p a=b c>",
        "<p a='1' a='2'/>",
        "<!-- -- -->",
        "<a:b:c/>",
        "<!DOCTYPE html>",
        "<p <q>",
        "]]>",
        "<1>",
        "<?php",
        "<![CDATA[",
        "<!--",
        "<x y=z\">",
    ] {
        let body = xhtml("", &format!("<script/>{before}{meta}"));
        assert!(is_closed(XHTML, &body), "{body}");
    }
}

#[test]
fn links_of_both_readings_count_and_the_stricter_rel_holds() {
    let body = "<!DOCTYPE html [<!ENTITY nf 'nofollow'>]>\
        <html xmlns='http://www.w3.org/1999/xhtml' xmlns:h='http://www.w3.org/1999/xhtml'><head><title/><base href='/b/'/>\
        </head><body><a href='1'>one</a><h:a href='2' rel='nofollow'>two</h:a><a href='3' rel='&nf;'>x</a>\
        <h:link rel='next' href='4'/><a href='5'/><a href='6' rel='nofollow'/><a href='6'/>\
        <a href='7' rel='&undeclared;'/></body></html>";
    let page = page(XHTML, body);
    let mut links: Vec<_> =
        page.links.iter().map(|l| (l.target.as_ref().unwrap().path(), l.nofollow, l.text.as_str())).collect();
    links.sort_unstable();
    links.dedup();
    assert_eq!(
        links,
        [
            ("/b/1", false, "one"),
            ("/b/2", true, "two"),
            ("/b/3", true, "x"),
            ("/b/4", false, ""),
            ("/b/5", false, ""),
            ("/b/6", false, ""),
            ("/b/6", true, ""),
            ("/b/7", true, "")
        ]
    );
}

#[test]
fn tags_in_scripts_that_arent_escaped_are_no_links() {
    let body = xhtml("", "<script>w('<a href=\"' + x + '\">' + (1<2) + '</a>')</script>")
        .replace("<p>", "<p><a href='y'/>");
    for content_type in ["text/html", XHTML] {
        let page = page(content_type, &format!("<?xml version='1.0'?>{body}"));
        let paths: Vec<_> = page.links.iter().map(|link| link.target.as_ref().unwrap().path()).collect();
        assert_eq!(paths, ["/d/y"], "{content_type}");
    }
}

#[test]
fn what_both_readings_have_is_listed_once() {
    let d = directives(XHTML, &xhtml("", "<meta name='robots' content='noindex'/>"));
    assert_eq!(d.because.len(), 1, "{:?}", d.because);
}

/// Documents that make a careless reader slow. Quadratic time would keep this test from ending.
#[test]
fn hostile_documents_are_read_through() {
    let nested: String = (0..50_000).map(|n| format!("<a xmlns:p{n}='u'>")).collect();
    let entity = format!("<!DOCTYPE a [<!ENTITY e '{}'>]><a>", "x".repeat(50_000));
    for (name, body) in [
        ("unclosed comments", "<!--".repeat(500_000)),
        ("unclosed sections", "<![CDATA[".repeat(200_000)),
        ("unclosed instructions", "<?x ".repeat(500_000)),
        ("unclosed types", "<!DOCTYPE a [".repeat(150_000)),
        ("unclosed types in quotes", "<!DOCTYPE a '".repeat(150_000)),
        ("unclosed tags", "<a ".repeat(500_000)),
        ("unclosed quotes", "<a b=\"<a c='".repeat(150_000)),
        ("quotes in quotes", format!("{}y='", "<a x=\"<a \" ".repeat(150_000))),
        ("ampersands", "&a".repeat(800_000)),
        ("long references", format!("&{};", "a".repeat(1_000_000)).repeat(2)),
        ("nested elements", "<a>".repeat(500_000)),
        ("nested namespaces", nested),
        ("attributes", format!("<meta {}/>", "content='1' ".repeat(100_000))),
        ("an entity many times", format!("{entity}{}", "&e;".repeat(300_000))),
        (
            "defaults",
            format!("<!DOCTYPE a [{}]>{}", "<!ATTLIST a b CDATA 'c'>".repeat(900), "<a/>".repeat(300_000)),
        ),
        ("percent signs", format!("<!DOCTYPE a [<!ENTITY b '{}'>]><a/>", "%a".repeat(500_000))),
        ("parameters", format!("<!DOCTYPE a [<!ENTITY % p '&#37;p;&#37;p;'>{}]><a/>", "%p;".repeat(100_000))),
    ] {
        readings("application/xml", &body);
        eprintln!("{name}: read");
    }
}

/// Pieces that documents are made of, well-formed or not.
const SOUP: &[&str] = &[
    "<?xml version='1.0'?>",
    "<!DOCTYPE html [",
    "<!ENTITY e '",
    "<!ENTITY % p \"",
    "<!ATTLIST a b CDATA '",
    "'>",
    "\">",
    "]>",
    "%p;",
    "&e;",
    "&#60;",
    "&#x",
    "&amp;",
    "&",
    "<html xmlns='http://www.w3.org/1999/xhtml'>",
    "<h:a xmlns:h='http://www.w3.org/1999/xhtml' href='x'>",
    "</h:a>",
    "<a href='y'/>",
    "<meta name='robots' content='&e;'/>",
    "<meta name='a",
    "<title>",
    "</title>",
    "<title/>",
    "<script/>",
    "<script type='application/ld+json'>",
    "</script>",
    "<svg xmlns='http://www.w3.org/2000/svg'>",
    "</svg>",
    "<template>",
    "</template>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?x",
    "?>",
    "<",
    ">",
    "/>",
    "'",
    "\"",
    "=",
    "é",
    "日本",
    "\0",
    " ",
    "text",
    "<base href='/b/'/>",
    "</",
    "<!",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_document_is_read_within_the_limits(parts in prop::collection::vec(prop::sample::select(SOUP), 0..60)) {
        let limits = ExtractLimits {
            links: 3,
            href_bytes: 20,
            anchor_bytes: 10,
            title_bytes: 10,
            metas: 2,
            meta_value_bytes: 20,
            json_ld_bytes: 20,
            ..ExtractLimits::default()
        };
        let body = parts.concat();
        for content_type in [XHTML, "text/xml", "text/html"] {
            let readings = readings_within(content_type, &body, &limits);
            // Those of another text hold what HTML and XML find in it.
            for other in &readings.others {
                prop_assert!(other.metas.len() <= 2 * limits.metas, "{}", body);
            }
            if let Some(page) = &readings.page {
                prop_assert!(page.metas.len() <= limits.metas, "{}", body);
                prop_assert!(page.links.len() <= limits.links, "{}", body);
                prop_assert!(page.title.as_ref().is_none_or(|title| title.len() <= limits.title_bytes), "{}", body);
            }
            // A document that is read twice forbids no less than one that is read as HTML alone.
            let mut html = document("text/html", &body);
            html.xml = false;
            let html = readings_of(&html, &body, &limits);
            let at = Timestamp::UNIX_EPOCH;
            let resolve = |readings: &Readings| readings.resolve(&[], &agent(), Dialect::Strict, at, false);
            if !body.contains("<![CDATA[") && readings.page.is_some() {
                prop_assert!(resolve(&readings).permits_no_more_than(&resolve(&html)), "{}", body);
            }
        }
    }
}
