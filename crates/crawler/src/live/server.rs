//! The holder's side: answers other processes from the open database.
//!
//! Each connection has a thread of its own at low priority, so that a crawl goes on as if nobody read: it waits for a reader only
//! while one looks up what a commit is about to replace.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::watch;

use super::message::{
    CLIENT_FRAME, Greeting, Holder, Question, Reply, receive, receive_message, send, send_message,
};
use super::order::{Answer, Control};
use super::socket::{NAME, other_version, path, pause};
use crate::store::{Batch, SledStore, Snapshot, Store, StoreError, Tree};

/// Processes that read at the same time. Further ones wait for a minute.
pub const READERS: usize = 32;

/// Connections at the same time: readers, those that wait, and orders.
const CONNECTIONS: usize = 128;

/// A connection on which nothing is asked, or no answer is taken, for so long is closed.
pub const IDLE: Duration = Duration::from_mins(10);

/// How long one more reader waits for another one to end.
const TURN: Duration = Duration::from_mins(1);

/// How long the end of a crawl waits for its readers, and for the answers to orders.
pub const GRACE: Duration = Duration::from_secs(5);

/// How often the end looks whether every thread has let go of the database.
const LETTING_GO: u32 = 100;

/// The socket in a directory that this process has locked: other processes connect, and wait for [`Socket::serve`].
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    file: SocketFile,
    owner: u32,
}

/// The socket's file, which goes with the value.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The next holder would replace it.
        drop(fs::remove_file(&self.0));
    }
}

impl Socket {
    /// Listens in a directory, for its owner alone. Replaces the socket of a process that was killed: the caller holds the lock.
    pub fn bind(root: &Path) -> io::Result<Self> {
        let (short, _dir) = path(root)?;
        match fs::remove_file(&short) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&short)?;
        let file = SocketFile(root.join(NAME));
        fs::set_permissions(&short, fs::Permissions::from_mode(0o600))?;
        let owner = fs::metadata(&short)?.uid();
        Ok(Self { listener, file, owner })
    }

    /// Begins to answer. `control` takes the orders for a running crawl; none says that this process only reads.
    pub fn serve(self, store: Arc<SledStore>, control: Option<Arc<dyn Control>>) -> io::Result<Server> {
        self.serve_with(store, control, Limits::default())
    }

    pub(super) fn serve_with(
        self,
        store: Arc<SledStore>,
        control: Option<Arc<dyn Control>>,
        limits: Limits,
    ) -> io::Result<Server> {
        let Self { listener, file, owner } = self;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (connections, ended) = Default::default();
        let shared = Arc::new(Shared { store, control, owner, limits, connections, ended });
        let (close, closed) = watch::channel(false);
        let accepting = Arc::clone(&shared);
        let thread = thread::Builder::new().name("live".to_owned()).spawn(move || {
            runtime.block_on(accept(listener, accepting, closed));
        })?;
        Ok(Server { close, thread: Some(thread), shared: Some(shared), _file: file })
    }
}

/// What bounds the connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) readers: usize,
    pub(super) idle: Duration,
    pub(super) turn: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { readers: READERS, idle: IDLE, turn: TURN }
    }
}

#[derive(Default)]
struct Connections {
    open: HashMap<u64, UnixStream>,
    next: u64,
    readers: usize,
    /// Orders whose answer isn't sent yet.
    orders: usize,
    closing: bool,
}

