//! The kinds of failure of one request.

use std::fmt;

/// Why a request has no usable response; its `Display` is the name in records and reports.
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
    /// Reading it ended the process that did nothing else.
    Crashed,
    /// The head of the response says that its type isn't wanted: its body wasn't read. No failure, and never on record as one.
    UnwantedType,
    /// The same of its size.
    UnwantedSize,
    /// Every address of the host is closed to this crawl.
    BlockedAddress,
    /// This machine is out of file descriptors, ports or memory for a connection: the host isn't at fault, and the same
    /// request may succeed in a moment, since idle connections are closed then.
    Local,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
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
        Self::Crashed,
    ];

    /// The kind of this name.
    pub fn of_word(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Parse]).find(|kind| kind.as_str() == name)
    }

    /// True for failures that another try may not meet.
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Timeout | Self::Connection | Self::Dns | Self::Truncated | Self::Protocol)
    }

    /// True where the host itself gave no response: no connection, no name, no TLS, or nothing in time.
    pub fn is_of_host(self) -> bool {
        matches!(self, Self::Timeout | Self::Connection | Self::Tls | Self::Dns)
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
            Self::Crashed => "crashed",
            Self::UnwantedType => "unwanted_type",
            Self::UnwantedSize => "unwanted_size",
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
