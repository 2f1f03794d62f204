//! A page with the same body as its own `rel=canonical` is archived once.

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
