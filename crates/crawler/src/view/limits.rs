//! How often each limit was reached, under the names of `docs/limits.md`. Derived from the records of pages, sitemaps, hosts
//! and skipped URLs, so it holds over all runs.

use std::collections::BTreeMap;

use crate::frontier::HostRecord;
use crate::record::{
    BAD_JSON_LD, GROWTH, LinkOutcome, NOT_LISTED, PageRecord, PlainReason, Reason, UnreadText,
};
use page::sitemap::Fault;

/// No limit, but nothing is missing silently: a connection or a content coding that ended before the body did.
const LOST_END: &str = "incomplete bodies";

/// Counts by name of the limit.
#[derive(Debug, Default)]
pub(super) struct Reached(BTreeMap<&'static str, u64>);

impl Reached {
    /// Counts what one page met.
    pub(super) fn page(&mut self, record: &PageRecord) {
        let cut = body_limit(record).or_else(|| record.has_lost_end().then_some(LOST_END));
        let error = record.error.as_deref().and_then(|kind| match kind {
            "timeout" => Some("fetch.timeout"),
            "local" => Some("fetch.local_patience"),
            "too_large" => Some("limits.max_header_bytes or limits.max_header_count"),
            _ => None,
        });
        for name in record.limits_hit.iter().filter_map(|hit| of_page(hit)).chain(cut).chain(error) {
            self.add(name, 1);
        }
    }

    /// Counts a PDF file whose text isn't in the full-text index.
    pub(super) fn unread_text(&mut self, unread: UnreadText) {
        if let Some(name) = unread.limit().and_then(of_page) {
            self.add(name, 1);
        }
    }

    /// Counts a URL that was skipped for this reason.
    pub(super) fn skipped(&mut self, reason: &Reason) {
        if let Some(name) = of_skip(reason) {
            self.add(name, 1);
        }
    }

    /// Counts a sitemap that was read in part, for what its detail says.
    pub(super) fn sitemap(&mut self, detail: Option<&str>) {
        // More may be wrong with it.
        let first = detail.map(|detail| detail.split("; ").next().unwrap_or_default());
        for (_, name) in OF_SITEMAPS.iter().filter(|(fault, _)| first == Some(&fault.to_string())) {
            self.add(name, 1);
        }
    }

    /// Counts an origin whose latest robots.txt has so many bytes, where more than `most` aren't used.
    pub(super) fn robots(&mut self, bytes: u64, most: u64) {
        if bytes > most {
            self.add("limits.max_robots", 1);
        }
    }

    /// Counts a skipped host.
    pub(super) fn host(&mut self, record: &HostRecord) {
        match record.parked.as_deref() {
            Some(why) if why.starts_with("max-pages-per-host") => self.add("limits.max_pages_per_host", 1),
            Some(why) if why.ends_with("over max-crawl-delay") => self.add("pace.max_crawl_delay", 1),
            _ => {}
        }
    }

    /// The counts.
    pub(super) fn counts(self) -> BTreeMap<String, u64> {
        self.0.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    fn add(&mut self, name: &'static str, count: u64) {
        *self.0.entry(name).or_default() += count;
    }
}

/// What a page may add to the database; it has no key.
const GROWTH_OF_DATABASE: &str = "growth of the database";

/// The limit that cut the body.
fn body_limit(record: &PageRecord) -> Option<&'static str> {
    match record.truncated.as_deref()? {
        "wire" => Some("limits.max_body, as sent"),
        "decoded" => Some("limits.max_body, decoded"),
        _ => None,
    }
}

/// The limit that kept a part of the body or of the links out of the crawl, if one did. Others shorten what is kept of a page, and
/// no URL is missing for them.
pub(super) fn cut_by(record: &PageRecord) -> Option<&'static str> {
    const OF_LINKS: [&str; 4] = ["links", "link addresses", "href", GROWTH];
    let links = record.limits_hit.iter().find(|hit| OF_LINKS.contains(&hit.as_str()));
    body_limit(record).map(|_| "limits.max_body").or_else(|| links.and_then(|hit| of_page(hit)))
}

/// The limit behind a fault of a sitemap.
const OF_SITEMAPS: [(Fault, &str); 3] = [
    (Fault::Bytes, "sitemap.max_body"),
    (Fault::Urls, "sitemap.urls"),
    (Fault::Elements, "sitemap.elements"),
];

