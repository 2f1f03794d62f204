//! Full-text search: what is found, what never is, and an index that after any crash is as good as a rebuilt one.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use crawler::search::{Contents, PDF_ARGUMENT, Search};
use serde_json::Value;
use whole_program::output_dir::files_with;
use whole_program::program::{Crawl, Output, PATIENCE, Running};
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

/// A page whose body, title and description hold a marker.
fn page(marker: &str, head: &str) -> Answer {
    let text = format!(
        "The {marker} appears in a paragraph that is long enough to count as the main text of this page. "
    );
    Answer::html(format!(
        "<html lang=en><head><title>T {marker}</title><meta name=description content='D {marker}'>{head}</head>\
         <body><nav><a href=/>Navigation words</a></nav><h1>H {marker}</h1><p>{}</p></body></html>",
        text.repeat(3)
    ))
}

fn hits(scene: &Scene, arguments: &[&str]) -> Vec<Value> {
    let lines = scene.look("search", &[arguments, &["--json", "--limit", "1000"]].concat()).expect(0).json();
    lines.into_iter().filter(|line| line["kind"] == "hit").collect()
}

pub(crate) fn urls(scene: &Scene, arguments: &[&str]) -> Vec<String> {
    let path = |hit: &Value| hit["url"].as_str().unwrap_or_default().trim_start_matches("http://").to_owned();
    sorted(hits(scene, arguments).iter().map(path).collect())
}

/// Everything in the files of the index.
fn contents(out: &Path) -> Contents {
    Search::open(out).and_then(|index| index.contents()).expect("an index")
}

/// Asserts that nothing of a text is in the index: as bytes, as a word, or within a stored text.
fn assert_nowhere(out: &Path, marker: &str) {
    let backwards: String = marker.chars().rev().collect();
    let files = files_with(&out.join("index"), &[marker, &backwards]);
    assert!(files.is_empty(), "{files:?}");
    let Contents { words, texts } = contents(out);
    assert!(!words.iter().any(|word| word.contains(marker)), "{marker} is a word of the index");
    assert!(!texts.iter().any(|text| text.contains(marker)), "{marker} is stored in the index");
}

fn small_site() -> Sites {
    let links = "<a href=/index>1</a><a href=/noindex>2</a><a href=/header>3</a><a href=/nosnippet>4</a><a href=/short>5</a>\
                 <a href=/parts>6</a><a href=/noarchive>7</a><a href=/plain.txt>8</a><a href=/feed.xml>9</a><a href=/de>10</a>\
                 <a href=/zh>11</a><a href=/gone>12</a><a href=/denied>13</a>";
    let german = "<html lang=de><title>Häuser</title><p>Die alten Häuser stehen an der Straße, und niemand weiß, wer früher \
                  in ihnen gewohnt hat oder warum sie heute leer sind.";
    let chinese = "<html lang=zh><title>搜索</title><p>这是一个用于全文搜索的网页，没有空格也能找到其中的词语，因为相邻的两个字会被编入索引。";
    let feed = "<rss version='2.0'><channel><title>News</title><item><title>Entry</title>\
                <description>&lt;p&gt;Words of mfeed appear in this entry.&lt;/p&gt;</description></item></channel></rss>";
    Sites::new()
        .page("a.test", "/robots.txt", Answer::content("text/plain", "User-agent: *\nDisallow: /denied\n"))
        .page("a.test", "/", Answer::html(links))
        .page("a.test", "/index", page("mindex", ""))
        .page("a.test", "/noindex", page("mnoindex", "<meta name=robots content=noindex>"))
        .page("a.test", "/header", page("mheader", "").header("X-Robots-Tag", "noindex"))
        .page("a.test", "/nosnippet", page("mnosnippet", "<meta name=robots content=nosnippet>"))
        .page("a.test", "/short", page("mshort", "<meta name=robots content='max-snippet:12'>"))
        .page(
            "a.test",
            "/parts",
            Answer::html(
                "<title>Parts</title><p>An open part of the page holds mopen, <span data-nosnippet>and mhidden appears in \
                 a part without snippets</span>, and that is all that there is to say about it.",
            ),
        )
        .page("a.test", "/noarchive", page("mnoarchive", "<meta name=robots content=noarchive>"))
        .page("a.test", "/plain.txt", Answer::content("text/plain", "Lines of mplain\nin a file."))
        .page("a.test", "/feed.xml", Answer::content("application/rss+xml", feed))
        .page("a.test", "/de", Answer::content("text/html; charset=utf-8", german))
        .page("a.test", "/zh", Answer::content("text/html; charset=utf-8", chinese))
        .page("a.test", "/gone", Answer::status(404))
        .page("a.test", "/denied", page("mdenied", ""))
}

