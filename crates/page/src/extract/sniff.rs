//! The tables of the WHATWG MIME Sniffing standard (<https://mimesniff.spec.whatwg.org/>).

/// Bytes of a body that are looked at (section 5.2: the resource header).
pub(super) const HEADER_BYTES: usize = 1445;

/// One row of a table: the pattern, whose `_` in the mask stands for a byte that isn't compared.
struct Row {
    pattern: &'static [u8],
    mask: &'static [u8],
    mime_type: &'static str,
}

const fn row(pattern: &'static [u8], mime_type: &'static str) -> Row {
    Row { pattern, mask: &[], mime_type }
}

const fn masked(pattern: &'static [u8], mask: &'static [u8], mime_type: &'static str) -> Row {
    Row { pattern, mask, mime_type }
}

impl Row {
    fn matches(&self, bytes: &[u8]) -> bool {
        let is_compared = |at: usize| self.mask.get(at).is_none_or(|&mark| mark != b'_');
        bytes.len() >= self.pattern.len()
            && self.pattern.iter().zip(bytes).enumerate().all(|(at, (a, b))| a == b || !is_compared(at))
    }
}

/// Tags that make a text HTML (section 7.1), matched without case, after white space, before a blank or `>`.
const HTML: &[&[u8]] = &[
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<!--",
];

/// Section 7.1, second table; `_` of a byte order mark's row stands for any byte.
const TEXTS: &[Row] = &[
    row(b"%!PS-Adobe-", "application/postscript"),
    masked(b"\xfe\xff..", b"xx__", "text/plain"),
    masked(b"\xff\xfe..", b"xx__", "text/plain"),
    masked(b"\xef\xbb\xbf.", b"xxx_", "text/plain"),
];

/// Section 6.1.
const IMAGES: &[Row] = &[
    row(b"\0\0\x01\0", "image/x-icon"),
    row(b"\0\0\x02\0", "image/x-icon"),
    row(b"BM", "image/bmp"),
    row(b"GIF87a", "image/gif"),
    row(b"GIF89a", "image/gif"),
    masked(b"RIFF....WEBPVP", b"xxxx____xxxxxx", "image/webp"),
    row(b"\x89PNG\r\n\x1a\n", "image/png"),
    row(b"\xff\xd8\xff", "image/jpeg"),
];

/// Section 6.2.
const AUDIO_AND_VIDEO: &[Row] = &[
    masked(b"FORM....AIFF", b"xxxx____xxxx", "audio/aiff"),
    row(b"ID3", "audio/mpeg"),
    row(b"OggS\0", "application/ogg"),
    row(b"MThd\0\0\0\x06", "audio/midi"),
    masked(b"RIFF....AVI ", b"xxxx____xxxx", "video/avi"),
    masked(b"RIFF....WAVE", b"xxxx____xxxx", "audio/wave"),
];

/// Section 6.4.
const ARCHIVES: &[Row] = &[
    row(b"\x1f\x8b\x08", "application/x-gzip"),
    row(b"PK\x03\x04", "application/zip"),
    row(b"Rar!\x1a\x07\0", "application/x-rar-compressed"),
];

fn find(table: &[Row], bytes: &[u8]) -> Option<&'static str> {
    table.iter().find(|row| row.matches(bytes)).map(|row| row.mime_type)
}

/// Returns the first bytes of a body.
pub(super) fn header(body: &[u8]) -> &[u8] {
    &body[..body.len().min(HEADER_BYTES)]
}

/// Returns whether bytes begin with a tag that makes a text HTML.
fn begins_html(bytes: &[u8]) -> bool {
    HTML.iter().any(|tag| {
        bytes.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
            && matches!(bytes.get(tag.len()), Some(b' ' | b'>'))
    })
}

/// Returns `text/html`, `text/xml` or `application/pdf` where the body begins so (section 7.1, first table).
pub(super) fn scriptable(header: &[u8]) -> Option<&'static str> {
    let is_blank = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ');
    let start = header.iter().position(|byte| !is_blank(byte)).unwrap_or(header.len());
    let text = &header[start..];
    if begins_html(text) {
        Some("text/html")
    } else if text.starts_with(b"<?xml") {
        Some("text/xml")
    } else {
        header.starts_with(b"%PDF-").then_some("application/pdf")
    }
}

