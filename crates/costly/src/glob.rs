//! Patterns of kinds: paths, and values of queries.

/// A pattern of a whole path, segment by segment.
///
/// `*` stands for any characters within a segment, `**` as a whole segment for any number of segments, `<n>` for a number and `<hex>` for 7 to
/// 64 hex digits. Slashes at the end of a path don't matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    segments: Vec<String>,
}

impl PathPattern {
    pub(crate) fn new(text: &str) -> Self {
        Self { segments: segments(text).map(str::to_owned).collect() }
    }

    /// Whether the segments of a decoded path have this form. At most (segments of the path) x (segments of the pattern) comparisons.
    pub(crate) fn is(&self, path: &[&str]) -> bool {
        let (mut at, mut place) = (0, 0);
        // The pattern behind the last `**`, and where in the path it is tried.
        let mut last: Option<(usize, usize)> = None;
        loop {
            match (path.get(at), self.segments.get(place).map(String::as_str)) {
                (_, Some("**")) => {
                    last = Some((place + 1, at));
                    place += 1;
                }
                (Some(segment), Some(pattern)) if is_value(pattern, segment) => {
                    at += 1;
                    place += 1;
                }
                (None, None) => return true,
                _ => {
                    let Some((behind, tried)) = &mut last else { return false };
                    if *tried >= path.len() {
                        return false;
                    }
                    *tried += 1;
                    (at, place) = (*tried, *behind);
                }
            }
        }
    }
}

/// The segments of a path; empty ones don't count.
pub(crate) fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.trim_matches('/').split('/').filter(|segment| !segment.is_empty())
}

/// Whether a text has the form of a pattern: `*` for any characters, `?` for one byte, `<n>` for a number, `<hex>` for 7 to 64 hex digits.
pub(crate) fn is_value(pattern: &str, text: &str) -> bool {
    match pattern {
        "*" => true,
        "<n>" => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
        "<hex>" => (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        _ if !pattern.contains(['*', '?']) => pattern == text,
        _ => is_glob(pattern.as_bytes(), text.as_bytes()),
    }
}

fn is_glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    loop {
        match (text.get(at), pattern.get(place)) {
            (_, Some(b'*')) => {
                last = Some((place + 1, at));
                place += 1;
            }
            (Some(byte), Some(wanted)) if byte == wanted || *wanted == b'?' => {
                at += 1;
                place += 1;
            }
            (None, None) => return true,
            _ => {
                let Some((behind, tried)) = &mut last else { return false };
                if *tried >= text.len() {
                    return false;
                }
                *tried += 1;
                (at, place) = (*tried, *behind);
            }
        }
    }
}

/// A pattern of a query: a parameter, or one that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryPattern {
    name: String,
    /// Patterns of values; none for any value.
    values: Vec<String>,
    /// The value is none of them.
    is_other: bool,
}

impl QueryPattern {
    /// `name`, `name=value|value`, `name!=value|value`; `*` in both.
    pub(crate) fn new(text: &str) -> Self {
        let (name, values) = text.split_once('=').map_or((text, None), |(name, values)| (name, Some(values)));
        let (name, is_other) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        let values = values.into_iter().flat_map(|values| values.split('|')).map(str::to_owned).collect();
        Self { name: name.to_owned(), values, is_other }
    }

    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        is_value(&self.name, name)
            && (self.values.is_empty()
                || self.values.iter().any(|pattern| is_value(pattern, value)) != self.is_other)
    }

    pub(crate) fn names(&self, name: &str) -> bool {
        is_value(&self.name, name)
    }
}

/// A text for each of the alternatives `{a,b}` in it, in all combinations; none if there would be more than 500 or a brace isn't closed.
pub(crate) fn alternatives(text: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let end = rest[start..].find('}')? + start;
        let choices: Vec<&str> = rest[start + 1..end].split(',').collect();
        if all.len() * choices.len() > 500 {
            return None;
        }
        all = all
            .iter()
            .flat_map(|text| choices.iter().map(move |choice| format!("{text}{}{choice}", &rest[..start])))
            .collect();
        rest = &rest[end + 1..];
    }
    for text in &mut all {
        text.push_str(rest);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_form_of_a_pattern() {
        for (pattern, path, expected) in [
            ("/*/*/blame/**", "/o/r/blame/main/a.c", true),
            ("/*/*/blame/**", "/o/r/blame", true),
            ("/*/*/blame/**", "/o/blame", false),
            ("/*/*/raw/*/**", "/o/r/raw", false),
            ("/**/-/raw/**", "/g/s/p/-/raw/x", true),
            ("/**/-/raw/**", "/g/p/-/wikis/raw", false),
            ("/t/*/<n>/<n>", "/t/owls/12/45/", true),
            ("/t/*/<n>/<n>", "/t/owls/12/x", false),
            ("/**/*.atom", "/a/b.atom", true),
            ("/x", "/", false),
            ("/**/a/**/b", "/a/a/c/b", true),
        ] {
            let path: Vec<&str> = segments(path).collect();
            assert_eq!(PathPattern::new(pattern).is(&path), expected, "{pattern} {path:?}");
        }
        assert!(PathPattern::new("/").is(&[]) && !PathPattern::new("/").is(&["a"]));
    }

    #[test]
    fn a_parameter_has_a_name_and_values() {
        assert!(QueryPattern::new("action=edit|submit").is("action", "submit"));
        assert!(!QueryPattern::new("action=edit").is("action", "view"));
        assert!(
            QueryPattern::new("do!=show").is("do", "edit") && !QueryPattern::new("do!=show").is("do", "show")
        );
        assert!(
            QueryPattern::new("f.*").is("f.author", "x") && QueryPattern::new("h=<hex>").is("h", "0a1b2c3d")
        );
    }

    #[test]
    fn alternatives_are_written_out() {
        let expected = ["/a/c", "/a/d", "/b/c", "/b/d"].map(str::to_owned);
        assert_eq!(alternatives("/{a,b}/{c,d}"), Some(expected.to_vec()));
        assert_eq!(alternatives("/{a"), None);
    }
}
