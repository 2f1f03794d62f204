//! `PgStore` is a store like the others.

use std::sync::Arc;
use std::time::Duration;

use crawler::cluster::{self, Address, Claim, Database, PgStore, Plan, Terms};
use crawler::post::{MAIL, Place};
use crawler::store::{MemoryStore, Store as _, StoreError, Tree, Write, conformance};
use page::url::FingerprintKey;

use crate::server::Server;

/// A new crawl with four partitions.
pub(crate) fn new_crawl(server: &Server) -> (String, Address) {
    let url = server.database();
    let address: Address = url.parse().unwrap();
    make(&address, Terms { lease: Duration::from_secs(3), partitions: 4 }).unwrap();
    cluster::free_partitions(&address).unwrap();
    (url, address)
}

/// Makes the tables of a crawl without settings.
pub(crate) fn make(address: &Address, terms: Terms) -> Result<(), cluster::ClusterError> {
    let plan =
        Plan { program: "crawl 0".to_owned(), key: FingerprintKey::new([7; 16]), settings: String::new() };
    cluster::make_tables(address, terms, &plan, true)
}

pub(crate) fn open(address: &Address) -> Arc<Database> {
    Arc::new(Database::open(address.clone(), Duration::from_secs(20)).unwrap())
}

/// Gives a partition to an owner, as a claim does.
pub(crate) fn claim(server: &Server, url: &str, part: i32, owner: i64) -> Claim {
    let sql = format!(
        "update part set owner = {owner}, fence = fence + 1 where id = {part} returning fence, commits"
    );
    let row = server.sql(url, &sql);
    let (fence, commits) = row.split_once('|').unwrap();
    Claim { part, owner, fence: fence.parse().unwrap(), commits: commits.parse().unwrap() }
}

#[test]
fn pg_store_conforms() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let database = open(&address);
    conformance::suite(|_| PgStore::new(Arc::clone(&database), claim(&server, &url, 1, 1)));
}

#[test]
fn a_crawl_is_made_once_and_opened_only_where_there_is_one() {
    let Some(server) = Server::start(&[]) else { return };
    let (_, address) = new_crawl(&server);
    let terms = Terms { lease: Duration::from_secs(3), partitions: 4 };
    assert_eq!(open(&address).terms(), terms);
    let error = make(&address, terms).unwrap_err();
    assert!(error.to_string().contains("holds a crawl already"), "{error}");
    let empty: Address = server.database().parse().unwrap();
    let error = Database::open(empty, Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("no crawl"), "{error}");
}

#[test]
fn partitions_are_apart() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let database = open(&address);
    let stores = [0, 3].map(|part| PgStore::new(Arc::clone(&database), claim(&server, &url, part, 1)));
    for (value, store) in ["zero", "three"].iter().zip(&stores) {
        store
            .commit(vec![Write::put(Tree::Queue, "k", *value), Write::put(Tree::Pages, *value, "")])
            .unwrap();
    }
    stores[0].commit(vec![Write::remove(Tree::Pages, "three")]).unwrap();
    assert_eq!(stores[0].get(Tree::Queue, b"k").unwrap().as_deref(), Some(&b"zero"[..]));
    assert_eq!(stores[1].get(Tree::Queue, b"k").unwrap().as_deref(), Some(&b"three"[..]));
    assert_eq!(stores[0].scan(Tree::Pages, b"").count(), 1);
    assert!(stores[1].get(Tree::Pages, b"three").unwrap().is_some());
    assert_eq!(stores[1].last(Tree::Pages, b"").unwrap().map(|pair| pair.0).as_deref(), Some(&b"three"[..]));
}

