//! URLs that cost a site more than they bring. So far one class: session ids, which are stripped from URLs before these are known.

mod session;

use serde::{Deserialize, Serialize};

pub use self::session::{leads_to, without_session};
use page::url::CrawlUrl;

/// What is done about costly URLs, by their class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CostlySettings {
    /// Session ids in links and redirects. Default: `normalise`.
    pub session: Session,
}

/// What is done about session ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    /// They are stripped: the URL without them is what is queued, judged and requested.
    #[default]
    Normalise,
    /// URLs stay as they were found.
    Keep,
}

impl CostlySettings {
    /// The URL that a reference stands for, where that is another one.
    pub fn normal(&self, url: &CrawlUrl) -> Option<CrawlUrl> {
        match self.session {
            Session::Normalise => without_session(url),
            Session::Keep => None,
        }
    }
}
