//! External sorting: runs in temporary files, merged while they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use crate::nofollow;

/// Bytes of records that are read ahead at a time.
const AHEAD: usize = 256 << 10;

/// Bytes that a sorter holds in memory, its bookkeeping included.
const MEMORY: usize = 16 << 20;

/// Bytes of a run that are read ahead.
const READ_AHEAD: usize = 32 << 10;

/// Runs that are open at a time: a process may have few files open, and each run takes memory for what is read ahead.
const MOST_RUNS: usize = 96;

/// Runs that become one where there are more, the shortest of all: so a record is written again a few times at most.
const JOINED: usize = 64;

/// A temporary file failed.
#[derive(Debug, thiserror::Error)]
#[error("temporary files in {} can't be written or read", .dir.display())]
pub struct SortError {
    dir: PathBuf,
    source: io::Error,
}

impl SortError {
    /// A temporary file in `dir` failed.
    pub(crate) fn new(dir: &Path, source: io::Error) -> Self {
        Self { dir: dir.to_owned(), source }
    }
}

/// Makes a file without a name in `dir`. Where this user can't write there, as in somebody else's crawl, it is made where the system has
/// temporary files, and `dir` becomes that.
pub(crate) fn temporary_file(dir: &mut PathBuf) -> io::Result<File> {
    match tempfile::tempfile_in(&*dir) {
        Err(error) if nofollow::is_write_refused(&error) => {
            *dir = std::env::temp_dir();
            tempfile::tempfile_in(dir)
        }
        made => made,
    }
}

/// Takes records in any order; [`Sorter::sorted`] gives them in the order of their bytes.
#[derive(Debug)]
pub(crate) struct Sorter {
    dir: PathBuf,
    memory: usize,
    bytes: Vec<u8>,
    /// Where each record begins and ends.
    places: Vec<(u32, u32)>,
    /// Sorted records in files, with the bytes of each.
    runs: Vec<(u64, File)>,
}

impl Sorter {
    /// Temporary files go into `dir`, or where the system has them; they have no names, and go with the process.
    pub(crate) fn new(dir: Option<&Path>) -> Self {
        Self::with(dir, MEMORY)
    }

    fn with(dir: Option<&Path>, memory: usize) -> Self {
        let dir = dir.map_or_else(std::env::temp_dir, Path::to_owned);
        Self { dir, memory, bytes: Vec::new(), places: Vec::new(), runs: Vec::new() }
    }

    /// Takes a record.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<(), SortError> {
        if self.bytes.len() + record.len() + (self.places.len() + 1) * size_of::<(u32, u32)>() > self.memory
            && !self.places.is_empty()
        {
            self.spill().map_err(|source| SortError { dir: self.dir.clone(), source })?;
        }
        let from = self.bytes.len() as u32;
        self.bytes.extend_from_slice(record);
        self.places.push((from, self.bytes.len() as u32));
        Ok(())
    }

    /// Takes a record of parts.
    pub(crate) fn push_parts(&mut self, parts: &[&[u8]]) -> Result<(), SortError> {
        self.push(&parts.concat())
    }

    fn sort(&mut self) {
        let Self { bytes, places, .. } = self;
        places.sort_unstable_by(|a, b| record(bytes, *a).cmp(record(bytes, *b)));
    }

    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let mut out = BufWriter::with_capacity(READ_AHEAD, temporary_file(&mut self.dir)?);
        for place in self.places.drain(..) {
            let record = record(&self.bytes, place);
            out.write_all(&(record.len() as u32).to_le_bytes())?;
            out.write_all(record)?;
        }
        self.bytes.clear();
        self.runs.push(finished(out)?);
        if self.runs.len() > MOST_RUNS { self.join() } else { Ok(()) }
    }

    /// Makes one run of the shortest.
    fn join(&mut self) -> io::Result<()> {
        self.runs.sort_by_key(|(bytes, _)| *bytes);
        let mut merged = Merged::new(self.runs.drain(..JOINED).map(|(_, file)| file))?;
        let mut out = BufWriter::with_capacity(READ_AHEAD, temporary_file(&mut self.dir)?);
        let mut record = Vec::new();
        while merged.next_into(&mut record)? {
            out.write_all(&(record.len() as u32).to_le_bytes())?;
            out.write_all(&record)?;
            record.clear();
        }
        self.runs.push(finished(out)?);
        Ok(())
    }

    /// Takes the records of another sorter.
    pub(crate) fn take_all(&mut self, mut other: Self) -> Result<(), SortError> {
        let places = std::mem::take(&mut other.places);
        for place in places {
            self.push(record(&other.bytes, place))?;
        }
        for run in other.runs {
            self.runs.push(run);
            if self.runs.len() > MOST_RUNS {
                self.join().map_err(|source| SortError { dir: self.dir.clone(), source })?;
            }
        }
        Ok(())
    }

    /// Returns the records in order. Memory: a part of each run, and what was in memory.
    pub(crate) fn sorted(mut self) -> Result<Sorted, SortError> {
        let dir = self.dir.clone();
        let error = |source| SortError { dir: dir.clone(), source };
        if !self.runs.is_empty() && !self.places.is_empty() {
            self.spill().map_err(error)?;
        } else {
            self.sort();
        }
        let has_runs = !self.runs.is_empty();
        let files = std::mem::take(&mut self.runs).into_iter().map(|(_, file)| file);
        let merged = Merged::new(files).map_err(error)?;
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        if !has_runs {
            bytes = std::mem::take(&mut self.bytes);
            places = std::mem::take(&mut self.places);
        }
        Ok(Sorted { dir: self.dir.clone(), merged, bytes, places: places.into_iter() })
    }
}

