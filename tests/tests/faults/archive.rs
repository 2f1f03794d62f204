//! The archive cut, gone, or with something behind it; the settings gone or unreadable.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use crawler::store::{SledStore, Store as _, Tree, Write};
use whole_program::output_dir::{archived_responses, files};
use whole_program::program::Crawl;
use whole_program::random::Random;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};
use crate::support::{bytes, copy, fault_row, pages, refetched, resume, tree};

const PAGES: usize = 60;

/// A crawl that stopped half way.
fn half() -> Scene {
    let scene = Scene::new(Sites::new().tree("a.test", PAGES, Duration::ZERO));
    scene.crawl().args(["--max-pages", "30"]).run().expect(10);
    scene
}

fn last_warc(out: &std::path::Path) -> PathBuf {
    files(&out.join("warc")).pop().expect("an archive file")
}

#[test]
fn an_archive_that_lacks_committed_records_is_reported_and_not_changed() {
    let scene = half();
    for (fault, damage) in [
        ("WARC cut to half", (|path: &PathBuf| cut(path, 2)) as fn(&PathBuf)),
        ("WARC emptied", |path| cut(path, 0)),
        ("WARC deleted", |path| fs::remove_file(path).unwrap()),
    ] {
        let out = scene.path("copy");
        copy(&scene.out(), &out);
        damage(&last_warc(&out));
        let before = bytes(&out.join("warc"));
        let output = resume(&out).args(["--max-pages", "none"]).run();
        let message = fault_row(fault, &output, 5);
        assert!(message.contains("were committed") && message.contains("crawl repair"), "{output}");
        assert_eq!(bytes(&out.join("warc")), before, "nothing is touched");
        fs::remove_dir_all(&out).unwrap();
    }
}

/// An archive of several files, the first of which was complete long before the crawl stopped.
fn of_several_files() -> Scene {
    let mut random = Random::new(5);
    let mut sites = Sites::new().tree("a.test", PAGES, Duration::ZERO);
    // Text that isn't shortened much, since a file has 1 MiB at least.
    for page in 0..5 {
        let words: Vec<String> = (0..40_000).map(|_| format!("{:016x} ", random.bits())).collect();
        let text = words.concat();
        sites = sites.page("b.test", &format!("/{page}"), Answer::html(text));
    }
    let scene = Scene::new(sites);
    let seeds: Vec<String> = (0..5).map(|page| format!("http://b.test/{page}\n")).collect();
    let seeds = seeds.concat();
    fs::write(scene.seeds(), seeds + "http://a.test/\n").unwrap();
    let config = scene.path("small.toml");
    fs::write(&config, "[warc]\nmax_file_size = \"1MiB\"\n").unwrap();
    scene.crawl().args(["--max-pages", "40", "--config"]).args([&config]).run().expect(10);
    scene
}

#[test]
fn an_earlier_archive_file_that_is_damaged_or_missing_is_found_by_the_audit() {
    let scene = of_several_files();
    let all = pages(&scene.out());
    for (fault, damage) in [
        (
            "an earlier WARC file damaged",
            (|path: &PathBuf| {
                let mut bytes = fs::read(path).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle..middle + 200].fill(0);
                fs::write(path, bytes).unwrap();
            }) as fn(&PathBuf),
        ),
        ("an earlier WARC file missing", |path| fs::remove_file(path).unwrap()),
    ] {
        let out = scene.path("copy");
        copy(&scene.out(), &out);
        // Beside each file lies its index.
        let mut archive = files(&out.join("warc"));
        archive.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
        assert!(archive.len() >= 2, "{archive:?}");
        damage(&archive[0]);
        let audit = Crawl::new(["audit".as_ref(), out.as_os_str()]).run();
        fault_row(fault, &audit, 14);
        assert!(audit.stdout.contains("http://b.test/"), "the page is named: {audit}");
        // Nothing is written there any more: the crawl continues.
        resume(&out).args(["--max-pages", "none"]).run().expect(0);
        let complete = pages(&out);
        assert!(complete.len() == PAGES + 5 && all.iter().all(|url| complete.contains(url)), "{complete:?}");
        fs::remove_dir_all(&out).unwrap();
    }
}

fn cut(path: &PathBuf, part: u64) {
    let length = fs::metadata(path).unwrap().len();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(length.checked_div(part).unwrap_or(0)).unwrap();
}

#[test]
fn garbage_after_the_archive_is_truncated() {
    let scene = half();
    let path = last_warc(&scene.out());
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    file.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xde, 0xad]).unwrap();
    file.write_all(&vec![b'x'; 10_000]).unwrap();
    drop(file);
    let output = scene.resume().args(["--max-pages", "none"]).run();
    fault_row("garbage behind the WARC", &output, 0);
    assert_eq!(pages(&scene.out()), tree("a.test", PAGES));
    assert_eq!(sorted(archived_responses(&scene.out().join("warc"))), tree("a.test", PAGES));
}

