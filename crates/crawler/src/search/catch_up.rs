//! Builds the index from records and archive: all of it, or what a crash interrupted. Only `crawl index` reads PDF files here; otherwise they
//! are queued.

use std::path::Path;

use jiff::Timestamp;

use super::archived::{Archive, Count, Text};
use super::document::{Document, Kind, kind};
use super::due::{self, DuePage};
use super::error::SearchError;
use super::unarchived::{UnarchivedText, UnarchivedTexts};
use super::writer::{self, Writer};
use crate::page_store;
use crate::record::{PageRecord, WaitingPdf, clear_waiting_pdfs, pdf_outcome, pdf_was_read, waiting_pdfs};
use crate::store::{AnyStore, Store, StoreError, Tree, Write};
use page::extract::ExtractLimits;

/// What an index was built from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Built {
    /// Pages that are in the index, or that were taken in.
    pub pages: u64,
    /// Of these, those whose body isn't in the archive (noarchive, an archive that is off): they are found by title, description
    /// and URL alone.
    pub unarchived: u64,
    /// Of these, those whose body is in the archive and couldn't be read, or holds no text: PDF files, as a rule.
    pub unread: u64,
    /// Of these, PDF files that take too long or too much memory, or are of a site with several such files.
    pub slow: u64,
    /// Of those that couldn't be read, pages whose body ended a process that read it.
    pub crashed: u64,
    /// Of all, those whose body is in an archive file that is out of reach: of a crawl on many machines, whose workers have it.
    pub out_of_reach: u64,
}

impl Built {
    pub(super) fn of(pages: u64, archive: &Archive) -> Self {
        let Count { unarchived, unread, slow, crashed } = archive.count;
        Self { pages, unarchived, unread, slow, crashed, out_of_reach: 0 }
    }
}

/// Rebuilds the index of the crawl in `root`, beside the existing one, and replaces that when it is complete. PDF files that wait, and those
/// that an earlier run couldn't read, are read: what becomes of them is put on record.
/// `progress` is called with the number of pages so far, now and then. Cost: one pass over records and archive, about a millisecond a page,
/// up to 10 s a PDF file; memory: some 50 MB whatever the size. The directory has to be held by the caller.
pub fn rebuild(
    root: &Path,
    store: &AnyStore,
    limits: ExtractLimits,
    now: Timestamp,
    progress: &mut dyn FnMut(u64),
) -> Result<Built, SearchError> {
    let built = build(root, store, Archive::new(root, limits), now, |pages, entries| {
        progress(pages);
        // They say only why a text is missing: should this be interrupted, what waited still waits.
        if entries.is_empty() { Ok(()) } else { store.commit(std::mem::take(entries)) }
    })?;
    // Those that waited are in the index, or can't be read.
    clear_waiting_pdfs(store)?;
    UnarchivedTexts::new(root).remove_upto(due::last(store)?)?;
    Ok(built)
}

/// Entries of PDF files that are written at once.
const ENTRIES: usize = 1_000;

/// Builds an index. `tell` is called with the number of pages so far and takes the entries of PDF files, now and then.
fn build<S: Store>(
    root: &Path,
    store: &S,
    mut archive: Archive,
    now: Timestamp,
    mut tell: impl FnMut(u64, &mut Vec<Write>) -> Result<(), StoreError>,
) -> Result<Built, SearchError> {
    let mut writer = Writer::create(root, &crawl_id(store)?, due::last(store)?)?;
    let (mut pages, mut entries) = (0, Vec::new());
    for page in page_store::scan(store) {
        let page = page?;
        let record = page.record()?;
        let Some(kind) = kind(&record).filter(|_| !record.is_unavailable(now)) else { continue };
        let of_pdf = Some(((page.host, page.page), &mut entries));
        writer.add(&document(&mut archive, &record, kind, of_pdf))?;
        pages += 1;
        if writer.is_full() {
            writer.commit()?;
            tell(pages, &mut entries)?;
        } else if entries.len() >= ENTRIES {
            tell(pages, &mut entries)?;
        }
    }
    writer.finish(root)?;
    tell(pages, &mut entries)?;
    Ok(Built::of(pages, &archive))
}

/// Makes the document of a page. `entries` gets those of a PDF file.
fn document(
    archive: &mut Archive,
    record: &PageRecord,
    kind: Kind,
    entries: Option<(DuePage, &mut Vec<Write>)>,
) -> Document {
    let text = archive.text(record, kind);
    if let (Kind::Pdf, Some(((host, page), entries))) = (kind, entries) {
        match &text {
            Text::Read(_) => entries.push(pdf_outcome(&record.url, None)),
            Text::None(unread) => entries.push(pdf_outcome(&record.url, *unread)),
            Text::Left if archive.leaves(record, kind) => {
                entries.push(WaitingPdf::new(&record.url, host, page, record.fetched_at).enter());
            }
            Text::Left => {}
        }
    }
    text.into_document(record)
}

