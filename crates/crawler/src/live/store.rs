//! The database of a directory, read by this process or through the one that holds it.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::copy::{self, Copies, CopyError, Place};
use super::message::{HOLDER_FRAME, Holder, Question, Reply, receive_message, send_message};
use super::server::{Server, Socket};
use super::socket::{Greeted, LiveError, connect, is_silence, pause};
use crate::crawl_dir::{CrawlDir, DirError, whole_database};
use crate::nofollow;
use crate::store::{Batch, Batches, Pair, SledStore, Store, StoreError, Tree, Write};

/// How often a directory that is locked, and in which nobody listens, is tried again: for about two seconds.
const TRIES: usize = 40;

/// A crawl's database, to read.
///
/// Either this process locks the directory, and answers others as well; or another process does, and is asked. Then this is the
/// database as its last commit made it at the time of opening, whatever the crawl commits meanwhile. If the holder ends, this process
/// goes on by itself or through the next one, provided that nothing was committed since.
pub struct DirStore {
    root: PathBuf,
    commits: u64,
    /// How many entries each tree must have, if that is counted.
    entries: Vec<Option<u64>>,
    holder: Option<Holder>,
    link: Mutex<Option<UnixStream>>,
    own: OnceLock<Own>,
    copies: Copies,
}

/// A directory held by this process, or a copy. Declared in the order in which the parts have to go.
struct Own {
    _server: Option<Server>,
    store: Arc<SledStore>,
    _dir: Option<CrawlDir>,
    copy: Option<Copied>,
}

/// A copy of a database that can't be written.
struct Copied {
    place: Place,
    /// How many commits the database had to hold as it was copied, where that is known.
    sealed: Option<u64>,
}

enum Opened {
    Own(Own),
    Served { stream: UnixStream, holder: Holder, commits: u64, entries: Vec<Option<u64>> },
}

/// Why the database of a directory can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory has no crawl, is in use, or can't be entered.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// The start was interrupted: nothing was fetched.
    #[error("{} holds a crawl that was killed before it fetched anything", .0.display())]
    Unfinished(PathBuf),
    /// The directory can't be written, and the database can't be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The database, or who answers for it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// Whether this user can't write there. What can't be read is refused in the same words by the system: trying to read tells.
    fn is_write_refused(&self) -> bool {
        match self {
            Self::Dir(error) => error.is_write_refused(),
            Self::Store(StoreError::Io { source, .. }) => nofollow::is_write_refused(source),
            _ => false,
        }
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => error,
            OpenError::Dir(DirError::InUse(path)) => Self::InUse { path },
            error => Self::Unserved(error.into()),
        }
    }
}

impl std::fmt::Debug for DirStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DirStore({}, commit {})", self.root.display(), self.commits)
    }
}

impl DirStore {
    /// Opens the database of a directory. A directory that is locked, and whose holder doesn't listen, is in use; that takes two
    /// seconds to find out. The database of one that can't be written is copied.
    pub fn open(root: &Path) -> Result<Self, OpenError> {
        Self::open_with(root, &Copies::default())
    }

    /// As [`DirStore::open`]; `copies` says where the database of a directory is copied that can't be written.
    pub fn open_with(root: &Path, copies: &Copies) -> Result<Self, OpenError> {
        let copies = copies.clone();
        Ok(match open(root, &copies)? {
            Opened::Own(own) => {
                let commits = own.store.commits();
                let entries = Vec::new();
                let (root, link) = (root.to_owned(), Mutex::new(None));
                Self { root, commits, entries, holder: None, link, own: OnceLock::from(own), copies }
            }
            Opened::Served { stream, holder, commits, entries } => Self {
                root: root.to_owned(),
                commits,
                entries,
                holder: Some(holder),
                link: Mutex::new(Some(stream)),
                own: OnceLock::new(),
                copies,
            },
        })
    }

