//! `crawl cluster download`: the archive files of a crawl, from object storage.

use std::path::PathBuf;

use clap::Args;
use crawler::causes::with_causes;
use crawler::cluster::{self, Address, DownloadError, Downloaded};
use page::quantity::{count, size};
use serde_json::json;

use crate::database::{address, database_error};
use crate::exit::{self, Stop};
use crate::terminal::Console;

/// Options of `cluster download`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
For the commands that read bodies: they read directories. What is there already, and hasn't changed,
isn't copied again. Credentials, region and endpoint come from the variables that Amazon's tools use.

Examples:
  crawl cluster download postgres://crawl@db.example.org/study --out copy/warc
  crawl audit --cluster postgres://crawl@db.example.org/study --warc copy/warc")]
pub(crate) struct DownloadArgs {
    /// URL of the crawl's database
    #[arg(value_name = "DATABASE", value_parser = address)]
    database: Address,
    /// Directory for the files; made where it is missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: &DownloadArgs, console: Console) -> anyhow::Result<i32> {
    let mut tell = |file: &str, bytes| {
        if !console.quiet {
            console.note(&format!("{file} ({})", size(bytes)));
        }
    };
    let done = cluster::download(&args.database, &args.out, &mut tell).map_err(|error| match &error {
        DownloadError::Cluster(error) => database_error(error),
        _ => Stop::new(exit::STORAGE, with_causes(&error)).into(),
    })?;
    let Downloaded { files, bytes, present } = done;
    let text = if console.json {
        format!(
            "{}\n",
            json!({"v": 1, "event": "cluster_download", "files": files, "bytes": bytes, "present": present})
        )
    } else if files + present == 0 {
        "the workers of this crawl have moved no archive files to object storage\n".to_owned()
    } else {
        format!("{} copied ({}), {present} unchanged\n", count(files, "file"), size(bytes))
    };
    exit::print(text.as_bytes())
}
