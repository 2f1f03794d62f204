//! Name servers from the settings: `ADDR[:PORT]`.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::address::{AddressError, parse_with_port};

/// The address of a name server. Written `ADDR` or `ADDR:PORT`, an IPv6 address before a port in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NameServer(pub SocketAddr);

/// Why a name server was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} isn't ADDR or ADDR:PORT ({why})")]
pub struct NameServerError {
    text: String,
    why: AddressError,
}

impl fmt::Display for NameServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for NameServer {
    type Err = NameServerError;

    fn from_str(text: &str) -> Result<Self, NameServerError> {
        // Without a port no brackets are needed either.
        let parsed = text.parse().map(|addr| (addr, None)).or_else(|_| parse_with_port(text));
        let (addr, port) = parsed.map_err(|why| NameServerError { text: text.to_owned(), why })?;
        // RFC 1035 section 4.2: port 53.
        Ok(Self(SocketAddr::new(addr, port.unwrap_or(53))))
    }
}

impl TryFrom<String> for NameServer {
    type Error = NameServerError;

    fn try_from(text: String) -> Result<Self, NameServerError> {
        text.parse()
    }
}

impl From<NameServer> for String {
    fn from(server: NameServer) -> Self {
        server.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_has_an_address_and_perhaps_a_port() {
        for (text, addr) in [
            ("127.0.0.1", "127.0.0.1:53"),
            ("127.0.0.1:5353", "127.0.0.1:5353"),
            ("::1", "[::1]:53"),
            ("[::1]", "[::1]:53"),
            ("[::1]:5353", "[::1]:5353"),
        ] {
            assert_eq!(text.parse::<NameServer>().unwrap().to_string(), addr, "{text}");
        }
        for text in ["", "dns.example", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "[::1", "::1:x"] {
            assert!(text.parse::<NameServer>().is_err(), "{text}");
        }
    }
}
