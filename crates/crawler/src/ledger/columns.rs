//! Columns of numbers and texts that a run of entries is split into: what repeats from entry to entry is side by
//! side and packs to nearly nothing.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::LedgerError;

/// Where a number goes. The order is part of the stored form: a new column goes to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    At,
    Parts,
    UrlOrigin,
    UrlPath,
    Host,
    Decision,
    Layer,
    Reason,
    ViaOrigin,
    ViaPath,
    Words,
    RequestStarted,
    RequestTook,
    RequestClock,
    RequestStatus,
    RequestBytes,
    RequestGap,
    RequestGapReason,
    Robots,
    RobotsLine,
    RobotsRule,
    RobotsGroup,
    RobotsDialect,
    RobotsReason,
    RobotsDigest,
    Effects,
    Directive,
    DirectiveSource,
    LimitName,
    LimitValue,
    PauseLength,
    PauseReason,
    VersionBefore,
    VersionAfter,
    ToOrigin,
    ToPath,
    Clock,
    BootId,
    BootMs,
    RequestAddress,
    RunSettings,
    RunSeeds,
    StoredKind,
    SealHigh,
    SealLow,
}

/// Columns of numbers.
const COLUMNS: usize = Column::SealLow as usize + 1;

/// The list of a text; texts that are alike in how they repeat share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    /// Scheme, host and port of URLs.
    Origins,
    /// The rest of URLs.
    Paths,
    /// All others.
    Words,
}

const TEXTS: usize = Texts::Words as usize + 1;

/// A text that was met: its bytes among those of its list, and its place there, from 1.
#[derive(Debug)]
struct Known {
    from: usize,
    length: usize,
    place: u64,
}

impl Known {
    fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.from..self.from + self.length]
    }

    fn is(&self, text: &str, bytes: &[u8]) -> bool {
        self.of(bytes) == text.as_bytes()
    }
}

/// Takes entries apart.
#[derive(Debug)]
pub(super) struct Writer {
    columns: [Vec<u8>; COLUMNS],
    known: [HashTable<Known>; TEXTS],
    hasher: DefaultHashBuilder,
    lengths: [Vec<u8>; TEXTS],
    bytes: [Vec<u8>; TEXTS],
}

/// Bytes reserved for a column with its first number, and for a list with its first text: most runs of entries need no more.
const FIRST: usize = 64;
const FIRST_TEXTS: usize = 1024;

/// A column that has space.
fn begun(column: &mut Vec<u8>, bytes: usize) -> &mut Vec<u8> {
    if column.capacity() == 0 {
        column.reserve(bytes);
    }
    column
}

impl Writer {
    pub(super) fn new() -> Self {
        Self {
            columns: std::array::from_fn(|_| Vec::new()),
            known: Default::default(),
            hasher: DefaultHashBuilder::default(),
            lengths: Default::default(),
            bytes: Default::default(),
        }
    }

    pub(super) fn number(&mut self, column: Column, number: u64) {
        push(begun(&mut self.columns[column as usize], FIRST), number);
    }

