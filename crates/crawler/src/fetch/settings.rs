//! Limits and identity of the requests.

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;

use super::{OwnSeeds, RequestKind, ResolveRule};
use crate::wanted::Wanted;

/// How requests are made, and every limit on what comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchSettings {
    /// The User-Agent field, whole: `SuperRobot/1.0 (+https://example.org/robot)`.
    pub user_agent: String,
    /// The From field: the operator's e-mail address.
    pub from: Option<String>,
    /// One deadline for a try, from DNS to the last byte. The time that a body waits for memory doesn't count. Default
    /// 30 s.
    pub timeout: Duration,
    /// How long the body of a try may wait for memory in all, until the try fails as [`Local`](super::ErrorKind::Local).
    /// Default 10 min.
    pub memory_patience: Duration,
    /// The part of `timeout` that DNS, TCP and TLS may take. Default 10 s.
    pub connect_timeout: Duration,
    /// The part of `connect_timeout` that DNS may take. Default 8 s.
    pub dns_timeout: Duration,
    /// The name servers; none: those of the system.
    pub dns: Vec<SocketAddr>,
    /// Whether the answers of name servers are kept until [`Fetch::take_dns_answers`](super::Fetch::take_dns_answers) takes them. Default:
    /// no.
    pub keeps_dns_answers: bool,
    /// Largest body in bytes, for the body as sent and for the body as decoded each. Default 10 MiB.
    pub max_body: u64,
    /// Which pages and resources are read, by the heads of their responses. Default: all of them.
    pub wanted: Wanted,
    /// Largest robots.txt in bytes, as decoded. Default 512,000.
    pub max_robots: u64,
    /// Largest sitemap in bytes, as sent and as decoded each. Default 50 MiB, as sitemaps.org has it.
    pub max_sitemap: u64,
    /// Largest header section in bytes. Default 64 KiB.
    pub max_header_bytes: usize,
    /// Most field lines in a header section. Default 100.
    pub max_header_count: usize,
    /// Names that are answered from here and not by DNS.
    pub resolve: Vec<ResolveRule>,
    /// Networks that are open although they aren't public.
    pub allow_net: Vec<IpNet>,
    /// Seeds that name an address that isn't public: each is open with its own port.
    pub own_seeds: OwnSeeds,
    /// How long an idle connection is kept for the next request. Default 15 s.
    pub idle_timeout: Duration,
    /// How long a connection may be used for new requests. Default 5 min.
    pub connection_life: Duration,
    /// How many requests run at the same time; others wait. Default half of the file descriptors that this process
    /// may have, at most 4,096.
    pub max_in_flight: usize,
    /// How many origins may have an idle connection. Default an eighth of the file descriptors, at most 512.
    pub max_connections: usize,
}

impl FetchSettings {
    pub(super) const DEFAULT_HEADER_COUNT: usize = 100;

    /// Makes the default settings for a user agent.
    pub fn new(user_agent: impl Into<String>) -> Self {
        // A quarter remains for the database, the archive, the log.
        let descriptors = open_files_limit();
        Self {
            user_agent: user_agent.into(),
            from: None,
            timeout: Duration::from_secs(30),
            memory_patience: Duration::from_mins(10),
            connect_timeout: Duration::from_secs(10),
            dns_timeout: Duration::from_secs(8),
            dns: Vec::new(),
            keeps_dns_answers: false,
            max_body: 10 << 20,
            wanted: Wanted::default(),
            max_robots: 512_000,
            max_sitemap: 50 << 20,
            max_header_bytes: 64 << 10,
            max_header_count: Self::DEFAULT_HEADER_COUNT,
            resolve: Vec::new(),
            allow_net: Vec::new(),
            own_seeds: OwnSeeds::default(),
            idle_timeout: Duration::from_secs(15),
            connection_life: Duration::from_mins(5),
            max_in_flight: (descriptors / 2).clamp(1, 4096),
            max_connections: (descriptors / 8).clamp(1, 512),
        }
    }

    /// Returns the largest body that is read for `purpose`, in bytes.
    pub fn body_limit(&self, purpose: RequestKind) -> u64 {
        match purpose {
            RequestKind::Page | RequestKind::Resource | RequestKind::Head => self.max_body,
            RequestKind::Robots | RequestKind::SiteFile => self.max_robots,
            RequestKind::Sitemap => self.max_sitemap,
        }
    }
}

/// Returns how many files this process may have open (the soft limit), where the system tells; 1,024 elsewhere.
fn open_files_limit() -> usize {
    const USUAL: usize = 1024;
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    match line.and_then(|line| line.split_whitespace().next()) {
        Some("unlimited") => usize::MAX,
        Some(number) => number.parse().unwrap_or(USUAL),
        None => USUAL,
    }
}
