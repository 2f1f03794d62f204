use serde_json::json;

use super::*;
use crate::view::{ErrorRow, Kind};

/// The columns that users rely on, in their order.
const CONTRACT: [(Table, &str); 6] = [
    (
        Table::Pages,
        "url status content_type charset title description keywords language depth via fetched_at duration_ms bytes digest \
         directives indexed archived followed canonical links_out robots_line robots_rule robots_digest warc_file warc_offset \
         warc_length",
    ),
    (Table::Links, "from to rel text nofollow outcome"),
    (Table::Hosts, "host requests pages bytes delay delay_reason robots_status next_at errors"),
    (Table::Robots, "origin fetched_at status digest lifetime bytes warnings"),
    (Table::Skipped, "url reason detail via at"),
    (Table::Ledger, "seq at url host decision layer reason evidence"),
];

#[test]
fn a_terminal_shows_first_what_came_and_what_may_be_done_with_it() {
    let first = Table::Pages.first_columns();
    assert_eq!(first[..6], ["url", "status", "indexed", "archived", "followed", "directives"]);
    for table in Table::ALL {
        let columns = table.columns();
        for name in table.first_columns() {
            assert!(columns.iter().any(|column| column.name == *name), "{name}");
        }
    }
}

#[test]
fn the_columns_of_the_contract_come_first_and_in_order() {
    let view = crawl().view();
    for (table, columns) in CONTRACT {
        let columns: Vec<_> = columns.split_whitespace().collect();
        let names: Vec<_> = table.columns().iter().map(|column| column.name.as_ref()).collect();
        assert_eq!(names[..columns.len()], columns[..], "{}", name(table));
    }
    for table in Table::ALL {
        let names: Vec<_> = table.columns().iter().map(|column| column.name.as_ref()).collect();
        let csv = text(&view, table, TableFormat::Csv);
        assert_eq!(csv.lines().next().unwrap(), format!("{},altered", names.join(",")));
        let lines = text(&view, table, TableFormat::Jsonl);
        assert!(!lines.is_empty(), "{}", name(table));
        for line in lines.lines() {
            assert!(line.starts_with("{\"v\":1,"), "{line}");
            let mut from = 0;
            for name in &names {
                let place =
                    line[from..].find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}: {line}"));
                from += place;
            }
        }
    }
}

#[test]
fn json_values_have_the_types_of_their_columns() {
    let view = crawl().view();
    for table in Table::ALL {
        for row in jsonl(&view, table) {
            for column in table.columns() {
                let value = &row[column.name.as_ref()];
                let fits = match column.kind {
                    Kind::Text => value.is_string(),
                    Kind::Integer => value.is_u64(),
                    Kind::Number => value.is_number(),
                    Kind::Boolean => value.is_boolean(),
                    Kind::Time => value.as_str().is_some_and(|text| text.len() == 24 && text.ends_with('Z')),
                    Kind::List => value.is_array(),
                    Kind::Object => value.is_object(),
                };
                assert!(
                    fits || column.nullable && value.is_null(),
                    "{} {}: {value}",
                    name(table),
                    column.name
                );
            }
        }
    }
}

#[test]
fn pages_are_what_was_answered() {
    let mut crawl = crawl();
    crawl.store_page(
        PageRecord { directives: vec![directive("nofollow")], ..page("http://a.test/three", Some(200)) },
        Vec::new(),
    );
    let view = crawl.view();
    let pages = jsonl(&view, Table::Pages);
    let of = |url: &str| pages.iter().find(|page| page["url"] == url).unwrap_or_else(|| panic!("{pages:?}"));
    assert_eq!(pages.len(), 3, "no answer, no page");
    let mut expected = json!({
        "v": 1, "url": "http://a.test/two", "status": 404, "content_type": "text/html", "charset": "utf-8", "title": "a title",
        "description": "a description", "keywords": ["nails", "wood"], "language": "de", "depth": 1, "via": "http://a.test/",
        "fetched_at": "2026-01-01T00:00:03.005Z", "duration_ms": 12, "bytes": 500, "digest": "blake3:00", "directives": [],
        "indexed": false, "archived": true, "followed": true, "canonical": "http://a.test/c", "links_out": 1,
        "robots_line": 3, "robots_rule": "Allow: /", "robots_digest": "blake3:11", "warc_file": "a.warc.gz", "warc_offset": 7,
        "warc_length": 9, "robots_reason": "allowed by rule", "redirect": null, "error": "http_404", "tries": 1,
        "wire_bytes": 300, "truncated": null, "limits_hit": [], "directive_warnings": [], "fields": {"price": ["7"]},
    });
    let more = json!({
        "og_title": null, "og_description": null, "twitter_title": null, "twitter_description": null, "json_ld": [],
        "document_state": null, "meta_url": null, "base": null, "revisit_after_days": null, "max_excerpt": null,
        "unavailable_after": null, "consent": [], "serves": [], "headers": [], "visits": 1, "checked_at": null,
        "changes": 1, "interval_days": 7.0, "fresh_for": null, "resource": false, "host": "a.test",
        "skipped_not_listed": 0, "consent_more": 0, "searchable": true,
        "withdrawn_at": null, "withdrawn_because": null, "duplicate_of": null,
        "mime_type": null, "readings": [], "unread": [], "simhash": null, "license": [], "payment": null,
        "outcome": "error", "suspect": null, "vendor": null, "signal": null, "from_cache": null, "age": null, "cache_headers": [],
    });
    expected.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    assert_eq!(of("http://a.test/two"), &expected);
    assert_eq!(
        of("http://a.test/three")["directives"],
        json!([{"directive": "nofollow", "source": "meta robots: nofollow"}])
    );
    let csv = text(&view, Table::Pages, TableFormat::Csv);
    assert!(csv.contains(",nofollow (meta robots: nofollow),"), "{csv}");
    assert!(csv.contains(",nails; wood,"), "{csv}");
}

