//! `crawl forget`: what was removed is in no file, in no form, and isn't fetched again.

use std::path::Path;

use crawler::record::{Forget, ForgetRule};
use crawler::store::{SledStore, Store as _, Tree, Write};
use crawler::warc::Reader;
use serde_json::Value;
use whole_program::output_dir::{files, files_with};
use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

/// A page with a marker in everything that comes from a server.
fn page(marker: &str) -> Answer {
    let text = format!("{marker} ").repeat(200);
    let body = format!(
        "<html lang=en><head><title>T {marker}</title><meta name=description content='D {marker}'>\
         <meta name=keywords content='{marker}'><meta property=og:title content='O {marker}'>\
         <script type='application/ld+json'>{{\"name\":\"J {marker}\"}}</script></head>\
         <body><h1>H {marker}</h1><p>{text}</p><a href=/ rel='{marker}'>L {marker}</a></body></html>"
    );
    Answer::html(body)
        .header("ETag", &format!("\"{marker}\""))
        .header("X-Robots-Tag", &format!("all, {marker}"))
}

/// URL and decision of the ledger's entries about something.
fn entries(scene: &Scene, about: &str) -> Vec<String> {
    let ledger = scene.table("ledger");
    let decided = |entry: &Value| entry["decision"].as_str().unwrap_or_default().to_owned();
    ledger.iter().filter(|entry| entry["url"] == about).map(decided).collect()
}

fn asked(scene: &Scene, path: &str) -> usize {
    scene.server.log().iter().filter(|hit| hit.url().ends_with(path)).count()
}

