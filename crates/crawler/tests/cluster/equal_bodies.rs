//! `warc.dedup = "crawl"`: each archive file has an equal body once, and is read, lost and cleared without any other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler::warc::{self, Error, Fault, Location, Reader, Record};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::{COPY, EXPIRING, Judge};
use crate::program::{
    Worker, at_work, audit, expect_clean_audit, expect_clean_audit_of, init_at, run, status, text,
};
use crate::server::{Server, until};

/// Makes a crawl of the judge's sites that stores equal bodies once.
fn init(url: &str, judge: &Judge, dir: &Path, delay: Duration) {
    let config = dir.join("crawl.toml");
    std::fs::write(&config, "[warc]\ndedup = \"crawl\"\n").unwrap();
    init_at(url, judge, delay, &["--single-server", "--config", &config.display().to_string()]);
}

/// Records of pages in the archive of a worker, by their files.
fn pages(warc: &Path) -> BTreeMap<PathBuf, Vec<Record>> {
    let files = std::fs::read_dir(warc).unwrap().flatten().map(|file| file.path());
    let files = files.filter(|file| file.to_string_lossy().ends_with(".warc.gz"));
    let of_pages = |file: &PathBuf| -> Vec<Record> {
        let records = Reader::open(file).unwrap().map(Result::unwrap);
        let is_page = |record: &Record| {
            ["response", "revisit"].contains(&record.kind())
                && !record.field("WARC-Target-URI").unwrap().ends_with("/robots.txt")
        };
        records.filter(is_page).collect()
    };
    files.map(|file| (file.clone(), of_pages(&file))).collect()
}

/// What the judge calls a page.
fn name(record: &Record) -> String {
    record.field("WARC-Target-URI").unwrap().replace("http://", "")
}

fn is_copy(record: &Record) -> bool {
    record.field("WARC-Target-URI").is_some_and(|url| url.contains(COPY))
}

/// The page of a record with its body, from wherever that is.
fn whole(file: &Path, record: &Record) -> Result<Vec<u8>, Error> {
    let (dir, name) = (file.parent().unwrap(), file.file_name().unwrap().to_string_lossy().into_owned());
    let place = Location { file: name, offset: record.offset, length: record.length };
    Ok(warc::read_response(dir, &place)?.http().unwrap().1.to_vec())
}

/// Pages that have a record in the archives of these workers, and of those how many have no body of their own. Each file has to have the
/// body of the copies once, and each copy in it has to lead there.
fn expect_once_in_each_file(dir: &Path, workers: &[&str]) -> (BTreeSet<String>, usize) {
    let (mut found, mut shared) = (BTreeSet::new(), 0);
    for (file, records) in workers.iter().flat_map(|name| pages(&dir.join(name).join("warc"))) {
        let copies: Vec<&Record> = records.iter().filter(|record| is_copy(record)).collect();
        if let Some((first, others)) = copies.split_first() {
            assert_eq!(first.kind(), "response", "{}", file.display());
            let (_, body) = first.http().unwrap();
            assert!(body.len() > 6_000);
            for copy in others {
                let original = copy.refers_to().expect("it is a `revisit` record");
                assert_eq!(original.place.file, file.file_name().unwrap().to_string_lossy());
                assert_eq!(
                    (original.place.offset, original.url),
                    (first.offset, first.field("WARC-Target-URI").unwrap().to_owned())
                );
                assert_eq!(original.id.as_deref(), first.field("WARC-Record-ID"));
                assert_eq!(whole(&file, copy).unwrap(), body);
            }
            shared += others.len();
        }
        found.extend(records.iter().map(name));
    }
    (found, shared)
}

/// Whether the body of this page is that of another one.
fn is_shared(dir: &Path, worker: &str, page: &str) -> bool {
    let records = pages(&dir.join(worker).join("warc")).into_values().flatten();
    { records }.any(|record| name(&record) == page && record.refers_to().is_some())
}

fn all() -> BTreeSet<String> {
    Judge::truth().union(&Judge::copies()).cloned().collect()
}

