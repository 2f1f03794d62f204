//! From bytes to text: which encoding, and where it was declared.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use url::Url;

use super::{mime_type, prescan};

/// Names who decided on the encoding of a page, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// `charset=` of the Content-Type header.
    Header,
    /// `<meta charset>` or `<meta http-equiv=content-type>` within the first 1,024 bytes.
    Meta,
    /// `<?xml encoding=...?>` at the very start.
    XmlDeclaration,
    /// The bytes themselves: valid UTF-8 beyond ASCII, or chardetng's guess.
    Detected,
    /// Nothing said anything and the bytes are plain ASCII: windows-1252 by the HTML standard.
    Default,
}

impl CharsetSource {
    /// Returns the name in the page record.
    pub fn name(self) -> &'static str {
        match self {
            CharsetSource::Bom => "bom",
            CharsetSource::Header => "header",
            CharsetSource::Meta => "meta",
            CharsetSource::XmlDeclaration => "xml",
            CharsetSource::Detected => "detected",
            CharsetSource::Default => "default",
        }
    }
}

/// Holds a decoded body.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text; borrowed where the body is valid UTF-8 (or ASCII in an encoding that contains it) already.
    pub text: Cow<'a, str>,
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Who decided.
    pub source: CharsetSource,
    /// Some bytes are no text in this encoding, and became U+FFFD.
    pub had_errors: bool,
}

impl Decoded<'_> {
    /// Returns the name of the encoding in lower case: `utf-8`, `windows-1252`, `shift_jis` ...
    pub fn charset(&self) -> &'static str {
        lower_case_name(self.encoding)
    }
}

/// Bytes that the detector looks at: enough to tell, and its cost stays bounded.
const DETECT_BYTES: usize = 64 * 1024;

/// Decodes a body by byte order mark, header, meta, XML declaration, detection, in this order. Never fails: what
/// isn't valid becomes U+FFFD. Source: HTML standard 13.2.3.2, Encoding standard section 6.
///
/// Deviation: where nothing is declared the standard leaves detection to the reader; here valid UTF-8 beyond ASCII
/// counts as UTF-8, which browsers don't dare.
pub fn decode<'a>(body: &'a [u8], content_type: Option<&str>, url: &Url) -> Decoded<'a> {
    let (encoding, source, body) = if let Some((encoding, bom)) = Encoding::for_bom(body) {
        (encoding, CharsetSource::Bom, &body[bom..])
    } else {
        let (encoding, source) = declared(body, content_type).unwrap_or_else(|| detected(body, url));
        (encoding, source, body)
    };
    let (text, had_errors) = encoding.decode_without_bom_handling(body);
    Decoded { text, encoding, source, had_errors }
}

fn declared(body: &[u8], content_type: Option<&str>) -> Option<(&'static Encoding, CharsetSource)> {
    // A value that is no MIME type is searched for `charset=` as a meta element is.
    let header = || {
        let value = content_type?;
        mime_type::declared_encoding(value, || prescan::charset_in(value.as_bytes()))
    };
    None.or_else(|| Some((header()?, CharsetSource::Header)))
        .or_else(|| Some((prescan::meta(body)?, CharsetSource::Meta)))
        .or_else(|| Some((prescan::xml_declaration(body)?, CharsetSource::XmlDeclaration)))
}

