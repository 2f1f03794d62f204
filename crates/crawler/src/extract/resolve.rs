//! From addresses as written to URLs.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::limits::{ExtractLimits, LimitHit};
use super::link::{Link, LinkKind, Rel};
use super::link_header;
use super::page::{PageSink, RawLink};
use crate::url::{Base, CrawlUrl};

/// Returns the URL that relative addresses are resolved against: the first `<base href>`, itself resolved against the
/// URL of the response, unless it can't be read or is of a scheme that HTML rules out there
/// (HTML standard 4.2.3, "frozen base URL").
pub(super) fn base(named: Option<&str>, response: &Url) -> Url {
    named
        .and_then(|base| response.join(base).ok())
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
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| charset.encode(query).0;
    let base = Base::new(base);
    let mut links = Vec::with_capacity(raw_links.len());
    let mut remaining = bytes;
    for raw in raw_links {
        let address = &addresses[raw.address.clone()];
        let encoding = (charset != UTF_8 && !address.is_ascii()).then_some(encode);
        let Some(target) = target(&base, address, encoding) else {
            page.other_schemes += 1;
            continue;
        };
        let size = target.as_ref().map_or_else(String::len, |url| url.as_str().len());
        if size > remaining {
            page.hit(LimitHit::LinkBytes);
            break;
        }
        remaining -= size;
        links.push(link(raw, target));
    }
    links
}

/// Where an address leads, or the text that leads nowhere; none for schemes other than http and https.
fn target(
    base: &Base<'_>,
    address: &str,
    encoding: url::EncodingOverride<'_>,
) -> Option<Result<CrawlUrl, String>> {
    match base.join(address, encoding) {
        Ok(Ok(url)) => Some(Ok(url)),
        Ok(Err(url)) if !matches!(url.scheme(), "http" | "https") => None,
        Ok(Err(url)) => Some(Err(url.into())),
        Err(_) => Some(Err(address.to_owned())),
    }
}

fn link(raw: RawLink, target: Result<CrawlUrl, String>) -> Link {
    Link {
        kind: raw.kind,
        target,
        nofollow: raw.nofollow,
        rel: Rel::new(&raw.rel),
        text: raw.text,
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
        let Some(target) = target(&base, found.address, None) else {
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
            text,
            hreflang: found.hreflang,
            is_image: false,
            position: None,
        });
    }
    (links, other_schemes)
}

/// Returns the first `rel=canonical` that leads somewhere (RFC 6596).
pub(super) fn canonical(links: &[Link]) -> Option<CrawlUrl> {
    links
        .iter()
        .filter(|l| l.kind == LinkKind::Link && l.rel.contains("canonical"))
        .find_map(|l| l.target.as_ref().ok())
        .cloned()
}
