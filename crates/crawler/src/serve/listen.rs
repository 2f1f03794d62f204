//! Takes connections: so many at a time, with limits on what comes in on each.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// Connections at the same time.
pub(super) const CONNECTIONS: usize = 160;

/// The longest head of a request, in bytes: more than the longest path that is answered, so that this has an answer of its own.
const HEAD_BYTES: usize = 64 * 1024;

/// How long a connection may be silent before a head is complete.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// After an error (as a rule, no file descriptor is free) the next connection waits for so long.
const PAUSE: Duration = Duration::from_millis(100);

/// The answer to a connection beyond the limit.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\nConnection: close\r\n\r\n";

/// Serves until `stop` says so.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    turns: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        let Ok((stream, _)) = accepted else {
            drop(tokio::time::timeout(PAUSE, std::future::pending::<()>()).await);
            continue;
        };
        let Ok(turn) = Arc::clone(&turns).try_acquire_owned() else {
            refuse(&stream);
            continue;
        };
        let (router, mut stop) = (router.clone(), stop.clone());
        tokio::spawn(async move {
            let _turn = turn;
            let connection = connection(stream, router);
            // A connection that broke needs no answer.
            tokio::select! {
                _ = connection => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        });
    }
}

/// Says that there are too many. Without waiting: what doesn't fit into the socket's buffer isn't sent.
fn refuse(stream: &TcpStream) {
    let sent: io::Result<usize> = stream.try_write(FULL);
    drop(sent);
}

async fn connection(stream: TcpStream, router: Router) -> hyper::Result<()> {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await
}
