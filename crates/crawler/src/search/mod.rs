//! Full-text search in the pages that may be indexed: the index in `index/`, and queries.
//!
//! `docs/search.md` says what is indexed, how, and what a query may hold. The database and the archive are the source: what a commit
//! changes is entered there as due (`due`), a thread of its own takes it in (`feed`), and the index says with each of its own
//! commits up to which entry it holds everything. Where the thread can't keep up it follows later, and texts wait for it that aren't archived (`unarchived`).
//! PDF files are read later (`later`). Whatever a crash loses of it is read again from records and archive (`catch_up`).

mod archived;
mod catch_up;
mod cost;
mod directory;
mod document;
mod due;
mod error;
mod feed;
mod find;
mod json;
mod language;
mod later;
mod merging;
mod parts;
mod pdf;
mod query;
mod schema;
mod sites;
mod snippet;
mod stem_cache;
mod texts;
mod time;
mod unarchived;
mod words;
mod writer;

pub use self::catch_up::{Built, forget, is_behind, lacking, rebuild, take_up, take_up_with_pdf};
pub use self::cost::{Added, PagesInMemory};
pub use self::error::{QueryError, SearchError};
pub(crate) use self::feed::Indexing;
pub use self::find::{Contents, FacetCount, Facets, Found, Hit, Search};
pub use self::json::Part;
pub use self::parts::{index_parts, is_index, lag};
pub use self::pdf::{PDF_ARGUMENT, may_read_pdf, read_pdf};
pub use self::query::{PHRASE_CHARACTERS, QUERY_BYTES, QUERY_FILTERS, QUERY_NESTING, Request, check_query};
pub(crate) use self::texts::Excerpts;
pub use self::texts::{PageText, page_texts};
pub use self::time::{parse_since, parse_until};