/// Returns whether a byte never occurs in a text (section 3, "binary data byte").
pub(super) fn is_binary(byte: u8) -> bool {
    matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)
}

/// Identifies a resource of unknown type (section 7.1).
pub(super) fn unknown(header: &[u8], sniffs_scriptable: bool) -> &'static str {
    let scriptable = if sniffs_scriptable { scriptable(header) } else { None };
    scriptable
        .or_else(|| find(TEXTS, header))
        .or_else(|| find(IMAGES, header))
        .or_else(|| audio_or_video(header))
        .or_else(|| find(ARCHIVES, header))
        .unwrap_or(if header.iter().copied().any(is_binary) {
            "application/octet-stream"
        } else {
            "text/plain"
        })
}

/// Tells a text from binary data that a server calls plain text (section 7.2).
fn text_or_binary(header: &[u8]) -> &'static str {
    let is_marked = header.starts_with(b"\xfe\xff")
        || header.starts_with(b"\xff\xfe")
        || header.starts_with(b"\xef\xbb\xbf");
    if is_marked || !header.iter().copied().any(is_binary) {
        "text/plain"
    } else {
        "application/octet-stream"
    }
}

/// Section 6.2 with the signatures that need a look further in: MP4 and `WebM`.
///
/// Deviation: MP3 without an ID3 tag (6.2.3) is binary data here: nothing depends on the difference.
fn audio_or_video(header: &[u8]) -> Option<&'static str> {
    find(AUDIO_AND_VIDEO, header)
        .or_else(|| is_mp4(header).then_some("video/mp4"))
        .or_else(|| is_webm(header).then_some("video/webm"))
}

/// Section 6.2.1.
fn is_mp4(header: &[u8]) -> bool {
    let Some((size, _)) = header.split_first_chunk::<4>() else { return false };
    let size = u32::from_be_bytes(*size) as usize;
    if header.len() < 12
        || header.len() < size
        || !size.is_multiple_of(4)
        || header.get(4..8) != Some(b"ftyp")
    {
        return false;
    }
    let is_brand = |at: usize| header.get(at..at + 3) == Some(b"mp4");
    is_brand(8) || (16..size).step_by(4).any(is_brand)
}

/// Section 6.2.2.
fn is_webm(header: &[u8]) -> bool {
    if !header.starts_with(b"\x1a\x45\xdf\xa3") {
        return false;
    }
    let end = header.len().min(38);
    let Some(at) = (4..end).find(|&at| header.get(at..at + 2) == Some(b"\x42\x82")) else { return false };
    let Some(&first) = header.get(at + 2) else { return false };
    let number_size = (first.leading_zeros() as usize + 1).min(8);
    let start = at + 2 + number_size;
    let padding = header.get(start..).unwrap_or_default().iter().take_while(|&&byte| byte == 0).count();
    header.get(start + padding..).is_some_and(|rest| rest.starts_with(b"webm"))
}

/// Returns the MIME type that a browser computes (section 7).
///
/// `supplied` is the essence of the declared type, `last_line` the last Content-Type line as sent.
pub(super) fn computed(
    supplied: Option<&str>,
    last_line: Option<&[u8]>,
    is_nosniff: bool,
    body: &[u8],
) -> String {
    let header = header(body);
    let Some(supplied) = supplied else { return unknown(header, !is_nosniff).to_owned() };
    if super::mime_type::is_xml(supplied) || supplied == "text/html" {
        return supplied.to_owned();
    }
    if matches!(supplied, "unknown/unknown" | "application/unknown" | "*/*") {
        return unknown(header, !is_nosniff).to_owned();
    }
    if !is_nosniff && last_line.is_some_and(|line| APACHE_BUG.contains(&line)) {
        return text_or_binary(header).to_owned();
    }
    supplied.to_owned()
}

/// What old Apache servers send with files that they don't know (section 5.1).
const APACHE_BUG: [&[u8]; 4] = [
    b"text/plain",
    b"text/plain; charset=ISO-8859-1",
    b"text/plain; charset=iso-8859-1",
    b"text/plain; charset=UTF-8",
];

