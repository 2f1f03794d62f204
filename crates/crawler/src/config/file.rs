//! The TOML file: known keys only, each problem with its line.
//!
//! A key belongs in its section (`[pace]`, `delay = "1s"`). The name of an option may also be used at the top of the file, as
//! on the command line (`delay = "1s"`, `max-pages = 100`, `agent = "SuperRobot/1.0"`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use super::error::{ConfigError, ValueSource};
use super::keys::{EXTRACT_KEYS, KEYS, Key, nearest};
use super::record::RECORD;
use super::settings::{Settings, Walls};
use crate::costly::CostlyAction;
use crate::nofollow;

/// What a file sets.
#[derive(Debug)]
pub(super) struct FileLayer {
    /// The file's values over the defaults.
    pub(super) settings: Settings,
    /// Path and line of every key that the file holds.
    pub(super) lines: BTreeMap<&'static str, usize>,
}

/// Reads a file that the user names.
pub(super) fn read(path: &Path) -> Result<FileLayer, ConfigError> {
    read_by(path, |path| std::fs::read(path))
}

/// Reads the `crawl.toml` of a directory, which is no symbolic link.
///
/// One of a version that judged neither costly URLs nor walls says nothing of them: its crawl goes on as it was.
pub(super) fn read_own(path: &Path) -> Result<FileLayer, ConfigError> {
    let mut layer = read_by(path, nofollow::read)?;
    if !layer.lines.contains_key("costly.action") {
        layer.settings.costly.action = CostlyAction::Sessions;
        layer.lines.insert("costly.action", 1);
    }
    if !layer.lines.contains_key("walls.action") {
        layer.settings.walls.action = Walls::Keep;
        layer.lines.insert("walls.action", 1);
    }
    Ok(layer)
}

fn read_by(path: &Path, read: impl Fn(&Path) -> std::io::Result<Vec<u8>>) -> Result<FileLayer, ConfigError> {
    let name = page::clean::clean(&path.display().to_string()).into_owned();
    let unreadable = |source| ConfigError::Unreadable { path: name.clone(), source };
    let bytes = read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, "it isn't UTF-8 text"))
    })?;
    parse(&text, &name)
}

/// Reads a text; `name` is what messages call it.
pub(super) fn parse(text: &str, name: &str) -> Result<FileLayer, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let reader = Reader { text, name };
    let root = DeTable::parse(text).map_err(|error| reader.refuse(error.span(), error.message()))?;
    let (root, places) = reader.arrange(root)?;
    let settings = Settings::deserialize(Deserializer::from(root)).map_err(|error| {
        let place = error.span().and_then(|span| {
            let holds = |place: &&Place| place.value.start <= span.start && span.end <= place.value.end;
            places.iter().find(holds)
        });
        match place {
            Some(place) => reader.refuse(error.span(), &format!("{}: {}", place.path, error.message())),
            None => reader.refuse(error.span(), error.message()),
        }
    })?;
    let lines = places.into_iter().map(|place| (place.path, reader.line(place.key.start))).collect();
    Ok(FileLayer { settings, lines })
}

/// The position of a key in the text.
struct Place {
    path: &'static str,
    key: Range<usize>,
    value: Range<usize>,
}

struct Reader<'i> {
    text: &'i str,
    name: &'i str,
}

type Name<'i> = Spanned<Cow<'i, str>>;

