//! Input that is wrong: a clear message, its exit code, and no partial output.

use std::fs;
use std::path::Path;
use std::time::Duration;

use whole_program::output_dir::files_with;
use whole_program::program::{Crawl, Output};
use whole_program::site::Sites;

use crate::scene::{Scene, sorted};

fn scene() -> Scene {
    Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO))
}

/// A refusal: exit code, words that the message must have, no request, no output directory, no panic.
fn refused(scene: &Scene, output: &Output, code: i32, words: &[&str]) {
    output.expect(code);
    for word in words {
        assert!(output.stderr.contains(word), "{word:?} isn't said: {output}");
    }
    assert!(!output.stderr.contains("panicked"), "{output}");
    assert_eq!(scene.server.count(), 0);
    assert!(!scene.out().exists(), "partial output remains");
}

#[test]
fn a_seed_file_that_is_missing_or_a_directory_is_named() {
    let scene = scene();
    fs::remove_file(scene.seeds()).unwrap();
    refused(&scene, &scene.crawl().run(), 4, &["seeds.txt"]);
    fs::create_dir(scene.seeds()).unwrap();
    refused(&scene, &scene.crawl().run(), 4, &["seeds.txt"]);
}

#[test]
fn a_seed_file_without_a_usable_line_is_refused_with_the_line_numbers() {
    for (text, words) in [
        ("", &["seeds.txt"][..]),
        ("\n# only a comment\n\n", &["seeds.txt"]),
        ("not a url\nftp://a.test/\nmailto:x@a.test\n", &["1", "2", "3"]),
    ] {
        let scene = scene();
        fs::write(scene.seeds(), text).unwrap();
        refused(&scene, &scene.crawl().run(), 4, words);
    }
}

#[test]
fn bad_lines_are_reported_with_their_number_and_the_rest_is_crawled() {
    let scene = scene();
    fs::write(
        scene.seeds(),
        "\u{feff}# seeds\r\n\r\nnonsense\r\nhttp://a.test/\r\nhttp://\r\nhttp://a.test/2\r\n",
    )
    .unwrap();
    let output = scene.crawl().run();
    // The other lines are crawled; these remain.
    output.expect(13);
    for number in ["3", "5"] {
        assert!(
            output.stderr.lines().any(|line| line.contains(number) && line.contains("line")),
            "line {number}: {output}"
        );
    }
    assert_eq!(sorted(scene.server.pages()), ["http://a.test/", "http://a.test/1", "http://a.test/2"]);
}

#[test]
fn a_byte_order_mark_before_the_first_url_is_no_part_of_it() {
    let scene = scene();
    fs::write(scene.seeds(), "\u{feff}http://a.test/\r\n").unwrap();
    scene.crawl().run().expect(0);
    assert_eq!(scene.server.pages().len(), 3);
}

#[test]
fn a_seed_line_with_bytes_that_arent_text_is_a_bad_line() {
    let scene = scene();
    fs::write(scene.seeds(), b"http://a.test/\nhttp://\xff\xfe\x00/\n\x1b[31mred\n").unwrap();
    let output = scene.crawl().run();
    // The other lines are crawled; these remain.
    output.expect(13);
    assert!(!output.stderr.contains('\u{1b}'), "an escape reached the terminal: {output:?}");
    assert_eq!(scene.server.pages().len(), 3);
}

#[test]
fn a_hundred_thousand_seeds_are_taken() {
    let scene = scene();
    let seeds: Vec<String> = (0..100_000).map(|n| format!("http://a.test/seed/{n}\n")).collect();
    fs::write(scene.seeds(), seeds.concat()).unwrap();
    scene.crawl().args(["--max-time", "2s"]).run().expect(10);
    let requests = scene.server.pages().len();
    let (queued, done) = (scene.table("queue").len(), scene.table("pages").len());
    assert_eq!((queued + done, done), (100_000, requests));
}

#[test]
fn agents_that_are_no_product_are_refused() {
    let scene = scene();
    for agent in
        ["SuperRobot", "SuperRobot/", "/1.0", "", "Super\nRobot/1.0", "Super\u{1b}Robot/1.0", "Süper/1.0"]
    {
        let words = ["--agent", agent, "--seed"];
        let output = Crawl::new(words)
            .args([scene.seeds(), "--out".into(), scene.out()])
            .args(scene.server.resolve())
            .run();
        refused(&scene, &output, 2, &["agent"]);
        assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
    }
    let none = Crawl::new(["--seed"]).args([scene.seeds(), "--out".into(), scene.out()]).run();
    refused(&scene, &none, 2, &["--agent"]);
}

#[test]
fn an_output_directory_that_cant_be_made_is_named() {
    let scene = scene();
    fs::write(scene.path("file"), "in the way").unwrap();
    for out in [scene.path("file"), scene.path("file").join("below"), "/proc/crawl-out".into()] {
        let words = ["--agent", "SuperRobot/1.0", "--seed"];
        let output = Crawl::new(words)
            .args([&scene.seeds(), Path::new("--out"), &out])
            .args(scene.server.resolve())
            .run();
        refused(&scene, &output, 5, &[out.to_str().unwrap()]);
    }
    assert_eq!(fs::read_to_string(scene.path("file")).unwrap(), "in the way");
}

