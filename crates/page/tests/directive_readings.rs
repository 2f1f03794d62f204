//! Directives in bodies whose type or encoding hides them: what an author wrote there restricts.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where tests do")]

use encoding_rs::Encoding;
use jiff::Timestamp;
use meta::{Agent, Dialect, Directives};
use page::extract::{Document, ExtractInput, ExtractLimits, Readings, read};
use proptest::prelude::*;
use url::Url;

const HEAD: &str = "<!DOCTYPE html><html><head><title>t</title><meta name=\"robots\" content=\"noindex, noarchive, nofollow\"></head>";

struct Answer<'a> {
    lines: &'a [(&'a str, &'a [u8])],
    body: &'a [u8],
    is_cut: bool,
    limits: ExtractLimits,
}

impl Answer<'_> {
    fn document(&self) -> Document {
        let mut document = Document::of(self.lines.iter().copied(), self.body);
        document.is_cut = self.is_cut;
        document
    }

    fn readings(&self) -> Readings {
        let document = self.document();
        let input = ExtractInput {
            body: self.body,
            content_type: document.content_type.as_deref(),
            url: &Url::parse("http://e.example/").unwrap(),
            link_headers: &[],
            limits: &self.limits,
            want_text: false,
            want_styles: false,
        };
        read(&input, &document, &agent())
    }

    fn directives(&self, closes_unread_head: bool) -> Directives {
        let at = Timestamp::UNIX_EPOCH;
        self.readings().resolve(&[], &agent(), Dialect::Strict, at, closes_unread_head)
    }
}

fn agent() -> Agent {
    Agent::new("SuperRobot").with_aliases(["newsbot"])
}

fn answer<'a>(lines: &'a [(&'a str, &'a [u8])], body: &'a [u8]) -> Answer<'a> {
    Answer { lines, body, is_cut: false, limits: ExtractLimits::default() }
}

/// Whether index, archive and follow are allowed, as letters; `-` for what isn't.
fn allowed(directives: &Directives) -> String {
    let flags = [('i', directives.index), ('a', directives.archive), ('f', directives.follow)];
    flags.into_iter().map(|(letter, may)| if may { letter } else { '-' }).collect()
}

fn said(content_type: &str, body: &[u8]) -> String {
    allowed(&answer(&[("content-type", content_type.as_bytes())], body).directives(true))
}

fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

fn utf_32(text: &str, bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
    text.chars().flat_map(|c| bytes(u32::from(c))).collect()
}

#[test]
fn every_label_of_the_replacement_decoder_is_read_as_ascii() {
    for label in ["replacement", "iso-2022-kr", "csiso2022kr", "iso-2022-cn", "iso-2022-cn-ext", "hz-gb-2312"]
    {
        assert_eq!(Encoding::for_label(label.as_bytes()), Some(encoding_rs::REPLACEMENT), "{label}");
        let header = format!("text/html; charset={label}");
        assert_eq!(said(&header, HEAD.as_bytes()), "---", "{header}");
        let meta = format!("<meta charset={label}>{HEAD}");
        assert_eq!(said("text/html", meta.as_bytes()), "---", "{meta}");
        let free = HEAD.replace("robots", "otherbot");
        assert_eq!(said(&header, free.as_bytes()), "iaf", "{header}");
    }
}

#[test]
fn shifted_characters_hide_nothing() {
    // Their bytes are those of `="` and `<`, which would swallow the tag that follows.
    for (label, before) in [
        ("hz-gb-2312", "<meta name=description content=\"~{=\"=\"~}\"><meta name=author content=a=~{=\"~}>"),
        ("iso-2022-kr", "\x1b$)C<meta name=author content=\x0e=\"!<!--\x0f>"),
        ("iso-2022-cn", "\x1b$)A\x0e<!--\x0f<p title=\x0e=\"\x0f>"),
    ] {
        let body = format!("{before}<meta name=robots content=none>");
        assert_eq!(said(&format!("text/html; charset={label}"), body.as_bytes()), "-a-", "{label}");
    }
}

