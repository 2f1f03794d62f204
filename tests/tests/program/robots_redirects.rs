//! Redirects of a robots.txt: where they are followed, and where the target's own host says no.

use std::time::Duration;

use serde_json::Value;
use whole_program::output_dir::files_with;
use whole_program::request_log::Request;
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Is on the pages of a site that nobody may visit.
const MARKER: &str = "zq-behind-a-refused-redirect-qz";

/// `a.test` sends its robots.txt to `to`; its pages hold the marker.
fn redirecting(to: &str) -> Sites {
    Sites::new()
        .page("a.test", "/robots.txt", Answer::redirect(301, to))
        .page("a.test", "/", Answer::html(format!("<title>{MARKER}</title><a href=/closed>{MARKER}</a>")))
        .page("a.test", "/closed", Answer::html(MARKER))
}

fn crawl(sites: Sites) -> Scene {
    let scene = Scene::new(sites);
    // Only what is to be redirected is a seed: the other hosts are met by the redirect alone.
    std::fs::write(scene.seeds(), "http://a.test/\n").expect("the seed file can be written");
    scene.crawl().run();
    scene.look("audit", &[]).expect(0);
    scene
}

/// What was asked for, in order.
fn asked(scene: &Scene) -> Vec<String> {
    let mut log = scene.server.log();
    log.sort_by_key(|request| request.start);
    log.iter().map(Request::url).collect()
}

#[test]
fn a_target_with_bytes_that_are_not_utf_8_is_followed() {
    // The byte 0xE9, as in ISO 8859-1.
    let sites = redirecting("/r\u{f7e9}.txt").page(
        "a.test",
        "/r%E9.txt",
        Answer::robots(Rules::default().deny("/closed")),
    );
    let scene = crawl(sites);
    assert_eq!(asked(&scene), ["http://a.test/robots.txt", "http://a.test/r%E9.txt", "http://a.test/"]);
}

/// The row of table `robots` of `a.test`.
fn robots(scene: &Scene) -> Value {
    let rows = scene.table("robots");
    let mut own = rows.into_iter().filter(|row| row["origin"] == "http://a.test");
    own.next_back().expect("a.test has a robots.txt on record")
}

/// The site counts as unreachable, for this reason, which every view tells; nothing of it was asked for or kept.
#[track_caller]
fn assert_unreachable(scene: &Scene, words: &[&str]) {
    let row = robots(scene);
    let reason = row["reason"].as_str().expect("a reason").to_owned();
    assert_eq!(row["access"], "defer", "{row}");
    assert!(reason.starts_with("unreachable since "), "{reason}");
    let out = scene.out();
    let out = out.to_str().expect("a path of text");
    let log = whole_program::program::Crawl::new(["robots", "log", "http://a.test", out]).run();
    let story = whole_program::program::Crawl::new(["explain", "http://a.test/", out]).run();
    let hosts = scene.look("show", &["hosts"]);
    for word in words {
        assert!(reason.contains(word), "{word:?} isn't in {reason:?}");
        assert!(log.stdout.contains(word), "{word:?}: {log}");
        assert!(story.stdout.contains(word), "{word:?}: {story}");
    }
    assert!(hosts.stdout.contains("defer: unreachable"), "{hosts}");
    assert!(
        asked(scene).iter().all(|url| !url.starts_with("http://a.test/") || url.ends_with("/robots.txt"))
    );
    assert_eq!(files_with(&scene.out(), &[MARKER]), []);
    // Each request that the ledger has was made.
    let made = scene.table("ledger").iter().filter(|row| row["evidence"]["request"].is_object()).count();
    assert_eq!(made, scene.server.count());
    scene.assert_polite();
}

#[test]
fn a_redirect_to_what_its_host_denies_isnt_followed() {
    let sites = redirecting("http://b.test/private/robots.txt")
        .page("b.test", "/robots.txt", Answer::robots(Rules::default().deny("/private/")))
        .page("b.test", "/private/robots.txt", Answer::content("text/plain", "User-agent: *\nAllow: /\n"));
    let scene = crawl(sites);
    assert_eq!(asked(&scene), ["http://a.test/robots.txt", "http://b.test/robots.txt"]);
    let words = [
        "redirect to http://b.test/private/robots.txt",
        "its host's robots.txt denies",
        "Disallow: /private/",
    ];
    assert_unreachable(&scene, &words);
}

#[test]
fn a_redirect_to_what_a_known_robots_txt_denies_isnt_followed() {
    let sites = redirecting("http://b.test/private/robots.txt")
        .page("b.test", "/robots.txt", Answer::robots(Rules::default().deny("/private/")))
        .page("b.test", "/", Answer::html("<a href=/1>1</a>"))
        .page("b.test", "/1", Answer::html("1"));
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), "http://b.test/\nhttp://a.test/\n").expect("the seed file can be written");
    scene.crawl().run();
    scene.look("audit", &[]).expect(0);
    let asked = asked(&scene);
    assert!(!asked.iter().any(|url| url.contains("private")), "{asked:?}");
    assert_eq!(asked.iter().filter(|url| *url == "http://b.test/robots.txt").count(), 1, "{asked:?}");
    assert_unreachable(&scene, &["redirect to http://b.test/private/robots.txt", "Disallow: /private/"]);
}

