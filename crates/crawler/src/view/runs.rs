//! The settings of the runs of a crawl.

use crate::config::{Settings, read_record_text, read_settings_in_force};
use crate::record::RunSettings;
use crate::store::{Store, StoreError, Tree};

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