#[test]
fn a_directory_that_holds_something_else_isnt_taken_over() {
    let scene = scene();
    fs::create_dir(scene.out()).unwrap();
    fs::write(scene.out().join("thesis.txt"), "years of work").unwrap();
    let output = scene.crawl().run();
    // Crawling beside other files is fine; touching them isn't.
    assert!(matches!(output.code, Some(0 | 5)), "{output}");
    assert_eq!(fs::read_to_string(scene.out().join("thesis.txt")).unwrap(), "years of work");
}

#[test]
fn config_files_are_read_strictly() {
    let scene = scene();
    let file = scene.path("crawl.toml");
    for (text, words) in [
        ("[pace]\ndelay = \"1s\"\ndelya = \"2s\"\n", &["delya", "3"][..]),
        ("[pace]\ndelay = \"fast\"\n", &["delay", "fast"]),
        ("[pace\n", &["crawl.toml"]),
        ("[robots]\nignore = true\n", &["ignore"]),
    ] {
        fs::write(&file, text).unwrap();
        refused(&scene, &scene.crawl().args([Path::new("--config"), &file]).run(), 3, words);
    }
    fs::remove_file(&file).unwrap();
    refused(&scene, &scene.crawl().args([Path::new("--config"), &file]).run(), 3, &["crawl.toml"]);
}

#[test]
fn the_command_line_beats_the_environment_beats_the_file() {
    let scene = scene();
    let file = scene.path("crawl.toml");
    fs::write(&file, "[pace]\ndelay = \"3s\"\nmax_delay = \"33s\"\nconcurrency = 7\n").unwrap();
    let words = ["config", "show", "--delay", "5s", "--config"];
    let output = Crawl::new(words).args([&file]).env("CRAWL_DELAY", "4s").env("CRAWL_MAX_DELAY", "44s").run();
    let text = &output.expect(0).stdout;
    for (key, value) in [("delay", "5s"), ("max_delay", "44s"), ("concurrency", "7")] {
        let found = text
            .lines()
            .any(|line| line.trim_start().starts_with(&format!("{key} =")) && line.contains(value));
        assert!(found, "{key} = {value}: {text}");
    }
}

#[test]
fn unknown_options_and_commands_are_usage_errors() {
    for words in [
        &["--no-such-option"][..],
        &["no-such-command"],
        &["show"],
        &["--ignore-robots"],
        &["--insecure"],
        &[],
    ] {
        let output = Crawl::new(words).run();
        output.expect(2);
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{words:?}: {output}");
    }
}

#[test]
fn when_no_seed_can_be_crawled_the_exit_code_says_so() {
    let scene = scene();
    fs::write(scene.seeds(), "http://no-such-host.invalid/\n").unwrap();
    let output =
        scene.crawl().args(["--resolve", "no-such-host.invalid:127.0.0.1:9", "--max-time", "20s"]).run();
    assert!(matches!(output.code, Some(4 | 10)), "{output}");
    assert_eq!(scene.server.count(), 0);
}

#[test]
fn a_seed_with_a_password_warns_and_the_password_is_nowhere() {
    let scene = scene();
    let lines =
        "http://ann:zqpassword@a.test/\nftp://ann:zqpassword@a.test/\nhttp://a.test/1,http://b.test/\n";
    fs::write(scene.seeds(), lines).unwrap();
    let url = "http://ann:zqpassword@a.test/";
    let as_url = scene.path("as-url");
    let as_url = as_url.to_str().unwrap();
    let of_file = scene.crawl().args(["-vv"]).run();
    let of_url = Crawl::new(["--seed", url, "--out", as_url, "--agent", "SuperRobot/1.0", "--delay", "20ms"])
        .args(scene.server.resolve())
        .run();
    for output in [&of_file, &of_url] {
        assert!(output.stderr.contains("http://...@a.test/\" has a user name or a password"), "{output}");
        assert!(!format!("{output}").contains("zqpassword"), "{output}");
    }
    assert!(of_file.stderr.contains("looks like a line of a CSV file"), "{of_file}");
    for dir in [scene.out().as_path(), Path::new(as_url)] {
        Crawl::new(["report"])
            .args([dir])
            .args(["-o", scene.path("report.html").to_str().unwrap()])
            .run()
            .expect(0);
        assert_eq!(files_with(dir, &["zqpassword"]), []);
    }
    assert!(!fs::read_to_string(scene.path("report.html")).unwrap().contains("zqpassword"));
    let sent: Vec<_> = scene.server.log().iter().map(|request| format!("{request:?}")).collect();
    assert!(!sent.is_empty() && !sent.concat().to_lowercase().contains("authorization"), "{sent:?}");
}
