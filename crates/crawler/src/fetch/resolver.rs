//! Names to addresses, past the address guard.
//!
//! The client asks here for every connection that it makes, so that a name which changes its address between two
//! connections (DNS rebinding) is judged by the address that is really used.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::guard::AddressGuard;
use super::settings::ResolveRule;

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

/// Resolves a name by the rules, then by the system, and drops the addresses that are closed.
#[derive(Debug)]
pub(super) struct GuardedResolver {
    pub(super) rules: Arc<Rules>,
    pub(super) guard: Arc<AddressGuard>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        if let Some(addrs) = self.rules.get(&host) {
            // The operator named this address for this host: no guard.
            return Box::pin(std::future::ready(Ok(Box::new(addrs.into_iter()) as Addrs)));
        }
        let guard = Arc::clone(&self.guard);
        Box::pin(async move {
            let mut open = Vec::new();
            let mut blocked = None;
            for addr in tokio::net::lookup_host((host.as_str(), 0)).await? {
                match guard.check(addr.ip()) {
                    Ok(()) => open.push(addr),
                    Err(why) => blocked = blocked.or(Some(why)),
                }
            }
            match blocked {
                Some(why) if open.is_empty() => Err(why.into()),
                _ if open.is_empty() => Err("the name has no address".into()),
                _ => Ok(Box::new(open.into_iter()) as Addrs),
            }
        })
    }
}
