//! `Content-Usage`: a structured-field dictionary (IETF AIPREF attachment and vocabulary drafts).

use sfv::{Dictionary, ListEntry, Parser};

use super::{Claim, Consent, Purpose};
use crate::walk::VALUE_LIMIT;

/// Reads the value of `Content-Usage`: `train-ai=n, search=y`.
///
/// Keys are lower case; only the tokens `y` and `n` say something; of a key given twice the last counts; other keys
/// are passed over. A value that is no dictionary says nothing at all, and so does one over 64 KiB. Several
/// header lines are one value, joined by `, `.
///
/// ```
/// use meta::consent::{Claim, Consent, Purpose, content_usage};
/// assert_eq!(content_usage("train-ai=n"), [Claim::Purpose(Purpose::AiTrain, Consent::Deny)]);
/// ```
pub fn content_usage(value: &str) -> Vec<Claim> {
    if value.len() > VALUE_LIMIT {
        return Vec::new();
    }
    let Ok(dictionary) = Parser::new(value).parse::<Dictionary>() else { return Vec::new() };
    let claim = |(key, entry): (&sfv::Key, &ListEntry)| {
        let purpose = match key.as_str() {
            "train-ai" => Purpose::AiTrain,
            "ai-use" => Purpose::AiInput,
            "search" => Purpose::Search,
            _ => return None,
        };
        let ListEntry::Item(item) = entry else { return None };
        match item.bare_item.as_token()?.as_str() {
            "y" => Some(Claim::Purpose(purpose, Consent::Allow)),
            "n" => Some(Claim::Purpose(purpose, Consent::Deny)),
            _ => None,
        }
    };
    dictionary.iter().filter_map(claim).collect()
}

/// Returns whether a value is a dictionary that is read, or empty.
pub(crate) fn is_dictionary(value: &str) -> bool {
    value.len() <= VALUE_LIMIT && Parser::new(value).parse::<Dictionary>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::statement::tests_support::words;

    #[test]
    fn only_the_tokens_y_and_n_say_something() {
        for (value, expected) in [
            ("train-ai=n, search=y", "ai-train:deny search:allow"),
            ("ai-use=n;x=1, other=y", "ai-input:deny"),
            ("train-ai=y, train-ai, search=n, search=\"n\"", ""),
            ("train-ai=y, train-ai=n", "ai-train:deny"),
            ("train-ai=?0, ai-use=(n), search=N", ""),
            ("Train-AI=n, search=y", ""),
            ("train-ai=n,", ""),
            ("train-ai=n; search=y", "ai-train:deny"),
            ("", ""),
            ("train-ai=n, ä=y", ""),
        ] {
            assert_eq!(words(&content_usage(value)), expected, "{value}");
        }
        assert!(content_usage(&format!("train-ai=n{}", " ".repeat(VALUE_LIMIT))).is_empty());
    }
}
