//! Sanitises untrusted text for terminals and plain logs: no escape sequences, no control characters, one line.

pub mod markdown;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Deref;

/// Removes what could steer a terminal.
///
/// Escape sequences (ECMA-48: ESC or the 8-bit introducers, with their parameters and strings) go as a whole, line ends and
/// tabs become one blank each, other control characters (C0, DEL, C1) go, and so do the characters that reorder text (the
/// bidirectional embeddings, overrides, isolates and marks). The result is one line; text that is clean already isn't
/// copied. Cost: linear in the text.
pub fn clean(text: &str) -> Cow<'_, str> {
    without(text, is_steering)
}

/// As [`clean`], but characters that reorder text stay: texts of many languages need them. For what is stored.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    without(text, char::is_control)
}

/// As [`without_controls`], of a text that nobody needs any more.
pub fn into_without_controls<T: Deref<Target = str> + From<String>>(text: T) -> T {
    match without_controls(&text) {
        Cow::Owned(cleaned) => cleaned.into(),
        Cow::Borrowed(_) => text,
    }
}

/// Whether a text is printable ASCII alone.
pub(crate) fn is_plain(text: &str) -> bool {
    // Many bytes are compared at a time, since no comparison ends the loop.
    text.bytes().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~'))
}

fn without(text: &str, goes: fn(char) -> bool) -> Cow<'_, str> {
    if is_plain(text) || !text.chars().any(goes) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        rest = match c {
            '\x1b' => after_escape(tail),
            '\u{9b}' => after_parameters(tail),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => after_string(tail),
            '\n' | '\r' | '\t' | '\x0b' | '\x0c' | '\u{85}' | '\u{2028}' | '\u{2029}' if goes(c) => {
                kept.push(' ');
                tail
            }
            c if goes(c) => tail,
            c => {
                kept.push(c);
                tail
            }
        };
    }
    Cow::Owned(kept)
}

/// As [`without_controls`], but the text keeps its lines.
pub fn lines_without_controls(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(without_controls).collect();
    lines.join("\n")
}

