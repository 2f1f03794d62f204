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
fn export_writes_a_file_when_told() {
    let scene = scene();
    let file = scene.path("pages.csv");
    let output = scene.look("export", &["--table", "pages", "--format", "csv", "-o", file.to_str().unwrap()]);
    assert!(output.expect(0).stdout.is_empty());
    assert!(std::fs::read_to_string(file).unwrap().starts_with("url,status,content_type"));
}
