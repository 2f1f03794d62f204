//! The columns that people and scripts rely on.

use std::collections::BTreeSet;

use serde_json::Value;
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

const COLUMNS: [(&str, &str); 6] = [
    (
        "pages",
        "url status content_type charset title description keywords language depth via fetched_at duration_ms bytes digest \
         directives indexed archived followed canonical links_out robots_line robots_rule robots_digest warc_file warc_offset \
         warc_length",
    ),
    ("links", "from to rel text nofollow outcome"),
    ("hosts", "host requests pages bytes delay delay_reason robots_status next_at errors"),
    ("robots", "origin fetched_at status digest lifetime bytes warnings"),
    ("skipped", "url reason detail via at"),
    ("ledger", "seq at url host decision layer reason evidence"),
];

fn scene() -> Scene {
    let front = "<html lang=de><title>=1+1</title><meta name=keywords content='nails, wood'>\
                 <a href=/private>p</a><a href=/x rel=nofollow>x</a><a href=/gone>g</a><a href=/two>Zwei, \"quoted\"</a>";
    let scene = Scene::new(
        Sites::new()
            .page("a.test", "/robots.txt", Answer::robots(Rules::default().deny("/private").allow("/two")))
            .page("a.test", "/", Answer::html(front))
            .page("a.test", "/two", Answer::html("<title>Zwei \u{1b}[31mrot</title>")),
    );
    scene.crawl().run().expect(0);
    scene
}

fn names(record: &Value) -> BTreeSet<String> {
    record.as_object().expect("an object").keys().cloned().collect()
}

#[test]
fn jsonl_and_csv_have_the_columns_of_the_contract() {
    let scene = scene();
    for (table, columns) in COLUMNS {
        let columns: Vec<&str> = columns.split_whitespace().collect();
        let records = scene.table(table);
        assert!(!records.is_empty(), "{table} is empty");
        for record in &records {
            let missing: Vec<_> = columns.iter().filter(|column| !names(record).contains(**column)).collect();
            assert!(missing.is_empty(), "{table} lacks {missing:?}: {record}");
        }
        let text = scene.look("export", &["--table", table, "--format", "csv"]).expect(0).stdout.clone();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(
            header[..columns.len()],
            columns[..],
            "{table}: the columns come in the order of the contract"
        );
        assert_eq!(reader.records().map(Result::unwrap).count(), records.len(), "{table}");
    }
}

#[test]
fn values_say_what_happened() {
    let scene = scene();
    let pages = scene.table("pages");
    let front = pages.iter().find(|page| page["url"] == "http://a.test/").expect("the front page");
    let expected = serde_json::json!({"status": 200, "title": "=1+1", "keywords": "nails, wood", "language": "de", "depth": 0,
        "indexed": true, "archived": true, "followed": true, "links_out": 4});
    for (column, value) in expected.as_object().unwrap() {
        let found = if front[column].is_array() {
            front[column]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(", ")
                .into()
        } else {
            front[column].clone()
        };
        assert_eq!(&found, value, "{column}");
    }
    let fetched_at = front["fetched_at"].as_str().expect("a time");
    assert!(
        fetched_at.len() == 24 && fetched_at.ends_with('Z') && fetched_at.parse::<jiff::Timestamp>().is_ok(),
        "{fetched_at}"
    );
    assert!(front["warc_length"].as_u64().is_some_and(|length| length > 0));
    let two = pages.iter().find(|page| page["url"] == "http://a.test/two").expect("the second page");
    assert_eq!((&two["depth"], &two["via"]), (&1.into(), &"http://a.test/".into()));
    assert_eq!(two["robots_line"], 3, "the line that allowed it");

    let skipped = scene.table("skipped");
    let reason =
        |url: &str| skipped.iter().find(|row| row["url"] == url).map(|row| row["reason"].to_string());
    assert!(reason("http://a.test/private").is_some_and(|reason| reason.contains("robots")), "{skipped:?}");

    let links = scene.table("links");
    let to: Vec<_> = links
        .iter()
        .map(|link| (link["to"].as_str().unwrap_or_default(), link["nofollow"] == true))
        .collect();
    for expected in
        [("http://a.test/private", false), ("http://a.test/x", true), ("http://a.test/two", false)]
    {
        assert!(to.contains(&expected), "{expected:?} in {to:?}");
    }
    let robots = scene.table("robots");
    assert_eq!((&robots[0]["origin"], &robots[0]["status"]), (&"http://a.test".into(), &200.into()));
    let hosts = scene.table("hosts");
    assert_eq!((&hosts[0]["host"], &hosts[0]["requests"]), (&"a.test".into(), &4.into()));
}

