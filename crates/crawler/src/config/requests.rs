//! Settings of requests: how fast, how many and how large, and how one is made.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::dns::NameServer;
use crate::fetch::ResolveRule;
use crate::host_groups::{GroupBy, HostGroups, HostList};
use crate::origin_cache::OriginCache;
use crate::wishes::{self, WishSettings};
use page::units;

/// How fast we go. Everything here can only be overridden upwards by a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaceSettings {
    /// Minimum delay between the end of a response and the next request to the same host. Default: 1 s.
    #[serde(with = "units::duration")]
    pub delay: Duration,
    /// Longest pause that the adaptive delay may ask for; Crawl-delay, Retry-After and back-off may be longer. Default: 30 s.
    #[serde(with = "units::duration")]
    pub max_delay: Duration,
    /// Pause as a multiple of the last response time; 0 turns it off. Default: 5.
    pub adaptive: f64,
    /// Longest Crawl-delay that we wait for; a host that asks for more is skipped, never hurried. Default: 1 h.
    #[serde(with = "units::duration")]
    pub max_crawl_delay: Duration,
    /// A host that pauses for longer (robots.txt unreachable, Retry-After, back-off, Visit-time) doesn't keep a crawl alive that has
    /// nothing else to do. Default: 2 min.
    #[serde(with = "units::duration")]
    pub max_wait: Duration,
    /// Where the doubling of pauses after failures, 429 and 503 stops; never shortens a first pause (60 s), and `Retry-After` may ask
    /// for more. Default: 15 min.
    #[serde(with = "units::duration")]
    pub max_backoff: Duration,
    /// Requests in flight over all hosts; one host never has more than one. Default: 256.
    pub concurrency: usize,
    /// Which hosts share one slot and one gap: none, those of one registrable domain, or those of one IP address. Default: none.
    pub groups: GroupBy,
    /// Another name for `groups = "address"`. Default: no.
    pub per_ip: bool,
    /// Requests a second over all hosts; 0.5 is one every two seconds. Default: none.
    #[serde(with = "units::rate_limit")]
    pub max_rate: Option<f64>,
    /// Bytes a second over all hosts, as on the wire. Default: none.
    #[serde(with = "units::size_limit")]
    pub max_bandwidth: Option<u64>,
    /// Hosts that share one slot and one gap by hand, whatever `groups` says. Default: none.
    pub group: Vec<HostList>,
    /// The zone of wishes that name none. Default: UTC.
    pub zone: String,
    /// What owners of hosts asked for. Default: nothing.
    pub wishes: Vec<WishSettings>,
}

impl PaceSettings {
    /// Which hosts share one slot and one gap. The settings are validated: their lists are lists.
    pub fn host_groups(&self) -> HostGroups {
        HostGroups::new(self.group_by(), &self.group).unwrap_or_default()
    }

    /// What hosts have in common that share one slot and one gap.
    pub fn group_by(&self) -> GroupBy {
        if self.per_ip { GroupBy::Address } else { self.groups }
    }
}

impl Default for PaceSettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            adaptive: 5.0,
            max_crawl_delay: Duration::from_hours(1),
            max_wait: Duration::from_mins(2),
            max_backoff: Duration::from_mins(15),
            concurrency: 256,
            groups: GroupBy::Host,
            per_ip: false,
            max_rate: None,
            max_bandwidth: None,
            group: Vec::new(),
            zone: wishes::UTC.to_owned(),
            wishes: Vec::new(),
        }
    }
}