#[test]
fn pages_are_found_by_their_words_and_noindex_content_is_nowhere_in_the_index() {
    let scene = Scene::new(small_site());
    scene.crawl().run().expect(0);
    for marker in ["mindex", "mnosnippet", "mshort", "mnoarchive", "mplain", "mfeed", "mopen", "mhidden"] {
        assert_eq!(hits(&scene, &[marker]).len(), 1, "{marker}");
    }
    for marker in ["mnoindex", "mheader", "mdenied"] {
        assert!(hits(&scene, &[marker]).is_empty(), "{marker}");
        assert_nowhere(&scene.out(), marker);
    }
    let Contents { words, texts } = contents(&scene.out());
    assert!(words.iter().any(|word| word == "mindex"), "the search finds what is there");
    assert!(texts.iter().any(|text| text.contains("mindex appears")));

    // Stems, diacritics, scripts without blanks, fields, phrases, operators.
    assert_eq!(urls(&scene, &["Haus"]), ["a.test/de"]);
    assert_eq!(urls(&scene, &["hauser", "strasse"]), ["a.test/de"]);
    assert_eq!(urls(&scene, &["搜索"]), ["a.test/zh"]);
    assert_eq!(urls(&scene, &["网页"]), ["a.test/zh"]);
    assert!(urls(&scene, &["页网"]).is_empty());
    assert_eq!(urls(&scene, &["title:mindex"]), ["a.test/index"]);
    assert!(urls(&scene, &["title:paragraph"]).is_empty());
    assert_eq!(urls(&scene, &["\"mindex appears in a paragraph\""]), ["a.test/index"]);
    assert!(urls(&scene, &["\"paragraph mindex\""]).is_empty());
    assert_eq!(urls(&scene, &["mindex OR mplain"]), ["a.test/index", "a.test/plain.txt"]);
    assert_eq!(urls(&scene, &["paragraph -mindex -mshort -mnoarchive"]), ["a.test/nosnippet"]);
    assert_eq!(urls(&scene, &["lang:de"]), ["a.test/de"]);
    assert_eq!(urls(&scene, &["title:haus"]), ["a.test/de"]);
    assert_eq!(urls(&scene, &["text:paragraphs", "title:mindex"]), ["a.test/index"]);
    assert_eq!(urls(&scene, &["host:a.test AND mfeed"]), ["a.test/feed.xml"]);
    assert!(urls(&scene, &["navigation"]).is_empty(), "navigation is no main text");
    assert!(urls(&scene, &["mindex", "--host", "b.test"]).is_empty());
    assert_eq!(urls(&scene, &["mindex", "--host", "a.test", "--lang", "en"]), ["a.test/index"]);
    assert_eq!(urls(&scene, &["mindex", "--since", "2020-01-01"]), ["a.test/index"]);
    assert!(urls(&scene, &["mindex", "--until", "2020-01-01"]).is_empty());

    // Snippets show no more than authors let them.
    let snippet = |marker: &str| hits(&scene, &[marker])[0]["snippet"].as_str().map(str::to_owned);
    assert!(snippet("mindex").unwrap().contains("mindex"));
    assert_eq!(snippet("mnosnippet"), None);
    let short = snippet("mshort").unwrap();
    assert!(short.chars().count() <= 12, "{short:?}");
    let parts = snippet("mhidden").unwrap_or_default();
    assert!(parts.contains("mopen") && !parts.contains("mhidden"), "{parts:?}");
    assert!(!contents(&scene.out()).texts.iter().any(|text| text.contains("mhidden")), "not even stored");
    let unarchived = contents(&scene.out()).texts;
    assert!(!unarchived.iter().any(|text| text.contains("mnoarchive appears")), "no copy of it");
    let found = &hits(&scene, &["mindex"])[0]["marked"];
    assert!(found.as_array().unwrap().iter().any(|part| part["found"] == true && part["text"] == "mindex"));

    // Facets, and the plain output.
    let lines = scene.look("search", &["paragraph", "--facets", "--json"]).expect(0).json();
    let facet = |facet: &str| lines.iter().filter(|line| line["facet"] == facet).cloned().collect::<Vec<_>>();
    assert_eq!(
        facet("host")[0],
        serde_json::json!({"v": 1, "kind": "facet", "facet": "host", "value": "a.test", "count": 4})
    );
    assert_eq!(facet("language")[0]["value"], "en");
    assert!(lines.iter().all(|line| line["v"] == 1));
    let text = scene.look("search", &["mindex"]);
    assert!(
        text.expect(0).stdout.contains("http://a.test/index") && text.stdout.contains("1 page found"),
        "{text}"
    );
    let coloured = scene.look("search", &["mindex", "--color", "always"]);
    assert!(coloured.stdout.contains("\x1b[1;33mmindex\x1b[0m"), "{coloured}");
}

