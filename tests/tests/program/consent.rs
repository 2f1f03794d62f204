//! What sites say to the uses of their pages, and what a crawl of a declared purpose does about it (digest, section 5).

use std::collections::BTreeSet;

use serde_json::Value;
use whole_program::output_dir::{database_values, files_with};
use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::robots_change::a_day_later;
use crate::scene::{Scene, sorted};

fn page(marker: &str, links: &[&str]) -> Answer {
    let links = links.iter().map(|to| format!("<a href='{to}'>x</a>")).collect::<Vec<_>>().concat();
    Answer::html(format!(
        "<html><head><title>T {marker}</title></head><body><p>P {marker}</p>{links}</body></html>"
    ))
}

fn text(body: &str) -> Answer {
    Answer::content("text/plain", body)
}

fn record<'a>(pages: &'a [Value], url: &str) -> &'a Value {
    pages.iter().find(|page| page["url"] == url).unwrap_or_else(|| panic!("{url} has no record"))
}

fn said(page: &Value) -> Vec<String> {
    let statements = page["consent"].as_array().expect("a list");
    let word = |s: &Value| {
        let text = |key: &str| s[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text("signal"), text("purpose"), text("verdict"))
    };
    statements.iter().map(word).collect()
}

#[test]
fn statements_are_kept_with_their_place_and_grades_limit_what_is_stored() {
    let links = ["/header", "/reference", "/immediate", "/noai"];
    let sites = Sites::new()
        .page(
            "a.test",
            "/robots.txt",
            text("User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"),
        )
        .page("a.test", "/", page("mfront", &links))
        .page("a.test", "/header", page("mheader", &[]).header("Content-Usage", "train-ai=n, search=y"))
        .page("a.test", "/reference", page("mreference", &[]).header("Content-Signal", "use=reference"))
        .page("a.test", "/immediate", page("mimmediate", &[]).header("Content-Signal", "use=immediate"))
        .page("a.test", "/noai", page("mnoai", &[]).header("X-Robots-Tag", "noai"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let pages = scene.table("pages");
    let front = record(&pages, "http://a.test/");
    assert_eq!(said(front), ["content-signal search allow", "content-signal ai-train deny"]);
    let source = front["consent"][0]["source"].as_str().unwrap();
    assert!(source.starts_with("robots.txt line 2: Content-Signal"), "{source}");
    assert!(front["consent"][0]["raw"].as_str().unwrap().contains("ai-train=no"));
    assert!(front["consent"][0]["at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(front["serves"], serde_json::json!(["search", "archive"]));
    assert!(said(record(&pages, "http://a.test/header")).contains(&"content-usage ai-train deny".to_owned()));
    assert!(said(record(&pages, "http://a.test/noai")).contains(&"no-ai ai-train deny".to_owned()));

    let reference = record(&pages, "http://a.test/reference");
    assert_eq!((&reference["title"], &reference["archived"]), (&"T mreference".into(), &false.into()));
    let immediate = record(&pages, "http://a.test/immediate");
    assert_eq!((&immediate["title"], &immediate["indexed"]), (&Value::Null, &false.into()));
    assert!(files_with(&scene.out(), &["mimmediate"]).is_empty());
    assert!(files_with(&scene.out().join("warc"), &["mreference"]).is_empty());
    assert!(!files_with(&scene.out().join("warc"), &["mheader"]).is_empty());
    // Nothing of this is asked for by a crawl that declares neither mining nor training.
    let asked = scene.server.log();
    assert!(asked.iter().all(|hit| !hit.url().contains("tdmrep") && !hit.url().contains("ai.txt")));
    scene.assert_polite();
}

#[test]
fn what_is_kept_out_names_the_directive_or_statement_that_kept_it_out() {
    const LATER: &str = "unavailable_after: 2999-01-01";
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    let tagged = |value: &str| page("m", &[]).header("X-Robots-Tag", value);
    let own = |head: &str| Answer::html(format!("<head>{head}</head><p>m")).header("Last-Modified", DATE);
    let links = ["/later", "/immediate", "/reference", "/both", "/dynamic", "/own", "/turns"];
    let sites = Sites::new()
        .page("a.test", "/", page("m", &links))
        .page("a.test", "/later", tagged(&format!("nofollow, {LATER}")))
        .page("a.test", "/immediate", tagged(LATER).header("Content-Signal", "use=immediate"))
        .page("a.test", "/reference", tagged(LATER).header("Content-Signal", "use=reference"))
        .page("a.test", "/both", tagged("noarchive, noindex"))
        .page("a.test", "/dynamic", own("<meta name=document-state content=dynamic>"))
        .page("a.test", "/own", own("<meta name=robots content=noindex>"))
        .page("a.test", "/own", Answer::status(304))
        .page("a.test", "/turns", page("m", &[]))
        .page("a.test", "/turns", tagged(LATER).header("Content-Signal", "use=immediate"));
    let scene = Scene::new(sites);
    let causes = || {
        let ledger = scene.table("ledger");
        let kept_out = ledger.iter().filter(|entry| entry["decision"].as_str().unwrap().starts_with("not_"));
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let words = kept_out.map(|e| {
            let path = text(e, "url").trim_start_matches("http://a.test").to_owned();
            format!("{path} {} {} {}", text(e, "decision"), text(e, "layer"), text(e, "reason"))
        });
        sorted(words.collect())
    };
    scene.crawl().run().expect(0);
    let first = [
        "/both not_archived directive noarchive",
        "/both not_indexed directive noindex",
        "/dynamic not_archived directive document-state",
        "/dynamic not_indexed directive document-state",
        "/immediate not_archived consent consent",
        "/immediate not_indexed consent consent",
        "/later not_followed directive nofollow",
        "/own not_archived directive noindex",
        "/own not_indexed directive noindex",
        "/reference not_archived consent consent",
    ];
    assert_eq!(causes(), first);
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    let second: Vec<_> = causes().into_iter().filter(|cause| cause.starts_with("/own ")).collect();
    assert_eq!(second, [first[7], first[7], first[8], first[8]], "unchanged, and so is what keeps it out");
    let pages = scene.table("pages");
    let because = record(&pages, "http://a.test/turns")["withdrawn_because"].as_str().unwrap();
    assert!(because.starts_with("use immediate ") && !because.contains("unavailable_after"), "{because}");
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_mining_crawl_fetches_tdmrep_first_and_honours_file_header_and_page() {
    let file = r#"[{"location":"/closed/*","tdm-reservation":1},{"location":"/open/*","tdm-reservation":0}]"#;
    let links = ["/closed/a", "/open/b", "/open/taken", "/said", "/silent"];
    let sites = Sites::new()
        .page("a.test", "/.well-known/tdmrep.json", Answer::content("application/json", file))
        .page("a.test", "/", page("mfront", &links))
        .page("a.test", "/closed/a", page("mclosed", &[]))
        .page("a.test", "/open/b", page("mopen", &[]))
        .page("a.test", "/open/taken", page("mtaken", &[]).header("tdm-reservation", "1"))
        .page("a.test", "/said", page("msaid", &[]).header("tdm-reservation", "0"))
        .page("a.test", "/silent", page("msilent", &[]))
        .page("b.test", "/robots.txt", text("User-agent: *\nDisallow: /.well-known/\n"))
        .page("b.test", "/", page("mother", &[]).header("tdm-reservation", "0"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--purpose", "tdm"]).run().expect(0);
    let asked: Vec<String> = scene.server.log().into_iter().map(|hit| hit.url()).collect();
    let of = |host: &str| -> Vec<&str> {
        let start = format!("http://{host}");
        asked.iter().filter_map(|url| url.strip_prefix(&start)).collect()
    };
    assert_eq!(of("a.test")[..3], ["/robots.txt", "/.well-known/tdmrep.json", "/"]);
    assert_eq!(of("b.test"), ["/robots.txt", "/"], "a file that robots.txt closes isn't asked for");
    let rest = sorted(of("a.test")[3..].iter().map(|path| (*path).to_owned()).collect());
    assert_eq!(rest, ["/open/b", "/open/taken", "/said", "/silent"], "a denial before the fetch prevents it");

    let pages = scene.table("pages");
    for (path, kept) in
        [("/", false), ("/open/b", true), ("/open/taken", false), ("/said", true), ("/silent", false)]
    {
        let page = record(&pages, &format!("http://a.test{path}"));
        assert_eq!(page["indexed"], kept, "{path}");
        assert_eq!(page["serves"].as_array().map(Vec::len), Some(usize::from(kept)), "{path}");
    }
    let served =
        scene.look("export", &["--table", "pages", "--format", "jsonl", "--purpose", "tdm"]).expect(0).json();
    let served = sorted(served.iter().map(|page| page["url"].as_str().unwrap().to_owned()).collect());
    assert_eq!(served, ["http://a.test/open/b", "http://a.test/said", "http://b.test/"]);
    scene.look("export", &["--table", "links", "--format", "csv", "--purpose", "tdm"]).expect(2);
    assert!(files_with(&scene.out(), &["mtaken", "msilent", "mfront"]).is_empty());
    let skipped = scene.table("skipped");
    let closed = skipped.iter().find(|row| row["url"] == "http://a.test/closed/a").expect("a reason");
    assert_eq!((&closed["layer"], &closed["reason"]), (&"consent".into(), &"consent".into()));
    assert!(closed["detail"].as_str().unwrap().contains("tdmrep.json"), "{closed}");
    scene.assert_polite();
}

#[test]
fn a_training_crawl_asks_ai_txt_and_silence_may_be_declared_consent() {
    let sites = Sites::new()
        .page("a.test", "/ai.txt", text("User-Agent: *\nDisallow: /art/\nAllow: /\n"))
        .page("a.test", "/", page("mfront", &["/art/x", "/text"]))
        .page("a.test", "/art/x", page("mart", &[]))
        .page("a.test", "/text", page("mtext", &[]));
    let scene = Scene::new(sites);
    let config = scene.path("c.toml");
    std::fs::write(&config, "[consent]\nsilence_allows = [\"ai-train\"]\n").unwrap();
    scene.crawl().args(["--purpose", "ai-train", "--config"]).args([&config]).run().expect(0);
    let asked: Vec<String> = scene.server.log().into_iter().map(|hit| hit.url()).collect();
    assert_eq!(asked[..3], ["robots.txt", "ai.txt", ""].map(|path| format!("http://a.test/{path}")));
    assert_eq!(asked[3..], ["http://a.test/text"]);
    let pages = scene.table("pages");
    assert_eq!(record(&pages, "http://a.test/text")["title"], "T mtext");
}

#[test]
fn a_file_about_uses_that_redirects_nowhere_denies_what_it_could_deny() {
    const FILE: &str = "/.well-known/tdmrep.json";
    let reserved = r#"[{"location":"/*","tdm-reservation":1}]"#;
    // The byte 0xE9, as in ISO 8859-1.
    let mut sites = Sites::new()
        .page("bytes.test", FILE, Answer::redirect(301, "/t\u{f7e9}"))
        .page("bytes.test", "/t%E9", Answer::content("application/json", reserved))
        .page("broken.test", FILE, Answer::redirect(301, "http://[::"))
        .page("loop.test", FILE, Answer::redirect(301, FILE))
        .page("nowhere.test", FILE, Answer::status(302))
        .page("away.test", FILE, Answer::redirect(301, "http://elsewhere.test/"));
    let hosts = ["away.test", "broken.test", "bytes.test", "loop.test", "nowhere.test"];
    for host in hosts {
        sites = sites.page(host, "/", page("mtext", &[]));
    }
    let scene = Scene::new(sites);
    let config = scene.path("c.toml");
    std::fs::write(&config, "[consent]\nsilence_allows = [\"tdm\"]\n").unwrap();
    let seeds: Vec<String> = hosts.iter().map(|host| format!("http://{host}/")).collect();
    std::fs::write(scene.seeds(), seeds.join("\n")).expect("the seed file can be written");
    scene.crawl().args(["--purpose", "tdm", "--config"]).args([&config]).run();
    let asked: Vec<String> = scene.server.log().into_iter().map(|hit| hit.url()).collect();
    assert!(asked.contains(&"http://bytes.test/t%E9".to_owned()), "{asked:?}");
    let pages: Vec<&String> = asked.iter().filter(|url| seeds.contains(url)).collect();
    assert_eq!(pages, ["http://away.test/"]);
    scene.look("audit", &[]).expect(0);
}

/// The longest value of a tree.
fn longest_value(scene: &Scene, tree: &str) -> usize {
    let start = format!("tree {tree} ");
    let values = database_values(&scene.out().join("db"));
    values
        .iter()
        .filter(|(place, _)| place.starts_with(&start))
        .map(|(_, value)| value.len())
        .max()
        .unwrap_or(0)
}

#[test]
fn lines_of_robots_txt_are_stored_once_and_pages_refer_to_them() {
    // Each of them speaks of every page, and says more than one thing.
    let lines: Vec<String> =
        (0..700).map(|n| format!("Content-Signal: / search=yes, ai-train=no, x=mline{n}")).collect();
    let robots =
        format!("User-agent: *\nDisallow: /closed\n{}\nContent-Usage: /b train-ai=y\n", lines.join("\n"));
    let sites = Sites::new()
        .page("a.test", "/robots.txt", text(&robots))
        .page("a.test", "/", page("mfront", &["/a", "/b", "/closed"]))
        .page("a.test", "/a", page("ma", &[]).header("Content-Usage", "train-ai=n"))
        .page("a.test", "/b", page("mb", &[]).header("X-Robots-Tag", "noindex"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    // The columns tell of the first eight lines that say the same, as if each page repeated them, and how many others there are.
    let pages = scene.table("pages");
    let front = record(&pages, "http://a.test/");
    let statements = front["consent"].as_array().expect("a list");
    assert_eq!((statements.len(), &front["consent_more"]), (16, &(1_400 - 16).into()));
    assert_eq!(
        (
            &statements[0]["source"],
            &statements[0]["raw"],
            &statements[0]["purpose"],
            &statements[0]["verdict"]
        ),
        (
            &"robots.txt line 3: Content-Signal: / search=yes, ai-train=no, x=mline0".into(),
            &"/ search=yes, ai-train=no, x=mline0".into(),
            &"search".into(),
            &"allow".into()
        )
    );
    assert!(statements[15]["source"].as_str().unwrap().contains("line 10: "), "{}", statements[15]);
    let robots_at = scene.table("robots")[0]["fetched_at"].clone();
    assert!(statements.iter().all(|statement| statement["at"] == robots_at));
    let a = said(record(&pages, "http://a.test/a"));
    assert_eq!((a.len(), a[16].as_str()), (17, "content-usage ai-train deny"));
    let b = said(record(&pages, "http://a.test/b"));
    assert_eq!((b.len(), b[0].as_str()), (17, "content-usage ai-train allow"));
    let csv = ["--table", "pages", "--format", "csv", "--columns", "url,consent"];
    let csv = scene.look("export", &csv).expect(0).stdout.clone();
    assert!(csv.contains("ai-train deny (robots.txt line 10: "));
    for path in ["", "b"] {
        let url = format!("http://a.test/{path}");
        let answer =
            Crawl::new(["page", "check", "--json", "--from"]).args([&scene.out()]).args([&url]).run();
        let reported = answer.expect(0).json()[0]["consent"].as_array().map(Vec::len);
        assert_eq!(reported, record(&pages, &url)["consent"].as_array().map(Vec::len));
    }
    // The database holds them once.
    let longest = longest_value(&scene, "pages");
    assert!(longest < 4_096, "{longest} bytes");
    let longest = longest_value(&scene, "ledger");
    assert!(longest < 32_768, "{longest} bytes");
    let in_database = database_values(&scene.out().join("db"));
    let holding: BTreeSet<&str> = in_database
        .iter()
        .filter(|(_, value)| memchr::memmem::find(value, b"mline699").is_some())
        .map(|(place, _)| place.as_str())
        .collect();
    assert!(holding.iter().all(|place| place.starts_with("tree robots ")), "{holding:?}");
    assert_eq!(holding.len(), 1);
    scene.look("audit", &[]).expect(0);
}

#[test]
fn lines_over_the_limit_close_what_they_could_speak_of() {
    let mut lines: Vec<String> =
        (0..1_000).map(|n| format!("Content-Signal: /free/{n} search=yes")).collect();
    // The 1,001st says no to one page.
    lines.push("Content-Signal: /late/no search=no, ai-train=no".to_owned());
    let robots = format!("User-agent: *\n{}\n", lines.join("\n"));
    let long = format!("User-agent: *\nContent-Usage: /long/{} search=n\n", "x".repeat(3_000));
    let sites = Sites::new()
        .page("a.test", "/robots.txt", text(&robots))
        .page("a.test", "/", page("mfront", &["/free/1", "/late/no", "/late/no/more"]))
        .page("a.test", "/free/1", page("mfree", &[]))
        .page("a.test", "/late/no", page("mlate", &[]))
        .page("a.test", "/late/no/more", page("mmore", &[]))
        .page("b.test", "/robots.txt", text(&long))
        .page("b.test", "/", page("mlong", &[]));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let asked = sorted(scene.server.pages());
    // The end of the path of a line that is too long is unknown: nothing that begins so is requested.
    assert_eq!(asked, ["http://a.test/", "http://a.test/free/1", "http://b.test/"]);
    let skipped = scene.table("skipped");
    for path in ["/late/no", "/late/no/more"] {
        let url = format!("http://a.test{path}");
        let row = skipped.iter().find(|row| row["url"] == url.as_str()).expect("a reason");
        assert_eq!((&row["layer"], &row["reason"]), (&"consent".into(), &"consent".into()));
        let detail = row["detail"].as_str().unwrap();
        assert!(detail.contains("robots.txt line 1002: Content-Signal: 1 line wasn't read"), "{detail}");
    }
    let robots = scene.table("robots");
    let file = robots.iter().find(|row| row["origin"] == "http://a.test").expect("a version");
    let warnings = file["warnings"].to_string();
    assert!(warnings.contains("1002") && warnings.contains("every use of /late/no is denied"), "{warnings}");
    assert!(files_with(&scene.out(), &["mlate", "mmore"]).is_empty());
    scene.look("audit", &[]).expect(0);
    scene.assert_polite();
}

/// The hosts of the pages that the crawl's own search finds by a word that is in all of them.
fn found(scene: &Scene) -> Vec<String> {
    let hits = scene.look("search", &["everywhere", "--json"]).expect(0).json();
    hosts(&hits)
}

/// The hosts of front pages.
fn hosts(rows: &[Value]) -> Vec<String> {
    let urls = rows.iter().filter_map(|row| row["url"].as_str());
    sorted(urls.map(|url| url.trim_start_matches("http://").trim_end_matches('/').to_owned()).collect())
}

/// What `crawl explain` says of a front page, in lower case, with one blank between words.
fn explained(scene: &Scene, host: &str) -> String {
    let said = scene.look("explain", &[&format!("http://{host}/")]);
    let words: Vec<&str> = said.expect(0).stdout.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

#[test]
fn a_page_that_is_denied_search_is_not_found_by_the_crawls_own_search() {
    let robots = |line: &str| text(&format!("User-agent: *\n{line}\nAllow: /\n"));
    let sites = Sites::new()
        .page("header.test", "/", page("everywhere mheader", &[]).header("Content-Signal", "search=no"))
        .page("usage.test", "/", page("everywhere musage", &[]).header("Content-Usage", "search=n"))
        .page("robots.test", "/robots.txt", robots("Content-Signal: search=no"))
        .page("robots.test", "/", page("everywhere mrobots", &[]))
        .page("robotsusage.test", "/robots.txt", robots("Content-Usage: search=n"))
        .page("robotsusage.test", "/", page("everywhere mrobotsusage", &[]))
        .page("both.test", "/robots.txt", robots("Content-Signal: search=yes"))
        .page("both.test", "/", page("everywhere mboth", &[]).header("Content-Usage", "search=n"))
        .page("other.test", "/", page("everywhere mother", &[]).header("Content-Signal", "ai-train=no"))
        .page("others.test", "/robots.txt", robots("Content-Signal: ai-train=no"))
        .page("others.test", "/", page("everywhere mothers", &[]))
        .page("silent.test", "/", page("everywhere msilent", &[]));
    let permitted = ["other.test", "others.test", "silent.test"];
    for purpose in ["search,archive", "archive", "archive,tdm"] {
        let scene = Scene::new(sites.clone());
        scene.crawl().args(["--purpose", purpose]).run().expect(0);
        assert_eq!(found(&scene), permitted, "{purpose}");
        scene.look("index", &[]).expect(0);
        assert_eq!(found(&scene), permitted, "{purpose}: rebuilt");
        let marks = ["mheader", "musage", "mrobots", "mrobotsusage", "mboth"];
        assert!(files_with(&scene.out().join("index"), &marks).is_empty(), "{purpose}");
        let database = scene.path("crawl.sqlite");
        scene.look("export", &["--format", "sqlite", "-o", database.to_str().unwrap()]).expect(0);
        let database = rusqlite::Connection::open(database).expect("a database");
        for index in ["pages_fts", "pages_text"] {
            let sql = format!(
                "SELECT url FROM pages WHERE rowid IN (SELECT rowid FROM {index} WHERE {index} MATCH 'everywhere')"
            );
            let mut find = database.prepare(&sql).expect("the query is read");
            let urls = find.query_map([], |row| row.get::<_, String>(0)).expect("the query runs");
            let rows: Vec<Value> = urls.map(|url| serde_json::json!({"url": url.expect("a URL")})).collect();
            assert_eq!(hosts(&rows), permitted, "{purpose}: {index}");
        }
        // The other purposes are served.
        for row in &scene.table("pages") {
            assert_eq!((&row["indexed"], &row["archived"]), (&true.into(), &true.into()), "{purpose}: {row}");
        }
        for (host, place) in [
            ("header.test", "search deny (header Content-Signal"),
            ("robots.test", "search deny (robots.txt line 2: Content-Signal"),
        ] {
            let said = explained(&scene, host);
            assert!(said.contains(&format!("not in the full-text search: {place}").to_lowercase()), "{said}");
        }
        let said = explained(&scene, "silent.test");
        assert!(!said.contains("full-text search"), "{said}");
        scene.look("audit", &[]).expect(0);
    }
    // Where search is all that was declared, such a page isn't requested, or nothing of it is kept.
    let scene = Scene::new(sites);
    scene.crawl().args(["--purpose", "search"]).run().expect(0);
    assert_eq!(found(&scene), permitted);
}

#[test]
fn a_revisit_takes_a_page_out_of_the_search_or_puts_it_in_as_its_site_says_then() {
    let robots = |line: &str| text(&format!("User-agent: *\n{line}\nAllow: /\n"));
    let tagged = |host: &str| page(&format!("everywhere {host}"), &[]).header("ETag", "\"1\"");
    let denied = |answer: Answer| answer.header("Content-Signal", "search=no");
    let unchanged = || Answer::status(304);
    // Each of three visits: permitted, denied, permitted.
    let sites = Sites::new()
        .page("whole.test", "/", page("everywhere", &[]))
        .page("whole.test", "/", denied(page("everywhere", &[])))
        .page("whole.test", "/", page("everywhere", &[]))
        .page("field.test", "/", tagged("field"))
        .page("field.test", "/", denied(unchanged()))
        .page("field.test", "/", tagged("field"))
        .page("robots.test", "/robots.txt", robots(""))
        .page("robots.test", "/robots.txt", robots("Content-Signal: search=no"))
        .page("robots.test", "/robots.txt", robots(""))
        .page("robots.test", "/", tagged("robots"))
        .page("robots.test", "/", unchanged())
        .page("robots.test", "/", tagged("robots"))
        .page("always.test", "/robots.txt", robots("Content-Signal: search=no"))
        .page("always.test", "/", tagged("always"))
        .page("always.test", "/", unchanged())
        .page("always.test", "/", unchanged());
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let all = ["field.test", "robots.test", "whole.test"];
    assert_eq!(found(&scene), all);
    let again = || {
        a_day_later(&scene, "http://robots.test");
        scene.resume().args(scene.server.resolve()).args(["--revisit", "0s"]).run().expect(0);
    };
    let serving = || {
        let rows = scene.look("export", &["--table", "pages", "--format", "jsonl", "--purpose", "search"]);
        hosts(&rows.expect(0).json())
    };
    again();
    assert_eq!(found(&scene), Vec::<String>::new(), "taken out");
    assert_eq!(serving(), Vec::<String>::new());
    let said = explained(&scene, "robots.test");
    assert!(said.contains("not in the full-text search: search deny (robots.txt line 2"), "{said}");
    again();
    assert_eq!(found(&scene), all, "put in");
    assert_eq!(serving(), all);
    // A page that its robots.txt denies search still costs the site no body.
    let conditional = |host: &str| {
        let hits = scene.server.hits();
        let pages = hits.iter().filter(|hit| hit.request.url() == format!("http://{host}/"));
        pages.map(|hit| hit.field("if-none-match").is_some()).collect::<Vec<_>>()
    };
    assert_eq!(conditional("always.test"), [false, true, true]);
    assert_eq!(conditional("robots.test"), [false, true, false]);
}

#[test]
fn a_stored_page_loses_its_content_once_every_declared_use_is_denied_before_it_is_asked_for() {
    let robots = |line: &str| text(&format!("User-agent: *\n{line}\nAllow: /\n"));
    let sites = Sites::new()
        .page("robots.test", "/robots.txt", robots(""))
        .page("robots.test", "/robots.txt", robots("Content-Signal: search=no"))
        .page("robots.test", "/", page("everywhere mrobots", &[]));
    let scene = Scene::new(sites);
    scene.crawl().args(["--purpose", "search"]).run().expect(0);
    assert_eq!(found(&scene), ["robots.test"]);
    a_day_later(&scene, "http://robots.test");
    scene.resume().args(scene.server.resolve()).args(["--revisit", "0s"]).run();
    assert_eq!(scene.server.pages().len(), 1, "it isn't asked for again");
    assert_eq!(found(&scene), Vec::<String>::new());
    assert!(files_with(&scene.out(), &["mrobots"]).is_empty());
    let row = &scene.table("pages")[0];
    assert!(row["withdrawn_because"].as_str().unwrap_or_default().contains("search deny"), "{row}");
}

#[test]
fn licences_and_prices_are_recorded_and_quoted() {
    let license = |url: &str| format!("<{url}>; rel=\"license\"; type=\"application/rsl+xml\"");
    let sites = Sites::new()
        .page("a.test", "/robots.txt", text("License: https://a.test/site.xml\nUser-agent: *\nAllow: /\n"))
        .page("a.test", "/", page("mfront", &["/header", "/tag", "/hidden", "/paid", "/gift"]))
        .page("a.test", "/header", page("mheader", &[]).header("Link", &license("/l.xml")))
        .page("a.test", "/tag", Answer::html("<link rel='nofollow license' href='//b.test/m.xml'>mtag"))
        .page(
            "a.test",
            "/hidden",
            page("mhidden", &[]).header("X-Robots-Tag", "noindex").header("Link", &license("/n.xml")),
        )
        .page("a.test", "/paid", Answer::status(402).header("crawler-price", "USD 0.05"))
        .page("a.test", "/gift", page("mgift", &[]).header("crawler-price", "USD 9"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let pages = scene.table("pages");
    let of = |path: &str| {
        let page = record(&pages, &format!("http://a.test{path}"));
        (page["license"].clone(), page["payment"].clone())
    };
    let none = Value::Null;
    let list = |urls: &[&str]| serde_json::json!(urls);
    assert_eq!(of("/"), (list(&[]), none.clone()));
    assert_eq!(of("/header"), (list(&["http://a.test/l.xml"]), none.clone()));
    assert_eq!(of("/tag"), (list(&["http://b.test/m.xml"]), none.clone()));
    assert_eq!(of("/hidden"), (list(&["http://a.test/n.xml"]), none.clone()), "it speaks of the use");
    assert_eq!(of("/paid"), (list(&[]), "USD 0.05".into()));
    assert_eq!(of("/gift"), (list(&[]), none), "the page came");
    let robots = scene.table("robots");
    assert_eq!(
        (&robots[0]["license"], &robots[0]["payment"]),
        (&list(&["https://a.test/site.xml"]), &Value::Null)
    );
    let hosts = scene.table("hosts");
    assert_eq!(hosts[0]["license"], list(&["https://a.test/site.xml"]));
    assert_eq!(hosts[0]["payment"], "USD 0.05");

    let told = scene.look("explain", &["http://a.test/paid"]).expect(0).stdout.clone();
    assert!(told.contains("licence     https://a.test/site.xml (robots.txt line 1)"), "{told}");
    assert!(told.contains("price       USD 0.05"), "{told}");
    let told = scene.look("explain", &["http://a.test/header"]).expect(0).stdout.clone();
    assert!(told.contains("licence     http://a.test/l.xml (named by the response)"), "{told}");
}
