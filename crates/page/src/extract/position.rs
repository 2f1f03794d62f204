//! In which part of the page the reader is: navigation, header, content and so on, determined without a tree.
//!
//! Keeps of the stack of open elements (HTML standard 13.2.4.2) the blocks and what bounds the scope of an end tag, so
//! that an unclosed part ends where a tree would end it.
//!
//! Deviation: forms, buttons, rows and inline elements aren't kept. A part that isn't closed in one of them continues
//! after it, up to the end of the cell or block around.

use super::attributes::{Attr, AttrSet};
use super::element::{BLOCK, CLOSES_P, Element, FORMATTING, Kind, LANDMARK, Name, SCOPE, SPECIAL, VOID};
use super::foreign::Namespace;
use super::link::Position;
use super::tags::StartTag;

/// Elements kept; what is opened deeper has the position of the deepest.
const DEPTH: usize = 256;

/// Follows a page and tells the position of the place reached.
#[derive(Debug)]
pub(super) struct Landmarks {
    open: Vec<Open>,
    /// Elements that are open beyond the deepest kept.
    beyond: usize,
    /// An element was kept for its role alone.
    has_odd: bool,
    in_head: bool,
}

/// Holds an open element.
#[derive(Debug, Clone, Copy)]
struct Open {
    name: Name,
    element: Element,
    position: Option<Position>,
    /// A header or footer in here is one of a part of the page (HTML-AAM 1.0, 3.5).
    sectioned: bool,
}

/// What an element makes of the place inside of it.
enum Part {
    Is(Position),
    /// Header or footer, unless of a part of the page.
    OfPage(Position),
    /// Content where nothing else is known.
    Article,
    Section,
}

impl Landmarks {
    pub(super) fn new() -> Landmarks {
        Landmarks { open: Vec::with_capacity(32), beyond: 0, has_odd: false, in_head: true }
    }

    /// Returns which attributes of an element tell its position. Not of `<span>` and formatting elements: they are many
    /// and carry no role of this kind.
    #[inline]
    pub(super) fn wants(element: Element) -> AttrSet {
        if element.is(BLOCK | LANDMARK) || element == Element::default() {
            const { AttrSet::of(&[Attr::Role]) }
        } else {
            AttrSet::default()
        }
    }

    /// Returns the position of the place reached.
    pub(super) fn position(&self) -> Option<Position> {
        if self.in_head { Some(Position::Head) } else { self.open.last().and_then(|open| open.position) }
    }

    /// Takes a start tag in. Call it before the tag's own position is asked for.
    #[inline]
    pub(super) fn start(&mut self, tag: &StartTag<'_>) {
        if self.in_head {
            self.in_head = stays_in_head(tag.name, tag.element);
        }
        if is_kept(tag.element) || tag.attributes.has(Attr::Role) {
            self.start_block(tag);
        }
    }

    fn start_block(&mut self, tag: &StartTag<'_>) {
        let StartTag { name, element, .. } = *tag;
        if tag.namespace != Namespace::Html || element.is(VOID | FORMATTING) || element.kind == Kind::Html {
            return;
        }
        self.end_implied(element);
        if is_of_table(element.kind) && !self.clear_to_table() {
            // Without a table around them such tags are passed over.
            return;
        }
        let part = tag.attributes.bytes(Attr::Role).and_then(part_by_role);
        let part = part.or_else(|| part_by_name(name, element));
        if part.is_none() && !is_pushed(element) {
            return;
        }
        if self.open.len() >= DEPTH {
            self.beyond += 1;
            return;
        }
        let (mut position, mut sectioned) =
            self.open.last().map_or((None, false), |open| (open.position, open.sectioned));
        match part {
            Some(Part::Is(part)) => {
                position = Some(part);
                sectioned |= !matches!(part, Position::Header | Position::Footer);
            }
            Some(Part::OfPage(part)) if !sectioned => position = Some(part),
            Some(Part::Article) => {
                position = position.or(Some(Position::Content));
                sectioned = true;
            }
            Some(Part::Section) => sectioned = true,
            Some(Part::OfPage(_)) | None => {}
        }
        self.has_odd |= !is_kept(element);
        self.open.push(Open { name, element, position, sectioned });
    }

    /// Takes an end tag in.
    #[inline]
    pub(super) fn end(&mut self, name: Name, element: Element) {
        if self.in_head && matches!(name.as_bytes(), b"body" | b"html" | b"br") {
            self.in_head = false;
        }
        if !self.open.is_empty() && (is_kept(element) || self.has_odd) {
            self.end_block(name, element);
        }
    }

