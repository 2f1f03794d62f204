//! HTTP/1.1 by hand, as little as the tests need: `GET` and `HEAD` without a body, persistent connections.

use std::fmt::Write as _;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::answer::Answer;

/// The head of a request.
#[derive(Clone, Debug)]
pub(super) struct RequestHead {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    /// When its first byte was here.
    pub(super) start: Instant,
}

impl RequestHead {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

const LONGEST_HEAD: usize = 64 * 1024;

/// Reads the next request head; none when the client has closed the connection.
pub(super) async fn read(stream: &mut TcpStream) -> io::Result<Option<RequestHead>> {
    let mut bytes = Vec::new();
    let mut start = None;
    loop {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Ok(None);
        }
        start.get_or_insert_with(Instant::now);
        bytes.extend_from_slice(&part[..count]);
        if bytes.ends_with(b"\r\n\r\n") {
            break;
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(io::Error::other("request head too long"));
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let field = |line: &str| line.split_once(':').map(|(n, v)| (n.to_ascii_lowercase(), v.trim().to_owned()));
    let headers = lines.filter_map(field).collect();
    Ok(start.map(|start| RequestHead { method, path, headers, start }))
}

/// Returns the bytes of a header section: U+F780 to U+F7FF stand for the bytes 0x80 to 0xFF, which are no UTF-8 by themselves.
fn as_sent(head: &str) -> Vec<u8> {
    let mut sent = Vec::with_capacity(head.len());
    for c in head.chars() {
        match u32::from(c).checked_sub(0xF700) {
            Some(byte @ 0x80..=0xFF) => sent.push(byte as u8),
            _ => sent.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    sent
}

/// Writes an answer; `record` is called when its last part is about to be handed to the kernel, and whether what came before went
/// out. A client that has the whole answer finds it on record.
///
/// The moment is taken before that last write: a server's clock that runs late would make gaps look too short, this way they can
/// only look longer than they are, by the time of one write.
pub(super) async fn write(
    stream: &mut TcpStream,
    answer: &Answer,
    with_body: bool,
    record: impl FnOnce(Instant, bool),
) -> io::Result<()> {
    let mut bytes = format!("HTTP/1.1 {} Test\r\nContent-Length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        let _ = write!(bytes, "{name}: {value}\r\n");
    }
    bytes.push_str("\r\n");
    let mut bytes = as_sent(&bytes);
    if with_body {
        bytes.extend_from_slice(&answer.body);
    }
    let last = bytes.len().saturating_sub(1024);
    let begun = stream.write_all(&bytes[..last]).await;
    record(Instant::now(), begun.is_ok());
    begun?;
    stream.write_all(&bytes[last..]).await?;
    stream.flush().await
}