impl<'i> Reader<'i> {
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|&b| b == b'\n').count() + 1
    }

    fn refuse(&self, span: Option<Range<usize>>, what: &str) -> ConfigError {
        let line = span.map(|span| format!(":{}", self.line(span.start))).unwrap_or_default();
        let what = page::clean::clean(what.trim_end()).into_owned();
        ConfigError::Bad { at: format!("{}{line}", self.name), what, origin: ValueSource::File }
    }

    /// Puts every key into its section under its own name; refuses unknown keys and duplicates.
    fn arrange(&self, root: Spanned<DeTable<'i>>) -> Result<(Spanned<DeTable<'i>>, Vec<Place>), ConfigError> {
        let span = root.span();
        let mut arranged = DeTable::new();
        let mut places: Vec<Place> = Vec::new();
        for (name, value) in root.into_inner() {
            let plain = name.get_ref().replace('-', "_");
            let is_section =
                KEYS.iter().any(|key| key.path.split_once('.').is_some_and(|(section, _)| section == plain));
            if plain == RECORD && matches!(value.get_ref(), DeValue::Table(_)) {
                continue;
            }
            let section_span = value.span();
            match value.into_inner() {
                DeValue::Table(table) if is_section => {
                    for (leaf, value) in table {
                        let path = format!("{plain}.{}", leaf.get_ref().replace('-', "_"));
                        let key = Key::by_path(&path).ok_or_else(|| self.unknown(&leaf, Some(&plain)))?;
                        self.place(&mut arranged, &mut places, key, &leaf, value)?;
                    }
                }
                value => {
                    let by_option =
                        |key: &&Key| key.option.is_some_and(|option| option.replace('-', "_") == plain);
                    let key = KEYS.iter().find(by_option).or_else(|| Key::by_path(&plain));
                    let key = key.ok_or_else(|| self.unknown(&name, None))?;
                    if key.path == "extract" {
                        self.check_extract(&value)?;
                    }
                    self.place(&mut arranged, &mut places, key, &name, Spanned::new(section_span, value))?;
                }
            }
        }
        Ok((Spanned::new(span, arranged), places))
    }

    fn place(
        &self,
        root: &mut DeTable<'i>,
        places: &mut Vec<Place>,
        key: &'static Key,
        name: &Name<'i>,
        value: Spanned<DeValue<'i>>,
    ) -> Result<(), ConfigError> {
        if let Some(first) = places.iter().find(|place| place.path == key.path) {
            let what =
                format!("`{}` is set twice, first on line {}", name.get_ref(), self.line(first.key.start));
            return Err(self.refuse(Some(name.span()), &what));
        }
        places.push(Place { path: key.path, key: name.span(), value: value.span() });
        let named = |text: &'static str| Spanned::new(name.span(), Cow::Borrowed(text));
        match key.path.split_once('.') {
            None => drop(root.insert(named(key.path), value)),
            Some((section, leaf)) => {
                let slot = root
                    .entry(named(section))
                    .or_insert_with(|| Spanned::new(name.span(), DeValue::Table(DeTable::new())));
                if let DeValue::Table(table) = slot.get_mut() {
                    table.insert(named(leaf), value);
                }
            }
        }
        Ok(())
    }

    fn check_extract(&self, value: &DeValue<'i>) -> Result<(), ConfigError> {
        let DeValue::Array(rules) = value else { return Ok(()) };
        for rule in rules {
            let DeValue::Table(rule) = rule.get_ref() else { continue };
            for name in rule.keys() {
                if !EXTRACT_KEYS.contains(&name.get_ref().as_ref()) {
                    let near = nearest(name.get_ref(), EXTRACT_KEYS).map(str::to_owned);
                    return Err(self.unknown_but(name, Some("[extract]"), near));
                }
            }
        }
        Ok(())
    }

    fn unknown(&self, name: &Name<'_>, section: Option<&str>) -> ConfigError {
        let plain = name.get_ref().replace('-', "_");
        let inside = section.and_then(|section| {
            let leaves =
                KEYS.iter().filter(|key| key.path.split_once('.').is_some_and(|(of, _)| of == section));
            nearest(&plain, leaves.map(Key::leaf)).map(str::to_owned)
        });
        let elsewhere = || {
            let leaf = nearest(&plain, KEYS.iter().map(Key::leaf))?;
            let key = KEYS.iter().find(|key| key.leaf() == leaf)?;
            Some(match key.path.split_once('.') {
                Some((of, leaf)) => format!("{leaf}` in `[{of}]"),
                None => key.path.to_owned(),
            })
        };
        // For a key in the wrong section, the right section is suggested first.
        let exact = KEYS.iter().any(|key| key.leaf() == plain);
        let near = if exact { elsewhere() } else { inside.or_else(elsewhere) };
        self.unknown_but(name, section, near)
    }

    fn unknown_but(&self, name: &Name<'_>, section: Option<&str>, near: Option<String>) -> ConfigError {
        let inside = section.map(|section| format!(" in [{section}]")).unwrap_or_default();
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let near = if near.is_empty() { "; `crawl config show` lists every key".to_owned() } else { near };
        self.refuse(Some(name.span()), &format!("unknown key `{}`{inside}{near}", name.get_ref()))
    }
}
