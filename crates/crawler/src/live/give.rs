//! How another process gives an order to a running crawl.

use std::path::Path;

use super::message::{CLIENT_FRAME, HOLDER_FRAME, Holder, Question, Reply, receive_message, send_message};
use super::order::{Answer, Order};
use super::socket::{Greeted, LiveError, connect};
use crate::crawl_dir::{CrawlDir, DirError};

/// Whether a process works in a directory.
pub fn is_locked(root: &Path) -> Result<bool, DirError> {
    match CrawlDir::open(root) {
        Ok(_) => Ok(false),
        Err(DirError::InUse(_)) => Ok(true),
        Err(error) if error.is_write_refused() => match CrawlDir::open_read_only(root) {
            Ok(_) => Ok(false),
            Err(DirError::InUse(_)) => Ok(true),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Gives an order to the crawl that runs in a directory. With `until_end` it returns when that crawl has ended. None: no crawl runs
/// there.
pub fn give(root: &Path, order: Order, until_end: bool) -> Result<Option<Answer>, LiveError> {
    let Some(Greeted { mut stream, holder, pid }) = connect(root)? else { return Ok(None) };
    if holder != Holder::Crawl {
        return Ok(None);
    }
    let lost = |source| LiveError::lost(root, source);
    send_message(&mut stream, &Question::Order(order)).map_err(lost)?;
    let answer = match receive_message(&mut stream, HOLDER_FRAME).map_err(lost)? {
        Reply::Answer(answer) => answer,
        Reply::Failed(what) => Answer::Refused(what),
        _ => return Err(lost(std::io::ErrorKind::InvalidData.into())),
    };
    if until_end && matches!(answer, Answer::Done(_)) {
        // Nothing more is sent: reading ends when the crawl does.
        drop(stream.set_read_timeout(None));
        drop(receive_message::<Reply>(&mut stream, CLIENT_FRAME));
        while connect(root)?.is_some_and(|other| other.pid == pid) || is_locked_by_nobody_known(root)? {
            super::socket::pause();
        }
    }
    Ok(Some(answer))
}

/// Whether the directory is still locked, and nobody listens there: the crawl does its last work.
fn is_locked_by_nobody_known(root: &Path) -> Result<bool, LiveError> {
    Ok(is_locked(root).map_err(LiveError::Dir)? && connect(root)?.is_none())
}
