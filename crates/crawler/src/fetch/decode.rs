//! Undoing content codings within limits.

use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};

use page::gunzip::{MOST_MEMBERS, Members};

/// Most codings on top of each other; more are a bomb, not a page.
const MAX_CODINGS: usize = 3;
/// Largest zstd window, as a power of two: 8 MiB, the most that RFC 9659 section 3 allows in HTTP.
const MAX_ZSTD_WINDOW: u32 = 23;

/// A content coding that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Why a body can't be decoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum DecodeError {
    #[error("{coding:?} body")]
    Broken { coding: Coding, source: io::Error },
    #[error("more than {MAX_CODINGS} content codings")]
    TooDeep,
}

/// A body with its codings undone.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) body: Bytes,
    /// Whether there is more of it than the limit allows.
    pub(super) is_cut: bool,
    /// How many bytes of the wire were read for it.
    pub(super) taken: usize,
    /// Whether its coding ends as it should.
    pub(super) end: End,
}

/// How a coded body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// As its coding says, or nobody asked.
    Sound,
    /// With all the data, but without what follows it: gzip without its trailer.
    Unfinished,
    /// The coding ends within its data: a part of the body may be missing.
    Cut,
}

/// What is asked of a coded body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// All of it: what doesn't end as its coding says is an error.
    Whole,
    /// What there is of it before its end, as browsers do; what is broken within is an error.
    Start,
    /// Whatever can be decoded.
    Anything,
}

/// Reads Content-Encoding (RFC 9110 section 8.4): codings in the order in which they were applied.
///
/// Deviation: a body in a coding that isn't known here is passed on as it is, as browsers do; what such fields name in
/// the wild (`none`, `utf-8`, a media type) is mostly no coding at all.
pub(super) fn codings<'a>(values: impl Iterator<Item = &'a str>) -> Result<Vec<Coding>, DecodeError> {
    let mut codings = Vec::new();
    for name in values.flat_map(|value| value.split(',')).map(str::trim) {
        let coding = match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            _ => continue,
        };
        if codings.len() == MAX_CODINGS {
            return Err(DecodeError::TooDeep);
        }
        codings.push(coding);
    }
    Ok(codings)
}

/// Undoes the content codings of a stored body, at most 64 MiB of it; a body that can't be decoded is given as it is.
pub fn decode_body(content_encoding: Option<&str>, body: &[u8]) -> Bytes {
    const MOST: u64 = 64 << 20;
    let wire = Bytes::copy_from_slice(body);
    let decoded = codings(content_encoding.into_iter())
        .and_then(|codings| decode(&wire, &codings, MOST, Demand::Anything));
    decoded.map_or(wire, |decoded| decoded.body)
}

/// Undoes `codings` on `wire`; reads at most `limit` bytes out of each.
///
/// Takes time and memory in the order of `wire` and `limit`, whatever the input claims.
pub(super) fn decode(
    wire: &Bytes,
    codings: &[Coding],
    limit: u64,
    mut demand: Demand,
) -> Result<Decoded, DecodeError> {
    let mut decoded = Decoded { body: wire.clone(), is_cut: false, taken: wire.len(), end: End::Sound };
    for (layer, &coding) in codings.iter().rev().enumerate() {
        if decoded.body.is_empty() {
            // 204, 304 and many a lazy server: nothing was encoded.
            break;
        }
        let mut out = Vec::with_capacity(likely_size(&decoded.body, coding, limit));
        let mut rest = &decoded.body[..];
        let outcome = undo(coding, &mut rest, limit, &mut out);
        if layer == 0 {
            decoded.taken = wire.len() - rest.len();
        }
        // One byte more than the limit was asked for, which tells whether there is more.
        decoded.is_cut = out.len() as u64 > limit;
        if let Err(source) = outcome
            && demand != Demand::Anything
            && !decoded.is_cut
        {
            let end = end_of(coding, &decoded.body, rest, &source);
            match end.filter(|_| demand == Demand::Start && !out.is_empty()) {
                Some(end) => decoded.end = decoded.end.max(end),
                None => return Err(DecodeError::Broken { coding, source }),
            }
        }
        out.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        if decoded.is_cut || decoded.end == End::Cut {
            demand = Demand::Anything;
        }
        decoded.body = out.into();
    }
    Ok(decoded)
}

/// How a body ends that can't be decoded to its end, where that is all that is wrong with it. `rest` of it wasn't read.
fn end_of(coding: Coding, wire: &[u8], rest: &[u8], error: &io::Error) -> Option<End> {
    if !rest.is_empty() || error.kind() != io::ErrorKind::UnexpectedEof {
        return None;
    }
    let is_complete = match coding {
        Coding::Gzip => has_all_of_gzip(wire),
        Coding::Deflate => wire.get(if is_zlib(wire) { 2 } else { 0 }..).and_then(inflated).is_some(),
        Coding::Brotli | Coding::Zstd => false,
    };
    Some(if is_complete { End::Unfinished } else { End::Cut })
}

