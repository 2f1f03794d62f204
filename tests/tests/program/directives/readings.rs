//! Pages whose type, encoding or length hides what they say to robots: nothing of them is kept, in any form.

use std::collections::BTreeSet;
use std::io::Write as _;

use serde_json::Value;
use whole_program::output_dir::{archived_responses, database_values, files};
use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

const HOST: &str = "http://a.test";
const CLOSED: &str = "<meta name=\"robots\" content=\"noindex, noarchive, nofollow\">";

/// How the text of a page becomes its body.
type Encode = fn(&str) -> Vec<u8>;

/// One way to hide directives: its name, the header lines, and how the body is made.
type Way = (&'static str, &'static [(&'static str, &'static str)], Encode);

fn as_is(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn utf_16_le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn utf_16_be(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn utf_32_le(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
}

fn utf_32_be(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect()
}

fn utf_7(text: &str) -> Vec<u8> {
    text.replace('<', "+ADw-").replace('>', "+AD4-").replace('"', "+ACI-").into_bytes()
}

fn with_mark(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").into_bytes()
}

fn as_mail(text: &str) -> Vec<u8> {
    format!("From: a\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n{}\r\n--b--", text.replace('=', "=3D"))
        .into()
}

fn as_xhtml(text: &str) -> Vec<u8> {
    let text = text.replacen("<html>", "<html xmlns=\"http://www.w3.org/1999/xhtml\">", 1);
    format!("<?xml version=\"1.0\"?>\n{}", text.replace("\">", "\"/>").replace("xhtml\"/>", "xhtml\">"))
        .into()
}

/// Empty elements that would swallow the tags after them in HTML.
fn as_xhtml_with_empty_elements(text: &str) -> Vec<u8> {
    let text = String::from_utf8(as_xhtml(text)).expect("it was text");
    text.replacen("<head>", "<head><script src=\"s\"/><style/><title/><textarea/>", 1).into()
}

/// All elements under a prefix.
fn as_prefixed_xhtml(text: &str) -> Vec<u8> {
    let text = String::from_utf8(as_xhtml(text)).expect("it was text");
    text.replace("</", "</h:")
        .replace('<', "<h:")
        .replace("<h:?", "<?")
        .replace("<h:/h:", "</h:")
        .replacen("xmlns", "xmlns:h", 1)
        .into()
}

/// The content of the tags in an entity.
fn as_xhtml_with_entities(text: &str) -> Vec<u8> {
    const SAID: &str = "noindex, noarchive, nofollow";
    let doctype = format!("<!DOCTYPE html [<!ENTITY said \"{SAID}\">]>\n<html");
    let text = String::from_utf8(as_xhtml(text)).expect("it was text").replace(SAID, "&said;");
    text.replacen("<html", &doctype, 1).into()
}

fn as_svg(text: &str) -> Vec<u8> {
    format!("<svg xmlns='http://www.w3.org/2000/svg'><foreignObject>{text}</foreignObject></svg>").into()
}

fn as_feed(text: &str) -> Vec<u8> {
    format!("<?xml version='1.0'?><rss><channel><title>t</title>{text}</channel></rss>").into()
}

/// White space and a long comment before the page.
fn far_down(text: &str) -> Vec<u8> {
    format!("{}<!-- {} -->{text}", "\n".repeat(2_000), "c".repeat(3_000)).into()
}

fn after_a_warning(text: &str) -> Vec<u8> {
    format!("Warning: cannot modify header information in x.php on line 3\n{text}").into()
}

/// Content types that a browser passes over or reads another way, and all that hides directives in a body.
const WAYS: &[Way] = &[
    ("twice", &[("Content-Type", "text/html, text/html")], as_is),
    ("twicecharset", &[("Content-Type", "text/html,text/html; charset=utf-8")], as_is),
    ("empty", &[("Content-Type", "")], as_is),
    ("word", &[("Content-Type", "html")], as_is),
    ("any", &[("Content-Type", "*/*")], as_is),
    ("unknown", &[("Content-Type", "unknown/unknown")], as_is),
    ("appunknown", &[("Content-Type", "application/unknown")], as_is),
    ("quoted", &[("Content-Type", "\"text/html\"")], as_is),
    ("lines", &[("Content-Type", "text/html"), ("Content-Type", "text/html")], as_is),
    ("plainhtml", &[("Content-Type", "text/plain"), ("Content-Type", "text/html")], as_is),
    ("htmlplain", &[("Content-Type", "text/html"), ("Content-Type", "text/plain")], as_is),
    ("upper", &[("CONTENT-TYPE", "TEXT/HTML")], as_is),
    ("foreign", &[("Content-Type", "t\u{e9}xt/html")], as_is),
    ("none", &[], as_is),
    ("nonemark", &[], with_mark),
    ("nonefar", &[], far_down),
    ("nonewarning", &[], after_a_warning),
    ("plain", &[("Content-Type", "text/plain")], as_is),
    ("nosniff", &[("Content-Type", "text/plain"), ("X-Content-Type-Options", "nosniff")], as_is),
    ("bytes", &[("Content-Type", "application/octet-stream")], as_is),
    ("json", &[("Content-Type", "application/json")], as_is),
    ("picture", &[("Content-Type", "image/png")], as_is),
    ("xml", &[("Content-Type", "application/xml")], as_xhtml),
    ("textxml", &[("Content-Type", "text/xml")], as_xhtml),
    ("xhtml", &[("Content-Type", "application/xhtml+xml; profile=x")], as_xhtml),
    ("wap", &[("Content-Type", "application/vnd.wap.xhtml+xml")], as_xhtml),
    ("nonexml", &[], as_xhtml),
    ("emptyelements", &[("Content-Type", "application/xhtml+xml")], as_xhtml_with_empty_elements),
    ("emptyelementshtml", &[("Content-Type", "text/html")], as_xhtml_with_empty_elements),
    ("prefixed", &[("Content-Type", "application/xhtml+xml")], as_prefixed_xhtml),
    ("prefixedxml", &[("Content-Type", "text/xml; charset=utf-8")], as_prefixed_xhtml),
    ("entities", &[("Content-Type", "application/xhtml+xml")], as_xhtml_with_entities),
    ("svg", &[("Content-Type", "image/svg+xml")], as_svg),
    ("rss", &[("Content-Type", "application/rss+xml")], as_feed),
    ("mail", &[("Content-Type", "message/rfc822")], as_mail),
    ("mhtml", &[("Content-Type", "multipart/related; boundary=b")], as_mail),
    ("kr", &[("Content-Type", "text/html; charset=iso-2022-kr")], as_is),
    ("cn", &[("Content-Type", "text/html; charset=iso-2022-cn")], as_is),
    ("hz", &[("Content-Type", "text/html; charset=hz-gb-2312")], as_is),
    ("le", &[("Content-Type", "text/html")], utf_16_le),
    ("be", &[("Content-Type", "text/html; charset=utf-8")], utf_16_be),
    ("lele", &[("Content-Type", "text/html")], utf_32_le),
    ("bebe", &[("Content-Type", "text/html; charset=utf-32")], utf_32_be),
    ("lie", &[("Content-Type", "text/html; charset=utf-16")], as_is),
    ("seven", &[("Content-Type", "text/html; charset=utf-7")], utf_7),
    ("nonele", &[], utf_16_le),
];

fn marker(name: &str) -> String {
    format!("zq-{name}-qz")
}

fn text(name: &str, head: &str) -> String {
    let marker = marker(name);
    format!(
        "<html><head>{head}<title>{marker}</title><meta name=\"description\" content=\"{marker}\"></head>\
         <body><a href=\"/child/{name}\">{marker}</a></body></html>"
    )
}

fn answer(headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
    let answer = Answer { body, ..Answer::status(200) };
    headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value))
}

