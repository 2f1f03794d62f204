//! `resource` records of DNS answers (WARC 1.1 section 6.4.3: a target of the scheme `dns`, RFC 4501, has a block of the type `text/dns`,
//! RFC 4027).

use super::digest::sha1;
use super::exchange::Encoded;
use super::fields::{Fields, date, record_id};
use super::member;

/// The URL of a name's addresses, as crawlers write it: `dns:www.example.org`.
pub(crate) fn dns_url(host: &str) -> String {
    format!("dns:{host}")
}

impl Encoded {
    /// Encodes what name servers answered for a name. The block is that of other crawlers (Heritrix): a line with the time, 14 digits,
    /// then the records, each a line of a master file.
    pub fn of_dns_answer(host: &str, at: jiff::Timestamp, records: &[String]) -> Self {
        let mut block = at.strftime("%Y%m%d%H%M%S\n").to_string();
        for record in records {
            block.extend(record.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
            block.push('\n');
        }
        let url = dns_url(host);
        let nanosecond = at.as_nanosecond().to_be_bytes();
        let id = record_id(&[b"resource", url.as_bytes(), &nanosecond, block.as_bytes()]);
        let digest = sha1(&[block.as_bytes()]);
        let mut fields = Fields::new("resource");
        fields.add("WARC-Record-ID", &id);
        fields.add("WARC-Date", &date(at));
        fields.add("WARC-Target-URI", &url);
        fields.add("WARC-Payload-Digest", &digest);
        fields.add("WARC-Block-Digest", &digest);
        fields.add("Content-Type", "text/dns");
        let head = fields.finish(block.len());
        let mut bytes = Vec::new();
        let stamp =
            member::append_named(&mut bytes, &[head.as_bytes(), block.as_bytes(), b"\r\n\r\n"], false);
        Self {
            response_length: bytes.len() as u64,
            bytes,
            stamps: vec![stamp],
            payload_digest: digest.clone(),
            block_digest: digest,
            at,
            record_id: id,
            responded: None,
        }
    }
}
