//! `crawl cluster migrate`: a crawl that an earlier version made, for this one.

use std::fmt::Write as _;

use clap::Args;
use crawler::causes::with_causes;
use crawler::cluster::{self, Address, MigrateError, Migrated, State};
use page::quantity::count;
use serde_json::json;

use super::{address, database_error};
use crate::exit::{self, Stop};
use crate::terminal::Console;

/// Options of `cluster migrate`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
No worker may run: `crawl cluster stop` of the version that they have ends them. A worker that didn't
say that it ended is watched for its lease first. Make a backup before: earlier versions don't read
the crawl any more. If it is interrupted, run it again.

Examples:
  crawl cluster migrate postgres://crawl@db.example.org/study
  crawl cluster resume postgres://crawl@db.example.org/study")]
pub(crate) struct MigrateArgs {
    /// URL of the crawl's first database; those that were added to it are migrated, too
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
}

pub(super) fn run(args: &MigrateArgs, console: Console) -> anyhow::Result<i32> {
    let migrated = cluster::migrate(&args.database).map_err(|error| match &error {
        MigrateError::Cluster(error) => database_error(error),
        MigrateError::Newer { .. } | MigrateError::InUse(_) => {
            Stop::new(exit::STORAGE, with_causes(&error)).into()
        }
        _ => Stop::new(exit::USAGE, with_causes(&error)).into(),
    })?;
    let text = if console.json { format!("{}\n", object(&migrated)) } else { text(&migrated)? };
    exit::print(text.as_bytes())
}

fn object(migrated: &Migrated) -> serde_json::Value {
    let databases: Vec<_> = migrated
        .databases
        .iter()
        .map(|of| json!({"database": of.address, "from": of.from, "partitions": of.partitions}))
        .collect();
    json!({
        "v": 1, "event": "cluster_migrate", "format": migrated.format, "databases": databases, "state": migrated.state.as_str(),
    })
}

fn text(migrated: &Migrated) -> Result<String, std::fmt::Error> {
    let format = migrated.format;
    if migrated.databases.iter().all(cluster::MigratedDatabase::is_unchanged) {
        return Ok(format!("the crawl is already of format {format}\n"));
    }
    let mut text = String::new();
    for of in migrated.databases.iter().filter(|of| !of.is_unchanged()) {
        write!(text, "{}: ", of.address)?;
        if of.from < format {
            write!(text, "format {} is format {format} now", of.from)?;
        }
        if of.partitions > 0 {
            let comma = if of.from < format { ", " } else { "" };
            write!(text, "{comma}{} with records of an earlier format", count(of.partitions, "partition"))?;
        }
        text.push('\n');
    }
    let next = match migrated.state {
        State::Complete => "the crawl is complete",
        State::Moved => "the crawl was moved to a directory",
        _ => "let workers continue it with: crawl cluster resume DATABASE",
    };
    writeln!(text, "{next}")?;
    Ok(text)
}
