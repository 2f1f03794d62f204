//! Addresses of hosts from the settings: `HOST:ADDR[:PORT]`.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::address::{AddressError, parse_with_port};

/// The address of one host. Written `HOST:ADDR[:PORT]`, an IPv6 address in brackets.
///
/// A port takes the place of the scheme's own port, for URLs that name no other; to a URL with another port the rule doesn't apply.
/// The Host field and the name in TLS stay those of the URL. As curl's `--connect-to HOST:80:ADDR:PORT`; its `--resolve` has another
/// order, `HOST:PORT:ADDR`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResolveRule {
    /// Host name, lower case; never an address, never with a final dot. `*` answers for every host without a rule of its own.
    pub host: String,
    /// Where connections to this host go.
    pub addr: IpAddr,
    /// Port in place of the URL's; none leaves it.
    pub port: Option<u16>,
}

/// Why a rule was refused. The reason is part of the message, since that is printed within others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} isn't HOST:ADDR or HOST:ADDR:PORT ({why})")]
pub struct ResolveError {
    text: String,
    why: BadRule,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum BadRule {
    #[error("no colon")]
    NoColon,
    #[error("no host name")]
    NoHost,
    #[error("the address comes before the port; HOST:PORT:ADDR is curl's order")]
    CurlsOrder,
    #[error(transparent)]
    Address(AddressError),
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
        let (host, rest) = text.trim().split_once(':').ok_or_else(|| refuse(BadRule::NoColon))?;
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let in_name = |c: char| c.is_alphanumeric() || "-._".contains(c);
        if host != "*" && (host.is_empty() || !host.chars().all(in_name)) {
            return Err(refuse(BadRule::NoHost));
        }
        let (addr, port) = parse_with_port(rest).map_err(|why| {
            let first = rest.split(':').next().unwrap_or_default();
            refuse(if first.parse::<u16>().is_ok() { BadRule::CurlsOrder } else { BadRule::Address(why) })
        })?;
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

/// Why a file with addresses was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveFileError {
    #[error("can't read {path}")]
    Unreadable { path: String, source: std::io::Error },
    #[error("{path}:{line}")]
    Bad { path: String, line: usize, source: ResolveError },
}

/// Reads a file with one rule a line; blank lines and `#` comments are skipped.
pub(crate) fn read_file(file: &Path) -> Result<Vec<ResolveRule>, ResolveFileError> {
    let path = file.display().to_string();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(source) => return Err(ResolveFileError::Unreadable { path, source }),
    };
    let lines = text.strip_prefix('\u{feff}').unwrap_or(&text).lines().zip(1..);
    let rules = lines.filter(|(line, _)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    rules
        .map(|(text, line)| {
            text.parse().map_err(|source| ResolveFileError::Bad { path: path.clone(), line, source })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::with_causes;

    #[test]
    fn a_rule_is_a_host_and_an_address() {
        for (text, written, port) in [
            ("example.org:127.0.0.1", "example.org:127.0.0.1", None),
            ("Example.ORG.:127.0.0.1:8080", "example.org:127.0.0.1:8080", Some(8080)),
            ("example.org:[::1]", "example.org:[::1]", None),
            ("example.org:[::1]:8080", "example.org:[::1]:8080", Some(8080)),
            ("*:127.0.0.1", "*:127.0.0.1", None),
        ] {
            let rule: ResolveRule = text.parse().unwrap();
            assert_eq!((rule.to_string().as_str(), rule.port), (written, port));
            assert_eq!(written.parse(), Ok(rule));
        }
        for bad in [
            "",
            "example.org",
            ":127.0.0.1",
            "example.org:",
            "example.org:localhost",
            "example.org:127.0.0.1:0",
            "example.org:127.0.0.1:x",
            "example.org:127.0.0.1:70000",
            "example.org:::1",
            "example.org:[::1",
            "example.org:[::1]8080",
            "exa mple.org:127.0.0.1",
            "*.org:127.0.0.1",
            "example.org:443:127.0.0.1",
        ] {
            assert!(bad.parse::<ResolveRule>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_order_of_curl_is_named() {
        for text in ["example.org:443:127.0.0.1", "*:80:[::1]"] {
            let message = text.parse::<ResolveRule>().unwrap_err().to_string();
            assert!(
                message.ends_with("(the address comes before the port; HOST:PORT:ADDR is curl's order)"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_file_has_one_rule_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hosts");
        std::fs::write(&file, "\u{feff}# ours\r\na.test:127.0.0.1\r\n\r\nb.test:127.0.0.2:80\n").unwrap();
        assert_eq!(read_file(&file).unwrap().len(), 2);
        std::fs::write(&file, "a.test:127.0.0.1\nb.test\n").unwrap();
        assert!(with_causes(&read_file(&file).unwrap_err()).contains("hosts:2: "));
        assert!(read_file(&dir.path().join("none")).is_err());
    }
}