#[test]
fn excerpts_are_no_longer_than_the_author_allows() {
    let rows = [(None, "a description"), (Some(5), "a des"), (Some(0), "")];
    for (excerpt, expected) in rows {
        let mut crawl = Crawl::new();
        let mut record = PageRecord { excerpt, ..page("http://a.test/", Some(200)) };
        record.about.og_description = Some("a description".to_owned());
        crawl.store_page(record, Vec::new());
        let pages = jsonl(&crawl.view(), Table::Pages);
        for column in ["description", "og_description"] {
            assert_eq!(pages[0][column].as_str().unwrap_or_default(), expected, "{excerpt:?} {column}");
        }
    }
}

#[test]
fn nothing_of_a_noindex_page_is_shown_even_if_a_record_had_it() {
    for (status, indexed, directives) in [
        (200, false, vec![directive("noindex")]),
        (200, false, vec![]),
        (404, false, vec![directive("nofollow"), directive("noindex")]),
    ] {
        let mut crawl = Crawl::new();
        crawl.store_page(
            PageRecord { directives, indexed, ..page("http://a.test/", Some(status)) },
            Vec::new(),
        );
        let row = jsonl(&crawl.view(), Table::Pages).remove(0);
        for column in [
            "title",
            "description",
            "keywords",
            "digest",
            "warc_file",
            "warc_offset",
            "warc_length",
            "language",
            "canonical",
        ] {
            assert!(row[column].is_null(), "{column}: {row}");
        }
        assert_eq!(row["fields"], json!({}));
        assert_eq!((&row["status"], &row["bytes"]), (&json!(status), &json!(500)));
    }
}

#[test]
fn a_second_visit_takes_the_row_of_the_first() {
    let mut crawl = Crawl::new();
    crawl.store_page(page("http://a.test/", Some(200)), Vec::new());
    crawl.commit();
    crawl.store_page(page("http://a.test/", Some(410)), Vec::new());
    let pages = rows(crawl.view().pages());
    assert_eq!(pages.iter().map(|page| page.status).collect::<Vec<_>>(), [410]);
}

#[test]
fn links_name_their_page_and_their_fate() {
    let links = jsonl(&crawl().view(), Table::Links);
    let found: Vec<_> = links
        .iter()
        .map(|link| {
            (link["from"].as_str(), link["to"].as_str(), link["nofollow"].as_bool(), link["outcome"].as_str())
        })
        .collect();
    let from = Some("http://a.test/");
    assert_eq!(
        found,
        [
            (from, Some("http://a.test/two"), Some(false), Some("queued")),
            (from, Some("http://a.test/x"), Some(true), Some("nofollow_rel")),
            (from, Some("mailto:a"), Some(false), Some("not_http")),
        ]
    );
    assert_eq!((&links[0]["text"], &links[0]["kind"]), (&json!("anchor"), &json!("a")));
    assert_eq!((&links[0]["position"], &links[0]["hreflang"]), (&json!("nav"), &json!(null)));
}

