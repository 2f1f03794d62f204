//! [`Store`] over one partition of a cluster's database.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::part_commit::{PartCommit, Reply};
use super::schema::{MAIL_TREE, SENT_TREE};
use super::sent::{Sent, unpack_letters};
use super::{Claim, Database};
use crate::causes::Cause;
use crate::post::{MAIL, addressee};
use crate::store::{Batch, Batches, Pair, Store, StoreError, Tree, Write, Writing};

const GET: &str = "select key, value from kv where part = $1 and tree = $2 and key = $3";
const FLOOR: &str =
    "select key, value from kv where part = $1 and tree = $2 and key <= $3 order by key desc limit 1";
const LAST: &str = "select key, value from kv where part = $1 and tree = $2 and key >= $3 and key < $4 order by key desc limit 1";
const LAST_OF_ALL: &str =
    "select key, value from kv where part = $1 and tree = $2 and key >= $3 order by key desc limit 1";
const FROM: &str = "
select key, value from (
    select key, value, sum(octet_length(value)) over (order by key rows unbounded preceding) as bytes
    from (select key, value from kv where part = $1 and tree = $2 and key >= $3 order by key limit 1024) as few
) as summed where bytes - octet_length(value) < 1048576 order by key";
const FROM_TO: &str = "
select key, value from (
    select key, value, sum(octet_length(value)) over (order by key rows unbounded preceding) as bytes
    from (select key, value from kv where part = $1 and tree = $2 and key >= $3 and key < $4 order by key limit 1024) as few
) as summed where bytes - octet_length(value) < 1048576 order by key";

/// A batch of a scan ends with so many entries, or with the one at which its values have so many bytes: the figures of `FROM` and
/// `FROM_TO`.
const BATCH: (usize, usize) = (1024, 1_048_576);

/// The store of a partition that this worker owns. What it reads is what was committed last, by whomever; what it commits is refused
/// with [`StoreError::Fenced`] where the partition has another owner. Keys of letters ([`MAIL`](crate::post::MAIL)) are apart from
/// its trees: those that it wrote until their worker takes them to the partition that they are for, and there until they are dealt with.
/// A scan of them alone finds both.
///
/// A call waits for the database: about a round trip of the network for a read, and a write to the disks of the server, and of its
/// standby, for a commit. [`begin_write`](Store::begin_write) doesn't.
#[derive(Debug)]
pub struct PgStore {
    database: Arc<Database>,
    claim: Claim,
    /// The commits so far; none while one is under way, and after an error.
    commits: Arc<Mutex<Option<i64>>>,
}

impl PgStore {
    /// The store of a partition.
    pub fn new(database: Arc<Database>, claim: Claim) -> Self {
        Self { database, claim, commits: Arc::new(Mutex::new(Some(claim.commits))) }
    }

    /// The claim that it was made with.
    pub fn claim(&self) -> Claim {
        self.claim
    }

    /// The number of commits that this owner and those before it made; none while one is under way, and after an error.
    pub fn commits(&self) -> Option<i64> {
        *lock(&self.commits)
    }

    fn read(&self, sql: &'static str, tree: Tree, keys: Vec<Vec<u8>>) -> Result<Vec<Pair>, StoreError> {
        self.read_tree(sql, tree as i16, keys)
    }

    fn read_tree(&self, sql: &'static str, tree: i16, keys: Vec<Vec<u8>>) -> Result<Vec<Pair>, StoreError> {
        self.database.read(sql, (self.claim.part, tree), keys)
    }

    /// Reads the entries of one number. `tree` is what errors name.
    fn scan_tree(
        &self,
        tree: Tree,
        number: i16,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        let (prefix, end) = (prefix.to_vec(), behind(prefix));
        Box::new(Batches::new(tree, None, move |after: Option<&[u8]>| {
            let from = match after {
                // The least key behind it.
                Some(after) => [after, &[0]].concat(),
                None => prefix.clone(),
            };
            let sql = if end.is_some() { FROM_TO } else { FROM };
            let keys = std::iter::once(from).chain(end.clone()).collect();
            let pairs = self.read_tree(sql, number, keys)?;
            let bytes: usize = pairs.iter().map(|(_, value)| value.len()).sum();
            let is_last = pairs.len() < BATCH.0 && bytes < BATCH.1;
            let next = pairs.last().filter(|_| !is_last).map(|(key, _)| key.clone());
            Ok(Batch { pairs, next })
        }))
    }

    /// Hands on the next commit; `reply` gets its outcome. Until then, and after an error, no further one is made.
    fn begin(&self, writes: Vec<Write>, reply: Reply) -> Result<(), StoreError> {
        if writes.is_empty() {
            self.commits().ok_or(StoreError::Stopped)?;
            reply(Ok(()));
            return Ok(());
        }
        let writes: BTreeMap<(i16, Vec<u8>), Option<Vec<u8>>> =
            writes.into_iter().map(|write| ((write.tree as i16, write.key), write.value)).collect();
        let (mut removes, mut puts, mut letters) = (Vec::new(), Vec::new(), Vec::new());
        for ((tree, key), value) in writes {
            let letter = addressee(&key).filter(|_| tree == Tree::Meta as i16);
            match (letter, value) {
                (None, Some(value)) => puts.push((tree, key, value)),
                (None, None) => removes.push((tree, key)),
                (Some((to, key)), Some(text)) => letters.push(Sent { to, key: key.to_vec(), text }),
                // One that this partition has read.
                (Some((_, key)), None) => removes.push((MAIL_TREE, key.to_vec())),
            }
        }
        if let Some(first) = letters.first() {
            // All in one row: a page may have links to many partitions.
            let key = first.key.clone();
            let bundle = Sent::write(&letters).map_err(|error| unreadable(error.into()))?;
            puts.push((SENT_TREE, key, bundle));
        }
        let number = lock(&self.commits).take().ok_or(StoreError::Stopped)? + 1;
        let commits = Arc::clone(&self.commits);
        let reply = Box::new(move |outcome: Result<(), StoreError>| {
            *lock(&commits) = outcome.is_ok().then_some(number);
            reply(outcome);
        });
        let claim = Claim { commits: number, ..self.claim };
        self.database.commit(PartCommit { claim, removes, puts, reply })
    }