/// As [`clean`], cut to at most `most` characters, the last of which is then `…`.
pub fn clean_to(text: &str, most: usize) -> String {
    // An escape sequence may be longer than what it leaves; nobody needs more of the text than this.
    let start = text.char_indices().nth(most.saturating_mul(8)).map_or(text, |(end, _)| &text[..end]);
    let cleaned = clean(start);
    if start.len() == text.len() && cleaned.chars().count() <= most {
        return cleaned.into_owned();
    }
    cleaned.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// As [`clean`], cut between characters to at most `most` bytes, the last of which are then `…`; says whether it was cut.
pub fn clean_within(text: &str, most: usize) -> (String, bool) {
    within(text, most, clean)
}

/// As [`without_controls`], cut as by [`clean_within`].
pub fn within_without_controls(text: &str, most: usize) -> (String, bool) {
    within(text, most, without_controls)
}

fn within(text: &str, most: usize, clean: fn(&str) -> Cow<'_, str>) -> (String, bool) {
    const CUT: char = '…';
    // An escape sequence may be longer than what it leaves; nobody needs more of the text than this.
    let start = &text[..text.floor_char_boundary(most.saturating_mul(8))];
    let cleaned = clean(start);
    if start.len() == text.len() && cleaned.len() <= most {
        return (cleaned.into_owned(), false);
    }
    let mut kept = cleaned[..cleaned.floor_char_boundary(most.saturating_sub(CUT.len_utf8()))].to_owned();
    kept.extend((most >= CUT.len_utf8()).then_some(CUT));
    (kept, true)
}

/// A text for a web page: without control characters, and with those that reorder text in the form that JSON has for them, `\u202e`.
pub fn with_marks_escaped(text: &str) -> Cow<'_, str> {
    let text = without_controls(text);
    if is_plain(&text) || !text.chars().any(is_steering) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_steering(c) {
            // All of them are in the first plane.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Skips what follows an ESC: a control sequence, a string, or one character with its intermediates.
fn after_escape(text: &str) -> &str {
    match text.bytes().next() {
        Some(b'[') => after_parameters(&text[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => after_string(&text[1..]),
        _ => {
            let text = text.trim_start_matches(|c| ('\x20'..='\x2f').contains(&c));
            text.strip_prefix(|c| ('\x30'..='\x7e').contains(&c)).unwrap_or(text)
        }
    }
}

/// Skips parameters, intermediates and the final byte of a control sequence.
fn after_parameters(text: &str) -> &str {
    let text = text.trim_start_matches(|c| ('\x20'..='\x3f').contains(&c));
    text.strip_prefix(|c| ('\x40'..='\x7e').contains(&c)).unwrap_or(text)
}

/// Skips a control string with its end (BEL, ST); one without an end takes nothing with it but its start.
fn after_string(text: &str) -> &str {
    // Stops at every control character, so that each byte is looked at twice at most.
    match text.find(char::is_control) {
        Some(end) => match text[end..].chars().next() {
            Some('\x07' | '\u{9c}') => text[end..].trim_start_matches(['\x07', '\u{9c}']),
            Some('\x1b') if text[end..].starts_with("\x1b\\") => &text[end + 2..],
            _ => text,
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        for (text, cleaned) in [
            ("plain text, häßlich 漢字", "plain text, häßlich 漢字"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b[2J\x1b[1;1Hgone", "gone"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://a.test/\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPdevice\x1b\\text", "text"),
            ("\u{9b}31mred", "red"),
            ("\u{9d}0;title\u{9c}text", "text"),
            ("\x1b(Btext", "text"),
            ("\x1bctext", "text"),
            ("\x1b]never ended", "never ended"),
            ("a\x1b", "a"),
            ("a\x1b[", "a"),
            ("a\r\nb\tc", "a  b c"),
            ("a\x08\x7fb\0", "ab"),
            ("\u{202e}gnp.exe", "gnp.exe"),
            ("\u{feff}a", "a"),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
        }
        assert!(matches!(clean("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(clean_to("abcdef", 6), "abcdef");
        assert_eq!(clean_to("abcdefg", 6), "abcde…");
        assert_eq!(clean_to("\x1b[31mabc\x1b[0m", 3), "abc");
        assert_eq!(clean_to(&"ä".repeat(1000), 3), "ää…");
    }

    #[test]
    fn marks_that_reorder_text_stay_in_what_is_stored() {
        assert_eq!(
            without_controls("\u{1}in\u{202e}fdp\x1b[31m.exe\n\u{2028}x"),
            "in\u{202e}fdp.exe \u{2028}x"
        );
        assert_eq!(within_without_controls("\u{200f}\u{1}abcd", 6), ("\u{200f}…".to_owned(), true));
    }

    #[test]
    fn marks_that_reorder_text_are_shown_on_web_pages() {
        for (text, shown) in [
            ("in\u{202e}fdp.exe", "in\\u202efdp.exe"),
            ("\u{200e}\u{200f}\u{61c}\u{2066}\u{2069}", "\\u200e\\u200f\\u061c\\u2066\\u2069"),
            ("\u{feff}\u{2028}", "\\ufeff\\u2028"),
            ("\x1b[31m\u{5e9}\u{5dc}\u{5d5}\u{5dd}", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}"),
        ] {
            assert_eq!(with_marks_escaped(text), shown, "{text:?}");
        }
        assert!(matches!(with_marks_escaped("pl\u{e4}in"), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(lines_without_controls("a\u{1}\tb\r\n\x1b[31mc\n\nd"), "a b\nc\n\nd");
    }

    #[test]
    fn a_text_is_cut_by_bytes() {
        assert_eq!(clean_within("abcdef", 6), ("abcdef".to_owned(), false));
        assert_eq!(clean_within("abcdefg", 6), ("abc…".to_owned(), true));
        assert_eq!(clean_within("äääää", 8), ("ää…".to_owned(), true));
        assert_eq!(clean_within("a\x01\x02b", 2), ("ab".to_owned(), false));
        assert_eq!(clean_within("ab", 0), (String::new(), true));
    }

    proptest! {
        #[test]
        fn no_control_character_remains(text in "(\x1b|\u{9b}|\u{9d}|\\[|\\]|;|[0-9]|m|\x07|\\\\|\n|a|ä|\u{202e}){0,40}|\\PC*|.*") {
            let cleaned = clean(&text);
            prop_assert!(!cleaned.chars().any(is_steering));
            prop_assert_eq!(clean(&cleaned), cleaned.as_ref());
            prop_assert!(clean_to(&text, 9).chars().count() <= 9);
            prop_assert!(clean_within(&text, 9).0.len() <= 9);
        }
    }
}
