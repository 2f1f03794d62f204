//! `crawl cluster`: a crawl on many machines, through its database.

mod add;
#[cfg(feature = "object-storage")]
mod download;
mod forget;
mod migrate;
mod recrawl;
mod steer;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use crawler::causes::with_causes;
use crawler::cluster::{
    self, Address, AtRestError, Continued, ExportError, ImportError, InitError, LostError, NewCrawl,
    NewLimits, RecrawlError, ResumeError, State, Status, Terms, TransferError, Transferred, Watch,
};
use crawler::config::units::{self, UnitError};
use page::clock::wall;
use page::quantity::{count, size};
use serde_json::json;

use crate::database::{address, database_error};
use crate::exit::{self, Stop};
use crate::run::{self, PROGRAM, RunArgs};
use crate::terminal::Console;

/// How long `stop` waits for the workers, and between two looks.
const WAIT: Duration = Duration::from_mins(2);
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Make a crawl for many machines in an empty PostgreSQL database
    Init(Box<InitArgs>),
    /// Add a database to a cluster's crawl that is stopped, or that no worker has begun
    Add(add::AddArgs),
    /// Show what a cluster's crawl does: workers, queue, figures
    Status(StatusArgs),
    /// Stop a cluster's crawl: every worker finishes its requests in flight and ends
    Stop(StopArgs),
    /// Let workers continue a cluster's crawl that was stopped
    Resume(ResumeArgs),
    /// Bring a cluster's crawl that an earlier version made to the present format of its databases
    Migrate(migrate::MigrateArgs),
    /// Make no more requests to a host of a cluster's crawl, or to any
    Pause(steer::PauseArgs),
    /// End a pause of a cluster's crawl, or of one of its hosts
    Continue(steer::PauseArgs),
    /// Make the delay of a cluster's crawl longer, for all hosts or one
    Set(steer::SetArgs),
    /// Queue the pages again whose bodies were lost with the disk of a worker
    Lost(LostArgs),
    /// Remove what a cluster's crawl that is stopped or complete has of a URL, a host, or URLs that match, and keep it out
    Forget(forget::ForgetArgs),
    /// Visit pages of a cluster's crawl that is stopped or complete again, and store what changed
    Recrawl(recrawl::RecrawlArgs),
    /// Copy the archive files of a cluster's crawl from object storage to a directory
    #[cfg(feature = "object-storage")]
    Download(download::DownloadArgs),
    /// Make a crawl for many machines of one on a single machine
    Import(ImportArgs),
    /// Make a crawl on a single machine of one on many machines
    Export(ExportArgs),
}

/// A limit that is given; none for `none`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<T>(Option<T>);

fn limit<T: Default + PartialEq>(read: Result<Option<T>, UnitError>) -> Result<Limit<T>, String> {
    match read {
        Ok(Some(most)) if most == T::default() => Err("must be greater than 0".to_owned()),
        Ok(most) => Ok(Limit(most)),
        Err(error) => Err(error.to_string()),
    }
}

fn number(text: &str) -> Result<Limit<u64>, String> {
    limit(units::parse_limit(text))
}

fn bytes(text: &str) -> Result<Limit<u64>, String> {
    limit(units::parse_size_limit(text))
}

fn rate(text: &str) -> Result<Limit<f64>, String> {
    match units::parse_limit(text) {
        Ok(Some(most)) if !(0.001..=1e6).contains(&most) => {
            Err("must be between 0.001 and 1000000".to_owned())
        }
        Ok(most) => Ok(Limit(most)),
        Err(error) => Err(error.to_string()),
    }
}

fn duration(text: &str) -> Result<Limit<Duration>, String> {
    limit(units::parse_duration_limit(text))
}

