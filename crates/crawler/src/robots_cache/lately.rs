//! Large files of the last minute, kept in memory although they may not fit beside the others.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Entry;
use crate::portion::Portion;
use page::clock::Now;

/// What counts as large: reading a smaller one takes less than a millisecond.
const LARGE: usize = 64 << 10;

/// For how long one is kept.
const MINUTE: Duration = Duration::from_secs(60);

/// Bytes of all of them; beyond it, the one that was read first is dropped.
pub(super) const MOST: usize = 16 << 20;

/// Files by origin, in the order in which they were read.
#[derive(Debug)]
pub(super) struct Lately {
    held: Mutex<Held>,
    portion: Portion,
}

impl Default for Lately {
    fn default() -> Self {
        Self::within(Portion::whole(MOST))
    }
}

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
    /// Files that share the memory for them with those of others.
    pub(super) fn within(portion: Portion) -> Self {
        Self { held: Mutex::default(), portion }
    }

    /// Drops those whose minute is over, and those read first while others need their memory.
    pub(super) fn tidy(&self, now: Now) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = held.tidy(&self.portion, now);
        drop(held);
        drop(dropped);
    }

    pub(super) fn get(&self, origin: &str) -> Option<Arc<Entry>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.entries.iter().find(|kept| &*kept.origin == origin).map(|kept| Arc::clone(&kept.entry))
    }

    /// Keeps an entry of so many bytes in place of an older one of its origin, if it is large; drops those whose minute is over.
    pub(super) fn keep(&self, origin: &str, entry: &Arc<Entry>, bytes: usize, now: Now) {
        let mut dropped = Vec::new();
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
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
        dropped.extend(held.tidy(&self.portion, now));
        // Large values take a while to be freed: not under the lock.
        drop(guard);
        drop(dropped);
    }
}

impl Held {
    /// Takes out those whose minute is over, and those read first while there are too many bytes.
    fn tidy(&mut self, portion: &Portion, now: Now) -> Vec<Kept> {
        let mut dropped = Vec::new();
        portion.hold(self.bytes);
        let most = portion.most();
        while let Some(first) = self.entries.front()
            && (first.until <= now.mono || self.bytes > most)
        {
            self.bytes -= first.bytes;
            dropped.extend(self.entries.pop_front());
        }
        portion.hold(self.bytes);
        dropped
    }
}