/// URLs of the pages that a query of SQLite finds by their texts.
fn found_in(database: &rusqlite::Connection, query: &str) -> Vec<String> {
    let sql = "SELECT url FROM pages WHERE rowid IN (SELECT rowid FROM pages_text WHERE pages_text MATCH ?)";
    let mut found = database.prepare(sql).expect("the query is read");
    let urls = found.query_map([query], |row| row.get::<_, String>(0)).expect("the query runs");
    sorted(urls.map(|url| url.expect("a URL").trim_start_matches("http://").to_owned()).collect())
}

#[test]
fn a_sqlite_database_finds_pages_by_their_texts_and_shows_none() {
    let scene = Scene::new(small_site());
    scene.crawl().run().expect(0);
    let dir = scene.path("sqlite");
    std::fs::create_dir(&dir).unwrap();
    let path = dir.join("crawl.sqlite");
    let export = |options: &[&str]| {
        let to = ["--format", "sqlite", "-o", path.to_str().unwrap()];
        scene.look("export", &[&to, options].concat()).expect(0);
        rusqlite::Connection::open(&path).unwrap()
    };
    let number = |database: &rusqlite::Connection, sql: &str| {
        database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let database = export(&[]);
    for (query, expected) in [
        ("mindex", &["a.test/index"][..]),
        ("title:mindex", &["a.test/index"]),
        ("text:mindex", &["a.test/index"]),
        ("\"mindex appears in a paragraph\"", &["a.test/index"]),
        ("mnosnippet", &["a.test/nosnippet"]),
        ("mhidden", &["a.test/parts"]),
        ("mplain", &["a.test/plain.txt"]),
        ("mfeed", &["a.test/feed.xml"]),
        ("hauser", &["a.test/de"]),
        ("gewohnt", &["a.test/de"]),
        ("title:mnoarchive", &["a.test/noarchive"]),
        // No body to read it from.
        ("text:mnoarchive", &[]),
        ("mnoindex OR mheader OR mdenied", &[]),
        ("navigation", &[]),
    ] {
        assert_eq!(found_in(&database, query), expected, "{query}");
    }
    let indexed = i64::try_from(urls(&scene, &["*"]).len()).expect("a number");
    assert_eq!(number(&database, "SELECT count(*) FROM pages_text_docsize"), indexed);
    assert_eq!(number(&database, "SELECT count(text) + count(title) FROM pages_text"), 0, "no text is in it");
    let withheld = files_with(&dir, &["mnoindex", "mheader"]);
    assert!(withheld.is_empty(), "{withheld:?}");

    let chosen = export(&["--table", "pages", "--columns", "url,status"]);
    assert_eq!(found_in(&chosen, "mindex"), ["a.test/index"]);
    for options in [&["--no-text"][..], &["--table", "links"], &["--table", "pages", "--columns", "status"]] {
        let tables = "SELECT count(*) FROM sqlite_master WHERE name = 'pages_text'";
        assert_eq!(number(&export(options), tables), 0, "{options:?}");
    }
    let refused = scene.look("export", &["--table", "pages", "--format", "csv", "--no-text"]);
    assert!(refused.expect(2).stderr.contains("--no-text requires --format sqlite"), "{refused}");

    // Of two crawls, each text goes to the row of its own.
    let other = Scene::new(Sites::new().page("a.test", "/index", page("mother", "")).page(
        "a.test",
        "/",
        page("mroot", "<link rel=next href=/index>"),
    ));
    other.crawl().run().expect(0);
    let both = [scene.out(), other.out()];
    Crawl::new([Path::new("export")])
        .args(&both)
        .args(["--format", "sqlite", "-o"])
        .args([&path])
        .run()
        .expect(0);
    let database = rusqlite::Connection::open(&path).unwrap();
    let crawl =
        "SELECT crawl FROM pages WHERE rowid IN (SELECT rowid FROM pages_text WHERE pages_text MATCH ?)";
    for (marker, dir) in [("mindex", &both[0]), ("mother", &both[1])] {
        let found: String = database.query_row(crawl, [marker], |row| row.get(0)).unwrap();
        assert_eq!(Path::new(&found), dir.as_path(), "{marker}");
    }
}

#[test]
fn a_query_that_cant_be_read_and_a_directory_without_an_index_say_what_to_do() {
    let scene = Scene::new(Sites::new().page("a.test", "/", page("mroot", "")));
    scene.crawl().args(["--no-index"]).run().expect(0);
    assert!(!scene.out().join("index").exists());
    let none = scene.look("search", &["mroot"]);
    assert!(none.expect(2).stderr.contains("crawl index"), "{none}");
    let built = scene.look("index", &["--json"]);
    assert_eq!(built.expect(0).json()[0]["pages"], 1);
    assert_eq!(urls(&scene, &["mroot"]), ["a.test/"]);
    for (query, reported) in [
        ("\"open", "isn't closed"),
        ("nosuch:field", "no field `nosuch`"),
        ("status:many", "whole number"),
        ("host:\"a b\" AND (", "isn't closed"),
    ] {
        let wrong = scene.look("search", &[query]);
        assert!(wrong.expect(2).stderr.contains(reported), "{query}: {wrong}");
    }
    for part in ["(", "-(", "+(", "title:(", "NOT ", "a AND (", "(a OR "] {
        let deep = scene.look("search", &["--", &part.repeat(1_000)]);
        assert!(
            deep.expect(2).stderr.contains("more than 64 opening parentheses and `NOT`s"),
            "{part}: {deep}"
        );
        let one = format!(
            "one too many at character {}",
            part.chars().count() * 64 + part.find('(').or(part.find("NOT")).unwrap() + 1
        );
        assert!(deep.stderr.contains(&one), "{part}: {deep}");
    }
    let long = scene.look("search", &[&"(".repeat(100_000)]);
    assert!(long.expect(2).stderr.contains("more than 8192 bytes"), "{long}");
    let nowhere = Crawl::new(["search", "/nowhere/at/all", "x"]).run();
    assert!(nowhere.expect(2).stderr.contains("has no crawl"), "{nowhere}");
    let nowhere = Crawl::new(["index", "/nowhere/at/all"]).run();
    assert!(nowhere.expect(2).stderr.contains("has no crawl"), "{nowhere}");
    // A run without the index removes it: nobody would keep it up to date.
    scene.resume().args(["--no-index"]).run().expect(0);
    assert!(!scene.out().join("index").exists());
    // One with it builds it.
    scene.resume().args(["--index"]).run().expect(0);
    assert_eq!(urls(&scene, &["mroot"]), ["a.test/"]);
}

#[test]
fn what_is_withdrawn_leaves_the_index_within_the_run() {
    let noindex = "<meta name=robots content=noindex>";
    let links = "<a href=/index>1</a><a href=/changed>2</a><a href=/gone>3</a><a href=/same>4</a><a href=/archive>5</a>\
                 <a href=/unchanged>6</a>";
    let tagged = |answer: Answer| answer.header("ETag", "\"1\"");
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(links))
        .page("a.test", "/index", page("mturnsindex", ""))
        .page("a.test", "/index", page("mturnsindex", noindex))
        .page("a.test", "/changed", page("mold", ""))
        .page("a.test", "/changed", page("mnew", ""))
        .page("a.test", "/gone", page("mgone", ""))
        .page("a.test", "/gone", Answer::status(404))
        .page("a.test", "/same", tagged(page("msame", "")))
        .page("a.test", "/same", tagged(Answer::status(304)))
        .page("a.test", "/unchanged", tagged(page("munchanged", "")))
        .page("a.test", "/unchanged", tagged(Answer::status(304)).header("X-Robots-Tag", "noindex"))
        .page("a.test", "/archive", page("mturnsarchive", ""))
        .page("a.test", "/archive", page("mturnsarchive", "<meta name=robots content=noarchive>"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let markers = ["mturnsindex", "mold", "mgone", "msame", "munchanged", "mturnsarchive"];
    for marker in markers {
        assert_eq!(hits(&scene, &[marker]).len(), 1, "{marker}");
    }
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    for marker in ["mturnsindex", "munchanged"] {
        assert!(hits(&scene, &[marker]).is_empty(), "{marker}");
        assert_nowhere(&scene.out(), marker);
    }
    for marker in ["mold", "mgone"] {
        assert!(hits(&scene, &[marker]).is_empty(), "{marker}");
    }
    for marker in ["mnew", "msame", "mturnsarchive"] {
        assert_eq!(hits(&scene, &[marker]).len(), 1, "{marker}");
    }
    let Contents { texts, .. } = contents(&scene.out());
    assert!(!texts.iter().any(|text| text.contains("mturnsarchive appears")), "no copy of it");
}

/// Every page by what a search shows of it, and the words of the index.
fn whole(scene: &Scene) -> (Vec<String>, Vec<String>) {
    let shown = |hit: &Value| {
        let of = |name: &str| hit[name].to_string();
        ["url", "title", "language", "fetched_at", "status", "depth", "snippet"].map(of).join(" ")
    };
    let hits = sorted(hits(scene, &["words"]).iter().map(shown).collect());
    let Contents { mut words, .. } = contents(&scene.out());
    words.sort();
    words.dedup();
    (hits, words)
}

#[test]
fn an_index_after_many_kills_is_as_good_as_a_rebuilt_one() {
    const PAGES: usize = 320;
    let mut sites = Sites::new();
    for host in ["a.test", "b.test"] {
        let links: Vec<String> = (1..PAGES).map(|n| format!("<li><a href=/{n}>{n}</a>")).collect();
        let links = links.concat();
        sites = sites.page(host, "/", Answer::html(format!("<p>words of the front page<ul>{links}</ul>")));
        for n in 1..PAGES {
            let head = if n % 10 == 0 { "<meta name=robots content=noindex>" } else { "" };
            let marker = format!("{}{n} words", if n % 10 == 0 { "mnoindex" } else { "mpage" });
            sites = sites.page(host, &format!("/{n}"), page(&marker, head));
        }
    }
    let scene = Scene::new(sites);
    let mut running = scene.crawl().args(["--timeout", "1s"]).start();
    let mut kills = 0;
    while scene.server.count() < 5 {
        pause(Duration::from_millis(5));
    }
    for round in 0..20_u64 {
        // At other moments each time: while pages come, while the index commits, while it is taken up.
        // Hosts with a request in flight wait for its time-out first.
        let more = if round % 4 == 3 { 1_200 } else { 0 };
        pause(Duration::from_millis(60 + 37 * (round % 7) + more));
        // None where it was killed, a code where it had ended before.
        kills += usize::from(running.kill().code.is_none());
        if round % 5 == 4 {
            // A search in between adds what the killed crawl didn't index.
            scene.look("search", &["words"]);
        }
        running = Crawl::new([Path::new("resume"), &scene.out()]).start();
    }
    running.wait(PATIENCE).expect(0);
    assert_eq!(kills, 20, "the crawl is long enough for every kill");
    let kept = whole(&scene);
    let front_pages = 2;
    assert_eq!(kept.0.len(), 2 * (PAGES - 1 - (PAGES - 1) / 10) + front_pages);
    assert_nowhere(&scene.out(), "mnoindex");
    scene.look("index", &[]).expect(0);
    let built = whole(&scene);
    assert_eq!(kept.0, built.0);
    assert_eq!(kept.1, built.1);
    scene.look("audit", &[]).expect(0);
}

#[expect(clippy::disallowed_methods, reason = "a program of its own has to come so far")]
fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// A PDF file of one page with a line of text.
pub(crate) fn pdf(text: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj ET");
    pdf_with("", content.as_bytes(), &[])
}

/// A PDF file of one page: entries of the dictionary of its content, the content, and the contents of forms, of which the page may call
/// the first and each the next one.
pub(crate) fn pdf_with(entries: &str, content: &[u8], forms: &[String]) -> Vec<u8> {
    const FORM: usize = 6;
    let called = |number: usize| format!("/XObject << /Form {} 0 R >>", FORM + number);
    let stream = |entries: &str, content: &[u8]| {
        let head = format!("<< {entries} /Length {} >>\nstream\n", content.len());
        [head.as_bytes(), content, b"\nendstream"].concat()
    };
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> {} >> >>",
            if forms.is_empty() { String::new() } else { called(0) }
        )
        .into_bytes(),
        stream(entries, content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    for (at, form) in forms.iter().enumerate() {
        let next = if at + 1 < forms.len() { called(at + 1) } else { String::new() };
        let entries = format!("/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << {next} >>");
        objects.push(stream(&entries, form.as_bytes()));
    }
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend([format!("{} 0 obj\n", at + 1).as_bytes(), object, b"\nendobj\n"].concat());
    }
    let table = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let end = format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", objects.len() + 1);
    file.extend(end.bytes());
    file
}

/// A text that no font is chosen for, at which the reader panics.
fn panicking_pdf() -> Vec<u8> {
    pdf_with("", b"BT 72 720 Td (Words of mpanic) Tj ET", &[])
}

/// A file of 700 KB whose content takes 700 MB: a line of text and blanks.
pub(crate) fn inflating_pdf() -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"BT /F1 12 Tf 72 720 Td (Words of mbomb) Tj ET").expect("it is written");
    for _ in 0..700 {
        encoder.write_all(&vec![b' '; 1 << 20]).expect("it is written");
    }
    pdf_with("/Filter /FlateDecode", &encoder.finish().expect("it is finished"), &[])
}

