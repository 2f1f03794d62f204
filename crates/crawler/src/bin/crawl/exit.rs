//! Exit codes, and how an error is printed.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use crawler::config::ConfigError;
use crawler::job::DirError;
use crawler::seeds::SeedError;
use crawler::view::ViewError;

use crate::terminal::Console;

/// Everything that was to be crawled was crawled.
pub(crate) const COMPLETE: i32 = 0;
/// Something that nobody expected; a panic too. `robots check`: not allowed.
pub(crate) const UNEXPECTED: i32 = 1;
/// A wrong option, or a wrong value of one.
pub(crate) const USAGE: i32 = 2;
/// A wrong config file or environment variable.
pub(crate) const CONFIG: i32 = 3;
/// No seed could be crawled.
pub(crate) const NO_SEED: i32 = 4;
/// Storage or disk.
pub(crate) const STORAGE: i32 = 5;
/// A limit was reached.
pub(crate) const LIMIT: i32 = 10;
/// Stopped by Ctrl-C or SIGTERM.
pub(crate) const INTERRUPTED: i32 = 11;
/// Stopped at once by a second signal.
pub(crate) const FORCED: i32 = 12;
/// Ended with URLs or hosts remaining.
pub(crate) const REMAINING: i32 = 13;
/// `audit` found a violation.
pub(crate) const VIOLATION: i32 = 14;

/// An error that ends the program with a code of its own.
#[derive(Debug)]
pub(crate) struct Stop {
    code: i32,
    what: String,
}

impl Stop {
    /// Makes a stop; `what` says what is wrong, where, and what to do.
    pub(crate) fn new(code: i32, what: impl Into<String>) -> Self {
        Self { code, what: what.into() }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Stop {}

/// Prints what is wrong with an argument, and gives the exit code.
#[expect(clippy::needless_pass_by_value, reason = "it ends here")]
pub(crate) fn print_argument_error(error: clap::Error) -> i32 {
    // If not even this can be written, there is still the exit code.
    drop(error.print());
    error.exit_code()
}

/// An error of a directory with its exit code.
#[cfg(feature = "cluster")]
pub(crate) fn dir_error(error: &DirError) -> anyhow::Error {
    let code = match error {
        DirError::HoldsCrawl(_) | DirError::NoSettings(_) | DirError::NoCrawl(_) | DirError::Moved { .. } => {
            USAGE
        }
        _ => STORAGE,
    };
    Stop::new(code, crawler::causes::with_causes(error)).into()
}

/// An error with its causes. A directory without a crawl is a usage error, everything else a storage error.
pub(crate) fn view_error(error: &ViewError) -> anyhow::Error {
    let code = match error {
        ViewError::Dir(DirError::NoCrawl(_)) => USAGE,
        _ => STORAGE,
    };
    Stop::new(code, error.message()).into()
}

/// Checks that a directory holds a crawl, by its settings.
pub(crate) fn expect_crawl(dir: &Path) -> anyhow::Result<()> {
    match crawler::crawl_dir::expect_crawl(dir) {
        Ok(()) => Ok(()),
        Err(error @ DirError::Io { .. }) => {
            Err(Stop::new(STORAGE, crawler::causes::with_causes(&error)).into())
        }
        Err(_) => Err(no_crawl(dir)),
    }
}

/// As [`expect_crawl`], also of a directory that has lost its settings.
#[cfg(feature = "serve")]
pub(crate) fn expect_crawl_or_database(dir: &Path) -> anyhow::Result<()> {
    if dir.join("db").is_dir() { Ok(()) } else { expect_crawl(dir) }
}

/// The error of every command that is given a directory without a crawl.
pub(crate) fn no_crawl(dir: &Path) -> anyhow::Error {
    Stop::new(USAGE, DirError::NoCrawl(dir.to_owned()).to_string()).into()
}

/// Prints an error on stderr and returns its exit code. A closed pipe on stdout is no error.
pub(crate) fn report(error: &anyhow::Error, console: Console) -> i32 {
    let gone = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(gone) {
        return COMPLETE;
    }
    // With its causes, on one line.
    console.error(&format!("{error:#}"));
    code(error)
}

/// Returns the exit code of an error: that of the first cause that has one.
fn code(error: &anyhow::Error) -> i32 {
    let of = |cause: &(dyn std::error::Error + 'static)| {
        let stop = cause.downcast_ref::<Stop>().map(|stop| stop.code);
        let config = || cause.downcast_ref::<ConfigError>().map(ConfigError::exit_code);
        let seeds = || cause.downcast_ref::<SeedError>().map(|_| NO_SEED);
        let disk =
            || cause.downcast_ref::<io::Error>().filter(|error| is_of_disk(error.kind())).map(|_| STORAGE);
        stop.or_else(config).or_else(seeds).or_else(disk)
    };
    error.chain().find_map(of).unwrap_or(UNEXPECTED)
}

fn is_of_disk(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}

/// Writes a result that is complete to stdout.
pub(crate) fn print(bytes: &[u8]) -> anyhow::Result<i32> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).context("can't write to standard output")?;
    Ok(COMPLETE)
}

/// Converts a code for the system.
pub(crate) fn status(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_decides_the_code() {
        let stop = || anyhow::Error::from(Stop::new(STORAGE, "no space"));
        assert_eq!(code(&stop()), STORAGE);
        assert_eq!(code(&stop().context("writing the archive")), STORAGE);
        assert_eq!(code(&anyhow::anyhow!("what?")), UNEXPECTED);
        let full = anyhow::Error::from(io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(code(&full.context("writing")), STORAGE);
        let none = crawler::seeds::read(std::path::Path::new("/nowhere/at/all"));
        assert_eq!(code(&anyhow::Error::from(none.unwrap_err())), NO_SEED);
    }

    #[test]
    fn a_reader_that_left_is_no_error() {
        let console = Console::default();
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(report(&error.context("writing"), console), COMPLETE);
    }
}