#[test]
fn cells_that_a_spreadsheet_would_run_are_neutralised_in_csv() {
    let scene = scene();
    let text = scene.look("export", &["--table", "pages", "--format", "csv"]).expect(0).stdout.clone();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let title = reader.headers().unwrap().iter().position(|name| name == "title").unwrap();
    let titles: Vec<String> = reader.records().map(|row| row.unwrap()[title].to_owned()).collect();
    assert!(titles.iter().any(|title| title == "'=1+1"), "{titles:?}");
}

#[test]
fn show_tells_a_summary_and_every_table_and_strips_escapes() {
    let scene = scene();
    let summary = scene.look("show", &[]);
    assert!(!summary.expect(0).stdout.is_empty());
    for (table, _) in COLUMNS.into_iter().chain([("queue", ""), ("errors", "")]) {
        let output = scene.look("show", &[table]);
        assert!(!output.expect(0).stdout.contains('\u{1b}'), "{table}: {output}");
        for record in scene.look("show", &[table, "--json"]).expect(0).json() {
            assert_eq!(record["v"], 1, "{table}: {record}");
        }
    }
    assert_eq!(scene.look("show", &["--json"]).expect(0).json().len(), 1);
    scene.look("show", &["no-such-table"]).expect(2);
}

#[test]
fn export_writes_a_file_with_output() {
    let scene = scene();
    let file = scene.path("pages.csv");
    let output = scene.look("export", &["--table", "pages", "--format", "csv", "-o", file.to_str().unwrap()]);
    assert!(output.expect(0).stdout.is_empty());
    assert!(std::fs::read_to_string(file).unwrap().starts_with("url,status,content_type"));
}

#[test]
fn csv_says_what_it_altered_and_raw_alters_nothing() {
    let scene = scene();
    let cells = |options: &[&str], column: &str| -> Vec<String> {
        let options: Vec<_> =
            ["--table", "pages", "--format", "csv"].iter().chain(options).copied().collect();
        let text = scene.look("export", &options).expect(0).stdout.clone();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let place = reader.headers().unwrap().iter().position(|name| name == column);
        let Some(place) = place else { return Vec::new() };
        reader.records().map(|row| row.unwrap()[place].to_owned()).collect()
    };
    // By URL: the front page, the missing one, the second one.
    assert_eq!(cells(&[], "title"), ["'=1+1", "", "Zwei rot"]);
    assert_eq!(cells(&[], "altered"), ["title", "", ""], "what is stored has no escapes");
    assert_eq!(cells(&["--raw"], "title"), ["=1+1", "", "Zwei rot"]);
    assert!(cells(&["--raw"], "altered").is_empty());
    assert!(cells(&[], "og_title").is_empty() && cells(&["--columns", "all"], "og_title").len() == 3);
    let chosen = ["--table", "pages", "--format", "csv", "--columns", "status,url"];
    let text = scene.look("export", &chosen).expect(0).stdout.clone();
    assert!(text.starts_with("status,url,altered\r\n200,http://a.test/,\r\n"), "{text}");
}

