//! The record of one visited page.

use std::collections::BTreeMap;

use jiff::Timestamp;
use meta::Effects;
use meta::consent::{Claim, Consent, Purpose, Statement};
use robots::StatusClass;
use serde::{Deserialize, Serialize};

use super::caching::Caching;
use super::effects::EffectsTaken;
use super::robots_evidence::RobotsEvidence;
use super::{PageState, RobotsConsent, Wall};
use page::ids::Via;
use walls::Outcome;

/// The place of the response in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// File in `warc/`.
    pub file: String,
    /// Offset of the response record's gzip member, in bytes.
    pub offset: u64,
    /// Length of the member, in bytes.
    pub length: u64,
}

/// Header lines that tell of the content: kept where its text is.
pub(crate) const TELLING_HEADERS: [&str; 3] = ["link", "refresh", "content-language"];

/// The word in `limits_hit` for a block of JSON-LD that isn't JSON, and was omitted.
pub(crate) const BAD_JSON_LD: &str = "json-ld syntax";

/// The word in `limits_hit` of a page whose skipped links aren't all in the ledger.
pub(crate) const NOT_LISTED: &str = "not listed";

/// The word in `limits_hit` of a page of which links weren't followed, since it may add only so much to the database.
pub(crate) const GROWTH: &str = "growth";

/// What a page says of itself beside title, description and keywords. Empty under noindex.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Open Graph title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub og_title: Option<String>,
    /// Open Graph description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub og_description: Option<String>,
    /// Twitter card title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twitter_title: Option<String>,
    /// Twitter card description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twitter_description: Option<String>,
    /// Blocks of schema.org JSON-LD, each JSON on one line without control characters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub json_ld: Vec<String>,
    /// The original of this page by the meta `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_url: Option<String>,
    /// Meta `document-state`: `static` or `dynamic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_state: Option<meta::DocumentState>,
    /// Meta refresh, or the header `Refresh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh: Option<meta::Refresh>,
    /// `<base href>`, resolved, where it isn't the page's own URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

