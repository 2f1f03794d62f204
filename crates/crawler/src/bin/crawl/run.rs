//! `crawl run`: the main job.

use std::path::PathBuf;

use clap::Args;
use crawler::address::AddressClass;
use crawler::config::{CliOverrides, Loaded, Settings, load};
use crawler::seeds::{self, SeedList};
use meta::consent::Purpose;
use robots::Dialect;

use crate::crawling;
use crate::exit::{self, Stop};
use crate::options::{AdjustableArgs, config_variable, environment, path_text};
#[cfg(feature = "serve")]
use crate::serve::ServeWhileArgs;
use crate::terminal::Console;

/// Program and version, as `crawl.toml` records it.
pub(crate) const PROGRAM: &str = concat!("crawl ", env!("CARGO_PKG_VERSION"));

/// Invalid lines of a seed file that are reported one by one.
const LISTED: usize = 20;

/// Options of a crawl.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunArgs {
    /// URLs to start from, instead of --seed
    #[arg(value_name = "URL", value_parser = url, conflicts_with = "seed")]
    urls: Vec<String>,
    /// File with one URL per line, - for standard input; blank lines and # comments are ignored; or one URL
    #[arg(long, value_name = "FILE", help_heading = "What and where")]
    seed: Option<PathBuf>,
    /// Output directory; it must not already have a crawl [default: crawl-data]
    #[arg(long, value_name = "DIR", help_heading = "What and where")]
    out: Option<PathBuf>,
    /// TOML file with settings; configs/polite.toml lists them all
    #[arg(long, value_name = "FILE", help_heading = "What and where")]
    config: Option<PathBuf>,
    /// Store bodies in WARC files [default: true]
    #[arg(long, overrides_with = "no_warc", help_heading = "What and where")]
    warc: bool,
    /// Store no bodies
    #[arg(long, help_heading = "What and where")]
    no_warc: bool,

    /// Name and version of your robot, as in SuperRobot/1.0; the name is what robots.txt groups are matched with
    #[arg(long, value_name = "NAME/VERSION", help_heading = "Who we are")]
    agent: Option<String>,

    /// Read the sitemaps named in robots.txt, and /sitemap.xml [default: false]
    #[arg(long, help_heading = "Scope")]
    sitemaps: bool,
    /// How robots.txt is read [default: hardened]
    #[arg(long, value_name = "DIALECT", value_parser = Dialect::ALL.map(Dialect::name), help_heading = "Scope")]
    dialect: Option<String>,

    /// What the pages are used for: search, archive, ai-input, ai-train, ai-train-images, tdm; sites may deny each [default: search,archive]
    #[arg(long, value_name = "PURPOSE,...", value_delimiter = ',', help_heading = "Scope")]
    purpose: Vec<Purpose>,

    #[command(flatten)]
    adjustable: AdjustableArgs,

    #[cfg(feature = "serve")]
    #[command(flatten)]
    serve: ServeWhileArgs,
}

/// A URL in the place of a command.
fn url(text: &str) -> Result<String, String> {
    if crawler::seeds::is_url(text) {
        return Ok(text.to_owned());
    }
    Err("there is no such command (`crawl --help` lists them); a URL begins with https:// or http://"
        .to_owned())
}

impl RunArgs {
    /// Returns whether no option was given.
    pub(crate) fn is_empty(&self) -> bool {
        #[cfg(feature = "serve")]
        if !self.serve.is_empty() {
            return false;
        }
        self.config.is_none() && self.overrides().is_empty()
    }

    /// Returns whether options are given that make no sense for a crawl on many machines.
    #[cfg(feature = "cluster")]
    pub(crate) fn is_for_one_machine(&self) -> bool {
        #[cfg(feature = "serve")]
        if !self.serve.is_empty() {
            return true;
        }
        self.out.is_some()
    }

    /// Returns whether the crawl is to be served while it runs.
    #[cfg(feature = "serve")]
    pub(crate) fn serves(&self) -> bool {
        !self.serve.is_empty()
    }

    pub(crate) fn overrides(&self) -> CliOverrides {
        let mut overrides = CliOverrides::default();
        if !self.urls.is_empty() {
            overrides.set("seed", self.urls.join(" "));
        }
        for (path, file) in [("seed", &self.seed), ("out", &self.out)] {
            if let Some(file) = file {
                overrides.set(path, path_text(file));
            }
        }
        let texts = [("agent.product", &self.agent), ("robots.dialect", &self.dialect)];
        for (path, text) in texts {
            if let Some(text) = text {
                overrides.set(path, text.as_str());
            }
        }
        if !self.purpose.is_empty() {
            let names: Vec<String> = self.purpose.iter().map(ToString::to_string).collect();
            overrides.set("consent.purpose", names);
        }
        let switches = [
            ("scope.sitemaps", self.sitemaps, true),
            ("warc.enabled", self.warc, true),
            ("warc.enabled", self.no_warc, false),
        ];
        for (path, given, value) in switches {
            if given {
                overrides.set(path, value);
            }
        }
        self.adjustable.add_to(&mut overrides);
        overrides
    }

