//! Sanitises untrusted text for terminals and plain logs: no escape sequences, no control characters, one line.

pub mod markdown;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Deref;

use icu_properties::props::DefaultIgnorableCodePoint;
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};

/// Characters that have no shape of their own (Unicode, `DerivedCoreProperties.txt`).
const IGNORABLE: CodePointSetDataBorrowed<'static> = CodePointSetData::new::<DefaultIgnorableCodePoint>();

/// Removes what could steer a terminal, and what is in a text without being seen.
///
/// Escape sequences (ECMA-48: ESC or the 8-bit introducers, with their parameters and strings) go as a whole, line ends and
/// tabs become one blank each, other control characters (C0, DEL, C1) go, and so do the characters that reorder text or are invisible:
/// those with the Unicode property `Default_Ignorable_Code_Point` (the bidirectional controls, U+00AD, U+200B, U+2060, U+FEFF, tags, fillers ...)
/// and U+FFF9 to U+FFFB. U+200C, U+200D and variation selectors stay behind a visible character that isn't ASCII, where many scripts and
/// emoji need them, but not in a URL. The result is one line; text that is clean already isn't copied. Cost: linear in the text.
pub fn clean(text: &str) -> Cow<'_, str> {
    without(text, is_hidden)
}

/// As [`clean`], but characters that reorder text or are invisible stay: texts of many languages need them. For what is stored.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    without(text, |_, c, _| c.is_control())
}

/// As [`clean`], but what goes is written as JSON has it, `\u202e` or `\udb40\udc41`. In a text that is JSON, it comes back.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if is_plain(text) || !has(text, is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        if is_hidden(&escaped, c, &text[at + c.len_utf8()..]) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a text doesn't fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// A text for a web page: without control characters, and otherwise [`escaped`].
pub fn with_marks_escaped(text: &str) -> Cow<'_, str> {
    match without_controls(text) {
        Cow::Borrowed(text) => escaped(text),
        Cow::Owned(text) => {
            let escaped = match escaped(&text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(escaped) => Some(escaped),
            };
            Cow::Owned(escaped.unwrap_or(text))
        }
    }
}

/// As [`without_controls`], of a text that nobody needs any more.
pub fn into_without_controls<T: Deref<Target = str> + From<String>>(text: T) -> T {
    match without_controls(&text) {
        Cow::Owned(cleaned) => cleaned.into(),
        Cow::Borrowed(_) => text,
    }
}

/// Whether a text is printable ASCII alone.
pub fn is_plain(text: &str) -> bool {
    // Many bytes are compared at a time, since no comparison ends the loop.
    text.bytes().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~'))
}

/// Whether a character goes, by what is kept of the text before it and by the text after it.
type Goes = fn(before: &str, c: char, after: &str) -> bool;

fn has(text: &str, goes: Goes) -> bool {
    text.char_indices().any(|(at, c)| goes(&text[..at], c, &text[at + c.len_utf8()..]))
}

