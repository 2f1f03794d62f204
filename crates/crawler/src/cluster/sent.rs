//! Letters on their way: as their writer keeps them, and as their readers get them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};

use crate::causes::Cause;
use crate::packed::{pack_from, unpack};

/// Bytes of letters in one row for their reader, about.
const ROW_BYTES: usize = 64 << 10;

/// Rows of so many bytes are compressed: letters say the same page and the same hosts again and again.
const WORTH_IT: usize = 256;

/// Packs the letters of a row for their reader.
pub(super) fn pack_letters(text: Vec<u8>) -> Vec<u8> {
    pack_from(text, WORTH_IT)
}

/// Unpacks what [`pack_letters`] packed.
pub(super) fn unpack_letters(row: &[u8]) -> Result<Vec<u8>, Cause> {
    Ok(unpack(row)?)
}

/// A letter on its way: for which partition, under which key there, and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) to: u32,
    pub(super) key: Vec<u8>,
    pub(super) text: Vec<u8>,
}

impl Sent {
    /// The letters of a commit as they are stored with their writer.
    pub(super) fn write(letters: &[Self]) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_allocvec(letters).map(pack_letters)
    }

    /// Reads what [`Sent::write`] wrote.
    pub(super) fn read(bundle: &[u8]) -> Result<Vec<Self>, Cause> {
        Ok(postcard::from_bytes(&unpack_letters(bundle)?)?)
    }
}

/// Puts letters together that are for the same partition: rows for the readers, each under the key of its first letter.
pub(super) fn rows_for_readers(letters: impl IntoIterator<Item = Sent>) -> Vec<Sent> {
    let mut open: HashMap<u32, Sent> = HashMap::new();
    let mut rows = Vec::new();
    for letter in letters {
        match open.entry(letter.to) {
            Entry::Vacant(none) => drop(none.insert(letter)),
            Entry::Occupied(mut row) if row.get().text.len() + letter.text.len() > ROW_BYTES => {
                rows.push(row.insert(letter));
            }
            Entry::Occupied(mut row) => row.get_mut().text.extend(letter.text),
        }
    }
    rows.extend(open.into_values());
    rows.into_iter().map(|row| Sent { text: pack_letters(row.text), ..row }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(to: u32, key: u8, text: &[u8]) -> Sent {
        Sent { to, key: vec![key], text: text.to_vec() }
    }

    #[test]
    fn letters_for_one_partition_share_a_row_up_to_its_size() {
        let long = vec![b'x'; ROW_BYTES];
        let letters =
            [sent(1, 0, b"a"), sent(2, 1, b"b"), sent(1, 2, b"c"), sent(1, 3, &long), sent(1, 4, b"d")];
        let unpacked = |row: Sent| Sent { text: unpack_letters(&row.text).unwrap(), ..row };
        let mut rows: Vec<Sent> = rows_for_readers(letters).into_iter().map(unpacked).collect();
        rows.sort_by(|a, b| (a.to, &a.key).cmp(&(b.to, &b.key)));
        assert_eq!(rows, [sent(1, 0, b"ac"), sent(1, 3, &long), sent(1, 4, b"d"), sent(2, 1, b"b")]);
        assert_eq!(rows_for_readers([]), []);
    }

    #[test]
    fn letters_on_their_way_are_read_as_they_were_written() {
        let letters = [sent(1, 0, b"a"), sent(7, 1, b"")];
        assert_eq!(Sent::read(&Sent::write(&letters).unwrap()).unwrap(), letters);
    }

    #[test]
    fn letters_that_say_the_same_again_take_few_bytes() {
        let url = |number: u32| format!("https://www.example.org/a/folder/page-{number}.html").into_bytes();
        let letters: Vec<Sent> = (0..12).map(|number| sent(number % 2, 0, &url(number))).collect();
        let plain: usize = letters.iter().map(|letter| letter.text.len()).sum();
        let bundle = Sent::write(&letters).unwrap();
        assert!(bundle.len() < plain / 2, "{} bytes of {plain}", bundle.len());
        let rows = rows_for_readers(letters);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.text.len() < plain / 4), "{rows:?}");
    }

    #[test]
    fn damaged_letters_are_an_error() {
        let letters: Vec<Sent> = (0..9).map(|number| sent(number, 0, &[b'x'; 99])).collect();
        let bundle = Sent::write(&letters).unwrap();
        for damaged in [&bundle[..bundle.len() / 2], &[], &[9, 9]] {
            assert!(Sent::read(damaged).is_err() && unpack_letters(damaged).is_err());
        }
    }
}
