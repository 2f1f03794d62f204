//! Table `pages`: what was answered.

use std::collections::BTreeMap;
use std::fmt;

use meta::DocumentState;
use meta::consent::Statement;
use serde::Serialize;

use super::cell::Moment;
use super::lookup::PageUrls;
use super::open::{View, ViewError};
use super::row::row;
use crate::frontier::HostId;
use crate::page_store;
use crate::record::{About, EffectsTaken, PageRecord};
use crate::store::Store;

row! {
    /// A URL that was answered, by whatever status. Null in `title`, `description`, `keywords`, `digest` and `warc_*` (and
    /// in `language`, `canonical` and `fields`) where the page may not be indexed.
    PageRow {
        /// The URL as requested.
        url: String,
        /// The status code.
        status: u16,
        /// `Content-Type` as sent.
        content_type: Option<String>,
        /// The character encoding that was used.
        charset: Option<String>,
        /// Text of the first `title` element.
        title: Option<String>,
        /// Meta description.
        description: Option<String>,
        /// Meta keywords.
        keywords: Option<Vec<String>>,
        /// Declared language.
        language: Option<String>,
        /// Links from a seed.
        depth: u32,
        /// The page it was found on.
        via: Option<String>,
        /// When the request was sent.
        fetched_at: Moment,
        /// From the request to the last octet, in milliseconds.
        duration_ms: u64,
        /// Octets of the body as decoded.
        bytes: u64,
        /// BLAKE3 of the body as decoded.
        digest: Option<String>,
        /// What the page says to robots, and where it says so.
        directives: Vec<Said>,
        /// The page may be indexed.
        indexed: bool,
        /// The body was archived.
        archived: bool,
        /// The page's links may be followed.
        followed: bool,
        /// `rel=canonical`, resolved.
        canonical: Option<String>,
        /// Links found.
        links_out: u64,
        /// Number of the robots.txt line that let the request pass.
        robots_line: Option<u32>,
        /// That line's rule.
        robots_rule: Option<String>,
        /// Digest of the robots.txt version.
        robots_digest: Option<String>,
        /// File in `warc/`.
        warc_file: Option<String>,
        /// Offset of the response record, in octets.
        warc_offset: Option<u64>,
        /// Length of the response record, in octets.
        warc_length: Option<u64>,
        /// Why robots.txt let the request pass, in words.
        robots_reason: String,
        /// Where a redirect leads.
        redirect: Option<String>,
        /// The kind of failure.
        error: Option<String>,
        /// Tries that the visit took.
        tries: u8,
        /// Octets of the body as sent.
        wire_bytes: u64,
        /// The limit that cut the body: `wire` or `decoded`.
        truncated: Option<String>,
        /// Limits of reading that were hit.
        limits_hit: Vec<String>,
        /// What was said to robots and couldn't be used.
        directive_warnings: Vec<String>,
        /// Fields that the researcher named, each with its values.
        fields: BTreeMap<String, Vec<String>>,
        /// Open Graph title.
        og_title: Option<String>,
        /// Open Graph description.
        og_description: Option<String>,
        /// Twitter card title.
        twitter_title: Option<String>,
        /// Twitter card description.
        twitter_description: Option<String>,
        /// Blocks of schema.org JSON-LD as written.
        json_ld: Vec<String>,
        /// Meta `document-state`.
        document_state: Option<String>,
        /// The original of the page by the meta `url`.
        meta_url: Option<String>,
        /// `<base href>`, resolved.
        base: Option<String>,
        /// Earliest wish for a revisit, in days.
        revisit_after_days: Option<f64>,
        /// Longest excerpt that may be shown, in characters; 0 is none.
        max_excerpt: Option<u64>,
        /// From this time on the page is as under noindex.
        unavailable_after: Option<Moment>,
        /// What the site says to uses of the page.
        consent: Vec<ConsentSaid>,
        /// The declared purposes that the page may serve.
        serves: Vec<String>,
        /// The header lines that speak to robots.
        headers: Vec<HeaderLine>,
        /// Visits of this URL.
        visits: u32,
        /// When a visit last found it unchanged.
        checked_at: Option<Moment>,
        /// When stored content was taken out again.
        withdrawn_at: Option<Moment>,
        /// By whose word.
        withdrawn_because: Option<String>,
        /// The original that the page names, where that holds the same body: this one's isn't kept.
        duplicate_of: Option<String>,
        /// The MIME type that a browser computes, where it isn't the declared one.
        mime_type: Option<String>,
        /// What else than a page the body was read as, for directives.
        readings: Vec<String>,
        /// What wasn't read and may have held directives.
        unread: Vec<String>,
    }
}

/// A statement of a site about the use of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsentSaid {
    /// The system: `content-usage`, `content-signal`, `tdm-rep`, `ai-txt`, `no-ai`, `ai-block-hint`.
    pub signal: &'static str,
    /// The purpose, or `use`.
    pub purpose: &'static str,
    /// `allow`, `deny`, or a grade of use.
    pub verdict: &'static str,
    /// Where it stands.
    pub source: String,
    /// What stood there.
    pub raw: String,
    /// When it was read.
    pub at: Moment,
}

impl fmt::Display for ConsentSaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.purpose, self.verdict, self.source)
    }
}

impl From<Statement> for ConsentSaid {
    fn from(statement: Statement) -> Self {
        Self {
            signal: statement.signal.name(),
            purpose: statement.claim.purpose_name(),
            verdict: statement.claim.verdict_name(),
            source: statement.source.to_string(),
            raw: statement.source.text,
            at: Moment(statement.at),
        }
    }
}

