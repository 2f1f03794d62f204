//! The archive, read again: each record is in its place, the directives of each archived response allow archiving it,
//! and reading it again gives what the page's record says. Pages without a response in the archive are counted, each
//! with the reason.

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use meta::{DirectiveSource, Directives};
use serde::{Deserialize, Serialize};

use super::forgotten::Rules as Forgotten;
use super::said::RobotsStatements;
use super::seals::Captures;
use super::settings::Run;
use super::{AuditError, AuditRules, Check, content, kept};
use crate::causes::with_causes;
use crate::commit::{ArchiveEnd, WARC_END, warc_end_key};
use crate::config::{self, Walls};
use crate::costly::{CostlyRules, CostlySettings};
use crate::fetch::{decode_body, field_lines_of};
use crate::page_store;
use crate::record::{LinkOutcome, Withdrawal};
use crate::sorter::{self, Sorted};
use crate::store::{Store, Tree};
use crate::suspects::Suspects;
use crate::visit::{self, PageRules, ReadPool, Rereading, Visited};
use crate::wanted::Wanted;
use crate::warc::{self, Position, Reader, Record};
use page::extract::{self, Document, ExtractInput, SelectLimits};
use page::sitemap::SitemapLimits;
use page::url::CrawlUrl;

/// What the database says of one place in the archive.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    url: String,
    length: u64,
    /// The body may be kept, by the record's own words.
    may: bool,
    /// The record says that it is in the archive.
    archived: bool,
    /// The page whose last visit this is: its record and links are those of this response.
    last: Option<Last>,
}

/// What the record of a page says of its last visit.
#[derive(Debug, Serialize, Deserialize)]
struct Last {
    number: u64,
    digest: Option<String>,
    /// Bytes of the body as decoded, as far as it was read.
    bytes: u64,
    /// A limit cut the body.
    is_cut: bool,
    has_links: bool,
}

/// What is derived from the bodies of pages.
struct Derived {
    words: Check,
    digests: Check,
    links: Check,
}

impl Derived {
    fn new() -> Self {
        Self {
            words: Check::new(
                "archived_words",
                "no archived response, read again, forbids indexing or archiving",
            ),
            digests: Check::new("archived_digests", "each archived body has the digest in its page record"),
            links: Check::new(
                "archived_links",
                "each queued link is in the archived page on which it was found, and may be followed",
            ),
        }
    }

    /// Counts a page whose body isn't there.
    fn unchecked(&mut self, has_digest: bool, has_links: bool, reason: &'static str) {
        self.words.unchecked(reason);
        if has_digest {
            self.digests.unchecked(reason);
        }
        if has_links {
            self.links.unchecked(reason);
        }
    }

    fn unchecked_last(&mut self, last: &Last, reason: &'static str) {
        self.unchecked(last.digest.is_some(), last.has_links, reason);
    }

    fn checks(self) -> [Check; 3] {
        [self.words, self.digests, self.links]
    }
}

const RECORDS: &str = "each record of the archive is intact, and belongs to a page that may be archived";

/// Kinds of what is sorted by place.
const CAPTURE: u8 = 0;
const WITHDRAWN: u8 = 1;

/// Bytes behind a file's name: a zero, the offset, the kind.
const BEHIND: usize = 1 + 8 + 1;

/// What the database says of the archive's places, in the order of the archive.
type Places = Peekable<Sorted>;

