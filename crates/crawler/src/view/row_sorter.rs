//! Rows sorted by keys in temporary files.

use super::open::ViewError;
use super::value::Value;
#[cfg(feature = "parquet")]
use super::value::ValueRef;
use crate::sorter::{Ahead, SortError, Sorter};

/// Sorts rows by keys in temporary files; rows with the same key stay in their order.
pub(crate) struct RowSorter {
    sorter: Sorter,
    count: u64,
    record: Vec<u8>,
}

impl RowSorter {
    pub(crate) fn new(sorter: Sorter) -> Self {
        Self { sorter, count: 0, record: Vec::new() }
    }

    pub(crate) fn push(&mut self, key: &[u8], row: &[Value]) -> Result<(), ViewError> {
        self.count += 1;
        self.push_at(key, self.count - 1, row)
    }

    /// Takes a row with its place among those of the same key.
    pub(super) fn push_at(&mut self, key: &[u8], place: u64, row: &[Value]) -> Result<(), ViewError> {
        self.record.clear();
        self.record.extend_from_slice(key);
        self.record.extend_from_slice(&place.to_be_bytes());
        let length = self.record.len() as u32;
        let record = postcard::to_extend(row, std::mem::take(&mut self.record)).map_err(other_row)?;
        self.record = record;
        self.record.extend_from_slice(&length.to_le_bytes());
        Ok(self.sorter.push(&self.record)?)
    }

    /// Takes the rows of another sorter.
    pub(super) fn take_all(&mut self, other: Self) -> Result<(), SortError> {
        self.sorter.take_all(other.sorter)
    }

    pub(crate) fn sorted(self) -> Result<impl Iterator<Item = Result<Vec<Value>, ViewError>>, SortError> {
        Ok(self.rows()?.map(|row| row?.values()))
    }

    /// The rows in order, as they were packed.
    pub(super) fn rows(self) -> Result<SortedRows, SortError> {
        Ok(SortedRows(self.sorter.sorted()?.read_ahead()?))
    }
}

/// Rows in order.
pub(super) struct SortedRows(Ahead);

impl Iterator for SortedRows {
    type Item = Result<SortedRow, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(SortedRow).map_err(ViewError::Sort))
    }
}

/// A row as it was packed, behind its key: see [`RowSorter::push_at`].
pub(super) struct SortedRow(Vec<u8>);

impl SortedRow {
    fn packed(&self) -> Result<&[u8], ViewError> {
        let split = self.0.split_last_chunk::<4>();
        let row = split.and_then(|(record, length)| record.get(u32::from_le_bytes(*length) as usize..));
        row.ok_or_else(|| other_row(postcard::Error::DeserializeUnexpectedEnd))
    }

    pub(super) fn values(&self) -> Result<Vec<Value>, ViewError> {
        postcard::from_bytes(self.packed()?).map_err(other_row)
    }

    /// Gives each value to a function.
    #[cfg(feature = "parquet")]
    pub(super) fn each(
        &self,
        mut take: impl FnMut(ValueRef<'_>) -> Result<(), ViewError>,
    ) -> Result<(), ViewError> {
        let (count, mut rest) = postcard::take_from_bytes::<usize>(self.packed()?).map_err(other_row)?;
        for _ in 0..count {
            let value;
            (value, rest) = postcard::take_from_bytes(rest).map_err(other_row)?;
            take(value)?;
        }
        Ok(())
    }
}

/// What was sorted comes back as it was given, or the disk is at fault.
#[derive(Debug, thiserror::Error)]
#[error("a temporary file holds another row than was written")]
struct OtherRow(#[from] postcard::Error);

fn other_row(error: postcard::Error) -> ViewError {
    ViewError::Write(std::io::Error::other(OtherRow(error)))
}

/// The host of a URL or origin as the crawl writes them, normalised and without user information; a name is one itself.
pub(crate) fn host_of(url: &str) -> &str {
    let Some((_, rest)) = url.split_once("://") else { return url };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    match authority.rfind(':') {
        Some(colon) if !authority[colon..].contains(']') => &authority[..colon],
        _ => authority,
    }
}

/// The key that the rows of a host and URL are sorted by.
pub(super) fn write_key(key: &mut Vec<u8>, host: &str, url: &str) {
    key.clear();
    key.extend_from_slice(host_of(host).as_bytes());
    key.push(0);
    key.extend_from_slice(url.as_bytes());
    key.push(0);
}
