//! A disk that is full in the middle of a record.

use super::{info, page};
use crate::warc::{Error, Reader, WarcWriter};
use std::process::Command;

const DIR: &str = "CRAWL_TEST_FULL_DISK";
const WRITER: &str = "warc::tests::disk_full::writes_until_the_disk_is_full";

/// The test below runs this in a process whose files can't grow beyond 4 KB (`ulimit -f`): a write there
/// stores a part of its bytes and fails on the rest, as on a full disk. In an ordinary run it has nothing to
/// do.
#[test]
fn writes_until_the_disk_is_full() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let mut writer = WarcWriter::open(dir.as_ref(), &info(), u64::MAX).unwrap();
    let mut appended = 0;
    let refused = loop {
        match writer.append(&mut page(appended)).and_then(|_| writer.write_out()) {
            Ok(()) => appended += 1,
            Err(refused) => break refused,
        }
        assert!(appended < 100, "the limit doesn't hold");
    };
    assert!(matches!(refused, Error::Io { doing: "write to", .. }), "{refused}");
    // Refused again, several records at once too, and still whole.
    for number in 50..53 {
        writer.append(&mut page(appended + number)).unwrap();
    }
    assert!(writer.write_out().is_err());
    writer.sync().unwrap();
    let end = writer.position().unwrap();
    let path = std::path::Path::new(&dir).join(end.file);
    assert_eq!(path.metadata().unwrap().len(), end.offset);
    assert_eq!(Reader::open(&path).unwrap().map(Result::unwrap).count(), 1 + 2 * appended);
    std::fs::write(std::path::Path::new(&dir).join("verdict"), format!("{appended} whole")).unwrap();
}

#[cfg(unix)]
#[test]
fn on_a_full_disk_a_file_keeps_its_whole_records() {
    let dir = tempfile::tempdir().unwrap();
    let ended = Command::new("sh")
        .arg("-c")
        .arg(format!("trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact {WRITER}"))
        .arg(std::env::current_exe().unwrap())
        .env(DIR, dir.path())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    let verdict = std::fs::read_to_string(dir.path().join("verdict")).unwrap();
    assert!(verdict.ends_with(" whole") && !verdict.starts_with("0 "), "{verdict}");
}