/// Where the crawl, a page or a response ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Pages of the whole crawl. Default: none.
    #[serde(with = "units::limit")]
    pub max_pages: Option<u64>,
    /// Pages of one host. Default: none.
    #[serde(with = "units::limit")]
    pub max_pages_per_host: Option<u64>,
    /// Images, scripts and other resources of the whole crawl; they don't count as pages. Default: none.
    #[serde(with = "units::limit")]
    pub max_resources: Option<u64>,
    /// Links from a seed to a page. Default: none.
    #[serde(with = "units::limit")]
    pub max_depth: Option<u32>,
    /// Time of the whole crawl. Default: none.
    #[serde(with = "units::duration_limit")]
    pub max_time: Option<Duration>,
    /// Bytes received by the whole crawl, as on the wire. Default: none.
    #[serde(with = "units::size_limit")]
    pub max_bytes: Option<u64>,
    /// Bytes of one body, on the wire and decoded. Default: 10 MiB.
    #[serde(with = "units::size")]
    pub max_body: u64,
    /// Bytes of a video, audio file, archive or disk image; a larger one isn't fetched. Default: 10 MiB.
    #[serde(with = "units::size_limit")]
    pub max_media: Option<u64>,
    /// Bytes of one response's header section. Default: 64 KiB.
    #[serde(with = "units::size")]
    pub max_header_bytes: u64,
    /// Field lines of one response's header section. Default: 100.
    pub max_header_count: usize,
    /// Bytes of a robots.txt or another file that speaks for its whole site, as decoded; never fewer than the default, which RFC 9309
    /// section 2.5 asks for. Default: 500 KiB.
    #[serde(with = "units::size")]
    pub max_robots: u64,
    /// Redirects in a row. Default: 10.
    pub max_redirects: u32,
    /// Bytes of a URL. Default: 2083.
    pub max_url_length: usize,
    /// Links taken from one page. Default: 10,000.
    pub max_links_per_page: usize,
    /// Bytes of memory for data that is kept per origin and can be read or looked up again: robots.txt, consent files,
    /// connections, addresses, trap
    /// counters. What was used longest ago goes first. Default: 16 MiB.
    #[serde(with = "units::size")]
    pub origin_cache: u64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            max_pages: None,
            max_pages_per_host: None,
            max_resources: None,
            max_depth: None,
            max_time: None,
            max_bytes: None,
            max_body: 10 << 20,
            max_media: Some(10 << 20),
            max_header_bytes: 64 << 10,
            max_header_count: 100,
            max_robots: 500 << 10,
            max_redirects: 10,
            max_url_length: 2083,
            max_links_per_page: 10_000,
            origin_cache: OriginCache::DEFAULT_BUDGET,
        }
    }
}

/// How a request is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FetchSettings {
    /// Time of one try, from DNS to the last byte. Default: 30 s.
    #[serde(with = "units::duration")]
    pub timeout: Duration,
    /// The part of `timeout` that DNS, TCP and TLS may take. Default: 10 s.
    #[serde(with = "units::duration")]
    pub connect_timeout: Duration,
    /// The part of `connect_timeout` that DNS may take. Default: 8 s.
    #[serde(with = "units::duration")]
    pub dns_timeout: Duration,
    /// How long an idle connection is kept for the next request. Default: 15 s.
    #[serde(with = "units::duration")]
    pub idle_timeout: Duration,
    /// How long a connection may be used for new requests. Default: 5 min.
    #[serde(with = "units::duration")]
    pub connection_life: Duration,
    /// Tries after the first one, where the failure may pass. Default: 2.
    pub retries: u32,
    /// How long this machine may be out of file descriptors, ports or memory before the URL in hand fails as `local` and the crawl
    /// ends. Default: 10 min.
    #[serde(with = "units::duration")]
    pub local_patience: Duration,
    /// Addresses of hosts, given by hand. Default: none.
    pub resolve: Vec<ResolveRule>,
    /// File with one such rule a line; [`load`](super::load) reads it into `resolve` and empties this. Default: none.
    pub resolve_file: PathBuf,
    /// Networks that are open to the crawl although they aren't public. Default: none.
    #[serde(deserialize_with = "networks")]
    pub allow_net: Vec<IpNet>,
    /// Name servers in place of the system's. Default: none.
    pub dns: Vec<NameServer>,
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let read = |text: &String| {
        let what =
            || format!("{text:?} isn't a network: write ADDRESS/BITS, as in 10.0.0.0/8 or 127.0.0.1/32");
        text.parse().map_err(|_| D::Error::custom(what()))
    };
    Vec::<String>::deserialize(deserializer)?.iter().map(read).collect()
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            dns_timeout: Duration::from_secs(8),
            idle_timeout: Duration::from_secs(15),
            connection_life: Duration::from_mins(5),
            retries: 2,
            local_patience: Duration::from_mins(10),
            resolve: Vec::new(),
            resolve_file: PathBuf::new(),
            allow_net: Vec::new(),
            dns: Vec::new(),
        }
    }
}
