//! The shared vectors of page directives through `crawl page check --batch`, every key that they expect.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn crawl() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.args(["page", "check"]);
    command
}

/// Runs a batch: the answers, and the exit code.
fn batch(lines: &str) -> (Vec<Value>, i32) {
    let mut child =
        crawl().args(["--batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    (answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output.status.code().unwrap())
}

#[test]
fn every_vector_is_answered_as_expected() {
    let text = include_str!("../../../tests/data/vectors/meta/page-directives.jsonl");
    assert_eq!(text.lines().count(), 75);
    assert_answers(text);
}

#[test]
fn more_pages_of_the_same_kinds_are_answered_as_the_specification_has_it() {
    let text = include_str!("../../meta/tests/data/more_page_directives.jsonl");
    assert!(text.lines().count() >= 40);
    assert_answers(text);
}

/// Asks for each line of a table and compares every key that it expects.
fn assert_answers(text: &str) {
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (answers, code) = batch(text);
    assert_eq!((answers.len(), code), (cases.len(), 0));
    let mut failures = Vec::new();
    for (case, answer) in cases.iter().zip(&answers) {
        assert_eq!(answer["id"], case["id"]);
        for (key, expected) in case["expect"].as_object().unwrap() {
            if answer[key] != *expected {
                failures.push(format!("{} {key}: {} instead of {expected}", case["id"], answer[key]));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn an_answer_has_every_field_of_the_contract() {
    let (answers, code) = batch("{\"agent\": \"examplebot\"}\n\n");
    assert_eq!((answers.len(), code), (1, 0));
    let answer = answers[0].as_object().unwrap();
    for key in [
        "id",
        "index",
        "follow",
        "archive",
        "snippet",
        "max_snippet",
        "max_image_preview",
        "max_video_preview",
        "imageindex",
        "translate",
        "indexifembedded",
        "unavailable_after",
        "ai_train",
        "ai_train_images",
        "tdm_reservation",
        "document_state",
        "meta_url",
        "canonical",
        "keywords",
        "description",
        "revisit_after_days",
        "effects",
        "links",
        "because",
    ] {
        assert!(answer.contains_key(key), "{key}");
    }
    assert_eq!(answer["id"], Value::Null);
    assert_eq!(answer["effects"], json!({"store_text": true, "store_body": true, "enqueue_links": true}));
}

#[test]
fn headers_scope_by_line_and_every_flag_names_its_line() {
    let case = json!({
        "id": 7,
        "agent": "ExampleBot/1.0",
        "aliases": ["NewsBot"],
        "now": "2026-01-01T00:00:00Z",
        "headers": [
            ["X-Robots-Tag", "otherbot: noarchive, NEWSBOT: nofollow"],
            ["Link", "</c>; rel=canonical"],
            ["Content-Usage", "train-ai=n"],
        ],
        "html": "<meta name=revisit-after content='12 hours'><a href='/a#x'>a</a><a href='/a'>b</a><meta name=robots content=none>",
        "url": "http://e.example/p",
    });
    let (answers, _) = batch(&case.to_string());
    let answer = &answers[0];
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["archive"], true);
    assert_eq!(answer["canonical"], "http://e.example/c");
    assert_eq!(answer["revisit_after_days"], 0.5);
    assert_eq!(answer["links"], json!([]));
    assert_eq!(answer["consent"][0]["purpose"], "ai-train");
    let because = answer["because"].as_array().unwrap();
    let sources = |directive| {
        let sources = because.iter().filter(|because| because["directive"] == directive);
        sources.map(|because| because["source"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(sources("noindex"), ["meta robots: none"]);
    assert_eq!(
        sources("nofollow"),
        ["header X-Robots-Tag: otherbot: noarchive, NEWSBOT: nofollow", "meta robots: none"]
    );
}

#[test]
fn links_are_those_that_would_be_queued_each_once() {
    let case = json!({
        "agent": "examplebot",
        "html": "<a href='/a#x'>a</a><a href='/a'>b</a><a href='mailto:x@y'>m</a><img src=i.png><a href='/n' rel=ugc>n</a>",
        "url": "http://e.example/p",
    });
    assert_eq!(batch(&case.to_string()).0[0]["links"], json!(["http://e.example/a"]));
    let without = json!({
        "agent": "examplebot",
        "html": "<link rel=canonical href=/x><a href='/a'>a</a><a href='http://o.example/b'>b</a>",
    });
    let (answers, _) = batch(&without.to_string());
    assert_eq!(answers[0]["links"], json!(["http://o.example/b"]));
    assert_eq!(answers[0]["canonical"], Value::Null);
}

#[test]
fn what_cannot_be_read_is_an_error_of_its_line() {
    let lines = "nonsense\n{\"id\": \"a\"}\n{\"id\": \"b\", \"agent\": \"x\", \"dialect\": \"latin\"}\n\
                 {\"id\": \"c\", \"agent\": \"x\", \"now\": \"soon\"}\n{\"id\": \"d\", \"agent\": \"x\"}\n[1]\n";
    let (answers, code) = batch(lines);
    assert_eq!(code, 1);
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [Value::Null, json!("a"), json!("b"), json!("c"), json!("d"), Value::Null]);
    let is_error: Vec<_> = answers.iter().map(|answer| answer["error"].is_string()).collect();
    assert_eq!(is_error, [true, true, true, true, false, true]);
}

#[test]
fn words_name_the_tag_and_no_control_character_gets_through() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    let html = "<meta name=robots content='noindex, \x1b[31mred'><meta name=url content='http://o.example/\u{202e}x'>";
    std::fs::write(&file, html).unwrap();
    let args =
        ["--agent", "SuperRobot/1.0", "--header", "X-Robots-Tag: nofollow", "--now", "2026-01-01T00:00:00Z"];
    let output = crawl().args(args).arg(&file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("index              no\n"), "{text}");
    assert!(text.contains("noindex (meta robots: noindex,"), "{text}");
    assert!(text.contains("nofollow (header X-Robots-Tag: nofollow)"), "{text}");
    assert!(text.contains("the text may not be stored"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");

    let wrong = crawl().args(["--agent", "x", "--header", "no colon"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}