/// Returns whether the index of the crawl in `root` may lack something, or hold too much: a crawl is running there, or was killed, or an
/// earlier version wrote it.
pub fn is_behind(root: &Path) -> bool {
    writer::is_unfinished(root) || writer::is_earlier(root)
}

/// How many pages of the crawl in `root` are due: its index lacks them, or has them as they were before.
pub fn lacking<S: Store + ?Sized>(root: &Path, store: &S) -> Result<u64, SearchError> {
    let upto = writer::open(&root.join(writer::DIR))?.map_or(0, |(_, _, mark)| mark.upto);
    Ok(due::count(store, upto)?)
}

/// Takes into an index what it lacks, after a crawl that was killed or stopped. `progress` is called with the number of pages so
/// far, now and then. The directory has to be held by the caller.
pub fn take_up<S: Store>(
    root: &Path,
    store: &S,
    limits: &ExtractLimits,
    now: Timestamp,
    progress: &mut dyn FnMut(u64),
) -> Result<Built, SearchError> {
    let (writer, built) = catch_up(root, store, limits, now, progress)?;
    writer.close(false)?;
    Ok(built)
}

/// As [`take_up`], and reads the PDF files that wait.
pub fn take_up_with_pdf<S: Store>(
    root: &Path,
    store: &S,
    limits: &ExtractLimits,
    now: Timestamp,
    progress: &mut dyn FnMut(u64),
) -> Result<Built, SearchError> {
    let (mut writer, built) = catch_up(root, store, limits, now, progress)?;
    let mut archive = Archive::new(root, limits.clone());
    let mut entries = Vec::new();
    for waiting in waiting_pdfs(store) {
        let waiting = waiting?;
        let record = page_store::record_of(store, waiting.host, waiting.page)?;
        let is_pdf = |record: &PageRecord| kind(record) == Some(Kind::Pdf) && !record.is_unavailable(now);
        let Some(record) = record.filter(is_pdf) else { continue };
        let unread = match archive.text(&record, Kind::Pdf) {
            Text::Read(text) => {
                writer.put(&Document::new(&record, *text))?;
                None
            }
            Text::None(unread) => unread,
            Text::Left => continue,
        };
        entries.extend(pdf_was_read(&waiting.url, unread));
        if writer.is_full() {
            writer.commit()?;
        }
    }
    writer.close(false)?;
    store.commit(entries)?;
    let of_pdf = Built::of(0, &archive);
    Ok(Built { unread: built.unread + of_pdf.unread, slow: built.slow + of_pdf.slow, ..built })
}

/// Takes the pages with these URLs out of an index and its files, and out of the texts that wait. Does nothing where there is no index of this crawl. Their
/// records have to be gone by then, or an index that is behind takes them in again. The directory has to be held by the caller.
pub fn forget<'a, S: Store>(
    root: &Path,
    store: &S,
    urls: impl Iterator<Item = &'a str>,
) -> Result<(), SearchError> {
    keep_wanted_texts(&UnarchivedTexts::new(root), store)?;
    let is_behind = writer::is_unfinished(root);
    let Some(mut writer) = Writer::open(root, &crawl_id(store)?)? else { return Ok(()) };
    for url in urls {
        writer.delete(url);
    }
    if is_behind {
        writer.stay_unfinished();
    }
    writer.close(true)
}

/// Removes the texts that wait of pages that were forgotten, withdrawn, or fetched again.
pub(super) fn keep_wanted_texts<S: Store>(texts: &UnarchivedTexts, store: &S) -> Result<(), SearchError> {
    texts.retain(|text| {
        let (host, page) = text.page;
        let record = page_store::record_of(store, host, page)?;
        Ok(record.is_some_and(|record| kind(&record).is_some() && text.is_of(text.page, &record)))
    })
}

/// Stored pages up to which a run builds an index that isn't there before its first request: some ten seconds' work.
pub(super) const BUILT_AT_START: u64 = 10_000;

/// Returns whether a run has to build the whole index first: there is none, or one of another crawl or form; and the crawl has more than
/// so many pages.
pub(super) fn is_too_much<S: Store>(root: &Path, store: &S, most: u64) -> Result<bool, SearchError> {
    if page_store::State::read(store)?.count <= most {
        return Ok(false);
    }
    let crawl = crawl_id(store)?;
    Ok(writer::open(&root.join(writer::DIR))?.is_none_or(|(_, _, mark)| mark.crawl != crawl))
}

