//! Spaces of URLs without end, under the default budgets: the crawl ends by itself, and says what it held back and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Pages that each trap has at least, were it followed.
const PAGES: usize = 700;

/// A calendar whose every month leads to the next one.
fn calendar(mut sites: Sites) -> Sites {
    for n in 0..PAGES {
        let body = format!("<p>Month {n}<a href='/cal?month={}'>next</a>", n + 1);
        sites = sites.page("calendar.test", &format!("/cal?month={n}"), Answer::html(body));
    }
    sites.page("calendar.test", "/", Answer::html("<a href='/cal?month=0'>calendar</a>"))
}

/// Links and redirects with session ids, some of which a server repeats for each of its pages.
fn with_ids() -> Sites {
    const ID: &str = "0123456789abcdef0123456789ABCDEF";
    let home = format!(
        "<a href='/a;jsessionid={ID}'>a</a><a href='/a;jsessionid=1{ID}'>a</a><a href='/list?x=1&amp;PHPSESSID={ID}'>b</a>\
         <a href='/r'>r</a><a href='/closed?sid={ID}'>c</a><a href='http://elsewhere.test/?sid={ID}'>d</a>"
    );
    Sites::new()
        .page(
            "ids.test",
            "/robots.txt",
            Answer::content("text/plain", "User-agent: *\nDisallow: /closed\nDisallow: /*jsessionid\n"),
        )
        .page("ids.test", "/", Answer::html(home))
        .page("ids.test", "/a", Answer::html("<p>A page<a href='/;jsessionid=7'>home</a>"))
        .page("ids.test", "/list?x=1", Answer::html("<p>A list"))
        .page("ids.test", "/r", Answer::redirect(302, &format!("/r;jsessionid={ID}")))
}

#[test]
fn links_with_session_ids_lead_to_one_url_each() {
    let scene = Scene::new(with_ids());
    std::fs::write(scene.seeds(), "http://ids.test/\n").unwrap();
    scene.crawl().run().expect(0);
    let asked: BTreeSet<_> = scene.server.pages().into_iter().collect();
    let expected = ["/", "/a", "/list?x=1", "/r"].map(|path| format!("http://ids.test{path}"));
    assert_eq!(asked, BTreeSet::from(expected));
    let links = scene.table("links");
    let found: Vec<_> = links
        .iter()
        .filter(|row| row["from"] == "http://ids.test/")
        .map(|row| (row["to"].as_str().unwrap(), row["outcome"].as_str().unwrap()))
        .collect();
    let id = "0123456789abcdef0123456789ABCDEF";
    let as_found = [
        (format!("http://ids.test/a;jsessionid={id}"), "queued"),
        (format!("http://ids.test/a;jsessionid=1{id}"), "seen"),
        (format!("http://ids.test/list?x=1&PHPSESSID={id}"), "queued"),
        ("http://ids.test/r".to_owned(), "queued"),
        (format!("http://ids.test/closed?sid={id}"), "queued"),
        (format!("http://elsewhere.test/?sid={id}"), "other_host"),
    ];
    assert_eq!(found, as_found.each_ref().map(|(to, outcome)| (to.as_str(), *outcome)));
    let skipped = scene.table("skipped");
    let skipped: BTreeSet<_> = skipped.iter().map(|row| row["url"].as_str().unwrap()).collect();
    assert_eq!(skipped, BTreeSet::from(["http://elsewhere.test/", "http://ids.test/closed"]));
    let errors = scene.table("errors");
    assert!(
        errors.iter().any(|row| row["url"] == "http://ids.test/r" && row["kind"] == "redirect_loop"),
        "{errors:?}"
    );
    let story = scene.look("explain", &["http://ids.test/a;jsessionid=1", "--json"]).expect(0).json();
    assert_eq!(story[0]["url"], "http://ids.test/a");
    assert_eq!(story[0]["normalised_from"], "http://ids.test/a;jsessionid=1");
    assert_eq!(story[0]["found"][1]["outcome"], "queued", "{story:?}");
    scene.look("audit", &[]).expect(0);
}

