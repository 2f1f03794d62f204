//! Indexes of the archive for replay: a line of CDXJ for each response and revisit, sorted by key and time.
//!
//! The lines are those of the Python package `cdxj-indexer` with `--sort`: key, time to the second, and a JSON object with url, mime, status, digest, length, offset
//! and filename.

mod rotation;
mod surt;

pub use rotation::{Rotation, Withdrawing};

use std::io::{self, BufRead as _, BufWriter, Write};
use std::path::{Path, PathBuf};

use tokio::time::Instant;

use crate::fetch::field_lines_of;
use crate::nofollow;
use crate::output_file;
use crate::sorter::{SortError, Sorter};
use crate::warc::{self, Reader, Record, WrittenFile};
use page::clean;
use page::clock::instant;

/// Why an index can't be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CdxjError {
    /// The archive can't be read.
    #[error("the archive can't be read")]
    Warc(#[from] warc::Error),
    /// Lines can't be sorted.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// The index can't be written.
    #[error("{} can't be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

/// Writes the lines of some archives, in order; returns how many. Each line once.
///
/// Cost: reads each archive once. Memory: one record, and what the sorter keeps; the rest is in temporary files.
///
/// # Errors
/// [`CdxjError::Warc`] at the first damaged record; [`CdxjError::Write`] with the name that is given for the output.
pub fn export(dirs: &[PathBuf], name: &Path, out: &mut dyn Write) -> Result<u64, CdxjError> {
    write(gathered(dirs)?, name, out)
}

/// Brings the indexes beside the files up to date: a file that has none, or was changed since, gets one. Returns how many were written.
/// Stops at `until`; the next call goes on. Of `files`, which this process wrote, only the heads of records are read, and not checked.
///
/// # Errors
/// As [`export`].
pub fn update(dir: &Path, files: &[WrittenFile], until: Option<Instant>) -> Result<u64, CdxjError> {
    let mut written = 0;
    for (_, path) in warc::files(dir)? {
        let index = beside(&path);
        if is_newer(&index, &path) {
            continue;
        }
        let mut sorter = Sorter::new(None);
        let has_to_stop = || until.is_some_and(|until| instant() >= until);
        let is_read = match files.iter().find(|written| written.path == path) {
            Some(written) => read_written(written, &mut sorter, has_to_stop)?,
            None => read(&path, &mut sorter, has_to_stop)?,
        };
        if !is_read {
            break;
        }
        write_file(sorter, &index)?;
        written += 1;
    }
    Ok(written)
}

/// Writes the lines of some archives, in order, to a file that a user named, as [`output_file::write`] does.
///
/// # Errors
/// As [`export`].
pub fn export_to(dirs: &[PathBuf], path: &Path) -> Result<u64, CdxjError> {
    let lines = gathered(dirs)?;
    let failed = |source| CdxjError::Write { path: path.to_owned(), source };
    output_file::write(path, failed, |out| write(lines, path, out))
}

fn gathered(dirs: &[PathBuf]) -> Result<Sorter, CdxjError> {
    let mut sorter = Sorter::new(None);
    for dir in dirs {
        for (_, path) in warc::files(dir)? {
            read(&path, &mut sorter, || false)?;
        }
    }
    Ok(sorter)
}

fn write_file(sorter: Sorter, path: &Path) -> Result<u64, CdxjError> {
    let count = write_part(sorter, path)?;
    std::fs::rename(part_of(path), path)
        .map_err(|source| CdxjError::Write { path: path.to_owned(), source })?;
    Ok(count)
}

/// Writes the lines to the file that becomes `path` by its renaming; durable, as a file that is there counts as whole.
fn write_part(sorter: Sorter, path: &Path) -> Result<u64, CdxjError> {
    let error = |source| CdxjError::Write { path: path.to_owned(), source };
    let mut file = nofollow::create(&part_of(path)).map_err(error)?;
    let count = write(sorter, path, &mut file)?;
    file.sync_all().map_err(error)?;
    Ok(count)
}

fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// Calls `take` with digest, offset and length of each response of a file that has a body of its own. Reads the index beside the file;
/// where that is missing or older, the file.
///
/// # Errors
/// As [`export`], and what `take` returns.
pub(crate) fn bodies(
    path: &Path,
    mut take: impl FnMut(&str, u64, u64) -> Result<(), SortError>,
) -> Result<(), CdxjError> {
    #[derive(serde::Deserialize)]
    struct Body {
        #[serde(default)]
        mime: String,
        #[serde(default)]
        status: String,
        #[serde(default)]
        digest: String,
        length: String,
        offset: String,
    }
    let index = beside(path);
    if !is_newer(&index, path) {
        for record in Reader::open(path)? {
            let record = record?;
            if let ("response", Some(digest)) = (record.kind(), record.field("WARC-Payload-Digest")) {
                take(digest, record.offset, record.length)?;
            }
        }
        return Ok(());
    }
    let error = |source| CdxjError::Write { path: index.clone(), source };
    for line in io::BufReader::new(nofollow::open(&index).map_err(error)?).lines() {
        let line = line.map_err(error)?;
        // Behind key and time.
        let body = line.splitn(3, ' ').nth(2).and_then(|json| serde_json::from_str::<Body>(json).ok());
        let Some(body) = body.filter(|body| body.mime != "warc/revisit" && !body.status.is_empty()) else {
            continue;
        };
        if let (Ok(offset), Ok(length)) = (body.offset.parse(), body.length.parse()) {
            take(&body.digest, offset, length)?;
        }
    }
    Ok(())
}

/// The index of a file of the archive: `crawl-20260301120000-00001.cdxj` beside `crawl-20260301120000-00001.warc.gz`.
fn beside(warc: &Path) -> PathBuf {
    warc.with_extension("").with_extension("cdxj")
}

fn is_newer(index: &Path, warc: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    changed(index).zip(changed(warc)).is_some_and(|(index, warc)| index >= warc)
}

/// Takes the lines of a file; false where it had to stop before the end.
fn read(path: &Path, sorter: &mut Sorter, has_to_stop: impl Fn() -> bool) -> Result<bool, CdxjError> {
    take(Reader::open(path)?, path, sorter, has_to_stop)
}

/// As [`read`], of a file whose records are known.
fn read_written(
    file: &WrittenFile,
    sorter: &mut Sorter,
    has_to_stop: impl Fn() -> bool,
) -> Result<bool, CdxjError> {
    let mut reader = Reader::open(&file.path)?;
    let heads = file.places.iter().map(|place| reader.head(*place));
    take(heads, &file.path, sorter, has_to_stop)
}

fn take(
    records: impl Iterator<Item = warc::Result<Record>>,
    path: &Path,
    sorter: &mut Sorter,
    has_to_stop: impl Fn() -> bool,
) -> Result<bool, CdxjError> {
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for record in records {
        if has_to_stop() {
            return Ok(false);
        }
        if let Some(line) = line(&record?, &file) {
            sorter.push(line.as_bytes())?;
        }
    }
    Ok(true)
}

fn write(sorter: Sorter, name: &Path, out: &mut dyn Write) -> Result<u64, CdxjError> {
    let error = |source| CdxjError::Write { path: name.to_owned(), source };
    let mut out = BufWriter::new(out);
    let (mut count, mut last) = (0, Vec::new());
    for line in sorter.sorted()? {
        let line = line?;
        if line != last {
            out.write_all(&line).and_then(|()| out.write_all(b"\n")).map_err(error)?;
            count += 1;
            last = line;
        }
    }
    out.flush().map_err(error)?;
    Ok(count)
}

/// The line of a record; none for those that no reader asks for.
pub(crate) fn line(record: &Record, file: &str) -> Option<String> {
    let url = record.field("WARC-Target-URI")?;
    let is_response = matches!(record.kind(), "response" | "revisit");
    let mime = match record.kind() {
        "revisit" => Some("warc/revisit".to_owned()),
        "response" => record.http().and_then(|(head, _)| {
            let fields = field_lines_of(head);
            let content_type = fields.iter().find(|(name, _)| name == "content-type");
            content_type.map(|(_, value)| media_type(&text(value)))
        }),
        "resource" if record.field("Content-Type") != Some("application/warc-fields") => {
            record.field("Content-Type").map(media_type)
        }
        _ => return None,
    };
    let status = record.http().filter(|_| is_response).and_then(|(head, _)| {
        let line = head.split(|byte| *byte == b'\r').next()?;
        Some(text(line).split(' ').nth(1)?.to_owned())
    });
    let (length, offset) = (record.length.to_string(), record.offset.to_string());
    let pairs = [
        ("url", Some(url)),
        ("mime", mime.as_deref()),
        ("status", status.as_deref()),
        ("digest", record.field("WARC-Payload-Digest")),
        ("length", Some(length.as_str())),
        ("offset", Some(offset.as_str())),
        ("filename", Some(file)),
    ];
    let mut line = surt::surt(url);
    line.reserve(url.len() + file.len() + 256);
    line.push(' ');
    line.extend(record.field("WARC-Date")?.chars().take(19).filter(char::is_ascii_digit));
    let mut separator = " {";
    for (name, value) in pairs {
        let Some(value) = value else { continue };
        for part in [separator, "\"", name, "\": "] {
            line.push_str(part);
        }
        quote(value, &mut line);
        separator = ", ";
    }
    line.push('}');
    Some(line)
}

/// A media type without parameters.
fn media_type(value: &str) -> String {
    value.split(|c: char| c == ';' || c.is_whitespace()).next().unwrap_or_default().to_owned()
}

fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| bytes.iter().copied().map(char::from).collect(), str::to_owned)
}

