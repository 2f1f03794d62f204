//! Sites that send challenges and refusals instead of their pages, as an edge server does: what is requested, what is stored, what is said.

use std::collections::BTreeMap;

use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Statuses with which challenges come.
const STATUSES: [u16; 6] = [200, 202, 403, 418, 429, 503];

/// A challenge by its header, with links that nobody may follow.
fn challenge(status: u16) -> Answer {
    let body = "<title>Just a moment...</title><a href=/honeypot>go on</a><meta http-equiv=refresh content='0;url=/honeypot'>";
    Answer { status, ..Answer::html(body) }.header("cf-mitigated", "challenge")
}

fn front(paths: &[String]) -> Answer {
    let links = paths.iter().map(|path| format!("<a href='{path}'>{path}</a> "));
    Answer::html(format!("<title>Front</title><p>Pages of a site{}", links.collect::<String>()))
}

/// The pages of a host that were requested.
fn asked(scene: &Scene, host: &str) -> Vec<String> {
    let of_host = format!("http://{host}");
    scene.server.pages().iter().filter_map(|url| url.strip_prefix(&of_host)).map(str::to_owned).collect()
}

/// A crawl that doesn't wait for hosts that pause.
fn impatient(scene: &Scene, hosts: &[String]) {
    let seeds: Vec<String> = hosts.iter().map(|host| format!("http://{host}/\n")).collect();
    std::fs::write(scene.seeds(), seeds.concat()).expect("it can be written");
    std::fs::write(scene.path("study.toml"), "[pace]\nmax_wait = \"1s\"\n").expect("it can be written");
}

#[test]
fn an_edge_that_begins_to_challenge_is_skipped_and_counted() {
    let paths: Vec<String> = (1..=8).map(|n| format!("/{n}")).collect();
    let mut sites = Sites::new();
    for status in STATUSES {
        let host = format!("s{status}.test");
        sites = sites.page(&host, "/", front(&paths));
        for (n, path) in (1..).zip(&paths) {
            let plain = Answer::html(format!("<title>Page {n}</title><p>The page {n} of {host}."));
            sites = sites.page(&host, path, if n <= 2 { plain } else { challenge(status) });
        }
    }
    // A wall on one path alone.
    let mixed: Vec<String> = (1..=5).flat_map(|n| [format!("/{n}"), format!("/search?q={n}")]).collect();
    sites = sites.page("mixed.test", "/", front(&mixed));
    for path in &mixed {
        let plain = Answer::html(format!("<title>{path}</title><p>The page {path} of the site."));
        sites =
            sites.page("mixed.test", path, if path.starts_with("/search") { challenge(403) } else { plain });
    }
    let scene = Scene::new(sites);
    let hosts: Vec<String> =
        STATUSES.iter().map(|status| format!("s{status}.test")).chain(["mixed.test".to_owned()]).collect();
    impatient(&scene, &hosts);
    let run = scene.crawl().args(["--config", scene.path("study.toml").to_str().unwrap()]).run();
    run.expect(13);

    for status in STATUSES {
        // 429 and 503 ask for a pause themselves; of the others the second wall in a row does.
        let expected: &[&str] = if matches!(status, 429 | 503) {
            &["/", "/1", "/2", "/3"]
        } else {
            &["/", "/1", "/2", "/3", "/4"]
        };
        assert_eq!(asked(&scene, &format!("s{status}.test")), expected, "status {status}");
    }
    assert_eq!(asked(&scene, "mixed.test").len(), 11);
    let outcomes: BTreeMap<String, serde_json::Value> =
        scene.table("pages").into_iter().map(|row| (row["url"].as_str().unwrap().to_owned(), row)).collect();
    let walls: Vec<_> = outcomes.iter().filter(|(_, row)| row["outcome"] == "challenged").collect();
    assert_eq!(walls.len(), 4 * 2 + 2 + 5);
    for (url, row) in &walls {
        assert_eq!(
            (&row["vendor"], &row["indexed"], &row["followed"]),
            (&"cloudflare".into(), &false.into(), &false.into())
        );
        assert_eq!(
            (&row["signal"], &row["suspect"]),
            (&"cf-mitigated: challenge".into(), &serde_json::Value::Null),
            "{url}"
        );
        assert!(!row["error"].is_null() && row["digest"].is_null(), "{row}");
        let story = scene.look("explain", &[url]).stdout;
        let story = story.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            story.contains("it isn't the page: challenged by cloudflare (cf-mitigated: challenge)"),
            "{story}"
        );
        assert!(story.contains("write to the site's contact"), "{story}");
    }
    // Its links and its refresh lead nowhere, and the evidence is kept.
    assert!(scene.server.pages().iter().all(|url| !url.contains("honeypot")));
    assert!(scene.table("links").iter().all(|row| !row["to"].as_str().unwrap().contains("honeypot")));
    assert_eq!(outcomes["http://s200.test/3"]["archived"], true);
    let shown = scene.look("show", &["--json"]).json().remove(0);
    assert_eq!(shown["walls"], serde_json::json!([{"what": "challenged", "count": 15}]));
    let host = |name: &str| {
        shown["hosts"].as_array().unwrap().iter().find(|host| host["host"] == name).unwrap().clone()
    };
    let because = host("s200.test")["because"].as_str().unwrap().to_owned();
    assert!(because.starts_with("incomplete: 4 URLs remain, wall until "), "{because}");
    let mixed = "complete except walls (5 challenged): nothing else remains to be fetched; 5 URLs failed";
    assert_eq!(host("mixed.test")["because"], mixed);
    scene.look("audit", &[]).expect(0);
    scene.assert_polite();
}

