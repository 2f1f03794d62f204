//! Redirects: loops, chains, targets that aren't pages.

use whole_program::hostile::Expect::{Answers, Asked, AtMost, Fails, Never, Skips};
use whole_program::hostile::http::{answer, page, redirect};
use whole_program::hostile::{Scenario, Serve};

use crate::crawl::{Plan, run};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::pages(
        "redirects-to-itself",
        "redirect",
        Serve::Answer(|_| redirect(302, "/")),
        &[Fails("/", &["redirect_loop"]), Asked("/", 1)],
    ),
    Scenario::pages(
        "redirect-loop-of-two",
        "redirect",
        Serve::Answer(|ask| redirect(301, if ask.path == "/" { "/other" } else { "/" })),
        &[Answers("/", 301), Fails("/other", &["redirect_loop"]), AtMost(3)],
    ),
    Scenario::pages(
        "redirect-loop-of-three",
        "redirect",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => redirect(302, "/b"),
            "/b" => redirect(303, "/c"),
            _ => redirect(307, "/b"),
        }),
        &[Fails("/c", &["redirect_loop"]), AtMost(4)],
    ),
    Scenario::pages(
        "redirects-for-ever",
        "redirect",
        Serve::Answer(|ask| {
            let n: u32 = ask.path.trim_start_matches("/hop").parse().unwrap_or(0);
            redirect(302, &format!("/hop{}", n + 1))
        }),
        // Ten are followed.
        &[
            Asked("/hop10", 1),
            Never("/hop11"),
            Fails("/hop10", &["too_many_redirects"]),
            Skips("/hop11", "too_many_redirects"),
        ],
    ),
    Scenario::pages(
        "redirects-nine-times",
        "redirect",
        Serve::Answer(|ask| match ask.path.trim_start_matches("/hop").parse().unwrap_or(0) {
            9 => page("<title>there</title>"),
            n => redirect(302, &format!("/hop{}", n + 1)),
        }),
        &[Answers("/hop9", 200)],
    ),
    Scenario::pages(
        "redirect-back-to-a-seen-page",
        "redirect",
        // No loop: the front page is an answer.
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => page("<a href=/moved>moved</a>"),
            _ => redirect(301, "/"),
        }),
        &[Answers("/", 200), Answers("/moved", 301), Asked("/", 1)],
    ),
    Scenario::pages(
        "redirects-to-a-file",
        "redirect",
        Serve::Answer(|_| redirect(302, "file:///etc/passwd")),
        &[Answers("/", 302), Skips("file:///etc/passwd", "not_http"), AtMost(2)],
    ),
    Scenario::pages(
        "redirects-to-data",
        "redirect",
        Serve::Answer(|_| redirect(302, "data:text/html,<a href=/no>x</a>")),
        &[Answers("/", 302), Never("/no"), AtMost(2)],
    ),
    Scenario::pages(
        "redirects-to-script",
        "redirect",
        Serve::Answer(|_| redirect(302, "javascript:alert(1)")),
        &[Answers("/", 302), Skips("javascript:alert(1)", "not_http"), AtMost(2)],
    ),
    Scenario::pages(
        "redirects-to-gopher",
        "redirect",
        Serve::Answer(|_| redirect(302, "gopher://127.0.0.1:25/_HELO")),
        &[Answers("/", 302), AtMost(2)],
    ),
    Scenario::pages(
        "redirects-nowhere",
        "redirect",
        Serve::Answer(|_| answer(302, &[], "")),
        &[Fails("/", &["no_location"]), AtMost(2)],
    ),
    Scenario::pages("redirects-to-nothing", "redirect", Serve::Answer(|_| redirect(302, "")), &[AtMost(2)]),
    Scenario::pages(
        "redirects-to-garbage",
        "redirect",
        Serve::Answer(|_| redirect(302, "http://[::bad/\u{202e}")),
        &[Answers("/", 302), AtMost(2)],
    ),
    Scenario::pages(
        "redirects-with-a-control-character",
        "redirect",
        Serve::Answer(|_| redirect(302, "/next\x7f")),
        &[Fails("/", &["protocol"]), Never("/next")],
    ),
    Scenario::pages(
        "two-locations",
        "redirect",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => answer(302, &["Location: /first", "Location: /second"], ""),
            _ => page("x"),
        }),
        &[Answers("/", 302), Never("/second")],
    ),
    Scenario::pages(
        "location-of-60-kb",
        "redirect",
        Serve::Answer(|_| redirect(302, &format!("/{}", "x".repeat(60_000)))),
        &[Answers("/", 302), Never("/xx"), Skips("/xxx", "too_long")],
    ),
    Scenario::pages(
        "location-with-bytes",
        "redirect",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/" => b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /caf\xe9\r\n\r\n".to_vec(),
            _ => page("x"),
        }),
        &[Answers("/", 302), AtMost(3)],
    ),
    Scenario::pages(
        "status-300",
        "redirect",
        Serve::Answer(|_| redirect(300, "/choice")),
        &[Answers("/", 300), AtMost(3)],
    ),
    Scenario::pages(
        "status-305",
        "redirect",
        Serve::Answer(|ask| redirect(305, &format!("http://127.0.0.1:{}/", ask.secret))),
        &[Answers("/", 305), AtMost(2)],
    ),
    Scenario::pages(
        "redirects-with-a-new-session-each-time",
        "redirect",
        Serve::Answer(|ask| redirect(302, &format!("/?session={}", ask.nth))),
        &[AtMost(13)],
    ),
    Scenario::pages(
        "refresh-loop",
        "redirect",
        Serve::Answer(|ask| {
            page(format!(
                "<meta http-equiv=refresh content='0;url={}'>",
                if ask.path == "/" { "/b" } else { "/" }
            ))
        }),
        &[Answers("/", 200), Answers("/b", 200), AtMost(3)],
    ),
    Scenario::pages(
        "redirects-to-another-port",
        "address",
        Serve::Answer(|ask| redirect(302, &format!("http://{}:{}/", ask.host, ask.secret))),
        // The other port is another origin: its robots.txt comes first, and its server sees the port that was asked for.
        &[Answers("/", 302)],
    ),
];

#[test]
fn hostile_redirects() {
    // Chains of redirects end at a limit.
    run(&Plan { exit: 10, ..Plan::new("redirects", SCENARIOS) });
}