/// Opens the index of a crawl; builds the whole of it where there is none.
fn open_or_build<S: Store>(
    root: &Path,
    store: &S,
    limits: &ExtractLimits,
    now: Timestamp,
) -> Result<(Writer, Built), SearchError> {
    let crawl = crawl_id(store)?;
    let mut built = Built::default();
    let known = Writer::open(root, &crawl)?;
    let mut writer = if let Some(writer) = known {
        writer
    } else {
        let archive = Archive::new(root, limits.clone()).leaving_pdf();
        built = build(root, store, archive, now, |_, entries| store.commit(std::mem::take(entries)))?;
        Writer::open(root, &crawl)?.ok_or_else(|| SearchError::None(root.to_owned()))?
    };
    if writer.is_earlier() {
        writer = without_denied(root, store, &crawl, writer)?;
    }
    Ok((writer, built))
}

/// Opens the index of a crawl for a run, which takes in what it lacks; returns the number of pages. What had to leave meanwhile leaves it at
/// once, with `purge` also its files.
pub(super) fn open_for_run<S: Store>(
    root: &Path,
    store: &S,
    limits: &ExtractLimits,
    now: Timestamp,
    purge: bool,
) -> Result<(Writer, Built, u64), SearchError> {
    let (mut writer, built) = open_or_build(root, store, limits, now)?;
    let archive = Archive::new(root, limits.clone()).leaving_pdf();
    let (mut entries, mut lacking) = (Vec::new(), 0);
    for entry in due::entries(store) {
        let (number, due) = entry?;
        if number <= writer.upto() {
            entries.push(due::remove(number));
            continue;
        }
        lacking += due.len() as u64;
        for (host, page) in due {
            let Some(record) = page_store::record_of(store, host, page)? else { continue };
            match kind(&record).filter(|_| !record.is_unavailable(now)) {
                None => writer.delete(&record.url),
                // Its entry puts it in without its text, which is read after that.
                Some(kind) if archive.leaves(&record, kind) => {
                    entries.push(WaitingPdf::new(&record.url, host, page, record.fetched_at).enter());
                }
                Some(_) => {}
            }
        }
    }
    writer.commit()?;
    store.commit(entries)?;
    let texts = UnarchivedTexts::new(root);
    texts.remove_upto(writer.upto())?;
    if purge {
        keep_wanted_texts(&texts, store)?;
        writer.stay_unfinished();
        writer.close(true)?;
        (writer, _) = open_or_build(root, store, limits, now)?;
    }
    Ok((writer, built, lacking))
}

/// Opens the index of a crawl and takes in what it lacks; builds the whole of it where there is none. Everything due is in it
/// durably then, and is entered no more.
fn catch_up<S: Store>(
    root: &Path,
    store: &S,
    limits: &ExtractLimits,
    now: Timestamp,
    progress: &mut dyn FnMut(u64),
) -> Result<(Writer, Built), SearchError> {
    let (mut writer, built) = open_or_build(root, store, limits, now)?;
    let mut archive = Archive::new(root, limits.clone()).leaving_pdf();
    let unarchived = UnarchivedTexts::new(root);
    let (mut done, mut pages) = (Vec::new(), 0);
    for entry in due::entries(store) {
        let (number, due) = entry?;
        done.push(due::remove(number));
        if number <= writer.upto() {
            continue;
        }
        let mut texts = unarchived.of(number);
        for (host, page) in due {
            let Some(record) = page_store::record_of(store, host, page)? else { continue };
            let page = (host, page);
            let is_in = take_unarchived(&mut writer, &mut texts, page, &record, now)?
                || take(&mut writer, &mut archive, &record, now, Some((page, &mut done)))?;
            pages += u64::from(is_in);
        }
        writer.reach(number);
        if writer.is_full() {
            writer.commit()?;
            progress(pages);
        }
    }
    writer.commit()?;
    store.commit(done)?;
    unarchived.remove_upto(writer.upto())?;
    if built.pages > 0 {
        return Ok((writer, built));
    }
    Ok((writer, Built::of(pages, &archive)))
}

/// Renews an index of an earlier form: pages that are denied search leave it, and its files. Cost: one pass over the records.
fn without_denied<S: Store>(
    root: &Path,
    store: &S,
    crawl: &str,
    mut writer: Writer,
) -> Result<Writer, SearchError> {
    for page in page_store::scan(store) {
        let record = page?.record()?;
        if record.indexed && !record.is_searchable() {
            writer.delete(&record.url);
        }
    }
    writer.renew();
    // What is due is still to be taken in.
    writer.stay_unfinished();
    writer.close(true)?;
    Writer::open(root, crawl)?.ok_or_else(|| SearchError::None(root.to_owned()))
}

