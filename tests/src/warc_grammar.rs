//! A strict reader of WARC files, written from ISO 28500:2017 (WARC 1.1) alone: it shares no code with the crawler and forgives nothing.
//!
//! The numbers are those of the sections of the standard. What it leaves open and archives rely on is required too: one gzip member per
//! record (annex D), and names of other records that lead to one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::path::Path;

use flate2::bufread::GzDecoder;

use crate::output_dir::files;

/// A record, taken apart.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name of its file, and the first byte of its member there.
    pub place: (String, usize),
    /// Its named fields, in order.
    pub fields: Vec<(String, String)>,
    /// Its block.
    pub block: Vec<u8>,
}

impl Record {
    /// The values of a field; names have no case (section 4).
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |field: &&(String, String)| field.0.eq_ignore_ascii_case(name);
        self.fields.iter().filter(is_it).map(|(_, value)| value.as_str())
    }

    /// The first value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        let is_it = |field: &&(String, String)| field.0.eq_ignore_ascii_case(name);
        self.fields.iter().find(is_it).map(|(_, value)| value.as_str())
    }

    /// Its type.
    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }
}

/// Reads every archive file below a directory, in the order of their names.
///
/// # Errors
/// The first place where the grammar of section 4 is broken.
pub fn read(directory: &Path) -> Result<Vec<Record>, String> {
    let mut records = Vec::new();
    for path in files(directory) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !name.ends_with(".warc.gz") {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let at = bytes.len() - rest.len();
            let mut text = Vec::new();
            let decoded = GzDecoder::new(&mut rest).read_to_end(&mut text);
            decoded.map_err(|error| format!("{name} at {at}: {error}"))?;
            let (fields, block) = parse(&text).map_err(|error| format!("{name} at {at}: {error}"))?;
            records.push(Record { place: (name.clone(), at), fields, block });
        }
    }
    Ok(records)
}

type Fields = Vec<(String, String)>;

/// `warc-record = header CRLF block CRLF CRLF`, `header = version warc-fields`.
fn parse(bytes: &[u8]) -> Result<(Fields, Vec<u8>), String> {
    let rest = bytes.strip_prefix(b"WARC/1.1\r\n").ok_or("no version line")?;
    let end = rest.windows(4).position(|four| four == b"\r\n\r\n").ok_or("the header has no end")?;
    let head = std::str::from_utf8(&rest[..end]).map_err(|_| "the header isn't UTF-8")?;
    let mut fields: Fields = Vec::new();
    for line in head.split("\r\n") {
        if line.contains(['\r', '\n']) {
            return Err(format!("{line:?} has half a line end"));
        }
        if line.starts_with([' ', '\t']) {
            let (_, value) = fields.last_mut().ok_or("the first line continues another one")?;
            value.push(' ');
            value.push_str(line.trim());
            continue;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| format!("{line:?} is no field"))?;
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("{name:?} is no name of a field"));
        }
        if value.contains(char::is_control) {
            return Err(format!("{line:?} has a control character"));
        }
        fields.push((name.to_owned(), value.trim().to_owned()));
    }
    let length = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Length"));
    let (_, length) = length.ok_or("no Content-Length")?;
    if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Content-Length {length:?}"));
    }
    let length: usize = length.parse().map_err(|_| "a Content-Length of too many digits")?;
    match rest[end + 4..].split_at_checked(length) {
        Some((block, b"\r\n\r\n")) => Ok((fields, block.to_vec())),
        _ => Err("the block isn't followed by two line ends, and nothing else".to_owned()),
    }
}

/// `token`: US-ASCII without control characters and separators.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte)
}

/// The types of section 6.
const TYPES: [&str; 8] =
    ["warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion", "continuation"];

/// Which types may have a field (section 5), and whether they must. Fields that aren't here may be anywhere.
const OF_TYPES: [(&str, &[&str], &[&str]); 9] = [
    (
        "WARC-Target-URI",
        &["response", "resource", "request", "revisit", "conversion", "continuation"],
        &["metadata"],
    ),
    ("WARC-Profile", &["revisit"], &[]),
    ("WARC-Filename", &[], &["warcinfo"]),
    ("WARC-Concurrent-To", &[], &["response", "resource", "request", "metadata", "revisit"]),
    ("WARC-IP-Address", &[], &["response", "resource", "request", "metadata", "revisit"]),
    ("WARC-Refers-To", &[], &["metadata", "conversion", "revisit"]),
    ("WARC-Refers-To-Target-URI", &[], &["revisit"]),
    ("WARC-Refers-To-Date", &[], &["revisit"]),
    ("WARC-Payload-Digest", &[], &["response", "resource", "request", "revisit", "conversion"]),
];

