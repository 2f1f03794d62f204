//! A page with the same body as the page that it names as its original is archived once.

use serde_json::Value;
use whole_program::output_dir::archived_responses;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

#[test]
fn a_duplicate_of_its_canonical_page_is_archived_once() {
    let page =
        |text: &str| Answer::html(format!("<link rel=canonical href=/one><title>T</title><p>{text}</p>"));
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/one>1</a><a href=/one?s=2>2</a><a href=/one?s=3>3</a>"))
        .page("a.test", "/one", page("the same"))
        .page("a.test", "/one?s=2", page("the same"))
        .page("a.test", "/one?s=3", page("another"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    assert_eq!(scene.server.pages().len(), 4, "canonical or not, each is asked for");
    let archived = sorted(archived_responses(&scene.out().join("warc")));
    assert_eq!(archived, ["/", "/one", "/one?s=3"].map(|path| format!("http://a.test{path}")));
    let pages = scene.table("pages");
    let record = |path: &str| {
        let url = format!("http://a.test{path}");
        pages.iter().find(|page| page["url"] == url.as_str()).expect("a record")
    };
    let duplicate = record("/one?s=2");
    assert_eq!((&duplicate["title"], &duplicate["archived"]), (&"T".into(), &false.into()));
    assert_eq!(duplicate["duplicate_of"], "http://a.test/one");
    assert_eq!(
        (&record("/one")["duplicate_of"], &record("/one?s=3")["duplicate_of"]),
        (&Value::Null, &Value::Null)
    );
    let ledger = scene.table("ledger");
    let entries: Vec<_> = ledger.iter().filter(|entry| entry["decision"] == "not_archived").collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((&entries[0]["layer"], &entries[0]["reason"]), (&"dedup".into(), &"duplicate".into()));
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_mirror_of_its_meta_url_is_archived_once() {
    let page = |text: &str| {
        Answer::html(format!(
            "<meta name=url content='http://a.test/one'><title>T</title><p>{text}</p><a href=http://a.test/next>n</a>"
        ))
    };
    let noindex = page("the same").header("X-Robots-Tag", "noindex");
    let both = "<link rel=canonical href=/next><meta http-equiv=URL content=HTTP://A.test:80/two#x>two";
    let sites = Sites::new()
        .page(
            "a.test",
            "/",
            Answer::html("<a href=/one>1</a><a href=/two>2</a><a href=/mirror>m</a><a href=/copy>c</a>"),
        )
        .page("a.test", "/one", page("the same"))
        .page("a.test", "/two", Answer::html(both))
        .page("a.test", "/mirror", page("the same"))
        .page(
            "a.test",
            "/copy",
            Answer::html("<a href=/changed>d</a><a href=/hidden>h</a><a href=/both>b</a>"),
        )
        .page("a.test", "/changed", page("another"))
        .page("a.test", "/hidden", noindex)
        .page("a.test", "/both", Answer::html(both))
        .page("a.test", "/next", Answer::html("next"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    assert_eq!(scene.server.pages().len(), 9, "a mirror or not, each is asked for, and so are its links");
    let archived = sorted(archived_responses(&scene.out().join("warc")));
    let expected =
        ["/", "/changed", "/copy", "/next", "/one", "/two"].map(|path| format!("http://a.test{path}"));
    assert_eq!(archived, expected);
    let pages = scene.table("pages");
    let record = |path: &str| {
        let url = format!("http://a.test{path}");
        pages.iter().find(|page| page["url"] == url.as_str()).expect("a record")
    };
    let mirror = record("/mirror");
    assert_eq!((&mirror["title"], &mirror["archived"]), (&"T".into(), &false.into()));
    assert_eq!(mirror["duplicate_of"], "http://a.test/one");
    // The canonical page has another body: the other word counts.
    assert_eq!(record("/both")["duplicate_of"], "http://a.test/two");
    for path in ["/one", "/two", "/changed", "/hidden"] {
        assert_eq!(record(path)["duplicate_of"], Value::Null, "{path}");
    }
    let ledger = scene.table("ledger");
    let entries: Vec<_> = ledger.iter().filter(|entry| entry["decision"] == "not_archived").collect();
    let of = |path: &str| {
        let url = format!("http://a.test{path}");
        let entry = entries.iter().find(|entry| entry["url"] == url.as_str() && entry["layer"] == "dedup");
        entry.map(|entry| entry["evidence"].to_string()).unwrap_or_default()
    };
    assert!(of("/mirror").contains("same digest as its meta URL"), "{entries:?}");
    assert!(of("/both").contains("same digest as its meta URL"), "{entries:?}");
    scene.look("audit", &[]).expect(0);
}
