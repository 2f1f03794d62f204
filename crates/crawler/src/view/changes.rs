//! Table `changes`: what visits of a page found to be different from the visit before.

use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use super::row_sorter::host_of;
use crate::record::{PageRecord, PageState};

row! {
    /// A change of a page, found by a later visit.
    ChangeRow {
        /// The URL.
        url: String,
        /// When the change was found.
        at: Moment,
        /// When the page was last seen as before: it changed after that.
        last_seen_before: Moment,
        /// What differs: `status`, `content` (the digest), `indexed` (whether it may be indexed), `redirect` (its target).
        changed: Vec<String>,
        /// The status code before.
        status_before: Option<u16> [null = "there was no response"],
        /// The status code.
        status: Option<u16> [null = "there was no response"],
        /// Digest of the body before.
        digest_before: Option<String> [null = "the page may not be indexed, then or now"],
        /// Digest of the body.
        digest: Option<String> [null = "the page may not be indexed, then or now"],
        /// How alike the texts are: the share of equal bits of their simhashes. 1 for the same text, about 0.5 for unrelated texts.
        similarity: Option<f64> [null = "one of them has no simhash"],
        /// The page might be indexed before.
        indexed_before: bool,
        /// The page may be indexed.
        indexed: bool,
        /// The host.
        host: String [names],
    }
}

impl View {
    /// The rows of table `changes`: of each page, in the order in which they were found.
    pub fn changes(&self) -> impl Iterator<Item = Result<ChangeRow, ViewError>> + '_ {
        self.page_records().flat_map(|record| match record {
            Ok(record) => rows(&record).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        })
    }
}

fn rows(record: &PageRecord) -> Vec<ChangeRow> {
    if record.history.is_empty() {
        return Vec::new();
    }
    let now = PageState::of(record);
    let later = record.history.iter().skip(1).chain([&now]);
    let row = |(before, after): (&PageState, &PageState)| ChangeRow {
        url: record.url.clone(),
        at: Moment(after.at),
        last_seen_before: Moment(before.last_seen),
        changed: before.changed(after).into_iter().map(str::to_owned).collect(),
        status_before: before.status,
        status: after.status,
        digest_before: before.digest.clone(),
        digest: after.digest.clone(),
        similarity: before.similarity(after),
        indexed_before: before.indexed,
        indexed: after.indexed,
        host: host_of(&record.url).to_owned(),
    };
    record.history.iter().zip(later).map(row).collect()
}
