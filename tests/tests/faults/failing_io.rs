//! Every call that changes a file fails once, each in a run of its own: of a crawl, of a run that takes withdrawn content out
//! of the database, and of a repair. No page is lost, and the exit code says what happened.
//!
//! By default a part of the calls is tried; `WHOLE_PROGRAM_FAILURES=all` tries every one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use whole_program::failing_io::FailingIo;
use whole_program::output_dir::{archived_responses, files_with};
use whole_program::program::{Crawl, Output};
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};
use crate::support::{copy, pages, resume, tree};

const HOSTS: [&str; 3] = ["a.test", "b.test", "c.test"];
const PAGES: usize = 5;

/// The numbers of the calls that fail: all of them, or about `most`, spread over all, the first and the last among them.
fn tried(calls: usize, most: usize) -> Vec<usize> {
    let all = std::env::var("WHOLE_PROGRAM_FAILURES").is_ok_and(|value| value == "all");
    let step = if all { 1 } else { calls.div_ceil(most).max(1) };
    let mut numbers: Vec<usize> = (1..=calls).step_by(step).collect();
    if numbers.last() != Some(&calls) {
        numbers.push(calls);
    }
    numbers
}

/// What holds of every run: no panic reaches the user, and a code of the contract.
#[track_caller]
fn sound(what: &str, output: &Output, codes: &[i32]) {
    assert!(!output.stderr.contains("panicked"), "{what}: {output}");
    let code = output.code.unwrap_or(-1);
    assert!(codes.contains(&code), "{what}: {output}");
    let fault_row = output.stderr.lines().any(|line| line.starts_with("error:"));
    assert!(code != 5 || fault_row, "{what}: an exit code without a message: {output}");
}

/// Completes a crawl whose last run failed, by a repair where that is asked for. Gives the directory that holds it.
fn complete(scene: &Scene, what: &str) -> std::path::PathBuf {
    let out = scene.out();
    if !out.join("crawl.toml").exists() {
        // A start that failed leaves nothing that can be resumed, and says so by leaving no crawl at all.
        assert!(!out.join("db").exists(), "{what}: a database without settings");
        scene.crawl().run().expect(0);
        return out;
    }
    let again = resume(&out).run();
    if again.code == Some(0) {
        return out;
    }
    sound(what, &again, &[5]);
    assert!(again.stderr.contains("crawl repair"), "{what}: {again}");
    let repaired = scene.path("repaired");
    repair(&out, &repaired).run().expect(0);
    resume(&repaired).run().expect(0);
    repaired
}

fn repair(from: &Path, to: &Path) -> Crawl {
    Crawl::new([Path::new("repair"), from, Path::new("--out"), to])
}

fn audit(what: &str, out: &Path) {
    let output = Crawl::new([Path::new("audit"), out]).run();
    assert_eq!(output.code, Some(0), "{what}: {output}");
}

#[test]
fn a_crawl_loses_nothing_whichever_call_fails() {
    let sites = || HOSTS.iter().fold(Sites::new(), |sites, host| sites.tree(host, PAGES, Duration::ZERO));
    let all = sorted(HOSTS.iter().flat_map(|host| tree(host, PAGES)).collect());
    let calls = {
        let scene = Scene::new(sites());
        let io = FailingIo::new(&scene.out(), &scene.path("calls"));
        io.apply(scene.crawl(), 0).run().expect(0);
        io.calls().len()
    };
    assert!(calls > 40, "only {calls} calls were seen");
    let (mut failed, mut harmless, mut repaired) = (0, 0, 0);
    for number in tried(calls, 14) {
        let scene = Scene::new(sites());
        let io = FailingIo::new(&scene.out(), &scene.path("calls"));
        let output = io.apply(scene.crawl(), number).run();
        let call = io.calls().get(number - 1).cloned().unwrap_or_default();
        let what = format!("call {number} of {calls} ({call})");
        sound(&what, &output, &[0, 5]);
        failed += usize::from(output.code == Some(5));
        harmless += usize::from(output.code == Some(0));
        let out = complete(&scene, &what);
        repaired += usize::from(out != scene.out());
        assert_eq!(pages(&out), all, "{what}: {output}");
        assert_eq!(sorted(archived_responses(&out.join("warc"))), all, "{what}: each page is archived once");
        audit(&what, &out);
        scene.assert_polite();
    }
    eprintln!(
        "| one of {calls} file system calls of a crawl fails (EIO) | {failed} runs ended with 5, {harmless} with 0 | 0 pages lost; {repaired} needed `crawl repair` |"
    );
}

