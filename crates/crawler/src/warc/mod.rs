//! Archive of what servers sent: WARC 1.1 files (ISO 28500:2017), one gzip member per record.
//!
//! ```text
//! Exchange --encode (CPU, any thread)--> Encoded --append--> file on disk --sync--> Location into sled
//! ```
//!
//! **What is stored.** A `request` and a `response` record for every exchange, joined by
//! `WARC-Concurrent-To`. The response's block is the status line and the header fields byte for byte as the server sent them (case,
//! order, repeats and reason phrase included), and the body *as on the wire with the transfer coding removed*: a
//! `Content-Encoding` (gzip, br, zstd) is kept as sent, chunked framing is not. So that the stored head describes the stored
//! body, a `Transfer-Encoding` field is kept under the name `X-Archive-Orig-Transfer-Encoding` and a right `Content-Length` is
//! added; a `Content-Length` that doesn't fit the stored body (a cut-off one) is kept as `X-Archive-Orig-Content-Length`
//! likewise. Lines end with CR LF whatever the server ended them with, since readers look for that. HTTP/2 and later have
//! no textual head: it is written as `HTTP/1.1` without a reason phrase, names in lower case, which is what other crawlers write and readers
//! take, and `WARC-Protocol` names the protocol spoken (iipc/warc-specifications#15 and #42).
//!
//! A `metadata` record says how the URL was found, how long the request took and what restricts the page's use. Where there is no
//! response, or its content is kept out, it is there alone and says why. Answers to requests that are for no page (robots.txt, sitemaps,
//! consent files) have the field `Crawl-Purpose`.
//!
//! **Digests** are `sha1:` in base 32: the form that CDX indexes, warcio, pywb and the deduplicating tools
//! compare. They guard against damage, not against forgery. The payload digest covers the stored body before
//! content decoding.
//!
//! **Durability** (docs/storage.md): [`WarcWriter::append`], then one sled transaction with the [`Location`], the [`Position`] after it and
//! how much is synced, then [`Unsynced::sync`], then acknowledge. [`repair()`] at the start of a resumed run cuts off whatever lies behind the
//! last committed [`Position`], torn or whole; [`whole_until`] says whether the disk has what wasn't synced before it. Within a run an
//! append either lands whole or the file is cut back to where it was.
//!
//! **Taking a record out again**: [`write_tombstone`] overwrites its place by a record that says so, of the same length.

mod digest;
mod directories;
mod dns;
mod encode;
mod exchange;
mod fields;
mod http_head;
mod info;
mod member;
mod metadata;
mod name;
mod place;
mod reader;
mod record;
mod repair;
mod revisit;
mod salvage;
mod sync;
mod tombstone;
mod writer;

pub use directories::Directories;
pub(crate) use dns::dns_url;
pub use encode::encode;
pub use exchange::{Encoded, Exchange, Truncated};
pub use info::WarcInfo;
pub use metadata::Metadata;
pub(crate) use name::{serial, series};
pub use place::{Location, Place, Position, WrittenFile};
pub use reader::{Reader, read};
pub use record::{Fault, Record};
pub(crate) use repair::files;
pub use repair::{Repaired, repair, repair_series, series_in, whole_until};
pub use revisit::{Original, RefersTo, complete, read_response};
pub use salvage::{Salvaged, salvage};
pub use sync::Unsynced;
pub(crate) use tombstone::tombstone;
pub use tombstone::write_tombstone;
pub use writer::WarcWriter;

use std::path::PathBuf;

/// Field of the records of a request that is for no page: `robots`, `sitemap` or `consent`.
pub(crate) const PURPOSE: &str = "Crawl-Purpose";

/// What went wrong with the archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: disk full, read-only, out of descriptors.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was being done, as a verb: "write to".
        doing: &'static str,
        /// The file or directory it was done to.
        path: PathBuf,
        /// The refusal itself.
        #[source]
        source: std::io::Error,
    },
    /// An append failed and the file could not be cut back either. [`WarcWriter::roll_back_to`] may be tried;
    /// until it succeeds nothing more is written.
    #[error("{} ends with a torn record that could not be removed", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
    },
    /// A file is shorter than what was committed: acknowledged bytes are missing.
    #[error("{} has {found} bytes, but {committed} were committed", path.display())]
    Short {
        /// The file; `found` is 0 when it doesn't exist.
        path: PathBuf,
        /// Bytes found.
        found: u64,
        /// Bytes committed.
        committed: u64,
    },
    /// A name that this crawler never gives to an archive file.
    #[error("{0:?} is not the name of an archive file")]
    Name(String),
    /// What is stored at the place isn't a whole, right record.
    #[error("record at byte {offset} of {}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// First byte of the member.
        offset: u64,
        /// What is wrong with it.
        #[source]
        fault: Fault,
    },
}

impl Error {
    /// Whether what was appended may not have come to the disk.
    pub fn is_of_sync(&self) -> bool {
        matches!(self, Self::Io { doing: "sync", .. })
    }

    fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}

/// Result of an archive operation.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests;
