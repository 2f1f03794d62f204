//! What the reader collects in its one pass over a page.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use meta::MetaTag;
use serde::de::IgnoredAny;

use super::attributes::{Attr, AttrSet};
use super::element::{BLOCK, Element, Kind, Name};
use super::fold::Folded;
use super::foreign::Namespace;
use super::limits::{ExtractLimits, JSON_LD_BLOCK, LimitHit};
use super::link::{LinkKind, Position};
use super::position::Landmarks;
use super::tags::{Doubts, StartTag, TagSink};
use super::text::VisibleText;
use crate::clean::without_controls;
use crate::json_text;

/// Holds a link before it's resolved.
#[derive(Debug)]
pub(super) struct RawLink {
    pub(super) kind: LinkKind,
    /// The position of its address in [`PageSink::addresses`].
    pub(super) address: std::ops::Range<usize>,
    pub(super) rel: String,
    pub(super) nofollow: bool,
    /// The position of its text in [`PageSink::texts`].
    pub(super) text: std::ops::Range<usize>,
    pub(super) hreflang: Option<String>,
    pub(super) is_image: bool,
    pub(super) position: Option<Position>,
}

/// Which `<meta>` elements that may speak to robots weren't read, or not to their end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UnreadMetas {
    /// One is too far down.
    pub(super) late: bool,
    /// There are too many.
    pub(super) surplus: bool,
    /// Places, in the list of those that were read, of the ones with a value that was cut.
    pub(super) cut: Vec<usize>,
}

/// Links that space is reserved for with a page's first one.
const LINKS_OF_A_PAGE: usize = 64;

/// Bytes reserved for each of their addresses, and for each of their texts.
const ADDRESS: usize = 32;

/// Gathers what a page says.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent answers")]
pub(super) struct PageSink<'l> {
    pub(super) limits: &'l ExtractLimits,
    pub(super) title: Option<Folded>,
    /// The first title is being read.
    pub(super) in_title: bool,
    pub(super) base: Option<String>,
    pub(super) metas: Vec<MetaTag>,
    pub(super) unread: UnreadMetas,
    /// The text has a NUL.
    pub(super) has_nuls: bool,
    /// Why it must be read in another way, too.
    pub(super) doubts: Doubts,
    pub(super) links: Vec<RawLink>,
    /// Links recorded elsewhere, which count for the limit.
    pub(super) links_before: usize,
    /// The addresses of all links, one after the other.
    pub(super) addresses: String,
    /// Their texts.
    pub(super) texts: String,
    /// Finds a recorded link by its address without the fragment.
    by_address: HashTable<usize>,
    hasher: DefaultHashBuilder,
    pub(super) repeated: u32,
    /// The link whose text is being read.
    pub(super) open_anchor: Option<usize>,
    pub(super) anchor: Folded,
    pub(super) to_itself: u32,
    /// One of them may be queued, should a base follow that makes it lead elsewhere.
    pub(super) may_lead_to_base: bool,
    pub(super) other_schemes: u32,
    pub(super) landmarks: Landmarks,
    pub(super) language: Option<String>,
    pub(super) text: Option<VisibleText>,
    pub(super) json_ld: Vec<String>,
    /// Blocks of JSON-LD that aren't JSON.
    pub(super) bad_json_ld: u32,
    json_ld_remaining: usize,
    pub(super) open_json_ld: Option<Vec<u8>>,
    /// The addresses in styles are wanted.
    pub(super) want_styles: bool,
    /// The `<style>` element that is being read.
    pub(super) open_style: Option<Vec<u8>>,
    pub(super) limits_hit: Vec<LimitHit>,
}

impl<'l> PageSink<'l> {
    pub(super) fn new(limits: &'l ExtractLimits, want_text: bool) -> PageSink<'l> {
        PageSink {
            limits,
            title: None,
            in_title: false,
            base: None,
            metas: Vec::new(),
            unread: UnreadMetas::default(),
            has_nuls: false,
            doubts: Doubts::default(),
            links: Vec::new(),
            links_before: 0,
            addresses: String::new(),
            texts: String::new(),
            by_address: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            repeated: 0,
            open_anchor: None,
            anchor: Folded::new(limits.anchor_bytes),
            to_itself: 0,
            may_lead_to_base: false,
            other_schemes: 0,
            landmarks: Landmarks::new(),
            language: None,
            text: want_text.then(|| VisibleText::new(limits.text_bytes)),
            json_ld: Vec::new(),
            bad_json_ld: 0,
            json_ld_remaining: limits.json_ld_bytes,
            open_json_ld: None,
            want_styles: false,
            open_style: None,
            limits_hit: Vec::new(),
        }
    }

    /// Ends what the end of the document leaves open.
    pub(super) fn close(&mut self) {
        self.close_anchor();
        self.close_json_ld();
        self.close_style();
        self.in_title = false;
    }

    /// Ends the page; gives its title.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.close();
        let title = self.title.as_mut()?;
        if title.was_cut() {
            note(&mut self.limits_hit, LimitHit::Title);
        }
        Some(without_cdata_marks(title.take()))
    }