/// A file of 5 KB that calls forms that call forms: millions of operations, which take about a minute.
pub(crate) fn slow_pdf() -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 720 Td (Words of mslow) Tj ET {}", "/Form Do ".repeat(150));
    pdf_with("", content.as_bytes(), &["/Form Do ".repeat(150), "/Form Do ".repeat(150), "q Q ".repeat(150)])
}

/// A file of 100 KB whose forms call forms: it would write a line of text 20,000 million times.
pub(crate) fn writing_pdf() -> Vec<u8> {
    let leaf = "BT /F1 12 Tf 10 10 Td (AAAAAAAAAAAAAAAA) Tj ET ".repeat(2_000);
    let forms: Vec<String> = (1..8).map(|_| "/Form Do ".repeat(10)).chain([leaf]).collect();
    pdf_with("", b"BT /F1 12 Tf 72 720 Td (Words of mwriting) Tj ET /Form Do", &forms)
}

/// A file of 6 MB with 30,000 forms, of which each calls the next one.
fn deep_pdf() -> Vec<u8> {
    pdf_with(
        "",
        b"BT /F1 12 Tf 72 720 Td (Words of mdeep) Tj ET /Form Do",
        &vec!["/Form Do".to_owned(); 30_000],
    )
}

/// What the process does that reads one PDF file.
fn read_pdf(file: Vec<u8>) -> Output {
    Crawl::new([PDF_ARGUMENT]).stdin(file).run()
}

