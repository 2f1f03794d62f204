//! What the database survives, and what it refuses to open.

use std::sync::Arc;

use super::*;

#[test]
fn sled_store_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    super::super::conformance::suite(|again| {
        if again { SledStore::open(&path).unwrap() } else { SledStore::create(&path).unwrap() }
    });
}

#[test]
fn a_second_process_gets_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let first = SledStore::create(&path).unwrap();
    first.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
    assert!(matches!(SledStore::open(&path), Err(StoreError::InUse { .. })));
}

#[test]
fn a_dropped_store_can_be_opened_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let store = SledStore::create(&path).unwrap();
    drop(store);
    for _ in 0..20 {
        let store = SledStore::open(&path).unwrap();
        store.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
    }
}

#[test]
fn never_a_fresh_start_over_an_existing_or_emptied_crawl() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    assert!(matches!(SledStore::open(&path), Err(StoreError::Missing { .. })));
    drop(SledStore::create(&path).unwrap());
    assert!(matches!(SledStore::create(&path), Err(StoreError::Damaged { .. })));
    fs::write(path.join("db"), b"").unwrap();
    assert!(matches!(SledStore::open(&path), Err(StoreError::Damaged { .. })));
    fs::remove_file(path.join("db")).unwrap();
    assert!(matches!(SledStore::open(&path), Err(StoreError::Damaged { .. })));
}

#[test]
fn an_unfinished_snapshot_is_removed_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let store = SledStore::create(&path).unwrap();
    store.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
    drop(store);
    fs::write(path.join("snap.0000000000000ABC.generating"), b"half").unwrap();
    let store = SledStore::open(&path).unwrap();
    assert_eq!(store.get(Tree::Meta, b"format").unwrap(), Some(b"1".to_vec()));
    assert!(!path.join("snap.0000000000000ABC.generating").exists());
}

/// A database of several commits, closed; its files are small enough to be damaged everywhere.
fn filled(path: &Path) {
    let store = SledStore::create(path).unwrap();
    store.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
    for n in 0..40_u32 {
        let page = Write::put(Tree::Pages, n.to_be_bytes(), vec![n as u8; 3_000]);
        store.commit(vec![page, Write::put(Tree::Ledger, n.to_be_bytes(), "x")]).unwrap();
    }
}

#[test]
fn a_cut_file_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    filled(&path);
    let whole = fs::read(path.join("db")).unwrap();
    for length in [whole.len() - 1_000, whole.len() / 2, 5_000] {
        fs::write(path.join("db"), &whole[..length]).unwrap();
        let opened = SledStore::open(&path);
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{length}: {opened:?}");
        assert_eq!(fs::read(path.join("db")).unwrap(), whole[..length], "nothing is changed");
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["db"], "the copy is gone");
    }
}

#[test]
fn a_file_that_lacks_its_last_segment_is_refused_or_whole_wherever_the_newest_commits_are() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    let page = |n: u32, byte: u8| Write::put(Tree::Pages, n.to_be_bytes(), vec![byte; 3_000]);
    let store = SledStore::create(&whole).unwrap();
    store.commit(vec![Write::put(Tree::Meta, "format", "1")]).unwrap();
    for n in 0..400 {
        store.commit(vec![page(n, 0)]).unwrap();
    }
    drop(store);
    let (mut found_whole, mut refused) = (0, 0);
    for round in 1..=6 {
        // sled reuses the space of what is replaced: the newest commits wander through the file.
        let store = SledStore::open(&whole).unwrap();
        for n in 0..40 {
            store.commit(vec![page(n, round)]).unwrap();
        }
        drop(store);
        let length = fs::metadata(whole.join("db")).unwrap().len();
        for step in 1..8 {
            let path = dir.path().join("cut");
            copy_database(&whole, &path).unwrap();
            let file = fs::File::options().write(true).open(path.join("db")).unwrap();
            file.set_len(length - step * SEGMENT_SIZE as u64 / 8).unwrap();
            match SledStore::open(&path) {
                Ok(store) => {
                    let pages = store.scan(Tree::Pages, &[]).collect::<Result<Vec<_>, _>>().unwrap();
                    assert_eq!((pages.len(), store.commits()), (400, 401 + 40 * u64::from(round)));
                    found_whole += 1;
                }
                Err(StoreError::Damaged { path: named, .. }) => {
                    assert_eq!(named, path, "the copy that was read isn't named");
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
            fs::remove_dir_all(path).unwrap();
        }
    }
    // Where sled writes decides whether any cut leaves it whole.
    assert!(refused > 0, "{found_whole} whole, {refused} refused");
}

#[test]
fn lost_commits_are_noticed_although_sled_opens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    filled(&path);
    let mut bytes = fs::read(path.join("db")).unwrap();
    let end = bytes.len();
    bytes[end - 1_500..].fill(0);
    fs::write(path.join("db"), bytes).unwrap();
    let opened = SledStore::open(&path).map(drop).unwrap_err();
    assert!(opened.to_string().contains("commits are missing"), "{opened}");
    assert!(opened.to_string().contains("crawl repair"), "{opened}");
}