fn record(bytes: &[u8], (from, to): (u32, u32)) -> &[u8] {
    &bytes[from as usize..to as usize]
}

/// Writes what is held, and gives the run from its beginning.
fn finished(out: BufWriter<File>) -> io::Result<(u64, File)> {
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let bytes = file.stream_position()?;
    file.rewind()?;
    Ok((bytes, file))
}

/// The records of some runs in order.
struct Merged {
    runs: Vec<BufReader<File>>,
    /// The next record of each run.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

impl Merged {
    fn new(files: impl Iterator<Item = File>) -> io::Result<Self> {
        let mut merged = Self { runs: Vec::new(), heap: BinaryHeap::new() };
        for (index, file) in files.enumerate() {
            let mut run = BufReader::with_capacity(READ_AHEAD, file);
            let mut first = Vec::new();
            if read_next(&mut run, &mut first)? {
                merged.heap.push(Reverse((first, index)));
            }
            merged.runs.push(run);
        }
        Ok(merged)
    }

    /// Appends the next record; false at the end.
    fn next_into(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let Some(mut top) = self.heap.peek_mut() else { return Ok(false) };
        // Replacing the top costs half of taking it and putting another one in.
        let Reverse((record, index)) = &mut *top;
        out.extend_from_slice(record);
        if !read_next(&mut self.runs[*index], record)? {
            PeekMut::pop(top);
        }
        Ok(true)
    }
}

/// Records in the order of their bytes.
pub(crate) struct Sorted {
    dir: PathBuf,
    merged: Merged,
    /// All of them, where no run was written.
    bytes: Vec<u8>,
    places: std::vec::IntoIter<(u32, u32)>,
}

impl Sorted {
    /// Appends the next record; false at the end.
    fn next_into(&mut self, out: &mut Vec<u8>) -> Result<bool, SortError> {
        if let Some(place) = self.places.next() {
            out.extend_from_slice(record(&self.bytes, place));
            return Ok(true);
        }
        self.merged.next_into(out).map_err(|source| SortError { dir: self.dir.clone(), source })
    }

