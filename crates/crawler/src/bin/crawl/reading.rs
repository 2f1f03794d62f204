//! How the commands that only read open the directory of a crawl, also one that they can't write in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::thread::Builder;

use clap::Args;
use crawler::live::{Copies, CopyNotice};
use crawler::view::View;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::view_error;

/// Options of the commands that read a crawl's directory.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ReadingArgs {
    /// Where to copy the database if this user can't write in DIR [default: the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    snapshot_dir: Option<PathBuf>,
}

impl ReadingArgs {
    /// Opens a crawl, or says why not. A copy of its database is removed when the process ends, by a signal as well.
    pub(crate) fn open(&self, dir: &Path) -> anyhow::Result<View> {
        View::open_with(dir, &self.copies(remove_on_signal)).map_err(|error| view_error(&error))
    }

    /// Where databases are copied for a process that ends in order when a signal comes.
    pub(crate) fn copies_of_server(&self) -> Copies {
        self.copies(announce)
    }

    fn copies(&self, tell: fn(&CopyNotice<'_>)) -> Copies {
        Copies { dir: self.snapshot_dir.clone(), tell }
    }
}

fn announce(copy: &CopyNotice<'_>) {
    tracing::warn!("{copy}");
}

/// How often a directory is removed again in which another thread still wrote.
const TRIES: usize = 50;

/// Copies of this process that a signal has to remove.
static COPIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has a copy removed when a signal ends the process, whose exit code is then as of a shell: 128 and the signal's number.
fn remove_on_signal(copy: &CopyNotice<'_>) {
    announce(copy);
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_first = copies.is_empty();
    copies.push(copy.place.to_owned());
    drop(copies);
    if is_first {
        // Where signals can't be received one ends the process, and the next copy that is made removes this one.
        drop(listen());
    }
}

fn listen() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _here = runtime.enter();
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
            .map(|kind| signal(kind).map(|signal| (signal, kind.as_raw_value())))
            .into_iter()
            .collect::<io::Result<Vec<_>>>()?
    };
    let wait = move || {
        let number = runtime.block_on(std::future::poll_fn(|context| {
            let mut came = signals
                .iter_mut()
                .filter_map(|(signal, number)| signal.poll_recv(context).is_ready().then_some(*number));
            came.next().map_or(Poll::Pending, Poll::Ready)
        }));
        let copies = std::mem::take(&mut *COPIES.lock().unwrap_or_else(PoisonError::into_inner));
        for copy in copies {
            let is_gone = || fs::remove_dir_all(&copy).is_ok() || !copy.exists();
            // The thread that reads may make a file meanwhile.
            let _is_gone = (0..TRIES).any(|_| is_gone());
        }
        std::process::exit(128 + number);
    };
    Builder::new().name("signals".to_owned()).spawn(wait)?;
    Ok(())
}