#[test]
fn all_tables_go_into_a_directory_or_a_database_and_two_exports_are_the_same() {
    let scene = scene();
    let tables = [
        "pages",
        "links",
        "hosts",
        "robots",
        "queue",
        "skipped",
        "ledger",
        "errors",
        "duplicates",
        "changes",
    ];
    for (format, extension) in [("csv", "csv"), ("jsonl", "jsonl"), ("parquet", "parquet")] {
        let (one, two) = (scene.path("one"), scene.path("two"));
        for dir in [&one, &two] {
            scene.look("export", &["--format", format, "-o", dir.to_str().unwrap()]).expect(0);
        }
        for table in tables {
            let file = format!("{table}.{extension}");
            let bytes = std::fs::read(one.join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert_eq!(bytes, std::fs::read(two.join(&file)).unwrap(), "{file}");
            if format == "jsonl" {
                let shown = scene.look("show", &[table, "--json"]).expect(0).json().len();
                assert_eq!(String::from_utf8(bytes).unwrap().lines().count(), shown, "{table}");
            } else if format == "parquet" {
                assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{table}");
            }
        }
    }
    let database = scene.path("crawl.sqlite");
    std::fs::write(&database, "what was there").unwrap();
    scene.look("export", &["--format", "sqlite", "-o", database.to_str().unwrap()]).expect(0);
    assert!(std::fs::read(&database).unwrap().starts_with(b"SQLite format 3\0"), "it is replaced");
    let remains = std::fs::read_dir(scene.path("one")).unwrap().count();
    assert_eq!(remains, 3 * tables.len(), "no file has another name");
}

#[test]
fn options_of_export_that_do_not_go_together_are_refused() {
    let scene = scene();
    let dir = scene.path("dir");
    std::fs::create_dir(&dir).unwrap();
    let dir = dir.to_str().unwrap();
    for (options, words) in [
        (&["--format", "csv"][..], "--table TABLE is required, or -o DIRECTORY"),
        (&["--format", "sqlite"], "-o FILE.sqlite"),
        (&["--format", "sqlite", "-o", dir], "needs a file"),
        (&["--format", "graphml", "--table", "links"], "--table pages or --table hosts"),
        (&["--format", "jsonl", "--raw", "--table", "pages"], "--raw requires --format csv"),
        (&["--format", "csv", "--table", "pages", "--columns", "url,titel"], "did you mean \"title\"?"),
        (&["--format", "csv", "-o", dir, "--columns", "url"], "--columns requires --table"),
        (&["--format", "csv", "-o", "/dev/null"], "-o is a file"),
    ] {
        let output = scene.look("export", options);
        assert!(output.expect(2).stderr.contains(words), "{options:?}: {}", output.stderr);
    }
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0);
}

#[test]
fn show_takes_conditions_an_order_columns_and_a_limit() {
    let scene = scene();
    let shown = |options: &[&str]| scene.look("show", options).expect(0).stdout.clone();
    let pages =
        ["pages", "--where", "status < 400 and not url ~ 'none'", "--sort", "url:desc", "--columns", "url"];
    assert_eq!(shown(&pages), "url\nhttp://a.test/two\nhttp://a.test/\n");
    let limited: Vec<_> = pages.iter().copied().chain(["--limit", "1"]).collect();
    assert_eq!(shown(&limited), "url\nhttp://a.test/two\n");
    let output = scene.look("show", &["pages", "--where", "status >> 3"]);
    assert!(output.expect(2).stderr.contains("--where, character 9: column `status`"), "{}", output.stderr);
    scene.look("show", &["pages", "--sort", "url:up"]).expect(2);
    scene.look("show", &["--where", "status = 1"]).expect(2);
    scene.look("show", &["pages", "http://a.test/"]).expect(2);

    let page = shown(&["page", "http://a.test/two"]);
    assert!(page.lines().any(|line| line.starts_with("title") && line.ends_with("  Zwei rot")), "{page}");
    let page = scene.look("show", &["page", "http://a.test/two", "--json"]).expect(0).json();
    assert_eq!((&page[0]["v"], &page[0]["title"]), (&1.into(), &"Zwei rot".into()));
    assert!(scene.look("show", &["page", "http://a.test/none"]).expect(2).stderr.contains("crawl explain"));

    let robots = shown(&["robots", "a.test"]);
    let marked: Vec<_> = robots.lines().filter(|line| line.starts_with('>')).collect();
    assert!(marked.len() == 2 && marked[0].contains("/private") && marked[1].contains("/two"), "{robots}");
    assert!(
        robots.lines().any(|line| line.starts_with(' ') && line.to_ascii_lowercase().contains("user-agent")),
        "{robots}"
    );
    scene.look("show", &["robots", "none.test"]).expect(2);
}