/// Whether the data of the last gzip member is there, all of it.
fn has_all_of_gzip(mut wire: &[u8]) -> bool {
    loop {
        let Some(data) = gzip_data(wire).and_then(|start| wire.get(start..)) else { return false };
        let Some(length) = inflated(data) else { return false };
        match data.get(length + GZIP_TRAILER..) {
            Some(next) if !next.is_empty() => wire = next,
            _ => return true,
        }
    }
}

/// Bytes of a member's checksum and size (RFC 1952 section 2.3.1).
const GZIP_TRAILER: usize = 8;

/// The length of deflated data, if it reaches the end of its last block.
fn inflated(data: &[u8]) -> Option<usize> {
    let mut inflater = Decompress::new(false);
    let mut out = [0; 8192];
    loop {
        let (read, written) = (inflater.total_in(), inflater.total_out());
        let rest = usize::try_from(read).ok().and_then(|read| data.get(read..)).unwrap_or_default();
        match inflater.decompress(rest, &mut out, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return usize::try_from(inflater.total_in()).ok(),
            Ok(_) if (inflater.total_in(), inflater.total_out()) != (read, written) => {}
            _ => return None,
        }
    }
}

/// Where the data of a gzip member begins, behind its header (RFC 1952 section 2.3).
fn gzip_data(wire: &[u8]) -> Option<usize> {
    let flags = *wire.get(3)?;
    let mut at = 10;
    if flags & 4 != 0 {
        at += 2 + usize::from(u16::from_le_bytes([*wire.get(at)?, *wire.get(at + 1)?]));
    }
    for text in [8, 16] {
        if flags & text != 0 {
            at += memchr::memchr(0, wire.get(at..)?)? + 1;
        }
    }
    Some(if flags & 2 == 0 { at } else { at + 2 })
}

/// Guesses the size of a body with its codings undone.
pub(super) fn likely(wire: &[u8], codings: &[Coding], limit: u64) -> u64 {
    codings.last().map_or(0, |&coding| likely_size(wire, coding, limit) as u64)
}

/// Guesses the decoded size, so that most bodies are decoded without moving; never above what the input can hold.
fn likely_size(wire: &[u8], coding: Coding, limit: u64) -> usize {
    let guess = match (coding, wire.last_chunk::<4>()) {
        // The last field of a gzip member is its size (RFC 1952 section 2.3.1); deflate makes at most 1:1032.
        (Coding::Gzip, Some(&isize)) => {
            (u32::from_le_bytes(isize) as usize).min(wire.len().saturating_mul(1032))
        }
        _ => wire.len().saturating_mul(5),
    };
    guess.min(usize::try_from(limit).unwrap_or(usize::MAX)).min(1 << 20) + 1
}

/// Undoes one coding; leaves in `rest` what wasn't read.
fn undo(coding: Coding, rest: &mut &[u8], limit: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let mut fill = |reader: &mut dyn Read| {
        let room = limit.saturating_add(1).saturating_sub(out.len() as u64);
        reader.take(room).read_to_end(out).map(|_| out.len() as u64 > limit)
    };
    match coding {
        Coding::Gzip => {
            for _ in 0..MOST_MEMBERS {
                if fill(&mut flate2::bufread::GzDecoder::new(&mut *rest))? {
                    return Ok(());
                }
                if !rest.starts_with(&[0x1f, 0x8b]) {
                    // Padding after the last member is common and harmless.
                    return Ok(());
                }
            }
            Err(io::Error::new(io::ErrorKind::InvalidData, "too many members"))
        }
        // RFC 9110 section 8.4.1.2: "deflate" is the zlib format; some servers send it bare.
        Coding::Deflate if is_zlib(rest) => fill(&mut flate2::bufread::ZlibDecoder::new(rest)).map(drop),
        Coding::Deflate => fill(&mut flate2::bufread::DeflateDecoder::new(rest)).map(drop),
        Coding::Brotli => fill(&mut brotli_decompressor::Decompressor::new(EarlyEnd(rest), 4096)).map(drop),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(rest)?;
            decoder.window_log_max(MAX_ZSTD_WINDOW)?;
            fill(&mut decoder).map(drop)
        }
    }
}

/// Turns the end of the input into `UnexpectedEof`: the brotli decoder reads beyond it only if the stream is incomplete.
struct EarlyEnd<'a, 'b>(&'a mut &'b [u8]);

impl Read for EarlyEnd<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 if !out.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

