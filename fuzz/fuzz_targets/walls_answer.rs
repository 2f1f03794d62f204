//! Any bytes are the body of a response: the first line of the input is its status, the second a header field.

#![no_main]

use libfuzzer_sys::fuzz_target;
use walls::{Answer, Asked, Decision, Streak, classify, robots_reading};

fuzz_target!(|data: &[u8]| fuzz::in_small_stack(|| check(data)));

fn check(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == b'\n');
    let text = |part: Option<&[u8]>| String::from_utf8_lossy(part.unwrap_or_default()).into_owned();
    let status: u16 = text(parts.next()).trim().parse().unwrap_or(200);
    let field = text(parts.next());
    let (name, value) = field.split_once(':').unwrap_or(("content-type", "text/html"));
    let body = parts.next().unwrap_or_default();
    for asked in [Asked::Page, Asked::Robots] {
        let answer = Answer::new(status, "https://site.example/x").with_headers([(name, value.as_bytes())]);
        let verdict = classify(&answer.with_body(body).to(asked));
        assert_eq!(verdict.is_certain(), verdict.signal.is_some());
        assert!(!verdict.is_certain() || verdict.suspect.is_none());
        assert!(verdict.price.as_ref().is_none_or(|price| price.chars().count() <= 100));
        let _reading = robots_reading(&verdict, status);
        let mut streak = Streak::default();
        let decision = streak.observe(&verdict, 1);
        assert!(verdict.wall().is_some() || decision == Decision::default());
    }
}
