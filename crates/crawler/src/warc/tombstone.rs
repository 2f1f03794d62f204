//! Removes a record: it is overwritten with a tombstone of exactly the same length.
//!
//! Offsets in a finished file must not move, so an erased record keeps its place. The new member holds a `metadata`
//! record with the URL, the time and the reason. The rest of the length is filled with blanks in the record's block,
//! stored uncompressed, and in the comment field of the gzip header (RFC 1952 section 2.3.1). Readers see a whole member
//! and a right record; the erased bytes are gone after the `fdatasync`. Doing it twice changes nothing.

use crate::nofollow;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::fields::{Fields, add, date, record_id};
use super::member::COMMENT;
use super::{Error, Fault, Location, Result, name};

/// Longest comment of a gzip header: readers bound it at 64 KiB.
const COMMENT_MOST: u64 = 30_000;

/// Bytes of a stored block of deflate at the most (RFC 1951 section 3.2.4).
const STORED_MOST: usize = 65_535;

/// Overwrites the record at `place` with one that names `url` and says why the content was removed.
///
/// # Errors
/// [`Error::Record`] where the place is too short for any record; [`Error::Io`]. Cost: one write of `place.length` bytes,
/// and an `fdatasync`.
pub fn write_tombstone(
    dir: &Path,
    place: &Location,
    url: &str,
    at: jiff::Timestamp,
    because: &str,
) -> Result<()> {
    if name::serial(&place.file).is_none() {
        return Err(Error::Name(place.file.clone()));
    }
    let path = dir.join(&place.file);
    let member = tombstone(place, url, at, because)?;
    // An index beside the file names what goes; the end of the run writes it again.
    let index = path.with_extension("").with_extension("cdxj");
    match std::fs::remove_file(&index) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::io("remove", &index)(error));
        }
        _ => {}
    }
    let mut file = nofollow::options()
        .write(true)
        .open(&path)
        .map_err(nofollow::explain)
        .map_err(Error::io("open", &path))?;
    let length = file.metadata().map_err(Error::io("read", &path))?.len();
    if length < place.offset + place.length {
        // Truncated after what was committed: there is nothing to remove.
        return Ok(());
    }
    file.seek(SeekFrom::Start(place.offset)).map_err(Error::io("write to", &path))?;
    file.write_all(&member).map_err(Error::io("write to", &path))?;
    file.sync_data().map_err(Error::io("write to", &path))
}

/// Returns what [`write_tombstone`] writes.
///
/// # Errors
/// [`Error::Record`] where the place is too short for any record.
pub(crate) fn tombstone(place: &Location, url: &str, at: jiff::Timestamp, because: &str) -> Result<Vec<u8>> {
    let attempts = [(url, because), (url, ""), ("", "")];
    let member = attempts.iter().find_map(|(url, because)| member(place, url, at, because));
    let path = place.file.clone().into();
    member.ok_or(Error::Record { path, offset: place.offset, fault: Fault::MemberLength })
}

/// A gzip member of exactly the length of the place; none where the record doesn't fit.
fn member(place: &Location, url: &str, at: jiff::Timestamp, because: &str) -> Option<Vec<u8>> {
    const FRAME: u64 = 18;
    let plain = record(place, url, at, because, 0);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    // Writing into memory doesn't fail.
    let deflated = encoder.write_all(&plain).and_then(|()| encoder.finish()).ok()?;
    let gap = place.length.checked_sub(FRAME + deflated.len() as u64)?;
    if gap <= COMMENT_MOST {
        return Some(frame(&plain, &deflated, gap));
    }
    let room = usize::try_from(place.length - FRAME).ok()?;
    // Twenty bytes are for the longer Content-Length.
    let blocks = room.div_ceil(STORED_MOST);
    let padding = room.checked_sub(5 * blocks + plain.len() + 40)?;
    let plain = record(place, url, at, because, padding);
    let stored = stored(&plain);
    let gap = place.length.checked_sub(FRAME + stored.len() as u64)?;
    (gap <= COMMENT_MOST).then(|| frame(&plain, &stored, gap))
}

