//! `crawl explain`: each thing that it says would change the answer is done, and the answer changes. (What a resume with another limit
//! or scope changes is in `rejudge.rs`.)

use serde_json::Value;
use whole_program::program::{Crawl, Output};
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

fn html(body: &str) -> Answer {
    Answer::html(body.as_bytes().to_vec())
}

/// A front page that links to `/x`.
fn site(body: &str) -> Sites {
    Sites::new().page("a.test", "/", html("<a href=/x>x</a>")).page("a.test", "/x", html(body))
}

const X: &str = "http://a.test/x";

fn story(scene: &Scene, url: &str) -> Value {
    let shown = scene.look("explain", &[url, "--json"]);
    assert!(matches!(shown.code, Some(0 | 1)), "{shown}");
    shown.json().remove(0)
}

fn fate(scene: &Scene, url: &str) -> String {
    story(scene, url)["fate"].as_str().expect("a fate").to_owned()
}

/// Checks that one of the suggestions holds these words, and gives the answer.
#[track_caller]
fn says(scene: &Scene, url: &str, words: &str) -> String {
    let story = story(scene, url);
    assert!(story["change"].to_string().contains(words), "{words}: {story}");
    story["answer"].as_str().expect("an answer").to_owned()
}

fn revisit(scene: &Scene) -> Output {
    scene.resume().args(["--revisit", "0s"]).run()
}

/// A new crawl of the same server, from one seed.
fn new_crawl(scene: &Scene, seed: &str, arguments: &[&str]) -> Vec<String> {
    let seeds = scene.path("anew.txt");
    std::fs::write(&seeds, format!("{seed}\n")).expect("the seed file can be written");
    let out = scene.path("anew");
    if out.exists() {
        std::fs::remove_dir_all(&out).expect("the crawl before it can go");
    }
    Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0"])
        .args([std::path::Path::new("--seed"), &seeds, std::path::Path::new("--out"), &out])
        .args(scene.server.resolve())
        .args(arguments)
        .run();
    let pages = Crawl::new(["export"]).args([&out]).args(["--table", "pages", "--format", "jsonl"]).run();
    let fetched = pages.json().into_iter().filter(|row| row["status"] == 200);
    fetched.map(|row| row["url"].as_str().unwrap_or_default().to_owned()).collect()
}

fn has(pages: &[String], url: &str) -> bool {
    pages.iter().any(|page| page == url)
}

#[test]
fn an_error_and_a_failure_are_asked_for_again_by_a_revisit() {
    let scene = Scene::new(site("x"));
    scene.server.change("a.test", "/x", Answer::status(404));
    scene.crawl().run();
    assert_eq!(fate(&scene, X), "error");
    says(&scene, X, "a page at this URL; `crawl recrawl DIR --older-than 0s` fetches it again");
    scene.server.change("a.test", "/x", html("x"));
    revisit(&scene);
    assert_eq!(fate(&scene, X), "fetched");

    let scene = Scene::new(site("x"));
    scene.crawl().args(["--max-pages", "1"]).run();
    // A port where nobody listens.
    let file = scene.out().join("crawl.toml");
    let text = std::fs::read_to_string(&file).expect("the settings are there");
    let port = scene.server.address().port();
    scene.resume().args(["--resolve", "a.test:127.0.0.1:1", "--retries", "0", "--max-pages", "none"]).run();
    assert!(text.contains(&port.to_string()));
    if fate(&scene, X) == "failed" {
        says(&scene, X, "a response from its host; `crawl recrawl DIR --older-than 0s` fetches it again");
        let again = scene.resume().args(["--revisit", "0s", "--max-pages", "none"]).run();
        assert_eq!(fate(&scene, X), "fetched", "{again} {:#?}", story(&scene, X));
    }
}

#[test]
fn queued_urls_are_resumed() {
    let scene = Scene::new(site("x"));
    scene.crawl().args(["--max-pages", "1"]).run().expect(10);
    assert_eq!(fate(&scene, X), "queued");
    says(&scene, X, "`crawl resume DIR` with --max-pages above 1");
    scene.resume().run();
    assert_eq!(fate(&scene, X), "queued", "the same limit changes nothing");
    scene.resume().args(["--max-pages", "2"]).run();
    assert_eq!(fate(&scene, X), "fetched");

    let scene = Scene::new(site("x"));
    scene.crawl_every("1s").args(["--max-time", "700ms"]).run().expect(10);
    let url = "http://a.test/";
    assert_eq!(fate(&scene, url), "queued");
    says(&scene, url, "`crawl resume DIR` continues the crawl");
    scene.resume().args(["--max-time", "none"]).run().expect(0);
    assert_eq!(fate(&scene, url), "fetched");
}