struct Shared {
    store: Arc<SledStore>,
    control: Option<Arc<dyn Control>>,
    owner: u32,
    limits: Limits,
    connections: Mutex<Connections>,
    /// A reader, an order or a connection ended.
    ended: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, as long as `goes_on` holds.
    fn wait(&self, most: Duration, goes_on: impl Fn(&Connections) -> bool) -> MutexGuard<'_, Connections> {
        let waited = self.ended.wait_timeout_while(self.lock(), most, |connections| goes_on(connections));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Answers other processes as long as it lives.
pub struct Server {
    close: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    shared: Option<Arc<Shared>>,
    _file: SocketFile,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl Server {
    /// Lets nobody else in, waits up to `grace` for those who read, and up to [`GRACE`] for the answers to orders. What
    /// readers hold of the database is free when it returns.
    pub fn finish(mut self, grace: Duration) {
        self.end(grace);
    }

    fn end(&mut self, grace: Duration) {
        self.close.send_replace(true);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        let Some(shared) = self.shared.take() else { return };
        shared.lock().closing = true;
        shared.ended.notify_all();
        drop(shared.wait(grace, |connections| connections.readers > 0));
        // Who stopped the crawl is to get the answer, although the crawl has ended.
        drop(shared.wait(GRACE, |connections| connections.orders > 0));
        for stream in shared.lock().open.values() {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
        // Their threads only have to see it.
        drop(shared.wait(GRACE, |connections| !connections.open.is_empty()));
        // The last one is off the list a moment before it lets go of the database.
        for _ in 0..LETTING_GO {
            if Arc::strong_count(&shared) == 1 {
                break;
            }
            pause();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Whether a process of `user` may connect to one of `owner`: the same user, or root, who can read the files anyway.
pub(super) fn may_connect(user: u32, owner: u32) -> bool {
    user == owner || user == 0
}

async fn accept(listener: UnixListener, shared: Arc<Shared>, mut closed: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::UnixListener::from_std(listener) else { return };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closed.wait_for(|closed| *closed) => return,
        };
        // Out of file descriptors, as a rule: the crawl has the first call on them.
        let Ok((stream, _)) = accepted else {
            pause();
            continue;
        };
        let user = stream.peer_cred().map(|user| user.uid());
        let stream = stream.into_std().and_then(|stream| stream.set_nonblocking(false).map(|()| stream));
        if let (Ok(user), Ok(stream)) = (user, stream) {
            start(&shared, stream, user);
        }
    }
}

/// Serves a connection on a thread of its own.
fn start(shared: &Arc<Shared>, stream: UnixStream, user: u32) {
    let Ok(kept) = stream.try_clone() else { return };
    let mut connections = shared.lock();
    if connections.open.len() >= CONNECTIONS || connections.closing {
        return;
    }
    let number = connections.next;
    connections.next += 1;
    connections.open.insert(number, kept);
    drop(connections);
    let end = Ended { shared: Arc::clone(shared), number };
    let served = Arc::clone(shared);
    let serve = move || {
        yield_to_the_crawl();
        // A connection that broke needs no answer.
        drop(serve(&served, stream, user));
        // The database is free before the connection counts as ended.
        drop(served);
        drop(end);
    };
    drop(thread::Builder::new().name("live reader".to_owned()).spawn(serve));
}

/// A connection, taken off the list when it ends, however it does.
struct Ended {
    shared: Arc<Shared>,
    number: u64,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.shared.lock().open.remove(&self.number);
        self.shared.ended.notify_all();
    }
}

/// The nice value of those who read a running crawl: beside a busy crawl one of them gets about a thirtieth of a processor. With the
/// lowest, 19, it would hardly get on.
#[cfg(target_os = "linux")]
const NICE: i32 = 15;

/// Lowers the priority of this thread.
pub(crate) fn yield_to_the_crawl() {
    // On Linux each thread has its own; where it can't be lowered, reading goes on as it is.
    #[cfg(target_os = "linux")]
    let _refused = rustix::process::setpriority_process(None, NICE);
}

/// A reader's place among [`READERS`], and what it reads.
struct Reader<'a> {
    shared: &'a Shared,
    snapshot: Option<Snapshot>,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.snapshot = None;
        self.shared.lock().readers -= 1;
        self.shared.ended.notify_all();
    }
}

/// An order until its answer is sent.
struct OrderInHand<'a>(&'a Shared);

impl<'a> OrderInHand<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.lock().orders += 1;
        Self(shared)
    }
}

impl Drop for OrderInHand<'_> {
    fn drop(&mut self) {
        self.0.lock().orders -= 1;
        self.0.ended.notify_all();
    }
}

