//! DNS lookups: asynchronous, with their own deadline, so that an unresponsive name server for one host delays no other.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::{Query, ResponseCode};
use hickory_resolver::proto::rr::{DNSClass, Name, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{Hosts, TokioResolver};
use tokio::time::Instant;

use crate::origin_cache::{Kind, OriginCache};
use page::clock::instant;

/// After this the system's configuration is read again: a machine may change its network while it crawls.
const CONFIGURATION_LIFE: Duration = Duration::from_mins(5);

/// How long one question waits for its answer before it is asked again; the system may say less.
const ONE_QUESTION: Duration = Duration::from_millis(2_500);

/// Why a name has no address for us.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookupError {
    #[error("the name doesn't exist")]
    NoName,
    #[error("the name has no address")]
    NoAddress,
    #[error("the name servers didn't respond within {0:?}")]
    Timeout(Duration),
    #[error("the name had no address when it was last looked up")]
    NotBooked,
    #[error("no name server is known: /etc/resolv.conf can't be used")]
    NoServer(#[source] Arc<NetError>),
    #[error("the name server can't be asked")]
    System(#[source] io::Error),
    #[error("the name server answers {0}")]
    Refused(ResponseCode),
    #[error("the name can't be looked up")]
    Other(#[source] NetError),
}

/// What name servers answered for a name, for the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsAnswer {
    /// The name, in lower case, without a dot at its end.
    pub host: String,
    /// When the answer came.
    pub at: Instant,
    /// Its records in the order of the answer, each as a line of a master file (RFC 1035 section 5.1), with tabs between the fields:
    /// name with its dot, seconds that it holds, class, type, data.
    pub records: Vec<String>,
}

/// Answers that are kept until somebody takes them: more than one for each request that may be under way.
const MOST_ANSWERS: usize = 16_384;

/// Asks the name servers of the system, or those that the settings name.
#[derive(Debug)]
pub(super) struct Names {
    servers: Vec<SocketAddr>,
    deadline: Duration,
    system: fn() -> Result<(ResolverConfig, ResolverOpts), NetError>,
    current: Mutex<Option<Arc<Current>>>,
    /// Answers that still hold. The resolver's own cache is off: it counts answers, and one of them may take a megabyte.
    kept: Arc<OriginCache>,
    /// What was answered since somebody took it; none where nobody does.
    answers: Option<Mutex<Vec<DnsAnswer>>>,
}

/// What was answered for a name, until when it holds.
#[derive(Debug)]
struct Answer {
    found: Result<Vec<IpAddr>, Nothing>,
    until: Instant,
}

/// An answer without addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nothing {
    NoName,
    NoAddress,
}

impl From<Nothing> for LookupError {
    fn from(nothing: Nothing) -> Self {
        match nothing {
            Nothing::NoName => Self::NoName,
            Nothing::NoAddress => Self::NoAddress,
        }
    }
}

/// The configuration in use.
struct Current {
    resolver: TokioResolver,
    /// Why there is no name server.
    without_server: Option<Arc<NetError>>,
    /// Names that no name server is asked for.
    hosts: Hosts,
    read: Instant,
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("without_server", &self.without_server).finish_non_exhaustive()
    }
}

impl Names {
    /// Makes a name service without reading anything yet. No servers: those of `/etc/resolv.conf`.
    pub(super) fn new(servers: Vec<SocketAddr>, deadline: Duration, kept: Arc<OriginCache>) -> Self {
        Self { servers, deadline, system: read_system_conf, current: Mutex::default(), kept, answers: None }
    }

    /// Keeps the answers of name servers until they are taken.
    pub(super) fn keeping_answers(self, keeps: bool) -> Self {
        Self { answers: keeps.then(Mutex::default), ..self }
    }

    /// Takes the answers that name servers gave since the last call.
    pub(super) fn take_answers(&self) -> Vec<DnsAnswer> {
        let answers =
            self.answers.as_ref().map(|answers| answers.lock().unwrap_or_else(PoisonError::into_inner));
        answers.map(|mut answers| std::mem::take(&mut *answers)).unwrap_or_default()
    }

    /// Keeps an answer, unless it is from this machine alone.
    fn answered(&self, host: &str, current: &Current, found: &LookupIp) {
        let Some(answers) = &self.answers else { return };
        if current.is_local(host) {
            return;
        }
        let records = found.as_lookup().answers().iter();
        let line = |record: &hickory_resolver::proto::rr::Record| {
            let (class, kind) = (record.dns_class, record.record_type());
            format!("{}\t{}\t{class}\t{kind}\t{}", record.name, record.ttl, record.data)
        };
        let records = records.filter(|record| record.dns_class == DNSClass::IN).map(line).collect();
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() < MOST_ANSWERS {
            answers.push(DnsAnswer { host: host.to_owned(), at: instant(), records });
        } else {
            tracing::warn!(host, "the DNS answer isn't archived: {MOST_ANSWERS} others wait to be");
        }
    }

