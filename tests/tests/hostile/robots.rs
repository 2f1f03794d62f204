//! robots.txt that is unreachable, isn't one, or is an attack.

use whole_program::hostile::Expect::{Answers, Asked, AtMost, Fails, Never, NoPages, Robots, Skips};
use whole_program::hostile::http::{answer, page, redirect, text, typed};
use whole_program::hostile::{Ask, Scenario, Serve};

use crate::crawl::{Plan, run};

/// `/robots.txt` with this body; every other path is a page with a link.
fn rules(ask: &Ask, body: impl AsRef<[u8]>) -> Vec<u8> {
    if ask.path == "/robots.txt" { text(body) } else { page("<title>good</title>") }
}

/// `/robots.txt` with this status and field.
fn status(ask: &Ask, status: u16, field: &str) -> Vec<u8> {
    if ask.path == "/robots.txt" { answer(status, &[field], "") } else { page("<title>good</title>") }
}

const CLOSED: &[whole_program::hostile::Expect] =
    &[NoPages, Fails("/", &["robots"]), Robots("defer"), AtMost(1)];

/// Seeds that two lines of rules tell apart.
const TWO: &[&str] = &["/open", "/closed"];

/// What these two seeds come to where `Disallow: /closed` is read.
const READ: &[whole_program::hostile::Expect] =
    &[Answers("/open", 200), Never("/closed"), Skips("/closed", "robots_txt"), Robots("rules")];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::everything("robots-500", "robots", Serve::Answer(|ask| status(ask, 500, "X: y")), CLOSED),
    Scenario::everything("robots-503", "robots", Serve::Answer(|ask| status(ask, 503, "X: y")), CLOSED),
    Scenario::everything(
        "robots-503-retry-after",
        "robots",
        Serve::Answer(|ask| status(ask, 503, "Retry-After: 3600")),
        &[NoPages, Fails("/", &["robots"]), AtMost(1)],
    ),
    Scenario::everything("robots-429", "robots", Serve::Answer(|ask| status(ask, 429, "X: y")), CLOSED),
    Scenario::everything("robots-599", "robots", Serve::Answer(|ask| status(ask, 599, "X: y")), CLOSED),
    Scenario::everything(
        "robots-401",
        "robots",
        Serve::Answer(|ask| status(ask, 401, "WWW-Authenticate: Basic realm=x")),
        &[NoPages, Robots("deny_all"), Skips("robots-401.test/", "robots_txt")],
    ),
    Scenario::everything(
        "robots-403",
        "robots",
        Serve::Answer(|ask| status(ask, 403, "X: y")),
        &[NoPages, Robots("deny_all"), Skips("robots-403.test/", "robots_txt")],
    ),
    Scenario::everything("robots-404", "robots", Serve::Answer(|ask| status(ask, 404, "X: y")), &[Answers("/", 200)]),
    Scenario::everything("robots-410", "robots", Serve::Answer(|ask| status(ask, 410, "X: y")), &[Answers("/", 200)]),
    Scenario::everything(
        "robots-503-then-rules",
        "robots",
        // 429 and 503 pause the host; a second try of this run would come after its time.
        Serve::Answer(|ask| match ask.before {
            0 => status(ask, 503, "Retry-After: 1"),
            _ => rules(ask, "User-agent: *\nDisallow: /"),
        }),
        &[NoPages, AtMost(2)],
    ),
    Scenario::everything(
        "robots-html",
        "robots",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => page("<!doctype html><title>Not found</title><p>Disallow: /"),
            _ => page("<title>good</title>"),
        }),
        // A page for people isn't a rule file: no line of it is a rule.
        &[Answers("/", 200)],
    ),
    Scenario::everything(
        "robots-of-zeros",
        "robots",
        Serve::Answer(|ask| rules(ask, [0; 100_000])),
        &[Answers("/", 200), AtMost(2)],
    ),
    Scenario::everything(
        "robots-is-a-picture",
        "robots",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => typed("image/png", [&b"\x89PNG\r\n\x1a\n"[..], &[0xaa; 5000]].concat()),
            _ => page("<title>good</title>"),
        }),
        &[AtMost(2)],
    ),
    Scenario::everything(
        "robots-one-huge-line",
        "robots",
        Serve::Answer(|ask| rules(ask, format!("User-agent: *\nDisallow: /closed\nDisallow: /{}", "x".repeat(400_000)))),
        READ,
    )
    .seeds(TWO),
    Scenario::everything(
        "robots-over-500-kib",
        "robots",
        Serve::Answer(|ask| {
            rules(ask, format!("User-agent: *\nDisallow: /closed\n{}", "# filler\n".repeat(200_000)))
        }),
        READ,
    )
    .seeds(TWO),
    Scenario::everything(
        "robots-wildcards",
        "robots",
        Serve::Answer(|ask| {
            let torture = format!("Disallow: /{}b$\n", "*a".repeat(500)).repeat(200);
            rules(ask, format!("User-agent: *\n{torture}Disallow: /closed\n"))
        }),
        &[Never("/closed"), Skips("/closed", "robots_txt"), Answers("/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 200)],
    )
    .seeds(&["/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "/closed"]),
    Scenario::everything(
        "robots-fifty-thousand-groups",
        "robots",
        Serve::Answer(|ask| {
            let groups: String = (0..20_000).map(|n| format!("User-agent: r{n}\nDisallow: /\n")).collect();
            rules(ask, format!("User-agent: superrobot\nDisallow: /closed\n{groups}"))
        }),
        READ,
    )
    .seeds(TWO),
    Scenario::everything(
        "robots-with-bom",
        "robots",
        Serve::Answer(|ask| rules(ask, "\u{feff}User-agent: *\nDisallow: /closed\n")),
        READ,
    )
    .seeds(TWO),
    Scenario::everything(
        "robots-in-utf-16",
        "robots",
        Serve::Answer(|ask| {
            let units = "\u{feff}User-agent: *\r\nDisallow: /closed\r\n".encode_utf16();
            rules(ask, units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
        }),
        // No robot must read it (RFC 9309 section 2.2 has UTF-8), but none may be led into the closed part by that.
        &[Never("/closed"), AtMost(2)],
    )
    .seeds(TWO),
    Scenario::everything(
        "robots-old-line-ends",
        "robots",
        Serve::Answer(|ask| rules(ask, "User-agent: *\rDisallow: /closed\r")),
        READ,
    )
    .seeds(TWO),
    Scenario::everything(
        "robots-controls",
        "robots",
        Serve::Answer(|ask| rules(ask, "User-agent: *\nDisallow: /closed\x1b[31m\nDisallow: /closed\n\x1b]0;title\x07: x\nCrawl-delay: \x1b[2J\n")),
        READ,
    )
    .seeds(TWO),
    // Redirects.
    Scenario::everything(
        "robots-redirects-to-itself",
        "robots",
        Serve::Answer(|ask| if ask.path == "/robots.txt" { redirect(302, "/robots.txt") } else { page("x") }),
        &[NoPages, AtMost(2), Robots("deny_all"), Skips("robots-redirects-to-itself.test/", "robots_txt")],
    ),
    Scenario::everything(
        "robots-redirect-loop",
        "robots",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => redirect(301, "/robots2.txt"),
            "/robots2.txt" => redirect(301, "/robots.txt"),
            _ => page("x"),
        }),
        &[Never("/page"), AtMost(3), Robots("deny_all"), Skips("robots-redirect-loop.test/page", "robots_txt")],
    )
    .seeds(&["/page"]),
    Scenario::everything(
        "robots-redirects-for-ever",
        "robots",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/page" => page("x"),
            _ => redirect(302, &format!("/r{}.txt", ask.nth)),
        }),
        &[Never("/page"), AtMost(7), Robots("deny_all"), Skips("robots-redirects-for-ever.test/page", "robots_txt")],
    )
    .seeds(&["/page"]),
    Scenario::everything(
        "robots-redirects-to-a-private-address",
        "address",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => redirect(302, &format!("http://127.0.0.1:{}/robots.txt", ask.secret)),
            _ => page("x"),
        }),
        &[NoPages, AtMost(1), Fails("/", &["robots"]), Robots("127.0.0.1 is a loopback address")],
    ),
    // Another host's own robots.txt would have to judge that, which isn't to be asked for here.
    Scenario::everything(
        "robots-redirects-to-a-private-page",
        "address",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => redirect(302, &format!("http://localhost:{}/rules.txt", ask.secret)),
            _ => page("x"),
        }),
        &[NoPages, AtMost(1), Fails("/", &["robots"]), Robots("is a loopback address")],
    ),
    Scenario::everything(
        "robots-redirects-to-a-file",
        "address",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => redirect(302, "file:///etc/passwd"),
            _ => page("x"),
        }),
        &[NoPages, AtMost(1), Robots("deny_all"), Skips("robots-redirects-to-a-file.test/", "robots_txt")],
    ),
    Scenario::everything(
        "robots-redirects-without-location",
        "robots",
        Serve::Answer(|ask| if ask.path == "/robots.txt" { answer(302, &[], "") } else { page("x") }),
        &[NoPages, AtMost(1), Robots("deny_all"), Skips("robots-redirects-without-location.test/", "robots_txt")],
    ),
    Scenario::everything(
        "robots-redirects-three-times",
        "robots",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => redirect(301, "/r1"),
            "/r1" => redirect(302, "/r2"),
            "/r2" => redirect(307, "/r3"),
            "/r3" => text("User-agent: *\nDisallow: /closed\n"),
            _ => page("x"),
        }),
        READ,
    )
    .seeds(TWO),
    // Asking for time.
    Scenario::everything(
        "crawl-delay-of-a-day",
        "pace",
        Serve::Answer(|ask| rules(ask, "User-agent: *\nCrawl-delay: 86400\n")),
        &[NoPages, Asked("/robots.txt", 1)],
    ),
    Scenario::everything(
        "crawl-delay-huge",
        "pace",
        Serve::Answer(|ask| rules(ask, format!("User-agent: *\nCrawl-delay: {}\n", "9".repeat(400)))),
        &[AtMost(2)],
    ),
    Scenario::everything(
        "crawl-delay-absurd",
        "pace",
        Serve::Answer(|ask| rules(ask, "User-agent: *\nCrawl-delay: -5\nCrawl-delay: NaN\nCrawl-delay: 1e999\nCrawl-delay: inf\n")),
        &[AtMost(2)],
    ),
];

#[test]
fn hostile_robots_txt() {
    // A host that asks for more than an hour is skipped: a limit, which has an exit code of its own.
    run(&Plan { exit: 10, ..Plan::new("robots", SCENARIOS) });
}
