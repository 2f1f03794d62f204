//! `crawl.toml`: the effective settings as written into the output directory, with a record of how the crawl began.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::ConfigError;
use super::load::Origin;
use super::settings::Settings;

/// Section of `crawl.toml` that isn't a setting; a config file may hold it, and it changes nothing there.
pub(super) const RECORD: &str = "record";

/// How a crawl began; the section `[record]` of `crawl.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Program and version, `crawl 0.1.0`.
    pub program: String,
    /// Start of the crawl.
    pub started: jiff::Timestamp,
    /// The seeds, normalised, in the order of the file.
    pub seeds: Vec<String>,
}

/// Writes settings and record as TOML. [`load`](super::load()) takes the text as a config file, [`read_record`] its record.
pub fn to_toml(settings: &Settings, record: &Record) -> Result<String, toml::ser::Error> {
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        settings: &'a Settings,
        record: &'a Record,
    }
    toml::to_string_pretty(&Whole { settings, record })
}

/// Reads the record of a `crawl.toml`; a file without one gives an empty record.
pub fn read_record(path: &Path) -> Result<Record, ConfigError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Whole {
        record: Record,
    }
    let name = crate::clean::clean(&path.display().to_string()).into_owned();
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: name.clone(), source })?;
    let whole: Whole = toml::from_str(&text).map_err(|error| ConfigError::Bad {
        at: name,
        what: crate::clean::clean(error.message()).into_owned(),
        origin: Origin::File,
    })?;
    Ok(whole.record)
}
