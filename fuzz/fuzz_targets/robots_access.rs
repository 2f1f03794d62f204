//! Any status, header values and history: the judgement is never more open than the table.

#![no_main]

use std::time::Duration;

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use robots::access::{Access, History, Outcome, Policy, ResponseHead, judge};

fuzz_target!(|data: &[u8]| {
    let [a, b, c, d, rest @ ..] = data else { return };
    let status = u16::from_be_bytes([*a, *b]) % 1000;
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    let at = |n: u8| (n > 0).then(|| now - Duration::from_secs(u64::from(n) * 20_000));
    let history = History { first_failure: at(*c), failures: u32::from(*c), good_copy: at(*d) };
    let text = String::from_utf8_lossy(rest);
    let mut parts = text.split('\n');
    let names = ["cache-control", "expires", "date", "age", "retry-after", "content-type"];
    let headers: Vec<_> = names.into_iter().zip(parts.by_ref()).collect();
    let body = parts.collect::<Vec<_>>().join("\n");
    let head = ResponseHead::new(status, headers.iter().copied());
    let retry = head.asked_wait(now);
    if let Some(wait) = retry {
        assert!((Duration::from_secs(1)..=Duration::from_hours(168)).contains(&wait));
    }
    let got = judge(&Outcome::Answer { head, body: body.as_bytes() }, &history, &Policy::default(), now);
    assert!((Duration::from_secs(1)..=Duration::from_hours(168)).contains(&got.lifetime));
    assert_eq!(got.next_try, now + got.lifetime);
    let closed = matches!(status, 206 | 401 | 402 | 403 | 407 | 408 | 421 | 425 | 429 | 451)
        || status >= 500
        || status < 200;
    if closed {
        assert!(
            matches!(got.access, Access::Defer | Access::DenyAll | Access::Stored { half_rate: true }),
            "{status} {got:?}"
        );
    }
    if matches!(status, 200..=205 | 207..=399) {
        assert!(got.lifetime <= Duration::from_hours(24));
    }
    if let (Some(wait), 408 | 429 | 503) = (retry, status) {
        assert!(got.lifetime >= wait);
    }
    if matches!(got.access, Access::Stored { .. }) {
        assert!(history.good_copy.is_some());
    }
});
