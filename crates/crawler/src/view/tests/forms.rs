use super::*;
use crate::view::Kind;
use crate::view::write::neutral;

#[test]
fn cells_that_a_spreadsheet_would_run_are_neutralised() {
    for (cell, written) in [
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "' =1"),
        ("\rplain", "' plain"),
        ("  =1", "'  =1"),
        ("\u{1b}[31m=1", "'=1"),
        ("\u{200e}=1", "'=1"),
        ("＝1", "'＝1"),
        ("a=1", "a=1"),
        ("'=1", "'=1"),
        ("", ""),
        ("x;=1+1", "x;'=1+1"),
        ("x; =1", "x;' =1"),
        ("x;\"=1\"", "x;'\"=1\""),
        ("=a;b;+c;d;@e", "'=a;b;'+c;d;'@e"),
        ("x;\t＝1", "x;' ＝1"),
        ("a;b;c", "a;b;c"),
        ("line\nbreak \u{1b}[2Jä", "line break ä"),
    ] {
        assert_eq!(neutral(cell, Kind::Text), written, "{cell:?}");
        assert_eq!(neutral(cell, Kind::List), written, "{cell:?}");
    }
    assert_eq!(neutral("-1.5", Kind::Number), "-1.5");
}

fn hostile() -> View {
    let mut crawl = Crawl::new();
    for (path, title) in [
        ("1", "\u{1b}]0;owned\u{7}Zwei, \"drei\""),
        ("2", "=cmd|' /C calc'!A0"),
        ("3", "a\tb\r\nc\u{9b}31m\u{202e}"),
    ] {
        let record =
            PageRecord { title: Some(title.to_owned()), ..page(&format!("http://a.test/{path}"), Some(200)) };
        crawl.store_page(record, Vec::new());
    }
    crawl.view()
}

#[test]
fn csv_comes_back_cell_by_cell() {
    let csv = text(&hostile(), Table::Pages, TableFormat::Csv);
    assert!(csv.ends_with("\r\n"));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let title = reader.headers().unwrap().iter().position(|name| name == "title").unwrap();
    let mut titles: Vec<_> = reader.records().map(|row| row.unwrap()[title].to_owned()).collect();
    titles.sort();
    assert_eq!(titles, ["'=cmd|' /C calc'!A0", "Zwei, \"drei\"", "a b  c"]);
}

#[test]
fn no_form_lets_foreign_text_steer_a_terminal() {
    let view = hostile();
    for form in [TableFormat::Jsonl, TableFormat::Csv, TableFormat::Tabs, TableFormat::Aligned(400)] {
        let text = text(&view, Table::Pages, form);
        let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t') || c == '\u{202e}';
        assert!(!text.contains(steers), "{form:?}: {text:?}");
        assert!(form == TableFormat::Csv || !text.contains('\r'));
    }
    let titles: Vec<_> =
        jsonl(&view, Table::Pages).iter().map(|page| page["title"].as_str().unwrap().to_owned()).collect();
    assert!(
        titles.iter().any(|title| title == "a\tb\r\nc\u{9b}31m\u{202e}"),
        "JSON keeps the text: {titles:?}"
    );
}

