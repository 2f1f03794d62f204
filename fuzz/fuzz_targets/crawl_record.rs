//! Any bytes are a stored value: a record, links, a block of the ledger, compressed bytes. The first byte says what.

#![no_main]

use crawler::record::{
    PageRecord, RepairRecord, RobotsRecord, SiteFileRecord, SitemapRecord, decode_links, encode_links,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let Some((first, value)) = data.split_first() else { return };
        match first % 8 {
            0 => drop(serde_json::from_slice::<PageRecord>(value)),
            1 => drop(RobotsRecord::read(value)),
            2 => drop(SiteFileRecord::read(value)),
            3 => drop(SitemapRecord::read(value)),
            4 => drop(RepairRecord::read(value)),
            5 => drop(crawler::ledger::read(value)),
            6 => drop(crawler::packed::unpack(value)),
            _ => {
                if let Ok(links) = decode_links(value) {
                    let again = encode_links(&links).expect("links can be written");
                    assert_eq!(decode_links(&again).expect("they can be read"), links);
                }
            }
        }
    });
});
