//! Which hosts of a crawl were asked as one, and which domain has so many that they could be.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;

use super::coverage::Counted;
use super::open::{View, ViewError};
use crate::host_groups::{GroupBy, HostGroups, Membership};
use crate::record::group_addresses;
use crate::scope::domain;

/// Groups that a summary lists, and hosts of each; the others are counted.
pub(super) const GROUPS_LISTED: usize = 200;
const HOSTS_LISTED: usize = 20;

/// From more hosts of one registrable domain on, a note names the option.
const MANY: u64 = 50;

/// Hosts that were asked as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupSummary {
    /// Name of the list, registrable domain, or address.
    pub group: String,
    /// How many hosts it has.
    pub hosts_known: u64,
    /// The first 20 of them.
    pub hosts: Vec<String>,
    /// Requests to all of its hosts.
    pub requests: u64,
}

/// The groups of hosts by the settings of the last run.
#[derive(Debug, Default)]
pub(super) struct GroupNames {
    groups: HostGroups,
    addresses: BTreeMap<String, IpAddr>,
}

impl GroupNames {
    /// The group of a host; none where it is by itself, or was never asked at an address.
    pub(super) fn of(&self, host: &str) -> Option<Arc<str>> {
        match self.groups.of(host) {
            Membership::OfAddress => self.addresses.get(host).map(|address| address.to_string().into()),
            other => other.name(),
        }
    }
}

impl View {
    /// The groups of hosts. Cost: where hosts share addresses, one read of those.
    pub(super) fn group_names(&self) -> Result<GroupNames, ViewError> {
        let Some(settings) = self.crawl_settings() else { return Ok(GroupNames::default()) };
        let groups = settings.pace.host_groups();
        let addresses = match groups.by() {
            GroupBy::Address => group_addresses(self.store())?,
            GroupBy::Host | GroupBy::Domain => BTreeMap::new(),
        };
        Ok(GroupNames { groups, addresses })
    }
}

/// Counts the hosts of groups, and those of domains where each host is by itself.
#[derive(Debug, Default)]
pub(super) struct Tally {
    names: GroupNames,
    groups: BTreeMap<Arc<str>, GroupSummary>,
    /// Hosts that were asked, by a hash of their registrable domain.
    domains: HashMap<u64, u64>,
    /// The domain with the most of them, if they are many.
    largest: Option<Counted>,
}

impl Tally {
    pub(super) fn new(names: GroupNames) -> Self {
        Self { names, ..Self::default() }
    }

    /// Takes a host, and returns its group.
    pub(super) fn take(&mut self, host: &str, requests: u64) -> Option<Arc<str>> {
        let Some(group) = self.names.of(host) else {
            if requests > 0 && self.names.groups.by() == GroupBy::Host {
                self.count_domain(domain(host));
            }
            return None;
        };
        let new =
            || GroupSummary { group: group.to_string(), hosts_known: 0, hosts: Vec::new(), requests: 0 };
        let summary = self.groups.entry(Arc::clone(&group)).or_insert_with(new);
        summary.hosts_known += 1;
        summary.requests += requests;
        if summary.hosts.len() < HOSTS_LISTED {
            summary.hosts.push(host.to_owned());
        }
        Some(group)
    }

    fn count_domain(&mut self, domain: &str) {
        let hash = blake3::hash(domain.as_bytes());
        let hash = u64::from_be_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default());
        let count = self.domains.entry(hash).or_default();
        *count += 1;
        if *count > MANY && self.largest.as_ref().is_none_or(|largest| largest.count < *count) {
            self.largest = Some(Counted { what: domain.to_owned(), count: *count });
        }
    }

    /// The groups with several hosts, the largest first; how many there are; and the domain with the most hosts.
    pub(super) fn finish(self) -> (Vec<GroupSummary>, u64, Option<Counted>) {
        let several = self.groups.into_values().filter(|group| group.hosts_known > 1);
        let mut groups: Vec<_> = several.collect();
        groups.sort_by(largest_first);
        let known = groups.len() as u64;
        groups.truncate(GROUPS_LISTED);
        (groups, known, self.largest)
    }
}

