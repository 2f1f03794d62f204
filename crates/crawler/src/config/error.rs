//! Errors in settings, and which source gave the value.

use std::fmt;

/// Which source a value came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueSource {
    /// Nobody set it.
    #[default]
    Default,
    /// The TOML file.
    File,
    /// An environment variable `CRAWL_*`.
    Env,
    /// An option.
    Cli,
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Env => "environment",
            Self::Cli => "command line",
        })
    }
}

/// Why the settings were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file can't be read.
    #[error("can't read the config file {path}")]
    Unreadable {
        /// Its path.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A value was refused.
    #[error("{at}: {what}")]
    Bad {
        /// Where it was given: option, variable, or file and line.
        at: String,
        /// What is wrong, and what would be right.
        what: String,
        /// Which source gave it.
        origin: ValueSource,
    },
}

impl ConfigError {
    /// Returns the exit code of the program: 2 for a value of the command line, else 3.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Bad { origin: ValueSource::Cli, .. } => 2,
            _ => 3,
        }
    }
}
