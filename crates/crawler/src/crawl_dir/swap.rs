//! Replaces the database by a rewritten copy, so that a whole database is there after a failure or a crash
//! at any step.
//!
//! | step | on disk |
//! |---|---|
//! | 1 | `db.scrubbed` is filled; all its files are synced |
//! | 2 | the marker `db.scrubbed.complete` is written and synced: from here on the new database counts |
//! | 3 | `db` is renamed to `db.old` |
//! | 4 | `db.scrubbed` is renamed to `db` |
//! | 5 | `db.old` is removed |
//! | 6 | the marker is removed |
//!
//! The directory is synced after each step. [`settle`] finishes what stopped after step 2 and undoes what stopped before
//! it; it runs whenever the directory is opened. Nothing is removed unless another whole database has the name `db`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::error::DirError;
use crate::nofollow;

/// The database while it is rewritten.
pub(crate) fn unfinished(root: &Path) -> PathBuf {
    root.join("db.scrubbed")
}

fn marker(root: &Path) -> PathBuf {
    root.join("db.scrubbed.complete")
}

fn replaced(root: &Path) -> PathBuf {
    root.join("db.old")
}

fn current(root: &Path) -> PathBuf {
    root.join("db")
}

/// Names the directory that holds a whole database, without changing anything: `db`, or the result of an interrupted replacement.
pub(crate) fn whole_database(root: &Path) -> PathBuf {
    let (new, old) = (unfinished(root), replaced(root));
    if current(root).exists() {
        current(root)
    } else if marker(root).exists() && new.is_dir() {
        new
    } else if old.is_dir() {
        old
    } else {
        current(root)
    }
}

/// Makes an empty directory for the new database. No replacement may be unfinished.
pub(crate) fn prepare(root: &Path) -> Result<(), DirError> {
    settle(root)?;
    let path = unfinished(root);
    fs::create_dir(&path).map_err(DirError::io("create", &path))
}

/// Removes a new database that wasn't completed; the old one was not touched.
pub(crate) fn discard(root: &Path) -> Result<(), DirError> {
    if marker(root).exists() || !current(root).exists() {
        return Ok(());
    }
    remove(&unfinished(root))
}

/// Puts the new database, which is complete, in the place of the old one.
///
/// An error before the marker is written leaves the old database in force; an error after it leaves the rest to the next
/// [`settle`].
pub(crate) fn replace(root: &Path) -> Result<(), DirError> {
    let path = unfinished(root);
    sync_files(&path)?;
    let marker = marker(root);
    nofollow::create(&marker).and_then(|file| file.sync_all()).map_err(DirError::io("write", &marker))?;
    sync(root)?;
    settle(root)
}

/// Finishes or undoes a replacement that stopped. Does nothing where none did. Safe to repeat.
pub(crate) fn settle(root: &Path) -> Result<(), DirError> {
    let (db, new, old, marker) = (current(root), unfinished(root), replaced(root), marker(root));
    if !marker.exists() && !new.exists() && !old.exists() {
        return Ok(());
    }
    // What is found here may have been renamed by a process that was killed before it synced.
    sync(root)?;
    if marker.exists() && new.is_dir() {
        if db.exists() {
            // One that an earlier replacement couldn't remove; `db` was in force after it.
            remove(&old)?;
            rename(root, &db, &old)?;
        }
        rename(root, &new, &db)?;
    } else if !db.exists() && old.is_dir() {
        rename(root, &old, &db)?;
    }
    if !db.exists() {
        // Nothing whole is known: whatever is there stays for `crawl repair` and for people.
        return Ok(());
    }
    remove(&new)?;
    remove(&old)?;
    sync(root)?;
    if marker.exists() {
        fs::remove_file(&marker).map_err(DirError::io("remove", &marker))?;
        sync(root)?;
    }
    Ok(())
}

fn rename(root: &Path, from: &Path, to: &Path) -> Result<(), DirError> {
    fs::rename(from, to).map_err(DirError::io("rename", from))?;
    sync(root)
}

fn remove(path: &Path) -> Result<(), DirError> {
    if path.is_dir() { fs::remove_dir_all(path).map_err(DirError::io("remove", path)) } else { Ok(()) }
}

fn sync(path: &Path) -> Result<(), DirError> {
    File::open(path).and_then(|dir| dir.sync_all()).map_err(DirError::io("sync", path))
}

/// Syncs a directory with all that is in it.
fn sync_files(path: &Path) -> Result<(), DirError> {
    let entries = fs::read_dir(path).map_err(DirError::io("list", path))?;
    for entry in entries {
        let entry = entry.map_err(DirError::io("list", path))?.path();
        if entry.is_dir() { sync_files(&entry)? } else { sync(&entry)? }
    }
    sync(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the named directories, each with a file that tells its name, and the marker where it is named.
    fn place(names: &[&str]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for name in names {
            let path = top.path().join(name);
            if *name == "db.scrubbed.complete" {
                fs::write(path, "").unwrap();
            } else {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("from"), name).unwrap();
            }
        }
        top
    }

    fn in_force(root: &Path) -> String {
        fs::read_to_string(root.join("db/from")).unwrap_or_default()
    }

    #[test]
    fn every_state_that_a_replacement_can_stop_in_is_finished_or_undone() {
        let done = "db.scrubbed.complete";
        for (before, after) in [
            (&["db"][..], "db"),
            // Step 1: not complete.
            (&["db", "db.scrubbed"], "db"),
            // Steps 2 to 6.
            (&["db", "db.scrubbed", done], "db.scrubbed"),
            (&["db.old", "db.scrubbed", done], "db.scrubbed"),
            (&["db", "db.old", done], "db"),
            (&["db", done], "db"),
            // What an earlier version, or a failed removal, may leave.
            (&["db", "db.old"], "db"),
            (&["db.old"], "db.old"),
            (&["db.old", done], "db.old"),
            (&["db.old", "db.scrubbed"], "db.old"),
            (&["db", "db.old", "db.scrubbed", done], "db.scrubbed"),
        ] {
            let top = place(before);
            let root = top.path();
            let found = fs::read_to_string(whole_database(root).join("from")).unwrap();
            let whole = |name: &str| name != "db.scrubbed" || before.contains(&done);
            assert!(whole(&found), "{before:?}: {found} isn't whole");
            for _ in 0..2 {
                settle(root).unwrap();
                assert_eq!(in_force(root), after, "{before:?}");
                let left: Vec<_> =
                    fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                assert_eq!(left, ["db"], "{before:?}");
            }
        }
    }

    #[test]
    fn without_a_whole_database_nothing_is_removed() {
        let top = place(&["db.scrubbed"]);
        settle(top.path()).unwrap();
        discard(top.path()).unwrap();
        assert!(top.path().join("db.scrubbed/from").exists());
    }

    #[test]
    fn a_replacement_takes_effect_and_one_that_is_discarded_does_not() {
        let top = place(&["db"]);
        prepare(top.path()).unwrap();
        fs::write(top.path().join("db.scrubbed/from"), "new").unwrap();
        discard(top.path()).unwrap();
        assert!(!top.path().join("db.scrubbed").exists());
        prepare(top.path()).unwrap();
        fs::write(top.path().join("db.scrubbed/from"), "new").unwrap();
        replace(top.path()).unwrap();
        assert_eq!(in_force(top.path()), "new");
    }
}