/// How a cluster's crawl is divided.
#[derive(Clone, Debug, Args)]
pub(crate) struct TermsArgs {
    /// Number of parts that the hosts are divided into; a worker crawls whole parts [default: 256]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 256,
        hide_default_value = true,
        help_heading = "Cluster"
    )]
    partitions: u32,
    /// How long a worker may be silent before others take its hosts over [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration, help_heading = "Cluster")]
    lease: Option<Duration>,
    /// Accept a database without a synchronous standby: what was stored last is lost with its disk
    #[arg(long, help_heading = "Cluster")]
    single_server: bool,
}

impl TermsArgs {
    fn terms(&self) -> Terms {
        Terms { lease: self.lease.unwrap_or(Duration::from_secs(10)), partitions: self.partitions }
    }
}

/// Options of `cluster init`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Then start workers, on any number of machines: crawl worker --cluster DATABASE --out DIR

Examples:
  crawl cluster init postgres://crawl@db.example.org/study --seed urls.txt --agent SuperRobot/1.0
  crawl cluster init 'postgres:///study?host=/run/postgresql' --seed urls.txt --agent SuperRobot/1.0 --single-server")]
pub(crate) struct InitArgs {
    /// URL of an empty database; a password can be in the variable PGPASSWORD
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    #[command(flatten)]
    terms: TermsArgs,
    #[command(flatten)]
    run: RunArgs,
}

/// Options of `cluster status`.
#[derive(Clone, Debug, Args)]
pub(crate) struct StatusArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
}

/// Options of `cluster stop`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Returns once no worker owns a part of the crawl, or after 2 minutes with exit code 1. `crawl cluster
resume` and new workers continue the crawl.")]
pub(crate) struct StopArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
}

/// Options of `cluster resume`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Limits that aren't given stay as they are. They can change while no worker owns a part of the crawl.
So can the version: from then on the crawl is of the version of this program.

A crawl that was moved to a directory by `crawl cluster export` isn't continued here as well, since
both would ask the same hosts. --take-back does it where that directory is deleted.

Examples:
  crawl cluster resume postgres://crawl@db.example.org/study
  crawl cluster resume postgres://crawl@db.example.org/study --max-pages 20000")]
pub(crate) struct ResumeArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    #[command(flatten)]
    limits: NewLimitsArgs,
    /// Continue a crawl that was moved to a directory, which is deleted or never continued
    #[arg(long, help_heading = "Cluster")]
    take_back: bool,
    /// Retry URLs whose body crashed the process (`crashed`); each is first read in a process of its own
    #[arg(long, help_heading = "Limits")]
    retry_crashed: bool,
}

/// Limits that take the place of those of the crawl.
#[derive(Clone, Debug, Args)]
pub(crate) struct NewLimitsArgs {
    /// Maximum pages of the crawl, over all runs; none = no limit
    #[arg(long = "max-pages", value_name = "N", value_parser = number, help_heading = "Limits")]
    pages: Option<Limit<u64>>,
    /// Maximum images, scripts and other resources of the crawl, over all runs; none = no limit
    #[arg(long = "max-resources", value_name = "N", value_parser = number, help_heading = "Limits")]
    resources: Option<Limit<u64>>,
    /// Maximum time of this run; none = no limit
    #[arg(long = "max-time", value_name = "DURATION", value_parser = duration, help_heading = "Limits")]
    time: Option<Limit<Duration>>,
    /// Maximum bytes received by the crawl, over all runs; none = no limit
    #[arg(long = "max-bytes", value_name = "SIZE", value_parser = bytes, help_heading = "Limits")]
    bytes: Option<Limit<u64>>,
    /// Maximum requests per second over all hosts and workers; none = no limit
    #[arg(long = "max-rate", value_name = "N", value_parser = rate, help_heading = "Pace")]
    rate: Option<Limit<f64>>,
    /// Maximum bytes per second over all hosts and workers; none = no limit
    #[arg(long = "max-bandwidth", value_name = "SIZE", value_parser = bytes, help_heading = "Pace")]
    bandwidth: Option<Limit<u64>>,
}

impl NewLimitsArgs {
    fn limits(&self) -> NewLimits {
        NewLimits {
            pages: self.pages.map(|limit| limit.0),
            resources: self.resources.map(|limit| limit.0),
            bytes: self.bytes.map(|limit| limit.0),
            time: self.time.map(|limit| limit.0),
            rate: self.rate.map(|limit| limit.0),
            bandwidth: self.bandwidth.map(|limit| limit.0),
        }
    }
}

/// Options of `cluster lost`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The records of these pages stay until they are fetched again; the ledger has an entry `body_lost` for
each. A worker that doesn't answer is watched for its lease first. A crawl that was complete goes on.

Examples:
  crawl cluster lost postgres://crawl@db.example.org/study worker-2.example.org
  crawl cluster lost postgres://crawl@db.example.org/study 3 5")]
pub(crate) struct LostArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    /// Names (`--name` of the worker) or numbers (`w3` in the name of an archive file is worker 3)
    #[arg(value_name = "WORKER", required = true)]
    workers: Vec<String>,
}

/// Options of `cluster import`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The crawl must be at rest: stopped, or complete. Its archive stays in the directory, which can be
read, but not continued from then on: both would ask the same hosts.

Examples:
  crawl cluster import crawl-data postgres://crawl@db.example.org/study
  crawl audit --cluster postgres://crawl@db.example.org/study --warc crawl-data/warc --warc worker-1/warc")]
pub(crate) struct ImportArgs {
    /// Output directory of the crawl
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// URL of an empty database; a password can be in the variable PGPASSWORD
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    #[command(flatten)]
    terms: TermsArgs,
}

/// Options of `cluster export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The crawl must be at rest: stopped, or complete. Its archive is copied. The new directory is that
of any crawl: `crawl resume` continues it, `crawl index` makes its full-text index. The cluster
isn't continued from then on: both would ask the same hosts. With --copy it is, and the directory
isn't.