#[test]
fn raw_cells_are_as_they_were_found_and_others_say_that_they_are_not() {
    let view = hostile();
    let cells = |form| {
        let csv = text(&view, Table::Pages, form);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let headers = reader.headers().unwrap().clone();
        let title = headers.iter().position(|name| name == "title").unwrap();
        let altered = headers.iter().position(|name| name == "altered");
        let mut cells: Vec<(String, Option<String>)> = reader
            .records()
            .map(Result::unwrap)
            .map(|row| (row[title].to_owned(), altered.map(|altered| row[altered].to_owned())))
            .collect();
        cells.sort();
        cells
    };
    let altered = Some("title".to_owned());
    let expected = [
        ("'=cmd|' /C calc'!A0".to_owned(), altered.clone()),
        ("Zwei, \"drei\"".to_owned(), altered.clone()),
        ("a b  c".to_owned(), altered),
    ];
    assert_eq!(cells(TableFormat::Csv), expected);
    let raw = ["\u{1b}]0;owned\u{7}Zwei, \"drei\"", "=cmd|' /C calc'!A0", "a\tb\r\nc\u{9b}31m\u{202e}"];
    assert_eq!(cells(TableFormat::RawCsv), raw.map(|text| (text.to_owned(), None)));
    let free = text(&crawl().view(), Table::Pages, TableFormat::Csv);
    assert!(free.lines().skip(1).all(|line| line.ends_with(',')), "nothing is altered: {free}");
}

#[test]
fn tabs_have_one_cell_a_column() {
    let view = hostile();
    let text = text(&view, Table::Pages, TableFormat::Tabs);
    assert_eq!(text.lines().count(), 4);
    for line in text.lines() {
        assert_eq!(line.split('\t').count(), Table::Pages.columns().len(), "{line}");
    }
}

#[test]
fn aligned_columns_fit_the_terminal() {
    let mut crawl = Crawl::new();
    for number in 0..300 {
        let url = format!("http://a.test/{}/{number}", "long".repeat(number % 40));
        crawl.store_page(page(&url, Some(if number == 7 { 404 } else { 200 })), Vec::new());
    }
    let view = crawl.view();
    for width in [40, 80, 132] {
        let text = text(&view, Table::Pages, TableFormat::Aligned(width));
        assert_eq!(text.lines().count(), 301);
        assert!(text.lines().all(|line| crate::view::width::cells(line) <= width), "{width}: {text}");
        if width > 60 {
            let place = text.lines().next().unwrap().find("status").unwrap() + "status".len();
            let numbers: Vec<String> =
                text.lines().skip(1).map(|line| line.chars().take(place).skip(place - 3).collect()).collect();
            assert_eq!(numbers.iter().filter(|status| *status == "200").count(), 299, "{text}");
        }
    }
}

#[test]
fn east_asian_texts_line_up_and_the_url_keeps_half_of_the_line() {
    let mut crawl = Crawl::new();
    for (url, title) in
        [("http://a.test/a-rather-long-path/to/page", "漢字かな交じり文"), ("http://a.test/b", "plain")]
    {
        crawl.store_page(PageRecord { title: Some(title.to_owned()), ..page(url, Some(200)) }, Vec::new());
    }
    let view = crawl.view();
    let rows = view.rows(Table::Pages).unwrap().select(&["url", "title", "status", "charset"]).unwrap();
    let mut out = Vec::new();
    let written = crate::view::write_rows(rows, TableFormat::Aligned(80), &mut out).unwrap();
    assert_eq!((written.rows, written.narrowed), (2, 0));
    let expected = "\
url                                       title             status  charset\n\
http://a.test/a-rather-long-path/to/page  漢字かな交じり文     200  utf-8\n\
http://a.test/b                           plain                200  utf-8\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    let mut out = Vec::new();
    let rows = view.rows(Table::Pages).unwrap();
    let written = crate::view::write_rows(rows, TableFormat::Aligned(80), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("http://a.test/a-rather-long-path/to/page     200"), "{text}");
    assert!(
        written.narrowed > 40 && text.lines().all(|line| crate::view::width::cells(line) <= 80),
        "{text}"
    );
}

#[test]
fn a_closed_output_is_reported() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let view = crawl().view();
    for table in Table::ALL {
        for form in [TableFormat::Jsonl, TableFormat::Csv, TableFormat::Tabs, TableFormat::Aligned(80)] {
            match write_table(&view, table, form, &mut Closed) {
                Err(ViewError::Write(error)) => assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe),
                other => panic!("{} {form:?}: {other:?}", name(table)),
            }
        }
    }
}
