//! What a request does to get a connection, which the client doesn't report, and what the resolver is to know of it.

use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use url::Url;

use super::{AddressClass, Booked, FetchRequest};

tokio::task_local! {
    /// The dial of the request that runs in this task.
    static DIAL: Arc<Dial>;
}

/// What a connection is wanted for: it decides about the address.
#[derive(Debug, Clone)]
pub(super) struct Aim {
    /// The port, and whether the URL has it.
    pub(super) port: u16,
    pub(super) is_explicit: bool,
    pub(super) booked: Option<Booked>,
    /// See [`FetchRequest::class`].
    pub(super) class: Arc<OnceLock<AddressClass>>,
}

impl Aim {
    pub(super) fn of(request: &FetchRequest, url: &Url) -> Self {
        Self {
            port: url.port_or_known_default().unwrap_or_default(),
            is_explicit: url.port().is_some(),
            booked: request.booked,
            class: Arc::clone(&request.class),
        }
    }

    /// The one address that may be connected to, if there is such.
    pub(super) fn pinned(&self) -> Option<IpAddr> {
        match self.booked {
            Some(Booked::At(addr)) => Some(addr),
            _ => None,
        }
    }
}

/// What one request did to get a connection.
#[derive(Debug)]
pub(super) struct Dial {
    aim: Aim,
    started: AtomicBool,
    established: AtomicBool,
    http_2: AtomicBool,
    over: AtomicBool,
    end: Notify,
}

impl Dial {
    pub(super) fn new(aim: Aim) -> Self {
        Self {
            aim,
            started: AtomicBool::new(false),
            established: AtomicBool::new(false),
            http_2: AtomicBool::new(false),
            over: AtomicBool::new(false),
            end: Notify::new(),
        }
    }

    /// The dial of the request in this task.
    pub(super) fn current() -> Option<Arc<Self>> {
        DIAL.try_with(Arc::clone).ok()
    }

    /// What the request in this task is for.
    pub(super) fn aim() -> Option<Aim> {
        DIAL.try_with(|dial| dial.aim.clone()).ok()
    }

    /// Runs the request `work`, which wants a connection for as long as it runs.
    pub(super) fn watch<F: Future>(self: &Arc<Self>, work: F) -> impl Future<Output = F::Output> {
        let wanted = Wanted(Arc::clone(self));
        self.scope(async move {
            let _wanted = wanted;
            work.await
        })
    }

    /// Runs a part of the request that the client may continue in another task.
    pub(super) fn scope<F: Future>(self: &Arc<Self>, work: F) -> impl Future<Output = F::Output> {
        DIAL.scope(Arc::clone(self), work)
    }

    /// Notes that a connection is being made.
    pub(super) fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// Notes that a connection was made, TLS included, and whether HTTP/2 was agreed on.
    pub(super) fn establish(&self, is_http_2: bool) {
        self.http_2.store(is_http_2, Ordering::Relaxed);
        self.established.store(true, Ordering::Relaxed);
    }

    /// Returns when the request has its answer, or was given up: from then on it needs no connection.
    pub(super) async fn over(&self) {
        let mut end = std::pin::pin!(self.end.notified());
        // Before the flag is read, so that no notice is missed.
        end.as_mut().enable();
        if !self.over.load(Ordering::SeqCst) {
            end.await;
        }
    }

    /// Whether the request reused a connection of an earlier one.
    pub(super) fn was_reused(&self) -> bool {
        !self.started.load(Ordering::Relaxed)
    }

    /// Whether the request made a connection of its own, for HTTP/2.
    pub(super) fn made_http_2(&self) -> bool {
        self.http_2.load(Ordering::Relaxed)
    }

    /// Whether there was a connection at all, TLS included.
    pub(super) fn is_connected(&self) -> bool {
        self.was_reused() || self.established.load(Ordering::Relaxed)
    }
}

/// Ends what a request wants when it is dropped.
struct Wanted(Arc<Dial>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
        self.0.end.notify_waiters();
    }
}
