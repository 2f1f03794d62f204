//! What goes in comes out.

use super::{archive, exchange, info, page};
use crate::warc::{Encoded, Location, Reader, Record, Truncated, WarcWriter, encode, read};
use flate2::bufread::GzDecoder;
use proptest::prelude::*;
use std::io::Read;

/// Stores one exchange in a fresh directory; gives back what a reader finds there.
fn stored(encoded: &Encoded) -> (Record, Vec<Record>) {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = WarcWriter::open(dir.path(), &info(), u64::MAX).unwrap();
    let location = writer.append(&mut encoded.clone()).unwrap();
    writer.sync().unwrap();
    let response = read(dir.path(), &location).unwrap();
    let all = Reader::open(&dir.path().join(&location.file)).unwrap().map(Result::unwrap).collect();
    (response, all)
}

#[test]
fn a_file_holds_warcinfo_then_response_and_request_of_each_exchange() {
    let (response, all) = stored(&page(3));
    assert_eq!(all.iter().map(Record::kind).collect::<Vec<_>>(), ["warcinfo", "response", "request"]);
    assert_eq!(all[1], response);

    let warcinfo = String::from_utf8(all[0].block.clone()).unwrap();
    assert_eq!(warcinfo.lines().count(), 7, "{warcinfo}");
    assert!(warcinfo.contains("\r\nrobots: obeyed  isPartOf: somebody else's\r\n"), "{warcinfo}");
    assert_eq!(all[0].field("WARC-Filename"), Some("crawl-20260301120000-00001.warc.gz"));
    assert_eq!(all[0].field("Content-Type"), Some("application/warc-fields"));

    for (name, value) in [
        ("WARC-Target-URI", "http://www.example.org/3"),
        ("WARC-Date", "2026-03-01T12:00:01.250000Z"),
        ("WARC-IP-Address", "192.0.2.7"),
        ("Content-Type", "application/http;msgtype=response"),
    ] {
        assert_eq!(response.field(name), Some(value));
    }
    assert_eq!(all[2].field("WARC-Concurrent-To"), response.field("WARC-Record-ID"));
    for record in &all[1..] {
        assert_eq!(record.field("WARC-Warcinfo-ID"), all[0].field("WARC-Record-ID"));
    }
    assert_eq!(all[0].field("WARC-Warcinfo-ID"), None);
    assert_eq!(all[2].field("Content-Type"), Some("application/http;msgtype=request"));
    assert_eq!(all[2].block, b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n");
    let (head, body) = response.http().unwrap();
    assert_eq!(head, b"HTTP/1.1 200 \r\nContent-Type: text/html\r\n\r\n");
    assert_eq!(body, b"<title>3</title>a word a word a word ");
}

/// Checked with flate2 alone, without our reader: the bytes are one gzip member per record, and nothing
/// besides.
#[test]
fn each_record_is_one_gzip_member() {
    let dir = tempfile::tempdir().unwrap();
    let end = archive(dir.path(), 4).pop().unwrap();
    let bytes = std::fs::read(dir.path().join(&end.file)).unwrap();
    assert_eq!(bytes.len() as u64, end.offset);
    let mut rest = bytes.as_slice();
    let mut starts = Vec::new();
    while !rest.is_empty() {
        let mut text = Vec::new();
        GzDecoder::new(&mut rest).read_to_end(&mut text).unwrap();
        assert!(text.starts_with(b"WARC/1.1\r\nWARC-") && text.ends_with(b"\r\n\r\n"));
        starts.push(text);
    }
    assert_eq!(starts.len(), 1 + 2 * 4);
}

#[test]
fn the_location_gives_the_response_without_reading_anything_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = WarcWriter::open(dir.path(), &info(), 4000).unwrap();
    let places: Vec<Location> = (0..40).map(|number| writer.append(&mut page(number)).unwrap()).collect();
    writer.write_out().unwrap();
    for (number, place) in places.iter().enumerate().rev() {
        let record = read(dir.path(), place).unwrap();
        assert_eq!(
            record.field("WARC-Target-URI"),
            Some(format!("http://www.example.org/{number}").as_str())
        );
    }
}

