//! What a site sent instead of a page.

use serde::{Deserialize, Serialize};
use walls::{Outcome, Verdict};

/// What was sent instead of the page that was asked for, or looks as if it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    /// The kind of wall, by the classification of the crate `http-walls`.
    pub outcome: Outcome,
    /// Whose product it is, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// What in the response shows it, such as `cf-mitigated: challenge`: a text of the classifier, none of the site.
    pub signal: String,
    /// Set while it is only likely, and the response is treated as a page: a mark of its text, by which equal ones are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely: Option<u64>,
}

impl Wall {
    /// What a verdict says; none for a page, a redirect or an error.
    pub fn of(verdict: &Verdict) -> Option<Self> {
        let vendor = verdict.vendor.map(str::to_owned);
        let signal = |signal: &walls::Signal| signal.what.to_owned();
        match (&verdict.signal, &verdict.suspect) {
            (Some(found), _) if verdict.is_certain() => {
                Some(Self { outcome: verdict.outcome, vendor, signal: signal(found), likely: None })
            }
            (_, Some(suspect)) => Some(Self {
                outcome: suspect.outcome,
                vendor,
                signal: signal(&suspect.signal),
                likely: Some(suspect.text),
            }),
            _ => None,
        }
    }

    /// Whether the response is no page for certain.
    pub fn is_certain(&self) -> bool {
        self.likely.is_none()
    }

    /// Whether it says nothing of the page: whoever asks is kept out, or the site isn't there. A shell is the page, without its content.
    pub fn hides_page(&self) -> bool {
        self.is_certain() && self.outcome != Outcome::Shell
    }

    /// The wall in words: `challenged by cloudflare (cf-mitigated: challenge)`.
    pub fn in_words(&self) -> String {
        let what = self.outcome.name().replace('_', " ");
        let vendor = self.vendor.as_ref().map(|vendor| format!(" by {vendor}")).unwrap_or_default();
        format!("{what}{vendor} ({})", self.signal)
    }
}
