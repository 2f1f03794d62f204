//! Workers whose archives go to object storage, or to another directory.

use std::path::Path;
use std::time::Duration;

use crawler::warc::Reader;
use page::clock::wall;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::bucket::Service;
use crate::forget;
use crate::judge::{EXPIRING, Judge};
use crate::program::{
    Worker, crawl, expect_clean_audit, expect_polite_and_whole, init_at, init_with, run, status, text,
};
use crate::server::{Server, until};

const GAP: Duration = Duration::from_millis(20);

/// A worker whose archive goes to a prefix of the service's bucket.
fn worker(service: &Service, url: &str, dir: &Path, name: &str, prefix: &str) -> Worker {
    let mut command = Worker::command(url, dir, name);
    command.envs(service.environment()).args(["--warc", &format!("s3://bucket/{prefix}")]);
    Worker::run(&mut command, dir, name)
}

/// Archive files in a directory of a worker.
fn files(dir: &Path) -> Vec<String> {
    let Ok(files) = std::fs::read_dir(dir) else { return Vec::new() };
    let names = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".warc.gz")).collect()
}

/// Everything in the directories in which a worker writes its archive, or keeps it until it is in object storage.
fn left_here(dir: &Path, name: &str) -> Vec<String> {
    let within = ["warc", "warc-complete"].map(|within| std::fs::read_dir(dir.join(name).join(within)));
    let files = within.into_iter().flatten().flatten().flatten();
    files.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
}

/// Files of a worker that aren't in object storage.
fn files_here(dir: &Path, name: &str) -> Vec<String> {
    ["warc", "warc-complete"].iter().flat_map(|within| files(&dir.join(name).join(within))).collect()
}

/// Copies the archive files of a crawl to the directory of an archive: how many were copied, and how many were there.
fn copy(service: &Service, url: &str, dir: &Path) -> (u64, u64) {
    let to = dir.join("copy/warc").display().to_string();
    let mut download = crawl(&["cluster", "download", url, "--out", &to, "--json"]);
    let done = download.envs(service.environment()).output().unwrap();
    let said = serde_json::from_slice::<serde_json::Value>(&done.stdout);
    let said = said.unwrap_or_else(|_| panic!("{}", text(&done)));
    (said["files"].as_u64().unwrap(), said["present"].as_u64().unwrap())
}

/// Captures of pages that expire.
fn captures(dir: &Path) -> usize {
    let records =
        files(dir).into_iter().flat_map(|file| Reader::open(&dir.join(file)).unwrap().map(Result::unwrap));
    let is_page = |url: &str| url.contains(EXPIRING) && !url.ends_with("/robots.txt");
    let responses = records.filter(|record| record.kind() == "response");
    responses.filter(|record| record.field("WARC-Target-URI").is_some_and(is_page)).count()
}

#[test]
fn archives_go_to_object_storage_whole_and_are_not_lost_with_a_worker() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir, service) =
        (server.database(), Judge::start(), TempDir::new().unwrap(), Service::start());
    init_at(&url, &judge, GAP, &["--single-server"]);
    service.stored().fails = Some(("PUT /bucket/study/crawl-".to_owned(), 3));
    let mut workers = ["one", "two"].map(|name| worker(&service, &url, dir.path(), name, "study"));
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    assert_eq!(
        service.stored().fails,
        Some(("PUT /bucket/study/crawl-".to_owned(), 0)),
        "each failure happened"
    );
    assert_eq!(service.stored().unsigned, 0);
    assert!(files_here(dir.path(), "one").is_empty() && files_here(dir.path(), "two").is_empty());
    let (copied, present) = copy(&service, &url, dir.path());
    assert!(copied > 1 && present == 0, "{copied} {present}");
    assert_eq!(copy(&service, &url, dir.path()), (0, copied));
    expect_clean_audit(&url, dir.path(), &["copy"]);

    // Nothing was on the disk that is gone.
    std::fs::remove_dir_all(dir.path().join("one")).unwrap();
    let lost = run(&["cluster", "lost", &url, "one"]);
    assert_eq!(lost.status.code(), Some(0), "{}", text(&lost));
    assert_eq!(worker(&service, &url, dir.path(), "three", "study").code(), Some(0));
    let again: Vec<_> =
        judge.seen().pages.iter().filter(|(_, count)| **count > 1).map(|(page, _)| page.clone()).collect();
    assert!(again.is_empty(), "{again:?}");
    assert!(judge.seen().pages.keys().eq(Judge::truth().iter()));
    expect_clean_audit(&url, dir.path(), &["copy"]);

    // Another crawl needs another prefix.
    let other = server.database();
    init_with(&other, &judge, &["--single-server"]);
    assert_eq!(worker(&service, &other, dir.path(), "four", "study").code(), Some(2));
    let said = std::fs::read_to_string(dir.path().join("four.log")).unwrap();
    assert!(said.contains("s3://bucket/study has the archive of another crawl"), "{said}");
}

