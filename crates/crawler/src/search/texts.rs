//! The texts of the pages that may be indexed, for other indexes.

use std::path::Path;

use jiff::Timestamp;

use super::archived::Archive;
use super::document::kind;
use super::error::SearchError;
use super::snippet;
use crate::page_store;
use crate::record::PageRecord;
use crate::store::AnyStore;
use crate::warc::Directories;
use page::extract::ExtractLimits;

/// What the words of a page are looked for in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageText {
    /// The URL as requested.
    pub url: String,
    /// Its title; empty where it has none.
    pub title: String,
    /// Its description; empty where it has none.
    pub description: String,
    /// Its main text, with the parts that no snippet may show: it may be searched, not shown. Empty where it isn't archived, or can't
    /// be read.
    pub text: String,
}

/// Returns the texts of the pages that the full-text index of the crawl in `root` holds (`docs/search.md`), in the order in which they
/// were stored, from records and archive; the index itself isn't read. Only of pages that `is_wanted` is the archive read.
///
/// Cost: about a millisecond a page; memory: one page.
pub fn page_texts<'a>(
    root: &Path,
    store: &'a AnyStore,
    limits: ExtractLimits,
    now: Timestamp,
    mut is_wanted: impl FnMut(&str) -> bool + 'a,
) -> impl Iterator<Item = Result<PageText, SearchError>> + 'a {
    let mut archive = Archive::new(root, limits);
    page_store::scan(store).filter_map(move |page| {
        let record = match page.and_then(|page| page.record()) {
            Ok(record) => record,
            Err(error) => return Some(Err(error.into())),
        };
        let kind = kind(&record).filter(|_| !record.is_unavailable(now) && is_wanted(&record.url))?;
        let document = archive.document(&record, kind);
        Some(Ok(PageText {
            url: document.url,
            title: document.title,
            description: document.description,
            text: document.text.text,
        }))
    })
}

/// Characters of an excerpt.
const EXCERPT: usize = 2000;

/// Reads excerpts of pages from an archive: what of a text may be shown.
#[derive(Debug)]
pub(crate) struct Excerpts(Archive);

impl Excerpts {
    /// Of an archive in these directories; `temporary` is for files that PDF files are read from.
    pub(crate) fn new(temporary: &Path, archive: Directories, limits: ExtractLimits) -> Self {
        Self(Archive::in_directories(temporary, archive, limits))
    }

    /// Returns title and excerpt of a page; the excerpt is the beginning of its main text, without the parts that no snippet may show,
    /// and no longer than its author allows. Cost: about a millisecond.
    pub(crate) fn of(&mut self, record: &PageRecord) -> (String, String) {
        let allowed = record.excerpt.map_or(EXCERPT, |most| usize::try_from(most).unwrap_or(EXCERPT));
        let Some(kind) = kind(record).filter(|_| allowed > 0) else {
            return (record.title.clone().unwrap_or_default(), String::new());
        };
        let document = self.0.document(record, kind);
        let shown = document.shown();
        let shown = &shown[..shown.floor_char_boundary(snippet::SEARCHED)];
        (document.title, snippet::bound(shown, &[], allowed.min(EXCERPT)).text)
    }
}
