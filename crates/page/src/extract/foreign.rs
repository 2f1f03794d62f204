//! Whether the reader is in HTML, svg or math, where the same tags have different meanings.
//!
//! Follows tree construction (HTML standard 13.2.6.5) as far as a stack of these elements alone allows.
//!
//! Deviation: without a stack of all open elements it can't always be decided whether an end tag in svg or math content is that
//! of an HTML element around it, which closes the content. Where more start tags of its name came before than end tags
//! it's taken for one, if the element is special, and the page is read [another way](Foreign::other_way) as well.

use super::attributes::{Attr, Attributes};
use super::element::{BREAKOUT, Element, Kind, Name, SPECIAL};

/// Nested foreign elements that are distinguished; deeper ones are read as if they were in the deepest.
const DEPTH: usize = 512;

/// Names what an element belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Namespace {
    #[default]
    Html,
    Svg,
    Math,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Svg,
    Math,
    /// An `<annotation-xml>` whose content is math, but for `<svg>`.
    Annotation,
    /// An `<mglyph>` or `<malignmark>` of math in what else holds HTML.
    Glyph,
    /// An element of svg or math whose content is HTML again.
    HtmlIn(Kind),
    Template,
}

/// Holds the open elements that decide on the namespace, and the open templates.
#[derive(Debug)]
pub(super) struct Foreign<'n> {
    open: Vec<Open>,
    templates: usize,
    html: &'n mut OpenNames,
    is_other_way: bool,
    is_unsure: bool,
    /// Since the innermost [`Open::HtmlIn`] nothing was opened or closed: the place is right inside of it.
    is_right_inside: bool,
}

/// Counts the elements of HTML that may be open, by a hash of their names. [`Foreign`] borrows it: the reader is moved several
/// times before it begins, which would cost a small page more than its tags do.
#[derive(Debug)]
pub(super) struct OpenNames([u16; 256]);

impl Default for OpenNames {
    fn default() -> OpenNames {
        OpenNames([0; 256])
    }
}

impl OpenNames {
    #[inline]
    fn start(&mut self, name: Name) {
        let count = &mut self.0[usize::from(name.hash())];
        *count = count.saturating_add(1);
    }

    #[inline]
    fn end(&mut self, name: Name) {
        let count = &mut self.0[usize::from(name.hash())];
        *count = count.saturating_sub(1);
    }

    fn may_be_open(&self, name: Name) -> bool {
        self.0[usize::from(name.hash())] > 0
    }
}

