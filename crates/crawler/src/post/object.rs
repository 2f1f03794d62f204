//! Archive files of a partition that are in object storage.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What `meta` has of an archive file that a worker moved to object storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredObject {
    /// Where it is: `s3://BUCKET/PREFIX/FILE`.
    pub url: String,
    /// Its bytes.
    pub bytes: u64,
    /// When it was stored.
    pub at: Timestamp,
}

/// The key that it is under.
pub fn stored_object_key(file: &str) -> Vec<u8> {
    [b"object/", file.as_bytes()].concat()
}
