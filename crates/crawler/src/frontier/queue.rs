//! One queue of one host: an unbounded array of URLs, of which a part is in memory and the rest in chunks.
//!
//! Positions count from 0 and are never used twice. `head` is the next to be leased, `tail` the next to be filled.
//! Chunk `n` in the store holds positions `64 n ..= 64 n + 63` as far as they are sealed; positions `sealed..tail` are
//! held in memory, and are covered by the journal from the commit after they were pushed.
//!
//! ```text
//!   0 ........ head ............ sealed ............ journaled ....... tail
//!   consumed   | in chunks on disk  | in memory + journal | in memory only
//! ```

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::item::QueuedUrl;

/// What an entry of the store costs beside its value, in bytes; rough.
pub(super) const ENTRY: usize = 300;

/// URLs in one chunk.
pub(crate) const CHUNK: u64 = 64;

/// Ends of a queue, as the host record keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueEnds {
    /// The next position to be leased.
    pub head: u64,
    /// Positions below this one are in chunks.
    pub sealed: u64,
    /// The next position to be filled, at the time of the record; the journal may go beyond it.
    pub tail: u64,
}

/// A chunk as stored: the position of its first URL, and its URLs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub(crate) first: u64,
    pub(crate) urls: Vec<QueuedUrl>,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    head: u64,
    sealed: u64,
    journaled: u64,
    /// Positions `sealed..tail`.
    fresh: VecDeque<QueuedUrl>,
    /// The chunk that has `head`, once it was read.
    loaded: Option<Chunk>,
}

/// Where the URL at the head of a queue is.
pub(crate) enum NextUrl {
    Empty,
    Here(QueuedUrl),
    /// It is in this chunk, which has to be given to [`Queue::load`].
    Chunk(u64),
}

impl Queue {
    pub(crate) fn restore(ends: QueueEnds) -> Self {
        let sealed = ends.sealed.max(ends.head);
        Self { head: ends.head, sealed, journaled: sealed, fresh: VecDeque::new(), loaded: None }
    }

    /// As [`Queue::restore`], with the URLs that are in no chunk and were stored elsewhere.
    pub(crate) fn restore_with(ends: QueueEnds, fresh: impl IntoIterator<Item = QueuedUrl>) -> Self {
        let mut queue = Self::restore(ends);
        // Not journaled: a record of the host's own, once there is one, leaves them to the journal.
        queue.fresh.extend(fresh);
        queue
    }

    /// The URLs that are in no chunk.
    pub(crate) fn fresh(&self) -> impl Iterator<Item = &QueuedUrl> {
        self.fresh.iter()
    }

    pub(crate) fn ends(&self) -> QueueEnds {
        QueueEnds { head: self.head, sealed: self.sealed, tail: self.tail() }
    }

    pub(crate) fn tail(&self) -> u64 {
        self.sealed + self.fresh.len() as u64
    }

    pub(crate) fn len(&self) -> u64 {
        self.tail() - self.head
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn push(&mut self, url: QueuedUrl) {
        self.fresh.push_back(url);
    }

    /// Restores what the journal has at `position`; what is already sealed is skipped.
    pub(crate) fn replay(&mut self, position: u64, url: QueuedUrl) {
        if position == self.tail() {
            self.fresh.push_back(url);
            self.journaled = self.tail();
        }
    }

    pub(crate) fn head(&self) -> NextUrl {
        if self.is_empty() {
            return NextUrl::Empty;
        }
        if self.head >= self.sealed {
            let index = (self.head - self.sealed) as usize;
            return self.fresh.get(index).map_or(NextUrl::Empty, |url| NextUrl::Here(url.clone()));
        }
        if let Some(chunk) = &self.loaded
            && let Some(index) = self.head.checked_sub(chunk.first)
            && let Some(url) = chunk.urls.get(index as usize)
        {
            return NextUrl::Here(url.clone());
        }
        NextUrl::Chunk(self.head / CHUNK)
    }

    pub(crate) fn load(&mut self, chunk: Chunk) {
        self.loaded = Some(chunk);
    }

    pub(crate) fn unload(&mut self) {
        self.loaded = None;
    }

    /// Takes the URL at the head off the queue. Gives the number of a chunk that nothing needs any more.
    pub(crate) fn advance(&mut self) -> Option<u64> {
        let was_on_disk = self.head < self.sealed;
        self.head += 1;
        // What was pushed and consumed between two commits, or is only in the journal, no longer needs a chunk.
        if self.head > self.sealed {
            self.fresh.pop_front();
            self.sealed = self.head;
            self.journaled = self.journaled.max(self.sealed);
        }
        // At `sealed` the rest of the chunk is in memory: a later seal starts it afresh from there.
        let done = was_on_disk && (self.head.is_multiple_of(CHUNK) || self.head == self.sealed);
        if done {
            self.loaded = None;
        }
        done.then(|| (self.head - 1) / CHUNK)
    }

    /// Seals every whole chunk in memory, or everything with `all`. Calls `write` with each chunk's number and URLs;
    /// `read` gives the chunk that is on disk already and has to be continued.
    pub(crate) fn seal<E>(
        &mut self,
        all: bool,
        mut read: impl FnMut(u64) -> Result<Option<Chunk>, E>,
        mut write: impl FnMut(u64, Chunk),
    ) -> Result<(), E> {
        loop {
            let number = self.sealed / CHUNK;
            let end = (number + 1) * CHUNK;
            if self.fresh.is_empty() || (self.tail() < end && !all) {
                // A queue that was filled fast would keep the memory forever.
                self.fresh.shrink_to(CHUNK as usize / 8);
                return Ok(());
            }
            let take = (end.min(self.tail()) - self.sealed) as usize;
            let on_disk = if self.sealed.is_multiple_of(CHUNK) || self.head >= self.sealed {
                None
            } else {
                read(number)?
            };
            let mut chunk = on_disk.unwrap_or(Chunk { first: self.sealed, urls: Vec::new() });
            chunk.urls.extend(self.fresh.drain(..take));
            self.sealed += take as u64;
            self.journaled = self.journaled.max(self.sealed);
            write(number, chunk);
        }
    }

    /// What the journal has to take: the position of the first URL, and the URLs.
    pub(crate) fn journal(&mut self) -> Option<(u64, Vec<QueuedUrl>)> {
        let from = self.journaled.max(self.sealed);
        if from >= self.tail() {
            return None;
        }
        let skip = (from - self.sealed) as usize;
        self.journaled = self.tail();
        Some((from, self.fresh.iter().skip(skip).cloned().collect()))
    }

    /// Bytes that the journal would take now, and bytes that sealing everything would take; both rough.
    pub(crate) fn costs(&self) -> (usize, usize) {
        let from = self.journaled.max(self.sealed);
        let skip = (from - self.sealed) as usize;
        let fresh: usize = self.fresh.iter().skip(skip).map(QueuedUrl::bytes).sum();
        if self.fresh.is_empty() {
            return (0, 0);
        }
        // An unfinished chunk on disk is written again as a whole, and each entry has its own price.
        let all: usize = self.fresh.iter().map(QueuedUrl::bytes).sum();
        let again = all / self.fresh.len() * (self.sealed % CHUNK) as usize;
        (fresh, all + again + ENTRY)
    }

    /// Bytes of URLs held in memory, rough.
    pub(crate) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }
}
