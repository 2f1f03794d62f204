//! A text as JSON.

/// Returns the bytes that a text takes as JSON, its quotes included: six for a control character.
pub fn size(text: &str) -> usize {
    let size = |byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        ..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(size).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_size_is_that_of_the_encoded_form(text in ".{0,40}|[\x00-\x1f]{0,40}") {
            prop_assert_eq!(size(&text), serde_json::to_string(&text).unwrap().len());
        }
    }
}
