//! One WARC record as read back, and what can be wrong with it.

use super::digest::sha1;

/// A record: its named fields and its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// First byte of its gzip member.
    pub offset: u64,
    /// Bytes of its gzip member.
    pub length: u64,
    /// The named fields in order.
    pub fields: Vec<(String, String)>,
    /// The block: for a response the HTTP head and the stored body.
    pub block: Vec<u8>,
}

/// What is wrong with a stored record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file ends within the record.
    #[error("the file ends within the record")]
    Torn,
    /// The gzip member doesn't decode, or its checksum is wrong.
    #[error("damaged gzip member")]
    Gzip(#[source] std::io::Error),
    /// The member's length isn't the one asked for.
    #[error("the gzip member has another length")]
    MemberLength,
    /// The record is larger than any this crawler writes.
    #[error("record larger than {0} bytes")]
    TooLarge(u64),
    /// No `WARC/1.1` line, or a line that isn't a field.
    #[error("line {0} of the record's head is no WARC 1.1")]
    Head(usize),
    /// A mandatory field is missing.
    #[error("no {0} field")]
    Missing(&'static str),
    /// `Content-Length` doesn't fit the block, or the record doesn't end with two line ends.
    #[error("content-length and block differ")]
    Length,
    /// The response that a revisit refers to isn't in its place.
    #[error("the response that it refers to isn't in its place")]
    Original,
    /// The response that a revisit refers to was removed from the archive.
    #[error("the response that it refers to was removed from the archive")]
    OriginalWithdrawn,
    /// The earlier crawl that has the response isn't where it was.
    #[error("the earlier crawl that has its body isn't at {}", .0.display())]
    EarlierCrawl(std::path::PathBuf),
    /// The named digest isn't that of the bytes stored.
    #[error("{0} doesn't fit")]
    Digest(&'static str),
}

/// Fields that every record has (WARC 1.1 section 5.1).
const MANDATORY: [&str; 4] = ["WARC-Record-ID", "Content-Length", "WARC-Date", "WARC-Type"];

impl Record {
    /// Takes the fields from the bytes of one decoded member; its block is the rest, unchecked.
    pub(super) fn split(mut bytes: Vec<u8>, offset: u64, length: u64) -> Result<Self, Fault> {
        let head_end = memchr::memmem::find(&bytes, b"\r\n\r\n").ok_or(Fault::Head(1))?;
        let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| Fault::Head(1))?;
        let mut lines = head.split("\r\n");
        if lines.next() != Some("WARC/1.1") {
            return Err(Fault::Head(1));
        }
        let mut fields = Vec::with_capacity(16);
        for (index, line) in lines.enumerate() {
            let (name, value) = line.split_once(": ").ok_or(Fault::Head(index + 2))?;
            fields.push((name.to_owned(), value.to_owned()));
        }
        bytes.drain(..head_end + 4);
        Ok(Self { offset, length, fields, block: bytes })
    }

    /// Reads a record from the bytes of one decoded member and checks its length and digests.
    pub(super) fn parse(bytes: Vec<u8>, offset: u64, length: u64) -> Result<Self, Fault> {
        let mut record = Self::split(bytes, offset, length)?;
        for name in MANDATORY {
            record.field(name).ok_or(Fault::Missing(name))?;
        }
        let declared: usize =
            record.field("Content-Length").and_then(|value| value.parse().ok()).ok_or(Fault::Length)?;
        let end = declared.checked_add(4).ok_or(Fault::Length)?;
        if record.block.len() != end || !record.block.ends_with(b"\r\n\r\n") {
            return Err(Fault::Length);
        }
        record.block.truncate(declared);
        record.check_digests()?;
        Ok(record)
    }

    fn check_digests(&self) -> Result<(), Fault> {
        let of_resource = (self.kind() == "resource").then_some(self.block.as_slice());
        for (name, bytes) in [
            ("WARC-Block-Digest", Some(self.block.as_slice())),
            // That of a revisit is of the body of another record.
            // The whole block of a `resource`.
            ("WARC-Payload-Digest", self.http().map(|(_, body)| body).or(of_resource)),
        ] {
            if name == "WARC-Payload-Digest" && self.kind() == "revisit" {
                continue;
            }
            let Some(written) = self.field(name).filter(|written| written.starts_with("sha1:")) else {
                continue;
            };
            if bytes.is_none_or(|bytes| sha1(&[bytes]) != written) {
                return Err(Fault::Digest(name));
            }
        }
        Ok(())
    }

    /// Returns the first field of that name, whatever its case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns `WARC-Type`: `warcinfo`, `request`, `response`.
    pub fn kind(&self) -> &str {
        self.field("WARC-Type").unwrap_or_default()
    }

    /// True where it is in the place of a record that was removed.
    pub(crate) fn is_tombstone(&self) -> bool {
        self.kind() == "metadata" && self.block.starts_with(b"withdrawn: ")
    }

    /// True of a DNS answer, and of a record about a request for robots.txt or a consent file: it shows by what the crawl decided, and has
    /// nothing of a page.
    pub(crate) fn is_evidence(&self) -> bool {
        let of_block = || {
            let block = std::str::from_utf8(&self.block).unwrap_or_default();
            block.lines().find_map(|line| line.strip_prefix("purpose: "))
        };
        let purpose = match self.kind() {
            "metadata" => of_block(),
            _ => self.field(super::PURPOSE),
        };
        matches!(purpose, Some("robots" | "consent"))
            || self.kind() == "resource" && self.field("Content-Type") == Some("text/dns")
    }

    /// Splits the block of a request or response into its HTTP head (with its blank line) and its body. `field_lines_of` in `fetch` reads the
    /// fields of the head.
    pub fn http(&self) -> Option<(&[u8], &[u8])> {
        if !self.field("Content-Type")?.starts_with("application/http") {
            return None;
        }
        let head_end = memchr::memmem::find(&self.block, b"\r\n\r\n")?;
        self.block.split_at_checked(head_end + 4)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, Record};
    use crate::warc::digest::sha1;

    /// A right record of an HTTP response `body`, with one text replaced by another.
    fn record_with(old: &str, new: &str) -> Result<Record, Fault> {
        let block = "HTTP/1.1 200 OK\r\n\r\nbody";
        let text = format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x>\r\nWARC-Date: 2026-03-01T12:00:00Z\r\n\
             Content-Type: application/http;msgtype=response\r\nWARC-Block-Digest: {}\r\nWARC-Payload-Digest: {}\r\n\
             Content-Length: 23\r\n\r\n{block}\r\n\r\n",
            sha1(&[block.as_bytes()]),
            sha1(&[b"body"]),
        );
        assert!(text.contains(old));
        Record::parse(text.replacen(old, new, 1).into_bytes(), 0, 0)
    }

    #[test]
    fn each_fault_is_named() {
        assert_eq!(
            record_with("body", "body").unwrap().http(),
            Some((&b"HTTP/1.1 200 OK\r\n\r\n"[..], &b"body"[..]))
        );
        for (old, new, fault) in [
            ("WARC/1.1", "WARC/1.0", Fault::Head(1)),
            ("WARC/1.1", "\u{0}", Fault::Head(1)),
            ("WARC-Type: ", "WARC-Type:", Fault::Head(2)),
            ("WARC-Date", "WARC-Data", Fault::Missing("WARC-Date")),
            ("Content-Length: 23", "Content-Length: 22", Fault::Length),
            ("Content-Length: 23", "Content-Length: -1", Fault::Length),
            ("Content-Length: 23", "Content-Length: 18446744073709551615", Fault::Length),
            ("body\r\n\r\n", "body\r\n\r", Fault::Length),
            ("body\r\n\r\n", "body\r\n\r\n\r\n", Fault::Length),
            ("body", "bodz", Fault::Digest("WARC-Block-Digest")),
            (
                "WARC-Payload-Digest: sha1:",
                "WARC-Payload-Digest: sha1:A",
                Fault::Digest("WARC-Payload-Digest"),
            ),
        ] {
            assert_eq!(
                record_with(old, new).unwrap_err().to_string(),
                fault.to_string(),
                "{old:?} -> {new:?}"
            );
        }
    }

    #[test]
    fn a_digest_of_another_kind_is_passed_over() {
        let old = "WARC-Payload-Digest: sha1:";
        assert!(record_with(old, "WARC-Payload-Digest: sha256:").is_ok());
    }
}
