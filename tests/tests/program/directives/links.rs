//! Directives about links: images under noimageindex, and that no request tells where it comes from.

use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

/// Every way in which a page shows an image, and what is none.
fn gallery(head: &str, n: u8) -> String {
    format!(
        "<html><head>{head}<link rel=icon href=/icon{n}><link rel=stylesheet href=/style{n}></head><body>\
         <img src=/img{n} srcset='/srcset{n} 2x'><picture><source srcset=/picture{n}></picture>\
         <svg><image href=/svg{n} /></svg><input type=image src=/input{n}><video poster=/poster{n} src=/video{n}></video>\
         <audio><source src=/audio{n}></audio><a href=/page{n}>p</a></body></html>"
    )
}

#[test]
fn images_of_a_page_under_noimageindex_are_not_queued() {
    let tag = "<meta name=robots content='noimageindex'>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/tag>t</a><a href=/free>f</a><a href=/named>n</a>"))
        .page("a.test", "/tag", Answer::html(gallery(tag, 1)))
        .page("a.test", "/free", Answer::html(gallery("", 2)))
        .page(
            "a.test",
            "/named",
            Answer::html(gallery("", 3)).header("X-Robots-Tag", "superrobot: noimageindex"),
        )
        // The same image found on a page that allows it comes in there.
        .page("a.test", "/page1", Answer::html("<img src=/img1>"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--resources"]).run().expect(0);

    let others = |n: u8| ["icon", "style", "video", "audio", "page"].map(|name| format!("/{name}{n}"));
    let images =
        |n: u8| ["img", "srcset", "picture", "svg", "input", "poster"].map(|name| format!("/{name}{n}"));
    let mut expected: Vec<String> = ["/", "/tag", "/free", "/named", "/img1"].map(str::to_owned).into();
    expected.extend((1..=3).flat_map(others));
    expected.extend(images(2));
    let expected = expected.iter().map(|path| format!("http://a.test{path}")).collect();
    assert_eq!(sorted(scene.server.pages()), sorted(expected));

    // Each image is listed with the tag or header line, and table links has its outcome.
    let skipped = scene.table("skipped");
    for (n, evidence) in
        [(1, "meta robots: noimageindex"), (3, "header x-robots-tag: superrobot: noimageindex")]
    {
        for path in images(n).iter().filter(|path| *path != "/img1") {
            let url = format!("http://a.test{path}");
            let row = skipped.iter().find(|row| row["url"] == url.as_str());
            let row = row.unwrap_or_else(|| panic!("{url} isn't listed as skipped"));
            let reported = (row["reason"].as_str(), row["layer"].as_str());
            assert_eq!(reported, (Some("no_image_index"), Some("directive")), "{url}");
            assert!(row["detail"].as_str().is_some_and(|detail| detail.contains(evidence)), "{row}");
        }
    }
    let outcomes = |from: &str| -> Vec<String> {
        let links = scene.table("links");
        let of = links.iter().filter(|link| link["from"] == format!("http://a.test{from}").as_str());
        of.filter(|link| link["outcome"] == "no_image_index").map(|link| link["to"].to_string()).collect()
    };
    assert_eq!(outcomes("/tag").len(), 6);
    assert_eq!(outcomes("/named").len(), 6);
    assert!(outcomes("/free").is_empty());
}

#[test]
fn without_resources_images_are_skipped_as_resources() {
    let sites =
        Sites::new().page("a.test", "/", Answer::html(gallery("<meta name=robots content=noimageindex>", 1)));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let links = scene.table("links");
    let images = links.iter().filter(|link| link["kind"] == "img");
    let outcomes: Vec<_> = images.map(|link| link["outcome"].as_str()).collect();
    assert_eq!(outcomes, [Some("resource"); 4]);
}

#[test]
fn no_request_says_where_it_comes_from() {
    let links = "<a href=/plain>p</a><a rel=noreferrer href=/noreferrer>n</a><a href=/redirect>r</a>\
                 <link rel=next href=/next><img src=/image referrerpolicy=unsafe-url><iframe src=/frame></iframe>\
                 <a rel=opener referrerpolicy=origin href='http://b.test/other'>o</a>";
    let front = format!("<head><meta name=referrer content=unsafe-url></head>{links}");
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(front).header("Referrer-Policy", "unsafe-url"))
        .page("a.test", "/redirect", Answer::redirect(302, "/target"))
        .page("b.test", "/", Answer::html(""));
    let scene = Scene::new(sites);
    scene.crawl().args(["--resources"]).run().expect(0);
    let hits = scene.server.hits();
    let paths: Vec<&str> = hits.iter().map(|hit| hit.request.path.as_str()).collect();
    for path in ["/robots.txt", "/plain", "/noreferrer", "/target", "/next", "/image", "/frame", "/other"] {
        assert!(paths.contains(&path), "{path} was never asked for: {paths:?}");
    }
    for hit in &hits {
        for field in ["referer", "referrer", "origin", "ping-from"] {
            assert_eq!(hit.field(field), None, "{}: {field}", hit.request.path);
        }
    }
}