impl About {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One visited URL; JSON. A page under noindex keeps none of the fields that tell of its content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table, each an answer of its own")]
pub struct PageRecord {
    /// Form of this record: 1.
    pub v: u32,
    /// The URL as requested.
    pub url: String,
    /// The status code; none if there was no response.
    pub status: Option<u16>,
    /// The kind of failure: `timeout`, `tls`, `http_404` ...; none for 2xx and 3xx.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The particulars of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// `Content-Type` as sent, without control characters.
    pub content_type: Option<String>,
    /// The character encoding that was used.
    pub charset: Option<String>,
    /// Text of the first `title` element.
    pub title: Option<String>,
    /// Meta description.
    pub description: Option<String>,
    /// Meta keywords.
    pub keywords: Option<Vec<String>>,
    /// Declared language.
    pub language: Option<String>,
    /// Links from a seed.
    pub depth: u32,
    /// The page it was found on.
    pub via: Option<Via>,
    /// When the request was sent.
    pub fetched_at: Timestamp,
    /// From the request to the last byte.
    pub duration_ms: u64,
    /// Bytes of the body as decoded.
    pub bytes: u64,
    /// Bytes of the body as sent.
    pub wire_bytes: u64,
    /// BLAKE3 of the body as decoded, `blake3:` and 64 hex digits.
    pub digest: Option<String>,
    /// Simhash of the page's text: similar texts differ in few bits. Only of pages that may be indexed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<u64>,
    /// Why the body isn't whole, or wasn't sent as its head says: see [`Truncation`](crate::fetch::Truncation).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// Each directive that took effect, with the tag or header line that gave it.
    pub directives: Vec<meta::DirectiveSource>,
    /// What said something about the page and couldn't be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directive_warnings: Vec<String>,
    /// The page may be indexed: its content fields are kept.
    pub indexed: bool,
    /// The body was archived.
    pub archived: bool,
    /// Links of the page may be queued.
    pub followed: bool,
    /// Its author keeps its content out: nothing that tells of it is kept, whatever the status.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
    /// `rel=canonical`, resolved.
    pub canonical: Option<String>,
    /// Where a redirect leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// Links found. Of a withheld page those that name it by another URL, and what is no URL, don't count.
    pub links_out: u64,
    /// What robots.txt said.
    pub robots: RobotsEvidence,
    /// Place in the archive.
    pub warc: Option<Archived>,
    /// Fields that the researcher named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Vec<String>>,
    /// `ETag` and `Last-Modified`, for conditional revisits; of a withheld page no `ETag`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub validators: BTreeMap<String, String>,
    /// Limits of reading that were hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_hit: Vec<String>,
    /// Statements of robots.txt beside those in `consent`, which has eight places of each claim at most; none until they are read from the
    /// version that the record refers to.
    #[serde(skip)]
    pub consent_more: u64,
    /// URLs found in it and skipped that are neither in the ledger nor queued, because a page may add only so much to the database. Each is
    /// counted once.
    #[serde(default, skip_serializing_if = "is_zero_long")]
    pub skipped_not_listed: u64,
    /// The MIME type that a browser computes from Content-Type and first bytes, where it isn't the declared one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// What else than a page the body was read as, for directives: `HTML`, `XML`, `UTF-16LE` ...
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<String>,
    /// What wasn't read and may have held directives: `body: ...` or `head: ...`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Attempts of the visit.
    pub tries: u8,
    /// What else the page says of itself.
    #[serde(default, skip_serializing_if = "About::is_empty")]
    pub about: About,
    /// The header lines that speak to robots, or of what a page may be used for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Licences that the response names, in `Link` lines or `link` elements with `rel=license`; the first eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub license: Vec<String>,
    /// The price that it names instead of the page (`crawler-price`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment: Option<String>,
    /// Longest excerpt that may be shown, in characters: 0 is none, no value is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<u64>,
    /// From this time on the page is as under noindex and nosnippet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable_after: Option<Timestamp>,
    /// Earliest wish for the next visit, in seconds after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisit_after_s: Option<u64>,
    /// The robots.txt version whose lines say something to uses of the page: `consent` doesn't repeat them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots_consent: Option<RobotsConsent>,
    /// What else the site says to uses of the page, each with its place, raw text and time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consent: Vec<Statement>,
    /// The declared purposes for which the page may be used.
    #[serde(default)]
    pub serves: Vec<Purpose>,
    /// Whether the full-text search of the crawl may find the page, as far as its site consents; none where nothing was said about uses
    /// of it, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searchable: Option<bool>,
    /// Captures of earlier visits that are still in the archive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Archived>,
    /// Visits of this URL before this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub visits_before: u32,
    /// When a visit last found it unchanged (304), if later than `fetched_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_at: Option<Timestamp>,
    /// The page by its own `rel=canonical` or meta `url`, where that one has the same body and is in the archive: this one's isn't kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// Set where content that had been stored was taken out again: when, and by whose word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<Withdrawn>,
    /// How long the response may be used without asking again, in seconds after the visit: `Cache-Control: max-age`, or `Expires`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh_s: Option<u64>,
    /// When it was visited first, if that was before `fetched_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_at: Option<Timestamp>,
    /// What earlier visits found, as far as it was something else than the next one found: the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PageState>,
    /// `revisit` records of answers 304 since `warc` or the last of `earlier`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<Archived>,
    /// It was fetched as a resource of a page (image, script, style sheet), and doesn't count as a page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resource: bool,
    /// When its body was found to be lost, with the disk of a worker or in a power failure: it was queued again then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<Timestamp>,
    /// What was sent instead of the page, or looks as if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Wall>,
    /// It was removed by `crawl forget`: this is what remains, and it isn't fetched again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten: bool,
    /// What the response says of caches on its way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caching: Option<Box<Caching>>,
}

/// Content that was stored and taken out again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawn {
    /// When.
    pub at: Timestamp,
    /// The directive, date or statement, with its place.
    pub because: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero_long(count: &u64) -> bool {
    *count == 0
}

impl PageRecord {
    /// Notes that a limit was reached, once.
    pub(crate) fn hit_limit(&mut self, limit: &str) {
        if !self.limits_hit.iter().any(|hit| hit == limit) {
            self.limits_hit.push(limit.to_owned());
        }
    }

    /// Takes out the captures that are lost; true if that of the last response is one.
    pub(crate) fn lose(&mut self, at: Timestamp, is_lost: impl Fn(&Archived) -> bool) -> bool {
        let is_there = |capture: &Archived| !is_lost(capture);
        self.earlier.retain(is_there);
        self.unchanged.retain(is_there);
        if self.warc.as_ref().is_none_or(is_there) {
            return false;
        }
        self.warc = None;
        self.archived = false;
        self.lost_at = Some(at);
        true
    }

    /// What the response is: `page`, `redirect`, `error`, or the wall that it is for certain.
    pub fn outcome(&self) -> &'static str {
        let plain = match self.status {
            _ if self.error.is_some() => Outcome::Error,
            Some(status) if StatusClass::of(status).is_redirect() => Outcome::Redirect,
            _ => Outcome::Page,
        };
        self.certain_wall().map_or(plain, |wall| wall.outcome).name()
    }

