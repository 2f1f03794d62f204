//! The settings of a run as text; the ledger has their digest.

use serde::Serialize;

use page::url::CrawlUrl;

/// Key in tree `meta`: the digest of the settings by which all skipped URLs were judged last.
pub(crate) const JUDGED_BY: &str = "judged_by";

/// Digests of what a run was started with; part of the entry that begins it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunSettings {
    /// BLAKE3 of the settings in force, in hex. The text with this digest is at [`RunSettings::key`] in tree `meta`.
    pub settings: String,
    /// BLAKE3 of the seeds in their order, one a line, in hex.
    pub seeds: String,
}

impl RunSettings {
    /// What the keys of settings begin with.
    pub(crate) const PREFIX: &'static str = "settings/";

    /// The digests of the settings in force, as text, and of the seeds.
    pub fn new(settings: &str, seeds: &[CrawlUrl]) -> Self {
        Self { settings: digest(settings), seeds: seeds_digest(seeds.iter().map(CrawlUrl::as_str)) }
    }

    /// Key of the settings' text in tree `meta`.
    pub fn key(&self) -> Vec<u8> {
        format!("{}{}", Self::PREFIX, self.settings).into_bytes()
    }

    /// Whether this is the key of a run's settings.
    pub fn is_key(key: &[u8]) -> bool {
        key.starts_with(Self::PREFIX.as_bytes())
    }
}

/// BLAKE3 in hex.
pub(crate) fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// BLAKE3 of seeds in their order, each with a line feed behind it, in hex.
pub(crate) fn seeds_digest<'a>(seeds: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = SeedsDigest::default();
    seeds.into_iter().for_each(|seed| digest.add(seed));
    digest.hex()
}

/// What [`seeds_digest`] gives, of the seeds so far.
#[derive(Debug, Default)]
pub(crate) struct SeedsDigest(blake3::Hasher);

impl SeedsDigest {
    /// Adds a seed behind those of before.
    pub(crate) fn add(&mut self, seed: &str) {
        self.0.update(seed.as_bytes());
        self.0.update(b"\n");
    }

    /// The digest so far. Cost: some microseconds.
    pub(crate) fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}
