//! One process holds a directory, others read through it. Here they are values in one process.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::message::{CLIENT_FRAME, Greeting, Question, Reply, receive, receive_message, send, send_message};
use super::server::{Limits, may_connect};
use super::socket::connect;
use super::*;
use crate::crawl_dir::{CrawlDir, DirError};
use crate::store::{SledStore, Store, StoreError, Tree, Write};

/// A crawl's directory with a database of some entries, held.
fn made(root: &Path) -> (CrawlDir, Arc<SledStore>) {
    let dir = CrawlDir::create(root).unwrap();
    dir.write_settings("\n").unwrap();
    let store = Arc::new(SledStore::create(&dir.unfinished_db()).unwrap());
    store.commit((0..3000).map(|n| Write::put(Tree::Pages, page(n), vec![7; 500])).collect()).unwrap();
    drop(store);
    dir.finish_db().unwrap();
    let store = Arc::new(SledStore::open(&dir.db()).unwrap());
    (dir, store)
}

fn page(n: u32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

struct Place {
    _top: tempfile::TempDir,
    root: PathBuf,
}

fn place() -> Place {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("out");
    Place { _top: top, root }
}

fn pages(store: &DirStore) -> Result<usize, StoreError> {
    store.scan(Tree::Pages, b"").try_fold(0, |count, pair| pair.map(|_| count + 1))
}

/// Takes down which orders came.
#[derive(Default)]
struct Orders(Mutex<Vec<Order>>);

impl Control for Orders {
    fn order(&self, order: Order, _: u32) -> Answer {
        self.0.lock().unwrap().push(order);
        Answer::Done("done".to_owned())
    }
}

#[test]
fn what_a_running_crawl_holds_is_read_as_it_was_when_the_reader_came() {
    let Place { root, _top } = place();
    let (_dir, store) = made(&root);
    let server = Socket::bind(&root).unwrap().serve(Arc::clone(&store), Some(Arc::new(NoOrders))).unwrap();
    let mode = fs::metadata(root.join(".crawl.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for its owner alone");
    let reader = DirStore::open(&root).unwrap();
    assert_eq!(reader.holder(), Some(Holder::Crawl));
    let mut scan = reader.scan(Tree::Pages, b"");
    assert!(scan.next().unwrap().is_ok());
    store
        .commit(vec![Write::put(Tree::Pages, page(9000), "new"), Write::remove(Tree::Pages, page(2999))])
        .unwrap();
    assert_eq!(scan.map(Result::unwrap).count(), 2999);
    assert_eq!(reader.get(Tree::Pages, &page(9000)).unwrap(), None);
    assert_eq!(reader.get(Tree::Pages, &page(2999)).unwrap().unwrap(), [7; 500]);
    assert_eq!(reader.last(Tree::Pages, b"").unwrap().unwrap().0, page(2999));
    assert_eq!(reader.floor(Tree::Pages, &page(9500)).unwrap().unwrap().0, page(2999));
    assert!(matches!(reader.commit(Vec::new()), Err(StoreError::ReadOnly)));
    let later = DirStore::open(&root).unwrap();
    assert_eq!(later.last(Tree::Pages, b"").unwrap().unwrap().0, page(9000));
    drop((reader, later));
    server.finish(GRACE);
    assert!(!root.join(".crawl.sock").exists());
    assert_eq!(Arc::strong_count(&store), 1, "the database is free once the server has ended");
}

#[test]
fn a_reader_goes_on_by_itself_when_the_first_one_ends_and_not_where_more_was_committed() {
    let Place { root, _top } = place();
    drop(made(&root));
    let first = DirStore::open(&root).unwrap();
    assert_eq!(first.holder(), None);
    let others = [DirStore::open(&root).unwrap(), DirStore::open(&root).unwrap()];
    assert_eq!(others[0].holder(), Some(Holder::Reader));
    let mut scans = [others[0].scan(Tree::Pages, b""), others[1].scan(Tree::Pages, b"")];
    for scan in &mut scans {
        assert!(scan.next().unwrap().is_ok());
    }
    drop(first);
    for scan in scans {
        assert_eq!(scan.map(Result::unwrap).count(), 2999, "behind the first");
    }
    let [holder, last] = others;
    // One of the two holds it now; whoever it is, the other one goes on.
    drop(holder);
    assert_eq!(pages(&last).unwrap(), 3000);
    drop(last);

    let (dir, store) = {
        let dir = CrawlDir::open(&root).unwrap();
        let store = Arc::new(SledStore::open(&dir.db()).unwrap());
        (dir, store)
    };
    let server = Socket::bind(&root).unwrap().serve(Arc::clone(&store), Some(Arc::new(NoOrders))).unwrap();
    let reader = DirStore::open(&root).unwrap();
    store.commit(vec![Write::put(Tree::Pages, page(9000), "new")]).unwrap();
    server.finish(Duration::ZERO);
    drop(store);
    drop(dir);
    let error = pages(&reader).unwrap_err();
    assert!(
        matches!(&error, StoreError::Served { detail } if detail.contains("ended while it was read")),
        "{error}"
    );
}

#[test]
fn the_socket_of_a_killed_process_is_replaced_and_nobody_behind_a_lock_is_in_use() {
    let Place { root, _top } = place();
    let (dir, store) = made(&root);
    // As kill -9 leaves it: the file, and nobody behind it.
    drop(std::os::unix::net::UnixListener::bind(root.join(".crawl.sock")).unwrap());
    assert!(root.join(".crawl.sock").exists());
    assert!(connect(&root).unwrap().is_none());
    let error = DirStore::open(&root).unwrap_err();
    assert!(matches!(error, OpenError::Dir(DirError::InUse(_))), "{error}");
    drop((dir, store));
    let first = DirStore::open(&root).unwrap();
    let second = DirStore::open(&root).unwrap();
    assert_eq!((first.holder(), second.holder()), (None, Some(Holder::Reader)));
    assert_eq!(pages(&second).unwrap(), 3000);
}

#[test]
fn a_directory_with_a_long_path_has_a_socket_too() {
    let Place { root, _top } = place();
    let root = root.join("d".repeat(100)).join("e".repeat(100));
    drop(made(&root));
    let first = DirStore::open(&root).unwrap();
    assert!(root.join(".crawl.sock").exists());
    let second = DirStore::open(&root).unwrap();
    assert_eq!((first.holder(), second.holder()), (None, Some(Holder::Reader)));
    assert_eq!(pages(&second).unwrap(), 3000);
}

#[test]
fn another_user_is_refused_and_so_is_another_version() {
    for (user, owner, expected) in
        [(1000, 1000, true), (0, 1000, true), (1001, 1000, false), (1000, 0, false)]
    {
        assert_eq!(may_connect(user, owner), expected, "{user} at {owner}");
    }
    let Place { root, _top } = place();
    let (_dir, store) = made(&root);
    let _server = Socket::bind(&root).unwrap().serve(store, None).unwrap();
    let mut stream = UnixStream::connect(root.join(".crawl.sock")).unwrap();
    let other = Greeting { version: "99.0.0".to_owned(), ..Greeting::new(None) };
    send(&mut stream, &serde_json::to_vec(&other).unwrap()).unwrap();
    let answer: Greeting = serde_json::from_slice(&receive(&mut stream, CLIENT_FRAME).unwrap()).unwrap();
    let refused = answer.refused.unwrap();
    assert!(refused.contains("99.0.0") && refused.contains(env!("CARGO_PKG_VERSION")), "{refused}");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "and nothing more is said");
}

#[test]
fn readers_are_bounded_and_those_who_ask_nothing_are_dropped() {
    let Place { root, _top } = place();
    let (_dir, store) = made(&root);
    let limits = Limits { readers: 2, idle: Duration::from_millis(400), turn: Duration::from_millis(20) };
    let socket = Socket::bind(&root).unwrap();
    let _server = socket.serve_with(store, Some(Arc::new(NoOrders)), limits).unwrap();
    let silent = [DirStore::open(&root).unwrap(), DirStore::open(&root).unwrap()];
    let error = DirStore::open(&root).unwrap_err();
    assert!(error.to_string().contains("is read by 32 processes already"), "{error}");
    // Both are dropped before long: then there are places, and they themselves begin again.
    let mut reader = DirStore::open(&root);
    for _ in 0..100 {
        if reader.is_ok() {
            break;
        }
        super::socket::pause();
        reader = DirStore::open(&root);
    }
    assert_eq!(pages(&reader.unwrap()).unwrap(), 3000);
    assert_eq!(pages(&silent[0]).unwrap(), 3000, "nothing was committed, so that it goes on");
}

#[test]
fn who_waits_at_a_holder_that_ends_gets_the_end_of_the_connection() {
    let Place { root, _top } = place();
    let (_dir, store) = made(&root);
    let limits = Limits { readers: 1, ..Limits::default() };
    let server = Socket::bind(&root).unwrap().serve_with(store, None, limits).unwrap();
    let _first = DirStore::open(&root).unwrap();
    let mut second = connect(&root).unwrap().unwrap().stream;
    send_message(&mut second, &Question::Read).unwrap();
    server.finish(Duration::from_millis(50));
    // The end of the connection: it tries again, and opens the directory itself or asks the next holder.
    let reply = receive_message::<Reply>(&mut second, CLIENT_FRAME);
    assert!(reply.is_err(), "{reply:?}");
}

#[test]
fn a_reader_that_takes_no_answers_is_dropped_and_leaves_the_database_free() {
    let Place { root, _top } = place();
    let (_dir, store) = made(&root);
    let limits = Limits { idle: Duration::from_millis(100), ..Limits::default() };
    let server = Socket::bind(&root).unwrap().serve_with(Arc::clone(&store), None, limits).unwrap();
    let mut stream = connect(&root).unwrap().unwrap().stream;
    send_message(&mut stream, &Question::Read).unwrap();
    let opened: Reply = receive_message(&mut stream, CLIENT_FRAME).unwrap();
    assert!(matches!(opened, Reply::Opened { commits: 1, .. }), "{opened:?}");
    // More answers than the socket's buffers hold: 1.5 MB each.
    for _ in 0..20 {
        let all = Question::Batch { tree: Tree::Pages as u8, prefix: Vec::new(), after: None };
        if send_message(&mut stream, &all).is_err() {
            break;
        }
    }
    for _ in 0..200 {
        if Arc::strong_count(&store) == 2 {
            break;
        }
        super::socket::pause();
    }
    assert_eq!(Arc::strong_count(&store), 2, "only the server has it beside this test");
    server.finish(GRACE);
    assert_eq!(Arc::strong_count(&store), 1);
}

#[test]
fn nonsense_ends_the_connection_and_nothing_else() {
    let Place { root, _top } = place();
    let (_dir, store) = made(&root);
    let _server = Socket::bind(&root).unwrap().serve(store, None).unwrap();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0, 0, 0, 2, b'{', b'}'], &[0; 4]] {
        let mut stream = UnixStream::connect(root.join(".crawl.sock")).unwrap();
        std::io::Write::write_all(&mut stream, bytes).unwrap();
        let mut answer = Vec::new();
        // An error is as good an end.
        drop(stream.read_to_end(&mut answer));
        assert!(answer.is_empty(), "{bytes:?}");
    }
    assert_eq!(pages(&DirStore::open(&root).unwrap()).unwrap(), 3000);
}

