//! Rows of one width in a temporary file, read by their number, for random access.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::sorter::{SortError, temporary_file};

/// Bytes of rows that are held in memory before they are written.
const MEMORY: usize = 1 << 20;

/// Rows of `width` bytes, in the order in which they came. Memory: a megabyte, whatever their number.
#[derive(Debug)]
pub(super) struct Table {
    dir: PathBuf,
    width: usize,
    memory: usize,
    /// The rows behind those in the file.
    held: Vec<u8>,
    written: u64,
    file: Option<File>,
}

impl Table {
    /// Temporary files go into `dir`, or where the system has them; the file has no name, and goes with the process.
    pub(super) fn new(dir: Option<&Path>, width: usize) -> Self {
        Self::with(dir, width, MEMORY)
    }

    fn with(dir: Option<&Path>, width: usize, memory: usize) -> Self {
        let dir = dir.map_or_else(std::env::temp_dir, Path::to_owned);
        Self { dir, width, memory, held: Vec::new(), written: 0, file: None }
    }

    /// Appends a row, which has the table's width.
    pub(super) fn push(&mut self, row: &[u8]) -> Result<(), SortError> {
        debug_assert_eq!(row.len(), self.width, "all rows have one width");
        self.held.extend_from_slice(row);
        if self.held.len() >= self.memory {
            self.spill().map_err(|source| SortError::new(&self.dir, source))?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => temporary_file(&mut self.dir)?,
        };
        file.write_all_at(&self.held, self.written * self.width as u64)?;
        self.file = Some(file);
        self.written += (self.held.len() / self.width) as u64;
        self.held.clear();
        Ok(())
    }

    /// Drops all rows.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.written = 0;
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> u64 {
        self.written + (self.held.len() / self.width) as u64
    }

    /// The row of this number, from 0 on; none behind the last one.
    pub(super) fn get(&self, number: u64) -> Result<Option<Vec<u8>>, SortError> {
        if number >= self.len() {
            return Ok(None);
        }
        let Some(held) = number.checked_sub(self.written) else {
            let mut row = vec![0; self.width];
            if let Some(file) = &self.file {
                let read = file.read_exact_at(&mut row, number * self.width as u64);
                read.map_err(|source| SortError::new(&self.dir, source))?;
            }
            return Ok(Some(row));
        };
        let from = held as usize * self.width;
        Ok(self.held.get(from..from + self.width).map(<[u8]>::to_vec))
    }

    /// How many rows at the beginning are of the first kind, where all of these come before the others: as
    /// [`slice::partition_point`]. Cost: one read for each halving.
    pub(super) fn partition_point(&self, is_first: impl Fn(&[u8]) -> bool) -> Result<u64, SortError> {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if self.get(middle)?.is_some_and(|row| is_first(&row)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        Ok(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_number_and_by_order_in_memory_and_in_the_file() {
        for memory in [1, 64, 1 << 20] {
            let mut table = Table::with(None, 8, memory);
            for round in 1..3_u64 {
                table.clear();
                for number in 0..1_000 {
                    table.push(&(round * number).to_be_bytes()).unwrap();
                }
                assert!(table.held.len() <= memory.max(8_000), "{memory}");
                assert_eq!(table.len(), 1_000);
                for number in [0, 7, 500, 999] {
                    assert_eq!(table.get(number).unwrap().unwrap(), (round * number).to_be_bytes());
                }
                assert_eq!(table.get(1_000).unwrap(), None);
                for bound in [0, 1, 333, 999, 5_000_u64] {
                    let found =
                        table.partition_point(|row| row < &(round * bound).to_be_bytes()[..]).unwrap();
                    assert_eq!(found, bound.min(1_000), "{memory}");
                }
            }
        }
    }

    #[test]
    fn a_directory_that_takes_no_files_is_an_error_that_names_it() {
        let mut table = Table::with(Some(Path::new("/no/such/place")), 8, 8);
        let error = table.push(&[0; 8]).unwrap_err();
        assert!(error.to_string().contains("/no/such/place"), "{error}");
    }
}
