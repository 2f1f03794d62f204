use serde_json::json;

use super::*;

fn with(url: &str, digest: u64, simhash: Option<u64>) -> PageRecord {
    PageRecord { digest: Some(format!("blake3:{digest:016x}{:048}", 0)), simhash, ..page(url, Some(200)) }
}

#[test]
fn pages_that_say_the_same_or_nearly_are_in_one_group() {
    let mut crawl = Crawl::new();
    let far = 0xffff_0000_ffff_0000;
    for record in [
        // A chain: 0, 3 bits, 6 bits.
        with("http://c.test/three", 3, Some(0b11_1111)),
        with("http://b.test/two", 2, Some(0b111)),
        with("http://a.test/one", 1, Some(0)),
        with("http://a.test/copy", 1, Some(0)),
        // 4 bits from everything.
        with("http://a.test/near", 4, Some(0b1111 << 32)),
        with("http://a.test/far", 5, Some(far)),
        // The same short text, and another one.
        with("http://z.test/", 6, None),
        with("http://y.test/", 6, None),
        with("http://x.test/", 7, None),
        // Nothing of it is kept.
        PageRecord { withheld: true, ..with("http://a.test/noindex", 1, Some(0)) },
    ] {
        crawl.store_page(record, Vec::new());
    }
    let rows = jsonl(&crawl.view(), Table::Duplicates);
    let brief: Vec<_> =
        rows.iter().map(|row| json!([row["group_url"], row["url"], row["exact"], row["distance"]])).collect();
    assert_eq!(
        brief,
        [
            json!(["http://y.test/", "http://y.test/", true, null]),
            json!(["http://y.test/", "http://z.test/", true, null]),
            json!(["http://a.test/copy", "http://a.test/copy", true, 0]),
            json!(["http://a.test/copy", "http://a.test/one", true, 0]),
            json!(["http://a.test/copy", "http://b.test/two", false, 3]),
            json!(["http://a.test/copy", "http://c.test/three", false, 6]),
        ]
    );
    assert_eq!(rows[4]["simhash"], "0000000000000007");
}

#[test]
fn near_fingerprints_are_found_wherever_they_differ() {
    for bits in [[0, 1, 2], [15, 16, 63], [0, 31, 47], [7, 21, 60], [16, 32, 48]] {
        let mut crawl = Crawl::new();
        let one = 0x0123_4567_89ab_cdef_u64;
        let two = bits.iter().fold(one, |two, bit| two ^ 1 << bit);
        crawl.store_page(with("http://a.test/one", 1, Some(one)), Vec::new());
        crawl.store_page(with("http://a.test/two", 2, Some(two)), Vec::new());
        assert_eq!(jsonl(&crawl.view(), Table::Duplicates).len(), 2, "{bits:?}");
    }
}
