//! The record of a page whose content may not be stored: under noindex, or denied for every declared purpose.
//!
//! Its URL, how it was found, how the request went and what its author says to robots stay. Of its links the target, the
//! element, whether it may be followed and what became of it stay, since the crawl goes on from there; where the author forbids to
//! follow them as well (`none`) the crawl needs none of them, and their number alone is kept.

use jiff::fmt::rfc2822::{self, DateTimePrinter};
use meta::SourceKind;
use robots::StatusClass;
use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use super::page::TELLING_HEADERS;
use super::{About, LinkOutcome, LinkRecord, PageRecord, RecordError, link};
use page::extract::Rel;

impl PageRecord {
    /// True if nothing that tells of the content may be kept or shown.
    pub fn is_withheld(&self) -> bool {
        let is_success = self.status.is_some_and(|status| StatusClass::of(status).is_success());
        self.withheld
            || !self.indexed && (is_success || self.directives.iter().any(|said| said.directive == "noindex"))
    }

    /// False for a page whose links are counted and not listed: its author allows neither to index nor to follow.
    pub fn lists_links(&self) -> bool {
        self.followed || !self.is_withheld()
    }

    /// The number of links that are counted and not listed. A redirect's target isn't among them.
    pub fn unlisted_links(&self) -> u64 {
        if self.lists_links() {
            0
        } else {
            self.links_out - u64::from(self.redirect.is_some()).min(self.links_out)
        }
    }

    /// A tag in the page itself keeps its content out: while the page is unchanged, it still does.
    pub fn says_noindex_itself(&self) -> bool {
        let is_own = |said: &&meta::DirectiveSource| said.source.origin == SourceKind::Meta;
        self.directives.iter().filter(is_own).any(|said| said.directive == "noindex")
    }

    /// Takes out everything that tells of the content. The archive is the caller's.
    pub fn withhold(&mut self) {
        let About { document_state, .. } = std::mem::take(&mut self.about);
        self.about.document_state = document_state;
        self.withheld = true;
        self.indexed = false;
        self.title = None;
        self.description = None;
        self.keywords = None;
        self.language = None;
        self.digest = None;
        self.simhash = None;
        self.withhold_history();
        self.canonical = None;
        self.duplicate_of = None;
        self.fields.clear();
        self.headers.retain(|(name, _)| !TELLING_HEADERS.contains(&name.as_str()));
        self.excerpt = Some(0);
        self.caching = self.caching.take().and_then(|mut caching| {
            caching.withhold();
            (!caching.is_empty()).then_some(caching)
        });
        // Parameters may name a file or its author; the charset has its own field.
        self.content_type = self.content_type.take().map(|value| {
            let essence = value.split(';').next().unwrap_or_default();
            essence.trim().to_owned()
        });
        // An ETag is a digest of the body on most servers. A date is all that a revisit needs, and one that can't go by it
        // needs neither.
        let date = self.validators.remove("last-modified").filter(|_| self.says_noindex_itself());
        self.validators.clear();
        if let Some(date) = date.and_then(|date| http_date(&date)) {
            self.validators.insert("last-modified".to_owned(), date);
        }
    }
}

/// A date as RFC 9110 section 5.6.7 writes it, without anything else.
fn http_date(text: &str) -> Option<String> {
    let date = rfc2822::parse(text).ok()?.timestamp();
    DateTimePrinter::new().timestamp_to_rfc9110_string(&date).ok()
}

/// Returns whether a `<link>` names the page itself by another URL. Such a link is content of a withheld page: it is neither kept
/// nor followed.
pub fn names_the_page(kind: &str, rel: &str) -> bool {
    kind == "link" && Rel::new(rel).contains("canonical")
}

/// Leaves of the links of a withheld page what crawling needs.
pub fn withhold_links(links: &mut Vec<LinkRecord>) {
    links.retain(remains_withheld);
    for link in links {
        link.rel.clear();
        link.text.clear();
        link.position = None;
        link.hreflang = None;
    }
}

/// What [`encode_links`](super::encode_links) makes of the links that [`withhold_links`] leaves, without changing any. `capacity`: bytes that
/// these take at most.
pub(super) fn encode_withheld_links(links: &[LinkRecord], capacity: usize) -> Result<Vec<u8>, RecordError> {
    let count = links.iter().filter(|link| remains_withheld(link)).count();
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::with_capacity(capacity);
    bytes.push(link::FORMAT);
    postcard::to_extend(&WithheldLinks { links, count }, bytes).map_err(RecordError::from)
}

/// Links as a withheld page keeps them.
struct WithheldLinks<'a> {
    links: &'a [LinkRecord],
    /// Of which so many remain.
    count: usize,
}

impl Serialize for WithheldLinks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.count))?;
        for link in self.links.iter().filter(|link| remains_withheld(link)) {
            // The same layout as a `LinkRecord`: postcard writes fields one after the other, without names.
            let none: Option<()> = None;
            all.serialize_element(&(&link.to, &link.kind, "", "", link.nofollow, link.outcome, none, none))?;
        }
        all.end()
    }
}

