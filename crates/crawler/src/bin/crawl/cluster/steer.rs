//! `crawl cluster pause`, `continue` and `set`: what changes while a cluster's crawl runs.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use crawler::causes::with_causes;
use crawler::cluster::{self, Address, Ordered, SteerError};
use crawler::engine::Steering;
use crawler::live::Steered;
use page::quantity::count;
use page::units::format_duration;
use serde_json::json;

use super::{address, database_error};
use crate::exit::{self, Stop};
use crate::forget::host_in_urls;
use crate::steer::setting;
use crate::terminal::Console;

/// Hosts that a status names.
const NAMED: usize = 5;

/// Options of `cluster pause` and `cluster continue`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A pause lasts until `crawl cluster continue`, whatever workers come and go. A paused host gets no
requests, robots.txt included; it needn't be known yet. A host that is paused by --host needs
`crawl cluster continue --host`.

Examples:
  crawl cluster pause postgres://crawl@db.example.org/study --host www.example.org
  crawl cluster continue postgres://crawl@db.example.org/study --host www.example.org")]
pub(crate) struct PauseArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    /// Only this host
    #[arg(long, value_name = "HOST", value_parser = host)]
    host: Option<String>,
}

/// Options of `cluster set`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
delay=DURATION: minimum delay between requests to a host. It can only be longer than the crawl's
--delay; what the host itself asks for holds where that is longer. A delay that was set before can be
shortened down to these.

Examples:
  crawl cluster set postgres://crawl@db.example.org/study delay=5s
  crawl cluster set postgres://crawl@db.example.org/study delay=30s --host www.example.org")]
pub(crate) struct SetArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    /// What to change: delay=DURATION
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    setting: Duration,
    /// Only this host
    #[arg(long, value_name = "HOST", value_parser = host)]
    host: Option<String>,
}

fn host(text: &str) -> Result<String, String> {
    host_in_urls(text).ok_or_else(|| "a host is meant, such as www.example.org".to_owned())
}

pub(super) fn pause(args: &PauseArgs, console: Console) -> anyhow::Result<i32> {
    steer(&args.database, args.host.as_deref(), Steered::Pause, console)
}

pub(super) fn carry_on(args: &PauseArgs, console: Console) -> anyhow::Result<i32> {
    steer(&args.database, args.host.as_deref(), Steered::Continue, console)
}

pub(super) fn set(args: &SetArgs, console: Console) -> anyhow::Result<i32> {
    steer(&args.database, args.host.as_deref(), Steered::Delay(args.setting), console)
}

fn steer(database: &Address, host: Option<&str>, change: Steered, console: Console) -> anyhow::Result<i32> {
    let ordered = cluster::steer(database, host, change, rustix::process::getuid().as_raw());
    let ordered = ordered.map_err(|error| match &error {
        SteerError::Cluster(error) => database_error(error),
        SteerError::Moved(_) | SteerError::Shorter(_) | SteerError::Longer => {
            Stop::new(exit::USAGE, with_causes(&error)).into()
        }
        _ => Stop::new(exit::UNEXPECTED, with_causes(&error)).into(),
    })?;
    let is_in_force = ordered == Ordered::InForce;
    if console.json {
        let line = json!({"v": 1, "event": "cluster_order", "in_force": is_in_force});
        return exit::print(format!("{line}\n").as_bytes());
    }
    let what = change.in_words(host);
    let when = if is_in_force { "" } else { ", as soon as workers have read the order" };
    exit::print(format!("{what}{when}\n").as_bytes())
}

/// Describes what users changed.
pub(super) fn write(text: &mut String, steering: &Steering) -> std::fmt::Result {
    let delay = |ms| format_duration(Duration::from_millis(ms));
    if steering.paused {
        writeln!(text, "every host is paused")?;
    }
    if steering.delay_ms > 0 {
        writeln!(text, "the delay of every host is at least {}", delay(steering.delay_ms))?;
    }
    for (host, own) in steering.hosts.iter().take(NAMED) {
        let paused = own.paused.then(|| "is paused".to_owned());
        let slow = (own.delay_ms > 0).then(|| format!("has a delay of at least {}", delay(own.delay_ms)));
        let what: Vec<String> = paused.into_iter().chain(slow).collect();
        writeln!(text, "{host} {}", what.join(" and "))?;
    }
    let more = steering.hosts.len().saturating_sub(NAMED) as u64;
    if more > 0 {
        writeln!(text, "{} more paused or slowed down", count(more, "host"))?;
    }
    Ok(())
}