/// A page a way that forbids everything, and `free-WAY` that forbids nothing.
fn site() -> Sites {
    let mut links = String::new();
    let mut sites = Sites::new();
    for (name, headers, encode) in WAYS {
        for (name, head) in [((*name).to_owned(), CLOSED), (format!("free-{name}"), "")] {
            links.extend(["<a href=/w/", name.as_ref(), ">w</a>"]);
            let body = encode(&text(&name, head));
            sites = sites.page("a.test", &format!("/w/{name}"), answer(headers, body));
            sites = sites.page("a.test", &format!("/child/{name}"), Answer::html("ok"));
        }
    }
    sites.page("a.test", "/", Answer::html(links))
}

/// All that a crawl wrote, and all that is printed about it.
fn everything(scene: &Scene, said: &str) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![("the talk".to_owned(), said.as_bytes().to_vec())];
    for table in ["pages", "links", "skipped", "ledger", "errors"] {
        for form in ["jsonl", "csv"] {
            let export = scene.look("export", &["--table", table, "--format", form]);
            all.push((format!("{table} as {form}"), export.expect(0).stdout.clone().into_bytes()));
        }
        all.push((table.to_owned(), scene.look("show", &[table]).expect(0).stdout.clone().into_bytes()));
    }
    all.extend(database_values(&scene.out().join("db")));
    for path in files(&scene.out()) {
        let bytes = std::fs::read(&path).expect("a file that was just listed");
        if path.extension().is_some_and(|extension| extension == "gz") {
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut plain)
                .expect("the archive can be read");
            all.push((path.display().to_string(), plain));
        }
        all.push((path.display().to_string(), bytes));
    }
    all
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(bytes, part).is_some()
}

