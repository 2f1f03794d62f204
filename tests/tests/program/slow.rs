//! What takes long holds up itself alone: PDF files that are slow to read, output that nobody reads.

use std::time::Duration;

use crawler::search::PDF_ARGUMENT;
use whole_program::memory::Watch;
use whole_program::program::{Crawl, PATIENCE};
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;
use crate::search::{inflating_pdf, pdf, pdf_with, slow_pdf, urls, writing_pdf};
use crate::stop::{pause, wait_for};

/// A site with PDF files that take all the time that they may take, and one with pages. The files: how many are slow, and one that isn't.
fn scene(slow: usize, pages: usize) -> Scene {
    let answer = |body: Vec<u8>| Answer::content("application/pdf", body);
    let links: Vec<String> = (0..slow).map(|n| format!("<a href=/{n}.pdf>{n}</a>")).collect();
    let links = format!("{}<a href=/good.pdf>good</a>", links.concat());
    let mut sites = Sites::new()
        .page("evil.test", "/", Answer::html(links))
        .page("evil.test", "/good.pdf", answer(pdf("Words of mgood in a file")))
        .tree("good.test", pages, Duration::ZERO);
    for n in 0..slow {
        sites = sites.page("evil.test", &format!("/{n}.pdf"), answer(slow_pdf()));
    }
    Scene::new(sites)
}

/// What is said of each slow file.
fn said(scene: &Scene, slow: usize) -> Vec<String> {
    let explain = |n| {
        let told = scene.look("explain", &[&format!("http://evil.test/{n}.pdf"), "--json"]).expect(0).json();
        told[0]["answer"].as_str().expect("an answer").to_owned()
    };
    (0..slow).map(explain).collect()
}

const WAITS: &str = "its text isn't read yet for the full-text index";
const SLOW: &str = "its text isn't in the full-text index: reading it takes too long";

fn count(said: &[String], words: &str) -> usize {
    said.iter().filter(|text| text.contains(words)).count()
}

#[test]
fn slow_pdf_files_hold_up_no_other_host_and_a_stop_leaves_them_to_the_next_run() {
    const SLOW_FILES: usize = 4;
    const PAGES: usize = 400;
    let scene = scene(SLOW_FILES, PAGES);
    let running = scene.crawl().start();
    // Two front pages, as many robots.txt, the files, and the pages: reading the files takes 40 s.
    wait_for(&scene, SLOW_FILES + 1 + PAGES + 3);
    let are_committed = || {
        let pages = scene.table("pages");
        pages.iter().filter(|page| page["host"] == "good.test").count() == PAGES
    };
    let is_done = (0..300).any(|_| {
        are_committed() || {
            pause(Duration::from_millis(100));
            false
        }
    });
    assert!(is_done, "the pages of the other host are committed");
    let meanwhile = said(&scene, SLOW_FILES);
    assert!(count(&meanwhile, WAITS) >= 1, "while files wait to be read: {meanwhile:?}");
    running.signal("TERM");
    let output = running.wait(PATIENCE);
    // It had asked for everything by then.
    assert!(matches!(output.code, Some(0 | 11)), "{output}");
    assert!(output.stderr.contains("PDF files whose text isn't in the full-text index yet"), "{output}");
    assert!(are_committed());
    let before = said(&scene, SLOW_FILES);
    assert!(count(&before, WAITS) >= 1, "{before:?}");
    assert_eq!(count(&before, WAITS) + count(&before, SLOW), SLOW_FILES, "{before:?}");
    assert!(urls(&scene, &["url:\"http://evil.test/0.pdf\""]).len() == 1, "it is found by its URL");

    let requests = scene.server.count();
    scene.resume().run().expect(0);
    assert_eq!(scene.server.count(), requests);
    let after = said(&scene, SLOW_FILES);
    assert_eq!(count(&after, SLOW), SLOW_FILES, "{after:?}");
    let good = scene.look("explain", &["http://evil.test/good.pdf"]);
    assert_eq!(urls(&scene, &["mgood"]), ["evil.test/good.pdf"], "{good}");
    let hit = |page: &&serde_json::Value| page["limits_hit"] == serde_json::json!(["pdf time"]);
    let pages = scene.look("show", &["pages", "--json", "--columns", "url,limits_hit"]).expect(0).json();
    assert_eq!(pages.iter().filter(hit).count(), SLOW_FILES, "{pages:?}");
    let shown = scene.look("show", &[]).expect(0).stdout.clone();
    assert!(shown.contains("PDF time"), "{shown}");
    scene.look("audit", &[]).expect(0);

    // They aren't tried again, unless somebody asks for it.
    scene.resume().run().expect(0);
    let built = scene.look("index", &["--json"]).expect(0).json();
    assert_eq!((&built[0]["slow"], &built[0]["unread"]), (&SLOW_FILES.into(), &SLOW_FILES.into()));
    assert_eq!(count(&said(&scene, SLOW_FILES), SLOW), SLOW_FILES);
}

