//! `crawl plan`: nothing but robots.txt and sitemaps is asked for, and the plan is what the crawl then does.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use whole_program::program::{Crawl, Output};
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

fn sites() -> Sites {
    let rules = Rules::default().deny("/private/").allow("/private/open").delay(Duration::from_secs(2));
    let mut robots = Answer::robots(rules);
    robots
        .body
        .extend(b"Disalow: /typo\nSitemap: http://a.test/maps/s.xml\nSitemap: http://a.test/private/s.xml\n");
    let urls: String = ["/1", "/2", "/private/x", "/private/y", "/private/open", "/typo"]
        .map(|path| format!("<url><loc>http://a.test{path}</loc></url>"))
        .concat();
    let mut sites = Sites::new()
        .page("a.test", "/robots.txt", robots)
        .page("a.test", "/maps/s.xml", Answer::content("application/xml", format!("<urlset>{urls}</urlset>")))
        .page("closed.test", "/robots.txt", Answer::robots(Rules::closed()))
        .page("open.test", "/", Answer::html("<p>open<a href=/more>more</a>"));
    for path in ["/", "/1", "/2", "/private/x", "/private/open"] {
        sites = sites.page("a.test", path, Answer::html(format!("<p>{path}")));
    }
    sites
}

fn plan(scene: &Scene, more: &[&str]) -> Output {
    Crawl::new(["plan", "--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0"])
        .args([Path::new("--seed"), &scene.seeds()])
        .args(scene.server.resolve())
        .args(more)
        .run()
}

fn host<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let hosts = plan["hosts"].as_array().expect("a list of hosts");
    hosts.iter().find(|host| host["host"] == name).expect("the host is in the plan")
}

