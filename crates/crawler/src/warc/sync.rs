//! Durability of records and names.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Error, Position, Result};

/// What was appended to a file and isn't on the disk for certain. Another thread may append meanwhile.
#[derive(Debug, Clone)]
pub struct Unsynced {
    pub(super) file: Arc<File>,
    pub(super) path: PathBuf,
    /// Its end.
    pub(super) end: Position,
}

impl Unsynced {
    /// Waits until it is on the disk: `fdatasync`. Returns its end.
    ///
    /// An error here is final, as that of [`super::WarcWriter::sync`].
    pub fn sync(&self) -> Result<&Position> {
        self.file.sync_data().map_err(Error::io("sync", &self.path))?;
        Ok(&self.end)
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(Error::io("sync", dir))
}
