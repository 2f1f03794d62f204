//! A database that was damaged in many ways: refused with its own message and exit code, or whole. Never started over in silence,
//! never a panic.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use whole_program::output_dir::archived_responses;
use whole_program::program::Crawl;
use whole_program::random::Random;
use whole_program::request_log::Request;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;
use crate::support::{bytes, copy, fault_row, pages, resume, tree};

const PAGES: usize = 90;

/// A crawl that stopped half way; one page has so many links that its record is a blob.
pub(crate) fn half() -> Scene {
    let mut random = Random::new(7);
    let mut body = String::new();
    for _ in 0..6_000 {
        let _ = write!(body, "<a href=\"http://elsewhere.test/{:x}{:x}\">", random.bits(), random.bits());
    }
    let sites = Sites::new().tree("a.test", PAGES, Duration::ZERO).tree("b.test", PAGES, Duration::ZERO);
    let scene = Scene::new(sites.page("c.test", "/", Answer::html(body)));
    scene.crawl().args(["--max-pages", "100"]).run().expect(10);
    scene
}

type Damage = fn(&Path);

fn database(out: &Path) -> PathBuf {
    out.join("db").join("db")
}

fn overwrite(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path, length: u64) {
    fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

fn each(out: &Path, folder: &str, prefix: &str, change: impl Fn(&Path)) {
    let entries = fs::read_dir(out.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> =
        entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix)).collect();
    assert!(!found.is_empty(), "there is no {folder}/{prefix}* to be damaged");
    for path in &found {
        change(path);
    }
}

/// What can't be read by anybody.
const FATAL: &[(&str, Damage)] = &[
    ("db/db emptied", |out| cut(&database(out), 0)),
    ("db/db cut to half", |out| cut(&database(out), length(&database(out)) / 2)),
    ("db/db without its last 20 KB", |out| cut(&database(out), length(&database(out)) - 20_000)),
    ("db/db deleted", |out| fs::remove_file(database(out)).unwrap()),
    ("db/db all zero", |out| overwrite(&database(out), |bytes| bytes.fill(0))),
    ("db/db overwritten with garbage", |out| {
        overwrite(&database(out), |bytes| {
            let mut random = Random::new(3);
            for byte in bytes {
                *byte = random.bits() as u8;
            }
        });
    }),
    ("64 bytes of db/db flipped", |out| {
        overwrite(&database(out), |bytes| {
            let step = bytes.len() / 64;
            for n in 0..64 {
                bytes[n * step + 100] ^= 0xff;
            }
        });
    }),
    ("conf deleted", |out| fs::remove_file(out.join("db/conf")).unwrap()),
    ("conf emptied", |out| cut(&out.join("db/conf"), 0)),
    ("conf garbled", |out| fs::write(out.join("db/conf"), b"\x00garbage\xff\xff").unwrap()),
    ("snapshot emptied", |out| each(out, "db", "snap.", |path| cut(path, 0))),
    ("snapshot garbled", |out| {
        each(out, "db", "snap.", |path| fs::write(path, b"no snapshot at all").unwrap());
    }),
    ("a blob garbled", |out| {
        each(out, "db/blobs", "", |path| overwrite(path, |bytes| bytes.fill(0x55)));
    }),
    ("a blob cut to half", |out| each(out, "db/blobs", "", |path| cut(path, length(path) / 2))),
    ("a blob missing", |out| each(out, "db/blobs", "", |path| fs::remove_file(path).unwrap())),
    ("db/ emptied", |out| {
        fs::remove_dir_all(out.join("db")).unwrap();
        fs::create_dir(out.join("db")).unwrap();
    }),
    ("sealed garbled", |out| fs::write(out.join("db/sealed"), "commits 5\n").unwrap()),
    ("sealed cut to half", |out| cut(&out.join("db/sealed"), length(&out.join("db/sealed")) / 2)),
];

fn all() -> Vec<String> {
    [tree("a.test", PAGES), tree("b.test", PAGES), vec!["http://c.test/".to_owned()]].concat()
}

/// Repairs a damaged crawl and resumes it: everything is there in the end, and archived pages aren't requested again.
fn repaired(scene: &Scene, fault: &str, damaged: &Path, known: &[String]) {
    let out = scene.path("repaired");
    let before = bytes(damaged);
    let output =
        Crawl::new(["repair".as_ref(), damaged.as_os_str()]).args(["--out".as_ref(), out.as_os_str()]).run();
    fault_row(&format!("{fault}: repair"), &output, 0);
    assert!(output.stdout.contains("pages ") && output.stdout.contains("crawl resume"), "{output}");
    assert_eq!(bytes(damaged), before, "{fault}: what is repaired is only read");
    let asked = scene.server.count();
    resume(&out).args(["--max-pages", "none", "--delay", "0s"]).run().expect(0);
    assert_eq!(pages(&out), all(), "{fault}: after repair and resume");
    let later: Vec<String> = scene.server.log().iter().skip(asked).map(Request::url).collect();
    let again: Vec<&String> = later.iter().filter(|url| known.contains(url)).collect();
    assert!(again.is_empty(), "{fault}: asked for again: {again:?}");
    // What the repair couldn't save can't be judged; what came after it is.
    let audit = Crawl::new(["audit".as_ref(), out.as_os_str()]).run();
    assert_eq!(audit.code, Some(0), "{fault}: audit after the repair: {audit}");
    let mut archived = archived_responses(&out.join("warc"));
    archived.sort();
    assert_eq!(archived, all(), "{fault}: each page is in the archive once");
    fs::remove_dir_all(&out).unwrap();
}

