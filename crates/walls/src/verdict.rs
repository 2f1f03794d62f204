//! What is said of a response.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The page that was asked for, or another answer of the site itself with a status of 200 to 299.
    Page,
    /// An ordinary redirect (status 300 to 399), to be followed as ever.
    Redirect,
    /// An ordinary error, by its status.
    Error,
    /// A proof is asked for that a browser or a human asks.
    Challenged,
    /// An edge server or a firewall says no.
    Refused,
    /// Too many requests: 429, or Cloudflare's 1015.
    RateLimited,
    /// The page is for sale: 402, or an error with `crawler-price`.
    Payment,
    /// A sign-in is sent instead of the page.
    Login,
    /// A consent wall is sent instead of the page.
    Consent,
    /// A parked, suspended or unconfigured site.
    Placeholder,
    /// A page with nothing to read for whoever runs no scripts.
    Shell,
}

impl Outcome {
    /// The name as it is stored: `rate_limited`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Redirect => "redirect",
            Self::Error => "error",
            Self::Challenged => "challenged",
            Self::Refused => "refused",
            Self::RateLimited => "rate_limited",
            Self::Payment => "payment",
            Self::Login => "login",
            Self::Consent => "consent",
            Self::Placeholder => "placeholder",
            Self::Shell => "shell",
        }
    }

    /// Whether something is sent instead of the page: all but `page`, `redirect` and `error`.
    pub fn is_wall(self) -> bool {
        !matches!(self, Self::Page | Self::Redirect | Self::Error)
    }

    /// Whether whoever asks is kept out: a wall that is neither `placeholder` nor `shell`.
    pub fn keeps_out(self) -> bool {
        self.is_wall() && !matches!(self, Self::Placeholder | Self::Shell)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a signal was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In a header field of the response.
    Header,
    /// The status code alone.
    Status,
    /// The target of a redirect.
    Redirect,
    /// The target of a refresh, in the header or the markup.
    Refresh,
    /// Elements, attributes and scripts of a page.
    Markup,
    /// The text of an answer that a vendor is known for.
    Text,
    /// Words of many vendors, in title, headings or text.
    Words,
    /// What a page has and lacks as a whole.
    Shape,
}

/// What a verdict follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Signal {
    /// Where it was found.
    pub place: Place,
    /// What was found: a short text of this crate, the same for every response with this signal, such as `cf-mitigated: challenge`. It
    /// holds nothing of the response.
    pub what: &'static str,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

/// A wall that a response looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Suspicion {
    /// The kind of wall.
    pub outcome: Outcome,
    /// The sign that decided, and where it is.
    pub signal: Signal,
    /// A mark of the visible text without its digits. Two responses with the same text have the same mark.
    pub text: u64,
}

/// What a response is, and what says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// What the response is. A wall only if that is certain.
    pub outcome: Outcome,
    /// The vendor of the wall, by its name in [`vendors`](crate::vendors), where it is known.
    pub vendor: Option<&'static str>,
    /// What says so; none for `page`, `redirect` and `error`.
    pub signal: Option<Signal>,
    /// The wall that a `page` or an `error` is likely to be: it is treated as what it is, and reported.
    pub suspect: Option<Suspicion>,
    /// The value of `crawler-price`, printable characters of it, 100 at most.
    pub price: Option<String>,
    /// The status concerns this URL alone: 402 and 451.
    pub only_this_url: bool,
}

impl Verdict {
    /// The verdict on an answer without any sign of a wall.
    pub(crate) fn plain(status: u16) -> Self {
        let outcome = match status {
            200..=299 => Outcome::Page,
            300..=399 => Outcome::Redirect,
            _ => Outcome::Error,
        };
        Self { outcome, vendor: None, signal: None, suspect: None, price: None, only_this_url: false }
    }

    pub(crate) fn certain(outcome: Outcome, place: Place, what: &'static str) -> Self {
        Self { outcome, signal: Some(Signal { place, what }), ..Self::plain(0) }
    }

    pub(crate) fn of(self, vendor: &'static str) -> Self {
        Self { vendor: Some(vendor), ..self }
    }

    /// Whether the response is a wall for certain: not a page, whatever its status.
    pub fn is_certain(&self) -> bool {
        self.outcome.is_wall()
    }

    /// The wall that the response is, or is likely to be.
    pub fn wall(&self) -> Option<Outcome> {
        if self.is_certain() { Some(self.outcome) } else { self.suspect.map(|suspect| suspect.outcome) }
    }
}