#[test]
fn the_process_that_reads_a_pdf_file_ends_at_its_limits() {
    let good = read_pdf(pdf("Words of mgood"));
    assert!(good.expect(0).stdout.contains("Words of mgood"), "{good}");
    let panicking = read_pdf(panicking_pdf());
    // Of a build that counts which lines run: such a process can't open the file for its figures.
    let stderr = panicking.stderr.lines().find(|line| !line.starts_with("LLVM Profile Error"));
    assert_eq!((panicking.expect(1).stdout.as_str(), stderr), ("", None));
    // Beyond its memory the allocator aborts; beyond its time the kernel ends it.
    let inflating = read_pdf(inflating_pdf());
    assert_eq!((inflating.code, inflating.stdout.as_str()), (None, ""), "{inflating}");
    // Beyond its stack, too.
    let deep = read_pdf(deep_pdf());
    assert_eq!((deep.code, deep.stdout.as_str()), (None, ""), "{deep}");
    let slow = read_pdf(slow_pdf());
    assert_eq!((slow.code, slow.stdout.as_str()), (None, ""), "{slow}");
}

#[test]
fn the_text_of_a_pdf_file_is_cut_like_that_of_a_page() {
    let line = |text: String| format!("({text}) Tj 0 -14 Td ");
    let lines: Vec<String> = (0..200).map(|n| line(format!("Line mline{n} of a long file"))).collect();
    let content = format!("BT /F1 12 Tf 72 720 Td {} ET", lines.concat());
    let file = pdf_with("", content.as_bytes(), &[]);
    let sites = Sites::new().page("a.test", "/", Answer::html("<a href=/long.pdf>1</a>")).page(
        "a.test",
        "/long.pdf",
        Answer::content("application/pdf", file),
    );
    let scene = Scene::new(sites);
    let config = scene.path("c.toml");
    std::fs::write(&config, "[page]\ntext_bytes = \"1KB\"\n").unwrap();
    scene.crawl().args([Path::new("--config"), &config]).run().expect(0);
    assert_eq!(urls(&scene, &["mline3"]), ["a.test/long.pdf"]);
    assert!(urls(&scene, &["mline190"]).is_empty());
}