#[test]
fn a_damaged_database_is_refused_never_started_over_and_repaired_without_loss() {
    let scene = half();
    let known = pages(&scene.out());
    for (fault, damage) in FATAL {
        let out = scene.path("copy");
        copy(&scene.out(), &out);
        damage(&out);
        let requests = scene.server.count();
        let mut harmless = 0;
        for command in ["resume", "export"] {
            // sled may change what it opens: each gets the damage as it was made.
            fs::remove_dir_all(&out).unwrap();
            copy(&scene.out(), &out);
            damage(&out);
            let mut crawl = Crawl::new([command.as_ref(), out.as_os_str()]);
            if command == "export" {
                crawl = crawl.args(["--table", "links", "--format", "jsonl"]);
            }
            let output = crawl.run();
            // That place may have been free space, or nothing that this command needs: then all pages are there.
            if matches!(output.code, Some(0 | 10)) && !output.stderr.contains("crawl repair") {
                assert_eq!(pages(&out), known, "{fault}: {command}: {output}");
                harmless += 1;
                continue;
            }
            // Tables of a copy that lacks its end can be read, with a warning.
            if command != "resume" && output.code == Some(0) {
                assert!(output.stderr.contains("crawl repair"), "{fault}: {output}");
                continue;
            }
            let message = fault_row(&format!("{fault}: {command}"), &output, 5);
            assert!(message.contains("damaged") && message.contains("crawl repair"), "{fault}: {output}");
        }
        assert_eq!(scene.server.count(), requests, "{fault}: nothing was asked for");
        assert!(
            harmless < 2 || fault.contains("last") || fault.contains("flipped"),
            "{fault}: nobody noticed"
        );
        repaired(&scene, fault, &out, &known);
        fs::remove_dir_all(&out).unwrap();
    }
    fault_row("db/ deleted", &missing(&scene), 5);
}

