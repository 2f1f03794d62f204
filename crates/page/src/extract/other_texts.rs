//! The same bytes as other texts: where the encoding that a page is read in may hide directives.
//!
//! Browsers decide on one encoding, and so does the reading of the page. Where that one can't be right, or where the bytes
//! of a tag needn't be those of ASCII in it, what else they may be is read for directives, too.

use std::borrow::Cow;

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use meta::MetaTag;

use super::prescan::META_BYTES;
use super::{CharsetSource, Decoded, Document, Extracted, utf_7};

/// Hands further texts that a body may be to `read`, each with its name, one after the other; only those that hold the letters
/// `meta`. Mostly none. Linear in the body.
pub(super) fn each(
    body: &[u8],
    document: &Document,
    decoded: &Decoded<'_>,
    html: &Extracted,
    read: &mut dyn FnMut(&'static str, &str),
) {
    let encoding = decoded.encoding;
    let is_wide = html.has_nuls;
    if !encoding.is_ascii_compatible() || is_wide {
        bytes("ASCII", &without_nuls(body), read);
    }
    if encoding == REPLACEMENT {
        bytes("ASCII between shifted characters", &without_shifted(body), read);
    }
    if is_wide {
        for (name, encoding) in [("UTF-16LE", UTF_16LE), ("UTF-16BE", UTF_16BE)] {
            text(name, &utf_16(encoding, body), read);
        }
    }
    if !encoding.is_single_byte()
        && (encoding != UTF_8 || decoded.had_errors)
        && html.metas.iter().any(is_spoilt)
    {
        bytes("windows-1252", body, read);
    }
    if is_utf_7(body, document, decoded.source) {
        text("UTF-7", &utf_7::decode(body), read);
    }
    if ["multipart/", "message/"].iter().any(|kind| document.computed.starts_with(kind)) {
        bytes("quoted-printable", &unquoted(body), read);
    }
}

fn text(name: &'static str, text: &str, read: &mut dyn FnMut(&'static str, &str)) {
    if has_meta(text.as_bytes()) {
        read(name, text);
    }
}

fn bytes(name: &'static str, bytes: &[u8], read: &mut dyn FnMut(&'static str, &str)) {
    if has_meta(bytes) {
        read(name, &WINDOWS_1252.decode_without_bom_handling(bytes).0);
    }
}

fn has_meta(bytes: &[u8]) -> bool {
    memchr::memchr2_iter(b'm', b'M', bytes)
        .any(|at| bytes.get(at..at + 4).is_some_and(|word| word.eq_ignore_ascii_case(b"meta")))
}

fn without_nuls(body: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(0, body).is_none() {
        return body.into();
    }
    body.iter().copied().filter(|&byte| byte != 0).collect()
}

/// Decodes UTF-16, and UTF-32 as far as it has no characters beyond the first plane: the zeros between are omitted.
fn utf_16(encoding: &'static Encoding, body: &[u8]) -> String {
    let (text, _) = encoding.decode_without_bom_handling(body);
    text.replace('\0', "")
}

/// Leaves out what ISO-2022-KR and ISO-2022-CN shift out (SO to SI) and HZ-GB-2312 brackets (`~{` to `~}` or the end of the
/// line): bytes that look like ASCII and are none.
fn without_shifted(body: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.iter().position(|&byte| matches!(byte, 0x0e | b'~')) {
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let end = match rest {
            // A shift holds for its line at most.
            [0x0e, ..] => {
                rest.iter().position(|&byte| matches!(byte, 0x0f | b'\n' | b'\r')).map(|end| end + 1)
            }
            [b'~', b'{', ..] => {
                let is_end = |&at: &usize| rest[at] == b'\n' || rest.get(at + 1) == Some(&b'}');
                let end = memchr::memchr2_iter(b'~', b'\n', rest).skip(1).find(is_end);
                end.map(|at| if rest[at] == b'\n' { at } else { at + 2 })
            }
            _ => {
                text.push(b'~');
                Some(1)
            }
        };
        rest = end.map_or(&[][..], |end| &rest[end..]);
    }
    text.extend_from_slice(rest);
    text
}

/// Returns whether a tag that may speak to robots holds characters that its author may not have meant.
fn is_spoilt(tag: &MetaTag) -> bool {
    const OF_THE_TEXT: [&str; 6] = ["description", "keywords", "author", "title", "copyright", "abstract"];
    let is_foreign = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_ascii());
    let is_of_the_text = tag
        .name
        .as_ref()
        .is_some_and(|name| OF_THE_TEXT.iter().any(|known| name.eq_ignore_ascii_case(known)));
    is_foreign(&tag.name) || is_foreign(&tag.http_equiv) || is_foreign(&tag.content) && !is_of_the_text
}

/// Returns whether a page calls itself UTF-7, or begins so.
fn is_utf_7(body: &[u8], document: &Document, source: CharsetSource) -> bool {
    let names_it = |bytes: &[u8]| {
        memchr::memchr2_iter(b'u', b'U', bytes)
            .any(|at| bytes.get(at..at + 5).is_some_and(|word| word.eq_ignore_ascii_case(b"utf-7")))
    };
    // No decoder knows the label, so that nothing has decided where a tag names it.
    let is_undecided = matches!(source, CharsetSource::Detected | CharsetSource::Default);
    document.content_type.as_ref().is_some_and(|value| names_it(value.as_bytes()))
        || is_undecided && names_it(&body[..body.len().min(META_BYTES)])
        || body.trim_ascii_start().starts_with(b"+ADw")
}

/// Undoes quoted-printable (RFC 2045 section 6.7), in which archived pages of mail and MHTML are written.
fn unquoted(body: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr::memchr(b'=', rest) {
        text.extend_from_slice(&rest[..at]);
        let after = &rest[at + 1..];
        rest = if let Some(next) = after.strip_prefix(b"\r\n").or_else(|| after.strip_prefix(b"\n")) {
            next
        } else if let Some((byte, next)) = escaped(after) {
            text.push(byte);
            next
        } else {
            text.push(b'=');
            after
        };
    }
    text.extend_from_slice(rest);
    text
}

/// The byte that two hexadecimal digits give, and what follows.
fn escaped(after: &[u8]) -> Option<(u8, &[u8])> {
    let (&[high, low], next) = after.split_first_chunk::<2>()?;
    Some((hex(high)? << 4 | hex(low)?, next))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}
