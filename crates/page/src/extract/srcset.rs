//! The addresses in a `srcset`.

/// Walks the addresses of a `srcset`. Source: HTML standard 4.8.4.2.1, "parsing a srcset attribute".
pub(super) fn addresses(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let address = word.trim_end_matches(',');
        rest = if address.len() < word.len() { after } else { after_descriptors(after) };
        Some(address)
    })
}

/// Steps over the descriptors of a candidate: up to the next comma outside of parentheses.
fn after_descriptors(text: &str) -> &str {
    let mut in_parentheses = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => in_parentheses = true,
            b')' => in_parentheses = false,
            b',' if !in_parentheses => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    #[test]
    fn html_4_8_4_2_1_candidates() {
        for (srcset, expected) in [
            ("a.png 1x, b.png 2x", &["a.png", "b.png"][..]),
            (" a.png , b.png", &["a.png", "b.png"]),
            ("a,b.png 100w,c.png", &["a,b.png", "c.png"]),
            ("a.png, , b.png 1x (x,y), c.png", &["a.png", "b.png", "c.png"]),
            (",, ", &[]),
            ("", &[]),
        ] {
            assert_eq!(super::addresses(srcset).collect::<Vec<_>>(), expected, "{srcset:?}");
        }
    }
}
