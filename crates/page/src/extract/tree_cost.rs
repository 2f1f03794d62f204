//! What a tree of a page would cost, estimated before one is built.
//!
//! A tree isn't bounded by its markup: formatting elements (`<b>`, `<font>`, ...) that aren't closed are reopened
//! in every block that follows, so that 41 KB can make 300 MB (servo/html5ever#788). The estimate follows the stack of
//! open elements and the list of active formatting elements (HTML standard 13.2.4.2 and 13.2.4.3) from tags alone and
//! is never below what the tree builder makes.

use super::attributes::AttrSet;
use super::element::{CLOSES_P, Element, FORMATTING, Kind, Name, SCOPE, SPECIAL, VOID};
use super::foreign::Namespace;
use super::tags::{self, StartTag, TagSink};

/// Nodes that one misnested end tag can make: eight rounds of the adoption agency, four copies in each.
const MISNESTED: usize = 32;
/// Attributes that take about the memory of one node.
const ATTRIBUTES_A_NODE: usize = 4;
/// So many comparisons of names take the time in which a node is made, about. Each attribute of a tag is compared with those before it.
const COMPARISONS_A_NODE: usize = 4096;
/// Document, doctype, html, head and body.
const ALWAYS: usize = 5;

/// Holds what a tree would cost, or what it cost when a limit was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeCost {
    pub(super) nodes: usize,
    pub(super) depth: usize,
}

/// Estimates the tree of a page; stops counting beyond the limits. Linear in the page for a given depth limit.
pub(super) fn estimate(html: &str, nodes: usize, depth: usize) -> TreeCost {
    let cost = TreeCost { nodes: ALWAYS, depth: 0 };
    let mut counter = Counter {
        html: html.as_bytes(),
        attributes: 0,
        cost,
        limits: TreeCost { nodes, depth },
        open: Vec::new(),
        active: Vec::new(),
        has_templates: false,
        in_text: false,
    };
    tags::read(html, &mut counter, 0);
    counter.cost
}

#[derive(Debug)]
struct Counter<'a> {
    html: &'a [u8],
    /// Attributes that aren't counted as nodes yet.
    attributes: usize,
    cost: TreeCost,
    limits: TreeCost,
    open: Vec<(Name, Element)>,
    /// Active formatting elements; an empty name is a marker.
    active: Vec<Name>,
    /// There was one, open or not.
    has_templates: bool,
    in_text: bool,
}

