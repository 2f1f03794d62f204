//! What goes over the socket: frames of a length (32 bits, big-endian) and so many bytes. The greeting is JSON, so that any version
//! can read it; what follows is postcard.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::order::{Answer, Order};
use crate::store::Pair;

/// Changes with each form of the messages.
pub(super) const PROTOCOL: u32 = 2;

/// The program's version: its records may differ from those of another one.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The longest frame that is read from a client.
pub(super) const CLIENT_FRAME: usize = 1024 * 1024;

/// The longest frame that is read from the holder: a batch, or one large value.
pub(super) const HOLDER_FRAME: usize = 512 * 1024 * 1024;

/// Which kind of process holds a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// A running crawl.
    Crawl,
    /// A command that reads it.
    Reader,
}

/// The first frame of each side.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) protocol: u32,
    pub(super) version: String,
    /// The process, and what it is; of the holder alone.
    #[serde(default)]
    pub(super) pid: u32,
    #[serde(default)]
    pub(super) holder: Option<Holder>,
    /// Why the holder refuses to go on.
    #[serde(default)]
    pub(super) refused: Option<String>,
}

impl Greeting {
    pub(super) fn new(holder: Option<Holder>) -> Self {
        let (pid, version) = (std::process::id(), VERSION.to_owned());
        Self { protocol: PROTOCOL, version, pid, holder, refused: None }
    }

    pub(super) fn is_ours(&self) -> bool {
        self.protocol == PROTOCOL && self.version == VERSION
    }
}

/// What a client asks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// Begin a snapshot; the other questions but the last are about it.
    Read,
    Get {
        tree: u8,
        key: Vec<u8>,
    },
    Last {
        tree: u8,
        prefix: Vec<u8>,
    },
    Floor {
        tree: u8,
        key: Vec<u8>,
    },
    Batch {
        tree: u8,
        prefix: Vec<u8>,
        after: Option<Vec<u8>>,
    },
    /// For a running crawl.
    Order(Order),
}

/// What the holder answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Opened {
        commits: u64,
        entries: Vec<Option<u64>>,
    },
    Value(Option<Vec<u8>>),
    Pair(Option<Pair>),
    Batch {
        pairs: Vec<Pair>,
        next: Option<Vec<u8>>,
    },
    Answer(Answer),
    /// The snapshot had to end.
    Outdated,
    /// Too many read already.
    Busy,
    Failed(String),
}

/// Writes a frame.
pub(super) fn send(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    out.write_all(&length.to_be_bytes())?;
    out.write_all(bytes)?;
    out.flush()
}

/// Reads a frame of at most so many bytes.
pub(super) fn receive(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > most {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    // Memory is taken as bytes come, not as they are announced.
    let mut bytes = Vec::new();
    if from.take(length as u64).read_to_end(&mut bytes)? < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    Ok(bytes)
}

/// Writes a message.
pub(super) fn send_message(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    send(out, &postcard::to_stdvec(message).map_err(io::Error::other)?)
}

/// Reads a message.
pub(super) fn receive_message<T: DeserializeOwned>(from: &mut impl Read, most: usize) -> io::Result<T> {
    postcard::from_bytes(&receive(from, most)?).map_err(io::Error::other)
}
