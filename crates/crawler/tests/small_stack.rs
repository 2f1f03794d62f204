//! No input decides how deep the stack grows: each parser of foreign bytes reads nested and repeated input in a thread with a small stack.
//!
//! A stack that overflows ends this process, so a parser that calls itself for each level fails the whole file. Sizes: a call takes some
//! 50 bytes of stack at least, so that 100,000 of them exceed it twenty times.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where tests do")]

use std::thread;

use crawler::config::Settings;
use crawler::scope::{PATTERN_BYTES, compile_regex};
use crawler::tables::filter::Filter;
use crawler::view::Table;
use meta::consent::AiTxt;
use meta::consent::tdm::TdmFile;
use meta::{Agent, Dialect, MetaTag, Sources, resolve};
use page::extract::{
    Document, ExtractInput, ExtractLimits, HowMany, Readings, SelectError, SelectLimits, SelectRule, Take,
    other_main_text, read, select, style_sheet,
};
use page::sitemap::{Fault, Sitemap, SitemapLimits};
use page::url::CrawlUrl;
use url::Url;

/// Bytes of stack. Threads of the program have 2 MiB.
const STACK: usize = 256 * 1024;

/// Bytes of stack for selectors, which users write and no site does: matching takes up to a kilobyte for each of 512 compounds in a build
/// without optimisation.
const SELECTOR_STACK: usize = 1024 * 1024;

/// How often a test repeats a fragment: far past every limit.
const MANY: usize = 100_000;

/// Calls something in a thread with a small stack.
fn in_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    in_stack(STACK, work)
}

fn in_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        thread::Builder::new().stack_size(bytes).spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

fn url() -> Url {
    Url::parse("http://e.example/d/p.html").unwrap()
}

/// Reads a response as a crawl with `--index` does.
fn read_as(content_type: &str, body: &[u8]) -> Readings {
    let document = Document::of([("content-type", content_type.as_bytes())].into_iter(), body);
    let input = ExtractInput {
        body,
        content_type: document.content_type.as_deref(),
        url: &url(),
        link_headers: &[],
        limits: &ExtractLimits::default(),
        want_text: true,
        want_styles: true,
    };
    let readings = read(&input, &document, &Agent::new("examplebot"));
    drop(other_main_text(&input, &document));
    readings
}