Examples:
  crawl cluster export postgres://crawl@db.example.org/study --out so-far --copy --warc worker-1/warc
  crawl cluster export postgres://crawl@db.example.org/study --out crawl-data --warc worker-1/warc --warc worker-2/warc")]
pub(crate) struct ExportArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    /// Directory to make
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Directory `warc` of a worker, or of the crawl that was imported. Repeatable
    #[arg(long = "warc", value_name = "DIR")]
    archives: Vec<PathBuf>,
    /// Continue the cluster, and not the new directory, which can be read
    #[arg(long)]
    copy: bool,
}

pub(crate) fn run(command: &ClusterCommand, console: Console) -> anyhow::Result<i32> {
    match command {
        ClusterCommand::Init(args) => init(args, console),
        ClusterCommand::Add(args) => add::run(args, console),
        ClusterCommand::Status(args) => status(&args.database, console),
        ClusterCommand::Stop(args) => stop(&args.database, console),
        ClusterCommand::Resume(args) => resume(args, console),
        ClusterCommand::Migrate(args) => migrate::run(args, console),
        ClusterCommand::Pause(args) => steer::pause(args, console),
        ClusterCommand::Continue(args) => steer::carry_on(args, console),
        ClusterCommand::Set(args) => steer::set(args, console),
        ClusterCommand::Lost(args) => lost(args, console),
        ClusterCommand::Forget(args) => forget::run(args, console),
        ClusterCommand::Recrawl(args) => recrawl::run(args, console),
        #[cfg(feature = "object-storage")]
        ClusterCommand::Download(args) => download::run(args, console),
        ClusterCommand::Import(args) => import(args, console),
        ClusterCommand::Export(args) => export(args, console),
    }
}