impl Counter<'_> {
    fn is_over(&self) -> bool {
        self.cost.nodes > self.limits.nodes || self.cost.depth > self.limits.depth
    }

    /// Counts the attributes of the tag that begins here. End tags may have some, too.
    fn count_attributes(&mut self, position: usize) {
        let count = attributes(self.html.get(position..).unwrap_or_default());
        self.attributes += count;
        self.cost.nodes += count * count / COMPARISONS_A_NODE + self.attributes / ATTRIBUTES_A_NODE;
        self.attributes %= ATTRIBUTES_A_NODE;
    }

    /// Formatting elements that may be opened again now: those after the last marker.
    fn reopened(&self) -> usize {
        self.active.iter().rev().take_while(|n| !n.as_bytes().is_empty()).count()
    }

    /// Levels of the tree down to the innermost open element. The content of a template is in a fragment, a level of its own.
    fn depth(&self) -> usize {
        let is_template = |&&(_, element): &&(Name, Element)| element.kind == Kind::Template;
        let fragments = if self.has_templates { self.open.iter().filter(is_template).count() } else { 0 };
        self.open.len() + fragments
    }

    fn open_at(
        &self,
        is_it: impl Fn(Name, Element) -> bool,
        is_barrier: impl Fn(Element) -> bool,
    ) -> Option<usize> {
        for (at, &(name, element)) in self.open.iter().enumerate().rev() {
            if is_it(name, element) {
                return Some(at);
            }
            if is_barrier(element) {
                return None;
            }
        }
        None
    }

    /// Ends the elements whose end tag may be omitted before this one.
    fn end_implied(&mut self, element: Element) {
        if element.is(CLOSES_P) {
            let p = self.open_at(|_, e| e.kind == Kind::P, |e| e.is(SCOPE));
            self.open.truncate(p.unwrap_or(self.open.len()));
        }
        let same = |e: Element| match element.kind {
            Kind::Li => e.kind == Kind::Li,
            Kind::Dd | Kind::Dt => matches!(e.kind, Kind::Dd | Kind::Dt),
            Kind::Td => e.kind == Kind::Td,
            Kind::Tr => e.kind == Kind::Tr,
            Kind::TBody => e.kind == Kind::TBody,
            Kind::Option => e.kind == Kind::Option,
            _ => false,
        };
        let is_of_table = matches!(element.kind, Kind::Td | Kind::Tr | Kind::TBody);
        let is_barrier = |e: Element| {
            if is_of_table { matches!(e.kind, Kind::Table | Kind::Template) } else { e.is(SPECIAL) }
        };
        if let Some(at) = self.open_at(|_, e| same(e), is_barrier) {
            if element.kind == Kind::Td {
                self.clear_to_marker();
            }
            self.open.truncate(at);
        }
    }

    fn clear_to_marker(&mut self) {
        let marker = self.active.iter().rposition(|n| n.as_bytes().is_empty());
        self.active.truncate(marker.unwrap_or(0));
    }

    /// Ends a formatting element, as the adoption agency would.
    fn end_formatting(&mut self, name: Name) {
        if self.open.last().is_some_and(|&(n, _)| n == name) {
            self.open.pop();
        } else {
            self.cost.nodes += MISNESTED;
            if let Some(at) = self.open_at(|n, _| n == name, |e| e.is(SCOPE)) {
                if self.open[at..].iter().any(|(_, e)| e.is(SPECIAL)) {
                    self.open.remove(at);
                } else {
                    self.open.truncate(at);
                }
            }
        }
        if let Some(at) = self.active.iter().rposition(|&n| n == name || n.as_bytes().is_empty())
            && self.active[at] == name
        {
            self.active.remove(at);
        }
    }
}

/// Counts the attributes of a tag, as many as a tokenizer may find or some more (HTML standard 13.2.5.32 to 13.2.5.40). It doesn't ask the
/// tokenizer that reads pages, which needn't go through all of them.
fn attributes(tag: &[u8]) -> usize {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let mut at = tag.iter().skip(2).position(is_end).map_or(tag.len(), |length| length + 2);
    let (mut count, mut in_name, mut may_have_value) = (0, false, false);
    while let Some(byte) = tag.get(at).copied() {
        at += 1;
        match byte {
            b'>' => break,
            b'/' => (in_name, may_have_value) = (false, false),
            _ if byte.is_ascii_whitespace() => in_name = false,
            b'=' if may_have_value => {
                at += value(&tag[at..]);
                (in_name, may_have_value) = (false, false);
            }
            _ => {
                count += usize::from(!in_name);
                (in_name, may_have_value) = (true, true);
            }
        }
    }
    count
}

/// The length of an attribute's value behind its `=`, with blanks and quotes.
fn value(text: &[u8]) -> usize {
    let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let text = &text[blanks..];
    let length = if let Some((quote @ (b'"' | b'\''), rest)) = text.split_first() {
        memchr::memchr(*quote, rest).map_or(text.len(), |length| length + 2)
    } else {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'>';
        text.iter().position(is_end).unwrap_or(text.len())
    };
    blanks + length
}

fn sets_marker(element: Element) -> bool {
    matches!(element.kind, Kind::Td | Kind::Caption | Kind::Object | Kind::Applet | Kind::Template)
}

