//! A robots.txt that changes between two runs, as a user sees it.

use crawler::record::RobotsRecord;
use crawler::store::{SledStore, Store as _, Tree, Write};
use whole_program::program::Crawl;
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Makes what is stored of a site's robots.txt a day older: no file lasts for less than ten minutes.
pub(crate) fn a_day_later(scene: &Scene, origin: &str) {
    let store = SledStore::open(&scene.out().join("db")).expect("nobody else has it open");
    let newest = store.last(Tree::Robots, &RobotsRecord::prefix(origin)).expect("it can be read");
    let (key, value) = newest.expect("it is there");
    let mut record = RobotsRecord::read(&value).expect("a record");
    let day = jiff::SignedDuration::from_hours(25);
    record.expires = record.expires.checked_sub(day).expect("a time");
    let value = record.write().expect("it can be packed");
    store.commit(vec![Write::put(Tree::Robots, key, value)]).expect("it can be written");
}

#[test]
fn what_a_new_robots_denies_isnt_requested_and_the_change_is_reported() {
    let links = |n| format!("<a href=/open/{n}>{n}</a><a href=/shut/{n}>{n}</a>");
    let front = [1, 2, 3, 4].map(links).concat();
    let mut sites = Sites::new()
        .page("a.test", "/robots.txt", Answer::robots(Rules::default().deny("/old/")))
        .page(
            "a.test",
            "/robots.txt",
            Answer::robots(Rules::default().allow("/old/").deny("/x").deny("/shut/")),
        )
        .page("a.test", "/", Answer::html(front));
    for n in 1..=4 {
        for folder in ["open", "shut"] {
            sites = sites.page("a.test", &format!("/{folder}/{n}"), Answer::html(format!("{folder} {n}")));
        }
    }
    let scene = Scene::new(sites);
    // The front page, and the first of each folder.
    scene.crawl().args(["--max-pages", "3"]).run().expect(10);
    a_day_later(&scene, "http://a.test");
    scene.resume().args(scene.server.resolve()).args(["--max-pages", "none"]).run().expect(0);
    scene.assert_polite();
    let asked: Vec<String> =
        scene.server.pages().iter().map(|url| url.replace("http://a.test", "")).collect();
    assert_eq!(asked, ["/", "/open/1", "/shut/1", "/open/2", "/open/3", "/open/4"]);

    let skipped = scene.table("skipped");
    let mut urls: Vec<_> = skipped.iter().map(|row| row["url"].as_str().unwrap()).collect();
    urls.sort_unstable();
    assert_eq!(urls, ["http://a.test/shut/2", "http://a.test/shut/3", "http://a.test/shut/4"]);
    for row in &skipped {
        assert_eq!(row["reason"], "robots_txt", "{row}");
        assert!(row["detail"].as_str().unwrap().contains("line 4: Disallow: /shut/"), "{row}");
    }
    let ledger = scene.table("ledger");
    let reported =
        |decision: &str| ledger.iter().filter(|row| row["decision"] == decision).collect::<Vec<_>>();
    let [changed] = reported("robots_changed")[..] else { panic!("{ledger:#?}") };
    let versions = &changed["evidence"]["versions"];
    let denials = reported("skipped");
    assert_eq!(denials.len(), 3);
    for denial in denials {
        let robots = &denial["evidence"]["robots"];
        assert_eq!((robots["line"].as_u64(), &robots["digest"]), (Some(4), &versions["after"]), "{denial}");
    }
    let out = scene.out();
    let diff = Crawl::new(["robots", "diff", "a.test"]).args([out.as_os_str()]).run();
    let shown = diff.expect(0).stdout.clone();
    for line in ["-Disallow: /old/", "+Allow: /old/", "+Disallow: /shut/"] {
        assert!(
            shown.lines().any(|shown| shown.replace(' ', "") == line.replace(' ', "")),
            "{line}: {shown}"
        );
    }
}
