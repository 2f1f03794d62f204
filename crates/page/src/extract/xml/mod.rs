//! Reads a document as XML, into the same sink as the HTML reading: elements of XHTML by their namespace, whatever
//! their prefix.
//!
//! Lenient where XML parsers are not: it reads on after errors, takes names in any case, and takes elements in no
//! namespace for those of HTML where they may be meant so. A document can only lose by it: what is found here
//! restricts, as what the HTML reading finds does.
//!
//! Deviation: style sheets (XSLT), `XInclude`, external entities and `xml:base` are not applied.

mod dtd;
mod entity;
mod names;
mod scan;

use super::attributes::{Attr, Attributes};
use super::element::{Element, Kind, Name, VOID};
use super::foreign::Namespace;
use super::tags::{StartTag, TagSink, is_raw};
use dtd::Dtd;
use entity::Meaning;
use names::{Namespaces, Vocabulary};
use scan::{Scanner, Tag, Token};

/// Reads a document from start to end, in time linear in its length.
/// Attribute values are cut at `value_bytes`.
pub(super) fn read<S: TagSink>(xml: &str, sink: &mut S, value_bytes: usize) {
    let mut reader = XmlReader {
        sink,
        attributes: Attributes::new(value_bytes),
        names: Namespaces::default(),
        dtd: Dtd::new(),
        depth: 0,
        is_html: None,
        templates: 0,
        raw: None,
        included_at: None,
        is_unread: false,
    };
    reader.run(xml, 0);
}

struct XmlReader<'s, S> {
    sink: &'s mut S,
    attributes: Attributes,
    names: Namespaces,
    dtd: Dtd,
    /// Open elements.
    depth: usize,
    /// Whether the root is named `html`: then elements in no namespace are HTML's.
    is_html: Option<bool>,
    /// Open `<template>` elements, whose content is inert.
    templates: usize,
    /// The open element that holds raw text in HTML.
    raw: Option<Raw>,
    /// The position of the reference whose entity is being read.
    included_at: Option<usize>,
    /// The sink was informed that something could not be read.
    is_unread: bool,
}

#[derive(Debug, Clone, Copy)]
struct Raw {
    kind: Kind,
    /// Elements open inside of it: their text is not its own.
    inside: usize,
}

