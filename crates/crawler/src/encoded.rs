//! A record in JSON, and its size, from the encoder that stores it, which sees every field.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// Bytes reserved for a record: most records need no more, and the allocator has blocks of this size for each thread.
const RECORD: usize = 1000;

/// A record in JSON.
pub(crate) fn json(record: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut json = Vec::with_capacity(RECORD);
    serde_json::to_writer(&mut json, record)?;
    Ok(json)
}

/// Bytes of memory that a text takes beside its own: pointer, length and capacity, and the allocator's share.
const STRING: usize = size_of::<String>() + 16;

/// Bytes of memory that an entry of a list takes beside its content: a list that grows has capacity for twice its entries.
const ENTRY: usize = 16;

/// What a value takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Bytes of its JSON.
    pub(crate) encoded: usize,
    /// Bytes in memory, about: never less than its texts, lists and maps take. Names of fields count as texts.
    pub(crate) memory: usize,
}

impl Size {
    /// Measures a value by encoding it to nowhere. Cost: about that of encoding it, and no memory.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        let (mut encoded, mut overhead) = (Count(0), 0);
        let formatter = Weighed { inner: CompactFormatter, overhead: &mut overhead };
        // A value that can't be encoded isn't stored: the commit says so.
        let _ended = value.serialize(&mut Serializer::with_formatter(&mut encoded, formatter)).is_ok();
        Self { encoded: encoded.0, memory: encoded.0 + overhead }
    }

    /// Bytes that a record takes until it is committed: as it is, and encoded for itself and in the value that it is joined to.
    pub(crate) fn until_committed(self) -> usize {
        self.memory + 2 * self.encoded
    }
}

/// Returns the bytes that a value takes as postcard, the form of links: no field of it is missed. Cost: no memory, nanoseconds a field.
pub(crate) fn packed_size(value: &(impl Serialize + ?Sized)) -> usize {
    postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default()).unwrap_or_default()
}

/// serde's compact form, which notes what a value takes in memory beside its encoded bytes.
struct Weighed<'a> {
    inner: CompactFormatter,
    overhead: &'a mut usize,
}

impl Formatter for Weighed<'_> {
    fn begin_string<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        *self.overhead += STRING;
        self.inner.begin_string(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        *self.overhead += ENTRY;
        self.inner.begin_array_value(out, first)
    }
}

/// Counts what is written.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Serialize)]
    struct Any {
        text: String,
        list: Vec<String>,
        map: BTreeMap<String, Vec<u32>>,
        none: Option<String>,
    }

    /// What the texts, lists and maps of a value really take, including unused capacity of lists.
    fn taken(any: &Any) -> usize {
        let text = |text: &String| text.len() + size_of::<String>();
        let lists = any.list.iter().map(text).sum::<usize>();
        let map = any.map.iter().map(|(key, values)| text(key) + size_of::<Vec<u32>>() + 4 * values.len());
        text(&any.text) + lists + map.sum::<usize>()
    }

    proptest! {
        #[test]
        fn a_size_is_that_of_the_encoded_form_and_never_less_than_what_is_held(
            text in ".{0,40}|[\x00-\x1f]{0,40}",
            list in prop::collection::vec("[\x00-\x7f]{0,3}", 0..40),
            map in prop::collection::btree_map("[a-c\"]{0,3}", prop::collection::vec(0_u32..9, 0..9), 0..9),
        ) {
            let any = Any { text, list, map, none: None };
            let json = serde_json::to_string(&any).unwrap();
            let size = Size::of(&any);
            prop_assert_eq!(size.encoded, json.len());
            prop_assert!(size.memory >= taken(&any));
        }
    }

    #[test]
    fn many_tiny_texts_count_for_what_they_take() {
        let texts = vec![String::new(); 10_000];
        assert!(Size::of(&texts).memory >= 10_000 * (size_of::<String>() + 16));
    }
}
