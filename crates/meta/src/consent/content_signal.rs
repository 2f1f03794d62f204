//! `Content-Signal`: a list of yes and no (Content Signals, 2025, with the later `use=`).

use super::{Claim, Consent, Grade, Purpose};
use crate::walk::{VALUE_LIMIT, cut, trim};

/// Reads the value of `Content-Signal`: `search=yes, ai-input=no, ai-train=no, use=reference`.
///
/// Case doesn't matter; a key that isn't there, or another value, says nothing. What is said twice is given once.
pub fn content_signal(value: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    for claim in parts(value).filter_map(claim) {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    claims
}

/// Returns whether every part of a value is one that [`content_signal`] reads.
pub(crate) fn is_list(value: &str) -> bool {
    value.len() <= VALUE_LIMIT && parts(value).all(|part| trim(part).is_empty() || claim(part).is_some())
}

fn parts(value: &str) -> impl Iterator<Item = &str> {
    cut(value, VALUE_LIMIT).split([',', ';'])
}

/// Reads `key=value`; nothing if it says nothing.
fn claim(pair: &str) -> Option<Claim> {
    let (key, value) = pair.split_once('=')?;
    let (key, value) = (trim(key).to_ascii_lowercase(), trim(value).to_ascii_lowercase());
    let purpose = match key.as_str() {
        "search" => Purpose::Search,
        "ai-input" => Purpose::AiInput,
        "ai-train" => Purpose::AiTrain,
        "use" => {
            let grades = [Grade::Full, Grade::Reference, Grade::Immediate];
            return grades.into_iter().find(|grade| grade.name() == value).map(Claim::Use);
        }
        _ => return None,
    };
    match value.as_str() {
        "yes" => Some(Claim::Purpose(purpose, Consent::Allow)),
        "no" => Some(Claim::Purpose(purpose, Consent::Deny)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::statement::tests_support::words;

    #[test]
    fn yes_and_no_and_a_grade() {
        for (value, expected) in [
            ("search=yes, ai-train=no, use=reference", "search:allow ai-train:deny use:reference"),
            ("Search = YES,ai-input=No", "search:allow ai-input:deny"),
            ("search=y, ai-train=maybe, ai-input, use=all, x=yes", ""),
            ("use=immediate, use=full", "use:immediate use:full"),
            ("", ""),
        ] {
            assert_eq!(words(&content_signal(value)), expected, "{value}");
        }
    }
}
