//! What remains of a page under noindex, and of one under noindex and nofollow: nothing that tells of its content, in any file, table
//! or line that was said; of its links what crawling needs, or their number alone.

use std::collections::BTreeSet;

use serde_json::Value;
use whole_program::output_dir::{database_values, marked, marked_in_files};
use whole_program::program::{Crawl, Output};
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

const HOST: &str = "http://a.test";

/// How much of a page remains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// All of it.
    Everything,
    /// The targets of its links.
    Targets,
    /// The number of its links.
    Number,
}

/// A page: name, the content of its head, its header lines, and what remains.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], Rest);

const CASES: &[Case] = &[
    ("free", "", &[], Rest::Everything),
    ("tag", "<meta name=robots content=noindex>", &[], Rest::Targets),
    ("header", "", &[("X-Robots-Tag", "noindex")], Rest::Targets),
    ("robots", "", &[], Rest::Targets),
    ("dynamic", "<meta name=document-state content=dynamic>", &[], Rest::Targets),
    ("gone", "<meta name=robots content='unavailable_after: 2020-09-21'>", &[], Rest::Targets),
    ("refused", "", &[("Content-Signal", "use=immediate")], Rest::Targets),
    ("none", "<meta name=robots content=none>", &[], Rest::Number),
    ("both", "<meta name=superrobot content='nofollow, noindex'>", &[], Rest::Number),
    ("hnone", "", &[("X-Robots-Tag", "none")], Rest::Number),
    ("mixed", "<meta name=robots content=nofollow>", &[("X-Robots-Tag", "noindex")], Rest::Number),
    ("closed", "<meta name=robots content=nofollow>", &[("Content-Signal", "use=immediate")], Rest::Number),
];

/// Parts of a page that tell of its content.
const CONTENT: [&str; 16] = [
    "title",
    "canonical",
    "hcanonical",
    "murl",
    "rel",
    "arel",
    "urel",
    "hl",
    "hhl",
    "anchor",
    "htitle",
    "etag",
    "type",
    "wish",
    "body",
    "bad",
];
/// Parts that are URLs of other pages: in order followed, of another host, under `rel=nofollow`, a resource.
const TARGETS: [&str; 4] = ["child", "out", "ugc", "image"];

/// Links that the page has, without those that name itself and what is no URL.
const LINKS: u64 = 6;

fn marker(name: &str, part: &str) -> String {
    format!("zq-{name}-{part}-qz")
}

fn answer((name, head, headers, _): &Case) -> Answer {
    let m = |part| marker(name, part);
    let text = m("body").repeat(100);
    let html = format!(
        "<!DOCTYPE html><html><head><title>{title}</title>{head}<link rel=canonical href=/{canonical}>\
         <meta name=url content='http://original.test/{murl}'><meta name=revisit-after content='{wish}'>\
         <link rel='alternate {rel}' hreflang='{hl}' href='/alternate'></head><body>\
         <nav><a href='/{child}' rel='{arel} noopener'>{anchor}</a></nav><a href='http://else.test/{out}' hreflang='{hl}'>o</a>\
         <a href='/{ugc}' rel='ugc {urel}'>u</a><img src='/{image}' alt='{anchor}'><a href='http://[{bad}'>b</a><p>{text}</p></body></html>",
        title = m("title"),
        canonical = m("canonical"),
        murl = m("murl"),
        wish = m("wish"),
        rel = m("rel"),
        hl = m("hl"),
        child = m("child"),
        arel = m("arel"),
        anchor = m("anchor"),
        out = m("out"),
        ugc = m("ugc"),
        urel = m("urel"),
        image = m("image"),
        bad = m("bad"),
    );
    let typed = format!("text/html; charset=utf-8; name={}", m("type"));
    let link = format!(
        "</{}>; rel=canonical, </after>; rel=next; title={}; hreflang={}",
        m("hcanonical"),
        m("htitle"),
        m("hhl")
    );
    let answer = Answer::content(&typed, html)
        .header("ETag", &format!("\"{}\"", m("etag")))
        .header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
        .header("Link", &link);
    headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value))
}

fn url((name, ..): &Case) -> String {
    format!("{HOST}/c/{name}")
}

fn site() -> Sites {
    let links =
        CASES.iter().map(|(name, ..)| format!("<a href=/c/{name}>c</a>")).collect::<Vec<_>>().concat();
    let mut sites = Sites::new()
        .page(
            "a.test",
            "/robots.txt",
            Answer::content("text/plain", "User-agent: *\nNoindex: /c/robots\nAllow: /\n"),
        )
        .page("a.test", "/", Answer::html(links));
    for path in ["/alternate", "/after"] {
        sites = sites.page("a.test", path, Answer::html("ok"));
    }
    for case in CASES {
        sites = sites.page("a.test", &format!("/c/{}", case.0), answer(case));
        for part in ["child", "canonical", "hcanonical", "ugc"] {
            sites = sites.page("a.test", &format!("/{}", marker(case.0, part)), Answer::html("ok"));
        }
    }
    sites
}

