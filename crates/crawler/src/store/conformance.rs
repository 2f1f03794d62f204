//! What every [`Store`] must do. Each implementation's tests run [`suite`].

use super::{Store, Tree, Write, floor_by_scans};

/// Runs the suite. `open(false)` gives an empty store, `open(true)` the same one opened again.
///
/// # Panics
/// At the first clause that doesn't hold.
pub fn suite<S: Store>(open: impl Fn(bool) -> S) {
    let store = open(false);
    commits_are_read_back(&store);
    scans_are_ordered_and_bounded_by_their_prefix(&store);
    the_floor_of_a_key_is_the_greatest_that_isnt_above_it(&store);
    the_later_write_of_a_key_wins(&store);
    large_values_are_kept(&store);
    what_is_written_is_read_at_once(&store);
    drop(store);
    everything_is_there_after_opening_again(&open(true));
}

fn get<S: Store>(store: &S, tree: Tree, key: &[u8]) -> Option<Vec<u8>> {
    store.get(tree, key).expect("get answers")
}

fn commits_are_read_back<S: Store>(store: &S) {
    assert_eq!(get(store, Tree::Pages, b"k"), None);
    store.commit(vec![]).expect("an empty commit is fine");
    let all: Vec<_> = Tree::ALL.iter().map(|tree| Write::put(*tree, "k", tree.name())).collect();
    store.commit(all).expect("one commit over all trees");
    for tree in Tree::ALL {
        assert_eq!(get(store, tree, b"k").as_deref(), Some(tree.name().as_bytes()), "trees are apart");
    }
    store.commit(vec![Write::remove(Tree::Meta, "k"), Write::remove(Tree::Meta, "never")]).expect("removal");
    assert_eq!(get(store, Tree::Meta, b"k"), None);
}

/// What [`everything_is_there_after_opening_again`] finds.
fn what_is_written_is_read_at_once<S: Store>(store: &S) {
    store.write(vec![]).expect("nothing is written");
    store.write(vec![Write::put(Tree::Robots, "written", "1")]).expect("a write");
    store.write(vec![Write::put(Tree::Robots, "written", "2")]).expect("another");
    assert_eq!(get(store, Tree::Robots, b"written").as_deref(), Some(&b"2"[..]));
    store.sync().expect("a sync");
    store.sync().expect("another, of nothing");
}

fn scans_are_ordered_and_bounded_by_their_prefix<S: Store>(store: &S) {
    let keys: [&[u8]; 6] = [&[1, 0xff], &[2], &[2, 0], &[2, 9, 9], &[2, 0xff, 0xff], &[3]];
    store.commit(keys.iter().rev().map(|key| Write::put(Tree::Queue, *key, *key)).collect()).expect("commit");
    let found: Vec<Vec<u8>> =
        store.scan(Tree::Queue, &[2]).map(|pair| pair.expect("scan answers").0).collect();
    assert_eq!(found, [&[2][..], &[2, 0], &[2, 9, 9], &[2, 0xff, 0xff]]);
    let last = store.last(Tree::Queue, &[2]).expect("last answers");
    assert_eq!(last.map(|pair| pair.0).as_deref(), Some(&[2, 0xff, 0xff][..]));
    assert_eq!(store.last(Tree::Queue, &[9]).expect("last answers"), None);
    for (after, expected) in [
        (&[][..], &[&[2][..], &[2, 0], &[2, 9, 9], &[2, 0xff, 0xff]][..]),
        (&[1, 0xff], &[&[2], &[2, 0], &[2, 9, 9], &[2, 0xff, 0xff]]),
        (&[2], &[&[2, 0], &[2, 9, 9], &[2, 0xff, 0xff]]),
        (&[2, 1], &[&[2, 9, 9], &[2, 0xff, 0xff]]),
        (&[2, 0xff, 0xff], &[]),
        (&[3], &[]),
    ] {
        let found = store.scan_after(Tree::Queue, &[2], after).map(|pair| pair.expect("scan answers").0);
        assert_eq!(found.collect::<Vec<_>>(), expected, "{after:?}");
    }
}

fn the_floor_of_a_key_is_the_greatest_that_isnt_above_it<S: Store>(store: &S) {
    for (asked, found) in [
        (&[1][..], None),
        (&[1, 0xff], Some(&[1, 0xff][..])),
        (&[1, 0xff, 3], Some(&[1, 0xff])),
        (&[2, 0], Some(&[2, 0])),
        (&[2, 9, 9, 9], Some(&[2, 9, 9])),
        (&[2, 9, 8], Some(&[2, 0])),
        (&[4], Some(&[3])),
    ] {
        let floor = store.floor(Tree::Queue, asked).expect("floor answers");
        assert_eq!(floor.as_ref().map(|pair| pair.0.as_slice()), found, "{asked:?}");
        assert_eq!(floor.as_ref().map(|pair| pair.1.as_slice()), found, "{asked:?}");
        let slow = floor_by_scans(store, Tree::Queue, asked).expect("floor answers");
        assert_eq!(slow, floor, "{asked:?}");
    }
}

fn the_later_write_of_a_key_wins<S: Store>(store: &S) {
    store
        .commit(vec![
            Write::put(Tree::Hosts, "h", "1"),
            Write::put(Tree::Hosts, "h", "2"),
            Write::put(Tree::Hosts, "gone", "1"),
            Write::remove(Tree::Hosts, "gone"),
        ])
        .expect("commit");
    assert_eq!(get(store, Tree::Hosts, b"h").as_deref(), Some(&b"2"[..]));
    assert_eq!(get(store, Tree::Hosts, b"gone"), None);
}

fn large_values_are_kept<S: Store>(store: &S) {
    let large: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    store.commit(vec![Write::put(Tree::Links, "large", large.clone())]).expect("commit");
    assert_eq!(get(store, Tree::Links, b"large"), Some(large));
}

fn everything_is_there_after_opening_again<S: Store>(store: &S) {
    assert_eq!(get(store, Tree::Pages, b"k").as_deref(), Some(&b"pages"[..]));
    assert_eq!(get(store, Tree::Hosts, b"h").as_deref(), Some(&b"2"[..]));
    assert_eq!(get(store, Tree::Links, b"large").map(|value| value.len()), Some(300_000));
    assert_eq!(store.scan(Tree::Queue, &[2]).count(), 4);
    assert_eq!(get(store, Tree::Robots, b"written").as_deref(), Some(&b"2"[..]));
}