#[test]
fn session_ids_are_kept_where_the_settings_say_so() {
    let scene = Scene::new(with_ids());
    std::fs::write(scene.seeds(), "http://ids.test/\n").unwrap();
    std::fs::write(scene.path("study.toml"), "[costly]\nsession = \"keep\"\n").unwrap();
    scene.crawl().args(["--config"]).args([scene.path("study.toml")]).run().expect(0);
    let asked: BTreeSet<_> = scene.server.pages().into_iter().collect();
    let list = "http://ids.test/list?x=1&PHPSESSID=0123456789abcdef0123456789ABCDEF";
    assert!(asked.contains(list), "{asked:?}");
    assert!(!asked.contains("http://ids.test/a"), "robots.txt judges what would be requested: {asked:?}");
    scene.look("audit", &[]).expect(0);
}

/// Three pages whose every link carries a new session id.
fn sessions(mut sites: Sites) -> Sites {
    for n in 0..PAGES {
        let mut body = String::from("<h1>Shop</h1>");
        for k in 1..=2 {
            let _ = write!(body, "<a href='/shop?sid={}'>shop</a>", 2 * n + k);
        }
        sites = sites.page("sessions.test", &format!("/shop?sid={n}"), Answer::html(body));
    }
    sites.page("sessions.test", "/", Answer::html("<a href='/shop?sid=0'>shop</a>"))
}

/// A relative link that is wrong on every page.
fn echo(mut sites: Sites) -> Sites {
    for n in 1..=20 {
        let body = format!("<p>{n}<a href='a/b/'>on</a>");
        sites = sites.page("echo.test", &format!("{}/", "/a/b".repeat(n)), Answer::html(body));
    }
    sites.page("echo.test", "/", Answer::html("<a href='a/b/'>on</a>"))
}

