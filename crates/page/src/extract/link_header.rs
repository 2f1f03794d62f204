//! The `Link` header field.

/// Holds one link of a `Link` field, as written.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct HeaderLink<'a> {
    pub(super) address: &'a str,
    pub(super) rel: String,
    pub(super) hreflang: Option<String>,
    pub(super) title: Option<String>,
}

/// Walks the links of one field line. A link about another page (`anchor=`) is skipped; of a parameter
/// that occurs twice the first counts; what can't be read ends the walk. Source: RFC 8288 section 3 and appendix B.
pub(super) fn links(field: &str) -> impl Iterator<Item = HeaderLink<'_>> {
    let mut rest = field;
    std::iter::from_fn(move || {
        loop {
            let open = rest.trim_start_matches([' ', '\t', ',']).strip_prefix('<')?;
            let (address, parameters) = open.split_once('>')?;
            let mut link = HeaderLink { address: address.trim(), ..HeaderLink::default() };
            let is_ours;
            (is_ours, rest) = read_parameters(parameters, &mut link);
            if is_ours {
                return Some(link);
            }
        }
    })
}

/// Reads the parameters after an address; gives whether the link is the page's own, and what follows.
fn read_parameters<'a>(mut rest: &'a str, link: &mut HeaderLink<'_>) -> (bool, &'a str) {
    let mut is_ours = true;
    let mut has_rel = false;
    loop {
        rest = rest.trim_start();
        let Some(parameter) = rest.strip_prefix(';') else { return (is_ours, rest) };
        let parameter = parameter.trim_start();
        let end =
            parameter.find(|c: char| c.is_ascii_whitespace() || "=;,".contains(c)).unwrap_or(parameter.len());
        let (name, after) = parameter.split_at(end);
        let (value, after) = match after.trim_start().strip_prefix('=') {
            Some(value) => read_value(value.trim_start()),
            None => (String::new(), after),
        };
        rest = after;
        match name.to_ascii_lowercase().as_str() {
            "rel" if !has_rel => {
                has_rel = true;
                link.rel = value;
            }
            "hreflang" => drop(link.hreflang.get_or_insert(value)),
            "title" => drop(link.title.get_or_insert(value)),
            "anchor" => is_ours = value.is_empty() || value.starts_with('#'),
            _ => {}
        }
    }
}

/// Reads a token or a quoted string; gives it and what follows.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c.is_ascii_whitespace() || ";,".contains(c)).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            _ => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc8288_3_links_of_one_line() {
        let line =
            r#"<a,b>; rel="next prev"; title="x \"y\", z"; hreflang=de, </c>;rel=canonical;REL=no , <d>"#;
        let found: Vec<_> = links(line).collect();
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].address, found[0].rel.as_str()), ("a,b", "next prev"));
        assert_eq!(found[0].title.as_deref(), Some(r#"x "y", z"#));
        assert_eq!(found[0].hreflang.as_deref(), Some("de"));
        assert_eq!((found[1].address, found[1].rel.as_str()), ("/c", "canonical"));
        assert_eq!((found[2].address, found[2].rel.as_str()), ("d", ""));
    }

    #[test]
    fn rfc8288_3_2_a_link_of_another_context_is_skipped() {
        let found: Vec<_> = links(r##"<a>; anchor="/other"; rel=x, <b>; anchor="#part"; rel=y"##).collect();
        assert_eq!(found.iter().map(|l| l.address).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn what_cant_be_read_ends_the_walk() {
        for line in ["", "a", "<a", "<>;;;=;\"", ",,,"] {
            assert!(links(line).all(|l| l.address.is_empty()), "{line:?}");
        }
    }
}
