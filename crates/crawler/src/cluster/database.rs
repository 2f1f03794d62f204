//! The connections of one process to the databases of a crawl: to each some that read, and one that writes, all on one thread of their own.
//!
//! The interface is synchronous, as that of [`Store`](crate::store::Store): who asks waits for the answer, inside a runtime or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::commit::Writer;
use super::connection::{Link, Parameters};
use super::layout::{All, Layout, open_all};
use super::part_commit::PartCommit;
use super::schema::Terms;
use super::{Address, ClusterError, snapshot};
use crate::causes::Cause;
use crate::store::{Pair, StoreError};
use page::clock;

/// Connections that read, for each database. A worker's partitions share them.
const READERS: usize = 2;

/// What a read asks: a statement that returns keys with values, and the values of its parameters behind partition and tree.
pub(super) struct Read {
    pub(super) sql: &'static str,
    pub(super) part: i32,
    pub(super) tree: i16,
    pub(super) keys: Vec<Vec<u8>>,
    reply: SyncSender<Result<Vec<Pair>, StoreError>>,
}

/// The connections of one process to a cluster's database, or to all its databases. They end when it is dropped.
#[derive(Debug)]
pub struct Database {
    layout: Arc<Layout>,
    terms: Terms,
    /// Commits that were confirmed, and the microseconds that they took.
    confirmed: Arc<(AtomicU64, AtomicU64)>,
    /// In the order of the layout.
    nodes: Vec<Node>,
    thread: Option<JoinHandle<()>>,
}

/// The connections to one database.
#[derive(Debug)]
struct Node {
    readers: Vec<UnboundedSender<Read>>,
    writer: UnboundedSender<PartCommit>,
}

impl Database {
    /// Connects. Later on a lost connection is opened again with growing pauses; who reads or commits meanwhile waits, and gets
    /// an error when the database was out of reach for as long as `patience`.
    pub fn open(address: Address, patience: Duration) -> Result<Self, ClusterError> {
        let (runtime, all) = begin(address)?;
        Self::over(runtime, all, patience, Vec::new())
    }

    /// As [`Database::open`], with all connections from the beginning, for a worker that is about to claim partitions.
    ///
    /// # Errors
    /// [`ClusterError::Connections`] where the server, or a pooler, doesn't give them all.
    pub fn open_whole(address: Address, patience: Duration) -> Result<Self, ClusterError> {
        let (runtime, all) = begin(address)?;
        let mut further = Vec::new();
        for address in all.layout.databases() {
            // The first reader is there.
            for _ in 0..READERS {
                let mut link = Link::new(Arc::clone(address), None, patience);
                runtime.block_on(link.open()).map_err(ClusterError::connections(address))?;
                further.push(link);
            }
        }
        Self::over(runtime, all, patience, further)
    }

    /// `further` are connections that are open besides: for each database those that read, but one, and the one that writes.
    fn over(
        runtime: Runtime,
        all: All,
        patience: Duration,
        further: Vec<Link>,
    ) -> Result<Self, ClusterError> {
        let All { connections, layout, terms } = all;
        let mut further = further.into_iter();
        let mut next = |address: &Arc<Address>| {
            further.next().unwrap_or_else(|| Link::new(Arc::clone(address), None, patience))
        };
        let mut ends = Vec::new();
        for (address, first) in layout.databases().iter().zip(connections) {
            let mut readers = vec![Reader::Latest(Link::new(Arc::clone(address), Some(first), patience))];
            readers.extend((1..READERS).map(|_| Reader::Latest(next(address))));
            ends.push((readers, next(address)));
        }
        Self::with(runtime, layout, terms, ends)
    }

    /// As [`Database::open`], to read all databases as they are at this moment, whatever is committed later. While it is open, the servers keep what was
    /// replaced or removed since. A connection that is lost is opened again only where nothing changed.
    pub(super) fn open_snapshot(address: Address, patience: Duration) -> Result<Self, ClusterError> {
        let runtime = runtime()?;
        let All { connections, layout, terms } = runtime.block_on(open_all(address))?;
        let taken = snapshot::take(connections, layout.databases(), READERS, patience);
        let readers = runtime.block_on(taken)?;
        let writers = layout.databases().iter().map(|address| Link::new(Arc::clone(address), None, patience));
        let readers = readers.into_iter().map(|of_one| of_one.into_iter().map(Reader::Snapshot).collect());
        let ends = readers.zip(writers).collect();
        Self::with(runtime, layout, terms, ends)
    }

