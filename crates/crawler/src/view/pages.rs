//! Table `pages`: the URLs that were fetched.

use std::collections::BTreeMap;
use std::fmt;

use meta::DocumentState;
use meta::consent::Statement;
use serde::Serialize;

use super::cell::{Element, Kind};
use super::lookup::PageUrls;
use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use super::row_sorter::host_of;
use crate::frontier::HostId;
use crate::page_store;
use crate::record::{About, EffectsTaken, PageRecord};

row! {
    /// A URL that was answered, with any status. `title`, `description`, `keywords`, `digest`, `warc_*`, `language`,
    /// `canonical` and `fields` are null if the page may not be indexed.
    PageRow {
        /// The URL as requested.
        url: String,
        /// The status code.
        status: u16,
        /// `Content-Type` as sent; several lines joined with `, `; under noindex without parameters.
        content_type: Option<String> [null = "the response has none", names],
        /// The character encoding that was used.
        charset: Option<String> [null = "it isn't a page", names],
        /// Text of the first `title` element.
        title: Option<String> [null = "none is given, or noindex"],
        /// Meta description, at most `max_excerpt` characters.
        description: Option<String> [null = "none is given, noindex or nosnippet"],
        /// Meta keywords.
        keywords: Option<Vec<String>> [null = "none are given, or noindex"],
        /// Declared language.
        language: Option<String> [null = "none is declared, or noindex", names],
        /// Links from a seed; redirects don't count.
        depth: u32,
        /// URL of the page on which it was first found.
        via: Option<String> [null = "it is a seed"],
        /// When the request was sent.
        fetched_at: Moment,
        /// Time from the request to the last byte, in milliseconds.
        duration_ms: u64 [unit = "ms"],
        /// Bytes of the body as decoded.
        bytes: u64 [unit = "bytes"],
        /// `blake3:` and 64 hex digits, of the body as decoded.
        digest: Option<String> [null = "noindex"],
        /// Each directive in effect: `{"directive", "source"}`; in CSV `noindex (meta robots: noindex)`.
        directives: Vec<DirectiveEntry>,
        /// The page may be indexed: status 2xx except 206, and no noindex.
        indexed: bool,
        /// The body is in the archive.
        archived: bool,
        /// The links of the page may be followed.
        followed: bool,
        /// `rel=canonical`, resolved.
        canonical: Option<String> [null = "none is given, or noindex"],
        /// Links found, including the target of a redirect; under noindex without those that therefore have no row in
        /// `links`.
        links_out: u64,
        /// Number of the robots.txt line that allowed the request, from 1.
        robots_line: Option<u32> [null = "no line decided"],
        /// That line as written.
        robots_rule: Option<String> [null = "no line decided", names],
        /// Digest of that robots.txt: see `robots`.
        robots_digest: Option<String> [null = "no robots.txt was in force", names],
        /// File in `warc/`.
        warc_file: Option<String> [null = "not archived, or noindex", names],
        /// Offset of the response record's gzip member, in bytes.
        warc_offset: Option<u64> [null = "not archived, or noindex", unit = "bytes"],
        /// Length of the member, in bytes.
        warc_length: Option<u64> [null = "not archived, or noindex", unit = "bytes"],
        /// Why robots.txt allowed the request, in words.
        robots_reason: String [names, detail],
        /// The target of a redirect.
        redirect: Option<String> [null = "it isn't a redirect"],
        /// The kind of failure, as in `errors`.
        error: Option<String> [null = "status 2xx except 206, or 3xx (a 304 only if a page is stored), and no error", names],
        /// Attempts of the visit.
        tries: u8 [detail],
        /// Bytes of the body as sent.
        wire_bytes: u64 [unit = "bytes", detail],
        /// Why a part of the body is missing, or may be: `wire` or `decoded` (`limits.max_body`), `disconnect`, `coding`;
        /// `framing` and `unfinished` if none is: see [bodies that end early](limits.md#fixed-limits).
        truncated: Option<String> [null = "the body is complete and ends as announced", names, detail],
        /// Limits that were reached while reading the page, named as in [limits.md](limits.md#of-a-page).
        limits_hit: Vec<String> [detail],
        /// Directives that are invalid, or were applied although their value is
        /// [malformed](directives.md#malformed-values); under noindex without quotations from tags that decided
        /// nothing.
        directive_warnings: Vec<String> [detail],
        /// Fields of the `[[extract]]` rules: name to list of values; in CSV as JSON.
        fields: BTreeMap<String, Vec<String>> [detail],
        /// Open Graph title.
        og_title: Option<String> [null = "none is given, or noindex", detail],
        /// Open Graph description, at most `max_excerpt` characters.
        og_description: Option<String> [null = "none is given, noindex or nosnippet", detail],
        /// Twitter card title.
        twitter_title: Option<String> [null = "none is given, or noindex", detail],
        /// Twitter card description, at most `max_excerpt` characters.
        twitter_description: Option<String> [null = "none is given, noindex or nosnippet", detail],
        /// Blocks of schema.org JSON-LD that are valid JSON, each on one line; at most 256 KiB together
        /// ([limits.md](limits.md#of-a-page)); empty under noindex.
        json_ld: Vec<String> [detail],
        /// `static` or `dynamic`.
        document_state: Option<String> [null = "none was found", names, detail],
        /// The URL of the original, from the meta `url`.
        meta_url: Option<String> [null = "none is given, or noindex", detail],
        /// `<base href>`, resolved.
        base: Option<String> [null = "it is the page's own URL, or noindex", detail],
        /// Minimum time to the next visit that the page asks for (`revisit-after`), in days.
        revisit_after_days: Option<f64> [null = "none was found", unit = "days", detail],
        /// Maximum length of an excerpt, in characters (`nosnippet`, `max-snippet`); 0 is none.
        /// `description` is truncated to it.
        max_excerpt: Option<u64> [null = "there is no limit", unit = "characters", detail],
        /// From this time on the page is treated as under noindex.
        unavailable_after: Option<Moment> [null = "none was found", detail],
        /// Statements of the site about uses of the page: `{"signal", "purpose", "verdict", "source", "raw", "at"}`;
        /// in CSV `ai-train deny (robots.txt line 2: ...)`. Lines of robots.txt are read from the version in
        /// table `robots`.
        consent: Vec<ConsentEntry> [detail],
        /// The declared purposes for which the page may be used. A page that `consent` denies search, declared or not, isn't in the full-text
        /// index.
        serves: Vec<String> [detail],
        /// The response header lines with directives or statements about uses: `{"name", "value"}`.
        headers: Vec<HeaderLine> [detail],
        /// Visits of this URL.
        visits: u32 [detail],
        /// When a visit last found the page unchanged (304).
        checked_at: Option<Moment> [null = "no visit found it unchanged", detail],
        /// When stored content was withdrawn.
        withdrawn_at: Option<Moment> [null = "nothing was withdrawn", detail],
        /// The tag, header line, date or statement that required it.
        withdrawn_because: Option<String> [null = "nothing was withdrawn", detail],
        /// The page's `rel=canonical` or meta `url`, if that page has the same body and is archived: the body isn't
        /// stored again.
        duplicate_of: Option<String> [null = "it isn't a duplicate", detail],
        /// The MIME type that a browser derives from `Content-Type` and the first bytes.
        mime_type: Option<String> [null = "it is the declared one", names, detail],
        /// Other formats as which the body was also read for directives: `HTML`, `XML`, `ASCII`, `UTF-16LE` ...
        /// ([directives.md](directives.md#how-a-response-is-read)).
        readings: Vec<String> [detail],
        /// What wasn't read and may have directives: `head: ...` or `body: ...`.
        unread: Vec<String> [detail],
        /// Simhash of the text, 16 hex digits: similar texts differ in few bits. Table `duplicates` has the groups.
        simhash: Option<String> [null = "it isn't an HTML page with status 2xx and 16 words of text, or noindex"],
        /// Changes that later visits found; table `changes` has them.
        changes: u64 [detail],
        /// Interval after which `crawl recrawl` visits the page again, in days ([formula](how-to/recrawl.md#the-interval-of-a-page)).
        interval_days: f64 [unit = "days", detail],
        /// How long the response may be used without asking again (`Cache-Control`, `Expires`), in seconds.
        fresh_for: Option<u64> [null = "it doesn't say", unit = "s", detail],
        /// It was fetched as a resource of a page (image, script, style sheet, font), and doesn't count as a page.
        resource: bool [detail],
        /// The host of the URL.
        host: String [names, detail],
        /// URLs found on it and skipped that have no entry in the ledger and no row in `skipped`, since a page may add only so
        /// much to the database ([limits.md](limits.md#what-a-page-may-add)). Each is counted once.
        skipped_not_listed: u64 [detail],
        /// Further lines of robots.txt with a statement that `consent` has: of each it has the first eight.
        consent_more: u64 [detail],
        /// No statement of the site about its use denies search: the full-text indexes may have the page if it is `indexed`.
        searchable: bool [detail],
        /// Licences that the response names, in `Link` lines or `link` elements with `rel=license`, the first eight; those of
        /// robots.txt are in `hosts`. A record of what the site says, no permission
        /// ([directives.md](directives.md#licences-and-prices)).
        license: Vec<String> [detail],
        /// The price that a response names instead of the page: `crawler-price` with status 402 or another error.
        payment: Option<String> [null = "it names none", names, detail],
        /// What the response is: `page`, `redirect`, `error`, or the wall that was sent instead of the page, for certain: `challenged`,
        /// `refused`, `rate_limited`, `payment`, `login`, `consent`, `placeholder`, `shell` ([walls](walls.md)).
        outcome: String [names],
        /// The wall that a page or an error is likely to be.
        suspect: Option<String> [null = "it looks like none", names],
        /// Whose product the wall is.
        vendor: Option<String> [null = "it isn't known, or it is no wall", names, detail],
        /// What makes it a wall, or makes it look like one.
        signal: Option<String> [null = "nothing does", names, detail],
        /// A cache gave the response, by `Cache-Status`, `X-Cache`, `cf-cache-status`, `Server-Timing` or an `Age` above 0; false: the site did,
        /// since each cache that says so passed the request on ([outputs.md](outputs.md#caches)).
        from_cache: Option<bool> [null = "its headers don't say", detail],
        /// `Age` of the response, in seconds.
        age: Option<u64> [null = "the response has none", unit = "s", detail],
        /// The lines `Cache-Status`, `X-Cache`, `cf-cache-status` and `Server-Timing` of the response: `{"name", "value"}`, of each value at most 256
        /// bytes; empty under noindex.
        cache_headers: Vec<HeaderLine> [detail],
    }
}