    /// Builds the settings from these options, the environment and the file of `--config` or `CRAWL_CONFIG`.
    pub(crate) fn load(&self) -> anyhow::Result<Loaded> {
        Ok(load(&self.overrides(), environment(), self.config().as_deref())?)
    }

    /// The file of `--config` or `CRAWL_CONFIG`.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        self.config.clone().or_else(config_variable)
    }
}

/// A crawl that is ready to start: nothing of it is on disk yet.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) settings: Settings,
    pub(crate) seeds: SeedList,
}

/// Checks everything that can be checked beforehand, then crawls.
pub(crate) fn run(args: &RunArgs, console: Console) -> anyhow::Result<i32> {
    let job = prepare(args, console)?;
    #[cfg(feature = "serve")]
    let bound = args.serve.bind(&job.settings.out)?;
    let job = start(job)?;
    if job.begins_again() {
        let dir = path_text(job.dir().root());
        console.note(&format!("the crawl in {dir} has no page: this is a new run of it"));
    }
    // The directory is locked: no visitor comes in between.
    #[cfg(feature = "serve")]
    let _server =
        bound.map(|bound| crate::serve::start(bound, &path_text(job.dir().root()), console)).transpose()?;
    crawling::crawl(job, console)
}

pub(crate) fn prepare(args: &RunArgs, console: Console) -> anyhow::Result<Job> {
    let loaded = args.load()?;
    loaded.product()?;
    for warning in &loaded.warnings {
        console.warning(warning);
    }
    let mut settings = loaded.settings;
    if settings.seed.as_os_str().is_empty() {
        let what = "no seeds given: add --seed FILE (one URL per line), --seed - for standard input, or the URLs themselves";
        return Err(Stop::new(exit::USAGE, what).into());
    }
    let seeds = seeds::read(&settings.seed)?;
    settings.seed = seeds::without_passwords(&settings.seed);
    report_bad_lines(&seeds, console);
    if seeds.seeds.is_empty() {
        let what = format!("no line of {} is a URL that can be crawled", path_text(&settings.seed));
        return Err(Stop::new(exit::NO_SEED, what).into());
    }
    if settings.agent.contact.is_empty() {
        console.warning(
            "no contact given: add --contact URL|EMAIL, so that site owners can reach you instead of blocking the crawl",
        );
    }
    if settings.pace.delay.is_zero()
        && let Some(host) =
            seeds.seeds.iter().map(|(_, url)| url.host()).find(|host| is_public(host, &settings))
    {
        console.warning(&format!(
            "--delay 0s: {host} is no host of this machine or network; the next request follows each response at once, or after --adaptive times what it took; sites block robots for that, and the default is 1s"
        ));
    }
    Ok(Job { settings, seeds })
}

/// Top-level names that lead to no public host (RFC 6761 section 6, RFC 6762; `internal` is reserved for private use).
const LOCAL: [&str; 5] = ["localhost", "test", "invalid", "local", "internal"];

/// Whether a host may be somebody else's: no address of a local network, no local name, none without a dot, and none whose address is given.
fn is_public(host: &str, settings: &Settings) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    if let Ok(address) = address {
        return AddressClass::of(address) == AddressClass::Public;
    }
    let is_local = host.rsplit('.').next().is_none_or(|top| LOCAL.contains(&top)) || !host.contains('.');
    let mut rules = settings.fetch.resolve.iter().map(ToString::to_string);
    let is_given = rules.any(|rule| rule.starts_with("*:") || rule.starts_with(&format!("{host}:")));
    !is_local && !is_given && settings.fetch.resolve_file.as_os_str().is_empty()
}

fn report_bad_lines(list: &SeedList, console: Console) {
    for bad in list.bad.iter().take(LISTED) {
        console.warning(&format!("seed {bad}; skipped"));
    }
    if list.bad.len() > LISTED {
        console.warning(&format!("seed file: {} more invalid lines skipped", list.bad.len() - LISTED));
    }
    for doubtful in list.doubtful.iter().take(LISTED) {
        console.warning(&format!("seed {doubtful}"));
    }
    if list.doubtful.len() > LISTED {
        console.warning(&format!("seed file: {} more doubtful lines", list.doubtful.len() - LISTED));
    }
}

/// Makes the crawl's directory; what can be checked is checked before anything is written.
fn start(job: Job) -> anyhow::Result<crawler::job::Job> {
    crawler::job::Job::start(job.settings, &job.seeds, PROGRAM, page::clock::wall())
        .map_err(|error| crawling::with_exit_code(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_of_this_machine_or_network_is_not_public() {
        let settings = Settings::default();
        for host in ["www.example.org", "8.8.8.8", "[2606:4700::1111]"] {
            assert!(is_public(host, &settings), "{host}");
        }
        for host in ["localhost", "127.0.0.1", "192.168.1.9", "[::1]", "a.test", "printer.local", "printer"] {
            assert!(!is_public(host, &settings), "{host}");
        }
        let mut given = Settings::default();
        given.fetch.resolve = vec!["www.example.org:127.0.0.1".parse().unwrap()];
        assert!(!is_public("www.example.org", &given) && is_public("example.org", &given));
    }
}
