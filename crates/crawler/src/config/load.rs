//! Merges four sources into one [`Settings`]: command line, environment, file, defaults.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Value;

use super::agent::{AgentError, Product};
use super::error::{ConfigError, ValueSource};
use super::file::{self, FileLayer};
use super::keys::{KEYS, Key, OUTSIDE, flat, nearest, table};
use super::origin::Places;
use super::settings::{Settings, WarcDedup};
use super::validate::validate;
use crate::causes::with_causes;
use crate::fetch::read_resolve_file;

/// What the command line set: key path to value.
#[derive(Clone, Debug, Default)]
pub struct CliOverrides {
    values: BTreeMap<&'static str, Value>,
}

impl CliOverrides {
    /// Sets a key by its path (`pace.delay`), in the form that the TOML would hold.
    pub fn set(&mut self, path: &'static str, value: impl Into<Value>) {
        debug_assert!(Key::by_path(path).is_some(), "{path} isn't a key");
        self.values.insert(path, value.into());
    }

    /// Returns the keys that are set, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(path, value)| (*path, value))
    }

    /// Returns whether no key is set.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Settings with the origin of each key.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Complete and validated. The product may still be empty: see [`Loaded::product`].
    pub settings: Settings,
    /// Key path to origin; every key is there.
    pub origins: BTreeMap<&'static str, ValueSource>,
    /// What isn't wrong but probably not meant.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Lists every key in the order of `configs/polite.toml`, with its value as TOML text and its origin.
    pub fn entries(&self) -> Vec<(&'static Key, String, ValueSource)> {
        let values = flat(&self.settings);
        let entry = |key: &'static Key| {
            let value = values.get(key.path)?.to_string();
            Some((key, value, self.origins.get(key.path).copied().unwrap_or_default()))
        };
        KEYS.iter().filter_map(entry).collect()
    }

    /// Returns the value of a key in the form that the TOML would hold.
    pub fn value(&self, path: &str) -> Option<Value> {
        flat(&self.settings).remove(path)
    }

    /// Returns the product, or the error that a crawl without one deserves.
    pub fn product(&self) -> Result<Product, ConfigError> {
        let missing = self.origins.get("agent.product").is_none_or(|origin| *origin == ValueSource::Default);
        self.settings.agent.product.parse().map_err(|error: AgentError| ConfigError::Bad {
            at: "--agent".to_owned(),
            what: if missing {
                "not given; add --agent NAME/VERSION, as in --agent SuperRobot/1.0".to_owned()
            } else {
                error.to_string()
            },
            origin: ValueSource::Cli,
        })
    }

    /// Returns the rules of `[[extract]]` as TOML.
    pub fn extract_toml(&self) -> String {
        let rules = self.value("extract").map(|rules| table([("extract", rules)]));
        rules.map(|rules| rules.to_string()).unwrap_or_default()
    }
}

/// Builds the settings from the four sources and validates them; reads the file and the file with addresses, nothing else.
///
/// `env` is the whole environment, of which the variables `CRAWL_*` are taken; an empty one counts as not set. A list
/// replaces the list of a weaker source.
pub fn load(
    cli: &CliOverrides,
    env: impl IntoIterator<Item = (String, String)>,
    path: Option<&Path>,
) -> Result<Loaded, ConfigError> {
    let mut layers = Layers::new();
    if let Some(path) = path {
        layers.add(file::read(path)?, path, |_| true);
    }
    layers.finish(cli, env)
}

/// As [`load`], for a crawl that goes on: its own `crawl.toml` is the file. The directory may come from somebody else, so what that
/// file says of paths outside of it (`fetch.resolve_file`, directories in `warc.dedup`) doesn't count, with a warning. These settings
/// alone are taken from `config`, a file that the user names.
pub fn load_own(
    cli: &CliOverrides,
    env: impl IntoIterator<Item = (String, String)>,
    own: &Path,
    config: Option<&Path>,
) -> Result<Loaded, ConfigError> {
    let mut layers = Layers::new();
    let given = config.map(|config| Ok((file::read(config)?, config))).transpose()?;
    let env: Vec<_> = env.into_iter().collect();
    let from_env = variables(env.iter().cloned(), &mut Vec::new());
    let is_given = |key: &str| {
        let in_config = given.as_ref().is_some_and(|(layer, _)| layer.lines.contains_key(key));
        in_config
            || cli.iter().any(|(path, _)| path == key)
            || from_env.iter().any(|(known, _)| known.path == key)
    };
    let mut layer = file::read_own(own)?;
    for (key, becomes) in outside(&mut layer.settings) {
        if !is_given(key) {
            layers.warnings.push(format!(
                "{}: {key} is ignored, since it names paths outside of the crawl's directory; it counts only from a file given with --config: {becomes}",
                page::clean::clean(&own.display().to_string())
            ));
        }
    }
    layers.add(layer, own, |_| true);
    if let Some((layer, config)) = given {
        layers.add(layer, config, |key| OUTSIDE.contains(&key));
    }
    layers.finish(cli, env)
}