/// What leads to each state of the tokenizer, and what keeps it there or brings it back.
const STATES: [(&str, &[&str]); 31] = [
    // Text, and what looks like the beginning of something else.
    (
        "",
        &[
            "<",
            "</",
            "<!",
            "<?",
            "&",
            "&#",
            "&#x",
            "&amp",
            "&#0;",
            "&#x110000;",
            "\0",
            "\r",
            "\r\n",
            "]]>",
            ">",
            "a<",
            "<>",
            "</>",
        ],
    ),
    // Attributes: the first one of these lines calls itself in html5gum 0.9.
    (
        "<p",
        &[
            " a=\"\"",
            " a=\"\"b=\"\"",
            " a=\"x\"\n",
            " a=\"&amp;\"",
            " a=\"&\"",
            " a=\"\0\"",
            " a=\"\r\"",
            "\"",
            " \"\"",
        ],
    ),
    (
        "<p",
        &[
            " a=''",
            " a='&lt;'",
            " a=b",
            " a=&quot",
            " a",
            " a = \"\"",
            " =",
            "=",
            "/",
            " / ",
            " /a=\"\"",
            "\0",
            "<",
            "'",
        ],
    ),
    ("<p a=\"", &["&", "&amp;", "\"a=\"", "\" \"", "\0", "<", ">"]),
    ("<p a='", &["&", "&#", "' a='"]),
    ("<p a=", &["&", "&amp", "=", "\"", "\0", " a="]),
    ("</p", &[" a=\"\"", " a=''", "/", " a=b", "="]),
    // Tags.
    ("", &["<p>", "</p>", "<p/>", "<p a=\"\">", "<a href=x>", "</ p>", "<p<", "<\0>", "<a\0>"]),
    ("<meta name=robots", &[" a=\"\"", " content=\"\"", " content=\"noindex\""]),
    ("<a href=x", &[" href=\"y\"", " rel=\"nofollow\"", " a=\"\""]),
    // Comments and what is taken for one.
    (
        "",
        &[
            "<!-->",
            "<!--->",
            "<!---->",
            "<!-- -->",
            "<!x>",
            "<?x>",
            "</1>",
            "<![CDATA[x]]>",
            "<!DOCTYPE>",
            "<!doctype html>",
        ],
    ),
    ("<!--", &["-", "<", "<!", "<!-", "<!--", "--!", "-a", "\0", "!", "<!--<", "--!-"]),
    ("<!a", &["!", "<", "\0", "-"]),
    ("<?", &["?", "<?", "\0"]),
    // The document type.
    ("<!doctype", &[" ", "\0", "a", "\""]),
    ("<!doctype a ", &["public ", " ", "a", "PUBLIC\""]),
    ("<!doctype a public", &["\"\"", "\"", " ", "'"]),
    ("<!doctype a public \"", &["\0", "\" \"", "a"]),
    ("<!doctype a system", &["\"\"", "'", " '"]),
    ("<!doctype a system \"\"", &["a", " ", "\"", "\0"]),
    // Raw text.
    ("<title>", &["<", "</", "</t", "</title ", "</title a=\"\"", "&amp;", "&", "\0", "<title>"]),
    (
        "<style>",
        &["<", "</", "</s", "</style ", "\0", "<style>", "{", "a{b:url(", "@import \"", "/*", "@media{"],
    ),
    (
        "<script>",
        &[
            "<",
            "</",
            "<!",
            "<!-",
            "<!--",
            "<!--<script>",
            "<!--<script></script>",
            "-",
            "--",
            "</script ",
            "\0",
        ],
    ),
    ("<script><!--", &["-", "<", "--", "</", "</s", "<script", "<script>", "</script ", "\0", "<!--"]),
    ("<script><!--<script>", &["-", "<", "--", "</", "</script>", "<script>", "\0", "-<"]),
    ("<script type=application/ld+json>", &["[", "{\"a\":", "[{\"@graph\":", "\"", "\\"]),
    ("<plaintext>", &["<", "\0", "&"]),
    // Foreign content.
    (
        "<svg>",
        &[
            "<![CDATA[",
            "<![CDATA[]]>",
            "]]",
            "<g>",
            "<foreignObject>",
            "<desc><svg>",
            "<title>",
            "<script/>",
            "<style>",
        ],
    ),
    ("<svg><![CDATA[", &["]", "]]", "\0", "<", "]]><![CDATA["]),
    ("<math>", &["<mi>", "<annotation-xml encoding=text/html>", "<mtext><svg>", "<mglyph>", "</math>"]),
    // Elements within each other.
    (
        "",
        &[
            "<div>",
            "<b>",
            "<b><p>",
            "<a>",
            "<table>",
            "<table><tr><td>",
            "<template>",
            "<svg>",
            "<math>",
            "<select>",
            "<ul><li>",
            "<font color=x>",
            "<nobr>",
            "<noscript>",
            "<object>",
            "<button>",
            "<form>",
            "<frameset>",
            "<dl><dt>",
            "<ruby><rt>",
            "<noindex>",
            "</b>",
            "<i></b>",
            "<html>",
            "<body>",
            "<main>",
        ],
    ),
];

#[test]
fn no_state_of_the_tokenizer_takes_stack_for_each_repetition() {
    in_small_stack(|| {
        for (before, parts) in STATES {
            for part in parts {
                let body = [before, &part.repeat(MANY)].concat();
                drop(read_as("text/html", body.as_bytes()));
            }
        }
    });
}

