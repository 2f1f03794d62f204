//! Converts the client's errors to ours.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::ErrorKind;
use super::connector::NameError;
use super::guard::BlockedAddress;
use super::recorded::{InterimFlood, LeaseOver};

/// How far a request had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// No header section yet.
    Head,
    /// The header section is read, the body isn't.
    Body,
}

/// An error of the HTTP client.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    /// The URL has a form that the client can't send.
    #[error("the URL can't be sent")]
    Url(#[from] hyper::http::uri::InvalidUri),
    /// No response.
    #[error("no response")]
    Request(#[from] hyper_util::client::legacy::Error),
    /// The body of a response ended early.
    #[error("no whole body")]
    Body(#[from] hyper::Error),
}

impl ClientError {
    /// Whether there was no connection.
    fn is_connect(&self) -> bool {
        matches!(self, Self::Request(error) if error.is_connect())
    }
}

/// Returns what kind of failure `error` is, and tells it in words.
pub(super) fn classify(error: &ClientError, stage: Stage) -> (ErrorKind, String) {
    if let Some(blocked) = find::<BlockedAddress>(error) {
        return (ErrorKind::BlockedAddress, blocked.to_string());
    }
    (kind(error, stage), in_words(error))
}

/// Whether a request was given up before any of it was written.
pub(super) fn is_unsent(error: &ClientError) -> bool {
    find::<hyper::Error>(error).is_some_and(hyper::Error::is_canceled)
}

/// Whether a connection that was kept from an earlier request turned out to be closed.
pub(super) fn is_stale(error: &ClientError) -> bool {
    let is_cut = find::<hyper::Error>(error)
        .is_some_and(|e| e.is_incomplete_message() || e.is_canceled() || e.is_closed());
    is_cut || io_errors(error).any(|e| is_cut_off(e.kind()))
}

/// Whether a server has none of the protocols that it was offered (RFC 7301 section 3.2).
pub(super) fn refuses_protocol(error: &ClientError) -> bool {
    use rustls::AlertDescription::NoApplicationProtocol;
    matches!(
        find::<rustls::Error>(error),
        Some(rustls::Error::AlertReceived(NoApplicationProtocol) | rustls::Error::NoApplicationProtocol)
    )
}

/// Whether an origin can't be asked over HTTP/2: it says so (RFC 9113 section 7, `HTTP_1_1_REQUIRED`), breaks the protocol, fails within it, sends
/// what HTTP/2 forbids, or closes a new connection (`made_http_2`) without a response.
///
/// False for what working servers send as well: `NO_ERROR`, `CANCEL`, `REFUSED_STREAM`, `ENHANCE_YOUR_CALM`.
pub(super) fn breaks_http_2(error: &ClientError, kind: ErrorKind, stage: Stage, made_http_2: bool) -> bool {
    use h2::Reason;
    if !matches!(kind, ErrorKind::Protocol | ErrorKind::Connection) {
        return false;
    }
    match find::<h2::Error>(error).filter(|h2| !h2.is_io()) {
        Some(h2) => !matches!(
            h2.reason(),
            Some(Reason::NO_ERROR | Reason::CANCEL | Reason::REFUSED_STREAM | Reason::ENHANCE_YOUR_CALM)
        ),
        None => made_http_2 && stage == Stage::Head && is_stale(error),
    }
}

/// Whether a body ended before its length, or its last chunk, says so.
pub(super) fn ends_early(error: &ClientError) -> bool {
    io_errors(error).any(|e| e.kind() == io::ErrorKind::UnexpectedEof)
}

fn kind(error: &ClientError, stage: Stage) -> ErrorKind {
    if io_errors(error).any(is_local) || is_lease_over(error) {
        return ErrorKind::Local;
    }
    if find::<InterimFlood>(error).is_some() {
        return ErrorKind::TooLarge;
    }
    if find::<rustls::Error>(error).is_some() {
        return ErrorKind::Tls;
    }
    if find::<NameError>(error).is_some() {
        return ErrorKind::Dns;
    }
    let is_late = find::<hyper::Error>(error).is_some_and(hyper::Error::is_timeout);
    if is_late || io_errors(error).any(|e| e.kind() == io::ErrorKind::TimedOut) {
        return ErrorKind::Timeout;
    }
    if error.is_connect() {
        return ErrorKind::Connection;
    }
    if matches!(error, ClientError::Url(_)) {
        return ErrorKind::Protocol;
    }
    let cut = if stage == Stage::Body { ErrorKind::Truncated } else { ErrorKind::Connection };
    if let Some(h2) = find::<h2::Error>(error)
        && !h2.is_io()
    {
        return match h2.reason() {
            // Said by our side to a flood of frames; said by the server it is a plain refusal.
            Some(h2::Reason::ENHANCE_YOUR_CALM) => {
                if h2.is_remote() {
                    cut
                } else {
                    ErrorKind::TooLarge
                }
            }
            Some(h2::Reason::NO_ERROR | h2::Reason::CANCEL | h2::Reason::REFUSED_STREAM) => cut,
            _ => ErrorKind::Protocol,
        };
    }
    if stage == Stage::Body && io_errors(error).any(|e| is_malformed(e.kind())) {
        // A chunk has no size, or something else follows it than a line end.
        return ErrorKind::Protocol;
    }
    match find::<hyper::Error>(error) {
        Some(hyper) if is_too_large(hyper) => ErrorKind::TooLarge,
        Some(hyper) if hyper.is_parse() => ErrorKind::Protocol,
        Some(hyper) if hyper.is_user() => ErrorKind::Protocol,
        _ => cut,
    }
}

/// Whether nothing could be asked since the worker's lease of the host was over. I/O errors hide their own kind as a source.
fn is_lease_over(error: &ClientError) -> bool {
    io_errors(error)
        .any(|error| error.get_ref().and_then(|inner| inner.downcast_ref::<LeaseOver>()).is_some())
}

/// Whether the header section went over the client's own limits.
fn is_too_large(error: &hyper::Error) -> bool {
    // The client build of hyper has no question for this kind; a test on a real response holds the wording.
    error.is_parse() && error.to_string() == "message head is too large"
}

/// Whether an I/O error tells of a shortage of this machine's own and not of the server's: file descriptors, memory, or a local
/// port for a name look-up. `EADDRNOTAVAIL` may be one or the other: see [`without_source`].
fn is_local(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::EADDRINUSE)
    )
}

