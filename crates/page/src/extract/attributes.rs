//! The requested attributes of one start tag, each the first of its name.

use std::borrow::Cow;

use super::element::{Element, Kind};

/// Names the attributes that are ever read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Attr {
    Action,
    Alt,
    Background,
    Class,
    Content,
    Data,
    DataSrc,
    DataSrcset,
    Encoding,
    FontLook,
    Href,
    Hreflang,
    HttpEquiv,
    ImageSrcset,
    Lang,
    Method,
    Name,
    NoSnippet,
    Poster,
    Property,
    Rel,
    Role,
    Src,
    Srcset,
    Style,
    Title,
    Type,
    XlinkHref,
    XmlLang,
}

const ATTRS: usize = 29;
const NAME_BYTES: usize = 16;

/// Names a set of attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AttrSet(u32);

impl AttrSet {
    pub(super) const fn of(attrs: &[Attr]) -> AttrSet {
        let mut bits = 0;
        let mut i = 0;
        while i < attrs.len() {
            bits |= 1 << attrs[i] as u8;
            i += 1;
        }
        AttrSet(bits)
    }

    pub(super) const fn with(self, other: AttrSet) -> AttrSet {
        AttrSet(self.0 | other.0)
    }

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    const fn has(self, attr: Attr) -> bool {
        self.0 & (1 << attr as u8) != 0
    }
}

impl Attr {
    fn by_name(name: &[u8]) -> Option<Attr> {
        Some(match name {
            b"action" => Attr::Action,
            b"alt" => Attr::Alt,
            b"background" => Attr::Background,
            b"class" => Attr::Class,
            b"color" | b"face" | b"size" => Attr::FontLook,
            b"content" => Attr::Content,
            b"data" => Attr::Data,
            b"data-src" => Attr::DataSrc,
            b"data-srcset" => Attr::DataSrcset,
            b"data-nosnippet" => Attr::NoSnippet,
            b"encoding" => Attr::Encoding,
            b"href" => Attr::Href,
            b"hreflang" => Attr::Hreflang,
            b"http-equiv" => Attr::HttpEquiv,
            b"imagesrcset" => Attr::ImageSrcset,
            b"lang" => Attr::Lang,
            b"method" => Attr::Method,
            b"name" => Attr::Name,
            b"poster" => Attr::Poster,
            b"property" => Attr::Property,
            b"rel" => Attr::Rel,
            b"role" => Attr::Role,
            b"src" => Attr::Src,
            b"srcset" => Attr::Srcset,
            b"style" => Attr::Style,
            b"title" => Attr::Title,
            b"type" => Attr::Type,
            b"xlink:href" => Attr::XlinkHref,
            b"xml:lang" => Attr::XmlLang,
            _ => return None,
        })
    }

    /// Returns which attributes of an element the page reader wants.
    pub(super) fn wanted_of(element: Element) -> AttrSet {
        match element.kind {
            Kind::A => const { AttrSet::of(&[Attr::Href, Attr::XlinkHref, Attr::Rel, Attr::Hreflang]) },
            Kind::Area => const { AttrSet::of(&[Attr::Href, Attr::Rel, Attr::Hreflang, Attr::Alt]) },
            Kind::Link => {
                const { AttrSet::of(&[Attr::Href, Attr::Rel, Attr::Hreflang, Attr::Title, Attr::ImageSrcset]) }
            }
            Kind::Base => const { AttrSet::of(&[Attr::Href]) },
            Kind::Meta => {
                const { AttrSet::of(&[Attr::Name, Attr::HttpEquiv, Attr::Property, Attr::Content]) }
            }
            Kind::Html => const { AttrSet::of(&[Attr::Lang, Attr::XmlLang]) },
            Kind::Frame | Kind::Iframe | Kind::Embed | Kind::Audio | Kind::Track => {
                const { AttrSet::of(&[Attr::Src, Attr::Title]) }
            }
            Kind::Image => {
                const {
                    AttrSet::of(&[
                        Attr::Href,
                        Attr::XlinkHref,
                        Attr::Src,
                        Attr::Srcset,
                        Attr::Alt,
                        Attr::DataSrc,
                        Attr::DataSrcset,
                    ])
                }
            }
            Kind::Img | Kind::Source => {
                const { AttrSet::of(&[Attr::Src, Attr::Srcset, Attr::Alt, Attr::DataSrc, Attr::DataSrcset]) }
            }
            Kind::Body | Kind::Table | Kind::TBody | Kind::Tr | Kind::Td => {
                const { AttrSet::of(&[Attr::Background]) }
            }
            Kind::Script => const { AttrSet::of(&[Attr::Src, Attr::Type]) },
            Kind::Video => const { AttrSet::of(&[Attr::Src, Attr::Poster]) },
            Kind::Object => const { AttrSet::of(&[Attr::Data]) },
            Kind::Form => const { AttrSet::of(&[Attr::Action, Attr::Method, Attr::Rel]) },
            Kind::Input => const { AttrSet::of(&[Attr::Src, Attr::Type, Attr::Alt]) },
            _ => AttrSet::default(),
        }
    }

