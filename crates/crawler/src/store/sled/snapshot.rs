//! What the database holds after one commit, to be read while the crawl goes on committing.
//!
//! sled has no snapshots over several trees. Here each commit first keeps the values that it replaces, as long as a snapshot is
//! open that may read them. A reader asks sled first and the kept values then: a value is kept before sled has the new one, so
//! that whatever sled answers, the value of the snapshot is one of the two. All snapshots share the kept values.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use sled::IVec;

use super::SledStore;
use super::count::COUNTED;
use super::guard::{Guarded, guarded};
use crate::store::{Batch, Pair, Store, StoreError, Tree, Write};

/// Bytes of replaced values that are kept for all snapshots together. Beyond it, the oldest snapshot ends.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// What a kept value takes besides its bytes.
const OVERHEAD: usize = 96;

/// Keys that one batch takes from the kept values: a commit waits while they are looked up.
const KEPT_A_BATCH: usize = 4096;

/// Bytes of a batch, about.
const BATCH_BYTES: usize = 256 * 1024;

/// A value until a commit replaced it; none is a key that wasn't there.
type Kept = (u64, Option<IVec>);

#[derive(Debug, Default)]
struct State {
    /// The snapshots: their numbers, and the commits that each has.
    open: BTreeMap<u64, u64>,
    next: u64,
    /// By tree and key, in the order of the commits.
    kept: Vec<BTreeMap<Vec<u8>, Vec<Kept>>>,
    bytes: usize,
}

impl State {
    /// Keeps the value that a key has before `commit`, if a snapshot may read it.
    fn keep(&mut self, tree: Tree, key: Vec<u8>, commit: u64, value: Option<IVec>) {
        let Some(newest) = self.open.values().max().copied() else { return };
        self.kept.resize_with(Tree::ALL.len(), BTreeMap::new);
        let size = key.len() + value.as_ref().map_or(0, |value| value.len()) + OVERHEAD;
        let values = self.kept[tree as usize].entry(key).or_default();
        if values.last().is_none_or(|(replaced, _)| *replaced <= newest) {
            values.push((commit, value));
            self.bytes += size;
        }
    }

    /// Ends the oldest snapshots until what is kept fits.
    fn limit(&mut self, most: usize) {
        while self.bytes > most {
            let Some(oldest) = self.open.iter().min_by_key(|(_, commits)| **commits).map(|(id, _)| *id)
            else {
                return;
            };
            self.close(oldest);
        }
    }

    /// Ends a snapshot, and drops what no other one reads.
    fn close(&mut self, id: u64) {
        if self.open.remove(&id).is_none() {
            return;
        }
        let Some(oldest) = self.open.values().min().copied() else {
            (self.kept, self.bytes) = (Vec::new(), 0);
            return;
        };
        let mut bytes = 0;
        for values in &mut self.kept {
            values.retain(|key, values| {
                values.retain(|(replaced, _)| *replaced > oldest);
                let sizes = values
                    .iter()
                    .map(|(_, value)| key.len() + value.as_ref().map_or(0, |value| value.len()) + OVERHEAD);
                bytes += sizes.sum::<usize>();
                !values.is_empty()
            });
        }
        self.bytes = bytes;
    }

    /// The commits of a snapshot that is still open.
    fn commits(&self, id: u64) -> Result<u64, StoreError> {
        self.open.get(&id).copied().ok_or(StoreError::Outdated)
    }

    /// The value at these commits, if sled's may be newer.
    fn value(&self, tree: Tree, key: &[u8], commits: u64) -> Option<&Option<IVec>> {
        at(self.kept.get(tree as usize)?.get(key)?, commits)
    }
}

fn at(values: &[Kept], commits: u64) -> Option<&Option<IVec>> {
    values.iter().find(|(replaced, _)| *replaced > commits).map(|(_, value)| value)
}

/// The snapshots of a database.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    state: RwLock<State>,
    /// Held by a commit until it is written, and by a snapshot while it begins.
    turn: Mutex<()>,
}