#[test]
fn every_way_to_read_a_document_takes_as_little_stack() {
    // The smallest input that ended the program: 33 KB.
    let tag = format!("<p{}>", " a=\"\"".repeat(6_600));
    let html = format!("<html><head><meta name=robots content=noindex></head><body>{tag}<a href=next>x</a>");
    let xhtml = format!("<html xmlns='http://www.w3.org/1999/xhtml'><body>{tag}</p></body></html>");
    let described =
        |text: &str| format!("<rss><channel><item><description>{text}</description></item></channel></rss>");
    let cases = [
        ("text/html", html.clone()),
        ("text/html; charset=utf-16le", html.clone()),
        ("", html.clone()),
        ("application/xhtml+xml", xhtml.clone()),
        ("application/xml", xhtml),
        ("image/svg+xml", format!("<svg xmlns='http://www.w3.org/2000/svg'>{tag}</svg>")),
        ("application/rss+xml", format!("<rss><channel>{tag}</channel></rss>")),
        ("application/rss+xml", described(&format!("<![CDATA[{html}]]>"))),
        ("application/rss+xml", described(&html.replace('&', "&amp;").replace('<', "&lt;"))),
        (
            "application/atom+xml",
            format!("<feed><entry><content type='html'><![CDATA[{html}]]></content></entry></feed>"),
        ),
        ("text/plain", html.clone()),
        ("text/css", format!("{tag}{{}}")),
    ];
    for (content_type, body) in &cases {
        in_small_stack(|| drop(read_as(content_type, body.as_bytes())));
    }
    // What follows the tag is read, and the directive before it holds.
    let page = in_small_stack(|| read_as("text/html", html.as_bytes()).page.unwrap());
    assert_eq!(page.links.len(), 1);
    assert_eq!(page.metas.len(), 1);
}

#[test]
fn an_attribute_counts_wherever_it_is_in_a_tag_and_the_first_of_two_equal_ones() {
    let many = " a=\"\"".repeat(MANY);
    let html = format!(
        "<meta{many} name=\"robots\"{many} content=\"noindex\"{many} content=\"all\">\
         <a{many} href=\"first\"{many} href=\"second\" rel=\"nofollow\"{many} rel=\"\">x</a>"
    );
    let readings = in_small_stack(|| read_as("text/html", html.as_bytes()));
    assert!(readings.unread.is_empty());
    let page = readings.page.unwrap();
    assert_eq!(
        (page.metas[0].name.as_deref(), page.metas[0].content.as_deref()),
        (Some("robots"), Some("noindex"))
    );
    assert_eq!(page.links[0].target.as_ref().unwrap().as_str(), "http://e.example/d/first");
    assert_eq!(page.links[0].rel.as_str(), "nofollow");
}

#[test]
fn xml_is_read_with_any_nesting_of_elements_names_and_entities() {
    let repeated = |before: &str, part: &str, after: &str| [before, &part.repeat(MANY), after].concat();
    let entities = |levels: usize| {
        let declaration = |n| format!("<!ENTITY e{n} \"&e{};\">", n + 1);
        let declared = (0..levels).map(declaration).collect::<Vec<_>>().concat();
        format!(
            "<!DOCTYPE html [{declared}<!ENTITY e{levels} \"x\">]><html xmlns='http://www.w3.org/1999/xhtml'><p>&e0;</p></html>"
        )
    };
    let cases = [
        repeated("<html>", "<p>", ""),
        repeated("<html>", "<p xmlns='a'>", ""),
        repeated("<html>", "<a:p xmlns:a='a'>", ""),
        repeated("<html", " a=\"\"", ">"),
        repeated("<html", " xmlns:a=\"\"", ">"),
        repeated("<html>", "<![CDATA[", ""),
        repeated("<html>", "<!--", ""),
        repeated("<html>", "<?x ", ""),
        repeated("<html>", "&#60;", ""),
        repeated("<!DOCTYPE html [", "<!ENTITY a '", ""),
        repeated("<!DOCTYPE html [", "<!ELEMENT a (", ""),
        repeated("<!DOCTYPE html [", "<![IGNORE[", ""),
        repeated("<!DOCTYPE html [<!ENTITY a '&a;'>]><html>", "&a;", "</html>"),
        // 16 references within each other are followed.
        entities(15),
        entities(1_000),
    ];
    for body in &cases {
        for content_type in ["application/xhtml+xml", "application/rss+xml", "image/svg+xml"] {
            in_small_stack(|| drop(read_as(content_type, body.as_bytes())));
        }
    }
}

