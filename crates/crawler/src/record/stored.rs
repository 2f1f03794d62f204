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
    /// Of a page's links as they are encoded; none where they stayed as they were. Before database format 4: 64 bits over them, and 64 bits
    /// over what remains of them when the page is withheld.
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

    fn of_hash(hash: blake3::Hash) -> Self {
        let mut seal = [0; 16];
        seal.copy_from_slice(&hash.as_bytes()[..16]);
        Self(seal)
    }
}

/// The digests of links that are stored, to be compared with one in the ledger: 16 bytes of that of all, and 8 of that of what remains of them
/// when the page is withheld.
///
/// Versions before database format 4 entered the first 8 bytes of each, and nothing when the page was withheld later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundLinks(pub(crate) [u8; 24]);

impl FoundLinks {
    pub(crate) fn of(links: &[LinkRecord]) -> Result<Self, RecordError> {
        let encoded = encode_links(links)?;
        // Never longer than all of them.
        let withheld = encode_withheld_links(links, encoded.len())?;
        let mut found = [0; 24];
        found[..16].copy_from_slice(&Seal::of(&encoded).0);
        found[16..].copy_from_slice(&Seal::of(&withheld).0[..8]);
        Ok(Self(found))
    }

    /// Whether they are the links that were entered with this digest, or, with one of an earlier version, what remains of them.
    pub(crate) fn are_of(self, entered: Seal) -> bool {
        let (all, withheld) = self.0.split_at(16);
        let (first, last) = entered.0.split_at(8);
        let are_blank = all[..8] == *withheld;
        entered.0 == all || last == withheld && (are_blank || first == &all[..8])
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

    fn sealed(links: &[LinkRecord]) -> Seal {
        Seal::of(&encode_links(links).unwrap())
    }

    /// As versions before database format 4 sealed links.
    fn sealed_before(links: &[LinkRecord]) -> Seal {
        let mut blank = links.to_vec();
        withhold_links(&mut blank);
        let mut seal = sealed(links);
        seal.0[8..].copy_from_slice(&sealed(&blank).0[..8]);
        seal
    }

    fn are_of(links: &[LinkRecord], seal: Seal) -> bool {
        FoundLinks::of(links).unwrap().are_of(seal)
    }

    #[test]
    fn links_are_the_sealed_ones_and_no_others() {
        let links = [link("next", LinkOutcome::Queued), link("", LinkOutcome::NotHttp)];
        let mut blank = links.to_vec();
        withhold_links(&mut blank);
        assert_eq!(blank.len(), 1);
        let changed = [
            vec![link("", LinkOutcome::Queued), links[1].clone()],
            vec![link("next", LinkOutcome::PageNofollow)],
            links[..1].to_vec(),
            Vec::new(),
        ];
        for seal in [sealed(&links), sealed_before(&links)] {
            assert!(are_of(&links, seal));
            for changed in &changed {
                assert!(!are_of(changed, seal), "{changed:?}");
            }
        }
        assert!(!are_of(&blank, sealed(&links)), "what withholds them now enters their digest");
        assert!(are_of(&blank, sealed(&blank)) && !are_of(&links, sealed(&blank)));
        assert!(are_of(&[], sealed(&[])));
    }

    #[test]
    fn what_remains_of_links_belongs_to_the_digest_that_an_earlier_version_entered() {
        let links = [link("next", LinkOutcome::Queued), link("", LinkOutcome::NotHttp)];
        let mut blank = links.to_vec();
        withhold_links(&mut blank);
        assert!(are_of(&blank, sealed_before(&links)));
        assert!(!are_of(&links, sealed_before(&blank)));
        blank[0].outcome = LinkOutcome::PageNofollow;
        assert!(!are_of(&blank, sealed_before(&links)));
        assert!(are_of(&[], sealed_before(&[])));
    }

    #[test]
    fn key_and_value_of_a_seal_cant_be_moved_into_one_another() {
        assert_ne!(Seal::of_value(b"ab", b"c"), Seal::of_value(b"a", b"bc"));
        let json = serde_json::to_string(&Seal([1; 16])).unwrap();
        assert_eq!(json, format!("\"{}\"", "01".repeat(16)));
    }
}