impl Snapshots {
    /// To be held while a commit is written.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what `commit` is about to replace.
    pub(super) fn keep<'a>(
        &self,
        commit: u64,
        keys: impl Iterator<Item = (Tree, &'a [u8])>,
        value: impl Fn(Tree, &[u8]) -> Result<Option<IVec>, StoreError>,
    ) -> Result<(), StoreError> {
        if self.state.read().unwrap_or_else(PoisonError::into_inner).open.is_empty() {
            return Ok(());
        }
        let keys: HashSet<(Tree, &[u8])> = keys.collect();
        let values = keys
            .into_iter()
            .map(|(tree, key)| Ok((tree, key.to_vec(), value(tree, key)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        for (tree, key, value) in values {
            state.keep(tree, key, commit, value);
        }
        state.limit(KEPT_BYTES);
        Ok(())
    }
}

/// The database after one commit. Read by any number of threads.
///
/// A snapshot ends when the crawl has replaced more than 64 MiB since the oldest one began: then each answer is
/// [`StoreError::Outdated`].
#[derive(Debug)]
pub struct Snapshot {
    store: Arc<SledStore>,
    id: u64,
    commits: u64,
    counts: Vec<Option<u64>>,
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.store.snapshots.state.write().unwrap_or_else(PoisonError::into_inner).close(self.id);
    }
}

impl SledStore {
    /// The database as its last commit made it, which is durable: what was written and isn't synced yet, is synced first. Waits for a commit
    /// that is under way.
    ///
    /// Errors: it can't be synced.
    pub fn snapshot(self: &Arc<Self>) -> Result<Snapshot, StoreError> {
        let mut synced = self.synced();
        let turn = self.snapshots.turn();
        self.unless_stopped(|| {
            if let Some(sealed) = self.unsynced(*synced)? {
                self.sync_file()?;
                self.seal(sealed, &mut synced)?;
            }
            Ok(())
        })?;
        let mut state = self.snapshots.state.write().unwrap_or_else(PoisonError::into_inner);
        let (id, commits) = (state.next, self.commits());
        state.next += 1;
        state.open.insert(id, commits);
        drop(state);
        let counts = COUNTED.map(|tree| self.count.of(tree)).to_vec();
        drop((turn, synced));
        Ok(Snapshot { store: Arc::clone(self), id, commits, counts })
    }
}

impl Snapshot {
    /// How many commits it has.
    pub fn commits(&self) -> u64 {
        self.commits
    }

    /// How many entries a tree must have, if that is counted.
    pub fn entries(&self, tree: Tree) -> Option<u64> {
        self.counts[COUNTED.iter().position(|counted| *counted == tree)?]
    }

    fn read<T>(&self, look: impl FnOnce(&State, u64) -> T) -> Result<T, StoreError> {
        let state = self.store.snapshots.state.read().unwrap_or_else(PoisonError::into_inner);
        let commits = state.commits(self.id)?;
        Ok(look(&state, commits))
    }

    /// The next keys with a prefix, behind a key or from the beginning; about 256 KiB of them.
    pub fn batch(&self, tree: Tree, prefix: &[u8], after: Option<&[u8]>) -> Result<Batch, StoreError> {
        let start = match after {
            Some(key) => Bound::Excluded(key.to_vec()),
            None => Bound::Included(prefix.to_vec()),
        };
        let trees = self.store.tree(tree)?;
        let range = trees.range::<Vec<u8>, _>((start.clone(), Bound::Unbounded));
        let mut pairs = Vec::new();
        let (mut bytes, mut next) = (0, None);
        for pair in Guarded::over(&self.store.path, trees, range, false) {
            let pair = pair?;
            if !pair.0.starts_with(prefix) {
                break;
            }
            bytes += pair.0.len() + pair.1.len();
            pairs.push(pair);
            if bytes >= BATCH_BYTES {
                next = pairs.last().map(|(key, _): &Pair| key.clone());
                break;
            }
        }
        self.read(|state, commits| {
            let Some(kept) = state.kept.get(tree as usize) else { return Batch { pairs, next } };
            let upper = next.clone().map_or(Bound::Unbounded, Bound::Included);
            let mut found = Vec::new();
            for (key, values) in kept.range::<Vec<u8>, _>((start, upper)) {
                if !key.starts_with(prefix) {
                    break;
                }
                if let Some(value) = at(values, commits) {
                    found.push((key, value));
                }
                if found.len() == KEPT_A_BATCH {
                    next = Some(key.clone());
                    break;
                }
            }
            if found.is_empty() {
                return Batch { pairs, next };
            }
            let mut merged: BTreeMap<Vec<u8>, Vec<u8>> = pairs.into_iter().collect();
            if let Some(last) = &next {
                drop(merged.split_off(&[last, &[0][..]].concat()));
            }
            for (key, value) in found {
                match value {
                    Some(value) => drop(merged.insert(key.clone(), value.to_vec())),
                    None => drop(merged.remove(key)),
                }
            }
            Batch { pairs: merged.into_iter().collect(), next }
        })
    }

    /// The greatest key of a stretch, which `pairs` has from its end.
    fn greatest(
        &self,
        tree: Tree,
        pairs: Guarded<'_>,
        lower: Bound<Vec<u8>>,
        upper: Bound<Vec<u8>>,
    ) -> Result<Option<Pair>, StoreError> {
        let mut found: Option<Pair> = None;
        for pair in pairs {
            let (key, value) = pair?;
            match self.read(|state, commits| state.value(tree, &key, commits).cloned())? {
                None => found = Some((key, value)),
                Some(Some(value)) => found = Some((key, value.to_vec())),
                Some(None) => continue,
            }
            break;
        }
        let lower = found.as_ref().map_or(lower, |(key, _)| Bound::Excluded(key.clone()));
        let kept = self.read(|state, commits| {
            let mut kept = state.kept.get(tree as usize)?.range::<Vec<u8>, _>((lower, upper)).rev();
            kept.find_map(|(key, values)| {
                let value = at(values, commits)?.as_ref()?;
                Some((key.clone(), value.to_vec()))
            })
        })?;
        Ok(kept.or(found))
    }
}

impl Store for Snapshot {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.store.get(tree, key)?;
        let kept = self.read(|state, commits| state.value(tree, key, commits).cloned())?;
        Ok(match kept {
            Some(value) => value.map(|value| value.to_vec()),
            None => found,
        })
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        let trees = self.store.tree(tree)?;
        let pairs = Guarded::new(&self.store.path, trees, prefix, true);
        let upper = behind(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        self.greatest(tree, pairs, Bound::Included(prefix.to_vec()), upper)
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        let prefix = prefix.to_vec();
        let least = self.entries(tree).filter(|_| prefix.is_empty());
        let ask = move |after: Option<&[u8]>| self.batch(tree, &prefix, after);
        Box::new(crate::store::Batches::new(tree, least, ask))
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        let trees = self.store.tree(tree)?;
        let pairs = Guarded::over(&self.store.path, trees, trees.range(..=key), true);
        self.greatest(tree, pairs, Bound::Unbounded, Bound::Included(key.to_vec()))
    }

    fn commit(&self, _: Vec<Write>) -> Result<(), StoreError> {
        Err(StoreError::ReadOnly)
    }
}

/// The first key behind all keys with a prefix; none where every key may have it.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut key = prefix[..=last].to_vec();
    key[last] += 1;
    Some(key)
}

impl SledStore {
    /// Keeps what the open snapshots read of what a commit replaces.
    pub(super) fn keep_for_snapshots<'a>(
        &self,
        commit: u64,
        keys: impl Iterator<Item = (Tree, &'a [u8])>,
    ) -> Result<(), StoreError> {
        self.snapshots.keep(commit, keys, |tree, key| {
            let tree = self.tree(tree)?;
            guarded(&self.path, || tree.get(key))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn store() -> (tempfile::TempDir, Arc<SledStore>) {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(SledStore::create(&dir.path().join("db")).unwrap());
        (dir, store)
    }

    fn key(n: u64) -> Vec<u8> {
        // Few enough to be written again and again, and of several prefixes.
        format!("{}/{:03}", n % 3, n % 400).into_bytes()
    }

    /// Some writes, the same for the same number.
    fn writes(commit: u64) -> Vec<Write> {
        let trees = [Tree::Pages, Tree::Hosts, Tree::Journal];
        (0..40)
            .map(|n| {
                let mixed = (commit * 41 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                let tree = trees[(mixed % 3) as usize];
                if mixed.is_multiple_of(5) {
                    Write::remove(tree, key(mixed))
                } else {
                    Write::put(tree, key(mixed), vec![commit as u8; 1 + (mixed % 3000) as usize])
                }
            })
            .collect()
    }

    fn everything<S: Store>(store: &S, tree: Tree, prefix: &[u8]) -> Vec<Pair> {
        store.scan(tree, prefix).map(|pair| pair.expect("scan answers")).collect()
    }

    fn assert_same<S: Store>(snapshot: &S, model: &MemoryStore) {
        for tree in [Tree::Pages, Tree::Hosts, Tree::Journal] {
            for prefix in [&b""[..], b"0/", b"1/", b"2/1", b"9"] {
                let expected = everything(model, tree, prefix);
                assert!(everything(snapshot, tree, prefix) == expected, "{tree:?} {prefix:?}");
                assert_eq!(snapshot.last(tree, prefix).unwrap(), expected.last().cloned());
            }
            for n in 0..1200 {
                let key = key(n);
                assert_eq!(snapshot.get(tree, &key).unwrap(), model.get(tree, &key).unwrap());
                if n % 40 == 0 {
                    assert_eq!(snapshot.floor(tree, &key).unwrap(), model.floor(tree, &key).unwrap());
                }
            }
        }
    }

    #[test]
    fn a_snapshot_stays_as_it_was_whatever_is_committed() {
        let (_dir, store) = store();
        let model = MemoryStore::default();
        let mut snapshots = Vec::new();
        for commit in 0..40 {
            if commit % 9 == 4 {
                let copy = MemoryStore::default();
                for tree in Tree::ALL {
                    let pairs = everything(&model, tree, b"");
                    let puts = pairs.into_iter().map(|(key, value)| Write::put(tree, key, value));
                    copy.commit(puts.collect()).unwrap();
                }
                snapshots.push((store.snapshot().unwrap(), copy));
            }
            store.commit(writes(commit)).unwrap();
            model.commit(writes(commit)).unwrap();
        }
        assert!(snapshots.len() > 3);
        while let Some((snapshot, copy)) = snapshots.pop() {
            assert_same(&snapshot, &copy);
            for (other, copy) in &snapshots {
                assert_eq!(everything(other, Tree::Hosts, b""), everything(copy, Tree::Hosts, b""));
            }
        }
        assert_same(&store.snapshot().unwrap(), &model);
        let state = store.snapshots.state.read().unwrap();
        assert!(
            state.open.is_empty() && state.kept.is_empty() && state.bytes == 0,
            "nothing is kept for nobody"
        );
    }

    #[test]
    fn readers_in_other_threads_see_one_commit_and_nothing_of_a_later_one() {
        let (_dir, store) = store();
        // Each commit sets every key of two trees to its number: a reader that finds two numbers has seen half a commit.
        let commit = |number: u64| {
            let trees = [Tree::Pages, Tree::Links];
            let all = trees.iter().flat_map(|tree| (0..50_u8).map(|key| (*tree, key)));
            store.commit(all.map(|(tree, key)| Write::put(tree, [key], vec![number as u8; 9000])).collect())
        };
        commit(0).unwrap();
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut seen = HashSet::new();
                        for _ in 0..30 {
                            let snapshot = store.snapshot().unwrap();
                            let links = everything(&snapshot, Tree::Links, b"");
                            let pages = everything(&snapshot, Tree::Pages, b"");
                            assert_eq!((links.len(), pages.len()), (50, 50));
                            let numbers: HashSet<u8> =
                                links.iter().chain(&pages).map(|(_, value)| value[0]).collect();
                            assert_eq!(numbers.len(), 1, "parts of several commits: {numbers:?}");
                            seen.extend(numbers);
                        }
                        seen
                    })
                })
                .collect();
            for number in 1..60 {
                commit(number).unwrap();
            }
            for reader in readers {
                assert!(!reader.join().unwrap().is_empty());
            }
        });
    }

    #[test]
    fn a_snapshot_that_would_need_too_much_ends_and_the_others_go_on() {
        let (_dir, store) = store();
        store.commit(vec![Write::put(Tree::Hosts, "k", "old")]).unwrap();
        let old = store.snapshot().unwrap();
        store.commit(vec![Write::put(Tree::Hosts, "k", "new")]).unwrap();
        let new = store.snapshot().unwrap();
        store.commit(vec![Write::put(Tree::Hosts, "k", "newest")]).unwrap();
        let mut state = store.snapshots.state.write().unwrap();
        let most = state.bytes - 1;
        state.limit(most);
        drop(state);
        assert!(matches!(old.get(Tree::Hosts, b"k"), Err(StoreError::Outdated)));
        assert!(matches!(everything_or_error(&old), Err(StoreError::Outdated)));
        assert_eq!(new.get(Tree::Hosts, b"k").unwrap().unwrap(), b"new");
        assert!(matches!(new.commit(Vec::new()), Err(StoreError::ReadOnly)));
    }

    fn everything_or_error<S: Store>(store: &S) -> Result<Vec<Pair>, StoreError> {
        store.scan(Tree::Hosts, b"").collect()
    }

    #[test]
    fn a_record_that_went_missing_ends_the_scan_with_an_error() {
        let (_dir, store) = store();
        store.commit(vec![Write::put(Tree::Pages, "a", "1"), Write::put(Tree::Pages, "b", "2")]).unwrap();
        let mut snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.entries(Tree::Pages), Some(2));
        snapshot.counts[0] = Some(3);
        let rows: Vec<_> = snapshot.scan(Tree::Pages, b"").collect();
        assert!(matches!(rows[..], [Ok(_), Ok(_), Err(StoreError::Lost { .. })]), "{rows:?}");
        assert_eq!(snapshot.scan(Tree::Pages, b"a").count(), 1, "a part isn't counted");
    }
}