#[test]
fn orders_reach_a_crawl_and_nobody_else() {
    let Place { root, _top } = place();
    let (dir, store) = made(&root);
    assert_eq!(give(&root, Order::Status, false).unwrap(), None, "locked, and nobody listens");
    let orders = Arc::new(Orders::default());
    let control = Arc::clone(&orders) as Arc<dyn Control>;
    let server = Socket::bind(&root).unwrap().serve(Arc::clone(&store), Some(control)).unwrap();
    let order =
        Order::Steer { host: Some("a.test".to_owned()), change: Steered::Delay(Duration::from_secs(2)) };
    assert_eq!(give(&root, order.clone(), false).unwrap(), Some(Answer::Done("done".to_owned())));
    assert_eq!(*orders.0.lock().unwrap(), [order]);
    drop((server, store, dir));
    let _reader = DirStore::open(&root).unwrap();
    assert_eq!(give(&root, Order::Stop { now: false }, false).unwrap(), None, "a reader isn't a crawl");
}

/// Says that an order came, and carries it out a moment later.
struct Slow(Sender<()>);

impl Control for Slow {
    fn order(&self, _: Order, _: u32) -> Answer {
        self.0.send(()).unwrap();
        for _ in 0..4 {
            super::socket::pause();
        }
        Answer::Done("done".to_owned())
    }
}

#[test]
fn who_gave_the_order_that_ends_a_crawl_gets_the_answer() {
    let Place { root, _top } = place();
    let (_dir, store) = made(&root);
    let (send, came) = channel();
    let server = Socket::bind(&root).unwrap().serve(store, Some(Arc::new(Slow(send)))).unwrap();
    let given = std::thread::spawn(move || give(&root, Order::Stop { now: true }, false).unwrap());
    came.recv().unwrap();
    server.finish(Duration::ZERO);
    assert_eq!(given.join().unwrap(), Some(Answer::Done("done".to_owned())));
}
