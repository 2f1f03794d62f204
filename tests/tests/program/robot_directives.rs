//! I7: what pages ask for, down to the bytes of the output directory.

use whole_program::output_dir::files_with;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

/// A page whose title, description, text and link text carry the marker.
fn page(marker: &str, head: &str, links: &str) -> String {
    format!(
        "<html><head><title>T {marker}</title><meta name=description content='D {marker}'>{head}</head>\
         <body><p>P {marker} {}</p>{links}</body></html>",
        // Long enough that a store which packs long values packs this one.
        format!("{marker} ").repeat(200)
    )
}

#[test]
fn i7_noindex_content_is_nowhere_noarchive_bodies_neither_nofollow_links_not_queued() {
    let meta = |name: &str, word: &str| format!("<meta name={name} content='{word}'>");
    let links = "<a href=/noindex>1</a><a href=/noarchive>2</a><a href=/nofollow>3</a><a href=/header>4</a>\
                 <a href=/named>5</a><a href=/notus>6</a><a href=/denied rel=nofollow>7</a><a href=/plain.txt>8</a>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(page("mfront", "", links)))
        .page(
            "a.test",
            "/noindex",
            Answer::html(page("mnoindex", &meta("robots", "noindex"), "<a href=/behind>b</a>")),
        )
        .page("a.test", "/behind", Answer::html(page("mbehind", "", "")))
        .page("a.test", "/noarchive", Answer::html(page("mnoarchive", &meta("robots", "noarchive"), "")))
        .page(
            "a.test",
            "/nofollow",
            Answer::html(page("mnofollow", &meta("robots", "nofollow"), "<a href=/unseen>u</a>")),
        )
        .page("a.test", "/unseen", Answer::html(page("munseen", "", "")))
        .page(
            "a.test",
            "/header",
            Answer::html(page("mheader", "", "")).header("X-Robots-Tag", "noindex, nofollow"),
        )
        .page(
            "a.test",
            "/named",
            Answer::html(page("mnamed", &meta("superrobot", "none"), "<a href=/unseen>u</a>")),
        )
        .page("a.test", "/notus", Answer::html(page("mnotus", &meta("otherbot", "noindex"), "")))
        .page(
            "a.test",
            "/plain.txt",
            Answer::content("text/plain", "mplain").header("X-Robots-Tag", "noindex"),
        );
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    assert_eq!(
        sorted(scene.server.pages()),
        ["/", "/behind", "/header", "/named", "/noarchive", "/nofollow", "/noindex", "/notus", "/plain.txt"]
            .map(|path| format!("http://a.test{path}"))
    );

    let hidden = ["mnoindex", "mheader", "mnamed", "mplain"];
    let found = files_with(&scene.out(), &hidden);
    assert!(found.is_empty(), "content of noindex pages: {found:?}");
    let kept = files_with(&scene.out().join("warc"), &["mnoarchive"]);
    assert!(kept.is_empty(), "body of a noarchive page: {kept:?}");
    // The search itself works: what may be kept is found.
    for marker in ["mfront", "mbehind", "mnofollow", "mnotus"] {
        assert!(!files_with(&scene.out().join("warc"), &[marker]).is_empty(), "{marker}");
    }

    let pages = scene.table("pages");
    let record = |path: &str| {
        let url = format!("http://a.test{path}");
        pages.iter().find(|page| page["url"] == url.as_str()).unwrap_or_else(|| panic!("{url} has no record"))
    };
    for path in ["/noindex", "/header", "/named", "/plain.txt"] {
        let page = record(path);
        assert_eq!(page["indexed"], false, "{path}");
        for column in
            ["title", "description", "keywords", "digest", "warc_file", "warc_offset", "warc_length"]
        {
            assert!(page[column].is_null(), "{path} {column}: {}", page[column]);
        }
    }
    let noarchive = record("/noarchive");
    assert_eq!((&noarchive["indexed"], &noarchive["archived"]), (&true.into(), &false.into()));
    assert_eq!(noarchive["title"], "T mnoarchive");
    assert!(noarchive["warc_file"].is_null());
    assert_eq!(record("/nofollow")["followed"], false);
    assert_eq!(record("/notus")["title"], "T mnotus");
}
