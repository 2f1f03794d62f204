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
    open: Arc<AtomicUsize>,
}

const SOCKET: &str = ".s.PGSQL.5432";

/// The parameters that `PgBouncer` takes in a startup message (pgbouncer(5), `ignore_startup_parameters`).
const KNOWN: [&str; 7] = [
    "user",
    "database",
    "client_encoding",
    "datestyle",
    "timezone",
    "standard_conforming_strings",
    "application_name",
];

impl Proxy {
    /// A proxy of the server whose socket is in this directory.
    pub(crate) fn of(server: &Path) -> Self {
        Self::with(server, |_, _| Ok(()))
    }

    /// As [`Proxy::of`], as a pooler in session mode: it refuses startup parameters that it doesn't know, and more than so many clients at a time.
    pub(crate) fn pooler(server: &Path, most: usize) -> Self {
        Self::with(server, move |startup, open| {
            let unknown = parameters(startup).into_iter().find(|name| !KNOWN.contains(&name.as_str()));
            match unknown {
                Some(name) => Err(("08P01", format!("unsupported startup parameter: {name}"))),
                None if open > most => {
                    Err(("08P01", "no more connections allowed (max_client_conn)".to_owned()))
                }
                None => Ok(()),
            }
        })
    }

    /// `admits` gets the startup message of a client, and how many are connected with it.
    fn with(
        server: &Path,
        admits: impl Fn(&[u8], usize) -> Result<(), (&'static str, String)> + Send + 'static,
    ) -> Self {
        let dir = TempDir::new().unwrap();
        let (cuts, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let listener = UnixListener::bind(dir.path().join(SOCKET)).unwrap();
        let (to, left, count) = (server.join(SOCKET), Arc::clone(&cuts), Arc::clone(&open));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(mut client) = client else { continue };
                let Ok(startup) = startup(&mut client) else { continue };
                if let Err((code, words)) = admits(&startup, count.load(Ordering::SeqCst) + 1) {
                    let _gone = client.write_all(&refusal(code, &words));
                    continue;
                }
                let Ok(mut server) = UnixStream::connect(&to) else { continue };
                if server.write_all(&startup).is_err() {
                    continue;
                }
                count.fetch_add(1, Ordering::SeqCst);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let open = Arc::clone(&count);
                std::thread::spawn(move || {
                    pass(from, to, &AtomicUsize::new(0));
                    open.fetch_sub(1, Ordering::SeqCst);
                });
                let left = Arc::clone(&left);
                std::thread::spawn(move || pass(server, client, &left));
            }
        });
        Self { dir, cuts, open }
    }

    /// How many clients are connected.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
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

/// The first message of a client, with its length (PostgreSQL manual, "Message Formats").
fn startup(client: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    message[..4].copy_from_slice(&length);
    client.read_exact(&mut message[4..])?;
    Ok(message)
}

/// The names in a startup message: pairs of texts that end in zero bytes follow its length and the version of the protocol.
fn parameters(startup: &[u8]) -> Vec<String> {
    let texts = startup[8..].split(|byte| *byte == 0);
    texts
        .step_by(2)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// An error that ends a connection.
fn refusal(code: &str, words: &str) -> Vec<u8> {
    let fields = format!("SFATAL\0C{code}\0M{words}\0\0");
    let length = u32::try_from(fields.len() + 4).unwrap();
    [b"E", &length.to_be_bytes()[..], fields.as_bytes()].concat()
}
