//! A URL in a queue, in the packed form that chunks and the journal hold.

use serde::{Deserialize, Serialize};

use crate::ids::Via;
use crate::url::{CrawlUrl, Scheme, UrlError};

/// A URL of a known host, with what the visit has to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedUrl {
    /// http or https.
    pub scheme: Scheme,
    /// The port, if it isn't the scheme's default.
    pub port: Option<u16>,
    /// Path and query as requested.
    pub path: Box<str>,
    /// Links from a seed.
    pub depth: u32,
    /// Attempts so far.
    pub tries: u8,
    /// Redirects that led here, in a row.
    pub redirects: u8,
    /// A seed, or what a seed redirects to.
    pub seed: bool,
    /// The page that it was found on; none for seeds.
    pub via: Option<Via>,
}

impl QueuedUrl {
    /// Packs a URL as a seed: depth 0, no tries.
    pub fn seed(url: &CrawlUrl) -> Self {
        Self { seed: true, ..Self::link(url, 0, None) }
    }

    /// Packs a URL found at `depth`.
    pub fn link(url: &CrawlUrl, depth: u32, via: Option<Via>) -> Self {
        Self {
            scheme: url.scheme(),
            port: url.port(),
            path: url.path_and_query().into(),
            depth,
            tries: 0,
            redirects: 0,
            seed: false,
            via,
        }
    }

    /// The whole URL on its host.
    pub fn url(&self, host: &str) -> Result<CrawlUrl, UrlError> {
        let scheme = self.scheme.as_str();
        match self.port {
            Some(port) => CrawlUrl::parse(&format!("{scheme}://{host}:{port}{}", self.path)),
            None => CrawlUrl::parse(&format!("{scheme}://{host}{}", self.path)),
        }
    }

    /// Bytes of the packed form, rough.
    pub(crate) fn bytes(&self) -> usize {
        self.path.len() + 20
    }
}
