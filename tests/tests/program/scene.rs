//! What most tests here need: a server, a directory, a seed file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use whole_program::oracle::{Promise, assert_polite};
use whole_program::program::{Crawl, Output};
use whole_program::site::{Server, Sites};

/// The delay that these crawls are run with.
pub(crate) const DELAY: Duration = Duration::from_millis(20);

/// A server and a place to crawl into.
pub(crate) struct Scene {
    pub(crate) server: Server,
    directory: TempDir,
}

impl Scene {
    /// Serves sites; their front pages are the seeds.
    pub(crate) fn new(sites: Sites) -> Self {
        let seeds: String =
            sites.hosts().map(|host| format!("http://{host}/\n")).collect::<Vec<_>>().concat();
        let scene = Self {
            server: Server::start(sites),
            directory: tempfile::tempdir().expect("a directory for the test"),
        };
        std::fs::write(scene.seeds(), seeds).expect("the seed file can be written");
        scene
    }

    /// A path in the test's own directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The seed file.
    pub(crate) fn seeds(&self) -> PathBuf {
        self.path("seeds.txt")
    }

    /// The output directory.
    pub(crate) fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// `crawl --seed ... --agent SuperRobot/1.0 --out ...`, at the pace of the tests.
    pub(crate) fn crawl(&self) -> Crawl {
        self.crawl_every("20ms")
    }

    /// The same with another delay.
    pub(crate) fn crawl_every(&self, delay: &str) -> Crawl {
        Crawl::new(["--agent", "SuperRobot/1.0", "--delay", delay, "--adaptive", "0"])
            .args([Path::new("--seed"), &self.seeds(), Path::new("--out"), &self.out()])
            .args(self.server.resolve())
    }

    /// `crawl resume DIR`.
    pub(crate) fn resume(&self) -> Crawl {
        Crawl::new([Path::new("resume"), &self.out()])
    }

    /// Runs a subcommand on the output directory: `crawl show DIR ...`.
    pub(crate) fn look(&self, command: &str, arguments: &[&str]) -> Output {
        Crawl::new([Path::new(command), &self.out()]).args(arguments).run()
    }

    /// A table as JSON lines.
    pub(crate) fn table(&self, table: &str) -> Vec<serde_json::Value> {
        self.look("export", &["--table", table, "--format", "jsonl"]).expect(0).json()
    }

    /// Judges the server's log.
    pub(crate) fn assert_polite(&self) {
        assert_polite(&self.server.log(), Promise::delay(DELAY));
    }
}

/// Sorts, for sets that may come in any order but must not hold anything twice.
pub(crate) fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}
