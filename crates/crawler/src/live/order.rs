//! What a running crawl can be asked to do, and how another process asks it.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::{CLIENT_FRAME, HOLDER_FRAME, Holder, Question, Reply, receive_message, send_message};
use super::socket::{Greeted, LiveError, connect};
use crate::crawl_dir::{CrawlDir, DirError};

/// What is asked of a running crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Describe what it does now, as JSON.
    Status,
    /// Finish the requests in flight, then end; or end at once.
    Stop {
        /// End at once.
        now: bool,
    },
    /// Change what is crawled, or how fast.
    Steer {
        /// The host; none is all of them.
        host: Option<String>,
        /// What changes.
        change: Steered,
    },
}

/// What can be changed while a crawl runs: nothing that makes it less polite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Steered {
    /// Make no further requests.
    Pause,
    /// End a pause.
    Continue,
    /// Wait at least so long between two requests to a host.
    Delay(Duration),
}

/// What the crawl answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It was done, or will be: what, in words or as JSON.
    Done(String),
    /// It was refused: why.
    Refused(String),
}

/// Takes orders for a running crawl. Called on threads of the server.
pub trait Control: Send + Sync {
    /// Carries out what the user with this id asks for.
    fn order(&self, order: Order, uid: u32) -> Answer;
}

/// A crawl that takes no orders: it is read, and ends by itself.
#[derive(Debug, Clone, Copy)]
pub struct NoOrders;

impl Control for NoOrders {
    fn order(&self, _: Order, _: u32) -> Answer {
        Answer::Refused("this crawl takes no orders".to_owned())
    }
}

/// Whether a process works in a directory.
pub fn is_locked(root: &Path) -> Result<bool, DirError> {
    match CrawlDir::open(root) {
        Ok(_) => Ok(false),
        Err(DirError::InUse(_)) => Ok(true),
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