#[test]
fn a_database_that_lacks_its_snapshot_or_its_seal_is_whole() {
    let scene = half();
    let lacking: [(&str, Damage); 3] = [
        ("snapshot missing", |out| each(out, "db", "snap.", |path| fs::remove_file(path).unwrap())),
        ("sealed missing", |out| fs::remove_file(out.join("db/sealed")).unwrap()),
        ("sealed emptied", |out| cut(&out.join("db/sealed"), 0)),
    ];
    for (fault, damage) in lacking {
        let out = scene.path("copy");
        copy(&scene.out(), &out);
        damage(&out);
        let asked = scene.server.count();
        let output = resume(&out).args(["--max-pages", "none", "--delay", "0s"]).run();
        fault_row(fault, &output, 0);
        assert_eq!(pages(&out), all(), "{fault}");
        assert_eq!(
            scene.server.count() - asked,
            all().len() - 100,
            "{fault}: what was done isn't asked for again"
        );
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_crawl_without_an_archive_and_without_a_readable_database_begins_at_its_seeds_again() {
    let scene = Scene::new(Sites::new().tree("a.test", 20, Duration::ZERO));
    scene.crawl().args(["--no-warc", "--max-pages", "10"]).run().expect(10);
    cut(&database(&scene.out()), 0);
    let out = scene.path("repaired");
    let repair = |to: &Path| {
        Crawl::new(["repair".as_ref(), scene.out().as_os_str()])
            .args(["--out".as_ref(), to.as_os_str()])
            .run()
    };
    let output = repair(&out);
    fault_row("database emptied, no archive: repair", &output, 0);
    assert!(output.stdout.contains("is unknown"), "the loss is reported: {output}");
    assert!(
        fault_row("repair into a directory that is there", &repair(&out), 2).contains("exists"),
        "{output}"
    );
    resume(&out).args(["--max-pages", "none"]).run().expect(0);
    assert_eq!(pages(&out), tree("a.test", 20));
    // Nothing remains of a repair that fails.
    fs::remove_file(scene.out().join("crawl.toml")).unwrap();
    let nowhere = scene.path("nowhere");
    let message = fault_row("neither crawl.toml nor database: repair", &repair(&nowhere), 5).to_owned();
    assert!(message.contains("crawl.toml") && !nowhere.exists(), "{message}");
}

#[test]
fn settings_that_are_lost_come_back_from_the_database() {
    let scene = half();
    fs::remove_file(scene.out().join("crawl.toml")).unwrap();
    let out = scene.path("repaired");
    let output = Crawl::new(["repair".as_ref(), scene.out().as_os_str()])
        .args(["--out".as_ref(), out.as_os_str()])
        .run();
    fault_row("crawl.toml missing: repair", &output, 0);
    assert!(output.stdout.contains("was restored from the database"), "{output}");
    let log = scene.server.count();
    resume(&out).args(["--max-pages", "none", "--delay", "0s"]).run().expect(0);
    assert_eq!(pages(&out), all());
    assert_eq!(scene.server.count() - log, all().len() - 100, "what was done isn't asked for again");
}

#[test]
fn a_damaged_archive_is_repaired_and_its_losses_are_reported() {
    let scene = half();
    let path = whole_program::output_dir::files(&scene.out().join("warc")).pop().unwrap();
    // A hole in the middle, and a cut end.
    overwrite(&path, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 200].fill(0);
        bytes.truncate(bytes.len() - 100);
    });
    fault_row("WARC with a hole and cut: resume", &resume(&scene.out()).run(), 5);
    let out = scene.path("repaired");
    let output =
        Crawl::new(["repair".as_ref(), scene.out().as_os_str()]).args(["--json", "--out"]).args([&out]).run();
    fault_row("WARC with a hole and cut: repair", &output, 0);
    let row = &output.json()[0];
    assert!(row["bodies_lost"].as_u64() >= Some(1) && row["archive_bytes_lost"].as_u64() > Some(0), "{row}");
    assert_eq!(row["pages"], 100, "the page records are all there");
    resume(&out).args(["--max-pages", "none", "--delay", "0s"]).run().expect(0);
    assert_eq!(pages(&out), all());
    // Every place in the table holds a whole record.
    let words = ["--table", "pages", "--format", "jsonl"];
    let rows = Crawl::new(["export".as_ref(), out.as_os_str()]).args(words).run().expect(0).json();
    for row in rows.iter().filter(|row| !row["warc_file"].is_null()) {
        let bytes = fs::read(out.join("warc").join(row["warc_file"].as_str().unwrap())).unwrap();
        let at = row["warc_offset"].as_u64().unwrap() as usize;
        let member = &bytes[at..at + row["warc_length"].as_u64().unwrap() as usize];
        let mut plain = String::new();
        flate2::read::GzDecoder::new(member).read_to_string(&mut plain).unwrap();
        assert!(plain.contains(&format!("WARC-Target-URI: {}\r\n", row["url"].as_str().unwrap())), "{row}");
    }
    let lost = rows.iter().filter(|row| row["warc_file"].is_null() && row["archived"] == true).count();
    assert_eq!(lost, 0, "none claims a body that isn't there");
}

fn missing(scene: &Scene) -> whole_program::program::Output {
    let out = scene.path("copy");
    copy(&scene.out(), &out);
    fs::remove_dir_all(out.join("db")).unwrap();
    let output = resume(&out).run();
    assert!(output.stderr.contains("no crawl database"), "{output}");
    fs::remove_dir_all(&out).unwrap();
    output
}

#[test]
fn one_flipped_byte_anywhere_is_noticed_or_harmless() {
    let scene = half();
    let known = pages(&scene.out());
    let mut random = Random::new(11);
    let (mut refused, mut harmless) = (0, 0);
    for _ in 0..24 {
        let out = scene.path("copy");
        copy(&scene.out(), &out);
        let at = random.between(0, length(&database(&out)) - 1) as usize;
        overwrite(&database(&out), |bytes| bytes[at] ^= 1 << random.between(0, 7));
        let output = resume(&out).args(["--max-pages", "1"]).run();
        if output.code == Some(5) {
            assert!(output.stderr.contains("crawl repair"), "byte {at}: {output}");
            assert!(!output.stderr.contains("panicked"), "byte {at}: {output}");
            refused += 1;
        } else {
            // A part that is read later, or not needed: the tables tell.
            output.expect(10);
            let words = ["--table", "pages", "--format", "jsonl"];
            let export = Crawl::new(["export".as_ref(), out.as_os_str()]).args(words).run();
            if export.code == Some(0) {
                assert_eq!(export.json().len(), known.len(), "byte {at}: pages are lost in silence");
                harmless += 1;
            } else {
                let message = fault_row("flipped byte: export", &export, 5);
                assert!(message.contains("crawl repair"), "byte {at}: {export}");
                refused += 1;
            }
        }
        fs::remove_dir_all(&out).unwrap();
    }
    eprintln!("| one byte flipped, 24 places | 5 or 0 | {refused} refused, {harmless} harmless |");
    assert!(refused > 0);
    // The original goes on.
    scene.resume().args(["--max-pages", "none"]).run().expect(0);
    assert_eq!(pages(&scene.out()), all());
}
