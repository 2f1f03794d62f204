//! A disk that is full, at different moments, and has space again; a disk that can't be written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use whole_program::output_dir::archived_responses;
use whole_program::site::Sites;

use crate::scene::Scene;
use crate::support::{Mounted, fault_row, pages, refetched, resume, skipped, tree};
use whole_program::program::Crawl;

const PAGES: usize = 150;

fn scene() -> Scene {
    Scene::new(Sites::new().tree("a.test", PAGES, Duration::ZERO).tree("b.test", PAGES, Duration::ZERO))
}

fn all() -> Vec<String> {
    [tree("a.test", PAGES), tree("b.test", PAGES)].concat()
}

/// No page lost, none twice, in tables and archive; nothing asked for again but what was in flight.
fn whole(scene: &Scene, out: &std::path::Path, stops: usize) {
    assert_eq!(pages(out), all());
    let mut archived = archived_responses(&out.join("warc"));
    archived.sort();
    assert_eq!(archived, all(), "each page is in the archive once");
    // A host's last answer may not have become durable.
    assert!(refetched(scene) <= 2 * stops, "{} pages were asked for again", refetched(scene));
    scene.assert_polite();
}

#[test]
fn a_file_size_limit_stops_the_crawl_which_then_resumes() {
    // In blocks of 512 bytes; sled's file begins with 128 KiB, so the small ones stop the start itself.
    for blocks in [8, 200, 400, 700, 1_400] {
        let scene = scene();
        let limit = format!("ulimit -f {blocks}; trap '' XFSZ");
        let output = scene.crawl().under(&limit).run();
        let message = fault_row(&format!("no file over {blocks} blocks"), &output, 5);
        assert!(message.contains("File too large"), "{output}");
        if scene.out().join("db").exists() {
            let again = scene.resume().under(&limit).run();
            assert!(
                fault_row("the same, resumed too early", &again, 5).contains("File too large"),
                "{again}"
            );
            scene.resume().run().expect(0);
        } else {
            assert!(!scene.out().exists(), "a start that failed leaves nothing behind");
            scene.crawl().run().expect(0);
        }
        whole(&scene, &scene.out(), 2);
    }
}

#[test]
fn a_full_disk_stops_the_crawl_which_resumes_with_space() {
    for size in ["100k", "400k", "700k"] {
        let scene = scene();
        let disk = scene.path("disk");
        let Some(mounted) = Mounted::tmpfs(&disk, size) else {
            return skipped(
                "a full disk: no file system can be mounted here (files that may not grow are tried)",
            );
        };
        let out = disk.join("out");
        let start = || {
            Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0", "--seed"])
                .args([scene.seeds().as_path(), std::path::Path::new("--out"), &out])
                .args(scene.server.resolve())
        };
        let output = start().run();
        let message = fault_row(&format!("disk of {size} full"), &output, 5);
        assert!(message.contains("No space left"), "{output}");
        if out.join("db").exists() {
            assert!(message.contains("crawl resume"), "{output}");
            let again = resume(&out).run();
            assert!(fault_row("still full", &again, 5).contains("No space left"), "{again}");
            mounted.resize("50m");
            resume(&out).run().expect(0);
        } else {
            assert!(!out.exists(), "a start that failed leaves nothing behind");
            mounted.resize("50m");
            start().run().expect(0);
        }
        whole(&scene, &out, 2);
    }
}

#[test]
fn a_directory_that_cant_be_written_is_named_and_nothing_is_asked_for() {
    let scene = scene();
    scene.crawl().args(["--max-pages", "20"]).run().expect(10);
    let requests = scene.server.count();
    let mounted = Mounted::read_only(&scene.out());
    let writable = fs::metadata(scene.out()).unwrap().permissions();
    if mounted.is_none() {
        fs::set_permissions(scene.out(), fs::Permissions::from_mode(0o555)).unwrap();
        fs::set_permissions(scene.out().join(".lock"), fs::Permissions::from_mode(0o444)).unwrap();
        if fs::write(scene.out().join("probe"), "").is_ok() {
            return skipped("a read-only directory: we may write everywhere and may not mount");
        }
    }
    let output = Crawl::new(["resume".as_ref(), scene.out().as_os_str()]).run();
    let message = fault_row("resume on a read-only disk", &output, 5);
    assert!(message.contains(scene.out().to_str().unwrap()), "{output}");
    // What only reads has a copy of the database, and says so.
    let output = Crawl::new(["show".as_ref(), scene.out().as_os_str()]).run();
    assert!(output.expect(0).stderr.contains("is copied to"), "{output}");
    let words = ["--agent", "SuperRobot/1.0", "--seed"];
    let output = Crawl::new(words).args([scene.seeds(), "--out".into(), scene.out().join("new")]).run();
    fault_row("start on a read-only disk", &output, 5);
    assert_eq!(scene.server.count(), requests, "nothing is asked for that can't be kept");
    drop(mounted);
    fs::set_permissions(scene.out(), writable).unwrap();
    fs::set_permissions(scene.out().join(".lock"), fs::Permissions::from_mode(0o644)).unwrap();
    scene.resume().args(["--max-pages", "none"]).run().expect(0);
    whole(&scene, &scene.out(), 0);
}