#[test]
fn hosts_robots_ledger_and_errors_say_what_happened() {
    let view = crawl().view();
    let hosts = jsonl(&view, Table::Hosts);
    let expected = json!({
        "v": 1, "host": "a.test", "requests": 3, "pages": 1, "bytes": 800, "delay": 1.5, "delay_reason": "crawl-delay",
        "robots_status": "rules: status 200", "next_at": "2026-01-01T00:00:03.005Z", "errors": 1, "queued": 1, "skipped": 2,
        "parked": null, "slowest_ms": 44, "wait_reason": "configured", "robots_requests": 1,
        "license": [], "payment": null, "group": null, "kinds": [],
    });
    assert_eq!(hosts[0], expected);
    let robots = jsonl(&view, Table::Robots);
    let expected = json!({
        "v": 1, "origin": "http://a.test", "fetched_at": "2026-01-01T00:00:01.005Z", "status": 200, "digest": "blake3:11",
        "lifetime": 86400.0, "bytes": 20, "access": "rules", "reason": "status 200", "hops": [],
        "license": [], "payment": null,
        "warnings": [{"line": 2, "message": "line 2: unknown field"}, {"line": 4, "message": "no group"}],
    });
    assert_eq!(robots, [expected]);
    assert!(
        text(&view, Table::Robots, TableFormat::Csv).contains(",line 2: unknown field; line 4: no group,")
    );
    let mut ledger = jsonl(&view, Table::Ledger);
    // Pages that came with no entry about a visit have one of their own with their digests.
    let stored = ledger.split_off(3);
    assert!(
        stored
            .iter()
            .all(|row| row["decision"] == "stored" && row["evidence"]["stored"]["kind"] != json!(null))
    );
    assert_eq!(ledger.iter().map(|row| row["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
    let expected = json!({
        "v": 1, "seq": 1, "at": "2026-01-01T00:00:02.005Z", "url": "http://a.test/private", "host": "a.test",
        "decision": "skipped", "layer": "robots", "reason": "robots_txt", "evidence": {"words": "evidence"}, "via": null,
    });
    assert_eq!(ledger[1], expected);
    let errors: Vec<ErrorRow> = rows(view.errors());
    let found: Vec<_> = errors
        .iter()
        .map(|row| (row.url.as_str(), row.kind.as_str(), row.status, row.host.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("http://a.test/two", "http_404", Some(404), "a.test"),
            ("http://b.test/slow", "timeout", None, "b.test")
        ]
    );
    assert_eq!(errors[1].detail.as_deref(), Some("after 30 s"));
    let via: Vec<_> = errors.iter().map(|row| row.via.as_deref()).collect();
    assert_eq!(via, [Some("http://a.test/"), None]);
}

#[test]
fn every_layer_has_the_name_that_records_give_it() {
    for layer in Layer::ALL {
        assert_eq!(json!(layer.as_str()), serde_json::to_value(layer).unwrap());
    }
}

#[test]
fn a_damaged_record_is_an_error_that_names_its_tree() {
    for (tree, key, table) in [
        (Tree::Pages, vec![0; 16], Table::Pages),
        (Tree::Pages, vec![0; 16], Table::Errors),
        (Tree::Links, vec![0; 12], Table::Links),
        (Tree::Links, vec![0; 3], Table::Links),
        (Tree::Hosts, vec![0; 4], Table::Hosts),
        (Tree::Hosts, vec![0; 4], Table::Queue),
        (Tree::Journal, vec![0; 8], Table::Queue),
        (Tree::Robots, vec![0; 16], Table::Robots),
        (Tree::Ledger, vec![0; 8], Table::Ledger),
        (Tree::Ledger, vec![0; 8], Table::Skipped),
    ] {
        let view = Crawl::new().view();
        // In postcard, a zero byte would be an empty list.
        let value = if tree == Tree::Journal { vec![0xff; 20] } else { b"\x00{damaged".to_vec() };
        view.store().commit(vec![Write::put(tree, key, value)]).unwrap();
        let error = write_table(&view, table, TableFormat::Jsonl, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains(&format!("`{}`", tree.name())), "{}: {error}", name(table));
    }
}

#[test]
fn a_change_has_what_was_found_before_and_after_it() {
    let rows = jsonl(&crawl().view(), Table::Changes);
    let expected = json!({
        "v": 1, "url": "http://a.test/two", "at": "2026-01-01T00:00:03.005Z",
        "last_seen_before": "2026-01-01T00:00:02.005Z", "changed": ["status", "content"],
        "status_before": 200, "status": 404, "digest_before": "blake3:01", "digest": "blake3:00", "similarity": null,
        "indexed_before": true, "indexed": false, "host": "a.test",
    });
    assert_eq!(rows, [expected]);
}