#[test]
fn feeds_are_read_with_any_nesting() {
    let text = |levels: usize| {
        let body = ["<rss><channel><item><description>", &"<b>".repeat(levels), "word"].concat();
        in_small_stack(move || {
            let document =
                Document::of([("content-type", &b"application/rss+xml"[..])].into_iter(), body.as_bytes());
            let input = ExtractInput {
                body: body.as_bytes(),
                content_type: document.content_type.as_deref(),
                url: &url(),
                link_headers: &[],
                limits: &ExtractLimits::default(),
                want_text: true,
                want_styles: false,
            };
            other_main_text(&input, &document).map(|(main, _)| main.text)
        })
    };
    assert_eq!(text(10), Some("word".to_owned()));
    drop(text(MANY));
}

#[test]
fn style_sheets_are_read_down_to_75_blocks() {
    let links = |open: &str, close: &str, levels: usize| {
        let css = format!(
            "{}p{{background:url(deep)}}{}q{{background:url(after)}}",
            open.repeat(levels),
            close.repeat(levels)
        );
        in_small_stack(move || {
            let input = ExtractInput {
                body: css.as_bytes(),
                content_type: Some("text/css"),
                url: &url(),
                link_headers: &[],
                limits: &ExtractLimits::default(),
                want_text: false,
                want_styles: true,
            };
            let (links, _) = style_sheet(&input);
            links.iter().map(|link| link.target.as_ref().unwrap().path().to_owned()).collect::<Vec<_>>()
        })
    };
    assert_eq!(links("@media{", "}", 74), ["/d/deep", "/d/after"]);
    for (open, close) in [("@media{", "}"), ("{", "}"), ("a(", ")"), ("image-set(", ")")] {
        let found = links(open, close, MANY);
        assert_eq!(found.last().map(String::as_str), Some("/d/after"), "what follows is read: {open}");
    }
    for open in ["[", "(", "url(a", "\"", "/*", "@import ", "\\"] {
        drop(links(open, "", MANY));
    }
}

#[test]
fn json_of_a_page_and_of_tdmrep_is_read_with_any_nesting() {
    // Blocks of JSON-LD are stored as text, if they are JSON.
    let blocks = |levels: usize| {
        let json = ["[".repeat(levels), "]".repeat(levels)].concat();
        let html = format!("<script type=\"application/ld+json\">{json}</script>");
        let page = in_small_stack(|| read_as("text/html", html.as_bytes()).page.unwrap());
        (page.json_ld.len(), page.bad_json_ld)
    };
    assert_eq!(blocks(100), (1, 0));
    assert_eq!(blocks(60_000), (1, 0));
    for part in ["[", "{\"a\":", "[{\"a\":["] {
        let html = format!("<script type=\"application/ld+json\">{}", part.repeat(10_000));
        assert!(in_small_stack(|| read_as("text/html", html.as_bytes()).page.unwrap()).json_ld.is_empty());
    }
    // What is no entry is passed over, however deep it is: the entry beside it counts.
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for levels in [100, 50_000] {
            let deep = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            let file = format!("[{deep},{{\"location\":\"/\",\"tdm-reservation\":1,\"x\":{deep}}}]");
            let read = in_small_stack(|| TdmFile::parse(file.as_bytes()));
            assert_eq!(read.lookup("/p").and_then(|entry| entry.reservation), Some(1), "{open} {levels}");
        }
    }
}

