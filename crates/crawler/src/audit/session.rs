//! Session ids in URLs, read by patterns of the audit's own: what a reference may have been requested as.

use std::sync::LazyLock;

use regex::Regex;

/// Parameters of a path, and what is a segment of its own.
static IN_PATH: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i);(jsessionid|sid)=[^/;]*").ok());
static SEGMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\((X\(1\))?S\([0-9A-Za-z]{24}\)\)$").ok());
/// A parameter of a query.
static IN_QUERY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = "PHPSESSID|[Jj](SESSIONID|sessionid)|ASPSESSIONID[^=]*|osCsid|zenid|___SID|sessionid|session_id|sid|SID|s";
    Regex::new(&format!("^({names})=[0-9A-Za-z,._-]{{16,}}$")).ok()
});
static SIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("(?i)^(X-Amz-Signature|Signature|sig|hmac|Key-Pair-Id|cHash|token)(=|$)").ok()
});
static COLD_FUSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("(?i)^CF(ID|TOKEN)(=|$)").ok());

fn fits(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// The URL without session ids, where it has one.
pub(super) fn bare(url: &str) -> Option<String> {
    // Hardly any URL has one.
    if !url.contains([';', '(', '?']) {
        return None;
    }
    let (address, query) = url.split_once('?').map_or((url, None), |(path, query)| (path, Some(query)));
    let start = address.find("://").map_or(0, |at| at + 3);
    let path = start + address[start..].find('/')?;
    let without = IN_PATH.as_ref()?.replace_all(&address[path..], "");
    let segments: Vec<&str> = without.split('/').collect();
    let last = segments.len() - 1;
    let kept =
        segments.iter().enumerate().filter(|(place, segment)| *place == last || !fits(&SEGMENT, segment));
    let mut kept: Vec<&str> = kept.map(|(_, segment)| *segment).collect();
    if let Some(segment) = kept.last_mut().filter(|segment| fits(&SEGMENT, segment)) {
        *segment = "";
    }
    let mut text = address[..path].to_owned() + &kept.join("/");
    if let Some(query) = query {
        let parts = || query.split('&');
        let is_pair = ["cfid", "cftoken"].iter().all(|name| {
            parts().any(|part| part.split('=').next().is_some_and(|is| is.eq_ignore_ascii_case(name)))
        });
        let is_id = |part: &&str| {
            fits(&IN_QUERY, part)
                && part.split_once('=').is_some_and(|(_, value)| value.contains(|c: char| c.is_ascii_digit()))
                || is_pair && fits(&COLD_FUSION, part)
        };
        let is_signed = parts().any(|part| fits(&SIGNED, part));
        let has_id = !is_signed && parts().any(|part| is_id(&part));
        let rest = parts().filter(|part| !has_id || !is_id(part)).collect::<Vec<_>>().join("&");
        if !has_id || !rest.is_empty() {
            text = text + "?" + &rest;
        }
    }
    (text != url).then_some(text)
}

/// Whether a reference, as it was found or without its session ids, is this URL.
pub(super) fn is_to(reference: &str, url: &str) -> bool {
    reference == url || bare(reference).is_some_and(|bare| bare == url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costly::without_session;
    use page::url::CrawlUrl;

    #[test]
    fn the_patterns_agree_with_what_the_crawl_strips() {
        let rows = include_str!("../../tests/data/costly/session.jsonl").lines();
        let rows = rows.map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
        let links = rows.map(|row| row["link"].as_str().unwrap().to_owned());
        let own = [
            "http://a.test/(S(4sd0we55yrtgvj45ihqmxg3z))",
            "http://a.test/x/(X(1)S(4sd0we55yrtgvj45ihqmxg3z))/y;jsessionid=1/z;v=2",
            "http://a.test/?PHPSESSID=0a1b2c3d4e5f60718293a4b5c6",
            "http://a.test/?CFID=1&x&CFTOKEN=2",
            "http://a.test/?CFID=1&x",
            "http://a.test/?sid=0a1b2c3d4e5f60718293a4b5c6&token=1",
        ];
        for link in links.chain(own.map(str::to_owned)) {
            let url = CrawlUrl::parse(&link).unwrap();
            let crawl = without_session(&url).map(String::from);
            assert_eq!(bare(url.as_str()), crawl, "{link}");
        }
        assert!(is_to("http://a.test/a;sid=1", "http://a.test/a"));
        assert!(!is_to("http://a.test/a;sid=1", "http://a.test/b"));
    }

    proptest::proptest! {
        #[test]
        fn no_url_breaks_the_patterns(path in "/[;()S=jsidX1?&a/,.]{0,60}") {
            let url = CrawlUrl::parse(&format!("http://a.test{path}")).unwrap();
            let crawl = without_session(&url).map(String::from);
            proptest::prop_assert_eq!(bare(url.as_str()), crawl);
        }
    }
}
