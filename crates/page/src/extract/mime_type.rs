//! MIME types as the Fetch and MIME Sniffing standards read them from header lines.

use std::str::FromStr;

use data_url::mime::Mime;
use encoding_rs::Encoding;

/// Joins the field lines of one name into one value, bytes beyond ASCII as ISO-8859-1.
///
/// Source: Fetch standard, "get a header value" and "isomorphic decode".
pub(super) fn joined<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<String> {
    let mut joined: Option<String> = None;
    for line in lines {
        let all = match &mut joined {
            Some(all) => {
                all.push_str(", ");
                all
            }
            None => joined.insert(String::with_capacity(line.len())),
        };
        match std::str::from_utf8(line) {
            Ok(text) if text.is_ascii() => all.push_str(text),
            _ => all.extend(line.iter().map(|&byte| char::from(byte))),
        }
    }
    joined
}

/// Splits a field value at the commas outside quoted strings.
///
/// Source: Fetch standard, "get, decode, and split".
pub(super) fn values(field: &str) -> Vec<&str> {
    if !field.contains(',') {
        return vec![field.trim_matches([' ', '\t'])];
    }
    let mut values = Vec::new();
    let (mut start, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, byte) in field.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => {
                values.push(&field[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    values.push(&field[start..]);
    for value in &mut values {
        *value = value.trim_matches([' ', '\t']);
    }
    values
}

/// Returns the MIME type of a response from its joined Content-Type lines.
///
/// Source: Fetch standard, "extract a MIME type".
pub(super) fn extract(content_type: &str) -> Option<Mime> {
    let (mut found, mut charset): (Option<Mime>, Option<String>) = (None, None);
    for value in values(content_type) {
        let Ok(mut mime) = Mime::from_str(value) else { continue };
        if mime.matches("*", "*") {
            continue;
        }
        let own = mime.get_parameter("charset").map(str::to_owned);
        if found.as_ref().is_none_or(|last| !mime.matches(&last.type_, &last.subtype)) {
            charset = own;
        } else if own.is_none()
            && let Some(charset) = charset.clone()
        {
            mime.parameters.push(("charset".to_owned(), charset));
        }
        found = Some(mime);
    }
    found
}

/// Returns the encoding that the joined Content-Type lines declare.
///
/// Source: Fetch standard, "legacy extract an encoding".
pub(super) fn encoding(mime: &Mime) -> Option<&'static Encoding> {
    Encoding::for_label(mime.get_parameter("charset")?.as_bytes())
}

/// Returns the encoding that the joined Content-Type lines declare; what `otherwise` gives where they hold no MIME type.
pub(super) fn declared_encoding(
    content_type: &str,
    otherwise: impl FnOnce() -> Option<&'static Encoding>,
) -> Option<&'static Encoding> {
    match plain_charset(content_type) {
        Some(label) => Encoding::for_label(label.as_bytes()),
        None => extract(content_type).map_or_else(otherwise, |mime| encoding(&mime)),
    }
}

/// Returns the charset of a value in the form that nearly all have: `text/html; charset=utf-8`, or (then it's empty) without any
/// parameter. `None` for any other form, which [`extract`] reads, at several times the cost.
fn plain_charset(value: &str) -> Option<&str> {
    // By bytes: searching a short text for a character costs more than all the rest.
    let bytes = value.as_bytes();
    let word_end = |from: usize| {
        let rest = bytes.get(from..)?;
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_');
        let length = rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        (length > 0).then_some(from + length)
    };
    let slash = word_end(0).filter(|&at| bytes.get(at) == Some(&b'/'))?;
    let end = word_end(slash + 1)?;
    if end == bytes.len() {
        return Some("");
    }
    let parameter = bytes[end..].strip_prefix(b";")?;
    let parameter = parameter.strip_prefix(b" ").unwrap_or(parameter);
    let (name, _) = parameter.split_at_checked(NAME.len())?;
    let start = bytes.len() - parameter.len() + NAME.len();
    let is_charset = name.eq_ignore_ascii_case(NAME) && word_end(start)? == bytes.len();
    value.get(start..).filter(|_| is_charset)
}

/// The parameter that names the encoding.
const NAME: &[u8] = b"charset=";

/// Returns type and subtype, in lower case.
pub(super) fn essence(mime: &Mime) -> String {
    format!("{}/{}", mime.type_, mime.subtype)
}

/// Returns whether a type is an XML MIME type. Source: MIME Sniffing standard 4.6.
pub(super) fn is_xml(essence: &str) -> bool {
    essence.ends_with("+xml") || matches!(essence, "text/xml" | "application/xml")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_common_forms_are_read_the_short_way() {
        assert_eq!(plain_charset("text/html"), Some(""));
        for value in ["text/html; charset=utf-8", "text/html;charset=utf-8", "Text/HTML; Charset=utf-8"] {
            assert_eq!(plain_charset(value), Some("utf-8"), "{value}");
        }
        for value in [
            "",
            "html",
            "/",
            "*/*",
            "text/html;",
            "text/html ;charset=utf-8",
            "text/html; charset=",
            "text/html; charset=\"utf-8\"",
            "text/html; charset=utf-8; charset=koi8-r",
            "text/html, text/plain; charset=utf-8",
            "text/html; profile=x",
            "text/html charset=utf-8",
        ] {
            assert_eq!(plain_charset(value), None, "{value}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_096, ..ProptestConfig::default() })]

        #[test]
        fn the_short_way_gives_what_the_standards_way_gives(
            form in prop::sample::select(vec!["text/html; charset=", "text/html;x=", "a/b; x=y; charset=", "TEXT/xml;CharSet=", ""]),
            label in prop::sample::select(vec!["utf-8", "KOI8-R", "", "none", "utf-8 ", "\"utf-8\""]),
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "text", "html", "xml", "/", "/", ";", "; ", " ", "\t", "charset", "charset=", "CHARSET=", "=", "utf-8",
                    "koi8-r", "utf-16", "x", "*", ",", "\"", "\\", "+", ".", "-", "_", "é", "\u{a0}", "'", "text/html", "; charset=",
                ]),
                0..7,
            ),
        ) {
            let value = [form, label, &parts.concat()].concat();
            let none = Some(encoding_rs::X_USER_DEFINED);
            let wanted = extract(&value).map_or(none, |mime| encoding(&mime));
            prop_assert_eq!(declared_encoding(&value, || none), wanted, "{:?}", value);
        }
    }
}
