//! The tables as values of an option.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use crawler::view::Table;

/// Reads the name of a table.
pub(crate) fn parser() -> impl TypedValueParser<Value = Table> {
    PossibleValuesParser::new(Table::ALL.map(value)).try_map(|name| Table::named(&name).ok_or("no table"))
}

/// A table with what `--help` says of it.
pub(crate) fn value(table: Table) -> PossibleValue {
    PossibleValue::new(table.name()).help(table.holds())
}