    /// Notes a limit, once.
    pub(super) fn hit(&mut self, limit: LimitHit) {
        note(&mut self.limits_hit, limit);
    }

    /// Records a link, if its address may lead to another page or resource over http.
    /// Gives its place; that of the first where one of this kind (a `<link>`: of this `rel`) leads there already.
    pub(super) fn add_link(&mut self, kind: LinkKind, address: &str, about: About) -> Option<usize> {
        // What the URL standard strips: C0 controls and spaces.
        let address = address.trim_matches(|c: char| c <= ' ');
        let nofollow = !about.rel.is_empty() && !meta::link_rel(&about.rel).may_queue();
        if address.is_empty() || address.starts_with('#') {
            let names_page = matches!(kind, LinkKind::A | LinkKind::Area);
            if self.base.is_none() || !names_page {
                self.to_itself += u32::from(names_page);
                self.may_lead_to_base |= names_page && !nofollow;
                return None;
            }
        }
        if has_other_scheme(address) {
            self.other_schemes += 1;
            return None;
        }
        if address.len() > self.limits.href_bytes {
            self.hit(LimitHit::Href);
            return None;
        }
        let without_fragment = before_fragment(address);
        let hash = self.hasher.hash_one(without_fragment);
        let is_same = |&at: &usize| {
            let other: &RawLink = &self.links[at];
            other.kind == kind
                && other.nofollow == nofollow
                && other.is_image == about.is_image
                // A style sheet may be the next page as well, an alternate the canonical address.
                && (kind != LinkKind::Link || other.rel == about.rel)
                && before_fragment(&self.addresses[other.address.clone()]) == without_fragment
        };
        if let Some(&first) = self.by_address.find(hash, is_same) {
            self.repeated += 1;
            return Some(first);
        }
        if self.links_before + self.links.len() >= self.limits.links {
            self.hit(LimitHit::Links);
            return None;
        }
        if self.links.is_empty() {
            // Enough for most pages: where the table grows, the addresses are hashed again.
            self.by_address = HashTable::with_capacity(LINKS_OF_A_PAGE);
            self.links.reserve(LINKS_OF_A_PAGE);
            self.addresses.reserve(ADDRESS * LINKS_OF_A_PAGE);
            self.texts.reserve(ADDRESS * LINKS_OF_A_PAGE);
        }
        let (links, addresses, hasher) = (&self.links, &self.addresses, &self.hasher);
        let rehash = |&at: &usize| hasher.hash_one(before_fragment(&addresses[links[at].address.clone()]));
        self.by_address.insert_unique(hash, self.links.len(), rehash);
        let start = self.addresses.len();
        self.addresses.push_str(address);
        let About { rel, text, hreflang, is_image } = about;
        let text_start = self.texts.len();
        self.texts.push_str(&text);
        self.links.push(RawLink {
            kind,
            address: start..self.addresses.len(),
            rel,
            nofollow,
            text: text_start..self.texts.len(),
            hreflang,
            is_image,
            position: self.landmarks.position(),
        });
        Some(self.links.len() - 1)
    }

    pub(super) fn close_anchor(&mut self) {
        if let Some(at) = self.open_anchor.take() {
            if self.anchor.was_cut() {
                self.hit(LimitHit::Anchor);
            }
            let start = self.texts.len();
            self.anchor.take_to(&mut self.texts);
            self.links[at].text = start..self.texts.len();
        }
    }

    fn close_style(&mut self) {
        if let Some(style) = self.open_style.take() {
            self.add_style(&String::from_utf8_lossy(&style));
        }
    }

    fn close_json_ld(&mut self) {
        let Some(block) = self.open_json_ld.take() else { return };
        let Some(json) = json_ld(&block) else {
            self.bad_json_ld += u32::from(!block.trim_ascii().is_empty());
            return;
        };
        let size = json_text::size(&json);
        if size > self.limits.json_ld_block_bytes {
            self.hit(LimitHit::JsonLdBlock);
        } else if size + JSON_LD_BLOCK > self.json_ld_remaining {
            self.hit(LimitHit::JsonLd);
        } else {
            self.json_ld_remaining -= size + JSON_LD_BLOCK;
            self.json_ld.push(json);
        }
    }
}

/// Holds what comes with the address of a link.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) rel: String,
    pub(super) text: String,
    pub(super) hreflang: Option<String>,
    pub(super) is_image: bool,
}