/// Names a kind of markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Markup {
    /// It begins with `<?xml`.
    Xml,
    /// It begins with another tag, a comment or a document type.
    Tags,
}

/// Removes what may precede the first tag: byte order marks, NULs, controls, spaces of any kind.
fn without_lead(body: &[u8]) -> &[u8] {
    let mut rest = body;
    loop {
        rest = match rest {
            [0xef, 0xbb, 0xbf, after @ ..]
            | [0xc2, 0xa0, after @ ..]
            | [0xfe, 0xff, after @ ..]
            | [0xff, 0xfe, after @ ..]
            | [0..=b' ' | 0x7f | 0xa0, after @ ..] => after,
            _ => return rest,
        }
    }
}

/// Returns whether a body begins with markup, more generously than a browser: whatever precedes the first tag, any
/// tag, and NULs between its characters (UTF-16, UTF-32); also in UTF-7.
pub(super) fn markup(body: &[u8]) -> Option<Markup> {
    let rest = without_lead(body);
    let rest = rest.strip_prefix(b"<").or_else(|| rest.strip_prefix(b"+ADw"))?;
    let mut letters = rest.iter().copied().filter(|&byte| byte != 0 && byte != b'-').take(4);
    match letters.next()? {
        b'?' if letters.eq(*b"xml") => Some(Markup::Xml),
        b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z' => Some(Markup::Tags),
        _ => None,
    }
}

/// Returns whether the structure of a page begins within these bytes, after something else.
pub(super) fn has_markup(bytes: &[u8]) -> bool {
    const TAGS: [&[u8]; 5] = [b"<html", b"<head", b"<body", b"<meta", b"<!doctype"];
    memchr::memchr_iter(b'<', bytes).any(|at| {
        let is_end = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'>' | b'/');
        let rest = &bytes[at..];
        TAGS.iter().any(|tag| {
            rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
                && rest.get(tag.len()).is_some_and(is_end)
        })
    })
}

/// The first element of an XML document.
#[derive(Debug)]
pub(super) struct Root {
    /// Its name is `html`, with whatever prefix.
    pub(super) is_html: bool,
    /// It names the namespace of XHTML.
    pub(super) names_xhtml: bool,
}

/// Finds the first element of an XML document, if it is within 64 KiB.
pub(super) fn root(body: &[u8]) -> Option<Root> {
    const XHTML: &[u8] = b"http://www.w3.org/1999/xhtml";
    let text: Vec<u8> =
        without_lead(body).iter().copied().filter(|&byte| byte != 0).take(64 * 1024).collect();
    let mut rest = &text[..];
    loop {
        rest = &rest[memchr::memchr(b'<', rest)?..];
        rest = if rest.starts_with(b"<!--") {
            &rest[memchr::memmem::find(rest, b"-->")? + 3..]
        } else if rest.starts_with(b"<?") {
            &rest[memchr::memmem::find(rest, b"?>")? + 2..]
        } else if rest.starts_with(b"<!") {
            // A document type may hold declarations in brackets.
            let end = memchr::memchr2(b'[', b'>', rest)?;
            if rest[end] == b'[' { &rest[memchr::memmem::find(rest, b"]")? + 1..] } else { &rest[end + 1..] }
        } else {
            let name =
                rest[1..].split(|byte| matches!(byte, b'>' | b'/') || byte.is_ascii_whitespace()).next()?;
            let tag = &rest[..memchr::memchr(b'>', rest).unwrap_or(rest.len())];
            return Some(Root {
                is_html: name.rsplit(|&byte| byte == b':').next()? == b"html",
                names_xhtml: memchr::memmem::find(tag, XHTML).is_some(),
            });
        };
    }
}

/// Returns whether there are so many binary bytes that it's no text in any encoding: compressed or encrypted.
pub(super) fn is_noise(header: &[u8]) -> bool {
    // NULs are those of UTF-16 and UTF-32, SO and SI shift in ISO-2022.
    let count = header.iter().filter(|&&byte| is_binary(byte) && !matches!(byte, 0 | 0x0e | 0x0f)).count();
    count > 2 + header.len() / 20 && !has_markup(header)
}
