//! The archive, read again: each record is in its place, and each archived response allows to be kept by its own words.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use url::Url;

use super::{AuditError, AuditRules, Check, content};
use crate::extract::{self, Document, ExtractInput, Readings};
use crate::fetch::decode_body;
use crate::record::{PageRecord, Withdrawal};
use crate::store::{Store, Tree};
use crate::warc::{Reader, Record};

/// What the database says of one place in the archive.
#[derive(Debug)]
struct Place {
    url: String,
    length: u64,
    /// The body may be kept, by the record's own words.
    may: bool,
    seen: bool,
}

pub(super) fn judge<S: Store>(store: &S, dir: &Path, rules: &AuditRules) -> Result<Vec<Check>, AuditError> {
    let mut places = places(store, rules)?;
    let withdrawn = withdrawn(store)?;
    let mut records =
        Check::new("archive", "each record of the archive is whole, and belongs to a page that may be kept");
    let mut words = Check::new(
        "archived_words",
        "each archived response, read again, forbids neither indexing nor archiving",
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
            let place = (file.clone(), record.offset);
            if withdrawn.contains(&place) {
                taken.case();
                if record.kind() == "response" {
                    let url = record.field("WARC-Target-URI").unwrap_or_default();
                    taken.broken(url, None, format!("still in {file} at {}", record.offset));
                }
                continue;
            }
            if record.kind() == "response" {
                judge_response(&file, &record, places.get_mut(&place), rules, &mut records, &mut words);
            }
        }
    }
    for ((file, offset), place) in places.into_iter().filter(|(_, place)| !place.seen) {
        records.broken(place.url, None, format!("no response in {file} at {offset}"));
    }
    Ok(vec![records, words, taken])
}

fn judge_response(
    file: &str,
    record: &Record,
    place: Option<&mut Place>,
    rules: &AuditRules,
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
    place.seen = true;
    if place.url != url || place.length != record.length {
        let what = format!("{file} at {}: the database expects {} there", record.offset, place.url);
        records.broken(url, at, what);
    } else if !place.may {
        records.broken(url, at, format!("{file} at {}: its page record forbids to keep it", record.offset));
    }
    words.case();
    if let Some(word) = forbids(url, at.unwrap_or(Timestamp::MIN), record, rules) {
        words.broken(url, at, format!("{file} at {}: {word}", record.offset));
    }
}

/// The first directive of an archived response that forbids to keep it, or why it can't be told that none does.
fn forbids(url: &str, at: Timestamp, record: &Record, rules: &AuditRules) -> Option<String> {
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
    let agent = &rules.page_agent;
    let readings = match Url::parse(url) {
        Ok(url) => {
            let input = ExtractInput {
                body: &body,
                content_type: document.content_type.as_deref(),
                url: &url,
                link_headers: &[],
                limits: &rules.limits,
                want_text: false,
            };
            extract::read(&input, &document, agent)
        }
        Err(_) => Readings::default(),
    };
    let closes = rules.closes_unread_head();
    let directives = readings.resolve(&headers, agent, meta::Dialect::Strict, at, closes);
    if directives.effects().store_body {
        return None;
    }
    let words: Vec<_> = directives.because.iter().map(ToString::to_string).collect();
    Some(words.join("; "))
}

fn places<S: Store>(store: &S, rules: &AuditRules) -> Result<HashMap<(String, u64), Place>, AuditError> {
    let mut places = HashMap::new();
    for pair in store.scan(Tree::Pages, &[]) {
        let (_, value) = pair?;
        let record: PageRecord =
            serde_json::from_slice(&value).map_err(|error| AuditError::record(Tree::Pages)(&error))?;
        let may = content::allowed(&record, rules, record.fetched_at).body;
        for capture in record.captures() {
            let place = Place { url: record.url.clone(), length: capture.length, may, seen: false };
            places.insert((capture.file.clone(), capture.offset), place);
        }
    }
    Ok(places)
}

fn withdrawn<S: Store>(store: &S) -> Result<HashSet<(String, u64)>, AuditError> {
    let mut places = HashSet::new();
    for pair in store.scan(Tree::Withdrawn, &[]) {
        let (_, value) = pair?;
        let withdrawal: Withdrawal =
            serde_json::from_slice(&value).map_err(|error| AuditError::record(Tree::Withdrawn)(&error))?;
        places.insert((withdrawal.place.file, withdrawal.place.offset));
    }
    Ok(places)
}