fn serve(shared: &Shared, mut stream: UnixStream, user: u32) -> io::Result<()> {
    stream.set_read_timeout(Some(shared.limits.idle))?;
    stream.set_write_timeout(Some(shared.limits.idle))?;
    let holder = if shared.control.is_some() { Holder::Crawl } else { Holder::Reader };
    let mut greeting = Greeting::new(Some(holder));
    if !may_connect(user, shared.owner) {
        greeting.refused =
            Some(format!("in use by user {}, and may be read by that user alone", shared.owner));
        return send(&mut stream, &serde_json::to_vec(&greeting)?);
    }
    let client: Greeting = serde_json::from_slice(&receive(&mut stream, CLIENT_FRAME)?)?;
    if !client.is_ours() {
        greeting.refused = Some(other_version(&greeting.version, &client.version));
    }
    send(&mut stream, &serde_json::to_vec(&greeting)?)?;
    let mut reader = None;
    while greeting.refused.is_none() {
        let question = receive_message(&mut stream, CLIENT_FRAME)?;
        let in_hand = matches!(question, Question::Order(_)).then(|| OrderInHand::new(shared));
        let reply = match question {
            Question::Read => {
                drop(reader.take());
                let begun = begin(shared);
                if matches!(begun, Ok(None)) && shared.lock().closing {
                    // Who asks opens the directory itself, or asks the next holder.
                    return Ok(());
                }
                let opened = begun.map(|begun| {
                    reader = begun;
                    match reader.as_ref().and_then(|reader| reader.snapshot.as_ref()) {
                        Some(snapshot) => Reply::Opened {
                            commits: snapshot.commits(),
                            entries: Tree::ALL.map(|tree| snapshot.entries(tree)).to_vec(),
                        },
                        None => Reply::Busy,
                    }
                });
                opened.unwrap_or_else(|error| failed(&error))
            }
            Question::Order(order) => match &shared.control {
                Some(control) => Reply::Answer(control.order(order, user)),
                None => Reply::Answer(Answer::Refused("no crawl runs here".to_owned())),
            },
            question => match reader.as_ref().and_then(|reader| reader.snapshot.as_ref()) {
                Some(snapshot) => reply(snapshot, question),
                None => Reply::Failed("nothing was opened".to_owned()),
            },
        };
        send_message(&mut stream, &reply)?;
        drop(in_hand);
    }
    Ok(())
}

/// Takes a place among the readers; none if that lasts too long.
fn begin(shared: &Shared) -> Result<Option<Reader<'_>>, StoreError> {
    let is_full =
        |connections: &Connections| connections.readers >= shared.limits.readers && !connections.closing;
    let mut connections = shared.wait(shared.limits.turn, is_full);
    if connections.closing || connections.readers >= shared.limits.readers {
        return Ok(None);
    }
    connections.readers += 1;
    drop(connections);
    let mut reader = Reader { shared, snapshot: None };
    reader.snapshot = Some(shared.store.snapshot()?);
    Ok(Some(reader))
}

fn reply(snapshot: &Snapshot, question: Question) -> Reply {
    let tree = |number: u8| Tree::ALL.get(usize::from(number)).copied();
    let answer = match question {
        Question::Get { tree: number, key } => {
            tree(number).map(|tree| snapshot.get(tree, &key).map(Reply::Value))
        }
        Question::Last { tree: number, prefix } => {
            tree(number).map(|tree| snapshot.last(tree, &prefix).map(Reply::Pair))
        }
        Question::Floor { tree: number, key } => {
            tree(number).map(|tree| snapshot.floor(tree, &key).map(Reply::Pair))
        }
        Question::Batch { tree: number, prefix, after } => tree(number).map(|tree| {
            let batch = snapshot.batch(tree, &prefix, after.as_deref());
            batch.map(|Batch { pairs, next }| Reply::Batch { pairs, next })
        }),
        Question::Read | Question::Order(_) => None,
    };
    match answer {
        Some(Ok(reply)) => reply,
        Some(Err(StoreError::Outdated)) => Reply::Outdated,
        Some(Err(error)) => failed(&error),
        None => Reply::Failed("the question isn't known".to_owned()),
    }
}

fn failed(error: &StoreError) -> Reply {
    Reply::Failed(crate::causes::with_causes(error))
}
