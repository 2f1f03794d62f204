//! The tables as values of an option.

use clap::ValueEnum;
use clap::builder::{EnumValueParser, TypedValueParser};
use crawler::view::Table;

/// A table of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableName {
    /// URLs that were fetched
    Pages,
    /// Links between pages, and what was done with each
    Links,
    /// Hosts: requests, delay, and what sets the delay
    Hosts,
    /// Versions of robots.txt
    Robots,
    /// URLs still to be fetched
    Queue,
    /// URLs that were skipped, and why
    Skipped,
    /// Every decision, in order
    Ledger,
    /// Failed visits, and how they failed
    Errors,
    /// Pages with the same or nearly the same content
    Duplicates,
}

impl From<TableName> for Table {
    fn from(name: TableName) -> Self {
        match name {
            TableName::Pages => Self::Pages,
            TableName::Links => Self::Links,
            TableName::Hosts => Self::Hosts,
            TableName::Robots => Self::Robots,
            TableName::Queue => Self::Queue,
            TableName::Skipped => Self::Skipped,
            TableName::Ledger => Self::Ledger,
            TableName::Errors => Self::Errors,
            TableName::Duplicates => Self::Duplicates,
        }
    }
}

/// Reads the name of a table.
pub(crate) fn parser() -> impl TypedValueParser<Value = Table> {
    EnumValueParser::<TableName>::new().map(Table::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_its_name() {
        let names =
            TableName::value_variants().iter().map(|name| (name.to_possible_value(), Table::from(*name)));
        for (name, table) in names.clone() {
            assert_eq!(name.unwrap().get_name(), table.name());
        }
        assert!(names.map(|(_, table)| table).eq(Table::ALL));
    }
}