fn explain(scene: &Scene, url: &str) -> Output {
    let out = scene.out();
    Crawl::new(["explain", url, out.to_str().expect("a path of text")]).run()
}

/// Everything that the crawl can be made to say, with what it said by itself.
fn all_that_is_said(scene: &Scene, run: &Output) -> BTreeSet<String> {
    let mut said = vec![run.stdout.clone() + &run.stderr];
    let mut take = |output: Output| said.push(output.expect(0).stdout.clone() + &output.stderr);
    for table in ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors", "changes"] {
        for form in ["jsonl", "csv"] {
            let noindex: &[&str] = if table == "links" { &["--include-noindex"] } else { &[] };
            take(scene.look("export", &[&["--table", table, "--format", form], noindex].concat()));
            take(scene.look("show", &[&[table], noindex].concat()));
        }
    }
    take(scene.look("show", &["--json"]));
    take(scene.look("audit", &[]));
    take(scene.look("report", &["--host", "a.test"]));
    take(scene.look("report", &[]));
    take(scene.look("report", &["--json"]));
    for case in CASES {
        take(explain(scene, &url(case)));
        take(Crawl::new(["page", "check", "--json", "--from"]).args([scene.out()]).args([url(case)]).run());
    }
    said.iter().flat_map(|text| marked(text.as_bytes(), "zq-", "-qz")).collect()
}

#[test]
fn nothing_that_tells_of_the_content_remains_and_of_links_what_crawling_needs() {
    let scene = Scene::new(site());
    let run = scene.crawl().args(["-vv", "--ledger", "full"]).run();
    run.expect(0);

    let anywhere = marked_in_files(&scene.out(), "zq-", "-qz");
    let values = database_values(&scene.out().join("db"));
    let in_database: BTreeSet<String> =
        values.iter().flat_map(|(_, value)| marked(value, "zq-", "-qz")).collect();
    let said = all_that_is_said(&scene, &run);
    for case @ (name, .., rest) in CASES {
        let of =
            |parts: &[&str]| -> BTreeSet<String> { parts.iter().map(|part| marker(name, part)).collect() };
        let expected = match rest {
            Rest::Everything => of(&[&CONTENT[..], &TARGETS].concat()),
            Rest::Targets => of(&TARGETS),
            Rest::Number => BTreeSet::new(),
        };
        for (place, found) in [("files", &anywhere), ("database", &in_database), ("words", &said)] {
            let found: BTreeSet<String> =
                found.iter().filter(|text| text.starts_with(&format!("zq-{name}-"))).cloned().collect();
            let more: Vec<_> = found.difference(&expected).collect();
            assert!(more.is_empty(), "{} in {place}: {more:?}", url(case));
            // What is searched for is found where it may be: but the body in the archive alone, and no ETag in any table.
            let hidden = match place {
                "files" => vec![],
                "database" => of(&["body"]).into_iter().collect(),
                _ => of(&["body", "etag"]).into_iter().collect::<Vec<_>>(),
            };
            let less: Vec<_> = expected.difference(&found).filter(|text| !hidden.contains(text)).collect();
            assert!(less.is_empty(), "{} isn't in {place}: {less:?}", url(case));
        }
    }
    what_was_asked_for(&scene);
    what_table_links_has(&scene);
    output_about_unlisted_links(&scene);
    scene.assert_polite();
}

/// Links are followed where the author lets it, but for those by which a page under noindex names itself.
fn what_was_asked_for(scene: &Scene) {
    let mut expected: Vec<String> = ["/", "/alternate", "/after"].map(|path| format!("{HOST}{path}")).into();
    for case @ (name, .., rest) in CASES {
        expected.push(url(case));
        let parts: &[&str] = match rest {
            Rest::Everything => &["child", "canonical", "hcanonical"],
            Rest::Targets => &["child"],
            Rest::Number => &[],
        };
        expected.extend(parts.iter().map(|part| format!("{HOST}/{}", marker(name, part))));
    }
    assert_eq!(sorted(scene.server.pages()), sorted(expected));
}