    /// Returns which attributes the way into and out of svg and math content depends on.
    pub(super) fn steering(element: Element) -> AttrSet {
        match element.kind {
            Kind::Font => const { AttrSet::of(&[Attr::FontLook]) },
            Kind::AnnotationXml => const { AttrSet::of(&[Attr::Encoding]) },
            _ => AttrSet::default(),
        }
    }
}

/// Holds the wanted attributes of the tag that is being read. Character references are resolved by the tokenizer.
#[derive(Debug)]
pub(super) struct Attributes {
    wanted: AttrSet,
    seen: AttrSet,
    cut: AttrSet,
    /// Their values hold references that couldn't be resolved.
    unread: AttrSet,
    name: [u8; NAME_BYTES],
    name_len: usize,
    /// An attribute's name is being read, or was read and not looked up yet.
    naming: bool,
    current: Option<Attr>,
    spans: [(usize, usize); ATTRS],
    values: Vec<u8>,
    value_bytes: usize,
}

impl Attributes {
    /// Makes an empty set whose values are kept up to `value_bytes` bytes.
    pub(super) fn new(value_bytes: usize) -> Attributes {
        Attributes {
            wanted: AttrSet::default(),
            seen: AttrSet::default(),
            cut: AttrSet::default(),
            unread: AttrSet::default(),
            name: [0; NAME_BYTES],
            name_len: 0,
            naming: false,
            current: None,
            spans: [(0, 0); ATTRS],
            values: Vec::new(),
            value_bytes,
        }
    }

    /// Starts a new tag.
    #[inline]
    pub(super) fn start(&mut self, wanted: AttrSet) {
        self.wanted = wanted;
        self.seen = AttrSet::default();
        self.cut = AttrSet::default();
        self.unread = AttrSet::default();
        self.naming = false;
        self.current = None;
        self.values.clear();
    }

    #[inline]
    pub(super) fn start_name(&mut self) {
        if self.wanted.is_empty() {
            return;
        }
        self.end_name();
        self.current = None;
        self.naming = true;
        self.name_len = 0;
    }

    #[inline]
    pub(super) fn push_name(&mut self, part: &[u8]) {
        if self.wanted.is_empty() {
            return;
        }
        if let Some(room) = self.name.get_mut(self.name_len..self.name_len + part.len()) {
            room.copy_from_slice(part);
            self.name_len += part.len();
        } else {
            self.name_len = NAME_BYTES + 1; // longer than any wanted name
        }
    }

    #[inline]
    pub(super) fn end_name(&mut self) {
        if !self.naming {
            return;
        }
        self.naming = false;
        let attr = self.name.get(..self.name_len).and_then(Attr::by_name);
        if let Some(attr) = attr.filter(|&a| self.wanted.has(a) && !self.seen.has(a)) {
            self.seen = self.seen.with(AttrSet::of(&[attr]));
            self.spans[attr as usize] = (self.values.len(), self.values.len());
            self.current = Some(attr);
        }
    }

    #[inline]
    pub(super) fn push_value(&mut self, part: &[u8]) {
        let Some(attr) = self.current else { return };
        let (start, end) = self.spans[attr as usize];
        let room = self.value_bytes - (end - start);
        let part = part.get(..room).map_or(part, |fitting| {
            if fitting.len() < part.len() {
                self.cut = self.cut.with(AttrSet::of(&[attr]));
            }
            fitting
        });
        self.values.extend_from_slice(part);
        self.spans[attr as usize].1 = self.values.len();
    }

    /// Returns the attribute whose value comes next, if it's wanted.
    #[inline]
    pub(super) fn current(&self) -> Option<Attr> {
        self.current
    }

    /// Notes that the value of the current attribute couldn't be read whole.
    pub(super) fn mark_unread(&mut self) {
        if let Some(attr) = self.current {
            self.unread = self.unread.with(AttrSet::of(&[attr]));
        }
    }

    #[inline]
    pub(super) fn has(&self, attr: Attr) -> bool {
        self.seen.has(attr)
    }

    /// Returns a value as bytes.
    pub(super) fn bytes(&self, attr: Attr) -> Option<&[u8]> {
        let (start, end) = self.spans[attr as usize];
        self.seen.has(attr).then(|| &self.values[start..end])
    }

    /// Returns a value as text; a character that the limit cut in two becomes U+FFFD.
    pub(super) fn get(&self, attr: Attr) -> Option<Cow<'_, str>> {
        self.bytes(attr).map(String::from_utf8_lossy)
    }

    /// Returns whether a value has references that couldn't be resolved; they stay as written.
    pub(super) fn is_unread(&self, attr: Attr) -> bool {
        self.unread.has(attr)
    }

    /// Returns whether a value was longer than the limit.
    pub(super) fn was_cut(&self, attr: Attr) -> bool {
        self.cut.has(attr)
    }
}