/// Whether anything of a link remains when its page is withheld.
pub(super) fn remains_withheld(link: &LinkRecord) -> bool {
    link.outcome != LinkOutcome::NotHttp && !names_the_page(&link.kind, &link.rel)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use meta::{DirectiveSource, Source};

    use super::*;
    use crate::record::{Caching, encode_links};
    use page::extract::Position;

    fn said(origin: SourceKind, directive: &str) -> DirectiveSource {
        let source = Source::new(origin, 0, "robots", directive);
        DirectiveSource { directive: directive.to_owned(), source }
    }

    /// A page with something in every field that tells of its content.
    fn telling() -> PageRecord {
        let text = || Some("secret".to_owned());
        PageRecord {
            url: "http://a.test/".to_owned(),
            status: Some(200),
            content_type: Some("text/html; title=secret".to_owned()),
            title: text(),
            description: text(),
            keywords: Some(vec!["secret".to_owned()]),
            language: text(),
            digest: text(),
            simhash: Some(19_940_000_001_994),
            canonical: text(),
            duplicate_of: text(),
            fields: BTreeMap::from([("secret".to_owned(), vec!["secret".to_owned()])]),
            headers: ["link", "refresh", "content-language"]
                .map(|name| (name.to_owned(), "secret".to_owned()))
                .into(),
            about: About {
                og_title: text(),
                og_description: text(),
                twitter_title: text(),
                twitter_description: text(),
                json_ld: vec!["secret".to_owned()],
                meta_url: text(),
                base: text(),
                ..About::default()
            },
            validators: [("etag", "secret"), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            caching: Some(Box::new(Caching {
                from_cache: Some(true),
                lines: vec![("server-timing".to_owned(), "secret".to_owned())],
                ..Caching::default()
            })),
            indexed: true,
            ..PageRecord::default()
        }
    }

    #[test]
    fn nothing_that_tells_of_the_content_remains() {
        let mut record = telling();
        record.withhold();
        let json = serde_json::to_string(&record).unwrap();
        assert!(!json.contains("secret") && !json.contains("1994"), "{json}");
        assert!(record.is_withheld() && !record.indexed);
        assert_eq!(record.content_type.as_deref(), Some("text/html"));
        assert_eq!(record.caching.and_then(|caching| caching.from_cache), Some(true));
    }

    #[test]
    fn the_date_of_a_page_stays_where_a_revisit_goes_by_it() {
        const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (origin, date, kept) in [
            (SourceKind::Meta, DATE, Some(DATE)),
            (SourceKind::Meta, "6 Nov 1994 08:49:37 +0000 (secret)", Some(DATE)),
            (SourceKind::Meta, "secret", None),
            (SourceKind::Header, DATE, None),
            (SourceKind::RobotsTxt, DATE, None),
        ] {
            let mut record = telling();
            record.directives = vec![said(origin, "noindex")];
            record.validators.insert("last-modified".to_owned(), date.to_owned());
            record.withhold();
            let found: Vec<_> =
                record.validators.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let kept: Vec<_> = kept.into_iter().map(|date| ("last-modified", date)).collect();
            assert_eq!(found, kept, "{origin:?} {date}");
        }
    }

    #[test]
    fn a_page_that_may_be_neither_indexed_nor_followed_lists_no_links() {
        let redirect = Some("http://a.test/x".to_owned());
        for (withheld, followed, redirect, lists, unlisted) in [
            (false, false, None, true, 0),
            (true, true, None, true, 0),
            (true, false, None, false, 3),
            (true, false, redirect, false, 2),
        ] {
            let record = PageRecord {
                status: Some(302),
                links_out: 3,
                withheld,
                followed,
                redirect,
                ..PageRecord::default()
            };
            assert_eq!((record.lists_links(), record.unlisted_links()), (lists, unlisted), "{record:?}");
        }
    }

    #[test]
    fn of_a_link_the_target_stays_and_what_became_of_it() {
        let link = |kind: &str, rel: &str, outcome| LinkRecord {
            to: "http://a.test/x".into(),
            kind: kind.to_owned().into(),
            rel: rel.to_owned(),
            text: "secret".into(),
            nofollow: true,
            outcome,
            position: Some(Position::Footer),
            hreflang: Some("secret".to_owned()),
        };
        let mut links = vec![
            link("a", "secret", LinkOutcome::Queued),
            link("link", "alternate Canonical", LinkOutcome::Queued),
            link("a", "canonical", LinkOutcome::Seen),
            link("a", "", LinkOutcome::NotHttp),
        ];
        let encoded = encode_withheld_links(&links, 0).unwrap();
        assert_eq!(encode_withheld_links(&links[3..], 0).unwrap(), encode_links(&[]).unwrap());
        withhold_links(&mut links);
        assert_eq!(encoded, encode_links(&links).unwrap());
        let bare = |outcome| LinkRecord {
            rel: String::new(),
            text: "".into(),
            position: None,
            hreflang: None,
            ..link("a", "", outcome)
        };
        assert_eq!(links, [bare(LinkOutcome::Queued), bare(LinkOutcome::Seen)]);
    }
}
