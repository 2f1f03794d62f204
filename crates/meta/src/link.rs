//! What the `rel` of a link asks for.

use serde::{Deserialize, Serialize};

/// Says what a link's `rel` changes (section 4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RelEffects {
    /// The word that keeps the link out of the queue: `nofollow`, `ugc` or `sponsored`.
    pub nofollow: Option<NoFollow>,
    /// No Referer may be sent when this link is followed.
    pub noreferrer: bool,
}

/// Is the word of a `rel` that keeps a link out of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the words")]
pub enum NoFollow {
    NoFollow,
    Ugc,
    Sponsored,
}

impl NoFollow {
    /// Gives the word as it's written.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoFollow => "nofollow",
            Self::Ugc => "ugc",
            Self::Sponsored => "sponsored",
        }
    }
}

impl RelEffects {
    /// Tells whether the link may be queued through this page.
    pub fn may_queue(self) -> bool {
        self.nofollow.is_none()
    }
}

/// Reads a `rel` attribute: words split at blanks, case ignored.
///
/// ```
/// assert!(!meta::link_rel("UGC noopener").may_queue());
/// assert!(meta::link_rel("noopener noreferrer").noreferrer);
/// ```
pub fn link_rel(rel: &str) -> RelEffects {
    let mut effects = RelEffects::default();
    for word in rel.split_ascii_whitespace() {
        for nofollow in [NoFollow::NoFollow, NoFollow::Ugc, NoFollow::Sponsored] {
            if word.eq_ignore_ascii_case(nofollow.word()) {
                effects.nofollow.get_or_insert(nofollow);
            }
        }
        effects.noreferrer |= word.eq_ignore_ascii_case("noreferrer");
    }
    effects
}
