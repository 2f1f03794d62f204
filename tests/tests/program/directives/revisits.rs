//! Pages that turn noindex, or noindex and nofollow, at a later visit: what their links revealed is removed, in every
//! file; and by what a page
//! under noindex is asked for again.

use serde_json::Value;
use whole_program::output_dir::marked_in_files;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

const HOST: &str = "http://a.test";
const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

fn page(name: &str, head: &str) -> Answer {
    let m = |part: &str| format!("zq-{name}-{part}-qz");
    let html = format!(
        "<html><head><title>{title}</title>{head}</head><body><nav><a href=/seen rel='{rel} noopener' hreflang={hl}>{anchor}</a></nav>\
         <a href=http://else.test/ rel='ugc {ugc}'>{anchor}</a><p>{body}</p></body></html>",
        title = m("title"),
        rel = m("rel"),
        hl = m("hl"),
        anchor = m("anchor"),
        ugc = m("ugc"),
        body = m("body").repeat(100),
    );
    Answer::html(html).header("ETag", &format!("\"{}\"", m("etag"))).header("Last-Modified", DATE)
}

fn front(names: &[&str]) -> Answer {
    let links = names.iter().map(|name| format!("<a href=/{name}>p</a>")).collect::<Vec<_>>().concat();
    Answer::html(links + "<a href=/seen>s</a>")
}

fn revisit(scene: &Scene) {
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
}

/// Markers of a page in any file.
fn found(scene: &Scene, name: &str) -> Vec<String> {
    let found = marked_in_files(&scene.out(), "zq-", "-qz").into_iter();
    found.filter(|text| text.starts_with(&format!("zq-{name}-"))).collect()
}

fn links_of(scene: &Scene, name: &str) -> Vec<Value> {
    let links = scene.look("export", &["--table", "links", "--format", "jsonl", "--include-noindex"]);
    let of = format!("{HOST}/{name}");
    links.expect(0).json().into_iter().filter(|link| link["from"] == of.as_str()).collect()
}

