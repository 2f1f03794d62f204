//! A connection, as a hostile server has it in its hands.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};
use tokio::time::Instant;

use super::log::{Contact, Log};

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Path and query.
    pub path: String,
    /// The fields, names in lower case.
    pub fields: Vec<(String, String)>,
    /// How often the path was asked for before.
    pub before: usize,
    /// How many requests the host had before, robots.txt among them.
    pub nth: usize,
    /// The host's name.
    pub host: String,
    /// The port that the whole web's plain canary of secrets listens on: no crawl may ever ask it anything.
    pub secret: u16,
}

impl Ask {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

/// A connection under a scenario's control; closed with the value.
pub struct Wire {
    stream: Stream,
    log: Arc<Log>,
    contact: usize,
    /// How many connections the hostile part had before this one.
    pub nth: usize,
    kept: Vec<u8>,
    /// The client's HTTP/2 preface was read.
    pub(super) greeted: bool,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("nth", &self.nth).finish_non_exhaustive()
    }
}

const LONGEST_HEAD: usize = 64 * 1024;

impl Wire {
    pub(super) fn plain(stream: TcpStream, log: Arc<Log>, nth: usize) -> Self {
        Self::new(Stream::Plain(stream), log, nth)
    }

    pub(super) fn tls(stream: StreamOwned<ServerConnection, TcpStream>, log: Arc<Log>, nth: usize) -> Self {
        Self::new(Stream::Tls(Box::new(stream)), log, nth)
    }

    fn new(stream: Stream, log: Arc<Log>, nth: usize) -> Self {
        let contact = log.begin();
        Self { stream, log, contact, nth, kept: Vec::new(), greeted: false }
    }

    fn tcp(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    /// Reads some bytes; an error at the end of the connection.
    pub fn read(&mut self, most: usize) -> io::Result<Vec<u8>> {
        if !self.kept.is_empty() {
            return Ok(std::mem::take(&mut self.kept));
        }
        let mut part = vec![0; most];
        let count = match &mut self.stream {
            Stream::Plain(stream) => stream.read(&mut part)?,
            Stream::Tls(stream) => stream.read(&mut part)?,
        };
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        part.truncate(count);
        Ok(part)
    }

    /// Reads exactly so many bytes.
    pub fn read_exact(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.kept);
        while bytes.len() < count {
            bytes.extend(self.read(4096)?);
        }
        self.kept = bytes.split_off(count);
        Ok(bytes)
    }

    /// Reads a request's head and enters it in the log.
    pub fn request(&mut self) -> io::Result<Ask> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|four: &[u8]| four == b"\r\n\r\n") {
                break at + 4;
            }
            if bytes.len() > LONGEST_HEAD {
                return Err(io::Error::other("request head too long"));
            }
            bytes.extend(self.read(4096)?);
        };
        self.kept = bytes.split_off(end);
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.split("\r\n");
        let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        let field =
            |line: &str| line.split_once(':').map(|(n, v)| (n.to_ascii_lowercase(), v.trim().to_owned()));
        let fields: Vec<_> = lines.filter_map(field).collect();
        let (contact, nth, before) = self.log.asked(self.contact, &path, &fields);
        self.contact = contact;
        Ok(Ask { path, fields, before, nth, host: self.log.host.clone(), secret: self.log.secret })
    }

    /// Writes bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        // The moment before the last write: a late clock must not make gaps look short.
        self.log.ends(self.contact);
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes.as_ref()),
            Stream::Tls(stream) => stream.write_all(bytes.as_ref()).and_then(|()| stream.flush()),
        }
    }

    /// Writes bytes one by one.
    pub fn drip(&mut self, bytes: impl AsRef<[u8]>, every: Duration) -> io::Result<()> {
        for byte in bytes.as_ref() {
            self.send([*byte])?;
            rest(every);
        }
        Ok(())
    }

    /// Writes the same bytes until the client goes away.
    pub fn flood(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        loop {
            self.send(bytes.as_ref())?;
        }
    }

    /// Says nothing more until the client goes away.
    pub fn hold(&mut self) -> io::Result<()> {
        loop {
            self.read(4096)?;
        }
    }

    /// Does nothing for a while.
    pub fn wait(&mut self, time: Duration) {
        rest(time);
    }

    /// Closes the sending half alone.
    pub fn half_close(&mut self) -> io::Result<()> {
        self.tcp().shutdown(Shutdown::Write)
    }

    /// Ends the connection with a reset.
    pub fn reset(&mut self) -> io::Result<()> {
        socket2::SockRef::from(self.tcp()).set_linger(Some(Duration::ZERO))?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.log.closed(self.contact);
    }
}

#[expect(clippy::disallowed_methods, reason = "a slow server is what some scenarios are about")]
pub(crate) fn rest(time: Duration) {
    thread::sleep(time);
}

pub(super) fn now() -> Instant {
    Instant::now()
}

/// Makes a contact that holds no request yet.
pub(super) fn contact(host: &str, start: Duration) -> Contact {
    Contact { host: host.to_owned(), start, end: start, closed: None, path: None, fields: Vec::new() }
}
