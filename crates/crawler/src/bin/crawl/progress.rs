//! The state of a crawl while it runs: a live area on a terminal, otherwise a plain line every 10 seconds.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crawler::event::Progress;
use crawler::pace::DelayReason;
use indicatif::{ProgressBar, ProgressStyle};
use page::clean::clean;
use page::quantity::count;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::Console;

/// Time between two plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Where progress is shown.
#[derive(Debug)]
pub(crate) enum Display {
    /// `--quiet`.
    Nowhere,
    /// A terminal: one area at its bottom. Everything else is printed above it.
    Live {
        /// The area.
        bar: ProgressBar,
        /// Set once the crawl was asked to stop.
        stopping: bool,
    },
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
            Self::Live { bar, stopping: false }
        }
    }

    /// Takes back the `^C` that the terminal has written behind the live area, whose last line is as wide as the terminal: the area would
    /// be cleared one line too low.
    pub(crate) fn forget_typed(&self) {
        if matches!(self, Self::Live { .. }) && shows_typed() {
            drop(write!(io::stderr().lock(), "\r\x1b[K\x1b[1A"));
        }
    }

    /// Says that the crawl is stopping: in the live area, or as a message.
    pub(crate) fn stopping(&mut self, words: &str, console: Console) {
        if let Self::Live { bar, stopping } = self {
            *stopping = true;
            bar.suspend(|| console.warning(words));
            // The next figures come within a second.
            let message = bar.message();
            let (first, rest) = message.split_once('\n').unwrap_or((&message, ""));
            let first = fitting(&format!("stopping  {first}"), width());
            bar.set_message(format!("{first}\n{rest}"));
        } else {
            console.warning(words);
        }
    }

    /// Prints a line on stderr, above the live area.
    pub(crate) fn line(&self, text: &str) {
        // If stderr can't be written, there is nowhere to report it.
        self.write(format!("{}\n", clean(text)).as_bytes());
    }

    /// Writes lines as they are to stderr, above the live area.
    pub(crate) fn write(&self, lines: &[u8]) {
        let print = || drop(io::stderr().lock().write_all(lines));
        if let Self::Live { bar, .. } = self { bar.suspend(print) } else { print() }
    }

    pub(crate) fn update(&mut self, progress: &Progress) {
        match self {
            Self::Nowhere => {}
            Self::Live { bar, stopping } => {
                bar.set_message(live(progress, *stopping, width()));
            }
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
        if let Self::Live { bar, .. } = self {
            bar.finish_and_clear();
        }
    }
}

/// Columns of the terminal; 80 if unknown.
fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}

/// Whether the terminal writes what is typed, Ctrl-C as `^C`.
fn shows_typed() -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::termios::{LocalModes, tcgetattr};
        let shows = LocalModes::ECHO | LocalModes::ECHOCTL;
        tcgetattr(io::stdin()).is_ok_and(|terminal| terminal.local_modes.contains(shows))
    }
    #[cfg(not(target_os = "linux"))]
    false
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

/// What the end of a run waits for.
fn indexing(progress: &Progress, pages: u64) -> String {
    let time = span(progress.elapsed);
    format!("{time} indexing, {} to go; Ctrl-C leaves them to the next run", count(pages, "page"))
}

