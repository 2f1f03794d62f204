//! The tokenizer's side of reading: html5gum's tokens become tags, text and comments, and the tokenizer is informed in
//! which state to go on after a tag, as tree construction would tell it (HTML standard 13.2.6.4).

use std::convert::Infallible;

use html5gum::{Emitter, Error, State, Tokenizer};

use super::attributes::{Attr, AttrSet, Attributes};
use super::element::{Element, Kind, Name};
use super::foreign::{Foreign, Namespace, OpenNames};
use super::reader::{CallAgain, DocumentReader};

/// Holds one start tag.
#[derive(Debug)]
pub(super) struct StartTag<'a> {
    pub(super) name: Name,
    pub(super) element: Element,
    pub(super) namespace: Namespace,
    pub(super) attributes: &'a Attributes,
    /// It ends in `/>`.
    pub(super) is_self_closing: bool,
    /// Bytes before its `<`.
    pub(super) position: usize,
}

/// Takes what [`read`] finds. Text comes in pieces of any size, which may cut a character in two.
pub(super) trait TagSink {
    /// Returns which attributes of an element are wanted.
    fn wants(&self, element: Element) -> AttrSet;
    /// Whether the content of `<template>` is wanted, too.
    const SEES_TEMPLATES: bool = false;
    /// Whether comments are wanted.
    fn wants_comments(&self) -> bool;
    fn start(&mut self, tag: &StartTag<'_>);
    fn end(&mut self, name: Name, element: Element, position: usize);
    /// `within` is the element of raw text (`title`, `script`, ...) that it is in, else `Other`.
    fn text(&mut self, text: &[u8], within: Kind, namespace: Namespace);
    fn comment(&mut self, comment: &[u8]);
    /// The text has a NUL, so it isn't a text.
    fn nul(&mut self) {}
    /// Records a part of the document that could not be read and may have directives: `what` is its
    /// text. The XML reading alone has such parts.
    fn unread(&mut self, _what: &str, _position: usize) {}
}

/// Bytes of a comment handed on: the ones that matter are short.
const COMMENT_BYTES: usize = 64;

/// Why a document has to be read in another way as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a reading of its own")]
pub(super) struct Doubts {
    /// It was undecidable whether svg or math content ends: a tree builder may see other tags. See [`read_other_way`].
    pub(super) foreign: bool,
    /// An element that holds raw text was written as an empty one (`<script/>`): its author may not know that what follows
    /// is taken for text, and XML has tags there.
    pub(super) empty_raw: bool,
    /// An element that holds raw text began in a `<select>`, where tree builders ignore its tag or don't. See [`read_plain_select`].
    pub(super) select: bool,
    /// A `<noscript>` ends elsewhere for a reader that runs scripts, to which its content is raw text. See [`read_with_scripts`].
    pub(super) noscript: bool,
}

/// Where tree builders differ from one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Standard,
    PlainSelect,
    WithScripts,
}

/// Reads a document from start to end, in time linear in its length.
/// Attribute values are cut at `value_bytes`.
pub(super) fn read<S: TagSink>(html: &str, sink: &mut S, value_bytes: usize) -> Doubts {
    read_in(html, sink, value_bytes, Foreign::new(&mut OpenNames::default()), Way::Standard)
}

/// Reads a document by the rules of 2024 (HTML 13.2.6.4.16, "in select"): a tag in a `<select>` that isn't one of its own parts is ignored, and no raw text follows it.
pub(super) fn read_plain_select<S: TagSink>(html: &str, sink: &mut S, value_bytes: usize) {
    read_in(html, sink, value_bytes, Foreign::new(&mut OpenNames::default()), Way::PlainSelect);
}

/// Reads a document as a reader does that runs scripts: the content of `<noscript>` is raw text (HTML 13.2.6.4.4).
pub(super) fn read_with_scripts<S: TagSink>(html: &str, sink: &mut S, value_bytes: usize) {
    read_in(html, sink, value_bytes, Foreign::new(&mut OpenNames::default()), Way::WithScripts);
}

