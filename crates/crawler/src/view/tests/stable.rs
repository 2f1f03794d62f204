//! Rows in the order of exports, of one crawl and of several; columns that are chosen, or come from `[[extract]]`.

use super::*;
use crate::config::Settings;
use crate::view::{Column, Rows, Value, stable_rows_of};

fn column(rows: Rows<'_>, name: &str) -> Vec<String> {
    let rows = rows.select(&[name]).unwrap();
    rows.map(|row| row.unwrap()[0].text().unwrap_or_default().into_owned()).collect()
}

fn crawl_of(urls: &[&str]) -> View {
    let mut crawl = Crawl::new();
    for url in urls {
        let links = [3, 1, 2].map(|number| link(&format!("{url}{number}"), LinkOutcome::Queued));
        crawl.store_page(page(url, Some(200)), links.into());
        crawl.decide(url, "fetched", Layer::Fetch, "http_200");
    }
    crawl.view()
}

#[test]
fn rows_come_by_host_then_url_then_as_stored() {
    let view = crawl_of(&[
        "https://b.test/a",
        "http://b.test:8080/z",
        "http://a.test/b",
        "http://[::1]:81/",
        "http://a.test.b/",
        "http://a.test/B",
        "http://a.test/",
    ]);
    let expected = [
        "http://[::1]:81/",
        "http://a.test/",
        "http://a.test/B",
        "http://a.test/b",
        "http://a.test.b/",
        "http://b.test:8080/z",
        "https://b.test/a",
    ];
    assert_eq!(column(view.stable_rows(Table::Pages).unwrap(), "url"), expected);
    let links = column(view.stable_rows(Table::Links).unwrap(), "to");
    assert_eq!(links[..3], ["http://[::1]:81/3", "http://[::1]:81/1", "http://[::1]:81/2"]);
    assert_eq!(links.len(), 21);
    // The ledger has its own order.
    let seqs = column(view.stable_rows(Table::Ledger).unwrap(), "seq");
    assert!(seqs.len() >= 7, "{seqs:?}");
    assert_eq!(seqs, (0..seqs.len()).map(|seq| seq.to_string()).collect::<Vec<_>>());
}

#[test]
fn every_row_of_every_table_comes_back_from_sorting_as_it_was() {
    let view = crawl().view();
    for table in Table::ALL {
        let key = |row: &Vec<Value>| format!("{row:?}");
        let mut stored: Vec<_> = view.rows(table).unwrap().map(|row| key(&row.unwrap())).collect();
        let mut sorted: Vec<_> = view.stable_rows(table).unwrap().map(|row| key(&row.unwrap())).collect();
        stored.sort();
        sorted.sort();
        assert_eq!(stored, sorted, "{}", name(table));
    }
}

