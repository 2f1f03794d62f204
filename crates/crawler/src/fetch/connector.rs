//! Makes the connections: a name, TCP, TLS, and the record of what passes over them. One at a time for each client.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connection as _, HttpConnector, dns::Name};
use hyper_util::rt::TokioIo;
use tower_service::Service;

use super::connections::Connections;
use super::dial::Dial;
use super::recorded::{Recorded, TlsUsed, check_lease};
use super::resolver::GuardedResolver;
use crate::deadline::Deadline;

/// How often TCP asks whether a silent server is still there, and how often it may fail to answer.
const TCP_PROBE: Duration = Duration::from_secs(15);
const TCP_PROBES: u32 = 3;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What the client connects with.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<HttpConnector<GuardedResolver>>,
    timeout: Duration,
    /// Longest header section that is recorded, in bytes.
    max_head: usize,
    connections: Connections,
    deadline: Option<Deadline>,
}

impl Connector {
    /// `timeout` is for name, TCP and TLS together. What is made is counted among `connections`.
    pub(super) fn new(
        resolver: GuardedResolver,
        tls: Arc<rustls::ClientConfig>,
        timeout: Duration,
        max_head: usize,
        connections: Connections,
    ) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_PROBE));
        tcp.set_keepalive_interval(Some(TCP_PROBE));
        tcp.set_keepalive_retries(Some(TCP_PROBES));
        Self { inner: HttpsConnector::from((tcp, tls)), timeout, max_head, connections, deadline: None }
    }

    /// Opens no connection after a deadline, and writes nothing on one.
    pub(super) fn keeping_to(self, deadline: Option<Deadline>) -> Self {
        Self { deadline, ..self }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Recorded>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connector = self.clone();
        let dial = Dial::current();
        Box::pin(async move {
            let dial = dial.ok_or("a connection that no request asked for")?;
            // The client may continue this in another task, while the request goes over a connection that came back.
            tokio::select! {
                biased;
                () = dial.over() => Err("the request went over another connection".into()),
                connected = dial.scope(connector.connect(target, &dial)) => connected,
            }
        })
    }
}

impl Connector {
    async fn connect(mut self, target: Uri, dial: &Dial) -> Result<TokioIo<Recorded>, Error> {
        self.connections.closed().await;
        if let Some(deadline) = &self.deadline {
            check_lease(deadline)?;
        }
        dial.start();
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "operation timed out");
        let stream = tokio::time::timeout(self.timeout, self.inner.call(target)).await.map_err(late)??;
        let is_http2 = stream.connected().is_negotiated_h2();
        let tls = match &stream {
            MaybeHttpsStream::Http(_) => None,
            MaybeHttpsStream::Https(stream) => TlsUsed::of(stream.inner().get_ref().1),
        };
        dial.establish(is_http2);
        let max_head = (!is_http2).then_some(self.max_head);
        Ok(TokioIo::new(Recorded::new(stream, tls, max_head, self.connections.open(), self.deadline)))
    }
}

/// A name could not be looked up, or has no address that is open.
#[derive(Debug, thiserror::Error)]
#[error("dns error")]
pub(super) struct NameError(#[source] Error);

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = NameError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NameError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NameError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = self.clone();
        let aim = Dial::aim();
        Box::pin(async move {
            let aim = aim.ok_or_else(|| NameError("a lookup that no request asked for".into()))?;
            Ok(resolver.look_up(name.as_str(), &aim).await.map_err(NameError)?.into_iter())
        })
    }
}
