//! The HTTP clients, and how long their connections live.
//!
//! There are two, which differ in the address guard alone: one for the hosts of the seeds, one for all others. They
//! share no connection, so that a connection to a private address is never used for a host that may not have one.
//!
//! A client keeps one idle connection a host. Connections have no life span of their own there, so the client as a
//! whole is replaced (its idle connections close, requests under way end in peace) when it gets old or has made many
//! connections, and when this machine runs out of file descriptors.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use super::dial::DialLayer;
use super::guard::AddressGuard;
use super::names::Names;
use super::resolver::{GuardedResolver, Rules};
use super::{FetchSettings, SetupError};

/// How often an HTTP/2 connection is probed by PING, and how long the answer may take.
const PROBE: Duration = Duration::from_secs(4);

/// Octets that a server may send over HTTP/2 beyond what we have read. At a round trip of 100 ms it is 1.3 MB a second.
const HTTP2_WINDOW: u32 = 128 << 10;

/// The two clients.
#[derive(Debug)]
pub(super) struct Clients {
    for_seeds: Slot,
    for_others: Slot,
}

impl Clients {
    /// Makes both clients. Reads no environment: no proxy, whatever it says there.
    pub(super) fn new(settings: &FetchSettings, tls: &rustls::ClientConfig) -> Result<Self, SetupError> {
        let rules = Arc::new(Rules::new(&settings.resolve));
        let names = Arc::new(Names::new(settings.dns.clone(), settings.dns_timeout));
        let slot = |host_is_seed| {
            let guard = Arc::new(AddressGuard { allow_net: settings.allow_net.clone(), host_is_seed });
            Slot::new(Recipe {
                settings: settings.clone(),
                tls: tls.clone(),
                rules: Arc::clone(&rules),
                names: Arc::clone(&names),
                guard,
            })
        };
        Ok(Self { for_seeds: slot(true)?, for_others: slot(false)? })
    }

    /// Returns the guard and a client of the right kind.
    pub(super) fn get(&self, host_is_seed: bool) -> (&AddressGuard, reqwest::Client) {
        let slot = if host_is_seed { &self.for_seeds } else { &self.for_others };
        (&slot.recipe.guard, slot.client())
    }

    /// Looks a name up, as a connection would.
    pub(super) async fn address(&self, host: &str, host_is_seed: bool) -> Option<IpAddr> {
        let slot = if host_is_seed { &self.for_seeds } else { &self.for_others };
        let found = slot.recipe.resolver().look_up(host).await.ok()?;
        found.first().map(SocketAddr::ip)
    }

    /// Closes every idle connection.
    pub(super) fn close_idle(&self) {
        self.for_seeds.renew(|_| true);
        self.for_others.renew(|_| true);
    }
}

/// What a client is made from.
#[derive(Debug)]
struct Recipe {
    settings: FetchSettings,
    tls: rustls::ClientConfig,
    rules: Arc<Rules>,
    names: Arc<Names>,
    guard: Arc<AddressGuard>,
}

/// One client and what is known about it.
#[derive(Debug)]
struct Generation {
    client: reqwest::Client,
    born: Instant,
    dials: DialLayer,
}

impl Recipe {
    fn resolver(&self) -> GuardedResolver {
        GuardedResolver {
            rules: Arc::clone(&self.rules),
            names: Arc::clone(&self.names),
            guard: Arc::clone(&self.guard),
        }
    }

    fn make(&self) -> Result<Generation, reqwest::Error> {
        let dials = DialLayer::default();
        let s = &self.settings;
        let resolver = self.resolver();
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .dns_resolver(resolver)
            .connector_layer(dials.clone())
            .connect_timeout(s.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
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
            builder = builder.http1_max_headers(s.max_header_count);
        }
        Ok(Generation { client: builder.build()?, born: Instant::now(), dials })
    }

    fn is_spent(&self, generation: &Generation) -> bool {
        generation.born.elapsed() > self.settings.connection_life
            || generation.dials.opened.load(Ordering::Relaxed) >= self.settings.max_connections
    }
}

#[derive(Debug)]
struct Slot {
    recipe: Recipe,
    current: RwLock<Generation>,
}

impl Slot {
    fn new(recipe: Recipe) -> Result<Self, SetupError> {
        let current = RwLock::new(recipe.make()?);
        Ok(Self { recipe, current })
    }

    fn client(&self) -> reqwest::Client {
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if !self.recipe.is_spent(&current) {
                return current.client.clone();
            }
        }
        self.renew(|generation| self.recipe.is_spent(generation))
    }

    /// Replaces the client if it is `spent`, and returns the one in use then.
    fn renew(&self, spent: impl Fn(&Generation) -> bool) -> reqwest::Client {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if spent(&current) {
            match self.recipe.make() {
                Ok(next) => *current = next,
                Err(error) => tracing::warn!("the HTTP client can't be renewed: {error}"),
            }
        }
        current.client.clone()
    }
}