/// Undoes codings on a stream.
pub(super) fn stream(
    codings: &[Coding],
    wire: Box<dyn BufRead + Send>,
) -> io::Result<Box<dyn BufRead + Send>> {
    let mut body = wire;
    for &coding in codings.iter().rev() {
        let start = body.fill_buf()?;
        if start.is_empty() {
            // As above: nothing was encoded.
            break;
        }
        let is_zlib = is_zlib(start);
        let decoded: Box<dyn Read + Send> = match coding {
            Coding::Gzip => Box::new(Members::new(body)),
            Coding::Deflate if is_zlib => Box::new(flate2::bufread::ZlibDecoder::new(body)),
            Coding::Deflate => Box::new(flate2::bufread::DeflateDecoder::new(body)),
            Coding::Brotli => Box::new(brotli_decompressor::Decompressor::new(body, 4096)),
            Coding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?;
                decoder.window_log_max(MAX_ZSTD_WINDOW)?;
                Box::new(decoder)
            }
        };
        body = Box::new(BufReader::with_capacity(32 << 10, decoded));
    }
    Ok(body)
}

/// Tells the zlib format by its first two bytes (RFC 1950 section 2.2).
fn is_zlib(wire: &[u8]) -> bool {
    matches!(wire, [cmf, flg, ..] if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)).is_multiple_of(31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use proptest::prelude::*;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn raw_deflate(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn run(wire: &[u8], coding: Coding, limit: u64) -> Result<Decoded, DecodeError> {
        decode(&Bytes::copy_from_slice(wire), &[coding], limit, Demand::Whole)
    }

    /// "hello hello hello hello\n" by `brotli -q 11`'s rules for short text: an uncompressed meta-block.
    ///
    /// Source: RFC 7932 section 9.2: WBITS 16 (`0`), then ISLAST 0, MNIBBLES 4 (`00`), MLEN-1 (16 bit),
    /// ISUNCOMPRESSED 1, bytes; then ISLAST 1, ISLASTEMPTY 1.
    fn brotli_stored(data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len() - 1).unwrap();
        let bits = length << 4 | 1 << 20;
        let mut wire = bits.to_le_bytes()[..3].to_vec();
        wire.extend_from_slice(data);
        wire.push(3);
        wire
    }

    #[test]
    fn every_coding_is_undone() {
        let text = b"hello hello hello hello\n".repeat(100);
        for (wire, coding) in [
            (gzip(&text), Coding::Gzip),
            (zlib(&text), Coding::Deflate),
            (raw_deflate(&text), Coding::Deflate),
            (brotli_stored(&text), Coding::Brotli),
            (zstd::encode_all(&text[..], 1).unwrap(), Coding::Zstd),
        ] {
            let decoded = run(&wire, coding, 10_000).unwrap();
            assert_eq!(decoded.body, text, "{coding:?}");
            assert!(!decoded.is_cut);
            let mut streamed = Vec::new();
            let wire_body = Box::new(io::Cursor::new(wire.clone()));
            stream(&[coding], wire_body).unwrap().read_to_end(&mut streamed).unwrap();
            assert_eq!(streamed, text, "{coding:?} as a stream");
            let at_limit = run(&wire, coding, text.len() as u64).unwrap();
            assert!(!at_limit.is_cut, "{coding:?}: the limit itself is allowed");
            let cut = run(&wire, coding, 100).unwrap();
            assert_eq!(cut.body, text[..100], "{coding:?}");
            assert!(cut.is_cut);
        }
    }

    #[test]
    fn broken_input_is_an_error_and_partial_input_gives_what_it_holds() {
        let text: Vec<u8> =
            (0..100_000_u32).flat_map(|i| (i.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
        for (wire, coding) in [
            (gzip(&text), Coding::Gzip),
            (zlib(&text), Coding::Deflate),
            (brotli_stored(&text[..60_000]), Coding::Brotli),
            (zstd::encode_all(&text[..], 1).unwrap(), Coding::Zstd),
        ] {
            assert!(run(b"<html>plain</html>", coding, 1_000).is_err(), "{coding:?} on plain text");
            let half = Bytes::copy_from_slice(&wire[..wire.len() / 2]);
            assert!(decode(&half, &[coding], 1 << 20, Demand::Whole).is_err(), "{coding:?} cut");
            for (demand, end) in [(Demand::Start, End::Cut), (Demand::Anything, End::Sound)] {
                let decoded = decode(&half, &[coding], 1 << 20, demand).unwrap();
                assert!(decoded.body.len() > 20_000, "{coding:?}: {}", decoded.body.len());
                assert!(text.starts_with(&decoded.body), "{coding:?}");
                assert_eq!(decoded.end, end, "{coding:?}");
            }
        }
        // A stored block, and one of a type that doesn't exist (RFC 1951 section 3.2.3).
        let data = [&[0, 3, 0, 0xfc, 0xff][..], b"abc", &[0xff; 8]].concat();
        for (wire, coding) in
            [([&gzip(b"")[..10], &data].concat(), Coding::Gzip), (data.clone(), Coding::Deflate)]
        {
            let wire = Bytes::from(wire);
            assert!(decode(&wire, &[coding], 100, Demand::Start).is_err(), "{coding:?}");
        }
    }

    #[test]
    fn a_body_without_the_end_of_its_coding_is_whole_if_its_data_is() {
        let text = b"hello hello hello hello\n".repeat(100);
        let member = gzip(&text);
        let data = &member[..member.len() - 8];
        let mut flushed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        flushed.write_all(&text).unwrap();
        flushed.flush().unwrap();
        // With all the fields that a header may have, and its checksum.
        let header = [&[0x1f, 0x8b, 8, 0b1_1110, 0, 0, 0, 0, 0, 0, 1, 0, b'x'][..], b"n\0c\0"].concat();
        let mut sum = flate2::Crc::new();
        sum.update(&header);
        let named = [&header[..], &sum.sum().to_le_bytes()[..2], &data[10..]].concat();
        let bad_sum = [data, &[1, 2, 3, 4], &member[member.len() - 4..]].concat();
        let compressed = zlib(&text);
        for (wire, coding, end) in [
            (member.clone(), Coding::Gzip, End::Sound),
            (data.to_vec(), Coding::Gzip, End::Unfinished),
            (member[..member.len() - 3].to_vec(), Coding::Gzip, End::Unfinished),
            // Flushed, and then? It may have been all, or half of it.
            (flushed.get_ref().clone(), Coding::Gzip, End::Cut),
            ([&gzip(b"")[..], data].concat(), Coding::Gzip, End::Unfinished),
            ([&member[..], &member[..10]].concat(), Coding::Gzip, End::Cut),
            ([&member[..], &[0x1f, 0x8b]].concat(), Coding::Gzip, End::Cut),
            (named, Coding::Gzip, End::Unfinished),
            (compressed[..compressed.len() - 4].to_vec(), Coding::Deflate, End::Unfinished),
        ] {
            let wire = Bytes::from(wire);
            let decoded = decode(&wire, &[coding], 10_000, Demand::Start).unwrap();
            assert_eq!((&decoded.body[..], decoded.end), (&text[..], end), "{coding:?} {wire:?}");
            assert_eq!(decode(&wire, &[coding], 10_000, Demand::Whole).is_ok(), end == End::Sound);
        }
        assert!(decode(&bad_sum.into(), &[Coding::Gzip], 10_000, Demand::Start).is_err());
        let nothing = Bytes::from(member[..10].to_vec());
        assert!(decode(&nothing, &[Coding::Gzip], 10_000, Demand::Start).is_err());
        let many = Bytes::from(gzip(b"x").repeat(MOST_MEMBERS + 1));
        assert!(decode(&many, &[Coding::Gzip], 10_000, Demand::Start).is_err());
    }

    #[test]
    fn gzip_members_are_joined_and_padding_is_ignored() {
        let mut wire = gzip(b"one ");
        wire.extend(gzip(b"two"));
        wire.extend([0; 7]);
        assert_eq!(run(&wire, Coding::Gzip, 100).unwrap().body, "one two");
        let many = gzip(b"").repeat(MOST_MEMBERS + 1);
        assert!(run(&many, Coding::Gzip, 100).is_err());
    }

    #[test]
    fn codings_are_undone_from_the_outside_in() {
        let wire = zstd::encode_all(&gzip(b"text")[..], 1).unwrap();
        let order = codings(["gzip, ZSTD"].into_iter()).unwrap();
        assert_eq!(decode(&wire.into(), &order, 100, Demand::Whole).unwrap().body, "text");
        assert!(codings(["identity", "utf-8", ""].into_iter()).unwrap().is_empty());
        assert!(codings(["gzip,gzip", "gzip,gzip"].into_iter()).is_err());
    }

    #[test]
    fn nothing_decodes_to_nothing() {
        let decoded = decode(&Bytes::new(), &[Coding::Gzip], 100, Demand::Whole).unwrap();
        assert!(decoded.body.is_empty() && !decoded.is_cut);
    }

    #[test]
    fn a_zstd_window_beyond_that_of_http_is_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(&[7; 1000]).unwrap();
        let wire = encoder.finish().unwrap();
        assert!(run(&wire, Coding::Zstd, 10_000).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_within_the_limit(
            wire in prop::collection::vec(any::<u8>(), 0..500),
            kind in 0..4_usize,
            limit in 0..2_000_u64,
            demand in prop::sample::select(vec![Demand::Whole, Demand::Start, Demand::Anything]),
        ) {
            let coding = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd][kind];
            if let Ok(decoded) = decode(&wire.into(), &[coding], limit, demand) {
                prop_assert!(decoded.body.len() as u64 <= limit);
            }
        }
    }
}
