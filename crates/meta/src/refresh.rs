//! Requests to reload a page or to load another one.

use serde::{Deserialize, Serialize};

/// A request to load a page again, or another one (`meta refresh` or the header `Refresh`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Refresh {
    /// Seconds to wait.
    pub seconds: u32,
    /// The target as written, to be resolved against the page's base; none = the page itself.
    pub url: Option<String>,
}

impl Refresh {
    /// Reads `N`, `N;url=...`, `N, '...'` by the steps of WHATWG HTML ("shared declarative refresh steps"), which are the same
    /// for the header field.
    pub fn parse(value: &str) -> Option<Self> {
        let value = value.trim_start_matches(blank);
        let after = value.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = &value[..value.len() - after.len()];
        if digits.is_empty() && !after.starts_with('.') {
            return None;
        }
        let seconds = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u32::MAX) };
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if !rest.is_empty() && !rest.starts_with(|c: char| matches!(c, ';' | ',') || blank(c)) {
            return None;
        }
        let rest = rest.trim_start_matches(blank);
        let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_start_matches(blank);
        Some(Self { seconds, url: target(rest) })
    }
}

/// Reads the target after the time: the prefix `url=` may be missing, and it may be quoted.
fn target(text: &str) -> Option<String> {
    let mut url = text;
    if text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("url"))
        && let Some(value) = text[3..].trim_start_matches(blank).strip_prefix('=')
    {
        url = value.trim_start_matches(blank);
    }
    if let Some(quote) = url.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        url = &url[1..];
        url = url.split(quote).next().unwrap_or_default();
    }
    let url = url.trim_matches(blank);
    (!url.is_empty()).then(|| url.to_owned())
}

fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_refresh() {
        for (value, seconds, url) in [
            ("5", 5, None),
            ("0;url=http://a.example/", 0, Some("http://a.example/")),
            (" 3 ; URL = '/b?x=1;y' ", 3, Some("/b?x=1;y")),
            ("1,/c", 1, Some("/c")),
            ("1 url.html", 1, Some("url.html")),
            ("1.9; \"d\"e", 1, Some("d")),
            (".5", 0, None),
            ("99999999999;url=", u32::MAX, None),
        ] {
            let expected = Refresh { seconds, url: url.map(str::to_owned) };
            assert_eq!(Refresh::parse(value), Some(expected), "{value}");
        }
        for bad in ["", "url=/x", "5x;url=/x", "-1;url=/x"] {
            assert_eq!(Refresh::parse(bad), None, "{bad}");
        }
    }
}