    /// Which kind of process held the directory when it was opened; none is this one.
    pub fn holder(&self) -> Option<Holder> {
        self.holder
    }

    /// Commits that this state of the database has: equal numbers of one crawl are the same state.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// Where the copy is that is read, because the directory can't be written; this user can write there. None: no copy is read.
    pub fn copy(&self) -> Option<&Path> {
        self.copied().map(|copied| copied.place.path())
    }

    /// Whether something was committed since the database was copied. Cost: reads a small file.
    pub fn is_outdated_copy(&self) -> bool {
        self.copied().is_some_and(|copied| sealed(&self.root) != copied.sealed)
    }

    fn copied(&self) -> Option<&Copied> {
        self.own.get()?.copy.as_ref()
    }

    fn ask(&self, question: &Question) -> Result<Result<Reply, &Own>, StoreError> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(own) = self.own.get() {
                return Ok(Err(own));
            }
            if let Some(stream) = link.as_mut() {
                let reply = send_message(stream, question)
                    .and_then(|()| receive_message::<Reply>(stream, HOLDER_FRAME));
                match reply {
                    Ok(Reply::Outdated) => return Err(StoreError::Outdated),
                    Ok(Reply::Failed(detail)) => return Err(StoreError::Served { detail }),
                    Ok(reply) => return Ok(Ok(reply)),
                    Err(error) if is_silence(&error) => {
                        return Err(StoreError::Unserved(LiveError::lost(&self.root, error).into()));
                    }
                    Err(_) => *link = None,
                }
            }
            match open(&self.root, &self.copies)? {
                Opened::Own(own) => {
                    self.expect_same(own.store.commits())?;
                    drop(self.own.set(own));
                }
                Opened::Served { stream, commits, .. } => {
                    self.expect_same(commits)?;
                    *link = Some(stream);
                }
            }
        }
    }

    /// What was read so far and what another process has is one state.
    fn expect_same(&self, commits: u64) -> Result<(), StoreError> {
        if commits == self.commits {
            return Ok(());
        }
        let root = self.root.display();
        let detail = format!("the crawl in {root} ended while it was read; run the command again");
        Err(StoreError::Served { detail })
    }

    fn unexpected(&self) -> StoreError {
        let root = self.root.display();
        StoreError::Served { detail: format!("the process that uses {root} gave an answer that isn't known") }
    }

    fn batch(&self, tree: Tree, prefix: &[u8], after: Option<&[u8]>) -> Result<Batch, StoreError> {
        let (number, prefix_sent) = (tree as u8, prefix.to_vec());
        let question =
            Question::Batch { tree: number, prefix: prefix_sent, after: after.map(<[u8]>::to_vec) };
        match self.ask(&question)? {
            Ok(Reply::Batch { pairs, next }) => Ok(Batch { pairs, next }),
            Ok(_) => Err(self.unexpected()),
            Err(own) => own.store.snapshot()?.batch(tree, prefix, after),
        }
    }
}

/// Holds a directory, or connects to whoever does.
fn open(root: &Path, copies: &Copies) -> Result<Opened, OpenError> {
    let served = |detail: String| OpenError::Store(StoreError::Served { detail });
    let mut tries = 0;
    loop {
        let held = match hold(root) {
            Err(error) if error.is_write_refused() => copied(root, copies),
            held => held,
        };
        match held {
            Err(OpenError::Dir(DirError::InUse(_)) | OpenError::Store(StoreError::InUse { .. })) => {}
            held => return Ok(Opened::Own(held?)),
        }
        let greeted = connect(root).map_err(|error| match error {
            LiveError::Dir(error) => OpenError::Dir(error),
            error => OpenError::Store(StoreError::Unserved(error.into())),
        })?;
        if let Some(Greeted { mut stream, holder, .. }) = greeted {
            let reply = send_message(&mut stream, &Question::Read)
                .and_then(|()| receive_message::<Reply>(&mut stream, HOLDER_FRAME));
            match reply {
                Ok(Reply::Opened { commits, entries }) => {
                    if holder == Holder::Crawl {
                        super::server::yield_to_the_crawl();
                    }
                    return Ok(Opened::Served { stream, holder, commits, entries });
                }
                Ok(Reply::Busy) => {
                    let (root, most) = (root.display(), super::server::READERS);
                    return Err(served(format!(
                        "{root} is read by {most} processes already; run the command again later"
                    )));
                }
                Ok(_) => {
                    let root = root.display();
                    return Err(served(format!(
                        "the process that uses {root} gave an answer that isn't known"
                    )));
                }
                Err(error) if is_silence(&error) => {
                    return Err(StoreError::Unserved(LiveError::lost(root, error).into()).into());
                }
                // It ended meanwhile.
                Err(_) => {}
            }
        }
        tries += 1;
        if tries > TRIES {
            return Err(DirError::InUse(root.to_owned()).into());
        }
        pause();
    }
}

