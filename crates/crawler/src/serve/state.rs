//! What every request works with.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use super::access::Access;
#[cfg(feature = "cluster")]
use super::cluster_source;
use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::figures::{Counted, Figure};
use super::graph::{self, HostGraph};
use super::layout::Frame;
use super::reading::Reading;
#[cfg(feature = "cluster")]
use super::source::Source;
use super::status::LastStatus;
use crate::view::{Activity, Summary};

/// Streams of events at the same time; further ones are refused, and their pages ask from time to time instead.
pub(super) const EVENT_STREAMS: usize = 64;

/// Downloads at the same time.
const DOWNLOADS: usize = 4;

/// How long a page waits for figures that aren't counted yet.
pub(super) const PAGE_PATIENCE: Duration = Duration::from_secs(3);

/// The state of the server.
pub(super) struct App {
    pub(super) access: Access,
    pub(super) reading: Arc<Reading>,
    pub(super) last_status: Arc<LastStatus>,
    /// The name of the crawl.
    pub(super) name: String,
    pub(super) may_control: bool,
    pub(super) has_token: bool,
    pub(super) streams: Arc<Semaphore>,
    pub(super) downloads: Arc<Semaphore>,
    /// The port of the other origin, which has archived copies alone.
    pub(super) copies_port: u16,
    summary: Figure<Summary>,
    activity: Figure<Activity>,
    graph: Figure<HostGraph>,
}

/// The name by which the server was asked, as its Host header says.
#[derive(Debug, Clone)]
pub(super) struct HostName(pub(super) String);

impl App {
    pub(super) fn new(
        access: Access,
        reading: Arc<Reading>,
        may_control: bool,
        has_token: bool,
        copies_port: u16,
    ) -> Self {
        let one = Arc::default();
        Self {
            access,
            name: reading.served().name(),
            reading,
            last_status: Arc::default(),
            may_control,
            has_token,
            streams: Arc::new(Semaphore::new(EVENT_STREAMS)),
            downloads: Arc::new(Semaphore::new(DOWNLOADS)),
            copies_port,
            summary: Figure::new(&one),
            activity: Figure::new(&one),
            graph: Figure::new(&one),
        }
    }

    pub(super) fn frame(&self) -> Frame<'_> {
        Frame { dir: &self.name, may_control: self.may_control, has_token: self.has_token }
    }

    pub(super) async fn summary(&self, patience: Duration) -> Result<Counted<Summary>, Failure> {
        let is_running = self.running().await.is_some();
        self.counted(&self.summary, patience, move |view| Ok(view.summary(is_running)?)).await
    }

    pub(super) async fn activity(&self, patience: Duration) -> Result<Counted<Activity>, Failure> {
        self.counted(&self.activity, patience, |view| Ok(view.activity()?)).await
    }

    pub(super) async fn graph(&self, patience: Duration) -> Result<Counted<HostGraph>, Failure> {
        self.counted(&self.graph, patience, graph::count).await
    }

    /// A figure: of a running crawl, as it was counted last; otherwise, as the database is.
    async fn counted<T: Send + Sync + 'static>(
        &self,
        figure: &Figure<T>,
        patience: Duration,
        count: impl FnOnce(&CrawlView) -> Result<T, Failure> + Clone + Send + 'static,
    ) -> Result<Counted<T>, Failure> {
        if self.running().await.is_some() {
            return figure.get(&self.reading, patience, count).await;
        }
        let commits = self.reading.read(PAGE_PATIENCE, |view, _| view.commits()).await?;
        figure.of(commits, &self.reading, patience, count).await
    }

    /// What the running crawl says of itself; none if none runs.
    pub(super) async fn running(&self) -> Option<Value> {
        #[cfg(feature = "cluster")]
        if matches!(self.reading.source(), Source::Cluster(_)) {
            return self.of_cluster().await.ok().filter(cluster_source::is_running);
        }
        if self.reading.source().holds() {
            // This process has the directory: nobody crawls there.
            return None;
        }
        let (last, reading) = (Arc::clone(&self.last_status), Arc::clone(&self.reading));
        let ask = move || {
            let running = last.running(reading.served().root()?);
            if running.is_none() {
                // A view of what a running crawl had isn't the last one.
                reading.source().forget_served();
            }
            running
        };
        tokio::task::spawn_blocking(ask).await.ok().flatten()
    }

    /// What a crawl on many machines does, by its database.
    #[cfg(feature = "cluster")]
    async fn of_cluster(&self) -> Result<Value, Failure> {
        let reading = Arc::clone(&self.reading);
        let ask = move || match reading.source() {
            Source::Cluster(cluster) => cluster.now(),
            Source::Dir(_) => Err(Failure::not_found("the crawl is in a directory")),
        };
        let answer = tokio::task::spawn_blocking(ask).await;
        answer.unwrap_or_else(|error| Err(Failure::busy(error.to_string())))
    }

    /// What the crawl does, or how it ended.
    pub(super) async fn now(&self, patience: Duration) -> Result<Value, Failure> {
        #[cfg(feature = "cluster")]
        if matches!(self.reading.source(), Source::Cluster(_)) {
            return self.of_cluster().await;
        }
        if let Some(running) = self.running().await {
            return Ok(running);
        }
        Ok(self.summary(patience).await?.value.at_rest())
    }
}
