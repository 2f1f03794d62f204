//! The main text of a page, distinguished from navigation and other boilerplate by its blocks, without a tree.
//!
//! A block is the text between two tags of block elements. The rules follow Kohlschütter, Fankhauser and Nejdl, "Boilerplate
//! Detection using Shallow Text Features" (WSDM 2010): position in the page, length, share of link text, and neighbours.
//! `docs/search.md` lists them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::link::Position;

/// Maximum number of blocks; later text belongs to the last one.
const BLOCKS: usize = 50_000;

/// Bytes from which on a block is long: about ten words.
const LONG: usize = 60;

/// Bytes of content in `<main>` or `<article>` from which on nothing else is looked for.
const ENOUGH: usize = 200;

/// Blocks of link text in a row that are a list of links.
const LIST: usize = 3;

/// Holds what is indexed of a page's text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MainText {
    /// The title of a document that is no page, where it has one.
    pub title: Option<String>,
    /// The main text: blocks on one line each.
    pub text: String,
    /// The headings, one a line.
    pub headings: String,
    /// The ranges of `text`, in bytes, that no snippet may show; sorted, apart from each other.
    pub no_snippet: Vec<Range<usize>>,
}

/// A block of text.
#[derive(Debug, Clone)]
struct Block {
    range: Range<usize>,
    link_bytes: usize,
    position: Option<Position>,
    is_heading: bool,
}

impl Block {
    fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns whether more than one part of `parts` of its text is link text.
    fn has_links_beyond(&self, parts: usize) -> bool {
        self.link_bytes * parts > self.len()
    }

    /// Almost all of it is link text.
    fn is_links(&self) -> bool {
        self.link_bytes * 5 > self.len() * 4
    }

    fn is_of_frame(&self) -> bool {
        matches!(self.position, Some(Position::Nav | Position::Header | Position::Footer))
    }
}

/// Collects the blocks of a text that grows.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    done: Vec<Block>,
    open: Option<Block>,
    in_link: bool,
    in_heading: bool,
}

impl Blocks {
    /// A block begins or ends here.
    pub(super) fn part(&mut self) {
        let Some(block) = self.open.take() else { return };
        match self.done.get_mut(BLOCKS - 1) {
            Some(last) => {
                last.range.end = block.range.end;
                last.link_bytes += block.link_bytes;
            }
            None => self.done.push(block),
        }
    }

    pub(super) fn set_link(&mut self, in_link: bool) {
        self.in_link = in_link;
    }

    pub(super) fn set_heading(&mut self, in_heading: bool) {
        self.in_heading = in_heading;
    }

    /// Adds a piece of text, which has these bytes of the whole.
    #[inline]
    pub(super) fn text(&mut self, range: Range<usize>, position: Option<Position>) {
        if range.is_empty() {
            return;
        }
        let block = self.open.get_or_insert(Block {
            range: range.start..range.start,
            link_bytes: 0,
            position,
            is_heading: self.in_heading,
        });
        block.range.end = range.end;
        if self.in_link {
            block.link_bytes += range.len();
        }
    }

    /// Returns the main text of the whole, and the ranges of it that no snippet may show.
    pub(super) fn main_text(mut self, text: &str, no_snippet: &[Range<usize>]) -> MainText {
        self.part();
        let mut main = MainText::default();
        for block in self.done.iter().filter(|block| block.is_heading) {
            add_line(&mut main.headings, part_of(text, &block.range));
        }
        let mut hidden = no_snippet.iter().peekable();
        for (block, _) in self.done.iter().zip(kept(&self.done)).filter(|(_, is_kept)| *is_kept) {
            let part = part_of(text, &block.range);
            if part.is_empty() {
                continue;
            }
            let start = add_line(&mut main.text, part);
            let from = block.range.end.min(text.len()) - part.len();
            while hidden.next_if(|range| range.end <= from).is_some() {}
            for range in hidden.clone().take_while(|range| range.start < from + part.len()) {
                let begin = start + range.start.max(from) - from;
                let end = start + range.end.min(from + part.len()) - from;
                main.no_snippet.push(begin..end);
            }
        }
        main
    }
}

/// A part of the text; one that the limit cut is shorter, and never cuts a character in two.
fn part_of<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    let end = text.floor_char_boundary(range.end.min(text.len()));
    let start = text.floor_char_boundary(range.start.min(end));
    text[start..end].trim_start()
}

/// Adds a line; gives the place at which it begins.
fn add_line(text: &mut String, line: &str) -> usize {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    let start = text.len();
    text.push_str(line);
    start
}

/// Says of each block whether it is main text.
fn kept(blocks: &[Block]) -> Vec<bool> {
    let in_content = content(blocks);
    let of_content: usize =
        blocks.iter().zip(&in_content).filter(|(_, is_kept)| **is_kept).map(|(block, _)| block.len()).sum();
    let mut kept = if of_content >= ENOUGH { in_content } else { by_density(blocks, &in_content) };
    let rules: [&dyn Fn(&Block) -> bool; 2] = [&|block| !block.is_of_frame(), &|_| true];
    for rule in rules {
        if kept.iter().any(|is_kept| *is_kept) {
            break;
        }
        kept = blocks.iter().map(rule).collect();
    }
    kept
}

/// The text in `<main>` or `<article>`, without lists of links; and notes at its side that aren't link text.
fn content(blocks: &[Block]) -> Vec<bool> {
    let is_content = |block: &Block| block.position == Some(Position::Content);
    let mut kept: Vec<bool> = blocks.iter().map(is_content).collect();
    for run in
        blocks.iter().enumerate().collect::<Vec<_>>().chunk_by(|(_, a), (_, b)| a.is_links() == b.is_links())
    {
        if run[0].1.is_links() && run.len() >= LIST {
            for (at, _) in run {
                kept[*at] = false;
            }
        }
    }
    kept
}

