//! Bodies that end the process that reads them: each costs one death of the crawl, and nothing but itself.
//!
//! No body is known that does. So the program, built with debug assertions, aborts while it reads one with [`MARK`]; a release build has no such thing.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use whole_program::program::{Crawl, Output, PATIENCE, binary};
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};
use crate::support::{pages, pause, refetched, skipped, tree, wait_for};

/// The variable with the text that ends the process.
const VARIABLE: &str = "WHOLE_PROGRAM_ABORTS_ON";
const MARK: &str = "ends-whoever-reads-this";

/// Whether the program has what these tests need.
fn can_abort() -> bool {
    let program = fs::read(binary()).expect("the program can be read");
    let has = program.windows(VARIABLE.len()).any(|text| text == VARIABLE.as_bytes());
    if !has {
        skipped("a release build can't be made to abort while it reads a body");
    }
    has
}

fn poison() -> Answer {
    Answer::html(format!("<title>Poison</title><p>{MARK}"))
}

/// A crawl that aborts at the mark.
fn aborting(crawl: Crawl) -> Crawl {
    crawl.env(VARIABLE, MARK)
}

fn died(output: &Output) {
    assert_eq!(output.code, None, "it should have died: {output}");
}

/// The URLs of the table of skipped ones that are there as crashed.
fn crashed(scene: &Scene) -> Vec<String> {
    let rows = scene.table("skipped");
    let url = |row: &Value| row["url"].as_str().expect("a url").to_owned();
    sorted(rows.iter().filter(|row| row["reason"] == "crashed").map(url).collect())
}

fn asked(scene: &Scene, url: &str) -> usize {
    scene.server.pages().iter().filter(|asked| *asked == url).count()
}

/// Two trees of ten pages. In the middle of one there is a page that nobody survives.
fn poisoned() -> (Scene, Vec<String>) {
    let hosts = ["a.test", "b.test"];
    let sites = hosts.iter().fold(Sites::new(), |sites, host| sites.tree(host, 11, Duration::ZERO));
    let scene = Scene::new(sites);
    scene.server.change("a.test", "/2", poison());
    // What hangs on it alone isn't found.
    let lost = ["/2", "/9", "/10"].map(|path| format!("http://a.test{path}"));
    let all = hosts.iter().flat_map(|host| tree(host, 11)).filter(|url| !lost.contains(url));
    (scene, sorted(all.collect()))
}

#[test]
fn a_page_that_ends_the_process_is_skipped_and_all_others_are_crawled() {
    if !can_abort() {
        return;
    }
    let (scene, all) = poisoned();
    let url = "http://a.test/2";
    died(&aborting(scene.crawl()).run());
    // One death is enough: incomplete, with the reason and what can be done.
    let ended = aborting(scene.resume()).run();
    let said = ended.expect(13).stdout.clone();
    assert!(said.contains("a.test is incomplete") && said.contains("--retry-crashed"), "{ended}");
    assert_eq!(pages(&scene.out()), all);
    assert_eq!(crashed(&scene), [url]);
    assert_eq!(asked(&scene, url), 2);
    // And perhaps what the other host was asked for at that moment.
    assert!(refetched(&scene) <= 2, "{:?}", scene.server.pages());
    let row = scene.table("errors").into_iter().find(|row| row["url"] == url).expect("it is in the table");
    assert_eq!(row["kind"], "crashed");
    let detail = row["detail"].as_str().expect("a detail");
    for part in ["SIGABRT", "status 200", "bytes"] {
        assert!(detail.contains(part), "{detail}");
    }
    let explained = scene.look("explain", &[url]).stdout;
    assert!(explained.contains("crashed") && explained.contains("--retry-crashed"), "{explained}");
    scene.look("audit", &[]).expect(0);
    assert!(scene.look("show", &[]).stdout.contains("incomplete"));

    // Nothing asks for it by itself.
    aborting(scene.resume()).run().expect(13);
    assert_eq!(asked(&scene, url), 2);
    // Whoever wants it tried again has it tried alone again.
    let ended = aborting(scene.resume().args(["--retry-crashed"])).run();
    ended.expect(13);
    assert!(ended.stderr.contains("retrying 1 URL that crashed the process"), "{ended}");
    assert_eq!((crashed(&scene), asked(&scene, url)), (vec![url.to_owned()], 3));

    // With a program that survives it, it is a page as any other.
    scene.resume().args(["--retry-crashed"]).run().expect(0);
    assert_eq!(pages(&scene.out()).len(), all.len() + 1);
    assert!(pages(&scene.out()).contains(&url.to_owned()) && crashed(&scene).is_empty());
    scene.look("audit", &[]).expect(0);
    assert!(!scene.out().join("reading").exists());
    scene.assert_polite();
}

