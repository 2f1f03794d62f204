//! Malformed consent values: their denials count, their permissions don't.
//!
//! By its draft a `Content-Usage` value that isn't a dictionary has no meaning, nor has an entry with another value than the tokens `y` and `n`,
//! nor a part of `Content-Signal` that isn't `key=yes` or `key=no`. But the author of `Train-AI=n;`, `search="n"` or `ai-train: no`
//! clearly denies a use.

use sfv::ListEntry;

use super::{Claim, Consent, Grade, Purpose, Signal, content_signal};
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
    let (clean, mut malformed) = if signal == Signal::ContentUsage {
        match super::content_usage::dictionary(value) {
            Some(dictionary) => {
                let denials = dictionary.iter().filter_map(denial_of_entry).collect();
                (super::content_usage::claims(&dictionary), denials)
            }
            None => (Vec::new(), denials(value)),
        }
    } else {
        let is_clean = super::content_signal::is_list(value);
        (content_signal(value), if is_clean { Vec::new() } else { denials(value) })
    };
    malformed.retain(|claim| !clean.contains(claim));
    malformed.sort();
    malformed.dedup();
    Read { clean, malformed }
}

/// Reads an entry of a dictionary that denies with another value than the token `n`: `search="n"`, `search=?0`, `search=no`, `train_ai=(n)`.
fn denial_of_entry((key, entry): (&sfv::Key, &ListEntry)) -> Option<Claim> {
    let purpose = match key.as_str().replace(['-', '_', '.'], "").as_str() {
        "trainai" | "aitrain" => Purpose::AiTrain,
        "aiuse" | "aiinput" => Purpose::AiInput,
        "search" => Purpose::Search,
        _ => return None,
    };
    let denies = match entry {
        ListEntry::Item(item) => item_denies(item),
        ListEntry::InnerList(list) => list.items.iter().any(item_denies),
    };
    denies.then_some(Claim::Purpose(purpose, Consent::Deny))
}

fn item_denies(item: &sfv::Item) -> bool {
    let item = &item.bare_item;
    if let Some(boolean) = item.as_boolean() {
        return !boolean;
    }
    if let Some(number) = item.as_integer() {
        return number == 0.into();
    }
    let text =
        item.as_token().map(sfv::TokenRef::as_str).or_else(|| item.as_string().map(sfv::StringRef::as_str));
    text.is_some_and(|text| words(text, false).first().is_some_and(|word| denies(word.text())))
}

/// Finds `KEY=no`, `KEY: n`, `KEY "false"` of the known keys, in any spelling.
fn denials(value: &str) -> Vec<Claim> {
    let mut found = Vec::new();
    for loose in [false, true] {
        let words = words(value, loose);
        for (at, word) in words.iter().enumerate().skip(1) {
            // `search no`, without a sign between, is a value of one of these words.
            if word.is_value() || word.is_near() && denies(word.text()) {
                found.extend(claim(&words[..at], word.text()));
            }
        }
    }
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
    denies(value).then_some(Claim::Purpose(purpose, Consent::Deny))
}

/// Returns whether a word as the value of a purpose denies it.
fn denies(word: &str) -> bool {
    matches!(
        word,
        "n" | "no"
            | "not"
            | "none"
            | "never"
            | "false"
            | "f"
            | "off"
            | "0"
            | "deny"
            | "denied"
            | "disallow"
            | "disallowed"
            | "disabled"
            | "forbidden"
            | "prohibited"
            | "blocked"
    )
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
            ("search=\"n\"", "", "search:deny"),
            ("search=\"No.\", train-ai=y", "ai-train:allow", "search:deny"),
            ("search=?0", "", "search:deny"),
            ("search=0", "", "search:deny"),
            ("search=no;x=1", "", "search:deny"),
            ("search=N, ai-use=(n)", "", "search:deny ai-input:deny"),
            ("search=disallowed", "", "search:deny"),
            ("search = no", "", "search:deny"),
            ("search = n", "", "search:deny"),
            ("search='n'", "", "search:deny"),
            ("search no", "", "search:deny"),
            ("\"search\"=\"no\"", "", "search:deny"),
            ("train_ai=n, aitrain=y", "", "ai-train:deny"),
            ("train-ai=?0, search=N", "", "search:deny ai-train:deny"),
            ("train-ai=y, train-ai, search=n, search=\"n\"", "", "search:deny"),
            // What permits isn't read; of a key given twice the last counts.
            ("Train-AI=y,", "", ""),
            ("search=\"y\", ai-use=?1, train-ai=1", "", ""),
            ("search=\"n\", search=y", "search:allow", ""),
            ("search=n, search=maybe, other=no, text=\"search=n\"", "", ""),
            ("image-search=n", "", ""),
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
            ("search=\"no\"", "search:deny", ""),
            ("search=no, ai-train=?0", "search:deny", "ai-train:deny"),
            ("search = no", "search:deny", ""),
            ("search=no.", "", "search:deny"),
            ("search no", "", "search:deny"),
            ("search==no", "", "search:deny"),
            ("search=n", "", "search:deny"),
            ("search=maybe, x=no", "", ""),
            ("use=all, ai-train", "", ""),
        ] {
            let expected = (clean.to_owned(), malformed.to_owned());
            assert_eq!(said(Signal::ContentSignal, value), expected, "{value}");
        }
    }
}
