//! Session ids in URLs, and URLs without them. A server that gives each visitor a new id, and repeats it in every link, has each of its pages
//! at as many URLs as it was asked for.
//!
//! In a path: the parameters `;jsessionid=` and `;sid=` (Java servlets), the segments `(S(...))` and `(X(1)S(...))` (ASP.NET without cookies). In
//! a query: parameters whose name is one of [`NAMES`] and whose value looks like an id, and CFID with CFTOKEN (`ColdFusion`). A query that is
//! signed stays whole.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use page::url::CrawlUrl;

/// Names of parameters that hold a session id. `ASPSESSIONID` is followed by letters that differ.
const NAMES: [&str; 11] = [
    "PHPSESSID",
    "JSESSIONID",
    "jsessionid",
    "osCsid",
    "zenid",
    "___SID",
    "sessionid",
    "session_id",
    "sid",
    "SID",
    "s",
];

const ASP: &str = "ASPSESSIONID";

/// Names of parameters that sign the others.
const SIGNATURES: [&str; 7] =
    ["X-Amz-Signature", "Signature", "sig", "hmac", "Key-Pair-Id", "cHash", "token"];

/// Fewest characters of a session id.
const LEAST: usize = 16;

/// Characters of a session id of ASP.NET.
const ASP_NET: usize = 24;

/// The URL without session ids; none where it has none. One pass over its bytes, 10 to 20 ns for a URL without `;`, `(` and query.
pub fn without_session(url: &CrawlUrl) -> Option<CrawlUrl> {
    let whole = url.path_and_query();
    let (path, query) = match memchr(b'?', whole.as_bytes()) {
        Some(mark) => (&whole[..mark], Some(&whole[mark + 1..])),
        None => (whole, None),
    };
    let bare_path = bare_path(path);
    let bare_query = query.and_then(bare_query);
    if bare_path.is_none() && bare_query.is_none() {
        return None;
    }
    let path = bare_path.unwrap_or_else(|| path.to_owned());
    let query = bare_query.map(Cow::Owned).or(query.map(Cow::Borrowed));
    let text = url.as_str();
    let mut bare = text[..text.len() - whole.len()].to_owned() + &path;
    // Of a query that was nothing but an id no `?` remains.
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        bare.push('?');
        bare.push_str(&query);
    }
    CrawlUrl::from_text(bare).ok()
}

/// Whether a reference as it was found leads to a URL: it is that one, or the same with a session id.
pub fn leads_to(reference: &str, url: &str) -> bool {
    let is_without = || CrawlUrl::parse(reference).ok().and_then(|reference| without_session(&reference));
    reference == url || is_without().is_some_and(|bare| bare.as_str() == url)
}

/// The path without session ids; none where it has none.
fn bare_path(path: &str) -> Option<String> {
    memchr2(b';', b'(', path.as_bytes())?;
    let mut bare = String::with_capacity(path.len());
    let mut is_bare = true;
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let start = bare.len();
        bare.push('/');
        for (place, part) in segment.split(';').enumerate() {
            if place > 0 && is_path_parameter(part) {
                is_bare = false;
                continue;
            }
            if place > 0 {
                bare.push(';');
            }
            bare.push_str(part);
        }
        if is_of_asp_net(&bare[start + 1..]) {
            is_bare = false;
            let is_last = segments.peek().is_none();
            bare.truncate(start + usize::from(is_last));
        }
    }
    (!is_bare).then_some(bare)
}

/// `jsessionid=...` or `sid=...`, in any case.
fn is_path_parameter(part: &str) -> bool {
    let name = part.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| name.eq_ignore_ascii_case("jsessionid") || name.eq_ignore_ascii_case("sid"))
}

/// `(S(...))` or `(X(1)S(...))`.
fn is_of_asp_net(segment: &str) -> bool {
    let inner = segment.strip_prefix('(').and_then(|rest| rest.strip_suffix("))"));
    let inner = inner.map(|rest| rest.strip_prefix("X(1)").unwrap_or(rest));
    let id = inner.and_then(|rest| rest.strip_prefix("S("));
    id.is_some_and(|id| id.len() == ASP_NET && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The query without session ids; none where it has none, or is signed.
fn bare_query(query: &str) -> Option<String> {
    let parts = || query.split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
    let has = |wanted: &str| parts().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let mut pair = None;
    let mut is_id = |(name, value): (&str, &str)| {
        let is_of_pair = name.eq_ignore_ascii_case("CFID") || name.eq_ignore_ascii_case("CFTOKEN");
        is_session(name, value) || is_of_pair && *pair.get_or_insert_with(|| has("CFID") && has("CFTOKEN"))
    };
    if !parts().any(&mut is_id) || parts().any(|(name, _)| signs(name)) {
        return None;
    }
    let rest = query.split('&').filter(|part| !is_id(part.split_once('=').unwrap_or((part, ""))));
    Some(rest.collect::<Vec<_>>().join("&"))
}

fn is_session(name: &str, value: &str) -> bool {
    (NAMES.contains(&name) || name.starts_with(ASP)) && is_value(value)
}

fn is_value(value: &str) -> bool {
    value.len() >= LEAST
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'.' | b'_' | b'-'))
}