#[test]
fn equal_bodies_are_stored_once_in_each_file_and_lost_together_with_their_copies() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::with_copies(None), TempDir::new().unwrap());
    init(&url, &judge, dir.path(), Duration::from_millis(100));
    let copies = || judge.seen().pages.keys().filter(|page| page.contains(COPY)).count();
    let mut one = Worker::start(&url, dir.path(), "one");
    until(|| copies() > 10);
    one.signal(Signal::INT);
    assert_eq!(one.code(), Some(11));
    // It begins other files beside those that have the body.
    let mut one = Worker::start(&url, dir.path(), "one");
    until(|| copies() > 40);
    // The second one takes over partitions of which the first has bodies.
    let mut two = Worker::start(&url, dir.path(), "two");
    until(|| at_work(&url) == 2);
    assert_eq!([one.code(), two.code()], [Some(0), Some(0)]);
    assert!(judge.seen().pages.keys().eq(all().iter()));
    let (found, shared) = expect_once_in_each_file(dir.path(), &["one", "two"]);
    assert_eq!(found, all());
    assert!(shared > Judge::copies().len() / 2, "{shared} are shared");
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
    let (gone, _) = expect_once_in_each_file(dir.path(), &["one"]);
    let (kept, _) = expect_once_in_each_file(dir.path(), &["two"]);
    assert!(gone.iter().any(|page| page.contains(COPY)) && kept.iter().any(|page| page.contains(COPY)));

    std::fs::remove_dir_all(dir.path().join("one")).unwrap();
    let lost = run(&["cluster", "lost", &url, "one"]);
    assert_eq!(lost.status.code(), Some(0), "{}", text(&lost));
    assert_eq!(Worker::start(&url, dir.path(), "three").code(), Some(0));
    let again: BTreeSet<String> =
        judge.seen().pages.iter().filter(|(_, count)| **count > 1).map(|(page, _)| page.clone()).collect();
    assert_eq!(again, gone, "those with their own body, and those that shared one");
    assert_eq!(judge.seen().pages.values().max(), Some(&2));
    assert_eq!(expect_once_in_each_file(dir.path(), &["three"]).0, gone);
    expect_clean_audit(&url, dir.path(), &["two", "three"]);

    let page = kept.iter().find(|page| page.contains(COPY) && is_shared(dir.path(), "two", page)).unwrap();
    let page = format!("http://{page}");
    let warc = ["two", "three"].map(|name| dir.path().join(name).join("warc").display().to_string());
    let explained = text(&run(&["explain", "--cluster", &url, "--warc", &warc[0], &page, "--json"]));
    assert!(explained.contains("\"state\":\"stored\""), "{explained}");
    let refused = run(&["explain", "--cluster", &url, "--warc", "no-such-directory", &page]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));

    let out = dir.path().join("moved").display().to_string();
    let moved = run(&["cluster", "export", &url, "--out", &out, "--warc", &warc[0], "--warc", &warc[1]]);
    assert_eq!(moved.status.code(), Some(0), "{}", text(&moved));
    expect_clean_audit_of(&["audit", &out, "--json"]);
    let explained = text(&run(&["explain", &out, &page, "--json"]));
    assert!(explained.contains("\"state\":\"stored\""), "{explained}");
}

/// How many bodies the audit couldn't read since the page that has them was removed.
fn withdrawn_originals(report: &serde_json::Value) -> u64 {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "archived_words").unwrap();
    check["unchecked"]["original_withdrawn"].as_u64().unwrap_or_default()
}

#[test]
fn a_body_that_is_forgotten_goes_for_all_pages_that_share_it() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::with_copies(None), TempDir::new().unwrap());
    init(&url, &judge, dir.path(), Duration::from_millis(20));
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0));
    expect_once_in_each_file(dir.path(), &["one"]);
    let warc = dir.path().join("one/warc");
    let (file, records) = pages(&warc).into_iter().find(|(_, records)| records.iter().any(is_copy)).unwrap();
    let original = records.iter().find(|record| is_copy(record)).unwrap();
    let sharing: Vec<&Record> = records.iter().filter(|record| record.refers_to().is_some()).collect();
    assert!(sharing.len() > 5, "{}", sharing.len());

    let forgotten = run(&["cluster", "forget", &url, original.field("WARC-Target-URI").unwrap()]);
    assert_eq!(forgotten.status.code(), Some(0), "{}", text(&forgotten));
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0), "the crawl is complete");
    let said = std::fs::read_to_string(dir.path().join("one.log")).unwrap();
    let first = format!("{} other captures", sharing.len());
    assert!(said.contains(&first), "{said}");
    for record in &sharing {
        let read = whole(&file, record);
        assert!(matches!(read, Err(Error::Record { fault: Fault::OriginalWithdrawn, .. })), "{read:?}");
    }
    let (code, report) = audit(&url, dir.path(), &["one"]);
    assert_eq!((code, withdrawn_originals(&report)), (Some(0), sharing.len() as u64), "{report}");
    for (other, records) in pages(&warc).iter().filter(|(other, _)| **other != file) {
        for copy in records.iter().filter(|record| is_copy(record)) {
            assert!(whole(other, copy).is_ok(), "other files have their own");
        }
    }

    // The next visit of such a page stores its body again.
    let again = run(&["cluster", "recrawl", &url, "--older-than", "0s"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again));
    assert_eq!(Worker::start(&url, dir.path(), "two").code(), Some(0));
    let (found, _) = expect_once_in_each_file(dir.path(), &["two"]);
    assert!(sharing.iter().all(|record| found.contains(&name(record))) && !found.contains(&name(original)));
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
}

/// Copies on the site whose pages expire that were in an archive.
fn removed_copies(warc: &Path) -> usize {
    let files = std::fs::read_dir(warc).unwrap().flatten().map(|file| file.path());
    let files = files.filter(|file| file.to_string_lossy().ends_with(".warc.gz"));
    let records = files.flat_map(|file| Reader::open(&file).unwrap().map(Result::unwrap));
    let removed = records.filter(|record| record.block.starts_with(b"withdrawn: "));
    removed.filter(|record| is_copy(record) && name(record).starts_with(EXPIRING)).count()
}

#[test]
fn pages_that_share_a_body_leave_the_archive_when_they_expire() {
    let Some(server) = Server::start(&[]) else { return };
    let dir = TempDir::new().unwrap();
    // The site has 24 pages at least, and one second between them.
    let (url, judge) = (server.database(), Judge::with_copies(Some(Duration::from_secs(14))));
    init(&url, &judge, dir.path(), Duration::from_secs(1));
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0));
    let removed = removed_copies(&dir.path().join("one/warc"));
    assert!(
        removed > 1,
        "{removed} captures were removed by the crawl itself, one of them at most with a body"
    );
    let records: Vec<Record> = pages(&dir.path().join("one/warc")).into_values().flatten().collect();
    assert!(!records.iter().any(|record| name(record).starts_with(EXPIRING)));
    assert!(records.iter().filter(|record| is_copy(record) && record.refers_to().is_some()).count() > 50);
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
    expect_clean_audit(&url, dir.path(), &["one"]);
}
