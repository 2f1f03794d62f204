//! Large files of the last minute, kept in memory although they may not fit beside the others.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Entry;
use crate::clock::Now;

/// What counts as large: reading a smaller one takes less than a millisecond.
const LARGE: usize = 64 << 10;

/// For how long one is kept.
const MINUTE: Duration = Duration::from_secs(60);

/// Bytes of all of them; beyond it, the one that was read first is dropped.
const MOST: usize = 16 << 20;

/// Files by origin, in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Lately(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    entries: VecDeque<Kept>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    origin: Box<str>,
    entry: Arc<Entry>,
    bytes: usize,
    until: Duration,
}

impl Lately {
    pub(super) fn get(&self, origin: &str) -> Option<Arc<Entry>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.entries.iter().find(|kept| &*kept.origin == origin).map(|kept| Arc::clone(&kept.entry))
    }

    /// Keeps an entry of so many bytes in place of an older one of its origin, if it is large; drops those whose minute is over.
    pub(super) fn keep(&self, origin: &str, entry: &Arc<Entry>, bytes: usize, now: Now) {
        let mut dropped = Vec::new();
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *guard;
        if let Some(at) = held.entries.iter().position(|kept| &*kept.origin == origin) {
            dropped.extend(held.entries.remove(at));
        }
        if bytes >= LARGE {
            let entry = Arc::clone(entry);
            held.entries.push_back(Kept { origin: origin.into(), entry, bytes, until: now.mono + MINUTE });
            held.bytes += bytes;
        }
        held.bytes -= dropped.iter().map(|kept: &Kept| kept.bytes).sum::<usize>();
        while let Some(first) = held.entries.front()
            && (first.until <= now.mono || held.bytes > MOST)
        {
            held.bytes -= first.bytes;
            dropped.extend(held.entries.pop_front());
        }
        // Large values take a while to be freed: not under the lock.
        drop(guard);
        drop(dropped);
    }
}