impl<S: TagSink> XmlReader<'_, S> {
    /// Reads a document, or the text of an entity within it.
    fn run(&mut self, text: &str, depth: usize) {
        let mut scanner = Scanner::new(text);
        while let Some(token) = scanner.next() {
            let position = self.included_at.unwrap_or(scanner.position());
            match token {
                Token::Text(text) | Token::CData(text) => self.text(text),
                Token::Reference(name) => self.reference(name, position, depth),
                Token::Comment(comment) => {
                    if self.templates == 0 && self.sink.wants_comments() {
                        self.sink.comment(comment.as_bytes());
                    }
                }
                Token::Doctype(doctype) => {
                    if !self.dtd.read(doctype) {
                        self.unread("<!DOCTYPE", position);
                    }
                }
                Token::Start(tag) => self.start(&tag, position),
                Token::End(name) => self.end(name, position),
            }
        }
    }

    /// Informs the sink that a part of the document could not be read, which may have directives.
    fn unread(&mut self, what: &str, position: usize) {
        if !std::mem::replace(&mut self.is_unread, true) {
            self.sink.unread(what, position);
        }
    }

    fn text(&mut self, text: &str) {
        let within = match self.raw {
            Some(Raw { kind, inside: 0 }) => kind,
            Some(_) => return,
            None => Kind::Other,
        };
        if self.templates == 0 {
            self.sink.text(text.as_bytes(), within, Namespace::Html);
        }
    }

    fn reference(&mut self, name: &str, position: usize, depth: usize) {
        let value = match self.dtd.meaning(name) {
            Meaning::Text(text) => return self.text(&text),
            Meaning::Entity(value) => value,
            Meaning::Unknown => return,
        };
        if !self.dtd.spend(value.text.len()) || depth >= dtd::DEPTH {
            if !value.is_plain {
                self.unread(&format!("&{name};"), position);
            }
        } else if value.is_plain {
            self.text(&value.text);
        } else {
            let outer = self.included_at.replace(position);
            self.run(&value.text, depth + 1);
            self.included_at = outer;
        }
    }

    /// Takes in the namespaces that an element declares.
    fn declare(&mut self, tag: &Tag<'_>) {
        if memchr::memmem::find(tag.attributes.as_bytes(), b"xmlns").is_some() {
            for (name, raw) in scan::Attributes::new(tag.attributes) {
                self.bind(name, raw);
            }
        }
        for number in 0.. {
            let Some((name, raw)) = self.dtd.default(tag.name, number) else { break };
            let is_given = scan::Attributes::new(tag.attributes).any(|(given, _)| given == name);
            let name = name.strip_prefix("xmlns").filter(|_| !is_given).map(|_| name.to_owned());
            if let Some(name) = name {
                self.bind(&name, &raw);
            }
        }
    }

    fn bind(&mut self, attribute: &str, raw: &str) {
        let prefix = match attribute.strip_prefix("xmlns") {
            Some("") => "",
            Some(rest) if rest.starts_with(':') => &rest[1..],
            _ => return,
        };
        let mut namespace = String::new();
        let is_whole = self.dtd.resolve(raw, &mut |part| namespace.push_str(part));
        self.names.bind(prefix, is_whole.then_some(&*namespace), self.depth);
    }

    /// Returns where an element belongs, for the sink; nothing where it's none of its business.
    fn namespace(&self, vocabulary: Vocabulary, kind: Kind) -> Option<Namespace> {
        let is_html = self.is_html == Some(true);
        match vocabulary {
            Vocabulary::Html | Vocabulary::MaybeHtml => Some(Namespace::Html),
            Vocabulary::Svg => Some(Namespace::Svg),
            Vocabulary::Math => Some(Namespace::Math),
            Vocabulary::None => (is_html || kind == Kind::Meta).then_some(Namespace::Html),
            Vocabulary::Other => None,
        }
    }

    fn start(&mut self, tag: &Tag<'_>, position: usize) {
        self.depth += 1;
        self.declare(tag);
        let (prefix, local) = split(tag.name);
        let (name, element) = element(local);
        if let Some(raw) = &mut self.raw {
            raw.inside += usize::from(!tag.is_self_closing);
        }
        self.is_html.get_or_insert_with(|| local.eq_ignore_ascii_case("html"));
        let vocabulary = self.names.vocabulary(prefix);
        if let Some(namespace) = self.namespace(vocabulary, element.kind) {
            self.start_known(tag, name, element, namespace, position);
        }
        if element.kind == Kind::Template && vocabulary == Vocabulary::Html && !tag.is_self_closing {
            // What may be one isn't enough: its content would be omitted.
            self.templates += 1;
        }
        if tag.is_self_closing {
            self.close_one();
        }
    }

    fn start_known(
        &mut self,
        tag: &Tag<'_>,
        name: Name,
        element: Element,
        namespace: Namespace,
        position: usize,
    ) {
        // Links in the text of a script that isn't well-formed are none; a directive there may be one.
        if self.templates == 0 && (self.raw.is_none() || element.kind == Kind::Meta) {
            self.attributes.start(self.sink.wants(element));
            for (name, raw) in scan::Attributes::new(tag.attributes) {
                self.attribute(name, raw);
            }
            for number in 0.. {
                let Some((name, raw)) = self.dtd.default(tag.name, number) else { break };
                let name = name.to_owned();
                self.attribute(&name, &raw);
            }
            self.sink.start(&StartTag {
                name,
                element,
                namespace,
                attributes: &self.attributes,
                is_self_closing: tag.is_self_closing,
                position,
            });
            if tag.is_self_closing && !element.is(VOID) {
                self.sink.end(name, element, position);
            }
        }
        let is_open_raw = namespace == Namespace::Html && is_raw(element.kind) && !tag.is_self_closing;
        if is_open_raw && self.raw.is_none() {
            self.raw = Some(Raw { kind: element.kind, inside: 0 });
        }
    }

    fn attribute(&mut self, name: &str, raw: &str) {
        let attributes = &mut self.attributes;
        attributes.start_name();
        for byte in name.bytes() {
            attributes.push_name(&[byte.to_ascii_lowercase()]);
        }
        attributes.end_name();
        let Some(attr) = attributes.current() else { return };
        let is_whole = self.dtd.resolve(raw, &mut |part| attributes.push_value(part.as_bytes()));
        if !is_whole {
            attributes.mark_unread();
            if attr == Attr::Rel {
                attributes.push_value(b" nofollow");
            }
        }
    }

    fn end(&mut self, written: &str, position: usize) {
        let (_, local) = split(written);
        let (name, element) = element(local);
        if element.kind == Kind::Template {
            self.templates = self.templates.saturating_sub(1);
        }
        match &mut self.raw {
            Some(raw) if raw.kind == element.kind => self.raw = None,
            Some(raw) => raw.inside = raw.inside.saturating_sub(1),
            None => {}
        }
        if self.templates == 0 && self.raw.is_none() {
            self.sink.end(name, element, position);
        }
        self.close_one();
    }

    fn close_one(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.names.close_to(self.depth);
    }
}

/// Splits a name into its prefix and its local part.
fn split(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

fn element(local: &str) -> (Name, Element) {
    let mut name = Name::default();
    for byte in local.bytes() {
        name.push(&[byte.to_ascii_lowercase()]);
    }
    (name, Element::by_name(name.as_bytes()))
}
