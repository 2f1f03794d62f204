//! Where the body of a page is that the archive stores once.

use serde::Serialize;

use super::super::open::View;
use crate::record::PageRecord;
use crate::warc::{self, Fault, Location};

/// The response that has the body of a page, where the page's own record is a `revisit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OriginalBody {
    /// Its URL.
    pub url: String,
    /// Its `WARC-Date`.
    pub date: String,
    /// Its `WARC-Record-ID`, if the `revisit` names it.
    pub record_id: Option<String>,
    /// The directory of its archive file: `warc`, or the way from there to the archive of an earlier crawl.
    pub dir: String,
    /// Its archive file.
    pub file: String,
    /// First byte of its record there.
    pub offset: u64,
    /// Whether the body can be read: `stored`, `withdrawn`, or `missing` if nothing of it is at its place.
    pub state: &'static str,
}

impl View {
    /// The response to which the archived record of a page refers; none where that has its own body, or can't be read.
    pub(super) fn original_of(&self, record: &PageRecord) -> Option<OriginalBody> {
        let place = record.warc.as_ref()?;
        let dir = self.archive_of(&place.file)?;
        let place = Location { file: place.file.clone(), offset: place.offset, length: place.length };
        let revisit = warc::read(&dir, &place).ok()?;
        let original = revisit.refers_to()?;
        let state = match warc::complete(&dir, revisit) {
            Ok(_) => "stored",
            Err(warc::Error::Record { fault: Fault::OriginalWithdrawn, .. }) => "withdrawn",
            Err(_) => "missing",
        };
        Some(OriginalBody {
            url: original.url,
            date: original.date,
            record_id: original.id,
            dir: original.archive.unwrap_or_else(|| "warc".to_owned()),
            file: original.place.file,
            offset: original.place.offset,
            state,
        })
    }
}
