//! Evidence that a repair couldn't recover: JSON in tree `meta`, key `repair`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RecordError;

/// A crawl was repaired: what the audit can't find isn't its fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairRecord {
    /// Form of this record: 1.
    pub v: u32,
    /// When; of several repairs the last.
    pub at: Timestamp,
    /// Requests that were counted, and are no longer in the ledger.
    pub requests_lost: u64,
}

impl RepairRecord {
    /// Key in tree `meta`.
    pub const KEY: &str = "repair";

    /// Packs the record.
    pub fn write(&self) -> Result<Vec<u8>, RecordError> {
        serde_json::to_vec(self).map_err(RecordError::from)
    }

    /// Unpacks a record.
    pub fn read(value: &[u8]) -> Result<Self, RecordError> {
        serde_json::from_slice(value).map_err(RecordError::from)
    }
}