    /// A number of either sign; small ones are short.
    pub(super) fn signed(&mut self, column: Column, number: i64) {
        self.number(column, ((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    /// A text: 0 for one that is new, else its place in its list, from 1.
    pub(super) fn text(&mut self, column: Column, texts: Texts, text: &str) {
        let (known, bytes) = (&mut self.known[texts as usize], &self.bytes[texts as usize]);
        let hash = self.hasher.hash_one(text.as_bytes());
        if let Some(Known { place, .. }) = known.find(hash, |known| known.is(text, bytes)) {
            let place = *place;
            self.number(column, place);
            return;
        }
        let new = Known { from: bytes.len(), length: text.len(), place: known.len() as u64 + 1 };
        known.insert_unique(hash, new, |known| self.hasher.hash_one(known.of(bytes)));
        push(begun(&mut self.lengths[texts as usize], FIRST), text.len() as u64);
        begun(&mut self.bytes[texts as usize], FIRST_TEXTS).extend_from_slice(text.as_bytes());
        self.number(column, 0);
    }

    fn parts(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.columns.iter().chain(&self.lengths).chain(&self.bytes)
    }

    /// Bytes that [`Writer::finish`] adds at most.
    pub(super) fn most(&self) -> usize {
        4 + self.parts().map(|part| part.len() + 4).sum::<usize>()
    }

    /// Adds the columns, each behind its length.
    pub(super) fn finish(&self, out: &mut Vec<u8>) {
        push(out, COLUMNS as u64);
        for part in self.parts() {
            push(out, part.len() as u64);
            out.extend_from_slice(part);
        }
    }
}

/// Puts entries together again.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    columns: Vec<&'a [u8]>,
    texts: [Vec<&'a str>; TEXTS],
    lengths: [&'a [u8]; TEXTS],
    bytes: [&'a str; TEXTS],
}

impl<'a> Reader<'a> {
    pub(super) fn open(mut plain: &'a [u8]) -> Result<Self, LedgerError> {
        let count = pull(&mut plain)?;
        // An older form has fewer columns; those that it lacks are empty, and nothing asks for them.
        let count = usize::try_from(count).ok().filter(|count| *count <= COLUMNS).ok_or(LedgerError::Form)?;
        let mut part = || -> Result<&'a [u8], LedgerError> {
            let length = usize::try_from(pull(&mut plain)?).map_err(|_| LedgerError::Form)?;
            let (part, rest) = plain.split_at_checked(length).ok_or(LedgerError::Form)?;
            plain = rest;
            Ok(part)
        };
        let mut columns = Vec::with_capacity(COLUMNS);
        for _ in 0..count {
            columns.push(part()?);
        }
        columns.resize(COLUMNS, &[]);
        let mut lengths: [&[u8]; TEXTS] = [&[]; TEXTS];
        for list in &mut lengths {
            *list = part()?;
        }
        let mut bytes = [""; TEXTS];
        for list in &mut bytes {
            *list = std::str::from_utf8(part()?).map_err(|_| LedgerError::Form)?;
        }
        if plain.is_empty() {
            Ok(Self { columns, texts: Default::default(), lengths, bytes })
        } else {
            Err(LedgerError::Form)
        }
    }

    /// True when every number was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.columns.iter().all(|column| column.is_empty())
    }

    pub(super) fn number(&mut self, column: Column) -> Result<u64, LedgerError> {
        pull(&mut self.columns[column as usize])
    }

    pub(super) fn signed(&mut self, column: Column) -> Result<i64, LedgerError> {
        let number = self.number(column)?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn text(&mut self, column: Column, texts: Texts) -> Result<&'a str, LedgerError> {
        let place = usize::try_from(self.number(column)?).map_err(|_| LedgerError::Form)?;
        let list = &mut self.texts[texts as usize];
        if place > 0 {
            return list.get(place - 1).copied().ok_or(LedgerError::Form);
        }
        let length =
            usize::try_from(pull(&mut self.lengths[texts as usize])?).map_err(|_| LedgerError::Form)?;
        let (text, rest) = self.bytes[texts as usize].split_at_checked(length).ok_or(LedgerError::Form)?;
        self.bytes[texts as usize] = rest;
        list.push(text);
        Ok(text)
    }

    /// True if the texts of one list hold this anywhere, across their borders too: cheap, and never wrongly false.
    pub(super) fn may_hold(&self, texts: Texts, text: &str) -> bool {
        memchr::memmem::find(self.bytes[texts as usize].as_bytes(), text.as_bytes()).is_some()
    }
}

/// LEB128.
pub(super) fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn pull(from: &mut &[u8]) -> Result<u64, LedgerError> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first().ok_or(LedgerError::Form)?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(LedgerError::Form)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_of_any_size_and_sign_come_back(numbers: Vec<u64>, signed: Vec<i64>, texts: Vec<String>) {
            let mut writer = Writer::new();
            for number in &numbers {
                writer.number(Column::At, *number);
            }
            for number in &signed {
                writer.signed(Column::RequestClock, *number);
            }
            for text in texts.iter().chain(&texts) {
                writer.text(Column::Words, Texts::Words, text);
            }
            let mut plain = Vec::new();
            writer.finish(&mut plain);
            prop_assert!(plain.len() <= writer.most());
            let mut reader = Reader::open(&plain).unwrap();
            for number in &numbers {
                prop_assert_eq!(reader.number(Column::At).unwrap(), *number);
            }
            for number in &signed {
                prop_assert_eq!(reader.signed(Column::RequestClock).unwrap(), *number);
            }
            for text in texts.iter().chain(&texts) {
                prop_assert!(reader.may_hold(Texts::Words, text) || reader.texts[Texts::Words as usize].contains(&text.as_str()));
                prop_assert_eq!(reader.text(Column::Words, Texts::Words).unwrap(), text);
            }
            prop_assert!(reader.is_at_end());
            prop_assert!(reader.number(Column::At).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(mut reader) = Reader::open(&bytes) {
                for _ in 0..100 {
                    drop(reader.text(Column::At, Texts::Paths));
                }
            }
        }
    }
}