    fn end_block(&mut self, name: Name, element: Element) {
        if self.beyond > 0 {
            self.beyond -= usize::from(is_pushed(element));
            return;
        }
        if is_of_table(element.kind) {
            self.end_cell();
            return;
        }
        let is_bound = |around: Element| match element.kind {
            Kind::Table => false,
            Kind::Li => around.is(SCOPE) || matches!(around.kind, Kind::Ul | Kind::Ol),
            _ if element.is(SPECIAL) => around.is(SCOPE),
            _ => around.is(SPECIAL),
        };
        for at in (0..self.open.len()).rev() {
            if self.open[at].name == name {
                self.open.truncate(at);
                return;
            }
            if is_bound(self.open[at].element) {
                return;
            }
        }
    }

    /// Adds text that isn't in an element of raw text.
    #[inline]
    pub(super) fn text(&mut self, text: &[u8]) {
        if self.in_head && !text.trim_ascii().is_empty() {
            self.in_head = false;
        }
    }

    /// Ends what ends without an end tag before another element starts (HTML standard 13.1.2.4).
    fn end_implied(&mut self, next: Element) {
        if next.is(CLOSES_P) && self.open.last().is_some_and(|open| open.element.kind == Kind::P) {
            self.open.pop();
        }
        let same: fn(Kind) -> bool = match next.kind {
            Kind::Li => |kind| kind == Kind::Li,
            Kind::Dt | Kind::Dd => |kind| matches!(kind, Kind::Dt | Kind::Dd),
            // A table outside of a cell ends the one around it.
            Kind::Table => {
                if let Some(at) = self.innermost_table().filter(|&at| !self.has_cell(at)) {
                    self.open.truncate(at);
                }
                return;
            }
            _ => return,
        };
        for at in (0..self.open.len()).rev() {
            let Open { name, element, .. } = self.open[at];
            if same(element.kind) {
                self.open.truncate(at);
                return;
            }
            if element.is(SPECIAL) && !matches!(name.as_bytes(), b"address" | b"div" | b"p") {
                return;
            }
        }
    }

    fn innermost_table(&self) -> Option<usize> {
        self.open.iter().rposition(|open| open.element.kind == Kind::Table)
    }

    /// Closes what is open in the innermost table; says whether there is a table.
    fn clear_to_table(&mut self) -> bool {
        let table = self.innermost_table();
        if let Some(at) = table {
            self.open.truncate(at + 1);
        }
        table.is_some()
    }

    /// The same where a cell or caption is open in it.
    fn end_cell(&mut self) {
        if let Some(at) = self.innermost_table().filter(|&at| self.has_cell(at)) {
            self.open.truncate(at + 1);
        }
    }

    fn has_cell(&self, table: usize) -> bool {
        self.open.get(table + 1).is_some_and(|open| is_of_table(open.element.kind))
    }
}

/// Returns whether an element is kept whatever its role, or ends kept ones.
#[inline]
fn is_kept(element: Element) -> bool {
    element.is(CLOSES_P | SCOPE) || matches!(element.kind, Kind::Tr | Kind::TBody)
}

fn is_pushed(element: Element) -> bool {
    is_kept(element)
        && !matches!(element.kind, Kind::Tr | Kind::TBody | Kind::P | Kind::Form | Kind::Plaintext)
}

/// Returns whether a start tag leaves the reader in the head (HTML standard 13.2.6.4.3 to 13.2.6.4.6).
fn stays_in_head(name: Name, element: Element) -> bool {
    match element.kind {
        Kind::Html
        | Kind::Base
        | Kind::Link
        | Kind::Meta
        | Kind::Noframes
        | Kind::Noscript
        | Kind::Script
        | Kind::Style
        | Kind::Template
        | Kind::Title => true,
        Kind::Other => matches!(name.as_bytes(), b"head" | b"basefont" | b"bgsound"),
        _ => false,
    }
}

/// Reads a role attribute: the first word of it that names a landmark (WAI-ARIA 1.2, 5.3.4 and 8.1).
///
/// Deviation: other roles leave the element what it is by its name.
fn part_by_role(role: &[u8]) -> Option<Part> {
    role.split(u8::is_ascii_whitespace).find_map(|word| {
        Some(match word.to_ascii_lowercase().as_slice() {
            b"navigation" => Part::Is(Position::Nav),
            b"banner" => Part::Is(Position::Header),
            b"contentinfo" => Part::Is(Position::Footer),
            b"complementary" => Part::Is(Position::Aside),
            b"main" => Part::Is(Position::Content),
            b"article" => Part::Article,
            b"region" => Part::Section,
            _ => return None,
        })
    })
}

fn part_by_name(name: Name, element: Element) -> Option<Part> {
    if !element.is(LANDMARK) {
        return None;
    }
    Some(match name.as_bytes() {
        b"nav" => Part::Is(Position::Nav),
        b"main" => Part::Is(Position::Content),
        b"aside" => Part::Is(Position::Aside),
        b"article" => Part::Article,
        b"header" => Part::OfPage(Position::Header),
        b"footer" => Part::OfPage(Position::Footer),
        _ => Part::Section,
    })
}

#[inline]
fn is_of_table(kind: Kind) -> bool {
    matches!(kind, Kind::Td | Kind::Tr | Kind::TBody | Kind::Caption)
}
