//! Files that have to be requested again: after a failure, or at the target of a redirect.
//!
//! The number of requests is known only here, so it is never dropped to save memory: if there is no memory for one
//! more, its file isn't asked for again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::LIFETIME;
use crate::record::SiteFile;
use page::url::{CrawlUrl, Origin};

/// Bytes that all of them may take.
const MOST: usize = 4 << 20;

/// Bytes that each takes beside the texts of its origin and its URL.
const EACH: usize = 320;

/// Where a file is asked for next, and what that cost so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) url: CrawlUrl,
    /// Redirects followed.
    pub(super) hops: u8,
    /// Tries that failed.
    pub(super) tries: u8,
}

/// The files that are being asked for.
#[derive(Debug)]
pub(super) struct Asking {
    most: usize,
    held: Mutex<Attempts>,
}

#[derive(Debug, Default)]
struct Attempts {
    turns: HashMap<(Origin, SiteFile), (Turn, Timestamp)>,
    bytes: usize,
}

impl Default for Asking {
    fn default() -> Self {
        Self { most: MOST, held: Mutex::default() }
    }
}

fn bytes(origin: &Origin, turn: &Turn) -> usize {
    EACH + origin.host.len() + turn.url.as_str().len()
}

fn holds(since: Timestamp, now: Timestamp) -> bool {
    since <= now && now < since.saturating_add(LIFETIME).unwrap_or(since)
}

impl Asking {
    /// The next URL of a file, if it is being fetched. After a day it starts over.
    pub(super) fn next(&self, origin: &Origin, file: SiteFile, now: Timestamp) -> Option<Turn> {
        let held = self.lock();
        if held.turns.is_empty() {
            return None;
        }
        let (turn, since) = held.turns.get(&(origin.clone(), file))?;
        holds(*since, now).then(|| turn.clone())
    }

    /// Takes out what was under way: an answer is there.
    pub(super) fn take(&self, origin: &Origin, file: SiteFile) -> Option<Turn> {
        let mut held = self.lock();
        let (turn, _) = held.turns.remove(&(origin.clone(), file))?;
        held.bytes -= bytes(origin, &turn);
        Some(turn)
    }

    /// Notes that a file has to be requested again. False if there is no memory for that.
    pub(super) fn note(&self, origin: &Origin, file: SiteFile, turn: Turn, now: Timestamp) -> bool {
        self.take(origin, file);
        let mut held = self.lock();
        let more = bytes(origin, &turn);
        if held.bytes + more > self.most {
            // A look over all of them is worth it only here: what is a day old starts over anyway.
            held.turns.retain(|_, (_, since)| holds(*since, now));
            held.bytes = held.turns.iter().map(|((origin, _), (turn, _))| bytes(origin, turn)).sum();
        }
        if held.bytes + more > self.most {
            return false;
        }
        held.bytes += more;
        held.turns.insert((origin.clone(), file), (turn, now));
        true
    }

    fn lock(&self) -> MutexGuard<'_, Attempts> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_a_site_was_asked_is_never_forgotten_and_takes_bounded_memory() {
        let asking = Asking { most: 1_000 * (EACH + 60), held: Mutex::default() };
        let turn = |n: usize| {
            let url = CrawlUrl::parse(&format!("https://host-{n}.test/ai.txt")).unwrap();
            (url.origin(), Turn { url, hops: 1, tries: 2 })
        };
        let mut refused = 0;
        for n in 0..10_000 {
            let (origin, turn) = turn(n);
            refused += usize::from(!asking.note(&origin, SiteFile::AiTxt, turn, at(0)));
            assert!(asking.lock().bytes <= asking.most);
        }
        assert!((8_900..9_100).contains(&refused), "{refused}");
        let (first, expected) = turn(0);
        assert_eq!(asking.next(&first, SiteFile::AiTxt, at(1)).as_ref(), Some(&expected));
        assert_eq!(asking.next(&first, SiteFile::TdmRep, at(1)), None);
        assert_eq!(asking.take(&first, SiteFile::AiTxt), Some(expected));
        let (new, last) = turn(10_000);
        assert!(asking.note(&new, SiteFile::AiTxt, last, at(1)), "there is space for one more");
        assert_eq!(asking.next(&new, SiteFile::AiTxt, at(86_402)), None, "a day later");
        let (newer, last) = turn(10_001);
        assert!(asking.note(&newer, SiteFile::AiTxt, last, at(86_402)), "what is over frees space");
        assert_eq!(asking.lock().turns.len(), 1);
    }
}