    /// Returns the addresses of a name: those of `/etc/hosts`, else those of the name servers. An answer is used again for as long as its
    /// records say, and not beyond [`CONFIGURATION_LIFE`].
    ///
    /// A system without a usable configuration is an error here, not before: a crawl may need no name at all.
    pub(super) async fn look_up(&self, host: &str) -> Result<Vec<IpAddr>, LookupError> {
        let current = self.current()?;
        if let Some(answer) = self.kept.get::<Answer>(Kind::Addresses, host)
            && instant() < answer.until
        {
            return answer.found.clone().map_err(Into::into);
        }
        let answer = tokio::time::timeout(self.deadline, current.resolver.lookup_ip(host)).await;
        match answer {
            Ok(Ok(found)) => {
                let addresses: Vec<IpAddr> = found.iter().collect();
                self.answered(host, &current, &found);
                self.keep(host, &current, Ok(addresses.clone()), Instant::from_std(found.valid_until()));
                Ok(addresses)
            }
            Ok(Err(error)) => Err(match (&current.without_server, error) {
                (Some(why), _) => LookupError::NoServer(Arc::clone(why)),
                (None, error) => {
                    if let Some((nothing, until)) = nothing(&error) {
                        self.keep(host, &current, Err(nothing), until);
                    }
                    self.why(error)
                }
            }),
            Err(_) => Err(LookupError::Timeout(self.deadline)),
        }
    }

    fn keep(&self, host: &str, current: &Current, found: Result<Vec<IpAddr>, Nothing>, until: Instant) {
        let until = until.min(current.read + CONFIGURATION_LIFE);
        if until <= instant() {
            return;
        }
        let addresses = found.as_ref().map_or(0, Vec::capacity) * size_of::<IpAddr>();
        let bytes = size_of::<Answer>() + addresses;
        self.kept.keep(Kind::Addresses, host, Arc::new(Answer { found, until }), bytes);
    }

    fn why(&self, error: NetError) -> LookupError {
        match error {
            NetError::Timeout => LookupError::Timeout(self.deadline),
            NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
                ResponseCode::NXDomain => LookupError::NoName,
                ResponseCode::NoError => LookupError::NoAddress,
                code => LookupError::Refused(code),
            },
            NetError::Io(error) => LookupError::System(match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            }),
            error => LookupError::Other(error),
        }
    }

    fn current(&self) -> Result<Arc<Current>, LookupError> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) =
            current.as_ref().filter(|current| instant() - current.read < CONFIGURATION_LIFE)
        {
            return Ok(Arc::clone(current));
        }
        let made = Arc::new(self.configure()?);
        *current = Some(Arc::clone(&made));
        Ok(made)
    }

    fn configure(&self) -> Result<Current, LookupError> {
        let mut without_server = None;
        let (config, mut options) = if self.servers.is_empty() {
            (self.system)().unwrap_or_else(|error| {
                without_server = Some(Arc::new(error));
                (ResolverConfig::from_parts(None, Vec::new(), Vec::new()), ResolverOpts::default())
            })
        } else {
            let servers = self.servers.iter().map(|addr| name_server(*addr)).collect();
            (ResolverConfig::from_parts(None, Vec::new(), servers), ResolverOpts::default())
        };
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.timeout = options.timeout.min(ONE_QUESTION);
        options.attempts = options.attempts.max(2);
        options.cache_size = 0;
        // Questions that nobody answers don't hold up others.
        options.max_active_requests = 4_096;
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        *builder.options_mut() = options;
        let resolver = builder.build().map_err(LookupError::Other)?;
        // What the resolver reads as well.
        let hosts =
            if self.answers.is_some() { Hosts::from_system().unwrap_or_default() } else { Hosts::default() };
        Ok(Current { resolver, without_server, hosts, read: instant() })
    }
}

impl Current {
    /// Asks whether a name's addresses come from no name server: `localhost` (RFC 6761 section 6.3), and names in `/etc/hosts`.
    fn is_local(&self, host: &str) -> bool {
        let is_listed =
            |name: &Name, kind| self.hosts.lookup_static_host(&Query::query(name.clone(), kind)).is_some();
        host == "localhost"
            || host.ends_with(".localhost")
            || Name::from_ascii(host)
                .is_ok_and(|name| is_listed(&name, RecordType::A) || is_listed(&name, RecordType::AAAA))
    }
}

/// That there is nothing, if the name server says so, and for how long that holds.
fn nothing(error: &NetError) -> Option<(Nothing, Instant)> {
    let NetError::Dns(DnsError::NoRecordsFound(none)) = error else { return None };
    let nothing = match none.response_code {
        ResponseCode::NXDomain => Nothing::NoName,
        ResponseCode::NoError => Nothing::NoAddress,
        _ => return None,
    };
    let seconds = none.negative_ttl?;
    Some((nothing, instant() + Duration::from_secs(u64::from(seconds))))
}

fn name_server(addr: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = addr.port();
        connection
    });
    NameServerConfig::new(addr.ip(), true, connections.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_system_without_name_servers_is_reported_by_the_first_lookup() {
        let mut names = Names::new(Vec::new(), Duration::from_secs(5), Arc::default());
        names.system = || Err(io::Error::from(io::ErrorKind::NotFound).into());
        assert_eq!(names.look_up("localhost").await.unwrap().first(), Some(&IpAddr::from([127, 0, 0, 1])));
        let error = names.look_up("a.test").await.unwrap_err();
        assert!(matches!(error, LookupError::NoServer(_)), "{error}");
        assert!(error.to_string().contains("/etc/resolv.conf"), "{error}");
    }
}
