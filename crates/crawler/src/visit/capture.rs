//! What goes to the archive of requests that are for no page: robots.txt, sitemaps, consent files.
//!
//! A robots.txt and a consent file are the evidence for what the crawl did, and are archived whatever their own headers say. A sitemap
//! isn't: where its header, or its site, says anything about the uses of content, the archive has a record of the request alone.

use super::outcome::Captured;
use super::{Requested, VisitContext};
use crate::fetch::{Fetch, FetchResult, RequestKind, Response};
use crate::robots_cache::Known;
use crate::store::{Store, StoreError};
use crate::warc::{self, Encoded, Exchange, Metadata};
use page::clean::lines_without_controls;
use page::url::CrawlUrl;

/// Header lines that speak of the use of content.
const ABOUT_USE: [&str; 5] =
    ["robots-tag", "content-usage", "content-signal", "tdm-reservation", "tdm-policy"];

/// Words of X-Robots-Tag that say nothing against a copy, whomever they are for.
const HARMLESS: [&str; 5] = ["all", "index", "follow", "nofollow", "archive"];

/// Encodes the answer to a request that isn't for a page; nothing without an archive, and where nothing was sent.
///
/// CPU work if there is a response: belongs where it is read, in the same place of the read pool.
pub(super) fn capture<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    url: &CrawlUrl,
    purpose: RequestKind,
    answer: &FetchResult,
    requested: Option<Requested>,
) -> Result<Option<Captured>, StoreError> {
    let Some(requested) = requested.filter(|_| context.pages.archive) else { return Ok(None) };
    let mut metadata = Metadata::new(url.as_str(), requested.started.wall);
    let took = requested.ended.mono.saturating_sub(requested.started.mono).as_millis();
    metadata.say("fetchTimeMs", took.to_string());
    metadata.say("purpose", word(purpose));
    let encoded = match answer {
        Err(error) => {
            if let Some(status) = error.status {
                metadata.say("status", status.to_string());
            }
            metadata.say("error", format!("{}: {}", error.kind.as_str(), error.detail));
            Encoded::of_metadata(&metadata)
        }
        Ok(response) => {
            let withheld = match purpose {
                RequestKind::Sitemap => withheld(context, url, response, requested)?,
                _ => None,
            };
            if let Some(withheld) = withheld {
                metadata.say("status", response.status.to_string());
                metadata.say("withheld", withheld);
                Encoded::of_metadata(&metadata)
            } else {
                exchange(url, purpose, response, requested).with_metadata(&metadata)
            }
        }
    };
    let held = context.pages.read_pool.hold(encoded.bytes.len());
    Ok(Some(Captured { url: url.clone(), encoded, held }))
}

/// What a request that isn't for a page is for, as the archive has it.
fn word(purpose: RequestKind) -> &'static str {
    match purpose {
        RequestKind::Page | RequestKind::Resource | RequestKind::Head => "page",
        RequestKind::Robots => "robots",
        RequestKind::Sitemap => "sitemap",
        RequestKind::SiteFile => "consent",
    }
}

/// Why no copy of a sitemap is kept; none where nothing is said about its use.
fn withheld<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    url: &CrawlUrl,
    response: &Response,
    requested: Requested,
) -> Result<Option<String>, StoreError> {
    if let Some(line) = forbidding_line(response) {
        return Ok(Some(line));
    }
    let said = match context.robots.lookup(&url.origin(), requested.ended)? {
        Known::Fresh(entry) | Known::Stale(entry) => entry.record.consent_lines.is_some(),
        Known::Missing => true,
    };
    Ok(said.then(|| "robots.txt speaks of the uses of content".to_owned()))
}

fn forbidding_line(response: &Response) -> Option<String> {
    let line = response.lines().find(|(name, value)| {
        ABOUT_USE.contains(name) || *name == "x-robots-tag" && !is_harmless(&String::from_utf8_lossy(value))
    });
    line.map(|(name, value)| lines_without_controls(&format!("{name}: {}", String::from_utf8_lossy(value))))
}

fn is_harmless(value: &str) -> bool {
    value.split(',').all(|word| HARMLESS.contains(&word.trim().to_ascii_lowercase().as_str()))
}

fn exchange(url: &CrawlUrl, purpose: RequestKind, response: &Response, requested: Requested) -> Encoded {
    warc::encode(&Exchange {
        purpose: Some(word(purpose)),
        ..super::page::exchange(url, response, &response.request_head, requested)
    })
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn a_sitemap_is_kept_only_where_its_header_is_harmless() {
        for value in ["all", "index, follow", "NoFollow", "archive"] {
            assert!(is_harmless(value), "{value}");
        }
        for value in
            ["noindex", "noindex, follow", "otherbot: noarchive", "none", "follow, unavailable_after: x", ""]
        {
            assert!(!is_harmless(value), "{value}");
        }
    }
}
