//! TLS that isn't right, and HTTP/2 that floods.

use std::time::Duration;

use whole_program::hostile::Expect::{Answers, AtMost, Fails, NoPages, Robots, Settled, Title};
use whole_program::hostile::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RESET, SETTINGS, STATUS_200,
    STATUS_404, WINDOW_UPDATE, frame, greet, request,
};
use whole_program::hostile::http::page;
use whole_program::hostile::{Fault, Scenario, Serve, Tls};

use crate::crawl::{Plan, run};

const GOOD: Serve = Serve::Answer(|_| page("<title>good</title>"));

/// The result of a host whose TLS fails: robots.txt is unreachable after one attempt.
const REFUSED: &[whole_program::hostile::Expect] =
    &[NoPages, Fails("/", &["tls"]), Robots("defer"), AtMost(1)];

/// A literal field line without indexing, `a: b` (RFC 7541 section 6.2.2).
const FIELD: &[u8] = &[0x00, 1, b'a', 1, b'b'];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::everything("tls-good", "tls", GOOD, &[Answers("/", 200), Title("/", "good")])
        .tls(Tls::Http1(Fault::None)),
    Scenario::everything("tls-expired", "tls", GOOD, REFUSED).tls(Tls::Http1(Fault::Expired)),
    Scenario::everything("tls-not-yet", "tls", GOOD, REFUSED).tls(Tls::Http1(Fault::NotYet)),
    Scenario::everything("tls-wrong-name", "tls", GOOD, REFUSED).tls(Tls::Http1(Fault::OtherName)),
    Scenario::everything("tls-self-signed", "tls", GOOD, REFUSED).tls(Tls::Http1(Fault::SelfSigned)),
    Scenario::everything("tls-untrusted", "tls", GOOD, REFUSED).tls(Tls::Http1(Fault::Untrusted)),
    Scenario::everything(
        "tls-is-plain-http",
        "tls",
        Serve::Wire(|w| {
            w.read(4096)?;
            w.send(page("<title>plain</title>"))
        }),
        REFUSED,
    )
    .tls(Tls::Raw),
    Scenario::everything(
        "tls-garbage",
        "tls",
        Serve::Wire(|w| {
            w.read(4096)?;
            w.flood([0x16, 0x03, 0x03, 0x40, 0x00, 0xff, 0xff, 0xff].repeat(1000))
        }),
        &[NoPages, Fails("/", &["tls"]), Robots("defer")],
    )
    .tls(Tls::Raw),
    Scenario::everything(
        "tls-alert",
        "tls",
        Serve::Wire(|w| {
            w.read(4096)?;
            w.send([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])
        }),
        REFUSED,
    )
    .tls(Tls::Raw),
    Scenario::everything(
        "tls-silent",
        "tls",
        Serve::Wire(|w| w.hold()),
        &[NoPages, Fails("/", &["timeout"]), Robots("defer")],
    )
    .tls(Tls::Raw),
    Scenario::everything(
        "tls-drips",
        "tls",
        Serve::Wire(|w| {
            w.read(4096)?;
            w.drip(
                [0x16, 0x03, 0x03, 0x3f, 0xff].iter().copied().chain([2; 5000]).collect::<Vec<u8>>(),
                Duration::from_millis(50),
            )
        }),
        &[NoPages, Fails("/", &["timeout", "tls"]), Robots("defer")],
    )
    .tls(Tls::Raw),
    Scenario::everything(
        "tls-reset",
        "tls",
        Serve::Wire(|w| {
            w.read(4096)?;
            w.reset()
        }),
        &[NoPages, Fails("/", &["connection", "tls"]), Robots("defer")],
    )
    .tls(Tls::Raw),
    // HTTP/2.
    Scenario::pages(
        "h2-good",
        "framing",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            // 0x5f: content-type with a literal value.
            let head = [&[STATUS_200, 0x5f, 9][..], b"text/html"].concat();
            w.send(frame(HEADERS, END_HEADERS, stream, &head))?;
            w.send(frame(DATA, END_STREAM, stream, b"<title>good</title>"))?;
            w.hold()
        }),
        &[Answers("/", 200), Title("/", "good")],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-continuation-flood",
        "deadline",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            w.send(frame(HEADERS, 0, stream, &[STATUS_200]))?;
            w.flood(frame(CONTINUATION, 0, stream, FIELD).repeat(50))
        }),
        &[Fails("/", &["too_large", "protocol", "connection"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-empty-continuations",
        "deadline",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            w.send(frame(HEADERS, 0, stream, &[STATUS_200]))?;
            w.flood(frame(CONTINUATION, 0, stream, &[]).repeat(50))
        }),
        &[Fails("/", &["too_large", "protocol", "connection", "timeout"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-header-of-1-mb",
        "limit",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            let field = [&[0x00, 1, b'a', 0x7f, 0x81, 0x7e][..], &[b'x'; 16_256]].concat();
            w.send(frame(HEADERS, 0, stream, &[STATUS_200]))?;
            for _ in 0..64 {
                w.send(frame(CONTINUATION, 0, stream, &field[..16_000.min(field.len())]))?;
            }
            w.send(frame(CONTINUATION, END_HEADERS, stream, &[]))?;
            w.hold()
        }),
        &[Fails("/", &["too_large", "protocol", "connection"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-reset-flood",
        "framing",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            w.send(frame(RESET, 0, stream, &8_u32.to_be_bytes()))?;
            w.flood(frame(RESET, 0, stream, &8_u32.to_be_bytes()).repeat(50))
        }),
        &[Fails("/", &["connection", "protocol", "too_large", "timeout"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-settings-flood",
        "deadline",
        Serve::Wire(|w| {
            greet(w)?;
            request(w)?;
            w.flood(frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0xff, 0xff]).repeat(50))
        }),
        &[Fails("/", &["timeout", "too_large", "protocol", "connection"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-ping-flood",
        "deadline",
        Serve::Wire(|w| {
            greet(w)?;
            request(w)?;
            w.flood(frame(PING, 0, 0, &[7; 8]).repeat(50))
        }),
        &[Fails("/", &["timeout", "too_large", "protocol", "connection"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-empty-data-flood",
        "deadline",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            w.send(frame(HEADERS, END_HEADERS, stream, &[STATUS_200]))?;
            w.flood(frame(DATA, 0, stream, &[]).repeat(50))
        }),
        &[Fails("/", &["timeout", "truncated", "protocol", "too_large"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-goaway-at-once",
        "framing",
        Serve::Wire(|w| {
            greet(w)?;
            w.send(frame(GOAWAY, 0, 0, &[0; 8]))?;
            w.hold()
        }),
        &[Fails("/", &["connection", "protocol"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-goaway-with-the-answer",
        "framing",
        // As a server does that has answered as many requests on a connection as it likes to.
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            let mut said = frame(HEADERS, END_HEADERS | END_STREAM, stream, &[STATUS_404]);
            said.extend(frame(GOAWAY, 0, 0, &[stream.to_be_bytes(), [0; 4]].concat()));
            w.send(said)?;
            w.hold()
        }),
        &[Fails("/", &["http_404"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-window-of-nothing",
        "deadline",
        Serve::Wire(|w| {
            greet(w)?;
            // SETTINGS_INITIAL_WINDOW_SIZE 0: the client may send nothing but heads, which is all it needs.
            w.send(frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]))?;
            let stream = request(w)?;
            let head = [&[STATUS_200, 0x5f, 9][..], b"text/html"].concat();
            w.send(frame(HEADERS, END_HEADERS, stream, &head))?;
            w.send(frame(DATA, END_STREAM, stream, b"<title>good</title>"))?;
            w.hold()
        }),
        &[Answers("/", 200), Title("/", "good")],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-window-overflow",
        "framing",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            w.send(frame(WINDOW_UPDATE, 0, stream, &[0x7f, 0xff, 0xff, 0xff]))?;
            w.send(frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]))?;
            w.hold()
        }),
        &[Fails("/", &["protocol", "connection"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-endless-body",
        "body",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            w.send(frame(HEADERS, END_HEADERS, stream, &[STATUS_200]))?;
            loop {
                // Whether this overruns the client's window is a matter of speed.
                w.send(frame(DATA, 0, stream, &[b' '; 16_000]))?;
            }
        }),
        &[Settled("/"), AtMost(10)],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-pushes",
        "framing",
        Serve::Wire(|w| {
            greet(w)?;
            let stream = request(w)?;
            // PUSH_PROMISE, although the client has turned it off.
            w.send(frame(5, END_HEADERS, stream, &[0, 0, 0, 2, 0x82]))?;
            w.hold()
        }),
        &[Fails("/", &["protocol", "connection"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-is-http-1",
        "framing",
        Serve::Wire(|w| {
            w.read(4096)?;
            w.send(page("<title>one</title>"))
        }),
        &[Fails("/", &["protocol", "connection"])],
    )
    .tls(Tls::Http2),
    Scenario::pages(
        "h2-silent",
        "deadline",
        Serve::Wire(|w| {
            greet(w)?;
            request(w)?;
            w.hold()
        }),
        &[Fails("/", &["timeout"])],
    )
    .tls(Tls::Http2),
];

/// Two dozen handshakes at once take their time in a build for tests.
pub(crate) const PLAN: Plan = Plan {
    options: &["--timeout", "4s", "--adaptive", "1"],
    exit: 13,
    ..Plan::new("tls", SCENARIOS).with_pauses()
};

#[test]
fn hostile_tls_and_http2() {
    let crawled = run(&PLAN);
    // The end of a try isn't enough: the flooded connections end as well, long before the crawl does. These servers read
    // nothing, so it takes until a probe has gone unanswered, 8 s.
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.hazard == "deadline") {
        for contact in crawled.web.contacts(scenario.name) {
            let lived = contact.closed.map(|closed| closed.saturating_sub(contact.start));
            assert!(lived.is_some_and(|time| time < Duration::from_secs(12)), "{}: {lived:?}", scenario.name);
        }
    }
}