#[test]
fn a_refresh_header_is_a_link_like_its_meta_form() {
    let refresh = |answer: Answer, target: &str| answer.header("Refresh", target);
    let pdf = || Answer::content("application/pdf", "%PDF-1.7");
    let sites = Sites::new()
        .page(
            "a.test",
            "/",
            Answer::html(
                [
                    "html", "pdf", "nofollow", "ours", "noindex", "none", "missing", "broken", "twice",
                    "robots", "bytes",
                ]
                .map(|name| format!("<a href=/{name}>x</a>"))
                .concat(),
            ),
        )
        .page("a.test", "/robots.txt", Answer::content("text/plain", "User-agent: *\nDisallow: /closed\n"))
        .page("a.test", "/html", refresh(Answer::html("x"), "5; url=/from/html"))
        .page("a.test", "/pdf", refresh(pdf(), "0;URL='from/pdf?a=1'"))
        .page("a.test", "/nofollow", refresh(pdf(), "0;url=/never/1").header("X-Robots-Tag", "nofollow"))
        .page(
            "a.test",
            "/ours",
            refresh(Answer::html("<meta name=superrobot content=nofollow>"), "0;url=/never/2"),
        )
        .page("a.test", "/noindex", refresh(pdf(), "0;url=/from/noindex").header("X-Robots-Tag", "noindex"))
        .page("a.test", "/none", refresh(pdf(), "0;url=/never/3").header("X-Robots-Tag", "none"))
        .page("a.test", "/missing", refresh(Answer { status: 404, ..Answer::html("x") }, "0;url=/never/4"))
        .page("a.test", "/broken", refresh(refresh(Answer::html("x"), "soon"), "0;url=javascript:alert(1)"))
        .page(
            "a.test",
            "/twice",
            refresh(
                refresh(
                    Answer::html("<base href=/b/><meta http-equiv=refresh content='0;url=/from/1'>"),
                    "1;url=from/1",
                ),
                "2;url=/from/2",
            ),
        )
        .page("a.test", "/robots", refresh(Answer::html("x"), "0;url=/closed/x"))
        .page("a.test", "/bytes", refresh(Answer::html("x"), "0;url=/from/\u{f7e9}"));
    let sites = ["html", "pdf?a=1", "noindex", "1", "2", "%C3%A9"]
        .iter()
        .fold(sites, |sites, name| sites.page("a.test", &format!("/from/{name}"), Answer::html("ok")));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let pages: Vec<_> = scene.server.pages();
    let asked: Vec<_> = pages.iter().filter_map(|url| url.strip_prefix("http://a.test/from/")).collect();
    assert_eq!(
        sorted(asked.into_iter().map(str::to_owned).collect()),
        ["%C3%A9", "1", "2", "html", "noindex", "pdf?a=1"]
    );
    assert!(!pages.iter().any(|url| url.contains("/never/") || url.contains("/closed/")), "{pages:?}");

    let links = scene.look("export", &["--table", "links", "--format", "jsonl", "--include-noindex"]);
    let links = links.expect(0).json();
    let of = |from: &str| -> Vec<String> {
        let from = format!("http://a.test/{from}");
        let links = links.iter().filter(|link| link["from"] == from.as_str());
        let show = |link: &serde_json::Value| {
            format!(
                "{} {} {}",
                link["kind"].as_str().unwrap_or_default(),
                link["to"].as_str().unwrap_or_default().trim_start_matches("http://a.test/"),
                link["outcome"].as_str().unwrap_or_default()
            )
        };
        links.map(show).collect()
    };
    assert_eq!(of("html"), ["refresh from/html queued"]);
    assert_eq!(of("pdf"), ["refresh from/pdf?a=1 queued"]);
    assert_eq!(of("nofollow"), ["refresh never/1 nofollow_page"]);
    assert_eq!(of("noindex"), ["refresh from/noindex queued"]);
    assert_eq!(of("none"), [""; 0], "of a page under none no link is kept");
    assert_eq!(of("twice"), ["refresh from/1 queued", "refresh from/2 queued"], "each target once");
    assert_eq!((of("missing"), of("broken")), (Vec::new(), Vec::new()));
    let skipped = scene.table("skipped");
    assert!(
        skipped.iter().any(|row| row["url"] == "http://a.test/closed/x"),
        "robots.txt is asked as for any link"
    );
    scene.look("audit", &[]).expect(0);
}
