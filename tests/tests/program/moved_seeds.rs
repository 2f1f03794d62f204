//! Seeds that redirect: within their site the scope follows them; on another site one page is fetched, unless `--follow-moved-seeds` says more.

use std::collections::BTreeSet;

use serde_json::json;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

/// A site whose front page links to two pages.
fn site(sites: Sites, host: &str) -> Sites {
    let front = Answer::html("<title>x</title><a href=/1>1</a><a href=/2>2</a>");
    ["/1", "/2"].iter().fold(sites.page(host, "/", front), |sites, path| {
        sites.page(host, path, Answer::html(format!("{host}{path}")))
    })
}

/// Serves the sites, with these seeds.
fn scene(sites: Sites, seeds: &[&str]) -> Scene {
    let scene = Scene::new(sites);
    std::fs::write(scene.seeds(), seeds.join("\n")).expect("the seed file can be written");
    scene
}

fn moved(from: &str, to: &str) -> Sites {
    let (host, path) = from.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
    Sites::new().page(host, &format!("/{path}"), Answer::redirect(302, to))
}

fn assert_sound(scene: &Scene) {
    scene.look("audit", &[]).expect(0);
    scene.assert_polite();
}

/// Pages that were requested, without the redirecting seed.
fn targets(scene: &Scene, seed: &str) -> Vec<String> {
    sorted(scene.server.pages().into_iter().filter(|url| url != seed).collect())
}

const ELSEWHERE: &str = "http://bigsocial.test/";

#[test]
fn of_another_site_only_the_page_that_a_seed_redirects_to_is_fetched() {
    let seed = "http://project.uni.test/";
    for scope in ["host", "prefix", "domain"] {
        let scene = scene(site(moved(seed, ELSEWHERE), "bigsocial.test"), &[seed]);
        let output = scene.crawl().args(["--scope", scope]).run();
        output.expect(0);
        assert_eq!(targets(&scene, seed), [ELSEWHERE], "{scope}");
        assert!(output.stderr.contains("bigsocial.test"), "{}", output.stderr);
        assert_eq!(output.stderr.matches("--follow-moved-seeds").count(), 1, "{}", output.stderr);
        let skipped = scene.table("skipped");
        let reasons: BTreeSet<_> = skipped.iter().filter_map(|row| row["reason"].as_str()).collect();
        let expected = if scope == "prefix" { "other_path" } else { "other_host" };
        assert_eq!((skipped.len(), reasons), (2, BTreeSet::from([expected])), "{scope}");

        let summary = &scene.look("show", &["--json"]).expect(0).json()[0];
        let listed = json!([{ "seed": seed, "to": ELSEWHERE, "scope": "outside" }]);
        assert_eq!((&summary["moved_seeds_known"], &summary["moved_seeds"]), (&json!(1), &listed));
        let hosts = summary["hosts"].as_array().expect("a list");
        let notes = |host: &str| &hosts.iter().find(|row| row["host"] == host).expect("it is known")["notes"];
        let note = format!("moved seed (not in scope): {seed} redirects to {ELSEWHERE}");
        assert_eq!((notes("project.uni.test"), notes("bigsocial.test")), (&json!([note]), &json!([])));
        let words = scene.look("show", &[]).expect(0).stdout.clone();
        assert_eq!(words.matches(&note).count(), 2, "as a moved seed, and in the coverage: {words}");
        let out = scene.out();
        let arguments = ["--offline", out.to_str().expect("UTF-8"), "--json"];
        let plan = whole_program::program::Crawl::new(["plan"]).args(arguments).run().expect(0).json();
        assert_eq!(plan[0]["moved_seeds"], listed);
        assert_sound(&scene);
    }
}

#[test]
fn the_scope_follows_a_seed_within_its_site_and_with_the_option_anywhere() {
    for (seed, to, host, options, scope) in [
        ("http://a.test/", "http://www.a.test/", "www.a.test", &["--scope", "host"][..], "same_site"),
        ("http://www.a.test/", "http://a.test/", "a.test", &["--scope", "host"], "same_site"),
        ("http://a.test/", "http://shop.a.test/", "shop.a.test", &["--scope", "prefix"], "same_site"),
        (
            "http://a.test/",
            ELSEWHERE,
            "bigsocial.test",
            &["--scope", "host", "--follow-moved-seeds"],
            "inside",
        ),
        ("http://a.test/", ELSEWHERE, "bigsocial.test", &["--scope", "any"], "inside"),
    ] {
        let scene = scene(site(moved(seed, to), host), &[seed]);
        let output = scene.crawl().args(options).run();
        output.expect(0);
        assert!(!output.stderr.contains("--follow-moved-seeds"), "{}", output.stderr);
        assert_eq!(targets(&scene, seed), [to.to_owned(), format!("{to}1"), format!("{to}2")], "{options:?}");
        let summary = &scene.look("show", &["--json"]).expect(0).json()[0];
        assert_eq!(summary["moved_seeds"], json!([{ "seed": seed, "to": to, "scope": scope }]));
        assert_sound(&scene);
    }
}

