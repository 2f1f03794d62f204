//! `robots check` and `page check`, single and many at once.

use serde_json::{Value, json};
use whole_program::program::{Crawl, Output};

fn batch(command: &str, lines: &[Value], more: &str) -> Output {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    Crawl::new([command, "check", "--batch", "-"]).stdin(text + more).run()
}

#[test]
fn robots_check_says_which_line_decides() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("robots.txt");
    std::fs::write(&file, "User-agent: *\nDisallow: /private/\nAllow: /private/open\n").unwrap();
    let check = |url: &str| {
        Crawl::new(["robots", "check", "--agent", "SuperRobot/1.0"]).args([file.to_str().unwrap(), url]).run()
    };
    assert!(check("http://a.test/x").expect(0).stdout.contains("allow"));
    let open = check("http://a.test/private/open");
    assert!(open.expect(0).stdout.contains('3'), "{open}");
    let denied = check("http://a.test/private/x");
    assert!(denied.expect(1).stdout.contains('2'), "{denied}");
}

#[test]
fn robots_batch_keeps_order_and_continues_after_an_invalid_line() {
    let robots = "User-agent: superrobot\nCrawl-delay: 2.5\nDisallow: /a\nSitemap: http://a.test/s.xml\n";
    let lines = [
        json!({"id": 1, "robots": robots, "agent": "SuperRobot/1.0", "url": "http://a.test/a/b"}),
        json!({"id": "two", "robots": robots, "checks": [["SuperRobot/1.0", "/a"], ["SuperRobot/1.0", "/b"], ["Other/2", "/a"]]}),
        json!({"id": 3, "robots_b64": "VXNlci1hZ2VudDogKgpEaXNhbGxvdzogLwo=", "agent": "SuperRobot/1.0", "url": "/x"}),
    ];
    let output =
        batch("robots", &lines, "not json\n{\"id\":5,\"robots\":\"\",\"agent\":\"A/1\",\"url\":\"/\"}\n");
    let answers = output.expect(1).json();
    assert_eq!(answers.len(), 5, "{output}");
    let one = &answers[0];
    assert_eq!(
        (&one["id"], &one["allowed"], &one["line"], &one["crawl_delay"]),
        (&json!(1), &json!(false), &json!(3), &json!(2.5))
    );
    assert_eq!(one["sitemaps"], json!(["http://a.test/s.xml"]));
    for key in ["rule", "group", "reason", "request_rate", "visit_time"] {
        assert!(one.get(key).is_some(), "{key}: {one}");
    }
    assert_eq!((&answers[1]["id"], &answers[1]["allowed"]), (&json!("two"), &json!([false, true, true])));
    assert_eq!(
        (&answers[2]["id"], &answers[2]["allowed"], &answers[2]["line"]),
        (&json!(3), &json!(false), &json!(2))
    );
    assert!(answers[3]["error"].is_string(), "{}", answers[3]);
    assert_eq!(
        (&answers[4]["id"], &answers[4]["allowed"], &answers[4]["line"]),
        (&json!(5), &json!(true), &json!(null))
    );
}

#[test]
fn page_batch_tells_directives_effects_and_links() {
    let html = "<html><head><meta name=robots content='noindex'><title>t</title></head><body><a href=/x>x</a></body></html>";
    let lines = [
        json!({"id": 1, "html": html, "agent": "SuperRobot/1.0", "url": "http://a.test/dir/"}),
        json!({"id": 2, "headers": [["X-Robots-Tag", "otherbot: noindex"], ["X-Robots-Tag", "nofollow"]], "agent": "SuperRobot/1.0"}),
    ];
    let output = batch("page", &lines, "");
    let answers = output.expect(0).json();
    let one = &answers[0];
    assert_eq!((&one["id"], &one["index"], &one["follow"]), (&json!(1), &json!(false), &json!(true)));
    assert_eq!(one["effects"], json!({"store_text": false, "store_body": false, "enqueue_links": true}));
    assert_eq!(one["links"], json!(["http://a.test/x"]));
    assert!(one["because"].as_array().is_some_and(|because| !because.is_empty()), "{one}");
    assert_eq!((&answers[1]["index"], &answers[1]["follow"]), (&json!(true), &json!(false)));
}

#[test]
fn page_check_reads_a_tag_with_any_number_of_attributes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    // The smallest page that once ended the program, and a hundred times as much.
    for count in [6_600, 660_000] {
        let tag = format!("<p{}>", " a=\"\"".repeat(count));
        let attributes = " a=\"\"".repeat(count);
        std::fs::write(&file, format!("{tag}<meta{attributes} name=robots content=noindex><a href=/x>x</a>"))
            .unwrap();
        let check =
            Crawl::new(["page", "check", "--json", "--agent", "SuperRobot/1.0", file.to_str().unwrap()])
                .run();
        assert!(check.stdout.contains("\"index\":false"), "{check}");
    }
}
