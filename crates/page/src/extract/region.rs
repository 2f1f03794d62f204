//! Where an element that was entered ends, without a tree.
//!
//! Counts elements of the same name. Elements whose end tag may be omitted (HTML standard 13.1.2.4) end where it
//! would be. What is never closed lasts to the end of the page.

use super::element::{BLOCK, CLOSES_P, Element, Kind, Name, VOID};

/// Holds the place inside of one element, or outside.
#[derive(Debug, Default)]
pub(super) struct Region {
    inside: Option<Inside>,
}

#[derive(Debug)]
struct Inside {
    name: Name,
    kind: Kind,
    /// Elements of its own name open in it, itself included.
    depth: u32,
    /// Lists or tables open in it.
    containers: u32,
}

impl Region {
    #[inline]
    pub(super) fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Enters an element, unless it can have no content or the place is inside of one already.
    pub(super) fn enter(&mut self, name: Name, element: Element) {
        if self.inside.is_none() && !element.is(VOID) {
            self.inside = Some(Inside { name, kind: element.kind, depth: 1, containers: 0 });
        }
    }

    /// Takes a start tag in; call it before [`enter`](Self::enter).
    #[inline]
    pub(super) fn start(&mut self, name: Name, element: Element) {
        let Some(inside) = &mut self.inside else { return };
        if inside.containers == 0 && ends_before_start(inside.kind, element) {
            self.inside = None;
        } else if is_container_of(inside.kind, element.kind) {
            inside.containers += 1;
        } else if name == inside.name && inside.containers == 0 {
            inside.depth += 1;
        }
    }

    /// Takes an end tag in.
    #[inline]
    pub(super) fn end(&mut self, name: Name, element: Element) {
        let Some(inside) = &mut self.inside else { return };
        if is_container_of(inside.kind, element.kind) {
            if inside.containers == 0 {
                self.inside = None;
            } else {
                inside.containers -= 1;
            }
        } else if name == inside.name && inside.containers == 0 {
            inside.depth -= 1;
            if inside.depth == 0 {
                self.inside = None;
            }
        } else if inside.containers == 0 && ends_at_end(inside.kind, element) {
            self.inside = None;
        }
    }
}

fn ends_before_start(kind: Kind, next: Element) -> bool {
    match kind {
        Kind::P => next.is(CLOSES_P),
        Kind::Li => next.kind == Kind::Li,
        Kind::Dt | Kind::Dd => matches!(next.kind, Kind::Dt | Kind::Dd),
        Kind::Td => matches!(next.kind, Kind::Td | Kind::Tr | Kind::TBody),
        Kind::Tr => matches!(next.kind, Kind::Tr | Kind::TBody),
        Kind::TBody | Kind::Caption => next.kind == Kind::TBody,
        Kind::Option => matches!(next.kind, Kind::Option | Kind::Optgroup),
        Kind::Optgroup => next.kind == Kind::Optgroup,
        _ => false,
    }
}

fn ends_at_end(kind: Kind, ended: Element) -> bool {
    match kind {
        // Its own start would have been ended by a block inside of it: this one is around it.
        Kind::P => ended.is(BLOCK),
        Kind::Td => matches!(ended.kind, Kind::Tr | Kind::TBody),
        Kind::Tr => ended.kind == Kind::TBody,
        Kind::Option => ended.kind == Kind::Optgroup,
        _ => false,
    }
}

fn is_container_of(kind: Kind, other: Kind) -> bool {
    match kind {
        Kind::Li => matches!(other, Kind::Ul | Kind::Ol),
        Kind::Dt | Kind::Dd => other == Kind::Dl,
        Kind::Td | Kind::Tr | Kind::TBody | Kind::Caption => other == Kind::Table,
        Kind::Option | Kind::Optgroup => other == Kind::Select,
        _ => false,
    }
}
