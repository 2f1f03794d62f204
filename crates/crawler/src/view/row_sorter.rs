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
        Ok(SortedRows { rows: self.sorter.sorted()?.read_ahead()?, taken: None })
    }
}

/// Rows in order, as they were packed behind their keys: see [`RowSorter::push_at`].
pub(crate) struct SortedRows {
    rows: Ahead,
    /// Where not all of their values are wanted.
    taken: Option<Taken>,
}

/// Some values of a row, in their order.
struct Taken {
    /// For each value of the row its place among them.
    places: Vec<Option<usize>>,
    count: usize,
}

impl SortedRows {
    /// Leaves out all values but those at these places, which ascend.
    pub(super) fn take_at(&mut self, places: &[usize]) {
        let last = places.last().map_or(0, |last| last + 1);
        let place_of = |place: usize| places.binary_search(&place).ok();
        let of_taken = match &self.taken {
            Some(before) => before.places.iter().map(|place| place.and_then(place_of)).collect(),
            None => (0..last).map(place_of).collect(),
        };
        self.taken = Some(Taken { places: of_taken, count: places.len() });
    }

    /// Gives each value of the next row that isn't null to a function, with its place; false at the end.
    pub(super) fn next_with(
        &mut self,
        mut take: impl FnMut(usize, ValueRef<'_>) -> Result<(), ViewError>,
    ) -> Result<bool, ViewError> {
        let Some(row) = next_packed(&mut self.rows)? else { return Ok(false) };
        match &self.taken {
            None => packed_row::each(row, take)?,
            Some(taken) => packed_row::each(row, |place, value| match taken.places.get(place) {
                Some(Some(place)) => take(*place, value),
                _ => Ok(()),
            })?,
        };
        Ok(true)
    }

    fn next_values(&mut self) -> Result<Option<Vec<Value>>, ViewError> {
        let Some(count) = self.taken.as_ref().map(|taken| taken.count) else {
            return next_packed(&mut self.rows)?.map(packed_row::values).transpose();
        };
        let mut values = vec![Value::Null; count];
        let has_row = self.next_with(|place, value| {
            values[place] = value.into();
            Ok(())
        })?;
        Ok(has_row.then_some(values))
    }
}

impl Iterator for SortedRows {
    type Item = Result<Vec<Value>, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_values().transpose()
    }
}

/// The next row, packed.
fn next_packed(rows: &mut Ahead) -> Result<Option<&[u8]>, ViewError> {
    let Some(record) = rows.next()? else { return Ok(None) };
    let split = record.split_last_chunk::<4>();
    let row = split.and_then(|(record, length)| record.get(u32::from_le_bytes(*length) as usize..));
    row.ok_or_else(damaged).map(Some)
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
