//! A connection that keeps the heads of requests and responses as they pass over it, byte for byte.
//!
//! The HTTP client hands out field names in lower case, and lines of one name together; an archive wants what was sent.
//! Over HTTP/1.x the bytes of each head are copied, up to a limit; bodies cost a comparison for each read. Over HTTP/2 nothing
//! is copied: a head has no text there (RFC 9113 section 8).
//!
//! The HTTP client reads interim responses (1xx) for as long as they come; here they have a limit.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::connections::OpenConnection;
use crate::deadline::Deadline;

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// The heads of one request and its response, as sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentHeads {
    /// Request line and header section, with the empty line that ends it.
    pub request: Vec<u8>,
    /// Status line and header section, with the empty line that ends it. Answers of class 1xx before it are omitted.
    pub response: Vec<u8>,
}

/// What TLS was agreed on for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsUsed {
    /// The protocol as the registry of WARC field values writes it: `tls/1.2`, `tls/1.3`.
    pub protocol: &'static str,
    /// The cipher suite by its IANA name: `TLS_AES_256_GCM_SHA384`.
    pub cipher_suite: &'static str,
}

impl TlsUsed {
    /// Reads it from a connection; none before the handshake is done.
    pub(super) fn of(connection: &rustls::ClientConnection) -> Option<Self> {
        let protocol = match connection.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "tls/1.2",
            rustls::ProtocolVersion::TLSv1_3 => "tls/1.3",
            _ => return None,
        };
        let suite = connection.negotiated_cipher_suite()?.suite().as_str()?;
        // rustls leaves WITH out of none of the names but writes TLS13_ for the suites of TLS 1.3, which IANA lists as TLS_.
        let cipher_suite = match suite {
            "TLS13_AES_128_GCM_SHA256" => "TLS_AES_128_GCM_SHA256",
            "TLS13_AES_256_GCM_SHA384" => "TLS_AES_256_GCM_SHA384",
            "TLS13_CHACHA20_POLY1305_SHA256" => "TLS_CHACHA20_POLY1305_SHA256",
            other => other,
        };
        Some(Self { protocol, cipher_suite })
    }
}

/// What was recorded on a connection; in the extensions of each response that comes over it.
#[derive(Debug, Clone)]
pub(super) struct Record {
    heads: Arc<Mutex<Option<SentHeads>>>,
    pub(super) tls: Option<TlsUsed>,
}

impl Record {
    /// Takes the heads of the last response. None over HTTP/2, and where a head was longer than the limit.
    pub(super) fn take(&self) -> Option<SentHeads> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, heads: Option<SentHeads>) {
        *self.heads.lock().unwrap_or_else(PoisonError::into_inner) = heads;
    }
}

/// A connection with its record.
#[derive(Debug)]
pub(super) struct Recorded {
    stream: TokioIo<Stream>,
    record: Record,
    tape: Tape,
    open: OpenConnection,
    deadline: Option<Deadline>,
}

/// The worker's lease of the host is over: somebody else may ask it now.
#[derive(Debug, thiserror::Error)]
#[error("the lease of the host is over")]
pub(super) struct LeaseOver;

/// Fails after the deadline.
pub(super) fn check_lease(deadline: &Deadline) -> io::Result<()> {
    if deadline.remaining().is_some() { Ok(()) } else { Err(io::Error::other(LeaseOver)) }
}

/// A server sent interim responses and no final one.
#[derive(Debug, thiserror::Error)]
#[error("interim responses (1xx) of more than {0} bytes")]
pub(super) struct InterimFlood(usize);

impl Recorded {
    /// Records heads of up to `max_head` bytes; none at all without it.
    pub(super) fn new(
        stream: Stream,
        tls: Option<TlsUsed>,
        max_head: Option<usize>,
        open: OpenConnection,
        deadline: Option<Deadline>,
    ) -> Self {
        let record = Record { heads: Arc::default(), tls };
        Self { stream: TokioIo::new(stream), record, tape: Tape::new(max_head), open, deadline }
    }

