//! Gzip members (RFC 1952): each record is one, so that a reader can begin at any record's offset.

use flate2::{Compress, Compression, FlushCompress, Status};
use std::cell::RefCell;

/// How hard to compress. Level 1 costs a third of the usual level 6 and gives pages about a tenth more
/// bytes.
const LEVEL: u32 = 1;

/// Window of 32 KiB, the largest.
const WINDOW_BITS: u8 = 15;

thread_local! {
    // A compressor's state is about 250 KB: made once per thread, reset for each member.
    static PACKING: RefCell<Compress> = RefCell::new(compressor(LEVEL));
    static STORING: RefCell<Compress> = RefCell::new(compressor(0));
}

fn compressor(level: u32) -> Compress {
    Compress::new_gzip(Compression::new(level), WINDOW_BITS)
}

/// Appends one gzip member holding the parts, one after the other, to `out`.
///
/// `dense` says that the parts are compressed already: then they are stored as they are, at a tenth of the
/// cost.
pub(super) fn append(out: &mut Vec<u8>, parts: &[&[u8]], dense: bool) {
    let state = if dense { &STORING } else { &PACKING };
    state.with_borrow_mut(|compress| {
        compress.reset();
        for part in parts {
            feed(compress, part, out, FlushCompress::None);
        }
        feed(compress, &[], out, FlushCompress::Finish);
    });
}

fn feed(compress: &mut Compress, mut input: &[u8], out: &mut Vec<u8>, flush: FlushCompress) {
    loop {
        out.reserve((input.len() / 3).max(4096));
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
