//! Laws: any bytes give a verdict, the same one in whatever order header fields come, and nothing takes stack for each repetition.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use walls::{Answer, Asked, Outcome, Streak, classify, robots_reading};

/// Pieces that pages and what breaks parsers are made of.
const PIECES: &[&str] = &[
    "<",
    ">",
    "\"",
    "'",
    "/",
    "=",
    "&#",
    ";",
    "<a href=/x>",
    "<a href='",
    "<p>",
    "</p>",
    "<div hidden>",
    "</div>",
    "<title>",
    "</title>",
    "<script>",
    "</script>",
    "<noscript>",
    "</noscript>",
    "<!--",
    "-->",
    "<svg>",
    "<template>",
    "<input type=password>",
    "<h1>",
    "</h1>",
    "Just a moment",
    "access denied",
    "ray id: 12345678abcdef",
    "_cf_chl_opt",
    "<script id=anubis_challenge>",
    "<div class=h-captcha>",
    "/.within.website/x/cmd/anubis/",
    "<meta http-equiv=refresh content='0;url=/captcha?u=/x'>",
    "<li>",
    "é",
    "\u{0}",
    "\u{feff}",
    "User-agent: *",
    "\n",
    "words and words ",
    "<textarea>",
    "<plaintext>",
    "reference #1.a.1.a",
];

/// Header fields of walls and of pages.
const FIELDS: &[(&str, &str)] = &[
    ("content-type", "text/html"),
    ("Content-Type", "text/plain"),
    ("content-type", "application/json"),
    ("cf-mitigated", "challenge"),
    ("cf-mitigated", "block"),
    ("server", "AkamaiGHost"),
    ("location", "/login?next=/x"),
    ("location", "/y"),
    ("refresh", "5; url=/.basedflare/x"),
    ("crawler-price", "USD 1"),
    ("crawler-price", "USD 2"),
    ("www-authenticate", "Basic"),
    ("x-kpsdk-ct", "1"),
    ("date", "x"),
];

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let pieces = vec(select(PIECES), 0..60).prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![pieces, vec(any::<u8>(), 0..300)]
}

proptest! {
    #[test]
    fn any_answer_has_a_verdict_that_the_order_of_fields_does_not_change(
        status in prop_oneof![Just(200_u16), Just(202), Just(302), Just(403), Just(429), Just(503), any::<u16>()],
        fields in vec(select(FIELDS), 0..5),
        body in bodies(),
        url in "https://a\\.test/[a-z?=/%]{0,20}|.{0,20}",
        asked in select(vec![Asked::Page, Asked::Robots, Asked::Resource]),
    ) {
        let of = |fields: &[(&str, &str)]| {
            let fields: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
            let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
            classify(&Answer::new(status, &url).with_headers(fields).with_body(&body).to(asked))
        };
        let verdict = of(&fields);
        let turned: Vec<_> = fields.iter().rev().copied().collect();
        let other = of(&turned);
        prop_assert_eq!(verdict.outcome, other.outcome);
        prop_assert_eq!(&verdict.price, &other.price);
        prop_assert_eq!(verdict.wall(), other.wall());
        prop_assert_eq!(verdict.is_certain(), verdict.signal.is_some());
        prop_assert!(!(verdict.is_certain() && verdict.suspect.is_some()));
        prop_assert!(verdict.suspect.is_none_or(|suspect| suspect.outcome.is_wall()));
        let _reading = robots_reading(&verdict, status);
        let mut streak = Streak::default();
        for number in 0..8 {
            let decision = streak.observe(&verdict, number);
            prop_assert!(verdict.wall().is_some() || decision == walls::Decision::default());
        }
    }

    #[test]
    fn a_page_with_menu_and_prose_is_no_wall(
        pieces in vec(select(PIECES.iter().copied().filter(|piece| !piece.contains("ubis") && !piece.contains("refresh")).collect::<Vec<_>>()), 0..30),
    ) {
        let menu = "<a href=/x>x</a>".repeat(12);
        let body = format!("<body>{menu}<p>{}</p>{}", "Words and words. ".repeat(200), pieces.concat());
        let verdict = classify(&Answer::new(200, "https://a.test/x").with_body(body.as_bytes()));
        prop_assert_eq!(verdict.outcome, Outcome::Page);
        prop_assert_eq!(verdict.suspect, None);
    }
}

#[test]
fn no_page_takes_stack_for_each_repetition() {
    let small = thread::Builder::new().stack_size(256 * 1024);
    let read = small.spawn(|| {
        for piece in [
            "<div>",
            "<div hidden>",
            "<a b=\"c\" ",
            "<p a=\"b\"d=\"e\"",
            "<noscript>",
            "<template>",
            "<!--",
            "&amp",
            "<svg><title>",
        ] {
            let body = format!("<div {}", piece.repeat(50_000));
            let _verdict = classify(&Answer::new(200, "https://a.test/x").with_body(body.as_bytes()));
            let body = format!("<x {}>", "a=\"b\"".repeat(100_000));
            let _verdict = classify(&Answer::new(200, "https://a.test/x").with_body(body.as_bytes()));
        }
    });
    read.unwrap().join().unwrap();
}