fn init(args: &InitArgs, console: Console) -> anyhow::Result<i32> {
    if args.run.is_for_one_machine() {
        let what = "--out, --serve and --token-file belong to one machine: `crawl worker` has --out";
        return Err(Stop::new(exit::USAGE, what).into());
    }
    let job = run::prepare(&args.run, console)?;
    let terms = args.terms.terms();
    let new = NewCrawl {
        settings: job.settings,
        list: &job.seeds,
        program: PROGRAM,
        terms,
        single_server: args.terms.single_server,
    };
    let queued = cluster::init(&args.database, new, wall()).map_err(|error| init_error(&error))?;
    warn_of_single_server(&args.terms, console);
    let text = if console.json {
        format!(
            "{}\n",
            json!({
                "v": 1, "event": "cluster_init", "partitions": terms.partitions, "lease_s": terms.lease.as_secs_f64(),
                "queued": queued.queued, "repeated": queued.repeated, "refused": queued.refused,
            })
        )
    } else {
        format!(
            "{} queued in {}; start workers with: crawl worker --cluster DATABASE --out DIR\n",
            count(queued.queued, "seed"),
            count(u64::from(terms.partitions), "partition"),
        )
    };
    exit::print(text.as_bytes())
}

fn init_error(error: &InitError) -> anyhow::Error {
    match error {
        InitError::Cluster(error) => database_error(error),
        InitError::EarlierBodies | InitError::Partitions | InitError::Lease => {
            Stop::new(exit::USAGE, with_causes(error)).into()
        }
        InitError::Settings(error) => crate::crawling::with_exit_code(error),
        InitError::Config(_) | InitError::Toml(_) => Stop::new(exit::CONFIG, with_causes(error)).into(),
        _ => Stop::new(exit::STORAGE, with_causes(error)).into(),
    }
}

fn warn_of_single_server(terms: &TermsArgs, console: Console) {
    if terms.single_server && !console.json {
        console.note("--single-server: what was stored last is lost if the disk of the database is");
    }
}

fn import(args: &ImportArgs, console: Console) -> anyhow::Result<i32> {
    let terms = args.terms.terms();
    let single_server = args.terms.single_server;
    let moved = cluster::import(&args.dir, &args.database, PROGRAM, terms, single_server, wall());
    let moved = moved.map_err(|error| match &error {
        ImportError::Init(error) => init_error(error),
        ImportError::Dir(error) => exit::dir_error(error),
        ImportError::Old(_) | ImportError::NotAtRest(_) | ImportError::Unsupported(_) => {
            Stop::new(exit::USAGE, with_causes(&error)).into()
        }
        ImportError::Settings { .. } | ImportError::Config(_) => {
            Stop::new(exit::CONFIG, with_causes(&error)).into()
        }
        _ => Stop::new(exit::STORAGE, with_causes(&error)).into(),
    })?;
    warn_of_single_server(&args.terms, console);
    let next = "start workers with: crawl worker --cluster DATABASE --out DIR";
    print_moved("cluster_import", moved, next, console)
}

fn export(args: &ExportArgs, console: Console) -> anyhow::Result<i32> {
    let continued = if args.copy { Continued::Cluster } else { Continued::Directory };
    let moved = cluster::export(&args.database, &args.out, &args.archives, continued, wall());
    let moved = moved.map_err(|error| match &error {
        ExportError::Cluster(error) => database_error(error),
        ExportError::Dir(error) => exit::dir_error(error),
        ExportError::Running
        | ExportError::Forgotten(_)
        | ExportError::Recrawl
        | ExportError::Changed
        | ExportError::Moved
        | ExportError::NoArchive { .. }
        | ExportError::NoDir(_)
        | ExportError::OtherCrawl(_)
        | ExportError::Transfer(TransferError::Losing | TransferError::Entering) => {
            Stop::new(exit::USAGE, with_causes(&error)).into()
        }
        _ => Stop::new(exit::STORAGE, with_causes(&error)).into(),
    })?;
    let next = if args.copy {
        format!("read it with: crawl show {}", args.out.display())
    } else {
        format!("continue it with: crawl resume {}", args.out.display())
    };
    print_moved("cluster_export", moved, &next, console)
}