    /// `all` are the connections that read, and the one that writes, for each database.
    fn with(
        runtime: Runtime,
        layout: Layout,
        terms: Terms,
        all: Vec<(Vec<Reader>, Link)>,
    ) -> Result<Self, ClusterError> {
        let mut nodes = Vec::new();
        let mut ends = Vec::new();
        for (of_one, link) in all {
            let mut readers = Vec::new();
            for reader in of_one {
                let (sender, asked) = unbounded_channel();
                readers.push(sender);
                ends.push((reader, asked));
            }
            let (writer, commits) = unbounded_channel();
            nodes.push((Node { readers, writer }, link, commits));
        }
        let (nodes, writers): (Vec<_>, Vec<_>) =
            nodes.into_iter().map(|(node, link, commits)| (node, (link, commits))).unzip();
        let work = async move {
            let mut tasks: Vec<_> =
                ends.into_iter().map(|(reader, asked)| tokio::spawn(answer(reader, asked))).collect();
            let write = |(link, commits)| tokio::spawn(Writer::new(link).run(commits));
            tasks.extend(writers.into_iter().map(write));
            for task in tasks {
                // One that panicked has dropped its end: who asks it gets an error.
                drop(task.await);
            }
        };
        let thread = std::thread::Builder::new()
            .name("database".to_owned())
            .spawn(move || runtime.block_on(work))
            .map_err(ClusterError::Thread)?;
        let confirmed = Arc::default();
        Ok(Self { layout: Arc::new(layout), terms, confirmed, nodes, thread: Some(thread) })
    }

    /// The terms of the crawl.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// The databases of the crawl.
    pub(super) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Reads keys with their values.
    pub(super) fn read(
        &self,
        sql: &'static str,
        (part, tree): (i32, i16),
        keys: Vec<Vec<u8>>,
    ) -> Result<Vec<Pair>, StoreError> {
        let node = self.nodes.get(self.layout.place(part)).ok_or(StoreError::Stopped)?;
        let reader = usize::try_from(part).unwrap_or_default() / self.nodes.len() % node.readers.len().max(1);
        let (reply, answer) = sync_channel(1);
        let read = Read { sql, part, tree, keys, reply };
        node.readers.get(reader).and_then(|reader| reader.send(read).ok()).ok_or(StoreError::Stopped)?;
        answer.recv().map_err(|_| StoreError::Stopped)?
    }

    /// Hands on a commit of a partition, whose reply gets the outcome. It is dropped without one where who writes is gone.
    pub(super) fn commit(&self, commit: PartCommit) -> Result<(), StoreError> {
        let node = self.nodes.get(self.layout.place(commit.claim.part)).ok_or(StoreError::Stopped)?;
        let (began, confirmed, reply) = (clock::instant(), Arc::clone(&self.confirmed), commit.reply);
        let reply = Box::new(move |outcome: Result<(), StoreError>| {
            if outcome.is_ok() {
                let took = clock::instant().duration_since(began).as_micros();
                confirmed.0.fetch_add(1, Ordering::Relaxed);
                confirmed.1.fetch_add(u64::try_from(took).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
            reply(outcome);
        });
        node.writer.send(PartCommit { reply, ..commit }).map_err(|_| StoreError::Stopped)
    }

    /// How many commits of partitions were confirmed, and the time that they took, each counted.
    pub(super) fn confirmed(&self) -> (u64, Duration) {
        let (commits, took) = &*self.confirmed;
        (commits.load(Ordering::Relaxed), Duration::from_micros(took.load(Ordering::Relaxed)))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.nodes.clear();
        if let Some(thread) = self.thread.take() {
            // Its panic, if there was one, was reported where it happened.
            drop(thread.join());
        }
    }
}

/// Connects to all databases of a crawl, once each.
fn begin(address: Address) -> Result<(Runtime, All), ClusterError> {
    let runtime = runtime()?;
    let all = runtime.block_on(open_all(address))?;
    Ok((runtime, all))
}

/// Threads of such a runtime that look names up, or search files.
const LONGER: usize = 2;

/// A runtime for one thread.
pub(super) fn runtime() -> Result<Runtime, ClusterError> {
    let mut runtime = Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(LONGER).build().map_err(ClusterError::Thread)
}

/// Does something in a runtime of its own. Its end waits for nothing: a name may still be looked up.
pub(super) fn block_on<T, E: From<ClusterError>>(what: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = runtime()?;
    let done = runtime.block_on(what);
    runtime.shutdown_background();
    done
}

/// A connection that reads.
enum Reader {
    /// What was committed last.
    Latest(Link),
    /// What was committed at one moment.
    Snapshot(snapshot::Reader),
}

impl Reader {
    async fn read(&mut self, sql: &'static str, parameters: Parameters<'_>) -> Result<Vec<Row>, Cause> {
        match self {
            Self::Latest(link) => link.read(sql, parameters).await.map_err(Cause::from),
            Self::Snapshot(reader) => reader.read(sql, parameters).await,
        }
    }
}

async fn answer(mut reader: Reader, mut asked: UnboundedReceiver<Read>) {
    while let Some(Read { sql, part, tree, keys, reply }) = asked.recv().await {
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&part, &tree];
        parameters.extend(keys.iter().map(|key| key as &(dyn ToSql + Sync)));
        let rows = reader.read(sql, &parameters).await;
        let pairs = rows.map(|rows| rows.into_iter().map(|row| (row.get(0), row.get(1))).collect());
        let failed = |source| StoreError::Server { doing: "read", source };
        // Who asked is gone where the process ends.
        drop(reply.send(pairs.map_err(failed)));
    }
}
