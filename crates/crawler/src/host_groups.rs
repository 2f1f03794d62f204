//! Which hosts are asked as one: those of a list by hand, of one registrable domain, or of one IP address (`pace.groups`).

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::scope::domain;
use page::url::CrawlUrl;

/// Bytes of a list's name.
const NAME_BYTES: usize = 63;

/// What the hosts have in common that are asked as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// Nothing: each host is by itself.
    #[default]
    Host,
    /// Their registrable domain, by the public suffix list.
    Domain,
    /// The IP address at which they are requested.
    Address,
}

impl GroupBy {
    /// The word in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Domain => "domain",
            Self::Address => "address",
        }
    }
}

/// Hosts that are one group by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostList {
    /// Name of the group.
    pub name: String,
    /// Its hosts: `a.example`, or `*.b.example` for all hosts below one.
    pub hosts: Vec<String>,
}

/// The group of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Membership {
    /// It is by itself.
    Alone,
    /// The group of this name: a list.
    Listed(Arc<str>),
    /// The group of this name: a registrable domain.
    OfDomain(Arc<str>),
    /// The hosts of its address.
    OfAddress,
}

/// Which hosts are one group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostGroups {
    by: GroupBy,
    names: Vec<Arc<str>>,
    /// The lists of hosts, and of all hosts below one: the first list that names it.
    hosts: HashMap<Box<str>, usize>,
    below: HashMap<Box<str>, usize>,
}

impl Membership {
    /// The name of the group, if it has one.
    pub fn name(self) -> Option<Arc<str>> {
        match self {
            Self::Listed(name) | Self::OfDomain(name) => Some(name),
            Self::Alone | Self::OfAddress => None,
        }
    }
}

impl HostGroups {
    /// A host belongs to the first list that names it. One that none names belongs to the group that `by` says.
    ///
    /// # Errors
    /// What is wrong with a list, in words.
    pub fn new(by: GroupBy, lists: &[HostList]) -> Result<Self, String> {
        let mut groups = Self { by, ..Self::default() };
        for (number, list) in lists.iter().enumerate() {
            let name = &list.name;
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || name.len() > NAME_BYTES || !name.chars().all(fits) {
                return Err(format!(
                    "the name {name:?} of a group must have 1 to {NAME_BYTES} letters, digits, - and _"
                ));
            }
            if groups.names.iter().any(|other| **other == **name) {
                return Err(format!("two groups have the name {name:?}"));
            }
            if list.hosts.is_empty() {
                return Err(format!("the group {name:?} has no hosts"));
            }
            groups.names.push(name.as_str().into());
            for pattern in &list.hosts {
                let (host, of) = match pattern.strip_prefix("*.") {
                    Some(host) => (host, &mut groups.below),
                    None => (pattern.as_str(), &mut groups.hosts),
                };
                let host = host_name(host).ok_or_else(|| {
                    format!("{pattern:?} in the group {name:?} isn't a host: write a.example, or *.a.example for all hosts below it")
                })?;
                of.entry(host.into()).or_insert(number);
            }
        }
        Ok(groups)
    }

    /// Whether every host is by itself.
    pub fn is_none(&self) -> bool {
        self.by == GroupBy::Host && self.names.is_empty()
    }

    /// What hosts have in common that no list names.
    pub fn by(&self) -> GroupBy {
        self.by
    }

    /// How many lists there are.
    pub fn lists(&self) -> usize {
        self.names.len()
    }

    /// Whether hosts of one group may be in different partitions of a crawl on many machines: those of a registrable domain never are.
    pub fn is_across_partitions(&self) -> bool {
        self.by == GroupBy::Address || !self.names.is_empty()
    }

    /// The group of a host.
    pub fn of(&self, host: &str) -> Membership {
        if let Some(name) = self.list_of(host) {
            return Membership::Listed(Arc::clone(name));
        }
        match self.by {
            GroupBy::Host => Membership::Alone,
            GroupBy::Domain => Membership::OfDomain(domain(host).into()),
            GroupBy::Address => Membership::OfAddress,
        }
    }

    fn list_of(&self, host: &str) -> Option<&Arc<str>> {
        if self.names.is_empty() {
            return None;
        }
        let parents = host.match_indices('.').filter_map(|(at, _)| self.below.get(&host[at + 1..]));
        let first = self.hosts.get(host).into_iter().chain(parents).min()?;
        self.names.get(*first)
    }
}

/// A host's name as URLs have it.
fn host_name(text: &str) -> Option<String> {
    let has_port = if text.starts_with('[') { !text.ends_with(']') } else { text.contains(':') };
    if has_port || text.contains(['/', '?', '#', '@', '*', '\\']) {
        return None;
    }
    Some(CrawlUrl::parse(&format!("http://{text}/")).ok()?.host().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(name: &str, hosts: &[&str]) -> HostList {
        HostList { name: name.to_owned(), hosts: hosts.iter().map(|host| (*host).to_owned()).collect() }
    }

    fn listed(name: &str) -> Membership {
        Membership::Listed(name.into())
    }

    #[test]
    fn a_host_belongs_to_the_first_list_that_names_it_or_to_its_domain_or_address() {
        let lists = [
            list("library", &["a.example", "*.b.example", "Bücher.example"]),
            list("rest", &["x.b.example", "*.example", "192.0.2.7", "[2001:db8::1]"]),
        ];
        let of = |by, host: &str| HostGroups::new(by, &lists).unwrap().of(host);
        for by in [GroupBy::Host, GroupBy::Domain, GroupBy::Address] {
            for (host, name) in [
                ("a.example", "library"),
                ("x.b.example", "library"),
                ("y.x.b.example", "library"),
                ("xn--bcher-kva.example", "library"),
                ("b.example", "rest"),
                ("x.a.example", "rest"),
                ("192.0.2.7", "rest"),
                ("[2001:db8::1]", "rest"),
            ] {
                assert_eq!(of(by, host), listed(name), "{host}");
            }
        }
        for (host, domain) in [
            ("www.uni.test", "uni.test"),
            ("uni.test", "uni.test"),
            ("a.b.co.uk", "b.co.uk"),
            ("192.0.2.1", "192.0.2.1"),
            ("localhost", "localhost"),
            ("example", "example"),
        ] {
            assert_eq!(of(GroupBy::Domain, host), Membership::OfDomain(domain.into()));
            assert_eq!(of(GroupBy::Host, host), Membership::Alone);
            assert_eq!(of(GroupBy::Address, host), Membership::OfAddress);
        }
    }

    #[test]
    fn a_list_that_isnt_one_is_refused() {
        for (lists, words) in [
            (vec![list("", &["a.example"])], "the name \"\""),
            (vec![list("a.b", &["a.example"])], "the name \"a.b\""),
            (vec![list("a", &[])], "has no hosts"),
            (vec![list("a", &["a.example"]), list("a", &["b.example"])], "two groups have the name"),
            (vec![list("a", &["http://a.example/"])], "isn't a host"),
            (vec![list("a", &["a.example:80"])], "isn't a host"),
            (vec![list("a", &["a.example/x"])], "isn't a host"),
            (vec![list("a", &["a.*.example"])], "isn't a host"),
            (vec![list("a", &[""])], "isn't a host"),
        ] {
            let error = HostGroups::new(GroupBy::Host, &lists).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(HostGroups::new(GroupBy::Host, &[]).unwrap().is_none());
        assert!(!HostGroups::new(GroupBy::Domain, &[]).unwrap().is_none());
        assert!(!HostGroups::new(GroupBy::Host, &[list("a", &["a.example"])]).unwrap().is_none());
    }
}
