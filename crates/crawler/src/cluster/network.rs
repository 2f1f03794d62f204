//! The requests of a worker, on threads that never wait for the database.
//!
//! A request in flight is aborted at the worker's deadline, also while the database is out of reach and all else waits for it.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::fetch::{DnsAnswer, ErrorKind, Fetch, FetchError, FetchRequest, FetchResult};

/// Makes requests on another runtime.
#[derive(Debug)]
pub struct Network<F> {
    fetch: Arc<F>,
    runtime: Handle,
}

impl<F> Clone for Network<F> {
    fn clone(&self) -> Self {
        Self { fetch: Arc::clone(&self.fetch), runtime: self.runtime.clone() }
    }
}

impl<F: Fetch> Network<F> {
    /// Makes the requests of `fetch` on `runtime`.
    pub fn new(fetch: F, runtime: Handle) -> Self {
        Self { fetch: Arc::new(fetch), runtime }
    }
}

/// A request that nobody waits for any more is aborted.
struct Aborting(AbortHandle);

impl Drop for Aborting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<F: Fetch> Fetch for Network<F> {
    async fn fetch(&self, request: FetchRequest) -> FetchResult {
        let fetch = Arc::clone(&self.fetch);
        let task = self.runtime.spawn(async move { fetch.fetch(request).await });
        let _aborting = Aborting(task.abort_handle());
        task.await.unwrap_or_else(|_| {
            // It panicked, which is reported where that happened; or the worker ends.
            Err(FetchError::new(ErrorKind::Local, "the request was given up"))
        })
    }

    async fn addresses(&self, request: &FetchRequest) -> Vec<IpAddr> {
        self.fetch.addresses(request).await
    }

    fn take_dns_answers(&self) -> Vec<DnsAnswer> {
        self.fetch.take_dns_answers()
    }
}
