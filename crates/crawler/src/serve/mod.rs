//! The web app: a crawl, running or finished, in a browser. `crawl serve`, `crawl run --serve`; docs/how-to/browser.md.
//!
//! It reads as every other command does ([`view`](crate::view) over [`live`](crate::live), or the partitions of a [`cluster`](crate::cluster)), on a thread and a runtime of its own, at
//! low priority. Pages are made on the server, from text that is escaped where it is put into them; archived copies come from
//! another origin. Nothing is written but, where that is allowed, orders to the running crawl.

mod access;
mod api;
mod charts;
#[cfg(feature = "cluster")]
mod cluster_source;
mod control;
mod copies;
mod crawl_view;
mod events;
mod failure;
mod figures;
mod graph;
mod host_page;
mod layout;
mod listen;
mod metrics;
mod overview;
mod params;
mod reading;
mod router;
#[cfg(feature = "search")]
mod search_page;
mod served;
mod source;
mod state;
mod status;
mod stream;
mod table_query;
mod tables_page;
mod url_page;
#[cfg(feature = "cluster")]
mod worker;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use self::access::{Access, TOKEN_CHARACTERS};
use self::listen::CONNECTIONS;
use self::reading::Reading;
pub use self::served::Served;
use self::state::App;
#[cfg(feature = "cluster")]
pub use self::worker::{Board, serve_worker};
use crate::live::Copies;

/// The port unless another one is asked for.
pub const PORT: u16 = 8470;

/// Threads that read, ask the crawl or write downloads.
const THREADS: usize = 16;

/// Time between two looks whether the crawl can be closed.
const TIDY: std::time::Duration = std::time::Duration::from_secs(1);

/// What is served, where, and to whom.
#[derive(Clone)]
pub struct ServeOptions {
    /// The crawl.
    pub served: Served,
    /// Where the database is copied, if its directory can't be written.
    pub copies: Copies,
    /// Address and port; port 0 is any free one. An address that isn't a loopback one needs a token.
    pub listen: SocketAddr,
    /// Names, besides addresses and `localhost`, under which the server is asked, in their Host header.
    pub names: Vec<String>,
    /// What has to be given to see anything; at least 16 characters.
    pub token: Option<String>,
    /// Whether the crawl may be paused, slowed down and stopped.
    pub allow_control: bool,
}

impl std::fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServeOptions")
            .field("served", &self.served)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines may connect, and no token keeps them out.
    #[error("{0} can be reached from other machines: add --token-file FILE, or listen on 127.0.0.1")]
    NoToken(SocketAddr),
    /// The token is easy to guess.
    #[error("the token is shorter than {TOKEN_CHARACTERS} characters")]
    ShortToken,
    /// The address can't be used.
    #[error("can't listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        source: io::Error,
    },
    /// The thread or its runtime.
    #[error("the server can't be started")]
    Start(#[source] io::Error),
}

/// A server that runs on a thread of its own, as long as this value lives.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Addresses that are taken: nothing is answered yet.
pub struct Bound {
    options: ServeOptions,
    address: SocketAddr,
    main: std::net::TcpListener,
    copies: (std::net::TcpListener, u16),
}

impl std::fmt::Debug for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bound").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Bound {
    /// Checks the options and takes the addresses.
    pub fn new(options: ServeOptions) -> Result<Self, ServeError> {
        let listen = options.listen;
        check(listen, options.token.as_deref())?;
        let (main, address) = bind(listen)?;
        // The next port; any other if somebody has that one.
        let beside = |port| bind(SocketAddr::new(address.ip(), port));
        let next = address.port().checked_add(1);
        let (copies, copies_address) =
            next.map_or_else(|| beside(0), |port| beside(port).or_else(|_| beside(0)))?;
        Ok(Self { options, address, main, copies: (copies, copies_address.port()) })
    }

    /// Starts to answer. The crawl isn't opened before somebody asks for it.
    pub fn start(self) -> Result<Server, ServeError> {
        let Self { options, address, main, copies: (copies, copies_port) } = self;
        let ServeOptions { served, copies: database_copies, names, token, allow_control, .. } = options;
        let access = Access::new(address, &names, token.as_deref());
        let reading = Arc::new(Reading::new(served, database_copies));
        let app =
            Arc::new(App::new(access, Arc::clone(&reading), allow_control, token.is_some(), copies_port));
        let (stop, stopped) = watch::channel(false);
        let work = async move {
            let (main, copies) = (TcpListener::from_std(main)?, TcpListener::from_std(copies)?);
            let turns = Arc::new(Semaphore::new(CONNECTIONS));
            tokio::spawn(tidy(reading));
            tokio::join!(
                listen::serve(main, router::router(&app), Arc::clone(&turns), stopped.clone()),
                listen::serve(copies, router::copies_router(&app), turns, stopped),
            );
            Ok(())
        };
        Server::start(address, stop, work)
    }
}

impl Server {
    /// Runs on a thread of its own, at low priority, until `stop` says so.
    fn start(
        address: SocketAddr,
        stop: watch::Sender<bool>,
        work: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> Result<Self, ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS)
            .on_thread_start(crate::live::yield_to_the_crawl)
            .build()
            .map_err(ServeError::Start)?;
        let serve = move || {
            crate::live::yield_to_the_crawl();
            if let Err(error) = runtime.block_on(work) {
                tracing::warn!("the server ended: {error}");
            }
            // A reader that still runs sees that nobody waits for it.
            runtime.shutdown_background();
        };
        let thread =
            std::thread::Builder::new().name("serve".to_owned()).spawn(serve).map_err(ServeError::Start)?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Closes a crawl that nobody looks at any more.
async fn tidy(reading: Arc<Reading>) {
    let mut ticks = tokio::time::interval(TIDY);
    loop {
        ticks.tick().await;
        let reading = Arc::clone(&reading);
        // Closing a database takes its time.
        drop(tokio::task::spawn_blocking(move || reading.source().tidy()).await);
    }
}

/// Whether those who may connect are kept out where they have to be.
fn check(listen: SocketAddr, token: Option<&str>) -> Result<(), ServeError> {
    match token {
        None if !listen.ip().is_loopback() => Err(ServeError::NoToken(listen)),
        Some(token) if token.chars().count() < TOKEN_CHARACTERS => Err(ServeError::ShortToken),
        _ => Ok(()),
    }
}

fn bind(address: SocketAddr) -> Result<(std::net::TcpListener, SocketAddr), ServeError> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|source| ServeError::Listen { address, source })
}
