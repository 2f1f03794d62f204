//! Which URLs belong to the crawl: hosts, paths, patterns, depth. Every decision has its reason.

use std::sync::Arc;

use hashbrown::HashSet;
use regex::{Regex, RegexBuilder, RegexSet};
use serde::{Deserialize, Serialize};

use crate::forgotten::Forgotten;
use crate::link_outcome::LinkOutcome;
use page::public_suffix::registrable_domain;
use page::url::CrawlUrl;

/// How deep a regular expression that is given may be nested: compiling it calls itself for each level.
const REGEX_NESTING: u32 = 64;

/// Compiles a regular expression that is given, nested at most 64 deep, so that it takes at most so many bytes.
pub fn compile_regex(pattern: &str, bytes: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).nest_limit(REGEX_NESTING).size_limit(bytes).build()
}

/// What is wrong with a regular expression, in a line: the last one of the message. Those above draw the pattern.
pub fn why_no_regex(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Bytes that a pattern of scope, or of what is to be forgotten, may take when it is compiled.
pub const PATTERN_BYTES: usize = 10 << 20;

/// What is wrong with `--include` or `--exclude`.
#[derive(Debug, thiserror::Error)]
#[error("{option}")]
pub struct PatternError {
    /// The option.
    pub option: &'static str,
    /// What the pattern's parser says.
    pub source: regex::Error,
}

/// How far from the seeds the crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeMode {
    /// The hosts of the seeds. The default.
    #[default]
    Host,
    /// The registrable domains of the seeds.
    Domain,
    /// URLs that begin with a seed's, up to its last slash.
    Prefix,
    /// Every host.
    Any,
}

/// Which hosts the resources of a page may be on, besides those that belong to the crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceHosts {
    /// The page's own. The default.
    #[default]
    Host,
    /// Those of the page's registrable domain.
    Domain,
    /// Every host.
    Any,
}

/// The crawl's boundary. Clones share what they have in common.
#[derive(Debug, Clone)]
pub struct Scope {
    mode: ScopeMode,
    hosts: Arc<HashSet<Box<str>>>,
    domains: Arc<HashSet<Box<str>>>,
    prefixes: Arc<Vec<Box<str>>>,
    /// None where there are no patterns: a set of none takes its time, too.
    include: Option<RegexSet>,
    exclude: Option<RegexSet>,
    max_depth: Option<u32>,
    max_url_length: usize,
    resource_hosts: ResourceHosts,
    follows_moved_seeds: bool,
    forgotten: Forgotten,
}

impl Scope {
    /// A boundary without any seed yet.
    pub fn new(
        mode: ScopeMode,
        include: &[String],
        exclude: &[String],
        max_depth: Option<u32>,
        max_url_length: usize,
    ) -> Result<Self, PatternError> {
        let set = |option, patterns: &[String]| {
            let set = (!patterns.is_empty()).then(|| RegexSet::new(patterns));
            set.transpose().map_err(|source| PatternError { option, source })
        };
        Ok(Self {
            mode,
            hosts: Arc::default(),
            domains: Arc::default(),
            prefixes: Arc::default(),
            include: set("--include", include)?,
            exclude: set("--exclude", exclude)?,
            max_depth,
            max_url_length,
            resource_hosts: ResourceHosts::default(),
            follows_moved_seeds: false,
            forgotten: Forgotten::default(),
        })
    }

    /// Sets which hosts the resources of a page may be on.
    #[must_use]
    pub fn with_resource_hosts(self, resource_hosts: ResourceHosts) -> Self {
        Self { resource_hosts, ..self }
    }

    /// Sets whether a seed that redirects to another site brings that site in. Default: no.
    #[must_use]
    pub fn following_moved_seeds(self, follows_moved_seeds: bool) -> Self {
        Self { follows_moved_seeds, ..self }
    }

    /// Whether a seed that redirects to another site brings that site in.
    pub fn follows_moved_seeds(&self) -> bool {
        self.follows_moved_seeds
    }

    /// Keeps out what a user had removed, whatever else is said of it.
    pub fn forget(&mut self, forgotten: Forgotten) {
        self.forgotten = forgotten;
    }

