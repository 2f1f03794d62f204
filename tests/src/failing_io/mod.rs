//! Lets one call of a program that changes the file system fail: a library that is loaded before the C library, built
//! from `preload.c` with the system's C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::program::Crawl;

/// The library, built once per test program.
///
/// # Panics
/// If it can't be built.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = LIBRARY.get_or_init(|| {
        let place = tempfile::tempdir().expect("a directory for the library");
        let path = place.path().join("failing_io.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/failing_io/preload.c");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .arg(&path)
            .arg(source)
            .arg("-ldl");
        let status = compiler.status().expect("a C compiler can be started");
        assert!(status.success(), "preload.c can't be compiled");
        (place, path)
    });
    path
}

/// The calls of a program that change files below a directory, and which of them fails.
#[derive(Debug)]
pub struct FailingIo {
    below: PathBuf,
    log: PathBuf,
}

impl FailingIo {
    /// Counts calls on files below `below`; `log` is a file to count them in.
    pub fn new(below: &Path, log: &Path) -> Self {
        Self { below: below.to_owned(), log: log.to_owned() }
    }

    /// Lets the call of this number, from 1 on, fail once with EIO; none with 0.
    ///
    /// # Panics
    /// If the library can't be built.
    #[must_use]
    pub fn apply(&self, crawl: Crawl, number: usize) -> Crawl {
        if self.log.exists() {
            fs::remove_file(&self.log).expect("the log of an earlier run can be removed");
        }
        crawl
            .env("LD_PRELOAD", library())
            .env("FAILING_IO_DIR", &self.below)
            .env("FAILING_IO_LOG", &self.log)
            .env("FAILING_IO_AT", number.to_string())
    }

    /// The calls of the last run, in order: name and path.
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| line.split_once(' ').map_or(line, |(_, call)| call).to_owned()).collect()
    }
}