/// Judges the files of a store. Memory: one record of the archive.
pub(super) fn judge<S: Store>(
    store: &S,
    files: Files,
    runs: &[Run],
    rules: &AuditRules,
    captures: &mut Captures,
    sealed: &mut Check,
) -> Result<Vec<Check>, AuditError> {
    let reading = Reading::new(rules, runs);
    let mut derived = Derived::new();
    let mut places = places(store, runs, rules, &mut derived)?.peekable();
    let mut records = Check::new("archive", RECORDS);
    let mut taken = Check::new("withdrawn", "withdrawn content is removed from the archive");
    let forgotten = Forgotten::read(store)?;
    let unsynced = unsynced(store)?;
    let may_be_lost = |file: &str, offset: u64| {
        unsynced.as_ref().is_some_and(|from| file == from.file && offset >= from.offset)
    };
    for (file, path) in files.files {
        let end = committed_end(store, &file, rules.is_running && !files.are_shared)?;
        let is_committed =
            |offset: u64| end.as_ref().is_none_or(|end| (&file, offset) < (&end.file, end.offset));
        if !is_committed(0) {
            continue;
        }
        let mut reader = match Reader::open(&path) {
            Ok(reader) if files.are_shared && warc::series(&file).is_none() => {
                drop(reader);
                Records::of_places(&path, &file)
            }
            Ok(reader) => Records::All(reader),
            Err(error) => {
                records.broken(&file, None, with_causes(&error));
                continue;
            }
        };
        while let Some(record) = reader.next(&mut places) {
            let record = match record {
                Ok(record) if is_committed(record.offset) => record,
                Ok(_) => break,
                Err(warc::Error::Record { offset, .. })
                    if !is_committed(offset) || may_be_lost(&file, offset) =>
                {
                    break;
                }
                Err(error) => {
                    records.broken(&file, None, with_causes(&error));
                    captures.torn();
                    break;
                }
            };
            let key = place_key(&file, record.offset);
            missing(&mut places, Some(&key), &may_be_lost, &mut records, &mut derived)?;
            let (mut place, mut is_withdrawn) = (None, false);
            while let Some(entry) =
                places.next_if(|entry| entry.as_ref().is_ok_and(|entry| entry.starts_with(&key)))
            {
                let entry = entry?;
                is_withdrawn |= entry.get(key.len()) == Some(&WITHDRAWN);
                if entry.get(key.len()) == Some(&CAPTURE) {
                    place = Some(read_place(&entry[key.len() + 1..])?);
                }
            }
            captures.take(&path, &file, &record, is_withdrawn, sealed)?;
            let url = record.field("WARC-Target-URI").unwrap_or_default();
            if !is_withdrawn
                && !record.is_evidence()
                && !record.is_tombstone()
                && forgotten.since(url).is_some()
            {
                taken.case();
                taken.broken(url, None, format!("forgotten, and still in {file} at {}", record.offset));
            }
            if is_withdrawn {
                taken.case();
                if !record.is_tombstone() && rules.is_running {
                    // It is on record before it is overwritten.
                    taken.unchecked(kept::RUNNING);
                } else if !record.is_tombstone() {
                    let url = record.field("WARC-Target-URI").unwrap_or_default();
                    taken.broken(url, None, format!("still in {file} at {}", record.offset));
                }
            } else if record.is_not_modified() {
                records.case();
                if place.is_none_or(|place| place.url != url || place.length != record.length) {
                    let what = format!("{file} at {}: no page record refers to it", record.offset);
                    records.broken(url, None, what);
                }
                continue;
            } else if record.kind() == "revisit" {
                records.case();
                let place = place.as_ref();
                let dir = path.parent().unwrap_or(Path::new(""));
                match warc::complete(dir, record) {
                    Ok(record) => {
                        judge_place(&file, &record, place, &mut records);
                        judge_body(store, &file, &record, place, &reading, &mut derived)?;
                    }
                    Err(warc::Error::Record { fault: warc::Fault::OriginalWithdrawn, .. }) => {
                        if let Some(last) = place.and_then(|place| place.last.as_ref()) {
                            derived.unchecked_last(last, kept::ORIGINAL_WITHDRAWN);
                        }
                    }
                    Err(warc::Error::Record { fault: warc::Fault::EarlierCrawl(_), .. }) => {
                        if let Some(last) = place.and_then(|place| place.last.as_ref()) {
                            derived.unchecked_last(last, kept::EARLIER_MISSING);
                        }
                    }
                    Err(error) => {
                        let url = place.map(|place| place.url.clone()).unwrap_or_default();
                        records.broken(url, None, format!("{file}: {}", with_causes(&error)));
                    }
                }
                continue;
            } else if record.kind() == "response" && is_aside(&record) {
                judge_aside(&file, &record, place.as_ref(), &mut records);
                continue;
            } else if record.kind() == "response" {
                judge_place(&file, &record, place.as_ref(), &mut records);
                judge_body(store, &file, &record, place.as_ref(), &reading, &mut derived)?;
                continue;
            }
            if let Some(place) = place {
                if rules.is_running {
                    // Withdrawn since.
                    records.unchecked(kept::RUNNING);
                    continue;
                }
                if let Some(last) = &place.last {
                    derived.unchecked_last(last, kept::MISSING);
                }
                records.broken(place.url, None, format!("no response in {file} at {}", record.offset));
            }
        }
    }
    missing(&mut places, None, &may_be_lost, &mut records, &mut derived)?;
    let [words, digests, links] = derived.checks();
    Ok(vec![records, words, digests, links, taken])
}

