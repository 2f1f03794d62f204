//! Targets of redirects and refreshes, references of a page: only what the rules need of them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Parts of a reference. Nothing is normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// With its port, as written; none where the reference has none.
    pub(crate) host: Option<&'a str>,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
}

/// The parts of a reference by HTTP; none if it has another scheme.
pub(crate) fn split(reference: &str) -> Option<Parts<'_>> {
    let text = reference.trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control());
    let text = text.split('#').next().unwrap_or_default();
    let scheme = text.find(':').filter(|colon| {
        let name = &text[..*colon];
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    });
    let rest = match scheme {
        Some(colon) => {
            let name = &text[..colon];
            if !name.eq_ignore_ascii_case("http") && !name.eq_ignore_ascii_case("https") {
                return None;
            }
            &text[colon + 1..]
        }
        None => text,
    };
    let (host, rest) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
            let host = rest[..end].rsplit('@').next().unwrap_or_default();
            (Some(host), &rest[end..])
        }
        None => (None, rest),
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    Some(Parts { host, path, query })
}

/// A host without its port.
pub(crate) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether two hosts are the same, or one is below the other.
pub(crate) fn is_same_site(one: &str, other: &str) -> bool {
    let (one, other) = (without_port(one), without_port(other));
    is_host_below(one, other) || is_host_below(other, one)
}

/// Whether a host is a name or a host below it. Of two names of a wildcard, the second is the whole.
pub(crate) fn is_host_below(host: &str, name: &str) -> bool {
    let host = without_port(host);
    let Some(start) = host.len().checked_sub(name.len()) else { return false };
    let Some((before, end)) = host.split_at_checked(start) else { return false };
    end.eq_ignore_ascii_case(name) && (before.is_empty() || before.ends_with('.'))
}

/// Names and values of a query, decoded.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    query.split(['&', ';']).filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(name), decoded(value))
    })
}

/// Text without percent encoding.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// Whether a value of a query is the URL that was asked for, or its path. It may be encoded twice.
pub(crate) fn has_asked(query: &str, url: &str) -> bool {
    let Some(asked) = split(url) else { return false };
    pairs(query).any(|(_, value)| is_asked(&value, &asked) || is_asked(&decoded(&value), &asked))
}

fn is_asked(value: &str, asked: &Parts<'_>) -> bool {
    let Some(value) = split(value) else { return false };
    let is_path = !value.path.is_empty() && is_same_path(value.path, asked.path);
    match value.host {
        Some(host) => {
            let is_front = value.path.is_empty() && is_same_path("/", asked.path);
            asked.host.is_some_and(|own| is_same_site(host, own)) && (is_path || is_front)
        }
        None => value.path.starts_with('/') && is_path,
    }
}

fn is_same_path(one: &str, other: &str) -> bool {
    let plain = |path: &str| {
        let path = decoded(path);
        let path = path.trim_end_matches('/');
        path.to_owned()
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_host_path_and_query() {
        for (text, expected) in [
            ("https://a.test:8080/x?y=1#z", Some((Some("a.test:8080"), "/x", "y=1"))),
            ("//u@a.test?x", Some((Some("a.test"), "", "x"))),
            (" /x ", Some((None, "/x", ""))),
            ("x:y", None),
            ("mailto:a@b", None),
            ("/x:y?z", Some((None, "/x:y", "z"))),
            ("", Some((None, "", ""))),
        ] {
            let parts = split(text).map(|parts| (parts.host, parts.path, parts.query));
            assert_eq!(parts, expected, "{text}");
        }
    }

    #[test]
    fn a_value_is_the_asked_url_however_it_is_written() {
        let url = "https://www.a.test/x/y?z=1";
        for query in [
            "next=/x/y",
            "next=%2Fx%2Fy%3Fz%3D1",
            "a=1&url=https%3A%2F%2Fwww.a.test%2Fx%2Fy",
            "url=https%253A%252F%252Fa.test%252Fx%252Fy",
            "r=//www.a.test/x/y/",
        ] {
            assert!(has_asked(query, url), "{query}");
        }
        for query in ["", "next=/", "next=/x", "next=x/y", "y=/x/y/z", "url=https://b.test/x/y", "u=y", "z=1"]
        {
            assert!(!has_asked(query, url), "{query}");
        }
        assert!(has_asked("next=%2F", "https://a.test/") && has_asked("u=https://a.test", "https://a.test/"));
    }

    #[test]
    fn a_host_below_a_name_is_not_one_that_ends_alike() {
        assert!(is_host_below("geo.captcha-delivery.com:443", "captcha-delivery.com"));
        assert!(!is_host_below("not-captcha-delivery.com", "captcha-delivery.com"));
        assert!(is_same_site("a.test", "www.A.test:80") && !is_same_site("a.test", "xa.test"));
    }
}