#[test]
fn utf_16_and_utf_32_are_read_whatever_is_declared() {
    let text = HEAD
        .replace("<title>t", "<meta name=description content='\u{422}\u{435}\u{441}\u{442}'><title>\u{4e2d}");
    let (le, be) = (utf_16(&text, u16::to_le_bytes), utf_16(&text, u16::to_be_bytes));
    let (le_32, be_32) = (utf_32(&text, u32::to_le_bytes), utf_32(&text, u32::to_be_bytes));
    let odd = [&b"\n"[..], &le].concat();
    let bodies = [&le, &be, &le_32, &be_32, &odd];
    let marks: [&[u8]; 5] = [b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"\xef\xbb\xbf"];
    for (body, mark) in bodies.into_iter().zip(marks) {
        for content_type in [
            "text/html",
            "text/html; charset=utf-8",
            "text/html; charset=windows-1251",
            "text/html; charset=utf-16",
            "text/html; charset=utf-16be",
            "text/html; charset=utf-32",
            "text/html; charset=gbk",
            "text/html; charset=iso-2022-kr",
            "text/plain",
            "",
        ] {
            let start = &body[..8];
            assert_eq!(said(content_type, body), "---", "{content_type} {start:?}");
            assert_eq!(
                said(content_type, &[mark, body].concat()),
                "---",
                "{content_type} {mark:?} {start:?}"
            );
        }
    }
}

#[test]
fn labels_that_lie_hide_nothing() {
    for content_type in [
        "text/html; charset=utf-16",
        "text/html; charset=utf-16be",
        "text/html; charset=utf-32",
        "text/html; charset=iso-2022-jp",
        "text/html; charset=nonsense",
        "text/html; charset=shift_jis",
    ] {
        assert_eq!(said(content_type, HEAD.as_bytes()), "---", "{content_type}");
        // An escape sequence that leads out of ASCII and never back.
        let escaped = format!("\x1b$B{HEAD}");
        assert_eq!(said(content_type, escaped.as_bytes()), "---", "{content_type} escaped");
    }
    for mark in [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"] {
        assert_eq!(said("text/html", &[mark, HEAD.as_bytes()].concat()), "---", "{mark:?}");
    }
}

#[test]
fn a_character_of_two_bytes_takes_no_letter_from_a_term() {
    // A no-break space of windows-1252 before the term; GBK, Big5 and Shift_JIS read it and the `n` as one character.
    for label in ["gbk", "gb18030", "big5", "euc-kr", "shift_jis"] {
        let body = b"<meta name=robots content='index,\x81noindex'><meta name=\x81robots content=nofollow>";
        let found =
            answer(&[("content-type", format!("text/html; charset={label}").as_bytes())], body).readings();
        let other = found.others.iter().find(|reading| reading.name == "windows-1252").expect(label);
        assert!(other.metas[0].content.as_ref().unwrap().ends_with("noindex"), "{label}");
        assert!(other.metas[1].name.as_ref().unwrap().ends_with("robots"), "{label}");
    }
    let plain = b"<meta name=description content='\xc4\xe3'><meta name=robots content=noindex>";
    let found = answer(&[("content-type", b"text/html; charset=gbk")], plain).readings();
    assert!(found.others.is_empty(), "{:?}", found.others);
}

#[test]
fn utf_7_is_read_where_it_is_named_or_begins_a_page() {
    let utf_7 = HEAD.replace('<', "+ADw-").replace('>', "+AD4-").replace('=', "+AD0-").replace('"', "+ACI-");
    assert_eq!(said("text/html; charset=utf-7", utf_7.as_bytes()), "---");
    assert_eq!(said("text/html; charset=UNICODE-1-1-UTF-7", utf_7.as_bytes()), "---");
    assert_eq!(said("text/html", utf_7.as_bytes()), "---");
    assert_eq!(said("", utf_7.as_bytes()), "---");
    assert_eq!(said("text/html", format!("<meta charset=utf-7>{utf_7}").as_bytes()), "---");
    assert_eq!(said("text/html", format!("<p>{utf_7}").as_bytes()), "iaf");
}

