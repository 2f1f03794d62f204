//! Sorts more than fits into memory: runs in temporary files, merged while they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// Octets that a sorter holds in memory, its bookkeeping included.
const MEMORY: usize = 16 << 20;

/// Octets of a run that are read ahead.
const READ_AHEAD: usize = 32 << 10;

/// Says that a temporary file failed.
#[derive(Debug, thiserror::Error)]
#[error("temporary files in {} can't be written or read: {source}", .dir.display())]
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

/// Takes records in any order; [`Sorter::sorted`] gives them in the order of their octets.
#[derive(Debug)]
pub(crate) struct Sorter {
    dir: PathBuf,
    memory: usize,
    octets: Vec<u8>,
    /// Where each record begins and ends.
    places: Vec<(u32, u32)>,
    runs: Vec<File>,
}

impl Sorter {
    /// Temporary files go into `dir`, or where the system has them; they have no names, and go with the process.
    pub(crate) fn new(dir: Option<&Path>) -> Self {
        Self::with(dir, MEMORY)
    }

    fn with(dir: Option<&Path>, memory: usize) -> Self {
        let dir = dir.map_or_else(std::env::temp_dir, Path::to_owned);
        Self { dir, memory, octets: Vec::new(), places: Vec::new(), runs: Vec::new() }
    }

    /// Takes a record.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<(), SortError> {
        if self.octets.len() + record.len() + (self.places.len() + 1) * size_of::<(u32, u32)>() > self.memory
            && !self.places.is_empty()
        {
            self.spill().map_err(|source| SortError { dir: self.dir.clone(), source })?;
        }
        let from = self.octets.len() as u32;
        self.octets.extend_from_slice(record);
        self.places.push((from, self.octets.len() as u32));
        Ok(())
    }

    /// Takes a record of parts.
    pub(crate) fn push_parts(&mut self, parts: &[&[u8]]) -> Result<(), SortError> {
        self.push(&parts.concat())
    }

    fn sort(&mut self) {
        let Self { octets, places, .. } = self;
        places.sort_unstable_by(|a, b| record(octets, *a).cmp(record(octets, *b)));
    }

    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let mut out = BufWriter::with_capacity(READ_AHEAD, tempfile::tempfile_in(&self.dir)?);
        for place in self.places.drain(..) {
            let record = record(&self.octets, place);
            out.write_all(&(record.len() as u32).to_le_bytes())?;
            out.write_all(record)?;
        }
        self.octets.clear();
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }

    /// Gives the records in order. Memory: a part of each run, and what stood in memory.
    pub(crate) fn sorted(mut self) -> Result<Sorted, SortError> {
        let dir = self.dir.clone();
        let error = |source| SortError { dir: dir.clone(), source };
        if !self.runs.is_empty() && !self.places.is_empty() {
            self.spill().map_err(error)?;
        } else {
            self.sort();
        }
        let mut sorted = Sorted {
            heap: BinaryHeap::with_capacity(self.runs.len()),
            runs: Vec::with_capacity(self.runs.len()),
            dir: self.dir.clone(),
            octets: Vec::new(),
            places: Vec::new().into_iter(),
        };
        if self.runs.is_empty() {
            sorted.octets = std::mem::take(&mut self.octets);
            sorted.places = std::mem::take(&mut self.places).into_iter();
        }
        for (index, file) in std::mem::take(&mut self.runs).into_iter().enumerate() {
            let mut run = BufReader::with_capacity(READ_AHEAD, file);
            if let Some(first) = next_of(&mut run).map_err(error)? {
                sorted.heap.push(Reverse((first, index)));
            }
            sorted.runs.push(run);
        }
        Ok(sorted)
    }
}

fn record(octets: &[u8], (from, to): (u32, u32)) -> &[u8] {
    &octets[from as usize..to as usize]
}

/// Records in the order of their octets.
pub(crate) struct Sorted {
    dir: PathBuf,
    runs: Vec<BufReader<File>>,
    /// The next record of each run.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    /// All of them, where no run was written.
    octets: Vec<u8>,
    places: std::vec::IntoIter<(u32, u32)>,
}

fn next_of(run: &mut BufReader<File>) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match run.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut record = vec![0; u32::from_le_bytes(length) as usize];
    run.read_exact(&mut record)?;
    Ok(Some(record))
}

impl Iterator for Sorted {
    type Item = Result<Vec<u8>, SortError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(place) = self.places.next() {
            return Some(Ok(record(&self.octets, place).to_vec()));
        }
        let Reverse((record, index)) = self.heap.pop()?;
        match next_of(&mut self.runs[index]) {
            Ok(Some(next)) => self.heap.push(Reverse((next, index))),
            Ok(None) => {}
            Err(source) => return Some(Err(SortError { dir: self.dir.clone(), source })),
        }
        Some(Ok(record))
    }
}

/// The first octets of a record as a number, big-endian; those that it lacks are 0.
pub(crate) fn number(record: &[u8], at: usize, octets: usize) -> u64 {
    (at..at + octets).fold(0, |sum, place| sum << 8 | u64::from(record.get(place).copied().unwrap_or(0)))
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
            let mut sorter = Sorter::with(None, memory);
            for record in &records {
                sorter.push(record).unwrap();
            }
            let sorted: Vec<_> = sorter.sorted().unwrap().map(Result::unwrap).collect();
            let mut expected = records;
            expected.sort();
            prop_assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn a_directory_that_takes_no_files_is_an_error_that_names_it() {
        let mut sorter = Sorter::with(Some(Path::new("/no/such/place")), 20);
        sorter.push(&[0; 30]).unwrap();
        let error = sorter.push(&[0; 30]).unwrap_err();
        assert!(error.to_string().contains("/no/such/place"), "{error}");
    }
}
