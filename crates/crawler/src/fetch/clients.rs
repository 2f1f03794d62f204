//! The HTTP clients, and how long their connections live.
//!
//! Each origin has a client of its own, which keeps one idle connection. So what is known to be bad can be dropped with all
//! its connections, and nobody else's: a request that ran out of time is gone, but an HTTP/2 connection outlives its requests,
//! and a server that floods it answers every probe. A client goes with its origin's failure, when it gets old, when too many
//! are kept, and all go when this machine runs out of file descriptors.
//!
//! Origins of the seeds' hosts and all others differ in the address guard and share no client, so that a connection to a
//! private address is never used for a host that may not have one.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// The clients in use.
#[derive(Debug)]
pub(super) struct Clients {
    for_seeds: Shelf,
    for_others: Shelf,
}

impl Clients {
    /// Makes no client yet. Reads no environment: no proxy, whatever it says there.
    pub(super) fn new(settings: &FetchSettings, tls: &rustls::ClientConfig) -> Result<Self, SetupError> {
        let rules = Arc::new(Rules::new(&settings.resolve));
        let names = Arc::new(Names::new(settings.dns.clone(), settings.dns_timeout));
        let shelf = |host_is_seed| {
            let guard = Arc::new(AddressGuard { allow_net: settings.allow_net.clone(), host_is_seed });
            let recipe = Recipe {
                settings: settings.clone(),
                tls: tls.clone(),
                rules: Arc::clone(&rules),
                names: Arc::clone(&names),
                guard,
            };
            // What can't be made is told now and not with the first request.
            drop(recipe.make()?);
            Ok::<_, SetupError>(Shelf { recipe, kept: Mutex::default() })
        };
        Ok(Self { for_seeds: shelf(true)?, for_others: shelf(false)? })
    }

    fn shelf(&self, host_is_seed: bool) -> &Shelf {
        if host_is_seed { &self.for_seeds } else { &self.for_others }
    }

    /// Returns the guard of such hosts.
    pub(super) fn guard(&self, host_is_seed: bool) -> &AddressGuard {
        &self.shelf(host_is_seed).recipe.guard
    }

    /// Returns the client of an origin.
    pub(super) fn get(&self, host_is_seed: bool, origin: &str) -> Result<reqwest::Client, reqwest::Error> {
        self.shelf(host_is_seed).client(origin)
    }

    /// Drops the client of an origin with all its connections.
    pub(super) fn forget(&self, host_is_seed: bool, origin: &str) {
        self.shelf(host_is_seed).kept().remove(origin);
    }

    /// Looks up every address of a URL's host, as a connection would; none where that fails.
    pub(super) async fn addresses(&self, url: &url::Url, host_is_seed: bool) -> Vec<SocketAddr> {
        let host = url.host_str().unwrap_or_default();
        self.shelf(host_is_seed).recipe.resolver().look_up(host).await.unwrap_or_default()
    }

    /// Looks a name up, as a connection would.
    pub(super) async fn address(&self, host: &str, host_is_seed: bool) -> Option<IpAddr> {
        let found = self.shelf(host_is_seed).recipe.resolver().look_up(host).await.ok()?;
        found.first().map(SocketAddr::ip)
    }

    /// Closes every idle connection.
    pub(super) fn close_idle(&self) {
        self.for_seeds.kept().clear();
        self.for_others.kept().clear();
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

/// The client of one origin.
#[derive(Debug)]
struct Kept {
    client: reqwest::Client,
    born: Instant,
    used: Instant,
}

impl Recipe {
    fn resolver(&self) -> GuardedResolver {
        GuardedResolver {
            rules: Arc::clone(&self.rules),
            names: Arc::clone(&self.names),
            guard: Arc::clone(&self.guard),
        }
    }

    fn make(&self) -> Result<reqwest::Client, reqwest::Error> {
        let s = &self.settings;
        let resolver = self.resolver();
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .dns_resolver(resolver)
            .connector_layer(DialLayer)
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
        builder.build()
    }
}

/// The clients of origins under one address guard.
#[derive(Debug)]
struct Shelf {
    recipe: Recipe,
    kept: Mutex<HashMap<String, Kept>>,
}

impl Shelf {
    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, origin: &str) -> Result<reqwest::Client, reqwest::Error> {
        let settings = &self.recipe.settings;
        let now = Instant::now();
        let mut all = self.kept();
        if let Some(kept) = all.get_mut(origin)
            && now.duration_since(kept.born) < settings.connection_life
        {
            kept.used = now;
            return Ok(kept.client.clone());
        }
        let client = self.recipe.make()?;
        all.remove(origin);
        if all.len() >= settings.max_connections {
            // Those that have no connection any more, and if there are none, the one that waits longest.
            all.retain(|_, kept| now.duration_since(kept.used) < settings.idle_timeout);
            let oldest = all.iter().min_by_key(|(_, kept)| kept.used).map(|(origin, _)| origin.clone());
            if let Some(oldest) = oldest.filter(|_| all.len() >= settings.max_connections) {
                all.remove(&oldest);
            }
        }
        all.insert(origin.to_owned(), Kept { client: client.clone(), born: now, used: now });
        Ok(client)
    }
}
