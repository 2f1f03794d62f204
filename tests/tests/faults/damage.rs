//! A database that was damaged in many ways: refused with its own message and exit code, or whole. Never started over in silence,
//! never a panic.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use whole_program::program::Crawl;
use whole_program::random::Random;
use whole_program::site::{Answer, Sites};

use crate::ground::{copy, pages, resume, told, tree};
use crate::scene::Scene;

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
    let mut octets = fs::read(path).unwrap();
    change(&mut octets);
    fs::write(path, octets).unwrap();
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
    found.iter().for_each(|path| change(path));
}

/// What can't be read by anybody.
const FATAL: &[(&str, Damage)] = &[
    ("db/db emptied", |out| cut(&database(out), 0)),
    ("db/db cut to half", |out| cut(&database(out), length(&database(out)) / 2)),
    ("db/db without its last 20 KB", |out| cut(&database(out), length(&database(out)) - 20_000)),
    ("db/db deleted", |out| fs::remove_file(database(out)).unwrap()),
    ("db/db all zero", |out| overwrite(&database(out), |octets| octets.fill(0))),
    ("db/db overwritten with garbage", |out| {
        overwrite(&database(out), |octets| {
            let mut random = Random::new(3);
            octets.iter_mut().for_each(|octet| *octet = random.bits() as u8);
        });
    }),
    ("64 octets of db/db flipped", |out| {
        overwrite(&database(out), |octets| {
            let step = octets.len() / 64;
            (0..64).for_each(|n| octets[n * step + 100] ^= 0xff);
        });
    }),
    ("conf deleted", |out| fs::remove_file(out.join("db/conf")).unwrap()),
    ("conf emptied", |out| cut(&out.join("db/conf"), 0)),
    ("conf garbled", |out| fs::write(out.join("db/conf"), b"\x00garbage\xff\xff").unwrap()),
    ("snapshot emptied", |out| each(out, "db", "snap.", |path| cut(path, 0))),
    ("snapshot garbled", |out| {
        each(out, "db", "snap.", |path| fs::write(path, b"no snapshot at all").unwrap())
    }),
    ("a blob missing", |out| each(out, "db/blobs", "", |path| fs::remove_file(path).unwrap())),
    ("db/ emptied", |out| {
        fs::remove_dir_all(out.join("db")).unwrap();
        fs::create_dir(out.join("db")).unwrap();
    }),
    ("sealed garbled", |out| fs::write(out.join("db/sealed"), "commits 5\n").unwrap()),
];

#[test]
fn a_damaged_database_is_refused_with_a_message_and_never_started_over() {
    let scene = half();
    let requests = scene.server.count();
    for (fault, damage) in FATAL {
        let out = scene.path("copy");
        copy(&scene.out(), &out);
        damage(&out);
        for command in ["resume", "show", "export"] {
            let mut crawl = Crawl::new([command.as_ref(), out.as_os_str()]);
            if command == "export" {
                crawl = crawl.args(["--table", "links", "--format", "jsonl"]);
            }
            let output = crawl.run();
            // Tables of a copy that lacks its end can be read, with a warning.
            if command != "resume" && output.code == Some(0) {
                assert!(output.stderr.contains("crawl repair"), "{fault}: {output}");
                continue;
            }
            let message = told(&format!("{fault}: {command}"), &output, 5);
            assert!(message.contains("damaged") && message.contains("crawl repair"), "{fault}: {output}");
        }
        assert_eq!(scene.server.count(), requests, "{fault}: nothing was asked for");
        fs::remove_dir_all(&out).unwrap();
    }
    told("db/ deleted", &missing(&scene), 5);
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
fn one_flipped_octet_anywhere_is_noticed_or_harmless() {
    let scene = half();
    let known = pages(&scene.out());
    let mut random = Random::new(11);
    let (mut refused, mut harmless) = (0, 0);
    for _ in 0..24 {
        let out = scene.path("copy");
        copy(&scene.out(), &out);
        let at = random.between(0, length(&database(&out)) - 1) as usize;
        overwrite(&database(&out), |octets| octets[at] ^= 1 << random.between(0, 7));
        let output = resume(&out).args(["--max-pages", "1"]).run();
        match output.code {
            Some(5) => {
                assert!(output.stderr.contains("crawl repair"), "octet {at}: {output}");
                assert!(!output.stderr.contains("panicked"), "octet {at}: {output}");
                refused += 1;
            }
            // A part that is read later, or not needed: the tables tell.
            _ => {
                output.expect(10);
                let words = ["--table", "pages", "--format", "jsonl"];
                let export = Crawl::new(["export".as_ref(), out.as_os_str()]).args(words).run();
                if export.code == Some(0) {
                    assert_eq!(export.json().len(), known.len(), "octet {at}: pages are lost in silence");
                    harmless += 1;
                } else {
                    assert!(
                        told("flipped octet: export", &export, 5).contains("crawl repair"),
                        "octet {at}: {export}"
                    );
                    refused += 1;
                }
            }
        }
        fs::remove_dir_all(&out).unwrap();
    }
    eprintln!("| one octet flipped, 24 places | 5 or 0 | {refused} refused, {harmless} harmless |");
    assert!(refused > 0);
    // The original goes on.
    scene.resume().args(["--max-pages", "none"]).run().expect(0);
    let all = [tree("a.test", PAGES), tree("b.test", PAGES), vec!["http://c.test/".to_owned()]].concat();
    let mut found = pages(&scene.out());
    found.retain(|url| url.contains(".test/"));
    assert_eq!(found, all);
}
