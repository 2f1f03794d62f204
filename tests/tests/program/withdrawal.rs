//! Content that may be kept no longer leaves every file: pages that turn noindex or noarchive, and dates that come.

use std::time::Duration;

use crawler::record::RobotsRecord;
use crawler::store::{SledStore, Store as _, Tree, Write};
use serde_json::Value;
use whole_program::output_dir::{archived_responses, files_with};
use whole_program::program::{Output, binary};
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

fn html(marker: &str, head: &str) -> String {
    let text = format!("{marker} ").repeat(200);
    format!(
        "<html><head><title>T {marker}</title><meta name=description content='D {marker}'>\
         <meta property=og:title content='O {marker}'>\
         <script type='application/ld+json'>{{\"name\":\"J {marker}\"}}</script>{head}</head>\
         <body><p>{text}</p><a href=/>L {marker}</a></body></html>"
    )
}

fn page(marker: &str, head: &str) -> Answer {
    Answer::html(html(marker, head))
}

fn record(scene: &Scene, path: &str) -> Value {
    let url = format!("http://a.test{path}");
    let pages = scene.table("pages");
    pages
        .into_iter()
        .find(|page| page["url"] == url.as_str())
        .unwrap_or_else(|| panic!("{url} has no record"))
}

#[expect(clippy::disallowed_methods, reason = "a date has to come on the wall clock")]
fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

fn revisit(scene: &Scene) -> Output {
    scene.resume().args(["--revisit", "0s"]).run()
}

