//! The tables in the formats of other programs, read back.

use std::collections::BTreeSet;

use super::*;
use crate::tables::graph::{Graph, GraphFormat, write_graph};

/// A crawl with something in most columns.
fn full() -> Crawl {
    let mut crawl = crawl();
    let record = PageRecord {
        directives: vec![directive("nofollow"), directive("noarchive")],
        keywords: None,
        title: Some("Größe \"x\" <&> \u{1b}[31m\u{0}".to_owned()),
        headers: vec![("x-robots-tag".to_owned(), "nofollow".to_owned())],
        unavailable_after: Some(at(9_000_000_000)),
        revisit_after_s: Some(129_600),
        ..page("http://b.test/", Some(200))
    };
    let links = vec![
        link("http://a.test/two", LinkOutcome::Seen),
        link("http://a.test/two", LinkOutcome::RelNofollow),
        link("http://b.test/", LinkOutcome::Seen),
        link("http://c.test/?a=1&b=2", LinkOutcome::OtherHost),
    ];
    crawl.store_page(record, links);
    crawl
}

fn export(view: &View, graph: Graph, form: GraphFormat) -> String {
    let crawls = [("one".to_owned(), view.another().unwrap())];
    let mut out = Vec::new();
    write_graph(&crawls, graph, form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn graphs_have_a_node_for_each_page_and_host_and_an_edge_for_all_links_between_two() {
    let view = full().view();
    let edges = export(&view, Graph::Pages, GraphFormat::Edges);
    let expected = "source,target,weight,nofollow,kind\r\n\
        http://a.test/,http://a.test/two,1,false,a\r\n\
        http://a.test/,http://a.test/x,1,true,a\r\n\
        http://b.test/,http://a.test/two,2,false,a\r\n\
        http://b.test/,http://b.test/,1,false,a\r\n\
        http://b.test/,http://c.test/?a=1&b=2,1,false,a\r\n";
    assert_eq!(edges, expected, "mailto: is no page");
    let hosts = export(&view, Graph::Hosts, GraphFormat::Edges);
    assert_eq!(hosts, "source,target,weight\r\nb.test,a.test,2\r\nb.test,c.test,1\r\n");

    let graph = export(&view, Graph::Pages, GraphFormat::GraphMl);
    let mut reader = quick_xml::Reader::from_str(&graph);
    let (mut nodes, mut edges) = (BTreeSet::new(), Vec::new());
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(element) => {
                let of = |name: &str| {
                    let attribute = element.try_get_attribute(name).unwrap().unwrap();
                    quick_xml::escape::unescape(&attribute.value).unwrap().into_owned()
                };
                match element.name().as_ref() {
                    "node" => assert!(nodes.insert(of("id")), "twice: {graph}"),
                    "edge" => edges.push((of("source"), of("target"))),
                    _ => {}
                }
            }
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((nodes.len(), edges.len()), (5, 5), "{graph}");
    assert!(edges.iter().all(|(from, to)| nodes.contains(from) && nodes.contains(to)), "{graph}");
    assert!(
        !graph.contains(['\u{1b}', '\u{0}']) && graph.contains("Größe &quot;x&quot; &lt;&amp;&gt;"),
        "{graph}"
    );
    assert!(graph.contains("<node id=\"http://c.test/?a=1&amp;b=2\"><data key=\"n0\">c.test</data><data key=\"n5\">false</data></node>"), "{graph}");
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use ::parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;

    use super::*;
    use crate::tables::write_parquet;
    use crate::view::Kind;

    fn written(view: &View, table: Table) -> SerializedFileReader<bytes::Bytes> {
        let mut out = Vec::new();
        let mut rows = view.stable_rows(table).unwrap();
        write_parquet(&mut rows, &mut out).unwrap();
        SerializedFileReader::new(out.into()).unwrap()
    }

    #[test]
    fn every_table_has_its_rows_and_the_types_of_the_schema() {
        let view = full().view();
        for table in Table::ALL {
            let file = written(&view, table);
            let metadata = file.metadata().file_metadata();
            assert_eq!(metadata.num_rows() as usize, jsonl(&view, table).len(), "{}", name(table));
            let value = |key: &str| {
                let pairs = metadata.key_value_metadata().unwrap();
                pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone())
            };
            assert_eq!(value("crawl.schema_version"), Some(crate::view::SCHEMA_VERSION.to_string()));
            assert_eq!(value("crawl.table").as_deref(), Some(table.name()));
            let fields = metadata.schema().get_fields();
            assert_eq!(fields.len(), table.columns().len());
            for (field, column) in fields.iter().zip(table.columns()) {
                let what = format!("{} {}", name(table), column.name);
                assert_eq!(field.name(), column.name, "{what}");
                let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
                assert_eq!(field.get_basic_info().repetition(), repetition, "{what}");
                let logical = field.get_basic_info().logical_type_ref().cloned();
                let (physical, wanted) = match column.kind {
                    Kind::List => (None, Some(LogicalType::List)),
                    Kind::Text | Kind::Object => (Some(Physical::BYTE_ARRAY), Some(LogicalType::String)),
                    Kind::Integer => (Some(Physical::INT64), None),
                    Kind::Number => (Some(Physical::DOUBLE), None),
                    Kind::Boolean => (Some(Physical::BOOLEAN), None),
                    Kind::Time => {
                        (Some(Physical::INT64), Some(LogicalType::timestamp(true, TimeUnit::MILLIS)))
                    }
                };
                assert_eq!(logical, wanted, "{what}");
                assert_eq!(field.is_primitive().then(|| field.get_physical_type()), physical, "{what}");
            }
        }
    }

    #[test]
    fn values_come_back() {
        let view = full().view();
        let file = written(&view, Table::Pages);
        let place =
            |name: &str| Table::Pages.columns().iter().position(|column| column.name == name).unwrap();
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        let row = &rows[2];
        assert_eq!(row.get_string(place("url")).unwrap(), "http://b.test/");
        assert_eq!(row.get_long(place("status")).unwrap(), 200);
        assert_eq!(
            row.get_string(place("title")).unwrap(),
            "Größe \"x\" <&> \u{1b}[31m\u{0}",
            "as it was found"
        );
        assert!(row.get_bool(place("indexed")).unwrap());
        assert!((row.get_double(place("revisit_after_days")).unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(row.get_timestamp_millis(place("fetched_at")).unwrap(), at(3).as_millisecond());
        assert!(row.get_list(place("keywords")).is_err(), "null");
        let directives = row.get_list(place("directives")).unwrap();
        let directives: Vec<String> = directives.elements().iter().map(ToString::to_string).collect();
        assert_eq!(directives.len(), 2);
        assert!(directives[0].contains("nofollow") && directives[1].contains("noarchive"), "{directives:?}");
        let keywords = rows[0].get_list(place("keywords")).unwrap();
        assert_eq!(keywords.elements().len(), 2);
        assert_eq!(rows[0].get_list(place("directives")).unwrap().elements().len(), 0);
        assert_eq!(rows[0].get_string(place("fields")).unwrap(), "{\"price\":[\"7\"]}");
    }

    #[test]
    fn the_rows_of_pages_by_several_threads_are_those_of_one() {
        let crawls = [("one".to_owned(), full().view()), ("two".to_owned(), full().view())];
        for crawls in [&crawls[..1], &crawls[..]] {
            let several = crate::view::stable_rows_of(crawls, Table::Pages).unwrap();
            let columns = several.columns().to_vec();
            assert_eq!(columns, crate::view::columns_of(crawls, Table::Pages).unwrap());
            let several: Vec<_> = several.map(Result::unwrap).collect();
            let mut one = Vec::new();
            for (name, view) in crawls {
                for row in view.rows(Table::Pages).unwrap() {
                    let mut row = row.unwrap();
                    if crawls.len() > 1 {
                        row.insert(0, crate::view::Value::Text(name.clone().into()));
                    }
                    one.push(row);
                }
            }
            let url = columns.iter().position(|column| column.name == "url").unwrap();
            let key = |row: &Vec<crate::view::Value>| {
                let url = row[url].as_str().unwrap();
                (crate::view::host_of(url).to_owned(), url.to_owned())
            };
            one.sort_by_key(key);
            assert_eq!(several, one);
        }
    }

    #[test]
    fn a_row_that_cant_be_read_ends_the_file_without_its_end() {
        let columns = vec![Table::Errors.columns()[0].clone()];
        let rows = (0..3).map(|number| match number {
            2 => Err(crate::view::ViewError::Write(std::io::Error::other("a fault"))),
            _ => Ok(vec![crate::view::Value::Text("http://a.test/".into())]),
        });
        let mut rows = crate::view::Rows::one(Table::Errors, columns.clone(), Vec::new())
            .with(columns, |_| Box::new(rows));
        let mut out = Vec::new();
        let error = write_parquet(&mut rows, &mut out).unwrap_err();
        assert!(error.message().contains("a fault"), "{error}");
        assert!(SerializedFileReader::new(bytes::Bytes::from(out)).is_err());
    }

    #[test]
    fn an_output_that_takes_nothing_is_the_error_that_is_reported() {
        struct Full(usize);
        impl std::io::Write for Full {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0 += bytes.len();
                if self.0 > 100_000 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let columns = vec![Table::Errors.columns()[0].clone()];
        let rows = (0..500_000_u64).map(|number| {
            Ok(vec![crate::view::Value::Text(
                blake3::hash(&number.to_le_bytes()).to_hex().to_string().into(),
            )])
        });
        let mut rows = crate::view::Rows::one(Table::Errors, columns.clone(), Vec::new())
            .with(columns, |_| Box::new(rows));
        let error = write_parquet(&mut rows, &mut Full(0)).unwrap_err();
        let crate::view::ViewError::Write(error) = error else { panic!("{error}") };
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }

    #[test]
    fn more_rows_than_a_group_come_back_in_order() {
        let rows = (0..300_000_u64).map(|number| {
            let text = format!("http://a.test/{number}");
            Ok(vec![
                crate::view::Value::Text(text.into()),
                if number % 3 == 0 { crate::view::Value::Null } else { crate::view::Value::Integer(number) },
            ])
        });
        let columns = Table::Errors.columns();
        let columns = vec![columns[0].clone(), columns[3].clone()];
        let mut rows = crate::view::Rows::one(Table::Errors, columns.clone(), Vec::new())
            .with(columns, |_| Box::new(rows));
        let mut out = Vec::new();
        assert_eq!(write_parquet(&mut rows, &mut out).unwrap(), 300_000);
        let file = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
        assert_eq!(file.metadata().num_row_groups(), 3);
        for (number, row) in (0..).zip(file.get_row_iter(None).unwrap()) {
            let row = row.unwrap();
            assert_eq!(row.get_string(0).unwrap(), &format!("http://a.test/{number}"));
            assert_eq!(row.get_long(1).ok(), (number % 3 != 0).then_some(number));
        }
    }
}

#[cfg(feature = "sqlite")]
mod databases {
    use rusqlite::Connection;

    use super::*;
    use crate::tables::SqliteOutput;
    use crate::view::stable_rows_of;

    fn written(crawls: &[(String, View)]) -> (tempfile::TempDir, Connection) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sqlite");
        let mut database = SqliteOutput::create(&path).unwrap();
        for table in Table::ALL {
            database.table(&mut stable_rows_of(crawls, table).unwrap()).unwrap();
        }
        database.finish().unwrap();
        (dir, Connection::open(path).unwrap())
    }

    fn number(database: &Connection, sql: &str) -> i64 {
        database.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn text(database: &Connection, sql: &str) -> String {
        database.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    #[test]
    fn a_database_has_all_tables_with_keys_search_and_views() {
        let crawls = [("one".to_owned(), full().view())];
        let (_dir, database) = written(&crawls);
        for table in Table::ALL {
            let rows = number(&database, &format!("SELECT count(*) FROM {}", table.name()));
            assert_eq!(rows as usize, jsonl(&crawls[0].1, table).len(), "{}", table.name());
        }
        let row = "FROM pages WHERE url = 'http://b.test/'";
        assert_eq!(number(&database, &format!("SELECT status {row} AND indexed AND keywords IS NULL")), 200);
        assert_eq!(text(&database, &format!("SELECT fetched_at {row}")), "2026-01-01T00:00:03.005Z");
        assert_eq!(
            text(&database, &format!("SELECT json_extract(directives, '$[1].directive') {row}")),
            "noarchive"
        );
        assert_eq!(
            number(
                &database,
                "SELECT count(*) FROM pages_fts WHERE pages_fts MATCH 'grosse OR große OR grösse'"
            ),
            1
        );
        assert_eq!(number(&database, "SELECT count(*) FROM pages_ok"), 2);
        assert_eq!(
            text(&database, "SELECT \"from\" || ' ' || kind FROM broken_links LIMIT 1"),
            "http://a.test/ http_404"
        );
        assert_eq!(
            number(&database, "SELECT sum(count) FROM skipped_by_reason"),
            number(&database, "SELECT count(*) FROM skipped")
        );
        assert_eq!(text(&database, "PRAGMA integrity_check"), "ok");
        assert_eq!(number(&database, "PRAGMA user_version"), i64::from(crate::view::SCHEMA_VERSION));
        let keys = "SELECT group_concat(name) FROM pragma_table_info('robots') WHERE pk > 0";
        assert_eq!(text(&database, keys), "origin,fetched_at");
        assert!(
            number(&database, "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
                > 10
        );
    }

    #[test]
    fn two_crawls_share_a_database() {
        let crawls = [("one".to_owned(), full().view()), ("two".to_owned(), crawl().view())];
        let (_dir, database) = written(&crawls);
        assert_eq!(number(&database, "SELECT count(*) FROM pages WHERE url = 'http://a.test/'"), 2);
        assert_eq!(number(&database, "SELECT count(*) FROM pages WHERE crawl = 'two'"), 2);
        // A link of one crawl isn't broken by an error of the other.
        let broken = number(&database, "SELECT count(*) FROM broken_links WHERE crawl = 'two'");
        assert_eq!(broken, 1);
    }
}
