//! Untrusted text within Markdown (`CommonMark` 0.31, with the extensions of GitHub): as text, as code, as a link to a URL.

use super::clean;

/// A text on one line that no Markdown reader takes for anything but text: what could begin markup has a backslash before it. URLs in it may
/// become links, to what they show.
pub fn text(text: &str) -> String {
    let text = clean(text);
    let text = text.trim();
    let mut escaped = String::with_capacity(text.len() + 16);
    // A list item with a number: digits, then `.` or `)`, then a blank or the end (CommonMark, section 5.2).
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    for (at, c) in text.char_indices() {
        let begins_markup = match c {
            // Within a word it is none.
            '_' => !is_in_word(text, at),
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '!' => true,
            '-' | '+' | '=' => at == 0,
            '.' | ')' if digits > 0 && at == digits => {
                text[at + 1..].chars().next().is_none_or(char::is_whitespace)
            }
            _ => false,
        };
        if begins_markup {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Whether the character at this place, of one byte, has a letter or digit on both sides.
fn is_in_word(text: &str, at: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    is_word(text[..at].chars().next_back()) && is_word(text[at + 1..].chars().next())
}

/// A text as code on one line.
pub fn code(text: &str) -> String {
    let text = clean(text);
    let text = text.trim();
    // Longer than any row of backticks within.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    if text.is_empty() { String::new() } else { format!("{fence}{blank}{text}{blank}{fence}") }
}

/// A URL: as it is where nothing in it could be markup, or as a link that shows it. What is no http URL, or has characters that end such a link,
/// is [`text()`].
pub fn url(url: &str) -> String {
    let escaped = text(url);
    if escaped == url {
        return escaped;
    }
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    let ends_it = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '\\');
    if is_http && !url.contains(ends_it) && clean(url) == url { format!("<{url}>") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_is_no_markup() {
        for (raw, escaped) in [
            ("plain text, 100 % (of it)", "plain text, 100 % (of it)"),
            ("http_404 sub_ _x a__b", r"http_404 sub\_ \_x a\_\_b"),
            ("*a* _b_ `c` ~d~", r"\*a\* \_b\_ \`c\` \~d\~"),
            ("[x](http://evil.test/)", r"\[x\](http://evil.test/)"),
            ("![x](y)", r"\!\[x\](y)"),
            ("<img src=x> &lt;", r"\<img src=x\> \&lt;"),
            ("# title", r"\# title"),
            ("- item", r"\- item"),
            ("+ item", r"\+ item"),
            ("1. item", r"1\. item"),
            ("12) item", r"12\) item"),
            ("version 1.2-3", "version 1.2-3"),
            ("0.1.0", "0.1.0"),
            ("7.", r"7\."),
            ("a | b", r"a \| b"),
            ("==", r"\=="),
            ("two\n\n# lines\u{202e}\u{1b}[2J", r"two  \# lines"),
            ("  indented", "indented"),
            (r"\*", r"\\\*"),
        ] {
            assert_eq!(text(raw), escaped, "{raw:?}");
        }
    }

    #[test]
    fn code_ends_where_it_is_said() {
        for (raw, expected) in [
            ("a*b", "`a*b`"),
            ("a`b", "``a`b``"),
            ("a``b`", "``` a``b` ```"),
            ("`", "`` ` ``"),
            ("a\nb", "`a b`"),
            ("", ""),
        ] {
            assert_eq!(code(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn urls_are_links_that_end_where_they_do() {
        assert_eq!(url("http://a.test/a_b-c?d=1#e"), r"<http://a.test/a_b-c?d=1#e>");
        assert_eq!(url("http://a.test/a_b-c?d=1"), "http://a.test/a_b-c?d=1");
        assert_eq!(url("http://a.test/a_b*c?[d](e)`"), "<http://a.test/a_b*c?[d](e)`>");
        assert_eq!(url("http://a.test/>x"), r"http://a.test/\>x");
        assert_eq!(url("http://a.test/ x"), "http://a.test/ x");
        assert_eq!(url("javascript:alert(1)"), "javascript:alert(1)");
        assert_eq!(url("http://a.test/\u{202e}"), "http://a.test/");
    }
}