#[test]
fn skipped_hosts_are_crawled_again_with_a_higher_limit() {
    let scene = Scene::new(site("x"));
    scene.crawl().args(["--max-pages-per-host", "1"]).run().expect(10);
    assert_eq!(fate(&scene, X), "parked");
    says(&scene, X, "`crawl resume DIR` with --max-pages-per-host above 1");
    scene.resume().args(["--max-pages-per-host", "2"]).run();
    assert_eq!(fate(&scene, X), "fetched");

    let slow = Answer::content("text/plain", "User-agent: *\nCrawl-delay: 2\n");
    let scene = Scene::new(site("x").page("a.test", "/robots.txt", slow));
    scene.crawl().args(["--max-crawl-delay", "1s"]).run();
    let url = "http://a.test/";
    assert_eq!(fate(&scene, url), "parked");
    let answer = says(&scene, url, "`crawl resume DIR` with a higher --max-crawl-delay");
    assert!(answer.contains("crawl-delay 2 s is over max-crawl-delay"), "{answer}");
    scene.resume().args(["--max-crawl-delay", "3s"]).run();
    assert_eq!(fate(&scene, url), "fetched");
}

#[test]
fn a_robots_txt_that_fails_is_no_denial() {
    let busy = Answer::status(503).header("Retry-After", "1");
    let scene = Scene::new(site("x").page("a.test", "/robots.txt", busy.clone()));
    scene.server.change("a.test", "/robots.txt", busy);
    scene.crawl().args(["--max-time", "900ms"]).run();
    let url = "http://a.test/";
    let before = story(&scene, url);
    assert_eq!(
        (before["fate"].as_str(), before["allowed"].as_bool()),
        (Some("queued"), Some(true)),
        "{before}"
    );
    let answer = before["answer"].as_str().expect("an answer");
    assert!(
        !answer.contains("denies") && answer.contains("is unreachable") && answer.contains("503"),
        "{answer}"
    );
    let text = scene.look("explain", &[url]).stdout;
    assert!(!text.contains("not allowed"), "{text}");
    says(
        &scene,
        url,
        "a usable response for http://a.test/robots.txt: a new crawl requests it at once, `crawl resume DIR` from",
    );
    let other = story(&scene, "http://a.test/never");
    let answer = other["answer"].as_str().expect("an answer");
    assert!(answer.contains("is unreachable") && !answer.contains("deny"), "{answer}");
    scene.server.change("a.test", "/robots.txt", Answer::robots(Rules::default()));
    let asked = scene.server.count();
    scene.resume().args(["--max-time", "none"]).run();
    assert_eq!((scene.server.count(), fate(&scene, url)), (asked, "queued".to_owned()), "it isn't time yet");
    assert!(has(&new_crawl(&scene, url, &[]), url));
}

#[test]
fn nothing_is_said_of_a_robots_txt_that_was_never_asked_for() {
    let scene = Scene::new(site("x"));
    scene.crawl().args(["--max-time", "1ms"]).run();
    let waits = story(&scene, "http://a.test/");
    if waits["robots"].is_null() {
        let answer = waits["answer"].as_str().expect("an answer");
        assert!(!answer.contains("robots"), "{answer}");
    }
    let stranger = story(&scene, "http://b.test/");
    let answer = stranger["answer"].as_str().expect("an answer");
    assert!(answer.contains("no robots.txt is stored for it") && !answer.contains("deny"), "{answer}");
}

