//! The text form of `warc.dedup`: `"off"`, `"crawl"`, or a list of output directories. For `#[serde(with)]`.

use std::fmt;
use std::path::PathBuf;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserializer, Serialize as _, Serializer};

use super::settings::WarcDedup;

pub(super) fn serialize<S: Serializer>(value: &WarcDedup, out: S) -> Result<S::Ok, S::Error> {
    match value {
        WarcDedup::Off => "off".serialize(out),
        WarcDedup::Crawl => "crawl".serialize(out),
        WarcDedup::Earlier(dirs) => dirs.serialize(out),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<WarcDedup, D::Error> {
    input.deserialize_any(Form)
}

struct Form;

impl<'de> Visitor<'de> for Form {
    type Value = WarcDedup;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"off\", \"crawl\" or a list of output directories")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WarcDedup, E> {
        match text {
            "off" => Ok(WarcDedup::Off),
            "crawl" => Ok(WarcDedup::Crawl),
            other => Err(E::custom(format!(
                "{other:?} is neither \"off\" nor \"crawl\"; output directories are written as a list, [\"DIR\"]"
            ))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<WarcDedup, A::Error> {
        let mut dirs: Vec<PathBuf> = Vec::new();
        while let Some(dir) = texts.next_element::<String>()? {
            if dir.is_empty() {
                return Err(A::Error::custom("a directory has no name"));
            }
            dirs.push(dir.into());
        }
        if dirs.is_empty() {
            return Err(A::Error::custom("the list is empty; \"off\" or \"crawl\" needs no directory"));
        }
        Ok(WarcDedup::Earlier(dirs))
    }
}
