//! What the pages of a crawl are: their types, languages, depths and directives, and what their sites say about uses.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use robots::StatusClass;
use serde::Serialize;

use super::coverage::Counted;
use super::errors::ErrorRow;
use super::open::{View, ViewError};
use super::pages::PageRow;
use super::tally::Tally;
use crate::sorter;

/// Failed URLs that are named.
const FAILURES_NAMED: usize = 500;

/// The pages of a crawl, counted. Texts that sites choose are counted by name up to 1,000 distinct ones, the rest as `others`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Contents {
    /// Pages: responses with status 2xx except 206 that could be used. The counts below are of these.
    pub pages: u64,
    /// Hosts that have one of them.
    pub hosts: u64,
    /// By kind (HTML pages, PDF files, images ...), the most frequent first: how many were found as links, and how many are resources that a page embeds.
    pub kinds: Vec<KindCount>,
    /// By media type, as the browser's algorithm derives it; `none` where there is none.
    pub types: Vec<Counted>,
    /// By primary language subtag; `none declared` where there is none.
    pub languages: Vec<Counted>,
    /// By links from a seed.
    pub depths: BTreeMap<u32, u64>,
    /// By size of the decoded body: from this power of four of bytes on; 0 for none.
    pub sizes: BTreeMap<u64, u64>,
    /// Pages by directive in effect, without its value: `noindex`, `max-snippet` ...
    pub directives: Vec<Counted>,
    /// Pages by statement about their use: purpose, verdict, and system.
    pub consent: Vec<Counted>,
    /// URLs that failed, by host and URL as they are stored, with the page that links to each; the first 500.
    pub failures: Vec<ErrorRow>,
    /// How many failed.
    pub failure_count: u64,
}

/// How many pages are of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind, as a noun in the singular: `HTML page`, `image`.
    pub kind: &'static str,
    /// Pages that were found as links, or are seeds.
    pub pages: u64,
    /// Resources that a page embeds.
    pub resources: u64,
}

impl View {
    /// Reads all pages once. Memory: less than a megabyte, and about 16 bytes for each host.
    pub fn contents(&self) -> Result<Contents, ViewError> {
        Contents::of_parts(&[self])
    }
}

impl Contents {
    /// As [`View::contents`], of a crawl whose hosts are divided among several stores; failures in their order.
    pub fn of_parts(parts: &[&View]) -> Result<Self, ViewError> {
        let mut contents = Self::default();
        let mut texts = Texts::default();
        for part in parts {
            for page in part.pages() {
                contents.enter(&page?, &mut texts);
            }
        }
        contents.hosts = texts.hosts.len() as u64;
        let mut kinds: Vec<KindCount> = texts
            .kinds
            .iter()
            .map(|(kind, [pages, resources])| KindCount { kind, pages: *pages, resources: *resources })
            .collect();
        kinds.sort_by_key(|count| std::cmp::Reverse(count.pages + count.resources));
        contents.kinds = kinds;
        contents.types = texts.types.into_counts();
        contents.languages = texts.languages.into_counts();
        contents.directives = texts.directives.into_counts();
        contents.consent = texts.consent.into_counts();
        for failure in parts.iter().flat_map(|part| part.errors()) {
            let failure = failure?;
            contents.failure_count += 1;
            if contents.failures.len() < FAILURES_NAMED {
                contents.failures.push(failure);
            }
        }
        Ok(contents)
    }

    fn enter(&mut self, page: &PageRow, texts: &mut Texts) {
        // Of a body that broke off nothing was used.
        if !StatusClass::of(page.status).is_success() || page.error.is_some() {
            return;
        }
        self.pages += 1;
        let declared = page.mime_type.as_deref().or(page.content_type.as_deref());
        texts.hosts.insert(sorter::number(blake3::hash(page.host.as_bytes()).as_bytes(), 0, 8));
        let essence = essence(declared);
        let [pages, resources] = texts.kinds.entry(kind_of(&essence)).or_default();
        *(if page.resource { resources } else { pages }) += 1;
        texts.types.add(&essence);
        texts.languages.add(&primary(page.language.as_deref()));
        *self.depths.entry(page.depth).or_default() += 1;
        *self.sizes.entry(size_class(page.bytes)).or_default() += 1;
        let names: BTreeSet<&str> = page.directives.iter().map(|entry| name_of(&entry.directive)).collect();
        for name in names {
            texts.directives.add(name);
        }
        let statements: BTreeSet<String> = page
            .consent
            .iter()
            .map(|entry| format!("{} {} ({})", entry.purpose, entry.verdict, entry.signal))
            .collect();
        for statement in &statements {
            texts.consent.add(statement);
        }
    }
}