fn detected(body: &[u8], url: &Url) -> (&'static Encoding, CharsetSource) {
    let is_iso_2022_jp_possible = body.contains(&0x1b);
    if body.is_ascii() && !is_iso_2022_jp_possible {
        return (WINDOWS_1252, CharsetSource::Default);
    }
    if !body.is_ascii() && std::str::from_utf8(body).is_ok() {
        return (UTF_8, CharsetSource::Detected);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    // From the first byte that tells something: a long ASCII head must not use the budget up.
    let start = body.iter().position(|&b| b >= 0x80 || b == 0x1b).unwrap_or(0).saturating_sub(64);
    let end = body.len().min(start + DETECT_BYTES);
    detector.feed(&body[start..end], end == body.len());
    let tld = url.domain().and_then(|d| d.rsplit('.').next());
    let tld = tld.filter(|t| t.bytes().all(|b| b.is_ascii_lowercase()) && !t.is_empty());
    let encoding = detector.guess(tld.map(str::as_bytes), Utf8Detection::Deny);
    let source = if body.is_ascii() && encoding == WINDOWS_1252 {
        CharsetSource::Default
    } else {
        CharsetSource::Detected
    };
    (encoding, source)
}

/// Returns the name of an encoding in lower case.
fn lower_case_name(encoding: &'static Encoding) -> &'static str {
    const NAMES: [&str; 25] = [
        "utf-8",
        "ibm866",
        "iso-8859-2",
        "iso-8859-3",
        "iso-8859-4",
        "iso-8859-5",
        "iso-8859-6",
        "iso-8859-7",
        "iso-8859-8",
        "iso-8859-8-i",
        "iso-8859-10",
        "iso-8859-13",
        "iso-8859-14",
        "iso-8859-15",
        "iso-8859-16",
        "koi8-r",
        "koi8-u",
        "gbk",
        "big5",
        "euc-jp",
        "iso-2022-jp",
        "shift_jis",
        "euc-kr",
        "utf-16be",
        "utf-16le",
    ];
    let name = encoding.name();
    NAMES.iter().find(|n| n.eq_ignore_ascii_case(name)).copied().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &[u8], content_type: Option<&str>) -> (&'static str, CharsetSource) {
        let url = Url::parse("http://e.example/").unwrap();
        let decoded = decode(body, content_type, &url);
        (decoded.charset(), decoded.source)
    }

    #[test]
    fn html_13_2_3_2_who_is_asked_first() {
        let meta = b"<meta charset=shift_jis>".as_slice();
        let xml = b"<?xml version='1.0' encoding=\"koi8-r\"?><p>".as_slice();
        let bom_and_meta = b"\xef\xbb\xbf<meta charset=shift_jis>".as_slice();
        for (body, content_type, expected) in [
            (bom_and_meta, Some("text/html; charset=koi8-u"), ("utf-8", CharsetSource::Bom)),
            (b"\xff\xfe<\0p\0", None, ("utf-16le", CharsetSource::Bom)),
            (meta, Some("text/html; charset=\"KOI8-U\""), ("koi8-u", CharsetSource::Header)),
            (meta, Some("text/html;charset=latin1"), ("windows-1252", CharsetSource::Header)),
            (meta, Some("text/html; charset=nonsense"), ("shift_jis", CharsetSource::Meta)),
            (meta, None, ("shift_jis", CharsetSource::Meta)),
            (xml, None, ("koi8-r", CharsetSource::XmlDeclaration)),
            ("<p>déjà</p>".as_bytes(), None, ("utf-8", CharsetSource::Detected)),
            (b"<p>plain", None, ("windows-1252", CharsetSource::Default)),
            (b"", None, ("windows-1252", CharsetSource::Default)),
        ] {
            assert_eq!(named(body, content_type), expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn undeclared_legacy_text_is_guessed() {
        let text = "<p>Это простой русский текст, по которому кодировку можно узнать.</p>";
        let (body, _, _) = encoding_rs::WINDOWS_1251.encode(text);
        assert_eq!(named(&body, None), ("windows-1251", CharsetSource::Detected));
        let text = "<p>これは日本語の文章です。文字コードを推定できます。</p>";
        let (body, _, _) = encoding_rs::ISO_2022_JP.encode(text);
        assert_eq!(named(&body, None), ("iso-2022-jp", CharsetSource::Detected));
    }

    #[test]
    fn every_encoding_has_a_lower_case_name() {
        for label in [
            "866",
            "l2",
            "l3",
            "l4",
            "cyrillic",
            "arabic",
            "greek",
            "hebrew",
            "logical",
            "l6",
            "l9",
            "koi",
            "koi8-u",
            "chinese",
            "big5",
            "sjis",
            "euc-kr",
            "x-euc-jp",
            "csiso2022jp",
            "utf-16",
            "utf-16be",
            "gb18030",
        ] {
            let name = lower_case_name(Encoding::for_label(label.as_bytes()).unwrap());
            assert_eq!(name, name.to_ascii_lowercase(), "{label}");
        }
    }

    #[test]
    fn valid_utf_8_is_not_copied() {
        let url = Url::parse("http://e.example/").unwrap();
        for (body, content_type) in [("é", None), ("e", None), ("é", Some("text/html;charset=utf-8"))] {
            assert!(matches!(decode(body.as_bytes(), content_type, &url).text, Cow::Borrowed(_)));
        }
    }
}