    /// Takes a seed in: its host, registrable domain or path prefix belongs to the crawl. False if it did already.
    pub fn add_seed(&mut self, url: &CrawlUrl) -> bool {
        match self.mode {
            ScopeMode::Any => false,
            ScopeMode::Host => {
                let new = !self.hosts.contains(url.host());
                if new {
                    Arc::make_mut(&mut self.hosts).insert(url.host().into());
                }
                new
            }
            ScopeMode::Domain => {
                let new = !self.domains.contains(domain(url.host()));
                if new {
                    Arc::make_mut(&mut self.domains).insert(domain(url.host()).into());
                }
                new
            }
            ScopeMode::Prefix => {
                let prefix = prefix(url);
                let new = !self.prefixes.iter().any(|known| prefix.starts_with(&**known));
                if new {
                    Arc::make_mut(&mut self.prefixes).push(prefix.into());
                }
                new
            }
        }
    }

    /// True where some URL of this one's origin may belong to the crawl, whatever its path.
    pub fn has_host(&self, url: &CrawlUrl) -> bool {
        if self.forgotten.has_host(url.host()) {
            return false;
        }
        match self.mode {
            ScopeMode::Any => true,
            ScopeMode::Host => self.hosts.contains(url.host()),
            ScopeMode::Domain => self.domains.contains(domain(url.host())),
            ScopeMode::Prefix => {
                let origin = format!("{}/", url.origin());
                self.prefixes.iter().any(|prefix| prefix.starts_with(&origin))
            }
        }
    }

    /// Returns why a URL stays outside; none lets it in.
    pub fn judge(&self, url: &CrawlUrl, depth: u32) -> Option<LinkOutcome> {
        if let Some(outcome) = self.judge_alone(url) {
            return Some(outcome);
        }
        if !self.is_inside(url) {
            return Some(if self.mode == ScopeMode::Prefix {
                LinkOutcome::OtherPath
            } else {
                LinkOutcome::OtherHost
            });
        }
        self.judge_inside(url, depth)
    }

    /// As [`Scope::judge`], for the target of a seed's redirect, which is fetched on whatever host it is.
    pub fn judge_moved_seed(&self, url: &CrawlUrl, depth: u32) -> Option<LinkOutcome> {
        self.judge_alone(url).or_else(|| self.judge_inside(url, depth))
    }

    fn judge_inside(&self, url: &CrawlUrl, depth: u32) -> Option<LinkOutcome> {
        if self.include.as_ref().is_some_and(|set| !set.is_match(url.as_str())) || self.is_excluded(url) {
            return Some(LinkOutcome::Pattern);
        }
        self.max_depth.is_some_and(|most| depth > most).then_some(LinkOutcome::TooDeep)
    }

    /// Whether there are patterns of `--include`, and one of them matches.
    pub fn includes(&self, url: &CrawlUrl) -> bool {
        self.include.as_ref().is_some_and(|set| set.is_match(url.as_str()))
    }

    fn is_excluded(&self, url: &CrawlUrl) -> bool {
        self.exclude.as_ref().is_some_and(|set| set.is_match(url.as_str()))
    }

    /// As [`Scope::judge`], for a resource of a page on the host `of`: it belongs to its page, whatever its path and depth, and
    /// `--include` doesn't concern it.
    pub fn judge_resource(&self, url: &CrawlUrl, of: &str) -> Option<LinkOutcome> {
        if let Some(outcome) = self.judge_alone(url) {
            return Some(outcome);
        }
        let is_near = match self.resource_hosts {
            ResourceHosts::Host => url.host() == of,
            ResourceHosts::Domain => domain(url.host()) == domain(of),
            ResourceHosts::Any => true,
        };
        if !is_near && !self.is_inside(url) {
            return Some(LinkOutcome::OtherHost);
        }
        self.is_excluded(url).then_some(LinkOutcome::Pattern)
    }

    /// What keeps any URL out, wherever it lies.
    pub fn judge_alone(&self, url: &CrawlUrl) -> Option<LinkOutcome> {
        if self.forgotten.has(url.as_str()) {
            return Some(LinkOutcome::Forgotten);
        }
        self.is_too_long(url).then_some(LinkOutcome::TooLong)
    }

    /// Whether a URL is longer than the crawl's limit, as it would be requested.
    pub fn is_too_long(&self, url: &CrawlUrl) -> bool {
        url.as_str().len() > self.max_url_length
    }