    /// Reads the letters that this partition hasn't dealt with.
    fn letters(&self) -> impl Iterator<Item = Result<Pair, StoreError>> + Send + '_ {
        let head = [MAIL, &self.claim.part.to_be_bytes()].concat();
        self.scan_tree(Tree::Meta, MAIL_TREE, &[]).map(move |pair| {
            let (key, row) = pair?;
            Ok(([&head[..], &key].concat(), unpack_letters(&row).map_err(unreadable)?))
        })
    }

    /// Reads the letters that this partition wrote, and that aren't with their readers yet.
    fn sent(&self) -> impl Iterator<Item = Result<Pair, StoreError>> + Send + '_ {
        self.scan_tree(Tree::Meta, SENT_TREE, &[]).flat_map(|pair| {
            let read = pair.and_then(|(_, bundle)| Sent::read(&bundle).map_err(unreadable));
            let (letters, error) = match read {
                Ok(letters) => (letters, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            let letters = letters
                .into_iter()
                .map(|Sent { to, key, text }| Ok(([MAIL, &to.to_be_bytes(), &key[..]].concat(), text)));
            letters.chain(error.map(Err))
        })
    }
}

fn lock(commits: &Mutex<Option<i64>>) -> MutexGuard<'_, Option<i64>> {
    commits.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A letter that can't be read or written.
fn unreadable(source: Cause) -> StoreError {
    StoreError::Unreadable { tree: Tree::Meta.name(), source }
}

/// The first key behind all that begin with this prefix; none if there is none.
pub(super) fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut key = prefix.get(..=last)?.to_vec();
    *key.last_mut()? += 1;
    Some(key)
}

impl Store for PgStore {
    fn get(&self, tree: Tree, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(GET, tree, vec![key.to_vec()])?.pop().map(|(_, value)| value))
    }

    fn last(&self, tree: Tree, prefix: &[u8]) -> Result<Option<Pair>, StoreError> {
        let sql = if behind(prefix).is_some() { LAST } else { LAST_OF_ALL };
        let keys = std::iter::once(prefix.to_vec()).chain(behind(prefix)).collect();
        Ok(self.read(sql, tree, keys)?.pop())
    }

    fn scan(
        &self,
        tree: Tree,
        prefix: &[u8],
    ) -> Box<dyn Iterator<Item = Result<Pair, StoreError>> + Send + '_> {
        if tree == Tree::Meta && prefix == MAIL {
            return Box::new(self.sent().chain(self.letters()));
        }
        self.scan_tree(tree, tree as i16, prefix)
    }

    fn floor(&self, tree: Tree, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        Ok(self.read(FLOOR, tree, vec![key.to_vec()])?.pop())
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), StoreError> {
        let (sender, outcome) = sync_channel(1);
        // Who waits is gone where the process ends.
        self.begin(writes, Box::new(move |stored| drop(sender.send(stored))))?;
        outcome.recv().map_err(|_| StoreError::Stopped)?
    }

    fn begin_write(&self, writes: Vec<Write>) -> Writing {
        let (sender, outcome) = oneshot::channel();
        match self.begin(writes, Box::new(move |stored| drop(sender.send(stored)))) {
            Ok(()) => Writing::UnderWay(outcome),
            Err(error) => Writing::Over(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_behind_a_prefix_is_the_least_one_above_all_that_begin_with_it() {
        assert_eq!(behind(&[]), None);
        assert_eq!(behind(&[0xff, 0xff]), None);
        assert_eq!(behind(&[1, 2]), Some(vec![1, 3]));
        assert_eq!(behind(&[1, 0xff]), Some(vec![2]));
        assert_eq!(behind(&[0, 0xff, 7]), Some(vec![0, 0xff, 8]));
    }

    #[test]
    fn the_numbers_of_trees_in_the_database_are_fixed() {
        // The table `kv` is partitioned by them; docs/storage.md lists the trees in this order.
        let names = [
            "meta",
            "idle_hosts",
            "hosts",
            "queue",
            "journal",
            "seen",
            "pages",
            "robots",
            "links",
            "ledger",
            "site_files",
            "due",
            "withdrawn",
            "sitemaps",
            "page_index",
            "payloads",
        ];
        for (number, name) in names.iter().enumerate() {
            let tree = Tree::ALL.iter().find(|tree| tree.name() == *name);
            assert_eq!(tree.map(|tree| *tree as usize), Some(number), "{name}");
        }
    }
}
