//! Any bytes are a robots.txt: the first line is the URL, then the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robots::{Additions, Agent, Collector, Dialect, Options, Robots};

fuzz_target!(|data: &[u8]| fuzz::in_small_stack(|| check(data)));

fn check(data: &[u8]) {
    let cut = data.iter().position(|&b| b == b'\n').unwrap_or(0);
    let (url, body) = (String::from_utf8_lossy(&data[..cut]), &data[cut..]);
    let agent = Agent::new("a/1.0").with_aliases(["old"]);
    let site = Some("https://s.example");
    let lines = body.iter().filter(|b| matches!(b, b'\n' | b'\r')).count() as u32 + 1;

    let mut members_allow = true;
    for dialect in Dialect::ALL {
        let options = Options::from(dialect);
        let robots = Robots::parse(body, &agent, &options, site);
        let verdict = robots.verdict(&url);
        assert!(robots.verdict("/robots.txt").allowed);
        assert!(robots.warnings().len() <= 205);
        // UTF-16 has its own line ends.
        assert!(
            verdict.line.is_none_or(|line| line >= 1 && line <= lines)
                || body.starts_with(b"\xff")
                || body.starts_with(b"\xfe")
        );
        assert_eq!(verdict.line.is_some(), verdict.rule.is_some());
        assert!(
            robots
                .warnings()
                .iter()
                .all(|warning| !warning.to_string().contains(|c: char| c.is_control() && c != '\t'))
        );
        match dialect {
            Dialect::Rfc9309 => {}
            Dialect::Strictest => assert_eq!(verdict.allowed, members_allow),
            _ => members_allow &= verdict.allowed,
        }
        let mut chunked = Collector::new(&options);
        body.chunks(7).all(|chunk| chunked.push(chunk));
        assert_eq!(chunked.parse(&agent, &options, site).verdict(&url), verdict);
    }

    // What `hardened` says otherwise than RFC 9309 comes from its additions.
    let plain = Robots::parse(body, &agent, &Dialect::Rfc9309.into(), site).verdict(&url).allowed;
    let mut options = Options::default();
    let mut hardened = Robots::parse(body, &agent, &options, site);
    // Without an addition that picked another group, others may come to bear.
    while hardened.verdict(&url).allowed != plain {
        let trace = hardened.additions().without(Additions::H5);
        assert!(!trace.is_empty());
        options.additions = options.additions.without(trace);
        hardened = Robots::parse(body, &agent, &options, site);
    }
}