/// A statement of a site about the use of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConsentEntry {
    /// The system: `content-usage`, `content-signal`, `tdm-rep`, `ai-txt`, `no-ai`, `ai-block-hint`.
    pub signal: &'static str,
    /// The purpose, or `use`.
    pub purpose: &'static str,
    /// `allow`, `deny`, or a grade of use.
    pub verdict: &'static str,
    /// Where it was found.
    pub source: String,
    /// The text as found.
    pub raw: String,
    /// When it was read.
    pub at: Moment,
}

impl Element for ConsentEntry {
    const MEMBERS: &'static [(&'static str, Kind)] = &[
        ("signal", Kind::Text),
        ("purpose", Kind::Text),
        ("verdict", Kind::Text),
        ("source", Kind::Text),
        ("raw", Kind::Text),
        ("at", Kind::Time),
    ];
}

impl fmt::Display for ConsentEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.purpose, self.verdict, self.source)
    }
}

impl From<Statement> for ConsentEntry {
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

impl Element for HeaderLine {
    const MEMBERS: &'static [(&'static str, Kind)] = &[("name", Kind::Text), ("value", Kind::Text)];
}

impl fmt::Display for HeaderLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}

/// A directive and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirectiveEntry {
    /// The directive in its plain form: `noindex`, `max-snippet:30` ...
    pub directive: String,
    /// The tag or header line.
    pub source: String,
}