#[test]
fn walls_are_kept_as_pages_where_the_user_wants_it() {
    let paths: Vec<String> = (1..=6).map(|n| format!("/{n}")).collect();
    let mut sites = Sites::new().page("a.test", "/", front(&paths));
    for path in &paths {
        sites = sites.page("a.test", path, challenge(200));
    }
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), "http://a.test/\n").unwrap();
    scene.crawl().args(["--walls", "keep"]).run().expect(0);
    let pages = scene.table("pages");
    assert!(pages.iter().filter(|row| row["indexed"] == true).count() >= 7, "{pages:?}");
    assert!(pages.iter().all(|row| row["outcome"] != "challenged" && row["vendor"].is_null()));
}

#[test]
fn a_wall_in_front_of_robots_txt_never_opens_the_site() {
    let login = "/login?next=%2Frobots.txt";
    let answers = STATUSES.map(|status| (format!("s{status}.test"), challenge(status))).into_iter().chain([
        ("login.test".to_owned(), Answer::redirect(302, login)),
        ("paid.test".to_owned(), Answer::status(402)),
    ]);
    let mut sites = Sites::new();
    let mut hosts = Vec::new();
    for (host, answer) in answers {
        sites = sites.page(&host, "/robots.txt", answer).page(&host, "/", front(&["/x".to_owned()]));
        hosts.push(host);
    }
    let scene = Scene::new(sites);
    impatient(&scene, &hosts);
    let config = scene.path("study.toml");
    std::fs::write(&config, "[pace]\nmax_wait = \"1s\"\n[robots]\non_forbidden = \"rfc9309\"\n").unwrap();
    scene.crawl().args(["--config", config.to_str().unwrap()]).run();
    assert_eq!(scene.server.pages(), Vec::<String>::new());
    for row in scene.table("robots") {
        let (access, reason) = (row["access"].as_str().unwrap(), row["reason"].as_str().unwrap());
        let closes = matches!(row["status"].as_u64(), Some(402 | 403));
        assert_eq!(access, if closes { "deny_all" } else { "defer" }, "{row}");
        assert!(["challenged", "login", "payment"].iter().any(|wall| reason.contains(wall)), "{row}");
    }
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_wall_in_place_of_a_sitemap_is_named_and_leads_nowhere() {
    let mut sites = Sites::new();
    let in_place = [challenge(200), Answer::redirect(302, "/.within.website/?redir=%2Fmap.xml")];
    for (host, wall) in ["a.test", "b.test"].into_iter().zip(in_place) {
        let mut robots = Answer::robots(Rules::default());
        robots.body.extend(format!("Sitemap: http://{host}/map.xml\n").bytes());
        sites = sites
            .page(host, "/robots.txt", robots)
            .page(host, "/map.xml", wall)
            .page(host, "/", front(&["/1".to_owned()]))
            .page(host, "/1", Answer::html(format!("<title>One</title><p>The first page of {host}.")));
    }
    let scene = Scene::new(sites);
    impatient(&scene, &["a.test".to_owned(), "b.test".to_owned()]);
    let config = scene.path("study.toml");
    scene.crawl().args(["--sitemaps", "--config", config.to_str().unwrap()]).run().expect(0);
    let summary = scene.look("show", &["--json"]).json().remove(0);
    for (host, wall) in [
        ("a.test", "challenged by cloudflare (cf-mitigated: challenge)"),
        ("b.test", "challenged by anubis (/.within.website/)"),
    ] {
        let mut asked = asked(&scene, host);
        asked.sort();
        assert_eq!(asked, ["/", "/1", "/map.xml", "/sitemap.xml"]);
        let hosts = summary["hosts"].as_array().unwrap();
        let notes = &hosts.iter().find(|row| row["host"] == host).unwrap()["notes"];
        assert_eq!(
            notes,
            &serde_json::json!([format!("sitemap http://{host}/map.xml couldn't be read: {wall}")])
        );
    }
    scene.look("audit", &[]).expect(0);
}

/// What looks like a wall and is a page, an error or a redirect: of each the path, the answer, and the outcome.
fn false_positives() -> Vec<(&'static str, Answer, &'static str)> {
    let captcha = "<div class=h-captcha></div><script src=https://js.hcaptcha.com/1/api.js></script>";
    let detection = "<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>\
        <script>window.__CF$cv$params={r:'8f2a',t:'MTc='};</script>";
    let prose = "<p>The library opens at nine, and the catalogue lists each volume of the society.".repeat(5);
    let page = |title: &str, body: &str| {
        Answer::html(format!("<html><title>{title}</title><body><h1>{title}</h1>{body}"))
    };
    let sign_in =
        "<form action=/in><input name=user><input type=password name=secret><button>Sign in</button></form>";
    let quoted = "<pre>&lt;script&gt;window._cf_chl_opt={}&lt;/script&gt; &lt;script id=\"anubis_challenge\"&gt;</pre>";
    let menu = "<a href=/news/1>1</a> <a href=/news/2>2</a> <a href=/news/3>3</a> <a href=/news/4>4</a>";
    let with_status = |status, answer: Answer| Answer { status, ..answer };
    vec![
        (
            "/article",
            page(
                "How Cloudflare and Anubis check browsers",
                &format!("{quoted}{prose}<a href=/articles>More</a>"),
            ),
            "page",
        ),
        ("/contact", page("Contact", &format!("<form action=/send><input name=a>{captcha}</form>")), "page"),
        ("/hours", page("Hours", &format!("<p>We open at nine.</p>{detection}")), "page"),
        (
            "/down-403",
            with_status(403, page("Closed", &format!("<p>This wing is closed.</p>{detection}"))),
            "error",
        ),
        (
            "/maps",
            page("Old maps", "<noscript>Zooming needs JavaScript.</noscript><p>Three sheets.</p>"),
            "page",
        ),
        ("/app", page("Reports", &format!("<div id=root>{prose}</div><script src=/m.js></script>")), "page"),
        ("/poem", page("Just a moment", &format!("{prose}<a href=/poems>More poems</a>")), "page"),
        ("/band", page("Request Rejected", "<p>A band from Leeds.</p><a href=/band/tour>Tour</a>"), "page"),
        ("/news", page("News", &format!("{sign_in}{prose}{menu}")), "page"),
        ("/domains", page("This domain is for sale", &format!("<a href=/domains/2>More</a>{prose}")), "page"),
        ("/export", with_status(202, page("Export", "<h2>Your export is being made</h2>")), "page"),
        ("/contest", Answer::redirect(302, "/challenge/2024/"), "redirect"),
        ("/scan", Answer::html("<title>Scan 14</title><img src=/scan.jpg alt=Folio>"), "page"),
        (
            "/manual",
            Answer::html("<title>Manual</title><frameset cols='20%,80%'><frame src=/toc></frameset>"),
            "page",
        ),
        ("/teaser", page("Owls", "<p>Nine kinds live here.</p><p>Subscribe to read the rest.</p>"), "page"),
    ]
}

#[test]
fn what_only_looks_like_a_wall_is_crawled_as_what_it_is() {
    let all = false_positives();
    let paths: Vec<String> = all.iter().map(|(path, ..)| (*path).to_owned()).collect();
    let mut sites = Sites::new().page("a.test", "/", front(&paths)).page(
        "a.test",
        "/challenge/2024/",
        Answer::html("<title>The challenge of 2024</title><p>Ten teams.</p>"),
    );
    // An error that makes its host pause.
    let moving = false_positives().into_iter().find(|(path, ..)| *path == "/down-403").unwrap().1;
    sites = sites.page("b.test", "/", Answer { status: 503, ..moving });
    for (path, answer, _) in &all {
        sites = sites.page("a.test", path, answer.clone());
    }
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), "http://a.test/\nhttp://b.test/\n").unwrap();
    scene.crawl().args(["--retries", "0"]).run();
    let rows: BTreeMap<String, serde_json::Value> =
        scene.table("pages").into_iter().map(|row| (row["url"].as_str().unwrap().to_owned(), row)).collect();
    for (path, _, outcome) in &all {
        let row = &rows[&format!("http://a.test{path}")];
        assert_eq!(
            (&row["outcome"], &row["suspect"]),
            (&(*outcome).into(), &serde_json::Value::Null),
            "{row}"
        );
        assert_eq!(row["indexed"], *outcome == "page", "{row}");
    }
    let row = &rows["http://b.test/"];
    assert_eq!((&row["outcome"], &row["suspect"]), (&"error".into(), &serde_json::Value::Null), "{row}");
    assert!(rows.contains_key("http://a.test/challenge/2024/"));
    assert!(
        scene.server.pages().iter().any(|url| url.ends_with("/band/tour")),
        "links of pages are followed"
    );
}
