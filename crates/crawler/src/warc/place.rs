//! Places in the archive.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a response record lies. What a page's record in the database keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Name of the file in the archive's directory.
    pub file: String,
    /// First byte of the record's gzip member.
    pub offset: u64,
    /// Bytes of the member.
    pub length: u64,
}

/// Where a record lies in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// First byte of the record's gzip member.
    pub offset: u64,
    /// Bytes of the member.
    pub length: u64,
}

/// A file that a writer wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// Its path.
    pub path: PathBuf,
    /// Where the first record of each exchange lies, ascending: every record that an index for replay has. 16 bytes each.
    pub places: Vec<Place>,
}

/// The end of what was appended so far. What the database commits along with the records' locations, for
/// [`super::repair()`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Name of the file in the archive's directory.
    pub file: String,
    /// Its length up to and including the last whole record.
    pub offset: u64,
}
