//! What can be wrong with settings.

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
        origin: super::Origin,
    },
}

impl ConfigError {
    /// Gives the exit code of the program: 2 for a value of the command line, else 3.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Bad { origin: super::Origin::Cli, .. } => 2,
            _ => 3,
        }
    }
}