#[test]
fn a_forgotten_page_is_in_no_file_and_is_never_fetched_again() {
    let links = "<a href=/secret>1</a><a href=/copy>2</a><a href=/kept>3</a><a href=/later>4</a>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(links))
        .page("a.test", "/secret", page("zqsecret"))
        .page("a.test", "/secret", page("zqsecondvisit"))
        .page("a.test", "/copy", Answer::redirect(302, "/secret"))
        .page("a.test", "/kept", page("zqkept"))
        .page("a.test", "/later", Answer::html("<a href=/secret>again</a>"))
        .page("a.test", "/later", Answer::html("<a href=/secret>again</a><a href=/secret#x>changed</a>"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    assert_eq!(asked(&scene, "/secret"), 2);
    for marker in ["zqsecret", "zqsecondvisit", "zqkept"] {
        let found = files_with(&scene.out(), &[marker]);
        let of = |dir: &str| found.iter().any(|(path, _)| path.starts_with(scene.out().join(dir)));
        assert!(of("warc") && of("db"), "{marker}: the search finds what is there");
    }

    let forget = scene.look("forget", &["http://a.test/secret#part", "--reason", "asked for by its owner"]);
    forget.expect(0);
    // Two captures with request and metadata each.
    assert_eq!(forget.stdout, "forgotten: 1 page, 6 records of the archive; never fetched again\n");
    let found = files_with(&scene.out(), &["zqsecret", "zqsecondvisit"]);
    assert!(found.is_empty(), "{found:?}");
    assert!(!files_with(&scene.out().join("warc"), &["zqkept"]).is_empty());

    // A tombstone remains: URL, status, time and reason.
    let rows = scene.table("pages");
    let row = rows.iter().find(|row| row["url"] == "http://a.test/secret").expect("a record");
    assert_eq!((&row["status"], &row["title"], &row["digest"]), (&200.into(), &Value::Null, &Value::Null));
    assert_eq!(row["withdrawn_because"], "forgotten: asked for by its owner");
    assert!(row["withdrawn_at"].is_string());
    assert!(scene.table("links").iter().all(|link| link["from"] != "http://a.test/secret"));
    assert_eq!(entries(&scene, "http://a.test/secret").iter().filter(|word| *word == "forgotten").count(), 1);
    let told = scene.look("explain", &["http://a.test/secret"]);
    assert!(told.stdout.contains("asked for by its owner"), "{told}");
    assert!(scene.look("search", &["zqsecret"]).expect(0).stdout.contains("nothing found"));
    assert!(scene.look("search", &["zqkept"]).expect(0).stdout.contains("/kept"));
    let index = scene.look("export", &["--format", "cdxj"]).expect(0).stdout.clone();
    assert!(!index.contains("/secret") && index.contains("/kept"), "{index}");
    // Every record is still whole and in its place.
    for path in files(&scene.out().join("warc")).iter().filter(|path| path.to_string_lossy().ends_with(".gz"))
    {
        for record in Reader::open(path).unwrap() {
            let record = record.expect("a whole record");
            let is_about = record.field("WARC-Target-URI") == Some("http://a.test/secret");
            assert!(!is_about || record.kind() == "metadata" && record.block.starts_with(b"withdrawn: "));
        }
    }
    scene.look("audit", &[]).expect(0);

    // It is linked, and redirected to, and not asked for.
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    assert_eq!((asked(&scene, "/secret"), asked(&scene, "/later")), (2, 3));
    let links = scene.table("links");
    let outcomes =
        links.iter().filter(|link| link["to"] == "http://a.test/secret" && link["from"] != "http://a.test/");
    let outcomes = sorted(outcomes.map(|link| link["outcome"].as_str().unwrap().to_owned()).collect());
    assert!(!outcomes.is_empty() && outcomes.iter().all(|outcome| outcome == "forgotten"), "{outcomes:?}");
    scene.look("audit", &[]).expect(0);
    scene.look("index", &[]).expect(0);
    let found = files_with(&scene.out(), &["zqsecret", "zqsecondvisit"]);
    assert!(found.is_empty(), "{found:?}");

    // Twice is as good as once.
    let again = scene.look("forget", &["http://a.test/secret"]);
    assert!(again.expect(0).stdout.starts_with("forgotten: 0 pages, 6 records"), "{again}");
    assert_eq!(entries(&scene, "http://a.test/secret").iter().filter(|word| *word == "forgotten").count(), 1);
    let page = scene.table("pages").into_iter().find(|row| row["url"] == "http://a.test/secret");
    assert_eq!(page.expect("a record")["withdrawn_because"], "forgotten: asked for by its owner");
}

#[test]
fn a_host_and_what_matches_are_forgotten_before_they_are_fetched_too() {
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/x.pdf>1</a><a href=/y>2</a><a href=/slow>3</a>"))
        .page("a.test", "/x.pdf", page("zqpdf"))
        .page("a.test", "/y", page("zqy"))
        .page("a.test", "/slow", Answer::html("<a href=/z.pdf>3</a><a href=/end>4</a>"))
        .page("b.test", "/robots.txt", Answer::content("text/plain", "User-agent: *\nDisallow: /zqrobots\n"))
        .page("b.test", "/", page("zqhost"))
        .page("b.test", "/sub", page("zqsub"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--max-pages", "4"]).run();
    let removed = scene.look("forget", &["--regex", "[.]pdf$", "--json"]).expect(0).json();
    assert_eq!(removed[0]["v"], 1);
    scene.look("forget", &["B.test.", "--reason", "asked\u{1b}[31m for"]).expect(0);
    let found = files_with(&scene.out(), &["zqpdf", "zqhost", "zqsub"]);
    assert!(found.is_empty(), "{found:?}");
    // robots.txt is the evidence for what was done.
    assert!(!files_with(&scene.out(), &["zqrobots"]).is_empty());
    scene.look("audit", &[]).expect(0);
    let before = scene.server.log().len();
    scene.resume().args(["--max-pages", "none"]).run().expect(0);
    let log = scene.server.log();
    let later: Vec<_> = log[before..].iter().map(whole_program::request_log::Request::url).collect();
    assert!(later.iter().all(|url| !url.contains("b.test") && !url.contains(".pdf")), "{later:?}");
    assert!(later.iter().any(|url| url.ends_with("/end")), "{later:?}");
    scene.look("audit", &[]).expect(0);

    for wrong in
        [&["--regex", "("][..], &["not a host"], &["ftp://a.test/"], &[], &["x.test", "--regex", "x"]]
    {
        scene.look("forget", wrong).expect(2);
    }
    let nowhere = scene.path("nowhere");
    Crawl::new([Path::new("forget"), &nowhere]).args(["a.test"]).run().expect(2);
}

#[test]
fn an_interrupted_removal_is_a_violation_until_a_resume_finishes_it() {
    let sites = Sites::new().page("a.test", "/", Answer::html("<a href=/secret>1</a>")).page(
        "a.test",
        "/secret",
        page("zqsecret"),
    );
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    {
        // As after a kill right behind the first commit.
        let store = SledStore::open(&scene.out().join("db")).unwrap();
        let rule = ForgetRule {
            v: 1,
            forget: Forget::Url("http://a.test/secret".to_owned()),
            at: jiff::Timestamp::now(),
            reason: String::new(),
            done: false,
        };
        let value = serde_json::to_vec(&rule).unwrap();
        store.commit(vec![Write::put(Tree::Meta, ForgetRule::key(0), value)]).unwrap();
    }
    let audit = scene.look("audit", &[]);
    assert!(audit.expect(14).stdout.contains("its removal was interrupted"), "{audit}");
    scene.resume().run().expect(0);
    let found = files_with(&scene.out(), &["zqsecret"]);
    assert!(found.is_empty(), "{found:?}");
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_body_that_is_stored_once_goes_with_the_page_that_has_it_and_the_others_are_named() {
    let body = "<html><body>".to_owned() + &"zqshared words ".repeat(300) + "</body></html>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/one>1</a><a href=/two>2</a>"))
        .page("a.test", "/one", Answer::html(body.clone()))
        .page("a.test", "/two", Answer::html(body));
    let scene = Scene::new(sites);
    std::fs::write(scene.path("config.toml"), "[warc]\ndedup = \"crawl\"\n").unwrap();
    scene.crawl().args([Path::new("--config"), &scene.path("config.toml")]).run().expect(0);
    let is_original = |path: &str| {
        files(&scene.out().join("warc")).iter().filter(|file| file.to_string_lossy().ends_with(".gz")).any(
            |file| {
                Reader::open(file).unwrap().map(|record| record.unwrap()).any(|record| {
                    record.kind() == "response"
                        && record.field("WARC-Target-URI").is_some_and(|url| url.ends_with(path))
                })
            },
        )
    };
    let (one, two) = if is_original("/one") { ("one", "two") } else { ("two", "one") };
    let forget = scene.look("forget", &[&format!("http://a.test/{one}")]);
    assert!(
        forget.expect(0).stderr.contains(&format!(
            "1 other capture, and stored it once: it is gone there, too (http://a.test/{two})"
        )),
        "{forget}"
    );
    assert!(files_with(&scene.out().join("warc"), &["zqshared"]).is_empty());
    scene.look("audit", &[]).expect(0);
    // The other page is stored with its body at its next visit.
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    assert!(is_original(&format!("/{two}")) && !is_original(&format!("/{one}")));
    scene.look("audit", &[]).expect(0);
}

#[test]
fn pages_that_were_found_on_a_forgotten_one_stay_and_the_audit_says_what_it_cannot_check() {
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/secret>1</a>"))
        .page("a.test", "/secret", Answer::html("<a href=/next>2</a>"))
        .page("a.test", "/next", Answer::html("the end"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    scene.look("forget", &["http://a.test/secret"]).expect(0);
    let audit = scene.look("audit", &["--json"]);
    let report: Value = serde_json::from_str(&audit.expect(0).stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let discovery = checks.iter().find(|check| check["name"] == "discovery").unwrap();
    assert_eq!(discovery["unchecked"]["forgotten"], 1, "{discovery}");
    assert!(scene.table("pages").iter().any(|page| page["url"] == "http://a.test/next"));
}