/// Texts that sites choose.
#[derive(Default)]
struct Texts {
    /// The hosts, by their digests.
    hosts: HashSet<u64>,
    /// Pages and resources by kind.
    kinds: BTreeMap<&'static str, [u64; 2]>,
    types: Tally,
    languages: Tally,
    directives: Tally,
    consent: Tally,
}

/// A media type without its parameters.
fn essence(content_type: Option<&str>) -> String {
    let text = content_type.unwrap_or_default();
    let essence = text.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence.is_empty() { "none".to_owned() } else { essence }
}

/// The kind of a media type (MIME Sniffing, section 4.6, where it has a group for it).
fn kind_of(essence: &str) -> &'static str {
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    let is_script = subtype.contains("javascript") || subtype.contains("ecmascript") || subtype == "jscript";
    match essence {
        "text/html" | "application/xhtml+xml" => "HTML page",
        "application/pdf" => "PDF file",
        "text/css" => "style sheet",
        "application/rss+xml" | "application/atom+xml" => "feed",
        "application/wasm" => "script",
        "text/plain" => "text file",
        "none" => "untyped document",
        _ if is_script => "script",
        _ if essence.starts_with("image/") => "image",
        _ if essence.starts_with("audio/") => "audio file",
        _ if essence.starts_with("video/") => "video",
        _ if essence.starts_with("font/") || subtype.starts_with("font-") => "font",
        _ if subtype == "json" || subtype.ends_with("+json") => "JSON document",
        _ if subtype == "xml" || subtype.ends_with("+xml") => "XML document",
        _ => "other document",
    }
}

/// The primary subtag of a language tag (RFC 5646, section 2.2.1).
fn primary(language: Option<&str>) -> String {
    let text = language.unwrap_or_default();
    let tag = text.split([',', ' ']).next().unwrap_or_default();
    let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    if primary.is_empty() { "none declared".to_owned() } else { primary }
}

/// The name of a directive, without its value.
fn name_of(directive: &str) -> &str {
    directive.split([':', '=']).next().unwrap_or_default().trim()
}

/// The greatest power of four that isn't greater than a number of bytes; 0 for 0.
fn size_class(bytes: u64) -> u64 {
    bytes.checked_ilog(4).map_or(0, |power| 4_u64.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_languages_are_named_without_their_particulars() {
        for (written, essence_of) in [
            (Some("Text/HTML; charset=utf-8"), "text/html"),
            (Some("text/html, application/json"), "text/html"),
            (Some(" "), "none"),
            (None, "none"),
        ] {
            assert_eq!(essence(written), essence_of);
        }
        for (written, language) in
            [(Some("de-AT"), "de"), (Some("en, fr"), "en"), (Some("zh_TW"), "zh"), (None, "none declared")]
        {
            assert_eq!(primary(written), language);
        }
        let kinds = [
            ("text/html", "HTML page"),
            ("application/xhtml+xml", "HTML page"),
            ("image/svg+xml", "image"),
            ("application/ld+json", "JSON document"),
            ("application/rss+xml", "feed"),
            ("text/xml", "XML document"),
            ("application/x-javascript", "script"),
            ("application/font-woff", "font"),
            ("text/csv", "other document"),
            ("none", "untyped document"),
        ];
        for (essence, kind) in kinds {
            assert_eq!(kind_of(essence), kind, "{essence}");
        }
        assert_eq!(["noindex", "max-snippet:30"].map(name_of), ["noindex", "max-snippet"]);
        assert_eq!([0, 1, 3, 4, 1023, 1024].map(size_class), [0, 1, 1, 4, 256, 1024]);
    }
}
