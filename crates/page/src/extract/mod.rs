//! Decodes an HTML page and reads it in one pass without building a tree: title, base, links, metas, text.

mod attributes;
mod blocks;
mod both;
mod charset;
mod css;
mod document;
mod element;
mod fold;
mod foreign;
mod head;
mod limits;
mod link;
mod link_header;
mod mime_type;
mod other_main;
mod other_texts;
mod page;
mod places;
mod position;
mod prescan;
mod reader;
mod readings;
mod refresh;
mod region;
mod resolve;
mod select;
mod signature;
mod sniff;
#[cfg(test)]
mod sniff_tests;
mod srcset;
mod tags;
mod text;
mod timed_element;
mod tree_cost;
mod unread;
mod utf_7;
mod xml;

pub use blocks::MainText;
pub use charset::{CharsetSource, Decoded, decode};
pub use css::style_sheet;
pub use document::{Basis, Document};
pub use head::has_whole_head;
pub use limits::{ExtractLimits, JSON_LD_BLOCK, LimitHit};
pub use link::{Link, LinkKind, Position, Rel, is_resource};
pub use other_main::lines;
pub use other_main::{has_other_text, other_main_text};
pub use readings::{Reading, Readings, read};
pub use resolve::licenses;
pub use select::{
    BadSelector, Field, HowMany, SelectError, SelectLimits, SelectRule, Selected, Take, read_selector, select,
};
pub use unread::Unread;

use meta::MetaTag;
use url::Url;

use both::{First, Second};
use page::{PageSink, UnreadMetas};
use tags::Doubts;

use crate::url::CrawlUrl;

/// Holds a fetched page, as [`extract`] wants it.
#[derive(Debug, Clone, Copy)]
pub struct ExtractInput<'a> {
    /// The body, content coding undone.
    pub body: &'a [u8],
    /// The Content-Type header field, all its lines joined with `, `: [`Document::content_type`].
    pub content_type: Option<&'a str>,
    /// The URL of the response: the base until the page names another.
    pub url: &'a Url,
    /// The `Link` header field lines.
    pub link_headers: &'a [String],
    /// What the page may cost.
    pub limits: &'a ExtractLimits,
    /// Whether the visible text is wanted: it costs time.
    pub want_text: bool,
    /// Whether the addresses in `<style>` elements and `style` attributes are wanted, as links: they cost time.
    pub want_styles: bool,
}

/// Holds what a page says.
#[derive(Debug, Clone)]
pub struct Extracted {
    /// The encoding's name in lower case: `utf-8`, `windows-1252`, ...
    pub charset: &'static str,
    /// Who decided on the encoding.
    pub charset_source: CharsetSource,
    /// The text of the first `<title>` of the HTML (never an svg one), white space folded.
    pub title: Option<String>,
    /// The URL that relative links were resolved against.
    pub base: Url,
    /// The `<meta>` elements in document order.
    pub metas: Vec<MetaTag>,
    /// The links in document order, those of `Link` headers first. Of several links of the page that are equal in
    /// kind, `nofollow` and address (fragment aside) the first is recorded, with the first text that isn't empty.
    pub links: Vec<Link>,
    /// Links that weren't recorded again.
    pub repeated: u32,
    /// Links of `a` and `area` into the page itself (`#part` or nothing), which aren't recorded as links.
    pub same_page: u32,
    /// Addresses of schemes other than http and https, which aren't recorded as links.
    pub other_schemes: u32,
    /// `rel=canonical`, where it is an http or https URL.
    pub canonical: Option<CrawlUrl>,
    /// `lang` of the `<html>` element.
    pub language: Option<String>,
    /// The visible text, white space folded; `None` where it wasn't wanted.
    pub text: Option<String>,
    /// The ranges of the text, in bytes, that no snippet may show (`data-nosnippet`).
    pub no_snippet: Vec<std::ops::Range<usize>>,
    /// The main text apart from navigation and the like, with the headings; `None` where the text wasn't wanted.
    pub main: Option<MainText>,
    /// The `application/ld+json` blocks that are JSON, each on one line without control characters.
    pub json_ld: Vec<String>,
    /// Blocks that were omitted because they aren't JSON.
    pub bad_json_ld: u32,
    /// The limits that cut something off, sorted, each once.
    pub limits_hit: Vec<LimitHit>,
    /// Which `<meta>` elements weren't read, or not to their end.
    unread: UnreadMetas,
    /// The text has a NUL.
    has_nuls: bool,
    /// Why it must be read in another way, too.
    doubts: Doubts,
}

