//! The seed file: one URL a line, blank lines and `#` comments skipped, bad lines reported with their number.

use std::path::Path;

use url::Url;

/// What a seed file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeedList {
    /// Line number (from 1) and URL, in the order of the file; duplicates are kept.
    pub seeds: Vec<(usize, Url)>,
    /// Lines that aren't URLs that we crawl.
    pub bad: Vec<BadLine>,
}

/// A line of a seed file that isn't a URL that we crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Line number, from 1.
    pub line_no: usize,
    /// The line, cleaned for a terminal and shortened.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// Why a seed file can't be used at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// The system refused.
    #[error("can't read the seed file {path}")]
    Unreadable {
        /// Its path, or `-`.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

/// Reads a seed file, or standard input for `-`.
pub fn read(path: &Path) -> Result<SeedList, SeedError> {
    let octets = std::fs::read(path)
        .map_err(|source| SeedError::Unreadable { path: path.display().to_string(), source })?;
    let text = String::from_utf8_lossy(&octets);
    let mut list = SeedList::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match Url::parse(line) {
            Ok(url) => list.seeds.push((index + 1, url)),
            Err(error) => {
                list.bad.push(BadLine { line_no: index + 1, text: line.to_owned(), why: error.to_string() });
            }
        }
    }
    Ok(list)
}