/// Appends a JSON string in ASCII.
fn quote(text: &str, out: &mut String) {
    use std::fmt::Write as _;

    out.push('"');
    if clean::is_plain(text) && !text.contains(['"', '\\']) {
        out.push_str(text);
        out.push('"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::{Exchange, WarcInfo, WarcWriter, encode, write_tombstone};

    pub(super) fn archive(dir: &Path, urls: &[&str]) -> (Vec<warc::Location>, Vec<WrittenFile>) {
        let info = WarcInfo::example("2026-03-01T12:00:00Z".parse().unwrap());
        let mut writer = WarcWriter::open(dir, &info, u64::MAX).unwrap();
        let exchange = |url| Exchange {
            url,
            request_head: b"GET / HTTP/1.1\r\n\r\n",
            response_head: Some(b"HTTP/1.1 203 Fine\r\nCONTENT-Type: Text/HTML; charset=\"x\"\r\n\r\n"),
            status: 203,
            version: "HTTP/1.1",
            headers: &[],
            wire_body: b"body",
            truncated: None,
            tls: None,
            purpose: None,
            ip: None,
            fetched_at: "2026-03-01T12:00:01.25Z".parse().unwrap(),
        };
        let places = urls.iter().map(|url| writer.append(&mut encode(&exchange(url))).unwrap()).collect();
        writer.write_out().unwrap();
        (places, writer.finish())
    }

    pub(super) fn lines(dir: &Path) -> Vec<String> {
        let mut out = Vec::new();
        export(&[dir.to_owned()], Path::new("out"), &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_has_what_cdxj_indexer_writes() {
        let dir = tempfile::tempdir().unwrap();
        let (places, _) = archive(dir.path(), &["http://www.b.test/x?b=2&a=1", "https://a.test/\u{e9}\"y"]);
        let rest = |place: &warc::Location| {
            format!(
                "\"mime\": \"Text/HTML\", \"status\": \"203\", \"digest\": \"sha1:{}\", \"length\": \"{}\", \"offset\": \"{}\", \
                 \"filename\": \"crawl-20260301120000-00001.warc.gz\"}}",
                "AKQFFIEZP7DVKLQ5OZYACMZTPS7TEAZR", place.length, place.offset
            )
        };
        let found = lines(dir.path());
        let digest = found[0].split("sha1:").nth(1).unwrap()[..32].to_owned();
        let expected = [
            format!(
                "test,a)/%c3%a9\"y 20260301120001 {{\"url\": \"https://a.test/\\u00e9\\\"y\", {}",
                rest(&places[1])
            ),
            format!(
                "test,b)/x?a=1&b=2 20260301120001 {{\"url\": \"http://www.b.test/x?b=2&a=1\", {}",
                rest(&places[0])
            ),
        ];
        let expected = expected.map(|line| line.replace("AKQFFIEZP7DVKLQ5OZYACMZTPS7TEAZR", &digest));
        assert_eq!(found, expected);
    }

    #[test]
    fn texts_are_json_in_ascii() {
        // RFC 8259 section 7: what has to be escaped, and a pair of surrogates beyond the first plane.
        for (text, quoted) in [
            ("text/html", r#""text/html""#),
            (r#"a"b"#, r#""a\"b""#),
            (r"a\b", r#""a\\b""#),
            ("a\tb\u{1}\u{7f}", r#""a\tb\u0001\u007f""#),
            ("\u{e9}\u{1f600}", r#""\u00e9\ud83d\ude00""#),
        ] {
            let mut out = String::new();
            quote(text, &mut out);
            assert_eq!(out, quoted);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn the_heads_of_known_records_make_the_same_index() {
        let dir = tempfile::tempdir().unwrap();
        let (places, files) = archive(dir.path(), &["http://a.test/1", "http://a.test/2", "http://b.test/"]);
        let at = "2026-03-02T00:00:00Z".parse().unwrap();
        write_tombstone(dir.path(), &places[1], "http://a.test/2", at, "noindex").unwrap();
        assert_eq!(update(dir.path(), &files, None).unwrap(), 1);
        let index = std::fs::read_to_string(dir.path().join("crawl-20260301120000-00001.cdxj")).unwrap();
        assert_eq!(index.lines().collect::<Vec<_>>(), lines(dir.path()));
        assert_eq!(index.lines().count(), 2);
    }

    #[test]
    fn an_index_beside_a_file_is_written_once_and_again_where_the_file_changed() {
        let dir = tempfile::tempdir().unwrap();
        let (places, _) = archive(dir.path(), &["http://a.test/1", "http://a.test/2"]);
        let index = dir.path().join("crawl-20260301120000-00001.cdxj");
        assert_eq!(update(dir.path(), &[], None).unwrap(), 1);
        assert_eq!(std::fs::read_to_string(&index).unwrap().lines().count(), 2);
        assert_eq!(update(dir.path(), &[], None).unwrap(), 0);
        let at = "2026-03-02T00:00:00Z".parse().unwrap();
        write_tombstone(dir.path(), &places[0], "http://a.test/1", at, "noindex").unwrap();
        assert!(!index.exists(), "it names what was withdrawn");
        assert_eq!(update(dir.path(), &[], Some(instant())).unwrap(), 0, "no time for it");
        assert_eq!(update(dir.path(), &[], None).unwrap(), 1);
        let lines = std::fs::read_to_string(&index).unwrap();
        assert!(lines.lines().count() == 1 && lines.contains("a.test/2"), "{lines}");
    }
}
