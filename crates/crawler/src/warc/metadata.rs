//! `metadata` records: how a URL was found, how long the request took, what the page says of its use, and why there is no response.

use super::digest::sha1;
use super::exchange::Encoded;
use super::fields::{Fields, add, date, record_id};
use super::member;

/// What a `metadata` record says: lines of `application/warc-fields` (WARC 1.1 section 6.6).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The URL that it is about, without userinfo and fragment.
    pub url: String,
    /// When the request was sent.
    pub at: jiff::Timestamp,
    /// The lines; a control character of a value becomes a space.
    pub lines: Vec<(&'static str, String)>,
}

impl Metadata {
    /// Makes a record without lines.
    pub fn new(url: &str, at: jiff::Timestamp) -> Self {
        Self { url: url.to_owned(), at, lines: Vec::new() }
    }

    /// Adds a line.
    pub fn say(&mut self, name: &'static str, value: impl Into<String>) {
        self.lines.push((name, value.into()));
    }
}

impl Encoded {
    /// Encodes a record that no response goes with: the request failed, or its content is kept out.
    pub fn of_metadata(metadata: &Metadata) -> Self {
        let mut encoded = Self {
            bytes: Vec::new(),
            response_length: 0,
            stamps: Vec::new(),
            payload_digest: String::new(),
            block_digest: String::new(),
            at: metadata.at,
            record_id: String::new(),
            responded: None,
        };
        let (id, block_digest) = encoded.append_metadata(metadata, None);
        (encoded.record_id, encoded.block_digest) = (id, block_digest);
        encoded.response_length = encoded.bytes.len() as u64;
        encoded
    }

    /// Adds a record about the first one, with the time of that.
    #[must_use]
    pub fn with_metadata(mut self, metadata: &Metadata) -> Self {
        let concurrent = self.record_id.clone();
        self.append_metadata(metadata, Some(&concurrent));
        self
    }

    fn append_metadata(&mut self, metadata: &Metadata, concurrent: Option<&str>) -> (String, String) {
        let mut block = String::new();
        for (name, value) in &metadata.lines {
            add(&mut block, name, value);
        }
        let nanosecond = self.at.as_nanosecond().to_be_bytes();
        let id = record_id(&[b"metadata", metadata.url.as_bytes(), &nanosecond, block.as_bytes()]);
        let digest = sha1(&[block.as_bytes()]);
        let mut fields = Fields::new("metadata");
        fields.add("WARC-Record-ID", &id);
        fields.add("WARC-Date", &date(self.at));
        fields.add("WARC-Target-URI", &metadata.url);
        if let Some(concurrent) = concurrent {
            fields.add("WARC-Concurrent-To", concurrent);
        }
        fields.add("WARC-Block-Digest", &digest);
        fields.add("Content-Type", "application/warc-fields");
        let head = fields.finish(block.len());
        let parts = [head.as_bytes(), block.as_bytes(), b"\r\n\r\n"];
        let stamp = member::append_named(&mut self.bytes, &parts, false);
        self.stamps.push(stamp);
        (id, digest)
    }
}
