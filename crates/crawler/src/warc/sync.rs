//! Durability of names.

use std::fs::File;
use std::path::Path;

use super::{Error, Result};

/// Makes the names in a directory durable.
pub(super) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(Error::io("sync", dir))
}
