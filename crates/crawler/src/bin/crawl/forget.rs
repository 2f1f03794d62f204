//! `crawl forget`: removes what a crawl has of some URLs, and keeps them from being fetched again.

use std::path::PathBuf;

use clap::Args;
use crawler::job::{self, JobError, Removed};
use crawler::record::Forget;
use crawler::scope::{PATTERN_BYTES, compile_regex, why_no_regex};
use page::clean::clean;
use page::quantity::count;
use page::url::CrawlUrl;

use crate::crawling;
use crate::exit::{self, Stop};
use crate::terminal::Console;

/// Options of `forget`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The crawl must not be running. The content goes from the database, the archive, its indexes and the
full-text index; the URL, the time and the reason stay. robots.txt and the ledger stay, too.

Examples:
  crawl forget crawl-data https://example.org/staff/ann --reason 'asked for on 2026-11-20'
  crawl forget crawl-data www.example.org
  crawl forget crawl-data --regex '^https?://example[.]org/private/'")]
pub(crate) struct ForgetArgs {
    /// Directory of the crawl
    dir: PathBuf,
    #[command(flatten)]
    asked: AskedArgs,
}

/// What is to be forgotten.
#[derive(Clone, Debug, Args)]
pub(crate) struct AskedArgs {
    /// URL, or host with all its URLs
    #[arg(value_name = "URL|HOST", required_unless_present = "regex", conflicts_with = "regex")]
    what: Option<String>,
    /// All URLs that match this regular expression
    #[arg(long, value_name = "RE")]
    regex: Option<String>,
    /// Reason, for the ledger and the records that remain; without any text that has to go
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// Removes.
pub(crate) fn run(args: &ForgetArgs, console: Console) -> anyhow::Result<i32> {
    crate::logging::start(console, None);
    let (forget, reason) = args.asked.read()?;
    let removed = job::forget(&args.dir, forget, &reason, page::clock::wall())
        .map_err(|error| with_exit_code(&error))?;
    let Removed { pages, records, shared, shared_urls } = &removed;
    if console.json {
        let mut line = serde_json::to_value(&removed)?;
        line["v"] = 1.into();
        return exit::print(format!("{line}\n").as_bytes());
    }
    if !console.quiet {
        let line = format!(
            "forgotten: {}, {} of the archive; never fetched again\n",
            count(*pages, "page"),
            count(*records, "record")
        );
        exit::print(line.as_bytes())?;
    }
    if *shared > 0 {
        let named: Vec<_> = shared_urls.iter().map(|url| clean(url)).collect();
        console.warning(&format!(
            "the archive had the same body for {}, and stored it once: it is gone there, too ({}); forget them as well if their titles and texts have to go",
            count(*shared, "other capture"),
            named.join(", ")
        ));
    }
    Ok(exit::COMPLETE)
}

impl AskedArgs {
    /// What is to be forgotten, and the reason.
    pub(crate) fn read(&self) -> anyhow::Result<(Forget, String)> {
        Ok((self.forget()?, clean(&self.reason).trim().to_owned()))
    }

    fn forget(&self) -> anyhow::Result<Forget> {
        let usage = |what: String| anyhow::Error::from(Stop::new(exit::USAGE, what));
        if let Some(pattern) = &self.regex {
            if let Err(error) = compile_regex(pattern, PATTERN_BYTES) {
                let why = why_no_regex(&error);
                return Err(usage(format!("--regex: {pattern:?} isn't a regular expression: {why}")));
            }
            return Ok(Forget::Regex(pattern.clone()));
        }
        let text = self.what.as_deref().unwrap_or_default().trim();
        if text.contains("://") {
            return match CrawlUrl::parse(text) {
                Ok(url) => Ok(Forget::Url(url.as_str().to_owned())),
                Err(error) => Err(usage(format!("{} is no URL of a page: {error}", clean(text)))),
            };
        }
        match host_in_urls(text) {
            Some(host) => Ok(Forget::Host(host)),
            None => Err(usage(format!(
                "{} is neither a URL (https://example.org/page) nor a host (example.org)",
                clean(text)
            ))),
        }
    }
}

/// A host as it is in URLs: in lower case, an international name in its ASCII form. None for what is no host.
pub(crate) fn host_in_urls(text: &str) -> Option<String> {
    let url = CrawlUrl::parse(&format!("http://{text}/")).ok()?;
    (url.as_str() == format!("http://{}/", url.host())).then(|| url.host().to_owned())
}

fn with_exit_code(error: &JobError) -> anyhow::Error {
    match error {
        JobError::Forget(_) | JobError::Unfinished(_) => Stop::new(exit::USAGE, error.to_string()).into(),
        error => crawling::with_exit_code(error),
    }
}
