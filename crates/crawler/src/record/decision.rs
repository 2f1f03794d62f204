//! The ledger's entries: one decision each, with its reason and evidence. JSON lines, compressed, a value a commit.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RecordError;

/// The layer that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// Hosts, paths, patterns, depth.
    Scope,
    /// The URL was known already.
    Seen,
    /// robots.txt.
    Robots,
    /// Gaps and pauses.
    Pace,
    /// The request and its response.
    Fetch,
    /// The address guard.
    Address,
    /// Meta tags and headers.
    Directive,
    /// What a site says about the use of its pages.
    Consent,
    /// A limit.
    Limit,
    /// A space of URLs without end.
    Trap,
    /// The same content under another URL.
    Dedup,
    /// Start, stop and resume of the crawl.
    Stop,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// About which URL, or origin, or host.
    pub url: String,
    /// The host.
    pub host: String,
    /// What was decided: `skipped`, `closed`, `paused`, `retry`, `parked` ...
    pub decision: String,
    /// Who decided.
    pub layer: Layer,
    /// Why: one word of a fixed vocabulary.
    pub reason: String,
    /// The line, tag, limit or figure that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The page that the URL was found on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

/// Packs a run of decisions.
pub fn write_ledger(decisions: &[Decision]) -> Result<Vec<u8>, RecordError> {
    let mut plain = Vec::new();
    for decision in decisions {
        serde_json::to_writer(&mut plain, decision).map_err(|error| RecordError::new(&error))?;
        plain.push(b'\n');
    }
    Ok(crate::packed::pack(plain))
}

/// Unpacks a run of decisions.
pub fn read_ledger(value: &[u8]) -> Result<Vec<Decision>, RecordError> {
    let plain = crate::packed::unpack(value).map_err(|error| RecordError::new(&error))?;
    serde_json::Deserializer::from_slice(&plain)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|error| RecordError::new(&error))
}