#[test]
fn files_that_are_complete_go_while_the_crawl_runs() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, dir, service) = (server.database(), TempDir::new().unwrap(), Service::start());
    let judge = Judge::with_large_pages(1_600_000);
    let config = dir.path().join("crawl.toml");
    std::fs::write(&config, "[warc]\nmax_file_size = \"1MiB\"\n").unwrap();
    let config = config.display().to_string();
    init_at(&url, &judge, Duration::from_secs(3), &["--single-server", "--config", &config]);
    let mut one = worker(&service, &url, dir.path(), "one", "study");
    let stored = || service.stored().objects.keys().filter(|path| path.contains("/crawl-")).count();
    until(|| stored() > 2);
    assert_eq!(status(&url)["state"].as_str(), Some("running"));
    let early = stored();
    // A second one takes partitions over whose first files are stored.
    let mut two = worker(&service, &url, dir.path(), "two", "study");
    assert_eq!([one.code(), two.code()], [Some(0), Some(0)]);
    assert!(stored() > early);
    let left = ["one", "two"].map(|name| left_here(dir.path(), name));
    assert!(left.iter().all(Vec::is_empty), "also no index of a file that isn't here: {left:?}");
    expect_polite_and_whole(&judge, 0);
    copy(&service, &url, dir.path());
    expect_clean_audit(&url, dir.path(), &["copy"]);
}

#[test]
fn what_the_service_does_not_take_stays_and_is_uploaded_at_the_next_start() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir, service) =
        (server.database(), Judge::start(), TempDir::new().unwrap(), Service::start());
    init_at(&url, &judge, GAP, &["--single-server"]);
    service.stored().fails = Some(("/bucket/crawl-".to_owned(), usize::MAX));
    assert_eq!(worker(&service, &url, dir.path(), "one", "").code(), Some(0), "the crawl is complete");
    let said = std::fs::read_to_string(dir.path().join("one.log")).unwrap();
    assert!(said.contains("aren't in object storage yet"), "{said}");
    let here = files_here(dir.path(), "one");
    assert!(!here.is_empty());
    service.stored().fails = None;
    assert_eq!(worker(&service, &url, dir.path(), "one", "").code(), Some(0));
    assert!(files_here(dir.path(), "one").is_empty());
    assert!(here.iter().all(|file| service.stored().objects.contains_key(&format!("/bucket/{file}"))));
}

#[test]
fn what_expires_in_object_storage_is_removed_there() {
    let Some(server) = Server::start(&[]) else { return };
    let (dir, service) = (TempDir::new().unwrap(), Service::start());
    let expires = wall() + Duration::from_secs(11);
    let (url, judge) = (server.database(), Judge::expiring_at(&format!("{expires:.0}")));
    init_at(&url, &judge, Duration::from_secs(1), &["--single-server"]);
    let mut first = worker(&service, &url, dir.path(), "one", "study");
    until(|| judge.count() > 25 && judge.seen().pages.keys().any(|page| page.starts_with(EXPIRING)));
    first.signal(Signal::INT);
    assert_eq!(first.code(), Some(11));
    assert!(files_here(dir.path(), "one").is_empty());
    copy(&service, &url, dir.path());
    let had = captures(&dir.path().join("copy/warc"));
    assert!(had > 0 && wall() < expires, "{had} captures");

    assert_eq!(worker(&service, &url, dir.path(), "two", "study").code(), Some(0));
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
    assert!(copy(&service, &url, dir.path()).1 > 0, "what has not changed stays");
    assert_eq!(captures(&dir.path().join("copy/warc")), 0);
    expect_clean_audit(&url, dir.path(), &["copy"]);
}

#[test]
fn what_is_forgotten_goes_from_object_storage_too() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir, service) =
        (server.database(), Judge::start(), TempDir::new().unwrap(), Service::start());
    init_at(&url, &judge, GAP, &["--single-server"]);
    assert_eq!(worker(&service, &url, dir.path(), "one", "study").code(), Some(0));
    let of_site = |url: &str| url.starts_with("http://s3.test/");
    copy(&service, &url, dir.path());
    assert!(forget::records(dir.path(), "copy", of_site).len() > 12, "a response, request and more for each");
    let forgotten = run(&["cluster", "forget", &url, "s3.test"]);
    assert!(forgotten.status.success(), "{}", text(&forgotten));
    // It isn't on the disk that is lost.
    assert_eq!(run(&["cluster", "lost", &url, "one"]).status.code(), Some(0));
    let due = &status(&url)["withdrawals"];
    assert!(due[0]["files"].as_u64() > Some(0), "{due}");
    assert_eq!(worker(&service, &url, dir.path(), "two", "study").code(), Some(0));
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
    std::fs::remove_dir_all(dir.path().join("copy")).unwrap();
    copy(&service, &url, dir.path());
    assert_eq!(forget::records(dir.path(), "copy", of_site), [""; 0]);
    assert_eq!(judge.seen().pages.values().max(), Some(&1), "nothing is asked for again");
    expect_clean_audit(&url, dir.path(), &["copy"]);
}

#[test]
fn an_archive_may_go_to_another_directory_of_one_worker() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let archive = dir.path().join("archive/warc");
    let place = archive.display().to_string();
    let mut first = Worker::start_with(&url, dir.path(), "one", &["--warc", &place]);
    until(|| !files(&archive).is_empty());
    assert_eq!(Worker::start_with(&url, dir.path(), "two", &["--warc", &place]).code(), Some(5));
    assert_eq!(first.code(), Some(0));
    assert!(files_here(dir.path(), "one").is_empty());
    expect_polite_and_whole(&judge, 0);
    expect_clean_audit(&url, dir.path(), &["archive"]);
    let said = run(&["worker", "--cluster", &url, "--out", "x", "--warc", "gs://bucket"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said).contains("not to gs://"), "{}", text(&said));
}