fn record(place: &Location, url: &str, at: jiff::Timestamp, because: &str, padding: usize) -> Vec<u8> {
    let mut block = String::new();
    let mut say = |name: &str, value: &str| add(&mut block, name, value);
    say("withdrawn", &date(at));
    if !because.is_empty() {
        say("because", because);
    }
    if padding > 0 {
        say("padding", &" ".repeat(padding));
    }
    let mut fields = Fields::new("metadata");
    let place = place.offset.to_be_bytes();
    fields.add("WARC-Record-ID", &record_id(&[b"withdrawn", url.as_bytes(), &place]));
    fields.add("WARC-Date", &date(at));
    if !url.is_empty() {
        fields.add("WARC-Target-URI", url);
    }
    fields.add("Content-Type", "application/warc-fields");
    [fields.finish(block.len()).as_bytes(), block.as_bytes(), b"\r\n\r\n"].concat()
}

/// Deflate without compression.
fn stored(plain: &[u8]) -> Vec<u8> {
    let count = plain.len().div_ceil(STORED_MOST);
    let mut out = Vec::with_capacity(plain.len() + 5 * count);
    for (index, part) in plain.chunks(STORED_MOST).enumerate() {
        let length = part.len() as u16;
        out.push(u8::from(index + 1 == count));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(part);
    }
    out
}

fn frame(plain: &[u8], deflated: &[u8], gap: u64) -> Vec<u8> {
    const UNKNOWN_SYSTEM: u8 = 255;
    let mut crc = Crc::new();
    crc.update(plain);
    let mut out = vec![0x1f, 0x8b, 8, if gap > 0 { COMMENT } else { 0 }, 0, 0, 0, 0, 0, UNKNOWN_SYSTEM];
    if gap > 0 {
        out.resize(out.len() + gap as usize - 1, b' ');
        out.push(0);
    }
    out.extend(deflated);
    out.extend(crc.sum().to_le_bytes());
    out.extend((plain.len() as u32).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn at() -> jiff::Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    #[test]
    fn every_length_gives_a_whole_record_of_that_length_and_nothing_else_moves() {
        let dir = tempfile::tempdir().unwrap();
        let file = crate::warc::name::file_name(at(), None, 1);
        let url = "http://a.test/page";
        let lengths = (300..700).chain([30_300, 30_301, 65_535, 65_600, 131_111, 1_000_003, 10_485_760]);
        for length in lengths {
            let place = Location { file: file.clone(), offset: 7, length };
            let path = dir.path().join(&file);
            std::fs::write(&path, vec![b'x'; length as usize + 12]).unwrap();
            write_tombstone(dir.path(), &place, url, at(), "noindex (meta robots: noindex)").unwrap();
            write_tombstone(dir.path(), &place, url, at(), "noindex (meta robots: noindex)").unwrap();
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes.len() as u64, length + 12);
            assert!(bytes.starts_with(b"xxxxxxx") && bytes.ends_with(b"xxxxx"));
            let inner = &bytes[7..bytes.len() - 5];
            assert!(!inner.windows(4).any(|four| four == b"xxxx"), "{length}: nothing of it remains");
            let record = read(dir.path(), &place).unwrap();
            assert_eq!((record.kind(), record.length), ("metadata", length));
            assert_eq!(record.field("WARC-Target-URI"), Some(url));
            let block = String::from_utf8(record.block).unwrap();
            assert!(block.starts_with("withdrawn: 2026-01-02T03:04:05"), "{block:.80}");
        }
    }

    #[test]
    fn a_place_that_is_too_short_is_an_error_and_stays_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = crate::warc::name::file_name(at(), None, 1);
        let path = dir.path().join(&file);
        std::fs::write(&path, [b'x'; 50]).unwrap();
        let place = Location { file, offset: 0, length: 50 };
        assert!(write_tombstone(dir.path(), &place, "http://a.test/", at(), "noindex").is_err());
        assert_eq!(std::fs::read(&path).unwrap(), [b'x'; 50]);
    }
}
