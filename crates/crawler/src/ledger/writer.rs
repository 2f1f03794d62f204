//! Appends entries. As many as fill a value are folded into one, which is written once. The rest of a commit is a loose value of its own until others
//! fill one with it, so that few, well packed values are kept.

use serde::{Deserialize, Serialize};

use super::{Head, LedgerError, block};
use crate::causes::Cause;
use crate::packed::{Filling, LONGEST, TARGET};
use crate::record::Decision;
use crate::record::evidence::whole_micros;
use crate::store::{Store, StoreError, Tree, Write};

/// Key of the chain's state in tree `meta`.
pub(super) const STATE: &str = "ledger";

/// So many loose values are joined, although they don't fill one.
const JOIN_VALUES: usize = 16;

/// Most entries of a folded value.
const MOST_ENTRIES: usize = 64;

/// How far the chain has come; JSON in `meta`, written with every value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Entries so far: the number of the next one.
    pub count: u64,
    /// The chain's head after the last of them.
    pub head: Head,
    /// The first entry of the values that aren't folded yet.
    pub loose: u64,
}

/// The chain's head; none where no ledger is kept, or its state can't be read.
pub fn head<S: Store>(store: &S) -> Result<Option<Head>, StoreError> {
    let value = store.get(Tree::Meta, STATE.as_bytes())?;
    let state: Option<State> = value.and_then(|value| serde_json::from_slice(&value).ok());
    Ok(state.filter(|state| state.count > 0).map(|state| state.head))
}

/// How many entries the chain has; 0 where no ledger is kept.
pub fn count<S: Store>(store: &S) -> Result<u64, StoreError> {
    let Some(value) = store.get(Tree::Meta, STATE.as_bytes())? else { return Ok(0) };
    let state: State = serde_json::from_slice(&value).map_err(unreadable)?;
    Ok(state.count)
}

/// The entries of the value that has an entry, and the number of the first of them. They are found also while values are folded.
pub fn entries_with<S: Store>(store: &S, seq: u64) -> Result<(u64, Vec<Decision>), StoreError> {
    let missing = || unreadable(format!("entry {seq} isn't there"));
    let (key, value) = store.floor(Tree::Ledger, &seq.to_be_bytes())?.ok_or_else(missing)?;
    let first = <[u8; 8]>::try_from(key.as_slice()).map(u64::from_be_bytes).map_err(unreadable)?;
    let decisions = block::read(&value).map_err(unreadable)?.decisions;
    if seq >= first + decisions.len() as u64 {
        return Err(missing());
    }
    Ok((first, decisions))
}

/// The head of a crawl whose ledger is in several stores, by their order: BLAKE3 over their heads, 32 bytes each, zeros where there is none.
pub fn joint_head<S: Store>(stores: &[S]) -> Result<Head, StoreError> {
    let mut hasher = blake3::Hasher::new_derive_key("crawl ledger, heads of the partitions of a cluster");
    for store in stores {
        hasher.update(&head(store)?.map_or([0; 32], |head| head.0));
    }
    Ok(Head(*hasher.finalize().as_bytes()))
}

/// The writing end.
#[derive(Debug)]
pub struct Ledger {
    state: State,
    /// The chain's head before the first loose entry.
    before: Head,
    /// The loose entries.
    loose: Vec<Decision>,
    /// The head after each of them.
    heads: Vec<Head>,
    /// First entries of the loose values.
    values: Vec<u64>,
    /// Entries that fill a folded value, as far as is known.
    filling: Filling,
}

impl Ledger {
    /// Opens a store's ledger. Loose values that are damaged are kept unchanged, as evidence.
    pub fn open<S: Store>(store: &S) -> Result<Self, StoreError> {
        let crawl_id = store.get(Tree::Meta, b"crawl_id")?.unwrap_or_default();
        let first = Head::first(&crawl_id);
        let Some(value) = store.get(Tree::Meta, STATE.as_bytes())? else {
            if store.last(Tree::Ledger, &[])?.is_some() {
                return Err(unreadable("the ledger has entries, but no head"));
            }
            let state = State { count: 0, head: first, loose: 0 };
            return Ok(Self {
                state,
                before: first,
                loose: Vec::new(),
                heads: Vec::new(),
                values: Vec::new(),
                filling: Filling::new(MOST_ENTRIES, MOST_ENTRIES),
            });
        };
        let state: State = serde_json::from_slice(&value).map_err(unreadable)?;
        let fresh = Self {
            state: State { loose: state.count, ..state },
            before: state.head,
            loose: Vec::new(),
            heads: Vec::new(),
            values: Vec::new(),
            filling: Filling::new(MOST_ENTRIES, MOST_ENTRIES),
        };
        Ok(Self::restore(store, state)?.unwrap_or(fresh))
    }

    /// Reads the loose values; none if they aren't what the chain says.
    fn restore<S: Store>(store: &S, state: State) -> Result<Option<Self>, StoreError> {
        let mut ledger = Self {
            state,
            before: state.head,
            loose: Vec::new(),
            heads: Vec::new(),
            values: Vec::new(),
            filling: Filling::new(MOST_ENTRIES, MOST_ENTRIES),
        };
        let mut seq = state.loose;
        let mut head = None;
        while seq < state.count {
            let Some(value) = store.get(Tree::Ledger, &seq.to_be_bytes())? else { return Ok(None) };
            let Ok(block) = block::read(&value) else { return Ok(None) };
            if head.is_some_and(|head| head != block.before) || block.decisions.is_empty() {
                return Ok(None);
            }
            if head.is_none() {
                ledger.before = block.before;
            }
            ledger.values.push(seq);
            let mut now = block.before;
            for decision in block.decisions {
                let Ok(next) = now.after(seq, &decision) else { return Ok(None) };
                now = next;
                ledger.loose.push(decision);
                ledger.heads.push(now);
                seq += 1;
            }
            if now != block.after {
                return Ok(None);
            }
            head = Some(now);
        }
        Ok((seq == state.count && head.is_none_or(|head| head == state.head)).then_some(ledger))
    }

