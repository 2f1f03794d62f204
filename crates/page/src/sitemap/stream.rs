//! Bytes to text as a stream: gzip, the limit of bytes, encodings, and the longest tag.

use std::io::{self, BufRead, Read};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8};

use super::escape::Escaper;
use crate::gunzip::Members;

/// Bytes that are read at a time.
const STEP: usize = 16 << 10;

/// Longest tag, text or comment of a document.
const TOKEN: usize = 1 << 20;

/// The text of a sitemap in UTF-8.
pub(super) struct Text<R: BufRead> {
    bytes: Limited<Unpacked<R>>,
    decoder: Option<Decoder>,
    /// What is read and not decoded yet.
    raw: Vec<u8>,
    decoded: String,
    /// Escapes what begins no markup, once the text is known to be XML.
    escaper: Option<Escaper>,
    /// How much of `decoded` is taken.
    taken: usize,
    is_over: bool,
    /// Bytes of text since the last tag or text began.
    since_token: usize,
}

/// A file as it is, or unpacked.
enum Unpacked<R: BufRead> {
    Plain(R),
    Gzip(Box<Members<R>>),
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(bytes) => bytes.read(out),
            Self::Gzip(members) => members.read(out),
        }
    }
}

/// Bytes up to a limit.
struct Limited<R> {
    bytes: R,
    limit: u64,
    read: u64,
    is_cut: bool,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.limit - self.read).unwrap_or(usize::MAX);
        if left == 0 {
            // One byte more tells that there is more.
            self.is_cut |= self.bytes.read(&mut [0])? > 0;
            return Ok(0);
        }
        let most = out.len().min(left);
        let read = self.bytes.read(&mut out[..most])?;
        self.read += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> Text<R> {
    /// Reads at most `limit` bytes, as unpacked.
    pub(super) fn new(mut bytes: R, limit: usize) -> Self {
        let is_gzip = bytes.fill_buf().is_ok_and(|start| start.starts_with(&[0x1f, 0x8b]));
        let bytes =
            if is_gzip { Unpacked::Gzip(Box::new(Members::new(bytes))) } else { Unpacked::Plain(bytes) };
        Self {
            bytes: Limited { bytes, limit: limit as u64, read: 0, is_cut: false },
            decoder: None,
            raw: Vec::new(),
            decoded: String::with_capacity(4 * STEP),
            escaper: None,
            taken: 0,
            is_over: false,
            since_token: 0,
        }
    }

    /// Whether the first character that isn't white space begins a tag.
    pub(super) fn starts_with_tag(&mut self) -> io::Result<bool> {
        loop {
            let text = self.more()?;
            let rest = text.trim_start();
            if let Some(first) = rest.chars().next() {
                return Ok(first == '<');
            }
            if text.is_empty() {
                return Ok(false);
            }
            let blank = text.len();
            self.taken += blank;
        }
    }

    /// Escapes the text from here on, as XML.
    pub(super) fn escape_stray_markup(&mut self) {
        let text = self.decoded.split_off(self.taken);
        self.decoded.clear();
        self.taken = 0;
        let mut escaper = Escaper::default();
        escaper.push(&text, self.is_over, &mut self.decoded);
        self.escaper = Some(escaper);
    }

    /// Bytes that were read, as unpacked.
    pub(super) fn read_bytes(&self) -> u64 {
        self.bytes.read
    }

    /// Whether there is more than the limit.
    pub(super) fn is_cut(&self) -> bool {
        self.bytes.is_cut
    }

    /// A new tag or text begins.
    pub(super) fn next_token(&mut self) {
        self.since_token = 0;
    }

    /// The text that isn't taken yet; none at the end.
    fn more(&mut self) -> io::Result<&str> {
        while self.taken == self.decoded.len() && !self.is_over {
            self.decoded.clear();
            self.taken = 0;
            let have = self.raw.len();
            // The declaration of the encoding is among the first 200 bytes.
            self.raw.resize(have + STEP, 0);
            let read = self.bytes.read(&mut self.raw[have..]);
            self.raw.truncate(have + *read.as_ref().unwrap_or(&0));
            let is_last = read? == 0;
            if self.decoder.is_none() && self.raw.len() < 200 && !is_last {
                continue;
            }
            self.decode(is_last);
        }
        Ok(&self.decoded[self.taken..])
    }

    fn decode(&mut self, is_last: bool) {
        let raw = std::mem::take(&mut self.raw);
        let mut rest = &raw[..];
        if self.decoder.is_none() {
            // By byte order mark, else by the XML declaration, else as UTF-8 (which the protocol demands).
            let (encoding, mark) = Encoding::for_bom(rest)
                .or_else(|| Some((Encoding::for_label(declared(rest)?)?, 0)))
                .unwrap_or((UTF_8, 0));
            rest = &rest[mark..];
            self.decoder = Some(encoding.new_decoder_without_bom_handling());
        }
        let Some(decoder) = &mut self.decoder else { return };
        loop {
            let more = decoder.max_utf8_buffer_length(rest.len()).unwrap_or(3 * rest.len() + 16);
            self.decoded.reserve(more);
            let (result, read, _) = decoder.decode_to_string(rest, &mut self.decoded, is_last);
            rest = &rest[read..];
            if result == CoderResult::InputEmpty {
                break;
            }
        }
        if let Some(escaper) = &mut self.escaper {
            let text = std::mem::replace(&mut self.decoded, String::with_capacity(4 * STEP));
            escaper.push(&text, is_last, &mut self.decoded);
        }
        self.is_over = is_last;
        self.raw = raw;
        self.raw.clear();
    }
}

impl<R: BufRead> Read for Text<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let text = self.fill_buf()?;
        let read = text.len().min(out.len());
        out[..read].copy_from_slice(&text[..read]);
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Text<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.since_token > TOKEN {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a tag, text or comment of more than 1 MiB",
            ));
        }
        self.more().map(str::as_bytes)
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount;
        self.since_token += amount;
    }
}

/// The value of `encoding` in the XML declaration.
fn declared(bytes: &[u8]) -> Option<&[u8]> {
    let head = &bytes[..bytes.len().min(200)];
    let head = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let head = &head[..memchr::memmem::find(head, b"?>")?];
    let value = &head[memchr::memmem::find(head, b"encoding")? + 8..];
    let value = value.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    Some(&value[..memchr::memchr(*quote, value)?])
}
