//! `crawl cluster add`: a further database for a crawl that is at rest.

use clap::Args;
use crawler::causes::with_causes;
use crawler::cluster::{self, AddError, Address};
use page::quantity::count;
use serde_json::json;

use super::{address, database_error};
use crate::exit::{self, Stop};
use crate::terminal::Console;

/// Options of `cluster add`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
An equal part of the partitions moves to the new database, with all that is stored of their hosts.
The first database keeps the settings and the list of the others; every command is given that one.
The URL of the new one is stored there without a password: workers use the same as for the first.

Nothing may read the crawl meanwhile. If it is interrupted, run it again.

Examples:
  crawl cluster add postgres://crawl@db1.example.org/study postgres://crawl@db2.example.org/study")]
pub(crate) struct AddArgs {
    /// URL of the crawl's first database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    /// URL of an empty database, as all workers can reach it
    #[arg(value_name = "NEW-DATABASE", value_parser = url)]
    new: String,
    /// Accept a database without a synchronous standby: what was stored last is lost with its disk
    #[arg(long, help_heading = "Cluster")]
    single_server: bool,
}

/// The URL of a database as it is given.
fn url(url: &str) -> Result<String, String> {
    address(url).map(|_| url.to_owned())
}

pub(super) fn run(args: &AddArgs, console: Console) -> anyhow::Result<i32> {
    let added = cluster::add(&args.database, &args.new, args.single_server);
    let added = added.map_err(|error| match &error {
        AddError::Cluster(error) => database_error(error),
        _ => Stop::new(exit::USAGE, with_causes(&error)).into(),
    })?;
    let text = if console.json {
        format!(
            "{}\n",
            json!({
                "v": 1, "event": "cluster_add", "databases": added.databases, "partitions": added.partitions,
            })
        )
    } else {
        format!(
            "the crawl has {}; the new one has {}\n",
            count(added.databases, "database"),
            count(added.partitions, "partition"),
        )
    };
    exit::print(text.as_bytes())
}
