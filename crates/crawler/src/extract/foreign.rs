//! Whether the reader stands in HTML, svg or math: there the same tags mean other things.
//!
//! Follows tree construction (HTML standard 13.2.6.5) as far as a stack of these elements alone allows.
//!
//! Deviation: without a stack of all open elements it can't always be told whether an end tag in svg or math content is that
//! of an HTML element around it, which closes the content. Where more start tags of its name came before than end tags
//! it's taken for one, if the element is special, and the page is read [another way](Foreign::other_way) as well.

use super::attributes::{Attr, Attributes};
use super::element::{BREAKOUT, Element, Kind, Name, SPECIAL};

/// Nested foreign elements told apart; deeper ones are read as if they stood in the deepest.
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
    /// An element of svg or math whose content is HTML again.
    HtmlIn(Kind),
    Template,
}

/// Holds the open elements that decide on the namespace, and the open templates.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    open: Vec<Open>,
    templates: usize,
    html: OpenNames,
    is_other_way: bool,
    is_unsure: bool,
}

/// Counts the elements of HTML that may be open, by a hash of their names.
#[derive(Debug)]
struct OpenNames([u16; 256]);

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

impl Foreign {
    /// Takes the other choice wherever it can't be told what an end tag closes.
    pub(super) fn other_way() -> Foreign {
        Foreign { is_other_way: true, ..Foreign::default() }
    }

    /// Says whether it couldn't be told what an end tag closes.
    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure
    }

    /// Says what the next text belongs to.
    #[inline]
    pub(super) fn namespace(&self) -> Namespace {
        match self.open.last() {
            Some(Open::Svg) => Namespace::Svg,
            Some(Open::Math) => Namespace::Math,
            _ => Namespace::Html,
        }
    }

    /// Says whether the reader stands in a `<template>`, whose content is inert.
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
        let namespace = self.start_inside(element, attributes, self_closing);
        if namespace == Namespace::Html {
            self.html.start(name);
        }
        namespace
    }

    fn start_inside(&mut self, element: Element, attributes: &Attributes, self_closing: bool) -> Namespace {
        let mut namespace = self.namespace();
        let breaks_out =
            element.is(BREAKOUT) || (element.kind == Kind::Font && attributes.has(Attr::FontLook));
        if namespace != Namespace::Html && breaks_out {
            self.leave();
            namespace = Namespace::Html;
        }
        let opened = match (namespace, element.kind) {
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
            _ => None,
        };
        match opened {
            Some((open, namespace)) => {
                if !self_closing && self.open.len() < DEPTH {
                    self.open.push(open);
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
        match self.open.last() {
            Some(Open::Svg) if element.kind == Kind::Svg => drop(self.open.pop()),
            Some(Open::Math) if element.kind == Kind::Math => drop(self.open.pop()),
            Some(Open::HtmlIn(kind)) if *kind == element.kind => drop(self.open.pop()),
            Some(Open::Svg | Open::Math) => {
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
        while matches!(self.open.last(), Some(Open::Svg | Open::Math)) {
            self.open.pop();
        }
    }
}

fn is_html_annotation(attributes: &Attributes) -> bool {
    attributes.bytes(Attr::Encoding).is_some_and(|e| {
        e.eq_ignore_ascii_case(b"text/html") || e.eq_ignore_ascii_case(b"application/xhtml+xml")
    })
}
