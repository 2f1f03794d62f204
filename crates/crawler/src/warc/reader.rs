//! Reads archive files: one record by its location, or a whole file, with all checks.

use super::{Error, Fault, Location, Place, Record, Result, member, name};
use crate::nofollow;
use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The largest decoded record that is read: far above any body limit, far below an exhausted machine.
const MAX_RECORD: u64 = 1 << 30;

/// Bytes that are decoded at a time until a record's heads are complete.
const HEAD_STEP: usize = 2 << 10;

/// Reads and checks the record at a location.
///
/// # Errors
/// [`Error::Record`] with the [`Fault`] where the bytes there aren't the whole record of that length.
pub fn read(dir: &Path, location: &Location) -> Result<Record> {
    if name::serial(&location.file).is_none() {
        return Err(Error::Name(location.file.clone()));
    }
    let path = dir.join(&location.file);
    let mut file = nofollow::open(&path).map_err(Error::io("open", &path))?;
    file.seek(SeekFrom::Start(location.offset)).map_err(Error::io("read", &path))?;
    let mut reader = Reader {
        source: Counted { inner: BufReader::new(file), offset: location.offset },
        path,
        is_over: false,
        heads: None,
    };
    match reader.next() {
        Some(Ok(record)) if record.length == location.length => Ok(record),
        Some(Ok(_)) => Err(reader.fault(location.offset, Fault::MemberLength)),
        Some(Err(fault)) => Err(fault),
        None => Err(reader.fault(location.offset, Fault::Torn)),
    }
}

/// Iterates over the records of a file, checking gzip checksums, `Content-Length` and digests. Ends at the
/// first fault: behind it no place is sure to begin a record.
///
/// Meant for this crawler's own files: it wants WARC 1.1, one gzip member per record, `Name: value` with one
/// blank. Memory: one record.
#[derive(Debug)]
pub struct Reader {
    source: Counted<BufReader<File>>,
    path: PathBuf,
    is_over: bool,
    /// What [`Reader::head`] decodes with, once it was called: some 48 KB.
    heads: Option<Decompress>,
}

impl Reader {
    /// Opens a file at its beginning.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_at(path, 0)
    }

    /// Opens a file at a place.
    pub(crate) fn open_at(path: &Path, offset: u64) -> Result<Self> {
        let mut file = nofollow::open(path).map_err(Error::io("open", path))?;
        file.seek(SeekFrom::Start(offset)).map_err(Error::io("read", path))?;
        let source = Counted { inner: BufReader::new(file), offset };
        Ok(Self { source, path: path.to_owned(), is_over: false, heads: None })
    }

    fn fault(&self, offset: u64, fault: Fault) -> Error {
        Error::Record { path: self.path.clone(), offset, fault }
    }

    fn failed(&self, offset: u64, error: std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::UnexpectedEof => self.fault(offset, Fault::Torn),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => self.fault(offset, Fault::Gzip(error)),
            _ => Error::io("read", &self.path)(error),
        }
    }

    /// Reads the head of the record at a place: its fields, and of its block what comes with the HTTP head if it has one. Checks neither
    /// checksum nor length nor digests.
    ///
    /// Cost: decodes the heads alone, whatever the length of the body.
    pub(crate) fn head(&mut self, place: Place) -> Result<Record> {
        let Place { offset, length } = place;
        // Keeps what is read ahead, where the place is in it.
        let ahead = offset.cast_signed().wrapping_sub(self.source.offset.cast_signed());
        self.source.inner.seek_relative(ahead).map_err(Error::io("read", &self.path))?;
        self.source.offset = offset;
        let mut bytes = Vec::with_capacity(HEAD_STEP);
        self.decode_heads(&mut bytes).map_err(|error| self.failed(offset, error))?;
        Record::split(bytes, offset, length).map_err(|fault| self.fault(offset, fault))
    }

    /// Decodes the member at this place until the heads are complete, with a decoder that is made once.
    fn decode_heads(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        member::skip_header(&mut self.source)?;
        let decoder = self.heads.get_or_insert_with(|| Decompress::new(false));
        decoder.reset(false);
        loop {
            bytes.reserve(HEAD_STEP);
            let input = self.source.fill_buf()?;
            let is_end = input.is_empty();
            let before = decoder.total_in();
            let status = decoder.decompress_vec(input, bytes, FlushDecompress::None)?;
            self.source.consume((decoder.total_in() - before) as usize);
            if status == Status::StreamEnd || has_heads(bytes) {
                return Ok(());
            }
            if is_end {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn record(&mut self, offset: u64) -> Result<Record> {
        let mut bytes = Vec::new();
        let decoded = GzDecoder::new(&mut self.source).take(MAX_RECORD + 1).read_to_end(&mut bytes);
        decoded.map_err(|error| self.failed(offset, error))?;
        if bytes.len() as u64 > MAX_RECORD {
            return Err(self.fault(offset, Fault::TooLarge(MAX_RECORD)));
        }
        let length = self.source.offset - offset;
        Record::parse(bytes, offset, length).map_err(|fault| self.fault(offset, fault))
    }
}

/// Whether the decoded beginning of a record has its fields, and the HTTP head behind them if there is one.
fn has_heads(bytes: &[u8]) -> bool {
    let end = |bytes: &[u8]| memchr::memmem::find(bytes, b"\r\n\r\n");
    end(bytes).is_some_and(|at| {
        memchr::memmem::find(&bytes[..at], b"application/http").is_none() || end(&bytes[at + 4..]).is_some()
    })
}

impl Iterator for Reader {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = match self.source.fill_buf() {
            Ok([]) => None,
            Ok(_) => Some(self.record(self.source.offset)),
            Err(refused) => Some(Err(Error::io("read", &self.path)(refused))),
        };
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// A source that knows how far it was read.
#[derive(Debug)]
struct Counted<R> {
    inner: R,
    offset: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.offset += amount as u64;
        self.inner.consume(amount);
    }
}
