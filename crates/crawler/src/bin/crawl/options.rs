//! Options that a crawl takes when it starts and when it goes on.

use std::path::{Path, PathBuf};

use clap::Args;
use crawler::config::units::{self, UnitError};
use crawler::config::{CliOverrides, KEYS};

/// Options that may change from one part of a crawl to the next: they bend what is fetched next, not what was decided before.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches")]
pub(crate) struct AdjustableArgs {
    /// Where a webmaster finds you: a URL or an e-mail address, sent with every request
    #[arg(long, value_name = "URL|EMAIL", help_heading = "Who we are")]
    contact: Option<String>,

    /// What is entered in the ledger: nothing, every decision, or each link and gap as well [default: decisions]
    #[arg(long, value_name = "LEVEL", value_parser = ["off", "decisions", "full"], help_heading = "What and where")]
    ledger: Option<String>,
    /// Keeps a full-text index of what may be indexed; `crawl search` reads it [default: true]
    #[arg(long, overrides_with = "no_index", help_heading = "What and where")]
    index: bool,
    /// Keeps no full-text index; removes that of an earlier run
    #[arg(long, help_heading = "What and where")]
    no_index: bool,

    /// Least pause after a response before the same host is asked again [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Pace")]
    delay: Option<String>,
    /// Longest pause that --adaptive may ask for; sites may ask for more [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Pace")]
    max_delay: Option<String>,
    /// Pause as a multiple of the last response time, 0 = off [default: 5]
    #[arg(long, value_name = "FACTOR", help_heading = "Pace")]
    adaptive: Option<f64>,
    /// Longest Crawl-delay that is waited for; a host that asks for more is skipped [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Pace")]
    max_crawl_delay: Option<String>,
    /// Requests in flight over all hosts; never more than one for each host [default: 256]
    #[arg(long, value_name = "N", help_heading = "Pace")]
    concurrency: Option<u32>,
    /// Hosts that share an IP address share one slot and one gap as well [default: false]
    #[arg(long, help_heading = "Pace")]
    per_ip: bool,
    /// Requests a second over all hosts [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<f64>), help_heading = "Pace")]
    max_rate: Option<String>,
    /// Bytes a second over all hosts [default: none]
    #[arg(long, value_name = "SIZE", value_parser = checked(units::parse_size_limit), help_heading = "Pace")]
    max_bandwidth: Option<String>,

    /// How far from the seeds: their hosts, their domains, below their paths, or anywhere [default: host]
    #[arg(long, value_name = "SCOPE", value_parser = ["host", "domain", "prefix", "any"], help_heading = "Scope")]
    scope: Option<String>,
    /// Takes only URLs that match one of these regular expressions; repeatable
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    include: Vec<String>,
    /// Leaves URLs that match one of these regular expressions; repeatable, beats --include
    #[arg(long, value_name = "REGEX", help_heading = "Scope")]
    exclude: Vec<String>,
    /// Fetches images, scripts, style sheets and other resources too [default: false]
    #[arg(long, help_heading = "Scope")]
    resources: bool,

    /// Ends the crawl after this many pages [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<u64>), help_heading = "Limits")]
    max_pages: Option<String>,
    /// Leaves a host after this many of its pages [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<u64>), help_heading = "Limits")]
    max_pages_per_host: Option<String>,
    /// Follows links this far from a seed; 0 = the seeds alone [default: none]
    #[arg(long, value_name = "N", value_parser = checked(units::parse_limit::<u32>), help_heading = "Limits")]
    max_depth: Option<String>,
    /// Ends the crawl after this time [default: none]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration_limit), help_heading = "Limits")]
    max_time: Option<String>,
    /// Ends the crawl after this much was received [default: none]
    #[arg(long, value_name = "SIZE", value_parser = checked(units::parse_size_limit), help_heading = "Limits")]
    max_bytes: Option<String>,
    /// Takes this much of one body, on the wire and decoded [default: 10MiB]
    #[arg(long, value_name = "SIZE", value_parser = checked(units::parse_size), help_heading = "Limits")]
    max_body: Option<String>,

    /// Time of one try, from the name look-up to the last byte [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = checked(units::parse_duration), help_heading = "Fetching")]
    timeout: Option<String>,
    /// Tries after the first one, where the failure may pass [default: 2]
    #[arg(long, value_name = "N", help_heading = "Fetching")]
    retries: Option<u32>,
    /// Address of a host, in place of DNS; PORT stands in for 80 and 443; repeatable; an IPv6 address stands in brackets
    #[arg(long, value_name = "HOST:ADDR[:PORT]", help_heading = "Fetching")]
    resolve: Vec<String>,
    /// File with one such address a line
    #[arg(long, value_name = "FILE", help_heading = "Fetching")]
    resolve_file: Option<PathBuf>,
    /// Opens a network that isn't public, as in 10.0.0.0/8; repeatable
    #[arg(long, value_name = "CIDR", help_heading = "Fetching")]
    allow_net: Vec<String>,
}

/// Makes a parser that keeps the text of what it has checked.
pub(crate) fn checked<T: 'static>(
    parse: fn(&str) -> Result<T, UnitError>,
) -> impl Fn(&str) -> Result<String, UnitError> + Clone + Send + Sync + 'static {
    move |text| parse(text).map(|_| text.to_owned())
}

impl AdjustableArgs {
    /// Adds what was given to the overrides.
    pub(crate) fn add_to(&self, overrides: &mut CliOverrides) {
        let texts = [
            ("agent.contact", &self.contact),
            ("ledger.level", &self.ledger),
            ("scope.mode", &self.scope),
            ("pace.delay", &self.delay),
            ("pace.max_delay", &self.max_delay),
            ("pace.max_crawl_delay", &self.max_crawl_delay),
            ("pace.max_rate", &self.max_rate),
            ("pace.max_bandwidth", &self.max_bandwidth),
            ("limits.max_pages", &self.max_pages),
            ("limits.max_pages_per_host", &self.max_pages_per_host),
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
        if self.per_ip {
            overrides.set("pace.per_ip", true);
        }
        if self.resources {
            overrides.set("scope.resources", true);
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
            ("scope.include", &self.include),
            ("scope.exclude", &self.exclude),
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

/// Gives a path as the TOML holds it.
pub(crate) fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Gives the environment without what isn't text: no variable of ours is.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Gives the variables of the settings that these options bend: what else a crawl goes on with stands in its own file.
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
