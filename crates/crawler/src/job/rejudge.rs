//! Which settings that exclude URLs have changed since skipped URLs were last judged.

use super::JobError;
use crate::config::{LedgerLevel, Settings, differences, read_settings_in_force, value_of};
use crate::error_kind::ErrorKind;
use crate::record::{JUDGED_BY, LinkOutcome, RunSettings};
use crate::store::{Store, Tree};
use crate::view::all_runs;

/// What the start of a run finds out about URLs that earlier runs skipped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejudged {
    /// The keys that have changed and excluded URLs before, each with its value in this run; none if nothing is judged again.
    pub changed: Vec<(&'static str, String)>,
    /// Kinds of failures that another setting may turn into an answer, whose settings have changed.
    pub failures: Vec<ErrorKind>,
    /// How many URLs that failed so are queued again.
    pub again: u64,
    /// A run had `--ledger off`: the URLs it skipped aren't recorded, and can't be judged again.
    pub is_unrecorded: bool,
}

/// Failures that another setting may turn into an answer, with the keys of those settings.
const FAILURES: [(ErrorKind, &[&str]); 2] = [
    (ErrorKind::BlockedAddress, &["fetch.allow_net", "fetch.resolve", "fetch.resolve_file"]),
    (ErrorKind::Dns, &["fetch.resolve", "fetch.resolve_file"]),
];

/// Compares the settings of a run with those before. Cost: one look-up where they are the same.
pub fn changed<S: Store>(store: &S, run: &RunSettings, settings: &Settings) -> Result<Rejudged, JobError> {
    let judged_by = store.get(Tree::Meta, JUDGED_BY.as_bytes())?;
    if judged_by.as_deref() == Some(run.settings.as_bytes()) {
        return Ok(Rejudged::default());
    }
    let all = all_runs(store)?;
    let is_unrecorded = all.iter().flatten().any(|before| before.ledger.level == LedgerLevel::Off);
    let before = match &judged_by {
        Some(digest) => {
            let key = [RunSettings::PREFIX.as_bytes(), digest].concat();
            let text = store.get(Tree::Meta, &key)?.unwrap_or_default();
            vec![read_settings_in_force(&String::from_utf8_lossy(&text)).ok()]
        }
        // Nothing says by which: all that there were count.
        None => all,
    };
    let is_changed = |key: &&str| {
        before.iter().any(|before| match before {
            Some(before) => differences(before, settings).contains(key),
            // Unreadable: by another version.
            None => true,
        })
    };
    let mut keys: Vec<&'static str> =
        LinkOutcome::BY_SETTINGS.iter().flat_map(|left| left.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(is_changed);
    let changed = keys.into_iter().map(|key| (key, value_of(settings, key))).collect();
    let failures = FAILURES.iter().filter(|(_, keys)| keys.iter().any(&is_changed));
    Ok(Rejudged { changed, is_unrecorded, failures: failures.map(|(kind, _)| *kind).collect(), again: 0 })
}
