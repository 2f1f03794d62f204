//! Options of a crawl that can be given at its start and when it is resumed.

use std::path::{Path, PathBuf};

use clap::Args;
use crawler::config::units::{self, UnitError};
use crawler::config::{CliOverrides, KEYS};

/// Options that may change when a crawl is resumed: they affect what is fetched next, not earlier decisions.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches")]
pub(crate) struct AdjustableArgs {
    /// How site owners can reach you: a URL or an e-mail address, sent with every request; repeatable
    #[arg(long, value_name = "URL|EMAIL", help_heading = "Who we are")]
    contact: Vec<String>,

    /// What the ledger records: nothing, every decision, or also each queued link and each delay [default: decisions]
    #[arg(long, value_name = "LEVEL", value_parser = ["off", "decisions", "full"], help_heading = "What and where")]
    ledger: Option<String>,
    /// Keep a full-text index of the pages that may be indexed, for `crawl search` [default: true]
    #[arg(long, overrides_with = "no_index", help_heading = "What and where")]
    index: bool,
    /// Keep no full-text index, and remove an existing one
    #[arg(long, help_heading = "What and where")]
    no_index: bool,

    /// Minimum delay between requests to a host, from the end of a response [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Pace")]
    delay: Option<String>,
    /// Maximum delay that --adaptive may set; sites may ask for more [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Pace")]
    max_delay: Option<String>,
    /// Delay as a multiple of the last response time; 0 = off [default: 5]
    #[arg(long, value_name = "FACTOR", help_heading = "Pace")]
    adaptive: Option<f64>,
    /// Maximum Crawl-delay to accept; a host that asks for more is skipped [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Pace")]
    max_crawl_delay: Option<String>,
    /// Maximum requests in flight over all hosts; always at most one per host [default: 256]
    #[arg(long, value_name = "N", help_heading = "Pace")]
    concurrency: Option<u32>,
    /// Hosts that share one request slot and one delay: none, those of a registrable domain, or those of an IP address [default: host]
    #[arg(long, value_name = "GROUPS", value_parser = ["host", "domain", "address"], help_heading = "Pace")]
    groups: Option<String>,
    /// The same as --groups address [default: false]
    #[arg(long, conflicts_with = "groups", help_heading = "Pace")]
    per_ip: bool,
    /// Maximum requests per second over all hosts [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<f64>), help_heading = "Pace")]
    max_rate: Option<String>,
    /// Maximum bytes per second over all hosts [default: none]
    #[arg(long, value_name = "SIZE", value_parser = checked(units::parse_size_limit), help_heading = "Pace")]
    max_bandwidth: Option<String>,

    /// What to crawl: the hosts of the seeds, their domains, the paths below them, or any URL [default: host]
    #[arg(long, value_name = "SCOPE", value_parser = ["host", "domain", "prefix", "any"], help_heading = "Scope")]
    scope: Option<String>,
    /// Crawl only URLs that match this regular expression, or another --include; repeatable
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    include: Vec<String>,
    /// Skip URLs that match this regular expression; repeatable, overrides --include
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    exclude: Vec<String>,
    /// Also fetch images, scripts, style sheets and other resources [default: false]
    #[arg(long, help_heading = "Scope")]
    resources: bool,
    /// Where a page's resources may be, besides the hosts that are crawled: its own host, its domain, or any host [default: host]
    #[arg(long, value_name = "HOSTS", value_parser = ["host", "domain", "any"], help_heading = "Scope")]
    resource_hosts: Option<String>,
    /// Challenges, refusals and sign-ins sent instead of pages: count them as walls, or keep them as pages [default: count]
    #[arg(long, value_name = "ACTION", value_parser = ["count", "keep"], help_heading = "Scope")]
    walls: Option<String>,
    /// When a seed redirects to another site, crawl that site too, and not only the page it redirects to [default: false]
    #[arg(long, help_heading = "Scope")]
    follow_moved_seeds: bool,
    /// Keep only responses of these MIME types, as in text/* or application/pdf; others are refused after the response's head; repeatable
    #[arg(long, value_name = "TYPE", value_delimiter = ',', help_heading = "Scope")]
    types: Vec<String>,

    /// URLs that cost a site much, such as histories, searches and carts: skip them, request a few of each group, or keep them [default: skip]
    #[arg(long, value_name = "ACTION", value_parser = ["skip", "budget", "keep"], help_heading = "Scope")]
    costly: Option<String>,

    /// Maximum pages of the crawl [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<u64>), help_heading = "Limits")]
    max_pages: Option<String>,
    /// Maximum pages per host [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<u64>), help_heading = "Limits")]
    max_pages_per_host: Option<String>,
    /// Maximum images, scripts and other resources of the crawl; they don't count as pages [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<u64>), help_heading = "Limits")]
    max_resources: Option<String>,
    /// Maximum links from a seed; 0 = only the seeds [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<u32>), help_heading = "Limits")]
    max_depth: Option<String>,
    /// Maximum duration of the crawl [default: none]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration_limit), help_heading = "Limits")]
    max_time: Option<String>,
    /// Maximum bytes received by the crawl [default: none]
    #[arg(long, value_name = "SIZE", value_parser = checked(units::parse_size_limit), help_heading = "Limits")]
    max_bytes: Option<String>,
    /// Maximum bytes of one body, as transferred and as decoded; the rest is cut [default: 10MiB]
    #[arg(long, value_name = "SIZE", value_parser = checked(units::parse_size), help_heading = "Limits")]
    max_body: Option<String>,