/// Reads a document with the other choice wherever it is undecidable whether svg or math content ends.
pub(super) fn read_other_way<S: TagSink>(html: &str, sink: &mut S, value_bytes: usize) {
    read_in(html, sink, value_bytes, Foreign::other_way(&mut OpenNames::default()), Way::Standard);
}

fn read_in<S: TagSink>(
    html: &str,
    sink: &mut S,
    value_bytes: usize,
    foreign: Foreign<'_>,
    way: Way,
) -> Doubts {
    let mut doubts = Doubts::default();
    let reader = TagReader {
        sink,
        name: Name::default(),
        element: Element::default(),
        is_end: false,
        self_closing: false,
        named: false,
        attributes: Attributes::new(value_bytes),
        foreign,
        doubts: &mut doubts,
        raw: Kind::Other,
        raw_name: Name::default(),
        comment: Vec::new(),
        in_comment: false,
        in_select: false,
        way,
        html: html.as_bytes(),
        noscript: None,
        offset: 0,
        tag_position: 0,
    };
    // It gives no tokens: the reader has them. Each error is the request to call it again.
    for turn in Tokenizer::new_with_emitter(DocumentReader::new(html.as_bytes()), reader) {
        let Err(CallAgain) = turn;
    }
    doubts
}

#[expect(clippy::struct_excessive_bools, reason = "the tokenizer tells of a tag in single steps")]
struct TagReader<'s, S> {
    sink: &'s mut S,
    name: Name,
    element: Element,
    is_end: bool,
    self_closing: bool,
    /// The name is complete and looked up.
    named: bool,
    attributes: Attributes,
    foreign: Foreign<'s>,
    doubts: &'s mut Doubts,
    /// The element whose content is raw text, while it's open.
    raw: Kind,
    raw_name: Name,
    comment: Vec<u8>,
    in_comment: bool,
    in_select: bool,
    way: Way,
    html: &'s [u8],
    /// Where the content of the `<noscript>` begins that is open.
    noscript: Option<usize>,
    offset: usize,
    tag_position: usize,
}

impl<S: TagSink> TagReader<'_, S> {
    #[inline]
    fn start_tag_of(&mut self, is_end: bool) {
        self.name.clear();
        self.is_end = is_end;
        self.self_closing = false;
        self.named = false;
    }

    #[inline]
    fn end_of_name(&mut self) {
        if self.named {
            return;
        }
        self.named = true;
        self.element = Element::by_name(self.name.as_bytes());
        let wanted = if self.is_end {
            AttrSet::default()
        } else {
            self.sink.wants(self.element).with(Attr::steering(self.element))
        };
        self.attributes.start(wanted);
    }

    #[inline]
    fn is_visible(&self) -> bool {
        S::SEES_TEMPLATES || !self.foreign.is_in_template()
    }

    fn emit_start(&mut self) -> Option<State> {
        self.attributes.end_name();
        let was_visible = self.is_visible();
        let namespace = self.foreign.start(self.name, self.element, &self.attributes, self.self_closing);
        if was_visible {
            self.sink.start(&StartTag {
                name: self.name,
                element: self.element,
                namespace,
                attributes: &self.attributes,
                is_self_closing: self.self_closing,
                position: self.tag_position,
            });
        }
        if namespace != Namespace::Html {
            return None;
        }
        let kind = self.element.kind;
        match kind {
            Kind::Select => self.in_select = !self.in_select,
            Kind::Input | Kind::Textarea => self.in_select = false,
            _ => {}
        }
        if kind == Kind::Noscript {
            if self.way != Way::WithScripts {
                self.noscript = self.noscript.or(was_visible.then_some(self.offset));
                return None;
            }
            (self.raw, self.raw_name) = (kind, self.name);
            return Some(State::RawText);
        }
        let state = raw_state(kind)?;
        if self.in_select && kind != Kind::Script {
            self.doubts.select = true;
            if self.way == Way::PlainSelect {
                return None;
            }
        }
        self.raw = self.element.kind;
        self.raw_name = self.name;
        self.doubts.empty_raw |= self.self_closing;
        Some(state)
    }

    fn emit_end(&mut self) {
        self.raw = Kind::Other;
        if self.element.kind == Kind::Noscript {
            self.end_noscript(self.tag_position);
        }
        self.in_select &= self.element.kind != Kind::Select;
        self.foreign.end(self.name, self.element);
        if self.is_visible() {
            self.sink.end(self.name, self.element, self.tag_position);
        }
    }

    /// Notes whether the `<noscript>` that is open ends at `end` for every reader: raw text ends at the first end tag of its name, whatever
    /// is open in it.
    fn end_noscript(&mut self, end: usize) {
        let Some(begin) = self.noscript.take().filter(|_| !self.doubts.noscript) else { return };
        let content = self.html.get(begin..end).unwrap_or_default();
        let is_end = |at: usize| {
            content.get(at + 2..at + 10).is_some_and(|name| name.eq_ignore_ascii_case(b"noscript"))
        };
        self.doubts.noscript = memchr::memmem::find_iter(content, b"</").any(is_end)
            || !self.is_visible()
            || self.foreign.namespace() != Namespace::Html;
    }
}

