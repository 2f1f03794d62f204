//! A quick look that tells most pages from all walls: it saves reading the tokens of a page that has some links or some text.
//!
//! It is no parser. What it takes for a link or a text that isn't one can only make a wall pass for a page, never the other way round.

use memchr::{memchr, memchr_iter};

use super::{BARE_LINKS, BARE_PARAGRAPH, BARE_TEXT, EMPTY_LINKS};
use crate::target;

/// Characters of text, hidden ones among them, that no empty page has.
const MUCH_TEXT: usize = 6_000;
/// Bytes that are looked at.
const LOOKED_AT: usize = 64 * 1024;
/// Bytes of a tag that are looked at.
const TAG: usize = 1_024;

/// Elements whose content isn't text that is seen, or no markup.
const SKIPPED: [&[u8]; 7] = [b"script", b"style", b"noscript", b"template", b"textarea", b"title", b"iframe"];

/// What a quick look finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Content {
    /// The quick look decides nothing: the page has to be read.
    Unknown,
    /// Too many links to the site or too much text for a bare page, unless some of the text is hidden.
    Some,
    /// Too many links to the site or too much text for an empty page.
    Much,
}

/// Looks at the beginning of a page: one pass over 64 KiB at most, which ends as soon as there is much.
pub(super) fn look(body: &[u8], own_host: &str) -> Content {
    let body = &body[..body.len().min(LOOKED_AT)];
    let (mut at, mut links, mut text, mut longest) = (0, 0, 0, 0);
    while let Some(length) = memchr(b'<', &body[at..]) {
        let run = characters(&body[at..at + length]);
        text += run;
        longest = longest.max(run);
        if text > MUCH_TEXT {
            return Content::Much;
        }
        at += length + 1;
        let rest = &body[at..];
        if rest.starts_with(b"!--") {
            let end = memchr_iter(b'>', rest).find(|end| rest[..*end].ends_with(b"--"));
            let Some(end) = end else { return Content::Unknown };
            at += end + 1;
            continue;
        }
        let name = &rest[..rest.iter().take(16).take_while(|byte| byte.is_ascii_alphanumeric()).count()];
        let Some(end) = memchr(b'>', rest) else { return Content::Unknown };
        if name.eq_ignore_ascii_case(b"a") {
            links += usize::from(is_own_link(&rest[..end.min(TAG)], own_host));
            if links > EMPTY_LINKS {
                return Content::Much;
            }
        }
        at += end + 1;
        if SKIPPED.iter().any(|skipped| skipped.eq_ignore_ascii_case(name)) {
            let rest = &body[at..];
            let closes = |start: &usize| {
                let close = rest[start + 1..].strip_prefix(b"/").and_then(|close| close.get(..name.len()));
                close.is_some_and(|close| close.eq_ignore_ascii_case(name))
            };
            let Some(close) = memchr_iter(b'<', rest).find(closes) else { return Content::Unknown };
            at += close;
        }
    }
    let is_bare = links <= BARE_LINKS && text <= BARE_TEXT && longest <= BARE_PARAGRAPH;
    if is_bare { Content::Unknown } else { Content::Some }
}

/// Characters that aren't white space.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte > b' ' && **byte & 0xc0 != 0x80).count()
}

/// Whether a tag `a` leads to the site: `a class=x href="/y`.
fn is_own_link(tag: &[u8], own_host: &str) -> bool {
    let is_href =
        |start: &usize| tag.get(*start..*start + 5).is_some_and(|name| name.eq_ignore_ascii_case(b"href="));
    let Some(start) = memchr_iter(b'=', tag).filter_map(|equals| equals.checked_sub(4)).find(is_href) else {
        return false;
    };
    let value = &tag[start + 5..];
    let value = match value.first() {
        Some(quote @ (b'"' | b'\'')) => {
            let value = &value[1..];
            &value[..memchr(*quote, value).unwrap_or(value.len())]
        }
        _ => &value[..value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len())],
    };
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let value = value.trim();
    let parts = if value.is_empty() || value.starts_with('#') { None } else { target::split(value) };
    parts.is_some_and(|parts| parts.host.is_none_or(|host| target::is_same_site(host, own_host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(piece: &str, count: usize) -> Content {
        look(piece.repeat(count).as_bytes(), "a.test")
    }

    #[test]
    fn links_to_the_site_count_and_nothing_that_looks_alike() {
        for link in ["<a href=/x>", "<A class='y' HREF=\"x\">", "<a href='https://www.a.test/'>"] {
            let found = [3, 4, 10, 11].map(|count| repeated(link, count));
            assert_eq!(found, [Content::Unknown, Content::Some, Content::Some, Content::Much], "{link}");
        }
        for no_link in [
            "<a href='#x'>",
            "<a href='https://b.test/'>",
            "<a href='mailto:x'>",
            "<a data-x='/x'>",
            "<abbr href=/x>",
            "<!-- <a href=/x> -->",
            "<script>'<a href=/x>'</script>",
            "<noscript><a href=/x></noscript>",
        ] {
            assert_eq!(repeated(no_link, 50), Content::Unknown, "{no_link}");
        }
    }

    #[test]
    fn text_counts_by_its_characters_and_its_longest_run() {
        // The text behind the last tag isn't counted.
        let found = [201, 202, 1_201, 1_202].map(|count| repeated("<p>wörds", count));
        assert_eq!(found, [Content::Unknown, Content::Some, Content::Some, Content::Much]);
        let run = |length| look(format!("<p>{}</p>", "x".repeat(length)).as_bytes(), "a.test");
        assert_eq!((run(300), run(301)), (Content::Unknown, Content::Some));
    }
}
