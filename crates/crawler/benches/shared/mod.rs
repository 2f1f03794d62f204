//! What several benchmarks measure.

use std::path::Path;

/// Bytes of all files below a directory.
pub(crate) fn disk(path: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() { disk(&entry.path())? } else { about.len() };
    }
    Ok(sum)
}