fn what_table_links_has(scene: &Scene) {
    let export = |more: &[&str]| {
        scene.look("export", &[&["--table", "links", "--format", "jsonl"], more].concat()).expect(0).clone()
    };
    let from = |rows: &[Value], case: &Case| -> Vec<Value> {
        rows.iter().filter(|row| row["from"] == url(case).as_str()).cloned().collect()
    };
    let (usual, all) = (export(&[]), export(&["--include-noindex"]));
    let closed = CASES.iter().filter(|case| case.3 == Rest::Targets).count() as u64;
    let note =
        format!("omitted links of pages under noindex: {}; --include-noindex includes them", closed * LINKS);
    assert!(usual.stderr.contains(&note), "{usual}");
    assert!(all.stderr.is_empty(), "{all}");
    let shown = scene.look("show", &["links"]).expect(0).clone();
    assert!(shown.stderr.contains(&note), "{shown}");
    assert_eq!(
        shown.stdout.lines().count(),
        usual.stdout.lines().count() + 1,
        "the same rows, behind a header"
    );
    for command in [&["pages", "--include-noindex"][..], &["--include-noindex"]] {
        assert!(scene.look("show", command).expect(2).stderr.contains("requires table links"));
    }
    scene.look("export", &["--table", "ledger", "--format", "csv", "--include-noindex"]).expect(2);
    let (usual, all) = (usual.json(), all.json());
    for case in CASES {
        let (usual, all) = (from(&usual, case), from(&all, case));
        match case.3 {
            Rest::Everything => {
                // Two that name itself, and one that is no URL.
                assert_eq!((usual.len() as u64, all.len() as u64), (LINKS + 3, LINKS + 3), "{}", case.0);
                assert!(all.iter().all(|row| row["from_noindex"] == false), "{all:?}");
                assert!(all.iter().any(|row| row["rel"] != "" && row["position"] == "nav"), "{all:?}");
            }
            Rest::Targets => {
                assert!(usual.is_empty(), "{usual:?}");
                assert_eq!(all.len() as u64, LINKS, "{}: {all:?}", case.0);
                for row in &all {
                    let reported = (&row["rel"], &row["text"], &row["position"], &row["hreflang"]);
                    assert_eq!(reported, (&"".into(), &"".into(), &Value::Null, &Value::Null), "{row}");
                    assert_eq!(row["from_noindex"], true);
                }
                let outcome = |part: &str| {
                    let row = all.iter().find(|row| row["to"].to_string().contains(&marker(case.0, part)));
                    row.unwrap_or_else(|| panic!("{part}: {all:?}"))["outcome"].clone()
                };
                let outcomes = TARGETS.map(outcome);
                assert_eq!(outcomes, ["queued", "other_host", "nofollow_rel", "resource"].map(Value::from));
            }
            Rest::Number => assert!(usual.is_empty() && all.is_empty(), "{all:?}"),
        }
    }
}

fn output_about_unlisted_links(scene: &Scene) {
    let (pages, ledger) = (scene.table("pages"), scene.table("ledger"));
    for case in CASES {
        let page = pages.iter().find(|page| page["url"] == url(case).as_str()).expect("a record");
        let all = LINKS + if case.3 == Rest::Everything { 3 } else { 0 };
        assert_eq!(page["links_out"], all, "{page}");
        let reported: Vec<_> = ledger
            .iter()
            .filter(|entry| entry["decision"] == "not_listed" && entry["url"] == url(case).as_str())
            .map(|entry| entry["evidence"]["words"].clone())
            .collect();
        let expected = (case.3 == Rest::Number).then(|| Value::from(format!("{LINKS} links")));
        assert_eq!(reported, Vec::from_iter(expected), "{}", case.0);
    }
    let of_none = explain(scene, &format!("{HOST}/{}", marker("none", "child"))).expect(0).stdout.clone();
    assert!(of_none.contains("this crawl never found it"), "{of_none}");
    assert!(of_none.contains("under noindex and nofollow"), "{of_none}");
    let of_noindex = explain(scene, &format!("{HOST}/{}", marker("tag", "ugc"))).expect(1).stdout.clone();
    assert!(of_noindex.contains("a rel=\"ugc\""), "{of_noindex}");
    let check = |name: &str| -> Value {
        let check = Crawl::new(["page", "check", "--json", "--from"]).args([scene.out()]);
        check.args([format!("{HOST}/c/{name}")]).run().expect(0).json().remove(0)
    };
    let (of_none, of_noindex) = (check("none"), check("tag"));
    assert_eq!(of_none["visit"]["links"], serde_json::json!({"nofollow_page": LINKS}));
    assert_eq!(of_noindex["visit"]["links"]["other_host"], 1, "{of_noindex}");
    assert_eq!((&of_none["links"], &of_noindex["links"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn a_redirect_under_noindex_and_nofollow_is_followed_and_leaves_no_row() {
    let none = |answer: Answer| answer.header("X-Robots-Tag", "none");
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/moved>m</a>"))
        .page("a.test", "/moved", none(Answer::redirect(302, "/target")))
        .page("a.test", "/target", Answer::html("t"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    assert!(scene.server.pages().contains(&format!("{HOST}/target")));
    let links = scene
        .look("export", &["--table", "links", "--format", "jsonl", "--include-noindex"])
        .expect(0)
        .json();
    assert!(links.iter().all(|row| row["from"] != format!("{HOST}/moved")), "{links:?}");
    let story = explain(&scene, &format!("{HOST}/target")).expect(0).stdout.clone();
    assert!(story.contains("3. http://a.test/target  redirect"), "{story}");
    scene.look("audit", &[]).expect(0);
}
