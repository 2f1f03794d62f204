//! The visible text of a page, without the parts that ask to be omitted, and where no snippet may be taken.

use std::ops::Range;

use super::attributes::{Attr, AttrSet};
use super::blocks::Blocks;
use super::element::{BLOCK, Element, Kind, Name};
use super::fold::Folded;
use super::foreign::Namespace;
use super::link::Position;
use super::region::Region;
use super::tags::StartTag;

/// Maximum number of ranges without snippets; later ones belong to the last one.
const RANGES: usize = 1_000;

/// Collects the visible text.
#[derive(Debug)]
pub(super) struct VisibleText {
    text: Folded,
    /// `<noindex>`, class `robots-nocontent`, and what svg doesn't show.
    omitted: Region,
    /// Between `googleoff: index` (or `all`) and `googleon`.
    google_off: bool,
    /// Between `<!--noindex-->` and `<!--/noindex-->`.
    yandex_off: bool,
    no_snippet: Region,
    no_snippet_from: usize,
    no_snippets: Vec<Range<usize>>,
    blocks: Blocks,
}

/// Holds the whole text.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) text: String,
    /// The ranges of it that no snippet may show.
    pub(super) no_snippet: Vec<Range<usize>>,
    pub(super) blocks: Blocks,
    pub(super) was_cut: bool,
}

impl VisibleText {
    /// Makes an empty text that keeps `limit` bytes.
    pub(super) fn new(limit: usize) -> VisibleText {
        VisibleText {
            text: Folded::new(limit),
            omitted: Region::default(),
            google_off: false,
            yandex_off: false,
            no_snippet: Region::default(),
            no_snippet_from: 0,
            no_snippets: Vec::new(),
            blocks: Blocks::default(),
        }
    }

    /// Returns which attributes decide about text, on any element.
    pub(super) const fn wants() -> AttrSet {
        AttrSet::of(&[Attr::Class, Attr::NoSnippet])
    }

    pub(super) fn start(&mut self, tag: &StartTag<'_>) {
        if tag.element.is(BLOCK) {
            self.part();
            if is_heading(tag.name) {
                self.blocks.set_heading(true);
            }
        } else if tag.element.kind == Kind::A {
            self.blocks.set_link(true);
        }
        self.omitted.start(tag.name, tag.element);
        let is_hidden_in_svg = tag.namespace == Namespace::Svg
            && matches!(
                tag.element.kind,
                Kind::Style | Kind::Script | Kind::Title | Kind::Desc | Kind::Metadata
            );
        if tag.element.kind == Kind::Noindex || is_hidden_in_svg || has_class(tag, b"robots-nocontent") {
            self.omitted.enter(tag.name, tag.element);
        }
        let was_inside = self.no_snippet.is_inside();
        self.no_snippet.start(tag.name, tag.element);
        self.note_no_snippet(was_inside);
        if tag.attributes.has(Attr::NoSnippet)
            && matches!(tag.name.as_bytes(), b"span" | b"div" | b"section")
            && !self.no_snippet.is_inside()
        {
            self.no_snippet.enter(tag.name, tag.element);
            self.no_snippet_from = self.text.next_offset();
        }
    }

    pub(super) fn end(&mut self, name: Name, element: Element) {
        self.omitted.end(name, element);
        let was_inside = self.no_snippet.is_inside();
        self.no_snippet.end(name, element);
        self.note_no_snippet(was_inside);
        if element.is(BLOCK) {
            self.part();
            if is_heading(name) {
                self.blocks.set_heading(false);
            }
        } else if element.kind == Kind::A {
            self.blocks.set_link(false);
        }
    }

    fn part(&mut self) {
        self.text.part();
        self.blocks.part();
    }

    /// Adds text, which is in this part of the page.
    pub(super) fn text(&mut self, text: &[u8], within: Kind, position: Option<Position>) {
        let is_shown = matches!(within, Kind::Other | Kind::Textarea | Kind::Xmp | Kind::Plaintext);
        if is_shown && !self.omitted.is_inside() && !self.google_off && !self.yandex_off {
            let start = self.text.len();
            self.text.push(text);
            self.blocks.text(start..self.text.len(), position);
        }
    }

    pub(super) fn comment(&mut self, comment: &[u8]) {
        let comment = comment.trim_ascii();
        if let Some(what) = strip_word(comment, b"googleoff:") {
            self.google_off |= is_index_or_all(what);
        } else if let Some(what) = strip_word(comment, b"googleon:") {
            self.google_off &= !is_index_or_all(what);
        } else if comment.eq_ignore_ascii_case(b"noindex") {
            self.yandex_off = true;
        } else if comment.eq_ignore_ascii_case(b"/noindex") {
            self.yandex_off = false;
        }
        self.text.part();
    }

    /// Records the range of an element that ended.
    fn note_no_snippet(&mut self, was_inside: bool) {
        if was_inside && !self.no_snippet.is_inside() && self.text.len() > self.no_snippet_from {
            let range = self.no_snippet_from..self.text.len();
            match self.no_snippets.get_mut(RANGES - 1) {
                Some(last) => last.end = range.end,
                None => self.no_snippets.push(range),
            }
        }
    }

    /// Ends the text.
    pub(super) fn finish(mut self) -> Finished {
        let was_inside = self.no_snippet.is_inside();
        self.no_snippet = Region::default();
        self.note_no_snippet(was_inside);
        let was_cut = self.text.was_cut();
        let text = self.text.finish();
        for range in &mut self.no_snippets {
            range.end = range.end.min(text.len());
        }
        self.no_snippets.retain(|r| r.start < r.end);
        Finished { text, no_snippet: self.no_snippets, blocks: self.blocks, was_cut }
    }
}

/// Returns whether an element is a heading: `h1` to `h6`.
fn is_heading(name: Name) -> bool {
    matches!(name.as_bytes(), [b'h', b'1'..=b'6'])
}

fn has_class(tag: &StartTag<'_>, class: &[u8]) -> bool {
    tag.attributes
        .bytes(Attr::Class)
        .is_some_and(|all| all.split(u8::is_ascii_whitespace).any(|one| one.eq_ignore_ascii_case(class)))
}

fn strip_word<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = text.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then(|| rest.trim_ascii())
}

fn is_index_or_all(what: &[u8]) -> bool {
    what.eq_ignore_ascii_case(b"index") || what.eq_ignore_ascii_case(b"all")
}
