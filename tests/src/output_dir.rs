//! Looks into a crawl's output directory byte by byte, for what should not be there.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crawler::store::{SledStore, Store, Tree};

/// Returns every file under a directory that holds one of the texts, as it is or within gzip members or zstd frames.
///
/// # Panics
/// If the directory can't be read.
pub fn files_with(directory: &Path, texts: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for path in files(directory) {
        let bytes = fs::read(&path).expect("a file that was just listed");
        let forms = unpacked(&bytes);
        for text in texts {
            if forms.iter().any(|form| has(form, text.as_bytes())) {
                found.push((path.clone(), (*text).to_owned()));
            }
        }
    }
    found
}

/// Every file under a directory, sorted.
///
/// # Panics
/// If the directory can't be read.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("the directory can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The `WARC-Target-URI` of every response record of a page in the archives of a directory, in the order of the files.
///
/// # Panics
/// If the directory can't be read.
pub fn archived_responses(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in files(directory) {
        let bytes = fs::read(&path).expect("a file that was just listed");
        let plain = unpacked(&bytes).pop().unwrap_or_default();
        let text = String::from_utf8_lossy(&plain);
        for record in text.split("WARC/1.1\r\n").filter(|record| is_page(record)) {
            let uri = record.lines().find_map(|line| line.strip_prefix("WARC-Target-URI: "));
            found.extend(uri.map(str::to_owned));
        }
    }
    found
}

/// Whether a record is a response, and none to a request for robots.txt, a sitemap or a consent file.
fn is_page(record: &str) -> bool {
    let head = record.split("\r\n\r\n").next().unwrap_or_default();
    head.contains("WARC-Type: response\r\n") && !head.contains("\r\nCrawl-Purpose: ")
}

/// Every value of a crawl's database, with the name of its tree and its key, as it is and with what was packed into it.
///
/// # Panics
/// If the database can't be read.
pub fn database_values(db: &Path) -> Vec<(String, Vec<u8>)> {
    let store = SledStore::open(db).expect("the database can be opened");
    let mut values = Vec::new();
    for tree in Tree::ALL {
        for pair in store.scan(tree, &[]) {
            let (key, value) = pair.expect("the database can be read");
            let place = format!("tree {} key {:x?}", tree.name(), key);
            values.extend(unpacked(&value).into_iter().map(|form| (place.clone(), form)));
            values.push((place, key));
        }
    }
    values
}

/// Every text between two words in bytes, both included: `zq-` and `-qz` give `zq-page-title-qz`.
pub fn marked(bytes: &[u8], open: &str, close: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for at in memchr::memmem::find_iter(bytes, open) {
        let rest = &bytes[at..(at + 80).min(bytes.len())];
        if let Some(end) = memchr::memmem::find(rest, close.as_bytes())
            // A truncated one has no end of its own.
            && !has(&rest[open.len()..end.max(open.len())], open.as_bytes())
        {
            found.insert(String::from_utf8_lossy(&rest[..end + close.len()]).into_owned());
        }
    }
    found
}

/// The same in every file under a directory, as it is and with what was packed into it.
///
/// # Panics
/// If the directory can't be read.
pub fn marked_in_files(directory: &Path, open: &str, close: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files(directory) {
        for form in unpacked(&fs::read(&path).expect("a file that was just listed")) {
            found.append(&mut marked(&form, open, close));
        }
    }
    found
}

/// The bytes as they are, and everything that was packed into them. A zstd frame that is read to its end counts as what it unpacks to and not as it is: its bytes
/// have the parts of a text that weren't repeated next to each other, so `zq--title-qz` where the page has `/long-name` and `zq-long-name-title-qz`.
fn unpacked(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut as_it_is = Vec::with_capacity(bytes.len());
    let mut kept_up_to = 0;
    let mut frames = Vec::new();
    for at in memchr::memmem::find_iter(bytes, &[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut plain = Vec::new();
        let whole = zstd::stream::read::Decoder::new(&bytes[at..])
            .is_ok_and(|frame| frame.single_frame().take(16 << 20).read_to_end(&mut plain).is_ok());
        if whole
            && plain.len() < 16 << 20
            && at >= kept_up_to
            && let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(&bytes[at..])
        {
            as_it_is.extend_from_slice(&bytes[kept_up_to..at]);
            // So that what is before it and what is after it make no text.
            as_it_is.push(0);
            kept_up_to = at + length;
        }
        frames.push(plain);
    }
    as_it_is.extend_from_slice(&bytes[kept_up_to..]);
    let mut forms = vec![as_it_is];
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        // A cut last member still gives what came before it.
        let _count = flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain);
        forms.push(plain);
    }
    forms.append(&mut frames);
    forms
}

fn has(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn what_a_frame_leaves_of_a_text_is_no_text_of_its_own() {
        let page = b"/robots-none-header zq-robots-none-header-title-qz";
        let frame = zstd::bulk::compress(page, 1).unwrap();
        assert_eq!(marked(&frame, "zq-", "-qz"), BTreeSet::from(["zq--title-qz".to_owned()]));
        let kept = BTreeSet::from(["zq-robots-none-header-title-qz".to_owned()]);
        let all = |bytes: &[u8]| -> BTreeSet<String> {
            unpacked(bytes).iter().flat_map(|form| marked(form, "zq-", "-qz")).collect()
        };
        assert_eq!(all(&[b"before ".as_slice(), &frame, b" after"].concat()), kept);
        // Beside it, and in one that is cut, texts count as they are.
        let beside = all(&[b"zq-a-qz".as_slice(), &frame, b"zq-b-qz", &frame[..frame.len() - 1]].concat());
        assert!(
            beside.is_superset(&["zq-a-qz", "zq-b-qz", "zq--title-qz"].map(str::to_owned).into()),
            "{beside:?}"
        );
    }

    #[test]
    fn texts_are_found_in_every_form_that_a_crawl_writes() {
        let directory = tempfile::tempdir().unwrap();
        let text = b"before the-marker after".repeat(20);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&text).unwrap();
        let mut members = gzip.finish().unwrap();
        let mut second = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        second.write_all(b"second-member").unwrap();
        members.extend(second.finish().unwrap());
        let mut framed = b"\x01key".to_vec();
        framed.extend(zstd::encode_all(&text[..], 3).unwrap());
        fs::create_dir(directory.path().join("db")).unwrap();
        for (name, bytes) in
            [("plain", text.as_slice()), ("a.gz", &members), ("db/zstd", &framed), ("none", b"-")]
        {
            fs::write(directory.path().join(name), bytes).unwrap();
        }
        let found = files_with(directory.path(), &["the-marker", "second-member", "absent"]);
        let found: Vec<_> = found
            .iter()
            .map(|(path, text)| {
                (path.strip_prefix(directory.path()).unwrap().to_str().unwrap(), text.as_str())
            })
            .collect();
        assert_eq!(
            found,
            [
                ("a.gz", "the-marker"),
                ("a.gz", "second-member"),
                ("db/zstd", "the-marker"),
                ("plain", "the-marker")
            ]
        );
    }
}
