//! Appends encoded records to archive files, whole or not at all.

use super::place::{Location, Place, Position, WrittenFile};
use super::sync::{Unsynced, sync_dir};
use super::{Encoded, Error, Result, WarcInfo, info, name, repair};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The one writer of an archive directory.
///
/// Always: every file it leaves ends with a whole record, or is cut back to one by
/// [`repair()`](super::repair()) at the next start. A run begins files of its own, so that each file's
/// `warcinfo` tells the truth about what follows it; the first is made by the first append.
///
/// What was appended is written 128 KiB at a time, since that costs the kernel a third of what a call for each page does; what remains by
/// [`WarcWriter::write_out`].
#[derive(Debug)]
pub struct WarcWriter {
    dir: PathBuf,
    info: WarcInfo,
    series: Option<String>,
    max_file_size: u64,
    next_serial: u32,
    current: Option<Current>,
    /// Files that are complete, until somebody takes them.
    complete: Vec<WrittenFile>,
    is_dir_unsynced: bool,
}

#[derive(Debug)]
struct Current {
    file: Arc<File>,
    name: String,
    path: PathBuf,
    places: Vec<Place>,
    /// Bytes of the file: whole records.
    written: u64,
    /// The whole records behind them that are still to be written.
    pending: Vec<u8>,
    /// Bytes of the file that are on the disk for certain.
    synced: u64,
    /// Bytes of the `warcinfo` record: a file that holds no more isn't rolled.
    info_length: u64,
    is_torn: bool,
    /// `WARC-Record-ID` of the `warcinfo` record.
    info_id: String,
}

/// Bytes that are written at once.
const AT_ONCE: usize = 128 * 1024;

impl WarcWriter {
    /// Opens a directory for appending, making it where it is missing. Files get the number after the highest
    /// one there.
    ///
    /// A new file is started before one would grow beyond `max_file_size` bytes; one larger record
    /// gets a file alone.
    pub fn open(dir: &Path, info: &WarcInfo, max_file_size: u64) -> Result<Self> {
        std::fs::create_dir_all(dir).map_err(Error::io("make", dir))?;
        let highest = repair::files(dir)?.last().map_or(0, |(serial, _)| *serial);
        Ok(Self {
            dir: dir.to_owned(),
            info: info.clone(),
            series: None,
            max_file_size,
            next_serial: highest.saturating_add(1),
            current: None,
            complete: Vec::new(),
            is_dir_unsynced: true,
        })
    }

    /// Gives the files names of a series of their own, numbered from 1: several writers may add to one directory then. A series begins with
    /// `w` and has lower-case letters and digits.
    #[must_use]
    pub fn in_series(self, series: String) -> Self {
        Self { series: Some(series), next_serial: 1, ..self }
    }

    /// Appends the records of an exchange, whole or not at all, and says where the response lies. Enters the ID of the file's
    /// `warcinfo` record into them. Nobody can read them before [`WarcWriter::write_out`]; not durable before [`WarcWriter::sync`].
    ///
    /// # Errors
    /// [`Error::Io`] where the system refuses: the file has been cut back to the last whole record of what was written before, and may be
    /// appended to again. [`Error::Torn`] where that failed as well.
    pub fn append(&mut self, encoded: &mut Encoded) -> Result<Location> {
        if self.file_for(encoded).is_none()
            && let Some(current) = &mut self.current
        {
            current.sync()?;
            self.complete.extend(self.current.take().map(Current::written));
        }
        let current = match self.current.take() {
            Some(current) => current,
            None => self.begin_file()?,
        };
        let current = self.current.insert(current);
        encoded.enter(&current.info_id);
        let offset = current.length();
        current.append(&encoded.bytes)?;
        let length = encoded.response_length;
        current.places.push(Place { offset, length });
        Ok(Location { file: current.name.clone(), offset, length })
    }

