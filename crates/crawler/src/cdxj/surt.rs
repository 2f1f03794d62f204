//! Sort keys of URLs: the host's labels in reverse, then path and query in lower case (Sort-friendly URI Reordering Transform).
//!
//! Equal for URLs that archives treat as one: without `www.`, default port, trailing slash, empty query and session ids, with sorted
//! query arguments. The rules are those of `WaybackURLKeyMaker` of the Internet Archive, which the package `surt`, `pywb` and others follow; the code is written
//! from its behaviour, since no maintained crate has it and `surt` is under another licence.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// Session ids in a query: all that is before the argument, and what is behind it.
static QUERY_SESSION: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let arguments = [
        "jsessionid=[0-9a-zA-Z]{32}",
        "phpsessid=[0-9a-zA-Z]{32}",
        "sid=[0-9a-zA-Z]{32}",
        "aspsessionid[a-zA-Z]{8}=[a-zA-Z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    ];
    let whole = |argument: &str| Regex::new(&format!("(?i-u)^(.*){argument}(?:&(.*))?$")).ok();
    arguments.into_iter().filter_map(whole).collect()
});

/// Session ids in a path of ASP.NET.
static PATH_SESSION: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let folders = [r"\((?:[a-z]\([0-9a-z]{24}\))+\)/", r"\([0-9a-z]{24}\)/"];
    let whole = |folder: &str| Regex::new(&format!(r"(?i-u)^(.*/){folder}([^?]+\.aspx.*)$")).ok();
    folders.into_iter().filter_map(whole).collect()
});

/// Returns the key of a URL: `org,example)/a?b=c`. Of a URL that isn't http or https the whole, in lower case, is the key.
pub(super) fn surt(url: &str) -> String {
    let key = match url.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => of_http(scheme, rest.as_bytes()),
        _ => escaped(&unescaped(url.as_bytes())).to_ascii_lowercase(),
    };
    // Escaping has made it ASCII.
    String::from_utf8_lossy(&key).into_owned()
}

fn of_http(scheme: &str, rest: &[u8]) -> Vec<u8> {
    let rest = rest.split(|byte| *byte == b'#').next().unwrap_or_default();
    let (rest, query) = cut(rest, b'?');
    let slash = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(slash);
    let authority = authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
    let (host, port) = host_and_port(authority);
    let mut key = host_key(host);
    let default: &[u8] = if scheme == "http" { b"80" } else { b"443" };
    if let Some(port) = port.filter(|port| !port.is_empty() && *port != default) {
        key.push(b':');
        key.extend_from_slice(port);
    }
    key.push(b')');
    key.extend(path_key(path));
    if let Some(query) = query.map(query_key).filter(|query| !query.is_empty()) {
        key.push(b'?');
        key.extend(query);
    }
    key
}

/// What is before the first `at`, and what is behind it.
fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == at) {
        Some(place) => (&text[..place], Some(&text[place + 1..])),
        None => (text, None),
    }
}

/// Splits an authority; an IPv6 address loses its brackets.
fn host_and_port(authority: &[u8]) -> (&[u8], Option<&[u8]>) {
    if let Some(inner) = authority.strip_prefix(b"[") {
        let (host, behind) = cut(inner, b']');
        return (host, behind.and_then(|behind| behind.strip_prefix(b":")));
    }
    cut(authority, b':')
}

fn host_key(host: &[u8]) -> Vec<u8> {
    let mut host = unescaped(host);
    while let Some(place) = host.windows(2).position(|two| two == b"..") {
        host.remove(place);
    }
    let host = escaped(&host.to_ascii_lowercase());
    let mut host = host.as_slice();
    while let Some(rest) = host.strip_prefix(b".") {
        host = rest;
    }
    while let Some(rest) = host.strip_suffix(b".") {
        host = rest;
    }
    if let Some(rest) = host.strip_prefix(b"www") {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        host = rest[digits..].strip_prefix(b".").unwrap_or(host);
    }
    let labels: Vec<&[u8]> = host.split(|byte| *byte == b'.').rev().collect();
    labels.join(&b',')
}

fn path_key(path: &[u8]) -> Vec<u8> {
    let path = unescaped(path);
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/').skip(1) {
        match part {
            b"." => {}
            b".." if !kept.is_empty() => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    let mut whole = vec![b'/'];
    if let Some((last, before)) = kept.split_last() {
        for part in before.iter().filter(|part| !part.is_empty()) {
            whole.extend_from_slice(part);
            whole.push(b'/');
        }
        whole.extend_from_slice(last);
    }
    let mut path = escaped(&whole).to_ascii_lowercase();
    // Few paths have a bracket, and each search costs more than the rest of the key.
    if path.contains(&b'(') {
        for session in PATH_SESSION.iter() {
            path = without(session, &path);
        }
    }
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    path
}

fn query_key(query: &[u8]) -> Vec<u8> {
    let mut query = escaped(&unescaped(query));
    for session in QUERY_SESSION.iter() {
        query = without(session, &query);
    }
    query.make_ascii_lowercase();
    let mut arguments: Vec<_> =
        query.split(|byte| *byte == b'&').map(|argument| cut(argument, b'=')).collect();
    arguments.sort();
    let arguments = arguments.into_iter().map(|(name, value)| match value {
        Some(value) => [name, value].join(&b'='),
        None => name.to_vec(),
    });
    arguments.collect::<Vec<_>>().join(&b'&')
}

/// What a pattern has before and behind the part that goes.
fn without(pattern: &Regex, text: &[u8]) -> Vec<u8> {
    let Some(found) = pattern.captures(text) else { return text.to_vec() };
    let part = |number| found.get(number).map_or(&b""[..], |part| part.as_bytes());
    [part(1), part(2)].concat()
}

/// Undoes percent-encoding until nothing changes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut text = text.to_vec();
    loop {
        let mut plain = Vec::with_capacity(text.len());
        let mut at = 0;
        while let Some(byte) = text.get(at) {
            if let (b'%', Some(high), Some(low)) = (byte, digit(text.get(at + 1)), digit(text.get(at + 2))) {
                plain.push((high * 16 + low) as u8);
                at += 3;
            } else {
                plain.push(*byte);
                at += 1;
            }
        }
        if plain == text {
            return text;
        }
        text = plain;
    }
}

/// Percent-encodes what isn't printable ASCII, and `%`, `#` and the blank.
fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if matches!(byte, b'!'..=b'~') && !matches!(byte, b'#' | b'%') {
            out.push(*byte);
        } else {
            out.extend(format!("%{byte:02X}").into_bytes());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::surt;

    /// URLs and their keys by version 0.3.1 of the Python package `surt`, one pair a line, separated by a tab (`tests/data/surt.tsv`).
    const VECTORS: &str = include_str!("../../tests/data/surt.tsv");

    #[test]
    fn keys_are_those_of_surt() {
        let file = std::env::var("CRAWL_TEST_SURT").ok().map(|path| std::fs::read_to_string(path).unwrap());
        let mut count = 0;
        for line in file.as_deref().unwrap_or(VECTORS).lines() {
            let (url, key) = line.split_once('\t').unwrap();
            assert_eq!(surt(url), key, "{url}");
            count += 1;
        }
        assert!(count >= 1000, "{count}");
    }
}
