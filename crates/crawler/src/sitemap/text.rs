//! Bytes to text, and sitemaps of one URL a line.

use std::borrow::Cow;
use std::io::{self, Read};

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::{Fault, Sitemap, SitemapFormat, SitemapLimits, SitemapUrl};
use crate::url::CrawlUrl;

/// Members of one gzip file: each costs the set-up of a decoder, whatever it holds.
const MEMBERS: usize = 1_000;

/// Lines that aren't URLs before the first one that is: then it is no sitemap.
const BAD_LINES: u64 = 1_000;

/// Unpacks a gzip file; one byte more than `limit` says that there is more. On an error, what came before it.
pub(super) fn gunzip(bytes: &[u8], limit: usize) -> Result<Vec<u8>, (Vec<u8>, io::Error)> {
    let mut out = Vec::new();
    let mut rest = bytes;
    for _ in 0..MEMBERS {
        let room = (limit + 1).saturating_sub(out.len()) as u64;
        let read = flate2::bufread::GzDecoder::new(&mut rest).take(room).read_to_end(&mut out);
        if let Err(error) = read {
            return Err((out, error));
        }
        if out.len() > limit || !rest.starts_with(&[0x1f, 0x8b]) {
            return Ok(out);
        }
    }
    Err((out, io::Error::new(io::ErrorKind::InvalidData, "too many members")))
}

/// Decodes by byte order mark, else by the XML declaration, else as UTF-8 (which the protocol demands).
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, mark) = Encoding::for_bom(bytes)
        .or_else(|| Some((Encoding::for_label(declared(bytes)?)?, 0)))
        .unwrap_or((UTF_8, 0));
    encoding.decode_without_bom_handling(&bytes[mark..]).0
}

/// The value of `encoding` in the XML declaration.
fn declared(bytes: &[u8]) -> Option<&[u8]> {
    let head = &bytes[..bytes.len().min(200)];
    let head = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let head = &head[..memchr::memmem::find(head, b"?>")?];
    let value = &head[memchr::memmem::find(head, b"encoding")? + 8..];
    let value = value.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    Some(&value[..memchr::memchr(*quote, value)?])
}

/// Reads one URL a line.
pub(super) fn read(text: &str, base: &Url, limits: &SitemapLimits) -> Sitemap {
    let mut sitemap = Sitemap::of(SitemapFormat::Text);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if sitemap.urls.len() == limits.urls {
            sitemap.fault = Some(Fault::Urls);
            break;
        }
        match url(line, base, limits, false) {
            Some(url) => sitemap.urls.push(SitemapUrl { url, lastmod: None, priority: 0.5 }),
            None => sitemap.bad += 1,
        }
        if sitemap.urls.is_empty() && sitemap.bad >= BAD_LINES {
            break;
        }
    }
    if sitemap.urls.is_empty() {
        return Sitemap { bad: sitemap.bad, ..Sitemap::faulty(Fault::NotOne) };
    }
    sitemap
}

/// An http URL; relative ones are taken from feeds alone.
pub(super) fn url(text: &str, base: &Url, limits: &SitemapLimits, may_be_relative: bool) -> Option<CrawlUrl> {
    let text = text.trim();
    if text.is_empty() || text.len() > limits.value_bytes {
        return None;
    }
    let url = if may_be_relative { CrawlUrl::join(base, text) } else { CrawlUrl::parse(text) };
    url.ok()
}
