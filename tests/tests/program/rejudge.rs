//! Limits and scope that change from one run to the next: what they excluded is judged again, and nothing is fetched twice.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// One setting that leaves a URL out, and the change that lets it in.
struct Case {
    sites: Sites,
    seed: &'static str,
    /// Options of the first run.
    first: &'static [&'static str],
    /// Keys of the first run that have no option.
    file: &'static str,
    url: &'static str,
    reason: &'static str,
    /// What `crawl explain` says that it takes.
    says: &'static str,
    /// Options of the second run.
    second: &'static [&'static str],
    /// A line of `crawl.toml` that is changed before it.
    edit: Option<(&'static str, &'static str)>,
}

fn page(sites: Sites, path: &str, body: &str) -> Sites {
    sites.page("a.test", path, Answer::html(body))
}

fn chain() -> Sites {
    let sites = page(Sites::new(), "/", "<a href=/one>1</a>");
    let sites = page(page(sites, "/one", "<a href=/two>2</a>"), "/two", "<a href=/three>3</a>");
    page(sites, "/three", "end")
}

fn one_link(path: &str) -> Sites {
    page(page(Sites::new(), "/", &format!("<a href='{path}'>x</a>")), path, "x")
}

fn two_hosts(host: &str) -> Sites {
    let front = format!("<a href=http://{host}/x>x</a>");
    page(Sites::new(), "/", &front).page(host, "/x", Answer::html("x"))
}

fn variants(paths: &[&str], body: &str) -> Sites {
    let links: Vec<String> = paths.iter().map(|path| format!("<a href='{path}'>x</a>")).collect();
    let links = links.concat();
    paths.iter().fold(page(Sites::new(), "/", &links), |sites, path| page(sites, path, body))
}

const SEED: &str = "http://a.test/";

fn case(sites: Sites, url: &'static str, reason: &'static str, says: &'static str) -> Case {
    Case { sites, seed: SEED, first: &[], file: "", url, reason, says, second: &[], edit: None }
}