fn print_moved(event: &str, moved: Transferred, next: &str, console: Console) -> anyhow::Result<i32> {
    let Transferred { hosts, pages, queued, decisions } = moved;
    let text = if console.json {
        format!(
            "{}\n",
            json!({
                "v": 1, "event": event, "hosts": hosts, "pages": pages, "queued": queued, "decisions": decisions,
            })
        )
    } else {
        format!(
            "{}, {}, {} queued, {}; {next}\n",
            count(hosts, "host"),
            count(pages, "page record"),
            count(queued, "URL"),
            count(decisions, "decision"),
        )
    };
    exit::print(text.as_bytes())
}

fn status(database: &Address, console: Console) -> anyhow::Result<i32> {
    let status = cluster::status(database).map_err(|error| database_error(&error))?;
    let text = if console.json { format!("{}\n", object(&status)) } else { text(&status)? };
    exit::print(text.as_bytes())
}

/// The state of the crawl, in a word.
fn state(status: &Status) -> &'static str {
    match status.state {
        State::Complete if status.limit.is_some() => "complete_within_limits",
        state => state.as_str(),
    }
}

fn object(status: &Status) -> serde_json::Value {
    let workers = status.workers.iter().map(|worker| {
        json!({
            "id": worker.id, "name": worker.name, "partitions": worker.partitions, "queued": worker.queued,
            "in_flight": worker.in_flight,
        })
    });
    let longest = status.longest.iter().map(|part| {
        json!({
            "partition": part.part, "worker": part.owner, "queued": part.queued, "in_flight": part.in_flight,
            "letters": part.letters,
        })
    });
    let standbys = status.standbys.iter().map(|standby| {
        json!({
            "name": standby.name, "state": standby.state, "sync": standby.sync, "behind_bytes": standby.behind,
        })
    });
    let withdrawals = status
        .withdrawals
        .iter()
        .map(|due| json!({"worker": due.id, "name": due.name, "captures": due.captures, "files": due.files}));
    let unknown = status
        .requests_unknown
        .iter()
        .map(|of| json!({"worker": of.id, "name": of.name, "partitions": of.partitions, "lost": of.is_lost}));
    let databases = status
        .databases
        .iter()
        .map(|(address, partitions)| json!({"database": address, "partitions": partitions}));
    json!({
        "v": 1, "event": "cluster_status", "state": state(status), "moved": status.moved, "limit": status.limit, "program": status.program,
        "started": status.started.to_string(), "lease_s": status.terms.lease.as_secs_f64(),
        "partitions": status.terms.partitions, "partitions_free": status.free, "queued": status.queued,
        "letters": status.letters, "totals": status.totals, "workers": workers.collect::<Vec<_>>(),
        "longest": longest.collect::<Vec<_>>(), "standbys": standbys.collect::<Vec<_>>(),
        "withdrawals": withdrawals.collect::<Vec<_>>(), "requests_unknown": unknown.collect::<Vec<_>>(), "steering": status.steering, "databases": databases.collect::<Vec<_>>(),
    })
}