#[test]
fn a_limit_of_time_leaves_slow_pdf_files_to_the_next_run() {
    let scene = scene(3, 1_000);
    let output = scene.crawl().args(["--max-time", "3s"]).run();
    output.expect(10);
    let said = said(&scene, 3);
    assert!(count(&said, WAITS) >= 2, "three of them take 30 s: {said:?}");
}

#[test]
fn what_was_withdrawn_while_a_file_waited_is_not_indexed() {
    let answer = |text: &str| Answer::content("application/pdf", pdf(text));
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/slow.pdf>1</a><a href=/x.pdf>2</a>"))
        .page("a.test", "/slow.pdf", Answer::content("application/pdf", slow_pdf()))
        .page("a.test", "/x.pdf", answer("Words of mwithdrawn"))
        .page("a.test", "/x.pdf", answer("Words of mwithdrawn").header("X-Robots-Tag", "noindex"));
    let scene = Scene::new(sites);
    let running = scene.crawl().start();
    wait_for(&scene, 4);
    running.signal("TERM");
    running.wait(PATIENCE);
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    assert!(urls(&scene, &["mwithdrawn"]).is_empty());
    assert!(urls(&scene, &["url:\"http://a.test/x.pdf\""]).is_empty());
}

#[test]
fn output_that_nobody_reads_holds_up_no_crawl() {
    const PAGES: usize = 400;
    let scene = Scene::new(Sites::new().tree("a.test", PAGES, Duration::ZERO));
    let pipe = scene.path("pipe");
    // Its own reading end is all that this pipe has: it takes 64 KiB, and then nothing more.
    let blocked = format!("mkfifo {0}; exec 2<>{0}", pipe.display());
    let output = scene.crawl().args(["-vv"]).under(&blocked).run();
    output.expect(0);
    assert_eq!(scene.table("pages").len(), PAGES);
}

#[test]
fn a_second_signal_ends_a_process_that_waits_for_a_reader() {
    let scene = Scene::new(Sites::new().tree("a.test", 5, Duration::ZERO));
    let pipe = scene.path("pipe");
    // Nothing can be written to it.
    let blocked = format!("mkfifo {0}; exec 1<>{0}; head -c 65536 /dev/zero >&1", pipe.display());
    let running = scene.crawl().under(&blocked).start();
    wait_for(&scene, 6);

    for _ in 0..3_000 {
        let log = std::fs::read_to_string(scene.out().join("log/crawl.jsonl")).unwrap_or_default();
        if log.contains("run ended") {
            break;
        }
        pause(Duration::from_millis(10));
    }
    running.signal("TERM");
    pause(Duration::from_millis(300));
    assert!(running.is_running(), "it waits to print how the crawl ended");
    running.signal("TERM");
    running.wait(Duration::from_secs(10)).expect(12);
    scene.resume().run().expect(0);
}

#[test]
fn the_process_that_reads_a_pdf_file_takes_less_than_96_mb() {
    let font = "BT /F1 12 Tf 10 10 Td (AAAAAAAAAAAAAAAA) Tj ET ";
    let forms = |depth: usize, calls: usize, leaf: String| -> Vec<String> {
        (1..depth).map(|_| "/Form Do ".repeat(calls)).chain([leaf]).collect()
    };
    let page = b"BT /F1 12 Tf 72 720 Td (Words) Tj ET /Form Do".as_slice();
    let nested = format!("%PDF-1.4\n1 0 obj\n{}", "[".repeat(4 << 20));
    let object = |n| format!("{n} 0 obj\n<< /A {n} /B [{n}] >>\nendobj\n");
    let many = (0..200_000).map(object).collect::<Vec<_>>().concat();
    let endless = String::from_utf8(pdf("x")).unwrap().replace("/Kids [3 0 R]", "/Kids [2 0 R]");
    let good = "Words of a file that can be read";
    for (name, file) in [
        ("a file that can be read", pdf(good)),
        ("a stream of 700 MB", inflating_pdf()),
        ("forms in forms that write much", writing_pdf()),
        ("forms 2,000 deep", pdf_with("", page, &forms(2_000, 1, font.to_owned()))),
        ("arrays in arrays", nested.into_bytes()),
        ("many objects", format!("%PDF-1.4\n{many}trailer\n<< /Root 1 0 R >>\n%%EOF").into_bytes()),
        ("pages in a circle", endless.into_bytes()),
    ] {
        // A process may end before the watch has looked at it.
        let measured = (0..100).find_map(|_| {
            let running = Crawl::new([PDF_ARGUMENT]).stdin(file.clone()).start();
            let watch = Watch::over(running.pid());
            let output = running.wait(PATIENCE);
            let peak = watch.end();
            (peak.0 > 0).then_some((output, peak))
        });
        let (output, peak) = measured.expect("the process is there to be watched");
        assert!(peak.0 < 96_000_000, "{name}: {peak}, {output:?}");
        // That of a wrong argument.
        assert_ne!(output.code, Some(2), "{name}: {output}");
        let is_good = name == "a file that can be read";
        assert_eq!(output.code == Some(0) && output.stdout.contains(good), is_good, "{name}: {output}");
    }
}
