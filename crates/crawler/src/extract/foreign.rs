//! Whether the reader stands in HTML, svg or math: there the same tags mean other things.
//!
//! Follows tree construction (HTML standard 13.2.6.5) as far as a stack of these elements alone allows.
//!
//! Deviation: without a stack of all open elements the end tag of an HTML element is taken to close the svg or math
//! content inside of it, whether or not such an element was open.

use super::attributes::{Attr, Attributes};
use super::element::{BREAKOUT, Element, Kind, SPECIAL};

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
}

impl Foreign {
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
        element: Element,
        attributes: &Attributes,
        self_closing: bool,
    ) -> Namespace {
        if self.open.is_empty() && !matches!(element.kind, Kind::Svg | Kind::Math | Kind::Template) {
            return Namespace::Html;
        }
        self.start_inside(element, attributes, self_closing)
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
    pub(super) fn end(&mut self, element: Element) {
        if !self.open.is_empty() {
            self.end_inside(element);
        }
    }

    fn end_inside(&mut self, element: Element) {
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
                let is_of_html = element.is(BREAKOUT)
                    || (element.is(SPECIAL)
                        && !matches!(
                            element.kind,
                            Kind::Title | Kind::Script | Kind::Style | Kind::ForeignObject
                        ));
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
