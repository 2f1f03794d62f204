//! The open connections of one client, and their end.
//!
//! The HTTP client runs each connection in a task of its own. One whose request was given up ends when that task sees it, which a
//! server that never stops sending can put off; until then the host has two connections as soon as the next request is made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// How long the end of a connection is waited for. It takes one turn of the connection's task.
const LONGEST: Duration = Duration::from_secs(30);

/// The open connections of one client. Clones are of the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Connections(Arc<State>);

#[derive(Debug, Default)]
struct State {
    ended: AtomicBool,
    open: watch::Sender<usize>,
}

/// How long a new connection waits for the end of the one before it, which takes as little.
const TURN: Duration = Duration::from_secs(10);

/// One open connection; it is closed when this is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection(Connections);

impl Connections {
    /// Counts a connection from now on.
    pub(super) fn open(&self) -> OpenConnection {
        self.0.open.send_modify(|open| *open += 1);
        OpenConnection(self.clone())
    }

    /// Waits until there is none, 10 s at most.
    ///
    /// A connection comes back to the client in a task of its own, after the answer that came over it. A request that is made
    /// before makes the client connect a second time, and keep both.
    pub(super) async fn closed(&self) {
        let mut open = self.0.open.subscribe();
        if timeout(TURN, open.wait_for(|open| *open == 0)).await.is_err() {
            tracing::warn!(
                "a second connection is opened: the first was neither used nor closed in {TURN:?}"
            );
        }
    }

    /// Ends every connection at its next read or write, and waits until all are closed: 30 s at most.
    pub(super) async fn end(&self) {
        self.0.ended.store(true, Ordering::Relaxed);
        let mut open = self.0.open.subscribe();
        if timeout(LONGEST, open.wait_for(|open| *open == 0)).await.is_err() {
            tracing::warn!("a connection is still open {LONGEST:?} after the end of its request");
        }
    }
}

impl OpenConnection {
    /// Whether nothing more is to be read or written.
    pub(super) fn is_ended(&self) -> bool {
        self.0.0.ended.load(Ordering::Relaxed)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.open.send_modify(|open| *open -= 1);
    }
}
