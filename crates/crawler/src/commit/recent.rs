//! Bodies that archive files have which are still being written: their places, in memory.
//!
//! The archive of a cluster's crawl is on many disks, each of which may be lost, and its files go elsewhere one by one. So a response refers
//! to a body of its own file alone: whoever has the one has the other. A file that is complete is never asked for again, so
//! nothing of this has to be stored.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::warc::Location;

/// Bodies that are remembered, of all files: about 24 MB at most.
const MOST: usize = 262_144;

/// The bodies that were stored last, of several files. One that is forgotten here is stored again.
#[derive(Debug)]
pub struct RecentBodies {
    /// Offset and length, by what [`key`] makes of file and digest.
    places: Mutex<LruCache<[u8; 16], (u64, u64)>>,
}

impl Default for RecentBodies {
    fn default() -> Self {
        Self::of(MOST)
    }
}

impl RecentBodies {
    fn of(most: usize) -> Self {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        Self { places: Mutex::new(LruCache::new(most)) }
    }

    /// Where a file has the body with this digest. What is there is to be read and compared.
    pub(super) fn find(&self, file: &str, digest: &str) -> Option<Location> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let (offset, length) = *places.get(&key(file, digest))?;
        Some(Location { file: file.to_owned(), offset, length })
    }

    /// Notes a body.
    pub(super) fn stored(&self, digest: &str, place: &Location) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.put(key(&place.file, digest), (place.offset, place.length));
    }
}

/// The first half of BLAKE3: two that were equal would only have a record read in vain.
fn key(file: &str, digest: &str) -> [u8; 16] {
    let hash =
        blake3::Hasher::new().update(file.as_bytes()).update(&[0]).update(digest.as_bytes()).finalize();
    let mut key = [0; 16];
    key.copy_from_slice(&hash.as_bytes()[..16]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, offset: u64) -> Location {
        Location { file: file.to_owned(), offset, length: 9 }
    }

    #[test]
    fn a_body_is_found_in_its_own_file_alone_until_too_many_others_were_stored() {
        let bodies = RecentBodies::of(2);
        bodies.stored("sha1:A", &place("one", 7));
        assert_eq!(bodies.find("one", "sha1:A"), Some(place("one", 7)));
        assert_eq!((bodies.find("two", "sha1:A"), bodies.find("one", "sha1:B")), (None, None));
        bodies.stored("sha1:B", &place("one", 8));
        bodies.find("one", "sha1:A");
        bodies.stored("sha1:C", &place("two", 9));
        assert_eq!(bodies.find("one", "sha1:B"), None, "the one that was used longest ago goes");
        assert_eq!(bodies.find("one", "sha1:A"), Some(place("one", 7)));
    }
}