/// The limit behind a word of `limits_hit`.
fn of_page(hit: &str) -> Option<&'static str> {
    Some(match hit {
        "links" => "limits.max_links_per_page",
        "link addresses" => "page.link_bytes",
        "href" => "page.href_bytes",
        "text" => "page.text_bytes",
        "title" => "page.title_bytes",
        "metas" => "page.metas",
        "meta value" => "page.meta_value_bytes",
        "json-ld" => "page.json_ld_bytes",
        "json-ld block" => "page.json_ld_block_bytes",
        "description" => "page.description_bytes",
        "keywords" => "page.keywords_bytes",
        "header" => "page.header_bytes",
        "reference" => "page.reference_bytes",
        "anchor" => "page.anchor_bytes",
        GROWTH => GROWTH_OF_DATABASE,
        // No limits, but nothing is omitted silently.
        NOT_LISTED => "skipped URLs not listed",
        BAD_JSON_LD => "JSON-LD syntax",
        "tree nodes" => "page.tree_nodes",
        "tree depth" => "page.tree_depth",
        "tree time" => "page.tree_time",
        "field values" => "page.field_values",
        "field" => "page.field_bytes",
        "fields" => "page.fields_bytes",
        "pdf time" => "PDF time",
        "pdf memory" => "PDF memory",
        _ => return None,
    })
}

/// What a limit did, after a number; none of names that say it.
pub(super) fn in_words(name: &str) -> Option<&'static str> {
    Some(match name {
        "limits.max_body, as sent" => "bodies were cut as they arrived",
        "limits.max_body, decoded" => "bodies were cut as they were decoded",
        LOST_END => "bodies ended early, and what came of them is used",
        "fetch.timeout" => "requests took too long",
        "fetch.local_patience" => "requests found no resources on this machine",
        "limits.max_header_bytes or limits.max_header_count" => "responses had too many header lines",
        "limits.max_robots" => "robots.txt files were used in part",
        "limits.max_pages_per_host" => "hosts had no more pages fetched",
        "pace.max_crawl_delay" => "hosts ask for too long a delay",
        "limits.max_links_per_page" | "page.link_bytes" => "pages had more links than were read",
        "page.href_bytes" => "pages had link addresses too long to be read",
        "page.title_bytes" => "titles were shortened",
        "page.metas" | "page.meta_value_bytes" => "pages had more meta tags than were kept",
        "page.json_ld_bytes" | "page.json_ld_block_bytes" => "pages had more JSON-LD than was kept",
        "page.description_bytes" => "descriptions were shortened",
        "page.keywords_bytes" => "keywords were shortened",
        "page.header_bytes" => "pages had header fields that were shortened",
        "page.reference_bytes" => "pages had references that were shortened",
        "page.anchor_bytes" => "pages had link texts that were shortened",
        "page.tree_nodes" | "page.tree_depth" | "page.tree_time" => "pages were too large to extract fields",
        "page.field_values" | "page.field_bytes" | "page.fields_bytes" => {
            "pages had fields that were shortened"
        }
        "PDF time" => "PDF files took too long to read",
        "PDF memory" => "PDF files needed too much memory to read",
        GROWTH_OF_DATABASE => "pages and links came to the most that a page may add",
        "sitemap.max_body" | "sitemap.urls" | "sitemap.elements" => "sitemaps were read in part",
        "sitemap.per_host" => "sitemaps were one too many for their host",
        "sitemap.nesting" => "sitemaps were nested too deep",
        "limits.max_depth" => "URLs are too deep",
        "limits.max_url_length" => "URLs are too long",
        "limits.max_redirects" => "URLs come after too many redirects",
        "traps.depth" => "URLs are too many links away from a seed",
        "traps.segments" => "URLs have too many path segments",
        "traps.repeats" => "URLs repeat parts of their path",
        "traps.urls_per_host" => "URLs are beyond those of one host",
        "traps.hosts_per_domain" => "URLs are on hosts beyond those of one domain",
        "traps.hosts_per_page" => "URLs are on hosts beyond those that one page may name",
        "traps.query_variants" => "URLs differ from enough others in their query alone",
        "traps.shape_variants" => "URLs differ from enough others in digits alone",
        "traps.same_pages" => "URLs are like others whose pages repeat known content",
        _ => return None,
    })
}

/// Whether a reason of table `skipped` is a limit of ours.
pub(super) fn is_limit(reason: &str) -> bool {
    of_skip(&Reason::from(reason)).is_some()
}

