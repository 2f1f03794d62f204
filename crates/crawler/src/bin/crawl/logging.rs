//! The log: on stderr what `-v` asks for, in the crawl's own directory as JSON lines.

use std::fs::File;
use std::io;
use std::sync::Mutex;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::terminal::Talk;

/// Starts the log; a second call changes nothing. `file` is the JSON log of a crawl.
pub(crate) fn start(talk: Talk, file: Option<File>) {
    let stderr = plain(talk, io::stderr);
    let file = file.map(|file| {
        let layer = tracing_subscriber::fmt::layer().json().with_current_span(true).with_span_list(false);
        layer.with_writer(Mutex::new(file)).with_filter(targets(level(talk).max(LevelFilter::INFO)))
    });
    if Registry::default().with(stderr).with(file).try_init().is_err() {
        talk.warning("the log was started twice");
    }
}

/// Gives the layer for people. Control characters in fields and messages are escaped by the formatter.
fn plain<S, W>(talk: Talk, writer: W) -> impl Layer<S> + use<S, W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().compact().with_target(false).with_ansi(talk.colors_stderr());
    layer.with_writer(writer).with_filter(targets(level(talk)))
}

fn level(talk: Talk) -> LevelFilter {
    match (talk.quiet, talk.verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, 2) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    }
}

/// Lets our own crates speak at a level, others at most warn.
fn targets(level: LevelFilter) -> Targets {
    let ours = ["crawl", "crawler", "robots", "meta"].map(|name| (name, level));
    Targets::new().with_default(level.min(LevelFilter::WARN)).with_targets(ours)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn logged(talk: Talk, log: impl FnOnce()) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let file = Arc::new(File::create(&path).unwrap());
        let subscriber = Registry::default().with(plain(talk, file));
        tracing::subscriber::with_default(subscriber, log);
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        let foreign = "\u{1b}[2J\u{1b}]0;owned\u{7}";
        let talk = Talk { color: crate::terminal::Color::Never, ..Talk::default() };
        let text = logged(
            &talk,
            || tracing::warn!(target: "crawler", url = foreign, shown = %foreign, "seen {foreign}"),
        );
        assert!(text.contains("owned"));
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }

    #[test]
    fn each_v_says_more() {
        for (quiet, verbose, lines) in
            [(true, 0, 1), (false, 0, 2), (false, 1, 3), (false, 2, 4), (false, 3, 5)]
        {
            let talk = Talk { quiet, verbose, ..Talk::default() };
            let text = logged(talk, || {
                tracing::error!(target: "crawler", "a");
                tracing::warn!(target: "crawler", "a");
                tracing::info!(target: "crawler", "a");
                tracing::debug!(target: "robots", "a");
                tracing::trace!(target: "crawler", "a");
                tracing::info!(target: "hyper", "a");
            });
            assert_eq!(text.lines().count(), lines, "-q {quiet} -v {verbose}");
        }
    }
}
