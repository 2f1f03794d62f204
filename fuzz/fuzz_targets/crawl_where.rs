//! Any text is an expression of `--where`: it passes a row or not, its negation the other way round, and an error names a place in it.

#![no_main]

use crawler::tables::filter::Filter;
use crawler::view::{Table, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let text = String::from_utf8_lossy(data);
        let columns = Table::Pages.columns();
        let mut row = vec![Value::Null; columns.len()];
        for (column, value) in columns.iter().zip(&mut row) {
            match &*column.name {
                "url" => *value = Value::Text("http://a.test/x".into()),
                "status" => *value = Value::Integer(404),
                "archived" => *value = Value::Boolean(true),
                _ => {}
            }
        }
        match Filter::of(&text, Table::Pages, columns) {
            Ok(filter) => {
                if let Ok(negated) = Filter::of(&format!("not ({text})"), Table::Pages, columns) {
                    assert_ne!(filter.passes(&row), negated.passes(&row));
                }
            }
            Err(error) => assert!((1..=text.chars().count() + 1).contains(&error.at)),
        }
    });
});
