//! Checks the chain from its first entry to its last.

use std::fmt;

use serde::Serialize;

use super::writer::{STATE, State};
use super::{Head, block};
use crate::store::{Store, StoreError, Tree};

/// Faults that are listed; further ones are counted.
const LISTED: usize = 20;

/// What a check of the chain found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// True if no entry was removed, changed or moved, as far as a chain without a key can tell.
    pub intact: bool,
    /// Entries found.
    pub entries: u64,
    /// Stored values that have them.
    pub values: u64,
    /// The head after the last entry; worth noting down elsewhere.
    pub head: Head,
    /// The first faults.
    pub faults: Vec<Fault>,
    /// How many faults there are in all.
    pub fault_count: u64,
}

/// A fault of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// A stored value can't be read.
    Unreadable {
        /// Its first entry; none if not even its key can be read.
        first: Option<u64>,
    },
    /// Entries are missing.
    Missing {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
    },
    /// An entry is there twice.
    Repeated {
        /// Its number.
        first: u64,
    },
    /// At least one entry of a value was changed, or their order.
    Altered {
        /// The value's first entry.
        first: u64,
        /// The value's last entry.
        last: u64,
    },
    /// A value doesn't follow from the one before it: one of them was replaced.
    Unlinked {
        /// The value's first entry.
        first: u64,
    },
    /// Fewer or more entries than were written.
    Count {
        /// Written.
        written: u64,
        /// Found.
        found: u64,
    },
    /// The last entry isn't the one that was written last.
    Head,
    /// The record of what was written last is missing or can't be read.
    NoState,
}

/// Checks a store's ledger. Reads all of it once.
pub fn verify<S: Store>(store: &S) -> Result<Verdict, StoreError> {
    let crawl_id = store.get(Tree::Meta, b"crawl_id")?.unwrap_or_default();
    let mut head = Some(Head::first(&crawl_id));
    let mut verdict = Verdict {
        intact: true,
        entries: 0,
        values: 0,
        head: Head::first(&crawl_id),
        faults: Vec::new(),
        fault_count: 0,
    };
    let mut next = Some(0);
    for pair in store.scan(Tree::Ledger, &[]) {
        let (key, value) = pair?;
        verdict.values += 1;
        let first = <[u8; 8]>::try_from(key.as_slice()).map(u64::from_be_bytes).ok();
        let (Some(first), Ok(block)) = (first, block::read(&value)) else {
            verdict.tell(Fault::Unreadable { first });
            (next, head) = (None, None);
            continue;
        };
        match next {
            Some(next) if first > next => {
                verdict.tell(Fault::Missing { first: next, last: first - 1 });
                head = None;
            }
            Some(next) if first < next => {
                verdict.tell(Fault::Repeated { first });
                head = None;
            }
            _ => {}
        }
        if head.is_some_and(|head| head != block.before) {
            verdict.tell(Fault::Unlinked { first });
        }
        let count = block.decisions.len() as u64;
        let mut now = Some(block.before);
        for (seq, decision) in (first..).zip(&block.decisions) {
            now = now.and_then(|now| now.after(seq, decision).ok());
        }
        if now != Some(block.after) || count == 0 {
            verdict.tell(Fault::Altered { first, last: (first + count).saturating_sub(1).max(first) });
        }
        verdict.entries += count;
        verdict.head = block.after;
        head = Some(block.after);
        next = first.checked_add(count);
    }
    verdict.end(store, next)?;
    Ok(verdict)
}

impl Verdict {
    fn tell(&mut self, fault: Fault) {
        self.intact = false;
        self.fault_count += 1;
        if self.faults.len() < LISTED {
            self.faults.push(fault);
        }
    }

    /// Compares what was found with what was written.
    fn end<S: Store>(&mut self, store: &S, next: Option<u64>) -> Result<(), StoreError> {
        let state = store.get(Tree::Meta, STATE.as_bytes())?;
        match state.as_deref().map(serde_json::from_slice::<State>) {
            // A crawl without a ledger has none.
            None if self.values == 0 => {}
            Some(Ok(state)) => {
                if next != Some(state.count) || self.entries != state.count {
                    self.tell(Fault::Count { written: state.count, found: self.entries });
                } else if self.head != state.head {
                    self.tell(Fault::Head);
                }
            }
            _ => self.tell(Fault::NoState),
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { first: Some(first) } => {
                write!(f, "the value with entry {first} can't be read")
            }
            Self::Unreadable { first: None } => write!(f, "a value can't be read, nor its key"),
            Self::Missing { first, last } if first == last => write!(f, "entry {first} is missing"),
            Self::Missing { first, last } => write!(f, "entries {first} to {last} are missing"),
            Self::Repeated { first } => write!(f, "entry {first} is there twice"),
            Self::Altered { first, last } => {
                write!(f, "one of the entries {first} to {last} was changed, or their order")
            }
            Self::Unlinked { first } => write!(f, "entry {first} doesn't follow from the one before it"),
            Self::Count { written, found } => write!(f, "{written} entries were written, {found} are there"),
            Self::Head => write!(f, "the last entry isn't the one that was written last"),
            Self::NoState => write!(f, "the record of what was written last is missing or damaged"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.intact {
            return write!(f, "the chain of {} entries is intact, head {}", self.entries, self.head);
        }
        write!(f, "the chain of {} entries is broken:", self.entries)?;
        for (index, fault) in self.faults.iter().enumerate() {
            write!(f, "{} {fault}", if index == 0 { "" } else { ";" })?;
        }
        match self.fault_count.saturating_sub(self.faults.len() as u64) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
