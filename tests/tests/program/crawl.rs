//! The main job on small sites.

use std::path::Path;
use std::time::Duration;

use whole_program::output_dir;
use whole_program::program::Crawl;
use whole_program::request_log::RequestKind;
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

fn two_sites() -> Sites {
    let front = "<title>Joe's</title><a href=/tools.html>tools</a> <a href='/private/payroll.xls'>payroll</a> \
                 <a href=/old>old</a> <a href=/gone>gone</a> <a href='http://marys.test/'>Mary</a> \
                 <a href='http://elsewhere.test/'>elsewhere</a> <img src=/logo.png> <a href='/tools.html#top'>again</a>";
    Sites::new()
        .page("joes.test", "/robots.txt", Answer::robots(Rules::default().deny("/private/")))
        .page("joes.test", "/", Answer::html(front))
        .page("joes.test", "/tools.html", Answer::html("<title>Tools</title><a href='/'>front</a>"))
        .page("joes.test", "/old", Answer::redirect(301, "/new"))
        .page("joes.test", "/new", Answer::html("<title>New</title>"))
        .page("joes.test", "/private/payroll.xls", Answer::content("application/vnd.ms-excel", "secret"))
        .page("joes.test", "/logo.png", Answer::content("image/png", "png"))
        .page("marys.test", "/", Answer::html("<title>Mary's</title><a href=/list.pdf>list</a>"))
        .page(
            "marys.test",
            "/list.pdf",
            Answer::content("application/pdf", "%PDF-1.4 <a href=/from-a-pdf>x</a>"),
        )
}

#[test]
fn each_page_is_fetched_once_and_robots_first() {
    let scene = Scene::new(two_sites());
    scene.crawl().run().expect(0);
    assert_eq!(
        sorted(scene.server.pages()),
        [
            "http://joes.test/",
            "http://joes.test/gone",
            "http://joes.test/new",
            "http://joes.test/old",
            "http://joes.test/tools.html",
            "http://marys.test/",
            "http://marys.test/list.pdf",
        ]
    );
    scene.assert_polite();
    for host in ["joes.test", "marys.test"] {
        let robots = scene
            .server
            .log()
            .into_iter()
            .filter(|r| r.host == host && r.purpose == RequestKind::Robots)
            .count();
        assert_eq!(robots, 1, "{host}");
    }
    for hit in scene.server.hits() {
        assert_eq!(hit.method, "GET");
        assert_eq!(hit.field("user-agent"), Some("SuperRobot/1.0"));
        assert_eq!((hit.field("from"), hit.field("cookie")), (None, None));
    }
}

#[test]
fn a_contact_goes_into_the_fields_of_every_request() {
    for (contacts, agent, from) in [
        (&["robot@joes.test"][..], "SuperRobot/1.0 (+robot@joes.test)", Some("robot@joes.test")),
        (&["https://joes.test/robot"], "SuperRobot/1.0 (+https://joes.test/robot)", None),
        (
            &["https://joes.test/robot", "robot@joes.test"],
            "SuperRobot/1.0 (+https://joes.test/robot; +robot@joes.test)",
            Some("robot@joes.test"),
        ),
    ] {
        let scene = Scene::new(Sites::new().tree("a.test", 2, Duration::ZERO));
        let given = contacts.iter().flat_map(|contact| ["--contact", contact]);
        scene.crawl().args(given).run().expect(0);
        assert_eq!(scene.server.count(), 3);
        for hit in scene.server.hits() {
            assert_eq!((hit.field("user-agent"), hit.field("from")), (Some(agent), from));
        }
    }
}

#[test]
fn a_crawl_without_a_contact_says_once_why_it_should_have_one() {
    let scene = Scene::new(Sites::new().tree("a.test", 5, Duration::ZERO));
    let output = scene.crawl().run();
    assert_eq!(output.expect(0).stderr.matches("--contact").count(), 1, "{output}");
    let scene = Scene::new(Sites::new().tree("a.test", 5, Duration::ZERO));
    let output = scene.crawl().args(["--contact", "robot@joes.test"]).run();
    assert_eq!(output.expect(0).stderr.matches("--contact").count(), 0, "{output}");
}

#[test]
fn the_bare_form_is_run_and_seeds_may_come_from_standard_input() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    let out = scene.out();
    let words = ["run", "--seed", "-", "--agent", "SuperRobot/1.0", "--delay", "0s", "--out"];
    Crawl::new(words).args([&out]).args(scene.server.resolve()).stdin("http://a.test/\n").run().expect(0);
    assert_eq!(scene.server.pages().len(), 3);
    let output =
        Crawl::new(["run", "--agent", "SuperRobot/1.0"]).args(["--seed".as_ref(), scene.seeds().as_os_str()]);
    let again = output.args(["--out".as_ref(), out.as_os_str()]).args(scene.server.resolve()).run();
    assert!(again.code != Some(0) && again.stderr.contains("crawl resume"), "{again}");
    assert_eq!(scene.server.pages().len(), 3, "a crawl that is there isn't begun again");
}

