//! The settings themselves: one struct for each section of the TOML, with its defaults.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use robots::{Dialect, access::OnForbidden};
use serde::{Deserialize, Serialize};

use super::agent::Contact;
use super::dns::NameServer;
use super::resolve::ResolveRule;
use super::units;

/// Everything that a crawl may be told, complete: a key that nobody set has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// File with the seeds, `-` for standard input. Has no default.
    pub seed: PathBuf,
    /// Directory of everything that the crawl writes. Default: `crawl-data`.
    pub out: PathBuf,
    /// Who we are.
    pub agent: AgentSettings,
    /// How fast we go.
    pub pace: PaceSettings,
    /// How robots.txt is read.
    pub robots: RobotsSettings,
    /// Which URLs belong to the crawl.
    pub scope: ScopeSettings,
    /// Where the crawl, a page or a response ends.
    pub limits: LimitSettings,
    /// How a request is made.
    pub fetch: FetchSettings,
    /// What is archived.
    pub warc: WarcSettings,
    /// Fields that the researcher names, put into the page record. Default: none.
    pub extract: Vec<ExtractRule>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: PathBuf::new(),
            out: PathBuf::from("crawl-data"),
            agent: AgentSettings::default(),
            pace: PaceSettings::default(),
            robots: RobotsSettings::default(),
            scope: ScopeSettings::default(),
            limits: LimitSettings::default(),
            fetch: FetchSettings::default(),
            warc: WarcSettings::default(),
            extract: Vec::new(),
        }
    }
}

/// Who we are: product, contact and the other names that we obey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// Product as in the User-Agent header, `NAME/VERSION`. Has no default: a crawl can't start without.
    pub product: String,
    /// Where a webmaster finds us: URL or e-mail address. Default: none.
    #[serde(with = "units::contact")]
    pub contact: Option<Contact>,
    /// Other product tokens whose rules we obey as if they were ours. Default: none.
    pub aliases: Vec<String>,
}

impl AgentSettings {
    /// Gives the User-Agent header: `SuperRobot/1.0 (+contact)`, or the product alone without a contact.
    pub fn user_agent(&self) -> String {
        match &self.contact {
            Some(contact) => format!("{} (+{contact})", self.product),
            None => self.product.clone(),
        }
    }

    /// Gives the From header (RFC 9110 section 10.1.2): the contact, where it is an e-mail address.
    pub fn from_header(&self) -> Option<String> {
        match &self.contact {
            Some(Contact::Email(address)) => Some(address.clone()),
            _ => None,
        }
    }

    /// Gives the product token that robots.txt groups name: the product without its version.
    pub fn name(&self) -> &str {
        self.product.split('/').next().unwrap_or_default()
    }
}

/// How fast we go. Everything here can only be overridden upwards by a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaceSettings {
    /// Least pause between the end of a response and the next request to the same host. Default: 1 s.
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
    /// Requests in flight over all hosts; one host never has more than one. Default: 256.
    pub concurrency: usize,
    /// Whether hosts that share an IP address share one slot and one gap as well. Default: no.
    pub per_ip: bool,
    /// Requests a second over all hosts. Default: none.
    #[serde(with = "units::limit")]
    pub max_rate: Option<u32>,
    /// Octets a second over all hosts, as on the wire. Default: none.
    #[serde(with = "units::size_limit")]
    pub max_bandwidth: Option<u64>,
}

impl Default for PaceSettings {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            adaptive: 5.0,
            max_crawl_delay: Duration::from_hours(1),
            max_wait: Duration::from_mins(2),
            concurrency: 256,
            per_ip: false,
            max_rate: None,
            max_bandwidth: None,
        }
    }
}

/// How robots.txt is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RobotsSettings {
    /// Dialect. Default: hardened.
    pub dialect: Dialect,
    /// What 401 and 403 mean; stands in the TOML alone. Default: closed.
    pub on_forbidden: OnForbidden,
}

/// How far from the seeds the crawl goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeMode {
    /// The hosts of the seeds. The default.
    #[default]
    Host,
    /// The registrable domains of the seeds.
    Domain,
    /// URLs that begin with a seed's, up to its last slash.
    Prefix,
    /// Every host.
    Any,
}

/// Which URLs belong to the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSettings {
    /// How far from the seeds. Default: host.
    pub mode: ScopeMode,
    /// Regular expressions of which one must match the URL; empty: all. Default: empty.
    pub include: Vec<String>,
    /// Regular expressions of which none may match the URL. Default: empty.
    pub exclude: Vec<String>,
    /// Whether images, scripts, style sheets and other resources are fetched as well. Default: no.
    pub resources: bool,
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
    /// Links from a seed to a page. Default: none.
    #[serde(with = "units::limit")]
    pub max_depth: Option<u32>,
    /// Time of the whole crawl. Default: none.
    #[serde(with = "units::duration_limit")]
    pub max_time: Option<Duration>,
    /// Octets received by the whole crawl, as on the wire. Default: none.
    #[serde(with = "units::size_limit")]
    pub max_bytes: Option<u64>,
    /// Octets of one body, on the wire and decoded. Default: 10 MiB.
    #[serde(with = "units::size")]
    pub max_body: u64,
    /// Octets of one response's header section. Default: 64 KiB.
    #[serde(with = "units::size")]
    pub max_header_bytes: u64,
    /// Redirects in a row. Default: 10.
    pub max_redirects: u32,
    /// Octets of a URL. Default: 2083.
    pub max_url_length: usize,
    /// Links taken from one page. Default: 10,000.
    pub max_links_per_page: usize,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            max_pages: None,
            max_pages_per_host: None,
            max_depth: None,
            max_time: None,
            max_bytes: None,
            max_body: 10 << 20,
            max_header_bytes: 64 << 10,
            max_redirects: 10,
            max_url_length: 2083,
            max_links_per_page: 10_000,
        }
    }
}

/// How a request is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FetchSettings {
    /// Time of one try, from DNS to the last octet. Default: 30 s.
    #[serde(with = "units::duration")]
    pub timeout: Duration,
    /// Tries after the first one, where the failure may pass. Default: 2.
    pub retries: u32,
    /// Addresses of hosts, given by hand. Default: none.
    pub resolve: Vec<ResolveRule>,
    /// File with one such rule a line; [`load`](super::load) reads it into `resolve` and empties this. Default: none.
    pub resolve_file: PathBuf,
    /// Networks that are open to the crawl although they aren't public. Default: none.
    pub allow_net: Vec<IpNet>,
    /// Name servers in place of the system's. Default: none.
    pub dns: Vec<NameServer>,
}

impl Default for FetchSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retries: 2,
            resolve: Vec::new(),
            resolve_file: PathBuf::new(),
            allow_net: Vec::new(),
            dns: Vec::new(),
        }
    }
}

/// What is archived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WarcSettings {
    /// Whether bodies are kept in WARC files. Default: yes.
    pub enabled: bool,
    /// Octets of a WARC file after which the next one is begun. Default: 1 GiB.
    #[serde(with = "units::size")]
    pub max_file_size: u64,
}

impl Default for WarcSettings {
    fn default() -> Self {
        Self { enabled: true, max_file_size: 1 << 30 }
    }
}

/// One field that the researcher names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractRule {
    /// Name of the field in the page record.
    pub name: String,
    /// CSS selector.
    pub selector: String,
    /// Attribute whose value is taken. Default: none, the element's text is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// Whether all matches are taken, or the first one. Default: the first one.
    pub all: bool,
}
