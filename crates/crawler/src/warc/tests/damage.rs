//! Torn tails, wrong bytes and missing files.

use super::{archive, info, page};
use crate::warc::{Error, Fault, Location, Position, Reader, Repaired, WarcWriter, read, repair};
use std::fs::OpenOptions;
use std::path::Path;

fn shorten(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

fn kinds(path: &Path) -> Result<Vec<String>, Error> {
    Reader::open(path)?.map(|record| record.map(|record| record.kind().to_owned())).collect()
}

#[test]
fn a_tail_torn_at_any_byte_is_found_and_cut() {
    let dir = tempfile::tempdir().unwrap();
    let positions = archive(dir.path(), 3);
    let (committed, end) = (&positions[1], &positions[2]);
    let path = dir.path().join(&committed.file);
    let whole = std::fs::read(&path).unwrap();
    let last_member = committed.offset + page(2).response_length;
    for length in (committed.offset..end.offset).rev() {
        shorten(&path, length);
        let read_back = kinds(&path);
        if length == committed.offset || length == last_member {
            assert!(read_back.is_ok(), "a cut between members leaves whole members: {length}");
        } else {
            assert!(
                matches!(read_back, Err(Error::Record { fault: Fault::Torn, .. })),
                "cut at {length}: {read_back:?}"
            );
        }
        let lost = length - committed.offset;
        let cut = (lost > 0).then(|| (committed.file.clone(), lost));
        assert_eq!(repair(dir.path(), Some(committed)).unwrap(), Repaired { cut, removed: vec![] });
        assert_eq!(std::fs::read(&path).unwrap(), whole[..committed.offset as usize]);
        assert_eq!(kinds(&path).unwrap().len(), 1 + 2 * 2);
        std::fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn a_resumed_run_continues_in_a_file_of_its_own_and_drops_what_was_never_committed() {
    let dir = tempfile::tempdir().unwrap();
    let committed = archive(dir.path(), 2).pop().unwrap();
    std::fs::write(dir.path().join("notes.txt"), "a researcher's own").unwrap();
    for run in 0..20 {
        // A run that is killed: two pages in a new file, half a page behind them, nothing committed.
        let mut writer = WarcWriter::open(dir.path(), &info(), u64::MAX).unwrap();
        assert_eq!(writer.position(), None);
        let killed = writer.append(&mut page(run)).unwrap();
        writer.append(&mut page(run + 1)).unwrap();
        writer.write_out().unwrap();
        shorten(&dir.path().join(&killed.file), writer.position().unwrap().offset - 9);
        drop(writer);
        let repaired = repair(dir.path(), Some(&committed)).unwrap();
        assert_eq!(repaired, Repaired { cut: None, removed: vec![killed.file] });
        assert_eq!(repair(dir.path(), Some(&committed)).unwrap(), Repaired::default());
    }
    assert_eq!(kinds(&dir.path().join(&committed.file)).unwrap().len(), 5);
    let mut left: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [committed.file.as_str(), "notes.txt"]);
}

#[test]
fn without_a_commit_nothing_remains() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(repair(&dir.path().join("none yet"), None).unwrap(), Repaired::default());
    archive(dir.path(), 1);
    assert_eq!(repair(dir.path(), None).unwrap().removed, ["crawl-20260301120000-00001.warc.gz"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn missing_committed_bytes_are_an_error_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = archive(dir.path(), 1).pop().unwrap();
    last.offset += 1;
    let later = dir.path().join("crawl-20260301130000-00002.warc.gz");
    std::fs::write(&later, "").unwrap();
    let Err(Error::Short { found, committed, .. }) = repair(dir.path(), Some(&last)) else { panic!() };
    assert_eq!((found, committed), (last.offset - 1, last.offset));
    assert!(later.exists());
    last.file = "crawl-20260301120000-00009.warc.gz".to_owned();
    assert!(matches!(repair(dir.path(), Some(&last)), Err(Error::Short { found: 0, .. })));
    last.file = "../crawl-20260301120000-00001.warc.gz".to_owned();
    assert!(matches!(repair(dir.path(), Some(&last)), Err(Error::Name(_))));
}

#[test]
fn every_flipped_byte_of_a_record_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let end = archive(dir.path(), 1).pop().unwrap();
    let path = dir.path().join(&end.file);
    let mut bytes = std::fs::read(&path).unwrap();
    let whole: Vec<_> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
    for at in 0..bytes.len() {
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        let found: Result<Vec<_>, _> = Reader::open(&path).unwrap().collect();
        // Time and system in a gzip header say nothing about the record: only there may a flip pass.
        assert!(found.is_err() || found.as_deref().ok() == Some(&whole), "byte {at}");
        bytes[at] ^= 0x10;
    }
}

#[test]
fn a_wrong_location_gives_no_record() {
    let dir = tempfile::tempdir().unwrap();
    let end = archive(dir.path(), 2).pop().unwrap();
    let info_length = Reader::open(&dir.path().join(&end.file)).unwrap().next().unwrap().unwrap().length;
    let right = Location { file: end.file.clone(), offset: info_length, length: page(0).response_length };
    assert_eq!(read(dir.path(), &right).unwrap().kind(), "response");
    let wrong = |offset, length| read(dir.path(), &Location { offset, length, ..right.clone() });
    assert!(matches!(
        wrong(right.offset, right.length + 1),
        Err(Error::Record { fault: Fault::MemberLength, .. })
    ));
    assert!(matches!(
        wrong(right.offset + 1, right.length),
        Err(Error::Record { fault: Fault::Gzip(_), .. })
    ));
    assert!(matches!(wrong(end.offset, 10), Err(Error::Record { fault: Fault::Torn, .. })));
    let outside = Location { file: "/etc/passwd".to_owned(), ..right };
    assert!(matches!(read(dir.path(), &outside), Err(Error::Name(_))));
}

#[test]
fn files_are_rolled_before_they_grow_too_large() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = WarcWriter::open(dir.path(), &info(), 3000).unwrap();
    let mut files = std::collections::BTreeSet::new();
    for number in 0..20 {
        files.insert(writer.append(&mut page(number)).unwrap().file);
    }
    writer.sync().unwrap();
    assert!((5..=20).contains(&files.len()), "{files:?}");
    for file in &files {
        let path = dir.path().join(file);
        assert!(path.metadata().unwrap().len() <= 3000);
        let records = kinds(&path).unwrap();
        assert_eq!(records[0], "warcinfo");
        assert!(records.len() >= 3 && records[1..].chunks(2).all(|pair| pair == ["response", "request"]));
    }
    // A limit below the size of any record: one exchange per file, no endless empty files.
    let dir = tempfile::tempdir().unwrap();
    let mut writer = WarcWriter::open(dir.path(), &info(), 1).unwrap();
    let files: Vec<_> = (0..3).map(|number| writer.append(&mut page(number)).unwrap().file).collect();
    assert_eq!(files.last().map(String::as_str), Some("crawl-20260301120000-00003.warc.gz"));
}

#[test]
fn a_failed_commit_is_rolled_back_also_over_a_new_file() {
    let dir = tempfile::tempdir().unwrap();
    for (limit, is_written) in [(u64::MAX, true), (u64::MAX, false), (1, true), (1, false)] {
        let mut writer = WarcWriter::open(dir.path(), &info(), limit).unwrap();
        writer.append(&mut page(0)).unwrap();
        let committed = writer.position().unwrap();
        writer.append(&mut page(1)).unwrap();
        if is_written {
            writer.write_out().unwrap();
        }
        writer.roll_back_to(Some(&committed)).unwrap();
        writer.append(&mut page(2)).unwrap();
        let Position { file, offset } = writer.position().unwrap();
        writer.sync().unwrap();
        assert_eq!(dir.path().join(&file).metadata().unwrap().len(), offset);
        let pages: Vec<String> = [committed.file.clone(), file]
            .iter()
            .flat_map(|file| Reader::open(&dir.path().join(file)).unwrap())
            .filter_map(|record| record.unwrap().field("WARC-Target-URI").map(str::to_owned))
            .collect();
        assert!(pages.iter().all(|url| !url.ends_with("/1")) && pages.iter().any(|url| url.ends_with("/2")));
    }
    let mut writer = WarcWriter::open(&dir.path().join("new"), &info(), u64::MAX).unwrap();
    writer.append(&mut page(0)).unwrap();
    writer.roll_back_to(None).unwrap();
    assert_eq!(writer.append(&mut page(1)).unwrap().file, "crawl-20260301120000-00002.warc.gz");
}
