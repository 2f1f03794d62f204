//! Values that the grammar can't split: the stricter interpretation.
//!
//! `noindex|nofollow`, `noindex.`, `["noindex"]`, `content=noindex`, full-width letters: the intention is
//! clear, but the value isn't a list of terms. So every restriction that occurs as a whole word counts: bounded
//! by anything but letters, in any spelling (`no-index`, `no index`). A word that only begins like a term
//! (`indexnow`, `noindexed`) isn't one. Permissions are never read from such a value.

use jiff::Timestamp;

use crate::fold::{Word, is_ambiguous, words};
use crate::walk::cut;
use crate::{ImagePreview, Limit, Term, parse_date};

/// Words that one term may be written in (`no image index`).
const PARTS: usize = 4;
/// What denies an allowing term: `index=no`.
const DENIALS: [&str; 9] = ["no", "n", "none", "not", "false", "off", "deny", "denied", "never"];

/// Finds the terms in a text that restrict, each once; of a limit or date the strictest.
///
/// Cost: linear in the text.
pub(crate) fn restrictions(text: &str) -> Vec<Term> {
    let mut found = Vec::new();
    read(text, false, &mut found);
    if is_ambiguous(text) {
        read(text, true, &mut found);
    }
    found
}

fn read(text: &str, loose: bool, found: &mut Vec<Term>) {
    let words = words(text, loose);
    let mut at = 0;
    while at < words.len() {
        let (term, used) = term_at(text, &words[at..]);
        if let Some(term) = term {
            add(found, term);
        }
        at += used.max(1);
    }
}

/// Keeps a term; of two with values the stricter one.
fn add(found: &mut Vec<Term>, term: Term) {
    let same = |kept: &&mut Term| std::mem::discriminant(*kept) == std::mem::discriminant(&term);
    match found.iter_mut().find(same) {
        Some(kept) => *kept = term.min(*kept),
        None => found.push(term),
    }
}

/// Reads what the words begin with: a term that restricts, and how many words it takes.
fn term_at(text: &str, words: &[Word]) -> (Option<Term>, usize) {
    let Some(first) = words.first().filter(|word| !word.is_number()) else { return (None, 1) };
    let mut longest = None;
    let mut name = String::new();
    for (position, word) in words.iter().take(PARTS).enumerate() {
        if position > 0 && (!word.is_near() || word.is_number()) {
            break;
        }
        // `not index` is `no index`.
        name.push_str(if position == 0 && word.text() == "not" { "no" } else { word.text() });
        if word.text().is_empty() || !Term::has_prefix(&name) {
            break;
        }
        let parts = position + 1;
        let whole = Term::from_word(&name).filter(|term| term.restricts()).map(|term| (Some(term), parts));
        longest = with_value(&name, text, words, parts).or(whole).or(longest);
    }
    if let Some(longest) = longest {
        return longest;
    }
    if let Some(term) = first.readings().skip(1).filter_map(Term::from_word).find(|term| term.restricts()) {
        return (Some(term), 1);
    }
    denied(words)
}

/// Reads a term with a value: `max-snippet:0.`, `"max-snippet":"0"`. Without a value that can be read it says nothing.
fn with_value(name: &str, text: &str, words: &[Word], parts: usize) -> Option<(Option<Term>, usize)> {
    if Term::is_date_name(name) {
        let date = words.get(parts - 1).and_then(|last| date(text.get(last.end..)?));
        return Some((date.map(|(date, _)| Term::UnavailableAfter(date)), parts));
    }
    let _is_valued = Term::from_pair(name, "")?;
    let value = words.get(parts).filter(|word| (word.is_near() || word.is_value()) && !word.is_negative());
    let term = value.and_then(|value| match Term::from_pair(name, value.text())?.ok()? {
        // A larger preview than any other isn't asked for here.
        Term::MaxImagePreview(ImagePreview::Large) | Term::MaxSnippet(Limit::Unlimited) => None,
        term => Some(term),
    });
    Some((term, parts + usize::from(term.is_some())))
}

/// Reads `index=no`, `follow: false`, `archive=0`: an allowing term that is denied.
fn denied(words: &[Word]) -> (Option<Term>, usize) {
    let [name, value, ..] = words else { return (None, 1) };
    let is_denied = value.is_value() && (DENIALS.contains(&value.text()) || value.text() == "0");
    let term = is_denied.then(|| Term::from_word(&format!("no{}", name.text()))).flatten();
    match term.filter(|term| term.restricts()) {
        Some(term) => (Some(term), 2),
        None => (None, 1),
    }
}

