//! The archive of a cluster's crawl as one WACZ file and as an index for replay.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{Worker, init_with, run, text};
use crate::server::{Server, until};

/// The members of a ZIP file with their contents; each is checked against its CRC.
fn members(zip: &Path) -> BTreeMap<String, Vec<u8>> {
    let zip = std::fs::read(zip).unwrap();
    let archive = rawzip::ZipArchive::from_slice(&zip).unwrap();
    let mut entries = archive.entries();
    let mut members = BTreeMap::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        let path = entry.file_path().try_normalize().unwrap().as_ref().to_owned();
        let local = archive.get_entry(entry.wayfinder()).unwrap();
        let mut content = Vec::new();
        if entry.compression_method() == rawzip::CompressionMethod::STORE {
            local.verifying_reader(local.data()).read_to_end(&mut content).unwrap();
        } else {
            let inflated = flate2::bufread::DeflateDecoder::new(local.data());
            local.verifying_reader(inflated).read_to_end(&mut content).unwrap();
        }
        assert!(members.insert(path, content).is_none(), "each name once");
    }
    members
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

/// Opens a WACZ file as a reader does: each line of its index leads to the record of its URL. Returns the index, and the URLs of pages.
fn open(path: &Path) -> (String, BTreeSet<String>) {
    let members = members(path);
    let index = unpacked(&members["indexes/index.cdx.gz"]);
    for line in index.lines() {
        let fields: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let number = |name: &str| fields[name].as_str().unwrap().parse::<usize>().unwrap();
        let file = &members[&format!("archive/{}", fields["filename"].as_str().unwrap())];
        let record = unpacked(&file[number("offset")..][..number("length")]);
        let wanted = format!("WARC-Target-URI: {}\r\n", fields["url"].as_str().unwrap());
        assert!(record.starts_with("WARC/1.1\r\n") && record.contains(&wanted), "{line}: {record}");
    }
    let pages = std::str::from_utf8(&members["pages/pages.jsonl"]).unwrap();
    let url = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].as_str().unwrap().to_owned()
    };
    (index, pages.lines().skip(1).map(url).collect())
}

#[test]
fn the_archive_of_a_cluster_is_packed_and_indexed_there_and_in_what_it_was_exported_to() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let path = |name: &str| dir.path().join(name).display().to_string();
    init_with(&url, &judge, &["--single-server"]);
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| judge.count() > 40);
    assert!(run(&["cluster", "stop", &url]).status.success());
    assert_eq!(workers.each_mut().map(Worker::code), [Some(11); 2]);
    // As a worker leaves its files that is killed.
    let warc = ["one", "two"].map(|name| dir.path().join(name).join("warc"));
    let files = warc.iter().flat_map(|dir| std::fs::read_dir(dir).unwrap());
    let files: Vec<PathBuf> = files
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|of| of == "gz"))
        .collect();
    assert!(files.len() > 2, "{files:?}");
    for file in &files {
        std::fs::File::options().append(true).open(file).unwrap().write_all(&[0x1f, 0x8b, 8, 0, 0]).unwrap();
    }
    let table = run(&["export", "--cluster", &url, "--table", "pages", "--format", "jsonl"]);
    let pages: BTreeSet<String> = text(&table)
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(pages.len() > 20, "{}", pages.len());

    let [one, two] = warc.each_ref().map(|dir| dir.display().to_string());
    let both = ["--warc", &one, "--warc", &two];
    let of_cluster = ["export", "--cluster", &url];
    let (wacz, cdxj) = (path("cluster.wacz"), path("cluster.cdxj"));
    for (format, file) in [("wacz", &wacz), ("cdxj", &cdxj)] {
        let made = run(&[&of_cluster[..], &both, &["--format", format, "-o", file]].concat());
        assert!(made.status.success(), "{}", text(&made));
        let refused =
            run(&[&of_cluster[..], &both[..2], &["--format", format, "-o", &path("half")]].concat());
        assert!(refused.status.code() == Some(2) && text(&refused).contains("--warc"), "{}", text(&refused));
        let refused = run(&[&of_cluster[..], &["--format", format, "-o", &path("none")]].concat());
        assert!(refused.status.code() == Some(2) && text(&refused).contains("--warc"), "{}", text(&refused));
    }
    let refused = run(&[&of_cluster[..], &both, &["--table", "pages", "--format", "csv"]].concat());
    assert!(refused.status.code() == Some(2) && text(&refused).contains("--warc"), "{}", text(&refused));
    assert!(!dir.path().join("half").exists() && !dir.path().join("none").exists());
    let (index, listed) = open(Path::new(&wacz));
    assert_eq!(listed, pages);
    assert_eq!(std::fs::read_to_string(&cdxj).unwrap(), index);

    let back = path("back");
    let moved = run(&[&["cluster", "export", &url, "--out", &back][..], &both].concat());
    assert!(moved.status.success(), "{}", text(&moved));
    let (wacz, cdxj) = (path("back.wacz"), path("back.cdxj"));
    for (format, file) in [("wacz", &wacz), ("cdxj", &cdxj)] {
        let made = run(&["export", &back, "--format", format, "-o", file]);
        assert!(made.status.success(), "{}", text(&made));
    }
    assert_eq!(open(Path::new(&wacz)), (index.clone(), listed));
    assert_eq!(std::fs::read_to_string(&cdxj).unwrap(), index);

    // And when it has crawled something more, in files of its own.
    let resumed = run(&["resume", &back, "--max-pages", &(pages.len() + 20).to_string()]);
    assert!(resumed.status.code().is_some_and(|code| [0, 10].contains(&code)), "{}", text(&resumed));
    let made = run(&["export", &back, "--format", "wacz", "-o", &wacz]);
    assert!(made.status.success(), "{}", text(&made));
    let (later, listed) = open(Path::new(&wacz));
    let (before, after): (BTreeSet<_>, BTreeSet<_>) = (index.lines().collect(), later.lines().collect());
    assert!(after.is_superset(&before) && after.len() > before.len());
    assert!(listed.is_superset(&pages) && listed.len() > pages.len());
}
