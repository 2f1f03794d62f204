//! Where readers get their views from: a directory that is opened when it is asked for, or the database of a crawl on many machines.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "cluster")]
use super::cluster_source::ClusterSource;
use super::crawl_view::CrawlView;
use super::failure::Failure;
use super::served::Served;
use crate::live::{Copies, Holder};
use crate::view::View;
use page::clock;

/// How long one view of a running crawl serves new requests.
const FRESH: Duration = Duration::from_secs(2);

/// How long a crawl that doesn't run stays open, and its directory locked, after a request.
const IDLE: Duration = Duration::from_secs(5);

/// Where the crawl is.
pub(super) enum Source {
    Dir(Box<DirSource>),
    #[cfg(feature = "cluster")]
    Cluster(Box<ClusterSource>),
}

impl Source {
    pub(super) fn of(served: &Served, copies: Copies) -> Self {
        match served {
            Served::Dir(root) => Self::Dir(Box::new(DirSource::new(root, copies))),
            #[cfg(feature = "cluster")]
            Served::Cluster { database, archive, .. } => {
                Self::Cluster(Box::new(ClusterSource::new(database, archive)))
            }
        }
    }

    /// A view for one reader.
    pub(super) fn view(&self) -> Result<CrawlView, Failure> {
        match self {
            Self::Dir(dir) => dir.view(),
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.view(),
        }
    }

    /// Whether this process has locked a directory.
    pub(super) fn holds(&self) -> bool {
        match self {
            Self::Dir(dir) => dir.holds(),
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => false,
        }
    }

    /// Closes a view that another process served.
    pub(super) fn forget_served(&self) {
        match self {
            Self::Dir(dir) => dir.forget_served(),
            // Its connections are opened again where they broke.
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => {}
        }
    }

    /// Closes what nobody needs. Called every second.
    pub(super) fn tidy(&self) {
        match self {
            Self::Dir(dir) => dir.tidy(),
            #[cfg(feature = "cluster")]
            Self::Cluster(cluster) => cluster.tidy(),
        }
    }
}

/// The crawl in a directory.
pub(super) struct DirSource {
    root: PathBuf,
    copies: Copies,
    open: Mutex<Option<Open>>,
}

struct Open {
    view: View,
    opened: Instant,
    used: Instant,
}

impl DirSource {
    fn new(root: &Path, copies: Copies) -> Self {
        Self { root: root.to_owned(), copies, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn view(&self) -> Result<CrawlView, Failure> {
        let now = clock::real_time();
        let mut open = self.open();
        if let Some(known) = open.as_mut().filter(|known| is_fresh(known, now)) {
            known.used = now;
            return Ok(CrawlView::in_dir(known.view.another()?));
        }
        // The directory is unlocked, or its holder's connection closed, before it is opened again.
        *open = None;
        let view = View::open_with(&self.root, &self.copies)?;
        let another = view.another()?;
        *open = Some(Open { view, opened: now, used: now });
        Ok(CrawlView::in_dir(another))
    }

    fn holds(&self) -> bool {
        self.open().as_ref().is_some_and(|open| open.view.holder().is_none() && !open.view.is_copy())
    }

    fn forget_served(&self) {
        let mut open = self.open();
        if open.as_ref().is_some_and(|known| known.view.holder().is_some()) {
            *open = None;
        }
    }

    fn tidy(&self) {
        let now = clock::real_time();
        let mut open = self.open();
        let is_idle = |known: &Open| match known.view.holder() {
            // It locks nothing, and would have to be made again.
            None if known.view.is_copy() => false,
            None => now.saturating_duration_since(known.used) >= IDLE,
            Some(_) => !is_fresh(known, now),
        };
        if open.as_ref().is_some_and(is_idle) {
            *open = None;
        }
    }
}

fn is_fresh(open: &Open, now: Instant) -> bool {
    match open.view.holder() {
        None => !open.view.is_outdated_copy(),
        Some(Holder::Crawl | Holder::Reader) => now.saturating_duration_since(open.opened) < FRESH,
    }
}
