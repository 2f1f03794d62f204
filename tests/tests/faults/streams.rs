//! Standard output that nobody reads, and output to a full disk.

use std::time::Duration;

use whole_program::program::Crawl;
use whole_program::site::Sites;

use crate::scene::Scene;
use crate::support::{Mounted, fault_row, skipped};

#[test]
fn a_reader_that_went_away_is_no_error() {
    let scene = Scene::new(Sites::new().tree("a.test", 60, Duration::ZERO));
    // The crawl itself doesn't hang on its reader: it has better to do than talk.
    let output = scene.crawl().args(["--json"]).unread().run();
    fault_row("crawl with nobody at its standard output", &output, 0);
    assert_eq!(scene.table("pages").len(), 60);
    for words in [&["export", "--table", "links", "--format", "jsonl"][..], &["show"], &["config"]] {
        let output = match words {
            ["config"] => Crawl::new(["config", "show"]).unread().run(),
            [command, rest @ ..] => {
                Crawl::new([command.as_ref(), scene.out().as_os_str()]).args(rest).unread().run()
            }
            [] => unreachable!("each has a word"),
        };
        fault_row(&format!("{} with nobody at its standard output", words[0]), &output, 0);
    }
}

#[test]
fn an_export_to_a_full_disk_is_an_error_without_a_partial_file() {
    let scene = Scene::new(Sites::new().tree("a.test", 60, Duration::ZERO));
    scene.crawl().run().expect(0);
    let limits = ["ulimit -f 4; trap '' XFSZ", ""];
    let file = scene.path("pages.csv");
    let export = || {
        let words = ["--table", "pages", "--format", "csv", "-o"];
        Crawl::new(["export".as_ref(), scene.out().as_os_str()]).args(words)
    };
    let output = export().args([&file]).under(limits[0]).run();
    let message = fault_row("export into a file that may not grow", &output, 5);
    assert!(message.contains("File too large"), "{output}");
    assert!(!file.exists() && !scene.path("pages.csv.part").exists(), "half a table remains");
    export().args([&file]).run().expect(0);
    let disk = scene.path("disk");
    match Mounted::tmpfs(&disk, "8k") {
        None => skipped("an export to a full disk: no file system can be mounted here"),
        Some(_mounted) => {
            let output = export().args([disk.join("pages.csv")]).run();
            assert!(fault_row("export to a full disk", &output, 5).contains("No space left"), "{output}");
            assert_eq!(std::fs::read_dir(&disk).unwrap().count(), 0);
        }
    }
    // Standard output that is a full device is no reader that went away.
    if std::path::Path::new("/dev/full").exists() {
        let words = ["--table", "pages", "--format", "csv"];
        let output = Crawl::new(["export".as_ref(), scene.out().as_os_str()])
            .args(words)
            .under("exec >/dev/full")
            .run();
        assert!(fault_row("export to /dev/full", &output, 5).contains("No space left"), "{output}");
    }
}
