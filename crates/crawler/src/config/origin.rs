//! Where a value of a setting came from.

use std::collections::BTreeMap;
use std::fmt;

use super::error::{ConfigError, ValueSource};
use super::keys::Key;

/// Names the place where each key was set, for messages.
pub(super) struct Places<'a> {
    pub(super) origins: &'a BTreeMap<&'static str, ValueSource>,
    /// File and line of the keys that a file sets.
    pub(super) lines: &'a BTreeMap<&'static str, String>,
}

impl Places<'_> {
    /// Makes the error for a key's value.
    pub(super) fn refuse(&self, path: &'static str, what: impl fmt::Display) -> ConfigError {
        let origin = self.origins.get(path).copied().unwrap_or_default();
        let at = match (origin, Key::by_path(path)) {
            (ValueSource::Cli, Some(Key { option: Some(option), .. })) => format!("--{option}"),
            (ValueSource::Env, Some(key)) => key.variable().unwrap_or_default(),
            (ValueSource::File, _) => match self.lines.get(path) {
                Some(line) => format!("{line}: {path}"),
                None => path.to_owned(),
            },
            _ => path.to_owned(),
        };
        ConfigError::Bad { at, what: page::clean::clean(&what.to_string()).into_owned(), origin }
    }
}
