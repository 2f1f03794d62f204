//! Archive directories: one process at a time writes in one.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::judge::{Judge, SEED};
use crate::program::{Worker, expect_clean_audit, expect_polite_and_whole, init_at, run, text};
use crate::server::{Server, until};

/// A worker whose archive would be another one's, or a crawl beside it, touches nothing there.
#[test]
fn nobody_cuts_the_files_of_a_worker_that_runs() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, other, judge, dir) =
        (server.database(), server.database(), Judge::start(), TempDir::new().unwrap());
    for url in [&url, &other] {
        init_at(url, &judge, Duration::from_secs(1), &["--single-server"]);
    }
    let seeds = dir.path().join("seeds.txt").display().to_string();
    std::fs::write(&seeds, SEED).unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::create_dir(dir.path().join("links")).unwrap();
    std::os::unix::fs::symlink("../one/warc", dir.path().join("links/warc")).unwrap();
    let mut worker = Worker::start(&url, dir.path(), "one");
    let has_files = || std::fs::read_dir(dir.path().join("one/warc")).is_ok_and(|files| files.count() > 0);
    until(|| judge.count() > 20 && has_files());
    let before = files(&dir.path().join("one/warc"));
    for archive in ["one/warc", "one", "one/warc/sub", "links/warc", "."] {
        let refused = run(&["worker", "--cluster", &url, "--out", &path("two"), "--warc", &path(archive)]);
        let said = text(&refused);
        assert_eq!(refused.status.code(), Some(5), "{archive}: {said}");
        assert!(said.contains("in use by another") && said.contains("--warc"), "{archive}: {said}");
    }
    // By a path that has nothing in common with the worker's, as in another container.
    let mount = dir.path().join("mounted");
    std::fs::create_dir(&mount).unwrap();
    let by_mount = ["worker", "--cluster", &url, "--out", &path("two"), "--warc", &path("mounted")];
    let mut mounted = Command::new("unshare");
    mounted.args([
        "--mount",
        "sh",
        "-c",
        "mount --bind \"$1\" \"$2\" || exit 99; shift 2; exec \"$@\"",
        "sh",
    ]);
    mounted.args([&path("one/warc"), &path("mounted"), env!("CARGO_BIN_EXE_crawl")]).args(by_mount);
    match mounted.output() {
        Ok(refused) if refused.status.code() == Some(5) => {
            let said = text(&refused);
            assert!(said.contains("in use by another") && said.contains("--warc"), "{said}");
        }
        Ok(done) if text(&done).contains("unshare failed") || done.status.code() == Some(99) => {
            eprintln!("SKIPPED: directories can't be mounted here");
        }
        done => panic!("{done:?}"),
    }
    let download = run(&["cluster", "download", &url, "--out", &path("one/warc")]);
    assert_eq!(download.status.code(), Some(5), "{}", text(&download));
    let beside = run(&["--seed", &seeds, "--agent", "SuperRobot/1.0", "--out", &path("one/warc/crawl")]);
    assert_eq!(beside.status.code(), Some(5), "{}", text(&beside));
    let after = files(&dir.path().join("one/warc"));
    let has_grown =
        |(name, length): &(String, u64)| after.iter().any(|(same, now)| same == name && now >= length);
    assert!(before.iter().all(has_grown), "{before:?} {after:?}");
    assert_eq!(worker.code(), Some(0), "it ran until now");
    expect_polite_and_whole(&judge, 0);
    expect_clean_audit(&url, dir.path(), &["one"]);

    // Nor those of one that has ended: they aren't of this crawl.
    let before = files(&dir.path().join("one/warc"));
    let refused = run(&["worker", "--cluster", &other, "--out", &path("two"), "--warc", &path("one/warc")]);
    let said = text(&refused);
    assert!(refused.status.code() == Some(2) && said.contains("the archive of another crawl"), "{said}");
    assert_eq!(files(&dir.path().join("one/warc")), before);
}

/// The archive files of a directory with their bytes.
fn files(dir: &Path) -> Vec<(String, u64)> {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .flatten()
        .map(|file| (file.file_name().to_string_lossy().into_owned(), file.metadata().unwrap().len()))
        .filter(|(name, _)| name.contains(".warc"))
        .collect();
    files.sort();
    files
}
