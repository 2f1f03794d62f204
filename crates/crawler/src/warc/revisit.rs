//! `revisit` records (WARC 1.1 section 6.7): a response whose body is in the archive already.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::digest::sha1;
use super::exchange::Encoded;
use super::fields::{Fields, date};
use super::{Error, Fault, Location, Record, Result, member, read};

/// The profile of a response with the body of an earlier one.
const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The profile of an answer that the page is unchanged.
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// Field with the place of the response that has the body: file, offset and length of its gzip member, and if it is in the archive of
/// an earlier crawl, the relative path to it from this one. The standard's own fields name it by URL, date and ID, which only an index finds.
const PLACE: &str = "Crawl-Refers-To-Place";

/// The response that has the body of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// Where it is.
    pub place: Location,
    /// Its URL.
    pub url: String,
    /// Its `WARC-Date`.
    pub date: String,
    /// Its `WARC-Record-ID`.
    pub id: String,
    /// The archive that has it, as a path from the archive that refers to it; none if they are the same.
    #[serde(skip)]
    pub archive: Option<String>,
}

impl Encoded {
    /// Returns the payload digest of a response whose body may be shared.
    pub fn shareable(&self) -> Option<&str> {
        self.responded.as_ref().filter(|responded| responded.is_whole).map(|_| self.payload_digest.as_str())
    }

    /// This response as the original of others, once it is at this place.
    pub fn original(&self, place: &Location) -> Option<Original> {
        let responded = self.responded.as_ref()?;
        Some(Original {
            place: place.clone(),
            url: responded.url.clone(),
            date: responded.date.clone(),
            id: self.record_id.clone(),
            archive: None,
        })
    }

    /// Replaces the response by a `revisit` record without a body.
    #[must_use]
    pub fn into_revisit(self, original: &Original) -> Self {
        let digest = self.payload_digest.clone();
        self.referring(|fields| {
            fields.add("WARC-Profile", IDENTICAL);
            fields.add("WARC-Refers-To", &original.id);
            refer(fields, &original.url, &original.date, &original.place, original.archive.as_deref());
            fields.add("WARC-Payload-Digest", &digest);
        })
    }

    /// Makes of an answer 304 a `revisit` record that refers to the response at `place`, which was fetched from the same URL at `at`.
    #[must_use]
    pub fn into_not_modified(self, url: &str, at: jiff::Timestamp, place: &Location) -> Self {
        self.referring(|fields| {
            fields.add("WARC-Profile", NOT_MODIFIED);
            refer(fields, url, &date(at), place, None);
        })
    }

    /// Replaces the response by a `revisit` record with its head; `add` says to what it refers.
    fn referring(mut self, add: impl FnOnce(&mut Fields)) -> Self {
        let Some(responded) = self.responded.take() else { return self };
        let mut fields = Fields::new("revisit");
        fields.lines(&responded.lines);
        add(&mut fields);
        self.block_digest = sha1(&[&responded.head]);
        fields.add("WARC-Block-Digest", &self.block_digest);
        fields.add("Content-Type", "application/http;msgtype=response");
        let record = fields.finish(responded.head.len());
        let mut bytes = Vec::new();
        let parts = [record.as_bytes(), &responded.head, b"\r\n\r\n"];
        let first = member::append_named(&mut bytes, &parts, false);
        let behind = self.response_length as usize;
        self.response_length = bytes.len() as u64;
        let others = self.stamps.drain(..).skip(1);
        self.stamps =
            std::iter::once(first).chain(others.map(|stamp| stamp.moved(behind, bytes.len()))).collect();
        bytes.extend_from_slice(&self.bytes[behind..]);
        self.bytes = bytes;
        self
    }
}

fn refer(fields: &mut Fields, url: &str, date: &str, place: &Location, archive: Option<&str>) {
    fields.add("WARC-Refers-To-Target-URI", url);
    fields.add("WARC-Refers-To-Date", date);
    let Location { file, offset, length } = place;
    let archive = archive.map(|archive| format!(" {archive}")).unwrap_or_default();
    fields.add(PLACE, &format!("{file} {offset} {length}{archive}"));
}

/// The response to which a `revisit` record refers, as the record names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefersTo {
    /// Its URL.
    pub url: String,
    /// Its `WARC-Date`.
    pub date: String,
    /// Its `WARC-Record-ID`, if the record names it.
    pub id: Option<String>,
    /// Where it is.
    pub place: Location,
    /// Relative path of the archive that has it, from the one of the record; none if they are the same.
    pub archive: Option<String>,
}

