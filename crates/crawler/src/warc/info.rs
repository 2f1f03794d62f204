//! The `warcinfo` record that begins every file: which program, which crawl, under which rules.

use super::digest::sha1;
use super::fields::{Fields, add, date, record_id};
use super::member;

/// What the head of every archive file says about the crawl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarcInfo {
    /// Program and version: `crawl/0.1.0`.
    pub software: String,
    /// Who runs the crawl: the contacts, with commas between them.
    pub operator: Option<String>,
    /// The robots policy in words, with the dialect in force: `obeyed (hardened)`.
    pub robots: String,
    /// The `User-Agent` sent.
    pub user_agent: String,
    /// The `From` sent, if any.
    pub from: Option<String>,
    /// Digest of the settings in force: `blake3:` and hex. The ledger's entry that begins the run has the same.
    pub settings: Option<String>,
    /// Name of the crawl that the file is a part of (its id).
    pub is_part_of: String,
    /// Start of this run: part of file names.
    pub started_at: jiff::Timestamp,
}

#[cfg(test)]
impl WarcInfo {
    /// One for tests that don't look at it.
    pub(crate) fn example(started_at: jiff::Timestamp) -> Self {
        Self {
            software: "test".to_owned(),
            operator: None,
            robots: "obeyed".to_owned(),
            user_agent: "SuperRobot/1.0".to_owned(),
            from: None,
            settings: None,
            is_part_of: "test".to_owned(),
            started_at,
        }
    }
}

/// Encodes the `warcinfo` record of the file with the given name; returns its ID as well.
pub(super) fn encode(info: &WarcInfo, file: &str) -> (Vec<u8>, String) {
    let mut block = String::new();
    let mut say = |name: &str, value: &str| add(&mut block, name, value);
    say("software", &info.software);
    say("format", "WARC File Format 1.1");
    say("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/");
    if let Some(operator) = &info.operator {
        say("operator", operator);
    }
    say("robots", &info.robots);
    say("http-header-user-agent", &info.user_agent);
    if let Some(from) = &info.from {
        say("http-header-from", from);
    }
    if let Some(settings) = &info.settings {
        say("settings", settings);
    }
    say("isPartOf", &info.is_part_of);

    let mut fields = Fields::new("warcinfo");
    let id = record_id(&[b"warcinfo", file.as_bytes(), block.as_bytes()]);
    fields.add("WARC-Record-ID", &id);
    fields.add("WARC-Date", &date(info.started_at));
    fields.add("WARC-Filename", file);
    fields.add("WARC-Block-Digest", &sha1(&[block.as_bytes()]));
    fields.add("Content-Type", "application/warc-fields");
    let head = fields.finish(block.len());

    let mut bytes = Vec::new();
    member::append(&mut bytes, &[head.as_bytes(), block.as_bytes(), b"\r\n\r\n"], false);
    (bytes, id)
}
