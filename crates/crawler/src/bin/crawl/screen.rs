//! What a crawl shows while it runs, written on a thread of its own: a terminal that was stopped (Ctrl-S), or a pipe that nobody reads, holds up
//! neither the crawl nor its end.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use crawler::event::Progress;
use page::quantity::count;

use crate::progress::Display;
use crate::terminal::Console;

/// Bytes of lines that may wait to be written.
const MOST: usize = 4 << 20;

/// How long a caller may wait for space. After one such wait, lines are dropped until the queue is half empty.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long the end waits for a line to be written.
const AT_END: Duration = Duration::from_secs(2);

/// What is to be shown.
enum Shown {
    /// A line of the log as it is, with its end.
    Log(Vec<u8>),
    /// A line above the live area.
    Line(String),
    /// That the crawl is stopping; whether `^C` may have been typed.
    Stopping(String, bool),
}

impl Shown {
    fn bytes(&self) -> usize {
        64 + match self {
            Self::Log(bytes) => bytes.len(),
            Self::Line(text) | Self::Stopping(text, _) => text.len(),
        }
    }
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Shown>,
    bytes: usize,
    /// The latest; an older one isn't worth showing.
    progress: Option<Progress>,
    /// Lines weren't written in time: nobody waits for space any more.
    is_stuck: bool,
    omitted: u64,
    /// Number of writes finished, to see whether the reader makes progress.
    written: u64,
    is_over: bool,
    has_ended: bool,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, most: Duration, goes_on: impl Fn(&Waiting) -> bool) -> MutexGuard<'_, Waiting> {
        let waited = self.changed.wait_timeout_while(self.lock(), most, |waiting| goes_on(waiting));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Hands a line on. Waits at most [`PATIENCE`] for space, and not at all while lines aren't written.
    fn push(&self, shown: Shown) {
        let mut waiting = self.wait(PATIENCE, |waiting| waiting.bytes >= MOST && !waiting.is_stuck);
        if waiting.bytes >= MOST {
            waiting.is_stuck = true;
            waiting.omitted += 1;
            return;
        }
        waiting.bytes += shown.bytes();
        waiting.lines.push_back(shown);
        drop(waiting);
        self.changed.notify_all();
    }

    /// Writes what comes, until it is over.
    fn run(&self, mut display: Display, console: Console) {
        loop {
            let nothing = |waiting: &Waiting| {
                waiting.lines.is_empty() && waiting.progress.is_none() && !waiting.is_over
            };
            let mut waiting = self.wait(Duration::MAX, nothing);
            let line = waiting.lines.pop_front();
            let progress = if line.is_none() { waiting.progress.take() } else { None };
            if line.is_none() && progress.is_none() {
                break;
            }
            waiting.bytes -= line.as_ref().map_or(0, Shown::bytes);
            let mut omitted = 0;
            if waiting.bytes < MOST / 2 {
                waiting.is_stuck = false;
                omitted = std::mem::take(&mut waiting.omitted);
            }
            drop(waiting);
            match line {
                Some(Shown::Log(bytes)) => display.write(&bytes),
                Some(Shown::Line(text)) => display.line(&text),
                Some(Shown::Stopping(words, typed)) => {
                    if typed {
                        display.forget_typed();
                    }
                    display.stopping(&words, console);
                }
                None => {}
            }
            if let Some(progress) = progress {
                display.update(&progress);
            }
            if omitted > 0 {
                let lines = count(omitted, "line");
                display
                    .line(&format!("{lines} omitted: they weren't read in time; log/crawl.jsonl has them"));
            }
            self.lock().written += 1;
            self.changed.notify_all();
        }
        display.finish();
        self.lock().has_ended = true;
        self.changed.notify_all();
    }
}

/// Where a crawl shows what it does. Its calls don't wait for who reads it, but for a second at the first line that has no space.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Queue>);

impl Screen {
    /// Starts the thread.
    pub(crate) fn start(display: Display, console: Console) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let written = Arc::clone(&queue);
        Builder::new().name("screen".to_owned()).spawn(move || written.run(display, console))?;
        Ok(Self(queue))
    }

    /// Shows how far the crawl is, in the place of what was shown before.
    pub(crate) fn update(&self, progress: &Progress) {
        self.0.lock().progress = Some(progress.clone());
        self.0.changed.notify_all();
    }

    /// Prints a line.
    pub(crate) fn line(&self, text: String) {
        self.0.push(Shown::Line(text));
    }

    /// Says that the crawl is stopping.
    pub(crate) fn stopping(&self, words: &str, typed: bool) {
        self.0.push(Shown::Stopping(words.to_owned(), typed));
    }

    /// Ends the live area when everything is written, or nobody reads it.
    pub(crate) fn finish(&self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
        loop {
            let before = self.0.lock().written;
            let waiting = self.0.wait(AT_END, |waiting| !waiting.has_ended && waiting.written == before);
            if waiting.has_ended || waiting.written == before {
                return;
            }
        }
    }
}

/// The log: an event comes in one piece.
impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.lock().has_ended {
            return io::stderr().lock().write(bytes);
        }
        self.0.push(Shown::Log(bytes.to_owned()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_nobody_reads_are_omitted_and_counted_and_nobody_waits_for_them_twice() {
        let queue = Queue::default();
        let line = || Shown::Line("x".repeat(1 << 20));
        for _ in 0..4 {
            queue.push(line());
        }
        // The first without space waits a second; a thousand more don't.
        for _ in 0..1_000 {
            queue.push(line());
        }
        let waiting = queue.lock();
        assert_eq!(waiting.lines.len(), 4);
        assert_eq!(waiting.omitted, 1_000);
        drop(waiting);
        queue.lock().is_over = true;
        queue.run(Display::Nowhere, Console::default());
        let waiting = queue.lock();
        assert!(waiting.has_ended && !waiting.is_stuck && waiting.lines.is_empty());
        assert_eq!((waiting.omitted, waiting.bytes), (0, 0));
    }
}
