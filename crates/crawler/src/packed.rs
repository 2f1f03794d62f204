//! Compressed values: the first byte is the encoding, 0 = none, 1 = zstd. How many records fill one.

use std::cell::RefCell;

/// Values shorter than this are kept as they are.
const WORTH_IT: usize = 1024;

/// No value unpacks to more than this, whatever its header says.
const MOST: usize = 64 * 1024 * 1024;

/// Bytes before a compressed value: its encoding and its length, unpacked.
const HEADER: usize = 5;

/// A thread keeps no more than this to compress into.
const MOST_KEPT: usize = 64 * 1024;

thread_local! {
    static PACKER: RefCell<Option<Packer>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Bytes of a value that several records share, packed. sled writes, and reads, the up to 17 values of a leaf together, and one of more than
/// 32 KB goes to a file of its own, which takes two syncs more. With these there is space for what the last commits brought as well.
pub(crate) const TARGET: usize = 1536;

/// Bytes of such a value at the most, unless a single record is longer: 17 of them, with their keys, are 32 KB.
pub(crate) const LONGEST: usize = TARGET * 5 / 4;

/// How many records fill a value of [`TARGET`] bytes, as far as earlier values show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filling {
    records: usize,
    most: usize,
}

impl Filling {
    /// Begins with a guess; no value gets more than `most`.
    pub(crate) fn new(guess: usize, most: usize) -> Self {
        Self { records: guess, most }
    }

    /// How many records fill a value.
    pub(crate) fn records(&self) -> usize {
        self.records
    }

    /// Notes that so many fill one.
    pub(crate) fn found(&mut self, records: usize) {
        self.records = records.clamp(1, self.most);
    }

    /// Fills a value with some of the first `there` records, at least one. `write` packs so many of them. Gives how many it has.
    pub(crate) fn fill(&mut self, there: usize, write: impl Fn(usize) -> Vec<u8>) -> (usize, Vec<u8>) {
        loop {
            let count = self.records.min(there);
            let value = write(count);
            let fitting = (count * TARGET / value.len().max(1)).clamp(1, self.most);
            if value.len() > LONGEST && fitting < count {
                self.records = fitting;
                continue;
            }
            if count == self.records && value.len() < TARGET * 3 / 4 {
                self.records = fitting;
            }
            return (count, value);
        }
    }
}

/// Packs a value; over 1 KB it is compressed where that makes it shorter.
pub(crate) fn pack(plain: Vec<u8>) -> Vec<u8> {
    pack_from(plain, WORTH_IT)
}

/// Packs a value; from this length on it is compressed where that makes it shorter.
pub(crate) fn pack_from(plain: Vec<u8>, worth_it: usize) -> Vec<u8> {
    let mut out = Vec::new();
    if plain.len() >= worth_it && compress_onto(&mut out, &plain) {
        return out;
    }
    let mut out = plain;
    out.insert(0, 0);
    out
}

/// Packs a value as [`pack`], behind what is there already.
pub(crate) fn pack_onto(out: &mut Vec<u8>, plain: &[u8]) {
    if plain.len() < WORTH_IT || !compress_onto(out, plain) {
        out.reserve_exact(plain.len() + 1);
        out.push(0);
        out.extend_from_slice(plain);
    }
}

/// A compressor, and where it writes.
struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    packed: Vec<u8>,
}

/// Adds a value in its compressed form; false, and nothing is added, where that isn't shorter.
fn compress_onto(out: &mut Vec<u8>, plain: &[u8]) -> bool {
    PACKER.with_borrow_mut(|slot| {
        let packer = match slot {
            Some(packer) => packer,
            None => match zstd::bulk::Compressor::new(1) {
                Ok(compressor) => slot.insert(Packer { compressor, packed: Vec::new() }),
                Err(_) => return false,
            },
        };
        let Packer { compressor, packed } = packer;
        packed.clear();
        packed.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        let is_shorter =
            compressor.compress_to_buffer(plain, packed).is_ok() && packed.len() + HEADER < plain.len();
        if is_shorter {
            out.reserve_exact(packed.len() + HEADER);
            out.push(1);
            out.extend((plain.len() as u32).to_be_bytes());
            out.extend_from_slice(packed);
        }
        if packed.capacity() > MOST_KEPT {
            *packed = Vec::new();
        }
        is_shorter
    })
}

/// What is wrong with a packed value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// Its first byte is none that this version writes.
    #[error("packed value with an unsupported format version")]
    Version,
    /// It claims to be longer than any value.
    #[error("packed value claims {0} bytes")]
    TooLong(usize),
    /// Its compressed bytes are damaged.
    #[error("packed value can't be decompressed")]
    Damaged(#[source] std::io::Error),
}

/// Unpacks a value.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, UnpackError> {
    match packed {
        [0, plain @ ..] => Ok(plain.to_vec()),
        [1, a, b, c, d, rest @ ..] => {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
            if length > MOST {
                return Err(UnpackError::TooLong(length));
            }
            decompress(rest, length).map_err(UnpackError::Damaged)
        }
        _ => Err(UnpackError::Version),
    }
}

/// A decompressor is made once a thread: to make one takes as long as to unpack a value of 2 KB.
fn decompress(packed: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(zstd::bulk::Decompressor::new()?),
        };
        decompressor.decompress(packed, length)
    })
}

/// The length of a value once it is unpacked, as its header says.
pub(crate) fn unpacked_len(packed: &[u8]) -> usize {
    match packed {
        [1, a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]) as usize,
        _ => packed.len().saturating_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_shrink_and_all_come_back() {
        for length in [0, 1, 1023, 1024, 5000] {
            let plain: Vec<u8> = (0..length).map(|n| (n % 7) as u8).collect();
            let packed = pack(plain.clone());
            assert_eq!(packed.len() < plain.len(), length >= 1024);
            assert_eq!(unpacked_len(&packed), plain.len());
            assert_eq!(unpack(&packed).unwrap(), plain);
            // A damaged value doesn't spoil the next one of its thread.
            if packed[0] == 1 {
                assert!(unpack(&packed[..packed.len() / 2]).is_err());
                assert!(unpack(&packed).is_ok());
            }
        }
        assert!(unpack(&[]).is_err());
        assert!(unpack(&[9, 9]).is_err());
        assert!(unpack(&[1, 0xff, 0xff, 0xff, 0xff, 0]).is_err());
    }
}