impl Record {
    /// Returns to what a `revisit` record refers; none of another one, and of one that another program wrote.
    pub fn refers_to(&self) -> Option<RefersTo> {
        let (place, archive) = self.field(PLACE).and_then(parse).filter(|_| self.kind() == "revisit")?;
        Some(RefersTo {
            url: self.field("WARC-Refers-To-Target-URI")?.to_owned(),
            date: self.field("WARC-Refers-To-Date")?.to_owned(),
            id: self.field("WARC-Refers-To").map(str::to_owned),
            place,
            archive: archive.map(str::to_owned),
        })
    }

    /// True of a response with this payload digest, whole or not.
    pub(crate) fn has_body(&self, digest: &str) -> bool {
        self.kind() == "response" && self.field("WARC-Payload-Digest") == Some(digest)
    }

    /// This record, read at `place`, as the original of others: none where it isn't a page's response with the whole body of this digest.
    pub(crate) fn as_original(&self, digest: &str, place: Location) -> Option<Original> {
        let is_page = self.field(super::PURPOSE).is_none() && self.field("WARC-Truncated").is_none();
        if !is_page || !self.has_body(digest) {
            return None;
        }
        Some(Original {
            url: self.field("WARC-Target-URI")?.to_owned(),
            date: self.field("WARC-Date")?.to_owned(),
            id: self.field("WARC-Record-ID")?.to_owned(),
            archive: None,
            place,
        })
    }

    /// True of the record of an answer 304.
    pub(crate) fn is_not_modified(&self) -> bool {
        self.kind() == "revisit" && self.field("WARC-Profile") == Some(NOT_MODIFIED)
    }
}

/// Reads a response at a location; of a `revisit` record together with the body of its original, as one response.
///
/// # Errors
/// As [`read`]; [`Fault::OriginalWithdrawn`] where the original was taken out of the archive since, [`Fault::EarlierCrawl`] where the
/// archive that has it isn't where it was, and [`Fault::Original`] where the original isn't there as it was.
pub fn read_response(dir: &Path, location: &Location) -> Result<Record> {
    complete(dir, read(dir, location)?)
}

/// Gives a `revisit` record the body of its original, and the type `response`; returns any other record as it is.
///
/// # Errors
/// See [`read_response`].
pub fn complete(dir: &Path, mut record: Record) -> Result<Record> {
    if record.kind() != "revisit" {
        return Ok(record);
    }
    let fault = |fault| Error::Record { path: dir.to_owned(), offset: record.offset, fault };
    let (place, archive) = record.field(PLACE).and_then(parse).ok_or_else(|| fault(Fault::Original))?;
    if archive.is_some_and(|archive| !may_be_an_archive(Path::new(archive))) {
        return Err(fault(Fault::Original));
    }
    let elsewhere = archive.map(|archive| dir.join(archive));
    let original = match elsewhere {
        Some(archive) if !archive.is_dir() => return Err(fault(Fault::EarlierCrawl(archive))),
        Some(archive) => read(&archive, &place),
        None => read(dir, &place),
    };
    let original = original.map_err(|_| fault(Fault::Original))?;
    if original.kind() == "metadata" {
        return Err(fault(Fault::OriginalWithdrawn));
    }
    let is_it = record.field("WARC-Payload-Digest").is_some_and(|digest| original.has_body(digest));
    let (_, body) = original.http().filter(|_| is_it).ok_or_else(|| fault(Fault::Original))?;
    record.block.extend_from_slice(body);
    for (name, value) in &mut record.fields {
        if name.eq_ignore_ascii_case("WARC-Type") {
            "response".clone_into(value);
        }
    }
    Ok(record)
}

/// Whether a path can be one that [`EarlierBodies`](crate::commit::EarlierBodies) wrote: somebody else may have written the record.
fn may_be_an_archive(path: &Path) -> bool {
    path.is_relative() && path.file_name().is_some_and(|name| name == "warc")
}