#[test]
fn settings_that_are_gone_or_unreadable_are_named() {
    let scene = half();
    let requests = scene.server.count();
    let file = scene.out().join("crawl.toml");
    let right = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let message_of = |fault, code| fault_row(fault, &scene.resume().run(), code).to_owned();
    let message = message_of("crawl.toml missing", 5);
    assert!(message.contains("crawl.toml") && message.contains("crawl repair"), "{message}");
    fault_row("show without crawl.toml", &scene.look("show", &[]), 5);
    let output = scene.crawl().run();
    assert!(fault_row("a new crawl over it", &output, 2).contains("crawl.toml"), "{output}");
    for (fault, bytes) in [
        ("crawl.toml garbled", b"\x00\xff\x13garbage = [".to_vec()),
        ("crawl.toml cut", right[..right.len() / 2].to_vec()),
        ("crawl.toml empty", Vec::new()),
    ] {
        fs::write(&file, &bytes).unwrap();
        let output = scene.resume().run();
        assert!(fault_row(fault, &output, 3).contains("crawl.toml"), "{output}");
        let judged = fault_row(&format!("{fault}: audit"), &scene.look("audit", &[]), 3).to_owned();
        assert!(judged.contains("crawl.toml"), "no verdict by settings that are a part: {judged}");
    }
    assert_eq!(scene.server.count(), requests, "nothing is asked for under unknown settings");
    fs::write(&file, &right).unwrap();
    scene.resume().args(["--max-pages", "none"]).run().expect(0);
    assert_eq!(pages(&scene.out()), tree("a.test", PAGES));
}

/// Has the database of a crawl say that only the first half of its archive was synced when it was last written: as a power failure may leave it.
fn set_back_sync(out: &std::path::Path) -> u64 {
    let records = crawler::warc::Reader::open(&last_warc(out)).unwrap().map(Result::unwrap);
    let (mut begins, mut end) = (Vec::new(), 0);
    for record in records {
        end = record.offset + record.length;
        begins.extend(record.field("WARC-Concurrent-To").is_none().then_some(record.offset));
    }
    let synced = begins[begins.len() / 2];
    let store = SledStore::open(&out.join("db")).unwrap();
    let stored = store.get(Tree::Meta, b"warc_end").unwrap().expect("the archive's end");
    let mut stored: serde_json::Value = serde_json::from_slice(&stored).unwrap();
    assert_eq!(stored.get("synced"), None, "a run that ended has synced everything");
    assert_eq!(stored["offset"].as_u64(), Some(end));
    stored["synced"] = synced.into();
    store.commit(vec![Write::put(Tree::Meta, "warc_end", stored.to_string())]).unwrap();
    synced
}

#[test]
fn pages_whose_bodies_a_power_failure_took_are_fetched_again() {
    let scene = half();
    let synced = set_back_sync(&scene.out());
    let audit = |unsynced: usize| {
        let audit = scene.look("audit", &["--json"]).expect(0).json().remove(0);
        let checks = audit["checks"].as_array().unwrap();
        let archive = checks.iter().find(|check| check["name"] == "archive").expect("the archive's check");
        assert_eq!(archive["unchecked"]["unsynced"].as_u64().unwrap_or(0), unsynced as u64, "{archive}");
    };
    audit(0);
    let before = archived_responses(&scene.out().join("warc")).len();
    let file = fs::File::options().write(true).open(last_warc(&scene.out())).unwrap();
    file.set_len(synced).unwrap();
    let lost = before - archived_responses(&scene.out().join("warc")).len();
    assert!((5..25).contains(&lost), "{lost} of {before}");
    // What the file system gave it, and no data.
    file.set_len(synced + 100_000).unwrap();
    drop(file);
    audit(lost);
    let output = scene.resume().args(["--max-pages", "none"]).run();
    fault_row("the end of the WARC lost in a power failure", &output, 0);
    assert!(output.stderr.contains(&format!("the bodies of {lost} pages")), "{output}");
    assert_eq!(pages(&scene.out()), tree("a.test", PAGES));
    assert_eq!(sorted(archived_responses(&scene.out().join("warc"))), tree("a.test", PAGES));
    assert_eq!(refetched(&scene), lost, "each once");
    audit(0);
    let entries = scene.table("ledger").into_iter().filter(|entry| entry["decision"] == "body_lost");
    assert_eq!(entries.count(), lost);
}