fn row<'a>(rows: &'a [Value], url: &str) -> &'a Value {
    rows.iter().find(|row| row["url"] == url).unwrap_or_else(|| panic!("{url} has no record"))
}

#[test]
fn directives_hidden_by_type_or_encoding_are_honoured() {
    let scene = Scene::new(site());
    let run = scene.crawl().args(["-vv"]).run();
    run.expect(0);
    scene.assert_polite();
    let everything = everything(&scene, &(run.stdout.clone() + &run.stderr));
    let archived: BTreeSet<String> = archived_responses(&scene.out().join("warc")).into_iter().collect();
    let pages = scene.table("pages");
    let asked = sorted(scene.server.pages());
    let mut wrong = Vec::new();
    for (name, _, encode) in WAYS {
        let url = format!("{HOST}/w/{name}");
        let page = row(&pages, &url);
        let kept = ["indexed", "archived", "followed"].map(|column| page[column] == true);
        let words: BTreeSet<&str> = page["directives"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|said| said["directive"].as_str())
            .collect();
        if kept != [false; 3] || words.len() != 3 || archived.contains(&url) {
            wrong.push(format!("{name}: {kept:?} {words:?}, archived {}", archived.contains(&url)));
        }
        if asked.contains(&format!("{HOST}/child/{name}")) {
            wrong.push(format!("{name}: its link was followed"));
        }
        let marker = marker(name);
        for form in [marker.clone().into_bytes(), encode(&marker)] {
            let places: Vec<_> =
                everything.iter().filter(|(_, bytes)| has(bytes, &form)).map(|(place, _)| place).collect();
            if !places.is_empty() {
                wrong.push(format!("{name}: its text is in {places:?}"));
            }
        }
        // The same response without the tag is kept, and what is searched for is found there.
        let free = format!("free-{name}");
        let page = row(&pages, &format!("{HOST}/w/{free}"));
        let form = utf_16_or_plain(*encode, &self::marker(&free));
        let is_there = everything.iter().any(|(_, bytes)| has(bytes, &form));
        if page["indexed"] != true || page["archived"] != true || !is_there {
            wrong.push(format!("{free}: {page}, found {is_there}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    scene.look("audit", &[]).expect(0);

    let page = |name: &str| row(&pages, &format!("{HOST}/w/{name}"));
    for (name, mime_type, readings) in [
        ("lines", Value::Null, vec![]),
        ("none", "text/html".into(), vec![]),
        ("word", "text/html".into(), vec![]),
        ("plain", Value::Null, vec!["HTML"]),
        ("nonewarning", "text/plain".into(), vec!["HTML"]),
        ("kr", Value::Null, vec!["ASCII", "ASCII between shifted characters"]),
        ("le", Value::Null, vec!["ASCII", "UTF-16LE"]),
    ] {
        let found = page(name);
        assert_eq!(found["mime_type"], mime_type, "{name}");
        // How XML is read is reported elsewhere.
        let names: Vec<_> =
            found["readings"].as_array().into_iter().flatten().filter(|r| *r != "XML").collect();
        assert_eq!(names, readings, "{name}");
    }
    let links = |name: &str| asked.contains(&format!("{HOST}/child/free-{name}"));
    // Links are taken where a browser shows a page.
    assert!(["twice", "word", "plainhtml", "none", "xml", "xhtml"].into_iter().all(links), "{asked:?}");
    assert!(
        !["htmlplain", "plain", "nosniff", "json", "nonemark", "svg", "mail"].into_iter().any(links),
        "{asked:?}"
    );
    // Asked afterwards, the answer is the same.
    for name in ["plain", "kr", "be", "rss"] {
        let url = format!("{HOST}/w/{name}");
        let check = Crawl::new(["page", "check", "--json", "--from"]).args([&scene.out()]).args([&url]).run();
        let check = check.expect(0).json().remove(0);
        assert_eq!(
            (&check["index"], &check["archive"], &check["follow"]),
            (&false.into(), &false.into(), &false.into())
        );
        let free = format!("{HOST}/w/free-{name}");
        let check =
            Crawl::new(["page", "check", "--json", "--from"]).args([&scene.out()]).args([&free]).run();
        let check = check.expect(0).json().remove(0);
        assert_eq!((&check["judged"], &check["index"]), (&"archive".into(), &true.into()), "{name}");
    }
}

/// The marker in the archived body.
fn utf_16_or_plain(encode: Encode, marker: &str) -> Vec<u8> {
    let wide = encode("ab");
    if wide.len() > 2 && has(&wide, b"\0") { encode(marker) } else { marker.as_bytes().to_vec() }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// Pages that forbid nothing that was read, and why they aren't known to be free.
fn unread() -> Vec<(&'static str, Answer, &'static str)> {
    let html: &[(&str, &str)] = &[("Content-Type", "text/html; charset=utf-8")];
    let noise: Vec<u8> =
        (0..2_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 ^ (n >> 3) as u8).collect();
    let style = format!("<style>{}</style>", "x".repeat(512 * 1024));
    let many = "<meta name=\"a\" content=\"b\">".repeat(1_000);
    let page = |name: &str, head: &str| text(name, head).into_bytes();
    vec![
        (
            "late",
            answer(html, page("late", &format!("{style}{CLOSED}"))),
            "head: a meta element is beyond the first 524288 bytes",
        ),
        (
            "many",
            answer(html, page("many", &format!("{many}{CLOSED}"))),
            "head: there are more than 1000 meta elements",
        ),
        (
            "long",
            answer(
                html,
                page("long", &format!("<meta name=\"robots\" content=\"{}noindex\">", "x, ".repeat(6_000))),
            ),
            "head: a meta value is longer than 16384 bytes",
        ),
        (
            "cut",
            answer(html, page("cut", &format!("<script>{}</script>{CLOSED}", "x".repeat(1 << 20)))),
            "head: the body was truncated before the end of its head",
        ),
        (
            "gzipped",
            answer(&[html[0], ("Content-Encoding", "gzip")], gzip(&gzip(&page("gzipped", CLOSED)))),
            "body: sent as a page, but it is application/gzip",
        ),
        (
            "pdf",
            answer(html, [b"%PDF-1.7 ", &page("pdf", CLOSED)[..]].concat()),
            "body: sent as a page, but it is application/pdf",
        ),
        (
            "coded",
            answer(&[html[0], ("Content-Encoding", "exi")], noise),
            "body: sent as a page, but it is binary data (Content-Encoding: exi)",
        ),
    ]
}

fn unread_scene(dialect: &str) -> (Scene, String) {
    let mut links = String::new();
    let mut sites = Sites::new();
    for (name, answer, _) in unread() {
        links.extend(["<a href=/w/", name, ">w</a>"]);
        sites = sites.page("a.test", &format!("/w/{name}"), answer);
        sites = sites.page("a.test", &format!("/child/{name}"), Answer::html("ok"));
    }
    let scene = Scene::new(sites.page("a.test", "/", Answer::html(links)));
    let run = scene.crawl().args(["-vv", "--max-body", "1MiB", "--dialect", dialect]).run();
    // A body is cut at 1 MiB.
    run.expect(10);
    let said = run.stdout.clone() + &run.stderr;
    (scene, said)
}

#[test]
fn what_could_not_be_read_is_kept_out_with_its_reason() {
    for dialect in ["hardened", "strictest"] {
        let (scene, said) = unread_scene(dialect);
        let everything = everything(&scene, &said);
        let pages = scene.table("pages");
        let asked = scene.server.pages();
        for (name, _, reason) in unread() {
            let url = format!("{HOST}/w/{name}");
            let page = row(&pages, &url);
            let kept = ["indexed", "archived"].map(|column| page[column] == true);
            assert_eq!(kept, [false; 2], "{name}: {page}");
            assert_eq!(page["unread"], serde_json::json!([reason]), "{name}");
            assert_eq!(page["title"], Value::Null);
            let (part, what) = reason.split_once(": ").expect("a part and what is wrong");
            let source = format!("unread {part}: {what}");
            let because = |directive: &str| serde_json::json!({"directive": directive, "source": source});
            let directives = page["directives"].as_array().expect("a list");
            assert!(directives.contains(&because("noindex")), "{name}: {page}");
            assert!(directives.contains(&because("noarchive")), "{name}: {page}");
            assert_eq!(page["error"] == "mime", part == "body", "{name}: {page}");
            // The links of a page that was read are used: nothing that was read forbids it.
            let is_cut = name == "cut";
            let child = asked.contains(&format!("{HOST}/child/{name}"));
            assert_eq!(child, part == "head" && !is_cut, "{name}");
            let places: Vec<_> = everything
                .iter()
                .filter(|(_, bytes)| has(bytes, marker(name).as_bytes()))
                .map(|(place, _)| place)
                .collect();
            assert!(places.is_empty(), "{name}: its text is in {places:?}");
            let story =
                Crawl::new(["explain"]).args([&url]).args([&scene.out()]).run().expect(0).stdout.clone();
            assert!(story.contains(&source), "{name}: {story}");
        }
        scene.look("audit", &[]).expect(0);
    }
}

#[test]
fn a_dialect_that_closes_nothing_keeps_pages_with_a_long_head() {
    let (scene, _) = unread_scene("rfc9309");
    let pages = scene.table("pages");
    for (name, _, reason) in unread() {
        let page = row(&pages, &format!("{HOST}/w/{name}"));
        let is_head = reason.starts_with("head");
        assert_eq!(
            (&page["indexed"], &page["archived"]),
            (&is_head.into(), &is_head.into()),
            "{name}: {page}"
        );
        assert_eq!(page["unread"], serde_json::json!([reason]), "{name}");
    }
    scene.look("audit", &[]).expect(0);
}