fn parse(place: &str) -> Option<(Location, Option<&str>)> {
    let mut parts = place.splitn(4, ' ');
    let file = parts.next()?.to_owned();
    let (offset, length) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((Location { file, offset, length }, parts.next()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{exchange, info};
    use super::super::{Reader, WarcWriter, encode, write_tombstone};
    use super::*;

    #[test]
    fn a_revisit_leads_to_the_body_of_its_original_until_that_is_withdrawn() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = WarcWriter::open(dir.path(), &info(), u64::MAX).unwrap();
        let body = b"the same ".repeat(500);
        let headers = [("X-A".to_owned(), b"one".to_vec())];
        let mut one = encode(&exchange("http://a.test/one", &headers, &body));
        let digest = one.shareable().unwrap().to_owned();
        let place = writer.append(&mut one).unwrap();
        let original = one.original(&place).unwrap();

        let headers = [("X-A".to_owned(), b"two".to_vec())];
        let two = encode(&exchange("http://b.test/two", &headers, &body));
        let (size, id) = (two.bytes.len(), two.record_id.clone());
        let mut two = two.into_revisit(&original);
        assert!(two.bytes.len() < size + 400 && two.record_id == id && two.payload_digest == digest);
        let again = writer.append(&mut two).unwrap();
        writer.write_out().unwrap();

        let stored = read(dir.path(), &again).unwrap();
        assert_eq!((stored.kind(), stored.field("WARC-Profile")), ("revisit", Some(IDENTICAL)));
        assert_eq!(stored.field("WARC-Refers-To"), Some(one.record_id.as_str()));
        assert_eq!(stored.field("WARC-Refers-To-Target-URI"), Some("http://a.test/one"));
        assert_eq!(stored.field("WARC-Refers-To-Date"), Some("2026-03-01T12:00:01.250000Z"));
        assert_eq!(stored.http().unwrap().1, b"");
        let records: Vec<_> =
            Reader::open(&dir.path().join(&again.file)).unwrap().map(Result::unwrap).collect();
        let kinds: Vec<_> = records.iter().map(Record::kind).collect();
        assert_eq!(kinds, ["warcinfo", "response", "request", "revisit", "request"]);
        assert_eq!(records[4].field("WARC-Concurrent-To"), Some(id.as_str()));
        assert_eq!(records[4].field("WARC-Warcinfo-ID"), records[0].field("WARC-Record-ID"));

        let whole = read_response(dir.path(), &again).unwrap();
        assert_eq!((whole.kind(), whole.field("WARC-Target-URI")), ("response", Some("http://b.test/two")));
        assert_eq!(whole.http().unwrap().1, body);
        let head = String::from_utf8(whole.http().unwrap().0.to_vec()).unwrap();
        assert!(head.lines().nth(1).unwrap().ends_with(": two"), "{head}");

        let at = "2026-03-02T00:00:00Z".parse().unwrap();
        write_tombstone(dir.path(), &place, "http://a.test/one", at, "noindex").unwrap();
        let error = read_response(dir.path(), &again).unwrap_err();
        assert!(matches!(error, Error::Record { fault: Fault::OriginalWithdrawn, .. }), "{error:?}");
    }

    #[test]
    fn a_record_leads_to_no_directory_but_an_archive() {
        for (path, may) in [
            ("../../spring/warc", true),
            ("old/warc", true),
            ("/crawls/spring/warc", false),
            ("../../../etc", false),
            ("../warc/..", false),
            ("", false),
        ] {
            assert_eq!(may_be_an_archive(Path::new(path)), may, "{path}");
        }
        let dir = tempfile::tempdir().unwrap();
        let mut writer = WarcWriter::open(dir.path(), &info(), u64::MAX).unwrap();
        let mut one = encode(&exchange("http://a.test/one", &[], b"the body"));
        let place = writer.append(&mut one).unwrap();
        let original = Original { archive: Some("../../elsewhere".into()), ..one.original(&place).unwrap() };
        let mut two = encode(&exchange("http://a.test/two", &[], b"the body")).into_revisit(&original);
        let again = writer.append(&mut two).unwrap();
        writer.write_out().unwrap();
        let error = read_response(dir.path(), &again).unwrap_err();
        assert!(matches!(error, Error::Record { fault: Fault::Original, .. }), "{error:?}");
    }

    #[test]
    fn a_body_that_is_empty_or_cut_is_never_shared() {
        assert_eq!(encode(&exchange("http://a.test/", &[], b"")).shareable(), None);
        let mut cut = exchange("http://a.test/", &[], b"half");
        cut.truncated = Some(super::super::Truncated::Length);
        assert_eq!(encode(&cut).shareable(), None);
    }
}
