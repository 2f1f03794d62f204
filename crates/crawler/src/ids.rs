//! Numbers that stand for hosts and pages of one crawl.

use serde::{Deserialize, Serialize};

use crate::url::Fingerprint;

/// Number of a host within one crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostId(pub u32);

impl HostId {
    /// The id as a big-endian key.
    pub fn key(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }
}

/// The page that a URL was found on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Via {
    /// The page's host.
    pub host: HostId,
    /// The page's fingerprint.
    pub page: Fingerprint,
}
