//! The rows of one crawl under the columns of several.

use std::borrow::Cow;

use super::cell::{Field, Kind};
use super::row::Column;
use super::value::Value;

/// Brings the rows of a crawl under the columns of several, the first of which names it.
pub(super) struct Widening {
    name: String,
    /// For each column behind the first: its place in the crawl's rows, whether a text becomes a list there, and whether it is a list.
    places: Vec<(Option<usize>, bool, bool)>,
}

impl Widening {
    pub(super) fn new(name: &str, own: &[Column], columns: &[Column]) -> Self {
        let place = |column: &Column| {
            let place = own.iter().position(|known| known.name == column.name);
            let becomes_list = place.is_some_and(|place| own[place].kind != column.kind);
            (place, becomes_list, column.kind == Kind::List)
        };
        Self { name: name.to_owned(), places: columns.iter().skip(1).map(place).collect() }
    }

    pub(super) fn of(&self, mut row: Vec<Value>) -> Vec<Value> {
        let mut wide = Vec::with_capacity(self.places.len() + 1);
        wide.push(Value::Text(Cow::Owned(self.name.clone())));
        wide.extend(self.places.iter().map(|(place, becomes_list, is_list)| match place {
            Some(place) => match std::mem::replace(&mut row[*place], Value::Null) {
                Value::Text(text) if *becomes_list => vec![text.into_owned()].into_value(),
                Value::Null if *becomes_list => Value::empty_list(),
                value => value,
            },
            None if *is_list => Value::empty_list(),
            None => Value::Null,
        }));
        wide
    }
}