#[test]
fn a_page_that_turns_noindex_or_noarchive_leaves_every_file_within_the_run() {
    let noindex = "<meta name=robots content=noindex>";
    let noarchive = "<meta name=robots content=noarchive>";
    let links = "<a href=/index>1</a><a href=/archive>2</a><a href=/unchanged>3</a><a href=/gone>4</a>\
                 <a href=/changed>5</a><a href=/down>6</a><a href=/wish>7</a><a href=/same>8</a>";
    let tagged = |answer: Answer| answer.header("ETag", "\"1\"");
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(links))
        .page("a.test", "/index", page("mturnsindex", ""))
        .page("a.test", "/index", page("mturnsindex", noindex))
        .page("a.test", "/archive", page("mturnsarchive", ""))
        .page("a.test", "/archive", page("mturnsarchive", noarchive))
        .page("a.test", "/unchanged", tagged(page("munchanged", "")))
        .page("a.test", "/unchanged", tagged(Answer::status(304)).header("X-Robots-Tag", "noindex"))
        .page("a.test", "/same", tagged(page("msame", "")))
        .page("a.test", "/same", tagged(Answer::status(304)))
        .page("a.test", "/gone", page("mgone", ""))
        .page("a.test", "/gone", Answer::status(404))
        .page("a.test", "/changed", page("mold", ""))
        .page("a.test", "/changed", page("mnew", ""))
        .page("a.test", "/down", page("mdown", ""))
        .page("a.test", "/down", Answer::status(500))
        .page("a.test", "/wish", page("mwish", "<meta name=revisit-after content='3 days'>"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--retries", "0"]).run().expect(0);
    let markers = ["mturnsindex", "mturnsarchive", "munchanged"];
    assert!(!files_with(&scene.out().join("warc"), &["mturnsindex"]).is_empty());
    assert!(
        !files_with(&scene.out().join("db"), &["T mturnsindex"]).is_empty(),
        "the search finds what is there"
    );
    let captured = archived_responses(&scene.out().join("warc")).len();

    let output = revisit(&scene);
    output.expect(0);
    assert!(output.stderr.contains("revisiting 8 pages"), "{output}");
    let asked = scene.server.log();
    let unchanged = asked.iter().filter(|hit| hit.url().ends_with("/unchanged")).count();
    let wish = asked.iter().filter(|hit| hit.url().ends_with("/wish")).count();
    assert_eq!((unchanged, wish), (2, 1), "a page isn't visited earlier than it wishes");

    for marker in [markers[0], markers[2]] {
        let found = files_with(&scene.out(), &[marker]);
        assert!(found.is_empty(), "{marker}: {found:?}");
    }
    let found = files_with(&scene.out().join("warc"), &[markers[1]]);
    assert!(found.is_empty(), "{found:?}");
    // Every record of the archive is still whole and in its place; three of them say what they were.
    let left = archived_responses(&scene.out().join("warc")).len();
    // New: the front page, the changed page and the 404; an error that may pass isn't kept.
    assert_eq!(left, captured - 3 + 3);

    let index = record(&scene, "/index");
    assert_eq!(
        (&index["title"], &index["indexed"], &index["archived"]),
        (&Value::Null, &false.into(), &false.into())
    );
    assert!(index["withdrawn_because"].as_str().unwrap().contains("noindex (meta robots"), "{index}");
    assert_eq!(index["visits"], 2);
    let archive = record(&scene, "/archive");
    assert_eq!((&archive["title"], &archive["archived"]), (&"T mturnsarchive".into(), &false.into()));
    assert!(archive["withdrawn_because"].as_str().unwrap().starts_with("noarchive"), "{archive}");
    let unchanged = record(&scene, "/unchanged");
    assert_eq!(unchanged["title"], Value::Null);
    assert!(
        unchanged["withdrawn_because"].as_str().unwrap().contains("header x-robots-tag: noindex"),
        "{unchanged}"
    );
    let same = record(&scene, "/same");
    assert_eq!((&same["title"], &same["status"]), (&"T msame".into(), &200.into()));
    assert!(same["checked_at"].is_string());
    assert_eq!(record(&scene, "/changed")["title"], "T mnew");
    assert_eq!(record(&scene, "/gone")["status"], 404);
    assert_eq!(record(&scene, "/down")["title"], "T mdown", "an error that may pass changes nothing stored");
    for kept in ["mold", "mnew", "mgone", "mdown"] {
        assert!(!files_with(&scene.out().join("warc"), &[kept]).is_empty(), "{kept}");
    }
    let links = scene.table("links");
    assert!(links.iter().all(|link| !link["text"].as_str().unwrap_or_default().contains("mturnsindex")));
    let ledger = scene.table("ledger");
    let withdrawn = ledger.iter().filter(|entry| entry["decision"] == "withdrawn");
    let withdrawn = sorted(withdrawn.map(|entry| entry["url"].as_str().unwrap().to_owned()).collect());
    assert_eq!(withdrawn, ["/archive", "/index", "/unchanged"].map(|path| format!("http://a.test{path}")));

    // What is done isn't done again.
    scene.resume().run().expect(0);
    let entries = scene.table("ledger");
    assert_eq!(entries.iter().filter(|entry| entry["decision"] == "withdrawn").count(), 3);
}

#[test]
fn a_page_is_withheld_from_the_date_of_unavailable_after_on_and_leaves_at_the_next_run() {
    // The first use builds the program, which may take longer than anything here.
    let _built = binary();
    let date = jiff::Timestamp::now() + Duration::from_secs(8);
    let head =
        format!("<meta name=robots content='unavailable_after: {}'>", date.strftime("%Y-%m-%dT%H:%M:%SZ"));
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/soon>s</a><a href=/later>l</a>"))
        .page("a.test", "/soon", page("msoon", &head))
        .page(
            "a.test",
            "/later",
            page("mlater", "<meta name=robots content='unavailable_after: 2999-01-01'>"),
        );
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    if jiff::Timestamp::now() < date {
        assert_eq!(record(&scene, "/soon")["title"], "T msoon");
    }
    while jiff::Timestamp::now() <= date + Duration::from_secs(1) {
        pause();
    }
    let soon = record(&scene, "/soon");
    assert_eq!(
        (&soon["title"], &soon["og_title"], &soon["warc_file"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let texts = scene.table("links");
    assert!(texts.iter().all(|link| !link["text"].as_str().unwrap_or_default().contains("msoon")));

    scene.resume().run().expect(0);
    let found = files_with(&scene.out(), &["msoon"]);
    assert!(found.is_empty(), "{found:?}");
    assert!(record(&scene, "/soon")["withdrawn_because"].as_str().unwrap().starts_with("unavailable_after"));
    assert_eq!(record(&scene, "/later")["title"], "T mlater");
    assert!(!files_with(&scene.out().join("warc"), &["mlater"]).is_empty());
}

#[test]
fn a_page_that_robots_txt_forbids_later_stays_or_goes_as_the_operator_chose() {
    for (choice, kept) in [("keep", true), ("withdraw", false)] {
        let sites = Sites::new()
            .page("a.test", "/robots.txt", Answer::content("text/plain", "User-agent: *\nDisallow:\n"))
            .page("a.test", "/robots.txt", Answer::content("text/plain", "User-agent: *\nDisallow: /x\n"))
            .page("a.test", "/", Answer::html("<a href=/x>x</a>"))
            .page("a.test", "/x", page("mlater", ""));
        let scene = Scene::new(sites);
        scene.crawl().run().expect(0);
        // Its robots.txt was fetched a day ago, as far as the crawl knows.
        {
            let store = SledStore::open(&scene.out().join("db")).expect("the database opens");
            let (key, value) = store.last(Tree::Robots, b"http://a.test\0").unwrap().expect("a version");
            let record = RobotsRecord::read(&value).unwrap();
            let record = RobotsRecord { expires: record.fetched_at, ..record };
            store.commit(vec![Write::put(Tree::Robots, key, record.write().unwrap())]).unwrap();
        }
        let settings = scene.out().join("crawl.toml");
        let text = std::fs::read_to_string(&settings).unwrap();
        let chosen = text.replace("on_later_denial = \"keep\"", &format!("on_later_denial = \"{choice}\""));
        std::fs::write(&settings, chosen).unwrap();
        revisit(&scene).expect(0);
        let asked = scene.server.log();
        assert_eq!(
            asked.iter().filter(|hit| hit.url().ends_with("/x")).count(),
            1,
            "it isn't asked for again"
        );
        assert_eq!(!files_with(&scene.out(), &["mlater"]).is_empty(), kept, "{choice}");
        let record = record(&scene, "/x");
        assert_eq!(record["title"] == "T mlater", kept);
        if !kept {
            let because = record["withdrawn_because"].as_str().unwrap();
            assert!(because.starts_with("robots.txt") && because.contains("Disallow: /x"), "{because}");
        }
    }
}
