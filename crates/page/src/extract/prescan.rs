//! The encoding declared in the first bytes of a page.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// Bytes in which a meta element may declare the encoding.
pub(super) const META_BYTES: usize = 1024;

/// Finds the encoding that a meta element declares within the first 1,024 bytes.
/// Source: HTML standard 13.2.3.2, "prescan a byte stream to determine its encoding".
pub(super) fn meta(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(META_BYTES)];
    if head.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if head.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'<', head.get(at..)?) {
        at += found;
        let rest = &head[at..];
        if rest.starts_with(b"<!--") {
            // The dashes of the start may be those of the end: `<!-->` is a whole comment.
            at += 2 + memchr::memmem::find(&rest[2..], b"-->")? + 3;
        } else if starts_with_word(rest, b"<meta") {
            at += 5;
            if let Some(encoding) = declared_by_meta(head, &mut at) {
                return Some(encoding);
            }
        } else if is_tag(rest) {
            at += rest.iter().position(|b| b.is_ascii_whitespace() || *b == b'>')?;
            while attribute(head, &mut at).is_some() {}
        } else if matches!(rest.get(1), Some(b'!' | b'/' | b'?')) {
            at += memchr::memchr(b'>', rest)? + 1;
        } else {
            at += 1;
        }
    }
    None
}

fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word))
        && text.get(word.len()).is_some_and(|&b| is_space(b) || b == b'/')
}

fn is_tag(text: &[u8]) -> bool {
    match text.get(1) {
        Some(b'/') => text.get(2).is_some_and(u8::is_ascii_alphabetic),
        Some(b) => b.is_ascii_alphabetic(),
        None => false,
    }
}

/// Reads the attributes of a meta element; gives the encoding if they declare one.
fn declared_by_meta(head: &[u8], at: &mut usize) -> Option<&'static Encoding> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    let mut is_content_type = false;
    let mut needs_content_type = None;
    let mut charset = None;
    while let Some((name, value)) = attribute(head, at) {
        if seen.contains(&name) {
            continue;
        }
        match name.as_slice() {
            b"http-equiv" => is_content_type |= value == b"content-type",
            b"content" if charset.is_none() => {
                if let Some(encoding) = charset_in(&value) {
                    charset = Some(Some(encoding));
                    needs_content_type = Some(true);
                }
            }
            b"charset" => {
                charset = Some(Encoding::for_label(&value));
                needs_content_type = Some(false);
            }
            _ => {}
        }
        seen.push(name);
    }
    if needs_content_type? && !is_content_type {
        return None;
    }
    charset?.map(as_read_from_meta)
}

