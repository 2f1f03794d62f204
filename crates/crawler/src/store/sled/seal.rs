//! The seal beside the database: how many commits it must hold. sled recovers what it can read and starts from zero on emptied
//! files, without a word; what is missing then shows here.
//!
//! One line of fixed length in the file `sealed`, overwritten after each commit has been synced. It isn't synced itself: after a
//! power cut it may be older than the database, never newer.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::nofollow;
use crate::store::StoreError;

const NAME: &str = "sealed";

/// What a database must hold at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sealed {
    /// Commits.
    pub(super) commits: u64,
    /// Bytes of its file `db` after the last of them.
    pub(super) bytes: u64,
}

/// The open file.
#[derive(Debug)]
pub(super) struct Seal(File);

impl Seal {
    /// Reads the seal of a database. One without a seal (it was written by an older version) promises nothing; one that is
    /// unreadable is damage.
    pub(super) fn read(path: &Path) -> Result<Sealed, StoreError> {
        match nofollow::read(&path.join(NAME)) {
            Ok(line) if line.is_empty() => Ok(Sealed::default()),
            Ok(line) => parse(&line).ok_or_else(|| StoreError::Damaged {
                path: path.to_owned(),
                detail: format!("its file `{NAME}` can't be read"),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Sealed::default()),
            Err(source) => Err(StoreError::Io { path: path.to_owned(), source }),
        }
    }

    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = nofollow::options().create(true).truncate(false).write(true).open(path.join(NAME));
        file.map(Self)
            .map_err(nofollow::explain)
            .map_err(|source| StoreError::Io { path: path.to_owned(), source })
    }

    pub(super) fn write(&self, path: &Path, sealed: Sealed) -> Result<(), StoreError> {
        let written: io::Result<()> = self.0.write_all_at(line(sealed).as_bytes(), 0);
        written.map_err(|source| StoreError::Io { path: path.to_owned(), source })
    }
}

fn line(Sealed { commits, bytes }: Sealed) -> String {
    let text = format!("commits {commits:020} octets {bytes:020}");
    let mut crc = flate2::Crc::new();
    crc.update(text.as_bytes());
    format!("{text} crc {:08x}\n", crc.sum())
}

fn parse(bytes: &[u8]) -> Option<Sealed> {
    let text = std::str::from_utf8(bytes).ok()?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let sealed = Sealed { commits: words.get(1)?.parse().ok()?, bytes: words.get(3)?.parse().ok()? };
    (line(sealed) == text).then_some(sealed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_read_back_and_any_other_text_is_none() {
        let sealed = Sealed { commits: 42, bytes: u64::MAX };
        let text = line(sealed);
        assert_eq!(parse(text.as_bytes()), Some(sealed));
        assert_eq!(text.len(), line(Sealed::default()).len(), "it is overwritten in place");
        for at in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            assert_eq!(parse(&damaged), None, "byte {at}");
        }
        assert_eq!(parse(&text.as_bytes()[1..]), None);
    }
}