fn hold(root: &Path) -> Result<Own, OpenError> {
    let dir = CrawlDir::open(root)?;
    if dir.is_unfinished() {
        return Err(OpenError::Unfinished(root.to_owned()));
    }
    // Where no socket can be made, the next process finds the directory in use.
    let socket = Socket::bind(root).ok();
    let store = Arc::new(SledStore::open_to_read(&dir.db())?);
    let server = socket.and_then(|socket| socket.serve(Arc::clone(&store), None).ok());
    Ok(Own { _server: server, store, _dir: Some(dir), copy: None })
}

/// Reads a copy of the database of a directory that can't be written. No crawl can begin to write there until the copy is complete; what is
/// committed later isn't in it.
fn copied(root: &Path, copies: &Copies) -> Result<Own, OpenError> {
    let held = CrawlDir::open_read_only(root)?;
    if held.is_unfinished() {
        return Err(OpenError::Unfinished(root.to_owned()));
    }
    let (database, sealed) = (whole_database(root), sealed(root));
    let place = copy::copy(root, &database, copies)?;
    drop(held);
    let store = SledStore::open_copied(&place.database(), &database)?;
    Ok(Own { _server: None, store: Arc::new(store), _dir: None, copy: Some(Copied { place, sealed }) })
}

/// How many commits the database of a directory must hold.
fn sealed(root: &Path) -> Option<u64> {
    SledStore::sealed_commits(&whole_database(root))
}

impl Store for DirStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(own) = self.own.get() {
            return own.store.get(tree, key);
        }
        match self.ask(&Question::Get { tree: tree as u8, key: key.to_vec() })? {
            Ok(Reply::Value(value)) => Ok(value),
            Ok(_) => Err(self.unexpected()),
            Err(own) => own.store.get(tree, key),
        }
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        if let Some(own) = self.own.get() {
            return own.store.last(tree, prefix);
        }
        match self.ask(&Question::Last { tree: tree as u8, prefix: prefix.to_vec() })? {
            Ok(Reply::Pair(pair)) => Ok(pair),
            Ok(_) => Err(self.unexpected()),
            Err(own) => own.store.last(tree, prefix),
        }
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        if let Some(own) = self.own.get() {
            return own.store.scan(tree, prefix);
        }
        let prefix = prefix.to_vec();
        let least = self.entries.get(tree as usize).copied().flatten().filter(|_| prefix.is_empty());
        Box::new(Batches::new(tree, least, move |after| self.batch(tree, &prefix, after)))
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        if let Some(own) = self.own.get() {
            return own.store.floor(tree, key);
        }
        match self.ask(&Question::Floor { tree: tree as u8, key: key.to_vec() })? {
            Ok(Reply::Pair(pair)) => Ok(pair),
            Ok(_) => Err(self.unexpected()),
            Err(own) => own.store.floor(tree, key),
        }
    }

    fn commit(&self, _: Vec<Write>) -> Result<(), StoreError> {
        Err(StoreError::ReadOnly)
    }
}
