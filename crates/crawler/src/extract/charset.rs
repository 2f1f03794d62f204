//! From octets to text: which encoding, and who said so.

use std::borrow::Cow;

/// Names who decided on the encoding of a page, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// `charset=` of the Content-Type header.
    Header,
    /// `<meta charset>` or `<meta http-equiv=content-type>` within the first 1,024 octets.
    Meta,
    /// `<?xml encoding=...?>` in the first line.
    XmlDeclaration,
    /// The octets themselves: valid UTF-8 beyond ASCII, or chardetng's guess.
    Detected,
    /// Nothing said anything and the octets are plain ASCII: windows-1252 by the HTML standard.
    Default,
}

/// Holds a decoded body.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text; borrowed where the body is valid UTF-8 already.
    pub text: Cow<'a, str>,
    /// The name of the encoding, as the Encoding standard writes it, in lower case.
    pub charset: &'static str,
    /// Who decided.
    pub source: CharsetSource,
}

/// Decodes a body. Never fails: what isn't valid becomes U+FFFD.
pub fn decode<'a>(body: &'a [u8], _content_type: Option<&str>) -> Decoded<'a> {
    Decoded { text: String::from_utf8_lossy(body), charset: "utf-8", source: CharsetSource::Default }
}
