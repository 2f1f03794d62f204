//! `crawl page check`: what a page's directives say, and which tag or header line said it.

mod answer;
mod batch;
mod decide;
mod stored;
mod words;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use jiff::Timestamp;
use meta::{Agent, Dialect};
use page::extract::ExtractLimits;
use serde_json::json;
use url::Url;

use self::decide::Check;
use self::stored::Asked;
use crate::exit::{self, Stop};
use crate::reading::ReadingArgs;
use crate::terminal::Console;

/// Bytes of a page that are read.
const PAGE_LIMIT: u64 = 64 * 1024 * 1024;
/// Options of `page check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl page check --agent SuperRobot/1.0 page.html
  crawl page check --agent SuperRobot/1.0 --header 'X-Robots-Tag: noindex' --url https://example.org/a page.html
  crawl page check --from crawl-data https://example.org/a
  curl -s https://example.org/ | crawl page check --agent SuperRobot/1.0 -
  crawl page check --batch cases.jsonl > answers.jsonl")]
pub(crate) struct PageCheckArgs {
    /// Name of the robot, with or without a version [default with --from: that of the crawl]
    #[arg(long, value_name = "NAME", required_unless_present_any = ["batch", "from"])]
    agent: Option<String>,
    /// Another name whose directives apply to the robot; repeatable
    #[arg(long, value_name = "NAME")]
    alias: Vec<String>,
    /// How conflicting directives are resolved: strict, google, yandex, `lycos_ru` or inktomi
    #[arg(long, value_name = "NAME", default_value_t)]
    dialect: Dialect,
    /// Time to compare dates with, as 2026-01-01T00:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// URL of the page, the base of its links
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// Response header line; repeatable, in the order received
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// File of checks, one JSON object per line; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agent", "alias", "now", "url", "header", "file"])]
    batch: Option<PathBuf>,
    /// Directory of a crawl: check a URL that it visited, from its stored copy
    #[arg(long, value_name = "DIR", conflicts_with_all = ["batch", "url", "header"])]
    from: Option<PathBuf>,
    /// HTML file, `-` for standard input; without it only the header lines are checked; with --from: the URL
    #[arg(value_name = "FILE", required_unless_present_any = ["batch", "header"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// Checks one page, or a file of them.
pub(crate) fn run(args: &PageCheckArgs, console: Console) -> anyhow::Result<i32> {
    let out = &mut io::stdout().lock();
    if let Some(file) = &args.batch {
        return batch::run(&mut BufReader::new(open(file)?), out);
    }
    let Some(dir) = &args.from else { return single(args, console, out) };
    crate::logging::start(console, None);
    let asked = Asked {
        dir,
        reading: &args.reading,
        url: args.file.as_deref().and_then(Path::to_str).unwrap_or_default(),
        agent: args.agent.as_deref(),
        aliases: &args.alias,
        dialect: args.dialect,
        now: args.now.unwrap_or_else(page::clock::wall),
    };
    stored::run(&asked, console, out)
}

/// Checks one page and writes the result as text or JSON.
fn single(args: &PageCheckArgs, console: Console, out: &mut dyn Write) -> anyhow::Result<i32> {
    let headers = args.header.iter().map(|line| read_header(line)).collect::<anyhow::Result<Vec<_>>>()?;
    let content_types = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let agent = args.agent.as_deref().unwrap_or_default();
    let check = Check {
        html: args.file.as_deref().map(read_page).transpose()?,
        content_types: content_types.map(|(_, value)| value.clone()).collect(),
        limits: ExtractLimits::default(),
        is_cut: false,
        closes_unread_head: true,
        agent: Agent::new(agent).with_aliases(&args.alias),
        dialect: args.dialect,
        now: args.now.unwrap_or_else(page::clock::wall),
        url: args.url.clone(),
        headers,
    };
    let checked = check.decide();
    if console.json {
        let mut answer = json!({"v": 1, "id": null});
        answer.as_object_mut().into_iter().for_each(|answer| answer.extend(answer::as_json(&checked)));
        writeln!(out, "{answer}")?;
    } else {
        words::write_text(&check, &checked, out)?;
    }
    Ok(exit::COMPLETE)
}

fn read_header(line: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| Stop::new(exit::USAGE, format!("--header {line:?}: expected `Name: value`")))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(File::open(file).with_context(|| format!("can't open {}", file.display()))?))
}

fn read_page(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut html = Vec::new();
    let reading = open(file)?.take(PAGE_LIMIT).read_to_end(&mut html);
    reading.with_context(|| format!("can't read {}", file.display()))?;
    Ok(html)
}
