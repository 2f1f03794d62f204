//! How a response is read: as HTML, as XML, as a page, or not at all.
//!
//! Two questions with two answers. Would a browser show a page? Then its title, text and links are extracted. Could an
//! author have put directives there? Then they are read, and apply.

use super::{mime_type, signature, sniff};

/// How the body of a response is read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent answers")]
pub struct Document {
    /// All Content-Type lines, joined with `, `; bytes beyond ASCII as ISO-8859-1.
    pub content_type: Option<String>,
    /// The declared MIME type without parameters, lower case; none where no line holds a valid one.
    /// Source: Fetch standard, "extract a MIME type".
    pub declared: Option<String>,
    /// The MIME type that a browser computes. Source: MIME Sniffing standard, section 7.
    pub computed: String,
    /// Directives are read as HTML.
    pub html: bool,
    /// Directives are read as XML.
    pub xml: bool,
    /// A browser shows a page: its title, text and links are taken.
    pub is_page: bool,
    /// What `html` and `xml` rest on.
    pub basis: Basis,
    /// A limit cut the body; to be set by who knows.
    pub is_cut: bool,
    /// Content-Encoding, for the reason why a body can't be read.
    coding: Option<String>,
}

/// Names what the readings of a [`Document`] rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Basis {
    /// The computed type: what a browser goes by.
    Type,
    /// A Content-Type value that a browser passes over, or can't read.
    OtherValue,
    /// The first bytes, which look like HTML or XML whatever the declared type.
    FirstBytes,
    /// Nothing: it isn't read.
    Nothing,
}

impl Basis {
    /// Returns the name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::OtherValue => "other content-type value",
            Self::FirstBytes => "first bytes",
            Self::Nothing => "nothing",
        }
    }
}

impl Document {
    /// Decides by the header lines and the first bytes of the body. Names of header lines in any case.
    pub fn of<'a>(lines: impl Iterator<Item = (&'a str, &'a [u8])>, body: &[u8]) -> Self {
        let (mut types, mut options, mut coding) = (Vec::new(), Vec::new(), None);
        for (name, value) in lines {
            if name.eq_ignore_ascii_case("content-type") {
                types.push(value);
            } else if name.eq_ignore_ascii_case("x-content-type-options") {
                options.push(value);
            } else if name.eq_ignore_ascii_case("content-encoding") {
                coding = Some(String::from_utf8_lossy(value).into_owned());
            }
        }
        let content_type = mime_type::joined(types.iter().copied());
        let mime = content_type.as_deref().and_then(mime_type::extract);
        let declared = mime.as_ref().map(mime_type::essence);
        let is_nosniff = mime_type::joined(options.into_iter()).is_some_and(|field| {
            mime_type::values(&field).first().is_some_and(|value| value.eq_ignore_ascii_case("nosniff"))
        });
        let computed = sniff::computed(declared.as_deref(), types.last().copied(), is_nosniff, body);
        let mut document = Self {
            content_type,
            declared,
            computed,
            html: false,
            xml: false,
            is_page: false,
            basis: Basis::Nothing,
            is_cut: false,
            coding,
        };
        document.decide(body);
        document
    }

    fn decide(&mut self, body: &[u8]) {
        let is_html = self.computed == "text/html";
        let is_xml = mime_type::is_xml(&self.computed);
        let begins = sniff::markup(body);
        self.basis = if is_html || is_xml {
            Basis::Type
        } else if self.content_type.as_deref().is_some_and(names_markup) {
            Basis::OtherValue
        } else if begins.is_some() || self.may_hide_markup() && sniff::has_markup(sniff::header(body)) {
            Basis::FirstBytes
        } else {
            return;
        };
        self.html = true;
        self.xml = !is_html || begins == Some(sniff::Markup::Xml);
        self.is_page = is_html
            || matches!(&*self.computed, "application/xhtml+xml" | "application/vnd.wap.xhtml+xml")
            || is_xml && sniff::root(body).is_some_and(|root| root.is_html && root.names_xhtml);
    }

    /// Returns whether the body was sent as HTML or XML, or passes for it with a browser.
    pub fn is_markup(&self) -> bool {
        self.basis == Basis::Type
    }

    /// Returns whether a browser reads the body as XML.
    pub(super) fn is_xml(&self) -> bool {
        mime_type::is_xml(&self.computed)
    }

    /// Returns what the body is in place of the text that it is sent as: a picture, an archive, binary data.
    pub(super) fn mismatch(&self, body: &[u8]) -> Option<String> {
        if let Some(found) = signature::binary(body) {
            return Some(found.to_owned());
        }
        let is_noise =
            self.is_markup() && sniff::markup(body).is_none() && sniff::is_noise(sniff::header(body));
        is_noise.then(|| match &self.coding {
            Some(coding) => format!("binary data (Content-Encoding: {coding})"),
            None => "binary data".to_owned(),
        })
    }

    /// Returns whether something may precede the markup: if the type isn't definite.
    fn may_hide_markup(&self) -> bool {
        matches!(&*self.computed, "text/plain" | "application/octet-stream")
    }
}

