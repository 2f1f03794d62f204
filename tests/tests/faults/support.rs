//! Support for these tests: rows of the matrix, copies of crawls, file systems of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use whole_program::program::{Crawl, Output};

use crate::scene::{Scene, sorted};

/// Prints a row of the fault matrix, and checks what holds for all of them: the message is there, and it is no panic.
#[track_caller]
pub(crate) fn fault_row<'a>(fault: &str, output: &'a Output, code: i32) -> &'a str {
    let message = output.stderr.lines().find(|line| line.starts_with("error:")).unwrap_or("");
    eprintln!("| {fault} | {:?} | {message} |", output.code);
    assert!(!output.stderr.contains("panicked"), "{fault}: {output}");
    output.expect(code);
    assert_eq!(message.is_empty(), matches!(code, 0 | 10..=14), "{fault}: {output}");
    message
}

/// Says that something can't be tried on this machine.
pub(crate) fn skipped(what: &str) {
    eprintln!("SKIPPED: {what}");
}

/// Waits without looking at a clock: nobody ever sends.
pub(crate) fn pause(time: Duration) {
    let (_keep, receiver) = channel::<()>();
    assert!(receiver.recv_timeout(time).is_err());
}

/// Waits until the server has answered so many requests.
pub(crate) fn wait_for(scene: &Scene, requests: usize) {
    for _ in 0..6_000 {
        if scene.server.count() >= requests {
            return;
        }
        pause(Duration::from_millis(10));
    }
    panic!("only {} requests came", scene.server.count());
}

/// The URLs of table `pages` of a crawl in any directory.
pub(crate) fn pages(directory: &Path) -> Vec<String> {
    let output =
        Crawl::new([Path::new("export"), directory]).args(["--table", "pages", "--format", "jsonl"]).run();
    let rows = output.expect(0).json();
    sorted(rows.iter().map(|page| page["url"].as_str().expect("a url").to_owned()).collect())
}

/// The URLs of a tree site.
pub(crate) fn tree(host: &str, pages: usize) -> Vec<String> {
    let url = |n| if n == 0 { format!("http://{host}/") } else { format!("http://{host}/{n}") };
    sorted((0..pages).map(url).collect())
}

/// Page requests beyond the first one for each URL.
pub(crate) fn refetched(scene: &Scene) -> usize {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for url in scene.server.pages() {
        *counts.entry(url).or_default() += 1;
    }
    counts.values().map(|count| count - 1).sum()
}

/// `crawl resume DIR` for any directory.
pub(crate) fn resume(directory: &Path) -> Crawl {
    Crawl::new([Path::new("resume"), directory])
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("the directory can be listed") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

/// Every file of a directory with its bytes; the lock and the log may be touched by anybody.
pub(crate) fn bytes(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = whole_program::output_dir::files(directory).into_iter();
    let kept = files.filter(|path| !path.ends_with(".lock") && !path.ends_with("log/crawl.jsonl"));
    kept.map(|path| (path.clone(), fs::read(&path).expect("a file that was just listed"))).collect()
}

/// A file system that goes with the value.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    /// A small file system in memory; none where we may not mount.
    pub(crate) fn tmpfs(at: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(at).expect("a directory can be made");
        mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], at).then(|| Self(at.to_owned()))
    }

    /// The directory itself, read-only; none where we may not mount.
    pub(crate) fn read_only(at: &Path) -> Option<Self> {
        let path = at.to_str().expect("a path in text");
        let mounted = mount(&["--bind", path], at).then(|| Self(at.to_owned()))?;
        mount(&["-o", "remount,ro,bind"], at).then_some(mounted)
    }

    /// Returns a file system in memory another size.
    pub(crate) fn resize(&self, size: &str) {
        assert!(
            mount(&["-o", &format!("remount,size={size}")], &self.0),
            "a file system of ours can be resized"
        );
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let status = Command::new("mount").args(arguments).arg(at).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _status = Command::new("umount").arg("-l").arg(&self.0).stderr(Stdio::null()).status();
    }
}
