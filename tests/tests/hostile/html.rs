//! Pages that amplify, never end, lie about what they are, or lead on forever.

use std::fmt::Write as _;

use whole_program::hostile::Expect::{
    Answers, Asked, AtMost, Charset, Cut, Fails, Hits, Links, Never, Title,
};
use whole_program::hostile::http::{page, typed};
use whole_program::hostile::{Scenario, Serve};

use crate::crawl::{Plan, run};

/// A page that is hostile, and has one good link at its end.
fn with_link(html: impl AsRef<[u8]>) -> Vec<u8> {
    page([html.as_ref(), b"<a href=/end>end</a>"].concat())
}

/// What such a page comes to: its link was found.
const READ: &[whole_program::hostile::Expect] = &[Answers("/", 200), Answers("/end", 200)];
/// A page that can't be read whole: none of its links is followed.
const CLOSED: &[whole_program::hostile::Expect] = &[Answers("/", 200), Never("/end")];

macro_rules! html {
    ($name:literal, $hazard:literal, $expect:expr, $body:expr) => {
        Scenario::pages(
            $name,
            $hazard,
            Serve::Answer(|ask| if ask.path == "/" { $body } else { page("<title>end</title>") }),
            $expect,
        )
    };
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    // Trees that amplify.
    html!("formatting-bomb", "tree", READ, {
        let open: String = (0..200).map(|n| format!("<b {n}>")).collect();
        with_link(format!("{open}{}", "<p>x</b>".repeat(2000)))
    }),
    html!("formatting-bomb-deep", "tree", READ, {
        let mut body = String::new();
        for n in 0..203 {
            let _ = write!(body, "<b {n}><i {n}>");
        }
        with_link(format!("{body}{}", "x</b>".repeat(4000)))
    }),
    html!("nested-lists-of-512-kb", "tree", READ, with_link("<ul><li>".repeat(65_536))),
    html!("nested-divs-of-1-mb", "tree", READ, with_link("<div>".repeat(200_000))),
    html!("nested-tables", "tree", READ, with_link("<table><tr><td>".repeat(50_000))),
    html!(
        "nested-svg",
        "tree",
        READ,
        with_link(format!("{}{}", "<svg><g>".repeat(20_000), "</g></svg>".repeat(20_000)))
    ),
    html!(
        "nested-templates",
        "tree",
        READ,
        with_link(format!("{}{}", "<template>".repeat(20_000), "</template>".repeat(20_000)))
    ),
    html!("end-tags-alone", "tree", READ, with_link("</p>".repeat(250_000))),
    html!("tables-misnested", "tree", READ, with_link("<table><b>".repeat(30_000))),
    // Things that don't end.
    html!(
        "comment-without-end",
        "tree",
        &[Answers("/", 200), Title("/", "good")],
        page(format!("<title>good</title><!-- {}", "-".repeat(1_000_000)))
    ),
    html!(
        "script-without-end",
        "tree",
        &[Answers("/", 200), Title("/", "good"), Links("/", 0)],
        page(format!("<title>good</title><script>{}", "<!--<script>".repeat(90_000)))
    ),
    html!(
        "tag-without-end",
        "tree",
        &[Answers("/", 200), Title("/", "good")],
        page(format!("<title>good</title><a {}", "x=y ".repeat(250_000)))
    ),
    html!(
        "cdata-without-end",
        "tree",
        &[Answers("/", 200)],
        page(format!("<svg><![CDATA[{}", "]]".repeat(400_000)))
    ),
    html!(
        "textarea-without-end",
        "tree",
        &[Answers("/", 200), Never("/end")],
        with_link("<textarea>".repeat(100_000))
    ),
    html!(
        "title-without-end",
        "limit",
        &[Answers("/", 200), Hits("/", "title")],
        page(format!("<title>{}", "long ".repeat(200_000)))
    ),
    html!("attribute-of-10-mb", "limit", READ, with_link(format!("<p title='{}'>", "t".repeat(10_000_000)))),
    html!(
        "address-of-1-mb",
        "limit",
        &[Answers("/", 200), Hits("/", "href"), Answers("/end", 200)],
        with_link(format!("<a href='/{}'>x</a>", "h".repeat(1_000_000)))
    ),
    html!("attributes-by-the-hundred-thousand", "limit", READ, {
        let attributes: String = (0..100_000).map(|n| format!(" a{n}=b")).collect();
        with_link(format!("<p{attributes}>"))
    }),
    html!("quoted-attributes-of-33-kb", "stack", READ, with_link(format!("<p{}>", " a=\"\"".repeat(6_600)))),
    html!(
        "quoted-attributes-of-10-mb",
        "stack",
        READ,
        with_link(format!("<p{}>", " a=\"\"".repeat(2_000_000)))
    ),
    html!(
        "attributes-of-a-feed-in-cdata",
        "stack",
        &[Answers("/", 200)],
        typed(
            "application/rss+xml",
            format!(
                "<rss><channel><item><description><![CDATA[<p{}>]]></description></item></channel></rss>",
                " a=\"\"".repeat(6_600)
            )
        )
    ),
    html!(
        "same-attribute-again-and-again",
        "limit",
        READ,
        with_link(format!("<a {}>x</a>", "href=/x ".repeat(100_000)))
    ),
    html!("entities-by-the-million", "limit", READ, with_link("&amp;&#x41;&notin;&nosuch;".repeat(60_000))),
    html!(
        "entity-of-1-mb",
        "limit",
        READ,
        with_link(format!("&#{}; &{};", "9".repeat(500_000), "a".repeat(500_000)))
    ),
    html!(
        "metas-by-the-hundred-thousand",
        "limit",
        &[Answers("/", 200), Hits("/", "metas")],
        with_link("<meta name=description content=x>".repeat(30_000))
    ),
    html!(
        "meta-of-1-mb",
        "limit",
        &[Answers("/", 200), Hits("/", "meta value")],
        with_link(format!("<meta name=description content='{}'>", "d".repeat(400_000)))
    ),
    html!(
        "titles-by-the-hundred-thousand",
        "limit",
        &[Answers("/", 200), Title("/", "0")],
        page((0..100_000).map(|n| format!("<title>{n}</title>")).collect::<String>())
    ),
    html!(
        "json-ld-flood",
        "limit",
        &[Answers("/", 200), Hits("/", "json-ld block")],
        with_link(format!("<script type=application/ld+json>{}</script>", "[".repeat(500_000)))
    ),
    html!(
        "links-by-the-hundred-thousand",
        "limit",
        &[Answers("/", 200), Links("/", 10_000), Hits("/", "links")],
        {
            let mut body = String::new();
            for n in 0..100_000 {
                let _ = write!(body, "<a href=http://elsewhere.test/{n}>{n}</a>");
            }
            page(body)
        }
    ),
    html!(
        "same-link-by-the-hundred-thousand",
        "limit",
        &[Answers("/", 200), Links("/", 1), Answers("/end", 200), AtMost(3)],
        page("<a href=/end>x</a>".repeat(100_000))
    ),
    html!("srcset-flood", "limit", &[Answers("/", 200)], {
        let set: String = (0..3000).map(|n| format!("i{n} {n}w,")).collect();
        with_link(format!("<img srcset='{set}'>").repeat(10))
    }),
    // Base.
    html!(
        "base-elsewhere",
        "address",
        &[Answers("/", 200), AtMost(2)],
        with_link("<base href='http://elsewhere.test/'>")
    ),
    html!("base-to-script", "address", READ, with_link("<base href='javascript:alert(1)//'>")),
    html!("base-to-data", "address", READ, with_link("<base href='data:text/html,'>")),
    html!("base-of-8-kb", "limit", &[Answers("/", 200), AtMost(2)], {
        let links: String = (0..9000).map(|n| format!("<a href=x{n}>x</a>")).collect();
        page(format!("<base href='/{}/'>{links}", "b".repeat(8000)))
    }),
    html!(
        "base-by-the-thousand",
        "limit",
        READ,
        with_link(
            (0..10_000).map(|n| format!("<base href='/{n}/'>")).collect::<String>().replace("/0/", "/")
        )
    ),
    // Text.
    html!(
        "nul-bytes",
        "text",
        READ,
        with_link([b"<p>".to_vec(), vec![0; 200_000], b"</p>".to_vec()].concat())
    ),
    html!("nul-in-tags", "text", READ, with_link("<\0a\0 href=/no>x</a><p\0><a\0 h\0ref=/no>")),
    html!(
        "not-utf-8",
        "text",
        READ,
        with_link([b"<p>".to_vec(), (128..=255_u8).cycle().take(100_000).collect()].concat())
    ),
    html!("unknown-charset", "text", READ, typed("text/html; charset=no-such-thing", "<a href=/end>x</a>")),
    html!(
        "utf-7",
        "text",
        &[Answers("/", 200), Never("/no")],
        typed("text/html; charset=utf-7", "+ADw-a href=/no+AD4-x")
    ),
    html!(
        "charset-changes-in-mid-page",
        "text",
        READ,
        with_link("<meta charset=utf-16><meta charset=shift_jis>\u{e4}")
    ),
    html!("utf-16-with-mark", "text", &[Charset("/", "utf-16le"), Answers("/end", 200)], {
        let units = "\u{feff}<title>x</title><a href=/end>end</a>".encode_utf16();
        typed("text/html", units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
    }),
    html!("utf-16-declared", "text", &[Charset("/", "utf-16be"), Answers("/end", 200)], {
        let units = "<title>x</title><a href=/end>end</a>".encode_utf16();
        typed("text/html; charset=utf-16be", units.flat_map(u16::to_be_bytes).collect::<Vec<u8>>())
    }),
    html!("utf-16-without-mark", "text", &[Answers("/", 200), AtMost(3)], {
        let units = "<title>x</title><a href=/end>end</a>".encode_utf16();
        typed("text/html", units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
    }),
    html!(
        "iso-2022-escapes",
        "text",
        &[Answers("/", 200)],
        typed("text/html; charset=iso-2022-jp", "\x1b$B<a href=/no>\x1b(B<a href=/end>x</a>")
    ),
    // Types that lie.
    html!(
        "picture-as-html",
        "text",
        &[Fails("/", &["mime"]), AtMost(2)],
        page([&b"\x89PNG\r\n\x1a\n"[..], &b"<a href=/no>x</a>".repeat(1000)].concat())
    ),
    html!(
        "pdf-as-html",
        "text",
        &[Fails("/", &["mime"]), AtMost(2)],
        page([&b"%PDF-1.7\n"[..], &b"<a href=/no>x</a>".repeat(1000)].concat())
    ),
    html!(
        "zip-as-html",
        "text",
        &[Fails("/", &["mime"]), AtMost(2)],
        page([&b"PK\x03\x04"[..], &[0xaa; 50_000]].concat())
    ),
    html!(
        "program-as-html",
        "text",
        &[Fails("/", &["mime"]), AtMost(2)],
        page([&b"\x7fELF\x02\x01\x01"[..], &[0; 50_000]].concat())
    ),
    html!(
        "film-as-html",
        "text",
        &[Fails("/", &["mime"]), AtMost(2)],
        page([&b"\0\0\0\x20ftypisom"[..], &[0x55; 50_000]].concat())
    ),
    html!(
        "html-as-picture",
        "text",
        &[Answers("/", 200), Links("/", 0), AtMost(2)],
        typed("image/png", "<html><a href=/no>x</a>")
    ),
    html!(
        "picture-of-12-mb",
        "body",
        &[Answers("/", 200), Cut("/", "wire")],
        typed("image/jpeg", vec![0xff; 12_000_000])
    ),
    // What it has is unknown: the page is treated as one that its author keeps private.
    html!("laughs-as-xhtml", "text", CLOSED, {
        let mut entities = String::from("<!ENTITY a0 'ha'>");
        for n in 1..30 {
            let _ = write!(entities, "<!ENTITY a{n} '&a{m};&a{m};&a{m};&a{m};'>", m = n - 1);
        }
        typed(
            "application/xhtml+xml",
            format!(
                "<?xml version='1.0'?><!DOCTYPE html [{entities}]><html><p>&a29;</p><a href=\"/end\">x</a></html>"
            ),
        )
    }),
    Scenario::pages(
        "external-entity",
        "address",
        Serve::Answer(|ask| {
            let entity = format!("<!ENTITY x SYSTEM 'http://127.0.0.1:{}/'>", ask.secret);
            let html = format!(
                "<!DOCTYPE html [{entity}<!ENTITY y SYSTEM 'file:///etc/passwd'>]><html>&x;&y;</html>"
            );
            typed("application/xhtml+xml", html)
        }),
        &[Answers("/", 200), AtMost(2)],
    ),
    html!("laughs-as-feed", "text", &[Answers("/", 200), AtMost(2)], {
        typed(
            "application/rss+xml",
            "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>]><rss>&b;</rss>",
        )
    }),
    html!("empty-page", "text", &[Answers("/", 200), Links("/", 0)], page("")),
    html!("one-angle-bracket", "text", &[Answers("/", 200), Links("/", 0)], page("<")),
    html!(
        "refresh-at-once",
        "redirect",
        READ,
        page("<meta http-equiv=refresh content='0;url=/end'>".repeat(20_000))
    ),
    html!("links-to-every-scheme", "address", &[Answers("/", 200), Answers("/end", 200), AtMost(3)], {
        with_link(
            "<a href='file:///etc/passwd'>a</a><a href='javascript:x()'>b</a><a href='data:text/html,x'>c</a><a href='vbscript:x'>d</a><a href='blob:http://x/1'>e</a><a href='mailto:x@y.test'>f</a><a href='ws://127.0.0.1/'>g</a><a href='ftp://127.0.0.1/'>h</a><a href='view-source:http://x.test/'>i</a><a href='java\nscript:x()'>j</a>",
        )
    }),
    Scenario::pages(
        "huge-files-by-link",
        "body",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page("<a href=/big>12 MB</a><a href=/disk.iso>12 MB</a><img src=/huge.jpg>"),
            _ => typed("application/octet-stream", vec![0; 12_000_000]),
        }),
        // By its name the second one is a disk image: its head alone is asked for, and says 12 MB. A picture isn't fetched at all by default.
        &[Answers("/", 200), Cut("/big", "wire"), Asked("/disk.iso", 1), Never("/huge.jpg")],
    ),
];

#[test]
fn hostile_pages() {
    // Bodies, links and addresses are cut: limits.
    run(&Plan { exit: 10, ..Plan::new("html", SCENARIOS) });
}