fn signs(name: &str) -> bool {
    SIGNATURES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(url: &str) -> String {
        let url = CrawlUrl::parse(url).unwrap();
        without_session(&url).unwrap_or(url).to_string()
    }

    /// What a rule strips, and what it leaves. The values are those of the frameworks' own documentation and of real URLs.
    #[test]
    fn session_ids_are_stripped_and_what_looks_like_one_is_not() {
        const ID: &str = "0a1b2c3d4e5f60718293a4b5c6";
        for (path, expected) in [
            ("/a;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9", "/a"),
            ("/a;JSESSIONID=x.node1?x=1", "/a?x=1"),
            ("/;jsessionid=0A1B", "/"),
            ("/a;jsessionid=0A1B/b;v=1/c", "/a/b;v=1/c"),
            ("/a;v=1;sid=7;w=2", "/a;v=1;w=2"),
            ("/app/(S(4sd0we55yrtgvj45ihqmxg3z))/list.aspx", "/app/list.aspx"),
            ("/(X(1)S(4sd0we55yrtgvj45ihqmxg3z))/list.aspx?q", "/list.aspx?q"),
            ("/app/(S(4sd0we55yrtgvj45ihqmxg3z))", "/app/"),
            ("/app/(S(4sd0we55yrtgvj45ihqmxg3z))/", "/app/"),
            ("/(S(4sd0we55yrtgvj45ihqmxg3z))", "/"),
            ("/a?PHPSESSID=$", "/a"),
            ("/a?x=1&PHPSESSID=$", "/a?x=1"),
            ("/a?sid=$&x=1&&y", "/a?x=1&&y"),
            ("/a?s=$", "/a"),
            ("/a?ASPSESSIONIDQABC=$&b", "/a?b"),
            ("/a?CFID=12&b&CFTOKEN=34", "/a?b"),
            ("/a?session_id=a-b_c.d,e1234567890", "/a"),
        ] {
            let (path, expected) = (path.replace('$', ID), format!("http://a.test{expected}"));
            assert_eq!(bare(&format!("http://a.test{path}")), expected, "{path}");
            assert_eq!(bare(&expected), expected, "nothing else is stripped");
        }
        for path in [
            "/a?sid=42",
            "/a?s=climate",
            "/a?s=the-climate-of-the-earth",
            "/a?session=2019",
            "/session/2019",
            "/a?sessionid=12345678901234%2C5",
            "/a?CFID=12",
            "/a?PHPSESSID=$&Signature=x",
            "/a?PHPSESSID=$&token=1",
            "/a?x-amz-signature=1&sid=$",
            "/wiki/Foo_(S)/(S(short))",
            "/a;version=1",
            "/jsessionid=0A1B",
            "/a?thesid=$",
        ] {
            let url = format!("http://a.test{}", path.replace('$', ID));
            assert_eq!(bare(&url), url);
        }
        assert_eq!(bare("https://a.test:8443/x;sid=1?b=2"), "https://a.test:8443/x?b=2", "the origin stays");
    }

    /// The rows of the specification's vectors that concern session ids, and those of unknown sites that stay as they are.
    #[test]
    fn the_vectors_of_the_specification_hold() {
        let rows = include_str!("../../tests/data/costly/session.jsonl");
        let mut counted = 0;
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            let link = row["link"].as_str().unwrap();
            assert_eq!(bare(link), row["to"].as_str().unwrap_or(link), "{}", row["id"]);
            counted += 1;
        }
        assert!(counted > 10);
    }

    proptest::proptest! {
        #[test]
        fn a_url_without_ids_has_none(path in "/[;()S=jsidX1?&a/,.]{0,60}") {
            let url = CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
            if let Some(once) = without_session(&url) {
                proptest::prop_assert!(once.as_str().len() < url.as_str().len());
                proptest::prop_assert_eq!(once.host(), url.host());
                proptest::prop_assert_eq!(without_session(&once), None);
            }
        }
    }
}