fn text(status: &Status) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let Status { totals, terms, .. } = status;
    let limit = status.limit.as_ref().map(|limit| format!(" ({limit})")).unwrap_or_default();
    let to = status.moved.as_ref().map(|moved| format!(" to {moved} (it was {})", status.at_rest.as_str()));
    writeln!(
        text,
        "{}{}{limit}, made {:.0} by {}",
        state(status).replace('_', " "),
        to.unwrap_or_default(),
        status.started,
        status.program
    )?;
    writeln!(
        text,
        "{}, {}, {} failed; {}, {}",
        count(totals.pages, "page"),
        count(totals.redirects, "redirect"),
        totals.failed,
        count(totals.requests, "request"),
        size(totals.bytes)
    )?;
    writeln!(
        text,
        "{} queued; {} under way between partitions",
        count(status.queued, "URL"),
        count(status.letters, "letter")
    )?;
    writeln!(
        text,
        "{}, of which {} without a worker; lease {}",
        count(u64::from(terms.partitions), "partition"),
        status.free,
        page::units::format_duration(terms.lease)
    )?;
    if status.databases.len() > 1 {
        for (address, partitions) in &status.databases {
            writeln!(text, "database {address}: {}", count(*partitions, "partition"))?;
        }
    }
    steer::write(&mut text, &status.steering)?;
    for worker in &status.workers {
        writeln!(
            text,
            "worker {} ({}): {}, {} queued, {} in flight",
            worker.id,
            page::clean::clean(&worker.name),
            count(worker.partitions, "partition"),
            worker.queued,
            worker.in_flight
        )?;
    }
    if status.workers.is_empty() {
        writeln!(text, "no worker is running")?;
    }
    for standby in &status.standbys {
        let words = [&standby.state, &standby.sync].map(|word| word.as_deref().unwrap_or("unknown"));
        let behind = standby.behind.map(|behind| format!(", {} behind", size(behind))).unwrap_or_default();
        writeln!(text, "standby {}: {}{behind}", page::clean::clean(&standby.name), words.join(", "))?;
    }
    for due in &status.withdrawals {
        let captures = (due.captures > 0).then(|| count(due.captures, "capture"));
        let files = (due.files > 0).then(|| format!("forgotten pages in {}", count(due.files, "file")));
        let what = captures.into_iter().chain(files).collect::<Vec<_>>().join(" and ");
        if let Some(id) = due.id {
            let name = due.name.as_deref().map(page::clean::clean).unwrap_or_default();
            writeln!(
                text,
                "{what} to be removed from the archive of worker {id} ({name}), when it is running"
            )?;
        } else {
            writeln!(
                text,
                "{what} to be removed from the archive that was imported: link its files into `warc` of a worker"
            )?;
        }
    }
    for of in &status.requests_unknown {
        let name = of.name.as_deref().map(page::clean::clean).unwrap_or_default();
        let worker = match of.id {
            0 => "a worker that died before the crawl was moved".to_owned(),
            id => format!("worker {id} ({name})"),
        };
        let until = if of.is_lost {
            "its directory is lost"
        } else {
            "start a worker with its directory to have them entered"
        };
        writeln!(
            text,
            "{worker} didn't give back {}: requests that it had in flight may be missing from the ledger; {until}",
            count(of.partitions, "partition")
        )?;
    }
    for part in &status.longest {
        let owner = part.owner.map_or_else(|| "no worker".to_owned(), |owner| format!("worker {owner}"));
        writeln!(
            text,
            "partition {} ({owner}): {} queued, {} in flight, {} to read",
            part.part,
            part.queued,
            part.in_flight,
            count(part.letters, "letter")
        )?;
    }
    Ok(text)
}

#[expect(clippy::disallowed_methods, reason = "waits for other processes")]
fn stop(database: &Address, console: Console) -> anyhow::Result<i32> {
    match cluster::stop(database).map_err(|error| database_error(&error))? {
        State::Making => return Err(making()),
        State::Complete => return exit::print(b"the crawl is complete\n"),
        State::Moved => return exit::print(b"the crawl was moved to a directory\n"),
        State::Adding => {
            return exit::print(b"a database is being added to the crawl; no worker is running\n");
        }
        State::Running | State::Stopped => {}
    }
    let mut waited = Duration::ZERO;
    let mut watch = Watch::open(database).map_err(|error| database_error(&error))?;
    loop {
        watch.look().map_err(|error| database_error(&error))?;
        let status = cluster::status(database).map_err(|error| database_error(&error))?;
        let owned: u64 = status.workers.iter().map(|worker| worker.partitions).sum();
        if owned == 0 {
            let text = if console.json { format!("{}\n", object(&status)) } else { "stopped\n".to_owned() };
            return exit::print(text.as_bytes());
        }
        if waited >= WAIT {
            let names: Vec<String> = status
                .workers
                .iter()
                .filter(|worker| worker.partitions > 0)
                .map(|worker| format!("{} ({})", worker.id, page::clean::clean(&worker.name)))
                .collect();
            let what = format!(
                "these workers haven't ended after {}: {}; they ask no host once they see the database, and not after their lease",
                page::units::format_duration(WAIT),
                names.join(", ")
            );
            return Err(Stop::new(exit::UNEXPECTED, what).into());
        }
        std::thread::sleep(LOOK);
        waited += LOOK;
    }
}

