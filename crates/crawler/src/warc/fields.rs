//! The head of a WARC record: version line and named fields.

use jiff::fmt::temporal::DateTimePrinter;

use page::clean;

/// The line that begins each record.
pub(super) const VERSION: &str = "WARC/1.1\r\n";

/// A record's head under construction. Nothing that goes in can end a line early: see [`Fields::add`].
#[derive(Debug)]
pub(super) struct Fields(String);

impl Fields {
    /// Starts a head of the given `WARC-Type`.
    pub(super) fn new(kind: &str) -> Self {
        let mut fields = Self(String::with_capacity(768));
        fields.0.push_str(VERSION);
        fields.add("WARC-Type", kind);
        fields
    }

    /// Adds a field. Control characters of the value (CR and LF among them) become spaces: a URL or a header
    /// of a server may find its way into a value, and must not make fields of its own.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        add(&mut self.0, name, value);
    }

    /// Adds lines that another head had.
    pub(super) fn lines(&mut self, lines: &str) {
        self.0.push_str(lines);
    }

    /// Returns the lines behind version and type.
    pub(super) fn so_far(&self) -> &str {
        self.0.splitn(3, "\r\n").nth(2).unwrap_or_default()
    }

    /// Ends the head with the length of the block and the blank line.
    pub(super) fn finish(mut self, block_length: usize) -> String {
        self.add("Content-Length", &block_length.to_string());
        self.0.push_str("\r\n");
        self.0
    }
}

/// Adds a line `name: value` to a head, or to a block of `application/warc-fields`; no value can end it early.
pub(super) fn add(text: &mut String, name: &str, value: &str) {
    text.reserve(name.len() + value.len() + 4);
    text.push_str(name);
    text.push_str(": ");
    if clean::is_plain(value) {
        text.push_str(value);
    } else {
        text.extend(value.chars().map(|c| if c.is_control() { ' ' } else { c }));
    }
    text.push_str("\r\n");
}

/// Writes a time as WARC 1.1 wants it: UTC, to the microsecond.
pub(super) fn date(at: jiff::Timestamp) -> String {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));
    PRINTER.timestamp_to_string(&at)
}

/// Writes a record ID: a URN of a UUID (version 8, RFC 9562 section 5.8) made from what identifies the
/// record.
///
/// No random numbers: the same exchange at the same nanosecond gives the same record, so that a simulated
/// crawl gives the same files byte for byte.
pub(super) fn record_id(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("crawl 2026 WARC-Record-ID");
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    let urn = uuid::Builder::from_custom_bytes(bytes).into_uuid().urn();
    ["<", urn.encode_lower(&mut [0; uuid::fmt::Urn::LENGTH]), ">"].concat()
}

#[cfg(test)]
mod tests {
    use super::{Fields, date, record_id};

    #[test]
    fn a_value_cannot_start_a_line_of_its_own() {
        let mut fields = Fields::new("response");
        fields.add("WARC-Target-URI", "http://a.test/\r\nWARC-Type: warcinfo\u{85}x\n");
        let head = fields.finish(3);
        assert_eq!(
            head,
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/  WARC-Type: warcinfo x \r\n\
             Content-Length: 3\r\n\r\n"
        );
    }

    #[test]
    fn dates_are_utc_with_six_digits() {
        let at: jiff::Timestamp = "2026-03-01T12:00:00.0000019+02:00".parse().unwrap();
        assert_eq!(date(at), "2026-03-01T10:00:00.000001Z");
    }

    #[test]
    fn record_ids_tell_parts_apart() {
        assert_ne!(record_id(&[b"ab", b"c"]), record_id(&[b"a", b"bc"]));
        let id = record_id(&[b"a"]);
        assert_eq!((id.len(), &id[..10], &id[24..25]), (47, "<urn:uuid:", "8"), "{id}");
    }
}