#[test]
fn parts_of_mail_and_archives_are_read() {
    let quoted = HEAD.replace('=', "=3D").replace("noindex", "no=\r\nindex");
    let mail = format!("From: a\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n{quoted}\r\n--b--");
    for content_type in ["multipart/related; boundary=b", "message/rfc822", "multipart/x-mixed-replace"] {
        assert_eq!(said(content_type, mail.as_bytes()), "---", "{content_type}");
        assert_eq!(said(content_type, format!("--b\r\n\r\n{HEAD}").as_bytes()), "---", "{content_type}");
    }
}

#[test]
fn other_readings_only_restrict() {
    let text = "<title>secret</title><meta name=description content=secret><meta name=robots content='all, noindex'>\
        <meta name=keywords content=secret><meta http-equiv=refresh content='1; url=/secret'><meta name=url \
        content=http://secret.example/>";
    let body = utf_16(text, u16::to_le_bytes);
    let directives = answer(&[("content-type", b"text/html")], &body).directives(true);
    assert_eq!(allowed(&directives), "-af");
    assert!(!format!("{directives:?}").contains("secret"), "{directives:?}");
    let plain = answer(&[("content-type", b"text/plain")], text.as_bytes());
    assert!(plain.readings().page.is_none());
    let directives = plain.directives(true);
    assert_eq!(allowed(&directives), "-af");
    assert!(!format!("{directives:?}").contains("secret"), "{directives:?}");
}

#[test]
fn a_page_in_utf_8_is_read_once() {
    for body in [HEAD, "<p>d\u{e9}j\u{e0}<meta name=description content=d\u{e9}j\u{e0}>", "<p>plain"] {
        let readings = answer(&[("content-type", b"text/html; charset=utf-8")], body.as_bytes()).readings();
        assert!(readings.page.is_some() && readings.others.is_empty() && readings.unread.is_empty());
    }
}

#[test]
fn a_body_that_is_no_text_is_closed_with_its_reason() {
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let noise: Vec<u8> = std::iter::once(b'x').chain((0..4_000).map(|_| random())).collect();
    let html: (&str, &[u8]) = ("content-type", b"text/html");
    let gzip = [&b"\x1f\x8b\x08\0"[..], &noise].concat();
    for (lines, body, reason) in [
        (&[html][..], &gzip[..], "application/gzip"),
        (&[html], b"%PDF-1.7", "application/pdf"),
        (&[("content-type", b"application/xhtml+xml")], b"PK\x03\x04", "application/zip"),
        (&[html], &noise, "binary data"),
        (&[html, ("content-encoding", b"exi")], &noise, "binary data (Content-Encoding: exi)"),
    ] {
        for closes_unread_head in [true, false] {
            let directives = answer(lines, body).directives(closes_unread_head);
            assert_eq!(allowed(&directives), "--f", "{reason}");
            let because = directives.because.iter().map(ToString::to_string).collect::<Vec<_>>();
            let source = format!("unread body: sent as a page, but it is {reason}");
            assert_eq!(because, [format!("noarchive ({source})"), format!("noindex ({source})")]);
        }
    }
    // What is sent as what it is stays open.
    for content_type in ["application/octet-stream", "application/gzip", "text/html, application/pdf", ""] {
        assert_eq!(said(content_type, &gzip), "iaf", "{content_type}");
    }
    // A stray control character makes no text binary.
    assert_eq!(said("text/html", b"a\x01b and some more text without a tag"), "iaf");
}