#[test]
fn a_pdf_file_is_found_by_its_text_and_a_hostile_one_costs_itself_alone() {
    let answer = |body: Vec<u8>| Answer::content("application/pdf", body);
    // A page tree that leads to itself, arrays in arrays, no PDF at all, a text without a font, and a stream that takes 700 MB.
    let endless = String::from_utf8(pdf("x")).unwrap().replace("/Kids [3 0 R]", "/Kids [2 0 R]");
    let nested = format!("%PDF-1.4\n1 0 obj\n{}", "[".repeat(1 << 20));
    let links = "<a href=/good.pdf>1</a><a href=/closed.pdf>2</a><a href=/endless.pdf>3</a><a href=/nested.pdf>4</a>\
                 <a href=/none.pdf>5</a><a href=/page>6</a><a href=/panic.pdf>7</a><a href=/bomb.pdf>8</a><a href=/deep.pdf>9</a>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(links))
        .page("a.test", "/good.pdf", answer(pdf("Words of mpdf in a file")))
        .page("a.test", "/closed.pdf", answer(pdf("Words of mclosed")).header("X-Robots-Tag", "noindex"))
        .page("a.test", "/endless.pdf", answer(endless.into_bytes()))
        .page("a.test", "/nested.pdf", answer(nested.into_bytes()))
        .page("a.test", "/none.pdf", answer(b"%PDF-1.4 and nothing else".to_vec()))
        .page("a.test", "/panic.pdf", answer(panicking_pdf()))
        .page("a.test", "/bomb.pdf", answer(inflating_pdf()))
        .page("a.test", "/deep.pdf", answer(deep_pdf()))
        .page("a.test", "/page", page("mpage", ""));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    assert_eq!(urls(&scene, &["mpdf"]), ["a.test/good.pdf"]);
    assert_eq!(urls(&scene, &["mpage"]), ["a.test/page"]);
    assert!(hits(&scene, &["mclosed"]).is_empty());
    assert_nowhere(&scene.out(), "mclosed");
    for name in ["none", "panic", "bomb", "deep"] {
        let url = format!("url:\"http://a.test/{name}.pdf\"");
        assert_eq!(urls(&scene, &[&url]), [format!("a.test/{name}.pdf")], "it is found by its URL");
        assert!(urls(&scene, &[&format!("m{name}")]).is_empty());
    }
    let kept = urls(&scene, &["*"]);
    let built = scene.look("index", &["--json"]).expect(0).json();
    assert_eq!(built[0]["pages"], kept.len());
    assert!(built[0]["unread"].as_u64().unwrap() >= 4, "{}", built[0]);
    assert!(built[0]["slow"].as_u64().unwrap() >= 1, "the bomb: {}", built[0]);
    assert_eq!(urls(&scene, &["*"]), kept);
}