    /// Writes what was appended, for others to read. Costs nothing where all is written.
    ///
    /// # Errors
    /// As [`WarcWriter::append`]; nothing of what was to be written remains.
    pub fn write_out(&mut self) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        current.write_out()?;
        current.free();
        Ok(())
    }

    /// Returns the name of the file that these records would be appended to, `None` where they would begin a new one.
    pub fn file_for(&self, encoded: &Encoded) -> Option<&str> {
        let current = self.current.as_ref()?;
        let end = current.length().saturating_add(encoded.bytes.len() as u64);
        let is_full = current.length() > current.info_length && end > self.max_file_size;
        (!is_full).then_some(&current.name)
    }

    /// Returns the end of what was appended, `None` before the first append of this writer.
    pub fn position(&self) -> Option<Position> {
        self.current.as_ref().map(|current| Position { file: current.name.clone(), offset: current.length() })
    }

    /// Returns how much of the current file is on the disk for certain.
    pub fn synced(&self) -> Option<u64> {
        self.current.as_ref().map(|current| current.synced)
    }

    /// Returns what was written and isn't on the disk for certain, to be synced while more is appended. What a file begins with must be synced by
    /// [`WarcWriter::sync`], as its name.
    pub fn unsynced(&self) -> Option<Unsynced> {
        let current = self.current.as_ref().filter(|current| current.synced < current.written)?;
        let end = Position { file: current.name.clone(), offset: current.written };
        Some(Unsynced { file: Arc::clone(&current.file), path: current.path.clone(), end })
    }

    /// Takes note that all up to a position is on the disk.
    pub fn note_synced(&mut self, end: &Position) {
        if let Some(current) = self.current.as_mut().filter(|current| current.name == end.file) {
            current.synced = current.synced.max(end.offset.min(current.written));
        }
    }

    /// Whether the name of the current file isn't on the disk for certain.
    pub fn begins_file(&self) -> bool {
        self.current.is_some() && self.is_dir_unsynced
    }

    /// Whether [`WarcWriter::take_complete`] would return any.
    pub fn has_complete(&self) -> bool {
        !self.complete.is_empty()
    }

    /// Takes the files that became complete since the last call: nothing is appended to them any more.
    pub fn take_complete(&mut self) -> Vec<WrittenFile> {
        std::mem::take(&mut self.complete)
    }

    /// Ends the writing: all files that [`WarcWriter::take_complete`] didn't return, with what was written to them.
    pub fn finish(self) -> Vec<WrittenFile> {
        self.complete.into_iter().chain(self.current.map(Current::written)).collect()
    }

    /// Waits until all that was appended is on the disk: `fdatasync` of the file, and `fsync` of the
    /// directory if it got a new file.
    ///
    /// An error here is final (what the kernel dropped, a second `fsync` doesn't bring back): end the run and
    /// resume.
    pub fn sync(&mut self) -> Result<()> {
        if let Some(current) = &mut self.current {
            current.sync()?;
            current.free();
        }
        if self.is_dir_unsynced {
            sync_dir(&self.dir)?;
            self.is_dir_unsynced = false;
        }
        Ok(())
    }

    /// Takes back what was appended after a position, where its commit to the database failed. `None` takes
    /// back everything: only right if nothing was ever committed to this directory.
    pub fn roll_back_to(&mut self, position: Option<&Position>) -> Result<()> {
        match (&mut self.current, position) {
            (Some(current), Some(position)) if current.name == position.file => {
                current.cut_to(position.offset)
            }
            _ => {
                self.current = None;
                self.complete.clear();
                self.is_dir_unsynced = true;
                repair::repair(&self.dir, position).map(drop)
            }
        }
    }

    fn begin_file(&mut self) -> Result<Current> {
        let name = name::file_name(self.info.started_at, self.series.as_deref(), self.next_serial);
        let path = self.dir.join(&name);
        let file =
            OpenOptions::new().append(true).create_new(true).open(&path).map_err(Error::io("make", &path))?;
        self.is_dir_unsynced = true;
        let (warcinfo, info_id) = info::encode(&self.info, &name);
        let mut current = Current {
            file: Arc::new(file),
            name,
            path,
            places: Vec::new(),
            written: 0,
            pending: Vec::new(),
            synced: 0,
            info_length: 0,
            is_torn: false,
            info_id,
        };
        if let Err(refused) = current.write(&warcinfo) {
            // Best effort: an empty file is no harm, the next start removes it.
            drop(std::fs::remove_file(&current.path));
            return Err(refused);
        }
        current.info_length = current.written;
        self.next_serial = self.next_serial.saturating_add(1);
        Ok(current)
    }
}