fn line(progress: &Progress) -> String {
    if let Some(pages) = progress.to_index {
        return indexing(progress, pages);
    }
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

/// The live area: four lines at most, none wider than the terminal.
fn live(progress: &Progress, stopping: bool, width: usize) -> String {
    if let Some(pages) = progress.to_index {
        return fitting(&indexing(progress, pages), width);
    }
    let totals = progress.totals;
    let state = match (stopping, progress.paused) {
        (true, _) => format!("stopping, {} in flight  ", progress.in_flight),
        (false, true) => "paused  ".to_owned(),
        (false, false) => String::new(),
    };
    let mut lines = vec![
        format!(
            "{state}{}  done {}  queued {}  {:.1} pages/s  eta {}",
            span(progress.elapsed),
            totals.pages,
            progress.queued,
            progress.pages_per_second,
            eta(progress)
        ),
        format!(
            "redirects {}  skipped {}  failed {}  hosts {}  in flight {}",
            totals.redirects, totals.skipped, totals.failed, progress.hosts, progress.in_flight
        ),
        waiting(&progress.waiting),
    ];
    if let Some((host, queued, remaining, why)) = &progress.slowest {
        // The name is shortened before what is said of it.
        let about = format!(", {queued} URLs, {} ({why})", span(*remaining));
        let room = width.saturating_sub("slowest: ".len() + about.chars().count());
        lines.push(format!("slowest: {}{about}", fitting(&clean(host), room)));
    }
    lines.iter().map(|line| fitting(line, width)).collect::<Vec<_>>().join("\n")
}

/// How many hosts wait, and for what.
pub(crate) fn waiting(waiting: &[(DelayReason, u64)]) -> String {
    let [(why, hosts), others @ ..] = waiting else { return "no host waits".to_owned() };
    let verb = if *hosts == 1 { "waits" } else { "wait" };
    let first = format!("{} {verb} for {}", count(*hosts, "host"), why.awaited());
    let others = others.iter().map(|(why, hosts)| format!("{hosts} for {}", why.awaited()));
    std::iter::once(first).chain(others).collect::<Vec<_>>().join(", ")
}

/// A text cut to a number of columns, with dots where it was cut.
fn fitting(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut room = width.saturating_sub(3);
    for c in text.chars() {
        let Some(rest) = room.checked_sub(c.width().unwrap_or(0)) else { break };
        room = rest;
        cut.push(c);
    }
    cut.push_str(&"..."[..width.min(3)]);
    cut
}

/// A text broken at blanks into lines of at most so many columns; those that follow are indented by four.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut column = 0;
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().width();
            if column > 4 && column + length > width {
                out.truncate(out.trim_end_matches(' ').len());
                out.push_str("\n    ");
                column = 4;
            }
            out.push_str(word);
            column += word.width();
        }
        out.push('\n');
    }
    out
}

pub(crate) fn object(progress: &Progress) -> serde_json::Value {
    let waiting: serde_json::Map<_, _> =
        progress.waiting.iter().map(|(why, hosts)| (why.as_str().to_owned(), (*hosts).into())).collect();
    let mut object = serde_json::json!({
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
    });
    if let Some(pages) = progress.to_index {
        object["to_index"] = pages.into();
    }
    object
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

    #[test]
    fn the_live_area_fits_its_terminal_and_says_that_it_is_stopping() {
        use crawler::commit::Totals;
        use crawler::pace::DelayReason;
        let totals = Totals {
            pages: 12_345_678,
            redirects: 1_234_567,
            skipped: 9_876_543,
            failed: 123_456,
            ..Totals::default()
        };
        let progress = Progress {
            totals,
            queued: 98_765_432,
            in_flight: 256,
            hosts: 1_000_000,
            waiting: DelayReason::ALL.map(|why| (why, 4321)).to_vec(),
            slowest: Some((
                "\u{1b}[2Jw\u{fc}rzburg.".repeat(20),
                1_000_000,
                Duration::from_secs(90_000_000),
                DelayReason::CrawlDelay,
            )),
            elapsed: Duration::from_secs(86_399),
            pages_per_second: 1234.56,
            ..Progress::default()
        };
        for width in [40, 80, 132] {
            let text = live(&progress, false, width);
            assert_eq!(text.lines().count(), 4, "{text}");
            assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        let text = live(&progress, false, 80);
        assert!(
            text.starts_with("23h 59m  done 12345678  queued 98765432  1234.6 pages/s  eta over a year\n"),
            "{text}"
        );
        assert!(text.ends_with(", 1000000 URLs, over a year (crawl-delay)"), "{text}");
        assert!(live(&progress, true, 80).starts_with("stopping, 256 in flight  23h 59m"));
        let paused = Progress { paused: true, ..progress };
        assert!(live(&paused, false, 80).starts_with("paused  23h 59m"));
        let over = Progress { to_index: Some(4_321), ..paused };
        let text = "23h 59m indexing, 4321 pages to go; Ctrl-C leaves them to the next run";
        assert_eq!((live(&over, false, 80), line(&over)), (text.to_owned(), text.to_owned()));
        assert_eq!(object(&over)["to_index"], 4_321);
    }

    #[test]
    fn a_long_line_is_broken_at_blanks_and_a_long_word_is_not() {
        assert_eq!(wrapped("one two three four", 11), "one two\n    three\n    four\n");
        assert_eq!(wrapped("a\n  b c", 80), "a\n  b c\n");
        let head = "e".repeat(64);
        assert_eq!(
            wrapped(&format!("head of the ledger: {head}"), 70),
            format!("head of the ledger:\n    {head}\n")
        );
    }
}
