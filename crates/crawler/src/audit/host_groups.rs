//! Which hosts a run asked as one, by its settings. Decided with code of its own; host names and registrable domains are read as the crawl
//! reads them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use crate::config::{GroupBy, HostList, PaceSettings};
use page::public_suffix::registrable_domain;
use page::url::CrawlUrl;

/// The group of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GroupOf {
    /// All requests to this address.
    Address(IpAddr),
    /// All requests to the hosts of this list or registrable domain.
    Named(String),
}

/// The groups of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct RunGroups {
    by: GroupBy,
    /// The longest delay of a group's hosts held between its requests. Earlier versions promised the configured delay alone.
    pub(super) longest: bool,
    /// Names of hosts and, with a dot before them, of those above them, each with the first list that has it.
    patterns: HashMap<String, (usize, String)>,
}

impl RunGroups {
    /// By the settings of a run, where they are known, and by what the ledger says at its start.
    pub(super) fn of(pace: Option<&PaceSettings>, words: &str) -> Self {
        let said = words.split(", ").find_map(|word| word.strip_prefix("groups "));
        let by = match (pace, said) {
            (Some(pace), _) if pace.per_ip => GroupBy::Address,
            (Some(pace), _) => pace.groups,
            (None, Some("address")) => GroupBy::Address,
            (None, Some("domain")) => GroupBy::Domain,
            (None, None) if words.ends_with(", per-ip") => GroupBy::Address,
            (None, _) => GroupBy::Host,
        };
        let lists = pace.map(|pace| &pace.group[..]).unwrap_or_default();
        Self { by, longest: said.is_some(), patterns: patterns(lists) }
    }

    /// The group of a request to a host at an address.
    pub(super) fn of_request(&self, host: &str, address: Option<IpAddr>) -> Option<GroupOf> {
        let mut found = self.patterns.get(host);
        if !self.patterns.is_empty() {
            for at in host.match_indices('.').map(|(at, _)| at) {
                let above = self.patterns.get(&host[at..]);
                found = above.filter(|above| found.is_none_or(|found| above.0 < found.0)).or(found);
            }
        }
        match (found, self.by) {
            (Some((_, list)), _) => Some(GroupOf::Named(list.clone())),
            (None, GroupBy::Host) => None,
            (None, GroupBy::Domain) => Some(GroupOf::Named(registrable(host).to_owned())),
            (None, GroupBy::Address) => Some(GroupOf::Address(machine(address?))),
        }
    }
}

fn patterns(lists: &[HostList]) -> HashMap<String, (usize, String)> {
    let mut patterns = HashMap::new();
    for (number, list) in lists.iter().enumerate() {
        for pattern in &list.hosts {
            let (dot, name) = pattern.strip_prefix("*.").map_or(("", pattern.as_str()), |name| (".", name));
            let host = CrawlUrl::parse(&format!("http://{name}/")).map(|url| url.host().to_owned());
            let host = host.unwrap_or_else(|_| name.to_owned());
            patterns.entry(format!("{dot}{host}")).or_insert_with(|| (number, list.name.clone()));
        }
    }
    patterns
}

/// The registrable domain of a name; an address is one by itself.
pub(super) fn registrable(host: &str) -> &str {
    let is_address = matches!(url::Host::parse(host), Ok(url::Host::Ipv4(_) | url::Host::Ipv6(_)));
    if is_address { host } else { registrable_domain(host).unwrap_or(host) }
}

/// A host's name as the beginning of a key: in the order of names, and none is the beginning of another.
pub(super) fn host_key(host: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(host.len() + 2);
    for byte in host.bytes() {
        key.push(byte);
        if byte == 0 {
            key.push(1);
        }
    }
    key.extend([0, 0]);
    key
}

/// The name that a key begins with, and how long it is in the key.
pub(super) fn host_of(key: &[u8]) -> (String, usize) {
    let mut name = Vec::new();
    let mut at = 0;
    while let Some(byte) = key.get(at) {
        at += 1;
        if *byte == 0 {
            at += 1;
            if key.get(at - 1) != Some(&1) {
                break;
            }
        }
        name.push(*byte);
    }
    (String::from_utf8_lossy(&name).into_owned(), at)
}

/// In the order of addresses, each of 17 bytes.
fn address_key(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => [&[4], &v4.octets()[..], &[0; 12]].concat(),
        IpAddr::V6(v6) => [&[6], &v6.octets()[..]].concat(),
    }
}

const ADDRESS_BYTES: usize = 17;

fn address_of(key: &[u8]) -> IpAddr {
    let bits = |bytes: usize| {
        (1..=bytes).fold(0_u128, |sum, at| sum << 8 | u128::from(key.get(at).copied().unwrap_or(0)))
    };
    if key.first() == Some(&4) {
        IpAddr::V4(Ipv4Addr::from_bits(bits(4) as u32))
    } else {
        IpAddr::V6(bits(16).into())
    }
}

/// What the key of a group begins with that isn't an address's.
const NAMED: u8 = 0;

/// A group as the beginning of a key: none is the beginning of another.
pub(super) fn group_key(group: &GroupOf) -> Vec<u8> {
    match group {
        GroupOf::Address(address) => address_key(*address),
        GroupOf::Named(name) => [&[NAMED], &host_key(name)[..]].concat(),
    }
}

/// The group that a key begins with, and how long it is in the key.
pub(super) fn group_of(key: &[u8]) -> (GroupOf, usize) {
    if key.first() != Some(&NAMED) {
        return (GroupOf::Address(address_of(key)), ADDRESS_BYTES);
    }
    let (name, length) = host_of(key.get(1..).unwrap_or_default());
    (GroupOf::Named(name), 1 + length)
}

/// One address for each machine: an IPv4 address where an IPv6 one is a form of it (mapped, compatible, NAT64).
fn machine(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [.., high, low] = v6.segments();
    let last = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => IpAddr::V4(last),
        _ => v6.to_ipv4().map_or(address, IpAddr::V4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_run_are_those_of_its_settings_or_of_its_first_entry() {
        let list = |name: &str, hosts: &[&str]| HostList {
            name: name.to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        };
        let group = vec![list("one", &["a.example", "*.b.example"]), list("two", &["*.example"])];
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let named = |name: &str| Some(GroupOf::Named(name.to_owned()));
        let start = "run 1; delay 1 s, adaptive 5, max-delay 30 s";
        for (by, other) in [
            (GroupBy::Host, None),
            (GroupBy::Domain, named("uni.test")),
            (GroupBy::Address, Some(GroupOf::Address(address))),
        ] {
            let pace = PaceSettings { groups: by, group: group.clone(), ..PaceSettings::default() };
            let groups = RunGroups::of(Some(&pace), &format!("{start}, groups {}, lists 2", by.as_str()));
            assert!(groups.longest);
            let of = |host: &str| groups.of_request(host, Some("::ffff:192.0.2.1".parse().unwrap()));
            for (host, list) in
                [("a.example", "one"), ("x.y.b.example", "one"), ("b.example", "two"), ("x.a.example", "two")]
            {
                assert_eq!(of(host), named(list), "{host}");
            }
            assert_eq!(of("www.uni.test"), other);
            let by_words = RunGroups::of(None, &format!("{start}, groups {}", by.as_str()));
            assert_eq!(by_words.of_request("www.uni.test", Some(address)), other);
        }
        let older = RunGroups::of(None, &format!("{start}, per-ip"));
        assert_eq!(older.of_request("a.test", Some(address)), Some(GroupOf::Address(address)));
        assert!(!older.longest);
        assert_eq!(RunGroups::of(None, start).of_request("a.test", Some(address)), None);
    }
}
