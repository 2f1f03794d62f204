//! Bytes of HTTP/1.1 answers, and of bodies that grow.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

/// An answer with `Content-Length` and these field lines.
pub fn answer(status: u16, fields: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!("HTTP/1.1 {status} Hostile\r\nContent-Length: {}\r\n", body.len()).into_bytes();
    for field in fields {
        bytes.extend_from_slice(field.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// An HTML page.
pub fn page(html: impl AsRef<[u8]>) -> Vec<u8> {
    answer(200, &["Content-Type: text/html; charset=utf-8"], html)
}

/// A page with another `Content-Type`.
pub fn typed(content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer(200, &[&format!("Content-Type: {content_type}")], body)
}

/// A page in a content coding.
pub fn coded(coding: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer(200, &["Content-Type: text/html", &format!("Content-Encoding: {coding}")], body)
}

/// A plain text, as robots.txt should be.
pub fn text(body: impl AsRef<[u8]>) -> Vec<u8> {
    typed("text/plain", body)
}

/// A redirect.
pub fn redirect(status: u16, to: &str) -> Vec<u8> {
    answer(status, &[&format!("Location: {to}")], "")
}

/// The head of an answer whose body has no announced length and ends with the connection.
pub fn open_head(fields: &[&str]) -> Vec<u8> {
    let fields = fields.iter().map(|field| format!("{field}\r\n")).collect::<Vec<_>>().concat();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n").into_bytes()
}

/// gzip (RFC 1952).
///
/// # Panics
/// Never: writing to memory doesn't fail.
pub fn gzip(data: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data.as_ref()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// The zlib format (RFC 1950), which HTTP calls deflate.
///
/// # Panics
/// Never: writing to memory doesn't fail.
pub fn zlib(data: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data.as_ref()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Deflate without a frame (RFC 1951).
///
/// # Panics
/// Never: writing to memory doesn't fail.
pub fn bare_deflate(data: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data.as_ref()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// zstd (RFC 8878).
///
/// # Panics
/// Never: memory takes it.
pub fn zstd(data: impl AsRef<[u8]>) -> Vec<u8> {
    ::zstd::encode_all(data.as_ref(), 3).expect("memory takes it")
}

/// A gzip stream of `mib` MiB of blanks, about a thousandth of that in size.
///
/// # Panics
/// Never: writing to memory doesn't fail.
pub fn gzip_bomb(mib: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..mib {
        encoder.write_all(&blanks).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it")
}

/// The same in the zlib format.
///
/// # Panics
/// Never: writing to memory doesn't fail.
pub fn zlib_bomb(mib: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..mib {
        encoder.write_all(&blanks).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it")
}

/// The same in zstd: much smaller still.
///
/// # Panics
/// Never: memory takes it.
pub fn zstd_bomb(mib: usize) -> Vec<u8> {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 3).expect("an encoder");
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..mib {
        encoder.write_all(&blanks).expect("memory takes it");
    }
    encoder.finish().expect("memory takes it")
}

/// Brotli (RFC 7932) that repeats one blank `metas` times 16 MiB: each meta-block holds a literal and a copy of it.
///
/// Written by hand, since no encoder is among the dependencies.
pub fn brotli_bomb(metas: usize) -> Vec<u8> {
    super::http::brotli::bomb(metas)
}

mod brotli {
    /// Bits, least significant first.
    #[derive(Default)]
    struct Bits {
        bytes: Vec<u8>,
        used: usize,
    }

    impl Bits {
        fn put(&mut self, value: u32, count: usize) {
            for n in 0..count {
                if self.used.is_multiple_of(8) {
                    self.bytes.push(0);
                }
                let last = self.bytes.len() - 1;
                self.bytes[last] |= ((value >> n & 1) as u8) << (self.used % 8);
                self.used += 1;
            }
        }
    }

    /// One meta-block of 2^24 bytes: insert 1 literal, copy 2^24 - 1 from distance 1.
    ///
    /// Source: RFC 7932 section 9.2 (meta-block header), 3.4 (simple prefix codes: one symbol, no bits in the stream),
    /// section 5 (insert-and-copy codes: insert code 1 with copy code 23 is symbol 64 * 5 + ...).
    pub(super) fn bomb(metas: usize) -> Vec<u8> {
        let mut bits = Bits::default();
        // WBITS: 22 (`1` then 3 bits n: 17 + n, n = 5).
        bits.put(1, 1);
        bits.put(5, 3);
        for _ in 0..metas {
            bits.put(0, 1); // ISLAST
            bits.put(2, 2); // MNIBBLES: 6
            bits.put((1 << 24) - 1, 24); // MLEN - 1
            bits.put(0, 1); // ISUNCOMPRESSED
            bits.put(0, 1); // NBLTYPESL = 1
            bits.put(0, 1); // NBLTYPESI = 1
            bits.put(0, 1); // NBLTYPESD = 1
            bits.put(0, 2); // NPOSTFIX
            bits.put(0, 4); // NDIRECT
            bits.put(0, 2); // context mode of literals
            bits.put(0, 1); // NTREESL = 1
            bits.put(0, 1); // NTREESD = 1
            // Literals: simple code, one symbol of 8 bits.
            bits.put(1, 2);
            bits.put(0, 2);
            bits.put(u32::from(b' '), 8);
            // Insert-and-copy: one symbol of 10 bits. Cells 384..448 have insert codes 0..7 and copy codes 16..23:
            // symbol 384 + 8 * insert code + (copy code - 16).
            bits.put(1, 2);
            bits.put(0, 2);
            bits.put(384 + 8 + 7, 10);
            // Distances: one symbol; the alphabet has 16 + 0 + 48 = 64 symbols of 6 bits. Code 16: distance 1 or 2, one bit.
            bits.put(1, 2);
            bits.put(0, 2);
            bits.put(16, 6);
            // The one command: insert length 1 (no further bits), copy length 2118 + 24 bits; the literal has no bits.
            bits.put((1 << 24) - 1 - 2118, 24);
            bits.put(0, 1); // distance 1
        }
        bits.put(1, 1); // ISLAST
        bits.put(1, 1); // ISLASTEMPTY
        bits.bytes
    }
}
