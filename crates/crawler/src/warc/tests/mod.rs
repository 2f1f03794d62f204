//! Laws of the archive as a whole: what goes in comes out, and what is torn is cut.

mod damage;
mod disk_full;
mod round_trip;

use super::{Encoded, Exchange, Position, Truncated, WarcInfo, WarcWriter, encode};
use std::path::Path;

pub(super) fn info() -> WarcInfo {
    WarcInfo {
        software: "crawl/0.1.0".to_owned(),
        robots: "obeyed\r\nisPartOf: somebody else's".to_owned(),
        user_agent: "SuperRobot/1.0 (+mailto:someone@example.org)".to_owned(),
        from: Some("someone@example.org".to_owned()),
        operator: None,
        settings: None,
        is_part_of: "crawl 7".to_owned(),
        started_at: "2026-03-01T12:00:00Z".parse().unwrap(),
    }
}

pub(super) fn exchange<'a>(url: &'a str, headers: &'a [(String, Vec<u8>)], body: &'a [u8]) -> Exchange<'a> {
    Exchange {
        url,
        request_head: b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n",
        response_head: None,
        status: 200,
        version: "HTTP/1.1",
        headers,
        wire_body: body,
        truncated: None::<Truncated>,
        tls: None,
        purpose: None,
        ip: Some("192.0.2.7".parse().unwrap()),
        fetched_at: "2026-03-01T12:00:01.25Z".parse().unwrap(),
    }
}

pub(super) fn page(number: usize) -> Encoded {
    let headers = [("Content-Type".to_owned(), b"text/html".to_vec())];
    let body = format!("<title>{number}</title>{}", "a word ".repeat(number % 50));
    let url = format!("http://www.example.org/{number}");
    encode(&exchange(&url, &headers, body.as_bytes()))
}

/// A directory with one file of `pages` exchanges, and the position after each.
pub(super) fn archive(dir: &Path, pages: usize) -> Vec<Position> {
    let mut writer = WarcWriter::open(dir, &info(), u64::MAX).unwrap();
    let mut positions = Vec::new();
    for number in 0..pages {
        writer.append(&mut page(number)).unwrap();
        positions.extend(writer.position());
    }
    writer.sync().unwrap();
    positions
}
