//! A socket in front of the server's, which loses answers.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

/// Passes on what clients and server say.
pub(crate) struct Proxy {
    dir: TempDir,
    cuts: Arc<AtomicUsize>,
}

const SOCKET: &str = ".s.PGSQL.5432";

impl Proxy {
    /// A proxy of the server whose socket is in this directory.
    pub(crate) fn of(server: &Path) -> Self {
        let dir = TempDir::new().unwrap();
        let cuts = Arc::new(AtomicUsize::new(0));
        let listener = UnixListener::bind(dir.path().join(SOCKET)).unwrap();
        let (to, left) = (server.join(SOCKET), Arc::clone(&cuts));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&to)) else { continue };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass(from, to, &AtomicUsize::new(0)));
                let left = Arc::clone(&left);
                std::thread::spawn(move || pass(server, client, &left));
            }
        });
        Self { dir, cuts }
    }

    /// The directory of its socket.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// So many times, the connection is cut instead of passing on what the server answers next.
    pub(crate) fn cut(&self, times: usize) {
        self.cuts.store(times, Ordering::SeqCst);
    }

    /// The cuts that are still to come.
    pub(crate) fn left(&self) -> usize {
        self.cuts.load(Ordering::SeqCst)
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, cuts: &AtomicUsize) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read) = from.read(&mut buffer) {
        let cut = |left: usize| left.checked_sub(1);
        let is_cut = cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, cut).is_ok();
        if read == 0 || is_cut || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