pub(super) fn largest_first(one: &GroupSummary, other: &GroupSummary) -> std::cmp::Ordering {
    other.hosts_known.cmp(&one.hosts_known).then_with(|| one.group.cmp(&other.group))
}

/// The groups of two parts of a crawl together.
pub(super) fn joined(some: Vec<GroupSummary>, more: Vec<GroupSummary>) -> Vec<GroupSummary> {
    let mut all: BTreeMap<String, GroupSummary> = BTreeMap::new();
    for group in some.into_iter().chain(more) {
        match all.get_mut(&group.group) {
            None => {
                all.insert(group.group.clone(), group);
            }
            Some(known) => {
                known.hosts_known += group.hosts_known;
                known.requests += group.requests;
                known.hosts.extend(group.hosts);
                known.hosts.sort();
                known.hosts.truncate(HOSTS_LISTED);
            }
        }
    }
    let mut groups: Vec<_> = all.into_values().collect();
    groups.sort_by(largest_first);
    groups.truncate(GROUPS_LISTED);
    groups
}

impl GroupSummary {
    /// In words: `example.org: 3 hosts, 17 requests: a.example.org, ...`.
    pub fn line(&self) -> String {
        let more = if self.hosts_known > self.hosts.len() as u64 { ", ..." } else { "" };
        let (hosts, requests) = (
            page::quantity::count(self.hosts_known, "host"),
            page::quantity::count(self.requests, "request"),
        );
        format!("{}: {hosts}, {requests}: {}{more}", self.group, self.hosts.join(", "))
    }
}

/// What is said of a domain with many hosts, each of which is asked by itself.
pub(super) fn note(domain: &Counted) -> String {
    let Counted { what, count } = domain;
    format!(
        "{count} hosts of {what} were requested, each at its own delay; --groups domain has them share one"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_groups::HostList;

    fn tally(by: GroupBy, lists: &[HostList], hosts: &[(&str, u64)]) -> (Tally, Vec<Option<Arc<str>>>) {
        let groups = HostGroups::new(by, lists).unwrap();
        let addresses = BTreeMap::from([("a.test".to_owned(), "192.0.2.1".parse().unwrap())]);
        let mut tally = Tally::new(GroupNames { groups, addresses });
        let found = hosts.iter().map(|(host, requests)| tally.take(host, *requests)).collect();
        (tally, found)
    }

    #[test]
    fn groups_have_their_hosts_and_a_large_domain_is_named() {
        let hosts = [("a.uni.test", 3), ("b.uni.test", 0), ("a.test", 1), ("b.test", 2)];
        let (all, found) = tally(GroupBy::Domain, &[], &hosts);
        assert_eq!(found[0].as_deref(), Some("uni.test"));
        let (groups, known, largest) = all.finish();
        assert_eq!((groups.len(), known, largest), (1, 1, None));
        assert_eq!(groups[0].line(), "uni.test: 2 hosts, 3 requests: a.uni.test, b.uni.test");
        let list =
            HostList { name: "list".to_owned(), hosts: vec!["b.test".to_owned(), "*.uni.test".to_owned()] };
        let (all, found) = tally(GroupBy::Address, &[list], &hosts);
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some("list"), Some("list"), Some("192.0.2.1"), Some("list")]);
        let (groups, ..) = all.finish();
        assert_eq!((groups.len(), groups[0].hosts_known, groups[0].requests), (1, 3, 5));
        assert_eq!(joined(groups.clone(), groups)[0].hosts_known, 6);
    }

    #[test]
    fn a_domain_with_more_than_50_requested_hosts_is_named_where_each_is_by_itself() {
        let names: Vec<String> = (0..60).map(|n| format!("h{n}.uni.test")).collect();
        for (by, asked, expected) in
            [(GroupBy::Host, 50, None), (GroupBy::Host, 51, Some(51)), (GroupBy::Domain, 60, None)]
        {
            let hosts: Vec<_> =
                names.iter().enumerate().map(|(n, name)| (name.as_str(), u64::from(n < asked))).collect();
            let largest = tally(by, &[], &hosts).0.finish().2;
            assert_eq!(largest.as_ref().map(|largest| largest.count), expected);
            assert!(largest.is_none_or(|largest| note(&largest).contains("uni.test")));
        }
    }
}