/// Fields that a record may have several times: the first by section 5.7, the second by its proposal (iipc/warc-specifications#42).
const REPEATABLE: [&str; 2] = ["warc-concurrent-to", "warc-protocol"];

const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// Returns what is wrong with the records of an archive, each with its place; nothing if it keeps the standard. `gone` are IDs of records
/// that were removed since: another one may still name them.
pub fn faults(records: &[Record], gone: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut by_id: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in records {
        let id = record.field("WARC-Record-ID").unwrap_or_default();
        if by_id.insert(id, record).is_some() {
            found.push(format!("{:?}: {id} is the ID of another record, too", record.place));
        }
    }
    let mut infos: HashMap<&str, &str> = HashMap::new();
    for record in records {
        let mut wrong: Vec<String> = Vec::new();
        alone(record, &mut wrong);
        let file = record.place.0.as_str();
        let info = infos.entry(file).or_insert_with(|| record.field("WARC-Record-ID").unwrap_or_default());
        if (record.place.1 == 0) != (record.kind() == "warcinfo") {
            wrong.push("a file begins with its warcinfo, and has no other".to_owned());
        }
        if record.field("WARC-Warcinfo-ID").is_some_and(|named| named != *info) {
            wrong.push("it names a warcinfo that isn't the one of its file".to_owned());
        }
        for named in record.all("WARC-Concurrent-To").chain(record.all("WARC-Refers-To")) {
            if !by_id.contains_key(named) && !gone.contains(named) {
                wrong.push(format!("no record has the ID {named}"));
            }
        }
        for named in record.all("WARC-Concurrent-To").filter_map(|named| by_id.get(named)) {
            let fields = ["WARC-Target-URI", "WARC-Date"];
            if fields.iter().any(|name| named.field(name) != record.field(name)) {
                wrong.push("it is concurrent to a record of another URL or time".to_owned());
            }
        }
        if record.kind() == "revisit" {
            refers(record, records, &by_id, gone, &mut wrong);
        }
        found.extend(wrong.into_iter().map(|what| format!("{:?} ({}): {what}", record.place, record.kind())));
    }
    found
}

/// What a record says by itself.
fn alone(record: &Record, wrong: &mut Vec<String>) {
    let kind = record.kind();
    let mut seen = BTreeSet::new();
    for (name, value) in &record.fields {
        let name = name.to_ascii_lowercase();
        if value.is_empty() {
            wrong.push(format!("{name} is empty"));
        }
        if !seen.insert(name.clone()) && !REPEATABLE.contains(&name.as_str()) {
            wrong.push(format!("{name} is there twice"));
        }
    }
    if !TYPES.contains(&kind) {
        wrong.push(format!("no type of section 6: {kind:?}"));
    }
    for (name, must, may) in OF_TYPES {
        match record.field(name) {
            None if must.contains(&kind) => wrong.push(format!("no {name}")),
            Some(_) if !must.contains(&kind) && !may.contains(&kind) => wrong.push(format!("has a {name}")),
            _ => {}
        }
    }
    if kind == "warcinfo" && record.field("WARC-Warcinfo-ID").is_some() {
        wrong.push("has a WARC-Warcinfo-ID".to_owned());
    }
    let mut form = |name: &str, is_right: fn(&str) -> bool| {
        for value in record.all(name).filter(|value| !is_right(value)) {
            wrong.push(format!("{name}: {value:?}"));
        }
    };
    form("WARC-Record-ID", is_id);
    form("WARC-Warcinfo-ID", is_id);
    form("WARC-Concurrent-To", is_id);
    form("WARC-Refers-To", is_id);
    form("WARC-Date", is_date);
    form("WARC-Refers-To-Date", is_date);
    form("WARC-Target-URI", is_uri);
    form("WARC-Refers-To-Target-URI", is_uri);
    form("WARC-Profile", |profile| [IDENTICAL, NOT_MODIFIED].contains(&profile));
    form("WARC-IP-Address", |address| address.parse::<std::net::IpAddr>().is_ok());
    form("WARC-Truncated", |why| ["length", "time", "disconnect", "unspecified"].contains(&why));
    form("Content-Type", is_media_type);
    for name in ["WARC-Record-ID", "WARC-Date", "WARC-Type"] {
        if record.field(name).is_none() {
            wrong.push(format!("no {name}"));
        }
    }
    if record.field("Content-Type").is_none() && !record.block.is_empty() {
        wrong.push("no Content-Type".to_owned());
    }
    block(record, wrong);
}

