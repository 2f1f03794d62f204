//! What sites say to the uses of their pages, and what a crawl of a declared purpose does about it (digest, section 5).

use serde_json::Value;
use whole_program::output_dir::files_with;
use whole_program::site::{Answer, Sites};

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
fn a_mining_crawl_asks_tdmrep_first_and_obeys_file_header_and_page() {
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