/// A response header line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeaderLine {
    /// Its name, in lower case.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl fmt::Display for HeaderLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}

/// A directive and who gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The directive in its plain form: `noindex`, `max-snippet:30` ...
    pub directive: String,
    /// The tag or header line.
    pub source: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.directive, self.source)
    }
}

impl<S: Store> View<S> {
    /// The rows of table `pages`, in the order in which the URLs were first stored.
    pub fn pages(&self) -> impl Iterator<Item = Result<PageRow, ViewError>> + '_ {
        let mut urls = PageUrls::default();
        self.page_records().filter_map(move |record| {
            let row = record.and_then(|mut record| {
                let Some(status) = record.status else { return Ok(None) };
                if self.purpose().is_some_and(|purpose| !record.serves.contains(&purpose)) {
                    return Ok(None);
                }
                self.complete(&mut record)?;
                let via = urls.of(self, record.via)?;
                Ok(Some(page_row(record, status, via)))
            });
            row.transpose()
        })
    }

    /// The record of each visited URL.
    pub(super) fn page_records(&self) -> impl Iterator<Item = Result<PageRecord, ViewError>> + '_ {
        page_store::scan(self.store()).map(|page| Ok(self.shown(page?.record()?)))
    }

    /// The record of each visited URL of a host. Reads those of all hosts.
    pub(super) fn page_records_of(
        &self,
        host: HostId,
    ) -> impl Iterator<Item = Result<PageRecord, ViewError>> + '_ {
        let pages = page_store::scan(self.store());
        pages
            .filter(move |page| page.as_ref().map_or(true, |page| page.host == host))
            .map(|page| Ok(self.shown(page?.record()?)))
    }

    /// A page record as it may be shown now: once the date of its `unavailable_after` has come, without its content,
    /// whether or not a crawl has taken it out yet.
    pub(super) fn shown(&self, mut record: PageRecord) -> PageRecord {
        if record.is_unavailable(self.now()) && record.holds_content() {
            let nothing = EffectsTaken { indexed: false, archived: false, followed: record.followed };
            record.withdraw(nothing, self.now(), "unavailable_after");
            record.withdrawn = None;
        }
        record
    }
}

/// The beginning of a text as far as it may be shown.
fn excerpt(text: Option<String>, most: Option<u64>) -> Option<String> {
    match most {
        Some(0) => None,
        Some(most) => {
            text.map(|text| text.chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect())
        }
        None => text,
    }
}

pub(super) fn page_row(record: PageRecord, status: u16, via: Option<String>) -> PageRow {
    // The record holds nothing of the kind; should it ever, it ends here.
    let open = !record.is_withheld();
    let warc = record.warc.filter(|_| open);
    let document_state = record.about.document_state;
    let about = if open { record.about } else { About::default() };
    PageRow {
        url: record.url,
        status,
        content_type: record.content_type,
        charset: record.charset,
        title: record.title.filter(|_| open),
        description: excerpt(record.description, record.excerpt).filter(|_| open),
        keywords: record.keywords.filter(|_| open),
        language: record.language.filter(|_| open),
        depth: record.depth,
        via,
        fetched_at: Moment(record.fetched_at),
        duration_ms: record.duration_ms,
        bytes: record.bytes,
        digest: record.digest.filter(|_| open),
        directives: record
            .directives
            .into_iter()
            .map(|said| Said { directive: said.directive, source: said.source.to_string() })
            .collect(),
        indexed: record.indexed,
        archived: record.archived,
        followed: record.followed,
        canonical: record.canonical.filter(|_| open),
        links_out: record.links_out,
        robots_line: record.robots.line,
        robots_rule: record.robots.rule,
        robots_digest: record.robots.digest,
        warc_file: warc.as_ref().map(|place| place.file.clone()),
        warc_offset: warc.as_ref().map(|place| place.offset),
        warc_length: warc.as_ref().map(|place| place.length),
        robots_reason: record.robots.reason,
        redirect: record.redirect,
        error: record.error,
        tries: record.tries,
        wire_bytes: record.wire_bytes,
        truncated: record.truncated,
        limits_hit: record.limits_hit,
        directive_warnings: record.directive_warnings,
        fields: if open { record.fields } else { BTreeMap::new() },
        og_title: about.og_title,
        og_description: excerpt(about.og_description, record.excerpt),
        twitter_title: about.twitter_title,
        twitter_description: excerpt(about.twitter_description, record.excerpt),
        json_ld: about.json_ld,
        document_state: document_state.map(|state| match state {
            DocumentState::Static => "static".to_owned(),
            DocumentState::Dynamic => "dynamic".to_owned(),
        }),
        meta_url: about.meta_url,
        base: about.base,
        revisit_after_days: record.revisit_after_s.map(|wish| wish as f64 / 86_400.0),
        max_excerpt: record.excerpt,
        unavailable_after: record.unavailable_after.map(Moment),
        consent: record.consent.into_iter().map(ConsentSaid::from).collect(),
        serves: record.serves.iter().map(ToString::to_string).collect(),
        headers: record.headers.into_iter().map(|(name, value)| HeaderLine { name, value }).collect(),
        visits: record.visits_before + 1,
        checked_at: record.checked_at.map(Moment),
        withdrawn_at: record.withdrawn.as_ref().map(|withdrawn| Moment(withdrawn.at)),
        duplicate_of: record.duplicate_of.filter(|_| open),
        mime_type: record.mime_type,
        readings: record.readings,
        unread: record.unread,
        withdrawn_because: record.withdrawn.map(|withdrawn| withdrawn.because),
    }
}
