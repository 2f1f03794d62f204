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

/// What the keys of these entries begin with; the name of the file follows.
pub const STORED_OBJECT: &[u8] = b"object/";

/// The key of a file's entry.
pub fn stored_object_key(file: &str) -> Vec<u8> {
    [STORED_OBJECT, file.as_bytes()].concat()
}
