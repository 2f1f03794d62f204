//! Malformed consent values: their denials count, their permissions don't.
//!
//! By its draft a `Content-Usage` value that isn't a dictionary has no meaning, nor has a part of `Content-Signal` that isn't
//! `key=yes` or `key=no`. But the author of `Train-AI=n;` or `ai-train: no` clearly denies a use.

use super::{Claim, Consent, Grade, Purpose, Signal, content_signal, content_usage};
use crate::fold::{Word, words};

/// What one value says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Read {
    /// By its own grammar.
    pub(crate) clean: Vec<Claim>,
    /// Denials that the grammar doesn't give.
    pub(crate) malformed: Vec<Claim>,
}

/// Reads a value of `Content-Usage` or `Content-Signal`, each claim once.
pub(crate) fn read(signal: Signal, value: &str) -> Read {
    let clean = match signal {
        Signal::ContentUsage => content_usage(value),
        _ => content_signal(value),
    };
    let is_clean = match signal {
        Signal::ContentUsage => super::content_usage::is_dictionary(value),
        _ => super::content_signal::is_list(value),
    };
    let mut malformed = if is_clean { Vec::new() } else { denials(value) };
    malformed.retain(|claim| !clean.contains(claim));
    Read { clean, malformed }
}

/// Finds `KEY=no`, `KEY: n`, `KEY "false"` of the known keys, in any spelling.
fn denials(value: &str) -> Vec<Claim> {
    let mut found = Vec::new();
    for loose in [false, true] {
        let words = words(value, loose);
        for (at, word) in words.iter().enumerate().skip(1) {
            if word.is_value() {
                found.extend(claim(&words[..at], word.text()));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Reads what a word says about the key before it, if that denies something.
fn claim(before: &[Word], value: &str) -> Option<Claim> {
    let (last, rest) = before.split_last()?;
    let first = rest.last().filter(|_| last.is_near()).map_or("", Word::text);
    let purpose = match (first, last.text()) {
        ("ai", "train") | ("train", "ai") | (_, "aitrain" | "trainai") => Purpose::AiTrain,
        ("ai", "input" | "use") | (_, "aiinput" | "aiuse") => Purpose::AiInput,
        (_, "search") => Purpose::Search,
        (_, "use") => {
            let grade = match value {
                "immediate" => Grade::Immediate,
                "reference" => Grade::Reference,
                _ => return None,
            };
            return Some(Claim::Use(grade));
        }
        _ => return None,
    };
    let denies = matches!(value, "n" | "no" | "false" | "0" | "deny" | "denied" | "never" | "none" | "off");
    denies.then_some(Claim::Purpose(purpose, Consent::Deny))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::statement::tests_support::words;

    fn said(signal: Signal, value: &str) -> (String, String) {
        let Read { clean, malformed } = read(signal, value);
        (words(&clean), words(&malformed))
    }

    #[test]
    fn denials_count_in_values_that_are_no_dictionary() {
        for (value, clean, malformed) in [
            ("train-ai=n, search=y", "ai-train:deny search:allow", ""),
            ("train-ai=n,", "", "ai-train:deny"),
            ("Train-AI=N; search=y", "", "ai-train:deny"),
            ("train-ai=n search=n", "", "search:deny ai-train:deny"),
            ("train-ai: n", "", "ai-train:deny"),
            ("train-ai=n\u{fffd}", "", "ai-train:deny"),
            ("{\"train-ai\": false, \"ai-use\": \"no\"}", "", "ai-input:deny ai-train:deny"),
            ("ｔｒａｉｎ-ａｉ＝ｎ", "", "ai-train:deny"),
            // What permits isn't read, and what a dictionary leaves unknown stays so.
            ("Train-AI=y,", "", ""),
            ("train-ai=y, train-ai, search=n, search=\"n\"", "", ""),
            ("train-ai=?0, search=N", "", ""),
            ("training=n,", "", ""),
            ("", "", ""),
        ] {
            let expected = (clean.to_owned(), malformed.to_owned());
            assert_eq!(said(Signal::ContentUsage, value), expected, "{value}");
        }
    }

    #[test]
    fn denials_count_in_parts_that_are_no_pair() {
        for (value, clean, malformed) in [
            ("search=yes, ai-train=no", "search:allow ai-train:deny", ""),
            ("search=yes, ai-train: no", "search:allow", "ai-train:deny"),
            ("search=yes ai-train=no", "", "ai-train:deny"),
            ("ai_train=no, use: reference.", "", "ai-train:deny use:reference"),
            ("ai-train=no\u{fffd}, ai-input=false", "", "ai-input:deny ai-train:deny"),
            ("ai-train = yes|search=off", "", "search:deny"),
            ("search=maybe, x=no", "", ""),
            ("use=all, ai-train", "", ""),
        ] {
            let expected = (clean.to_owned(), malformed.to_owned());
            assert_eq!(said(Signal::ContentSignal, value), expected, "{value}");
        }
    }
}