    /// Fails where the connection's request was given up.
    fn check(&self) -> io::Result<()> {
        if self.open.is_ended() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl Connection for Recorded {
    fn connected(&self) -> Connected {
        self.stream.inner().connected().extra(self.record.clone())
    }
}

impl AsyncRead for Recorded {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check()?;
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        if this.tape.is_running() {
            let received = &mut buf.filled_mut()[before..];
            let (heads, length) = this.tape.received(received).map_err(io::Error::other)?;
            replace_nuls(&mut received[..length]);
            if let Some(heads) = heads {
                this.record.put(Some(heads));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Recorded {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.check()?;
        if let Some(deadline) = &this.deadline {
            check_lease(deadline)?;
        }
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, buf))?;
        if this.tape.sent(&buf[..written]) {
            this.record.put(None);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check()?;
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.check()?;
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

/// Cuts the heads out of what passes in both directions. Requests have no body here, and one is answered before the next is sent.
#[derive(Debug)]
struct Tape {
    phase: Phase,
    max_head: usize,
    heads: SentHeads,
    /// Where the last line of the response's head begins that isn't complete.
    line: usize,
    /// Bytes of the interim responses before it.
    interim: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// HTTP/2: nothing is ever recorded.
    Off,
    /// Until the next request is sent.
    Idle,
    /// A request was sent, its response's head isn't complete.
    Running,
}

impl Tape {
    fn new(max_head: Option<usize>) -> Self {
        let phase = if max_head.is_some() { Phase::Idle } else { Phase::Off };
        Self {
            phase,
            max_head: max_head.unwrap_or_default(),
            heads: SentHeads::default(),
            line: 0,
            interim: 0,
        }
    }

    fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Notes bytes of a request; true where they are the first of one.
    fn sent(&mut self, bytes: &[u8]) -> bool {
        let begins = self.phase == Phase::Idle && !bytes.is_empty();
        if begins {
            (self.phase, self.heads, self.line, self.interim) = (Phase::Running, SentHeads::default(), 0, 0);
        }
        if self.is_running() && self.heads.response.is_empty() {
            self.keep(bytes, |heads| &mut heads.request);
        }
        begins
    }

    /// Notes bytes of a response; returns the heads when its own is complete, and how many of the bytes belong to them.
    ///
    /// # Errors
    /// When the interim responses before it are longer than a head may be.
    fn received(&mut self, bytes: &[u8]) -> Result<(Option<SentHeads>, usize), InterimFlood> {
        let mut length = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            length += line.len();
            self.keep(line, |heads| &mut heads.response);
            if !self.is_running() {
                return Ok((None, length));
            }
            if !line.ends_with(b"\n") {
                continue;
            }
            let begin = std::mem::replace(&mut self.line, self.heads.response.len());
            if !matches!(&self.heads.response[begin..], b"\r\n" | b"\n") {
                continue;
            }
            if begin == 0 || is_interim(&self.heads.response) {
                // Empty lines may precede a status line (RFC 9112 section 2.2).
                self.interim += self.heads.response.len();
                if self.interim > self.max_head {
                    return Err(InterimFlood(self.max_head));
                }
                self.heads.response.clear();
                self.line = 0;
                continue;
            }
            self.phase = Phase::Idle;
            return Ok((Some(std::mem::take(&mut self.heads)), length));
        }
        Ok((None, length))
    }

    fn keep(&mut self, bytes: &[u8], of: fn(&mut SentHeads) -> &mut Vec<u8>) {
        let head = of(&mut self.heads);
        if head.len() + bytes.len() > self.max_head {
            // Nothing of this exchange is recorded; what follows is awaited from the next request on.
            (self.phase, self.heads) = (Phase::Idle, SentHeads::default());
        } else {
            head.extend_from_slice(bytes);
        }
    }
}

/// Makes of each NUL of a head a control character that the HTTP client passes over with its line: for a NUL it refuses the whole response, with what
/// the other lines forbid. What was sent stays in the record, and is read from there. Source: RFC 9110 section 5.5, which has a NUL replaced or the
/// message rejected. A CR within a line, of which it says the same, may be meant to end one: such a response is refused.
fn replace_nuls(head: &mut [u8]) {
    const REPLACEMENT: u8 = 0x01;
    let mut rest = head;
    while let Some(at) = memchr::memchr(0, rest) {
        rest[at] = REPLACEMENT;
        rest = &mut rest[at + 1..];
    }
}

/// Whether a head is that of an answer of class 1xx, behind which another one follows; 101 is final (RFC 9110 section 15.2).
fn is_interim(head: &[u8]) -> bool {
    let status = head.split(|byte| *byte == b' ').find(|word| word.len() >= 3 && word[0].is_ascii_digit());
    status.is_some_and(|status| status[0] == b'1' && !status.starts_with(b"101"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a tape cuts out of an answer that comes in parts of `size` bytes.
    fn heads(max: usize, request: &str, answer: &str, size: usize) -> Option<SentHeads> {
        let mut tape = Tape::new(Some(max));
        assert!(tape.sent(request.as_bytes()));
        let mut found = None;
        for part in answer.as_bytes().chunks(size) {
            if tape.is_running() {
                found = found.or(tape.received(part).unwrap().0);
            }
        }
        found
    }

    #[test]
    fn a_head_is_cut_out_whatever_parts_it_comes_in() {
        let request = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
        for (answer, head) in [
            ("HTTP/1.1 200 Fine\r\nX-A: b\r\n\r\nbody\r\n\r\n", "HTTP/1.1 200 Fine\r\nX-A: b\r\n\r\n"),
            ("\r\nHTTP/1.1 200 OK\r\n\r\nHTTP/1.1 500\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
            ("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 410 Gone\n\nbody", "HTTP/1.1 410 Gone\n\n"),
            ("HTTP/1.1 101 Go\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 101 Go\r\n\r\n"),
            ("HTTP/1.0 200\r\nA: b\r\n c\r\n\r\n", "HTTP/1.0 200\r\nA: b\r\n c\r\n\r\n"),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                let found = heads(1000, request, answer, size).unwrap();
                assert_eq!(String::from_utf8(found.response).unwrap(), head, "{size}");
                assert_eq!(found.request, request.as_bytes());
            }
        }
    }

    #[test]
    fn a_head_over_the_limit_is_not_recorded_and_the_next_one_is() {
        let answer = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(100));
        assert_eq!(heads(100, "GET /", &answer, 10), None);
        assert_eq!(heads(100, &answer, "HTTP/1.1 200 OK\r\n\r\n", 10), None);
        let mut tape = Tape::new(Some(100));
        tape.sent(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(tape.received(answer.as_bytes()).unwrap().0, None);
        assert!(!tape.is_running() && tape.heads == SentHeads::default());
        assert!(tape.sent(b"GET /2 HTTP/1.1\r\n\r\n"));
        let (heads, length) = tape.received(b"HTTP/1.1 204 None\r\n\r\nbody").unwrap();
        let heads = heads.unwrap();
        assert_eq!(length, 21);
        assert_eq!(heads.request, b"GET /2 HTTP/1.1\r\n\r\n");
        assert_eq!(heads.response, b"HTTP/1.1 204 None\r\n\r\n");
    }

    #[test]
    fn interim_responses_have_a_limit_for_each_request() {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
        let mut tape = Tape::new(Some(interim.len() * 10));
        for _ in 0..3 {
            tape.sent(b"GET / HTTP/1.1\r\n\r\n");
            assert_eq!(tape.received(interim.repeat(10).as_bytes()).unwrap().0, None);
            assert!(tape.received(b"HTTP/1.1 204 None\r\n\r\n").unwrap().0.is_some());
        }
        tape.sent(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(tape.received(interim.repeat(10).as_bytes()).unwrap().0, None);
        tape.received(interim.as_bytes()).unwrap_err();
    }

    #[test]
    fn a_nul_in_a_head_is_replaced() {
        let mut head = b"A: \0\0\r\nB: b\rc\r\n\r\n".to_vec();
        replace_nuls(&mut head);
        assert_eq!(head, b"A: \x01\x01\r\nB: b\rc\r\n\r\n");
    }

    #[test]
    fn a_tape_of_http_2_never_runs() {
        let mut tape = Tape::new(None);
        assert!(!tape.sent(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") && !tape.is_running());
    }
}
