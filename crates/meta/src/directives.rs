//! The decision about one page, with its evidence.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Consent, DirectiveSource, DocumentState, ImagePreview, Limit, Refresh, Warning};

/// What the author of a page asks of robots, and which tag or header line asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a term of its own")]
#[non_exhaustive]
pub struct Directives {
    /// The page may be in an index or data set.
    pub index: bool,
    /// The page's links may be used.
    pub follow: bool,
    /// A copy of the body may be kept.
    pub archive: bool,
    /// An excerpt may be shown.
    pub snippet: bool,
    /// Longest excerpt in characters.
    pub max_snippet: Option<Limit>,
    /// Largest image preview.
    pub max_image_preview: Option<ImagePreview>,
    /// Longest video preview in seconds.
    pub max_video_preview: Option<Limit>,
    /// Images of the page may be indexed; false: its images aren't queued.
    pub imageindex: bool,
    /// A translation may be offered.
    pub translate: bool,
    /// The page may be indexed as part of another one. A flag only: a direct fetch stays noindex.
    pub indexifembedded: bool,
    /// From this time on the page isn't to be shown.
    pub unavailable_after: Option<Timestamp>,
    /// Consent to train models with the page (`noai`, `noml`).
    pub ai_train: Option<Consent>,
    /// Consent to train models with the page's images (`noai`, `noimageai`).
    pub ai_train_images: Option<Consent>,
    /// Text and data mining: 1 reserved, 0 not reserved.
    pub tdm_reservation: Option<u8>,
    /// The address of the policy for text and data mining.
    pub tdm_policy: Option<String>,
    /// Whether the page changes with every visit.
    pub document_state: Option<DocumentState>,
    /// The original of this page, from the meta `url`: absolute, http or https.
    pub meta_url: Option<String>,
    /// Target of a `Link: <...>; rel=canonical` header as written; the page's own link element is not seen here.
    pub canonical: Option<String>,
    /// Words of the meta `keywords`.
    pub keywords: Vec<String>,
    /// Text of the meta `description`, without markup.
    pub description: Option<String>,
    /// Language of the page (`Content-Language`).
    pub language: Option<String>,
    /// Open Graph title.
    pub og_title: Option<String>,
    /// Open Graph description.
    pub og_description: Option<String>,
    /// Twitter card title.
    pub twitter_title: Option<String>,
    /// Twitter card description.
    pub twitter_description: Option<String>,
    /// Requested minimum time until a revisit, between 1 hour and 365 days.
    pub revisit_after: Option<Duration>,
    /// A request to load this page again or another one.
    pub refresh: Option<Refresh>,
    /// Which tag or header line set each flag; sorted, without duplicates.
    pub because: Vec<DirectiveSource>,
    /// Values that couldn't be used; sorted, without duplicates.
    pub warnings: Vec<Warning>,
}

