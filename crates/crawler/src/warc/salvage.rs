//! Reads the intact records of a file that may be damaged anywhere, and skips the rest.

use crate::nofollow;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::member::MAGIC;
use super::{Error, Reader, Record, Result};

/// What a pass over a file found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Whole records.
    pub records: u64,
    /// The end of the last whole record.
    pub end: u64,
    /// Bytes before it that belong to no whole record.
    pub lost: u64,
}

/// Returns every whole record of a file to `each`. Behind a damaged one the next gzip header that begins a whole record is looked
/// for. Memory: one record. Cost: the file, once where it is whole.
///
/// # Errors
/// [`Error::Io`] where the file can't be read.
pub fn salvage(path: &Path, mut each: impl FnMut(&Record)) -> Result<Salvaged> {
    let mut salvaged = Salvaged::default();
    let mut from = 0;
    loop {
        let mut reader = Reader::open_at(path, from)?;
        for record in &mut reader {
            match record {
                Ok(record) => {
                    salvaged.lost += record.offset.saturating_sub(salvaged.end);
                    salvaged.end = record.offset + record.length;
                    salvaged.records += 1;
                    from = salvaged.end;
                    each(&record);
                }
                Err(Error::Record { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        match next_header(path, from + 1)? {
            Some(next) => from = next,
            None => return Ok(salvaged),
        }
    }
}

/// The next place where a gzip member could begin (RFC 1952 section 2.3: ID1, ID2, CM).
fn next_header(path: &Path, from: u64) -> Result<Option<u64>> {
    let mut file = nofollow::open(path).map_err(Error::io("open", path))?;
    file.seek(SeekFrom::Start(from)).map_err(Error::io("read", path))?;
    let mut window = Vec::new();
    let mut at = from;
    loop {
        let read = file.by_ref().take(1 << 16).read_to_end(&mut window).map_err(Error::io("read", path))?;
        if let Some(found) = memchr::memmem::find(&window, &MAGIC) {
            return Ok(Some(at + found as u64));
        }
        if read == 0 {
            return Ok(None);
        }
        let kept = window.len().min(MAGIC.len() - 1);
        at += (window.len() - kept) as u64;
        window.drain(..window.len() - kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::tests::archive;

    fn urls(path: &Path) -> (Vec<u64>, Salvaged) {
        let mut found = Vec::new();
        let salvaged = salvage(path, |record| found.push(record.offset)).unwrap();
        (found, salvaged)
    }

    #[test]
    fn what_is_whole_is_found_behind_any_damage() {
        let dir = tempfile::tempdir().unwrap();
        let positions = archive(dir.path(), 3);
        let path = dir.path().join(&positions[0].file);
        let whole = std::fs::read(&path).unwrap();
        let (records, salvaged) = urls(&path);
        assert_eq!((salvaged.end, salvaged.lost), (whole.len() as u64, 0));
        assert_eq!(salvaged.records, 1 + 3 * 2, "warcinfo, then a response and a request for each");
        for index in 0..records.len() {
            let next = records.get(index + 1).copied().unwrap_or(whole.len() as u64);
            let mut damaged = whole.clone();
            damaged[usize::midpoint(records[index] as usize, next as usize)] ^= 0x5a;
            std::fs::write(&path, &damaged).unwrap();
            let (found, salvaged) = urls(&path);
            let expected: Vec<u64> =
                records.iter().copied().filter(|offset| *offset != records[index]).collect();
            assert_eq!(found, expected, "record {index}");
            assert_eq!(salvaged.lost, if next == whole.len() as u64 { 0 } else { next - records[index] });
        }
        std::fs::write(&path, b"no archive at all").unwrap();
        assert_eq!(urls(&path), (vec![], Salvaged::default()));
    }
}
