//! `crawl explain`: every decision about one URL.

use std::io::{self, BufWriter, Write};

use clap::Args;
use crawler::url::CrawlUrl;

use crate::exit::{self, Stop};
use crate::place::directory_first;
use crate::show::{finish, open, view_error};
use crate::terminal::Console;

/// Options of `explain`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Exit codes: 0 the URL was fetched, or may be; 1 robots.txt, a directive, the scope or a limit
prevents it.

Examples:
  crawl explain crawl-data https://example.org/private/
  crawl explain crawl-data https://example.org/a --json | jq -r .answer")]
pub(crate) struct ExplainArgs {
    /// Directory of the crawl
    dir: String,
    /// URL to explain; it needn't be part of the crawl
    url: String,
}

/// Explains the decisions about a URL.
pub(crate) fn run(args: &ExplainArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let (dir, url) = directory_first(&args.dir, &args.url, "crawl explain DIR URL")?;
    let url = CrawlUrl::parse(url).map_err(|error| {
        let text = crawler::clean::clean(url);
        Stop::new(exit::USAGE, format!("{text} can't be crawled: {error}"))
    })?;
    let view = open(&dir)?;
    let story = view.explain(&url).map_err(|error| view_error(&error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if console.json { story.write_json(&mut out) } else { story.write_text(&mut out) };
    let code = finish(written.and_then(|()| out.flush()).map_err(Into::into))?;
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    Ok(if story.allowed { code } else { exit::UNEXPECTED })
}
