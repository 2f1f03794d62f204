//! URLs that a user had removed: they stay outside for good.

use std::collections::HashSet;

use regex::RegexSet;

use crate::record::{Forget, ForgetRule};
use crate::store::{Store, StoreError, Tree};

/// The rules of a crawl, to be asked about URLs.
#[derive(Debug, Clone, Default)]
pub struct Forgotten {
    urls: HashSet<Box<str>>,
    hosts: HashSet<Box<str>>,
    patterns: RegexSet,
}

impl Forgotten {
    /// Takes rules together.
    ///
    /// # Errors
    /// Of the first regular expression that can't be read.
    pub fn new<'a>(rules: impl Iterator<Item = &'a ForgetRule>) -> Result<Self, regex::Error> {
        let mut forgotten = Self::default();
        let mut patterns = Vec::new();
        for rule in rules {
            match &rule.forget {
                Forget::Url(url) => drop(forgotten.urls.insert(url.as_str().into())),
                Forget::Host(host) => drop(forgotten.hosts.insert(host.as_str().into())),
                Forget::Regex(pattern) => patterns.push(pattern),
            }
        }
        forgotten.patterns = RegexSet::new(patterns)?;
        Ok(forgotten)
    }

    /// True of a normalised URL that was removed.
    pub fn has(&self, url: &str) -> bool {
        self.urls.contains(url)
            || !self.hosts.is_empty() && self.has_host(host_of(url))
            || !self.patterns.is_empty() && self.patterns.is_match(url)
    }

    /// True of a host that was removed as a whole.
    pub fn has_host(&self, host: &str) -> bool {
        self.hosts.contains(host)
    }
}

/// The host of a normalised URL; of anything else nothing that a rule names.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rfind(':') {
        Some(colon) if !authority[colon..].contains(']') => &authority[..colon],
        _ => authority,
    }
}

/// The rules of a crawl with their numbers, in the order in which they were made.
pub fn forget_rules<S: Store>(store: &S) -> Result<Vec<(u64, ForgetRule)>, StoreError> {
    let mut rules = Vec::new();
    for pair in store.scan(Tree::Meta, ForgetRule::PREFIX.as_bytes()) {
        let (key, value) = pair?;
        let rule = serde_json::from_slice(&value)
            .map_err(|error| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() })?;
        let number = key.last_chunk::<8>().map_or(0, |number| u64::from_be_bytes(*number));
        rules.push((number, rule));
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_about_a_url_a_host_or_what_matches() {
        let rule = |forget| ForgetRule {
            v: 1,
            forget,
            at: jiff::Timestamp::UNIX_EPOCH,
            reason: String::new(),
            done: true,
        };
        let rules = [
            rule(Forget::Url("http://a.test/x".to_owned())),
            rule(Forget::Host("b.test".to_owned())),
            rule(Forget::Regex("/private/.*[.]pdf$".to_owned())),
        ];
        let forgotten = Forgotten::new(rules.iter()).unwrap();
        for (url, expected) in [
            ("http://a.test/x", true),
            ("http://a.test/x?y", false),
            ("https://a.test/x", false),
            ("http://b.test:81/any", true),
            ("https://b.test?x", true),
            ("b.test", false),
            ("http://www.b.test/", false),
            ("http://a.test/private/z.pdf", true),
            ("http://a.test/private/z.pdf?a", false),
        ] {
            assert_eq!(forgotten.has(url), expected, "{url}");
        }
        assert!(!Forgotten::default().has("http://a.test/x"), "no rule, nothing forgotten");
    }
}
