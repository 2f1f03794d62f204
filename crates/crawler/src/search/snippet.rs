//! The excerpt that is shown with a hit, with the matching words marked.

use std::ops::Range;

/// Characters of a snippet.
pub(super) const CHARACTERS: usize = 220;

/// Bytes of a page that a snippet is looked for in.
pub(super) const SEARCHED: usize = 256 * 1024;

/// A text with the places of what was found in it, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) text: String,
    pub(super) found: Vec<Range<usize>>,
}

/// Bounds a text to so many characters, where `found` marks what was found: from a little before the first mark on. White space is
/// folded, and control characters go.
pub(super) fn bound(text: &str, found: &[Range<usize>], most: usize) -> Marked {
    let found = join(found);
    let total = text.chars().count();
    let mut start = 0;
    if total > most {
        // As much as still allows text after the first mark.
        let first = found.first().map_or(0, |range| range.start);
        let before = text[..first].chars().count();
        let lead = before.min(most / 4);
        start = text[..first].char_indices().rev().nth(lead.saturating_sub(1)).map_or(first, |(at, _)| at);
        if lead == 0 {
            start = first;
        }
    }
    let mut marked = Marked::default();
    let mut count = 0;
    let mut space = false;
    let mut open: Option<usize> = None;
    for (at, c) in text.char_indices().filter(|(at, _)| *at >= start) {
        if count >= most {
            break;
        }
        let is_found = found.iter().any(|range| range.contains(&at));
        if let (false, Some(from)) = (is_found, open) {
            marked.found.push(from..marked.text.len());
            open = None;
        }
        if c.is_whitespace() {
            space = !marked.text.is_empty();
            continue;
        }
        if page::clean::is_hidden(&marked.text, c, &text[at + c.len_utf8()..]) {
            continue;
        }
        if std::mem::take(&mut space) {
            if count + 1 >= most {
                break;
            }
            marked.text.push(' ');
            count += 1;
        }
        if is_found && open.is_none() {
            open = Some(marked.text.len());
        }
        marked.text.push(c);
        count += 1;
    }
    if let Some(from) = open {
        marked.found.push(from..marked.text.len());
    }
    marked
}

/// Sorts ranges and joins those that overlap.
fn join(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sorted: Vec<Range<usize>> = ranges.to_vec();
    sorted.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::single_range_in_vec_init, reason = "one mark")]
    #[test]
    fn a_snippet_is_never_longer_than_its_author_allows() {
        let text =
            "Words before it, then the needle\nin the\u{1b}[31m haystack and much more text after that.";
        let at = text.find("needle").unwrap();
        for most in 0..100 {
            let marked = bound(text, &[at..at + 6], most);
            assert!(marked.text.chars().count() <= most, "{most} {marked:?}");
            assert!(!marked.text.contains('\u{1b}'));
            if most >= 20 {
                assert_eq!(marked.found.len(), 1, "{most} {marked:?}");
                assert_eq!(&marked.text[marked.found[0].clone()], "needle");
            }
        }
    }

    #[test]
    fn marks_that_overlap_are_one() {
        let marked = bound("東京都 の", &[0..6, 3..9], 99);
        assert_eq!((marked.text.as_str(), marked.found), ("東京都 の", std::iter::once(0..9).collect()));
    }
}
