//! Header sections: too large, too many, too often, absurd.

use std::time::Duration;

use whole_program::hostile::Expect::{Answers, AtMost, Charset, Fails, Links, Never, Skips, Title, Waits};
use whole_program::hostile::http::{answer, page, redirect, typed};
use whole_program::hostile::{Scenario, Serve};

use crate::crawl::{Plan, run};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::pages(
        "endless-header",
        "limit",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nX-Endless: ")?;
            w.flood([b'a'; 16384])
        }),
        &[Fails("/", &["too_large"])],
    ),
    Scenario::pages(
        "endless-fields",
        "limit",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\n")?;
            w.flood("X-More: and more\r\n".repeat(1000))
        }),
        &[Fails("/", &["too_large"])],
    ),
    Scenario::pages(
        "a-thousand-fields",
        "limit",
        Serve::Wire(|w| {
            w.request()?;
            w.send(format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-More: and more\r\n".repeat(1000)))
        }),
        &[Fails("/", &["too_large"])],
    ),
    Scenario::pages(
        "a-field-of-70-kb",
        "limit",
        Serve::Answer(|_| answer(200, &[&format!("X-Large: {}", "a".repeat(70_000))], "body")),
        &[Fails("/", &["too_large"])],
    ),
    Scenario::pages(
        "a-field-of-60-kb",
        "limit",
        Serve::Answer(|_| {
            answer(
                200,
                &["Content-Type: text/html", &format!("X-Large: {}", "a".repeat(60_000))],
                "<title>good</title>",
            )
        }),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "huge-status-line",
        "limit",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 ")?;
            w.flood([b'O'; 16384])
        }),
        &[Fails("/", &["too_large"])],
    ),
    Scenario::pages(
        "reason-of-30-kb",
        "limit",
        Serve::Wire(|w| {
            w.request()?;
            let reason = "O".repeat(30_000);
            w.send(format!("HTTP/1.1 200 {reason}\r\nContent-Type: text/html\r\nContent-Length: 19\r\n\r\n<title>good</title>"))
        }),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "flood-of-100",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.flood("HTTP/1.1 100 Continue\r\n\r\n".repeat(100))
        }),
        &[Fails("/", &["too_large"])],
    ),
    Scenario::pages(
        "flood-of-early-hints",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            loop {
                w.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")?;
                w.wait(Duration::from_millis(5));
            }
        }),
        &[Fails("/", &["timeout", "too_large", "protocol"])],
    ),
    Scenario::pages(
        "early-hints",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 103 Early Hints\r\nLink: </hinted>; rel=next\r\n\r\n")?;
            w.send(answer(200, &["Content-Type: text/html", "Connection: close"], "<title>good</title>"))
        }),
        &[Answers("/", 200), Title("/", "good"), Links("/", 0)],
    ),
    Scenario::pages(
        "switching-protocols",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nabc",
            )?;
            w.hold()
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "status-204",
        "framing",
        Serve::Answer(|_| b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        &[Answers("/", 204)],
    ),
    Scenario::pages(
        "status-204-with-a-body",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")
        }),
        &[Answers("/", 204)],
    ),
    Scenario::pages(
        "status-304-unasked",
        "framing",
        Serve::Answer(|_| b"HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n".to_vec()),
        &[Fails("/", &["http_304"])],
    ),
    Scenario::pages(
        "status-205",
        "framing",
        Serve::Answer(|_| b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n".to_vec()),
        &[Answers("/", 205)],
    ),
    Scenario::pages(
        "status-000",
        "framing",
        Serve::Answer(|_| b"HTTP/1.1 000 What\r\n\r\n".to_vec()),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "status-42",
        "framing",
        Serve::Answer(|_| b"HTTP/1.1 42 What\r\n\r\n".to_vec()),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "status-999",
        "framing",
        Serve::Answer(|_| answer(999, &[], "denied")),
        &[Fails("/", &["http_999"])],
    ),
    Scenario::pages(
        "status-666",
        "framing",
        Serve::Answer(|_| answer(666, &[], "denied")),
        &[Fails("/", &["http_666"])],
    ),
    Scenario::pages(
        "partial-content-unasked",
        "framing",
        Serve::Answer(|_| {
            answer(206, &["Content-Type: text/html", "Content-Range: bytes 0-18/9999"], "<title>good</title>")
        }),
        &[Fails("/", &["http_206"])],
    ),
    // Cookies and credentials.
    Scenario::pages(
        "cookies",
        "cookie",
        Serve::Answer(|ask| {
            let fields = [
                "Content-Type: text/html",
                "Set-Cookie: id=1; Path=/",
                "Set-Cookie: all=1; Domain=test; Path=/",
            ];
            answer(200, &fields, if ask.path == "/" { "<a href=/next>next</a>" } else { "next" })
        }),
        &[Answers("/", 200), Answers("/next", 200)],
    ),
    Scenario::pages(
        "cookie-flood",
        "cookie",
        Serve::Answer(|ask| {
            let cookies: Vec<String> =
                (0..90).map(|n| format!("Set-Cookie: c{n}={}", "x".repeat(500))).collect();
            let mut fields: Vec<&str> = cookies.iter().map(String::as_str).collect();
            fields.push("Content-Type: text/html");
            answer(200, &fields, if ask.path == "/" { "<a href=/next>next</a>" } else { "next" })
        }),
        &[Answers("/", 200), Answers("/next", 200)],
    ),
    Scenario::pages(
        "asks-for-a-password",
        "cookie",
        Serve::Answer(|_| answer(401, &["WWW-Authenticate: Basic realm=\"x\""], "who?")),
        &[Fails("/", &["http_401"]), AtMost(2)],
    ),
    Scenario::pages(
        "userinfo-in-links",
        "cookie",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page(format!("<a href='http://ann:secret@{}/next'>x</a>", ask.host)),
            _ => page("<title>next</title>"),
        }),
        &[Answers("/next", 200)],
    ),
    Scenario::pages(
        "userinfo-in-redirects",
        "cookie",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => redirect(302, &format!("http://ann:secret@{}/next", ask.host)),
            _ => page("<title>next</title>"),
        }),
        &[Answers("/next", 200)],
    ),
    // Content-Type.
    Scenario::pages(
        "no-type",
        "text",
        Serve::Answer(|_| answer(200, &[], "<!doctype html><title>good</title>")),
        &[Title("/", "good")],
    ),
    Scenario::pages(
        "empty-type",
        "text",
        Serve::Answer(|_| typed("", "<html><title>good</title>")),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "type-without-slash",
        "text",
        Serve::Answer(|_| typed("html", "<html><title>x</title>")),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "type-of-20-kb",
        "text",
        Serve::Answer(|_| typed(&format!("text/html; x={}", "y".repeat(20_000)), "<title>good</title>")),
        &[Title("/", "good")],
    ),
    Scenario::pages(
        "type-in-capitals",
        "text",
        Serve::Answer(|_| typed("TEXT/HTML ;CHARSET=\"UTF-8\"", "<title>gööd</title>")),
        &[Title("/", "gööd"), Charset("/", "utf-8")],
    ),
    Scenario::pages(
        "two-types",
        "text",
        Serve::Answer(|_| {
            answer(200, &["Content-Type: text/html", "Content-Type: image/png"], "<title>good</title>")
        }),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "type-with-bytes",
        "text",
        Serve::Answer(|_| {
            let mut bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\nContent-Type: text/html; charset=\xff\xfe\x9b31m\r\n\r\n".to_vec();
            bytes.extend_from_slice(b"<title>good</title>");
            bytes
        }),
        &[Answers("/", 200)],
    ),
    Scenario::pages(
        "script-as-html",
        "text",
        Serve::Answer(|_| typed("application/javascript", "document.write('<a href=/no>no</a>')")),
        &[Answers("/", 200), Links("/", 0), Never("/no")],
    ),
    Scenario::pages(
        "html-as-bytes",
        "text",
        Serve::Answer(|_| typed("application/octet-stream", "<html><a href=/no>no</a>")),
        &[Answers("/", 200), Links("/", 0), Never("/no")],
    ),
    // What lies in fields.
    Scenario::pages(
        "link-header-flood",
        "limit",
        Serve::Answer(|_| {
            let links: Vec<String> = (0..1500).map(|n| format!("</l{n}>; rel=preload")).collect();
            answer(
                200,
                &["Content-Type: text/html", &format!("Link: {}", links.join(", "))],
                "<title>good</title>",
            )
        }),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "refresh-header-to-itself",
        "trap",
        Serve::Answer(|_| {
            answer(200, &["Content-Type: text/html", "Refresh: 0; url=/"], "<title>good</title>")
        }),
        &[Answers("/", 200), AtMost(2)],
    ),
    // Push-back.
    Scenario::pages(
        "status-503-for-ever",
        "pace",
        Serve::Answer(|_| answer(503, &[], "")),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "status-503-that-breaks-off",
        "pace",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 503 Busy\r\nContent-Length: 999\r\nConnection: close\r\n\r\nbusy")
        }),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "status-429-for-ever",
        "pace",
        Serve::Answer(|_| answer(429, &[], "")),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-an-hour",
        "pace",
        Serve::Answer(|_| answer(503, &["Retry-After: 3600"], "")),
        &[Waits("retry-after"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-with-200",
        "pace",
        Serve::Answer(|_| {
            answer(200, &["Retry-After: 3600", "Content-Type: text/html"], "<a href=/next>x</a>")
        }),
        &[Answers("/", 200), Waits("retry-after"), Never("/next")],
    ),
    Scenario::pages(
        "retry-after-two-seconds",
        "pace",
        Serve::Answer(|ask| match ask.before {
            0 => answer(425, &["Retry-After: 2"], ""),
            _ => page("<title>good</title>"),
        }),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "retry-after-huge",
        "pace",
        Serve::Answer(|_| answer(503, &["Retry-After: 99999999999999999999999999"], "")),
        &[Waits("retry-after"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-year-9999",
        "pace",
        Serve::Answer(|_| answer(429, &["Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"], "")),
        &[Waits("retry-after"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-negative",
        "pace",
        Serve::Answer(|_| answer(503, &["Retry-After: -5"], "")),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-garbage",
        "pace",
        Serve::Answer(|_| answer(503, &["Retry-After: soon \x1b[31m"], "")),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-in-the-past",
        "pace",
        Serve::Answer(|_| answer(503, &["Retry-After: Sat, 01 Jan 2000 00:00:00 GMT"], "")),
        &[Waits("back-off"), AtMost(2)],
    ),
    // No value of the field makes a host be asked sooner than without it.
    Scenario::pages(
        "retry-after-zero",
        "pace",
        Serve::Answer(|_| answer(503, &["Retry-After: 0"], "")),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-shorter-than-the-back-off",
        "pace",
        Serve::Answer(|_| answer(429, &["Retry-After: 2"], "")),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "retry-after-in-two-lines",
        "pace",
        Serve::Answer(|_| answer(503, &["Retry-After: 1", "Retry-After: 3600"], "")),
        &[Waits("retry-after"), AtMost(2)],
    ),
    // An hour by the server's clock, which is years behind ours: the date alone is long past.
    Scenario::pages(
        "retry-after-by-the-servers-clock",
        "pace",
        Serve::Answer(|_| {
            let date = "Date: Sat, 01 Jan 2000 00:00:00 GMT";
            answer(503, &[date, "Retry-After: Sat, 01 Jan 2000 01:00:00 GMT"], "")
        }),
        &[Waits("retry-after"), AtMost(2)],
    ),
    // Ten seconds by the server's clock, which is ahead of ours by a century: no wait of a week.
    Scenario::pages(
        "retry-after-ahead-of-our-clock",
        "pace",
        Serve::Answer(|_| {
            let date = "Date: Thu, 01 Jan 2126 00:00:00 GMT";
            answer(503, &[date, "Retry-After: Thu, 01 Jan 2126 00:00:10 GMT"], "")
        }),
        &[Waits("back-off"), AtMost(2)],
    ),
    Scenario::pages(
        "errors-500-on-every-page",
        "pace",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page((0..40).map(|n| format!("<a href=/e{n}>{n}</a>")).collect::<String>()),
            _ => answer(500, &[], "broken"),
        }),
        &[Answers("/", 200), Links("/", 40), AtMost(2 + 3 * 40)],
    ),
    Scenario::pages(
        "errors-404-on-every-page",
        "trap",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page((0..40).map(|n| format!("<a href=/e{n}>{n}</a>")).collect::<String>()),
            _ => answer(404, &[], "gone"),
        }),
        &[Answers("/", 200), Fails("/e0", &["http_404"]), Fails("/e39", &["http_404"]), AtMost(42)],
    ),
    Scenario::pages(
        "url-of-3-kb",
        "limit",
        Serve::Answer(|_| page(format!("<a href='/long{}'>x</a>", "x".repeat(3000)))),
        &[Answers("/", 200), Never("/long"), Skips("/longxxx", "too_long")],
    ),
];

#[test]
fn hostile_header_sections() {
    // Hosts that ask for an hour still have URLs.
    // After the second failed connection in a row a host pauses for a minute: with one retry, none waits for it.
    let options = &["--timeout", "2s", "--adaptive", "1", "--retries", "1"];
    run(&Plan { exit: 13, options, ..Plan::new("head", SCENARIOS) });
}
