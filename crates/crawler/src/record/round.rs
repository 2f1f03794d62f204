//! A round of revisits, as stored.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Store, StoreError, Tree};

/// The round that was begun last; JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Round {
    /// When it was begun.
    pub(crate) at: Timestamp,
    /// How long ago the last visit has to be, in seconds; none where each page has its own interval.
    pub(crate) age_s: Option<u64>,
    /// Only pages that an earlier visit found changed.
    #[serde(default)]
    pub(crate) changed_only: bool,
    /// The number of the last page that was looked at (u64, big-endian), while they are being queued.
    pub(crate) upto: Option<Vec<u8>>,
    /// URLs queued.
    pub(crate) queued: u64,
    /// Not everything is visited yet.
    pub(crate) open: bool,
}

impl Round {
    /// The key of the record in the tree `meta`.
    pub(crate) const KEY: &str = "revisit";

    /// The round that was begun last, if one was.
    pub(crate) fn read<S: Store + ?Sized>(store: &S) -> Result<Option<Self>, StoreError> {
        let Some(value) = store.get(Tree::Meta, Self::KEY.as_bytes())? else { return Ok(None) };
        let unreadable = |error: serde_json::Error| StoreError::Unreadable {
            tree: Tree::Meta.name(),
            source: error.into(),
        };
        serde_json::from_slice(&value).map(Some).map_err(unreadable)
    }

    /// Whether a round was begun and not everything of it is visited yet.
    pub(crate) fn is_open<S: Store + ?Sized>(store: &S) -> Result<bool, StoreError> {
        Ok(Self::read(store)?.is_some_and(|round| round.open))
    }
}
