//! Connections that go wrong: silence, drips, resets, endings at every stage, and what isn't HTTP.

use std::time::Duration;

use whole_program::hostile::Expect::{
    Answers, Asked, AtMost, Cut, Fails, Links, Never, NoPages, NoPause, Robots, Settled, Skips, Title,
};
use whole_program::hostile::http::{answer, open_head, page};
use whole_program::hostile::{Scenario, Serve};

use crate::crawl::{Plan, run};

const SOON: Duration = Duration::from_millis(50);

/// A page that the crawl must get: its link is asked for too.
const GOOD: &str = "<title>good</title><a href=/next>next</a>";

pub(crate) const SCENARIOS: &[Scenario] = &[
    // Silence.
    Scenario::pages(
        "silent-after-accept",
        "deadline",
        Serve::Wire(|w| w.hold()),
        &[Fails("/", &["timeout"])],
    ),
    Scenario::everything(
        "silent-from-the-start",
        "deadline",
        Serve::Wire(|w| w.hold()),
        &[NoPages, Fails("/", &["robots"]), Robots("defer")],
    ),
    Scenario::pages(
        "silent-after-request",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.hold()
        }),
        // The first try and two more.
        &[Fails("/", &["timeout"]), Asked("/", 3)],
    ),
    Scenario::pages(
        "silent-in-head",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Ty")?;
            w.hold()
        }),
        &[Fails("/", &["timeout"])],
    ),
    Scenario::pages(
        "silent-in-body",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<html>")?;
            w.hold()
        }),
        &[Fails("/", &["timeout"])],
    ),
    Scenario::everything(
        "black-hole",
        "deadline",
        Serve::BlackHole,
        &[NoPages, Fails("/", &["timeout"]), Robots("defer")],
    ),
    Scenario::everything(
        "nobody",
        "framing",
        Serve::Nobody,
        &[NoPages, Fails("/", &["connection"]), Robots("defer")],
    ),
    Scenario::everything("no-name", "framing", Serve::NoName, &[Fails("/", &["dns"]), Robots("defer")]),
    // Drips.
    Scenario::pages(
        "drips-status-line",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.drip("HTTP/1.1 200 OK ".repeat(100), SOON)
        }),
        &[Fails("/", &["timeout", "protocol"])],
    ),
    Scenario::pages(
        "drips-header",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\n")?;
            w.drip("X-Slow: lorem ipsum\r\n".repeat(100), SOON)
        }),
        &[Fails("/", &["timeout"])],
    ),
    Scenario::pages(
        "drips-body",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
            w.drip([b'x'; 10_000], SOON)
        }),
        &[Fails("/", &["timeout"])],
    ),
    Scenario::pages(
        "drips-chunks",
        "deadline",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            w.drip("1\r\nx\r\n".repeat(10_000), SOON)
        }),
        &[Fails("/", &["timeout"])],
    ),
    Scenario::everything(
        "drips-robots",
        "robots",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")?;
            w.drip("Disallow: /nothing\n".repeat(1000), SOON)
        }),
        &[NoPages, Fails("/", &["robots"]), Robots("defer")],
    ),
    // Resets and endings.
    Scenario::pages("reset-at-accept", "framing", Serve::Wire(|w| w.reset()), &[Fails("/", &["connection"])]),
    Scenario::pages(
        "reset-after-request",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.reset()
        }),
        &[Fails("/", &["connection"]), Asked("/", 3)],
    ),
    Scenario::pages(
        "reset-in-head",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Le")?;
            w.wait(SOON);
            w.reset()
        }),
        &[Fails("/", &["connection"])],
    ),
    Scenario::pages(
        "reset-in-body",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<html>")?;
            w.wait(SOON);
            w.reset()
        }),
        &[Fails("/", &["truncated"]), Asked("/", 3)],
    ),
    Scenario::everything(
        "reset-robots",
        "robots",
        Serve::Wire(|w| {
            w.request()?;
            w.reset()
        }),
        &[NoPages, Fails("/", &["robots"]), Robots("defer")],
    ),
    Scenario::pages(
        "closes-after-request",
        "framing",
        Serve::Wire(|w| w.request().map(drop)),
        &[Fails("/", &["connection"])],
    ),
    Scenario::pages(
        "half-closes-in-body",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<html>")?;
            w.half_close()?;
            w.hold()
        }),
        &[Fails("/", &["truncated"])],
    ),
    Scenario::pages(
        "half-closes-before-answering",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.half_close()?;
            w.hold()
        }),
        &[Fails("/", &["connection"])],
    ),
    Scenario::pages(
        "works-at-the-third-try",
        "framing",
        Serve::Wire(|w| {
            let ask = w.request()?;
            if w.nth < 2 { w.reset() } else { w.send(answer(200, &["Connection: close"], ask.path)) }
        }),
        &[Answers("/", 200), Asked("/", 3)],
    ),
    // Kept connections.
    Scenario::pages(
        "kept-connection-closed",
        "stale",
        Serve::Wire(|w| {
            // Promises to keep the connection, and closes it with the answer.
            let ask = w.request()?;
            w.send(page(if ask.path == "/" { GOOD } else { "<title>next</title>" }))
        }),
        &[Answers("/", 200), Answers("/next", 200), Asked("/next", 1)],
    ),
    Scenario::pages(
        "kept-connection-dies-at-next-request",
        "stale",
        Serve::Wire(|w| {
            let ask = w.request()?;
            w.send(page(if ask.path == "/" { GOOD } else { "<title>next</title>" }))?;
            w.request().map(drop)
        }),
        &[Answers("/", 200), Answers("/next", 200), Title("/next", "next")],
    ),
    Scenario::pages(
        "garbage-after-answer",
        "stale",
        Serve::Wire(|w| {
            let ask = w.request()?;
            w.send(page(if ask.path == "/" { GOOD } else { "<title>next</title>" }))?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsmugg\0\x01\x02")?;
            w.hold()
        }),
        &[Answers("/", 200), Title("/", "good"), Answers("/next", 200), Title("/next", "next")],
    ),
    Scenario::pages(
        "answers-before-asked",
        "framing",
        Serve::Wire(|w| {
            w.send(page("<title>early</title>"))?;
            w.hold()
        }),
        // A client that looks before it asks calls it an error; one that asks at once can't tell.
        &[Settled("/")],
    ),
    // Lengths that lie.
    Scenario::pages(
        "length-too-long",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\nConnection: close\r\n\r\n<html>short")
        }),
        &[Fails("/", &["truncated"])],
    ),
    Scenario::pages(
        "length-too-short",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 20\r\n\r\n<title>good</title>.<a href=/smuggled>x</a>")
        }),
        &[Answers("/", 200), Title("/", "good"), Links("/", 0)],
    ),
    Scenario::pages(
        "two-lengths",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\nhello")?;
            w.hold()
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "negative-length",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello")
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "length-of-2-to-the-64",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nhello")
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "length-of-8-exabytes",
        "body",
        Serve::Wire(|w| {
            w.request()?;
            w.send(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9223372036854775806\r\n\r\n",
            )?;
            w.flood([b' '; 65536])
        }),
        &[Answers("/", 200), Cut("/", "wire")],
    ),
    Scenario::pages(
        "length-and-chunked",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n13\r\n<title>good</title>\r\n0\r\n\r\n")
        }),
        // RFC 9112 section 6.3: Transfer-Encoding wins, or the message is refused.
        &[Answers("/", 200), Title("/", "good")],
    ),
    // Chunks.
    Scenario::pages(
        "bad-chunk-size",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n")
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "chunk-of-16-exabytes",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello")
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "chunks-without-end",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        }),
        &[Fails("/", &["truncated"])],
    ),
    Scenario::pages(
        "chunk-extensions",
        "limit",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")?;
            w.flood("a=b;".repeat(4096))
        }),
        &[Fails("/", &["truncated", "protocol", "too_large"])],
    ),
    Scenario::pages(
        "chunks-of-one-byte",
        "body",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            w.send("1\r\n \r\n".repeat(100_000))?;
            w.send("13\r\n<title>good</title>\r\n0\r\n\r\n")
        }),
        &[Answers("/", 200), Title("/", "good")],
    ),
    Scenario::pages(
        "trailers-without-end",
        "limit",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")?;
            w.flood("X-Trailer: aaaaaaaaaaaaaaaaaaaa\r\n".repeat(500))
        }),
        &[Fails("/", &["truncated", "protocol", "too_large"])],
    ),
    // Bodies without an end.
    Scenario::pages(
        "endless-body",
        "body",
        Serve::Wire(|w| {
            w.request()?;
            w.send(open_head(&[]))?;
            w.flood(b"<p>endless</p>".repeat(5000))
        }),
        &[Answers("/", 200), Cut("/", "wire")],
    ),
    Scenario::pages(
        "endless-chunks",
        "body",
        Serve::Wire(|w| {
            w.request()?;
            w.send(open_head(&["Transfer-Encoding: chunked"]))?;
            w.flood([b"8000\r\n".to_vec(), vec![b' '; 0x8000], b"\r\n".to_vec()].concat())
        }),
        &[Answers("/", 200), Cut("/", "wire")],
    ),
    Scenario::everything(
        "endless-robots",
        "robots",
        Serve::Wire(|w| {
            let ask = w.request()?;
            if ask.path != "/robots.txt" {
                return w.send(answer(200, &["Connection: close"], ask.path));
            }
            w.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /closed\n")?;
            w.flood("Disallow: /filler\n".repeat(4000))
        }),
        // The first 500 KiB are used (RFC 9309 section 2.5).
        &[Robots("rules"), Answers("/", 200), Skips("/closed", "robots_txt"), Never("/closed")],
    )
    .seeds(&["/", "/closed"]),
    Scenario::pages(
        "error-with-endless-body",
        "body",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 404 Not Found\r\n\r\n")?;
            w.flood([b' '; 65536])
        }),
        &[Fails("/", &["http_404"]), AtMost(2)],
    ),
    Scenario::pages(
        "redirect-with-endless-body",
        "body",
        Serve::Wire(|w| {
            let ask = w.request()?;
            if ask.path == "/to" {
                return w.send(answer(200, &["Connection: close"], "there"));
            }
            w.send("HTTP/1.1 302 Found\r\nLocation: /to\r\n\r\n")?;
            w.flood([b' '; 65536])
        }),
        &[Answers("/", 302), Answers("/to", 200)],
    ),
    // What isn't HTTP.
    Scenario::pages(
        "http-0.9",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("<html><title>nine</title></html>")
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "garbage",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send([0x00, 0xff, 0x1b, 0x5b, 0x32, 0x4a, 0x80].repeat(2000))
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::everything(
        "garbage-as-robots",
        "robots",
        Serve::Wire(|w| {
            w.request()?;
            w.send([0xff; 9000])
        }),
        &[NoPages, Fails("/", &["robots"]), Robots("defer")],
    ),
    Scenario::pages(
        "mail-server",
        "framing",
        Serve::Wire(|w| {
            w.send("220 mail.test ESMTP\r\n")?;
            w.request()?;
            w.send("500 what?\r\n")
        }),
        &[Fails("/", &["protocol", "connection"])],
    ),
    Scenario::pages(
        "tls-on-the-plain-port",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x0a])
        }),
        &[Fails("/", &["protocol"])],
    ),
    Scenario::pages(
        "http-2-on-a-plain-port",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send([0, 0, 0, 4, 0, 0, 0, 0, 0])?;
            w.hold()
        }),
        &[Fails("/", &["protocol", "timeout"])],
    ),
    Scenario::pages(
        "version-9.9",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/9.9 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        }),
        &[Fails("/", &["protocol"])],
    ),
    // A malformed answer is an answer: its page is at fault, and the host's usual gap goes on.
    Scenario::pages(
        "twelve-malformed-pages",
        "pace",
        Serve::Wire(|w| {
            let ask = w.request()?;
            let number: Option<usize> = ask.path.strip_prefix("/bad/").and_then(|text| text.parse().ok());
            let whole = |body: &str| page(format!("<title>{}</title>{body}", ask.path));
            let bytes = match number.map(|number| number % 6) {
                None if ask.path == "/" => {
                    let links: String = (0..12).map(|n| format!("<a href=/bad/{n}>x</a>")).collect();
                    whole(&format!("{links}<a href=/last>x</a>"))
                }
                None => whole(""),
                Some(0) => b"HTTP/1.1 two hundred\r\n\r\n".to_vec(),
                Some(1) => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello".to_vec(),
                Some(2) => b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello".to_vec(),
                Some(3) => answer(200, &[&format!("X: {}", "x".repeat(70_000))], ""),
                Some(4) => answer(200, &["Content-Encoding: gzip"], "no gzip"),
                Some(_) => b"no HTTP at all\r\n\r\n".to_vec(),
            };
            w.send(bytes)
        }),
        &[
            NoPause,
            Fails("/bad/0", &["protocol"]),
            Fails("/bad/7", &["protocol"]),
            Fails("/bad/2", &["truncated"]),
            Fails("/bad/9", &["too_large"]),
            Fails("/bad/4", &["decode"]),
            Fails("/bad/11", &["protocol"]),
            Asked("/bad/11", 3),
            Title("/last", "/last"),
        ],
    ),
    Scenario::pages(
        "http-1.0",
        "framing",
        Serve::Wire(|w| {
            let ask = w.request()?;
            let body = if ask.path == "/" { GOOD } else { "<title>next</title>" };
            w.send(format!("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n{body}"))
        }),
        &[Answers("/", 200), Title("/", "good"), Title("/next", "next")],
    ),
    Scenario::pages(
        "line-feeds-alone",
        "framing",
        Serve::Wire(|w| {
            w.request()?;
            w.send("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 19\n\n<title>good</title>")
        }),
        &[Answers("/", 200), Title("/", "good")],
    ),
];

#[test]
fn broken_connections() {
    // Hosts that can't be reached still have URLs.
    // Large bodies are read in turn: with less time, one that waits for its turn is asked for again.
    let options = &["--timeout", "8s", "--adaptive", "1"];
    run(&Plan { exit: 13, options, ..Plan::new("wire", SCENARIOS).with_pauses() });
}