#[test]
fn what_robots_txt_forbids_a_new_crawl_reads_again() {
    let denies = || Answer::robots(Rules::default().deny("/x"));
    let scene = Scene::new(site("x").page("a.test", "/robots.txt", denies()));
    scene.crawl().run();
    assert_eq!(fate(&scene, X), "skipped");
    let answer = says(&scene, X, "the site: a robots.txt that allows it, then a new crawl");
    assert!(answer.contains("robots.txt denies it: line 2"), "{answer}");
    assert!(!has(&new_crawl(&scene, "http://a.test/", &[]), X));
    scene.server.change("a.test", "/robots.txt", Answer::robots(Rules::default()));
    assert!(has(&new_crawl(&scene, "http://a.test/", &[]), X));
    // Known to no page: the same, with the URL as a seed.
    let unseen = "http://a.test/x/unseen";
    says(&scene, unseen, "the site: a robots.txt that allows it, then a new crawl");

    let scene = Scene::new(site("x").page("a.test", "/robots.txt", Answer::status(403)));
    scene.crawl().run();
    let url = "http://a.test/";
    let answer = says(&scene, url, "the site: a robots.txt that allows it, then a new crawl");
    assert!(answer.contains("robots.txt closes the site") && answer.contains("403"), "{answer}");
}

#[test]
fn links_that_forbid_to_be_followed_need_other_pages_or_a_seed() {
    let head = "<meta name=robots content=nofollow>";
    for (front, words) in [
        (
            "<a href=/x rel=nofollow>x</a>".to_owned(),
            "a link without nofollow, ugc or sponsored; `crawl recrawl DIR --older-than 0s`",
        ),
        (
            format!("{head}<a href=/x>x</a>"),
            "that page without nofollow; `crawl recrawl DIR --older-than 0s`",
        ),
    ] {
        let scene = Scene::new(site("x"));
        scene.server.change("a.test", "/", html(&front));
        scene.crawl().run();
        assert_eq!(fate(&scene, X), "skipped");
        says(&scene, X, words);
        says(&scene, X, "the URL in the seed file of a new crawl");
        assert!(has(&new_crawl(&scene, X, &[]), X));
        scene.server.change("a.test", "/", html("<a href=/x>x</a>"));
        revisit(&scene);
        assert_eq!(fate(&scene, X), "fetched");
    }
}

#[test]
fn what_lies_outside_needs_a_seed_or_a_wider_scope() {
    let scene = Scene::new(site("x").page("b.test", "/y", html("y")));
    std::fs::write(scene.seeds(), "http://a.test/\n").expect("the seed file can be written");
    scene.server.change("a.test", "/", html("<a href=http://b.test/y>y</a>"));
    scene.crawl().run();
    let url = "http://b.test/y";
    says(&scene, url, "the URL in the seed file of a new crawl");
    assert!(has(&new_crawl(&scene, url, &[]), url));
    // Met by no page, and outside: both are said, and both are needed.
    let unseen = "http://b.test/z";
    scene.server.change("b.test", "/z", html("z"));
    says(&scene, unseen, "`crawl resume DIR --scope any`, if a page links to it");
    scene.server.change("a.test", "/", html("<a href=http://b.test/z>z</a>"));
    scene.resume().args(["--scope", "any", "--revisit", "0s"]).run();
    assert_eq!(fate(&scene, unseen), "fetched");
}

#[test]
fn what_was_never_met_needs_a_link_or_a_seed() {
    let scene = Scene::new(site("x").page("a.test", "/new", html("n")));
    scene.crawl().run();
    let url = "http://a.test/new";
    assert_eq!(fate(&scene, url), "unseen");
    says(
        &scene,
        url,
        "a link to it from a page of the crawl; `crawl recrawl DIR --older-than 0s` fetches the pages again",
    );
    says(&scene, url, "the URL in the seed file of a new crawl");
    assert!(has(&new_crawl(&scene, url, &[]), url));
    scene.server.change("a.test", "/x", html("<a href=/new>n</a>"));
    revisit(&scene);
    assert_eq!(fate(&scene, url), "fetched");
}

#[test]
fn what_only_unlisted_links_lead_to_needs_a_link_elsewhere() {
    let none = "<meta name=robots content='noindex,nofollow'><a href=/new>n</a>";
    let scene = Scene::new(site(none).page("a.test", "/new", html("n")));
    scene.crawl().run();
    let url = "http://a.test/new";
    assert_eq!(fate(&scene, url), "unseen");
    says(&scene, url, "a link from another page");
    scene.server.change("a.test", "/", html("<a href=/x>x</a><a href=/new>n</a>"));
    revisit(&scene);
    assert_eq!(fate(&scene, url), "fetched");
}

