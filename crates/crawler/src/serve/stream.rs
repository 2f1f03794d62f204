//! Answers that are sent while they are written: downloads of tables.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use tokio::runtime::Handle;

use super::failure::Failure;
use super::params::Params;
use super::reading::until_gone;
use super::state::App;
use super::table_query;
use crate::view::{Table, TableFormat, write_rows};

/// Bytes that are sent at a time.
const PIECE: usize = 64 * 1024;

/// A download of which nothing is taken for so long is given up.
const STALLED: Duration = Duration::from_secs(60);

/// Writes into the body of an answer, from a thread of its own.
struct BodyWriter {
    sender: Sender<Bytes, io::Error>,
    handle: Handle,
    buffer: Vec<u8>,
}

impl BodyWriter {
    fn send(&mut self) -> io::Result<()> {
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        let sent = self.handle.block_on(tokio::time::timeout(STALLED, self.sender.send_data(piece)));
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() { Ok(()) } else { self.send() }
    }
}

/// The rows of a table as CSV or JSON lines. A download that can't be finished is interrupted, so that whoever takes it sees that.
pub(super) async fn table(app: &App, table: Table, params: Params) -> Result<(Body, &'static str), Failure> {
    let (form, ending) = match params.get("format") {
        None | Some("csv") => (TableFormat::Csv, "csv"),
        Some("jsonl") => (TableFormat::Jsonl, "jsonl"),
        Some(_) => return Err(Failure::bad("format is csv or jsonl")),
    };
    let Ok(turn) = Arc::clone(&app.downloads).try_acquire_owned() else {
        return Err(Failure::busy("too many downloads at the same time; repeat this one later"));
    };
    let (sender, body) = Channel::<Bytes, io::Error>::new(2);
    let (began, beginning) = tokio::sync::oneshot::channel::<Result<(), Failure>>();
    let (reading, handle) = (Arc::clone(&app.reading), Handle::current());
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let gone = Arc::new(AtomicBool::new(false));
        let mut out = BodyWriter { sender, handle, buffer: Vec::new() };
        let view = match reading.source().view() {
            Ok(view) => view,
            Err(failure) => return drop(began.send(Err(failure))),
        };
        let rows = match table_query::whole(&view, table, &params, &until_gone(Arc::clone(&gone))) {
            Ok(rows) => rows,
            Err(failure) => return drop(began.send(Err(failure))),
        };
        if began.send(Ok(())).is_err() {
            return;
        }
        let written = write_rows(rows, form, &mut out).and_then(|_| Ok(out.flush()?));
        gone.store(true, Ordering::Relaxed);
        if let Err(error) = written {
            tracing::debug!("a download was interrupted: {}", error.message());
            out.sender.abort(io::Error::other("interrupted"));
        }
    });
    match beginning.await {
        Ok(Ok(())) => Ok((Body::new(body), ending)),
        Ok(Err(failure)) => Err(failure),
        Err(_) => Err(Failure::busy("the download couldn't be begun")),
    }
}

/// A body that is sent piece by piece, and can't fail.
pub(super) fn pieces() -> (Sender<Bytes, Infallible>, Body) {
    let (sender, body) = Channel::<Bytes, Infallible>::new(1);
    (sender, Body::new(body))
}
