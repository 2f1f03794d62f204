//! The read side: the tables of a crawl as rows of typed columns, and its summary. What `crawl show` and
//! `crawl export` print. `docs/schema.md` describes each column.
//!
//! Rows are read one by one from a [`Store`](crate::store::Store); no table is ever held in memory as a whole.

mod cell;
mod coverage;
mod duplicates;
mod errors;
mod explain;
mod host_ids;
mod hosts;
mod json;
mod ledger;
mod limits;
mod links;
mod lookup;
mod moment;
mod open;
mod order;
mod owner;
mod owner_requests;
mod owner_text;
mod packed_row;
mod pages;
mod queue;
mod robots;
mod row;
mod row_sorter;
mod rows;
mod runs;
mod schema;
mod sitemaps;
mod skipped;
mod sorted_pages;
mod summary;
mod summary_text;
#[cfg(test)]
mod tests;
mod value;
mod versions;
mod visit;
mod widening;
mod width;
mod write;

pub use self::cell::{Element, Field, Kind};
pub use self::coverage::{Counted, Status};
pub use self::duplicates::DuplicateRow;
pub use self::errors::ErrorRow;
pub use self::explain::{Explanation, Fate, HostNow, PathStep, RobotsNow};
pub use self::hosts::HostRow;
pub use self::json::write_line as write_json_line;
pub use self::ledger::LedgerRow;
pub use self::links::LinkRow;
pub use self::moment::Moment;
pub use self::open::{View, ViewError};
pub(crate) use self::order::in_order;
pub use self::order::{CRAWL_COLUMN, columns_of, stable_rows_of};
pub use self::owner::{Broken, Gaps, OwnRobots, OwnerReport, Slow};
pub use self::pages::{ConsentEntry, DirectiveEntry, HeaderLine, PageRow};
pub use self::queue::QueueRow;
pub use self::robots::{RobotsRow, Warned};
pub use self::row::{Column, Row};
pub(crate) use self::row_sorter::{RowSorter, host_of};
pub use self::rows::{FIELD_PREFIX, RowStream, Rows, UnknownColumn};
pub(crate) use self::runs::all_runs;
pub use self::schema::{KINDS, SCHEMA_VERSION, write_schema_json, write_schema_markdown, write_schema_text};
pub use self::sitemaps::{SitemapSummary, stored_sitemaps};
pub use self::skipped::SkippedRow;
pub use self::summary::{HostState, HostSummary, Summary};
pub use self::value::{Value, ValueRef};
pub(crate) use self::versions::lines as changed_lines;
pub use self::versions::{Answer, BindingLine, Difference, StoredRobots, Which};
pub use self::visit::{ArchiveError, StoredResponse, StoredVisit};
pub use self::write::{ALTERED_COLUMN, TableFormat, Written, write_rows, write_table};
pub(crate) use self::write::{io_error as csv_error, neutral};

/// A table of a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// URLs that were fetched.
    Pages,
    /// Links between pages, and what was done with each.
    Links,
    /// Hosts: requests, delay, and what sets the delay.
    Hosts,
    /// Versions of robots.txt.
    Robots,
    /// URLs still to be fetched.
    Queue,
    /// URLs that were skipped, and why.
    Skipped,
    /// Every decision, in order.
    Ledger,
    /// Failed visits, and how they failed.
    Errors,
    /// Pages with the same or nearly the same content.
    Duplicates,
}

impl Table {
    /// The table's columns, in order.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Pages => PageRow::COLUMNS,
            Self::Links => LinkRow::COLUMNS,
            Self::Hosts => HostRow::COLUMNS,
            Self::Robots => RobotsRow::COLUMNS,
            Self::Queue => QueueRow::COLUMNS,
            Self::Skipped => SkippedRow::COLUMNS,
            Self::Ledger => LedgerRow::COLUMNS,
            Self::Errors => ErrorRow::COLUMNS,
            Self::Duplicates => DuplicateRow::COLUMNS,
        }
    }

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Links => "links",
            Self::Hosts => "hosts",
            Self::Robots => "robots",
            Self::Queue => "queue",
            Self::Skipped => "skipped",
            Self::Ledger => "ledger",
            Self::Errors => "errors",
            Self::Duplicates => "duplicates",
        }
    }

    /// What a row is.
    pub fn about(self) -> &'static str {
        match self {
            Self::Pages => "One row per URL that was answered, with any status.",
            Self::Links => "One row per link of each page.",
            Self::Hosts => "One row per host.",
            Self::Robots => "One row per response to a request for robots.txt.",
            Self::Queue => "One row per queued URL.",
            Self::Skipped => "One row per URL that was found and skipped for good.",
            Self::Ledger => "One row per decision.",
            Self::Errors => {
                "One row per URL whose visit failed, or that is queued because its host or robots.txt is unreachable."
            }
            Self::Duplicates => {
                "One row per page that has the same body as another one, or nearly the same text."
            }
        }
    }

    /// All tables.
    pub const ALL: [Self; 9] = [
        Self::Pages,
        Self::Links,
        Self::Hosts,
        Self::Robots,
        Self::Queue,
        Self::Skipped,
        Self::Ledger,
        Self::Errors,
        Self::Duplicates,
    ];
}