/// The limit behind a reason of table `skipped`.
fn of_skip(reason: &Reason) -> Option<&'static str> {
    let outcome = match reason {
        Reason::Link(outcome) => outcome,
        Reason::Plain(PlainReason::SitemapsPerHost) => return Some("sitemap.per_host"),
        Reason::Plain(PlainReason::SitemapNesting) => return Some("sitemap.nesting"),
        _ => return None,
    };
    match outcome {
        LinkOutcome::TooDeep => Some("limits.max_depth"),
        LinkOutcome::TooLong => Some("limits.max_url_length"),
        LinkOutcome::TooManyRedirects => Some("limits.max_redirects"),
        LinkOutcome::Growth => Some(GROWTH_OF_DATABASE),
        LinkOutcome::TrapDepth => Some("traps.depth"),
        LinkOutcome::TrapSegments => Some("traps.segments"),
        LinkOutcome::TrapRepeats => Some("traps.repeats"),
        LinkOutcome::TrapHost => Some("traps.urls_per_host"),
        LinkOutcome::TrapDomain => Some("traps.hosts_per_domain"),
        LinkOutcome::TrapPage => Some("traps.hosts_per_page"),
        LinkOutcome::TrapQuery => Some("traps.query_variants"),
        LinkOutcome::TrapShape => Some("traps.shape_variants"),
        LinkOutcome::TrapSame => Some("traps.same_pages"),
        LinkOutcome::Queued
        | LinkOutcome::Seen
        | LinkOutcome::Untested
        | LinkOutcome::PageNofollow
        | LinkOutcome::RelNofollow
        | LinkOutcome::Resource
        | LinkOutcome::OtherHost
        | LinkOutcome::OtherPath
        | LinkOutcome::Pattern
        | LinkOutcome::NotHttp
        | LinkOutcome::NoImageIndex
        | LinkOutcome::SitemapHost
        | LinkOutcome::RedirectLoop
        | LinkOutcome::Forgotten
        // By scope.types, or by limits.max_media.
        | LinkOutcome::Type
        | LinkOutcome::Costly => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::LinkOutcome as Skip;
    use page::extract::{LimitHit, SelectError};

    /// Rows of the document: key, and how it is recorded: table or column, and word.
    fn recorded() -> Vec<(String, String, String)> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().filter_map(|line| {
            let (key, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            let (place, word) = rest.trim_end_matches(" |").rsplit(" | ").next()?.split_once(" `")?;
            Some((key.to_owned(), place.to_owned(), word.trim_end_matches('`').to_owned()))
        });
        rows.collect()
    }

    #[test]
    fn every_limit_is_counted_under_the_key_that_the_document_gives_its_word() {
        // A crawl keeps no text of a page.
        let hits = LimitHit::ALL.into_iter().filter(|hit| *hit != LimitHit::Text).map(LimitHit::name);
        let over = std::time::Duration::ZERO;
        let trees = [
            SelectError::TooManyNodes { found: 1, budget: 0 },
            SelectError::TooDeep { found: 1, limit: 0 },
            SelectError::TooLong { limit: over },
        ];
        let trees = trees.map(|error| error.limit());
        let texts = [UnreadText::Slow, UnreadText::Memory].into_iter().filter_map(UnreadText::limit);
        let of_pages = hits.chain(trees).chain(["field values", "field", "fields"]).chain(texts);
        let skips = [
            Skip::TooDeep,
            Skip::TooLong,
            Skip::TrapDepth,
            Skip::TrapSegments,
            Skip::TrapRepeats,
            Skip::TrapHost,
            Skip::TrapDomain,
            Skip::TrapPage,
            Skip::TrapQuery,
            Skip::TrapShape,
            Skip::TrapSame,
        ];
        let of_urls = skips.into_iter().map(Skip::as_str).chain(["sitemaps_per_host", "sitemap_nesting"]);
        let rows = recorded();
        let key = |place: &'static str, word: &'static str, name: Option<&'static str>| {
            let keys: Vec<_> =
                rows.iter().filter(|row| row.1 == place && row.2 == word).map(|row| row.0.as_str()).collect();
            assert!(
                keys.contains(&name.unwrap()),
                "{place} {word} is counted as {name:?}, documented as {keys:?}"
            );
        };
        of_pages.for_each(|word| key("limits_hit", word, of_page(word)));
        of_urls.for_each(|word| key("skipped", word, of_skip(&word.into())));
        for (_, place, word) in &rows {
            match place.as_str() {
                "limits_hit" => assert!(of_page(word).is_some(), "{word}"),
                "skipped" => assert!(of_skip(&word.as_str().into()).is_some(), "{word}"),
                "sitemap" => {
                    assert!(OF_SITEMAPS.iter().any(|(fault, _)| fault.as_str() == word), "{word}");
                }
                _ => {}
            }
        }
        for (fault, name) in &OF_SITEMAPS {
            assert!(
                rows.contains(&((*name).to_owned(), "sitemap".to_owned(), fault.as_str().to_owned())),
                "{name}"
            );
        }
    }
}