/// The block by its type, and its digests.
fn block(record: &Record, wrong: &mut Vec<String>) {
    let content_type = record.field("Content-Type").unwrap_or_default();
    let mut payload = Some(record.block.as_slice());
    let expected = match record.kind() {
        "warcinfo" | "metadata" => "application/warc-fields",
        "request" => "application/http;msgtype=request",
        "response" | "revisit" => "application/http;msgtype=response",
        _ => content_type,
    };
    if content_type.replace(' ', "") != expected {
        wrong.push(format!("Content-Type {content_type:?}, expected {expected:?}"));
    }
    if expected == "application/warc-fields" {
        // Section 6.2 and 6.6: named fields as those of a record.
        let head = [b"WARC/1.1\r\nContent-Length: 0\r\n", record.block.as_slice(), b"\r\n\r\n\r\n"].concat();
        if let Err(error) = parse(&head) {
            wrong.push(format!("its block: {error}"));
        }
    } else if expected.starts_with("application/http") {
        payload = http(&record.block, record.kind() == "request", wrong);
    }
    for (name, bytes) in
        [("WARC-Block-Digest", Some(record.block.as_slice())), ("WARC-Payload-Digest", payload)]
    {
        let Some(digest) = record.field(name) else { continue };
        // That of a revisit is the digest of another record's payload.
        let is_elsewhere = record.kind() == "revisit" && name == "WARC-Payload-Digest";
        let Some(value) = digest.strip_prefix("sha1:").filter(|value| is_base32(value)) else {
            wrong.push(format!("{name}: {digest:?}"));
            continue;
        };
        if !is_elsewhere && bytes.is_none_or(|bytes| sha1(bytes) != value) {
            wrong.push(format!("{name} isn't that of the bytes"));
        }
    }
}

/// A message of HTTP/1.1 (RFC 9112 section 2.1); returns its payload.
fn http<'a>(block: &'a [u8], is_request: bool, wrong: &mut Vec<String>) -> Option<&'a [u8]> {
    let Some(end) = block.windows(4).position(|four| four == b"\r\n\r\n") else {
        wrong.push("a head without end".to_owned());
        return None;
    };
    let head = String::from_utf8_lossy(&block[..end]);
    let first = head.split("\r\n").next().unwrap_or_default();
    let words: Vec<&str> = first.splitn(3, ' ').collect();
    let is_right = match words[..] {
        [method, target, version] if is_request => {
            method.bytes().all(is_token) && target.starts_with('/') && version == "HTTP/1.1"
        }
        [version, status, _] => {
            ["HTTP/1.0", "HTTP/1.1"].contains(&version)
                && status.len() == 3
                && status.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    };
    if !is_right {
        wrong.push(format!("{first:?} begins its block"));
    }
    // A reader takes the payload to be as long as this says, and without framing.
    let payload = &block[end + 4..];
    for line in head.split("\r\n").skip(1) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("transfer-encoding") {
            wrong.push("its payload has no transfer coding, but its head names one".to_owned());
        }
        let is_length = name.eq_ignore_ascii_case("content-length") && !is_request && !payload.is_empty();
        if is_length && value.trim() != payload.len().to_string() {
            wrong.push(format!("Content-Length {value:?} of a payload of {} bytes", payload.len()));
        }
    }
    Some(payload)
}

/// To what a revisit refers (section 6.7).
fn refers(
    record: &Record,
    records: &[Record],
    by_id: &BTreeMap<&str, &Record>,
    gone: &BTreeSet<String>,
    wrong: &mut Vec<String>,
) {
    let is_identical = record.field("WARC-Profile") == Some(IDENTICAL);
    let named = [record.field("WARC-Refers-To-Target-URI"), record.field("WARC-Refers-To-Date")];
    if named.contains(&None) {
        wrong.push("it doesn't say to what it refers".to_owned());
    }
    if is_identical != record.field("WARC-Payload-Digest").is_some() {
        wrong.push("a payload digest belongs to its profile, or doesn't".to_owned());
    }
    if record.block.is_empty() || !record.block.ends_with(b"\r\n\r\n") {
        wrong.push("its block is more than a head".to_owned());
    }
    let is_it = |other: &&Record| {
        other.kind() == "response" && [other.field("WARC-Target-URI"), other.field("WARC-Date")] == named
    };
    let original = match record.field("WARC-Refers-To") {
        Some(id) if gone.contains(id) => return,
        Some(id) => by_id.get(id).copied(),
        None => records.iter().find(is_it),
    };
    match original {
        Some(original) if !is_it(&original) => wrong.push("it refers to a record of other words".to_owned()),
        Some(original)
            if is_identical
                && original.field("WARC-Payload-Digest") != record.field("WARC-Payload-Digest") =>
        {
            wrong.push("what it refers to has another payload".to_owned());
        }
        None if !is_identical && gone.is_empty() => wrong.push("no response is as it says".to_owned()),
        _ => {}
    }
}

