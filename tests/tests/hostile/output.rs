//! Text that wants to steer what reads it: terminals, spreadsheets, archives, file systems. `judge::hygiene` looks at every output of
//! every group; here is the text that it must not find.

use whole_program::hostile::Expect::{Answers, AtMost, Fails, Never, Title};
use whole_program::hostile::http::{answer, page, redirect, typed};
use whole_program::hostile::{Scenario, Serve};

use crate::crawl::{Plan, run};

const STEERING: &str = "\x1b[31m\x1b]0;pwned\x07\u{9b}2J\u{202e}gnp.exe\x08\x7f";

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::pages(
        "escapes-in-title",
        "output",
        Serve::Answer(|_| page(format!("<title>{STEERING}good</title><a href='/x'>{STEERING}</a>"))),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "escapes-as-entities",
        "output",
        Serve::Answer(|_| page("<title>&#27;[31mgood&#x9b;2J&#x202e;&#8;</title>")),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "escapes-in-metas",
        "output",
        Serve::Answer(|_| page(format!("<html lang='{STEERING}'><meta name=description content='{STEERING}'><meta name=keywords content='a,{STEERING}'><meta name=robots content='{STEERING}'><link rel=canonical href='/{STEERING}'>"))),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "escapes-in-links",
        "output",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page(format!("<a rel='{STEERING}' href='/{STEERING}'>x</a><a href='foo:{STEERING}'>y</a><a href='http://{STEERING}/'>z</a>")),
            _ => page("x"),
        }),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "escapes-in-fields",
        "output",
        Serve::Answer(|_| answer(200, &[
            "Content-Type: text/html; \u{9b}31m\u{202e}",
            "ETag: \"\u{9b}2J\u{202e}\"",
            "Last-Modified: \u{9b}31m",
            "X-Robots-Tag: \u{9b}31m, \u{202e}: noarchive",
        ], "x")),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "escapes-in-redirects",
        "output",
        Serve::Answer(|_| redirect(302, "foo:\u{9b}31m\u{202e}gnp")),
        &[Answers("/", 302)],
    ),
    Scenario::everything(
        "escapes-in-robots",
        "output",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => whole_program::hostile::http::text(format!("# {STEERING}\nUser-agent: *\nDisallow: /closed{STEERING}\nDisallow: /closed\nSitemap: {STEERING}\n{STEERING}: x\n")),
            _ => page("x"),
        }),
        &[Answers("/", 200), Never("/closed")],
    )
    .seeds(&["/", "/closed"]),
    Scenario::pages(
        "formulas",
        "output",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page("<title>=HYPERLINK(\"http://x.test/\",\"x\")</title><meta name=description content='@SUM(1)'><meta name=keywords content='+1,-2,=3'><a href='/2'>=cmd|' /C calc'!A0</a>"),
            "/2" => page("<title>-2+3</title><a rel='=1' href='/3'>+1</a>"),
            "/3" => page("<title>&#9;=1+1</title><a href='/4'>@x</a>"),
            _ => page("<title>&#13;=1</title>"),
        }),
        &[Answers("/", 200), Answers("/4", 200)],
    ),
    Scenario::pages(
        "line-ends-in-fields",
        "output",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-A: b\rWARC-Injected: yes\r\n folded\r\nContent-Length: 19\r\n\r\n<title>good</title>")
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "line-ends-in-links",
        "output",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page("<a href='/a%0d%0aWARC-Injected:%20yes'>x</a><a href='/b&#13;&#10;WARC-Injected: yes'>y</a>"),
            _ => page("x"),
        }),
        &[Answers("/a%0d%0aWARC-Injected:%20yes", 200), AtMost(4)],
    ),
    Scenario::pages(
        "line-ends-in-reason",
        "output",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\rWARC-Injected: yes\r\nContent-Type: text/html\r\nContent-Length: 19\r\n\r\n<title>good</title>")
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "a-warc-record-as-page",
        "output",
        Serve::Answer(|_| page("\r\n\r\nWARC/1.1\r\nWARC-Type: response\r\nWARC-Injected: yes\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n")),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "names-of-files",
        "output",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => answer(
                200,
                &["Content-Type: text/html", "Content-Disposition: attachment; filename=\"../../../../tmp/pwned\""],
                "<a href='/..%2f..%2f..%2ftmp%2fpwned'>x</a><a href='/%2e%2e/%2e%2e/pwned'>y</a><a href='/CON'>z</a><a href='/a%00b'>0</a><a href='/....//....//pwned'>d</a>",
            ),
            _ => answer(200, &["Content-Type: text/html", "Content-Disposition: attachment; filename=/etc/passwd"], "x"),
        }),
        &[Answers("/", 200), Answers("/pwned", 200), Answers("/CON", 200)],
    ),
    Scenario::pages(
        "bidi-in-text",
        "output",
        Serve::Answer(|_| page("<title>invoice\u{202e}fdp.exe\u{2066}\u{200f}</title><a href='/x'>\u{202e}evil</a>")),
        &[Title("/", "invoice\u{202e}fdp.exe\u{2066}\u{200f}")],
    ),
    Scenario::pages(
        "json-in-text",
        "output",
        Serve::Answer(|_| page("<title>\"},{\"url\":\"http://x.test/\\u0000\u{2028}\u{2029}</title>")),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "a-type-with-line-ends",
        "output",
        Serve::Answer(|_| typed("text/html;x=\"\t\"", "<title>good</title>")),
        &[Title("/", "good")],
    ),
];

#[test]
fn hostile_text() {
    let crawled = run(&Plan::new("output", SCENARIOS));
    assert!(!std::path::Path::new("/tmp/pwned").exists());
    drop(crawled);
}