#[test]
fn taking_withdrawn_content_out_of_the_database_survives_every_failing_call() {
    let page = |head: &str| Answer::html(format!("<title>marker</title>{head}<p>text of the page"));
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/x>x</a><a href=/y>y</a>"))
        .page("a.test", "/y", page(""))
        .page("a.test", "/x", page(""))
        .page("a.test", "/x", page("<meta name=robots content=noindex><!-- turned -->"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let all = pages(&scene.out());
    let pristine = scene.path("pristine");
    copy(&scene.out(), &pristine);
    let place = |name: &str| {
        let place = scene.path(name);
        copy(&pristine, &place);
        place
    };
    let revisit = |out: &Path| resume(out).args(["--revisit", "0s"]);
    let calls = {
        let out = place("counted");
        let io = FailingIo::new(&out, &scene.path("calls"));
        io.apply(revisit(&out), 0).run().expect(0);
        io.calls()
    };
    let begin =
        calls.iter().position(|call| call.contains("db.scrubbed")).expect("the database is rewritten");
    let of_scrub = calls.len() - begin;
    assert!(of_scrub > 20, "only {of_scrub} calls were seen");
    let mut failed = 0;
    for number in tried(of_scrub, 30) {
        let number = begin + number;
        let out = place(&format!("out{number}"));
        let io = FailingIo::new(&out, &scene.path("calls"));
        let output = io.apply(revisit(&out), number).run();
        let call = io.calls().get(number - 1).cloned().unwrap_or_default();
        let what = format!("call {number} of {} ({call})", calls.len());
        sound(&what, &output, &[0, 5]);
        failed += usize::from(output.code == Some(5));
        // Whatever failed, a whole database is in force.
        assert_eq!(pages(&out), all, "{what}: {output}");
        let again = resume(&out).run();
        assert_eq!(again.code, Some(0), "{what}: {output}\nthen {again}");
        assert_eq!(pages(&out), all, "{what}");
        for name in ["db.old", "db.scrubbed", "db.scrubbed.complete"] {
            assert!(!out.join(name).exists(), "{what}: {name} remains");
        }
        assert_eq!(record(&out, "http://a.test/x")["title"], serde_json::Value::Null, "{what}");
        audit(&what, &out);
        fs::remove_dir_all(&out).unwrap();
    }
    assert!(failed > 0, "no call failed");
    eprintln!(
        "| one of {of_scrub} calls that rewrite the database fails (EIO) | {failed} runs ended with 5 | 0 pages lost |"
    );
}

#[test]
fn forgetting_a_page_survives_every_failing_call() {
    let text = "text of the marker ".repeat(50);
    let page = || Answer::html(format!("<title>the marker</title><p>{text}"));
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/x>x</a><a href=/y>y</a>"))
        .page("a.test", "/y", Answer::html("<title>another</title>"))
        .page("a.test", "/x", page());
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let all = pages(&scene.out());
    let place = |name: &str| {
        let place = scene.path(name);
        copy(&scene.out(), &place);
        place
    };
    let forget = |out: &Path| Crawl::new([Path::new("forget"), out]).args(["http://a.test/x"]);
    let calls = {
        let out = place("counted");
        let io = FailingIo::new(&out, &scene.path("calls"));
        io.apply(forget(&out), 0).run().expect(0);
        assert_eq!(files_with(&out, &["the marker"]), []);
        io.calls().len()
    };
    assert!(calls > 40, "only {calls} calls were seen");
    let mut failed = 0;
    for (round, number) in tried(calls, 18).into_iter().enumerate() {
        let out = place(&format!("out{number}"));
        let io = FailingIo::new(&out, &scene.path("calls"));
        let output = io.apply(forget(&out), number).run();
        let call = io.calls().get(number - 1).cloned().unwrap_or_default();
        let what = format!("call {number} of {calls} ({call})");
        sound(&what, &output, &[0, 5]);
        failed += usize::from(output.code == Some(5));
        assert_eq!(pages(&out), all, "{what}: {output}");
        // A resume finishes what was begun, and the same command begins again what wasn't.
        if round % 2 == 0 && output.code == Some(5) {
            let again = resume(&out).run();
            assert_eq!(again.code, Some(0), "{what}: {output}\nthen {again}");
            let is_gone = files_with(&out, &["the marker"]).is_empty();
            let is_whole = record(&out, "http://a.test/x")["title"] == "the marker";
            assert!(is_gone != is_whole, "{what}: one or the other; {output}");
        }
        if output.code != Some(0) {
            let again = forget(&out).run();
            assert_eq!(again.code, Some(0), "{what}: {output}\nthen {again}");
        }
        assert_eq!(files_with(&out, &["the marker"]), [], "{what}: {output}");
        assert_eq!(record(&out, "http://a.test/y")["title"], "another", "{what}");
        assert_eq!(pages(&out), all, "{what}");
        audit(&what, &out);
        fs::remove_dir_all(&out).unwrap();
    }
    assert!(failed > 0, "no call failed");
    eprintln!(
        "| one of {calls} calls of `crawl forget` fails (EIO) | {failed} ended with 5 | nothing else was lost |"
    );
}

fn record(out: &Path, url: &str) -> serde_json::Value {
    let output = Crawl::new([Path::new("export"), out]).args(["--table", "pages", "--format", "jsonl"]).run();
    output.expect(0).json().into_iter().find(|page| page["url"] == url).expect("the page has a record")
}

#[test]
fn a_repair_that_fails_leaves_nothing_behind_and_can_be_repeated() {
    let sites = HOSTS.iter().fold(Sites::new(), |sites, host| sites.tree(host, PAGES, Duration::ZERO));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let all = pages(&scene.out());
    let before = crate::support::bytes(&scene.out());
    let calls = {
        let to = scene.path("counted");
        let io = FailingIo::new(&to, &scene.path("calls"));
        io.apply(repair(&scene.out(), &to), 0).run().expect(0);
        io.calls()
    };
    let mut failed = 0;
    for number in tried(calls.len(), 20) {
        let to = scene.path(&format!("new{number}"));
        let io = FailingIo::new(&to, &scene.path("calls"));
        let output = io.apply(repair(&scene.out(), &to), number).run();
        let call = io.calls().get(number - 1).cloned().unwrap_or_default();
        let what = format!("call {number} of {} ({call})", calls.len());
        sound(&what, &output, &[0, 5]);
        assert_eq!(crate::support::bytes(&scene.out()), before, "{what}: what is repaired is only read");
        if output.code == Some(5) {
            failed += 1;
            assert!(!to.exists(), "{what}: a repair that failed leaves nothing behind: {output}");
            repair(&scene.out(), &to).run().expect(0);
        }
        assert_eq!(pages(&to), all, "{what}");
        resume(&to).run().expect(0);
        fs::remove_dir_all(&to).unwrap();
    }
    assert!(failed > 0, "no call failed");
    eprintln!(
        "| one of {} calls of a repair fails (EIO) | {failed} ended with 5 | the damaged crawl unchanged, no partial output |",
        calls.len()
    );
}