#[test]
fn a_head_that_was_not_read_to_its_end_closes_the_page() {
    let html: &[(&str, &[u8])] = &[("content-type", b"text/html; charset=utf-8")];
    let late = format!("<head><style>{}</style><meta name=x content=y></head>", "x".repeat(512 * 1024));
    let many = format!("<head>{}<meta name=x content=y></head>", "<meta name=a content=b>".repeat(1_000));
    let long = |name: &str| format!("<head><meta name={name} content='{}'></head>", "x, ".repeat(6_000));
    let cut = "<html><head><title>t</title><script>";
    for (body, is_cut, reason) in [
        (late.clone(), false, "a meta element is beyond the first 524288 bytes"),
        (many, false, "there are more than 1000 meta elements"),
        (long("robots"), false, "a meta value is longer than 16384 bytes"),
        (long("superrobot"), false, "a meta value is longer than 16384 bytes"),
        (long("\u{201d}NewsBot\u{201d}"), false, "a meta value is longer than 16384 bytes"),
        (cut.to_owned(), true, "the body was truncated before the end of its head"),
    ] {
        let answer = Answer { is_cut, ..answer(html, body.as_bytes()) };
        assert_eq!(answer.readings().unread.iter().map(ToString::to_string).collect::<Vec<_>>(), [reason]);
        let directives = answer.directives(true);
        assert_eq!(allowed(&directives), "--f", "{reason}");
        let because = directives.because[0].to_string();
        assert_eq!(because, format!("noarchive (unread head: {reason})"));
        assert_eq!(allowed(&answer.directives(false)), "iaf", "{reason}");
    }
    // None of these may hide a directive.
    let itemprops = late.replace("name=x", "itemprop=x").replace("content=y", "content=robots");
    let properties = format!("<head>{}</head>", "<meta property=a content=b>".repeat(2_000));
    for (body, is_cut) in [
        (itemprops, false),
        (properties, false),
        (long("description"), false),
        (long("otherbot"), false),
        (format!("<head></head><body>{}", "x".repeat(600_000)), true),
        (cut.to_owned(), false),
    ] {
        let answer = Answer { is_cut, ..answer(html, body.as_bytes()) };
        assert_eq!(answer.readings().unread, [], "{}", &body[..40]);
        assert_eq!(allowed(&answer.directives(true)), "iaf");
    }
    // The limits are those of the crawl.
    let wide = ExtractLimits { meta_bytes: 1 << 20, ..ExtractLimits::default() };
    assert_eq!(Answer { limits: wide, ..answer(html, late.as_bytes()) }.readings().unread, []);
}

#[test]
fn xml_documents_other_than_pages_are_read_and_what_feeds_quote_is_not() {
    let meta = "<meta name='robots' content='none'/>";
    let xhtml = "<meta xmlns='http://www.w3.org/1999/xhtml' name='robots' content='none'/>";
    for (content_type, body, wanted) in [
        (
            "image/svg+xml",
            format!("<svg xmlns='http://www.w3.org/2000/svg'><metadata>{xhtml}</metadata></svg>"),
            "-a-",
        ),
        ("application/rss+xml", format!("<rss><channel>{xhtml}<item/></channel></rss>"), "-a-"),
        ("application/atom+xml", format!("<?xml version='1.0'?><feed>{xhtml}</feed>"), "-a-"),
        ("text/xml", format!("<rss><description><![CDATA[<p>{meta}]]></description></rss>"), "iaf"),
        ("text/xml", format!("<rss><description><![CDATA[<p>]]>{meta}</description></rss>"), "-a-"),
        ("text/xml", format!("<rss><description>{}</description></rss>", meta.replace('<', "&lt;")), "iaf"),
    ] {
        assert_eq!(said(content_type, body.as_bytes()), wanted, "{content_type} {body}");
    }
}

/// Pieces of pages, of encodings and of what hides them.
const PIECES: [&[u8]; 32] = [
    b"<html>",
    b"<head>",
    b"</head>",
    b"<meta name=robots content=none>",
    b"<m\0e\0t\0a\0 ",
    b"\0<\0m\0e\0t\0a",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<?xml version='1.0'?>",
    b"<!DOCTYPE html [",
    b"<rss>",
    b"<svg>",
    b"~{",
    b"~}",
    b"~",
    b"\n",
    b"\x0e",
    b"\x0f",
    b"\x1b$B",
    b"+ADw-",
    b"+",
    b"=3D",
    b"=\r\n",
    b"=",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0",
    b"\xa0",
    b"text",
    b"charset=utf-7 ",
];

