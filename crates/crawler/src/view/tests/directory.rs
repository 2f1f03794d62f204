use std::fs;
use std::path::Path;

use super::*;
use crate::job::{CrawlDir, DirError};
use crate::store::{SledStore, StoreError};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// A whole directory, as a crawl makes it, still held.
fn made(root: &Path) -> (CrawlDir, SledStore) {
    let dir = CrawlDir::create(root).unwrap();
    dir.write_settings("[agent]\nproduct = \"SuperRobot/1.0\"\n[record]\nseeds = [\"http://a.test/\"]\n")
        .unwrap();
    let store = SledStore::create(&dir.unfinished_db()).unwrap();
    let filled = crawl();
    let all: Vec<Write> = {
        let mut filled = filled;
        filled.commit();
        let store = &filled.store;
        let pairs = Tree::ALL
            .into_iter()
            .flat_map(|tree| store.scan(tree, &[]).map(move |pair| (tree, pair.unwrap())));
        pairs.map(|(tree, (key, value))| Write::put(tree, key, value)).collect()
    };
    store.commit(all).unwrap();
    drop(store);
    dir.finish_db().unwrap();
    let store = SledStore::open(&dir.db()).unwrap();
    (dir, store)
}

#[test]
fn a_directory_in_use_is_an_error_and_its_copy_opens() {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("out");
    let held = made(&root);
    let error = View::open(&root).unwrap_err();
    assert!(matches!(error, ViewError::InUse(_)), "{error}");
    assert!(error.to_string().contains("copy"), "{error}");
    let live = top.path().join("copy");
    copy(&root, &live);
    let view = View::open(&live).unwrap();
    assert_eq!(view.pages().count(), 2);
    let summary = view.summary().unwrap();
    assert_eq!(summary.seeds, ["http://a.test/"]);
    assert_eq!(summary.agent.as_deref(), Some("SuperRobot/1.0"));
    drop(held);
    assert_eq!(View::open(&root).unwrap().pages().count(), 2);
}

#[test]
fn views_of_one_database_are_read_by_several_threads_and_hold_the_directory_together() {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("out");
    drop(made(&root));
    let view = View::open(&root).unwrap();
    let others = [view.another().unwrap(), view.another().unwrap()];
    let started = others.map(|other| {
        std::thread::spawn(move || {
            let pages = other.stable_rows(Table::Pages).unwrap().map(Result::unwrap).collect::<Vec<_>>();
            (other, pages)
        })
    });
    let all: Vec<_> = view.stable_rows(Table::Pages).unwrap().map(Result::unwrap).collect();
    assert_eq!(all.len(), 2);
    drop(view);
    for thread in started {
        let (other, pages) = thread.join().unwrap();
        assert_eq!(pages, all);
        assert!(matches!(CrawlDir::open(&root), Err(DirError::InUse(_))), "the last view keeps the lock");
        assert_eq!(View::open(&root).unwrap().pages().count(), 2, "it is read through the one that has it");
        drop(other);
    }
    assert!(View::open(&root).is_ok());
}

#[test]
fn nothing_is_made_where_no_crawl_is() {
    let top = tempfile::tempdir().unwrap();
    let missing = top.path().join("missing");
    assert!(matches!(View::open(&missing), Err(ViewError::Dir(DirError::NoCrawl(_)))));
    assert!(!missing.exists());
    assert!(matches!(View::open(top.path()), Err(ViewError::Dir(DirError::NoCrawl(_)))));
    assert_eq!(names(top.path()), Vec::<String>::new());

    let root = top.path().join("lost");
    drop(made(&root));
    fs::remove_dir_all(root.join("db")).unwrap();
    assert!(matches!(View::open(&root), Err(ViewError::Store(StoreError::Missing { .. }))));
    assert!(!root.join("db").exists());
}

#[test]
fn an_unfinished_start_is_reported() {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("out");
    let dir = CrawlDir::create(&root).unwrap();
    dir.write_settings("").unwrap();
    drop(dir);
    let error = View::open(&root).unwrap_err();
    assert!(matches!(error, ViewError::Unfinished(_)), "{error}");
    assert!(error.to_string().contains("crawl resume"), "{error}");
    assert_eq!(names(&root), [".lock", "crawl.toml", "db.new"]);
    assert_eq!(names(&root.join("db.new")), Vec::<String>::new());
}

#[test]
fn a_damaged_database_is_an_error_and_stays() {
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join("out");
    drop(made(&root));
    fs::write(root.join("db/db"), b"").unwrap();
    assert!(matches!(View::open(&root), Err(ViewError::Store(StoreError::Damaged { .. }))));
    assert_eq!(fs::metadata(root.join("db/db")).unwrap().len(), 0);

    let root = top.path().join("newer");
    let (dir, store) = made(&root);
    store.commit(vec![Write::put(Tree::Meta, "format", "99")]).unwrap();
    drop((dir, store));
    let error = View::open(&root).unwrap_err();
    assert!(error.to_string().contains("99"), "{error}");
}
