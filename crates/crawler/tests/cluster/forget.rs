//! `crawl cluster forget`: what a site wants removed goes from the database and from the archives of all workers.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use crawler::warc::Reader;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{
    Worker, audit, check, expect_clean_audit, expect_clean_audit_of, init_with, run, status, text,
};
use crate::server::{Server, until};

const SITE: &str = "s3.test";

/// What the archive of a worker has of pages whose URLs this is true of: kinds of records, without tombstones.
pub(crate) fn records(dir: &Path, name: &str, is_it: impl Fn(&str) -> bool) -> Vec<String> {
    let files = std::fs::read_dir(dir.join(name).join("warc")).unwrap().flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().ends_with(".warc.gz"));
    let records = files.flat_map(|file| Reader::open(&file.path()).unwrap().map_while(Result::ok));
    let of_pages = records.filter(|record| {
        let url = record.field("WARC-Target-URI").unwrap_or_default();
        let is_tombstone = record.block.starts_with(b"withdrawn: ");
        url.starts_with("http") && !url.ends_with("/robots.txt") && is_it(url) && !is_tombstone
    });
    of_pages.map(|record| record.kind().to_owned()).collect()
}

fn of_site(url: &str) -> bool {
    url.starts_with(&format!("http://{SITE}/"))
}

fn forget(url: &str, what: &[&str]) -> (Option<i32>, serde_json::Value) {
    let done = run(&[&["cluster", "forget", url, "--json"], what].concat());
    let said = serde_json::from_slice(&done.stdout).unwrap_or_else(|_| text(&done).into());
    (done.status.code(), said)
}

/// Pages of the table `pages` whose URLs end like that, with their titles.
fn titles(from: &[&str], end: &str) -> Vec<(String, bool)> {
    let exported = run(&[&["export"], from, &["--table", "pages", "--format", "jsonl"]].concat());
    let lines = String::from_utf8(exported.stdout).unwrap();
    let rows = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let rows = rows.map(|row| (row["url"].as_str().unwrap().to_owned(), row["title"].is_string()));
    rows.filter(|(url, _)| url.ends_with(end)).collect()
}

#[test]
fn what_is_forgotten_goes_from_every_archive_and_is_never_asked_for_again() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| judge.count() > 40 && judge.seen().pages.keys().any(|page| page.starts_with(SITE)));
    let (code, said) = forget(&url, &[SITE]);
    assert!(code == Some(2) && said.as_str().unwrap().contains("crawl cluster stop"), "{said}");
    // One is killed, and has written a part of a record.
    workers[0].signal(Signal::KILL);
    assert_eq!(run(&["cluster", "stop", &url]).status.code(), Some(0));
    assert_eq!(workers.each_mut().map(Worker::code), [None, Some(11)]);
    let file = std::fs::read_dir(dir.path().join("one/warc")).unwrap().flatten().next().unwrap().path();
    let mut file = std::fs::OpenOptions::new().append(true).open(file).unwrap();
    file.write_all(&[0x1f, 0x8b, 0x08, 0, 0, 0]).unwrap();
    let asked = || -> Vec<String> {
        judge
            .seen()
            .pages
            .iter()
            .filter(|(page, _)| page.starts_with(SITE))
            .map(|(page, count)| format!("{page} {count}"))
            .collect()
    };
    let before = asked();
    let had: usize = ["one", "two"].map(|name| records(dir.path(), name, of_site).len()).iter().sum();
    assert!(!before.is_empty() && had > before.len(), "{had} records of {before:?}");
    let pages = titles(&["--cluster", &url], "").into_iter().map(|(page, _)| page);
    let stored: BTreeSet<String> =
        pages.filter(|page| of_site(page)).map(|page| page.replace("http://", "")).collect();

    let (code, said) = forget(&url, &[SITE, "--reason", "asked for"]);
    assert_eq!((code, said["pages"].as_u64()), (Some(0), Some(stored.len() as u64)), "{said}");
    let files = said["files"].as_u64().unwrap();
    assert!(files > 0, "{said}");
    let (code, said) = forget(&url, &[SITE]);
    assert_eq!(
        (code, said["pages"].as_u64(), said["files"].as_u64()),
        (Some(0), Some(0), Some(files)),
        "{said}"
    );
    assert!(titles(&["--cluster", &url], "").iter().all(|(page, has)| *has != of_site(page)));

    // The archives have it until their workers are there, and every reader says so.
    let due = &status(&url)["withdrawals"];
    let counted: u64 = due.as_array().unwrap().iter().map(|of| of["files"].as_u64().unwrap()).sum();
    assert_eq!(counted, files, "{due}");
    let (code, report) = audit(&url, dir.path(), &["one", "two"]);
    assert!(code == Some(14) && check(&report, "forgotten").1 > 0, "{report}");
    let shown = text(&run(&["cluster", "status", &url]));
    assert!(shown.contains("forgotten pages in 1 file to be removed from the archive of worker"), "{shown}");
    let out = dir.path().join("moved").display().to_string();
    let warc = ["one", "two"].map(|name| dir.path().join(name).join("warc").display().to_string());
    let export = ["cluster", "export", &url, "--out", &out, "--warc", &warc[0], "--warc", &warc[1]];
    let refused = run(&export);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("start the workers that have them"), "{}", text(&refused));

    for name in ["one", "two"] {
        assert_eq!(Worker::start(&url, dir.path(), name).code(), Some(2), "the crawl is stopped");
        assert_eq!(records(dir.path(), name, of_site), [""; 0]);
    }
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
    expect_clean_audit(&url, dir.path(), &["one", "two"]);

    assert_eq!(run(&["cluster", "resume", &url]).status.code(), Some(0));
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    assert_eq!(asked(), before, "nothing of the site is asked for again");
    let others = |pages: BTreeSet<String>| -> Vec<String> {
        pages.into_iter().filter(|page| !page.starts_with(SITE)).collect()
    };
    let found = judge.seen().pages.keys().cloned().collect();
    assert_eq!(others(found), others(Judge::truth_without(3, &stored)), "everything else is found");
    expect_clean_audit(&url, dir.path(), &["one", "two"]);
    let (_, report) = audit(&url, dir.path(), &["one", "two"]);
    assert_eq!(check(&report, "forgotten").0, stored.len() as u64, "{report}");
    let page = format!("http://{}", stored.first().unwrap());
    let explained = text(&run(&["explain", "--cluster", &url, &page]));
    assert!(explained.contains("forgotten: asked for"), "{explained}");

    // On one machine it stays forgotten.
    let moved = run(&export);
    assert_eq!(moved.status.code(), Some(0), "{}", text(&moved));
    expect_clean_audit_of(&["audit", &out, "--json"]);
    let again = run(&["resume", &out]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again));
    assert_eq!(asked(), before);
}

