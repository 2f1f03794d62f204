//! What is written of an archive, and what is omitted.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::frontier::HostId;
use crate::page_store::{Change, PageWriter};
use crate::record::{Archived, PageRecord, Withdrawal};
use crate::store::{AnyStore, MemoryStore, Write as Put};
use crate::warc::{Exchange, WarcInfo, WarcWriter, encode};
use page::url::Fingerprint;

fn lines(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| format!("test,a)/{number:05} 20260301120000 {{\"n\": {number}}}").into_bytes())
        .collect()
}

#[test]
fn each_line_of_the_index_of_blocks_leads_to_a_block_that_begins_with_it() {
    for count in [0, 1, 1023, 1024, 1025, 3000] {
        let mut blocks = Blocks::new(None).unwrap();
        let mut out = Vec::new();
        let lines = lines(count);
        for line in &lines {
            blocks.push(line, &mut out).unwrap();
        }
        blocks.finish(&mut out).unwrap();
        let mut index = Vec::new();
        blocks.copy_index(&mut index).unwrap();
        let index = String::from_utf8(index).unwrap();
        let mut rows = index.lines();
        assert_eq!(
            rows.next(),
            Some("!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": \"index.cdx.gz\"}")
        );
        let (mut at, mut read) = (0, Vec::new());
        for row in rows {
            let (first, json) = row.split_once(" {").unwrap();
            let json: serde_json::Value = serde_json::from_str(&format!("{{{json}")).unwrap();
            let (offset, length) = (json["offset"].as_u64().unwrap(), json["length"].as_u64().unwrap());
            assert_eq!(offset, at, "one behind the other");
            at += length;
            let member = &out[offset as usize..at as usize];
            let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
            digest.update(member);
            assert_eq!(json["digest"], package::sha256(digest));
            let mut text = String::new();
            flate2::read::GzDecoder::new(member).read_to_string(&mut text).unwrap();
            assert!(text.starts_with(first) && text.ends_with('\n'));
            assert!(text.lines().count() <= 1024);
            read.extend(text.lines().map(|line| line.as_bytes().to_vec()));
        }
        assert_eq!((read, at), (lines, out.len() as u64));
    }
}

/// A crawl in `root` with an archived page for each URL, and a torn record behind what is committed.
fn crawl(root: &Path, pages: &[(&str, Option<&str>)]) -> AnyStore {
    let at = "2026-03-01T12:00:00Z".parse().unwrap();
    let info = WarcInfo::example(at);
    let mut writer = WarcWriter::open(&root.join("warc"), &info, u64::MAX).unwrap();
    let store = MemoryStore::default();
    let mut changes = Vec::new();
    for (number, (url, unavailable_after)) in pages.iter().enumerate() {
        let body = format!("<html><body>zq-{number} {}</body></html>", "word ".repeat(200));
        let place = writer.append(&mut encode(&Exchange {
            url,
            request_head: b"GET / HTTP/1.1\r\n\r\n",
            response_head: Some(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
            status: 200,
            version: "HTTP/1.1",
            headers: &[],
            wire_body: body.as_bytes(),
            truncated: None,
            tls: None,
            purpose: None,
            ip: None,
            fetched_at: at,
        }));
        let place = place.unwrap();
        let record = PageRecord {
            v: 1,
            url: (*url).to_owned(),
            status: Some(200),
            charset: Some("utf-8".to_owned()),
            content_type: Some("text/html".to_owned()),
            title: Some(format!("Title {number}")),
            fetched_at: at,
            indexed: true,
            archived: true,
            unavailable_after: unavailable_after.map(|date| date.parse().unwrap()),
            warc: Some(Archived { file: place.file, offset: place.offset, length: place.length }),
            ..PageRecord::default()
        };
        let record = serde_json::to_vec(&record).unwrap();
        let page = Fingerprint(number as u64);
        changes.push(Change { host: HostId(0), page, record, links: None });
    }
    let end = writer.position().unwrap();
    writer.sync().unwrap();
    let path = root.join("warc").join(&end.file);
    let mut torn = std::fs::read(&path).unwrap();
    torn.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0]);
    std::fs::write(&path, torn).unwrap();
    let mut puts = PageWriter::open(&store).unwrap().store(&store, changes).unwrap();
    let end = serde_json::json!({ "file": end.file, "offset": end.offset });
    puts.push(Put::put(Tree::Meta, "warc_end", end.to_string()));
    store.commit(puts).unwrap();
    Arc::new(store)
}

/// The members of a ZIP file with their contents; each is checked against its CRC.
fn members(zip: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let archive = rawzip::ZipArchive::from_slice(zip).unwrap();
    let mut entries = archive.entries();
    let mut members = BTreeMap::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        let path = entry.file_path().try_normalize().unwrap().as_ref().to_owned();
        let local = archive.get_entry(entry.wayfinder()).unwrap();
        let mut content = Vec::new();
        if entry.compression_method() == rawzip::CompressionMethod::STORE {
            local.verifying_reader(local.data()).read_to_end(&mut content).unwrap();
        } else {
            let inflated = flate2::bufread::DeflateDecoder::new(local.data());
            local.verifying_reader(inflated).read_to_end(&mut content).unwrap();
        }
        assert!(members.insert(path, content).is_none(), "each name once");
    }
    members
}