#[test]
fn redirects_over_other_sites_lead_to_one_moved_seed_and_back_into_its_site() {
    let seed = "http://a.test/";
    // Over a counter, to the site itself and to another one.
    for (end, host, scope) in
        [("http://www.a.test/", "www.a.test", "same_site"), (ELSEWHERE, "bigsocial.test", "outside")]
    {
        let sites =
            moved(seed, "http://counter.test/?to").page("counter.test", "/?to", Answer::redirect(302, end));
        let scene = scene(site(sites, host), &[seed]);
        scene.crawl().run().expect(0);
        let all =
            ["http://counter.test/?to".to_owned(), end.to_owned(), format!("{end}1"), format!("{end}2")];
        let fetched = if scope == "outside" { 2 } else { 4 };
        assert_eq!(targets(&scene, seed), sorted(all[..fetched].to_vec()));
        let summary = &scene.look("show", &["--json"]).expect(0).json()[0];
        assert_eq!(summary["moved_seeds"], json!([{ "seed": seed, "to": end, "scope": scope }]));
        assert_sound(&scene);
    }
}

#[test]
fn a_seed_that_redirects_within_its_site_first_is_named_as_it_was_given() {
    let seed = "http://a.test/";
    let sites = moved(seed, "http://a.test/1").page("a.test", "/1", Answer::redirect(302, ELSEWHERE));
    let scene = scene(site(sites, "bigsocial.test"), &[seed]);
    scene.crawl().run().expect(0);
    assert_eq!(targets(&scene, seed), ["http://a.test/1", ELSEWHERE]);
    let summary = &scene.look("show", &["--json"]).expect(0).json()[0];
    assert_eq!(summary["moved_seeds"], json!([{ "seed": seed, "to": ELSEWHERE, "scope": "outside" }]));
    assert_sound(&scene);
}

#[test]
fn links_on_a_page_of_another_site_are_judged_by_the_scope() {
    let sites = Sites::new()
        .page("own.test", "/", Answer::html("<a href=/out>x</a><a href=http://third.test/direct>y</a>"))
        .page("own.test", "/out", Answer::redirect(302, "http://elsewhere.test/landing"))
        .page("elsewhere.test", "/landing", Answer::html("x"))
        .page("third.test", "/direct", Answer::html("x"));
    let scene = scene(sites, &["http://own.test/"]);
    scene.crawl().run().expect(0);
    assert_eq!(sorted(scene.server.pages()), ["http://own.test/", "http://own.test/out"]);
    assert_eq!(scene.look("show", &["--json"]).expect(0).json()[0]["moved_seeds"], json!([]));
    assert_sound(&scene);
}

#[test]
fn a_later_run_follows_the_seeds_that_moved_before_and_a_revisit_keeps_to_the_page() {
    let seed = "http://a.test/";
    let scene = scene(site(moved(seed, ELSEWHERE), "bigsocial.test"), &[seed]);
    scene.crawl().run().expect(0);
    // The target is visited again, though its host isn't in scope.
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    let asked = |scene: &Scene, url: &str| scene.server.pages().iter().filter(|asked| *asked == url).count();
    assert_eq!((asked(&scene, seed), asked(&scene, ELSEWHERE)), (2, 2));
    assert_eq!(asked(&scene, "http://bigsocial.test/1"), 0);
    assert_sound(&scene);
    let says = scene.look("explain", &["http://bigsocial.test/1"]).stdout.clone();
    assert!(says.contains("--follow-moved-seeds`, if a page links to it"), "{says}");
    scene.resume().args(["--follow-moved-seeds"]).run().expect(0);
    assert_eq!((asked(&scene, ELSEWHERE), asked(&scene, "http://bigsocial.test/1")), (2, 1));
    assert_eq!(asked(&scene, "http://bigsocial.test/2"), 1);
    let summary = &scene.look("show", &["--json"]).expect(0).json()[0];
    assert_eq!(summary["moved_seeds"], json!([{ "seed": seed, "to": ELSEWHERE, "scope": "inside" }]));
    assert_sound(&scene);
}

#[test]
fn patterns_hold_for_the_target_of_a_moved_seed() {
    let seed = "http://a.test/";
    let scene = scene(site(moved(seed, ELSEWHERE), "bigsocial.test"), &[seed]);
    // No page was fetched.
    scene.crawl().args(["--exclude", "bigsocial"]).run().expect(4);
    assert_eq!(scene.server.pages(), [seed]);
    let skipped = scene.table("skipped");
    assert_eq!((skipped.len(), &skipped[0]["reason"]), (1, &json!("pattern")));
    assert_sound(&scene);
}
