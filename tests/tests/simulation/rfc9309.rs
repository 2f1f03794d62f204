//! A second reading of robots.txt, written from the text of RFC 9309 alone: it shares nothing with crate `robots`, and judges the requests
//! that the ledger of a simulated crawl holds.

use std::collections::HashMap;

use crawler::ledger;
use crawler::record::{Layer, RobotsAccess, RobotsRecord, StoredKind};
use crawler::store::{Store, Tree};

/// What has to be read of a file at least (section 2.5): 500 KiB.
const READ: usize = 500 * 1024;

/// The rules of a file for one product token: `Allow` (true) or `Disallow`, and the path.
#[derive(Debug, Default)]
struct Rules(Vec<(bool, Vec<u8>)>);

impl Rules {
    /// Sections 2.1 and 2.2: groups that name the token are one group; without any, those of `*` are; without any, nothing is denied.
    fn read(file: &[u8], token: &str) -> Self {
        let file = &file[..file.len().min(READ)];
        let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let (mut named, mut star, mut has_named) = (Self::default(), Self::default(), false);
        let (mut for_us, mut for_all, mut in_rules) = (false, false, false);
        for line in file.split(|byte| matches!(byte, b'\r' | b'\n')) {
            let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (key, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
            let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
            if is("user-agent") {
                if in_rules {
                    (for_us, for_all, in_rules) = (false, false, false);
                }
                let end = value.iter().position(|byte| !(byte.is_ascii_alphabetic() || b"-_".contains(byte)));
                let name = &value[..end.unwrap_or(value.len())];
                let is_us = name.eq_ignore_ascii_case(token.as_bytes());
                for_us |= is_us;
                has_named |= is_us;
                for_all |= value.starts_with(b"*");
            } else if is("allow") || is("disallow") {
                in_rules = true;
                let rule = (is("allow"), encoded(value));
                if for_us {
                    named.0.push(rule.clone());
                }
                if for_all {
                    star.0.push(rule);
                }
            }
        }
        if has_named { named } else { star }
    }

    /// Section 2.2.2: the match of the most bytes counts, of equal ones that which allows.
    fn allows(&self, path: &str) -> bool {
        if path == "/robots.txt" {
            return true;
        }
        let path = encoded(path.as_bytes());
        let matching = self.0.iter().filter(|(_, rule)| !rule.is_empty() && matches(rule, &path));
        matching.map(|(allow, rule)| (rule.len(), *allow)).max().is_none_or(|(_, allow)| allow)
    }
}

/// Section 2.2.2: bytes beyond US-ASCII are percent-encoded, and encoded ones of the unreserved characters aren't.
fn encoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let digits = text.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        let value = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        at += if value.is_some() { 3 } else { 1 };
        match value {
            Some(value) if value.is_ascii_alphanumeric() || b"-._~".contains(&value) => out.push(value),
            Some(value) => out.extend(format!("%{value:02X}").bytes()),
            None if byte.is_ascii() => out.push(byte),
            None => out.extend(format!("%{byte:02X}").bytes()),
        }
    }
    out
}

/// Section 2.2.3: `*` stands for any bytes, `$` at the end for the end; a match begins at the first byte.
fn matches(rule: &[u8], path: &[u8]) -> bool {
    match rule {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|from| matches(rest, &path[from..])),
        [byte, rest @ ..] => path.first() == Some(byte) && matches(rest, &path[1..]),
    }
}

/// What an answer for a robots.txt says (section 2.3.1), with the last copy where there is one; none: nothing may be fetched.
fn said(record: &RobotsRecord, copy: Option<&RobotsRecord>, token: &str) -> Option<Rules> {
    match record.status {
        Some(200..=299) => Some(Rules::read(&record.bytes(), token)),
        Some(304) => copy.map(|copy| Rules::read(&copy.bytes(), token)),
        // Redirects that lead nowhere count as unavailable.
        Some(300..=499) => Some(Rules::default()),
        // Unreachable for long: a copy may be used.
        _ => copy
            .filter(|_| record.access == RobotsAccess::Stored)
            .map(|copy| Rules::read(&copy.bytes(), token)),
    }
}