/// Records of a file.
enum Records<'a> {
    All(Reader),
    /// Those that the database names, each with those that name it as concurrent.
    Named {
        path: &'a Path,
        prefix: Vec<u8>,
        reader: Option<Reader>,
        is_first: bool,
    },
}

impl<'a> Records<'a> {
    fn of_places(path: &'a Path, file: &str) -> Self {
        let prefix = [file.as_bytes(), &[0]].concat();
        Self::Named { path, prefix, reader: None, is_first: false }
    }

    /// The next one. `places` are those that the records before have not taken.
    fn next(&mut self, places: &mut Places) -> Option<warc::Result<Record>> {
        let (path, prefix, reader, is_first) = match self {
            Self::All(reader) => return reader.next(),
            Self::Named { path, prefix, reader, is_first } => (path, prefix, reader, is_first),
        };
        loop {
            if let Some(open) = reader {
                let is_named = std::mem::replace(is_first, false);
                match open.next() {
                    Some(Ok(record)) if is_named || record.field("WARC-Concurrent-To").is_some() => {
                        return Some(Ok(record));
                    }
                    Some(Err(error)) if is_named => {
                        *reader = None;
                        return Some(Err(error));
                    }
                    _ => *reader = None,
                }
            }
            // What lies before this file was reported as missing; an error is when it is taken.
            let is_before = |entry: &[u8]| entry < prefix.as_slice();
            let next = places.peek()?.as_ref().ok()?;
            if is_before(next) || !next.starts_with(prefix) {
                return None;
            }
            let offset = sorter::number(next, prefix.len(), 8);
            *is_first = true;
            match Reader::open_at(path, offset) {
                Ok(open) => *reader = Some(open),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The end of the series that a file belongs to; none where nothing may lie behind it. Of a cluster's archive only what is committed counts: a
/// worker that lost its partition may have written more. `is_written`: the crawl adds to the files of no series.
fn committed_end<S: Store>(store: &S, file: &str, is_written: bool) -> Result<Option<Position>, AuditError> {
    let key = match warc::series(file) {
        Some(series) => warc_end_key(series),
        None if is_written => WARC_END.to_owned(),
        None => return Ok(None),
    };
    let end = store.get(Tree::Meta, key.as_bytes())?;
    let end = end.map(|end| serde_json::from_slice(&end)).transpose();
    Ok(Some(end.map_err(AuditError::record(Tree::Meta))?.unwrap_or_default()))
}

/// From where on a power failure may have taken captures that the database names: the next `crawl resume` queues their pages again. None where all
/// was on the disk.
fn unsynced<S: Store>(store: &S) -> Result<Option<Position>, AuditError> {
    let end = store.get(Tree::Meta, WARC_END.as_bytes())?;
    let end: Option<ArchiveEnd> =
        end.map(|end| serde_json::from_slice(&end)).transpose().map_err(AuditError::record(Tree::Meta))?;
    Ok(end.and_then(|ArchiveEnd { end, synced }| Some(Position { offset: synced?, ..end })))
}

/// What is said where no archive was named.
pub(super) fn not_given() -> Check {
    let mut check = Check::new("archive", RECORDS);
    let why = "the directories of the workers weren't given: name them with --warc";
    check.unjudged = Some(why.to_owned());
    check
}

/// Archive files by their names.
pub(super) struct Files {
    files: BTreeMap<String, PathBuf>,
    /// In files of no series only those records are judged that the database names: others are of other stores.
    are_shared: bool,
}

impl Files {
    /// Those of some directories whose names pass. `are_shared`: those of no series have records of other stores as well.
    pub(super) fn of<P: AsRef<Path>>(dirs: &[P], is_wanted: impl Fn(&str) -> bool, are_shared: bool) -> Self {
        let mut files = BTreeMap::new();
        for dir in dirs {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.ends_with(".warc.gz") && is_wanted(&name) {
                    files.insert(name, entry.path());
                }
            }
        }
        Self { files, are_shared }
    }
}

/// Whether a response is none of a page: a robots.txt, a sitemap or a consent file.
fn is_aside(record: &Record) -> bool {
    record.field(warc::PURPOSE).is_some()
}

/// Judges such a response. No page may refer to it; and a sitemap whose header speaks of its use isn't kept.
fn judge_aside(file: &str, record: &Record, place: Option<&Place>, records: &mut Check) {
    records.case();
    let url = record.field("WARC-Target-URI").unwrap_or_default();
    let at = record.field("WARC-Date").and_then(|date| date.parse::<Timestamp>().ok());
    let purpose = record.field(warc::PURPOSE).unwrap_or_default();
    if let Some(place) = place {
        let what = format!("{file} at {}: the database expects {} there", record.offset, place.url);
        records.broken(url, at, what);
    } else if !["robots", "sitemap", "consent"].contains(&purpose) {
        records.broken(url, at, format!("{file} at {}: of unknown purpose {purpose}", record.offset));
    } else if purpose == "sitemap"
        && field_lines_of(record.http().map_or(&[][..], |(head, _)| head)).iter().any(|(name, value)| {
            // Control characters within a word stay in this field.
            let mut value = value.to_ascii_lowercase();
            value.retain(|byte| !byte.is_ascii_control());
            name == "x-robots-tag"
                && ["noindex", "noarchive", "none"]
                    .iter()
                    .any(|word| memchr::memmem::find(&value, word.as_bytes()).is_some())
        })
    {
        let what = format!("{file} at {}: its X-Robots-Tag forbids archiving it", record.offset);
        records.broken(url, at, what);
    }
}

/// Reports the captures that the database has before a place, or anywhere, and that weren't found in the archive.
fn missing(
    places: &mut Places,
    before: Option<&[u8]>,
    may_be_lost: &impl Fn(&str, u64) -> bool,
    records: &mut Check,
    derived: &mut Derived,
) -> Result<(), AuditError> {
    let is_before = |entry: &[u8]| before.is_none_or(|before| entry < before);
    while let Some(entry) = places.next_if(|entry| entry.as_ref().map_or(true, |entry| is_before(entry))) {
        let entry = entry?;
        let end = entry.iter().position(|byte| *byte == 0).unwrap_or(entry.len());
        if entry.get(end + BEHIND - 1) == Some(&CAPTURE) {
            let (file, offset) = (String::from_utf8_lossy(&entry[..end]), sorter::number(&entry, end + 1, 8));
            let place = read_place(&entry[end + BEHIND..])?;
            let is_unsynced = may_be_lost(&file, offset);
            if let Some(last) = &place.last {
                derived.unchecked_last(last, if is_unsynced { kept::UNSYNCED } else { kept::MISSING });
            }
            if is_unsynced {
                records.unchecked(kept::UNSYNCED);
            } else {
                records.broken(place.url, None, format!("no response in {file} at {offset}"));
            }
        }
    }
    Ok(())
}

fn place_key(file: &str, offset: u64) -> Vec<u8> {
    [file.as_bytes(), &[0], &offset.to_be_bytes()].concat()
}

fn read_place(bytes: &[u8]) -> Result<Place, AuditError> {
    postcard::from_bytes(bytes).map_err(AuditError::record(Tree::Pages))
}

/// Judges what the database says of the place of a response.
fn judge_place(file: &str, record: &Record, place: Option<&Place>, records: &mut Check) {
    let url = record.field("WARC-Target-URI").unwrap_or_default();
    let at = record.field("WARC-Date").and_then(|date| date.parse::<Timestamp>().ok());
    records.case();
    let Some(place) = place else {
        records.broken(url, at, format!("{file} at {}: no page record refers to it", record.offset));
        return;
    };
    if place.url != url || place.length != record.length {
        let what = format!("{file} at {}: the database expects {} there", record.offset, place.url);
        records.broken(url, at, what);
    } else if !place.may {
        records.broken(url, at, format!("{file} at {}: its page record forbids archiving it", record.offset));
    } else if !place.archived {
        let what = format!("{file} at {}: its page record says that it isn't archived", record.offset);
        records.broken(url, at, what);
    }
}

/// Judges what a response says, read again. Nothing is read of a body that would end the process.
fn judge_body<S: Store>(
    store: &S,
    file: &str,
    record: &Record,
    place: Option<&Place>,
    reading: &Reading<'_>,
    derived: &mut Derived,
) -> Result<(), AuditError> {
    let Some(place) = place else { return Ok(()) };
    let Ok(_noted) = reading.rereading.begin(file, record) else {
        match &place.last {
            Some(last) => derived.unchecked_last(last, kept::CRASHED),
            None => derived.words.unchecked(kept::CRASHED),
        }
        return Ok(());
    };
    let visited = reading.again(record, place);
    let url = record.field("WARC-Target-URI").unwrap_or_default();
    let at = record.field("WARC-Date").and_then(|date| date.parse::<Timestamp>().ok());
    derived.words.case();
    if let Some(word) = forbids(url, at.unwrap_or(Timestamp::MIN), record, visited.as_ref(), reading) {
        derived.words.broken(url, at, format!("{file} at {}: {word}", record.offset));
    }
    judge_last(store, file, record, visited.as_ref(), place, reading, derived)
}

/// Compares what the record of a page says of its last visit with what its archived response gives, read again.
fn judge_last<S: Store>(
    store: &S,
    file: &str,
    record: &Record,
    visited: Option<&Visited>,
    place: &Place,
    reading: &Reading<'_>,
    derived: &mut Derived,
) -> Result<(), AuditError> {
    let Some(last) = &place.last else { return Ok(()) };
    let Some(visited) = visited else {
        derived.unchecked_last(last, kept::UNREADABLE);
        return Ok(());
    };
    if last.is_cut {
        // What was read of it is judged; what else it says nobody knows.
        derived.unchecked(false, last.has_links, kept::CUT);
    }
    let at = Some(visited.record.fetched_at);
    if let (Some(held), Some(found)) = (&last.digest, &visited.record.digest) {
        derived.digests.case();
        if held != found {
            let what =
                format!("{file} at {}: its body has digest {found}, its page record {held}", record.offset);
            derived.digests.broken(&place.url, at, what);
        }
    } else if last.digest.is_some() {
        // Its directives, read again, forbid its content: the check of directives reports that.
        derived.digests.unchecked(kept::NOINDEX);
    }
    judge_links(store, file, record, visited, &place.url, last.number, reading, &mut derived.links)
}

/// Compares the stored links of a page with those of its archived response.
#[expect(clippy::too_many_arguments, reason = "the parts of one response")]
fn judge_links<S: Store>(
    store: &S,
    file: &str,
    record: &Record,
    visited: &Visited,
    url: &str,
    number: u64,
    reading: &Reading<'_>,
    check: &mut Check,
) -> Result<(), AuditError> {
    let stored = page_store::links_at_number(store, number)?;
    let mut queued =
        stored.iter().filter(|link| link.kind != "redirect" && !link.outcome.is_skip()).peekable();
    if queued.peek().is_none() {
        return Ok(());
    }
    let at = visited.record.fetched_at;
    let follows = content::by_words(&visited.record, reading.rules, at).links;
    // Whether one of the links to a target may be followed.
    let mut open: HashMap<&str, bool> = HashMap::new();
    for link in &visited.links {
        if let Ok((url, _)) = &link.target {
            let forbidden = matches!(link.skip, Some(LinkOutcome::PageNofollow | LinkOutcome::RelNofollow));
            *open.entry(url.as_str()).or_default() |= follows && !link.nofollow && !forbidden;
        }
    }
    for link in queued {
        check.case();
        let what = match open.get(link.to.as_str()) {
            Some(true) => continue,
            Some(false) => "was queued through it, although the archived page forbids that",
            None => "was queued through it, but isn't in the archived page",
        };
        check.broken(url, Some(at), format!("{file} at {}: {} {what}", record.offset, link.to));
    }
    Ok(())
}

/// What the words of a response are read and judged by.
struct Reading<'a> {
    rules: &'a AuditRules,
    pages: PageRules,
    rereading: Rereading,
}

impl<'a> Reading<'a> {
    fn new(rules: &'a AuditRules, runs: &[Run]) -> Self {
        let settings = runs.iter().filter_map(|run| run.settings.as_ref());
        let fetches_resources = settings.chain([&rules.settings]).any(|settings| settings.scope.resources);
        let pages = PageRules {
            index: false,
            agent: rules.page_agent.clone(),
            dialect: meta::Dialect::Strict,
            policy: rules.policy.clone(),
            limits: rules.limits.clone(),
            selectors: Vec::new(),
            select_limits: SelectLimits::default(),
            sitemap_limits: SitemapLimits::default(),
            archive: false,
            resources: fetches_resources,
            // References are compared as they were found.
            // Its words are compared with what the archive holds, whatever it is.
            walls: Walls::Keep,
            costly: CostlyRules::of_program(&CostlySettings::default()),
            wanted: Wanted::default(),
            key: rules.key,
            closes_unread_head: rules.closes_unread_head(),
            read_pool: ReadPool::default(),
            suspects: Suspects::default(),
        };
        let settings = || config::settings_in_force(&rules.settings).ok();
        Self { rules, pages, rereading: Rereading::new(rules.temporary.as_deref(), settings) }
    }

    /// Reads a response as the visit did, and no more of its body than the visit had of it. None where it is none to its URL.
    fn again(&self, record: &Record, place: &Place) -> Option<Visited> {
        let url = CrawlUrl::parse(record.field("WARC-Target-URI")?).ok()?;
        let most = place.last.as_ref().filter(|last| last.is_cut).map(|last| last.bytes);
        visit::reread(&self.pages, &url, record, most)
    }
}

/// What an archived response says that forbids to keep it: by the crawl's own reader, and where that takes it for no page, by its
/// headers and whatever tags it can be read to have.
fn forbids(
    url: &str,
    at: Timestamp,
    record: &Record,
    visited: Option<&Visited>,
    reading: &Reading<'_>,
) -> Option<String> {
    let parsed = CrawlUrl::parse(url).ok()?;
    let words =
        |because: &[DirectiveSource]| because.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if let Some(visited) = visited {
        let read = &visited.record;
        if !content::by_words(read, reading.rules, at).body {
            return Some(words(&read.directives));
        }
        // What was read as a page has a charset.
        if read.charset.is_some() {
            return None;
        }
    }
    let directives = tags(&parsed, at, record, reading.rules)?;
    (!directives.effects().store_body.is_allowed()).then(|| words(&directives.because))
}

fn tags(url: &CrawlUrl, at: Timestamp, record: &Record, rules: &AuditRules) -> Option<Directives> {
    let (head, body) = record.http()?;
    let fields = field_lines_of(head);
    let text =
        |(name, value): &(String, Vec<u8>)| (name.clone(), String::from_utf8_lossy(value).into_owned());
    let headers: Vec<(String, String)> = fields.iter().map(text).collect();
    let codings = headers.iter().filter(|(name, _)| name == "content-encoding");
    let codings: Vec<&str> = codings.map(|(_, value)| value.as_str()).collect();
    let body = decode_body(Some(&codings.join(",")), body);
    let mut document =
        Document::of(fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())), &body);
    document.is_cut = record.field("WARC-Truncated").is_some();
    let input = ExtractInput {
        body: &body,
        content_type: document.content_type.as_deref(),
        url: &url.to_url(),
        link_headers: &[],
        limits: &rules.limits,
        want_text: false,
        want_styles: false,
    };
    let agent = &rules.page_agent;
    let readings = extract::read(&input, &document, agent);
    Some(readings.resolve(&headers, agent, meta::Dialect::Strict, at, rules.closes_unread_head()))
}

