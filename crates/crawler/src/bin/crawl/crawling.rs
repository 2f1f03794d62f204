//! What `run` and `resume` share: signals, progress, the summary at the end, the exit code.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crawler::engine::{End, Listener, Stop as Request, Summary};
use crawler::event::CrawlEvent;
use crawler::job::{Job, JobError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::{self, Stop};
use crate::progress::Display;
use crate::terminal::Talk;

/// Crawls, and gives the exit code.
pub(crate) fn crawl(job: Job, talk: Talk) -> anyhow::Result<i32> {
    let out = job.dir().root().to_owned();
    crate::logging::start(talk, Some(job.dir().log().map_err(|error| told(&error.into()))?));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let summary = runtime.block_on(async {
        let (ask, asked) = watch::channel(Request::No);
        listen(ask, talk)?;
        let display = Arc::new(Mutex::new(Display::new(talk)));
        let result = job.run(asked, listener(Arc::clone(&display))).await;
        display.lock().unwrap_or_else(PoisonError::into_inner).finish();
        result.map_err(|error| told(&error))
    });
    // What still runs on blocking threads holds nothing that has to be saved.
    runtime.shutdown_background();
    let summary = summary?;
    tell(&summary, &out, talk)?;
    Ok(code(&summary))
}

/// Names the exit code of an error of the library, and what to do about it.
pub(crate) fn told(error: &JobError) -> anyhow::Error {
    use crawler::job::DirError;
    let code = match error {
        JobError::Dir(DirError::HoldsCrawl(_) | DirError::NoSettings(_)) | JobError::Pattern(_) => {
            exit::USAGE
        }
        JobError::Selector(_) => exit::CONFIG,
        JobError::Dir(_)
        | JobError::View(_)
        | JobError::Store(_)
        | JobError::Commit(_)
        | JobError::Scrub { .. }
        | JobError::Format { .. } => exit::STORAGE,
        _ => exit::UNEXPECTED,
    };
    let mut what = String::new();
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !what.contains(&text) {
            what.push_str(if what.is_empty() { "" } else { ": " });
            what.push_str(&text);
        }
        cause = error.source();
    }
    what.push_str(advice(error));
    Stop::new(code, what).into()
}

/// What to do about an error of the disk, where its own words don't say so.
fn advice(error: &(dyn std::error::Error + 'static)) -> &'static str {
    use crawler::{commit::CommitError, store::StoreError, warc};
    let causes = || std::iter::successors(Some(error), |error| error.source());
    let short = |cause: &(dyn std::error::Error + 'static)| {
        matches!(
            cause.downcast_ref::<warc::Error>(),
            Some(warc::Error::Short { .. } | warc::Error::Record { .. } | warc::Error::Name(_))
        )
    };
    let refused = |cause: &(dyn std::error::Error + 'static)| {
        let store = cause.downcast_ref::<StoreError>();
        cause.is::<io::Error>() || matches!(store, Some(StoreError::Io { .. } | StoreError::Stopped))
    };
    if causes().any(short) {
        "; the archive is damaged: `crawl repair DIR --out NEWDIR` saves what can be read"
    } else if matches!(
        error.downcast_ref::<JobError>(),
        Some(JobError::Commit(CommitError::Store(_) | CommitError::Warc(_)))
    ) && causes().any(refused)
    {
        "; what was counted is safe, and `crawl resume` goes on once this is mended"
    } else {
        ""
    }
}

/// The first SIGINT or SIGTERM asks to finish what is in flight, the second to end at once.
fn listen(ask: watch::Sender<Request>, talk: Talk) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        for (request, words) in [
            (Request::Drain, "stopping: what is in flight is finished first; once more stops at once"),
            (Request::Now, "stopping at once"),
        ] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            talk.warning(words);
            ask.send_replace(request);
        }
        // The channel stays open until the runtime ends.
        std::future::pending::<()>().await;
    });
    Ok(())
}

fn listener(display: Arc<Mutex<Display>>) -> Listener {
    Box::new(move |event| match event {
        CrawlEvent::Progress(progress) => {
            display.lock().unwrap_or_else(PoisonError::into_inner).update(&progress);
        }
        CrawlEvent::Decided(decision) => tracing::debug!(
            url = decision.url,
            layer = ?decision.layer,
            reason = decision.reason,
            evidence = %decision.evidence,
            "{}",
            decision.decision
        ),
        CrawlEvent::Page { url, status } => tracing::debug!(url, status, "visited"),
        _ => {}
    })
}

fn code(summary: &Summary) -> i32 {
    match &summary.end {
        End::Forced => exit::FORCED,
        End::Interrupted => exit::INTERRUPTED,
        End::Limit(_) => exit::LIMIT,
        End::Complete if summary.totals.pages == 0 => exit::NO_SEED,
        End::Complete => exit::COMPLETE,
    }
}

/// Octets in the unit that leaves one to three digits before the point.
fn human(octets: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB"];
    let mut amount = octets as f64;
    let mut unit = 0;
    while amount >= 999.95 && unit + 1 < units.len() {
        amount /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{octets} B") } else { format!("{amount:.1} {}", units[unit]) }
}

fn tell(summary: &Summary, out: &Path, talk: Talk) -> anyhow::Result<()> {
    let totals = summary.totals;
    let out = crawler::clean::clean(&out.display().to_string()).into_owned();
    let end = match &summary.end {
        End::Complete if totals.pages == 0 => "no seed could be crawled".to_owned(),
        End::Complete => "complete".to_owned(),
        End::Limit(limit) => format!("limit reached: {limit}"),
        End::Interrupted => "interrupted".to_owned(),
        End::Forced => "stopped at once".to_owned(),
    };
    tracing::info!(end, pages = totals.pages, queued = summary.queued, "run ended");
    let mut stdout = io::stdout().lock();
    if talk.json {
        let left: Vec<_> = summary
            .left
            .iter()
            .map(|(host, reason, queued)| serde_json::json!({"host": host, "reason": reason, "queued": queued}))
            .collect();
        let line = serde_json::json!({
            "v": 1, "event": "summary", "end": end, "exit_code": code(summary), "dir": out, "totals": totals,
            "queued": summary.queued, "left": left, "left_hosts": summary.left_hosts,
        });
        writeln!(stdout, "{line}")?;
        return Ok(());
    }
    if talk.quiet {
        return Ok(());
    }
    writeln!(
        stdout,
        "{end}: {} pages, {} redirects, {} failed, {} skipped; {} requests, {}",
        totals.pages,
        totals.redirects,
        totals.failed,
        totals.skipped,
        totals.requests,
        human(totals.bytes)
    )?;
    for (host, reason, queued) in summary.left.iter().take(10) {
        let (host, reason) = (crawler::clean::clean(host), crawler::clean::clean(reason));
        writeln!(stdout, "  left for later: {host}, {queued} URLs ({reason})")?;
    }
    if summary.left_hosts > 10 {
        writeln!(stdout, "  and {} more hosts", summary.left_hosts - 10)?;
    }
    if summary.queued > 0 {
        writeln!(stdout, "{} URLs are still queued; go on with: crawl resume {out}", summary.queued)?;
    }
    writeln!(stdout, "examine it with: crawl show {out}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people_have_one_to_three_digits() {
        for (octets, text) in
            [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (82_638_577, "82.6 MB"), (999_960_000, "1.0 GB")]
        {
            assert_eq!(human(octets), text);
        }
    }
}