#[test]
fn damage_at_any_place_is_an_error_or_harmless_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    filled(&whole);
    let length = fs::metadata(whole.join("db")).unwrap().len() as usize;
    let mut refused = 0;
    for step in 0..40 {
        let path = dir.path().join(step.to_string());
        copy_database(&whole, &path).unwrap();
        let mut bytes = fs::read(path.join("db")).unwrap();
        bytes[length * step / 40 + 17] ^= 0xff;
        fs::write(path.join("db"), bytes).unwrap();
        let read = SledStore::open(&path).and_then(|store| {
            let pages = store.scan(Tree::Pages, &[]).collect::<Result<Vec<_>, _>>()?;
            Ok((store.commits(), pages.len()))
        });
        match read {
            Ok((commits, pages)) => assert_eq!((commits, pages), (41, 40), "at {step}: lost in silence"),
            Err(StoreError::Damaged { .. }) => refused += 1,
            Err(error) => panic!("at {step}: {error}"),
        }
    }
    assert!(refused > 0, "some of this damage must show");
}

#[test]
fn a_record_that_went_missing_in_silence_ends_the_scan_with_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    filled(&path);
    let store = SledStore::open(&path).unwrap();
    assert!(store.scan(Tree::Pages, &[]).all(|pair| pair.is_ok()), "nothing is missing yet");
    store.commit(vec![Write::remove(Tree::Pages, 0_u32.to_be_bytes())]).unwrap();
    store.commit(vec![Write::put(Tree::Pages, 1_u32.to_be_bytes(), "again")]).unwrap();
    assert_eq!(store.scan(Tree::Pages, &[]).flatten().count(), 39);
    assert!(store.scan(Tree::Pages, &[]).all(|pair| pair.is_ok()), "what was removed isn't missed");
    // Behind the store's back, as sled's recovery does it.
    store.tree(Tree::Pages).unwrap().remove(7_u32.to_be_bytes()).unwrap();
    let last = store.scan(Tree::Pages, &[]).last().unwrap();
    assert!(
        matches!(&last, Err(StoreError::Lost { tree: "pages", detail }) if detail.contains("1 of its 39")),
        "{last:?}"
    );
    drop(store);
    let last = SledStore::open(&path).unwrap().scan(Tree::Pages, &[]).last().unwrap();
    assert!(last.is_err(), "nor after opening again");
}

#[test]
fn a_seal_promises_what_is_synced_and_a_snapshot_has_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let store = Arc::new(SledStore::create(&path).unwrap());
    let sealed = || Seal::read(&path).unwrap().commits;
    let page = |number: u32| vec![Write::put(Tree::Pages, number.to_be_bytes(), "page")];
    // What the process before wrote beside the log isn't known to be synced.
    assert_eq!((store.write(page(0)).unwrap(), sealed()), (Durability::PowerCut, 1));
    assert_eq!((store.write(page(1)).unwrap(), sealed()), (Durability::Process, 1));
    assert_eq!(store.commits(), 2);
    store.sync().unwrap();
    assert_eq!(sealed(), 2);
    store.write(page(2)).unwrap();
    store.write(page(3)).unwrap();
    assert_eq!(sealed(), 2);
    let snapshot = store.snapshot().unwrap();
    assert_eq!((snapshot.commits(), sealed()), (4, 4), "it was synced for the snapshot");
    store.write(page(4)).unwrap();
    store.commit(page(5)).unwrap();
    assert_eq!(sealed(), 6, "a commit syncs what was written before, too");
    // As after kill -9: what wasn't synced is there, and the seal asks for less.
    store.write(page(6)).unwrap();
    assert_eq!(sealed(), 6);
    drop((snapshot, store));
    let store = SledStore::open(&path).unwrap();
    assert_eq!((store.commits(), store.scan(Tree::Pages, &[]).count()), (7, 7));
    store.commit(page(7)).unwrap();
    assert_eq!(sealed(), 8);
    // A value in a file of its own.
    let large = vec![Write::put(Tree::Robots, "large", vec![7; 2 * SEGMENT_SIZE])];
    assert_eq!(store.write(large).unwrap(), Durability::PowerCut);
    assert_eq!(sealed(), 9);
}

#[test]
fn errors_of_the_system_keep_their_message() {
    let wrapped =
        std::io::Error::other("Os { code: 28, kind: StorageFull, message: \"No space left on device\" }");
    assert_eq!(plain(wrapped).kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(plain(std::io::Error::other("elsewhere")).to_string(), "elsewhere");
}

#[test]
fn a_log_that_ends_within_a_record_is_damaged_and_no_fault_of_the_disk() {
    let short = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "failed to fill whole buffer");
    for source in [short, std::io::Error::other("failed to fill whole buffer")] {
        let error = from_sled(Path::new("db"), sled::Error::Io(source));
        assert!(matches!(&error, StoreError::Damaged { .. }), "{error}");
    }
    let full = from_sled(Path::new("db"), sled::Error::Io(std::io::Error::from_raw_os_error(28)));
    assert!(matches!(full, StoreError::Io { .. }));
}
