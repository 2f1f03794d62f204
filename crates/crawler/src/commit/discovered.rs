//! What the archive says of a page's visit, beside the response: how its URL was found, and what restricts its use.

use super::{Discovery, SettledPage};
use crate::record::PageRecord;
use crate::warc::Metadata;

/// Longest path of hops that is written.
const HOPS: usize = 1_000;

/// Lines of directives that are written.
const DIRECTIVES: usize = 64;

/// What is said of a visit; none where the record is changed without one.
///
/// Everything here is in the page's record as well, of which nothing remains of a withheld page but what withholds it.
pub(super) fn metadata(page: &SettledPage) -> Option<Metadata> {
    let discovery = page.discovery.as_ref()?;
    let record = &page.record;
    let at = discovery.kept.map_or(record.fetched_at, |(at, _)| at);
    let mut metadata = found(&record.url, at, discovery);
    if let Some((_, status)) = discovery.kept {
        if let Some(status) = status {
            metadata.say("status", status.to_string());
        }
        return Some(metadata);
    }
    metadata.say("fetchTimeMs", record.duration_ms.to_string());
    if page.warc.is_none() {
        if let Some(status) = record.status {
            metadata.say("status", status.to_string());
        }
        if let Some(why) = withheld(page) {
            metadata.say("withheld", why);
        }
    }
    say_error(&mut metadata, record);
    if let Some(original) = record.duplicate_of.as_ref().filter(|_| page.warc.is_none()) {
        metadata.say("duplicateOf", original.as_str());
    }
    for directive in record.directives.iter().take(DIRECTIVES) {
        metadata.say("directive", directive.to_string());
    }
    metadata.say("robots", record.robots.to_string());
    Some(metadata)
}

/// What is said of a visit that failed, where the record of an earlier one stays.
pub(crate) fn failure_metadata(record: &PageRecord, discovery: &Discovery) -> Metadata {
    let mut metadata = found(&record.url, record.fetched_at, discovery);
    metadata.say("fetchTimeMs", record.duration_ms.to_string());
    say_error(&mut metadata, record);
    metadata.say("robots", record.robots.to_string());
    metadata
}

/// How a URL was found.
fn found(url: &str, at: jiff::Timestamp, discovery: &Discovery) -> Metadata {
    let mut metadata = Metadata::new(url, at);
    if let Some(via) = &discovery.via {
        metadata.say("via", via.as_str());
    }
    let (links, redirects) = (discovery.depth as usize, usize::from(discovery.redirects));
    if links + redirects > 0 && links + redirects <= HOPS {
        metadata.say("hopsFromSeed", "L".repeat(links) + &"R".repeat(redirects));
    }
    metadata
}

fn say_error(metadata: &mut Metadata, record: &PageRecord) {
    if let Some(error) = &record.error {
        let detail = record.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        metadata.say("error", format!("{error}{detail}"));
    }
}

/// What of a response isn't in the archive: its content, or its body alone.
fn withheld(page: &SettledPage) -> Option<&'static str> {
    let record = &page.record;
    if record.status.is_none() || record.duplicate_of.is_some() {
        None
    } else if record.is_withheld() {
        Some("content")
    } else {
        Some("body")
    }
}
