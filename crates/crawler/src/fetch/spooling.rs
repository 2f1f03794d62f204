//! Reads a body into a [`SpooledBody`] as it arrives. One that arrives slowly while others wait for their turn is given up.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::Instant;

use super::body_budget::is_slow;
use super::decode::Coding;
use super::failure::ClientError;
use super::spool::{Kept, Spool, SpooledBody};
use page::clock::instant;

/// Bytes of a body that are kept in memory, in a buffer of at most twice that.
const MEMORY: usize = 128 << 10;

/// How often it is looked whether others wait for a body that is slow.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// Reads a body up to `limit` bytes; says whether there is more. Notes in `received` how many came. `spool` says whether others wait.
pub(super) async fn read(
    answer: &mut Incoming,
    limit: u64,
    codings: Vec<Coding>,
    dir: Option<&Path>,
    received: &mut u64,
    spool: &Spool,
) -> Result<(SpooledBody, bool), SpoolError> {
    let (mut sent, mut is_over) = (0, false);
    let since = instant();
    let mut memory = Vec::new();
    let mut file: Option<File> = None;
    while let Some(mut next) = chunk_in_turn(answer, spool, since, sent).await? {
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

/// As [`chunk`], unless others wait and the body arrives slowly: `sent` bytes of it came since then.
async fn chunk_in_turn(
    answer: &mut Incoming,
    spool: &Spool,
    since: Instant,
    sent: u64,
) -> Result<Option<Bytes>, SpoolError> {
    let is_in_the_way = || spool.is_awaited() && is_slow(since, sent);
    loop {
        match tokio::time::timeout(LOOK, chunk(answer)).await {
            Ok(next) => {
                let next = next.map_err(SpoolError::Body)?;
                let is_given_up = next.is_some() && is_in_the_way();
                return if is_given_up { Err(SpoolError::InTheWay) } else { Ok(next) };
            }
            Err(_) if is_in_the_way() => return Err(SpoolError::InTheWay),
            Err(_) => {}
        }
    }
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
    /// It arrives slowly, and others wait for their turn.
    InTheWay,
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
