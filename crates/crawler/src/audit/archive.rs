//! The archive, read again: each record is in its place, and each archived response allows to be kept by its own words.

use std::collections::HashMap;
use std::iter::Peekable;
use std::path::Path;

use jiff::Timestamp;
use meta::{Because, Directives};
use serde::{Deserialize, Serialize};

use super::said::RobotsSaid;
use super::seals::Captures;
use super::{AuditError, AuditRules, Check, content};
use crate::extract::{self, Document, ExtractInput, SelectLimits};
use crate::fetch::decode_body;
use crate::page_store;
use crate::record::{LinkOutcome, Withdrawal};
use crate::sitemap::SitemapLimits;
use crate::sorter::{self, Sorted};
use crate::store::{Store, Tree};
use crate::url::CrawlUrl;
use crate::visit::{self, Desk, PageRules};
use crate::warc::{Reader, Record};

/// What the database says of one place in the archive.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    url: String,
    length: u64,
    /// The body may be kept, by the record's own words.
    may: bool,
    /// The record says that it is in the archive.
    archived: bool,
    /// Number of the page whose last visit this is; its links are those of this response.
    links_of: Option<u64>,
}

/// Kinds of what is sorted by place.
const CAPTURE: u8 = 0;
const WITHDRAWN: u8 = 1;

/// Octets behind a file's name: a zero, the offset, the kind.
const BEHIND: usize = 1 + 8 + 1;

/// What the database says of the archive's places, in the order of the archive.
type Places = Peekable<Sorted>;

pub(super) fn judge<S: Store>(
    store: &S,
    dir: &Path,
    rules: &AuditRules,
    captures: &mut Captures,
    sealed: &mut Check,
) -> Result<Vec<Check>, AuditError> {
    let reading = Reading::new(rules);
    let mut places = places(store, rules)?.peekable();
    let mut records =
        Check::new("archive", "each record of the archive is whole, and belongs to a page that may be kept");
    let mut words = Check::new(
        "archived_words",
        "each archived response, read again, forbids neither indexing nor archiving",
    );
    let mut links = Check::new(
        "archived_links",
        "each link that was queued stands in the archived page that it was found on, which lets it be followed",
    );
    let mut taken = Check::new("withdrawn", "what was withdrawn is gone from the archive");
    let mut files: Vec<_> = match std::fs::read_dir(dir) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => Vec::new(),
    };
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    for path in files {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let reader = match Reader::open(&path) {
            Ok(reader) => reader,
            Err(error) => {
                records.broken(&file, None, error.to_string());
                continue;
            }
        };
        for record in reader {
            let record = match record {
                Ok(record) => record,
                Err(error) => {
                    records.broken(&file, None, error.to_string());
                    break;
                }
            };
            let key = place_key(&file, record.offset);
            missing(&mut places, Some(&key), &mut records)?;
            let (mut place, mut is_withdrawn) = (None, false);
            while let Some(told) =
                places.next_if(|told| told.as_ref().is_ok_and(|told| told.starts_with(&key)))
            {
                let told = told?;
                is_withdrawn |= told.get(key.len()) == Some(&WITHDRAWN);
                if told.get(key.len()) == Some(&CAPTURE) {
                    place = Some(read_place(&told[key.len() + 1..])?);
                }
            }
            captures.take(&path, &file, &record, is_withdrawn, sealed)?;
            if is_withdrawn {
                taken.case();
                if record.kind() == "response" {
                    let url = record.field("WARC-Target-URI").unwrap_or_default();
                    taken.broken(url, None, format!("still in {file} at {}", record.offset));
                }
            } else if record.kind() == "response" {
                judge_links(store, &file, &record, place.as_ref(), &reading, &mut links)?;
                judge_response(&file, &record, place.as_ref(), &reading, &mut records, &mut words);
                continue;
            }
            if let Some(place) = place {
                records.broken(place.url, None, format!("no response in {file} at {}", record.offset));
            }
        }
    }
    missing(&mut places, None, &mut records)?;
    Ok(vec![records, words, links, taken])
}

/// Tells of the captures that stand in the database before a place, or anywhere, and weren't met in the archive.
fn missing(places: &mut Places, before: Option<&[u8]>, records: &mut Check) -> Result<(), AuditError> {
    let is_before = |told: &[u8]| before.is_none_or(|before| told < before);
    while let Some(told) = places.next_if(|told| told.as_ref().map_or(true, |told| is_before(told))) {
        let told = told?;
        let end = told.iter().position(|octet| *octet == 0).unwrap_or(told.len());
        if told.get(end + BEHIND - 1) == Some(&CAPTURE) {
            let (file, offset) = (String::from_utf8_lossy(&told[..end]), sorter::number(&told, end + 1, 8));
            let place = read_place(&told[end + BEHIND..])?;
            records.broken(place.url, None, format!("no response in {file} at {offset}"));
        }
    }
    Ok(())
}

fn place_key(file: &str, offset: u64) -> Vec<u8> {
    [file.as_bytes(), &[0], &offset.to_be_bytes()].concat()
}

fn read_place(octets: &[u8]) -> Result<Place, AuditError> {
    postcard::from_bytes(octets).map_err(|error| AuditError::record(Tree::Pages)(&error))
}

