//! Addresses of hosts that are given by hand: `HOST:ADDR[:PORT]`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The address of one host. Written `HOST:ADDR[:PORT]`, an IPv6 address in brackets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResolveRule {
    /// Host name, lower case; never an address, never with a final dot.
    pub host: String,
    /// Where connections to this host go.
    pub addr: IpAddr,
    /// Port in place of the URL's; none leaves it.
    pub port: Option<u16>,
}

/// Why a rule was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} isn't HOST:ADDR or HOST:ADDR:PORT ({why})")]
pub struct ResolveError {
    text: String,
    why: &'static str,
}

impl fmt::Display for ResolveRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.addr {
            IpAddr::V4(addr) => write!(f, "{}:{addr}", self.host)?,
            IpAddr::V6(addr) => write!(f, "{}:[{addr}]", self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for ResolveRule {
    type Err = ResolveError;

    fn from_str(text: &str) -> Result<Self, ResolveError> {
        let refuse = |why| ResolveError { text: text.to_owned(), why };
        let (host, rest) = text.trim().split_once(':').ok_or_else(|| refuse("no colon"))?;
        let (addr, port) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (addr, port) = rest.split_once(']').ok_or_else(|| refuse("no closing bracket"))?;
                (addr, port.strip_prefix(':').or_else(|| port.is_empty().then_some("")))
            }
            None => rest.split_once(':').map_or((rest, Some("")), |(addr, port)| (addr, Some(port))),
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if host.is_empty() {
            return Err(refuse("no host"));
        }
        let addr = addr.parse().map_err(|_| refuse("no address; an IPv6 address stands in brackets"))?;
        let port = match port.ok_or_else(|| refuse("no colon before the port"))? {
            "" => None,
            port => Some(port.parse().ok().filter(|&port| port != 0).ok_or_else(|| refuse("no port"))?),
        };
        Ok(Self { host, addr, port })
    }
}

impl TryFrom<String> for ResolveRule {
    type Error = ResolveError;

    fn try_from(text: String) -> Result<Self, ResolveError> {
        text.parse()
    }
}

impl From<ResolveRule> for String {
    fn from(rule: ResolveRule) -> Self {
        rule.to_string()
    }
}