    /// Deadline of one attempt, from the DNS lookup to the last byte [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Fetching")]
    timeout: Option<String>,
    /// Retries for transient failures [default: 2]
    #[arg(long, value_name = "N", help_heading = "Fetching")]
    retries: Option<u32>,
    /// Use this address for a host instead of DNS; PORT replaces 80 and 443; IPv6 addresses in brackets; repeatable
    #[arg(long, value_name = "HOST:ADDR[:PORT]", help_heading = "Fetching")]
    resolve: Vec<String>,
    /// File with one --resolve rule per line
    #[arg(long, value_name = "FILE", help_heading = "Fetching")]
    resolve_file: Option<PathBuf>,
    /// Allow a private network, as in 10.0.0.0/8; repeatable
    #[arg(long, value_name = "CIDR", help_heading = "Fetching")]
    allow_net: Vec<String>,
}

/// Wraps a parser so that it checks the text and returns it unchanged.
pub(crate) fn checked<T: 'static>(
    parse: fn(&str) -> Result<T, UnitError>,
) -> impl Fn(&str) -> Result<String, UnitError> + Clone + Send + Sync + 'static {
    move |text| parse(text).map(|_| text.to_owned())
}

impl AdjustableArgs {
    /// Adds the given options to the overrides.
    pub(crate) fn add_to(&self, overrides: &mut CliOverrides) {
        let texts = [
            ("ledger.level", &self.ledger),
            ("scope.mode", &self.scope),
            ("scope.resource_hosts", &self.resource_hosts),
            ("walls.action", &self.walls),
            ("costly.action", &self.costly),
            ("pace.delay", &self.delay),
            ("pace.max_delay", &self.max_delay),
            ("pace.max_crawl_delay", &self.max_crawl_delay),
            ("pace.max_rate", &self.max_rate),
            ("pace.max_bandwidth", &self.max_bandwidth),
            ("limits.max_pages", &self.max_pages),
            ("limits.max_pages_per_host", &self.max_pages_per_host),
            ("limits.max_resources", &self.max_resources),
            ("limits.max_depth", &self.max_depth),
            ("limits.max_time", &self.max_time),
            ("limits.max_bytes", &self.max_bytes),
            ("limits.max_body", &self.max_body),
            ("fetch.timeout", &self.timeout),
        ];
        for (path, text) in texts {
            if let Some(text) = text {
                overrides.set(path, text.as_str());
            }
        }
        for (given, value) in [(self.index, true), (self.no_index, false)] {
            if given {
                overrides.set("index.enabled", value);
            }
        }
        // Each sets both: the other may be set in a file or in the crawl that is resumed.
        if let Some(groups) = &self.groups {
            overrides.set("pace.groups", groups.as_str());
            overrides.set("pace.per_ip", groups == "address");
        }
        if self.per_ip {
            overrides.set("pace.groups", "address");
            overrides.set("pace.per_ip", true);
        }
        for (path, given) in
            [("scope.resources", self.resources), ("scope.follow_moved_seeds", self.follow_moved_seeds)]
        {
            if given {
                overrides.set(path, true);
            }
        }
        if let Some(factor) = self.adaptive {
            overrides.set("pace.adaptive", factor);
        }
        for (path, number) in [("pace.concurrency", self.concurrency), ("fetch.retries", self.retries)] {
            if let Some(number) = number {
                overrides.set(path, i64::from(number));
            }
        }
        for (path, list) in [
            ("agent.contact", &self.contact),
            ("scope.include", &self.include),
            ("scope.exclude", &self.exclude),
            ("scope.types", &self.types),
            ("fetch.resolve", &self.resolve),
            ("fetch.allow_net", &self.allow_net),
        ] {
            if !list.is_empty() {
                overrides.set(path, list.clone());
            }
        }
        if let Some(file) = &self.resolve_file {
            overrides.set("fetch.resolve_file", path_text(file));
        }
    }
}

/// Returns a path as it is written in TOML.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns the environment variables that are UTF-8: all of ours are.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The file that the variable `CRAWL_CONFIG` names.
pub(crate) fn config_variable() -> Option<PathBuf> {
    std::env::var_os("CRAWL_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the variables of the settings that may change on resume: all other settings come from the crawl's own file.
pub(crate) fn adjustable_environment() -> impl Iterator<Item = (String, String)> {
    let options: Vec<_> = <AdjustableArgs as Args>::augment_args(clap::Command::new("resume"))
        .get_arguments()
        .filter_map(|arg| arg.get_long().map(str::to_owned))
        .collect();
    let is_adjustable = |option: &str| options.iter().any(|name| name == option);
    let keys = KEYS.iter().filter(|key| key.option.is_some_and(is_adjustable));
    let variables: Vec<_> = keys.filter_map(crawler::config::Key::variable).collect();
    environment().filter(move |(name, _)| variables.contains(name))
}