fn making() -> anyhow::Error {
    let what = "the crawl isn't made yet, or its making was interrupted: then drop its database, and run `crawl cluster init` again";
    Stop::new(exit::USAGE, what).into()
}

/// Lets workers continue a crawl; gives its state before.
fn continue_with(database: &Address, limits: &NewLimitsArgs, takes_back: bool) -> anyhow::Result<State> {
    cluster::resume(database, PROGRAM, limits.limits(), takes_back).map_err(|error| match &error {
        ResumeError::Cluster(error) => database_error(error),
        ResumeError::Running | ResumeError::Moved(_) | ResumeError::Version { .. } => {
            Stop::new(exit::USAGE, with_causes(&error)).into()
        }
        _ => Stop::new(exit::CONFIG, with_causes(&error)).into(),
    })
}

/// What a command couldn't do to the partitions of a crawl that rests.
fn at_rest_error(error: &AtRestError) -> anyhow::Error {
    let code = match error {
        AtRestError::Cluster(error) => return database_error(error),
        AtRestError::Running | AtRestError::Moved(_) | AtRestError::Busy | AtRestError::Version { .. } => {
            exit::USAGE
        }
        AtRestError::Commit(_) | AtRestError::Resumed => exit::STORAGE,
        _ => exit::UNEXPECTED,
    };
    Stop::new(code, with_causes(error)).into()
}

fn resume(args: &ResumeArgs, console: Console) -> anyhow::Result<i32> {
    if args.retry_crashed {
        let queued =
            cluster::retry_crashed(&args.database, PROGRAM, wall()).map_err(|error| match &error {
                RecrawlError::Partitions(error) => at_rest_error(error),
                _ => Stop::new(exit::STORAGE, with_causes(&error)).into(),
            })?;
        console.note(&format!("retrying {} that crashed the process", count(queued, "URL")));
    }
    let before = continue_with(&args.database, &args.limits, args.take_back)?;
    let text = if console.json {
        format!("{}\n", json!({"v": 1, "event": "cluster_resume", "before": before.as_str()}))
    } else {
        "workers may continue the crawl: crawl worker --cluster DATABASE --out DIR\n".to_owned()
    };
    exit::print(text.as_bytes())
}

fn lost(args: &LostArgs, console: Console) -> anyhow::Result<i32> {
    let (before, workers) = cluster::lose(&args.database, &args.workers).map_err(|error| match &error {
        LostError::Cluster(error) => database_error(error),
        LostError::Moved(_) | LostError::Unknown { .. } | LostError::Running { .. } => {
            Stop::new(exit::USAGE, with_causes(&error)).into()
        }
        _ => Stop::new(exit::UNEXPECTED, with_causes(&error)).into(),
    })?;
    let text = if console.json {
        let workers: Vec<_> =
            workers.iter().map(|worker| json!({"id": worker.id, "name": worker.name})).collect();
        format!(
            "{}\n",
            json!({"v": 1, "event": "cluster_lost", "before": before.as_str(), "workers": workers})
        )
    } else {
        let names: Vec<String> = workers
            .iter()
            .map(|worker| format!("{} ({})", worker.id, page::clean::clean(&worker.name)))
            .collect();
        let next = match before {
            State::Stopped => {
                "the crawl is stopped: continue it with `crawl cluster resume DATABASE`, and start workers"
            }
            State::Complete => {
                "the crawl goes on: start workers with `crawl worker --cluster DATABASE --out DIR`"
            }
            _ => "the workers fetch them",
        };
        format!(
            "queueing the pages again whose bodies were in the archives of {}; {next}\n",
            names.join(", ")
        )
    };
    exit::print(text.as_bytes())
}
