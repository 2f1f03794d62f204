//! `crawl.toml`: the effective settings as written into the output directory, with a record of how the crawl began.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::{ConfigError, ValueSource};
use super::keys::{KEYS, flat};
use super::settings::Settings;
use crate::nofollow;
use crate::record::RunSettings;
use crate::seeds::{BadLine, SeedList};
use page::url::CrawlUrl;

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
    /// How many lines of the seed file were no URL that can be crawled.
    pub unusable_seeds: u64,
    /// The first `UNUSABLE_LISTED` of them.
    pub unusable: Vec<BadLine>,
}

/// Unusable lines of the seed file that are put on record with their text; the others are counted.
const UNUSABLE_LISTED: usize = 10_000;

impl Record {
    /// Begins the record of a crawl from its seed file.
    pub fn new(program: &str, started: jiff::Timestamp, list: &SeedList) -> Self {
        Self {
            program: program.to_owned(),
            started,
            seeds: list.seeds.iter().map(|(_, url)| url.to_string()).collect(),
            unusable_seeds: list.bad.len() as u64,
            unusable: list.bad.iter().take(UNUSABLE_LISTED).cloned().collect(),
        }
    }

    /// The record of a crawl that is begun again, with the seeds and unusable lines of `new` behind its own, each once.
    #[must_use]
    pub fn joined_by(mut self, new: Self) -> Self {
        let known: HashSet<String> = self.seeds.iter().cloned().collect();
        let mut met = HashSet::new();
        let added = new.seeds.into_iter().filter(|seed| !known.contains(seed) && met.insert(seed.clone()));
        self.seeds.extend(added);
        let lines: HashSet<String> = self.unusable.iter().map(|bad| bad.text.clone()).collect();
        let added: Vec<_> = new.unusable.into_iter().filter(|bad| !lines.contains(&bad.text)).collect();
        self.unusable_seeds += added.len() as u64;
        self.unusable.extend(added);
        self
    }

    /// The seeds as URLs; the first one that isn't a URL any more is an error, since the file was changed.
    pub fn seed_urls(&self) -> Result<Vec<CrawlUrl>, ConfigError> {
        let urls = self.seeds.iter().map(|seed| {
            CrawlUrl::parse(seed).map_err(|error| ConfigError::Bad {
                at: "crawl.toml: record.seeds".to_owned(),
                what: format!(
                    "{:?} isn't a URL that can be crawled: {error}",
                    page::clean::clean_to(seed, 80)
                ),
                origin: ValueSource::File,
            })
        });
        urls.collect()
    }
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

/// Writes the settings in force in a run as TOML, without what says where its files are.
pub fn settings_in_force(settings: &Settings) -> Result<String, toml::ser::Error> {
    toml::to_string_pretty(&without_places(settings))
}

/// What a run is started with: its digests, and the text of its settings, which is stored at [`RunSettings::key`]. Fails where a
/// number is too great for TOML.
pub fn run_settings(
    settings: &Settings,
    seeds: &[CrawlUrl],
) -> Result<(RunSettings, String), toml::ser::Error> {
    let text = settings_in_force(settings)?;
    Ok((RunSettings::new(&text, seeds), text))
}

/// Reads what [`settings_in_force`] wrote; keys that this version doesn't know are an error.
pub fn read_settings_in_force(text: &str) -> Result<Settings, toml::de::Error> {
    Settings::deserialize(completed(toml::from_str(text)?))
}

/// Stored settings with what a version did that judged neither costly URLs nor walls.
fn completed(mut whole: toml::Table) -> toml::Table {
    for (section, action) in [("costly", "sessions"), ("walls", "keep")] {
        let section = whole.entry(section).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let toml::Value::Table(section) = section {
            section.entry("action").or_insert_with(|| action.into());
        }
    }
    whole
}

/// Reads a whole `crawl.toml`, as the database keeps the one that the crawl began with.
pub fn read_record_text(text: &str) -> Result<(Settings, Record), toml::de::Error> {
    let mut whole: toml::Table = toml::from_str(text)?;
    let record = whole.remove(RECORD).map(Record::deserialize).transpose()?;
    Ok((Settings::deserialize(completed(whole))?, record.unwrap_or_default()))
}

/// Keys that hold for a whole crawl: by them its evidence is judged, whichever run it is of. Those that end in a dot are sections.
const OF_THE_CRAWL: [&str; 4] = ["agent.product", "agent.aliases", "robots.", "consent."];

/// Whether a key holds for a whole crawl.
pub fn is_of_the_crawl(key: &str) -> bool {
    OF_THE_CRAWL.iter().any(|part| key.starts_with(part))
}

/// The keys in which two settings differ.
pub fn differences(one: &Settings, other: &Settings) -> Vec<&'static str> {
    let (one, other) = (flat(one), flat(other));
    KEYS.iter().map(|key| key.path).filter(|path| one.get(path) != other.get(path)).collect()
}

/// The settings that differ from the defaults, with their values as the TOML has them; without the seed file and the directory.
pub fn changed_values(settings: &Settings) -> Vec<(&'static str, String)> {
    let settings = without_places(settings);
    let keys = differences(&Settings::default(), &settings);
    keys.into_iter().map(|key| (key, value_of(&settings, key))).collect()
}

/// The value of a key, as the TOML has it; `none` where there is none.
pub fn value_of(settings: &Settings, key: &str) -> String {
    match flat(settings).get(key) {
        Some(toml::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "none".to_owned(),
    }
}

/// The settings without the seed file and the directory, which may be moved between runs.
pub fn without_places(settings: &Settings) -> Settings {
    let nowhere = Settings::default();
    Settings { seed: nowhere.seed, out: nowhere.out, ..settings.clone() }
}

/// Reads the record of a `crawl.toml`; a file without one gives an empty record.
pub fn read_record(path: &Path) -> Result<Record, ConfigError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Whole {
        record: Record,
    }
    let name = page::clean::clean(&path.display().to_string()).into_owned();
    let text = nofollow::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: name.clone(), source })?;
    let whole: Whole = toml::from_str(&text).map_err(|error| ConfigError::Bad {
        at: name,
        what: page::clean::clean(error.message()).into_owned(),
        origin: ValueSource::File,
    })?;
    Ok(whole.record)
}
