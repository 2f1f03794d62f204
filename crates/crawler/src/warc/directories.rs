//! An archive whose files are in several directories: those of the workers of a cluster.

use std::path::{Path, PathBuf};

use super::{Location, Record, Result, name, read_response};

/// The directories of an archive. Each of its files is in one of them; the original of a `revisit` record is where that is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directories(Vec<PathBuf>);

impl Directories {
    /// An archive in these directories.
    pub fn new(dirs: Vec<PathBuf>) -> Self {
        Self(dirs)
    }

    /// The directory that has a file; none where none has it, or it has a name that no archive file has.
    pub fn of(&self, file: &str) -> Option<&Path> {
        name::serial(file)?;
        self.0.iter().map(PathBuf::as_path).find(|dir| dir.join(file).is_file())
    }

    /// As [`read_response`] in the directory that has the file; none where none has it.
    ///
    /// # Errors
    /// See [`read_response`].
    pub fn read_response(&self, location: &Location) -> Option<Result<Record>> {
        Some(read_response(self.of(&location.file)?, location))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_in_the_directory_that_has_it_and_nothing_outside_of_them() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = "crawl-20260301120000-w3p017f5-00001.warc.gz";
        std::fs::write(two.path().join(file), b"").unwrap();
        let all = Directories::new(vec![one.path().to_owned(), two.path().to_owned()]);
        assert_eq!(all.of(file), Some(two.path()));
        assert_eq!(all.of("crawl-20260301120000-w3p017f5-00002.warc.gz"), None);
        std::fs::write(one.path().join("secret"), b"").unwrap();
        let outside = format!("../{}/secret", one.path().file_name().unwrap().to_string_lossy());
        for name in ["secret", &outside] {
            assert_eq!(all.of(name), None, "{name}");
        }
    }
}
