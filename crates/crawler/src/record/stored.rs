//! The digests that a ledger entry has of a record stored with it, so that later changes are detected.

use serde::{Serialize, Serializer};

use super::withheld::encode_withheld_links;
use super::{LinkRecord, RecordError, encode_links};

/// The first 128 bits of a BLAKE3 digest; in JSON 32 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seal(pub [u8; 16]);

/// What was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredKind {
    /// The record of a page: that of the entry's URL.
    Page,
    /// A version of a robots.txt.
    Robots,
    /// A version of a file in which a site speaks of the uses of its pages.
    SiteFile,
    /// Records of the archive alone: of a request that was for no page, or of one whose page has no record of its own.
    Archive,
}

/// Digests of what was stored with an entry. Of several entries about one page the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// What it is.
    pub kind: StoredKind,
    /// Of a page the digest of the record's JSON, of other files that of key and value; of records of the archive the same as `archive`.
    pub record: Seal,
    /// Of a page's links, see [`Seal::of_links`]; none where they stayed as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Seal>,
    /// Of what went to the archive: the members of response, request and metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<Seal>,
}

impl StoredKind {
    /// All kinds. Their places in this list are what the ledger holds: a new one goes to the end.
    pub(crate) const ALL: [Self; 4] = [Self::Page, Self::Robots, Self::SiteFile, Self::Archive];
}

impl Seal {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_hash(blake3::hash(bytes))
    }

    /// The digest of a stored value: over the length of its key (u64, big-endian), the key and the value.
    pub fn of_value(key: &[u8], value: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(key.len() as u64).to_be_bytes());
        hasher.update(key);
        hasher.update(value);
        Self::of_hash(hasher.finalize())
    }

    /// The digest of a page's links: 64 bits over them as they are stored, and 64 bits over what remains of them when the page is
    /// withheld, which a later visit may do without reading them.
    pub fn of_links(links: &[LinkRecord]) -> Result<Self, RecordError> {
        Self::of_encoded_links(links, &encode_links(links)?)
    }

    /// [`Seal::of_links`] of links that are encoded already.
    pub(crate) fn of_encoded_links(links: &[LinkRecord], encoded: &[u8]) -> Result<Self, RecordError> {
        let mut seal = Self::of(encoded);
        if links.is_empty() {
            seal.0.copy_within(..8, 8);
        } else {
            // Never longer than all of them.
            let withheld = encode_withheld_links(links, encoded.len())?;
            seal.0[8..].copy_from_slice(&Self::of(&withheld).0[..8]);
        }
        Ok(seal)
    }

    /// Whether links with the other digest are the ones that were sealed with this, or what remains of them.
    pub(crate) fn covers(self, now: Self) -> bool {
        let are_blank = now.0[..8] == now.0[8..];
        now == self || are_blank && now.0[8..] == self.0[8..]
    }

    fn of_hash(hash: blake3::Hash) -> Self {
        let mut seal = [0; 16];
        seal.copy_from_slice(&hash.as_bytes()[..16]);
        Self(seal)
    }
}

impl Serialize for Seal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LinkOutcome, withhold_links};

    fn link(rel: &str, outcome: LinkOutcome) -> LinkRecord {
        LinkRecord {
            to: "http://a.test/x".into(),
            kind: "a".into(),
            rel: rel.to_owned(),
            text: "words".into(),
            nofollow: false,
            outcome,
            position: None,
            hreflang: None,
        }
    }

    #[test]
    fn links_are_the_sealed_ones_or_what_remains_of_them_and_no_others() {
        let links = [link("next", LinkOutcome::Queued), link("", LinkOutcome::NotHttp)];
        let seal = Seal::of_links(&links).unwrap();
        assert!(seal.covers(Seal::of_links(&links).unwrap()));
        let mut blank = links.to_vec();
        withhold_links(&mut blank);
        assert_eq!(blank.len(), 1);
        assert!(seal.covers(Seal::of_links(&blank).unwrap()));
        assert!(!Seal::of_links(&blank).unwrap().covers(seal));
        for changed in
            [vec![link("", LinkOutcome::Queued), links[1].clone()], links[..1].to_vec(), Vec::new()]
        {
            assert!(!seal.covers(Seal::of_links(&changed).unwrap()), "{changed:?}");
        }
        blank[0].outcome = LinkOutcome::PageNofollow;
        assert!(!seal.covers(Seal::of_links(&blank).unwrap()));
        assert!(Seal::of_links(&[]).unwrap().covers(Seal::of_links(&[]).unwrap()));
    }

    #[test]
    fn key_and_value_of_a_seal_cant_be_moved_into_one_another() {
        assert_ne!(Seal::of_value(b"ab", b"c"), Seal::of_value(b"a", b"bc"));
        let json = serde_json::to_string(&Seal([1; 16])).unwrap();
        assert_eq!(json, format!("\"{}\"", "01".repeat(16)));
    }
}
