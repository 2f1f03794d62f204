//! Crawl directories of earlier versions: this version shows, explains, audits, exports and resumes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use whole_program::program::{Crawl, Output};
use whole_program::site::Server;
use whole_program::stored_crawl::{
    FORGOTTEN, FORGOTTEN_BY_PATTERN, FORMATS, SKIPPED, TREES, all_pages, sites, unpack, word,
};

struct Stored {
    out: PathBuf,
    _directory: tempfile::TempDir,
}

impl Stored {
    fn new(format: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory for the test");
        Self { out: unpack(format, directory.path()), _directory: directory }
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Output {
        Crawl::new([Path::new(command), &self.out]).args(arguments).run()
    }

    fn table(&self, table: &str) -> Vec<Value> {
        self.run("export", &["--table", table, "--format", "jsonl"]).expect(0).json()
    }

    /// The URLs that the full-text search finds.
    fn found(&self, word: &str) -> Vec<String> {
        let output = self.run("search", &[word, "--json"]);
        let hits = output.expect(0).json().into_iter().filter(|line| line["url"].is_string());
        hits.map(|line| text(&line, "url")).collect()
    }

    fn urls(&self, table: &str) -> BTreeSet<String> {
        let rows = self.table(table);
        let urls: BTreeSet<String> = rows.iter().map(|row| text(row, "url")).collect();
        assert_eq!(urls.len(), rows.len(), "{table}: each URL once");
        urls
    }
}

fn text(row: &Value, column: &str) -> String {
    row[column].as_str().unwrap_or_else(|| panic!("{column} of {row}")).to_owned()
}

fn skipped() -> BTreeMap<String, String> {
    SKIPPED.iter().map(|(url, reason)| ((*url).to_owned(), (*reason).to_owned())).collect()
}

fn forgotten() -> BTreeSet<String> {
    FORGOTTEN_BY_PATTERN.iter().chain([&FORGOTTEN]).map(|url| (*url).to_owned()).collect()
}

#[test]
fn crawls_of_earlier_versions_are_shown_explained_audited_and_exported() {
    for format in FORMATS {
        let stored = Stored::new(format);
        let queue = stored.urls("queue");
        let pages = stored.urls("pages");
        let all = all_pages();
        assert!(!queue.is_empty() && pages.len() > 250, "{} pages, {} queued", pages.len(), queue.len());
        assert!(pages.is_subset(&all), "{:?}", pages.difference(&all).collect::<Vec<_>>());
        let reasons = stored.table("skipped");
        assert_eq!(
            reasons.iter().map(|row| (text(row, "url"), text(row, "reason"))).collect::<BTreeMap<_, _>>(),
            skipped()
        );

        // A page that is there, one that was removed, one that is queued, one that robots.txt denies.
        let explain = |url: &str, code: i32, phrase: &str| {
            let output = stored.run("explain", &[url]);
            assert!(output.expect(code).stdout.contains(phrase), "{url}: {output}");
        };
        explain("http://library.test/50", 0, "fetched with status 200");
        explain(FORGOTTEN, 0, "forgotten: asked for by the author");
        explain("http://library.test/private/secret", 1, "line 2: Disallow: /private/");
        let waiting = queue.iter().find(|url| !pages.contains(*url) && url.contains("library"));
        explain(waiting.expect("a URL that wasn't fetched yet"), 0, "not fetched yet: queued");

        // Of what was removed only the address and the time remain.
        let rows = stored.table("pages");
        for url in forgotten() {
            let row = rows.iter().find(|row| row["url"] == url.as_str()).expect("a row for it");
            assert!(row["title"].is_null() && row["digest"].is_null() && row["archived"] == false, "{row}");
        }
        assert_eq!(stored.found(&word("library.test", 50)), ["http://library.test/50"]);
        assert_eq!(stored.found(&word("library.test", 7)), Vec::<String>::new());

        stored.run("audit", &[]).expect(0);
        let each = stored.out.with_file_name("tables");
        std::fs::create_dir(&each).unwrap();
        let each = each.to_str().unwrap();
        for (format, file) in
            [("csv", "csv"), ("jsonl", "jsonl"), ("parquet", "parquet"), ("sqlite", "all.sqlite")]
        {
            stored.run("export", &["--format", format, "-o", &format!("{each}/{file}")]).expect(0);
        }
        for format in ["graphml", "edges", "cdxj", "wacz"] {
            let file = format!("{each}/one.{format}");
            let table: &[&str] =
                if matches!(format, "graphml" | "edges") { &["--table", "pages"] } else { &[] };
            stored.run("export", &[&["--format", format, "-o", &file], table].concat()).expect(0);
            assert!(std::fs::metadata(&file).unwrap().len() > 0, "{format}");
        }
        let connection = rusqlite::Connection::open(format!("{each}/all.sqlite")).unwrap();
        let count: i64 = connection.query_row("SELECT count(*) FROM pages", [], |row| row.get(0)).unwrap();
        assert_eq!(usize::try_from(count).unwrap(), pages.len(), "SQLite has the pages that JSON lines have");
        stored.run("report", &["-o", &format!("{each}/report.html")]).expect(0);
        assert_eq!(stored.run("show", &["--json"]).expect(0).json()[0]["queued"], queue.len());
    }
}

#[test]
fn crawls_of_earlier_versions_are_resumed_to_the_end_and_revisited() {
    for format in FORMATS {
        let stored = Stored::new(format);
        let server = Server::start(sites());
        let before = stored.urls("pages");
        let queue = stored.urls("queue");
        let resume = |command: &str, arguments: &[&str]| {
            Crawl::new([Path::new(command), &stored.out]).args(arguments).args(server.resolve()).run()
        };
        // The robots.txt of closed.test is unreachable. On the machine that wrote the crawl it has been for 12 hours, and the site counts as
        // closed; on any other nobody knows for how long, and its URL waits.
        let ends = |run: &Output| {
            let waits = stored.urls("queue");
            assert!(waits.is_subset(&BTreeSet::from(["http://closed.test/".to_owned()])), "{waits:?}");
            run.expect(if waits.is_empty() { 0 } else { 13 });
            if waits.is_empty() {
                let skipped = stored.table("skipped");
                let closed = skipped.iter().find(|row| row["url"] == "http://closed.test/");
                assert_eq!(closed.map(|row| text(row, "reason")).as_deref(), Some("robots_txt"));
            }
        };
        ends(&resume("resume", &["--max-pages", "100000"]));
        let forgotten = forgotten();
        let asked: BTreeSet<String> = server.pages().into_iter().collect();
        let due: BTreeSet<String> =
            all_pages().into_iter().filter(|url| queue.contains(url) || !before.contains(url)).collect();
        assert_eq!(
            asked,
            due.difference(&forgotten).cloned().collect(),
            "what was still queued, and nothing else"
        );
        assert_eq!(stored.urls("pages"), all_pages());
        stored.run("audit", &[]).expect(0);

        // Removals are kept by this version, and it removes what an earlier one stored.
        stored.run("forget", &["http://archive.test/40"]).expect(0);
        let requests = server.pages().len();
        ends(&resume("recrawl", &["--older-than", "0s"]));
        let again: BTreeSet<String> = server.pages()[requests..].iter().cloned().collect();
        let trees = TREES.iter().map(|(_, pages)| pages).sum::<usize>();
        assert!(again.len() >= trees - 4, "{} of {trees} pages were visited again", again.len());
        assert!(again.is_disjoint(&forgotten) && !again.contains("http://archive.test/40"));
        stored.run("audit", &[]).expect(0);
        stored.run("index", &[]).expect(0);
        assert_eq!(stored.found(&word("archive.test", 139)), ["http://archive.test/139"]);
    }
}
