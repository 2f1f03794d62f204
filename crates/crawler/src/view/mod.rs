//! The read side: the tables of a crawl as rows of typed columns, and its summary. What `crawl show` and
//! `crawl export` print. `docs/schema.md` describes each column.
//!
//! Rows are read one by one from a [`Store`](crate::store::Store); no table is ever held in memory as a whole.

mod activity;
mod cell;
mod changes;
mod contents;
mod coverage;
mod duplicates;
mod errors;
mod explain;
mod gaps;
mod groups;
mod host_ids;
mod host_links;
mod hosts;
mod json;
mod ledger;
mod limits;
mod links;
mod lookup;
mod moment;
mod moved_seeds;
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
mod stage;
mod summary;
#[cfg(feature = "cluster")]
mod summary_of_parts;
mod summary_text;
mod tally;
#[cfg(test)]
mod tests;
mod value;
mod versions;
mod visit;
mod widening;
mod width;
mod write;

pub use self::activity::{Activity, DelayOrder, GapClass, GapFigures, TimeStep, Timeline};
pub use self::cell::{Element, Field, Kind};
pub use self::changes::ChangeRow;
pub use self::contents::{Contents, KindCount};
pub use self::coverage::{Counted, HostStatement, Status};
pub use self::duplicates::DuplicateRow;
pub use self::errors::ErrorRow;
pub use self::explain::{
    Advice, Explanation, Fate, HostNow, OriginalBody, PathStep, RobotsNow, Statement, explain_among,
};
pub use self::groups::GroupSummary;
pub use self::host_links::{HostLink, HostLinks};
pub use self::hosts::HostRow;
pub use self::json::write_line as write_json_line;
pub use self::ledger::LedgerRow;
pub use self::links::LinkRow;
pub use self::moment::Moment;
pub use self::moved_seeds::{MovedSeedSummary, stored_moved_seeds};
pub use self::open::{View, ViewError};
pub(crate) use self::order::in_order;
pub use self::order::{CRAWL_COLUMN, columns_of, rows_of, stable_rows_of};
pub use self::owner::{AnsweredBy, Broken, Gaps, OwnRobots, OwnerReport, Slow};
pub use self::pages::{ConsentEntry, DirectiveEntry, HeaderLine, PageRow};
pub use self::queue::QueueRow;
pub use self::robots::{RobotsRow, Warned};
pub use self::row::{Column, Row};
pub(crate) use self::row_sorter::{RowSorter, host_of};
pub use self::rows::{FIELD_PREFIX, RowStream, Rows, UnknownColumn};
pub use self::runs::RunFigures;
pub(crate) use self::runs::all_runs;
pub use self::schema::{KINDS, SCHEMA_VERSION, write_schema_json, write_schema_markdown, write_schema_text};
pub use self::sitemaps::{SitemapSummary, stored_sitemaps};
pub use self::skipped::SkippedRow;
pub use self::summary::{CheaperWay, HostState, HostSummary, SeedAnswer, Summary};
#[cfg(feature = "cluster")]
pub use self::summary_of_parts::summary_of;
pub(crate) use self::tally::most_frequent;
pub use self::value::{Value, ValueRef};
pub(crate) use self::versions::lines as changed_lines;
pub use self::versions::{Answer, BindingLine, Difference, StoredRobots, Which};
pub use self::visit::{ArchiveError, StoredResponse, StoredVisit};
pub use self::write::{ALTERED_COLUMN, TableFormat, Written, write_rows, write_table};
pub(crate) use self::write::{io_error as csv_error, neutral};

/// The columns of table `pages` that a terminal shows first: what came, and what may be done with it.
const PAGES_FIRST: [&str; 9] =
    ["url", "status", "indexed", "archived", "followed", "directives", "title", "content_type", "error"];

/// Declares the tables: the variant, the type of its rows, its name, what it holds, and what a row is.
macro_rules! tables {
    ($($table:ident $row:ident $name:literal, $holds:literal, $about:literal;)+) => {
        /// A table of a crawl.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Table {
            $(#[doc = concat!($holds, ".")] $table,)+
        }

        impl Table {
            /// All tables.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$table),+];

            /// The table's columns, in order.
            pub fn columns(self) -> &'static [Column] {
                match self {
                    $(Self::$table => $row::COLUMNS,)+
                }
            }

            /// The columns that a terminal shows first, whose width holds only some of them; none of most tables.
            pub fn first_columns(self) -> &'static [&'static str] {
                match self {
                    Self::Pages => &PAGES_FIRST,
                    _ => &[],
                }
            }

            /// Its name, as on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$table => $name,)+
                }
            }

            /// What it holds, without a full stop.
            pub fn holds(self) -> &'static str {
                match self {
                    $(Self::$table => $holds,)+
                }
            }

            /// What a row is.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$table => $about,)+
                }
            }
        }
    };
}

tables! {
    Pages PageRow "pages", "URLs that were fetched", "One row per URL that was answered, with any status.";
    Links LinkRow "links", "Links between pages, and what was done with each", "One row per link of each page.";
    Hosts HostRow "hosts", "Hosts: requests, delay, and what sets the delay", "One row per host.";
    Robots RobotsRow "robots", "Versions of robots.txt", "One row per response to a request for robots.txt.";
    Queue QueueRow "queue", "URLs still to be fetched", "One row per queued URL.";
    Skipped SkippedRow "skipped", "URLs that were skipped, and why", "One row per URL that was found and skipped for good.";
    Ledger LedgerRow "ledger", "Every decision, in order", "One row per decision.";
    Errors ErrorRow "errors", "Failed visits, and how they failed",
        "One row per URL whose visit failed, or that is queued because its host or robots.txt is unreachable.";
    Duplicates DuplicateRow "duplicates", "Pages with the same or nearly the same content",
        "One row per page that has the same body as another one, or nearly the same text.";
    Changes ChangeRow "changes", "What later visits of pages found changed", "One row per change of a page.";
}

impl Table {
    /// The table of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }
}