/// Finds the longest date that a text begins with, marks before it passed over: the date, and where it ends.
pub(crate) fn date(text: &str) -> Option<(Timestamp, usize)> {
    /// Longest text that is tried, in bytes.
    const WINDOW: usize = 96;
    /// Places where a date may end: as many as `Wed, 03 Dec 2025 13:09:53.000 +01:00` has.
    const ENDS: usize = 12;
    let start = text.find(char::is_alphanumeric)?;
    let window = cut(&text[start..], WINDOW);
    let mut ends = Vec::with_capacity(ENDS);
    let mut in_word = false;
    for (at, c) in window.char_indices() {
        if in_word && !c.is_alphanumeric() {
            ends.push(at);
        }
        in_word = c.is_alphanumeric();
    }
    if in_word {
        ends.push(window.len());
    }
    ends.truncate(ENDS);
    // Every date has a digit.
    let digit = window.find(|c: char| c.is_ascii_digit())?;
    ends.retain(|end| *end > digit);
    ends.into_iter().rev().find_map(|end| Some((parse_date(&window[..end])?, start + end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes what was found, in order.
    fn read(text: &str) -> String {
        restrictions(text).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn whatever_stands_between_terms_bounds_them() {
        let both = "noindex nofollow";
        for mark in [
            "|",
            "/",
            ".",
            "\\",
            "+",
            "&",
            "*",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "<",
            ">",
            "#",
            "!",
            "?",
            "~",
            "^",
            "$",
            "@",
            "\"",
            "'",
            "\u{a0}",
            "\u{2003}",
            "\u{fffd}",
            "\u{1}",
            "\u{7f}",
            "\u{85}",
            "\u{200b} ",
            "•",
            "→",
            "。",
            "：",
            "=",
            ":",
            "1",
            "%2C",
            "%20",
            "%C2%A0",
            "&nbsp;",
            "&#44;",
            "&#x2c;",
            "&comma;",
            "&amp;",
            "\\u002c",
            "\\n",
            "\\t",
            " and ",
            "“",
            "—",
            "ー",
            "ä",
            "和",
        ] {
            assert_eq!(read(&format!("noindex{mark}nofollow")), both, "{mark:?}");
            assert_eq!(read(&format!("{mark}noindex{mark}{mark}nofollow{mark}")), both, "{mark:?}");
        }
    }

    #[test]
    fn a_term_is_read_in_every_spelling() {
        for text in [
            "no index",
            "no-index",
            "no_index",
            "no–index",
            "no—index",
            "no−index",
            "no.index",
            "no/index",
            "no:index",
            "no\u{ad}index",
            "no\u{200b}index",
            "no\u{feff}index",
            "no\u{2060}index",
            "noin\u{ad}dex",
            "no\u{0}index",
            "noin\u{0}dex",
            "noin\u{fffd}dex",
            "no&shy;index",
            "noin&#173;dex",
            "no&nbsp;index",
            "no&#8203;index",
            "ｎｏｉｎｄｅｘ",
            "ＮＯＩＮＤＥＸ",
            "ｎｏ－ｉｎｄｅｘ",
            "𝐧𝐨𝐢𝐧𝐝𝐞𝐱",
            "𝙽𝙾𝙸𝙽𝙳𝙴𝚇",
            "ⓝⓞⓘⓝⓓⓔⓧ",
            "noındex",
            "NOİNDEX",
            "nоindех",
            "nоındex",
            "not index",
            "do not index",
            "do-not-index",
            "index=no",
            "index: no",
            "index=\"no\"",
            "\"index\":false",
            "index=0",
            "index : off",
            "n%6Findex",
            "\\u006eoindex",
            "<meta name=\"robots\" content=\"noindex\">",
            "[\"noindex\"]",
            "{\"robots\": \"noindex\"}",
            "content=noindex",
            "robots=noindex",
            "all: noindex",
        ] {
            assert_eq!(read(text), "noindex", "{text:?}");
        }
        assert_eq!(read("no image index; no-image ai"), "noimageindex noimageai");
        assert_eq!(
            read("follow=no archive:false snippet=0 translate=no cache: off"),
            "nofollow noarchive nosnippet notranslate nocache"
        );
    }

    #[test]
    fn words_that_only_begin_or_end_like_a_term_are_none() {
        for text in [
            "indexnow",
            "noindexed",
            "nofollowing the rules",
            "nofollowers",
            "piano index",
            "x-noindexing",
            "canoindex",
            "indexnоw",
            "nonefollow",
            "noindexnofollow",
            "a casino in dex",
            "nothing, index",
            "no one, index",
            "index, follow",
            "index=yes",
            "follow",
            "index",
            "follow, no",
            "no, index",
            "no; index",
            "no      index",
            "unavailable_after",
            "max-snippet",
        ] {
            assert_eq!(read(text), "", "{text:?}");
        }
    }

    #[test]
    fn values_are_read_where_they_restrict() {
        for (text, expected) in [
            ("max-snippet:0.", "max-snippet:0"),
            ("\"max-snippet\":\"20\"", "max-snippet:20"),
            ("max-snippet=20px|max-snippet=5px", "max-snippet:5"),
            ("max_snippet(30)", "max-snippet:30"),
            ("{\"max-snippet\": \"20\"}", "max-snippet:20"),
            ("max-snippet:-1|x", ""),
            ("max-snippet:many", ""),
            ("max-image-preview:none|noindex", "max-image-preview:none noindex"),
            ("max-image-preview:large|x", ""),
            ("max-video-preview:0/", "max-video-preview:0"),
            ("unavailable_after: 2020-09-21|noindex", "unavailable_after: 2020-09-21T00:00:00Z noindex"),
            (
                "(unavailable_after: \"Wed, 03 Dec 2025 13:09:53 GMT\")",
                "unavailable_after: 2025-12-03T13:09:53Z",
            ),
            ("unavailable_after: whenever|", ""),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
