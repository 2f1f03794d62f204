//! A repair brings nothing back that an author keeps out.

use std::fs;

use whole_program::output_dir::files_with;
use whole_program::program::{Crawl, Output};
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;
use crate::support::{fault_row, pages, refetched, resume};

fn repair(scene: &Scene) -> Output {
    let (from, to) = (scene.out(), scene.path("repaired"));
    Crawl::new(["repair".as_ref(), from.as_os_str()]).args(["--out".as_ref(), to.as_os_str()]).run()
}

#[test]
fn a_repair_asks_for_no_page_again_whose_links_are_not_listed_and_lists_none() {
    let none = |answer: Answer| answer.header("X-Robots-Tag", "none");
    let links =
        "<link rel=canonical href=/mcanonical><a href=/mone rel=mrel>mtext</a><a href=/mtwo>mtext</a>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/none>n</a><a href=/noindex>i</a><a href=/moved>m</a>"))
        .page("a.test", "/none", none(Answer::html(links)))
        .page(
            "a.test",
            "/noindex",
            Answer::html("<meta name=robots content=noindex><a href=/none rel=mrel>mtext</a>"),
        )
        .page("a.test", "/moved", none(Answer::redirect(302, "/target")))
        .page("a.test", "/target", Answer::html("t"));
    let scene = Scene::new(sites);
    // Half way.
    scene.crawl().args(["--max-pages", "3"]).run().expect(10);
    let output = repair(&scene);
    fault_row("pages under noindex and nofollow: repair", &output, 0);
    let out = scene.path("repaired");
    resume(&out).args(["--max-pages", "none"]).run().expect(0);
    let all = ["/", "/moved", "/noindex", "/none", "/target"].map(|path| format!("http://a.test{path}"));
    assert_eq!(pages(&out), all);
    assert_eq!(refetched(&scene), 0);
    let links = Crawl::new(["export".as_ref(), out.as_os_str()])
        .args(["--table", "links", "--format", "jsonl", "--include-noindex"])
        .run();
    let links = links.expect(0).json();
    let from =
        |path: &str| links.iter().filter(|link| link["from"] == format!("http://a.test{path}")).count();
    assert_eq!((from("/"), from("/none"), from("/moved"), from("/noindex")), (3, 0, 0, 1));
    for marker in ["mrel", "mtext", "mcanonical", "mone"] {
        assert!(files_with(&out, &[marker]).is_empty(), "{marker}");
    }
    Crawl::new(["audit".as_ref(), out.as_os_str()]).run().expect(0);
}

#[test]
fn a_repair_takes_responses_out_of_the_archive_that_forbid_to_be_kept() {
    let text = |marker: &str, word: &str| {
        Answer::html(format!(
            "<title>T {marker}</title><meta name=otherbot content={word}><a href=/>{marker}</a><p>{}</p>",
            marker.repeat(100)
        ))
    };
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>"))
        .page("a.test", "/1", text("mindex", "noindex"))
        .page("a.test", "/2", text("marchive", "noarchive"))
        .page("a.test", "/3", text("mfree", "all"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    // The pages are read again under another name, to which they speak.
    let settings = scene.out().join("crawl.toml");
    let words = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, words.replace("SuperRobot/1.0", "OtherBot/1.0")).unwrap();
    fs::remove_file(scene.out().join("db").join("db")).unwrap();
    fault_row("responses that forbid to be kept: repair", &repair(&scene), 0);
    let out = scene.path("repaired");
    let found = |marker: &str| !files_with(&out.join("warc"), &[marker]).is_empty();
    assert_eq!((found("mindex"), found("marchive"), found("mfree")), (false, false, true));
    assert!(files_with(&out, &["mindex"]).is_empty());
    let pages = Crawl::new(["export".as_ref(), out.as_os_str()])
        .args(["--table", "pages", "--format", "jsonl"])
        .run();
    for page in pages.expect(0).json() {
        let is_kept = matches!(page["url"].as_str(), Some("http://a.test/" | "http://a.test/3"));
        assert_eq!((&page["archived"], page["warc_file"].is_null()), (&is_kept.into(), !is_kept), "{page}");
    }
    Crawl::new(["audit".as_ref(), out.as_os_str()]).run().expect(0);
}