#[test]
fn a_plan_asks_for_robots_and_sitemaps_alone() {
    let scene = Scene::new(sites());
    let output = plan(&scene, &["--sitemaps", "--json"]);
    let plan_made = output.expect(0).json().remove(0);
    scene.assert_polite();
    assert_eq!(
        sorted(scene.server.log().iter().map(whole_program::request_log::Request::url).collect()),
        [
            "http://a.test/maps/s.xml",
            "http://a.test/robots.txt",
            "http://a.test/sitemap.xml",
            "http://closed.test/robots.txt",
            "http://open.test/robots.txt",
            "http://open.test/sitemap.xml",
        ]
    );
    // Front pages of two hosts, /1, /2 and the one in the open; three are blocked, and the front page of the closed one.
    assert_eq!(
        (&plan_made["allowed"], &plan_made["blocked"], &plan_made["unknown"]),
        (&json!(5), &json!(4), &json!(0))
    );
    let a = host(&plan_made, "a.test");
    assert_eq!((&a["delay"], &a["skip_reason"]), (&json!(2.0), &Value::Null));
    assert!(a["delay_from"].as_str().unwrap().starts_with("Crawl-delay, line "), "{a}");
    // Four pages, robots.txt, two sitemaps that aren't denied: six gaps.
    assert_eq!((&a["requests"], &a["least_duration"]), (&json!(7), &json!(12.0)));
    assert_eq!(plan_made["least_duration"], json!(12.0));
    let origin = &a["origins"][0];
    let text = |line: &Value| line["text"].as_str().unwrap().to_owned();
    let rules: Vec<_> = origin["rules"].as_array().unwrap().iter().map(text).collect();
    assert_eq!(rules, ["Disallow: /private/", "Allow: /private/open", "Disalow: /typo"]);
    let by: Vec<_> = origin["blocked_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|by| (by["rule"].as_str().unwrap(), by["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(by, [("Disallow: /private/", 2), ("Disalow: /typo", 1)]);
    let states: Vec<_> = origin["sitemaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|map| (map["url"].clone(), map["state"].clone()))
        .collect();
    assert!(states.contains(&("http://a.test/private/s.xml".into(), "denied".into())), "{states:?}");
    assert_eq!(origin["warnings"].as_array().unwrap().len(), 1, "{origin}");
    assert_eq!(host(&plan_made, "closed.test")["allowed"], 0);
    assert_eq!(host(&plan_made, "open.test")["origins"][0]["access"], "allow_all");
    assert!(!scene.out().exists(), "nothing is written");

    let words = plan(&scene, &["--sitemaps"]);
    for part in [
        "Plan for SuperRobot/1.0: 5 of the known URLs may be fetched, 4 may not",
        "\na.test\n",
        "2 s between requests",
    ] {
        assert!(words.expect(0).stdout.contains(part), "{part}: {words}");
    }
}

#[test]
fn without_sitemaps_the_seeds_are_planned_and_a_closed_site_is_exit_code_4() {
    let scene = Scene::new(sites());
    let seeds = plan(&scene, &["--json"]).expect(0).json().remove(0);
    assert_eq!((&seeds["allowed"], &seeds["blocked"]), (&json!(2), &json!(1)));
    assert!(scene.server.log().iter().all(|request| request.path == "/robots.txt"));
    std::fs::write(scene.seeds(), "http://closed.test/\n").unwrap();
    plan(&scene, &[]).expect(4);
    std::fs::write(scene.seeds(), "http://a.test/\n").unwrap();
}

#[test]
fn hosts_that_a_crawl_would_skip_are_neither_fetchable_nor_in_the_duration() {
    let late = (jiff::Timestamp::now().as_second() / 3_600 + 12) % 24;
    let window = format!("User-agent: *\nVisit-time: {late:02}00-{late:02}30\n");
    let sites = sites()
        .page("down.test", "/robots.txt", Answer::status(503))
        .page("forbidden.test", "/robots.txt", Answer::status(403))
        .page("late.test", "/robots.txt", Answer::content("text/plain", window));
    let scene = Scene::new(sites);
    let hosts = ["a.test", "down.test", "forbidden.test"];
    let seeds: String = hosts.map(|host| format!("http://{host}/\nhttp://{host}/2\n")).concat();
    std::fs::write(scene.seeds(), &seeds).unwrap();
    let options = ["--max-crawl-delay", "1s", "--json"];
    // Nothing remains that may be fetched.
    let none = plan(&scene, &options).expect(4).json().remove(0);
    let total = |plan: &Value| ["allowed", "blocked", "skipped", "unknown"].map(|name| plan[name].clone());
    assert_eq!(total(&none), [0, 2, 2, 2].map(Value::from), "{none}");
    assert_eq!((&none["requests"], &none["least_duration"]), (&json!(3), &json!(0.0)));
    for (name, why) in [
        ("a.test", "Crawl-delay 2 s (line 2) is over max-crawl-delay 1 s"),
        ("down.test", "robots.txt is unreachable: "),
        ("forbidden.test", "robots.txt closes the whole site: "),
    ] {
        let host = host(&none, name);
        assert!(host["skip_reason"].as_str().unwrap().starts_with(why), "{host}");
        let counts = ["allowed", "requests", "least_duration"].map(|name| host[name].clone());
        assert_eq!(counts, [json!(0), json!(1), json!(0.0)], "{host}");
    }
    assert_eq!(host(&none, "a.test")["origins"][0]["skipped"], 2);
    let text = plan(&scene, &options[..2]).expect(4).stdout.clone();
    assert!(
        text.contains("0 of the known URLs may be fetched, 2 may not, 2 on skipped hosts, 2 undetermined"),
        "{text}"
    );
    assert!(text.contains("3 hosts would be skipped"), "{text}");

    // The window opens in eleven hours at the earliest, in twelve at the latest.
    std::fs::write(scene.seeds(), seeds + "http://late.test/\n").unwrap();
    let late = plan(&scene, &options).expect(0).json().remove(0);
    assert_eq!(total(&late), [1, 2, 2, 2].map(Value::from), "{late}");
    let hours = late["least_duration"].as_f64().unwrap() / 3_600.0;
    assert!((10.9..12.1).contains(&hours), "{hours} h");
    assert_eq!(host(&late, "late.test")["least_duration"], late["least_duration"]);
}

#[test]
fn offline_a_plan_comes_from_what_is_stored() {
    let scene = Scene::new(sites());
    scene.crawl().run().expect(0);
    let asked = scene.server.count();
    let plan = scene.look("plan", &["--json"]);
    assert_eq!(plan.code, Some(2), "DIR isn't an argument: {plan}");
    let offline = || Crawl::new(["plan", "--offline"]).args([scene.out()]);
    let made = offline().args(["--json"]).run().expect(0).json().remove(0);
    assert_eq!(scene.server.count(), asked, "nobody is asked");
    // Front pages of a.test and open.test, /more of open.test; the front page of closed.test.
    assert_eq!((&made["allowed"], &made["blocked"], &made["unknown"]), (&json!(3), &json!(1), &json!(0)));
    assert_eq!(host(&made, "a.test")["delay"], json!(2.0));
    assert!(offline().run().expect(0).stdout.contains("the stored crawl"));
    Crawl::new(["plan", "--offline", "/nowhere/at/all"]).run().expect(2);
}
