//! Observes the connections of the client, which doesn't report them, and informs the resolver what they are for.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tower_service::Service;
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
}

impl Dial {
    pub(super) fn new(aim: Aim) -> Self {
        Self { aim, started: AtomicBool::new(false), established: AtomicBool::new(false) }
    }

    /// What the request in this task is for.
    pub(super) fn aim() -> Option<Aim> {
        DIAL.try_with(|dial| dial.aim.clone()).ok()
    }

    /// Runs the request `work`, noting here which connections it makes.
    pub(super) fn watch<F: Future>(self: &Arc<Self>, work: F) -> impl Future<Output = F::Output> {
        DIAL.scope(Arc::clone(self), work)
    }

    /// Whether the request reused a connection of an earlier one.
    pub(super) fn was_reused(&self) -> bool {
        !self.started.load(Ordering::Relaxed)
    }

    /// Whether there was a connection at all, TLS included.
    pub(super) fn is_connected(&self) -> bool {
        self.was_reused() || self.established.load(Ordering::Relaxed)
    }
}

/// A connector that notes what it does.
#[derive(Debug, Clone)]
pub(super) struct WatchedConnector<S> {
    inner: S,
}

impl<S> WatchedConnector<S> {
    /// Puts the watch around a connector.
    pub(super) fn new(inner: S) -> Self {
        Self { inner }
    }
}

impl<S, R> Service<R> for WatchedConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, target: R) -> Self::Future {
        let dial = DIAL.try_with(Arc::clone).ok();
        if let Some(dial) = &dial {
            dial.started.store(true, Ordering::Relaxed);
        }
        let connecting = self.inner.call(target);
        Box::pin(async move {
            // The client may continue it in another task.
            let Some(dial) = dial else { return connecting.await };
            let connected = dial.watch(connecting).await;
            if connected.is_ok() {
                dial.established.store(true, Ordering::Relaxed);
            }
            connected
        })
    }
}
