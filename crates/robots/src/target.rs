//! The part of a URL that rules are compared with, and the file that a URL belongs to.

use std::borrow::Cow;

/// Gives path and query of a URL, without fragment: never empty, always starts with `/`.
///
/// A leading `/` alone starts a path; anything else is read as an absolute URL, or as one without its scheme. Everything is
/// kept as it is written: case, `//`, a bare `?` at the end.
pub(crate) fn path_and_query(url: &str) -> Cow<'_, str> {
    if url.starts_with('/') {
        return Cow::Borrowed(before_fragment(url));
    }
    match url.as_bytes().first() {
        None | Some(b'#') => Cow::Borrowed("/"),
        Some(b'?') => Cow::Owned(format!("/{}", before_fragment(url))),
        Some(_) => path_of_url(url),
    }
}

/// Gives path and query of a URL whose scheme may be absent (`example.com/a`, `//example.com/a`), without fragment.
///
/// Source: the URL reading of google/robotstxt.
pub fn path_of_url(url: &str) -> Cow<'_, str> {
    let authority = match (url.strip_prefix("//"), url.find("://")) {
        (Some(rest), _) => rest,
        (None, Some(at)) if !url[..at].contains(['/', '?', ';', '#']) => &url[at + 3..],
        _ => url,
    };
    let Some(start) = authority.find(['/', '?', ';', '#']) else { return Cow::Borrowed("/") };
    let rest = before_fragment(&authority[start..]);
    match rest.as_bytes().first() {
        None => Cow::Borrowed("/"),
        Some(b'/') => Cow::Borrowed(rest),
        Some(_) => Cow::Owned(format!("/{rest}")),
    }
}

/// Returns the URL of the robots.txt that a URL belongs to, without user info and default port; none where the URL isn't http or
/// https, or has no host.
///
/// Source: RFC 9309 section 2.3.
pub fn robots_url(url: &str) -> Option<String> {
    Some(format!("{}/robots.txt", origin_of(url)?))
}

/// Gives scheme, host and port of an http or https URL, in lower case, without user info and default port.
///
/// The host is taken as it is written: an international name must come in its punycode form.
pub fn origin_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let (host, port) = match host_port.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
            (host, port.trim_start_matches('0'))
        }
        _ => (host_port.as_str(), ""),
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() {
        return None;
    }
    Some(if port.is_empty() || port == default_port {
        format!("{scheme}://{host}")
    } else {
        format!("{scheme}://{host}:{port}")
    })
}

/// Splits a full URL into its site (host, and port where it isn't the default one) and its path with query.
///
/// `http` and `https` of one host count as one site here: whoever writes the full URL of a page names the page.
pub(crate) fn site_and_path(url: &str) -> Option<(String, Cow<'_, str>)> {
    let origin = origin_of(url)?;
    let site = origin.split_once("://").map(|(_, site)| site.to_owned())?;
    Some((site, path_of_url(url)))
}

fn before_fragment(url: &str) -> &str {
    memchr::memchr(b'#', url.as_bytes()).map_or(url, |at| &url[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_drop_default_ports_and_user_info() {
        let rows = [
            ("HTTP://User:pw@Example.COM:80/a", Some("http://example.com")),
            ("https://example.com:443", Some("https://example.com")),
            ("https://example.com:8443/x", Some("https://example.com:8443")),
            ("http://example.com:443/x", Some("http://example.com:443")),
            ("http://[::1]:8080/x", Some("http://[::1]:8080")),
            ("http://[::1]/x", Some("http://[::1]")),
            ("http://example.com./x", Some("http://example.com")),
            ("ftp://example.com/x", None),
            ("http:///x", None),
            ("mailto:a@b", None),
        ];
        for (url, origin) in rows {
            assert_eq!(origin_of(url).as_deref(), origin, "{url}");
        }
    }

    #[test]
    fn a_leading_slash_starts_a_path_and_not_a_host() {
        assert_eq!(path_and_query("//a/b"), "//a/b");
        assert_eq!(path_and_query("/a?"), "/a?");
        assert_eq!(path_and_query("?a#b"), "/?a");
        assert_eq!(path_and_query(""), "/");
        assert_eq!(path_and_query("http://h//a/b?u=http://x/#f"), "//a/b?u=http://x/");
    }
}