impl Element for DirectiveEntry {
    const MEMBERS: &'static [(&'static str, Kind)] = &[("directive", Kind::Text), ("source", Kind::Text)];
}

impl fmt::Display for DirectiveEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.directive, self.source)
    }
}

impl View {
    /// The rows of table `pages`, in the order in which the URLs were first stored.
    pub fn pages(&self) -> impl Iterator<Item = Result<PageRow, ViewError>> + '_ {
        let urls = PageUrls::default();
        self.page_records()
            .filter_map(move |record| record.and_then(|record| self.row_of_page(record, &urls)).transpose())
    }

    /// The row of a page; none where there was no answer, or the page doesn't serve the purpose of the view.
    pub(super) fn row_of_page(
        &self,
        mut record: PageRecord,
        urls: &PageUrls,
    ) -> Result<Option<PageRow>, ViewError> {
        let Some(status) = record.status else { return Ok(None) };
        if self.purpose().is_some_and(|purpose| !record.serves.contains(&purpose)) {
            return Ok(None);
        }
        self.complete(&mut record)?;
        let via = urls.of(self, record.via)?;
        Ok(Some(page_row(record, status, via)))
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

    /// A page record as it may be shown now: after the date of its `unavailable_after` without its content, whether or
    /// not a crawl has removed it yet.
    pub(super) fn shown(&self, mut record: PageRecord) -> PageRecord {
        if record.is_unavailable(self.now()) && record.holds_content() {
            let nothing = EffectsTaken { indexed: false, archived: false, followed: record.followed };
            record.withdraw(nothing, self.now(), "unavailable_after");
            record.withdrawn = None;
        }
        record
    }
}

