//! The width of a text on a terminal: in cells, of which most characters take one, those of East Asia two, accents none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use page::clean::clean;

/// The cells that a text takes.
pub(crate) fn cells(text: &str) -> usize {
    text.width()
}

/// Cleans a text and cuts it to at most `most` cells, the last of which is then `…`.
pub(crate) fn fit(text: &str, most: usize) -> String {
    // A character without width costs none of them; nobody needs more of the text than this.
    let start = text.char_indices().nth(most.saturating_mul(8)).map_or(text, |(end, _)| &text[..end]);
    let cleaned = clean(start);
    if start.len() == text.len() && cells(&cleaned) <= most {
        return cleaned.into_owned();
    }
    let Some(room) = most.checked_sub(1) else { return String::new() };
    let (mut kept, mut used) = (String::new(), 0);
    for c in cleaned.chars() {
        let width = c.width().unwrap_or(0);
        if used + width > room {
            break;
        }
        used += width;
        kept.push(c);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_the_cells_that_they_take() {
        for (text, most, expected, width) in [
            ("abc", 3, "abc", 3),
            ("abcd", 3, "ab…", 3),
            ("漢字", 4, "漢字", 4),
            ("漢字かな", 4, "漢…", 3),
            ("漢字かな", 5, "漢字…", 5),
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}", 2),
            ("a\tb\u{1b}[31mc", 9, "a bc", 4),
            ("ab", 1, "…", 1),
            ("ab", 0, "", 0),
        ] {
            let fitted = fit(text, most);
            assert_eq!((fitted.as_str(), cells(&fitted)), (expected, width), "{text:?} in {most}");
        }
    }
}