/// `"<" uri ">"`.
fn is_id(value: &str) -> bool {
    value.strip_prefix('<').and_then(|value| value.strip_suffix('>')).is_some_and(is_uri)
}

/// RFC 3986: a scheme, and what it may consist of.
fn is_uri(value: &str) -> bool {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || ['+', '-', '.'].contains(&c);
    let in_uri = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%|".contains(c);
    value.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(is_scheme)
            && !rest.is_empty()
            && rest.chars().all(in_uri)
    })
}

/// W3C-ISO8601 of section 5.4, to the second or beyond, in UTC.
fn is_date(value: &str) -> bool {
    let form = "0000-00-00T00:00:00";
    let Some((whole, rest)) = value.split_at_checked(form.len()) else { return false };
    let is_form =
        whole.chars().zip(form.chars()).all(|(c, f)| if f == '0' { c.is_ascii_digit() } else { c == f });
    let fraction = rest.strip_suffix('Z').unwrap_or("x");
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    let is_fraction = fraction.is_empty()
        || fraction.starts_with('.')
            && (1..=9).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_form && is_fraction && value.parse::<jiff::Timestamp>().is_ok()
}

/// `type "/" subtype *( ";" parameter )`.
fn is_media_type(value: &str) -> bool {
    let mut parts = value.split(';');
    let is_type = parts.next().and_then(|kind| kind.split_once('/')).is_some_and(|(kind, subtype)| {
        [kind, subtype.trim()].iter().all(|part| !part.is_empty() && part.bytes().all(is_token))
    });
    is_type
        && parts.all(|part| part.split_once('=').is_some_and(|(name, _)| name.trim().bytes().all(is_token)))
}

fn is_base32(value: &str) -> bool {
    value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte))
}