fn without(text: &str, goes: Goes) -> Cow<'_, str> {
    if is_plain(text) || !has(text, goes) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        let is_gone = goes(&kept, c, tail);
        rest = match c {
            '\x1b' => after_escape(tail),
            '\u{9b}' => after_parameters(tail),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => after_string(tail),
            '\n' | '\r' | '\t' | '\x0b' | '\x0c' | '\u{85}' | '\u{2028}' | '\u{2029}' if is_gone => {
                kept.push(' ');
                tail
            }
            _ if is_gone => tail,
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

/// Whether a character steers a terminal, reorders the text or can't be seen there: see [`clean`].
pub fn is_hidden(before: &str, c: char, after: &str) -> bool {
    c.is_control() || is_invisible(c) && !is_needed(before, c, after)
}

fn is_invisible(c: char) -> bool {
    c >= '\u{ad}' && (IGNORABLE.contains(c) || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}'))
}

/// Whether an invisible character joins or varies the one before it.
fn is_needed(before: &str, c: char, after: &str) -> bool {
    let is_joiner = matches!(c, '\u{200c}' | '\u{200d}');
    if !is_joiner && !is_variation_selector(c) || is_url(before) {
        return false;
    }
    match before.chars().next_back() {
        // An emoji may have a selector before its joiner.
        Some(last) if is_variation_selector(last) => is_joiner,
        // An emoji of a key, as 1 with U+FE0F and U+20E3.
        Some('0'..='9' | '#' | '*') => c == '\u{fe0f}' && after.starts_with('\u{20e3}'),
        Some(last) => !last.is_ascii() && !last.is_whitespace() && !is_invisible(last),
        None => false,
    }
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' | '\u{180f}')
}

/// Whether a text begins as a URL.
fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
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
    fn what_is_not_seen_goes_and_what_scripts_and_emoji_need_stays() {
        // Invisible everywhere.
        for hidden in [
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b4}',
            '\u{180e}',
            '\u{200b}',
            '\u{200e}',
            '\u{200f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2061}',
            '\u{2064}',
            '\u{2066}',
            '\u{2069}',
            '\u{206f}',
            '\u{3164}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{fffb}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0fff}',
        ] {
            for around in ["pay", "\u{5e9}\u{5dc}", "\u{1f600}", ""] {
                let text = format!("{around}{hidden}pal");
                assert_eq!(clean(&text), format!("{around}pal"), "{hidden:?}");
                assert!(!with_marks_escaped(&text).contains(hidden), "{hidden:?}");
            }
        }
        for stays in [
            // Persian, Devanagari, Sinhala.
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "\u{915}\u{94d}\u{200d}\u{937}",
            "\u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3}",
            // Emoji: a heart, a family, a heart on fire, a key, a black flag.
            "\u{2764}\u{fe0f}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
            "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
            "1\u{fe0f}\u{20e3}",
            // A name in Japanese with the form of a character; Mongolian.
            "\u{845b}\u{e0100}\u{57ce}",
            "\u{1820}\u{180b}\u{1828}",
        ] {
            for text in [stays.to_owned(), format!("a title: {stays} and more")] {
                assert!(matches!(clean(&text), Cow::Borrowed(_)), "{text:?}");
                assert!(matches!(with_marks_escaped(&text), Cow::Borrowed(_)), "{text:?}");
            }
            let url = format!("http://a.test/{stays}");
            let shown: String = stays.chars().filter(|c| !is_invisible(*c)).collect();
            assert_eq!(clean(&url), format!("http://a.test/{shown}"), "not in a URL");
        }
        for (text, cleaned) in [
            // Where nothing is to be joined or varied.
            ("pay\u{200d}pal\u{200c}", "paypal"),
            ("a\u{fe0f}1\u{fe0f}2", "a12"),
            ("\u{200d}x", "x"),
            ("\u{e4} \u{200d}x", "\u{e4} x"),
            // Bytes written as selectors behind one emoji.
            ("\u{1f600}\u{fe01}\u{fe02}\u{e0101}\u{e0102}", "\u{1f600}\u{fe01}"),
            ("\u{e4}\u{200d}\u{200c}\u{200d}", "\u{e4}\u{200d}"),
            // The letters of a flag are tags, which could be any text.
            ("\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}", "\u{1f3f4}"),
            // Visible signs that Unicode has among its format characters.
            ("\u{600}\u{661} \u{6dd}", "\u{600}\u{661} \u{6dd}"),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
        }
    }

    #[test]
    fn marks_that_reorder_text_are_shown_on_web_pages() {
        for (text, shown) in [
            ("http://a.test/\u{e4}\u{200d}\u{e0041}", "http://a.test/\u{e4}\\u200d\\udb40\\udc41"),
            ("pay\u{ad}pal \u{645}\u{200c}\u{645}", "pay\\u00adpal \u{645}\u{200c}\u{645}"),
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
        fn no_control_character_remains(text in "(\x1b|\u{9b}|\u{9d}|\\[|\\]|;|[0-9]|m|\x07|\\\\|\n|a|ä|\u{202e}|\u{200d}|\u{fe0f}|❤|http://){0,40}|\\PC*|.*") {
            let cleaned = clean(&text);
            prop_assert!(!has(&cleaned, is_hidden));
            prop_assert!(!has(&escaped(&text), is_hidden));
            prop_assert_eq!(clean(&cleaned), cleaned.as_ref());
            prop_assert!(clean_to(&text, 9).chars().count() <= 9);
            prop_assert!(clean_within(&text, 9).0.len() <= 9);
        }
    }
}
