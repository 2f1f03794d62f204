//! The kinds of failure of one request.

use std::path::PathBuf;
use std::time::Duration;

use super::FieldLines;
use crate::error_kind::ErrorKind;

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
    /// The server had closed, or now closed, a connection of an earlier request: it may have read this one all the
    /// same. The next request goes over a connection of its own. No failure of the host.
    pub stale: bool,
    /// The origin can't be asked over HTTP/2: the same request is to be made again, and the fetcher makes it over HTTP/1.1. True once for
    /// each origin. No failure of the host.
    pub http_1: bool,
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
            http_1: false,
        }
    }
}

/// Strips control characters and cuts at 300 characters: parts of the text may come from a server.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

/// Why no fetcher could be made from the settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A value of the settings isn't allowed in a header field.
    #[error("{field} can't be sent: {value:?}")]
    HeaderValue {
        /// The name of the field.
        field: &'static str,
        /// The value as given.
        value: String,
    },
    /// The file that `SSL_CERT_FILE` names can't be read.
    #[error("can't read the certificate authorities of SSL_CERT_FILE {}", path.display())]
    TrustStore {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The versions of TLS aren't available.
    #[error("TLS can't be set up")]
    Tls(#[from] rustls::Error),
}
