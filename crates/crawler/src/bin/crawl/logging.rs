//! The log: on stderr as requested with `-v`, in the output directory as JSON lines.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::sync::Mutex;

use page::clean::{clean, escaped};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::terminal::Console;

/// The target of decisions and pages, which the JSON log has at debug.
pub(crate) const DECISIONS: &str = "crawl::decisions";

/// Starts the log; a second call changes nothing.
pub(crate) fn start(console: Console, file: Option<File>) {
    start_on(console, file, io::stderr);
}

/// Starts the log of a crawl: `file` is its JSON log, `screen` where lines are shown.
pub(crate) fn start_on<W>(console: Console, file: Option<File>, screen: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let stderr = plain(console, screen);
    let file = file.map(|file| {
        let layer = tracing_subscriber::fmt::layer().json().with_current_span(true).with_span_list(false);
        layer
            .with_writer(Escaping(Mutex::new(file)))
            .with_filter(targets(level(console).max(LevelFilter::INFO)))
    });
    if Registry::default().with(stderr).with(file).try_init().is_err() {
        console.warning("the log was started twice");
    }
}

/// Returns the layer for people: one line per event, without colours, because these lines contain untrusted text.
fn plain<S, W>(console: Console, writer: W) -> impl Layer<S> + use<S, W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().compact().with_target(false).with_ansi(false);
    // Decisions are printed as lines of their own.
    let filter = targets(level(console)).with_target(DECISIONS, LevelFilter::OFF);
    layer.with_writer(Cleaning(writer)).with_filter(filter)
}

/// Makes writers that clean.
struct Cleaning<M>(M);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Cleaning<M> {
    type Writer = Cleaned<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Cleaned(self.0.make_writer())
    }
}

/// Cleans each event; the formatter escapes some of the fields only. An event comes in one piece.
struct Cleaned<W>(W);

impl<W: io::Write> io::Write for Cleaned<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = clean(text.trim_end_matches('\n'));
        self.0.write_all(format!("{line}\n").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Makes writers that escape in JSON what the formatter leaves: C1 controls, and what reorders text or ends lines elsewhere.
struct Escaping<M>(M);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Escaping<M> {
    type Writer = Escaped<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Escaped(self.0.make_writer())
    }
}

/// Escapes each event; it comes in one piece. Such characters are only within strings.
struct Escaped<W>(W);

impl<W: io::Write> io::Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.trim_end_matches('\n');
        let escaped = escaped(line);
        if matches!(escaped, Cow::Borrowed(_)) {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut escaped = escaped.into_owned();
        escaped.push('\n');
        self.0.write_all(escaped.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn level(console: Console) -> LevelFilter {
    match (console.quiet, console.verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, 2) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    }
}

/// Libraries that read what sites send, and have something to say of each token of it.
const PARSERS: [&str; 2] = ["html5ever", "lopdf"];

/// Lets our own crates speak at a level, others at most warn, and parsers not at all: a site would choose how much.
fn targets(level: LevelFilter) -> Targets {
    let ours = ["crawl", "crawler", "robots", "meta"].map(|name| (name, level));
    // What sled and tantivy complain of comes back as an error or warning of ours, with what to do about it.
    let silent = PARSERS.map(|name| (name, LevelFilter::OFF));
    let targets =
        Targets::new().with_default(level.min(LevelFilter::WARN)).with_targets(ours).with_targets(silent);
    if level >= LevelFilter::DEBUG {
        return targets;
    }
    targets.with_targets(["sled", "tantivy"].map(|name| (name, LevelFilter::OFF)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn logged(console: Console, log: impl FnOnce()) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = Arc::new(File::create(&path).unwrap());
        let subscriber = Registry::default().with(plain(console, file));
        tracing::subscriber::with_default(subscriber, log);
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        let foreign = "\u{1b}[2J\u{1b}]0;owned\u{7}\n\u{9b}31m WARN forged";
        let console = Console { color: crate::terminal::Color::Never, ..Console::default() };
        let text = logged(
            console,
            || tracing::warn!(target: "crawler", url = foreign, shown = %foreign, "seen {foreign}"),
        );
        assert_eq!(text.matches("seen").count(), 1, "{text:?}");
        assert!(!text.trim_end().contains(char::is_control), "{text:?}");
    }

    #[test]
    fn each_v_says_more() {
        for (quiet, verbose, lines) in
            [(true, 0, 1), (false, 0, 2), (false, 1, 3), (false, 2, 4), (false, 3, 5)]
        {
            let console = Console { quiet, verbose, ..Console::default() };
            let text = logged(console, || {
                tracing::error!(target: "crawler", "a");
                tracing::warn!(target: "crawler", "a");
                tracing::info!(target: "crawler", "a");
                tracing::debug!(target: "robots", "a");
                tracing::trace!(target: "crawler", "a");
                tracing::info!(target: "hyper", "a");
                tracing::error!(target: "html5ever::tree_builder", "a");
            });
            assert_eq!(text.lines().count(), lines, "-q {quiet} -v {verbose}");
        }
    }
}