const TYPES: [&str; 12] = [
    "",
    "text/html",
    "text/html; charset=iso-2022-kr",
    "text/html; charset=utf-16",
    "text/html; charset=gbk",
    "text/plain",
    "application/xml",
    "application/rss+xml",
    "multipart/related",
    "application/json",
    "text/html, \"",
    "text/html; charset=utf-7",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_body_is_read_and_further_readings_only_restrict(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
        noise in prop::collection::vec(any::<u8>(), 0..40),
        content_type in prop::sample::select(&TYPES[..]),
        is_cut: bool,
    ) {
        let body = [pieces.concat(), noise].concat();
        let lines: [(&str, &[u8]); 1] = [("content-type", content_type.as_bytes())];
        let answer = Answer { is_cut, ..answer(&lines, &body) };
        let readings = answer.readings();
        let at = Timestamp::UNIX_EPOCH;
        let decide = |readings: &Readings, closes| readings.resolve(&[], &agent(), Dialect::Strict, at, closes);
        let closed = decide(&readings, true);
        prop_assert!(closed.permits_no_more_than(&decide(&readings, false)));
        let page = Readings { page: readings.page.clone(), ..Readings::default() };
        prop_assert!(decide(&readings, false).permits_no_more_than(&decide(&page, false)));
        prop_assert_eq!(closed.description, decide(&page, false).description);
        // Data that isn't read says nothing.
        prop_assert!(answer.document().html || (readings.page.is_none() && readings.others.is_empty()));
    }
}

/// Until 2025 the HTML standard had tree builders ignore such a tag (13.2.6.4.16, "in select"), so that no raw text began; browsers do
/// the one or the other.
#[test]
fn raw_text_that_begins_in_a_select_hides_no_directive() {
    let meta = "<meta name=robots content=noindex>";
    for raw in ["xmp", "iframe", "noembed", "noframes", "style", "title", "plaintext"] {
        for body in [
            format!("<select><{raw}></select>{meta}<p>text"),
            format!("<p><select><option>x<{raw}>y</select>{meta}"),
            format!("<select><{raw}><select>{meta}"),
        ] {
            let directives = answer(&[("content-type", b"text/html")], body.as_bytes()).directives(true);
            assert_eq!(allowed(&directives), "-af", "{body}");
        }
    }
    for body in [
        format!("<select><option>x</select><xmp>{meta}</xmp>"),
        format!("<select><input><xmp>{meta}</xmp>"),
        format!("<select><textarea>{meta}</textarea></select>"),
        format!("<select><script>'{meta}'</script></select>"),
    ] {
        let directives = answer(&[("content-type", b"text/html")], body.as_bytes()).directives(true);
        assert_eq!(allowed(&directives), "iaf", "{body}");
    }
}

/// The content of a `<noscript>` is raw text where scripts run (HTML standard 13.2.6.4.4 and 13.2.6.4.7), and ends at the first `</noscript`.
#[test]
fn what_is_open_in_a_noscript_hides_no_directive_behind_it() {
    let meta = "<meta name=robots content=noindex>";
    let open = [
        "<iframe src=x>",
        "<!--",
        "<style>",
        "<script>",
        "<title>",
        "<textarea>",
        "<xmp>",
        "<template>",
        "<svg>",
        "<img alt=\"",
        "<plaintext>",
    ];
    for open in open {
        for body in [
            format!("<noscript>{open}</noscript>{meta}<p>text"),
            format!("<title>t</title><body><NOSCRIPT>a{open}b</NoScript >{meta}"),
            format!("<noscript>a</noscript><noscript>{open}</noscript>{meta}</noscript>"),
        ] {
            let directives = answer(&[("content-type", b"text/html")], body.as_bytes()).directives(true);
            assert_eq!(allowed(&directives), "-af", "{body}");
        }
    }
    for body in [
        format!("<noscript><iframe></iframe></noscript><script>'{meta}'</script>"),
        format!("<noscript><style>{meta}</style></noscript>"),
        format!("<script>'<noscript></noscript>'</script><!-- {meta} -->"),
    ] {
        let answer = answer(&[("content-type", b"text/html")], body.as_bytes());
        assert_eq!(allowed(&answer.directives(true)), "iaf", "{body}");
        assert!(answer.readings().others.is_empty(), "{body}");
    }
}