fn cases() -> Vec<Case> {
    let option = |first, second, case: Case| Case { first, second, ..case };
    let key = |file, from, to, case: Case| Case { file, edit: Some((from, to)), ..case };
    vec![
        option(
            &["--max-depth", "1"],
            &["--max-depth", "2"],
            case(chain(), "http://a.test/two", "too_deep", "crawl resume DIR --max-depth 2"),
        ),
        option(
            &[],
            &["--scope", "any"],
            case(two_hosts("b.test"), "http://b.test/x", "other_host", "crawl resume DIR --scope any"),
        ),
        option(
            &[],
            &["--scope", "domain"],
            case(
                two_hosts("www.a.test"),
                "http://www.a.test/x",
                "other_host",
                "crawl resume DIR --scope domain",
            ),
        ),
        Case {
            sites: page(page(Sites::new(), "/in/", "<a href=/out/x>x</a>"), "/out/x", "x"),
            seed: "http://a.test/in/",
            ..option(
                &["--scope", "prefix"],
                &["--scope", "host"],
                case(Sites::new(), "http://a.test/out/x", "other_path", "crawl resume DIR --scope host"),
            )
        },
        option(
            &["--exclude", "/x$"],
            &["--exclude", "/y$"],
            case(one_link("/x"), "http://a.test/x", "pattern", "crawl resume DIR --exclude"),
        ),
        option(
            &["--include", "test/$"],
            &["--include", "test/", "--include", "/x$"],
            case(one_link("/x"), "http://a.test/x", "pattern", "crawl resume DIR --include"),
        ),
        option(
            &[],
            &["--resources"],
            case(
                page(Sites::new(), "/", "<img src=/x.png>").page(
                    "a.test",
                    "/x.png",
                    Answer::content("image/png", "\u{89}PNG"),
                ),
                "http://a.test/x.png",
                "resource",
                "crawl resume DIR --resources",
            ),
        ),
        key(
            "[limits]\nmax_url_length = 64\n",
            "max_url_length = 64",
            "max_url_length = 640",
            case(
                one_link("/a-name-that-is-longer-than-the-limit-of-64-bytes-in-a-url"),
                "http://a.test/a-name-that-is-longer-than-the-limit-of-64-bytes-in-a-url",
                "too_long",
                "limits.max_url_length in DIR/crawl.toml",
            ),
        ),
        key(
            "[limits]\nmax_redirects = 1\n",
            "max_redirects = 1",
            "max_redirects = 2",
            case(
                page(page(Sites::new(), "/", "<a href=/r1>r</a>"), "/end", "x")
                    .page("a.test", "/r1", Answer::redirect(301, "/r2"))
                    .page("a.test", "/r2", Answer::redirect(302, "/end")),
                "http://a.test/end",
                "too_many_redirects",
                "limits.max_redirects in DIR/crawl.toml",
            ),
        ),
        key(
            "[traps]\ndepth = 1\n",
            "depth = 1",
            "depth = 2",
            case(chain(), "http://a.test/two", "trap_depth", "traps.depth in DIR/crawl.toml"),
        ),
        key(
            "[traps]\nsegments = 3\n",
            "segments = 3",
            "segments = 9",
            case(
                one_link("/a/b/c/d"),
                "http://a.test/a/b/c/d",
                "trap_segments",
                "traps.segments in DIR/crawl.toml",
            ),
        ),
        key(
            "[traps]\nrepeats = 2\n",
            "repeats = 2",
            "repeats = 9",
            case(
                one_link("/q/q/q/q/x"),
                "http://a.test/q/q/q/q/x",
                "trap_repeats",
                "traps.repeats in DIR/crawl.toml",
            ),
        ),
        key(
            "[traps]\nurls_per_host = 2\n",
            "urls_per_host = 2",
            "urls_per_host = 9",
            case(
                variants(&["/one", "/two"], "x"),
                "http://a.test/two",
                "trap_host",
                "traps.urls_per_host in DIR/crawl.toml",
            ),
        ),
        key(
            "[traps]\nquery_variants = 1\n",
            "query_variants = 1",
            "query_variants = 9",
            case(
                variants(&["/p?x=1", "/p?x=2"], "x"),
                "http://a.test/p?x=2",
                "trap_query",
                "traps.query_variants in DIR/crawl.toml",
            ),
        ),
        key(
            "[traps]\nshape_variants = 1\n",
            "shape_variants = 1",
            "shape_variants = 9",
            case(
                variants(&["/p/1", "/p/2"], "x"),
                "http://a.test/p/2",
                "trap_shape",
                "traps.shape_variants in DIR/crawl.toml",
            ),
        ),
        // Held back when it was to be asked for: it is known already.
        key(
            "[traps]\nsame_pages = 2\n",
            "same_pages = 2",
            "same_pages = 99",
            case(
                variants(&["/p?x=1", "/p?x=2", "/p?x=3", "/p?x=4", "/p?x=5"], "always the same words"),
                "http://a.test/p?x=5",
                "trap_same",
                "traps.same_pages in DIR/crawl.toml",
            ),
        ),
        Case {
            first: &["--scope", "any"],
            second: &["--scope", "any"],
            ..key(
                "[traps]\nhosts_per_page = 1\n",
                "hosts_per_page = 1",
                "hosts_per_page = 9",
                case(
                    page(Sites::new(), "/", "<a href=http://x.test/>x</a><a href=http://y.test/>y</a>")
                        .page("x.test", "/", Answer::html("x"))
                        .page("y.test", "/", Answer::html("y")),
                    "http://y.test/",
                    "trap_page",
                    "traps.hosts_per_page in DIR/crawl.toml",
                ),
            )
        },
        Case {
            first: &["--scope", "any"],
            second: &["--scope", "any"],
            ..key(
                "[traps]\nhosts_per_domain = 1\n",
                "hosts_per_domain = 1",
                "hosts_per_domain = 9",
                case(
                    page(Sites::new(), "/", "<a href=http://x.b.test/>x</a><a href=http://y.b.test/>y</a>")
                        .page("x.b.test", "/", Answer::html("x"))
                        .page("y.b.test", "/", Answer::html("y")),
                    "http://y.b.test/",
                    "trap_domain",
                    "traps.hosts_per_domain in DIR/crawl.toml",
                ),
            )
        },
    ]
}

fn explain(scene: &Scene, url: &str, code: i32) -> Value {
    scene.look("explain", &[url, "--json"]).expect(code).json().remove(0)
}

fn start(case: &Case) -> Scene {
    let scene = Scene::new(case.sites.clone());
    std::fs::write(scene.seeds(), format!("{}\n", case.seed)).expect("the seed file can be written");
    let config = scene.path("first.toml");
    std::fs::write(&config, case.file).expect("the settings can be written");
    let run = scene.crawl().args(["--config"]).args([&config]).args(case.first).run();
    assert!(matches!(run.code, Some(0 | 10)), "{run}");
    scene
}