#[test]
fn sitemaps_are_read_down_to_32_elements() {
    let read = |text: String| -> Sitemap {
        in_small_stack(move || page::sitemap::read(text.as_bytes(), false, &url(), &SitemapLimits::default()))
    };
    let nested = |levels: usize| {
        let (open, close) = ("<x>".repeat(levels), "</x>".repeat(levels));
        format!(
            "<urlset><url><loc>http://e.example/a</loc>{open}{close}</url><url><loc>http://e.example/b</loc></url></urlset>"
        )
    };
    let found = read(nested(30));
    assert_eq!((found.urls.len(), found.fault), (2, None));
    let found = read(nested(MANY));
    assert_eq!((found.urls.len(), found.fault), (0, Some(Fault::Elements)));
    for part in [
        "<url>",
        "<url><loc>",
        "<!--",
        "<![CDATA[",
        "&amp;",
        "&a;",
        "<?a ",
        "</url>",
        "<a b=\"\"",
        "<!DOCTYPE a [",
        "\0",
        "http://e.example/\n",
    ] {
        for before in ["<urlset>", "<sitemapindex>", "<rss>", "<feed>", "<feed><entry><link", ""] {
            drop(read([before, &part.repeat(MANY)].concat()));
        }
    }
    drop(read(["<feed><entry><link", &" a=\"\"".repeat(MANY), "/></entry></feed>"].concat()));
}

#[test]
fn robots_txt_and_ai_txt_take_no_stack_for_lines_groups_or_signs() {
    let agent = Agent::new("examplebot");
    let parts = [
        "*",
        "%",
        "%24",
        "%2A",
        "$",
        "/",
        "?",
        "User-agent: *\n",
        "Disallow: /*a\n",
        "Disallow: /a$\n",
        "#",
        "\r",
        "\0",
        "User-agent: a\nAllow: /\n",
    ];
    for part in parts {
        for before in ["", "User-agent: *\nDisallow: /"] {
            let file = [before, &part.repeat(50_000)].concat();
            in_small_stack(|| {
                let options = robots::Options::default();
                let robots =
                    robots::Robots::parse(file.as_bytes(), &agent, &options, Some("http://e.example"));
                let path = format!("/{}", "a*%24".repeat(2_000));
                drop(robots.verdict(&path));
                let ai = AiTxt::parse(file.as_bytes(), &agent);
                drop(ai.statement(&path, jiff::Timestamp::UNIX_EPOCH));
            });
        }
    }
}