    /// How far the chain has come.
    pub fn state(&self) -> State {
        self.state
    }

    /// Appends entries: the changes that have to be committed together. Without entries there are none.
    pub fn append(&mut self, decisions: Vec<Decision>) -> Result<Vec<Write>, LedgerError> {
        if decisions.is_empty() {
            return Ok(Vec::new());
        }
        let (first, before) = (self.state.count, self.state.head);
        let added = decisions.len();
        for decision in decisions {
            let decision = Decision { at: whole_micros(decision.at), ..decision };
            self.state.head = self.state.head.after(self.state.count, &decision)?;
            self.state.count += 1;
            self.loose.push(decision);
            self.heads.push(self.state.head);
        }
        let mut writes = Vec::new();
        let alone = if self.loose.len() < self.filling.records() && self.values.len() + 1 < JOIN_VALUES {
            let entries = &self.loose[self.loose.len() - added..];
            Some(block::write(before, self.state.head, entries)).filter(|value| value.len() <= TARGET)
        } else {
            None
        };
        match alone {
            Some(value) => {
                writes.push(put(first, value));
                self.values.push(first);
            }
            None => self.fold(&mut writes),
        }
        let state = serde_json::to_vec(&self.state)?;
        writes.push(Write::put(Tree::Meta, STATE, state));
        Ok(writes)
    }

    /// Folds the loose entries into values as far as they fill them. What remains is one loose value.
    fn fold(&mut self, writes: &mut Vec<Write>) {
        for value in self.values.drain(..) {
            writes.push(Write::remove(Tree::Ledger, value.to_be_bytes()));
        }
        let mut done = 0;
        while done < self.loose.len() {
            let (rest, heads) = (&self.loose[done..], &self.heads[done..]);
            let (first, before) = (self.state.loose + done as u64, self.before);
            let write = |count: usize| block::write(before, heads[count - 1], &rest[..count]);
            if rest.len() < self.filling.records() {
                let value = write(rest.len());
                if value.len() <= TARGET {
                    writes.push(put(first, value));
                    self.values.push(first);
                    break;
                }
            }
            let (count, value) = fill(&mut self.filling, rest.len(), write);
            writes.push(put(first, value));
            self.before = heads[count - 1];
            done += count;
        }
        self.loose.drain(..done);
        self.heads.drain(..done);
        self.state.loose += done as u64;
    }
}

/// Returns how many of the first entries take no more than so many bytes, in values of their own, and how many they take at most. Cost: that of writing them, unless their
/// texts show that all of them fit.
pub fn fitting(entries: &[Decision], most: usize) -> (usize, usize) {
    let texts = |entry: &Decision| {
        let via = entry.via.as_ref().map_or(0, String::len);
        let words = entry.evidence.words.as_ref().map_or(0, String::len);
        (entry.url.len() + words + ENTRY, via + VALUE)
    };
    // A value has what its entries share once; the rest of it is theirs.
    let (own, shared) =
        entries.iter().map(texts).fold((0, 0), |(own, shared), (a, b)| (own + a, shared.max(b)));
    let room = (TARGET * 3 / 4).saturating_sub(shared).max(ENTRY);
    let all = own + (1 + own / room) * shared;
    if all <= most {
        return (entries.len(), all);
    }
    let head = Head::first(&[]);
    let mut filling = Filling::new(MOST_ENTRIES, MOST_ENTRIES);
    let (mut done, mut bytes) = (0, 0);
    while done < entries.len() {
        let rest = &entries[done..];
        let (count, value) = fill(&mut filling, rest.len(), |count| block::write(head, head, &rest[..count]));
        if bytes + KEY + value.len() > most {
            break;
        }
        bytes += KEY + value.len();
        done += count;
    }
    (done, bytes)
}

/// Fills a value as [`Filling::fill`] does. Where that is few entries, or they are much shorter than their texts, they share most of the value, as URLs do
/// that begin with the same 2,000 characters: it gets more of them while these hardly make it longer, up to twice the usual length.
fn fill(filling: &mut Filling, there: usize, write: impl Fn(usize) -> Vec<u8>) -> (usize, Vec<u8>) {
    let (mut count, mut value) = filling.fill(there, &write);
    let most = there.min(MOST_ENTRIES);
    while count < most && (count < FEW || block::plain_len(&value) > SHARING * value.len()) {
        let more = (2 * count).min(most);
        let longer = write(more);
        if longer.len() > 2 * LONGEST || longer.len() * count * 4 > value.len() * more * 3 {
            break;
        }
        (count, value) = (more, longer);
        filling.found(count);
    }
    (count, value)
}

/// Fewer entries in a value may share most of it.
const FEW: usize = 8;

/// If the raw texts are this many times larger than the packed value, the entries share most of it.
const SHARING: usize = 5;

/// Bytes of the numbers of an entry about a link, at most.
const ENTRY: usize = 40;

/// Bytes of a value beside its entries: heads, and a length for each column.
const VALUE: usize = 160;

/// Bytes of a key.
const KEY: usize = 8;

fn put(first: u64, value: Vec<u8>) -> Write {
    Write::put(Tree::Ledger, first.to_be_bytes(), value)
}

fn unreadable(cause: impl Into<Cause>) -> StoreError {
    StoreError::Unreadable { tree: Tree::Ledger.name(), source: cause.into() }
}