/// As [`load`], of a crawl that is only read, with its own `crawl.toml` as the file and no other source. `warc.dedup` is as the file has it,
/// and nobody reads what it names; the file with addresses isn't read.
pub fn read_own(own: &Path, out: &Path) -> Result<Settings, ConfigError> {
    let mut layers = Layers::new();
    let mut layer = file::read_own(own)?;
    layer.settings.fetch.resolve_file.clear();
    layer.settings.costly.directory.clear();
    layers.add(layer, own, |_| true);
    let mut overrides = CliOverrides::default();
    // The directory may have been moved.
    overrides.set("out", out.to_string_lossy().into_owned());
    Ok(layers.finish(&overrides, [])?.settings)
}

/// Takes out what leads out of the directory; returns the keys, and what holds instead.
fn outside(settings: &mut Settings) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    if !settings.fetch.resolve_file.as_os_str().is_empty() {
        settings.fetch.resolve_file.clear();
        found.push((OUTSIDE[0], "the file isn't read"));
    }
    if !settings.warc.dedup.earlier().is_empty() {
        settings.warc.dedup = WarcDedup::Crawl;
        found.push((OUTSIDE[1], "equal bodies are looked for in this crawl alone"));
    }
    if !settings.costly.directory.as_os_str().is_empty() {
        settings.costly.directory.clear();
        found.push((OUTSIDE[2], "only the program's own kinds of sites are known"));
    }
    found
}

/// Values of the weaker sources, to which the stronger ones are added.
struct Layers {
    values: BTreeMap<&'static str, Value>,
    origins: BTreeMap<&'static str, ValueSource>,
    /// File and line of the keys that a file sets.
    lines: BTreeMap<&'static str, String>,
    warnings: Vec<String>,
}

impl Layers {
    fn new() -> Self {
        Self {
            values: flat(&Settings::default()),
            origins: KEYS.iter().map(|key| (key.path, ValueSource::Default)).collect(),
            lines: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds the keys of a file that pass.
    fn add(&mut self, layer: FileLayer, path: &Path, is_taken: impl Fn(&str) -> bool) {
        let mut from_file = flat(&layer.settings);
        for (key, line) in layer.lines {
            if is_taken(key) {
                self.values.extend(from_file.remove_entry(key));
                self.origins.insert(key, ValueSource::File);
                self.lines.insert(key, format!("{}:{line}", path.display()));
            }
        }
    }

    /// Adds environment and command line, and validates the whole.
    fn finish(
        self,
        cli: &CliOverrides,
        env: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Loaded, ConfigError> {
        let Self { mut values, mut origins, lines, mut warnings } = self;
        let from_env =
            variables(env, &mut warnings).into_iter().map(|(key, value)| (key.path, value, ValueSource::Env));
        let from_cli = cli.iter().map(|(path, value)| (path, value.clone(), ValueSource::Cli));
        for (key, value, origin) in from_env.chain(from_cli) {
            origins.insert(key, origin);
            let alone = Settings::deserialize(table([(key, value)]));
            let alone = alone
                .map_err(|error| Places { origins: &origins, lines: &lines }.refuse(key, error.message()))?;
            values.extend(flat(&alone).remove_entry(key));
        }
        let places = Places { origins: &origins, lines: &lines };
        let mut settings = Settings::deserialize(table(values))
            .map_err(|error| places.refuse("settings", error.message()))?;
        if !settings.fetch.resolve_file.as_os_str().is_empty() {
            let file = std::mem::take(&mut settings.fetch.resolve_file);
            let rules = read_resolve_file(&file)
                .map_err(|error| places.refuse("fetch.resolve_file", with_causes(&error)))?;
            settings.fetch.resolve.extend(rules);
        }
        if let WarcDedup::Earlier(dirs) = &mut settings.warc.dedup {
            // A resume may have another working directory.
            for dir in dirs {
                *dir = std::path::absolute(&*dir).map_err(|error| places.refuse("warc.dedup", error))?;
            }
        }
        let directory = &mut settings.costly.directory;
        if !directory.as_os_str().is_empty() {
            *directory =
                std::path::absolute(&*directory).map_err(|error| places.refuse("costly.directory", error))?;
        }
        validate(&settings, &places, &mut warnings)?;
        Ok(Loaded { settings, origins, warnings })
    }
}

/// Takes the variables that are keys; warns of those that look like a misspelt one.
fn variables(
    env: impl IntoIterator<Item = (String, String)>,
    warnings: &mut Vec<String>,
) -> Vec<(&'static Key, Value)> {
    let known: Vec<_> = KEYS.iter().filter_map(|key| Some((key, key.variable()?))).collect();
    let mut taken = Vec::new();
    for (name, text) in env {
        if !name.starts_with("CRAWL_") || text.is_empty() {
            continue;
        }
        if let Some((key, _)) = known.iter().find(|(_, variable)| *variable == name) {
            taken.push((*key, key.value(&text)));
        } else if let Some(near) = nearest(&name[6..], KEYS.iter().filter_map(|key| key.option))
            && name != "CRAWL_CONFIG"
        {
            let near = near.replace('-', "_").to_ascii_uppercase();
            let name = page::clean::clean(&name).into_owned();
            warnings.push(format!("the environment variable {name} isn't known; did you mean CRAWL_{near}?"));
        }
    }
    taken
}