/// A crawl in a directory.
fn part<'a>(root: &'a Path, archive: &'a PathBuf, store: &'a AnyStore) -> Part<'a> {
    let (archive, stores) = (std::slice::from_ref(archive), std::slice::from_ref(store));
    Part { root: Some(root), archive, stores, limits: ExtractLimits::default() }
}

fn written(parts: &[(&Path, &AnyStore)]) -> (Written, BTreeMap<String, Vec<u8>>) {
    let archives: Vec<_> = parts.iter().map(|(root, _)| root.join("warc")).collect();
    let parts: Vec<_> =
        archives.iter().zip(parts).map(|(archive, (root, store))| part(root, archive, store)).collect();
    let now = "2026-03-02T00:00:00Z".parse().unwrap();
    let mut out = Vec::new();
    let written = write(&parts, Options { with_texts: true, key: None, now }, &mut out).unwrap();
    (written, members(&out))
}

fn index(members: &BTreeMap<String, Vec<u8>>) -> Vec<serde_json::Value> {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&*members["indexes/index.cdx.gz"]).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap()).collect()
}

#[test]
fn what_is_committed_is_written_and_what_may_not_be_shown_any_more_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let pages = [
        ("http://a.test/0", None),
        ("http://a.test/1", Some("2026-03-01T20:00:00Z")),
        ("http://a.test/2", None),
        ("http://a.test/3", Some("2026-03-02T20:00:00Z")),
    ];
    let store = crawl(dir.path(), &pages);
    // A capture whose removal was interrupted.
    let page = crate::page_store::scan(&store).nth(2).unwrap().unwrap().record().unwrap();
    let open =
        Withdrawal::new(&page.url, page.warc.unwrap(), "2026-03-01T13:00:00Z".parse().unwrap(), "noindex");
    store.commit(vec![Put::put(Tree::Withdrawn, open.key(), serde_json::to_vec(&open).unwrap())]).unwrap();

    let (written, members) = written(&[(dir.path(), &store)]);
    assert_eq!((written.pages, written.records, written.files), (3, 2, 1));
    let file = "crawl-20260301120000-00001.warc.gz";
    let copy = tempfile::tempdir().unwrap();
    std::fs::write(copy.path().join(file), &members[&format!("archive/{file}")]).unwrap();
    let records: Vec<_> =
        warc::Reader::open(&copy.path().join(file)).unwrap().map(|record| record.unwrap()).collect();
    let kinds: Vec<_> = records.iter().map(warc::Record::kind).collect();
    let of_page = ["response", "request"];
    let left_out = ["metadata", "request"];
    assert_eq!(kinds, [&["warcinfo"][..], &of_page, &left_out, &left_out, &of_page].concat());
    let has = |text: &str| records.iter().any(|record| String::from_utf8_lossy(&record.block).contains(text));
    assert_eq!(["zq-0", "zq-1", "zq-2", "zq-3"].map(has), [true, false, false, true]);
    // Nothing moved: the index leads to the records.
    for row in index(&members) {
        let number = |name: &str| row[name].as_str().unwrap().parse::<u64>().unwrap();
        let place =
            warc::Location { file: file.to_owned(), offset: number("offset"), length: number("length") };
        let record = warc::read(copy.path(), &place).unwrap();
        assert_eq!((record.kind(), record.field("WARC-Target-URI")), ("response", row["url"].as_str()));
    }
    let list = String::from_utf8(members["pages/pages.jsonl"].clone()).unwrap();
    assert!(list.contains("Title 0") && !list.contains("Title 1"), "{list}");
    // The crawl itself is as it was.
    let stored = std::fs::read(dir.path().join("warc").join(file)).unwrap();
    assert_eq!(stored.len(), members[&format!("archive/{file}")].len() + 5, "without the torn record");
}

#[test]
fn files_of_two_crawls_with_one_name_are_told_apart() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let stores =
        [crawl(one.path(), &[("http://a.test/", None)]), crawl(two.path(), &[("http://b.test/", None)])];
    let (written, members) = written(&[(one.path(), &stores[0]), (two.path(), &stores[1])]);
    assert_eq!((written.pages, written.records, written.files), (2, 2, 2));
    let files: Vec<_> =
        index(&members).iter().map(|row| row["filename"].as_str().unwrap().to_owned()).collect();
    assert_eq!(files, ["crawl-20260301120000-00001.warc.gz", "2-crawl-20260301120000-00001.warc.gz"]);
    assert!(files.iter().all(|file| members.contains_key(&format!("archive/{file}"))));
}