impl<'n> Foreign<'n> {
    /// Starts outside of any element.
    pub(super) fn new(html: &'n mut OpenNames) -> Foreign<'n> {
        Foreign {
            open: Vec::new(),
            templates: 0,
            html,
            is_other_way: false,
            is_unsure: false,
            is_right_inside: false,
        }
    }

    /// Takes the other choice wherever it is undecidable what an end tag closes.
    pub(super) fn other_way(html: &'n mut OpenNames) -> Foreign<'n> {
        Foreign { is_other_way: true, ..Foreign::new(html) }
    }

    /// Returns whether it was undecidable what an end tag closes.
    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// Returns what the next text belongs to.
    #[inline]
    pub(super) fn namespace(&self) -> Namespace {
        match self.open.last() {
            Some(Open::Svg) => Namespace::Svg,
            Some(Open::Math | Open::Annotation | Open::Glyph) => Namespace::Math,
            _ => Namespace::Html,
        }
    }

    /// Returns whether `<![CDATA[` begins a section here: where the innermost open element isn't one of HTML.
    pub(super) fn has_sections(&mut self) -> bool {
        match self.open.last() {
            Some(Open::HtmlIn(_)) if self.is_right_inside => true,
            Some(Open::HtmlIn(_)) => {
                self.is_unsure = true;
                self.is_other_way
            }
            _ => self.namespace() != Namespace::Html,
        }
    }

    /// Returns whether the reader is in a `<template>`, whose content is inert.
    #[inline]
    pub(super) fn is_in_template(&self) -> bool {
        self.templates > 0
    }

    /// Takes a start tag in and tells what its element belongs to.
    #[inline]
    pub(super) fn start(
        &mut self,
        name: Name,
        element: Element,
        attributes: &Attributes,
        self_closing: bool,
    ) -> Namespace {
        if self.open.is_empty() && !matches!(element.kind, Kind::Svg | Kind::Math | Kind::Template) {
            self.html.start(name);
            return Namespace::Html;
        }
        let namespace = self.start_inside(name, element, attributes, self_closing);
        if namespace == Namespace::Html {
            self.html.start(name);
            self.is_right_inside = false;
        }
        namespace
    }

    fn start_inside(
        &mut self,
        name: Name,
        element: Element,
        attributes: &Attributes,
        self_closing: bool,
    ) -> Namespace {
        let mut namespace = self.namespace();
        let breaks_out =
            element.is(BREAKOUT) || (element.kind == Kind::Font && attributes.has(Attr::FontLook));
        if namespace != Namespace::Html && breaks_out {
            self.leave();
            namespace = Namespace::Html;
        }
        let around = self.open.last().copied();
        let opened = match (namespace, element.kind) {
            _ if is_glyph(name) && around == Some(Open::HtmlIn(Kind::MathText)) => {
                Some((Open::Glyph, Namespace::Math))
            }
            (Namespace::Math, Kind::Svg) if around == Some(Open::Annotation) => {
                Some((Open::Svg, Namespace::Svg))
            }
            (Namespace::Html | Namespace::Svg, Kind::Svg) => Some((Open::Svg, Namespace::Svg)),
            (Namespace::Html | Namespace::Math, Kind::Math) => Some((Open::Math, Namespace::Math)),
            (Namespace::Html, Kind::Template) => {
                self.templates += 1;
                self.open.push(Open::Template);
                return Namespace::Html;
            }
            (Namespace::Svg, Kind::ForeignObject | Kind::Desc | Kind::Title)
            | (Namespace::Math, Kind::MathText) => Some((Open::HtmlIn(element.kind), namespace)),
            (Namespace::Math, Kind::AnnotationXml) if is_html_annotation(attributes) => {
                Some((Open::HtmlIn(element.kind), namespace))
            }
            (Namespace::Math, Kind::AnnotationXml) => Some((Open::Annotation, namespace)),
            _ => None,
        };
        match opened {
            Some((open, namespace)) => {
                if !self_closing && self.open.len() < DEPTH {
                    self.open.push(open);
                    self.is_right_inside = true;
                }
                namespace
            }
            None => namespace,
        }
    }

    /// Takes an end tag in.
    #[inline]
    pub(super) fn end(&mut self, name: Name, element: Element) {
        if !self.open.is_empty() {
            self.end_inside(name, element);
            self.is_right_inside = false;
        }
        if self.namespace() == Namespace::Html {
            self.html.end(name);
        }
    }

    fn end_inside(&mut self, name: Name, element: Element) {
        if element.kind == Kind::Template {
            if let Some(at) = self.open.iter().rposition(|&o| o == Open::Template) {
                self.templates -= self.open[at..].iter().filter(|&&o| o == Open::Template).count();
                self.open.truncate(at);
            }
            return;
        }
        let is_own = match self.open.last() {
            Some(Open::Svg) => element.kind == Kind::Svg,
            Some(Open::Math) => element.kind == Kind::Math,
            Some(Open::Annotation) => element.kind == Kind::AnnotationXml,
            Some(Open::Glyph) => is_glyph(name),
            Some(Open::HtmlIn(kind)) => *kind == element.kind,
            _ => false,
        };
        if is_own {
            self.open.pop();
            return;
        }
        match self.open.last() {
            Some(Open::Annotation) if element.kind == Kind::Math => {
                self.open.pop();
                self.end_inside(name, element);
            }
            Some(Open::Svg | Open::Math | Open::Annotation | Open::Glyph) => {
                // Those of the document's own parts and of forms close nothing but themselves.
                let is_of_html = match name.as_bytes() {
                    b"p" | b"br" => true,
                    b"html" | b"body" | b"head" | b"form" => false,
                    _ if self.html.may_be_open(name) => {
                        self.is_unsure = true;
                        element.is(BREAKOUT | SPECIAL) != self.is_other_way
                    }
                    _ => false,
                };
                if is_of_html {
                    self.leave();
                }
            }
            _ => {}
        }
    }

    /// Closes svg and math down to the HTML around them.
    fn leave(&mut self) {
        while matches!(self.open.last(), Some(Open::Svg | Open::Math | Open::Annotation | Open::Glyph)) {
            self.open.pop();
        }
    }
}

fn is_glyph(name: Name) -> bool {
    matches!(name.as_bytes(), b"mglyph" | b"malignmark")
}

fn is_html_annotation(attributes: &Attributes) -> bool {
    attributes.bytes(Attr::Encoding).is_some_and(|e| {
        e.eq_ignore_ascii_case(b"text/html") || e.eq_ignore_ascii_case(b"application/xhtml+xml")
    })
}
