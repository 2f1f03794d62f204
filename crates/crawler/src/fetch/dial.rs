//! Watching the client make connections, which it doesn't tell about by itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// The dial of the request that runs in this task.
    static DIAL: Arc<Dial>;
}

/// What one request did to get a connection.
#[derive(Debug, Default)]
pub(super) struct Dial {
    started: AtomicBool,
    established: AtomicBool,
}

impl Dial {
    /// Runs the request `work`, noting here which connections it makes.
    pub(super) fn watch<F: Future>(self: &Arc<Self>, work: F) -> impl Future<Output = F::Output> {
        DIAL.scope(Arc::clone(self), work)
    }

    /// Whether the request went over a connection that an earlier one had left.
    pub(super) fn was_reused(&self) -> bool {
        !self.started.load(Ordering::Relaxed)
    }

    /// Whether there was a connection at all, TLS included.
    pub(super) fn is_connected(&self) -> bool {
        self.was_reused() || self.established.load(Ordering::Relaxed)
    }
}

/// Puts the watch around the client's connector.
#[derive(Debug, Clone, Copy)]
pub(super) struct DialLayer;

impl<S> Layer<S> for DialLayer {
    type Service = WatchedConnector<S>;

    fn layer(&self, inner: S) -> Self::Service {
        WatchedConnector { inner }
    }
}

/// A connector that notes what it does.
#[derive(Debug, Clone)]
pub(super) struct WatchedConnector<S> {
    inner: S,
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
            let connected = connecting.await;
            if let (Ok(_), Some(dial)) = (&connected, &dial) {
                dial.established.store(true, Ordering::Relaxed);
            }
            connected
        })
    }
}