#[test]
fn a_limit_that_leaves_work_ends_the_crawl_with_its_own_exit_code() {
    for (option, value) in [("--max-pages", "4"), ("--max-pages-per-host", "2")] {
        let sites = Sites::new().tree("a.test", 30, Duration::ZERO).tree("b.test", 30, Duration::ZERO);
        let scene = Scene::new(sites);
        scene.crawl().args([option, value]).run().expect(10);
        let pages = scene.server.pages().len();
        // What is in flight on the other host when the limit is reached is finished.
        assert!((4..=5).contains(&pages), "{option}: {pages} pages");
        // A limit counts over all runs.
        scene.resume().args(scene.server.resolve()).run().expect(10);
        assert_eq!(scene.server.pages().len(), pages, "{option}");
    }
}

#[test]
fn max_depth_is_counted_in_links_from_a_seed() {
    let scene = Scene::new(Sites::new().tree("a.test", 30, Duration::ZERO));
    let output = scene.crawl().args(["--max-depth", "1"]).run();
    assert!(matches!(output.code, Some(0 | 10)), "{output}");
    assert_eq!(scene.server.pages().len(), 5, "the front page and its four links");
}

#[test]
fn retry_after_and_crawl_delay_are_waited_for() {
    let sites = Sites::new()
        .page("slow.test", "/robots.txt", Answer::robots(Rules::default().delay(Duration::from_millis(300))))
        .page("slow.test", "/", Answer::html("<a href=/1>1</a><a href=/2>2</a>"))
        .page("busy.test", "/", Answer::status(425).header("Retry-After", "2"))
        .page("busy.test", "/", Answer::html("<a href=/1>1</a>"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    scene.assert_polite();
    assert_eq!(
        sorted(scene.server.pages()),
        [
            "http://busy.test/",
            "http://busy.test/",
            "http://busy.test/1",
            "http://slow.test/",
            "http://slow.test/1",
            "http://slow.test/2"
        ]
    );
}

#[test]
fn hosts_dont_wait_for_one_another() {
    let mut sites = Sites::new();
    for n in 0..12 {
        sites = sites.tree(&format!("h{n}.test"), 6, Duration::from_millis(100));
    }
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    scene.assert_polite();
    let log = scene.server.log();
    let first = log.iter().map(|request| request.start).min().unwrap();
    let span = log.iter().map(|request| request.end.saturating_sub(first)).max().unwrap();
    let busy: Duration = log.iter().map(|r| r.end.saturating_sub(r.start)).sum();
    assert!(span * 4 < busy, "twelve hosts took {span:?} for {busy:?} of answers: one after the other");
}

#[test]
fn the_output_directory_has_its_parts() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    scene.crawl().run().expect(0);
    assert!(scene.out().join("db").is_dir());
    assert!(scene.out().join("crawl.toml").is_file());
    let archives: Vec<_> = output_dir::files(&scene.out().join("warc"))
        .into_iter()
        .filter(|path| path.to_string_lossy().ends_with(".warc.gz"))
        .collect();
    assert!(!archives.is_empty());
    let found = output_dir::files_with(&scene.out().join("warc"), &["Page 2 of a.test"]);
    assert!(!found.is_empty(), "the pages are in the archive");

    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    scene.crawl().args(["--no-warc"]).run().expect(0);
    let archive = scene.out().join("warc");
    assert!(!archive.exists() || output_dir::files(&archive).is_empty());
}

#[test]
fn urls_on_the_command_line_are_seeds() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO).tree("b.test", 3, Duration::ZERO));
    let options = ["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0", "--out"];
    for (number, seeds) in
        [&["http://a.test/", "http://b.test/"][..], &["--seed", "http://a.test/"]].iter().enumerate()
    {
        let out = scene.path(&format!("out{number}"));
        Crawl::new(*seeds).args(options).args([&out]).args(scene.server.resolve()).run().expect(0);
        let summary =
            Crawl::new([Path::new("show"), &out, Path::new("--json")]).run().expect(0).json().remove(0);
        let expected: Vec<_> = seeds.iter().filter(|seed| seed.contains("//")).collect();
        assert_eq!(summary["seeds"], serde_json::json!(expected));
        assert_eq!(summary["totals"]["pages"], 3 * expected.len());
    }
}