#[test]
fn a_page_that_wasnt_tried_yet_stays_suspected() {
    if !can_abort() {
        return;
    }
    let (scene, all) = poisoned();
    let url = "http://a.test/2";
    died(&aborting(scene.crawl()).run());
    // Runs that end in order, before they come to it.
    for _ in 0..2 {
        aborting(scene.resume().args(["--max-time", "1ms"])).run().expect(10);
        assert_eq!((asked(&scene, url), crashed(&scene)), (1, vec![]));
    }
    aborting(scene.resume().args(["--max-time", "none"])).run().expect(13);
    assert_eq!((asked(&scene, url), crashed(&scene)), (2, vec![url.to_owned()]));
    assert_eq!(pages(&scene.out()), all);
    scene.assert_polite();
}

#[test]
fn of_pages_read_at_the_same_time_only_the_one_is_blamed() {
    if !can_abort() {
        return;
    }
    let hosts: Vec<String> = (0..12).map(|n| format!("h{n}.test")).collect();
    let filler = "<p>word word <a href=/>home</a>".repeat(6_000);
    let mut sites = Sites::new();
    for host in &hosts {
        let body = if host == "h5.test" { format!("{filler}{MARK}") } else { filler.clone() };
        sites = sites.page(host, "/", Answer::html(body));
    }
    let scene = Scene::new(sites);
    died(&aborting(scene.crawl()).run());
    aborting(scene.resume()).run().expect(13);
    assert_eq!(crashed(&scene), ["http://h5.test/"]);
    assert_eq!(pages(&scene.out()).len(), hosts.len() - 1);
    scene.assert_polite();
}

