//! Seeds on this machine or its network.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use url::{Host, Url};

use crate::address::AddressClass;

/// Hosts and ports that seeds name by an address that isn't public, or as `localhost`. Each opens itself and nothing else: not
/// another port, not what a name says it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnSeeds(BTreeMap<String, BTreeSet<u16>>);

impl OwnSeeds {
    /// Picks them out of the seeds.
    pub fn of(seeds: impl IntoIterator<Item = impl std::borrow::Borrow<Url>>) -> Self {
        let mut own: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
        for seed in seeds {
            let seed = seed.borrow();
            let is_own = match seed.host() {
                Some(Host::Domain(name)) => is_localhost(name),
                Some(Host::Ipv4(addr)) => AddressClass::of(IpAddr::V4(addr)) != AddressClass::Public,
                Some(Host::Ipv6(addr)) => AddressClass::of(IpAddr::V6(addr)) != AddressClass::Public,
                None => false,
            };
            if let (true, Some(host), Some(port)) = (is_own, seed.host_str(), seed.port_or_known_default()) {
                own.entry(without_dot(host).to_owned()).or_default().insert(port);
            }
        }
        Self(own)
    }

    /// Whether a seed names this host and port. `host` as in a URL, without a dot at its end.
    pub(super) fn holds(&self, host: &str, port: u16) -> bool {
        self.0.get(host).is_some_and(|ports| ports.contains(&port))
    }
}

/// A name that never leaves this machine (RFC 6761 section 6.3).
fn is_localhost(name: &str) -> bool {
    let name = without_dot(name);
    name == "localhost" || name.ends_with(".localhost")
}

pub(super) fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}
