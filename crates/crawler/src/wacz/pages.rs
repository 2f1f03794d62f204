//! `pages/pages.jsonl`: a line for each page that a reader may open.

use std::io::Write;
#[cfg(feature = "search")]
use std::path::Path;

use serde::Serialize;

use super::archive::Archive;
use super::{Options, Part, WaczError};
use crate::page_store;
use crate::record::{PageRecord, Withdrawal};
#[cfg(feature = "search")]
use crate::warc::Directories;

/// The page that a reader shows first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) url: String,
    pub(super) ts: String,
}

/// What was written of a crawl.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) count: u64,
    /// The first page that was found without a link.
    pub(super) first_seed: Option<Listed>,
}

#[derive(Serialize)]
struct Line<'a> {
    id: String,
    url: &'a str,
    title: &'a str,
    ts: &'a str,
    status: Option<u16>,
    mime: Option<&'a str>,
    depth: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    seed: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
}

/// Writes the line that says what the file is.
pub(super) fn write_head(with_texts: bool, out: &mut dyn Write) -> Result<(), WaczError> {
    let has_text = with_texts && cfg!(feature = "search");
    let head = serde_json::json!({
        "format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": has_text,
    });
    Ok(writeln!(out, "{head}")?)
}

/// Writes the pages of the `number`-th crawl, in the order in which they were stored. Tells the archive which captures of those that are
/// unavailable by now have to be omitted.
pub(super) fn write(
    part: &Part<'_>,
    number: usize,
    options: Options<'_>,
    archive: &mut Archive,
    out: &mut dyn Write,
) -> Result<Pages, WaczError> {
    let mut excerpts = Excerpts::new(part, options.with_texts);
    let mut pages = Pages::default();
    for page in part.stores.iter().flat_map(page_store::scan) {
        let record = page?.record()?;
        if record.is_unavailable(options.now) {
            let at = record.unavailable_after.unwrap_or(options.now);
            for place in record.captures() {
                archive.leave_out(Withdrawal::new(&record.url, place.clone(), at, "unavailable_after"));
            }
            continue;
        }
        if !is_page(&record) {
            continue;
        }
        let ts = record.fetched_at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        let (title, text) = excerpts.of(&record);
        let is_seed = record.depth == 0 && record.via.is_none();
        let line = Line {
            id: id(number, &record.url, &ts),
            url: &record.url,
            title: if title.is_empty() { &record.url } else { &title },
            ts: &ts,
            status: record.status,
            mime: media_type(&record),
            depth: record.depth,
            seed: is_seed,
            text: &text,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        pages.count += 1;
        if is_seed && pages.first_seed.is_none() {
            pages.first_seed = Some(Listed { url: record.url.clone(), ts: ts.clone() });
        }
    }
    Ok(pages)
}

/// A page that is in the archive, and that people read: HTML, XHTML or PDF.
fn is_page(record: &PageRecord) -> bool {
    let is_success = record.status.is_some_and(|status| (200..300).contains(&status));
    let is_read = record.charset.is_some() || media_type(record) == Some("application/pdf");
    is_success && is_read && !record.resource && record.indexed && record.warc.is_some()
}

fn media_type(record: &PageRecord) -> Option<&str> {
    let declared = record.content_type.as_deref().map(|value| value.split(';').next().unwrap_or_default());
    record.mime_type.as_deref().or(declared).map(str::trim)
}

/// A name for the line: the same whenever the same crawl is written.
fn id(number: usize, url: &str, ts: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("crawl 2026 WACZ page");
    hasher.update(&(number as u64).to_le_bytes());
    hasher.update(ts.as_bytes());
    hasher.update(url.as_bytes());
    data_encoding::HEXLOWER.encode(&hasher.finalize().as_bytes()[..16])
}

/// Reads title and excerpt of a page.
#[cfg(feature = "search")]
struct Excerpts(Option<crate::search::Excerpts>);

#[cfg(feature = "search")]
impl Excerpts {
    fn new(part: &Part<'_>, with_texts: bool) -> Self {
        let temporary = part.root.map_or_else(std::env::temp_dir, Path::to_owned);
        let archive = Directories::new(part.archive.to_vec());
        Self(with_texts.then(|| crate::search::Excerpts::new(&temporary, archive, part.limits.clone())))
    }

    fn of(&mut self, record: &PageRecord) -> (String, String) {
        match &mut self.0 {
            Some(excerpts) => excerpts.of(record),
            None => (record.title.clone().unwrap_or_default(), String::new()),
        }
    }
}

/// Without search no text is read.
#[cfg(not(feature = "search"))]
struct Excerpts;

#[cfg(not(feature = "search"))]
impl Excerpts {
    fn new(_: &Part<'_>, _: bool) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "the form with search")]
    fn of(&mut self, record: &PageRecord) -> (String, String) {
        (record.title.clone().unwrap_or_default(), String::new())
    }
}
