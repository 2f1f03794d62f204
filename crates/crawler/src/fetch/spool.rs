//! A body that is read as a stream: kept as it was sent, in a temporary file where it is large.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::decode::{Coding, codings, stream};

/// Where the fetcher leaves the body of a response. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Spool {
    body: Arc<Mutex<Option<SpooledBody>>>,
    awaited: Arc<AtomicBool>,
}

impl Spool {
    /// For a body that is given up if it arrives slowly while others wait for it to end, as `awaited` says.
    pub fn in_turn(awaited: Arc<AtomicBool>) -> Self {
        Self { awaited, ..Self::default() }
    }

    /// Whether others wait until the body has arrived.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Relaxed)
    }

    fn body(&self) -> MutexGuard<'_, Option<SpooledBody>> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the body; none where the response holds it itself, or there was no response.
    pub fn take(&self) -> Option<SpooledBody> {
        self.body().take()
    }

    /// How many bytes of the body were sent; none without one.
    pub fn sent(&self) -> Option<u64> {
        self.body().as_ref().map(|body| body.sent)
    }

    /// The body as it was sent, from its beginning; none without one. What was opened before is at its beginning then, too.
    pub fn open(&self) -> Option<io::Result<Box<dyn BufRead + Send>>> {
        self.body().as_mut().map(|body| body.kept.open())
    }

    pub(super) fn put(&self, body: SpooledBody) {
        *self.body() = Some(body);
    }
}

/// Two are the same if they share their body.
impl PartialEq for Spool {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body)
    }
}

impl Eq for Spool {}

/// A body as it was sent.
#[derive(Debug)]
pub struct SpooledBody {
    pub(super) sent: u64,
    pub(super) codings: Vec<Coding>,
    pub(super) kept: Kept,
}

/// Where a body is kept.
#[derive(Debug)]
pub(super) enum Kept {
    Memory(Bytes),
    File(File),
}

impl Kept {
    fn open(&mut self) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(match self {
            Self::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            Self::File(file) => {
                file.rewind()?;
                Box::new(BufReader::new(file.try_clone()?))
            }
        })
    }
}

impl SpooledBody {
    /// A body in memory as it was sent. `content_encoding` is the field of that name; codings that can't be undone are kept.
    pub fn in_memory(wire: Bytes, content_encoding: Option<&str>) -> Self {
        let codings = codings(content_encoding.into_iter()).unwrap_or_default();
        Self { sent: wire.len() as u64, codings, kept: Kept::Memory(wire) }
    }

    /// The body with its content codings undone, as a stream. Memory: the windows of the codings, at most 16 MiB each.
    pub fn reader(&mut self) -> io::Result<impl BufRead + use<>> {
        let wire = self.kept.open()?;
        stream(&self.codings, wire)
    }

    /// The body as it was sent, at most so many bytes of it, and whether that is all.
    pub fn wire(&mut self, most: usize) -> io::Result<(Bytes, bool)> {
        match &mut self.kept {
            Kept::Memory(bytes) => Ok((bytes.slice(..bytes.len().min(most)), bytes.len() <= most)),
            Kept::File(file) => {
                file.rewind()?;
                let mut wire = Vec::new();
                Read::by_ref(file).take(most as u64).read_to_end(&mut wire)?;
                Ok((wire.into(), self.sent <= most as u64))
            }
        }
    }
}
