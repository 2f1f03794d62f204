//! Properties of an element by its name.

/// Longest element name that is distinguished; the rest of a longer one is not kept.
const NAME_BYTES: usize = 16;

/// Holds an element name in lower case, cut at 16 bytes: no element that matters here has a longer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Name {
    bytes: [u8; NAME_BYTES],
    len: u8,
}

impl Name {
    pub(super) fn clear(&mut self) {
        *self = Name::default();
    }

    #[inline]
    pub(super) fn push(&mut self, part: &[u8]) {
        let start = usize::from(self.len);
        let n = part.len().min(NAME_BYTES - start);
        self.bytes[start..start + n].copy_from_slice(&part[..n]);
        self.len += n as u8;
    }

    /// Returns a number that mostly differs between names.
    #[inline]
    pub(super) fn hash(self) -> u8 {
        let start = u64::from_le_bytes(self.bytes.first_chunk().copied().unwrap_or_default());
        (start.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }

    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Names the elements that are treated each in its own way; everything else is `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    #[default]
    Other,
    A,
    AnnotationXml,
    Applet,
    Area,
    Audio,
    Base,
    Body,
    Caption,
    Dd,
    Desc,
    Dl,
    Dt,
    Embed,
    Font,
    ForeignObject,
    Form,
    Frame,
    Html,
    Iframe,
    Image,
    Img,
    Input,
    Li,
    Link,
    Math,
    MathText,
    Meta,
    Metadata,
    Noembed,
    Noframes,
    Noindex,
    Noscript,
    Object,
    Ol,
    Optgroup,
    Option,
    P,
    Plaintext,
    Script,
    Select,
    Source,
    Style,
    Svg,
    TBody,
    Table,
    Td,
    Template,
    Textarea,
    Title,
    Tr,
    Track,
    Ul,
    Video,
    Xmp,
}

/// Never has content.
pub(super) const VOID: u8 = 1;
/// Its start tag ends svg and math content (HTML standard 13.2.6.5).
pub(super) const BREAKOUT: u8 = 2;
/// Starts a new line: text before and after it is not one word.
pub(super) const BLOCK: u8 = 4;
/// Its start tag ends an open `<p>`.
pub(super) const CLOSES_P: u8 = 8;
/// "Special" in the HTML standard: end tags of ordinary elements don't reach beyond it.
pub(super) const SPECIAL: u8 = 16;
/// "Formatting" in the HTML standard: it is reopened if it wasn't closed.
pub(super) const FORMATTING: u8 = 32;
/// Bounds the scope in which end tags look for their element.
pub(super) const SCOPE: u8 = 64;
/// Names a part of the page: `<nav>`, `<main>` and so on.
pub(super) const LANDMARK: u8 = 128;

/// Holds what is known of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Element {
    pub(super) kind: Kind,
    traits: u8,
}

impl Element {
    #[inline]
    pub(super) fn is(self, traits: u8) -> bool {
        self.traits & traits != 0
    }

    /// Looks a lower-case name up. Source: HTML standard 13.1.2 (void), 13.2.4.2 (special, formatting, scope),
    /// 13.2.6.4.7 (closes p), 13.2.6.5 (breakout), 15.3 (block).
    pub(super) fn by_name(name: &[u8]) -> Element {
        const P_BLOCK: u8 = BLOCK | CLOSES_P | SPECIAL;
        let (kind, traits) = match name {
            b"a" => (Kind::A, FORMATTING),
            b"annotation-xml" => (Kind::AnnotationXml, SPECIAL | SCOPE),
            b"area" => (Kind::Area, VOID | SPECIAL),
            b"audio" => (Kind::Audio, 0),
            b"base" => (Kind::Base, VOID | SPECIAL),
            b"caption" => (Kind::Caption, BLOCK | SPECIAL | SCOPE),
            b"dd" => (Kind::Dd, P_BLOCK | BREAKOUT),
            b"dt" => (Kind::Dt, P_BLOCK | BREAKOUT),
            b"dl" => (Kind::Dl, P_BLOCK | BREAKOUT),
            b"desc" => (Kind::Desc, 0),
            b"embed" => (Kind::Embed, VOID | SPECIAL | BREAKOUT),
            b"font" => (Kind::Font, FORMATTING),
            b"foreignobject" => (Kind::ForeignObject, SPECIAL | SCOPE),
            b"form" => (Kind::Form, P_BLOCK),
            b"frame" => (Kind::Frame, VOID | SPECIAL),
            b"html" => (Kind::Html, BLOCK | SPECIAL | SCOPE),
            b"iframe" => (Kind::Iframe, SPECIAL),
            b"image" => (Kind::Image, 0),
            b"img" => (Kind::Img, VOID | SPECIAL | BREAKOUT),
            b"input" => (Kind::Input, VOID | SPECIAL),
            b"li" => (Kind::Li, P_BLOCK | BREAKOUT),
            b"link" => (Kind::Link, VOID | SPECIAL),
            b"math" => (Kind::Math, 0),
            b"mi" | b"mo" | b"mn" | b"ms" | b"mtext" => (Kind::MathText, SPECIAL | SCOPE),
            b"meta" => (Kind::Meta, VOID | SPECIAL | BREAKOUT),
            b"metadata" => (Kind::Metadata, 0),
            b"noembed" => (Kind::Noembed, SPECIAL),
            b"noframes" => (Kind::Noframes, SPECIAL),
            b"noindex" => (Kind::Noindex, 0),
            b"object" => (Kind::Object, SPECIAL | SCOPE),
            b"applet" | b"marquee" => (Kind::Applet, SPECIAL | SCOPE),
            b"ol" => (Kind::Ol, P_BLOCK | BREAKOUT),
            b"ul" | b"menu" => (Kind::Ul, P_BLOCK | BREAKOUT),
            b"optgroup" => (Kind::Optgroup, BLOCK),
            b"option" => (Kind::Option, BLOCK),
            b"p" => (Kind::P, P_BLOCK | BREAKOUT),
            b"plaintext" => (Kind::Plaintext, P_BLOCK),
            b"script" => (Kind::Script, SPECIAL),
            b"select" => (Kind::Select, SPECIAL | SCOPE),
            b"source" => (Kind::Source, VOID | SPECIAL),
            b"style" => (Kind::Style, SPECIAL),
            b"svg" => (Kind::Svg, 0),
            b"table" => (Kind::Table, P_BLOCK | BREAKOUT | SCOPE),
            b"tbody" | b"thead" | b"tfoot" => (Kind::TBody, BLOCK | SPECIAL),
            b"td" | b"th" => (Kind::Td, BLOCK | SPECIAL | SCOPE),
            b"tr" => (Kind::Tr, BLOCK | SPECIAL),
            b"template" => (Kind::Template, SPECIAL | SCOPE),
            b"textarea" => (Kind::Textarea, SPECIAL | BLOCK),
            b"title" => (Kind::Title, SPECIAL),
            b"track" => (Kind::Track, VOID | SPECIAL),
            b"video" => (Kind::Video, 0),
            b"xmp" => (Kind::Xmp, P_BLOCK),

            b"article" | b"aside" | b"footer" | b"header" | b"main" | b"nav" | b"section" => {
                (Kind::Other, P_BLOCK | LANDMARK)
            }
            b"address" | b"details" | b"dir" | b"fieldset" | b"figcaption" | b"figure" | b"hgroup"
            | b"search" | b"summary" => (Kind::Other, P_BLOCK),
            b"blockquote" | b"center" | b"div" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6"
            | b"listing" | b"pre" => (Kind::Other, P_BLOCK | BREAKOUT),
            b"body" => (Kind::Body, BLOCK | SPECIAL | BREAKOUT),
            b"head" => (Kind::Other, BLOCK | SPECIAL | BREAKOUT),
            b"hr" => (Kind::Other, VOID | P_BLOCK | BREAKOUT),
            b"br" => (Kind::Other, VOID | BLOCK | SPECIAL | BREAKOUT),
            b"frameset" => (Kind::Other, BLOCK | SPECIAL),
            b"b" | b"big" | b"code" | b"em" | b"i" | b"nobr" | b"s" | b"small" | b"strike" | b"strong"
            | b"tt" | b"u" => (Kind::Other, FORMATTING | BREAKOUT),
            b"ruby" | b"span" | b"sub" | b"sup" | b"var" => (Kind::Other, BREAKOUT),
            b"col" | b"keygen" | b"bgsound" | b"basefont" | b"param" | b"wbr" => {
                (Kind::Other, VOID | SPECIAL)
            }
            b"noscript" => (Kind::Noscript, SPECIAL),
            b"button" | b"colgroup" => (Kind::Other, SPECIAL),
            _ => (Kind::Other, 0),
        };
        Element { kind, traits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_and_doesnt_pass_for_a_short_one() {
        let mut name = Name::default();
        name.push(b"plain");
        name.push(b"text-and-much-more-than-that");
        assert_eq!(name.as_bytes(), b"plaintext-and-mu");
        assert_eq!(Element::by_name(name.as_bytes()), Element::default());
    }
}