/// Long blocks with little link text, the text between them, and headings before them.
fn by_density(blocks: &[Block], in_content: &[bool]) -> Vec<bool> {
    let may_be = |block: &Block| !block.is_of_frame() && !block.has_links_beyond(3);
    let is_main = |block: &Block| may_be(block) && block.len() >= LONG;
    let mut kept: Vec<bool> =
        blocks.iter().zip(in_content).map(|(block, in_content)| *in_content || is_main(block)).collect();
    let sure = kept.clone();
    for (at, block) in blocks.iter().enumerate() {
        if kept[at] || !may_be(block) {
            continue;
        }
        let next_to = |at: Option<usize>| at.and_then(|at| sure.get(at)).is_some_and(|is_sure| *is_sure);
        kept[at] = next_to(at.checked_sub(1)) || next_to(Some(at + 1));
    }
    // A heading belongs to what comes after it, another heading included.
    for at in (0..blocks.len()).rev() {
        let next = kept.get(at + 1).copied().unwrap_or_default();
        kept[at] |= blocks[at].is_heading && !blocks[at].is_of_frame() && next;
    }
    kept
}

#[cfg(test)]
mod tests {
    use crate::extract::{ExtractInput, ExtractLimits, MainText, extract};

    fn main_text(html: &str) -> MainText {
        let url = url::Url::parse("http://a.test/").unwrap();
        let limits = ExtractLimits::default();
        let content_type = Some("text/html; charset=utf-8");
        let body = html.as_bytes();
        let page = extract(&ExtractInput {
            body,
            content_type,
            url: &url,
            link_headers: &[],
            limits: &limits,
            want_text: true,
            want_styles: false,
        });
        page.main.unwrap()
    }

    fn lines(html: &str) -> Vec<String> {
        main_text(html).text.lines().map(str::to_owned).collect()
    }

    const LONG: &str =
        "A paragraph that is long enough to count as the main text of a page, by its length alone.";

    #[test]
    fn navigation_header_and_footer_are_no_main_text() {
        let html = format!(
            "<header><p>{LONG} head</header><nav><p>{LONG} nav</nav><h1>Title</h1><p>{LONG}<p>short\
             <div role=navigation><p>{LONG} role</div><footer><p>{LONG} foot</footer>"
        );
        assert_eq!(lines(&html), ["Title", LONG, "short"]);
    }

    #[test]
    fn blocks_of_links_are_no_main_text() {
        let links =
            "<li><a href=/1>The first link of a list that is long enough to be taken for a text</a></li>"
                .repeat(3);
        assert_eq!(lines(&format!("<ul>{links}</ul><p>{LONG}")), [LONG]);
        let linked = format!("<p>{LONG} <a href=/>link</a>");
        assert_eq!(lines(&linked), [format!("{LONG} link")]);
        let content = format!("<main><p>{LONG}</p><p>{LONG}</p><p>{LONG}</p><ul>{links}</ul><p>s</main>");
        assert_eq!(lines(&content), [LONG, LONG, LONG, "s"]);
    }

    #[test]
    fn the_main_element_is_the_main_text_if_it_is_long_enough() {
        let main = format!("<p>{LONG}</p>").repeat(3);
        let html =
            format!("<div><p>{LONG} aside of it</div><main>{main}<p>x</main><div><p>{LONG} related</div>");
        assert_eq!(lines(&html), [LONG, LONG, LONG, "x"]);
        let html = format!("<div><p>{LONG} lead</div><main><p>x</main>");
        assert_eq!(lines(&html), [format!("{LONG} lead"), "x".to_owned()]);
    }

    #[test]
    fn a_page_of_little_text_keeps_what_it_has() {
        assert_eq!(lines("<p>one<p>two<nav>three</nav>"), ["one", "two"]);
        assert_eq!(lines("<nav>three</nav>"), ["three"]);
        assert_eq!(lines("<ul><li><a href=/>one</a></ul>"), ["one"]);
        assert!(lines("").is_empty());
    }

    #[test]
    fn headings_are_recognised_and_stay_with_their_text() {
        let html = format!(
            "<header><h1>Top</h1></header><h2>Part <em>one</em></h2><h3>Inner</h3><p>{LONG}<h2>Last</h2>"
        );
        let main = main_text(&html);
        assert_eq!(main.headings, "Top\nPart one\nInner\nLast");
        assert_eq!(main.text, format!("Part one\nInner\n{LONG}\nLast"));
    }

    #[test]
    fn ranges_without_snippets_move_with_their_text() {
        let html = format!(
            "<nav>menu <span data-nosnippet>hidden menu</span></nav><p>{LONG} <span data-nosnippet>secret ä</span> end.\
             <div data-nosnippet><p>{LONG} one<p>{LONG} two</div><p>open"
        );
        let main = main_text(&html);
        let hidden: Vec<&str> = main.no_snippet.iter().map(|range| &main.text[range.clone()]).collect();
        assert_eq!(hidden, ["secret ä".to_owned(), format!("{LONG} one"), format!("{LONG} two")]);
        assert!(main.text.ends_with("open"));
    }

    #[test]
    fn the_limit_cuts_between_characters() {
        let url = url::Url::parse("http://a.test/").unwrap();
        let limits = ExtractLimits { text_bytes: 5, ..ExtractLimits::default() };
        let page = extract(&ExtractInput {
            body: "<p>ää<p>öö".as_bytes(),
            content_type: Some("text/html; charset=utf-8"),
            url: &url,
            link_headers: &[],
            limits: &limits,
            want_text: true,
            want_styles: false,
        });
        assert_eq!(page.main.unwrap().text, "ää");
    }
}