/// Whether a connection had no local address to begin from, and the words in which the client names the address that it was for.
///
/// That is a shortage of our own where every local port is in use, and a host that can't be reached where this machine has no
/// address of its family: one with IPv6 addresses alone, say, and a machine without IPv6.
pub(super) fn without_source(error: &ClientError) -> Option<String> {
    let is_it = |e: &io::Error| e.raw_os_error() == Some(libc::EADDRNOTAVAIL);
    let is_connection = error.is_connect() && find::<NameError>(error).is_none();
    (is_connection && io_errors(error).any(is_it)).then(|| format!("{error:?}"))
}

/// Whether local ports are used up, where a connection to one of these addresses had none to begin from. `said` may name the
/// one that it was.
///
/// A UDP socket that is connected sends nothing, but it needs an address of this machine, too, and has ports of its own: where
/// it can't be connected there is no way to that address.
pub(super) fn are_ports_used_up(addresses: &[SocketAddr], said: &str) -> bool {
    let named: Vec<_> = addresses.iter().filter(|address| said.contains(&address.to_string())).collect();
    let asked = if named.is_empty() { addresses.iter().collect() } else { named };
    !asked.is_empty() && asked.into_iter().all(|address| is_reachable(*address))
}

fn is_reachable(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    match UdpSocket::bind((any, 0)).and_then(|socket| socket.connect(address)) {
        Ok(()) => true,
        // Being out of descriptors or ports here says nothing about the network.
        Err(error) => is_local(&error),
    }
}

