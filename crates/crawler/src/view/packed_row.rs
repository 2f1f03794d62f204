//! A row as bytes in a temporary file: read value by value, without making texts of their own of it.
//!
//! Length of the head u32 little-endian, head, texts. The head has a byte for each value, its type, and what follows from it: a number, or how
//! many bytes of the texts it is; nulls in a row have one byte. Texts are together so that they are checked to be UTF-8 once a row.

use std::io;

use super::open::ViewError;
use super::value::{Value, ValueRef};

const TEXT: u8 = 1;
const INTEGER: u8 = 2;
const NUMBER: u8 = 3;
const FALSE: u8 = 4;
const TRUE: u8 = 5;
const TIME: u8 = 6;
const COMPOUND: u8 = 7;
const EMPTY_LIST: u8 = 8;

/// A tag from this one on stands for nulls: one, or one more for each number above it.
const NULLS: u8 = 0x80;

/// Nulls of one tag at most.
const MOST_NULLS: u8 = 0x80;

/// Packs the values of a row.
#[derive(Debug, Default)]
pub(super) struct Packer {
    head: Vec<u8>,
    texts: Vec<u8>,
    /// Nulls that aren't in the head yet.
    nulls: u8,
}

impl Packer {
    /// Takes the next value.
    pub(super) fn push(&mut self, value: ValueRef<'_>) {
        if value == ValueRef::Null && self.nulls < MOST_NULLS {
            self.nulls += 1;
            return;
        }
        self.write_nulls();
        match value {
            ValueRef::Null => self.nulls = 1,
            ValueRef::Text(text) => {
                self.head.push(TEXT);
                self.text(text);
            }
            ValueRef::Integer(number) => {
                self.head.push(INTEGER);
                self.length(number);
            }
            ValueRef::Number(number) => {
                self.head.push(NUMBER);
                self.head.extend_from_slice(&number.to_le_bytes());
            }
            ValueRef::Boolean(value) => self.head.push(if value { TRUE } else { FALSE }),
            ValueRef::Time(at) => {
                self.head.push(TIME);
                self.head.extend_from_slice(&at.to_le_bytes());
            }
            ValueRef::Compound { json: "[]", text: "" } => self.head.push(EMPTY_LIST),
            ValueRef::Compound { json, text } => {
                self.head.push(COMPOUND);
                self.text(json);
                self.text(text);
            }
        }
    }

    fn write_nulls(&mut self) {
        if let Some(more) = std::mem::take(&mut self.nulls).checked_sub(1) {
            self.head.push(NULLS + more);
        }
    }

    fn text(&mut self, text: &str) {
        self.length(text.len() as u64);
        self.texts.extend_from_slice(text.as_bytes());
    }

    /// Seven bits a byte, the lowest first; the last byte has its high bit clear.
    fn length(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.head.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.head.push(number as u8);
    }

    /// Appends the row to a record, and begins the next one.
    pub(super) fn finish(&mut self, record: &mut Vec<u8>) {
        self.write_nulls();
        record.extend_from_slice(&(self.head.len() as u32).to_le_bytes());
        record.append(&mut self.head);
        record.append(&mut self.texts);
    }
}

/// Gives each value of a packed row that isn't null to a function, with its place in the row. Returns how many values the row has.
pub(super) fn each(
    row: &[u8],
    mut take: impl FnMut(usize, ValueRef<'_>) -> Result<(), ViewError>,
) -> Result<usize, ViewError> {
    let mut rest = Unpacker::new(row).ok_or_else(damaged)?;
    let mut place = 0;
    while let Some(tag) = rest.byte() {
        if tag < NULLS {
            take(place, rest.value(tag).ok_or_else(damaged)?)?;
            place += 1;
        } else {
            place += usize::from(tag - NULLS) + 1;
        }
    }
    Ok(place)
}

/// The values of a packed row.
pub(super) fn values(row: &[u8]) -> Result<Vec<Value>, ViewError> {
    let mut values = Vec::with_capacity(64);
    let count = each(row, |place, value| {
        values.resize(place, Value::Null);
        values.push(value.into());
        Ok(())
    })?;
    values.resize(count, Value::Null);
    Ok(values)
}

/// What was sorted comes back as it was given, or the disk is at fault.
pub(super) fn damaged() -> ViewError {
    ViewError::Write(io::Error::other("a temporary file holds another row than was written"))
}

/// What wasn't read yet of a row.
struct Unpacker<'a> {
    head: &'a [u8],
    texts: &'a str,
}

impl<'a> Unpacker<'a> {
    fn new(row: &'a [u8]) -> Option<Self> {
        let (length, rest) = row.split_first_chunk()?;
        let (head, texts) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self { head, texts: std::str::from_utf8(texts).ok()? })
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.head.split_first()?;
        self.head = rest;
        Some(*first)
    }

    fn eight(&mut self) -> Option<[u8; 8]> {
        let (bytes, rest) = self.head.split_first_chunk()?;
        self.head = rest;
        Some(*bytes)
    }

    fn length(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.length()?).ok()?;
        let (text, rest) = self.texts.split_at_checked(length)?;
        self.texts = rest;
        Some(text)
    }

    fn value(&mut self, tag: u8) -> Option<ValueRef<'a>> {
        Some(match tag {
            TEXT => ValueRef::Text(self.text()?),
            INTEGER => ValueRef::Integer(self.length()?),
            NUMBER => ValueRef::Number(f64::from_le_bytes(self.eight()?)),
            FALSE => ValueRef::Boolean(false),
            TRUE => ValueRef::Boolean(true),
            TIME => ValueRef::Time(i64::from_le_bytes(self.eight()?)),
            COMPOUND => ValueRef::Compound { json: self.text()?, text: self.text()? },
            EMPTY_LIST => ValueRef::Compound { json: "[]", text: "" },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let text = || any::<String>().prop_map(Cow::Owned);
        prop_oneof![
            Just(Value::Null),
            Just(Value::empty_list()),
            text().prop_map(Value::Text),
            any::<u64>().prop_map(Value::Integer),
            (0..200_u64).prop_map(Value::Integer),
            any::<f64>().prop_map(Value::Number),
            any::<bool>().prop_map(Value::Boolean),
            any::<i64>().prop_map(Value::Time),
            (text(), text()).prop_map(|(json, text)| Value::Compound { json, text }),
        ]
    }

    fn packed(row: &[Value]) -> Vec<u8> {
        let (mut packer, mut record) = (Packer::default(), Vec::new());
        for value in row {
            packer.push(value.into());
        }
        packer.finish(&mut record);
        record
    }

    proptest! {
        #[test]
        fn rows_come_back_as_they_were_packed(row in proptest::collection::vec(value(), 0..70)) {
            let record = packed(&row);
            prop_assert_eq!(values(&record).unwrap(), row);
        }

        #[test]
        fn any_number_of_nulls_comes_back(before in 0..300_usize, behind in 0..300_usize) {
            let mut row = vec![Value::Null; before];
            row.push(Value::Boolean(true));
            row.resize(before + 1 + behind, Value::Null);
            prop_assert_eq!(values(&packed(&row)).unwrap(), row);
        }

        #[test]
        fn a_damaged_row_is_an_error_or_another_row(
            row in proptest::collection::vec(value(), 0..20),
            (place, byte, length) in any::<(prop::sample::Index, u8, prop::sample::Index)>(),
        ) {
            let mut record = packed(&row);
            let place = place.index(record.len());
            record[place] = byte;
            record.truncate(length.index(record.len() + 1));
            // Neither panics.
            drop(values(&record));
        }
    }
}
