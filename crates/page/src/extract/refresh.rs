//! The address in a `<meta http-equiv=refresh>`.

/// Returns the address that a refresh names, as written; `None` where it only reloads the page or says nothing that
/// can be read. Source: HTML standard 4.2.5.3, "shared declarative refresh steps".
pub(super) fn address(content: &str) -> Option<&str> {
    let space = |c: char| c.is_ascii_whitespace();
    let rest = content.trim_start_matches(space);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 && !rest.starts_with('.') {
        return None;
    }
    let after_time = rest[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let address = after_time.trim_start_matches(space);
    if !address.is_empty() && address.len() == after_time.len() && !address.starts_with([';', ',']) {
        return None;
    }
    let address = address.strip_prefix([';', ',']).unwrap_or(address).trim_start_matches(space);
    let address = after_url_sign(address).unwrap_or(address);
    let address = match address.chars().next() {
        Some(quote @ ('"' | '\'')) => address[1..].split(quote).next().unwrap_or_default(),
        _ => address,
    };
    let address = address.trim_matches(space);
    (!address.is_empty()).then_some(address)
}

/// Steps over `url =`.
fn after_url_sign(address: &str) -> Option<&str> {
    let (sign, rest) = address.split_at_checked(3)?;
    let rest = sign
        .eq_ignore_ascii_case("url")
        .then(|| rest.trim_start_matches(|c: char| c.is_ascii_whitespace()))?;
    Some(rest.strip_prefix('=')?.trim_start_matches(|c: char| c.is_ascii_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn html_4_2_5_3_refresh_forms() {
        for (content, expected) in [
            ("0; url=/next", Some("/next")),
            ("5;URL='/next'", Some("/next")),
            ("5 , url = \"/a;b\" trailing", Some("/a;b")),
            ("1.5; /bare", Some("/bare")),
            (".5;url=x", Some("x")),
            ("0 url=x", Some("x")),
            ("0;url", Some("url")),
            ("3", None),
            ("3;", None),
            ("3; url=", None),
            ("", None),
            ("url=x", None),
            ("-1; url=x", None),
            ("3x; url=x", None),
        ] {
            assert_eq!(address(content), expected, "{content:?}");
        }
    }
}