fn judge_response(
    file: &str,
    record: &Record,
    place: Option<&Place>,
    reading: &Reading<'_>,
    records: &mut Check,
    words: &mut Check,
) {
    let url = record.field("WARC-Target-URI").unwrap_or_default();
    let at = record.field("WARC-Date").and_then(|date| date.parse::<Timestamp>().ok());
    records.case();
    let Some(place) = place else {
        records.broken(url, at, format!("{file} at {}: no page record names it", record.offset));
        return;
    };
    if place.url != url || place.length != record.length {
        let what = format!("{file} at {}: the database expects {} there", record.offset, place.url);
        records.broken(url, at, what);
    } else if !place.may {
        records.broken(url, at, format!("{file} at {}: its page record forbids to keep it", record.offset));
    } else if !place.archived {
        let what = format!("{file} at {}: its page record says that it isn't archived", record.offset);
        records.broken(url, at, what);
    }
    words.case();
    if let Some(word) = forbids(url, at.unwrap_or(Timestamp::MIN), record, reading) {
        words.broken(url, at, format!("{file} at {}: {word}", record.offset));
    }
}

/// Compares the stored links of a page with those of its archived response, read again.
fn judge_links<S: Store>(
    store: &S,
    file: &str,
    record: &Record,
    place: Option<&Place>,
    reading: &Reading<'_>,
    check: &mut Check,
) -> Result<(), AuditError> {
    let Some((place, number)) = place.and_then(|place| Some((place, place.links_of?))) else { return Ok(()) };
    let stored = page_store::links_at_number(store, number)?;
    let mut queued =
        stored.iter().filter(|link| link.kind != "redirect" && !link.outcome.is_skip()).peekable();
    if queued.peek().is_none() {
        return Ok(());
    }
    let Some(visited) =
        CrawlUrl::parse(&place.url).ok().and_then(|url| visit::reread(&reading.pages, &url, record))
    else {
        return Ok(());
    };
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
            Some(false) => "was queued through it, which the archived page forbids",
            None => "was queued through it, but doesn't stand in the archived page",
        };
        check.broken(&place.url, Some(at), format!("{file} at {}: {} {what}", record.offset, link.to));
    }
    Ok(())
}

/// What the words of a response are read and judged by.
struct Reading<'a> {
    rules: &'a AuditRules,
    pages: PageRules,
}

impl<'a> Reading<'a> {
    fn new(rules: &'a AuditRules) -> Self {
        let pages = PageRules {
            agent: rules.page_agent.clone(),
            dialect: meta::Dialect::Strict,
            policy: rules.policy.clone(),
            limits: rules.limits.clone(),
            selectors: Vec::new(),
            select_limits: SelectLimits::default(),
            sitemap_limits: SitemapLimits::default(),
            archive: false,
            resources: false,
            key: rules.key,
            closes_unread_head: rules.closes_unread_head(),
            desk: Desk::default(),
        };
        Self { rules, pages }
    }
}

/// What an archived response says that forbids to keep it: by the crawl's own reader, and where that takes it for no page, by its
/// headers and whatever tags it can be read to have.
fn forbids(url: &str, at: Timestamp, record: &Record, reading: &Reading<'_>) -> Option<String> {
    let parsed = CrawlUrl::parse(url).ok()?;
    let words = |because: &[Because]| because.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if let Some(visited) = visit::reread(&reading.pages, &parsed, record) {
        let read = visited.record;
        if !content::by_words(&read, reading.rules, at).body {
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
    let (_, body) = record.http()?;
    let fields = record.http_fields();
    let headers: Vec<(String, String)> = fields
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned()))
        .collect();
    let codings = headers.iter().filter(|(name, _)| name == "content-encoding");
    let codings: Vec<&str> = codings.map(|(_, value)| value.as_str()).collect();
    let body = decode_body(Some(&codings.join(",")), body);
    let mut document = Document::of(fields.iter().map(|(name, value)| (*name, *value)), &body);
    document.is_cut = record.field("WARC-Truncated").is_some();
    let input = ExtractInput {
        body: &body,
        content_type: document.content_type.as_deref(),
        url: url.as_url(),
        link_headers: &[],
        limits: &rules.limits,
        want_text: false,
    };
    let agent = &rules.page_agent;
    let readings = extract::read(&input, &document, agent);
    Some(readings.resolve(&headers, agent, meta::Dialect::Strict, at, rules.closes_unread_head()))
}

fn places<S: Store>(store: &S, rules: &AuditRules) -> Result<Sorted, AuditError> {
    let mut places = rules.sorter();
    let robots_said = RobotsSaid::new(store, rules);
    for page in page_store::scan(store) {
        let page = page?;
        let mut record = page.record()?;
        robots_said.complete(&mut record)?;
        let may = content::allowed(&record, rules, record.fetched_at).body;
        for capture in record.captures() {
            // A capture of an earlier visit stays while the last one kept no body.
            let archived = record.archived || record.warc.as_ref() != Some(capture);
            let links_of = (record.warc.as_ref() == Some(capture)).then_some(page.number);
            let place = Place { url: record.url.clone(), length: capture.length, may, archived, links_of };
            let place =
                postcard::to_stdvec(&place).map_err(|error| AuditError::record(Tree::Pages)(&error))?;
            places.push_parts(&[&place_key(&capture.file, capture.offset), &[CAPTURE], &place])?;
        }
    }
    for pair in store.scan(Tree::Withdrawn, &[]) {
        let (_, value) = pair?;
        let withdrawal: Withdrawal =
            serde_json::from_slice(&value).map_err(|error| AuditError::record(Tree::Withdrawn)(&error))?;
        let place = withdrawal.place;
        places.push_parts(&[&place_key(&place.file, place.offset), &[WITHDRAWN]])?;
    }
    Ok(places.sorted()?)
}