/// The letters of a commit are one row of their writer until its worker delivers them; a reader removes what it has dealt with.
#[test]
fn letters_wait_with_their_writer_and_are_removed_by_their_reader() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let database = open(&address);
    let [writer, reader] =
        [0, 3].map(|part| PgStore::new(Arc::clone(&database), claim(&server, &url, part, 1)));
    let place = Place { part: 0, of: 4 };
    let [to_3, to_2] = [(3, 1), (2, 2)].map(|(to, number)| place.letter_key(to, 9, number));
    let letters =
        [Write::put(Tree::Meta, to_3.clone(), "text"), Write::put(Tree::Meta, to_2.clone(), "other")];
    writer.commit([&letters[..], &[Write::put(Tree::Meta, "own", "1")]].concat()).unwrap();
    let rows = "select part, tree, encode(key, 'hex') from kv where tree >= 16";
    assert_eq!(server.sql(&url, rows), "0|17|0000000000000000000000090000000000000002");
    assert_eq!(writer.scan(Tree::Meta, b"").count(), 1, "they are none of the writer's entries");
    let mut found: Vec<_> = writer.scan(Tree::Meta, MAIL).map(Result::unwrap).collect();
    found.sort();
    assert_eq!(found, [(to_2, b"other".to_vec()), (to_3.clone(), b"text".to_vec())]);
    // As its worker delivers it: packed, and not compressed where it is short.
    server.sql(&url, "update kv set part = 3, tree = 16, value = '\\x00'::bytea || 'text' where tree = 17");
    let key = place.letter_key(3, 9, 2);
    let found: Vec<_> = reader.scan(Tree::Meta, MAIL).map(Result::unwrap).collect();
    assert_eq!(found, [(key.clone(), b"text".to_vec())]);
    reader.commit(vec![Write::remove(Tree::Meta, key)]).unwrap();
    assert_eq!(server.sql(&url, rows), "");
    // Of a writer whose partition is another's, none is taken.
    claim(&server, &url, 0, 2);
    assert!(matches!(
        writer.commit(vec![Write::put(Tree::Meta, to_3, "late")]),
        Err(StoreError::Fenced { part: 0 })
    ));
    assert_eq!(server.sql(&url, rows), "");
}

#[test]
fn a_database_without_a_synchronous_standby_is_refused_unless_that_is_accepted() {
    let Some(server) = Server::start(&[]) else { return };
    let address: Address = server.database().parse().unwrap();
    let plan =
        Plan { program: "crawl 0".to_owned(), key: FingerprintKey::new([7; 16]), settings: String::new() };
    let terms = Terms { lease: Duration::from_secs(3), partitions: 4 };
    let error = cluster::make_tables(&address, terms, &plan, false).unwrap_err();
    assert!(matches!(error, cluster::ClusterError::NoStandby { .. }), "{error}");
    cluster::make_tables(&address, terms, &plan, true).unwrap();
}

/// The same writes give the same answers as in memory: keys with every kind of byte, more entries than one batch has, and values that
/// fill a batch alone.
#[test]
fn it_answers_as_the_store_in_memory_does() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let store = PgStore::new(open(&address), claim(&server, &url, 2, 1));
    let memory = MemoryStore::default();
    // A generator with a fixed start: Knuth's MMIX.
    let mut state = 7_u64;
    let mut next = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let bytes = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff];
    let key = |next: &mut dyn FnMut(u64) -> u64| -> Vec<u8> {
        (0..next(6)).map(|_| bytes[next(bytes.len() as u64) as usize]).collect()
    };
    for round in 0..12 {
        let mut writes = Vec::new();
        for _ in 0..400 {
            let key = key(&mut next);
            let size = if next(100) == 0 { 700_000 } else { next(40) };
            writes.push(if next(4) == 0 {
                Write::remove(Tree::Seen, key)
            } else {
                Write::put(Tree::Seen, key, vec![round; size as usize])
            });
        }
        memory.commit(writes.clone()).unwrap();
        store.commit(writes).unwrap();
    }
    let all = |found: Box<dyn Iterator<Item = Result<_, StoreError>> + Send + '_>| {
        found.collect::<Result<Vec<(Vec<u8>, Vec<u8>)>, _>>().unwrap()
    };
    let whole = all(memory.scan(Tree::Seen, b""));
    assert!(whole.len() > 1024, "more than a batch: {}", whole.len());
    assert!(whole.iter().map(|pair| pair.1.len()).sum::<usize>() > 4 << 20);
    assert!(whole == all(store.scan(Tree::Seen, b"")));
    for _ in 0..300 {
        let key = key(&mut next);
        assert!(memory.get(Tree::Seen, &key).unwrap() == store.get(Tree::Seen, &key).unwrap(), "{key:?}");
        assert!(memory.floor(Tree::Seen, &key).unwrap() == store.floor(Tree::Seen, &key).unwrap(), "{key:?}");
        assert!(memory.last(Tree::Seen, &key).unwrap() == store.last(Tree::Seen, &key).unwrap(), "{key:?}");
        assert!(all(memory.scan(Tree::Seen, &key)) == all(store.scan(Tree::Seen, &key)), "{key:?}");
    }
}
