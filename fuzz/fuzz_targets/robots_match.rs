//! A pattern and a URL, parted by a line end: the matcher agrees with the position-set method of the specification.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robots::{Agent, Dialect, Robots};

fuzz_target!(|data: &[u8]| fuzz::in_small_stack(|| check(data)));

fn check(data: &[u8]) {
    // Bytes that are compared as they stand, so that the slow method needs no normalisation of its own.
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/*$-._~?&=+,;:@!'()".contains(b);
    let mut parts = data.split(|&b| b == b'\n');
    let pattern: Vec<u8> = parts.next().unwrap_or_default().iter().copied().filter(plain).take(300).collect();
    let url: Vec<u8> = parts.next().unwrap_or_default().iter().copied().filter(plain).take(300).collect();
    let pattern = [b"/", &pattern[..]].concat();
    let url = [b"/", &url[..]].concat();
    if url == b"/robots.txt" {
        return;
    }
    let file = [b"User-agent: *\nDisallow: ", &pattern[..], b"\n"].concat();
    let robots = Robots::parse(&file, &Agent::new("a"), &Dialect::Rfc9309.into(), None);
    let denied = !robots.verdict(std::str::from_utf8(&url).unwrap()).allowed;
    assert_eq!(denied, by_position_set(&pattern, &url));
}

fn by_position_set(pattern: &[u8], url: &[u8]) -> bool {
    let (pattern, to_end) = match pattern.strip_suffix(b"$") {
        Some(body) => (body, true),
        None => (pattern, false),
    };
    let mut at: Vec<bool> = (0..=url.len()).map(|i| i == 0).collect();
    for &b in pattern {
        let mut next = vec![false; url.len() + 1];
        if b == b'*' {
            if let Some(first) = at.iter().position(|&here| here) {
                next[first..].fill(true);
            }
        } else {
            (0..url.len()).for_each(|i| next[i + 1] = at[i] && url[i] == b);
        }
        at = next;
    }
    if to_end { at[url.len()] } else { at.contains(&true) }
}