#[test]
fn a_crawl_without_an_archive_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let store: AnyStore = Arc::new(MemoryStore::default());
    let archive = dir.path().join("warc");
    let part = part(dir.path(), &archive, &store);
    let now = "2026-03-02T00:00:00Z".parse().unwrap();
    let mut out = Vec::new();
    let refused = write(&[part], Options { with_texts: false, key: None, now }, &mut out).unwrap_err();
    assert!(matches!(refused, WaczError::NoArchive(_)) && out.is_empty(), "{refused:?}");
}

/// A file of which zeros take no space.
struct Sparse {
    file: std::fs::File,
    end: u64,
}

impl Write for Sparse {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if buf.iter().any(|byte| *byte != 0) {
            self.file.seek(SeekFrom::Start(self.end))?;
            self.file.write_all(buf)?;
        }
        self.end += buf.len() as u64;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)
    }
}

/// Source: APPNOTE.TXT 6.3.10, sections 4.3.9, 4.3.12, 4.3.14 to 4.3.16 and 4.5.3. The file is read here by its bytes, not by the library that
/// wrote it.
#[test]
#[ignore = "a minute: it writes 4 GiB of zeros; `tests/run --all` runs it"]
fn members_and_offsets_above_4_gib_are_zip64() {
    const LARGE: u64 = (4 << 30) + 5;
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("large.wacz");
    let file = std::fs::File::create_new(&path).unwrap();
    let now = "2026-03-02T00:00:00Z".parse().unwrap();
    let mut package = Package::new(Sparse { file, end: 0 }, now);
    let zeros = vec![0; 1 << 20];
    let large = |out: &mut dyn Write| {
        let mut left = LARGE;
        while left > 0 {
            let part = left.min(zeros.len() as u64);
            out.write_all(&zeros[..part as usize])?;
            left -= part;
        }
        Ok(())
    };
    package.member("archive/large.warc.gz", Packing::Stored, large).unwrap();
    package.member("pages/pages.jsonl", Packing::Deflated, |out| Ok(out.write_all(b"behind it\n")?)).unwrap();
    package.finish(&[], None, None).unwrap();

    let mut file = std::fs::File::open(&path).unwrap();
    let end = file.metadata().unwrap().len();
    let mut tail = vec![0; 1 << 12];
    file.seek(SeekFrom::Start(end - tail.len() as u64)).unwrap();
    file.read_exact(&mut tail).unwrap();
    let number = |bytes: &[u8], at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let (end_record, locator) = (tail.len() - 22, tail.len() - 22 - 20);
    assert_eq!(tail[end_record..end_record + 4], *b"PK\x05\x06");
    assert_eq!(
        number(&tail, end_record + 16, 4),
        0xFFFF_FFFF,
        "the offset of the directory is in the ZIP64 record"
    );
    assert_eq!(tail[locator..locator + 4], *b"PK\x06\x07");
    let zip64 = (number(&tail, locator + 8, 8) + tail.len() as u64 - end) as usize;
    assert_eq!(tail[zip64..zip64 + 4], *b"PK\x06\x06");
    assert_eq!((number(&tail, zip64 + 24, 8), number(&tail, zip64 + 32, 8)), (4, 4), "members");
    let (length, offset) = (number(&tail, zip64 + 40, 8), number(&tail, zip64 + 48, 8));
    assert!(offset > LARGE);

    let mut at = (offset + tail.len() as u64 - end) as usize;
    let directory_end = at + length as usize;
    let mut members = Vec::new();
    while at < directory_end {
        assert_eq!(tail[at..at + 4], *b"PK\x01\x02");
        let (name, extra) = (number(&tail, at + 28, 2) as usize, number(&tail, at + 30, 2) as usize);
        let comment = number(&tail, at + 32, 2) as usize;
        let path = String::from_utf8(tail[at + 46..at + 46 + name].to_vec()).unwrap();
        // Uncompressed size, compressed size, offset: in the extra field 0x0001, in this order, those that don't fit.
        let mut values = [number(&tail, at + 24, 4), number(&tail, at + 20, 4), number(&tail, at + 42, 4)];
        let mut field = at + 46 + name;
        let extra_end = field + extra;
        while field < extra_end {
            let (id, size) = (number(&tail, field, 2), number(&tail, field + 2, 2) as usize);
            let mut value = field + 4;
            for large in values.iter_mut().filter(|value| **value == 0xFFFF_FFFF && id == 1) {
                *large = number(&tail, value, 8);
                value += 8;
            }
            field += 4 + size;
        }
        members.push((path, values));
        at = extra_end + comment;
    }
    assert_eq!(members[0], ("archive/large.warc.gz".to_owned(), [LARGE, LARGE, 0]));
    assert_eq!(members[1].0, "pages/pages.jsonl");
    assert_eq!(members[1].1[0], 10);
    // What the directory says of an offset is where the member begins.
    for (path, [_, _, offset]) in members {
        let mut head = vec![0; 30 + path.len()];
        file.seek(SeekFrom::Start(offset)).unwrap();
        file.read_exact(&mut head).unwrap();
        assert_eq!((&head[..4], &head[30..]), (&b"PK\x03\x04"[..], path.as_bytes()));
    }
}