/// A document whose meta could be read as ASCII isn't UTF-16.
fn as_read_from_meta(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

/// Reads one attribute, name and value in lower case; `None` at the end of the tag or of the bytes.
/// Source: HTML standard 13.2.3.2, "get an attribute".
fn attribute(head: &[u8], at: &mut usize) -> Option<(Vec<u8>, Vec<u8>)> {
    let skip_spaces = |at: &mut usize| {
        while head.get(*at).is_some_and(|&b| is_space(b)) {
            *at += 1;
        }
    };
    while head.get(*at).is_some_and(|&b| is_space(b) || b == b'/') {
        *at += 1;
    }
    if *head.get(*at)? == b'>' {
        *at += 1;
        return None;
    }
    let mut name = Vec::new();
    let has_value = loop {
        match *head.get(*at)? {
            b'=' if !name.is_empty() => break true,
            b if is_space(b) => {
                skip_spaces(at);
                break *head.get(*at)? == b'=';
            }
            b'/' | b'>' => break false,
            b => name.push(b.to_ascii_lowercase()),
        }
        *at += 1;
    };
    if !has_value {
        return Some((name, Vec::new()));
    }
    *at += 1;
    skip_spaces(at);
    let quote = Some(*head.get(*at)?).filter(|&b| b == b'"' || b == b'\'');
    *at += usize::from(quote.is_some());
    let mut value = Vec::new();
    loop {
        let b = *head.get(*at)?;
        if Some(b) == quote {
            *at += 1;
            return Some((name, value));
        }
        if quote.is_none() && (is_space(b) || b == b'>') {
            return Some((name, value));
        }
        value.push(b.to_ascii_lowercase());
        *at += 1;
    }
}

/// Finds `charset=` in the value of a Content-Type.
/// Source: HTML standard 2.7.3, "extracting a character encoding from a meta element"; a header is read alike.
pub(super) fn charset_in(content_type: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content_type;
    loop {
        let at = rest.windows(7).position(|w| w.eq_ignore_ascii_case(b"charset"))?;
        rest = rest[at + 7..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = value.trim_ascii_start();
            let label = if let quote @ (b'"' | b'\'') = value.first()? {
                let value = &value[1..];
                &value[..memchr::memchr(*quote, value)?]
            } else {
                let end = value.iter().position(|&b| is_space(b) || b == b';').unwrap_or(value.len());
                &value[..end]
            };
            return Encoding::for_label(label);
        }
    }
}

/// Finds the encoding that an XML declaration at the very start names.
/// Source: HTML standard 13.2.3.2, "get an XML encoding".
pub(super) fn xml_declaration(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(META_BYTES)];
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|&&b| b == b'"' || b == b'\'')?;
    let value = &value[1..];
    let label = &value[..memchr::memchr(quote, value)?];
    if label.iter().any(|&b| b <= b' ') {
        return None;
    }
    Encoding::for_label(label).map(as_read_from_meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_13_2_3_2_prescan() {
        for (head, expected) in [
            ("<meta charset=utf-8>", Some("UTF-8")),
            ("<!doctype html><html lang=en><META CHARSET = 'iso-8859-1' >", Some("windows-1252")),
            ("<meta http-equiv=Content-Type content=\"text/html; charset=koi8-r\">", Some("KOI8-R")),
            ("<meta content='text/html;charset=\"gbk\"' http-equiv=content-type>", Some("GBK")),
            ("<meta name=x content='text/html; charset=koi8-r'>", None),
            ("<meta http-equiv=content-type content='text/html; charset = sjis'/>", Some("Shift_JIS")),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<meta charset=nonsense><meta charset=big5>", Some("Big5")),
            ("<meta charset=koi8-r charset=big5>", Some("KOI8-R")),
            ("<!-- <meta charset=koi8-r> --><meta charset=big5>", Some("Big5")),
            ("<!--><meta charset=koi8-r>-->", Some("KOI8-R")),
            ("<a title='<meta charset=koi8-r>'><meta charset=big5>", Some("Big5")),
            ("</a title='>'><meta charset=big5>", Some("Big5")),
            ("<? <meta charset=koi8-r>", None),
            ("<metadata charset=koi8-r>", None),
            ("<meta/charset=koi8-r>", Some("KOI8-R")),
            ("<meta charset=koi8-r", None),
            ("<script><meta charset=koi8-r>", Some("KOI8-R")),
            ("<meta", None),
            ("", None),
        ] {
            assert_eq!(meta(head.as_bytes()).map(Encoding::name), expected, "{head}");
        }
    }

    #[test]
    fn a_meta_beyond_1024_bytes_is_too_late() {
        let early = format!("{:1$}<meta charset=big5>", "", 1024 - 19);
        let late = format!("{:1$}<meta charset=big5>", "", 1024 - 18);
        assert!(meta(early.as_bytes()).is_some());
        assert!(meta(late.as_bytes()).is_none());
    }

    #[test]
    fn xml_declarations() {
        for (head, expected) in [
            ("<?xml version=\"1.0\" encoding=\"ISO-8859-5\"?>", Some("ISO-8859-5")),
            ("<?xml version='1.0' encoding = 'utf-16' ?>", Some("UTF-8")),
            (" <?xml encoding='gbk'?>", None),
            ("<?xml version='1.0'?><p encoding='gbk'>", None),
            ("<?xml encoding=gbk?>", None),
        ] {
            assert_eq!(xml_declaration(head.as_bytes()).map(Encoding::name), expected, "{head}");
        }
    }
}