impl Current {
    /// Bytes of whole records, with those that are still to be written.
    fn length(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn written(mut self) -> WrittenFile {
        self.places.retain(|place| place.offset < self.written);
        WrittenFile { path: self.path, places: self.places }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_torn {
            return Err(Error::Torn { path: self.path.clone() });
        }
        if self.pending.len() + bytes.len() > AT_ONCE {
            self.write_out()?;
        }
        if bytes.len() > AT_ONCE {
            return self.write(bytes);
        }
        if self.pending.is_empty() {
            self.pending.reserve_exact(AT_ONCE);
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    fn write_out(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        self.write(&pending)?;
        pending.clear();
        self.pending = pending;
        Ok(())
    }

    /// Gives back the memory of records that were pending. A cluster has a writer for each partition, of which few write at a time.
    fn free(&mut self) {
        if self.pending.is_empty() {
            self.pending = Vec::new();
        }
    }

    /// Writes whole records behind what is written, with nothing pending.
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.is_torn {
            return Err(Error::Torn { path: self.path.clone() });
        }
        if let Err(source) = (&*self.file).write_all(bytes) {
            self.cut_to(self.written)?;
            return Err(Error::io("write to", &self.path)(source));
        }
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn cut_to(&mut self, length: u64) -> Result<()> {
        if length > self.length() {
            return Err(Error::Short { path: self.path.clone(), found: self.length(), committed: length });
        }
        self.is_torn = true;
        self.pending.truncate(length.saturating_sub(self.written) as usize);
        self.written = self.written.min(length);
        self.places.retain(|place| place.offset < length);
        self.synced = self.synced.min(length);
        self.file.set_len(self.written).map_err(|_| Error::Torn { path: self.path.clone() })?;
        self.is_torn = false;
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.write_out()?;
        if self.synced < self.written {
            self.file.sync_data().map_err(Error::io("sync", &self.path))?;
            self.synced = self.written;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{AT_ONCE, Error, WarcWriter};
    use crate::warc::tests::{exchange, info, page};
    use crate::warc::{Encoded, encode};
    use std::fs::File;
    use std::sync::Arc;

    #[test]
    fn a_failed_write_stops_the_writer_until_its_rest_is_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = WarcWriter::open(dir.path(), &info(), u64::MAX).unwrap();
        writer.append(&mut page(0)).unwrap();
        writer.write_out().unwrap();
        let committed = writer.position().unwrap();
        // A handle that may only read stands for a file system that turned read-only.
        let current = writer.current.as_mut().unwrap();
        let writable = std::mem::replace(&mut current.file, Arc::new(File::open(&current.path).unwrap()));
        writer.append(&mut page(1)).unwrap();
        assert!(matches!(writer.write_out(), Err(Error::Torn { .. })));
        writer.current.as_mut().unwrap().file = writable;
        assert!(
            matches!(writer.append(&mut page(1)), Err(Error::Torn { .. })),
            "before the cut nothing is written"
        );
        writer.roll_back_to(Some(&committed)).unwrap();
        writer.append(&mut page(1)).unwrap();
        assert!(writer.position().unwrap().offset > committed.offset);
    }

    #[test]
    fn records_are_written_together_whole_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = WarcWriter::open(dir.path(), &info(), u64::MAX).unwrap();
        let mut expected = Vec::new();
        let mut append = |writer: &mut WarcWriter, mut encoded: Encoded| {
            let place = writer.append(&mut encoded).unwrap();
            expected.resize(usize::try_from(place.offset).unwrap(), 0);
            expected.extend(encoded.bytes);
        };
        append(&mut writer, page(0));
        let path = dir.path().join(writer.position().unwrap().file);
        let length = || path.metadata().unwrap().len();
        let info_length = length();
        append(&mut writer, page(1));
        assert_eq!(length(), info_length, "both wait");
        writer.write_out().unwrap();
        assert_eq!(length(), writer.position().unwrap().offset);
        append(&mut writer, page(2));
        let noise: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect();
        let large = [("Content-Encoding".to_owned(), b"br".to_vec())];
        append(&mut writer, encode(&exchange("http://a.test/large", &large, &noise)));
        assert_eq!(
            length(),
            writer.position().unwrap().offset,
            "one that is larger than what is written at once goes at once"
        );
        for number in 3..400 {
            append(&mut writer, page(number));
        }
        assert!(writer.position().unwrap().offset - length() <= AT_ONCE as u64);
        writer.sync().unwrap();
        let read = std::fs::read(&path).unwrap();
        assert!(read[info_length as usize..] == expected[info_length as usize..]);
    }

    #[test]
    fn a_directory_that_cannot_be_made_or_written_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        let opened = WarcWriter::open(&dir.path().join("file"), &info(), u64::MAX);
        assert!(matches!(opened, Err(Error::Io { doing: "make", .. })));
        let mut writer = WarcWriter::open(&dir.path().join("gone"), &info(), u64::MAX).unwrap();
        std::fs::remove_dir(dir.path().join("gone")).unwrap();
        assert!(matches!(writer.append(&mut page(0)), Err(Error::Io { doing: "make", .. })));
        assert_eq!(writer.position(), None);
    }
}
