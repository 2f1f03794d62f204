//! Sitemaps of one URL a line.

use std::io::{self, BufRead};

use super::parts::Parts;
use super::stream::Text;
use super::{Fault, Sitemap, SitemapFormat, broken};

/// Lines that aren't URLs before the first one that is: then it is no sitemap.
const BAD_LINES: u64 = 1_000;

/// Reads one URL a line.
pub(super) fn read<R: BufRead>(text: &mut Text<R>, parts: &mut Parts<'_, '_>) -> Sitemap {
    let mut sitemap = Sitemap::of(SitemapFormat::Text);
    let mut line = Vec::new();
    loop {
        line.clear();
        // More than is taken of a line tells that it is too long.
        match read_line(text, &mut line, parts.limits.value_bytes + 1) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                sitemap.fault = Some(broken(&error));
                break;
            }
        }
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        if let Err(fault) = parts.take(SitemapFormat::Text, &line, None, 0.5) {
            sitemap.fault = Some(fault);
            break;
        }
        if parts.seen() == 0 && parts.bad >= BAD_LINES {
            break;
        }
    }
    match sitemap.fault {
        Some(Fault::Broken(_)) => sitemap,
        _ if parts.seen() == 0 => Sitemap::faulty(Fault::NotOne),
        _ => sitemap,
    }
}

/// Appends the next line without its end (LF, CR, or CR LF, behind which an empty line seems to come), at most `most` bytes of it; false at the end. White space at its start is passed over.
fn read_line<R: BufRead>(text: &mut Text<R>, line: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut has_any = false;
    loop {
        text.next_token();
        let ahead = text.fill_buf()?;
        if ahead.is_empty() {
            return Ok(has_any);
        }
        has_any = true;
        let end = memchr::memchr2(b'\n', b'\r', ahead);
        let mut part = &ahead[..end.unwrap_or(ahead.len())];
        if line.is_empty() {
            part = part.trim_ascii_start();
        }
        line.extend_from_slice(&part[..part.len().min(most - line.len())]);
        let taken = end.map_or(ahead.len(), |end| end + 1);
        text.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}
