//! Numbers that stand for hosts and pages of one crawl.

use serde::{Deserialize, Serialize};

use crate::url::Fingerprint;

/// Number of a host within one crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostId(pub u32);

impl HostId {
    /// Stands for every host of another partition of a cluster's crawl. It names the page that a URL was found on, and nothing else.
    pub const ELSEWHERE: Self = Self(u32::MAX);

    /// The id as a big-endian key.
    pub fn key(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }
}

/// Key of the tree `meta` for the URL of a page of another partition, on which a URL of this one was found.
pub fn elsewhere_key(page: Fingerprint) -> Vec<u8> {
    let mut key = b"via/".to_vec();
    key.extend(page.0.to_be_bytes());
    key
}

/// A partition of a cluster's crawl that waits for a hop of a robots.txt's redirects, which a host of another one has to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HopId {
    /// Its number.
    pub part: u32,
    /// Its fence when it asked.
    pub fence: u64,
    /// The number of the hop since then.
    pub number: u64,
}

/// The page that a URL was found on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Via {
    /// The page's host.
    pub host: HostId,
    /// The page's fingerprint.
    pub page: Fingerprint,
}