/// The part of a text that may be shown.
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
    let outcome = record.outcome().to_owned();
    let suspect = record.wall.as_ref().filter(|wall| !wall.is_certain()).map(|wall| wall.outcome.to_string());
    let searchable = record.is_searchable();
    let interval_days = record.interval().as_secs_f64() / 86_400.0;
    let warc = record.warc.filter(|_| open);
    let document_state = record.about.document_state;
    let caching = record.caching.map(|caching| *caching).unwrap_or_default();
    let about = if open { record.about } else { About::default() };
    PageRow {
        host: host_of(&record.url).to_owned(),
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
            .map(|said| DirectiveEntry { directive: said.directive, source: said.source.to_string() })
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
        consent: record.consent.into_iter().map(ConsentEntry::from).collect(),
        serves: record.serves.iter().map(ToString::to_string).collect(),
        headers: header_lines(record.headers),
        visits: record.visits_before + 1,
        checked_at: record.checked_at.map(Moment),
        withdrawn_at: record.withdrawn.as_ref().map(|withdrawn| Moment(withdrawn.at)),
        duplicate_of: record.duplicate_of.filter(|_| open),
        mime_type: record.mime_type,
        readings: record.readings,
        unread: record.unread,
        simhash: record.simhash.filter(|_| open).map(simhash_text),
        withdrawn_because: record.withdrawn.map(|withdrawn| withdrawn.because),
        changes: record.history.len() as u64,
        interval_days,
        fresh_for: record.fresh_s,
        resource: record.resource,
        skipped_not_listed: record.skipped_not_listed,
        consent_more: record.consent_more,
        searchable,
        license: record.license,
        payment: record.payment,
        outcome,
        suspect,
        vendor: record.wall.as_ref().and_then(|wall| wall.vendor.clone()),
        signal: record.wall.map(|wall| wall.signal),
        from_cache: caching.from_cache,
        age: caching.age_s,
        cache_headers: header_lines(caching.lines),
    }
}

fn header_lines(lines: Vec<(String, String)>) -> Vec<HeaderLine> {
    lines.into_iter().map(|(name, value)| HeaderLine { name, value }).collect()
}

/// A simhash as columns hold it.
pub(super) fn simhash_text(simhash: u64) -> String {
    format!("{simhash:016x}")
}