#[test]
fn a_redirect_to_another_file_is_judged_by_its_hosts_robots_txt_first() {
    let delay = Duration::from_millis(700);
    let sites = redirecting("http://b.test/rules/a.txt?v=1")
        .page("b.test", "/robots.txt", Answer::robots(Rules::default().deny("/private/").delay(delay)))
        .page(
            "b.test",
            "/rules/a.txt?v=1",
            Answer::content("text/plain", "User-agent: *\nDisallow: /closed\n"),
        );
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), "http://a.test/\n").expect("the seed file can be written");
    scene.crawl().run().expect(0);
    scene.look("audit", &[]).expect(0);
    let expected = [
        "http://a.test/robots.txt",
        "http://b.test/robots.txt",
        "http://b.test/rules/a.txt?v=1",
        "http://a.test/",
    ];
    assert_eq!(asked(&scene), expected);
    let log = scene.server.log();
    let of = |path: &str| log.iter().find(|request| request.url().ends_with(path)).expect("it was asked for");
    let gap = of("/rules/a.txt?v=1").start.saturating_sub(of("b.test/robots.txt").end);
    assert!(gap >= delay, "the delay of its host is kept: {gap:?}");
    assert_eq!(robots(&scene)["access"], "rules");
    let skipped = scene.table("skipped");
    assert!(skipped.iter().any(|row| row["url"] == "http://a.test/closed"), "its rules bind: {skipped:?}");
}

#[test]
fn a_redirect_to_a_robots_txt_or_within_a_site_is_followed_at_once() {
    let rules = || Answer::content("text/plain", "User-agent: *\nDisallow: /closed\n");
    let denies = || Answer::robots(Rules::default().deny("/files/"));
    for (sites, expected) in [
        (
            redirecting("http://b.test/robots.txt").page("b.test", "/robots.txt", rules()),
            vec!["b.test/robots.txt"],
        ),
        (
            redirecting("/files/robots.txt").page("a.test", "/files/robots.txt", rules()),
            vec!["a.test/files/robots.txt"],
        ),
        // Where the other host's own file lies is for its own robots.txt to say, too.
        (
            redirecting("http://b.test/robots.txt")
                .page("b.test", "/robots.txt", Answer::redirect(302, "/files/robots.txt"))
                .page("b.test", "/files/robots.txt", rules()),
            vec!["b.test/robots.txt", "b.test/files/robots.txt"],
        ),
        (
            redirecting("http://b.test/robots.txt")
                .page("b.test", "/robots.txt", Answer::redirect(302, "http://a.test/files/robots.txt"))
                .page("a.test", "/files/robots.txt", rules()),
            vec!["b.test/robots.txt", "a.test/files/robots.txt"],
        ),
        (
            redirecting("http://b.test/robots.txt")
                .page("b.test", "/robots.txt", Answer::redirect(302, "http://c.test/files/robots.txt"))
                .page("c.test", "/robots.txt", Answer::status(404))
                .page("c.test", "/files/robots.txt", rules()),
            vec!["b.test/robots.txt", "c.test/robots.txt", "c.test/files/robots.txt"],
        ),
    ] {
        let scene = crawl(sites);
        let between = expected.iter().map(|url| format!("http://{url}"));
        let all: Vec<String> = std::iter::once("http://a.test/robots.txt".to_owned())
            .chain(between)
            .chain(["http://a.test/".to_owned()])
            .collect();
        assert_eq!(asked(&scene), all);
        assert_eq!(robots(&scene)["access"], "rules", "{expected:?}");
    }
    // And one hop further it is another host's page again.
    let sites = redirecting("http://b.test/robots.txt")
        .page("b.test", "/robots.txt", Answer::redirect(302, "http://c.test/files/robots.txt"))
        .page("c.test", "/robots.txt", denies())
        .page("c.test", "/files/robots.txt", rules());
    let scene = crawl(sites);
    assert!(!asked(&scene).iter().any(|url| url.contains("/files/")), "{:?}", asked(&scene));
    assert_unreachable(&scene, &["redirect to http://c.test/files/robots.txt", "Disallow: /files/"]);
}

#[test]
fn a_redirect_whose_hosts_robots_txt_doesnt_say_isnt_followed() {
    let to = "http://b.test/rules/a.txt";
    let with = |robots: Answer| {
        redirecting(to).page("b.test", "/robots.txt", robots).page(
            "b.test",
            "/rules/a.txt",
            Answer::html("x"),
        )
    };
    let delay = Duration::from_hours(24);
    for (robots, words) in [
        (Answer::redirect(301, "http://b.test/elsewhere.txt"), "robots.txt redirects too"),
        (Answer::status(500), "robots.txt is unreachable: unreachable since"),
        (Answer::status(403), "its host's robots.txt denies: closed: 403"),
        (Answer::robots(Rules::default().delay(delay)), "too long a gap: crawl-delay 86400 s"),
    ] {
        let scene = crawl(with(robots));
        assert_eq!(asked(&scene), ["http://a.test/robots.txt", "http://b.test/robots.txt"], "{words}");
        assert_unreachable(&scene, &["redirect to http://b.test/rules/a.txt", words]);
    }
}

#[test]
fn a_redirect_to_a_closed_address_isnt_followed() {
    let secret = std::net::TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let port = secret.local_addr().expect("a bound socket has an address").port();
    secret.set_nonblocking(true).expect("a socket can be made not to wait");
    for place in ["/robots.txt", "/other.txt"] {
        let to = format!("http://127.0.0.1:{port}{place}");
        let scene = crawl(redirecting(&to));
        assert_eq!(asked(&scene), ["http://a.test/robots.txt"]);
        assert_unreachable(
            &scene,
            &[&format!("redirect to {to}"), "127.0.0.1 is a loopback address", "--allow-net"],
        );
    }
    assert!(secret.accept().is_err(), "nobody came");
}
