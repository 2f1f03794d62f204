//! Rows sorted by keys in temporary files.

use super::open::ViewError;
use super::packed_row::{self, Packer, damaged};
use super::value::{Value, ValueRef};
use crate::sorter::{Ahead, SortError, Sorter};

/// Sorts rows by keys in temporary files; rows with the same key stay in their order.
pub(crate) struct RowSorter {
    sorter: Sorter,
    count: u64,
    record: Vec<u8>,
    packer: Packer,
}

impl RowSorter {
    pub(crate) fn new(sorter: Sorter) -> Self {
        Self { sorter, count: 0, record: Vec::new(), packer: Packer::default() }
    }

    pub(crate) fn push(&mut self, key: &[u8], row: &[Value]) -> Result<(), ViewError> {
        self.count += 1;
        self.push_at(key, self.count - 1, |take| row.iter().for_each(|value| take(value.into())))
    }

    /// Takes a row with its place among those of the same key; `give` gives its values to a function.
    pub(super) fn push_at(
        &mut self,
        key: &[u8],
        place: u64,
        give: impl FnOnce(&mut dyn FnMut(ValueRef<'_>)),
    ) -> Result<(), ViewError> {
        self.record.clear();
        self.record.extend_from_slice(key);
        self.record.extend_from_slice(&place.to_be_bytes());
        let length = self.record.len() as u32;
        give(&mut |value| self.packer.push(value));
        self.packer.finish(&mut self.record);
        self.record.extend_from_slice(&length.to_le_bytes());
        Ok(self.sorter.push(&self.record)?)
    }

    /// Takes the rows of another sorter.
    pub(super) fn take_all(&mut self, other: Self) -> Result<(), SortError> {
        self.sorter.take_all(other.sorter)
    }

    pub(crate) fn sorted(self) -> Result<SortedRows, SortError> {
        Ok(SortedRows(self.sorter.sorted()?.read_ahead()?))
    }
}

/// Rows in order, as they were packed behind their keys: see [`RowSorter::push_at`].
pub(crate) struct SortedRows(Ahead);

impl SortedRows {
    /// The next row, packed.
    fn next_packed(&mut self) -> Result<Option<&[u8]>, ViewError> {
        let Some(record) = self.0.next()? else { return Ok(None) };
        let split = record.split_last_chunk::<4>();
        let row = split.and_then(|(record, length)| record.get(u32::from_le_bytes(*length) as usize..));
        row.ok_or_else(damaged).map(Some)
    }

    /// Gives each value of the next row that isn't null to a function, with its place; false at the end.
    #[cfg(feature = "parquet")]
    pub(super) fn next_with(
        &mut self,
        take: impl FnMut(usize, ValueRef<'_>) -> Result<(), ViewError>,
    ) -> Result<bool, ViewError> {
        let Some(row) = self.next_packed()? else { return Ok(false) };
        packed_row::each(row, take)?;
        Ok(true)
    }
}

impl Iterator for SortedRows {
    type Item = Result<Vec<Value>, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_packed().and_then(|row| row.map(packed_row::values).transpose()).transpose()
    }
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
