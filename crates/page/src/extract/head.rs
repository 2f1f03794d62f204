//! Whether the head of a page ends within the part that was received.

use url::Url;

use super::attributes::AttrSet;
use super::element::{BLOCK, Element, FORMATTING, Kind, Name};
use super::foreign::Namespace;
use super::tags::{self, StartTag, TagSink};
use super::{Document, decode, sniff};

/// Returns whether the head ends within a text that was cut. An XML document without an `html` element has none.
pub(super) fn ends(text: &str, document: &Document, body: &[u8]) -> bool {
    if !document.is_page && document.xml && sniff::root(body).is_some_and(|root| !root.is_html) {
        return true;
    }
    let mut head = HeadSink { has_ended: false, in_noscript: false };
    tags::read(text, &mut head, 0);
    head.has_ended
}

/// Returns whether the head of a page ends within the part of its body that came. False for what is read as no page.
pub fn has_whole_head(document: &Document, body: &[u8], url: &Url) -> bool {
    document.html && ends(&decode(body, document.content_type.as_deref(), url).text, document, body)
}

struct HeadSink {
    has_ended: bool,
    /// Its content ends no head where scripts run.
    in_noscript: bool,
}

impl TagSink for HeadSink {
    fn wants(&self, _: Element) -> AttrSet {
        AttrSet::default()
    }

    fn wants_comments(&self) -> bool {
        false
    }

    fn start(&mut self, tag: &StartTag<'_>) {
        self.has_ended |= tag.namespace == Namespace::Html
            && !self.in_noscript
            && tag.element.is(BLOCK | FORMATTING)
            && !matches!(tag.name.as_bytes(), b"html" | b"head");
        self.in_noscript |= tag.name.as_bytes() == b"noscript";
    }

    fn end(&mut self, name: Name, _: Element, _: usize) {
        self.has_ended |= name.as_bytes() == b"head" && !self.in_noscript;
        self.in_noscript &= name.as_bytes() != b"noscript";
    }

    fn text(&mut self, _: &[u8], _: Kind, _: Namespace) {}
    fn comment(&mut self, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_its_end_tag_or_with_the_body() {
        let html = Document::of([("content-type", &b"text/html"[..])].into_iter(), b"");
        for (text, ended) in [
            ("<html><head><title>t</title></head>", true),
            ("<html><head><title>t</title><body class=x>", true),
            ("<title>t</title><p>", true),
            ("<frameset>", true),
            ("<title>t</title><a href=x>", true),
            ("<noscript><a href=x>", false),
            ("<noscript><img></noscript><b>", true),
            ("<head><noscript><p>enable scripts", false),
            ("<head><noscript></head><body>", false),
            ("<head><noscript><p>enable scripts</noscript><p>", true),
            ("<html><head><title>t</title><script>'</head>'", false),
            ("<head><style>x</style><!-- </head> -->", false),
            ("<head><noscript><img src=i></noscript>", false),
            ("<head", false),
            ("", false),
        ] {
            assert_eq!(ends(text, &html, text.as_bytes()), ended, "{text}");
        }
        let xml = |body: &[u8]| Document::of([("content-type", &b"application/xml"[..])].into_iter(), body);
        assert!(ends("<rss>", &xml(b"<rss>"), b"<rss>"));
        assert!(!ends("<html>", &xml(b"<html>"), b"<html>"));
        assert!(!ends("<?xml", &xml(b"<?xml"), b"<?xml"));
    }
}