/// Returns whether a Content-Type value speaks of markup, whatever else it is: `html`, `"text/html"`, `text/plain, text/html`,
/// or of parts that may hold some.
fn names_markup(content_type: &str) -> bool {
    const WORDS: [&str; 7] = ["html", "xhtml", "htm", "xml", "svg", "multipart", "message"];
    let is_word = |word: &str| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    content_type.split(|c: char| !c.is_ascii_alphanumeric()).any(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &[u8] = b"<!DOCTYPE html><html><head><meta name=robots content=none></head>";
    const XHTML: &[u8] = b"<?xml version='1.0'?>\n<!-- c -->\n<!DOCTYPE html [<!ENTITY a 'b'>]>\
        <h:html xmlns:h='http://www.w3.org/1999/xhtml'>";

    /// `page` for a page, `read` for what isn't one and may hold directives, `not` for the rest.
    fn reading(types: &[&[u8]], body: &[u8]) -> &'static str {
        let document = Document::of(types.iter().map(|value| ("Content-Type", *value)), body);
        assert_eq!(document.html, document.basis != Basis::Nothing);
        match (document.is_page, document.html) {
            (true, true) => "page",
            (false, true) => "read",
            (false, false) => "not",
            (true, false) => panic!("a page that isn't read"),
        }
    }

    #[test]
    fn pages_are_what_a_browser_shows_as_one() {
        let types: [&[&[u8]]; 18] = [
            &[],
            &[b"text/html"],
            &[b"TEXT/HTML ; charset=utf-8"],
            &[b"text/html, text/html"],
            &[b"text/html,text/html; charset=utf-8"],
            &[b"text/html", b"text/html"],
            &[b"text/plain", b"text/html"],
            &[b"text/plain, text/html"],
            &[b"text/html, */*"],
            &[b"text/html; x=\xe9"],
            &[b""],
            &[b"html"],
            &[b"*/*"],
            &[b"unknown/unknown"],
            &[b"application/unknown"],
            &[b"\"text/html\""],
            &[b"text/html charset=utf-8"],
            &[b"\xa0"],
        ];
        for types in types {
            assert_eq!(reading(types, HTML), "page", "{types:?}");
        }
        let types: [&[u8]; 5] = [
            b"application/xhtml+xml",
            b"application/xhtml+xml; profile=\"http://www.wapforum.org/xhtml\"",
            b"application/vnd.wap.xhtml+xml",
            b"application/xml",
            b"text/xml; charset=utf-8",
        ];
        for line in types {
            assert_eq!(reading(&[line], XHTML), "page", "{line:?}");
        }
    }

    #[test]
    fn what_an_author_may_have_meant_as_markup_is_read() {
        let utf_16: Vec<u8> = HTML.iter().flat_map(|&byte| [byte, 0]).collect();
        let utf_32: Vec<u8> = HTML.iter().flat_map(|&byte| [0, 0, 0, byte]).collect();
        let late = [&b" ".repeat(5_000)[..], HTML].concat();
        let after = [&b"Warning: x in y.php\n"[..], HTML].concat();
        let cases: [(&[&[u8]], &[u8]); 28] = [
            (&[], b"<meta name=robots content=none>"),
            (&[], b"\xef\xbb\xbf<html>"),
            (&[], b"\xef\xbb\xbf \n<html>"),
            (&[], b"\0<html>"),
            (&[], b"\xc2\xa0<p>"),
            (&[], b"<svg xmlns='http://www.w3.org/2000/svg'>"),
            (&[], b"\n<?xml version='1.0'?><rss>"),
            (&[], b"<!DOCTYPE\thtml>"),
            (&[], b"+ADw-meta name+AD0-robots"),
            (&[], &utf_16),
            (&[], &utf_32),
            (&[], &late),
            (&[], &after),
            (&[b"text/plain"], HTML),
            (&[b"text/plain"], &after),
            (&[b"text/html", b"text/plain"], HTML),
            (&[b"text/html, application/pdf"], HTML),
            (&[b"application/octet-stream"], HTML),
            (&[b"application/json"], HTML),
            (&[b"image/png"], HTML),
            (&[b"image/svg+xml"], b"<svg>"),
            (&[b"application/rss+xml"], b"<?xml version='1.0'?><rss>"),
            (&[b"application/xml"], b"<svg/>"),
            (&[b"application/xml"], b"<html><head/></html>"),
            (&[b"application/xml"], b"<rss xmlns:h='http://www.w3.org/1999/xhtml'/>"),
            (&[b"multipart/x-mixed-replace; boundary=b"], b"--b\r\n\r\n<html>"),
            (&[b"message/rfc822"], b"From: a\r\n\r\n"),
            (&[b"multipart/related"], b"--b"),
        ];
        for (types, body) in cases {
            let start = String::from_utf8_lossy(&body[..body.len().min(40)]);
            assert_eq!(reading(types, body), "read", "{types:?} {start:?}");
        }
    }

    #[test]
    fn nosniff_leaves_no_page_and_directives_all_the_same() {
        let lines: [(&str, &[u8]); 2] =
            [("content-type", b"text/plain"), ("x-content-type-options", b"NoSniff")];
        let document = Document::of(lines.into_iter(), HTML);
        assert_eq!((&*document.computed, document.is_page, document.html), ("text/plain", false, true));
        let document = Document::of(lines[1..].iter().copied(), HTML);
        assert_eq!((&*document.computed, document.is_page, document.html), ("text/plain", false, true));
    }

    #[test]
    fn data_stays_data() {
        let json = b"{\"a\": \"<html><head><meta name=robots content=noindex>\"}";
        let csv = b"a,b\n<html><head>,1\n";
        let late = [&b"x".repeat(2_000)[..], HTML].concat();
        let cases: [(&[&[u8]], &[u8]); 12] = [
            (&[b"application/json"], json),
            (&[b"text/csv"], csv),
            (&[b"text/javascript"], b"document.write('<html><head>')"),
            (&[b"text/css"], b"a { content: '<html>' }"),
            (&[b"text/plain"], b"A < B, and <i>so</i> on"),
            (&[b"text/plain"], &late),
            (&[], b"plain text"),
            (&[], b""),
            (&[], b"<"),
            (&[], b"< 5"),
            (&[], b"%PDF-1.4 <html>"),
            (&[b"image/png"], b"\x89PNG\r\n\x1a\n <html>"),
        ];
        for (types, body) in cases {
            assert_eq!(reading(types, body), "not", "{types:?}");
        }
    }

    #[test]
    fn an_xml_declaration_calls_for_the_xml_reading_too() {
        let xml = |line: &[u8], body: &[u8]| Document::of([("content-type", line)].into_iter(), body).xml;
        assert!(xml(b"text/html", XHTML) && !xml(b"text/html", HTML));
        assert!(xml(b"application/xhtml+xml", HTML) && xml(b"text/plain", XHTML));
        assert!(xml(b"text/html", b"\n<?xml version='1.0'?>"));
    }
}
