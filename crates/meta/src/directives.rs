//! The decision about one page, with its evidence.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Because, Consent, DocumentState, Effects, ImagePreview, Limit, Refresh, Warning};

/// Says what the author of a page asks of a robot, and which tag or header line asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a term of its own")]
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
    /// Where the policy for text and data mining stands.
    pub tdm_policy: Option<String>,
    /// Whether the page is made anew for each visit.
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
    /// Earliest wish for a revisit, between 1 hour and 365 days.
    pub revisit_after: Option<Duration>,
    /// A request to load this page again or another one.
    pub refresh: Option<Refresh>,
    /// Which tag or header line set each flag; sorted, without repetition.
    pub because: Vec<Because>,
    /// What was said and couldn't be used; sorted, without repetition.
    pub warnings: Vec<Warning>,
}

impl Default for Directives {
    /// Gives what holds where nothing is said: index, follow, archive, snippet.
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
    #[must_use]
    pub fn merge(self, _other: Self) -> Self {
        self
    }

    /// Applies `unavailable_after` at a time: from its date on the page is neither indexed nor shown.
    #[must_use]
    pub fn at(self, _now: Timestamp) -> Self {
        self
    }

    /// Says what may be stored and queued.
    pub fn effects(&self) -> Effects {
        Effects { store_text: self.index, store_body: self.index && self.archive, enqueue_links: self.follow }
    }

    /// Gives the longest excerpt that may be shown, in characters: 0 = none at all, none = no limit.
    pub fn excerpt_limit(&self) -> Option<usize> {
        None
    }

    /// Tells whether images of the page may enter the frontier through this page.
    pub fn may_queue_images(&self) -> bool {
        self.follow && self.imageindex
    }

    /// Gives the least time until the next visit, from the interval that the crawl would choose.
    pub fn revisit_interval(&self, interval: Duration, _now: Timestamp) -> Duration {
        interval
    }
}
