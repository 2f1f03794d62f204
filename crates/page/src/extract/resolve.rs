//! From addresses as written to URLs.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use url::Url;

use super::limits::{ExtractLimits, LimitHit};
use super::link::{Link, LinkKind, Rel};
use super::link_header;
use super::page::{PageSink, RawLink};
use crate::shared_text::SharedTexts;
use crate::url::{Base, CrawlUrl, resolve};

/// Returns the URL that relative addresses are resolved against: the first `<base href>`, itself resolved against the
/// URL of the response, unless it can't be read or is of a scheme that HTML rules out there
/// (HTML standard 4.2.3, "frozen base URL").
pub(super) fn base(named: Option<&str>, response: &Url) -> Url {
    named
        .and_then(|base| resolve(response, base, None).ok())
        .filter(|url| !matches!(url.scheme(), "data" | "javascript") && !url.cannot_be_a_base())
        .unwrap_or_else(|| response.clone())
}

/// Resolves the links of a page. Query strings are written in the encoding of the page, as the URL standard wants.
pub(super) fn links(
    page: &mut PageSink<'_>,
    base: &Url,
    charset: &'static Encoding,
    bytes: usize,
) -> Vec<Link> {
    let raw_links = std::mem::take(&mut page.links);
    let addresses = std::mem::take(&mut page.addresses);
    let texts = SharedTexts::new(std::mem::take(&mut page.texts));
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoded(query, charset);
    // Most addresses are relative.
    let expected = addresses.len() + raw_links.len() * base.as_str().len();
    let mut urls = String::with_capacity(expected.min(bytes));
    let base = Base::new(base);
    let mut links = Vec::with_capacity(raw_links.len());
    let mut remaining = bytes;
    for raw in raw_links {
        let address = &addresses[raw.address.clone()];
        let encoding = (charset != UTF_8 && !address.is_ascii()).then_some(encode);
        let start = urls.len();
        let Some(target) = target(base.join_to(address, encoding, &mut urls), address) else {
            page.other_schemes += 1;
            continue;
        };
        let size = target.as_ref().map_or_else(String::len, |_| urls.len() - start);
        if size > remaining {
            urls.truncate(start);
            page.hit(LimitHit::LinkBytes);
            break;
        }
        remaining -= size;
        links.push((raw, target, start..urls.len()));
    }
    let urls = SharedTexts::new(urls);
    let mut resolved = Vec::with_capacity(links.len());
    for (raw, target, place) in links {
        resolved.push(link(raw, &texts, target.map(|joined| CrawlUrl::at(&urls, place, joined))));
    }
    resolved
}

/// A query in the encoding of a page, as it is before bytes are percent-encoded. What the encoding lacks is a percent-encoded character
/// reference (URL standard 1.3, "percent-encode after encoding").
fn encoded<'q>(query: &'q str, charset: &'static Encoding) -> Cow<'q, [u8]> {
    let (bytes, _, lacks_some) = charset.encode(query);
    if !lacks_some {
        return bytes;
    }
    let mut encoder = charset.new_encoder();
    let (mut bytes, mut rest) = (Vec::with_capacity(query.len() * 2), query);
    loop {
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return bytes.into(),
            EncoderResult::OutputFull => bytes.reserve(rest.len() + 16),
            EncoderResult::Unmappable(c) => {
                bytes.extend_from_slice(format!("%26%23{}%3B", u32::from(c)).as_bytes());
            }
        }
    }
}

/// Where an address leads, or the text that leads nowhere; none for schemes other than http and https.
fn target<T>(joined: Result<Result<T, Url>, url::ParseError>, address: &str) -> Option<Result<T, String>> {
    match joined {
        Ok(Ok(url)) => Some(Ok(url)),
        Ok(Err(url)) if !matches!(url.scheme(), "http" | "https") => None,
        Ok(Err(url)) => Some(Err(url.into())),
        Err(_) => Some(Err(address.to_owned())),
    }
}

fn link(raw: RawLink, texts: &SharedTexts, target: Result<CrawlUrl, String>) -> Link {
    Link {
        kind: raw.kind,
        target,
        nofollow: raw.nofollow,
        rel: Rel::new(&raw.rel),
        text: texts.part(raw.text),
        hreflang: raw.hreflang,
        is_image: raw.is_image,
        position: raw.position,
    }
}

/// Resolves the links of `Link` headers, against the URL of the response (RFC 8288 section 3.2). Gives them, and how
/// many were of schemes other than http and https. They count for the limit, which they may use up.
pub(super) fn header_links(fields: &[String], response: &Url, limits: &ExtractLimits) -> (Vec<Link>, u32) {
    let mut links = Vec::new();
    let mut other_schemes = 0;
    let base = Base::new(response);
    let written = fields.iter().flat_map(|f| link_header::links(f));
    for found in written.take(limits.links).filter(|l| l.address.len() <= limits.href_bytes) {
        let Some(target) = target(base.join(found.address, None), found.address) else {
            other_schemes += 1;
            continue;
        };
        let mut text = found.title.unwrap_or_default();
        text.truncate(text.floor_char_boundary(limits.anchor_bytes));
        links.push(Link {
            kind: LinkKind::Link,
            target,
            rel: Rel::new(&found.rel),
            nofollow: !meta::link_rel(&found.rel).may_queue(),
            text: text.into(),
            hreflang: found.hreflang,
            is_image: false,
            position: None,
        });
    }
    (links, other_schemes)
}

/// Returns the addresses with `rel=license` of a `Link` field, resolved against the URL of the response (RFC 4946, RFC 8288 section 3.2).
pub fn licenses(field: &str, response: &Url) -> Vec<String> {
    let named = link_header::links(field).filter(|link| Rel::new(&link.rel).contains("license"));
    named.filter_map(|link| response.join(link.address).ok().map(String::from)).collect()
}

/// Returns the first `rel=canonical` that leads somewhere (RFC 6596).
pub(super) fn canonical(links: &[Link]) -> Option<CrawlUrl> {
    links
        .iter()
        .filter(|l| l.kind == LinkKind::Link && l.rel.contains("canonical"))
        .find_map(|l| l.target.as_ref().ok())
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: web-platform-tests, encoding/legacy-mb-*/*-encode-href: `?x=` and a character, in a page of that encoding.
    #[test]
    fn what_a_charset_lacks_is_a_character_reference_in_a_query() {
        for (charset, query, expected) in [
            ("windows-1252", "x=\u{e9}", "x=%E9"),
            ("windows-1252", "x=\u{4e2d}&y=\u{e9}\u{1f600}", "x=%26%2320013%3B&y=%E9%26%23128512%3B"),
            ("shift_jis", "x=\u{20ac}\u{3042}", "x=%26%238364%3B%82%A0"),
            ("iso-2022-jp", "x=\u{3042}\u{20ac}", "x=%1B$B$%22%1B(B%26%238364%3B"),
            ("koi8-r", "x=\u{44f}\u{e9}", "x=%D1%26%23233%3B"),
            ("utf-16le", "x=\u{4e2d}", "x=%E4%B8%AD"),
        ] {
            let charset = Encoding::for_label(charset.as_bytes()).unwrap();
            let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoded(query, charset);
            let base = Url::parse("http://a.example/").unwrap();
            let url = Base::new(&base).join(&format!("?{query}"), Some(encode)).unwrap().unwrap();
            assert_eq!(url.as_str(), format!("http://a.example/?{expected}"), "{charset:?}");
        }
        let many = "\u{4e2d}".repeat(10_000);
        assert_eq!(encoded(&many, encoding_rs::WINDOWS_1252).len(), 14 * 10_000);
    }
}