/// Pages of a chain of links. The last ones aren't archived.
const CHAIN: usize = 14;

/// Starts a crawl of a chain whose index takes in nothing, and waits until every page is committed.
fn crawl_without_indexing(scene: &Scene) -> Running {
    std::fs::write(scene.path("hold"), "").expect("a file");
    let running = scene.crawl().env("WHOLE_PROGRAM_HOLDS_INDEX", scene.path("hold")).start();
    for _ in 0..1_000 {
        let answer = scene.look("search", &["words", "--json"]);
        if answer.code == Some(0) && answer.json()[0]["lacking"] == CHAIN {
            return running;
        }
        pause(Duration::from_millis(20));
    }
    panic!("the crawl waits for its index:\n{}", running.kill());
}

fn chain() -> Scene {
    let mut sites = Sites::new();
    for number in 1..=CHAIN {
        let path = if number == 1 { "/".to_owned() } else { format!("/{number}") };
        let head = if number > 6 { "<meta name=robots content=noarchive>" } else { "" };
        let text = format!("zq{number}z appears among the words of a long paragraph. ").repeat(3);
        let next = number + 1;
        let body = format!("<title>T</title>{head}<p>{text}<p><a href=/{next}>next</a>");
        sites = sites.page("a.test", &path, Answer::html(body));
    }
    Scene::new(sites)
}

