//! The HTTP clients, and how long their connections live.
//!
//! Each origin has its own client, which keeps one idle connection. So a bad client can be dropped with all its
//! connections, without affecting other origins: a request that ran out of time is gone, but an HTTP/2 connection
//! outlives its requests,
//! and a server that floods it answers every probe. A client goes with its origin's failure, when it gets old, when too many
//! are kept or the memory for what is kept of origins is used up (the one that was used longest ago), and all go when this machine
//! runs out of file descriptors.
//!
//! Where hosts are booked on addresses, a client is for one of them: a connection to another one is never used again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;

use super::broken_http_2::BrokenHttp2;
use super::connections::Connections;
use super::connector::Connector;
use super::dial::Aim;
use super::guard::AddressGuard;
use super::names::{DnsAnswer, Names};
use super::resolver::{GuardedResolver, Rules};
use super::{Booked, FetchSettings, trust};
use crate::deadline::Deadline;
use crate::origin_cache::{Kind, OriginCache};
use page::clock::instant;

/// How often an HTTP/2 connection is probed by PING, and how long the answer may take.
const PROBE: Duration = Duration::from_secs(4);

/// Bytes that a server may send over HTTP/2 beyond what we have read. At a round trip of 100 ms it is 1.3 MB a second.
const HTTP2_WINDOW: u32 = 128 << 10;

/// Bytes of memory that a client takes with its idle connection, over TLS with the buffers of a response that was read.
const MEMORY: usize = 48 << 10;

/// A client of HTTP; requests have no body.
pub(super) type Client = legacy::Client<Connector, Empty<Bytes>>;

/// The clients in use.
#[derive(Debug)]
pub(super) struct Clients {
    recipe: Recipe,
    kept: Arc<OriginCache>,
    broken: BrokenHttp2,
}

impl Clients {
    /// Makes no client yet. Reads no environment: no proxy, whatever it says there.
    pub(super) fn new(settings: &FetchSettings, tls: rustls::ClientConfig, kept: Arc<OriginCache>) -> Self {
        let recipe = Recipe {
            settings: settings.clone(),
            tls_of_http_1: Arc::new(trust::of_http_1(tls.clone())),
            tls: Arc::new(tls),
            resolver: GuardedResolver {
                rules: Arc::new(Rules::new(&settings.resolve)),
                names: Arc::new(
                    Names::new(settings.dns.clone(), settings.dns_timeout, Arc::clone(&kept))
                        .keeping_answers(settings.keeps_dns_answers),
                ),
                guard: Arc::new(AddressGuard {
                    allow_net: settings.allow_net.clone(),
                    own: settings.own_seeds.clone(),
                }),
            },
            deadline: None,
        };
        Self { recipe, kept, broken: BrokenHttp2::default() }
    }

    /// Opens no connection after a deadline, and writes nothing on one.
    pub(super) fn keep_to(&mut self, deadline: Deadline) {
        self.recipe.deadline = Some(deadline);
    }

    /// Returns the guard of addresses.
    pub(super) fn guard(&self) -> &AddressGuard {
        &self.recipe.resolver.guard
    }

    /// The origins with which HTTP/2 doesn't work.
    pub(super) fn broken_http_2(&self) -> &BrokenHttp2 {
        &self.broken
    }

    /// Drops the client of an origin with all its connections.
    pub(super) fn forget(&self, origin: &str) {
        self.kept.remove(Kind::Client, origin);
    }

    /// Looks a name up, as a connection would; nothing where that fails.
    pub(super) async fn addresses(&self, host: &str, aim: &Aim) -> Vec<SocketAddr> {
        self.recipe.resolver.look_up(host, aim).await.unwrap_or_default()
    }

    /// Takes what name servers answered since the last call.
    pub(super) fn take_dns_answers(&self) -> Vec<DnsAnswer> {
        self.recipe.resolver.names.take_answers()
    }

    /// Closes every idle connection.
    pub(super) fn close_idle(&self) {
        self.kept.limit(Kind::Client, 0);
    }

    /// Returns the client of an origin, for connections to the `booked` address alone if there is one.
    ///
    /// The second value is the connections that it makes.
    pub(super) fn get(&self, origin: &str, booked: Option<Booked>) -> (Client, Connections) {
        let settings = &self.recipe.settings;
        let now = instant();
        if let Some(kept) = self.kept.get::<Kept>(Kind::Client, origin)
            && now.duration_since(kept.born) < settings.connection_life
            && kept.booked == booked
        {
            return (kept.client.clone(), kept.connections.clone());
        }
        let connections = Connections::default();
        let client = self.recipe.make(connections.clone(), self.broken.wants_http_1(origin));
        let kept = Kept { client: client.clone(), connections: connections.clone(), booked, born: now };
        self.kept.keep(Kind::Client, origin, Arc::new(kept), MEMORY);
        self.kept.limit(Kind::Client, settings.max_connections);
        (client, connections)
    }
}

/// What a client is made from.
#[derive(Debug)]
struct Recipe {
    settings: FetchSettings,
    tls: Arc<rustls::ClientConfig>,
    tls_of_http_1: Arc<rustls::ClientConfig>,
    resolver: GuardedResolver,
    deadline: Option<Deadline>,
}

/// The client of one origin.
#[derive(Debug)]
struct Kept {
    client: Client,
    connections: Connections,
    booked: Option<Booked>,
    born: Instant,
}

impl Recipe {
    fn make(&self, connections: Connections, http_1: bool) -> Client {
        let s = &self.settings;
        // Not longer than what the client itself reads of a header section.
        let max_head = s.max_header_bytes.saturating_mul(2);
        let connector = Connector::new(
            self.resolver.clone(),
            Arc::clone(if http_1 { &self.tls_of_http_1 } else { &self.tls }),
            s.connect_timeout,
            max_head,
            connections,
        )
        .keeping_to(self.deadline.clone());
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(s.idle_timeout)
            // A frozen or flooding server keeps neither its connection nor the next request on it, after a try that ran out
            // of time either: what doesn't answer a PING ends.
            .http2_keep_alive_interval(PROBE)
            .http2_keep_alive_timeout(PROBE)
            .http2_keep_alive_while_idle(true)
            // What a server may send before we have read it: no more than over HTTP/1.1.
            .http2_initial_stream_window_size(HTTP2_WINDOW)
            .http2_initial_connection_window_size(HTTP2_WINDOW)
            .http2_max_header_list_size(u32::try_from(s.max_header_bytes).unwrap_or(u32::MAX))
            // Servers break the grammar of field lines in these ways; browsers read them all the same.
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true);
        if s.max_header_count != FetchSettings::DEFAULT_HEADER_COUNT {
            // The client's own limit is the same and costs no allocation.
            builder.http1_max_headers(s.max_header_count);
        }
        builder.build(connector)
    }
}
