//! Limits and identity of the requests.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

use super::Purpose;

/// How requests are made, and every limit on what comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchSettings {
    /// The User-Agent field, whole: `SuperRobot/1.0 (+https://example.org/robot)`.
    pub user_agent: String,
    /// The From field: the operator's e-mail address.
    pub from: Option<String>,
    /// One deadline for a try, from DNS to the last octet. Default 30 s.
    pub timeout: Duration,
    /// The part of `timeout` that DNS, TCP and TLS may take. Default 10 s.
    pub connect_timeout: Duration,
    /// The part of `connect_timeout` that DNS may take. Default 8 s.
    pub dns_timeout: Duration,
    /// The name servers; none: those of the system.
    pub dns: Vec<SocketAddr>,
    /// Largest body in octets, for the body as sent and for the body as decoded each. Default 10 MiB.
    pub max_body: u64,
    /// Largest robots.txt in octets, as decoded. Default 512,000.
    pub max_robots: u64,
    /// Largest sitemap in octets, as sent and as decoded each. Default 50 MiB, as sitemaps.org has it.
    pub max_sitemap: u64,
    /// Largest header section in octets. Default 64 KiB.
    pub max_header_bytes: usize,
    /// Most field lines in a header section. Default 100.
    pub max_header_count: usize,
    /// Names that are answered from here and not by DNS.
    pub resolve: Vec<ResolveRule>,
    /// Networks that are open although they aren't public.
    pub allow_net: Vec<IpNet>,
    /// How long an idle connection is kept for the next request. Default 15 s.
    pub idle_timeout: Duration,
    /// How long a connection may be used for new requests. Default 5 min.
    pub connection_life: Duration,
    /// How many requests run at the same time; others wait. Default half of the file descriptors that this process
    /// may have, at most 4,096.
    pub max_in_flight: usize,
    /// How many origins may have an idle connection, of the seeds' hosts and of others each. Default an eighth of the file
    /// descriptors, at most 512.
    pub max_connections: usize,
}

impl FetchSettings {
    pub(super) const DEFAULT_HEADER_COUNT: usize = 100;

    /// Makes the default settings for a user agent.
    pub fn new(user_agent: impl Into<String>) -> Self {
        // A quarter is left for the database, the archive, the log.
        let descriptors = open_files_limit();
        Self {
            user_agent: user_agent.into(),
            from: None,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            dns_timeout: Duration::from_secs(8),
            dns: Vec::new(),
            max_body: 10 << 20,
            max_robots: 512_000,
            max_sitemap: 50 << 20,
            max_header_bytes: 64 << 10,
            max_header_count: Self::DEFAULT_HEADER_COUNT,
            resolve: Vec::new(),
            allow_net: Vec::new(),
            idle_timeout: Duration::from_secs(15),
            connection_life: Duration::from_mins(5),
            max_in_flight: (descriptors / 2).clamp(1, 4096),
            max_connections: (descriptors / 8).clamp(1, 512),
        }
    }

    /// Returns the largest body that is read for `purpose`, in octets.
    pub fn body_limit(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Page => self.max_body,
            Purpose::Robots | Purpose::SiteFile => self.max_robots,
            Purpose::Sitemap => self.max_sitemap,
        }
    }
}

/// Returns how many files this process may have open (the soft limit), where the system tells; 1,024 elsewhere.
fn open_files_limit() -> usize {
    const USUAL: usize = 1024;
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    match line.and_then(|line| line.split_whitespace().next()) {
        Some("unlimited") => usize::MAX,
        Some(number) => number.parse().unwrap_or(USUAL),
        None => USUAL,
    }
}

/// One `--resolve HOST:ADDR[:PORT]`: the host sits at this address, whatever DNS says.
///
/// A port redirects the connections of URLs that name no port; the Host field stays the name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ResolveRule {
    /// The host name, lower case, without a trailing dot; `*` answers for every host.
    pub host: String,
    /// The address.
    pub addr: IpAddr,
    /// The port for URLs without one.
    pub port: Option<u16>,
}

/// Says why a resolve rule can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveRuleError {
    /// There is no colon, or nothing before it.
    #[error("a resolve rule reads HOST:ADDR or HOST:ADDR:PORT, found {0:?}")]
    Form(String),
    /// The address isn't one.
    #[error("{0:?} is no IP address (an IPv6 address before a port stands in brackets)")]
    Address(String),
    /// The port isn't one.
    #[error("{0:?} is no port number from 1 to 65535")]
    Port(String),
}

impl FromStr for ResolveRule {
    type Err = ResolveRuleError;

    /// Reads `HOST:ADDR` or `HOST:ADDR:PORT`; an IPv6 address may, and before a port must, stand in brackets.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ResolveRuleError::Form(text.to_owned());
        let (host, rest) = text.trim().split_once(':').ok_or_else(form)?;
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() || rest.is_empty() {
            return Err(form());
        }
        let (addr, port) = if let Some(bracketed) = rest.strip_prefix('[') {
            let (addr, after) = bracketed.split_once(']').ok_or_else(form)?;
            match after.strip_prefix(':') {
                Some(port) => (addr, Some(port)),
                None if after.is_empty() => (addr, None),
                None => return Err(form()),
            }
        } else if rest.parse::<IpAddr>().is_ok() {
            (rest, None)
        } else {
            match rest.split_once(':') {
                Some((addr, port)) => (addr, Some(port)),
                None => (rest, None),
            }
        };
        let addr = addr.parse().map_err(|_| ResolveRuleError::Address(addr.to_owned()))?;
        let port = match port {
            Some(text) => match text.parse::<u16>() {
                Ok(port) if port > 0 => Some(port),
                _ => return Err(ResolveRuleError::Port(text.to_owned())),
            },
            None => None,
        };
        Ok(Self { host, addr, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolve_rule_names_host_address_and_perhaps_port() {
        let rule = |host: &str, addr: &str, port| ResolveRule {
            host: host.to_owned(),
            addr: addr.parse().unwrap(),
            port,
        };
        for (text, expected) in [
            ("Joes.example:127.0.0.1", rule("joes.example", "127.0.0.1", None)),
            ("joes.example.:127.0.0.1:8080", rule("joes.example", "127.0.0.1", Some(8080))),
            ("a:::1", rule("a", "::1", None)),
            ("a:[::1]", rule("a", "::1", None)),
            ("a:[::1]:81", rule("a", "::1", Some(81))),
            ("*:127.0.0.1:81", rule("*", "127.0.0.1", Some(81))),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in
            ["", "a", ":127.0.0.1", "a:", "a:b", "a:127.0.0.1:0", "a:127.0.0.1:65536", "a:[::1]x", "a:[::1"]
        {
            assert!(text.parse::<ResolveRule>().is_err(), "{text}");
        }
    }
}