/// Asserts that pages are found by the words of their texts, and that nothing waits.
fn assert_all_found(scene: &Scene, except: Option<usize>) {
    let pages = CHAIN - usize::from(except.is_some());
    // No search has taken anything in yet.
    assert_eq!(Search::open(&scene.out()).expect("an index").pages(), pages as u64);
    for number in 1..=CHAIN {
        let found = hits(scene, &[&format!("zq{number}z")]).len();
        assert_eq!(found, usize::from(Some(number) != except), "page {number}");
    }
    let total = &scene.look("search", &["words", "--json"]).expect(0).json()[0];
    assert_eq!((&total["searchable"], &total["lacking"]), (&pages.into(), &0.into()));
    assert!(!scene.out().join("index-later").exists());
}

#[test]
fn a_crawl_goes_on_without_its_index_and_a_search_says_what_is_searchable_yet() {
    let scene = chain();
    let running = crawl_without_indexing(&scene);
    let found = scene.look("search", &["words"]);
    found.expect(0);
    assert_eq!(found.stdout, format!("nothing found\n0 of {CHAIN} pages are searchable yet\n"));
    pause(Duration::from_millis(500));
    assert!(running.is_running(), "the end waits for the index");
    std::fs::remove_file(scene.path("hold")).expect("the file is there");
    let ended = running.wait(PATIENCE);
    assert!(!ended.expect(0).stderr.contains("lacks yet"), "{ended}");
    assert_all_found(&scene, None);
}

#[test]
fn a_kill_loses_no_text_that_waits_for_the_index() {
    let scene = chain();
    crawl_without_indexing(&scene).kill();
    let waiting = files_with(&scene.out().join("index-later"), &[&format!("zq{CHAIN}z")]);
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    scene.resume().run().expect(0);
    assert_all_found(&scene, None);
}

#[test]
fn what_is_forgotten_waits_for_no_index_and_what_a_stop_leaves_is_taken_in() {
    let scene = chain();
    let running = crawl_without_indexing(&scene);
    running.signal("INT");
    let ended = running.wait(PATIENCE);
    ended.expect(0);
    // The queue of the index holds two.
    let left = format!("pages that the full-text index lacks yet: {};", CHAIN - 2);
    assert!(ended.stderr.contains(&left), "{ended}");
    scene.look("forget", &["http://a.test/9"]).expect(0);
    let found = files_with(&scene.out(), &["zq9z"]);
    assert!(found.is_empty(), "{found:?}");
    let built = scene.look("index", &["--json"]);
    let built = &built.expect(0).json()[0];
    assert_eq!((&built["pages"], &built["unarchived"]), (&(CHAIN - 3).into(), &0.into()));
    assert_all_found(&scene, Some(9));
    assert_nowhere(&scene.out(), "zq9z");
}