fn sha1(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, bytes);
    data_encoding::BASE32.encode(digest.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "<urn:uuid:00000000-0000-4000-8000-000000000001>";
    const RESPONSE: &str = "<urn:uuid:00000000-0000-4000-8000-000000000002>";

    fn record(place: usize, fields: &[(&str, &str)], block: &str) -> Record {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Record { place: ("a.warc.gz".to_owned(), place), fields, block: block.as_bytes().to_vec() }
    }

    fn sound() -> Vec<Record> {
        let about = |id, kind| {
            vec![
                ("WARC-Type", kind),
                ("WARC-Record-ID", id),
                ("WARC-Date", "2026-03-01T12:00:00.25Z"),
                ("WARC-Target-URI", "http://a.test/x?y=%20"),
                ("WARC-Warcinfo-ID", INFO),
            ]
        };
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
        let digest = format!("sha1:{}", sha1(b"body"));
        let info = [
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", INFO),
            ("WARC-Date", "2026-03-01T12:00:00Z"),
            ("WARC-Filename", "a.warc.gz"),
            ("Content-Type", "application/warc-fields"),
        ];
        let mut response = about(RESPONSE, "response");
        response.push(("WARC-Payload-Digest", &digest));
        response.push(("WARC-Protocol", "http/1.1"));
        response.push(("WARC-Protocol", "tls/1.3"));
        response.push(("Content-Type", "application/http;msgtype=response"));
        let mut request = about("<urn:uuid:00000000-0000-4000-8000-000000000003>", "request");
        request.push(("WARC-Concurrent-To", RESPONSE));
        request.push(("Content-Type", "application/http; msgtype=request"));
        let mut revisit = about("<urn:uuid:00000000-0000-4000-8000-000000000004>", "revisit");
        revisit.extend([
            ("WARC-Profile", IDENTICAL),
            ("WARC-Refers-To", RESPONSE),
            ("WARC-Refers-To-Target-URI", "http://a.test/x?y=%20"),
            ("WARC-Refers-To-Date", "2026-03-01T12:00:00.25Z"),
            ("WARC-Payload-Digest", &digest),
            ("Content-Type", "application/http;msgtype=response"),
        ]);
        vec![
            record(0, &info, "software: x\r\n"),
            record(9, &response, &format!("{head}body")),
            record(99, &request, "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"),
            record(999, &revisit, head),
        ]
    }

    #[test]
    fn sound_records_have_no_fault() {
        assert_eq!(faults(&sound(), &BTreeSet::new()), Vec::<String>::new());
    }

    /// Each broken rule is seen: number of the record, field, its new value (none: it goes).
    #[test]
    fn each_broken_rule_is_a_fault() {
        for (number, field, value) in [
            (0, "WARC-Filename", Some("")),
            (1, "WARC-Filename", Some("a.warc.gz")),
            (1, "WARC-Record-ID", None),
            (1, "WARC-Record-ID", Some(INFO)),
            (1, "WARC-Record-ID", Some("urn:uuid:1")),
            (1, "WARC-Date", Some("2026-03-01 12:00:00Z")),
            (1, "WARC-Date", Some("2026-03-01T12:00:00.0000000001Z")),
            (1, "WARC-Date", Some("2026-13-01T12:00:00Z")),
            (1, "WARC-Type", Some("answer")),
            (1, "WARC-Target-URI", None),
            (1, "WARC-Target-URI", Some("<http://a.test/>")),
            (1, "WARC-Target-URI", Some("http://a.test/ x")),
            (1, "WARC-Payload-Digest", Some("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
            (1, "WARC-Block-Digest", Some("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
            (1, "WARC-Block-Digest", Some("md5:x")),
            (1, "WARC-Refers-To", Some(INFO)),
            (1, "WARC-Truncated", Some("size")),
            (1, "WARC-IP-Address", Some("localhost")),
            (1, "WARC-Warcinfo-ID", Some(RESPONSE)),
            (1, "Content-Type", None),
            (1, "Content-Type", Some("text")),
            (0, "WARC-Warcinfo-ID", Some(INFO)),
            (0, "WARC-Target-URI", Some("http://a.test/")),
            (2, "WARC-Concurrent-To", Some("<urn:uuid:00000000-0000-4000-8000-000000000009>")),
            (2, "WARC-Concurrent-To", Some(INFO)),
            (2, "WARC-Profile", Some(IDENTICAL)),
            (3, "WARC-Profile", None),
            (3, "WARC-Profile", Some("http://a.test/")),
            (3, "WARC-Profile", Some(NOT_MODIFIED)),
            (3, "WARC-Refers-To", Some("<urn:uuid:00000000-0000-4000-8000-000000000009>")),
            (3, "WARC-Refers-To-Date", Some("2026-03-01T12:00:00.26Z")),
            (3, "WARC-Refers-To-Target-URI", None),
            (3, "WARC-Payload-Digest", Some("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
        ] {
            let mut records = sound();
            let fields = &mut records[number].fields;
            fields.retain(|(name, _)| name != field);
            fields.extend(value.map(|value| (field.to_owned(), value.to_owned())));
            assert!(!faults(&records, &BTreeSet::new()).is_empty(), "{number} {field} {value:?}");
        }
        for (number, block) in [
            (0, "no field\r\n"),
            (1, "HTTP/2 200 OK\r\n\r\nbody"),
            (1, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody"),
            (1, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbody"),
            (2, "GET /x HTTP/1.1\r\n"),
            (3, "HTTP/1.1 200 OK\r\n\r\nbody"),
        ] {
            let mut records = sound();
            records[number].block = block.as_bytes().to_vec();
            assert!(!faults(&records, &BTreeSet::new()).is_empty(), "{number} {block:?}");
        }
        let mut twice = sound();
        let date = twice[1].fields[2].clone();
        twice[1].fields.push(date);
        assert!(!faults(&twice, &BTreeSet::new()).is_empty());
        let mut moved = sound();
        moved[0].place.1 = 7;
        assert!(!faults(&moved, &BTreeSet::new()).is_empty());
    }

    #[test]
    fn a_record_has_its_grammar() {
        let whole = "WARC/1.1\r\nWARC-Type: x\r\n y\r\nContent-Length: 2\r\n\r\nab\r\n\r\n";
        let (fields, block) = parse(whole.as_bytes()).unwrap();
        assert_eq!((fields[0].1.as_str(), block.as_slice()), ("x y", b"ab".as_slice()));
        for (from, to) in [
            ("WARC/1.1", "WARC/1.0"),
            ("\r\nWARC-Type", "\nWARC-Type"),
            ("WARC-Type:", "WARC-Type"),
            ("WARC-Type", "WARC Type"),
            (": x", ": x\u{7}"),
            ("Length: 2", "Length: 3"),
            ("Length: 2", "Length: +2"),
            ("ab\r\n\r\n", "ab\r\n"),
            ("ab\r\n\r\n", "ab\r\n\r\n\r\n"),
        ] {
            assert!(parse(whole.replacen(from, to, 1).as_bytes()).is_err(), "{from:?} {to:?}");
        }
    }
}
