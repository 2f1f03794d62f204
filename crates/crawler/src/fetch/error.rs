//! What can go wrong with one request, by kind.

use std::fmt;
use std::time::Duration;

use super::FieldLines;

/// Says why a request has no usable response; its `Display` is the name in records and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The deadline of the try passed.
    Timeout,
    /// The header section is over its limit, or a robots.txt expands beyond reason.
    TooLarge,
    /// The body can't be decoded by its Content-Encoding.
    Decode,
    /// The connection ended before the body did.
    Truncated,
    /// What came isn't HTTP, or the URL isn't one that is fetched over HTTP.
    Protocol,
    /// No connection could be made, or it broke before a response.
    Connection,
    /// The TLS handshake failed, the certificate included.
    Tls,
    /// The host name has no address.
    Dns,
    /// The page came, but reading it failed.
    Parse,
    /// Every address of the host is closed to this crawl.
    BlockedAddress,
    /// This machine has no file descriptor, port or memory left for a connection: the host isn't at fault, and the same
    /// request may succeed in a moment, since idle connections are closed then.
    Local,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Timeout,
        Self::TooLarge,
        Self::Decode,
        Self::Truncated,
        Self::Protocol,
        Self::Connection,
        Self::Tls,
        Self::Dns,
        Self::BlockedAddress,
        Self::Local,
    ];

    /// The kind of this name.
    pub fn of_word(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Parse]).find(|kind| kind.as_str() == name)
    }

    /// Returns the name that records and reports carry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Decode => "decode",
            Self::Truncated => "truncated",
            Self::Protocol => "protocol",
            Self::Connection => "connection",
            Self::Tls => "tls",
            Self::Dns => "dns",
            Self::Parse => "parse",
            Self::BlockedAddress => "blocked_address",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One request that has no usable response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {detail}")]
pub struct FetchError {
    /// What happened.
    pub kind: ErrorKind,
    /// The particulars, for people: one line, without control characters, at most 300 characters.
    pub detail: String,
    /// The time from the call to the failure.
    pub elapsed: Duration,
    /// Whether anything of the request may have reached the server.
    pub connected: bool,
    /// The status code, when the failure came after the header section.
    pub status: Option<u16>,
    /// The header section, when the failure came after it.
    pub headers: FieldLines,
    /// Bytes of the body that had come, as sent.
    pub received: u64,
    /// The server had closed, or now closed, a connection that an earlier request left: it may have read this one all the
    /// same. The next request goes over a connection of its own. No failure of the host.
    pub stale: bool,
}

impl FetchError {
    /// Makes an error from before anything was sent.
    pub fn new(kind: ErrorKind, detail: &str) -> Self {
        Self {
            kind,
            detail: one_line(detail),
            elapsed: Duration::ZERO,
            connected: false,
            status: None,
            headers: Vec::new(),
            received: 0,
            stale: false,
        }
    }
}

/// Strips control characters and cuts at 300 characters: parts of the text may come from a server.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

/// Says why no fetcher could be made from the settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A value of the settings can't stand in a header field.
    #[error("{field} can't be sent: {value:?}")]
    HeaderValue {
        /// The name of the field.
        field: &'static str,
        /// The value as given.
        value: String,
    },
    /// The system's trust store or `SSL_CERT_FILE` can't be used.
    #[error("no certificate authorities: {0}")]
    TrustStore(String),
    /// The HTTP client can't be built.
    #[error("the HTTP client can't be built")]
    Client(#[from] reqwest::Error),
}
