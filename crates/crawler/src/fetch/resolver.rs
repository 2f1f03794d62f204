//! Names to addresses, past the address guard.
//!
//! The client asks here for every connection that it makes, so that a name which changes its address between two
//! connections (DNS rebinding) is judged by the address that is really used.

use std::collections::HashMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::guard::AddressGuard;
use super::names::{LookupError, Names};
use crate::config::ResolveRule;

/// The resolve rules by host name.
#[derive(Debug, Default)]
pub(super) struct Rules(HashMap<String, Vec<SocketAddr>>);

impl Rules {
    /// Gathers the rules; several for one host are addresses to be tried in their order.
    pub(super) fn new(rules: &[ResolveRule]) -> Self {
        let mut by_host: HashMap<String, Vec<SocketAddr>> = HashMap::new();
        for rule in rules {
            // Port 0 stands for the port of the URL.
            let addr = SocketAddr::new(rule.addr, rule.port.unwrap_or(0));
            by_host.entry(rule.host.clone()).or_default().push(addr);
        }
        Self(by_host)
    }

    fn get(&self, host: &str) -> Option<Vec<SocketAddr>> {
        self.0.get(host).or_else(|| self.0.get("*")).cloned()
    }
}

/// Resolves a name by the rules, then by the name service, and drops the addresses that are closed.
#[derive(Debug, Clone)]
pub(super) struct GuardedResolver {
    pub(super) rules: Arc<Rules>,
    pub(super) names: Arc<Names>,
    pub(super) guard: Arc<AddressGuard>,
}

impl GuardedResolver {
    /// Gives the open addresses of a name; port 0 stands for the port of the URL.
    pub(super) async fn look_up(&self, name: &str) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
        let host = name.trim_end_matches('.').to_ascii_lowercase();
        if let Some(addrs) = self.rules.get(&host) {
            // The operator named this address for this host: no guard.
            return Ok(addrs);
        }
        let found = self.names.look_up(&host).await?;
        open_ones(&self.guard, found.into_iter().map(|addr| SocketAddr::new(addr, 0)))
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let found = resolver.look_up(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Keeps the addresses that are open; none at all is an error.
fn open_ones(
    guard: &AddressGuard,
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
    let mut open = Vec::new();
    let mut blocked = None;
    for addr in found {
        match guard.check(addr.ip()) {
            Ok(()) => open.push(addr),
            Err(why) => blocked = blocked.or(Some(why)),
        }
    }
    match blocked {
        _ if !open.is_empty() => Ok(open),
        Some(why) => Err(why.into()),
        None => Err(LookupError::NoAddress.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::BlockedAddress;

    fn addrs(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn a_name_with_public_and_own_addresses_has_its_public_ones() {
        let guard = AddressGuard::default();
        let found = addrs(&["127.0.0.1", "8.8.8.8", "10.0.0.1", "2606:4700::1", "::1"]);
        assert_eq!(open_ones(&guard, found.into_iter()).unwrap(), addrs(&["8.8.8.8", "2606:4700::1"]));
        let error = open_ones(&guard, addrs(&["127.0.0.1", "::1"]).into_iter()).unwrap_err();
        assert!(error.is::<BlockedAddress>());
        assert!(!open_ones(&guard, std::iter::empty()).unwrap_err().is::<BlockedAddress>());
    }

    #[test]
    fn a_rule_for_a_host_goes_before_the_rule_for_every_host() {
        let rules: Vec<ResolveRule> = ["*:127.0.0.9", "a.example:127.0.0.1:81", "a.example:127.0.0.2"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let rules = Rules::new(&rules);
        let expected = ["127.0.0.1:81", "127.0.0.2:0"].map(|addr| addr.parse().unwrap());
        assert_eq!(rules.get("a.example").unwrap(), expected);
        assert_eq!(rules.get("b.example").unwrap(), addrs(&["127.0.0.9"]));
        assert!(Rules::new(&[]).get("a.example").is_none());
    }
}