    /// Makes the response the wall that it was likely to be: no page, which keeps nothing that tells of one.
    pub(crate) fn become_wall(&mut self) {
        let Some(wall) = &mut self.wall else { return };
        wall.likely = None;
        if self.error.is_none() {
            self.error = Some(wall.outcome.name().to_owned());
        }
        self.detail = Some(wall.in_words());
        self.indexed = false;
        self.followed = false;
        self.digest = None;
        self.simhash = None;
        self.description = None;
        self.keywords = None;
        self.canonical = None;
        self.duplicate_of = None;
        self.about = About::default();
        self.fields.clear();
        self.validators.clear();
        self.fresh_s = None;
    }

    /// What was sent instead of the page, for certain.
    pub fn certain_wall(&self) -> Option<&Wall> {
        self.wall.as_ref().filter(|wall| wall.is_certain())
    }

    /// Whether a part of the body may be missing.
    pub fn is_cut(&self) -> bool {
        self.truncated.as_deref().is_some_and(|why| !matches!(why, "framing" | "unfinished"))
    }

    /// When the page was last known to be as recorded.
    pub fn last_seen(&self) -> Timestamp {
        self.checked_at.map_or(self.fetched_at, |checked| checked.max(self.fetched_at))
    }

    /// True once the date of `unavailable_after` has come.
    pub fn is_unavailable(&self, now: Timestamp) -> bool {
        self.unavailable_after.is_some_and(|date| date <= now)
    }

    /// The MIME type of its body, in lower case and without parameters: as its first bytes tell, or else as declared.
    pub(crate) fn media_type(&self) -> Option<String> {
        let declared = self.content_type.as_deref().and_then(|value| value.split(';').next()).map(str::trim);
        Some(self.mime_type.as_deref().or(declared)?.to_ascii_lowercase())
    }

    /// Every capture in the archive, that of the last response last.
    pub fn captures(&self) -> impl Iterator<Item = &Archived> {
        self.earlier.iter().chain(&self.unchanged).chain(&self.warc)
    }

    /// True if anything is stored that tells of the content.
    pub fn holds_content(&self) -> bool {
        self.indexed || self.archived || self.captures().next().is_some()
    }

    /// Whether the full-text search of the crawl may find the page, as far as its site consents. A record of an earlier version whose crawl
    /// didn't declare search, with lines of robots.txt that aren't read here, is taken for one that is denied.
    pub fn is_searchable(&self) -> bool {
        let denial = Claim::Purpose(Purpose::Search, Consent::Deny);
        self.searchable.unwrap_or_else(|| {
            self.serves.contains(&Purpose::Search)
                || self.robots_consent.is_none() && self.consent.iter().all(|said| said.claim != denial)
        })
    }

    /// What the directives on record forbid at this time, by their names.
    pub fn effects(&self, now: Timestamp) -> Effects {
        Effects::of(&self.directives, self.is_unavailable(now))
    }

    /// Takes out everything that came from the server, but for the status; gives the captures that have to leave the archive.
    pub(crate) fn forget(&mut self, at: Timestamp, because: &str) -> Vec<Archived> {
        let captures = self.captures().cloned().collect();
        let before = std::mem::take(self);
        *self = Self {
            v: before.v,
            url: before.url,
            status: before.status,
            error: before.error,
            depth: before.depth,
            via: before.via,
            fetched_at: before.fetched_at,
            duration_ms: before.duration_ms,
            robots: before.robots,
            tries: before.tries,
            visits_before: before.visits_before,
            checked_at: before.checked_at,
            first_at: before.first_at,
            excerpt: Some(0),
            withheld: true,
            withdrawn: Some(Withdrawn { at, because: because.to_owned() }),
            resource: before.resource,
            forgotten: true,
            ..Self::default()
        };
        captures
    }

    /// Whether the connection or the content coding ended before the body did.
    pub(crate) fn has_lost_end(&self) -> bool {
        matches!(self.truncated.as_deref(), Some("disconnect" | "coding"))
    }

    /// Takes out what may not be stored any more; gives the captures that have to leave the archive.
    pub fn withdraw(&mut self, keep: EffectsTaken, at: Timestamp, because: &str) -> Vec<Archived> {
        if keep.indexed && keep.archived {
            return Vec::new();
        }
        let captures = self.captures().cloned().collect();
        self.earlier.clear();
        self.unchanged.clear();
        self.warc = None;
        self.archived = false;
        if !keep.indexed {
            self.withhold();
            self.followed &= keep.followed;
            // They were recorded with the text found there, after what is wrong with it.
            for warning in &mut self.directive_warnings {
                warning.truncate(warning.find(": ").unwrap_or(warning.len()));
            }
        }
        self.withdrawn = Some(Withdrawn { at, because: because.to_owned() });
        captures
    }
}
