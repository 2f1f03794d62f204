//! What the program says, and what it leaves behind, when it is asked for something it can't do.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the program in a directory, without any variable of its settings.
fn crawl(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.current_dir(dir).args(args).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CRAWL_")) {
        command.env_remove(name);
    }
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn each_refusal_has_its_message_and_its_code_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(dir.path().join(name), text).unwrap();
    write("urls", b"http://a.test/\n");
    write("empty", b"");
    write("comments", b"\xef\xbb\xbf# nothing\r\n\r\n");
    write("words", b"no url\r\nftp://a.test/\r\n");
    write("latin", b"http://a.test/\xe9\n");
    write("unknown.toml", b"[pace]\ndely = \"1s\"\n");
    write("wrong.toml", b"[pace]\ndelay = \"fast\"\n");
    write("agent.toml", b"[agent]\nproduct = \"SuperRobot\"\n");
    write("broken.toml", b"[pace\n");
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    let before = listing(dir.path());
    let seed = ["--seed", "urls"];
    let agent = ["--agent", "SuperRobot/1.0"];
    let both = [seed, agent].concat();
    let with = |more: &[&'static str]| [&both, more].concat();
    for (args, code, message) in [
        (vec![], 2, "Usage: crawl --seed FILE --agent NAME/VERSION"),
        (agent.to_vec(), 2, "no seeds given"),
        (seed.to_vec(), 2, "--agent NAME/VERSION"),
        (
            [&seed[..], &["--agent", "SuperRobot"]].concat(),
            2,
            "has no version: write NAME/VERSION, as in SuperRobot/1.0",
        ),
        ([&seed[..], &["--agent", ""]].concat(), 2, "the agent is empty"),
        ([&seed[..], &["--agent", "Super Robot/1.0"]].concat(), 2, "the character ' '"),
        ([&seed[..], &["--agent", "SuperRobot/1.0\r\nX-Y: z"]].concat(), 2, "the character '\\r'"),
        ([&["--seed", "missing"][..], &agent].concat(), 4, "can't read the seed file missing: No such file"),
        ([&["--seed", "folder"][..], &agent].concat(), 4, "folder is a directory"),
        ([&["--seed", "empty"][..], &agent].concat(), 4, "the seed file empty has no URL"),
        ([&["--seed", "comments"][..], &agent].concat(), 4, "the seed file comments has no URL"),
        ([&["--seed", "-"][..], &agent].concat(), 4, "the seed file - has no URL"),
        (
            [&["--seed", "words"][..], &agent].concat(),
            4,
            "seed line 2: \"ftp://a.test/\" has the scheme \"ftp\"",
        ),
        (
            [&["--seed", "latin"][..], &agent].concat(),
            4,
            "seed line 1: \"http://a.test/\u{fffd}\" isn't UTF-8 text",
        ),
        (with(&["--contact", "nobody"]), 2, "--contact: the contact \"nobody\" is neither"),
        (with(&["--delay", "10"]), 2, "isn't a duration"),
        (with(&["--exclude", "("]), 2, "--exclude: \"(\" isn't a regular expression"),
        (with(&["--resolve", "a.test"]), 2, "--resolve: \"a.test\" isn't HOST:ADDR"),
        (with(&["--resolve-file", "missing"]), 2, "--resolve-file: can't read missing"),
        (with(&["--allow-net", "10.0.0.0/99"]), 2, "--allow-net: "),
        (with(&["--concurrency", "0"]), 2, "--concurrency: 0 is too small"),
        (with(&["--config", "missing.toml"]), 3, "can't read the config file missing.toml"),
        (
            with(&["--config", "unknown.toml"]),
            3,
            "unknown.toml:2: unknown key `dely` in [pace]; did you mean `delay`?",
        ),
        (with(&["--config", "wrong.toml"]), 3, "wrong.toml:2: pace.delay: \"fast\" isn't a duration"),
        (
            [&seed[..], &["--config", "agent.toml"]].concat(),
            3,
            "agent.toml:2: agent.product: the agent \"SuperRobot\" has no",
        ),
        (with(&["--config", "broken.toml"]), 3, "broken.toml:1: "),
        (vec!["resume", "missing"], 2, "missing has no crawl"),
        (vec!["nonsense"], 2, "'nonsense' for '[URL]...': there is no such command"),
    ] {
        let output = crawl(dir.path(), &args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(message), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(!said.contains('\u{1b}') && !said.contains("panicked"), "{args:?}: {said}");
        assert_eq!(listing(dir.path()), before, "{args:?}");
    }
}

fn listing(dir: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn a_wrong_variable_is_a_config_error() {
    let dir = tempfile::tempdir().unwrap();
    let output = command(dir.path(), &["config", "show"]).env("CRAWL_DELAY", "soon").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).starts_with("error: CRAWL_DELAY: \"soon\" isn't a duration"));
}

#[test]
fn settings_come_from_all_four_sources() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("c.toml"), "delay = \"2s\"\nmax-delay = \"3s\"\n").unwrap();
    let args = ["config", "show", "--config", "c.toml", "--retries", "7"];
    let output = command(dir.path(), &args).env("CRAWL_MAX_DELAY", "4s").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("delay"), "delay = \"2s\" # file");
    assert_eq!(line("max_delay"), "max_delay = \"4s\" # environment");
    assert_eq!(line("retries"), "retries = 7 # command line");
    assert_eq!(line("timeout"), "timeout = \"30s\" # default");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(dir.path(), &["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn colour_is_for_who_asks() {
    let dir = tempfile::tempdir().unwrap();
    let colored = |args: &[&str]| crawl(dir.path(), args).stderr.contains(&0x1b);
    assert!(colored(&["--color", "always", "--agent", "A/1"]));
    assert!(colored(&["--color", "always", "--nonsense"]));
    assert!(!colored(&["--agent", "A/1"]));
    assert!(!colored(&["--nonsense"]));
    assert!(!colored(&["--color", "never", "--agent", "A/1"]));
}

#[test]
fn a_hundred_thousand_bad_lines_are_summarised() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(dir.path(), &["--seed", "-", "--agent", "A/1"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all("nonsense\r\n".repeat(100_000).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = stderr(&output);
    assert!(said.contains("99980 more invalid lines") && said.lines().count() < 30, "{said}");
}