#[test]
fn diff_tells_what_is_different_by_its_exit_code() {
    let (one, two) = (scene(), scene());
    let diff = |one: &std::path::Path, two: &std::path::Path| {
        whole_program::program::Crawl::new([std::path::Path::new("diff"), one, two]).run()
    };
    let output = diff(&one.out(), &two.out());
    assert_eq!(
        output.expect(0).stdout,
        "pages: 0 added, 0 removed, 0 changed, 3 unchanged\nrobots.txt: 0 added, 0 removed, 0 changed, 1 unchanged\n"
    );
    let other =
        Scene::new(Sites::new().page("a.test", "/", Answer::html("<title>other</title><a href=/two>t</a>")));
    other.crawl().run().expect(0);
    let output = diff(&one.out(), &other.out());
    for line in [
        "~ http://a.test/  content",
        "- http://a.test/gone  status 404",
        "~ http://a.test/two  status 200 -> 404",
    ] {
        assert!(output.expect(1).stdout.contains(line), "{line}: {}", output.stdout);
    }
    diff(&one.out(), &one.out()).expect(2);
    diff(&one.out(), &one.path("nothing")).expect(2);
}

#[test]
fn two_crawls_are_exported_into_one_table() {
    let (one, two) = (scene(), scene());
    let (first, second) = (one.out(), two.out());
    let output = whole_program::program::Crawl::new([std::path::Path::new("export"), &first, &second])
        .args(["--table", "pages", "--format", "jsonl"])
        .run();
    let rows = output.expect(0).json();
    let named: Vec<_> = rows.iter().map(|row| (row["url"].as_str(), row["crawl"].as_str())).collect();
    assert_eq!(named.len(), 6);
    assert_eq!(named[0], (Some("http://a.test/"), first.to_str()));
    assert_eq!(named[1], (Some("http://a.test/"), second.to_str()));
}

#[test]
fn extracted_fields_are_columns() {
    let front = "<a href=/x rel=nofollow>p</a><a href=/y rel=nofollow>x</a>";
    let scene = Scene::new(Sites::new().page("a.test", "/", Answer::html(front)));
    let config = scene.path("study.toml");
    std::fs::write(&config, "[[extract]]\nname = \"anchor\"\nselector = \"a\"\nall = true\n\n[[extract]]\nname = \"first\"\nselector = \"a\"\n").unwrap();
    scene.crawl().args([std::path::Path::new("--config"), &config]).run().expect(0);
    let table =
        |format| scene.look("export", &["--table", "pages", "--format", format]).expect(0).stdout.clone();
    let front: Value = serde_json::from_str(table("jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(front["field_anchor"], serde_json::json!(["p", "x"]), "{front}");
    assert_eq!(front["field_first"], "p");
    assert!(
        table("csv")
            .lines()
            .next()
            .unwrap()
            .ends_with(",error,simhash,outcome,suspect,field_anchor,field_first,altered")
    );
}

#[expect(dead_code, reason = "the example's own main")]
#[path = "../../../crates/crawler/examples/read_database.rs"]
mod read_database;

#[test]
fn the_example_reads_the_database_and_leaves_it_whole() {
    let scene = scene();
    let mut out = Vec::new();
    read_database::read(&scene.out(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for line in ["200 http://a.test/ =1+1\n", "pages: 3 rows\n", "skipped: 2 rows\n", "tree ledger: "] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let document =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/storage.md")).unwrap();
    assert_eq!(crawler::store::SEGMENT_SIZE, 128 * 1024);
    assert!(document.contains(".segment_size(128 * 1024).open()"));
    assert_eq!(scene.table("pages").len(), 3);
    scene.look("audit", &[]).expect(0);
}