#[test]
fn a_redirect_names_the_target_that_has_its_own_answer() {
    let scene = Scene::new(site("x").page("a.test", "/end", html("e")));
    scene.server.change("a.test", "/x", Answer::redirect(301, "/end"));
    scene.crawl().run();
    assert_eq!(fate(&scene, X), "redirected");
    says(&scene, X, "nothing; see `crawl explain DIR http://a.test/end` for the target");
    assert_eq!(fate(&scene, "http://a.test/end"), "fetched");
}

#[test]
fn what_a_directive_forbade_is_done_once_the_page_says_otherwise() {
    for (word, column, words) in [
        ("noindex", "indexed", "to be indexed: a page without it"),
        ("noarchive", "archived", "to be archived: a page without it"),
        ("nofollow", "followed", "to have its links followed: a page without it"),
    ] {
        // Another directive that has nothing to do with it isn't named.
        let scene = Scene::new(site(&format!(
            "<meta name=robots content='{word}'><meta name=robots content=nosnippet>x"
        )));
        scene.crawl().run();
        assert_eq!(story(&scene, X)["page"][column], false, "{word}");
        says(&scene, X, words);
        let change = story(&scene, X)["change"].to_string();
        assert!(!change.contains("nosnippet"), "{change}");
        scene.server.change("a.test", "/x", html("x"));
        revisit(&scene);
        assert_eq!(story(&scene, X)["page"][column], true, "{word}");
    }
}

#[test]
fn without_warc_nothing_else_is_blamed() {
    let scene = Scene::new(site("<meta name=robots content=nosnippet>x"));
    scene.crawl().args(["--no-warc"]).run();
    says(&scene, X, "to be archived: a new crawl with --warc");
    let change = story(&scene, X)["change"].to_string();
    assert!(!change.contains("nosnippet"), "{change}");
    new_crawl(&scene, "http://a.test/", &["--warc"]);
    let out = scene.path("anew");
    let shown = Crawl::new(["explain"]).args([&out]).args([X, "--json"]).run().json().remove(0);
    assert_eq!(shown["page"]["archived"], true);
}

#[test]
fn withdrawn_content_names_what_withdrew_it() {
    let scene = Scene::new(site("x"));
    scene.crawl().run();
    scene.server.change("a.test", "/x", html("<meta name=robots content=noindex>x"));
    revisit(&scene);
    let answer = says(
        &scene,
        X,
        "to be stored: the page without that directive; `crawl recrawl DIR --older-than 0s` fetches it again",
    );
    assert!(answer.contains("its content was withdrawn at") && answer.contains("noindex"), "{answer}");
    scene.server.change("a.test", "/x", html("x again"));
    revisit(&scene);
    let page = story(&scene, X)["page"].clone();
    assert_eq!((&page["indexed"], &page["archived"]), (&Value::Bool(true), &Value::Bool(true)), "{page}");
}

#[test]
fn another_purpose_that_the_site_permits_is_served() {
    let denies =
        Answer::content("text/plain", "User-agent: *\nContent-Signal: ai-train=no, search=yes\nAllow: /\n");
    let scene = Scene::new(site("x").page("a.test", "/robots.txt", denies));
    scene.crawl().args(["--purpose", "ai-train"]).run();
    let url = "http://a.test/";
    assert_eq!(fate(&scene, url), "skipped");
    says(&scene, url, "a new crawl with another --purpose that the site permits");
    assert!(has(&new_crawl(&scene, url, &["--purpose", "search"]), url));
}

