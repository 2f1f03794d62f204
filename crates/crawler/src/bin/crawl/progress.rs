//! The state of a crawl while it runs: a live area on a terminal, otherwise a plain line every 10 seconds.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crawler::clean::clean;
use crawler::event::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::terminal::Console;

/// Time between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Where progress is shown.
#[derive(Debug)]
pub(crate) enum Display {
    /// `--quiet`.
    Nowhere,
    /// A terminal.
    Live(ProgressBar),
    /// Anything else on stderr; with `--json`, objects on stdout.
    Lines {
        /// JSON on stdout.
        json: bool,
        /// When the next line is due.
        next: Duration,
    },
}

impl Display {
    pub(crate) fn new(console: Console) -> Self {
        if console.quiet {
            Self::Nowhere
        } else if console.json || !io::stderr().is_terminal() {
            Self::Lines { json: console.json, next: PLAIN_EVERY }
        } else {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            Self::Live(bar)
        }
    }

    pub(crate) fn update(&mut self, progress: &Progress) {
        match self {
            Self::Nowhere => {}
            Self::Live(bar) => bar.set_message(live(progress)),
            Self::Lines { json, next } => {
                if progress.elapsed < *next {
                    return;
                }
                *next = progress.elapsed + PLAIN_EVERY;
                // Progress that can't be written is not worth stopping a crawl for.
                if *json {
                    drop(writeln!(io::stdout().lock(), "{}", object(progress)));
                } else {
                    drop(writeln!(io::stderr().lock(), "{}", line(progress)));
                }
            }
        }
    }

    pub(crate) fn finish(&mut self) {
        if let Self::Live(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Time that the slowest host still needs, which is what the crawl needs.
pub(crate) fn eta(progress: &Progress) -> String {
    let by_rate = if progress.pages_per_second > 0.0 {
        Duration::from_secs_f64((progress.queued as f64 / progress.pages_per_second).min(1e9))
    } else {
        Duration::ZERO
    };
    let by_host = progress.slowest.as_ref().map_or(Duration::ZERO, |(_, _, remaining, _)| *remaining);
    match by_rate.max(by_host) {
        Duration::ZERO if progress.queued > 0 => "?".to_owned(),
        time => span(time),
    }
}

pub(crate) fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        seconds @ 3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
        seconds @ 86_400..31_622_400 => format!("{}d {:02}h", seconds / 86_400, seconds % 86_400 / 3600),
        // A Visit-time that never comes, a Crawl-delay of weeks with a thousand URLs behind it.
        _ => "over a year".to_owned(),
    }
}

fn line(progress: &Progress) -> String {
    let totals = progress.totals;
    format!(
        "{} queued {} done {} redirects {} skipped {} failed {} {:.1} pages/s waiting {} eta {}",
        span(progress.elapsed),
        progress.queued,
        totals.pages,
        totals.redirects,
        totals.skipped,
        totals.failed,
        progress.pages_per_second,
        progress.waiting.iter().map(|(_, hosts)| hosts).sum::<u64>(),
        eta(progress)
    )
}

fn live(progress: &Progress) -> String {
    let totals = progress.totals;
    let waiting: Vec<String> = progress.waiting.iter().map(|(why, hosts)| format!("{why} {hosts}")).collect();
    let waiting = if waiting.is_empty() { "none".to_owned() } else { waiting.join(", ") };
    let mut text = format!(
        "{}  queued {}  done {}  redirects {}  skipped {}  failed {}  {:.1} pages/s  eta {}\n\
         hosts {}  in flight {}  waiting: {waiting}",
        span(progress.elapsed),
        progress.queued,
        totals.pages,
        totals.redirects,
        totals.skipped,
        totals.failed,
        progress.pages_per_second,
        eta(progress),
        progress.hosts,
        progress.in_flight,
    );
    if let Some((host, queued, remaining, why)) = &progress.slowest {
        let slowest = [
            "\nslowest: ",
            &clean(host),
            &format!(", {queued} URLs, "),
            &span(*remaining),
            &format!(" ({why})"),
        ];
        text.extend(slowest);
    }
    text
}

pub(crate) fn object(progress: &Progress) -> serde_json::Value {
    let waiting: serde_json::Map<_, _> =
        progress.waiting.iter().map(|(why, hosts)| (why.as_str().to_owned(), (*hosts).into())).collect();
    serde_json::json!({
        "v": 1,
        "event": "progress",
        "elapsed_s": progress.elapsed.as_secs_f64(),
        "queued": progress.queued,
        "in_flight": progress.in_flight,
        "hosts": progress.hosts,
        "totals": progress.totals,
        "pages_per_second": progress.pages_per_second,
        "waiting": waiting,
        "slowest": progress.slowest.as_ref().map(|(host, queued, remaining, why)| serde_json::json!({
            "host": host, "queued": queued, "remaining_s": remaining.as_secs_f64(), "why": why.as_str(),
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units_and_end_at_a_year() {
        for (seconds, expected) in [
            (59, "59s"),
            (61, "1m 01s"),
            (7_260, "2h 01m"),
            (90_000, "1d 01h"),
            (366 * 86_400 - 1, "365d 23h"),
            (366 * 86_400, "over a year"),
            (u64::MAX, "over a year"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), expected);
        }
    }
}