/// What the client says of chunks that aren't those of RFC 9112 section 7.1.
fn is_malformed(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
}

fn is_cut_off(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

/// Iterates over an error and its causes, the ones inside I/O errors included.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&e| {
        match e.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            // An I/O error passes over what it holds when asked for its source.
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => e.source(),
        }
    })
}

fn find<E: Error + 'static>(error: &ClientError) -> Option<&E> {
    causes(error).find_map(|e| e.downcast_ref::<E>())
}

fn io_errors(error: &ClientError) -> impl Iterator<Item = &io::Error> {
    causes(error).filter_map(|e| e.downcast_ref::<io::Error>())
}

/// An error of TLS. The library prints the names of its values; they become words: `UnknownIssuer`, `Other(OtherError(CaUsedAsEndEntity))`.
fn tls_in_words(error: &rustls::Error) -> String {
    let name = match error {
        rustls::Error::InvalidCertificate(why) => format!("{why:?}"),
        rustls::Error::AlertReceived(why) => format!("{why:?}"),
        rustls::Error::PeerIncompatible(why) => format!("{why:?}"),
        rustls::Error::PeerMisbehaved(why) => format!("{why:?}"),
        rustls::Error::InvalidMessage(why) => format!("{why:?}"),
        _ => return error.to_string(),
    };
    let text = error.to_string();
    match text.strip_suffix(&name) {
        Some(before) => format!("{before}{}", words_of(&name)),
        None => text,
    }
}

/// The innermost name of a value as Rust prints it, in words.
fn words_of(name: &str) -> String {
    let name = name.split(['{', '[']).next().unwrap_or(name).trim_end_matches([')', ' ']);
    let name = name.rsplit('(').next().unwrap_or(name);
    let mut words = String::new();
    for (number, c) in name.char_indices() {
        if c.is_uppercase() && number > 0 {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

/// Joins the messages of the causes, without those that say nothing.
fn in_words(error: &ClientError) -> String {
    let mut words: Vec<String> = Vec::new();
    // The first one says only that it is an error of the client.
    for cause in causes(error).skip(1) {
        // An I/O error says the same as what it holds.
        let held = || cause.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>();
        let text = match cause.downcast_ref::<rustls::Error>().or_else(held) {
            Some(error) => tls_in_words(error),
            None => cause.to_string(),
        };
        let says_nothing = text.starts_with("client error") || words.iter().any(|said| said.contains(&text));
        if !says_nothing {
            words.push(text);
        }
    }
    if words.is_empty() { error.to_string() } else { words.join(": ") }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{AlertDescription, CertificateError, OtherError, PeerMisbehaved};

    use super::*;

    #[test]
    fn an_error_of_tls_is_told_in_words() {
        let other = CertificateError::Other(OtherError(Arc::new(io::Error::other("CaUsedAsEndEntity"))));
        let unknown = CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: vec![1, 2],
            supported_algorithms: Vec::new(),
        };
        for (error, words) in [
            (CertificateError::UnknownIssuer.into(), "invalid peer certificate: unknown issuer"),
            (CertificateError::Expired.into(), "invalid peer certificate: expired"),
            (
                rustls::Error::AlertReceived(AlertDescription::HandshakeFailure),
                "received fatal alert: handshake failure",
            ),
            (PeerMisbehaved::TooManyEmptyFragments.into(), "peer misbehaved: too many empty fragments"),
        ] {
            assert_eq!(tls_in_words(&error), words);
        }
        for error in [other, unknown] {
            let words = tls_in_words(&error.into());
            assert!(!words.contains(['(', '{', '[']), "{words}");
        }
        assert_eq!(words_of("Other(OtherError(CaUsedAsEndEntity))"), "ca used as end entity");
    }
}