fn edit(scene: &Scene, from: &str, to: &str) {
    let path = scene.out().join("crawl.toml");
    let text = std::fs::read_to_string(&path).expect("the settings are there");
    let quoted = |line: &str| line.replacen("= ", "= \"", 1) + "\"";
    let changed = if text.contains(&quoted(from)) {
        text.replacen(&quoted(from), &quoted(to), 1)
    } else {
        text.replacen(from, to, 1)
    };
    assert_ne!(changed, text, "{from} is in crawl.toml: {text}");
    std::fs::write(path, changed).expect("the settings can be written");
}

/// How often each page was asked for.
fn asked(scene: &Scene) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for url in scene.server.pages() {
        *asked.entry(url).or_default() += 1;
    }
    asked
}

fn admitted(scene: &Scene) -> Vec<Value> {
    scene.table("ledger").into_iter().filter(|row| row["decision"] == "admitted").collect()
}

#[test]
fn what_a_changed_setting_excluded_is_fetched_and_nothing_else_again() {
    for case in cases() {
        let (url, reason) = (case.url, case.reason);
        let scene = start(&case);
        let skipped = scene.table("skipped");
        assert!(skipped.iter().any(|row| row["url"] == url && row["reason"] == reason), "{url}: {skipped:?}");
        let story = explain(&scene, url, 1);
        assert_eq!(story["fate"], "skipped", "{url}");
        let change = story["change"].to_string();
        assert!(change.contains(case.says), "{reason}: {change}");
        assert!(!asked(&scene).contains_key(url));

        if let Some((from, to)) = case.edit {
            edit(&scene, from, to);
        }
        let resumed = scene.resume().args(case.second).run();
        assert!(matches!(resumed.code, Some(0 | 10)), "{reason}: {resumed}");
        assert!(resumed.stderr.contains("checking skipped URLs again"), "{reason}: {resumed}");
        let pages = asked(&scene);
        assert_eq!(pages.get(url), Some(&1), "{reason}: {pages:?}");
        assert!(pages.values().all(|count| *count == 1), "{reason}: {pages:?}");
        assert_eq!(explain(&scene, url, 0)["fate"], "fetched", "{reason}");
        assert!(scene.table("skipped").iter().all(|row| row["url"] != url), "{reason}");
        let entered = admitted(&scene);
        assert!(
            entered.iter().any(|row| row["url"] == url && row["reason"] == reason),
            "{reason}: {entered:?}"
        );
        scene.look("audit", &[]).expect(0);

        let before = scene.server.count();
        let again = scene.resume().args(case.second).run();
        assert!(!again.stderr.contains("checking skipped URLs again"), "{reason}: {again}");
        assert_eq!(scene.server.count(), before, "{reason}: nothing is new");
        assert_eq!(admitted(&scene).len(), entered.len(), "{reason}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the kill has to come while it judges")]
fn a_kill_in_the_middle_loses_nothing_and_admits_nothing_twice() {
    const LINKS: usize = 6_000;
    let name = "y".repeat(60);
    let links: Vec<String> = (0..LINKS).map(|n| format!("<a href=/deep/{name}-{n}/x>x</a>")).collect();
    let links = links.concat();
    let sites = page(page(Sites::new(), "/", "<a href=/list>l</a>"), "/list", &links);
    // How long it takes to begin depends on the machine: later and later, until a kill comes in the middle.
    let stopped = (0..5_u64).find_map(|phase| {
        let scene = Scene::new(sites.clone());
        scene.crawl().args(["--max-depth", "1"]).run().expect(10);
        assert_eq!(scene.table("skipped").len(), LINKS);
        let so_far = (0..100_u64).find_map(|step| {
            let run = scene.resume().args(["--max-depth", "2", "--max-time", "500ms"]).start();
            std::thread::sleep(Duration::from_millis(100 + 3 * phase + 25 * step));
            run.kill();
            Some(admitted(&scene).len()).filter(|so_far| *so_far > 0)
        });
        so_far.filter(|so_far| *so_far < LINKS).map(|so_far| (scene, so_far))
    });
    let (scene, so_far) = stopped.expect("a kill comes in the middle");
    scene.resume().args(["--max-depth", "2", "--max-time", "500ms"]).run().expect(10);
    let entered = admitted(&scene);
    let urls: std::collections::BTreeSet<_> = entered.iter().map(|row| row["url"].to_string()).collect();
    assert_eq!((entered.len(), urls.len()), (LINKS, LINKS), "each once, {so_far} of them before the kill");
    let waits = scene.table("queue").len() + scene.table("pages").len() - 2;
    assert_eq!(waits, LINKS, "each waits or was answered");
    assert!(scene.table("skipped").iter().all(|row| row["reason"] != "too_deep"));
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_resume_says_what_a_ledger_that_was_off_cannot_tell() {
    let scene = Scene::new(chain());
    scene.crawl().args(["--max-depth", "1", "--ledger", "off"]).run();
    let resumed = scene.resume().args(["--max-depth", "2"]).run();
    assert!(resumed.stderr.contains("a run with --ledger off has no record"), "{resumed}");
    assert!(!asked(&scene).contains_key("http://a.test/two"));
    let same = scene.resume().args(["--max-depth", "2"]).run();
    assert!(!same.stderr.contains("--ledger off"), "{same}");
}

#[test]
fn a_link_that_its_page_forbids_by_now_stays_out() {
    let scene = Scene::new(chain());
    scene.crawl().args(["--max-depth", "1"]).run();
    let nofollow = "<meta name=robots content=nofollow><a href=/two>2</a>";
    scene.server.change("a.test", "/one", Answer::html(nofollow));
    scene.resume().args(["--max-depth", "1", "--revisit", "0s"]).run();
    scene.resume().args(["--max-depth", "2"]).run();
    assert!(!asked(&scene).contains_key("http://a.test/two"));
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_url_skipped_for_another_reason_now_has_that_reason() {
    let scene = Scene::new(chain());
    scene.crawl().args(["--max-depth", "1"]).run();
    scene.resume().args(["--max-depth", "2", "--exclude", "/two"]).run();
    let skipped = scene.table("skipped");
    let row = skipped.iter().find(|row| row["url"] == "http://a.test/two").expect("it is skipped");
    assert_eq!(row["reason"], "pattern");
    assert!(!asked(&scene).contains_key("http://a.test/two"));
}

/// Settings that become narrower hold for what waits in the queues too, and nothing is lost by it: when they are widened again,
/// what they kept out is fetched.
#[test]
fn what_was_queued_and_is_outside_of_narrower_settings_is_not_asked_for() {
    let front = "<a href=/a/b/c/private>p</a><a href=/open>o</a><a href=http://b.test/x>x</a>";
    for (narrow, wide, urls, reason) in [
        (
            ["--exclude", "private$"],
            ["--exclude", "nothing$"],
            vec!["http://a.test/a/b/c/private"],
            "pattern",
        ),
        (["--scope", "host"], ["--scope", "any"], vec!["http://b.test/x"], "other_host"),
        (
            ["--max-depth", "0"],
            ["--max-depth", "1"],
            vec!["http://a.test/a/b/c/private", "http://a.test/open", "http://b.test/x"],
            "too_deep",
        ),
    ] {
        let sites = page(page(page(Sites::new(), "/", front), "/a/b/c/private", "p"), "/open", "o");
        let scene = Scene::new(sites.page("b.test", "/x", Answer::html("x")));
        std::fs::write(scene.seeds(), format!("{SEED}\n")).expect("the seed file can be written");
        scene.crawl().args(["--scope", "any", "--max-pages", "1"]).run().expect(10);
        let narrowed = scene.resume().args(narrow).args(["--max-pages", "none"]).run();
        narrowed.expect(if reason == "too_deep" { 10 } else { 0 });
        let asked = |url: &str| scene.server.log().iter().any(|hit| hit.url() == url);
        assert!(urls.iter().all(|url| !asked(url)), "{narrow:?}");
        assert!(reason != "other_host" || !asked("http://b.test/robots.txt"), "no robots.txt either");
        let mut skipped: Vec<(String, String)> = Vec::new();
        for row in scene.table("skipped") {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            skipped.push((text("url"), text("reason")));
            assert_eq!(text("detail"), "queued under earlier settings", "{row}");
            assert_eq!(text("via"), SEED);
        }
        skipped.sort();
        let expected: Vec<_> = urls.iter().map(|url| ((*url).to_owned(), reason.to_owned())).collect();
        assert_eq!(skipped, expected);
        let summary = scene.look("show", &["--json"]).expect(0).json();
        assert_eq!(summary[0]["totals"]["skipped"], urls.len(), "{narrow:?}");
        assert_eq!(summary[0]["queued"], 0);
        scene.look("audit", &[]).expect(0);

        scene.resume().args(wide).args(["--max-pages", "none"]).run().expect(0);
        assert!(
            urls.iter().all(|url| scene.server.log().iter().filter(|hit| hit.url() == *url).count() == 1)
        );
        assert_eq!(scene.table("skipped").len(), 0);
        assert_eq!(scene.table("pages").len(), 4);
        scene.look("audit", &[]).expect(0);
        scene.assert_polite();
    }
}