#[test]
fn values_of_header_lines_and_elements_take_no_stack_for_their_parts() {
    let parts = [
        "<",
        "<>;",
        "<a>;rel=next,",
        "<a>;rel=\"",
        "\\\"",
        "(",
        "((",
        "[",
        "a=1,",
        "a;b;",
        ":",
        "\"",
        ",",
        ";",
        "x 1x,",
        "x,",
        "(x,",
        "noindex,",
        "a:",
        "max-snippet:1 ",
        "url=",
        "0;url='",
        "%",
        "data:,",
        "charset=",
        "text/html;",
        "  ",
        "é",
        "..",
        "/..",
        "@",
        "//",
    ];
    for part in parts {
        let value = part.repeat(MANY);
        in_small_stack(|| {
            let headers: Vec<(String, String)> = [
                "X-Robots-Tag",
                "Content-Usage",
                "Content-Signal",
                "Link",
                "tdm-reservation",
                "tdm-policy",
                "Refresh",
            ]
            .map(|name| (name.to_owned(), value.clone()))
            .to_vec();
            let names = ["robots", "refresh", "keywords", "tdm-reservation", "description"];
            let metas = names.map(|name| MetaTag {
                name: Some(name.to_owned()),
                content: Some(value.clone()),
                ..MetaTag::default()
            });
            let sources = Sources { headers: &headers, metas: &metas };
            drop(resolve(&sources, &Agent::new("examplebot"), Dialect::Strict, jiff::Timestamp::UNIX_EPOCH));
            let html = format!(
                "<base href=\"{0}\"><img srcset=\"{0}\"><a href=\"{0}\" ping=\"{0}\" rel=\"{0}\">x</a><p style=\"{0}\"><meta http-equiv=refresh content=\"{0}\"><iframe srcdoc=\"{0}\">",
                value.replace('"', "&quot;")
            );
            drop(read_as(
                &format!("text/html;{}", &value[..value.floor_char_boundary(1_000)]),
                html.as_bytes(),
            ));
            let input = ExtractInput {
                body: b"",
                content_type: Some(&value),
                url: &url(),
                link_headers: std::slice::from_ref(&value),
                limits: &ExtractLimits::default(),
                want_text: false,
                want_styles: false,
            };
            drop(page::extract::extract(&input));
            drop(CrawlUrl::parse(&format!("http://e.example/{value}")));
            drop(CrawlUrl::parse(&value));
        });
    }
}

#[test]
fn trees_of_extract_rules_are_built_down_to_256_elements() {
    let rule = |css: &str| SelectRule::new("x", css, Take::Text, HowMany::All);
    let found = |html: String, css: &str| {
        let rules = [rule(css).unwrap()];
        in_small_stack(move || select(&html, &rules, &SelectLimits::default()))
    };
    let nested = |levels: usize| format!("{}word", "<div>".repeat(levels));
    assert_eq!(found(nested(250), "div div").unwrap().fields[0].values[0], "word");
    assert!(matches!(found(nested(MANY), "div"), Err(SelectError::TooDeep { .. })));
    for part in
        ["<b>", "<b><p>", "<table>", "<template>", "<svg>", "<i></b>", "<select>", "<a>", "<p a=\"\">"]
    {
        drop(found(part.repeat(MANY), "b"));
    }
}

#[test]
fn selectors_have_a_bound() {
    let read =
        |css: String| in_small_stack(move || SelectRule::new("x", &css, Take::Text, HowMany::All).is_ok());
    for (open, close) in [
        (":not(", ")"),
        (":is(", ")"),
        (":has(", ")"),
        (":where(", ")"),
        ("[", "]"),
        ("(", ")"),
        (":nth-child(1 of ", ")"),
    ] {
        assert!(!read(format!("{}p{}", open.repeat(MANY), close.repeat(MANY))), "{open}");
    }
    assert!(read("p".repeat(1024)) && !read("p".repeat(1025)));
    // The longest that are taken are matched in half a thread's stack.
    let html = "<p class=a><i>x</i></p>".repeat(3_000);
    for (before, part, times, after) in [
        ("", "p ", 511, "i"),
        ("", "p>", 511, "i"),
        ("", "p+", 511, "p"),
        ("", "p~", 511, "p"),
        ("p", ".a", 511, ""),
        ("p", ":empty", 170, ""),
        ("", "p,", 511, "i"),
        ("p", ":not(i)", 32, ""),
        ("", ":is(p+", 32, "i"),
        ("", ":not(", 32, "i"),
        ("", ":has(", 1, "i"),
    ] {
        let opened = part.matches('(').count() - part.matches(')').count();
        let css = format!("{before}{}{after}{}", part.repeat(times), ")".repeat(times * opened));
        let html = html.as_str();
        in_stack(SELECTOR_STACK, || {
            let rules = [SelectRule::new("x", &css, Take::Text, HowMany::All).unwrap()];
            drop(select(html, &rules, &SelectLimits::default()));
        });
    }
    assert!(!read(":is(p+".repeat(33) + "i" + &")".repeat(33)));
}