/// What the database says of the archive; the pages that it says nothing of are counted.
fn places<S: Store>(
    store: &S,
    runs: &[Run],
    rules: &AuditRules,
    derived: &mut Derived,
) -> Result<Sorted, AuditError> {
    let mut places = rules.sorter();
    let robots_said = RobotsStatements::new(store, rules);
    let is_off = kept::archive_was_off(runs, rules);
    for page in page_store::scan(store) {
        let page = page?;
        let mut record = page.record()?;
        robots_said.complete(&mut record)?;
        let may = content::allowed(&record, rules, record.fetched_at).body;
        let has_links = kept::has_links(&record);
        if record.warc.is_none() && record.status.is_some() {
            let reason = kept::why_not(&record, rules, is_off);
            derived.unchecked(record.digest.is_some(), has_links, reason);
        }
        for capture in record.captures() {
            // A capture of an earlier visit stays while the last one kept no body.
            let archived = record.archived || record.warc.as_ref() != Some(capture);
            let last = (record.warc.as_ref() == Some(capture)).then(|| Last {
                number: page.number,
                digest: record.digest.clone(),
                bytes: record.bytes,
                is_cut: record.is_cut(),
                has_links,
            });
            let place = Place { url: record.url.clone(), length: capture.length, may, archived, last };
            let place = postcard::to_stdvec(&place).map_err(AuditError::record(Tree::Pages))?;
            places.push_parts(&[&place_key(&capture.file, capture.offset), &[CAPTURE], &place])?;
        }
    }
    for pair in store.scan(Tree::Withdrawn, &[]) {
        let (_, value) = pair?;
        let withdrawal: Withdrawal =
            serde_json::from_slice(&value).map_err(AuditError::record(Tree::Withdrawn))?;
        let place = withdrawal.place;
        places.push_parts(&[&place_key(&place.file, place.offset), &[WITHDRAWN]])?;
    }
    Ok(places.sorted()?)
}