/// Takes a page in as its record is now; says whether it is in the index. `entries` gets those of a PDF file.
pub(super) fn take(
    writer: &mut Writer,
    archive: &mut Archive,
    record: &PageRecord,
    now: Timestamp,
    entries: Option<(DuePage, &mut Vec<Write>)>,
) -> Result<bool, SearchError> {
    let Some(kind) = kind(record).filter(|_| !record.is_unavailable(now)) else {
        writer.delete(&record.url);
        return Ok(false);
    };
    writer.put(&document(archive, record, kind, entries))?;
    Ok(true)
}

/// Takes a page in whose text isn't archived, as its record is now; says whether it is in the index. False where `texts` have none of this version.
pub(super) fn take_unarchived(
    writer: &mut Writer,
    texts: &mut Vec<UnarchivedText>,
    page: DuePage,
    record: &PageRecord,
    now: Timestamp,
) -> Result<bool, SearchError> {
    let is_wanted = kind(record).is_some() && !record.is_unavailable(now);
    let Some(at) = texts.iter().position(|text| is_wanted && text.is_of(page, record)) else {
        return Ok(false);
    };
    writer.put(&Document::new(record, texts.swap_remove(at).text))?;
    Ok(true)
}

/// The name of the crawl: an index of another one isn't continued.
pub(super) fn crawl_id<S: Store>(store: &S) -> Result<String, StoreError> {
    let id = store.get(Tree::Meta, b"crawl_id")?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&id).into_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use meta::consent::{Claim, Consent, Purpose, Signal, Statement};
    use meta::{Source, SourceKind};

    use super::*;
    use crate::frontier::HostId;
    use crate::page_store::{Change, PageWriter};
    use crate::record::RobotsConsent;
    use crate::search::document::Document;
    use crate::search::schema::RENEWED;
    use crate::search::{Request, Search};
    use crate::store::{MemoryStore, Write};
    use page::extract::MainText;
    use page::url::Fingerprint;

    fn store() -> MemoryStore {
        let store = MemoryStore::default();
        store.commit(vec![Write::put(Tree::Meta, "crawl_id", "c")]).unwrap();
        store
    }

    fn document(url: &str, text: &str) -> Document {
        Document {
            url: url.to_owned(),
            title: format!("Title of {text}"),
            description: format!("About {text}"),
            text: MainText {
                text: text.to_owned(),
                headings: format!("Heading of {text}"),
                ..MainText::default()
            },
            ..Document::default()
        }
    }

    fn urls(root: &Path) -> Vec<String> {
        let request = Request { query: "*".to_owned(), limit: 9, ..Request::default() };
        let found = Search::open(root).unwrap().find(&request, Timestamp::UNIX_EPOCH).unwrap();
        let mut urls: Vec<String> = found.hits.into_iter().map(|hit| hit.url).collect();
        urls.sort();
        urls
    }

    #[test]
    fn what_is_forgotten_is_in_no_file_of_the_index() {
        let (top, store) = (tempfile::tempdir().unwrap(), store());
        let root = top.path();
        forget(root, &store, ["http://a.test/1"].into_iter()).unwrap();
        assert!(!root.join("index").exists(), "nothing to forget");
        let mut writer = Writer::create(root, "c", 3).unwrap();
        for (url, text) in
            [("http://a.test/1", "mforgotten"), ("http://a.test/2", "mkept"), ("http://b.test/", "mother")]
        {
            writer.add(&document(url, text)).unwrap();
        }
        writer.finish(root).unwrap();
        let gone = ["http://a.test/1", "http://b.test/", "http://nowhere.test/"];
        forget(root, &store, gone.into_iter()).unwrap();
        assert_eq!(urls(root), ["http://a.test/2"]);
        let contents = Search::open(root).unwrap().contents().unwrap();
        for marker in ["mforgotten", "mother"] {
            assert!(!contents.words.iter().any(|word| word.contains(marker)), "{marker}");
            assert!(!contents.texts.iter().any(|text| text.contains(marker)), "{marker}");
        }
        assert!(contents.words.iter().any(|word| word == "mkept"), "the check finds what is there");
        assert_eq!(Writer::open(root, "c").unwrap().unwrap().upto(), 3, "nothing is taken for done");
    }

    #[test]
    fn an_index_of_an_earlier_form_loses_pages_that_are_denied_search_before_it_is_searched() {
        let (top, store) = (tempfile::tempdir().unwrap(), store());
        let root = top.path();
        let denied = |from: SourceKind| Statement {
            signal: Signal::ContentSignal,
            claim: Claim::Purpose(Purpose::Search, Consent::Deny),
            source: Source::new(from, 0, "Content-Signal", "search=no"),
            at: Timestamp::UNIX_EPOCH,
        };
        let of_robots = RobotsConsent { digest: None, at: Timestamp::UNIX_EPOCH, lines: vec![2] };
        let page = PageRecord { indexed: true, charset: Some("utf-8".to_owned()), ..PageRecord::default() };
        let served = || vec![Purpose::Search, Purpose::Archive];
        // As an earlier version stored them: no record says whether the page may be searched.
        let pages = [
            ("http://silent.test/", PageRecord { serves: served(), ..page.clone() }),
            (
                "http://other.test/",
                PageRecord { serves: served(), robots_consent: Some(of_robots.clone()), ..page.clone() },
            ),
            ("http://header.test/", PageRecord { consent: vec![denied(SourceKind::Header)], ..page.clone() }),
            ("http://robots.test/", PageRecord { robots_consent: Some(of_robots), ..page }),
        ];
        let mut writer = Writer::create(root, "c", 0).unwrap();
        let mut changes = Vec::new();
        for (number, (url, record)) in pages.into_iter().enumerate() {
            writer.add(&document(url, &format!("m{number}"))).unwrap();
            let record = serde_json::to_vec(&PageRecord { v: 1, url: url.to_owned(), ..record }).unwrap();
            changes.push(Change { host: HostId(0), page: Fingerprint(number as u64), record, links: None });
        }
        writer.set_form(RENEWED);
        writer.finish(root).unwrap();
        let puts = PageWriter::open(&store).unwrap().store(&store, changes).unwrap();
        store.commit(puts).unwrap();
        assert!(matches!(Search::open(root), Err(SearchError::OtherForm(_))));
        assert!(is_behind(root));
        take_up(root, &store, &ExtractLimits::default(), Timestamp::UNIX_EPOCH, &mut |_| {}).unwrap();
        assert!(!is_behind(root));
        assert_eq!(urls(root), ["http://other.test/", "http://silent.test/"]);
        let words = Search::open(root).unwrap().contents().unwrap().words;
        for (word, is_there) in [("m0", true), ("m1", true), ("m2", false), ("m3", false)] {
            assert_eq!(words.iter().any(|found| found == word), is_there, "{word}");
        }
    }

    #[test]
    fn an_index_that_is_behind_is_still_so_after_something_was_forgotten() {
        let (top, store) = (tempfile::tempdir().unwrap(), store());
        let root = top.path();
        let mut writer = Writer::create(root, "c", 0).unwrap();
        writer.add(&document("http://a.test/1", "mforgotten")).unwrap();
        writer.finish(root).unwrap();
        forget(root, &store, std::iter::empty()).unwrap();
        assert!(!is_behind(root));
        // What a killed crawl leaves.
        drop(Writer::open(root, "c").unwrap().unwrap());
        assert!(is_behind(root));
        forget(root, &store, ["http://a.test/1"].into_iter()).unwrap();
        assert!(is_behind(root), "what is due is still to be taken in");
        assert!(urls(root).is_empty());
    }

    #[test]
    fn a_large_crawl_without_an_index_is_not_indexed_as_a_run_begins() {
        let (top, store) = (tempfile::tempdir().unwrap(), store());
        let root = top.path();
        let has = |count: u64| {
            let state = page_store::State { count, ..page_store::State::default() };
            let state = serde_json::to_vec(&state).unwrap();
            store.commit(vec![Write::put(Tree::Meta, page_store::STATE, state)]).unwrap();
        };
        has(BUILT_AT_START);
        assert!(!is_too_much(root, &store, BUILT_AT_START).unwrap());
        has(BUILT_AT_START + 1);
        assert!(is_too_much(root, &store, BUILT_AT_START).unwrap());
        let limits = ExtractLimits::default();
        let store: AnyStore = Arc::new(store);
        let tell = Box::new(|_| {});
        let started =
            crate::search::Indexing::start(root, &store, &limits, Timestamp::UNIX_EPOCH, false, tell)
                .unwrap();
        assert!(started.is_none() && !root.join("index").exists());
        Writer::create(root, "other", 0).unwrap().finish(root).unwrap();
        assert!(is_too_much(root, &store, BUILT_AT_START).unwrap(), "the index of another crawl");
        Writer::create(root, "c", 0).unwrap().finish(root).unwrap();
        assert!(!is_too_much(root, &store, BUILT_AT_START).unwrap(), "it is there");
    }
}
