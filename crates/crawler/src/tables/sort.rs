//! `--sort`: rows in the order of their values.

use crate::sorter::Sorter;
use crate::view::{Column, RowSorter, Rows, UnknownColumn, Value, ViewError};

/// A column that rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    place: usize,
    is_descending: bool,
}

/// A sort order that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SortKeyError {
    /// The table doesn't have the column.
    #[error("--sort: {0}")]
    Column(UnknownColumn),
    /// Something else than expected `asc` or `desc` after the colon.
    #[error("--sort {0}: expected `asc` or `desc` after the colon")]
    Direction(String),
}

/// Reads `COLUMN[:asc|:desc],...`. A column that was named before changes nothing, and gives no further key.
pub fn parse_sort(text: &str, rows: &Rows<'_>) -> Result<Vec<SortKey>, SortKeyError> {
    let key = |part: &str| {
        let (name, direction) = part.trim().rsplit_once(':').unwrap_or((part.trim(), "asc"));
        let is_descending = match direction {
            "asc" => false,
            "desc" => true,
            _ => return Err(SortKeyError::Direction(part.to_owned())),
        };
        let place = rows.place(name).map_err(SortKeyError::Column)?;
        Ok(SortKey { place, is_descending })
    };
    let mut keys: Vec<SortKey> = Vec::new();
    for part in text.split(',') {
        let key = key(part)?;
        if keys.iter().all(|known| known.place != key.place) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// Sorts rows by these keys; rows that are equal in all of them stay in their order. Null comes first, in descending order last. All rows are
/// read before the first one comes. Memory: some 16 MB; the rows go into temporary files in `dir`.
pub fn sort_rows<'a>(
    mut rows: Rows<'a>,
    keys: &[SortKey],
    dir: Option<&std::path::Path>,
) -> Result<Rows<'a>, ViewError> {
    let mut sorter = RowSorter::new(Sorter::new(dir));
    let mut key = Vec::new();
    for row in &mut rows {
        let row = row?;
        key.clear();
        for by in keys {
            let from = key.len();
            put(&mut key, &row[by.place]);
            if by.is_descending {
                key[from..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        sorter.push(&key, &row)?;
    }
    let columns: Vec<Column> = rows.columns().to_vec();
    let in_order = sorter.sorted()?;
    Ok(rows.with(columns, |_| Box::new(in_order)))
}

/// Writes a value so that the order of the bytes is that of the values, and none begins with another one of its column.
fn put(key: &mut Vec<u8>, value: &Value) {
    if *value == Value::Null {
        key.push(0);
        return;
    }
    key.push(1);
    match value {
        Value::Integer(number) => key.extend(number.to_be_bytes()),
        Value::Time(at) => key.extend((at.cast_unsigned() ^ 1 << 63).to_be_bytes()),
        Value::Boolean(value) => key.push((*value).into()),
        Value::Number(number) => {
            let bits = number.to_bits();
            let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            key.extend(ordered.to_be_bytes());
        }
        value => {
            for byte in value.text().unwrap_or_default().bytes() {
                key.push(byte);
                if byte == 0 {
                    key.push(1);
                }
            }
            key.extend([0, 0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(value: &Value) -> Vec<u8> {
        let mut key = Vec::new();
        put(&mut key, value);
        key
    }

    fn values() -> impl Strategy<Value = (Value, Value)> {
        let text = || "[a\0\u{1}b]{0,4}".prop_map(|text| Value::Text(text.into()));
        let number =
            || any::<f64>().prop_filter("a number", |number| !number.is_nan()).prop_map(Value::Number);
        let integer = || any::<u64>().prop_map(Value::Integer);
        let time = || any::<i64>().prop_map(Value::Time);
        let null = || Just(Value::Null);
        prop_oneof![
            (text(), text()),
            (number(), number()),
            (integer(), integer()),
            (time(), time()),
            (null(), text()),
            (number(), null()),
        ]
    }

    proptest! {
        #[test]
        fn the_order_of_keys_is_that_of_the_values((a, b) in values()) {
            prop_assert_eq!(bytes(&a).cmp(&bytes(&b)), a.order(&b), "{:?} {:?}", a, b);
        }
    }
}