impl Default for Directives {
    /// Returns the defaults where nothing is stated: index, follow, archive, snippet.
    fn default() -> Self {
        Self {
            index: true,
            follow: true,
            archive: true,
            snippet: true,
            max_snippet: None,
            max_image_preview: None,
            max_video_preview: None,
            imageindex: true,
            translate: true,
            indexifembedded: false,
            unavailable_after: None,
            ai_train: None,
            ai_train_images: None,
            tdm_reservation: None,
            tdm_policy: None,
            document_state: None,
            meta_url: None,
            canonical: None,
            keywords: Vec::new(),
            description: None,
            language: None,
            og_title: None,
            og_description: None,
            twitter_title: None,
            twitter_description: None,
            revisit_after: None,
            refresh: None,
            because: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Directives {
    /// Adds what another source says about the same page; the result never permits more than either.
    ///
    /// Always commutative, associative and idempotent, with [`Directives::default`] as its neutral element (test
    /// `tests/merge_laws.rs`). Restrictions add up: a negative is never lifted, limits take the smaller, dates the
    /// earlier, denials win. Of two texts (description, canonical ...) the lesser in byte order is kept:
    /// any fixed choice keeps the merge commutative.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let mut merged = Self {
            index: self.index && other.index,
            follow: self.follow && other.follow,
            archive: self.archive && other.archive,
            snippet: self.snippet && other.snippet,
            max_snippet: lesser(self.max_snippet, other.max_snippet),
            max_image_preview: lesser(self.max_image_preview, other.max_image_preview),
            max_video_preview: lesser(self.max_video_preview, other.max_video_preview),
            imageindex: self.imageindex && other.imageindex,
            translate: self.translate && other.translate,
            indexifembedded: self.indexifembedded || other.indexifembedded,
            unavailable_after: lesser(self.unavailable_after, other.unavailable_after),
            ai_train: self.ai_train.max(other.ai_train),
            ai_train_images: self.ai_train_images.max(other.ai_train_images),
            tdm_reservation: self.tdm_reservation.max(other.tdm_reservation),
            tdm_policy: lesser(self.tdm_policy, other.tdm_policy),
            document_state: self.document_state.max(other.document_state),
            meta_url: lesser(self.meta_url, other.meta_url),
            canonical: lesser(self.canonical, other.canonical),
            keywords: lesser(some_list(self.keywords), some_list(other.keywords)).unwrap_or_default(),
            description: lesser(self.description, other.description),
            language: lesser(self.language, other.language),
            og_title: lesser(self.og_title, other.og_title),
            og_description: lesser(self.og_description, other.og_description),
            twitter_title: lesser(self.twitter_title, other.twitter_title),
            twitter_description: lesser(self.twitter_description, other.twitter_description),
            revisit_after: self.revisit_after.max(other.revisit_after),
            refresh: lesser(self.refresh, other.refresh),
            because: [self.because, other.because].concat(),
            warnings: [self.warnings, other.warnings].concat(),
        };
        merged.sort_evidence();
        merged
    }

    /// Adds what another source forbids, and nothing else that it says: no description, no canonical address, no wish.
    ///
    /// For sources that an author may not have meant: they can only restrict.
    #[must_use]
    pub fn restricted_by(self, other: Self) -> Self {
        self.merge(Self {
            indexifembedded: false,
            tdm_policy: None,
            meta_url: None,
            canonical: None,
            keywords: Vec::new(),
            description: None,
            language: None,
            og_title: None,
            og_description: None,
            twitter_title: None,
            twitter_description: None,
            refresh: None,
            ..other
        })
    }

    /// Returns whether this permits no more than `other`: no flag, limit, date or consent is wider.
    ///
    /// `indexifembedded` has no effect on a direct fetch and isn't compared.
    pub fn permits_no_more_than(&self, other: &Self) -> bool {
        let flags = |d: &Self| [d.index, d.follow, d.archive, d.snippet, d.imageindex, d.translate];
        let denied = |consent| consent == Some(Consent::Deny);
        flags(self).iter().zip(flags(other)).all(|(ours, theirs)| *ours <= theirs)
            && is_within(self.max_snippet, other.max_snippet)
            && is_within(self.max_image_preview, other.max_image_preview)
            && is_within(self.max_video_preview, other.max_video_preview)
            && is_within(self.unavailable_after, other.unavailable_after)
            && denied(self.ai_train) >= denied(other.ai_train)
            && denied(self.ai_train_images) >= denied(other.ai_train_images)
            && self.tdm_reservation >= other.tdm_reservation
            && self.document_state >= other.document_state
            && self.revisit_after >= other.revisit_after
    }

    /// Applies `unavailable_after` at a time: from its date on the page is neither indexed nor shown. Use it for
    /// what was stored before; [`resolve`](crate::resolve) has applied it already at its `now`.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> Self {
        if self.is_unavailable(now) {
            self.index = false;
            self.snippet = false;
        }
        self
    }

    /// Returns whether the date of `unavailable_after` has passed.
    pub fn is_unavailable(&self, now: Timestamp) -> bool {
        self.unavailable_after.is_some_and(|date| date <= now)
    }

    /// Sorts the evidence and bounds it: the first sources of each directive are kept.
    pub(crate) fn sort_evidence(&mut self) {
        const PLACES: usize = 16;
        const WARNINGS: usize = 64;
        self.because.sort();
        self.because.dedup();
        let mut same = 0;
        let mut last = String::new();
        self.because.retain(|because| {
            let key = because.key();
            same = if key == last { same + 1 } else { 0 };
            key.clone_into(&mut last);
            same < PLACES
        });
        self.warnings.sort();
        self.warnings.dedup();
        self.warnings.truncate(WARNINGS);
    }
}

/// Returns the lesser of two values, or the only one.
fn lesser<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn some_list(list: Vec<String>) -> Option<Vec<String>> {
    (!list.is_empty()).then_some(list)
}

/// Returns whether a limit is at least as strict as another; no limit is the least strict.
fn is_within<T: Ord>(limit: Option<T>, other: Option<T>) -> bool {
    match (limit, other) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(limit), Some(other)) => limit <= other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_within_another_where_it_permits_no_more() {
        for (limit, other, expected) in [
            (None, None, true),
            (Some(5), None, true),
            (None, Some(5), false),
            (Some(5), Some(5), true),
            (Some(4), Some(5), true),
            (Some(6), Some(5), false),
        ] {
            assert_eq!(is_within(limit, other), expected, "{limit:?} {other:?}");
        }
        let until = |second: i64| Directives {
            unavailable_after: Some(Timestamp::from_second(second).unwrap()),
            ..Directives::default()
        };
        assert!(until(1).permits_no_more_than(&until(2)) && !until(2).permits_no_more_than(&until(1)));
        assert!(until(1).permits_no_more_than(&Directives::default()));
        assert!(!Directives::default().permits_no_more_than(&until(1)));
    }

    #[test]
    fn what_restricts_brings_no_text_of_its_own() {
        let text = || Some("a text".to_owned());
        let other = Directives {
            index: false,
            indexifembedded: true,
            refresh: Refresh::parse("0; url=/elsewhere"),
            tdm_policy: text(),
            meta_url: text(),
            canonical: text(),
            keywords: vec!["a text".to_owned()],
            description: text(),
            language: text(),
            og_title: text(),
            og_description: text(),
            twitter_title: text(),
            twitter_description: text(),
            ..Directives::default()
        };
        assert_eq!(
            Directives::default().restricted_by(other),
            Directives { index: false, ..Directives::default() }
        );
    }
}