/// Reads a page as HTML. Total: any bytes give a value; linear in the size of the body; memory is bounded by the limits
/// and the size of the body. [`read`] reads a response in every way that its [`Document`] calls for.
pub fn extract(input: &ExtractInput<'_>) -> Extracted {
    let decoded = decode(input.body, input.content_type, input.url);
    extract_html(input, &decoded)
}

/// Reads a page that is decoded already as HTML.
fn extract_html(input: &ExtractInput<'_>, decoded: &Decoded<'_>) -> Extracted {
    let (mut page, links) = begin(input);
    page.doubts = tags::read(&decoded.text, &mut page, input.limits.value_bytes());
    end(input, page, links, decoded)
}

/// Reads a page that is decoded already as HTML and as XML, for which it may have another text. Gives one page of both,
/// with the metas of the `first` reading, and the metas of the other.
fn extract_both(
    input: &ExtractInput<'_>,
    decoded: &Decoded<'_>,
    xml: &str,
    first: First,
) -> (Extracted, Second) {
    let (mut page, links) = begin(input);
    page.doubts = tags::read(&decoded.text, &mut page, input.limits.value_bytes());
    let (mut of_xml, _) = begin(input);
    xml::read(xml, &mut of_xml, input.limits.value_bytes());
    let second = both::unite(&mut page, of_xml, first);
    (end(input, page, links, decoded), second)
}

/// Starts a page with the links in its headers.
fn begin<'l>(input: &ExtractInput<'l>) -> (PageSink<'l>, Vec<Link>) {
    let (links, schemes) = resolve::header_links(input.link_headers, input.url, input.limits);
    let mut page = PageSink::new(input.limits, input.want_text);
    page.want_styles = input.want_styles;
    page.links_before = links.len();
    page.other_schemes = schemes;
    (page, links)
}

fn end(
    input: &ExtractInput<'_>,
    mut page: PageSink<'_>,
    mut links: Vec<Link>,
    decoded: &Decoded<'_>,
) -> Extracted {
    let title = page.finish();
    let (mut text, mut no_snippet, mut main, mut was_cut) = (None, Vec::new(), None, false);
    if let Some(visible) = page.text.take() {
        let visible = visible.finish();
        main = Some(visible.blocks.main_text(&visible.text, &visible.no_snippet));
        (text, no_snippet, was_cut) = (Some(visible.text), visible.no_snippet, visible.was_cut);
    }
    if was_cut {
        page.hit(LimitHit::Text);
    }
    let base = resolve::base(page.base.as_deref(), input.url);
    let of_page = resolve::links(&mut page, &base, decoded.encoding, input.limits.link_bytes);
    let canonical = resolve::canonical(&of_page).or_else(|| resolve::canonical(&links));
    links.extend(of_page);
    page.limits_hit.sort_unstable();
    Extracted {
        charset: decoded.charset(),
        charset_source: decoded.source,
        title,
        base,
        metas: page.metas,
        links,
        repeated: page.repeated,
        same_page: page.to_itself,
        other_schemes: page.other_schemes,
        canonical,
        language: page.language,
        text,
        no_snippet,
        main,
        json_ld: page.json_ld,
        bad_json_ld: page.bad_json_ld,
        limits_hit: page.limits_hit,
        unread: page.unread,
        has_nuls: page.has_nuls,
        doubts: page.doubts,
    }
}