/// Returns whether the content of an HTML element is raw text.
pub(super) fn is_raw(kind: Kind) -> bool {
    raw_state(kind).is_some()
}

/// Returns how the content of an HTML element is tokenized. `noscript` isn't here: its content is raw text with scripts alone.
#[inline]
fn raw_state(kind: Kind) -> Option<State> {
    match kind {
        Kind::Title | Kind::Textarea => Some(State::RcData),
        Kind::Style | Kind::Xmp | Kind::Iframe | Kind::Noembed | Kind::Noframes => Some(State::RawText),
        Kind::Script => Some(State::ScriptData),
        Kind::Plaintext => Some(State::PlainText),
        _ => None,
    }
}

impl<S: TagSink> Emitter for TagReader<'_, S> {
    type Token = Infallible;

    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {
        self.end_noscript(self.html.len());
        self.doubts.foreign = self.foreign.is_unsure();
    }
    #[inline]
    fn emit_error(&mut self, _: Error) {}
    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }
    #[inline]
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    #[inline]
    fn emit_string(&mut self, text: &[u8]) {
        if text == b"\0" {
            self.sink.nul();
        } else if self.is_visible() {
            self.sink.text(text, self.raw, self.foreign.namespace());
        }
    }

    #[inline]
    fn start_open_tag(&mut self) {
        self.tag_position = self.offset.saturating_sub(1);
    }
    #[inline]
    fn init_start_tag(&mut self) {
        self.start_tag_of(false);
    }
    #[inline]
    fn init_end_tag(&mut self) {
        self.start_tag_of(true);
    }
    #[inline]
    fn push_tag_name(&mut self, part: &[u8]) {
        self.name.push(part);
    }
    #[inline]
    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }
    #[inline]
    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_of_name();
        if self.is_end {
            self.emit_end();
            None
        } else {
            self.emit_start()
        }
    }
    #[inline]
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end && self.raw != Kind::Other && self.name == self.raw_name
    }

    #[inline]
    fn init_attribute(&mut self) {
        self.end_of_name();
        self.attributes.start_name();
    }
    #[inline]
    fn init_attribute_value(&mut self) {
        self.attributes.end_name();
    }
    #[inline]
    fn push_attribute_name(&mut self, part: &[u8]) {
        self.attributes.push_name(part);
    }
    #[inline]
    fn push_attribute_value(&mut self, part: &[u8]) {
        self.attributes.push_value(part);
    }

    #[inline]
    fn init_comment(&mut self) {
        self.comment.clear();
        self.in_comment = self.sink.wants_comments() && self.is_visible();
    }
    #[inline]
    fn push_comment(&mut self, part: &[u8]) {
        if self.in_comment {
            let room = COMMENT_BYTES - self.comment.len();
            self.comment.extend_from_slice(part.get(..room).unwrap_or(part));
        }
    }
    #[inline]
    fn emit_current_comment(&mut self) {
        if self.in_comment {
            self.sink.comment(&self.comment);
        }
    }

    fn init_doctype(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}

    #[inline]
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.foreign.has_sections()
    }

    #[inline]
    fn move_position(&mut self, by: isize) {
        self.offset = self.offset.wrapping_add_signed(by);
    }
}