#[test]
fn a_kill_and_notes_that_are_old_or_damaged_blame_nobody() {
    let hosts = ["a.test", "b.test", "c.test"];
    let sites = hosts.iter().fold(Sites::new(), |sites, host| sites.tree(host, 40, Duration::from_millis(5)));
    let scene = Scene::new(sites);
    let file = scene.out().join("reading");
    let mut running = scene.crawl().start();
    // What a machine may have of the file that lost its power.
    let garbage: Vec<u8> = (0..999_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let half = |notes: Vec<u8>| notes[..notes.len() / 2].to_vec();
    for damage in 0..5 {
        wait_for(&scene, scene.server.count() + 6);
        let output = running.kill();
        assert!(matches!(output.code, None | Some(0)), "{output}");
        let noted = fs::read(&file).expect("it was reading something");
        assert!(!noted.is_empty());
        let noted = match damage {
            0 => noted,
            1 => Vec::new(),
            2 => vec![0; 64],
            3 => garbage.clone(),
            _ => half(noted),
        };
        fs::write(&file, noted).expect("the notes can be written");
        running = scene.resume().start();
    }
    running.wait(PATIENCE).expect(0);
    assert!(crashed(&scene).is_empty());
    let all: Vec<String> = sorted(hosts.iter().flat_map(|host| tree(host, 40)).collect());
    assert_eq!(pages(&scene.out()), all);
    assert!(!file.exists());
    scene.assert_polite();
}

#[test]
fn a_robots_txt_that_ends_the_process_is_unreachable() {
    if !can_abort() {
        return;
    }
    let hosts = ["poisoned.test", "good.test"];
    let rules = format!("User-agent: *\nAllow: /\n# {MARK}\n");
    let sites = hosts.iter().fold(Sites::new(), |sites, host| sites.tree(host, 5, Duration::ZERO));
    let scene = Scene::new(sites.page("poisoned.test", "/robots.txt", Answer::content("text/plain", rules)));
    died(&aborting(scene.crawl()).run());
    let ended = aborting(scene.resume()).run();
    assert!(ended.expect(13).stdout.contains("a process that read it alone ended"), "{ended}");
    assert_eq!(pages(&scene.out()), sorted(tree("good.test", 5)), "no page without its rules");
    assert!(scene.server.pages().iter().all(|url| !url.contains("poisoned")), "{:?}", scene.server.pages());
    scene.look("audit", &[]).expect(0);
    scene.assert_polite();
}

#[test]
fn a_sitemap_that_ends_the_process_fails_and_is_tried_again() {
    if !can_abort() {
        return;
    }
    let host = "a.test";
    let map = "http://a.test/map.txt";
    let text = |body: String| Answer::content("text/plain", body);
    let scene = Scene::new(
        Sites::new()
            .tree(host, 5, Duration::ZERO)
            .page(host, "/robots.txt", text(format!("Sitemap: {map}\n")))
            .page(host, "/map.txt", text(format!("http://a.test/only-there?{MARK}\n")))
            .page(host, &format!("/only-there?{MARK}"), Answer::html("<title>Only there</title>")),
    );
    let state = || {
        let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
        let of_map = summary["sitemaps"].as_array().expect("a list").iter().find(|row| row["url"] == map);
        let of_map = of_map.expect("it is in the list");
        let detail = of_map["detail"].as_str().unwrap_or_default().to_owned();
        (summary["status"].as_str().expect("a status").to_owned(), of_map["state"].clone(), detail)
    };
    died(&aborting(scene.crawl().args(["--sitemaps"])).run());
    aborting(scene.resume()).run().expect(13);
    let (status, of_map, detail) = state();
    assert_eq!((status.as_str(), of_map.as_str()), ("incomplete", Some("failed")));
    assert!(detail.starts_with("crashed") && detail.contains("SIGABRT"), "{detail}");
    assert_eq!(pages(&scene.out()), sorted(tree(host, 5)));

    aborting(scene.resume().args(["--retry-crashed"])).run().expect(13);
    scene.resume().args(["--retry-crashed"]).run().expect(0);
    let (status, of_map, _) = state();
    assert_eq!((status.as_str(), of_map.as_str()), ("complete", Some("read")));
    assert_eq!(pages(&scene.out()).len(), 6);
    scene.look("audit", &[]).expect(0);
    scene.assert_polite();
}

/// `crawl COMMAND DIR`, which aborts at the mark.
fn aborting_at(scene: &Scene, command: &str, arguments: &[&str]) -> Crawl {
    aborting(Crawl::new([Path::new(command), &scene.out()]).args(arguments))
}

/// A crawl of [`poisoned`] by a program that survives the page, which is in the archive then.
fn poisoned_archive() -> (Scene, usize) {
    let (scene, all) = poisoned();
    scene.crawl().run().expect(0);
    (scene, all.len() + 1)
}

#[test]
fn an_archived_page_that_ends_the_process_stops_no_audit() {
    if !can_abort() {
        return;
    }
    let (scene, pages) = poisoned_archive();
    let audit = || aborting_at(&scene, "audit", &["--json"]).run();
    let check = |output: &Output, name: &str| {
        let report = output.expect(0).json().remove(0);
        let checks = report["checks"].as_array().expect("a list");
        checks.iter().find(|check| check["name"] == name).expect("the check").clone()
    };
    died(&audit());
    for _ in 0..2 {
        let ended = audit();
        for name in ["archived_words", "archived_digests"] {
            let check = check(&ended, name);
            assert_eq!((&check["judged"], &check["unchecked"]["crashed"]), (&(pages - 1).into(), &1.into()));
        }
        assert!(ended.stderr.contains("http://a.test/2") && ended.stderr.contains("SIGABRT"), "{ended}");
    }
    // A program that survives it judges it, and no note remains.
    let ended = scene.look("audit", &["--json"]);
    assert_eq!(check(&ended, "archived_words")["judged"], pages);
    assert!(!scene.out().join("reading-archive").exists());
}

#[test]
fn an_archived_page_that_ends_the_process_stops_no_index() {
    if !can_abort() {
        return;
    }
    let (scene, pages) = poisoned_archive();
    let index = || aborting_at(&scene, "index", &["--json"]).run();
    died(&index());
    let ended = index();
    let built = ended.expect(0).json().remove(0);
    assert_eq!((&built["pages"], &built["unread"], &built["crashed"]), (&pages.into(), &1.into(), &1.into()));
    assert!(ended.stderr.contains("http://a.test/2") && ended.stderr.contains("SIGABRT"), "{ended}");
    let hits = |word: &str| {
        let found = scene.look("search", &[word, "--json"]).expect(0).json();
        found.iter().filter(|line| line["kind"] == "hit").count()
    };
    assert_eq!(hits(MARK), 0, "its text isn't in the index");

    // The same for a run that has to build the index before its first request.
    fs::remove_dir_all(scene.out().join("index")).expect("the index is there");
    fs::remove_file(scene.out().join("reading-archive")).expect("the notes are there");
    died(&aborting(scene.resume()).run());
    aborting(scene.resume()).run().expect(0);
    assert_eq!(hits(MARK), 0);

    let built = scene.look("index", &["--json"]).expect(0).json().remove(0);
    assert_eq!((&built["unread"], &built["crashed"]), (&0.into(), &0.into()));
    assert!(hits(MARK) > 0);
    assert!(!scene.out().join("reading-archive").exists());
}

#[test]
fn an_archived_page_that_ends_the_process_stops_no_repair() {
    if !can_abort() {
        return;
    }
    let (scene, pages) = poisoned_archive();
    let out = scene.path("repaired");
    fs::remove_dir_all(scene.out().join("db")).expect("the database is there");
    let repair = || {
        let repair = aborting_at(&scene, "repair", &["--json"]);
        repair.args([Path::new("--out"), &out]).run()
    };
    died(&repair());
    fs::remove_dir_all(&out).expect("what it had made");
    let ended = repair();
    let repaired = ended.expect(0).json().remove(0);
    assert_eq!(
        (&repaired["pages_from_archive"], &repaired["crashed"]),
        (&(pages - 1).into(), &1.into()),
        "{ended}"
    );
    // The page is linked, so it is asked for again.
    Crawl::new([Path::new("resume"), &out]).run().expect(0);
    let table = Crawl::new([Path::new("export"), &out]).args(["--table", "pages", "--format", "jsonl"]).run();
    assert_eq!(table.expect(0).json().len(), pages);
}

/// A field of `/proc/PID/stat` by its number in `proc_pid_stat(5)`, from the third on; none where the process is gone.
fn stat(process: u32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_whitespace().nth(number - 3).map(str::to_owned)
}

#[test]
fn the_process_that_reads_a_body_alone_ends_with_the_crawl() {
    if !cfg!(target_os = "linux") {
        return;
    }
    // A shell in the place of the crawl, and a body that never ends.
    let line = "exec 3<&0; \"$0\" __read-response <&3 3<&- & echo $!; wait";
    let mut parent = Command::new("sh")
        .args(["-c", line])
        .arg(binary())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let (_endless, out) = (parent.stdin.take(), parent.stdout.take().expect("a pipe"));
    let mut number = String::new();
    BufReader::new(out).read_line(&mut number).expect("the number of the process");
    let reader: u32 = number.trim().parse().expect("a number");
    let nice = |process| stat(process, 19).and_then(|nice| nice.parse::<i32>().ok());
    let own = nice(std::process::id()).expect("the niceness of this process");
    let is_nice = || nice(reader) == Some((own + 10).min(19));
    assert!(
        (0..3_000).any(|_| is_nice() || {
            pause(Duration::from_millis(10));
            false
        }),
        "it yields to others"
    );
    assert!(stat(reader, 3).is_some_and(|state| state != "Z"), "it waits for the body");
    parent.kill().expect("the shell runs");
    parent.wait().expect("the shell has ended");
    // Nobody may be there to take its status.
    let has_ended = || stat(reader, 3).is_none_or(|state| state == "Z" || state == "X");
    assert!((0..3_000).any(|_| has_ended() || {
        pause(Duration::from_millis(10));
        false
    }));
}
