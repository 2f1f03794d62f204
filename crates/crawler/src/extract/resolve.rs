//! From addresses as written to URLs.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::limits::{ExtractLimits, LimitHit};
use super::link::{Link, LinkKind, Rel};
use super::link_header;
use super::page::{PageSink, RawLink};
use crate::shared_text::SharedTexts;
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
    let texts = SharedTexts::new(std::mem::take(&mut page.texts));
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| charset.encode(query).0;
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

/// Returns the first `rel=canonical` that leads somewhere (RFC 6596).
pub(super) fn canonical(links: &[Link]) -> Option<CrawlUrl> {
    links
        .iter()
        .filter(|l| l.kind == LinkKind::Link && l.rel.contains("canonical"))
        .find_map(|l| l.target.as_ref().ok())
        .cloned()
}