/// A name, how the page begins, what it turns to, and whether its links stay as bare targets.
type Turn = (&'static str, fn(&str) -> Answer, fn(&str) -> Answer, bool);

const NOINDEX: &str = "<meta name=robots content=noindex>";
const NONE: &str = "<meta name=robots content=none>";

const TURNS: &[Turn] = &[
    ("noindex", |name| page(name, ""), |name| page(name, NOINDEX), true),
    ("none", |name| page(name, ""), |name| page(name, NONE), false),
    ("unchanged", |name| page(name, ""), |_| Answer::status(304).header("X-Robots-Tag", "noindex"), true),
    ("unchangednone", |name| page(name, ""), |_| Answer::status(304).header("X-Robots-Tag", "none"), false),
    ("twice", |name| page(name, NOINDEX), |name| page(name, NONE), false),
    ("later", |name| page(name, NOINDEX), |_| Answer::status(304).header("X-Robots-Tag", "none"), false),
    ("nofollow", |name| page(name, "<meta name=robots content=nofollow>"), |name| page(name, NONE), false),
];

#[test]
fn a_page_that_turns_noindex_or_none_keeps_of_its_links_no_more_than_one_that_always_was() {
    let names: Vec<&str> = TURNS.iter().map(|turn| turn.0).collect();
    let mut sites =
        Sites::new().page("a.test", "/", front(&names)).page("a.test", "/seen", Answer::html("s"));
    for (name, before, after, _) in TURNS {
        let path = format!("/{name}");
        sites = sites.page("a.test", &path, before(name)).page("a.test", &path, after(name));
    }
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    for (name, before, ..) in TURNS {
        let is_noindex = String::from_utf8_lossy(&before(name).body).contains("content=noindex");
        assert_eq!(
            found(&scene, name).is_empty(),
            is_noindex,
            "{name}: what is searched for is there before"
        );
    }
    revisit(&scene);
    for (name, _, _, lists) in TURNS {
        assert_eq!(found(&scene, name), Vec::<String>::new(), "{name}");
        let links = links_of(&scene, name);
        assert_eq!(links.len(), if *lists { 2 } else { 0 }, "{name}: {links:?}");
        assert!(links.iter().all(|link| link["rel"] == "" && link["text"] == ""), "{links:?}");
        let ledger = scene.table("ledger");
        let reported = ledger.iter().filter(|entry| {
            entry["decision"] == "not_listed" && entry["url"] == format!("{HOST}/{name}").as_str()
        });
        assert_eq!(reported.count(), usize::from(!lists), "{name}");
    }
    scene.look("audit", &[]).expect(0);
}

/// A status of a revisit, and whether the page that is stored stays.
const ANSWERS: &[(u16, bool)] = &[
    (206, true),
    (408, true),
    (421, true),
    (425, true),
    (501, true),
    (403, false),
    (404, false),
    (410, false),
];

#[test]
fn a_status_that_says_nothing_of_a_page_leaves_what_is_stored_of_it() {
    let names: Vec<String> = ANSWERS.iter().map(|(status, _)| format!("s{status}")).collect();
    let mut sites = Sites::new()
        .page("a.test", "/", front(&names.iter().map(String::as_str).collect::<Vec<_>>()))
        .page("a.test", "/seen", Answer::html("s"));
    for (name, (status, _)) in names.iter().zip(ANSWERS) {
        let later = Answer { status: *status, ..Answer::html("<title>another</title>") };
        let path = format!("/{name}");
        sites = sites.page("a.test", &path, page(name, "")).page("a.test", &path, later);
    }
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    revisit(&scene);
    let pages = scene.table("pages");
    for (name, (status, stays)) in names.iter().zip(ANSWERS) {
        let row = pages.iter().find(|row| row["url"] == format!("{HOST}/{name}").as_str()).expect(name);
        let stored = if *stays { 200 } else { u64::from(*status) };
        assert_eq!((&row["status"], row["error"].is_null()), (&stored.into(), *stays), "{row}");
        assert_eq!(row["title"].as_str(), stays.then_some(&*format!("zq-{name}-title-qz")), "{row}");
        assert_eq!(links_of(&scene, name).len(), if *stays { 2 } else { 0 }, "{name}");
    }
    scene.look("audit", &[]).expect(0);
}

#[test]
fn an_unrequested_part_and_unchanged_without_a_stored_page_are_errors() {
    let sites = Sites::new()
        .page("a.test", "/", front(&["part", "unchanged"]))
        .page("a.test", "/seen", Answer::html("s"))
        .page("a.test", "/part", Answer { status: 206, ..page("part", "") })
        .page("a.test", "/unchanged", Answer::status(304))
        .page(
            "a.test",
            "/sitemap.xml",
            Answer { status: 206, ..Answer::content("text/plain", "http://a.test/named\n") },
        )
        .page("a.test", "/named", Answer::html("n"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--sitemaps"]).run().expect(0);
    assert!(scene.server.hits().iter().all(|hit| hit.request.path != "/named"), "a part of a sitemap");
    let pages = scene.table("pages");
    for (name, error) in [("part", "http_206"), ("unchanged", "http_304")] {
        let row = pages.iter().find(|row| row["url"] == format!("{HOST}/{name}").as_str()).expect(name);
        assert_eq!(
            (&row["error"], &row["archived"], &row["indexed"]),
            (&error.into(), &false.into(), &false.into())
        );
        assert_eq!(links_of(&scene, name).len(), 0, "{name}");
    }
    assert_eq!(found(&scene, "part"), Vec::<String>::new(), "what the missing part says isn't known");
    let totals = &scene.look("show", &["--json"]).expect(0).json()[0]["totals"];
    assert_eq!(
        (&totals["pages"], &totals["failed"], &totals["redirects"]),
        (&2.into(), &2.into(), &0.into())
    );
    scene.look("audit", &[]).expect(0);
}

#[test]
fn targets_that_a_page_lists_no_more_leave_the_databases_free_space_too() {
    let linked = |head: &str| Answer::html(format!("{head}<a href=http://else.test/zq-out-qz>o</a>"));
    let sites = Sites::new()
        .page("a.test", "/", front(&["page"]))
        .page("a.test", "/seen", Answer::html("s"))
        .page("a.test", "/page", linked(NOINDEX))
        .page("a.test", "/page", linked(NONE));
    let scene = Scene::new(sites);
    // What was decided while the author let it stays in the ledger.
    scene.crawl().args(["--ledger", "off"]).run().expect(0);
    assert!(!marked_in_files(&scene.out(), "zq-", "-qz").is_empty());
    scene.resume().args(["--ledger", "off", "--revisit", "0s"]).run().expect(0);
    assert_eq!(marked_in_files(&scene.out(), "zq-", "-qz"), std::collections::BTreeSet::new());
}

#[test]
fn an_archived_request_holds_no_validator_of_an_earlier_response() {
    let sites = Sites::new()
        .page("a.test", "/", front(&["page"]))
        .page("a.test", "/seen", Answer::html("s"))
        .page("a.test", "/page", page("first", ""))
        .page("a.test", "/page", page("second", ""))
        .page("a.test", "/page", page("third", NOINDEX));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    revisit(&scene);
    let asked = scene.server.hits();
    let conditions: Vec<_> = asked
        .iter()
        .filter(|hit| hit.request.path == "/page")
        .map(|hit| hit.field("if-none-match"))
        .collect();
    assert_eq!(conditions, [None, Some("\"zq-first-etag-qz\"")]);
    assert!(found(&scene, "second").contains(&"zq-second-etag-qz".to_owned()));
    revisit(&scene);
    for name in ["first", "second", "third"] {
        assert_eq!(found(&scene, name), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_page_under_noindex_by_its_own_tag_is_asked_for_by_its_date_and_any_other_in_full() {
    let header = |answer: Answer| answer.header("X-Robots-Tag", "noindex");
    let sites = Sites::new()
        .page("a.test", "/", front(&["tag", "header", "bad"]))
        .page("a.test", "/seen", Answer::html("s"))
        .page("a.test", "/tag", page("tag", NOINDEX))
        .page("a.test", "/tag", Answer::status(304))
        .page("a.test", "/header", header(page("header", "")))
        .page("a.test", "/header", page("header", ""))
        .page("a.test", "/bad", Answer::html(NOINDEX).header("Last-Modified", "zq-bad-date-qz"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    revisit(&scene);
    let asked = scene.server.hits();
    let again = |path: &str| {
        let hit = asked.iter().filter(|hit| hit.request.path == path).nth(1).expect("a second request");
        (hit.field("if-none-match").map(str::to_owned), hit.field("if-modified-since").map(str::to_owned))
    };
    assert_eq!(again("/tag"), (None, Some(DATE.to_owned())));
    assert_eq!(again("/header"), (None, None));
    assert_eq!(again("/bad"), (None, None));
    let pages = scene.table("pages");
    let record = |path: &str| {
        pages.iter().find(|page| page["url"] == format!("{HOST}{path}").as_str()).expect("a record")
    };
    let tag = record("/tag");
    assert_eq!((&tag["visits"], &tag["indexed"], &tag["title"]), (&2.into(), &false.into(), &Value::Null));
    assert!(tag["checked_at"].is_string(), "{tag}");
    assert_eq!(
        record("/header")["indexed"],
        true,
        "what its header kept out comes in when the header is gone"
    );
    assert_eq!((found(&scene, "tag"), found(&scene, "bad")), (Vec::new(), Vec::new()));
    // Nobody is shown when it was changed.
    let said: String = ["pages", "ledger"].iter().map(|table| scene.look("show", &[table]).stdout).collect();
    assert!(!said.contains("1994"), "{said}");
}
