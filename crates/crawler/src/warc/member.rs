//! Gzip members (RFC 1952): each record is one, so that a reader can begin at any record's offset.
//!
//! A record names the `warcinfo` record of its file, and that is known only when it is written. So a member begins with a stored
//! block that has the name's place, and the checksum of what follows is kept: the name is entered without compressing again.

use std::cell::RefCell;
use std::io::{BufRead, ErrorKind};

use flate2::{Compress, Compression, FlushCompress, Status};

use super::fields::VERSION;

/// How hard to compress. Level 1 costs a third of the usual level 6 and gives pages about a tenth more
/// bytes.
const LEVEL: u32 = 1;

/// What stands for the name until it is known; names have this length.
const NO_NAME: &str = "<urn:uuid:00000000-0000-0000-0000-000000000000>";

const NAME_FIELD: &str = "WARC-Warcinfo-ID: ";

/// Bytes of the version line and that of the name.
const NAME_LINE: usize = VERSION.len() + NAME_FIELD.len() + NO_NAME.len() + 2;

/// What each header begins with: two bytes for gzip, and the compression method deflate (RFC 1952 section 2.3.1).
pub(super) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Compression method deflate, no flags, no time, fastest, unknown system (RFC 1952 section 2.3.1).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];

/// The flag of a header with a comment behind it, which ends with a zero (RFC 1952 section 2.3.1).
pub(super) const COMMENT: u8 = 1 << 4;

thread_local! {
    // A compressor's state is about 250 KB: made once per thread, reset for each member.
    static PACKING: RefCell<Compress> = RefCell::new(Compress::new(Compression::new(LEVEL), false));
}

/// The most bytes of a stored block, whose length has 16 bits (RFC 1951 section 3.2.4).
const BLOCK: usize = 0xffff;

/// Where a member wants the name of its file's `warcinfo` record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    /// First byte of the member.
    from: usize,
    /// First byte behind it.
    to: usize,
    /// Checksum and length of what follows the line with the name.
    rest: (u32, u64),
}

impl Stamp {
    /// The same for a member that is moved: what began at `from` begins at `to`.
    pub(super) fn moved(self, from: usize, to: usize) -> Self {
        Self { from: self.from - from + to, to: self.to - from + to, ..self }
    }
}

/// Appends one gzip member holding the parts, one after the other, to `out`.
///
/// `dense` says that compressing the parts isn't worth it: then they are stored as they are, at a tenth of the cost.
pub(super) fn append(out: &mut Vec<u8>, parts: &[&[u8]], dense: bool) {
    out.extend_from_slice(&HEADER);
    let sum = deflate(out, parts, dense);
    trailer(out, sum.finalize(), parts.iter().map(|part| part.len()).sum());
}

/// Appends a member as [`append`] does, of a record whose first part begins with the version line; behind that line there is the
/// place for a name.
pub(super) fn append_named(out: &mut Vec<u8>, parts: &[&[u8]], dense: bool) -> Stamp {
    let from = out.len();
    out.extend_from_slice(&HEADER);
    let line = name_line(NO_NAME);
    stored_block(out, line.as_bytes(), false);
    let first = parts.first().map_or(&[][..], |part| part.strip_prefix(VERSION.as_bytes()).unwrap_or(part));
    let parts: Vec<&[u8]> = std::iter::once(first).chain(parts.iter().skip(1).copied()).collect();
    let rest = deflate(out, &parts, dense);
    let amount: usize = parts.iter().map(|part| part.len()).sum();
    let rest = (rest.finalize(), amount as u64);
    trailer(out, checksum(&line, rest), line.len() + amount);
    Stamp { from, to: out.len(), rest }
}

/// Enters the name of a `warcinfo` record into a member of [`append_named`].
pub(super) fn stamp(bytes: &mut [u8], stamp: &Stamp, name: &str) {
    let line = name_line(name);
    let member = &mut bytes[stamp.from..stamp.to];
    let place = HEADER.len() + 5;
    if line.len() != NAME_LINE || member.len() < place + line.len() + 8 {
        return;
    }
    member[place..place + line.len()].copy_from_slice(line.as_bytes());
    let trailer = member.len() - 8;
    let sum = checksum(&line, stamp.rest);
    member[trailer..trailer + 4].copy_from_slice(&sum.to_le_bytes());
}

fn name_line(name: &str) -> String {
    [VERSION, NAME_FIELD, name, "\r\n"].concat()
}

fn checksum(line: &str, (sum, amount): (u32, u64)) -> u32 {
    let mut whole = crc32fast::Hasher::new();
    whole.update(line.as_bytes());
    whole.combine(&crc32fast::Hasher::new_with_initial_len(sum, amount));
    whole.finalize()
}

/// Appends checksum and length, modulo 2^32 (RFC 1952 section 2.3.1).
fn trailer(out: &mut Vec<u8>, sum: u32, length: usize) {
    out.extend(sum.to_le_bytes());
    out.extend((length as u32).to_le_bytes());
}

/// Reads the header of a member as this crawler writes them, to where the deflate stream begins.
pub(super) fn skip_header(source: &mut impl BufRead) -> std::io::Result<()> {
    let mut header = HEADER;
    source.read_exact(&mut header)?;
    match header.strip_prefix(&MAGIC) {
        Some([0, ..]) => Ok(()),
        Some([COMMENT, ..]) => source.skip_until(0).map(drop),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

/// Appends the parts as one deflate stream; returns their checksum.
fn deflate(out: &mut Vec<u8>, parts: &[&[u8]], dense: bool) -> crc32fast::Hasher {
    let mut sum = crc32fast::Hasher::new();
    for part in parts {
        sum.update(part);
    }
    if dense {
        for block in parts.iter().flat_map(|part| part.chunks(BLOCK)) {
            stored_block(out, block, false);
        }
        stored_block(out, &[], true);
        return sum;
    }
    PACKING.with_borrow_mut(|compress| {
        compress.reset();
        for part in parts {
            feed(compress, part, out, FlushCompress::None);
        }
        feed(compress, &[], out, FlushCompress::Finish);
    });
    sum
}

/// Appends a block of deflate that isn't compressed (RFC 1951 section 3.2.4), of at most 65,535 bytes.
fn stored_block(out: &mut Vec<u8>, bytes: &[u8], is_last: bool) {
    let length = bytes.len() as u16;
    out.push(u8::from(is_last));
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// The compressor isn't called for less space.
const LEAST_SPACE: usize = 512;

fn feed(compress: &mut Compress, mut input: &[u8], out: &mut Vec<u8>, flush: FlushCompress) {
    loop {
        if out.capacity() - out.len() < LEAST_SPACE {
            out.reserve((input.len() / 3).max(4096));
        }
        let before = compress.total_in();
        let status = compress.compress_vec(input, out, flush);
        input = &input[(compress.total_in() - before) as usize..];
        match status {
            Ok(Status::StreamEnd) => return,
            // Deflate has no bad input; a buffer error only says that there was nothing to do.
            Ok(Status::Ok | Status::BufError) | Err(_) => {
                if matches!(flush, FlushCompress::None) && input.is_empty() {
                    return;
                }
            }
        }
    }
}