    /// Whether a URL lies within the hosts, domains or paths of the seeds.
    pub fn is_inside(&self, url: &CrawlUrl) -> bool {
        match self.mode {
            ScopeMode::Any => true,
            ScopeMode::Host => self.hosts.contains(url.host()),
            ScopeMode::Domain => self.domains.contains(domain(url.host())),
            ScopeMode::Prefix => self.prefixes.iter().any(|prefix| url.as_str().starts_with(&**prefix)),
        }
    }
}

/// The registrable domain by the public suffix list; the host itself for address literals and bare suffixes.
pub(crate) fn domain(host: &str) -> &str {
    if host.starts_with('[') || host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return host;
    }
    registrable_domain(host).unwrap_or(host)
}

/// Whether two URLs belong to one site: they differ in scheme, port or path, in a leading `www.`, or within one registrable domain.
pub fn is_same_site(one: &CrawlUrl, other: &CrawlUrl) -> bool {
    let (one, other) = (one.host(), other.host());
    without_www(one) == without_www(other) || domain(one) == domain(other)
}

fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// Scheme, host, port and path up to its last slash.
fn prefix(url: &CrawlUrl) -> &str {
    let text = url.as_str();
    let path_end = text.find('?').unwrap_or(text.len());
    let cut = text[..path_end].rfind('/').map_or(path_end, |slash| slash + 1);
    &text[..cut]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    fn scope(mode: ScopeMode, include: &[&str], exclude: &[&str]) -> Scope {
        let own =
            |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        let mut scope = Scope::new(mode, &own(include), &own(exclude), Some(3), 100).unwrap();
        assert_eq!(scope.add_seed(&url("http://www.shop.co.uk/a/b?x=/y")), mode != ScopeMode::Any);
        assert!(!scope.add_seed(&url("http://www.shop.co.uk/a/c")));
        scope
    }

    #[test]
    fn modes_part_inside_from_outside() {
        use LinkOutcome::{OtherHost, OtherPath};
        let cases = [
            (ScopeMode::Host, "http://www.shop.co.uk:81/z", None),
            (ScopeMode::Host, "http://shop.co.uk/z", Some(OtherHost)),
            (ScopeMode::Domain, "https://cdn.shop.co.uk/z", None),
            (ScopeMode::Domain, "https://other.co.uk/z", Some(OtherHost)),
            (ScopeMode::Prefix, "http://www.shop.co.uk/a/z/y", None),
            (ScopeMode::Prefix, "http://www.shop.co.uk/b", Some(OtherPath)),
            (ScopeMode::Any, "http://else.example/", None),
        ];
        for (mode, target, expected) in cases {
            assert_eq!(scope(mode, &[], &[]).judge(&url(target), 1), expected, "{mode:?} {target}");
        }
    }

    #[test]
    fn a_site_is_a_registrable_domain_or_a_host_with_and_without_www() {
        for (one, other, expected) in [
            ("http://a.test/", "https://a.test:8443/x", true),
            ("http://a.test/", "http://www.a.test/", true),
            ("http://www.shop.co.uk/", "http://cdn.shop.co.uk/", true),
            // Public suffixes: with and without www. all the same.
            ("http://co.uk/", "http://www.co.uk/", true),
            ("http://one.github.io/", "http://two.github.io/", false),
            ("http://one.co.uk/", "http://two.co.uk/", false),
            ("http://127.0.0.1/", "http://127.0.0.1:81/", true),
            ("http://127.0.0.1/", "http://1.0.0.1/", false),
            ("http://a.test/", "http://a.test.evil.test/", false),
            ("http://wwwa.test/", "http://a.test/", false),
        ] {
            assert_eq!(is_same_site(&url(one), &url(other)), expected, "{one} {other}");
            assert_eq!(is_same_site(&url(other), &url(one)), expected, "{other} {one}");
        }
    }

    #[test]
    fn the_target_of_a_moved_seed_is_judged_by_all_but_its_host() {
        use LinkOutcome::{Forgotten as Removed, Pattern, TooDeep, TooLong};
        let mut scope = scope(ScopeMode::Prefix, &["/a/"], &[r"\.pdf$"]);
        let rule = crate::record::ForgetRule {
            v: 1,
            forget: crate::record::Forget::Host("gone.test".to_owned()),
            at: jiff::Timestamp::UNIX_EPOCH,
            reason: String::new(),
            done: true,
        };
        scope.forget(Forgotten::new(std::iter::once(&rule)).unwrap());
        let long = format!("http://else.test/a/{}", "x".repeat(100));
        for (target, depth, expected) in [
            ("http://else.test/a/x", 0, None),
            ("http://else.test/b", 0, Some(Pattern)),
            ("http://else.test/a/x.pdf", 0, Some(Pattern)),
            ("http://else.test/a/x", 4, Some(TooDeep)),
            (&long, 0, Some(TooLong)),
            ("http://gone.test/a/x", 0, Some(Removed)),
        ] {
            assert_eq!(scope.judge_moved_seed(&url(target), depth), expected, "{target}");
        }
    }

    #[test]
    fn a_host_belongs_to_the_scope_whatever_the_path() {
        let inside = |mode, target: &str| scope(mode, &["/a/"], &[]).has_host(&url(target));
        for (mode, target, expected) in [
            (ScopeMode::Host, "http://www.shop.co.uk/sitemap.xml", true),
            (ScopeMode::Host, "http://shop.co.uk/sitemap.xml", false),
            (ScopeMode::Domain, "http://shop.co.uk/sitemap.xml", true),
            (ScopeMode::Domain, "http://other.co.uk/sitemap.xml", false),
            (ScopeMode::Prefix, "http://www.shop.co.uk/sitemap.xml", true),
            (ScopeMode::Prefix, "https://www.shop.co.uk/sitemap.xml", false),
            (ScopeMode::Any, "http://else.example/sitemap.xml", true),
        ] {
            assert_eq!(inside(mode, target), expected, "{mode:?} {target}");
        }
    }

    #[test]
    fn resources_belong_to_the_host_of_their_page() {
        use LinkOutcome::{OtherHost, Pattern, TooLong};
        use ResourceHosts::{Any, Domain, Host};
        let long = format!("http://www.shop.co.uk/{}", "x".repeat(100));
        for (hosts, target, expected) in [
            (Host, "http://www.shop.co.uk/i.png", None),
            (Host, "https://www.shop.co.uk:8443/i.png", None),
            (Host, "http://cdn.shop.co.uk/i.png", Some(OtherHost)),
            (Domain, "http://cdn.shop.co.uk/i.png", None),
            (Domain, "http://other.co.uk/i.png", Some(OtherHost)),
            (Any, "http://other.co.uk/i.png", None),
            (Any, "http://other.co.uk/i.pdf", Some(Pattern)),
            (Any, &long, Some(TooLong)),
        ] {
            let scope = scope(ScopeMode::Prefix, &["/a/"], &[r"\.pdf$"]).with_resource_hosts(hosts);
            assert_eq!(scope.judge_resource(&url(target), "www.shop.co.uk"), expected, "{hosts:?} {target}");
        }
        let page = "elsewhere.test";
        let scope = scope(ScopeMode::Host, &[], &[]);
        assert_eq!(scope.judge_resource(&url("http://www.shop.co.uk/i"), page), None, "a host of the crawl");
        assert_eq!(scope.judge_resource(&url("http://elsewhere.test/i"), page), None, "the page's own");
    }

    #[test]
    fn patterns_depth_and_length_are_reasons_of_their_own() {
        let scope = scope(ScopeMode::Host, &["/a/"], &[r"\.pdf$"]);
        assert_eq!(scope.judge(&url("http://www.shop.co.uk/a/x"), 3), None);
        assert_eq!(scope.judge(&url("http://www.shop.co.uk/b"), 1), Some(LinkOutcome::Pattern));
        assert_eq!(scope.judge(&url("http://www.shop.co.uk/a/x.pdf"), 1), Some(LinkOutcome::Pattern));
        assert_eq!(scope.judge(&url("http://www.shop.co.uk/a/x"), 4), Some(LinkOutcome::TooDeep));
        let long = format!("http://www.shop.co.uk/a/{}", "x".repeat(100));
        assert_eq!(scope.judge(&url(&long), 1), Some(LinkOutcome::TooLong));
        assert!(Scope::new(ScopeMode::Host, &["(".to_owned()], &[], None, 9).is_err());
    }
}