#[test]
fn what_matches_is_forgotten_in_all_databases_of_a_complete_crawl() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, second, judge, dir) =
        (server.database(), server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let added = run(&["cluster", "add", &url, &second, "--single-server"]);
    assert!(added.status.success(), "{}", text(&added));
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0));
    let matches = Judge::truth().iter().filter(|page| page.ends_with("/p4")).count();
    assert!(matches > 5, "{matches}");
    // Of a command that was killed.
    server.sql(&url, "insert into worker(name, alive) values ('crawl cluster forget', false)");
    server.sql(&url, "update part set owner = (select max(id) from worker), fence = fence + 1 where id < 3");
    let table = "select relfilenode from pg_class where relname = 'kv_records'";
    let before = [&url, &second].map(|url| server.sql(url, table));

    let (code, said) = forget(&url, &["--regex", "/p4$"]);
    assert_eq!((code, said["pages"].as_u64()), (Some(0), Some(matches as u64)), "{said}");
    let after = [&url, &second].map(|url| server.sql(url, table));
    assert!(before[0] != after[0] && before[1] != after[1], "the tables were written again");
    let owned = "select count(*) from part where owner is not null";
    assert_eq!([&url, &second].map(|url| server.sql(url, owned)), ["0", "0"]);
    let titles = titles(&["--cluster", &url], "/p4");
    assert!(titles.len() == matches && titles.iter().all(|(_, has)| !has), "{titles:?}");
    assert_eq!(Worker::start(&url, dir.path(), "one").code(), Some(0), "the crawl is complete");
    assert_eq!(records(dir.path(), "one", |url| url.ends_with("/p4")), [""; 0]);
    assert!(!records(dir.path(), "one", |url| url.ends_with("/p5")).is_empty());
    expect_clean_audit(&url, dir.path(), &["one"]);

    // Nothing can be removed from an archive that is lost.
    let (code, said) = forget(&url, &["http://s5.test/p5"]);
    assert_eq!((code, said["pages"].as_u64()), (Some(0), Some(1)), "{said}");
    assert!(said["files"].as_u64() > Some(0), "{said}");
    std::fs::remove_dir_all(dir.path().join("one")).unwrap();
    assert_eq!(run(&["cluster", "lost", &url, "one"]).status.code(), Some(0));
    assert_eq!(status(&url)["withdrawals"].as_array().map(Vec::len), Some(0));
    let (code, said) = forget(&url, &["--regex", "("]);
    assert!(code == Some(2) && said.as_str().unwrap().contains("isn't a regular expression"), "{said}");
}
