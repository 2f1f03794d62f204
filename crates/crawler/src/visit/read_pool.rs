//! Bounds the reading of responses: how many at the same time, and how many bytes of results may wait to be committed.
//!
//! The fetcher bounds what a server sends, this module what is made of it: links and archive records of all visits
//! together, from the moment they are made until they are on disk.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// Responses up to this size are read at once, whatever their content: that takes milliseconds, and few bytes.
pub(super) const SMALL: usize = 64 << 10;

/// Responses over this size are read one after the other: as text and as links they take several times their size.
const LARGE: usize = 1 << 20;

/// Nothing more is read while this much waits to be committed. What is being read then comes on top.
const BACKLOG: usize = 24 << 20;

/// The places where responses are read.
#[derive(Debug)]
pub struct ReadPool {
    /// For small ones, so that they never wait behind costly ones: the operating system shares the processors between them.
    small: Semaphore,
    /// As many as there are processors. More would only hold memory.
    places: Semaphore,
    /// For large ones, so that ordinary ones never wait for them.
    large: Semaphore,
    /// Sitemaps are read one after the other: each takes up to 24 MiB, for its URLs and for what undoes its codings.
    sitemaps: Semaphore,
    backlog: Arc<Backlog>,
}

#[derive(Debug, Default)]
struct Backlog {
    bytes: AtomicUsize,
    less: Notify,
}

/// Bytes that wait to be committed, until this is dropped.
#[derive(Debug, Default)]
pub struct BacklogBytes(Option<(Arc<Backlog>, usize)>);

impl BacklogBytes {
    /// Counts less from now on: the rest waits to be committed.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        if let Some((backlog, held)) = &mut self.0
            && *held > bytes
        {
            backlog.bytes.fetch_sub(*held - bytes, Ordering::AcqRel);
            *held = bytes;
            backlog.less.notify_waiters();
        }
    }
}

#[cfg(test)]
impl BacklogBytes {
    /// So many bytes of a pool that nobody reads in.
    pub(crate) fn of_a_test(bytes: usize) -> Self {
        ReadPool::new(1).hold(bytes)
    }

    /// How many they are.
    pub(crate) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, bytes)| *bytes)
    }
}

impl Drop for BacklogBytes {
    fn drop(&mut self) {
        if let Some((backlog, bytes)) = self.0.take() {
            backlog.bytes.fetch_sub(bytes, Ordering::AcqRel);
            backlog.less.notify_waiters();
        }
    }
}

impl Default for ReadPool {
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(2, NonZero::get))
    }
}

impl ReadPool {
    /// A pool with so many places for responses of ordinary size.
    pub fn new(places: usize) -> Self {
        Self {
            small: Semaphore::new(2 * places),
            places: Semaphore::new(places),
            large: Semaphore::new(1),
            sitemaps: Semaphore::new(1),
            backlog: Arc::default(),
        }
    }

    /// Waits for a place, and until less than the most waits to be committed.
    pub(super) async fn place(&self, bytes: usize) -> Option<SemaphorePermit<'_>> {
        let places = if bytes <= SMALL {
            &self.small
        } else if bytes <= LARGE {
            &self.places
        } else {
            &self.large
        };
        let place = places.acquire().await.ok()?;
        self.less().await;
        Some(place)
    }

    /// Waits for the place of a sitemap, and until less than the most waits to be committed.
    pub(super) async fn place_of_sitemap(&self) -> Option<SemaphorePermit<'_>> {
        let place = self.sitemaps.acquire().await.ok()?;
        self.less().await;
        Some(place)
    }

    /// Waits until less than the most waits to be committed.
    pub(super) async fn less(&self) {
        loop {
            let less = self.backlog.less.notified();
            if self.has_capacity() {
                return;
            }
            less.await;
        }
    }

    /// Whether less than the most waits to be committed.
    pub(crate) fn has_capacity(&self) -> bool {
        self.backlog.bytes.load(Ordering::Acquire) < BACKLOG
    }

    /// Counts what was made, until the value that this returns is dropped.
    pub(super) fn hold(&self, bytes: usize) -> BacklogBytes {
        self.backlog.bytes.fetch_add(bytes, Ordering::AcqRel);
        BacklogBytes(Some((Arc::clone(&self.backlog), bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_read_while_too_much_waits() {
        let read_pool = ReadPool::new(2);
        let first = read_pool.hold(BACKLOG - 1);
        assert!(read_pool.has_capacity());
        let second = read_pool.hold(1);
        let soon = Duration::from_secs(9);
        assert!(tokio::time::timeout(soon, read_pool.place(1)).await.is_err());
        let waiting = async { read_pool.place(1).await.is_some() };
        let freeing = async { drop(second) };
        assert!(tokio::time::timeout(soon, async { tokio::join!(waiting, freeing).0 }).await.unwrap());
        let mut first = first;
        first.shrink(10);
        assert_eq!(read_pool.backlog.bytes.load(Ordering::Acquire), 10);
        first.shrink(20);
        drop(first);
        assert_eq!(read_pool.backlog.bytes.load(Ordering::Acquire), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_small_response_doesnt_wait_for_costly_ones_of_ordinary_size() {
        let read_pool = ReadPool::new(2);
        let _costly = (read_pool.place(SMALL + 1).await, read_pool.place(LARGE).await);
        let soon = Duration::from_secs(9);
        assert!(tokio::time::timeout(soon, read_pool.place(SMALL + 1)).await.is_err());
        assert!(tokio::time::timeout(soon, read_pool.place(SMALL)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_ordinary_response_doesnt_wait_for_large_ones() {
        let read_pool = ReadPool::new(1);
        let large = read_pool.place(LARGE + 1).await;
        let soon = Duration::from_secs(9);
        assert!(tokio::time::timeout(soon, read_pool.place(LARGE + 1)).await.is_err());
        assert!(tokio::time::timeout(soon, read_pool.place(LARGE)).await.is_ok());
        drop(large);
        assert!(tokio::time::timeout(soon, read_pool.place(LARGE + 1)).await.is_ok());
    }
}