impl TagSink for Counter<'_> {
    const SEES_TEMPLATES: bool = true;

    fn wants(&self, _: Element) -> AttrSet {
        AttrSet::default()
    }

    fn wants_comments(&self) -> bool {
        true
    }

    fn start(&mut self, tag: &StartTag<'_>) {
        if self.is_over() {
            return;
        }
        self.in_text = false;
        self.count_attributes(tag.position);
        let element = tag.element;
        if tag.namespace != Namespace::Html {
            self.cost.nodes += 1 + self.reopened();
            self.open.push((tag.name, Element::default()));
            self.cost.depth = self.cost.depth.max(self.depth());
            return;
        }
        self.end_implied(element);
        if element.kind == Kind::A && self.active.contains(&tag.name) {
            self.end_formatting(tag.name);
        }
        let implied = if matches!(element.kind, Kind::Td | Kind::Tr | Kind::TBody) { 2 } else { 0 };
        let is_template = element.kind == Kind::Template;
        self.has_templates |= is_template;
        self.cost.nodes += 1 + implied + usize::from(is_template) + self.reopened();
        if element.is(FORMATTING) {
            self.active.push(tag.name);
        }
        if sets_marker(element) {
            self.active.push(Name::default());
        }
        if !element.is(VOID) {
            self.open.push((tag.name, element));
            self.cost.depth = self.cost.depth.max(self.depth() + implied);
        }
    }

    fn end(&mut self, name: Name, element: Element, position: usize) {
        if self.is_over() {
            return;
        }
        self.in_text = false;
        self.count_attributes(position);
        self.cost.nodes += 1;
        if element.is(FORMATTING) {
            return self.end_formatting(name);
        }
        let is_of_table =
            matches!(element.kind, Kind::Table | Kind::Td | Kind::Tr | Kind::TBody | Kind::Caption);
        let is_barrier = |e: Element| {
            if is_of_table {
                matches!(e.kind, Kind::Table | Kind::Template)
            } else if element.is(SPECIAL) {
                e.is(SCOPE)
            } else {
                e.is(SPECIAL)
            }
        };
        if let Some(at) = self.open_at(|n, _| n == name, is_barrier) {
            if sets_marker(element) {
                self.clear_to_marker();
            }
            self.open.truncate(at);
        }
    }

    fn text(&mut self, _: &[u8], _: Kind, _: Namespace) {
        if !self.in_text && !self.is_over() {
            self.in_text = true;
            self.cost.nodes += 1 + self.reopened();
        }
    }

    fn comment(&mut self, _: &[u8]) {
        self.in_text = false;
        self.cost.nodes += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::extract::select::build_tree;
    use crate::extract::timed_element::TimeLimit;

    fn real(html: &str) -> TreeCost {
        let tree = build_tree(html, &TimeLimit::new(std::time::Duration::MAX)).unwrap();
        let mut cost = TreeCost { nodes: 0, depth: 0 };
        for node in tree.tree.nodes() {
            cost.nodes += 1;
            cost.depth = cost.depth.max(node.ancestors().count());
        }
        cost
    }

    fn estimated(html: &str) -> TreeCost {
        estimate(html, usize::MAX, usize::MAX)
    }

    #[test]
    fn the_estimate_of_ordinary_markup_is_close() {
        let html = "<div><h2>x <a href=y>y</a></h2><p>one <b>two</b> three<ul><li>four<li>five</ul>\
            <table><tr><td><font>six<td>seven</table></div>\n"
            .repeat(100);
        let (real, estimated) = (real(&html), estimated(&html));
        assert!(estimated.nodes >= real.nodes && estimated.nodes <= 2 * real.nodes, "{estimated:?} {real:?}");
        assert!(
            estimated.depth + 4 >= real.depth && estimated.depth <= 2 * real.depth,
            "{estimated:?} {real:?}"
        );
    }

    #[test]
    fn a_page_that_blows_up_is_seen() {
        let open = (0..200).map(|n| format!("<b {n}>")).collect::<Vec<_>>().concat();
        let html = format!("<p>{open}{}", "<p>x".repeat(200));
        assert!(html.len() < 2_500 && real(&html).nodes > 40_000);
        assert!(estimated(&html).nodes >= real(&html).nodes);
        let depth = estimate(&"<ul><li>".repeat(100_000), usize::MAX, 256).depth;
        assert_eq!(depth, 257);
    }

    #[test]
    fn the_content_of_a_template_is_a_node_and_a_level_of_its_own() {
        let html = "<template>".repeat(40);
        let (real, estimated) = (real(&html), estimated(&html));
        assert!(real.nodes > 80 && real.depth >= 80, "{real:?}");
        assert!(estimated.nodes >= real.nodes && estimated.depth + 4 >= real.depth, "{estimated:?} {real:?}");
    }

    #[test]
    fn attributes_count_as_nodes_and_many_in_a_tag_as_what_it_takes_to_compare_them() {
        let many = |count: usize, value: &str| {
            let mut attributes = String::new();
            for n in 0..count {
                let _ = write!(attributes, " a{n}{value}");
            }
            attributes
        };
        for value in ["", "=x", "=\"x > y z\"", " = 'x > y z'", "=x/y", "/"] {
            let plain = estimated("<p>").nodes;
            let nodes = |html: &str| estimated(html).nodes - plain;
            assert_eq!(nodes(&format!("<p{}>", many(40, value))), 10, "{value}");
            assert_eq!(nodes(&format!("<p{}>", many(512, value))), 128 + 64, "{value}");
            // The end tag itself counts for one.
            assert_eq!(nodes(&format!("<p></p{}>", many(40, value))), 11, "{value}");
        }
        assert!(estimated(&format!("<p{}", many(300_000, ""))).nodes <= ALWAYS, "no tag without its end");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn no_attribute_of_a_tag_is_missed(
            parts in prop::collection::vec(prop::sample::select(&[" ", "/", "=", "\"", "'", "a", "b", " c", " d=", " e=\"", "\n"][..]), 0..40),
        ) {
            let html = format!("<p{} \"'>", parts.concat());
            let tree = build_tree(&html, &TimeLimit::new(std::time::Duration::MAX)).unwrap();
            let found = tree.tree.nodes().filter_map(|node| node.value().as_element());
            let found: usize = found.map(|element| element.attrs().count()).sum();
            prop_assert!(attributes(html.as_bytes()) >= found, "{html}: {found}");
        }

        #[test]
        fn the_estimate_is_never_below_the_tree(
            parts in prop::collection::vec(prop::sample::select(SOUP), 0..60),
        ) {
            let html = parts.concat();
            let (real, estimated) = (real(&html), estimated(&html));
            prop_assert!(estimated.nodes >= real.nodes, "{html}: {estimated:?} {real:?}");
        }
    }

    const SOUP: &[&str] = &[
        "<b>",
        "<b 1>",
        "<i>",
        "<a href=x>",
        "<font 2>",
        "<nobr>",
        "<p>",
        "<div>",
        "<ul>",
        "<li>",
        "<dl>",
        "<dt>",
        "<dd>",
        "<table>",
        "<tbody>",
        "<tr>",
        "<td>",
        "<caption>",
        "<h1>",
        "<span>",
        "<form>",
        "<button>",
        "<object>",
        "<select>",
        "<option>",
        "<svg>",
        "<math>",
        "<mi>",
        "<template>",
        "<br>",
        "<hr>",
        "<img>",
        "<!--c-->",
        "x",
        " ",
        "</b>",
        "</i>",
        "</a>",
        "</font>",
        "</nobr>",
        "</p>",
        "</div>",
        "</ul>",
        "</li>",
        "</dl>",
        "</table>",
        "</td>",
        "</tr>",
        "</span>",
        "</form>",
        "</button>",
        "</object>",
        "</select>",
        "</svg>",
        "</math>",
        "</template>",
        "</body>",
        "</br>",
    ];
}