/// How many requests for pages were judged, and those that the reading forbids. A host is asked for one thing at a time, so that
/// the entries of the ledger about it are in their order, whatever its clocks say.
pub(crate) fn judge<S: Store>(store: &S, token: &str) -> (u64, Vec<String>) {
    let mut versions: HashMap<String, std::vec::IntoIter<RobotsRecord>> = HashMap::new();
    for pair in store.scan(Tree::Robots, &[]) {
        let record = RobotsRecord::read(&pair.expect("a version").1).expect("a version");
        let mut list: Vec<_> = versions.remove(&record.origin).into_iter().flatten().collect();
        let origin = record.origin.clone();
        list.push(record);
        versions.insert(origin, list.into_iter());
    }
    let (mut in_force, mut copies) = (HashMap::new(), HashMap::new());
    let (mut judged, mut found) = (0, Vec::new());
    for pair in store.scan(Tree::Ledger, &[]) {
        for entry in ledger::read(&pair.expect("entries").1).expect("entries").decisions {
            if entry.evidence.stored.as_ref().is_some_and(|stored| stored.kind == StoredKind::Robots) {
                let version = versions.get_mut(&entry.url).and_then(Iterator::next).expect("its version");
                in_force.insert(entry.url.clone(), said(&version, copies.get(&entry.url), token));
                if version.access == RobotsAccess::Rules {
                    copies.insert(entry.url, version);
                }
                continue;
            }
            if entry.layer != Layer::Fetch || entry.evidence.request.is_none() {
                continue;
            }
            let after_scheme = entry.url.find("://").map_or(0, |at| at + 3);
            let slash = entry.url[after_scheme..].find('/').map_or(entry.url.len(), |at| after_scheme + at);
            let (origin, path) = entry.url.split_at(slash);
            judged += 1;
            match in_force.get(origin) {
                Some(Some(rules)) if rules.allows(path) => {}
                Some(Some(_)) => found.push(format!("RFC 9309 read again: {} is denied", entry.url)),
                Some(None) => found.push(format!("RFC 9309 read again: {}: unreachable", entry.url)),
                None => found.push(format!("RFC 9309 read again: {}: no robots.txt yet", entry.url)),
            }
        }
    }
    (judged, found)
}

#[test]
fn the_second_reading_reads_the_examples_of_the_rfc() {
    // Section 5.1.
    let file = b"User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
                 User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
                 User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n";
    for (token, path, allowed) in [
        ("foobot", "/example/page.html", true),
        ("FooBot", "/example/allowed.gif", true),
        ("foobot", "/", false),
        ("barbot", "/example/page.html", false),
        ("bazbot", "/example/page.html", false),
        ("bazbot", "/a.gif", true),
        ("quxbot", "/example/page.html", true),
        ("other", "/x.gif", false),
        ("other", "/x.gif?", true),
        ("other", "/example/", false),
        ("other", "/publications/x.gif", true),
        ("other", "/robots.txt", true),
    ] {
        assert_eq!(Rules::read(file, token).allows(path), allowed, "{token} {path}");
    }
    // Section 5.2: the longest match.
    let longest = Rules::read(
        b"User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n",
        "foobot",
    );
    assert!(longest.allows("/example/page/") && !longest.allows("/example/page/disallowed.gif"));
    // Section 2.2.2: percent-encoding, and the rule that allows of two equal ones.
    for (rule, path) in [
        ("/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http://foo.bar"),
        ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
    ] {
        let text = format!("user-agent: a\r\ndisallow: {rule}\r\n");
        assert!(!Rules::read(text.as_bytes(), "a").allows(path), "{rule} {path}");
        let both = format!("{text}allow: {rule}\r\n");
        assert!(Rules::read(both.as_bytes(), "a").allows(path), "{rule} {path}");
    }
    // Section 2.2.1: groups of one robot are one; other lines are passed over (section 2.2.4).
    let groups = Rules::read(
        b"user-agent: a\ncrawl-delay: 1\nuser-agent: b\ndisallow: /x\nuser-agent: a\ndisallow: /y",
        "a",
    );
    assert!(!groups.allows("/x") && !groups.allows("/y") && groups.allows("/z"));
    // Section 2.2.3.
    let special = Rules::read(b"user-agent: *\ndisallow: /a*b$\n", "a");
    assert!(!special.allows("/axxb") && special.allows("/axxbc") && special.allows("/A"));
}