#[test]
fn filters_of_tables_have_a_bound() {
    let read = |text: String| {
        in_small_stack(move || {
            let filter = Filter::of(&text, Table::Pages, Table::Pages.columns())?;
            let row = vec![crawler::view::Value::Null; Table::Pages.columns().len()];
            Ok::<_, crawler::tables::filter::FilterError>(filter.passes(&row))
        })
    };
    // A list of conditions isn't nested.
    for join in ["and", "or"] {
        let many = (65_536 - 8) / (" archived".len() + 1 + join.len());
        assert_eq!(read(format!("archived{}", format!(" {join} archived").repeat(many))), Ok(false));
    }
    assert!(read(format!("{}archived{}", "(".repeat(64), ")".repeat(64))).is_ok());
    for part in [
        "(",
        "not ",
        "not(",
        "archived and ",
        "archived or (",
        "url in ('",
        "url ~ '",
        "-",
        "'",
        "url ~ '(' and ",
    ] {
        for times in [65, 1_000, MANY] {
            assert!(read(part.repeat(times)).is_err(), "{part}");
        }
    }
    // Regular expressions have a bound of their own.
    for (open, close) in [("(", ")"), ("(?:", ")"), ("[", "]"), ("(a|", ")"), ("(?i:", "){2}")] {
        let nested = |times: usize| format!("url ~ '{}a{}'", open.repeat(times), close.repeat(times));
        drop(read(nested(20)));
        drop(read(nested(64)));
        assert!(read(nested(65)).is_err(), "{open}");
        assert!(read(nested(5_000)).is_err(), "{open}");
    }
    for part in ["a|", "a?", "a*", "\\w", "^", "a{1,2}"] {
        drop(read(format!("url ~ '{}'", part.repeat(10_000))));
    }
}

#[test]
fn patterns_of_the_scope_have_a_bound() {
    let compiles = |pattern: String| in_small_stack(move || compile_regex(&pattern, PATTERN_BYTES).is_ok());
    for (open, close) in [("(", ")"), ("(?:a|", ")"), ("[a&&", "]"), ("(?:", ")*"), ("(?:b(?:", "a)?|c)")] {
        let nested = |times: usize| format!("{}a{}", open.repeat(times), close.repeat(times));
        assert!(compiles(nested(8)), "{open}");
        for times in 9..=64 {
            // Each repetition has one level or more.
            let _taken: bool = compiles(nested(times));
        }
        assert!(!compiles(nested(65)), "{open}");
        assert!(!compiles(nested(MANY)), "{open}");
    }
}

#[test]
fn config_files_have_a_bound() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.toml");
    let load = |text: String| {
        std::fs::write(&path, text).unwrap();
        in_small_stack(|| {
            crawler::config::load(&crawler::config::CliOverrides::default(), [], Some(&path)).map(drop)
        })
    };
    let name = "a".to_owned();
    for text in [
        format!("a{}=1", ".a".repeat(MANY)),
        format!("[a{}]", ".a".repeat(MANY)),
        format!("[[a{}]]", ".a".repeat(MANY)),
        format!("{name}={}", "[".repeat(MANY)),
        format!("{name}={}{}", "[".repeat(MANY), "]".repeat(MANY)),
        format!("{name}={}", "{a=".repeat(MANY)),
        format!("{name}={}", "[{a=".repeat(MANY)),
        "[[a]]\n".repeat(MANY),
        format!("{}=1", "\"".repeat(MANY)),
        format!("[scope]\nexclude=[\"{}a{}\"]", "(".repeat(MANY), ")".repeat(MANY)),
        format!("[[extract]]\nname=\"x\"\nselector=\"{}a{}\"", ":not(".repeat(MANY), ")".repeat(MANY)),
    ] {
        let start = text[..20.min(text.len())].to_owned();
        assert!(load(text).is_err(), "{start}");
    }
    drop(Settings::default());
}
