//! Indexes of files that are complete while the crawl goes on, written in a thread of their own.
//!
//! Content may be withdrawn from a file while it is read: [`Rotation::withdrawing`] says so before, and what was read is dropped. So no index
//! names a record that isn't there any more.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::{CdxjError, beside, part_of, read_written, write_part};
use crate::causes::with_causes;
use crate::sorter::Sorter;
use crate::warc::WrittenFile;

/// How often a file is read again from which content was withdrawn meanwhile. Then only the end of the run writes its index.
const READ: usize = 3;

/// The thread that writes indexes.
#[derive(Debug)]
pub struct Rotation {
    files: Option<Sender<WrittenFile>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The file that is being read, and whether content was withdrawn from it since.
    reading: Mutex<Option<(PathBuf, bool)>>,
    stop: AtomicBool,
}

impl Rotation {
    /// Starts the thread.
    ///
    /// # Errors
    /// Those of the system, which has no thread to give.
    pub fn start() -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (files, received) = channel();
        let thread = {
            let shared = Arc::clone(&shared);
            let run = move || shared.run(&received);
            std::thread::Builder::new().name("cdxj".to_owned()).spawn(run)?
        };
        Ok(Self { files: Some(files), shared, thread: Some(thread) })
    }

    /// Has the index of a file written to which nothing is appended any more.
    pub fn complete(&self, file: WrittenFile) {
        if let Some(files) = &self.files {
            // A thread that is gone has panicked: the end of the run writes what is missing.
            drop(files.send(file));
        }
    }

    /// Must be called before the index of a file is removed and content of it overwritten. Until what it returns is dropped no index gets
    /// its name, and what was read of this file isn't used.
    #[must_use]
    pub fn withdrawing(&self, file: &Path) -> Withdrawing<'_> {
        let mut reading = self.shared.reading();
        if let Some((path, is_stale)) = &mut *reading {
            *is_stale |= path == file;
        }
        Withdrawing { _reading: reading }
    }

    #[cfg(test)]
    fn wait(mut self) {
        self.files = None;
        self.thread.take().unwrap().join().unwrap();
    }
}

/// While it exists, content of a file may be overwritten.
#[derive(Debug)]
pub struct Withdrawing<'a> {
    _reading: MutexGuard<'a, Option<(PathBuf, bool)>>,
}

impl Drop for Rotation {
    /// Ends the thread within one record: the end of the run writes what is missing.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.files = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Shared {
    fn reading(&self) -> MutexGuard<'_, Option<(PathBuf, bool)>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, files: &Receiver<WrittenFile>) {
        for file in files {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            // The archive is whole without it.
            if let Err(error) = self.index(&file, || {}) {
                tracing::warn!("no index of {} was written: {}", file.path.display(), with_causes(&error));
            }
        }
    }

    /// Writes the index of a file, unless it has to stop; calls `was_read` when the file was read.
    fn index(&self, file: &WrittenFile, was_read: impl Fn()) -> Result<(), CdxjError> {
        let index = beside(&file.path);
        for _ in 0..READ {
            *self.reading() = Some((file.path.clone(), false));
            let mut sorter = Sorter::new(None);
            let written = match read_written(file, &mut sorter, || self.stop.load(Ordering::Relaxed)) {
                Ok(true) => write_part(sorter, &index),
                Ok(false) => break,
                Err(error) => Err(error),
            };
            was_read();
            let mut reading = self.reading();
            let is_stale = reading.take().is_some_and(|(_, is_stale)| is_stale);
            written?;
            if !is_stale {
                let error = |source| CdxjError::Write { path: index.clone(), source };
                std::fs::rename(part_of(&index), &index).map_err(error)?;
                return Ok(());
            }
            drop(reading);
        }
        *self.reading() = None;
        // There is none if it wasn't written.
        drop(std::fs::remove_file(part_of(&index)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::cdxj::tests::{archive, lines};
    use crate::warc::{Location, write_tombstone};

    fn one_file(dir: &Path, urls: &[&str]) -> (WrittenFile, Vec<Location>) {
        let (places, mut files) = archive(dir, urls);
        (files.remove(0), places)
    }

    #[test]
    fn a_complete_file_gets_its_index() {
        let dir = tempfile::tempdir().unwrap();
        let (file, _) = one_file(dir.path(), &["http://b.test/", "http://a.test/"]);
        let rotation = Rotation::start().unwrap();
        let missing = dir.path().join("crawl-20260301120000-00009.warc.gz");
        rotation.complete(WrittenFile { path: missing, places: Vec::new() });
        rotation.complete(file.clone());
        rotation.wait();
        let index = std::fs::read_to_string(beside(&file.path)).unwrap();
        assert_eq!(index.lines().collect::<Vec<_>>(), lines(dir.path()));
        assert!(index.starts_with("test,a)/ ") && index.lines().count() == 2, "{index}");
    }

    #[test]
    fn what_is_withdrawn_while_a_file_is_read_is_in_no_index() {
        let dir = tempfile::tempdir().unwrap();
        let (file, places) = one_file(dir.path(), &["http://a.test/1", "http://a.test/2"]);
        let rotation = Rotation { files: None, shared: Arc::default(), thread: None };
        let withdraw = || {
            let _withdrawing = rotation.withdrawing(&file.path);
            let at = "2026-03-02T00:00:00Z".parse().unwrap();
            write_tombstone(dir.path(), &places[0], "http://a.test/1", at, "noindex").unwrap();
        };
        let count = Cell::new(0);
        let once = || {
            count.set(count.get() + 1);
            if count.get() == 1 {
                withdraw();
            }
        };
        rotation.shared.index(&file, once).unwrap();
        let index = std::fs::read_to_string(beside(&file.path)).unwrap();
        assert!(index.lines().count() == 1 && index.contains("a.test/2"), "{index}");
        assert_eq!(count.get(), 2, "it is read again");

        std::fs::remove_file(beside(&file.path)).unwrap();
        rotation.shared.index(&file, withdraw).unwrap();
        assert_eq!(
            files_beside(dir.path()),
            [file.path.file_name().unwrap()],
            "the end of the run writes it"
        );
    }

    fn files_beside(dir: &Path) -> Vec<std::ffi::OsString> {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }
}