#[test]
fn traps_end_by_themselves_and_say_why() {
    let scene = Scene::new(echo(sessions(calendar(Sites::new().tree("canary.test", 60, Duration::ZERO)))));
    let config = scene.path("c.toml");
    std::fs::write(&config, "[traps]\ndepth = 100\n").unwrap();
    scene.crawl().args(["--config"]).args([&config]).run().expect(10);
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for url in scene.server.pages() {
        *asked.entry(url.split('/').nth(2).unwrap_or_default().to_owned()).or_default() += 1;
    }
    // The front page; months at the depths 1 to 100. The front page; the shop, and 200 times the same. Three times /a/b.
    let expected = [("calendar.test", 101), ("canary.test", 60), ("echo.test", 4), ("sessions.test", 202)];
    assert_eq!(asked, expected.map(|(host, pages)| (host.to_owned(), pages)).into());

    let skipped = scene.table("skipped");
    let rows = |reason: &str| skipped.iter().filter(|row| row["reason"] == reason).collect::<Vec<_>>();
    for row in &skipped {
        assert_eq!(row["layer"], "trap", "{row}");
    }
    let [deep] = rows("trap_depth")[..] else { panic!("{skipped:?}") };
    assert_eq!(deep["url"], "http://calendar.test/cal?month=100");
    assert_eq!(deep["via"], "http://calendar.test/cal?month=99");
    assert_eq!(deep["detail"], "traps.depth 100: 101 links from a seed");
    let [echo] = rows("trap_repeats")[..] else { panic!("{skipped:?}") };
    assert_eq!(echo["url"], "http://echo.test/a/b/a/b/a/b/a/b/");
    assert_eq!(echo["detail"], "traps.repeats 3: `b` is 4 times in the path");
    let same = rows("trap_same");
    // Two links on each of the 201 pages but the first ones' targets, which were read.
    assert_eq!(same.len(), 201 * 2 - 200);
    assert!(same.iter().all(|row| row["detail"].as_str().unwrap().starts_with("traps.same_pages 200: ")));

    let summary = scene.look("show", &["--json"]).expect(0).json();
    let counted: BTreeMap<_, _> = summary[0]["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| (reason["what"].as_str().unwrap(), reason["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(counted, BTreeMap::from([("trap_depth", 1), ("trap_repeats", 1), ("trap_same", 202)]));
    scene.look("audit", &[]).expect(0);
    let resumed = scene.resume().args(scene.server.resolve()).run();
    resumed.expect(10);
    assert_eq!(
        scene.server.pages().len(),
        101 + 60 + 4 + 202,
        "a resumed crawl finds nothing more to ask for"
    );
}

#[test]
fn names_under_a_wildcard_have_a_budget() {
    let mut sites = Sites::new();
    for n in 0..30 {
        let body = format!("<p>{n}<a href='http://h{}.maze.test/'>on</a>", n + 1);
        sites = sites.page(&format!("h{n}.maze.test"), "/", Answer::html(body));
    }
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), "http://h0.maze.test/\n").unwrap();
    std::fs::write(scene.path("study.toml"), "[traps]\nhosts_per_domain = 5\n").unwrap();
    let config = scene.path("study.toml");
    let crawl =
        scene.crawl().args(["--scope", "domain", "--allow-net", "127.0.0.0/8", "--config"]).args([config]);
    // Used up over three runs: a restart gives none of it back.
    crawl.args(["--max-pages", "2"]).run().expect(10);
    let resume = |pages| scene.resume().args(scene.server.resolve()).args(["--max-pages", pages]).run();
    resume("4").expect(10);
    resume("none").expect(10);
    assert_eq!(scene.server.pages().len(), 1 + 5, "the seed's host doesn't count");
    let hosts = scene.table("hosts");
    assert_eq!(hosts.len(), 1 + 5, "names that are held back leave nothing behind: {hosts:?}");
    resume("none").expect(10);
    assert_eq!(scene.server.pages().len(), 1 + 5);
    let skipped = scene.table("skipped");
    assert_eq!(skipped.len(), 1);
    assert_eq!(skipped[0]["reason"], "trap_domain");
    assert_eq!(skipped[0]["detail"], "traps.hosts_per_domain 5: maze.test already has 5 hosts");
}

#[test]
fn a_page_that_names_hosts_without_end_makes_some_known_alone() {
    let hosts = |from: usize| -> String {
        let link = |n| format!("<a href='http://www.domain-{n}.test/'>{n}</a>");
        (from..from + 8).map(link).collect::<Vec<_>>().concat()
    };
    let mut sites = Sites::new()
        .page("a.test", "/", Answer::html(format!("{}<a href=/b>on</a>", hosts(0))))
        .page("a.test", "/b", Answer::html(hosts(4)));
    for n in 0..12 {
        sites = sites.page(&format!("www.domain-{n}.test"), "/", Answer::html(format!("{n}")));
    }
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), "http://a.test/\n").unwrap();
    std::fs::write(scene.path("study.toml"), "[traps]\nhosts_per_page = 5\n").unwrap();
    let config = scene.path("study.toml");
    let run = scene.crawl().args(["--scope", "any", "--config"]).args([config]).run();
    run.expect(10);
    assert!(run.stdout.starts_with("complete within limits"), "{run}");
    // The first page makes 0 to 4 known. Of the second one's, 4 is known already; 5 to 9 are new, 10 and 11 too many.
    let known: Vec<_> =
        scene.table("hosts").iter().map(|row| row["host"].as_str().unwrap().to_owned()).collect();
    assert_eq!(known.len(), 1 + 10, "{known:?}");
    let skipped = scene.table("skipped");
    let urls: BTreeSet<_> = skipped.iter().map(|row| row["url"].as_str().unwrap()).collect();
    assert_eq!(urls, BTreeSet::from(["http://www.domain-10.test/", "http://www.domain-11.test/"]));
    assert!(skipped.iter().all(|row| {
        row["reason"] == "trap_page"
            && row["detail"] == "traps.hosts_per_page 5: the page already names 5 new hosts"
    }));
}