#[test]
fn equal_exchanges_give_equal_bytes_and_any_difference_another_record_id() {
    let headers = [("A".to_owned(), b"b".to_vec())];
    let one = exchange("http://a.test/", &headers, b"body");
    assert_eq!(encode(&one), encode(&one.clone()));
    let mut later = one.clone();
    later.fetched_at = "2026-03-01T12:00:01.250000001Z".parse().unwrap();
    for other in
        [exchange("http://a.test/b", &headers, b"body"), exchange("http://a.test/", &headers, b"bodz"), later]
    {
        assert_ne!(encode(&one).record_id, encode(&other).record_id);
    }
}

#[test]
fn both_records_name_the_protocols_and_the_cipher_suite() {
    let mut one = exchange("https://a.test/", &[], b"body");
    (one.version, one.tls) = ("HTTP/2", Some(("tls/1.3", "TLS_AES_256_GCM_SHA384")));
    for record in &stored(&encode(&one)).1[1..] {
        let protocols: Vec<_> = record.fields.iter().filter(|(name, _)| name == "WARC-Protocol").collect();
        assert_eq!(protocols.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["h2", "tls/1.3"]);
        assert_eq!(record.field("WARC-Cipher-Suite"), Some("TLS_AES_256_GCM_SHA384"));
    }
}

#[test]
fn a_truncated_body_has_its_reason() {
    for (why, word) in
        [(Truncated::Length, "length"), (Truncated::Time, "time"), (Truncated::Disconnect, "disconnect")]
    {
        let mut cut = exchange("http://a.test/", &[], b"half of it");
        cut.truncated = Some(why);
        assert_eq!(stored(&encode(&cut)).0.field("WARC-Truncated"), Some(word));
    }
    assert_eq!(stored(&page(0)).0.field("WARC-Truncated"), None);
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..most),
        prop::collection::vec(prop::sample::select(b"\r\n: aWARC/1\0\xff".as_slice()), 0..most),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_headers_and_body_come_back(
        url in "\\PC{0,40}|[ -~\r\n]{0,40}",
        status in 200_u16..=599,
        headers in prop::collection::vec(("[A-Za-z0-9-]{1,12}|[ -~\r\n]{1,6}", bytes(40)), 0..6),
        body in bytes(3000),
        request in bytes(80),
        dense in any::<bool>(),
    ) {
        let mut headers: Vec<(String, Vec<u8>)> = headers;
        if dense {
            headers.push(("Content-Encoding".to_owned(), b"gzip".to_vec()));
        }
        let mut sent = exchange(&url, &headers, &body);
        (sent.status, sent.request_head) = (status, &request);
        let encoded = encode(&sent);
        let (response, all) = stored(&encoded);

        prop_assert_eq!(all.len(), 3);
        prop_assert_eq!(response.length, encoded.response_length);
        prop_assert_eq!(response.http().unwrap().1, body.as_slice());
        prop_assert_eq!(response.field("WARC-Payload-Digest"), Some(encoded.payload_digest.as_str()));
        prop_assert!(all[2].block.starts_with(&request) && all[2].block.ends_with(b"\r\n\r\n"));
        // Each line as it was sent, but for bytes that would end it.
        let head = response.http().unwrap().0;
        let lines = String::from_utf8_lossy(head).into_owned();
        prop_assert_eq!(lines.matches("\r\n").count(), headers.len() + 2);
        let mut rest = &head[head.iter().position(|byte| *byte == b'\n').unwrap() + 1..];
        for (name, value) in &headers {
            let (line, after) = rest.split_at(rest.windows(2).position(|two| two == b"\r\n").unwrap());
            rest = &after[2..];
            let sent = value.iter().map(|byte| if b"\r\n\0".contains(byte) { b' ' } else { *byte });
            let sent: Vec<u8> = sent.collect();
            prop_assert_eq!(line[name.len()], b':');
            prop_assert_eq!(line[name.len() + 1..].trim_ascii(), sent.trim_ascii());
        }
    }
}
