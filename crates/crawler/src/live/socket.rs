//! The socket in a crawl's directory: its place, and how a process connects to it.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::message::{Greeting, HOLDER_FRAME, Holder, VERSION, receive, send};
use crate::crawl_dir::DirError;

/// The socket's name in the directory.
pub(super) const NAME: &str = crate::crawl_dir::SOCKET;

/// The longest path of a socket: `sun_path` has 108 bytes on Linux and 104 elsewhere, with a zero at the end.
const PATH_BYTES: usize = 103;

/// How long a process waits for a holder's answer. It may be opening a large database.
const ANSWER: Duration = Duration::from_mins(2);

/// Why the process that holds a directory can't be spoken to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The directory.
    #[error(transparent)]
    Dir(DirError),
    /// It refuses: another version, another user.
    #[error("{}: {what}", .root.display())]
    Refused {
        /// The directory.
        root: PathBuf,
        /// Its words.
        what: String,
    },
    /// The connection broke.
    #[error("the process that uses {} gives no answer; wait for it to end, or end it", .root.display())]
    Lost {
        /// The directory.
        root: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

impl LiveError {
    pub(super) fn lost(root: &Path, source: io::Error) -> Self {
        Self::Lost { root: root.to_owned(), source }
    }
}

/// The path of the socket, short enough to be used; with the open directory that it may lead through.
pub(super) fn path(root: &Path) -> io::Result<(PathBuf, Option<fs::File>)> {
    let path = root.join(NAME);
    if path.as_os_str().as_bytes().len() <= PATH_BYTES {
        return Ok((path, None));
    }
    if cfg!(target_os = "linux") {
        use std::os::fd::AsRawFd;
        let dir = fs::File::open(root)?;
        let short = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", dir.as_raw_fd()));
        return Ok((short, Some(dir)));
    }
    Err(io::Error::new(io::ErrorKind::InvalidFilename, "the path of the directory is too long for a socket"))
}

/// A connection to the process that holds a directory.
pub(super) struct Greeted {
    pub(super) stream: UnixStream,
    pub(super) holder: Holder,
    pub(super) pid: u32,
}

/// Connects to whoever holds a directory. None: nobody listens there.
pub(super) fn connect(root: &Path) -> Result<Option<Greeted>, LiveError> {
    let Ok((path, _dir)) = path(root) else { return Ok(None) };
    if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
        return Err(LiveError::Dir(DirError::Link { path: root.join(NAME), what: "a symbolic link" }));
    }
    let mut stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let what = "another user's crawl runs here: only that user can read it until it ends".to_owned();
            return Err(LiveError::Refused { root: root.to_owned(), what });
        }
        // No socket, or that of a process which was killed.
        Err(_) => return Ok(None),
    };
    let timeouts = [stream.set_read_timeout(Some(ANSWER)), stream.set_write_timeout(Some(ANSWER))];
    if timeouts.iter().any(Result::is_err) {
        return Ok(None);
    }
    let greeting = serde_json::to_vec(&Greeting::new(None)).unwrap_or_default();
    let answer = send(&mut stream, &greeting).and_then(|()| receive(&mut stream, HOLDER_FRAME));
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if is_silence(&error) => return Err(LiveError::lost(root, error)),
        // It ended meanwhile.
        Err(_) => return Ok(None),
    };
    let refused = |what: String| Err(LiveError::Refused { root: root.to_owned(), what });
    match serde_json::from_slice::<Greeting>(&answer) {
        Ok(Greeting { refused: Some(what), .. }) => refused(what),
        Ok(greeting) if greeting.is_ours() => {
            let holder = greeting.holder.unwrap_or(Holder::Reader);
            Ok(Some(Greeted { stream, holder, pid: greeting.pid }))
        }
        Ok(Greeting { version, .. }) => refused(other_version(&version, VERSION)),
        Err(_) => refused("the process that uses it is no version of crawl that this one knows".to_owned()),
    }
}

/// Whether a process is there and gives no answer: it was stopped, by Ctrl-Z for example.
pub(super) fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Why two versions don't speak.
pub(super) fn other_version(holder: &str, client: &str) -> String {
    let clean = page::clean::clean;
    let (holder, client) = (clean(holder), clean(client));
    format!(
        "in use by crawl {holder}, and this is crawl {client}: use the same version, or wait until it ends"
    )
}

/// A moment's wait for another process.
#[expect(clippy::disallowed_methods, reason = "waits for another process on this machine, not for a site")]
pub(super) fn pause() {
    let (_never, pause) = channel::<()>();
    let _ = pause.recv_timeout(Duration::from_millis(50));
}
