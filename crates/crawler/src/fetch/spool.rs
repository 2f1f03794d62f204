//! A body that is read as a stream: kept as it was sent, in a temporary file where it is large.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::decode::{Coding, stream};
use super::failure::ClientError;

/// Bytes of a body that are kept in memory.
const MEMORY: usize = 256 << 10;

/// Where the fetcher leaves the body of a response. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Spool(Arc<Mutex<Option<SpooledBody>>>);

impl Spool {
    /// Takes the body; none where the response holds it itself, or there was no response.
    pub fn take(&self) -> Option<SpooledBody> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// How many bytes of the body were sent; none without one.
    pub fn sent(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|body| body.sent)
    }

    pub(super) fn put(&self, body: SpooledBody) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    }
}

/// Two are the same if they share their body.
impl PartialEq for Spool {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Spool {}

/// A body as it was sent.
#[derive(Debug)]
pub struct SpooledBody {
    sent: u64,
    codings: Vec<Coding>,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    Memory(Bytes),
    File(File),
}

impl SpooledBody {
    /// The body with its content codings undone, as a stream. Memory: the windows of the codings, at most 16 MiB each.
    pub fn reader(&mut self) -> io::Result<impl BufRead + use<>> {
        let wire: Box<dyn BufRead + Send> = match &mut self.kept {
            Kept::Memory(bytes) => Box::new(Cursor::new(bytes.clone())),
            Kept::File(file) => {
                file.rewind()?;
                Box::new(BufReader::new(file.try_clone()?))
            }
        };
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

/// Reads a body up to `limit` bytes; says whether there is more. Notes in `received` how many came.
pub(super) async fn read(
    answer: &mut Incoming,
    limit: u64,
    codings: Vec<Coding>,
    dir: Option<&Path>,
    received: &mut u64,
) -> Result<(SpooledBody, bool), SpoolError> {
    let (mut sent, mut is_over) = (0, false);
    let mut memory = Vec::new();
    let mut file: Option<File> = None;
    while let Some(mut next) = chunk(answer).await.map_err(SpoolError::Body)? {
        *received += next.len() as u64;
        let room = usize::try_from(limit - sent).unwrap_or(usize::MAX);
        is_over = next.len() > room;
        next.truncate(room);
        sent += next.len() as u64;
        memory.extend_from_slice(&next);
        if memory.len() > MEMORY {
            file = Some(write(file.take(), std::mem::take(&mut memory), dir).await?);
        }
        if is_over {
            break;
        }
    }
    let kept = match file {
        None => Kept::Memory(memory.into()),
        Some(file) => Kept::File(write(Some(file), memory, dir).await?),
    };
    Ok((SpooledBody { sent, codings, kept }, is_over))
}

/// The next bytes of a body; trailers are passed over.
pub(super) async fn chunk(body: &mut Incoming) -> Result<Option<Bytes>, ClientError> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// Why a body can't be kept.
#[derive(Debug)]
pub(super) enum SpoolError {
    /// The server.
    Body(ClientError),
    /// The temporary file.
    File(io::Error),
}

async fn write(file: Option<File>, bytes: Vec<u8>, dir: Option<&Path>) -> Result<File, SpoolError> {
    let dir = dir.map_or_else(std::env::temp_dir, Path::to_owned);
    let write = move || {
        let mut file = match file {
            Some(file) => file,
            None => tempfile::tempfile_in(dir)?,
        };
        file.write_all(&bytes)?;
        Ok(file)
    };
    let written = tokio::task::spawn_blocking(write).await;
    written.map_err(io::Error::other).flatten().map_err(SpoolError::File)
}