    /// Reads the files in a thread of its own, ahead of the caller: up to about 1 MB, and a record.
    pub(crate) fn read_ahead(mut self) -> Result<Ahead, SortError> {
        if self.merged.runs.is_empty() {
            return Ok(Ahead::Here { sorted: self, record: Vec::new() });
        }
        let dir = self.dir.clone();
        let (send, batches) = sync_channel(3);
        let (send_back, used) = channel::<Batch>();
        let read = move || {
            loop {
                let mut batch = used.try_recv().unwrap_or_default();
                let filled = batch.fill(&mut self);
                let is_last = !matches!(filled, Ok(true));
                // Without a caller nobody asks any more.
                if send.send(filled.map(|_| batch)).is_err() || is_last {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("sorted".to_owned()).spawn(read);
        let thread = thread.map_err(|source| SortError { dir: dir.clone(), source })?;
        Ok(Ahead::Thread { dir, batches, used: send_back, batch: Batch::default(), thread: Some(thread) })
    }
}

/// Records one behind the other.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// How many were taken.
    taken: usize,
}

impl Batch {
    /// Takes the next records in place of its own; false where they are the last ones.
    fn fill(&mut self, sorted: &mut Sorted) -> Result<bool, SortError> {
        self.bytes.clear();
        self.ends.clear();
        self.taken = 0;
        while self.bytes.len() < AHEAD {
            if !sorted.next_into(&mut self.bytes)? {
                return Ok(false);
            }
            self.ends.push(self.bytes.len());
        }
        Ok(true)
    }

    /// Where the next record begins and ends.
    fn next(&mut self) -> Option<(usize, usize)> {
        let to = *self.ends.get(self.taken)?;
        let from = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.taken += 1;
        Some((from, to))
    }
}

/// Records that are read ahead.
pub(crate) enum Ahead {
    /// They are in memory.
    Here { sorted: Sorted, record: Vec<u8> },
    /// A thread reads them.
    Thread {
        dir: PathBuf,
        batches: Receiver<Result<Batch, SortError>>,
        /// Batches to be filled again.
        used: Sender<Batch>,
        batch: Batch,
        thread: Option<JoinHandle<()>>,
    },
}

impl Ahead {
    /// The next record; none at the end. After an error there are no more.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, SortError> {
        match self {
            Self::Here { sorted, record } => {
                record.clear();
                Ok(sorted.next_into(record)?.then_some(record.as_slice()))
            }
            Self::Thread { dir, batches, used, batch, thread } => loop {
                if let Some((from, to)) = batch.next() {
                    return Ok(Some(&batch.bytes[from..to]));
                }
                if let Ok(next) = batches.recv() {
                    // The thread may have ended.
                    drop(used.send(std::mem::replace(batch, next?)));
                    continue;
                }
                let Some(thread) = thread.take() else { return Ok(None) };
                if thread.join().is_ok() {
                    return Ok(None);
                }
                let source = io::Error::other("the thread that reads them failed");
                return Err(SortError { dir: dir.clone(), source });
            },
        }
    }
}

/// Reads the next record of a run in place of another one; false at the end.
fn read_next(run: &mut BufReader<File>, record: &mut Vec<u8>) -> io::Result<bool> {
    let mut length = [0; 4];
    match run.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    }
    record.clear();
    let mut missing = u32::from_le_bytes(length) as usize;
    while missing > 0 {
        let ahead = run.fill_buf()?;
        if ahead.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let taken = ahead.len().min(missing);
        record.extend_from_slice(&ahead[..taken]);
        run.consume(taken);
        missing -= taken;
    }
    Ok(true)
}

impl Iterator for Sorted {
    type Item = Result<Vec<u8>, SortError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = Vec::new();
        self.next_into(&mut record).map(|is_one| is_one.then_some(record)).transpose()
    }
}

/// The first bytes of a record as a number, big-endian; those that it lacks are 0.
pub(crate) fn number(record: &[u8], at: usize, bytes: usize) -> u64 {
    (at..at + bytes).fold(0, |sum, place| sum << 8 | u64::from(record.get(place).copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_come_in_order_whatever_fits_into_memory(
            records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..300),
            memory in 0..4000_usize,
        ) {
            let mut sorters = [Sorter::with(None, memory), Sorter::with(None, memory)];
            for (place, record) in records.iter().enumerate() {
                sorters[place % 2].push(record).unwrap();
            }
            let [mut sorter, other] = sorters;
            sorter.take_all(other).unwrap();
            let mut ahead = sorter.sorted().unwrap().read_ahead().unwrap();
            let mut sorted = Vec::new();
            while let Some(record) = ahead.next().unwrap() {
                sorted.push(record.to_vec());
            }
            let mut expected = records;
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn few_files_are_open_however_many_runs_there_are() {
        let mut sorter = Sorter::with(None, 40);
        let mut records: Vec<_> =
            (0..5000_u32).map(|number| number.wrapping_mul(0x9e37_79b9).to_be_bytes()).collect();
        for record in &records {
            sorter.push(record).unwrap();
            assert!(sorter.runs.len() <= MOST_RUNS, "{}", sorter.runs.len());
        }
        let found: Vec<_> = sorter.sorted().unwrap().map(Result::unwrap).collect();
        records.sort_unstable();
        assert_eq!(found, records);
    }

    #[test]
    fn a_directory_that_takes_no_files_is_an_error_that_names_it() {
        let mut sorter = Sorter::with(Some(Path::new("/no/such/place")), 20);
        sorter.push(&[0; 30]).unwrap();
        let error = sorter.push(&[0; 30]).unwrap_err();
        assert!(error.to_string().contains("/no/such/place"), "{error}");
    }
}
