//! Reads a body into a [`SpooledBody`] as it arrives.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::decode::Coding;
use super::failure::ClientError;
use super::spool::{Kept, SpooledBody};

/// Bytes of a body that are kept in memory.
const MEMORY: usize = 256 << 10;

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
    /// The connection failed before the body ended.
    Body(ClientError),
    /// The temporary file can't be made or written.
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