#[test]
fn explain_and_robots_take_the_directory_first_or_last() {
    let scene =
        Scene::new(site("x").page("a.test", "/robots.txt", Answer::robots(Rules::default().deny("/y"))));
    scene.crawl().run();
    let out = scene.out();
    let out = out.to_str().expect("a path of text");
    for (command, subject) in
        [(&["explain"][..], X), (&["robots", "log"], "a.test"), (&["robots", "diff"], "http://a.test/")]
    {
        let first = Crawl::new(command).args([out, subject]).run();
        let last = Crawl::new(command).args([subject, out]).run();
        assert_eq!(first.expect(0).stdout, last.expect(0).stdout, "{command:?}");
        let nowhere = scene.path("nowhere");
        let nowhere = nowhere.to_str().expect("a path of text");
        let missing = Crawl::new(command).args([nowhere, X]).run();
        assert!(missing.stderr.contains("nowhere"), "{missing}");
        assert_eq!(Crawl::new(command).args([X, nowhere]).run().stderr, missing.stderr);
    }
    let neither = Crawl::new(["explain", X, X]).run();
    assert!(neither.code != Some(0) && neither.stderr.contains("crawl explain DIR URL"), "{neither}");
}

#[test]
fn of_several_links_the_one_that_got_furthest_is_explained() {
    let robots = Answer::robots(Rules::default().deny("/x"));
    // The form is found after robots.txt has denied the link.
    let scene = Scene::new(
        Sites::new()
            .page("a.test", "/", html("<a href=/x>x</a> <a href=/b>b</a>"))
            .page("a.test", "/b", html("<a href=/c>c</a>"))
            .page("a.test", "/c", html("<form action=/x></form>"))
            .page("a.test", "/x", html("x"))
            .page("a.test", "/robots.txt", robots),
    );
    scene.crawl().args(["--ledger", "full"]).run();
    let skips: Vec<_> = story(&scene, X)["decisions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|row| row["decision"] == "skipped")
        .map(|row| row["layer"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(skips, ["robots", "scope"], "the form comes last");
    let answer = says(&scene, X, "a robots.txt that allows it");
    assert!(answer.contains("robots.txt denies it: line 2: Disallow: /x"), "{answer}");
    let text = scene.look("explain", &[X]).expect(1).stdout.clone();
    assert!(text.contains("\n      form target\n"), "{text}");
    scene.server.change("a.test", "/robots.txt", Answer::robots(Rules::default().deny("/y")));
    assert!(has(&new_crawl(&scene, "http://a.test/", &[]), X));
}

#[test]
fn a_seed_that_is_skipped_is_called_a_seed() {
    let scene =
        Scene::new(site("x").page("a.test", "/robots.txt", Answer::robots(Rules::default().deny("/"))));
    scene.crawl().run();
    let url = "http://a.test/";
    assert_eq!(fate(&scene, url), "skipped");
    let found = story(&scene, url)["found"].clone();
    assert_eq!(found, serde_json::json!([{"url": url, "by": "seed"}]));
    let text = scene.look("explain", &[url]).expect(1).stdout.clone();
    assert!(!text.contains("it isn't a seed"), "{text}");
}

#[test]
fn what_a_limit_cut_off_is_fetched_with_a_higher_one() {
    let long = format!("{}<a href=/end>end</a>", "<p>text</p>".repeat(4_000));
    let scene = Scene::new(site(&long).page("a.test", "/end", html("end")));
    scene.crawl().args(["--max-body", "20KiB"]).run();
    let answer = says(&scene, X, "for the rest: a higher limits.max_body in DIR/crawl.toml");
    assert!(answer.contains("read in part: limits.max_body was reached"), "{answer}");
    let end = "http://a.test/end";
    assert_eq!(fate(&scene, end), "unseen");
    let file = scene.out().join("crawl.toml");
    let text = std::fs::read_to_string(&file).expect("the settings are there");
    let line = text.lines().find(|line| line.starts_with("max_body = ")).expect("the limit is there");
    std::fs::write(&file, text.replace(line, "max_body = \"1MiB\"")).expect("the settings can be written");
    revisit(&scene);
    assert_eq!(fate(&scene, end), "fetched");
    assert!(!story(&scene, X)["answer"].to_string().contains("read in part"));
}

#[test]
fn what_was_removed_comes_back_in_a_new_crawl_alone() {
    let scene = Scene::new(site("x"));
    scene.crawl().run();
    scene.look("forget", &["--regex", "^http://a[.]test/[xz]$", "--reason", "asked for"]).expect(0);
    let answer = says(&scene, X, "a new crawl in another directory");
    assert!(answer.contains("removed with `crawl forget`") && answer.contains("asked for"), "{answer}");
    assert!(!story(&scene, X)["change"].to_string().contains("crawl recrawl"));
    // It was never fetched, and never will be.
    let answer = says(&scene, "http://a.test/z", "a new crawl in another directory");
    assert!(answer.contains("`crawl forget` keeps it out"), "{answer}");
    revisit(&scene);
    assert!(story(&scene, X)["answer"].to_string().contains("removed with `crawl forget`"));
    assert!(has(&new_crawl(&scene, "http://a.test/", &[]), X));
}

#[test]
fn a_blocked_address_is_opened_by_the_option_that_is_named() {
    let scene = Scene::new(site("x"));
    let url = format!("http://127.0.0.1:{}/", scene.server.address().port());
    scene.server.change("a.test", "/", html(&format!("<a href={url}>local</a>")));
    scene.crawl().args(["--scope", "any"]).run();
    assert_eq!(fate(&scene, &url), "failed");
    let answer = says(&scene, &url, "`crawl resume DIR --allow-net 127.0.0.1/32`");
    assert!(
        answer.starts_with("not fetched: no connection was made: 127.0.0.1 is a loopback address"),
        "{answer}"
    );
    scene.resume().args(["--allow-net", "127.0.0.1/32"]).run();
    assert_ne!(fate(&scene, &url), "failed");
}

#[test]
fn the_commands_that_are_advised_name_the_directory() {
    let scene = Scene::new(site("x"));
    scene.crawl().args(["--max-pages", "1"]).run().expect(10);
    let out = scene.out();
    let out = out.to_str().expect("a path of text");
    let text = scene.look("explain", &[X]).expect(0).stdout.replace("\n    ", " ");
    assert!(text.contains(&format!("`crawl resume {out}` with --max-pages above 1")), "{text}");
    assert!(!text.contains("DIR"), "{text}");
}

#[test]
fn a_crawl_that_fetches_nothing_says_why_of_its_seeds() {
    let rows = [
        (Answer::robots(Rules::default().deny("/")), &[][..], "robots.txt denies it: line 2: Disallow: /"),
        (Answer::status(403), &[], "robots.txt closes the site"),
        (Answer::robots(Rules::default()), &["--exclude", "a[.]test"], "--exclude matches it"),
    ];
    for (robots, arguments, words) in rows {
        let scene = Scene::new(site("x").page("a.test", "/robots.txt", robots));
        let output = scene.crawl().args(arguments).run();
        let first = format!("  http://a.test/: not fetched: {words}");
        assert!(
            output.expect(4).stdout.lines().nth(1).is_some_and(|line| line.starts_with(&first)),
            "{output}"
        );
        let shown = scene.look("show", &[]).expect(0).stdout.replace("\n    ", " ");
        assert!(shown.contains(&first), "{shown}");
        let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
        assert_eq!((&summary["status"], &summary["totals"]["pages"]), (&"incomplete".into(), &0.into()));
        assert_eq!(summary["unfetched_seeds"][0]["url"], "http://a.test/");
    }

    // A seed that leads to a page that is denied.
    let robots = Answer::robots(Rules::default().deny("/x"));
    let scene = Scene::new(Sites::new().page("a.test", "/", Answer::redirect(301, "/x")).page(
        "a.test",
        "/robots.txt",
        robots,
    ));
    let output = scene.crawl().run();
    let line = "  http://a.test/: redirects to http://a.test/x, which is not fetched: robots.txt denies it: line 2: Disallow: /x";
    assert!(output.expect(4).stdout.contains(line), "{output}");

    // A status, a pattern, and more seeds than are explained.
    let scene = Scene::new(Sites::new().page("a.test", "/robots.txt", Answer::robots(Rules::default())));
    let mut seeds = "http://a.test/gone\nhttp://127.0.0.9:1/\n".to_owned();
    seeds.extend((0..7).map(|number| format!("http://a.test/{number}\n")));
    std::fs::write(scene.seeds(), seeds).expect("the seed file can be written");
    let output = scene.crawl().args(["--exclude", "127[.]0"]).run();
    for line in [
        "  http://a.test/gone: fetched with status 404",
        "  http://127.0.0.9:1/: not fetched: --exclude matches it",
        "  and 4 more seeds: see `crawl explain",
    ] {
        assert!(output.expect(4).stdout.contains(line), "{line}: {output}");
    }
}
