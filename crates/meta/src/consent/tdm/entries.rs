//! Reads the entries of `/.well-known/tdmrep.json` one by one. Whatever else is in the file is skipped and not kept: as a
//! tree of values, half a megabyte of it can take a hundred times as much.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{ENTRY_LIMIT, POLICY, POLICY_LIMIT, RESERVATION, Reservation, bit};
use crate::consent::Location;
use crate::walk::cut;

/// The entries of a file.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The first of them, up to the limit, without those that are none.
    pub(super) kept: Vec<(Location, Reservation)>,
    /// How many elements there are.
    pub(super) count: usize,
}

/// A value, as far as it matters.
enum Scalar {
    Text(String),
    Number(u64),
    Other,
}

/// An element of the file: none where it is no entry.
struct Entry(Option<(Location, Reservation)>);

/// Implements what isn't looked for: a value of another type.
macro_rules! otherwise {
    ($value:ident, $other:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<$value, E> {
            Ok($other)
        }
        fn visit_i64<E>(self, _: i64) -> Result<$value, E> {
            Ok($other)
        }
        fn visit_f64<E>(self, _: f64) -> Result<$value, E> {
            Ok($other)
        }
        fn visit_unit<E>(self) -> Result<$value, E> {
            Ok($other)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<$value, A::Error> {
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Scalar, A::Error> {
                while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::Other)
            }

            otherwise!(Scalar, Scalar::Other);
        }

        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_str<E>(self, _: &str) -> Result<Entry, E> {
                Ok(Entry(None))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Entry, E> {
                Ok(Entry(None))
            }

            // Of equal names the last one counts.
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Entry, A::Error> {
                let (mut location, mut reservation, mut policy) = (None, None, None);
                while let Some(name) = fields.next_key::<String>()? {
                    match name.as_str() {
                        "location" => location = Some(fields.next_value::<Scalar>()?),
                        RESERVATION => reservation = Some(fields.next_value::<Scalar>()?),
                        POLICY => policy = Some(fields.next_value::<Scalar>()?),
                        _ => drop(fields.next_value::<IgnoredAny>()?),
                    }
                }
                let Some(Scalar::Text(location)) = location else { return Ok(Entry(None)) };
                let reservation = match reservation {
                    Some(Scalar::Number(number)) => bit(number),
                    Some(Scalar::Text(text)) => text.parse().ok().and_then(bit),
                    _ => None,
                };
                let policy = match policy {
                    Some(Scalar::Text(url)) => Some(cut(&url, POLICY_LIMIT).to_owned()),
                    _ => None,
                };
                Ok(Entry(Some((Location::new(&location), Reservation { reservation, policy }))))
            }

            otherwise!(Entry, Entry(None));
        }

        deserializer.deserialize_any(Any)
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Array;

        impl<'de> Visitor<'de> for Array {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Entries, A::Error> {
                let mut entries = Entries::default();
                while entries.count < ENTRY_LIMIT {
                    let Some(Entry(entry)) = elements.next_element()? else { return Ok(entries) };
                    entries.count += 1;
                    entries.kept.extend(entry);
                }
                while elements.next_element::<IgnoredAny>()?.is_some() {
                    entries.count += 1;
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_seq(Array)
    }
}