impl TagSink for PageSink<'_> {
    #[inline]
    fn wants(&self, element: Element) -> AttrSet {
        let wanted = Attr::wanted_of(element).with(Landmarks::wants(element));
        let wanted = if self.want_styles { wanted.with(AttrSet::of(&[Attr::Style])) } else { wanted };
        if self.text.is_some() { wanted.with(VisibleText::wants()) } else { wanted }
    }

    #[inline]
    fn wants_comments(&self) -> bool {
        self.text.is_some()
    }

    #[inline]
    fn start(&mut self, tag: &StartTag<'_>) {
        self.landmarks.start(tag);
        if let Some(text) = &mut self.text {
            text.start(tag);
        }
        if self.open_anchor.is_some() && tag.element.is(BLOCK) {
            self.anchor.part();
        }
        if self.want_styles {
            self.add_style_of(tag.attributes);
        }
        match (tag.namespace, tag.element.kind) {
            (_, Kind::Other) => {}
            (Namespace::Html, _) => self.start_of_html(tag),
            (Namespace::Svg, Kind::A) => self.open_anchor(tag.attributes),
            (Namespace::Svg, Kind::Style) => self.open_style(tag),
            (Namespace::Svg, Kind::Image) => {
                let address = if tag.attributes.has(Attr::Href) { Attr::Href } else { Attr::XlinkHref };
                self.link_of(LinkKind::Img, tag.attributes, address, Attr::Alt);
            }
            _ => {}
        }
    }

    #[inline]
    fn end(&mut self, name: Name, element: Element, _position: usize) {
        self.landmarks.end(name, element);
        if let Some(text) = &mut self.text {
            text.end(name, element);
        }
        match element.kind {
            Kind::A => self.close_anchor(),
            Kind::Title => self.in_title = false,
            Kind::Script => self.close_json_ld(),
            Kind::Style => self.close_style(),
            _ if self.open_anchor.is_some() && element.is(BLOCK) => self.anchor.part(),
            _ => {}
        }
    }

    #[inline]
    fn text(&mut self, text: &[u8], within: Kind, _namespace: Namespace) {
        if within == Kind::Other {
            self.landmarks.text(text);
            if self.open_anchor.is_some() {
                self.anchor.push(text);
            }
        } else if self.in_title {
            if let Some(title) = &mut self.title {
                title.push(text);
            }
        } else if let Some(block) = &mut self.open_json_ld {
            let length = block.len() + text.len();
            if length > self.limits.json_ld_block_bytes {
                self.open_json_ld = None;
                self.hit(LimitHit::JsonLdBlock);
            } else if length > self.json_ld_remaining {
                self.open_json_ld = None;
                self.hit(LimitHit::JsonLd);
            } else {
                block.extend_from_slice(text);
            }
        }
        if let Some(style) = &mut self.open_style {
            style.extend_from_slice(text);
        }
        if let Some(visible) = &mut self.text {
            visible.text(text, within, self.landmarks.position());
        }
    }

    fn unread(&mut self, what: &str, position: usize) {
        self.add_unread(what, position);
    }

    fn comment(&mut self, comment: &[u8]) {
        if let Some(text) = &mut self.text {
            text.comment(comment);
        }
    }

    fn nul(&mut self) {
        self.has_nuls = true;
    }
}

/// Reads a block of JSON-LD: JSON on one line without control characters; nothing where it isn't JSON.
///
/// Line ends and tabs become blanks, within texts as well, where JSON doesn't allow them and many pages have them. Whatever
/// is wrong besides makes it no JSON.
fn json_ld(block: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(block);
    let json = without_controls(text.trim().trim_start_matches('\u{feff}'));
    serde_json::from_str::<IgnoredAny>(&json).ok()?;
    Some(json.into_owned())
}

fn note(limits: &mut Vec<LimitHit>, limit: LimitHit) {
    if !limits.contains(&limit) {
        limits.push(limit);
    }
}

pub(super) fn before_fragment(address: &str) -> &str {
    memchr::memchr(b'#', address.as_bytes()).map_or(address, |at| &address[..at])
}

/// Returns whether an address begins with a scheme other than http and https.
fn has_other_scheme(address: &str) -> bool {
    let scheme_end =
        address.bytes().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')));
    let Some(end) = scheme_end.filter(|&end| address.as_bytes()[end] == b':') else { return false };
    let scheme = &address[..end];
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && !scheme.eq_ignore_ascii_case("http")
        && !scheme.eq_ignore_ascii_case("https")
}

/// Drops the marks of CDATA sections from a title, which HTML takes for text.
fn without_cdata_marks(title: String) -> String {
    const START: &str = "<![CDATA[";
    const END: &str = "]]>";
    let Some((before, mut rest)) = title.split_once(START) else { return title };
    let mut kept = before.to_owned();
    loop {
        let (section, after) = rest.split_once(END).unwrap_or((rest, ""));
        kept.push_str(section);
        let Some((before, next)) = after.split_once(START) else {
            kept.push_str(after);
            return kept.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        };
        kept.push_str(before);
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::without_cdata_marks;

    #[test]
    fn marks_of_cdata_sections_are_no_part_of_a_title() {
        for (title, read) in [
            ("<![CDATA[A & B]]>", "A & B"),
            ("<![CDATA[ A ]]> ", "A"),
            ("a <![CDATA[ ]]> b", "a b"),
            ("x <![CDATA[a]]>, <![CDATA[b <c>]]> y", "x a, b <c> y"),
            ("<![CDATA[open", "open"),
            ("x <![cdata[a]]>", "x <![cdata[a]]>"),
            ("a]]>", "a]]>"),
            ("", ""),
        ] {
            assert_eq!(without_cdata_marks(title.to_owned()), read);
        }
    }
}
