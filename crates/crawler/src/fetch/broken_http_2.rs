//! Origins with which HTTP/2 doesn't work: they are asked over HTTP/1.1 (RFC 9113 section 7).

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ErrorKind;

/// Most origins that are known. They take 3 MB. Further origins are asked over HTTP/2 again, and fail each time.
const MOST: usize = 100_000;

/// What is known of origins. They are kept by their hashes: two that share one share what is known.
#[derive(Debug, Default)]
pub(super) struct BrokenHttp2 {
    known: Mutex<HashMap<u64, Known>>,
    hasher: RandomState,
}

#[derive(Debug, Clone, Copy)]
enum Known {
    /// It is asked over HTTP/1.1, since a request over HTTP/2 failed in this way.
    WantsHttp1(ErrorKind),
    /// It has no HTTP/1.1 either.
    HasHttp2Alone,
}

impl BrokenHttp2 {
    /// Notes that a request over HTTP/2 failed. True if the origin is to be asked over HTTP/1.1 from now on: it wasn't known, and
    /// there are fewer than the maximum.
    pub(super) fn note(&self, origin: &str, kind: ErrorKind) -> bool {
        let mut known = self.lock();
        let hash = self.hasher.hash_one(origin);
        let is_new = known.len() < MOST && !known.contains_key(&hash);
        if is_new {
            tracing::debug!(origin, "HTTP/2 doesn't work, HTTP/1.1 from now on");
            known.insert(hash, Known::WantsHttp1(kind));
        }
        is_new
    }

    /// Notes that an origin refuses HTTP/1.1. Gives the failure over HTTP/2, if that is why it was asked so; it won't be again.
    pub(super) fn refuses_http_1(&self, origin: &str) -> Option<ErrorKind> {
        let mut known = self.lock();
        let entry = known.get_mut(&self.hasher.hash_one(origin))?;
        match std::mem::replace(entry, Known::HasHttp2Alone) {
            Known::WantsHttp1(kind) => Some(kind),
            Known::HasHttp2Alone => None,
        }
    }

    /// Whether a new connection to an origin is to be for HTTP/1.1 alone.
    pub(super) fn wants_http_1(&self, origin: &str) -> bool {
        matches!(self.lock().get(&self.hasher.hash_one(origin)), Some(Known::WantsHttp1(_)))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_asked_over_http_1_once_http_2_failed_unless_it_refuses() {
        let broken = BrokenHttp2::default();
        assert!(!broken.wants_http_1("https://a.test"));
        assert!(broken.note("https://a.test", ErrorKind::Protocol));
        assert!(!broken.note("https://a.test", ErrorKind::Connection));
        assert!(broken.wants_http_1("https://a.test") && !broken.wants_http_1("https://a.test:8443"));
        assert_eq!(broken.refuses_http_1("https://a.test"), Some(ErrorKind::Protocol));
        assert!(!broken.wants_http_1("https://a.test"));
        assert!(!broken.note("https://a.test", ErrorKind::Protocol), "there is no other way to ask it");
        assert_eq!(broken.refuses_http_1("https://a.test"), None);
        assert_eq!(broken.refuses_http_1("https://b.test"), None);
    }

    #[test]
    fn the_origins_are_bounded() {
        let broken = BrokenHttp2::default();
        let added = (0..MOST + 10).filter(|n| broken.note(&n.to_string(), ErrorKind::Protocol)).count();
        assert_eq!(added, MOST);
    }
}
