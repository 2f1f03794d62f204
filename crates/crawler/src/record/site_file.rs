//! One version of a file with a site's statements about uses of its pages.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RecordError;

/// The files, apart from robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteFile {
    /// `/.well-known/tdmrep.json` (TDM Reservation Protocol).
    TdmRep,
    /// `/ai.txt`.
    AiTxt,
}

impl SiteFile {
    /// Where it lies on its site.
    pub fn path(self) -> &'static str {
        match self {
            Self::TdmRep => "/.well-known/tdmrep.json",
            Self::AiTxt => "/ai.txt",
        }
    }
}

/// A file as it was answered; JSON, compressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteFileRecord {
    /// Form of this record: 1.
    pub v: u32,
    /// Scheme, host and port.
    pub origin: String,
    /// Which file.
    pub file: SiteFile,
    /// The URL that gave the answer.
    pub url: String,
    /// When the response was complete.
    pub fetched_at: Timestamp,
    /// Until when it holds.
    pub expires: Timestamp,
    /// The status; none if there was no response.
    pub status: Option<u16>,
    /// What it came to, in words.
    pub reason: String,
    /// True if it was unreachable: every purpose that it could deny is then denied.
    pub unreachable: bool,
    /// The body of a 2xx answer, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl SiteFileRecord {
    /// Key: origin, a zero byte, path, a zero byte, the time in milliseconds.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Self::prefix(&self.origin, self.file);
        key.extend(u64::try_from(self.fetched_at.as_millisecond()).unwrap_or_default().to_be_bytes());
        key
    }

    /// The keys of all versions of one file begin so.
    pub fn prefix(origin: &str, file: SiteFile) -> Vec<u8> {
        [origin.as_bytes(), b"\0", file.path().as_bytes(), b"\0"].concat()
    }

    /// Packs the record.
    pub fn write(&self) -> Result<Vec<u8>, RecordError> {
        serde_json::to_vec(self).map(crate::packed::pack).map_err(RecordError::from)
    }

    /// Unpacks a record.
    pub fn read(value: &[u8]) -> Result<Self, RecordError> {
        let plain = crate::packed::unpack(value)?;
        serde_json::from_slice(&plain).map_err(RecordError::from)
    }
}
