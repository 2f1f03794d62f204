//! `crawl explain`: every decision about one URL.

use std::io::{self, BufWriter, Write};
use std::path::Path;
#[cfg(feature = "cluster")]
use std::path::PathBuf;

use clap::Args;
#[cfg(feature = "cluster")]
use crawler::cluster::Address;
#[cfg(feature = "cluster")]
use crawler::view::explain_among;
use crawler::view::{Explanation, View};
#[cfg(feature = "cluster")]
use crawler::warc::Directories;
use page::url::CrawlUrl;

use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::place::directory_first;
use crate::reading::ReadingArgs;
use crate::show::{finish, view_error};
use crate::terminal::Console;

/// Options of `explain`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Exit codes: 0 the URL was fetched, or may be; 1 robots.txt, a directive, the scope or a limit
prevents it.

Examples:
  crawl explain crawl-data https://example.org/private/
  crawl explain crawl-data https://example.org/a --json | jq -r .answer
  crawl explain --cluster postgres://crawl@db.example.org/study https://example.org/a")]
pub(crate) struct ExplainArgs {
    /// Directory of the crawl
    #[arg(value_name = "DIR")]
    dir: String,
    /// URL to explain; it needn't be part of the crawl
    #[cfg_attr(feature = "cluster", arg(required_unless_present = "cluster"))]
    #[cfg_attr(not(feature = "cluster"), arg(required = true))]
    url: Option<String>,
    /// Instead of a directory: the crawl on many machines in this PostgreSQL database
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DATABASE", value_parser = crate::database::address, conflicts_with = "url")]
    cluster: Option<Address>,
    /// With --cluster: `warc` directory of a worker, to name the response that has the page's body; repeatable
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "DIR", requires = "cluster")]
    warc: Vec<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Explains the decisions about a URL.
pub(crate) fn run(args: &ExplainArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    #[cfg(feature = "cluster")]
    if let Some(database) = &args.cluster {
        let url = parsed(&args.dir)?;
        if let Some(dir) = args.warc.iter().find(|dir| !dir.is_dir()) {
            let what = format!("--warc {}: no such directory", path_text(dir));
            return Err(Stop::new(exit::USAGE, what).into());
        }
        let parts = crate::database::some_views(database, Directories::new(args.warc.clone()))?;
        let story = explain_among(&parts, &url).map_err(|error| view_error(&error))?;
        return tell(&story, "DIR", console);
    }
    let second = args.url.as_deref().unwrap_or_default();
    let (dir, url) = directory_first(&args.dir, second, "crawl explain DIR URL")?;
    let story = story_of(&args.reading.open(&dir)?, &parsed(url)?)?;
    tell(&story, &shell_word(&dir), console)
}

fn parsed(url: &str) -> anyhow::Result<CrawlUrl> {
    CrawlUrl::parse(url).map_err(|error| {
        let text = page::clean::clean(url);
        Stop::new(exit::USAGE, format!("{text} can't be crawled: {error}")).into()
    })
}

fn story_of(view: &View, url: &CrawlUrl) -> anyhow::Result<Explanation> {
    view.explain(url).map_err(|error| view_error(&error))
}

/// A path as a shell reads it.
fn shell_word(path: &Path) -> String {
    let text = path_text(path);
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn tell(story: &Explanation, dir: &str, console: Console) -> anyhow::Result<i32> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if console.json { story.write_json(&mut out) } else { story.write_text(dir, &mut out) };
    let code = finish(written.and_then(|()| out.flush()).map_err(Into::into))?;
    // What is still in the buffer has been written, or nobody wants it.
    let (_, _) = out.into_parts();
    Ok(if story.allowed { code } else { exit::UNEXPECTED })
}