#[test]
fn several_crawls_come_in_one_order_with_their_names() {
    let crawls = [
        ("old".to_owned(), crawl_of(&["http://b.test/", "http://a.test/"])),
        ("new".to_owned(), crawl_of(&["http://a.test/", "http://c.test/"])),
    ];
    let rows = stable_rows_of(&crawls, Table::Pages).unwrap();
    assert_eq!(rows.columns()[0].name, "crawl");
    let rows = rows.select(&["crawl", "url"]).unwrap();
    let rows: Vec<_> = rows
        .map(|row| {
            row.unwrap().iter().map(|value| value.text().unwrap().into_owned()).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        rows,
        ["old http://a.test/", "new http://a.test/", "old http://b.test/", "new http://c.test/"]
    );
    let mut ledger = column(stable_rows_of(&crawls, Table::Ledger).unwrap(), "crawl");
    assert!(ledger.len() >= 4);
    ledger.dedup();
    assert_eq!(ledger, ["old", "new"], "one behind the other");
    let one = stable_rows_of(&crawls[..1], Table::Pages).unwrap();
    assert_eq!(one.columns()[0].name, "url");
}

#[test]
fn columns_are_chosen_by_name_and_an_unknown_one_is_an_error_that_names_the_nearest() {
    let view = crawl().view();
    let rows = view.rows(Table::Pages).unwrap().select(&["status", "url", "status"]).unwrap();
    let rows: Vec<Vec<Value>> = rows.map(Result::unwrap).collect();
    assert_eq!(rows[0][0], rows[0][2]);
    assert_eq!((&rows[0][0], rows[0][1].as_str()), (&Value::Integer(200), Some("http://a.test/")));
    let error = view.rows(Table::Pages).unwrap().select(&["url", "titel"]).unwrap_err().to_string();
    assert!(error.contains("no column \"titel\" (did you mean \"title\"?)"), "{error}");
    let compact = view.rows(Table::Pages).unwrap().compact();
    let names: Vec<_> = compact.columns().iter().map(|column: &Column| column.name.as_ref()).collect();
    assert_eq!(names[..2], ["url", "status"]);
    assert!(names.contains(&"warc_length") && !names.contains(&"og_title"), "{names:?}");
}

#[test]
fn each_extract_rule_of_any_run_is_a_column() {
    let mut crawl = Crawl::new();
    let rule = |name: &str, all| crate::config::ExtractRule {
        name: name.to_owned(),
        selector: "b".to_owned(),
        attribute: None,
        all,
    };
    for extract in
        [vec![rule("price", false)], vec![rule("tag", true), rule("price", false), rule("none", false)]]
    {
        let settings = Settings { extract, ..Settings::default() };
        let (run, text) = crate::config::run_settings(&settings, &[]).unwrap();
        crawl.store.commit(vec![Write::put(Tree::Meta, run.key(), text)]).unwrap();
    }
    let fields = [("price", vec!["7"]), ("tag", vec!["a", "b"])];
    let fields =
        fields.map(|(name, texts)| (name.to_owned(), texts.into_iter().map(str::to_owned).collect()));
    crawl.store_page(PageRecord { fields: fields.into(), ..page("http://a.test/", Some(200)) }, Vec::new());
    crawl.store_page(page("http://a.test/x", Some(200)), Vec::new());
    crawl.store_page(PageRecord { indexed: false, ..page("http://a.test/y", Some(200)) }, Vec::new());
    let view = crawl.view();
    let expected = [
        ("field_none", serde_json::json!([null, null, null])),
        ("field_price", serde_json::json!(["7", "7", null])),
        ("field_tag", serde_json::json!([["a", "b"], [], []])),
    ];
    let pages = jsonl(&view, Table::Pages);
    for (name, values) in expected {
        let found: Vec<_> = pages.iter().map(|page| page[name].clone()).collect();
        assert_eq!(Value::compound(&found, String::new()), Value::compound(&values, String::new()), "{name}");
    }
    assert_eq!(pages[0]["fields"], serde_json::json!({"price": ["7"], "tag": ["a", "b"]}));
    assert_eq!(column(view.stable_rows(Table::Pages).unwrap(), "field_tag")[0], "a; b");
}

#[test]
fn chosen_columns_of_sorted_rows_hold_what_they_hold_among_all() {
    let view = crawl_of(&["http://b.test/", "http://a.test/x"]);
    let crawls = [("a".to_owned(), view)];
    let sorted = || stable_rows_of(&crawls, Table::Pages).unwrap();
    let all: Vec<Vec<Value>> = sorted().map(Result::unwrap).collect();
    let place = |name: &str| sorted().place(name).unwrap();
    let in_order = ["url", "status", "title", "charset"];
    let chosen = |names: &[&str]| -> Vec<Vec<Value>> {
        all.iter().map(|row| names.iter().map(|name| row[place(name)].clone()).collect()).collect()
    };
    let found = |rows: Rows<'_>| rows.map(Result::unwrap).collect::<Vec<_>>();
    for names in [&in_order[..], &["status"], &["title", "url"], &["url", "url"]] {
        assert_eq!(found(sorted().select(names).unwrap()), chosen(names), "{names:?}");
        // From what was chosen already.
        if names.iter().all(|name| in_order.contains(name)) {
            let rows = sorted().select(&in_order).unwrap().select(names).unwrap();
            assert_eq!(found(rows), chosen(names), "{names:?} of four");
        }
    }
}
