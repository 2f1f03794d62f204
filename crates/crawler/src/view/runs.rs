//! The runs of a crawl: when each began and ended, its settings, and the delays that it kept.

use serde::Serialize;

use super::moment::Moment;
use crate::config::{Settings, read_record_text, read_settings_in_force};
use crate::record::RunSettings;
use crate::store::{Store, StoreError, Tree};

/// A run, from the ledger. Of a crawl on many machines, whose partitions are begun each on its own: all that was done with the same settings; also where such a
/// crawl was moved into a directory since.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFigures {
    /// Its number, from 1.
    pub run: u64,
    /// Its beginning by the ledger, in UTC.
    pub started: Moment,
    /// When it ended; none of a run that was killed, or goes on.
    pub ended: Option<Moment>,
    /// How it ended: `complete`, `limit`, `interrupted` or `forced`.
    pub end: Option<String>,
    /// Requests sent, those for robots.txt included.
    pub requests: u64,
    /// The delay as it was set, in seconds (`pace.delay`); none where the settings aren't on record.
    pub delay: Option<f64>,
    /// Gaps between the end of a response and the next request to the same host.
    pub gaps: u64,
    /// The shortest of them, in seconds.
    pub least_gap: Option<f64>,
    /// The middle one of them by length, in seconds; of an even number the longer of the two in the middle.
    pub median_gap: Option<f64>,
    /// The settings in force; none where they aren't on record.
    #[serde(skip)]
    pub settings: Option<Settings>,
    /// What the ledger says that it was started with; none in ledgers of older versions.
    #[serde(skip)]
    pub(super) digest: Option<String>,
}

impl RunFigures {
    /// A run without a request so far.
    pub(super) fn begun<S: Store>(
        store: &S,
        started: Moment,
        digests: Option<&RunSettings>,
    ) -> Result<Self, StoreError> {
        let text = digests.map(|digests| store.get(Tree::Meta, &digests.key())).transpose()?.flatten();
        let settings = text.and_then(|text| read_settings_in_force(&String::from_utf8_lossy(&text)).ok());
        Ok(Self {
            run: 0,
            started,
            ended: None,
            end: None,
            requests: 0,
            delay: settings.as_ref().map(|settings| settings.pace.delay.as_secs_f64()),
            gaps: 0,
            least_gap: None,
            median_gap: None,
            settings,
            digest: digests.map(|digests| digests.settings.clone()),
        })
    }
}

/// The settings of every run, and those that the crawl began with; none where they can't be read.
pub(crate) fn all_runs<S: Store>(store: &S) -> Result<Vec<Option<Settings>>, StoreError> {
    let mut all = Vec::new();
    for pair in store.scan(Tree::Meta, RunSettings::PREFIX.as_bytes()) {
        all.push(read_settings_in_force(&String::from_utf8_lossy(&pair?.1)).ok());
    }
    if let Some(text) = store.get(Tree::Meta, b"settings")? {
        all.push(read_record_text(&String::from_utf8_lossy(&text)).ok().map(|(settings, _)| settings));
    }
    Ok(all)
}
