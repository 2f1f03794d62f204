//! The records of a crawl's database, each with its schema version `v`.

mod caching;
mod dead_owner;
mod decided;
mod decision;
mod due;
mod effects;
pub(crate) mod evidence;
mod forgotten;
mod group_address;
mod history;
mod kinds;
mod link;
mod moved_seed;
mod page;
mod page_state;
mod reason;
mod repair;
pub(crate) mod robots;
mod robots_evidence;
mod round;
mod run_end;
pub(crate) mod run_settings;
mod site_file;
mod sitemap;
mod stored;
mod terms;
mod uncommitted;
mod unread_text;
mod wall;
mod withdrawal;
mod withheld;
mod words;

pub use self::caching::Caching;
pub use self::dead_owner::DeadOwner;
pub(crate) use self::dead_owner::OWNER;
pub use self::decided::Decided;
pub(crate) use self::decision::{A_SEED, RUNS_EARLIER};
pub use self::decision::{Decision, Layer};
pub(crate) use self::due::{due_key, read_due_key};
pub use self::effects::EffectsTaken;
pub use self::evidence::{DirectiveEvidence, Evidence, LimitReached, PauseSet, RequestMade, Versions};
pub use self::forgotten::{Forget, ForgetRule};
pub(crate) use self::group_address::{group_address_key, group_addresses, is_group_address_key};
pub use self::kinds::HostKinds;
pub(crate) use self::kinds::kinds_of_hosts;
pub(crate) use self::link::unpack_links;
pub use self::link::{LinkRecord, decode_links, encode_links};
pub use self::moved_seed::MovedSeed;
pub(crate) use self::moved_seed::{
    SCOPE_ADDED, brought_in, moved_seeds, read_scope_added, write_scope_added,
};
pub use self::page::{About, Archived, PageRecord, Withdrawn};
pub(crate) use self::page::{BAD_JSON_LD, GROWTH, NOT_LISTED, TELLING_HEADERS};
pub use self::page_state::PageState;
pub use self::reason::{PlainReason, Reason};
pub use self::repair::RepairRecord;
pub use self::robots::{RobotsAccess, RobotsClocks, RobotsConsent, RobotsRecord};
pub use self::robots_evidence::RobotsEvidence;
pub(crate) use self::round::Round;
pub use self::run_end::EndRecord;
pub(crate) use self::run_end::RUN_END;
pub(crate) use self::run_settings::JUDGED_BY;
pub use self::run_settings::RunSettings;
pub use self::site_file::{SiteFile, SiteFileRecord};
pub use self::sitemap::{SitemapFound, SitemapRecord, SitemapState};
pub(crate) use self::stored::FoundLinks;
pub use self::stored::{Seal, Stored, StoredKind};
pub use self::terms::OriginTerms;
pub(crate) use self::terms::{LICENSES, price, terms_of_hosts};
pub(crate) use self::uncommitted::Uncommitted;
pub use self::unread_text::UnreadText;
#[cfg(feature = "search")]
pub(crate) use self::unread_text::{
    WaitingPdf, clear_waiting_pdfs, has_unread_texts, pdf_outcome, waiting_pdfs, waiting_pdfs_after,
};
pub(crate) use self::unread_text::{clear_unread_texts, pdf_was_read, unread_text, unread_texts};
pub use self::wall::Wall;
pub use self::withdrawal::Withdrawal;
pub use self::withheld::{names_the_page, withhold_links};
pub use self::words::{OtherWord, in_words, outcome_in_words};

pub use crate::link_outcome::LinkOutcome;
use crate::packed::UnpackError;
use ::page::ids::HostId;
use ::page::url::Fingerprint;

/// Key of what is entered by its URL: host id, fingerprint.
pub fn link_key(host: HostId, page: Fingerprint) -> Vec<u8> {
    let mut key = host.key().to_vec();
    key.extend(page.0.to_be_bytes());
    key
}

/// What is wrong with a stored record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It can't be unpacked.
    #[error("unreadable record")]
    Packed(#[from] UnpackError),
    /// Its JSON can't be read or written.
    #[error("unreadable record")]
    Json(#[from] serde_json::Error),
    /// A page's links can't be read or written.
    #[error("unreadable links")]
    Links(#[from] postcard::Error),
    /// A page's links were written by another version.
    #[error("links with an unsupported format version")]
    LinksVersion,
}
