//! The index of a crawl on many machines, in a directory of its own. Each record of a page is sealed by an entry of the ledger of its partition:
//! what was changed since the index was written is what the entries since then name. The index says with each of its commits how far
//! it has come in the ledger of each partition.

use std::path::Path;

use jiff::Timestamp;

use super::archived::Archive;
use super::catch_up::{Built, crawl_id, take};
use super::error::SearchError;
use super::schema::FORM;
use super::writer::{self, DIR, Writer};
use crate::crawl_dir::refuse_links;
use crate::ledger;
use crate::page_store;
use crate::record::{Decision, StoredKind};
use crate::store::StoreError;
use crate::view::View;
use crate::warc::Directories;
use page::extract::ExtractLimits;
use page::url::CrawlUrl;

/// Whether a directory has an index.
pub fn is_index(root: &Path) -> bool {
    root.join(DIR).join("meta.json").is_file()
}

/// Builds the index of a crawl in several partitions, or takes in what was stored, changed and withdrawn since it was built: nothing of a page
/// that had to go stays in its files. `archive` has the bodies of pages: one that is out of reach is taken in without its text, and again the next time. `progress` is
/// called with the number of pages so far, now and then. The crawl may go on: what is stored meanwhile is taken in the next time.
///
/// Cost: about a millisecond and some reads of the database a page that changed. Memory: some 50 MB, and 20 bytes a host.
pub fn index_parts(
    root: &Path,
    parts: &[(String, View)],
    archive: Directories,
    limits: ExtractLimits,
    now: Timestamp,
    progress: &mut dyn FnMut(u64),
) -> Result<Built, SearchError> {
    refuse_links(root)?;
    std::fs::create_dir_all(root).map_err(SearchError::io("create", root))?;
    let counts = counts(parts)?;
    let mut writer = open(root, &name(parts)?, &counts)?;
    let mut archive = Archive::in_directories(root, archive, limits);
    let mut reached = writer.parts().to_vec();
    let (mut pages, mut out_of_reach) = (0, 0);
    for (number, (_, view)) in parts.iter().enumerate() {
        let mut next = reached[number];
        let mut is_whole = true;
        while next < counts[number] {
            let (first, decisions) = ledger::entries_with(view.store(), next)?;
            let behind = first + decisions.len() as u64;
            let new = decisions.into_iter().skip(usize::try_from(next - first).unwrap_or(usize::MAX));
            for url in new.filter_map(|entry| page_of(&entry)) {
                let Some(record) = view.stored_record(&url)? else {
                    writer.delete(url.as_str());
                    continue;
                };
                // The databases are only read: what becomes of PDF files is counted.
                let is_in = take(&mut writer, &mut archive, &record, now, None)?;
                pages += u64::from(is_in);
                if is_in && !archive.has(&record) {
                    out_of_reach += 1;
                    is_whole = false;
                }
            }
            next = behind;
            if is_whole {
                reached[number] = next;
                writer.reach_parts(reached.clone());
            }
            if writer.is_full() {
                writer.commit()?;
                progress(pages);
            }
        }
    }
    writer.close(true)?;
    let built = Built::of(pages, &archive);
    // Those are counted once.
    Ok(Built { unread: built.unread.saturating_sub(out_of_reach), out_of_reach, ..built })
}

/// How many entries of the ledgers an index lacks.
pub fn lag(root: &Path, parts: &[(String, View)]) -> Result<u64, SearchError> {
    let Some((_, _, mark)) = writer::open(&root.join(DIR))? else {
        return Err(SearchError::None(root.to_owned()));
    };
    if mark.crawl != name(parts)? || mark.parts.len() != parts.len() {
        return Err(SearchError::OtherCrawl(root.to_owned()));
    }
    Ok(counts(parts)?.iter().zip(&mark.parts).map(|(count, reached)| count.saturating_sub(*reached)).sum())
}

/// The index of this crawl, or a new one where there is none that can be continued.
fn open(root: &Path, crawl: &str, counts: &[u64]) -> Result<Writer, SearchError> {
    if let Some((_, _, mark)) = writer::open(&root.join(DIR))? {
        if mark.crawl != crawl || mark.parts.len() != counts.len() {
            return Err(SearchError::OtherCrawl(root.to_owned()));
        }
        // One of an earlier form may hold pages that are denied search. One that has come further is of a database that was restored to an earlier time.
        if mark.v == FORM
            && mark.parts.iter().zip(counts).all(|(reached, count)| reached <= count)
            && let Some(writer) = Writer::open(root, crawl)?
        {
            return Ok(writer);
        }
    }
    let mut new = Writer::create(root, crawl, 0)?;
    new.reach_parts(vec![0; counts.len()]);
    new.finish(root)?;
    Writer::open(root, crawl)?.ok_or_else(|| SearchError::None(root.to_owned()))
}

fn name(parts: &[(String, View)]) -> Result<String, StoreError> {
    parts.first().map_or_else(|| Ok(String::new()), |(_, view)| crawl_id(view.store()))
}

/// How many entries the ledger of each partition has.
fn counts(parts: &[(String, View)]) -> Result<Vec<u64>, SearchError> {
    let mut counts = Vec::with_capacity(parts.len());
    for (_, view) in parts {
        let count = ledger::count(view.store())?;
        if count == 0 && page_store::State::read(view.store())?.count > 0 {
            return Err(SearchError::NoLedger);
        }
        counts.push(count);
    }
    Ok(counts)
}

/// The page whose record an entry seals.
fn page_of(entry: &Decision) -> Option<CrawlUrl> {
    let stored = entry.evidence.stored.as_ref()?;
    if stored.kind != StoredKind::Page {
        return None;
    }
    CrawlUrl::parse(&entry.url).ok()
}
