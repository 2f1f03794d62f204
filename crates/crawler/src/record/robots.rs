//! One version of one origin's robots.txt, as fetched and judged.

use jiff::Timestamp;
use meta::consent::ConsentLines;
use robots::access::Access;
use robots::memory::{block, list, texts};
use robots::{Agent, Options, Robots};
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::terms::{LICENSES, price};
use super::words::words;
use page::clean::clean;
use page::clock::Boot;
use page::json_text;

words! {
    /// What an answer to a request for a robots.txt meant.
    RobotsAccess {
        /// The body that came is obeyed.
        Rules = "rules",
        /// A stored body is obeyed.
        Stored = "stored",
        /// Everything may be fetched.
        AllowAll = "allow_all",
        /// Nothing may be fetched.
        DenyAll = "deny_all",
        /// Nothing may be fetched until a usable answer comes.
        Defer = "defer",
    }
}

impl RobotsAccess {
    /// True where the rules of a body are obeyed.
    pub fn has_rules(&self) -> bool {
        matches!(self, Self::Rules | Self::Stored)
    }

    /// Bytes of memory beyond its own size.
    fn memory(&self) -> usize {
        if let Self::Other(word) = self { block(word.memory()) } else { 0 }
    }
}

impl From<Access> for RobotsAccess {
    fn from(access: Access) -> Self {
        match access {
            Access::Rules => Self::Rules,
            Access::Stored { .. } => Self::Stored,
            Access::AllowAll => Self::AllowAll,
            Access::DenyAll => Self::DenyAll,
            Access::Defer => Self::Defer,
        }
    }
}

/// The name of the field, without its typos.
const LICENSE: &[u8] = b"license";

/// A robots.txt as it was answered; JSON, compressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsRecord {
    /// Form of this record: 1.
    pub v: u32,
    /// Scheme, host and port.
    pub origin: String,
    /// When the response was complete.
    pub fetched_at: Timestamp,
    /// The final status; none if there was no response.
    pub status: Option<u16>,
    /// What it meant.
    pub access: RobotsAccess,
    /// Why, in words.
    pub reason: String,
    /// Until when it holds.
    pub expires: Timestamp,
    /// BLAKE3 of the body.
    pub digest: Option<String>,
    /// Bytes of the body.
    pub bytes: u64,
    /// The body where it is UTF-8 with few control characters.
    pub body: Option<String>,
    /// The body in base64 where it isn't: JSON makes six bytes of a control character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// The URLs requested, if it was redirected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<String>,
    /// Response header lines, as text.
    pub headers: Vec<(String, String)>,
    /// What a linter says about it: line number and words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<(u32, String)>,
    /// The first failure after the last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<Timestamp>,
    /// Failures in a row.
    #[serde(default)]
    pub failures: u32,
    /// When the last good copy was fetched or confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good_copy: Option<Timestamp>,
    /// Why no page of the origin can be fetched, as an error kind: `robots` where robots.txt itself is at fault, else what
    /// keeps the whole host from being asked. Set only with `defer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The `Content-Usage` and `Content-Signal` lines that address us, of the rules in force: page records refer to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent_lines: Option<ConsentLines>,
    /// What clocks said that nobody sets; none in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<RobotsClocks>,
}

/// How old what a robots.txt says is by clocks that nobody sets: the wall clock may jump.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsClocks {
    /// When the answer was complete, on the machine's own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    /// Milliseconds since the first failure after the last success, at the least.
    #[serde(default)]
    pub failing_ms: u64,
    /// Milliseconds since the last good copy was fetched or confirmed, at the most.
    #[serde(default)]
    pub copy_ms: u64,
}

/// What a page record says of the statements in robots.txt: in which version they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsConsent {
    /// Digest of the rules.
    pub digest: Option<String>,
    /// When the version was fetched or confirmed: with the origin its key.
    pub at: Timestamp,
    /// The first lines that decide about the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u32>,
}

impl RobotsRecord {
    /// The values of the `License` lines of its body, the first eight. Reads a body only if it may have one.
    pub(crate) fn licenses(&self) -> Vec<String> {
        if self.access != RobotsAccess::Rules {
            return Vec::new();
        }
        let body = self.bytes();
        if !body.windows(LICENSE.len()).any(|word| word.eq_ignore_ascii_case(LICENSE)) {
            return Vec::new();
        }
        let (agent, options) = (Agent::new("crawl"), Options::default());
        let robots = Robots::parse(&body, &agent, &options, Some(&self.origin));
        robots.signals().licenses().iter().take(LICENSES).map(|url| clean(url).into_owned()).collect()
    }

    /// The price that the response names, where it is an error.
    pub(crate) fn payment(&self) -> Option<String> {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        price(self.status?, headers).map(|price| clean(price).into_owned())
    }

    /// Whether the site is closed because its robots.txt was unavailable: to be requested again, or unavailable for so long that
    /// the site counts as closed (RFC 9309, section 2.3.1.4).
    pub fn is_unreachable(&self) -> bool {
        match self.access {
            RobotsAccess::Defer => true,
            RobotsAccess::DenyAll => self.first_failure.is_some(),
            _ => false,
        }
    }

    /// Key: origin, a zero byte, the time in milliseconds.
    pub fn key(&self) -> Vec<u8> {
        Self::key_of(&self.origin, self.fetched_at)
    }

    /// The key of a version.
    pub fn key_of(origin: &str, fetched_at: Timestamp) -> Vec<u8> {
        let mut key = Self::prefix(origin);
        key.extend(u64::try_from(fetched_at.as_millisecond()).unwrap_or_default().to_be_bytes());
        key
    }

    /// The keys of all versions of one origin begin so.
    pub fn prefix(origin: &str) -> Vec<u8> {
        let mut key = origin.as_bytes().to_vec();
        key.push(0);
        key
    }

    /// The bytes of memory that this takes beyond its own size.
    pub(crate) fn memory(&self) -> usize {
        let text = |text: &String| block(text.capacity());
        let optional = |field: &Option<String>| field.as_ref().map_or(0, text);
        let headers = self.headers.iter().map(|(name, value)| text(name) + text(value)).sum::<usize>();
        let warnings = self.warnings.iter().map(|(_, words)| text(words)).sum::<usize>();
        text(&self.origin)
            + self.access.memory()
            + text(&self.reason)
            + optional(&self.digest)
            + optional(&self.body)
            + optional(&self.body_base64)
            + optional(&self.failure)
            + texts(&self.hops, self.hops.capacity())
            + list::<(String, String)>(self.headers.capacity())
            + headers
            + list::<(u32, String)>(self.warnings.capacity())
            + warnings
            + self.consent_lines.as_ref().map_or(0, ConsentLines::memory)
    }

    /// The body's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match (&self.body, &self.body_base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(text)) => data_encoding::BASE64.decode(text.as_bytes()).unwrap_or_default(),
            (None, None) => Vec::new(),
        }
    }

    /// Keeps a body, as text if it is UTF-8 and no longer so than in base64.
    pub fn set_body(&mut self, body: &[u8]) {
        self.bytes = body.len() as u64;
        self.digest = Some(digest(body));
        match std::str::from_utf8(body) {
            Ok(text) if json_text::size(text) <= body.len() / 3 * 4 + 16 => self.body = Some(text.to_owned()),
            _ => self.body_base64 = Some(data_encoding::BASE64.encode(body)),
        }
    }

    /// Packs the record.
    pub fn write(&self) -> Result<Vec<u8>, RecordError> {
        serde_json::to_vec(self).map(crate::packed::pack).map_err(RecordError::from)
    }

    /// Unpacks a record.
    pub fn read(value: &[u8]) -> Result<Self, RecordError> {
        let plain = crate::packed::unpack(value)?;
        serde_json::from_slice(&plain).map_err(RecordError::from)
    }
}

/// `blake3:` and 64 hex digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(bytes).to_hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_control_characters_doesnt_grow_and_comes_back() {
        let record = RobotsRecord {
            clocks: None,
            v: 1,
            origin: "http://a.test".to_owned(),
            fetched_at: Timestamp::UNIX_EPOCH,
            status: Some(200),
            access: RobotsAccess::Rules,
            reason: "status 200".to_owned(),
            expires: Timestamp::UNIX_EPOCH,
            digest: None,
            bytes: 0,
            body: None,
            body_base64: None,
            hops: Vec::new(),
            headers: Vec::new(),
            warnings: Vec::new(),
            first_failure: None,
            failures: 0,
            good_copy: None,
            failure: None,
            consent_lines: None,
        };
        let controls = [vec![1; 3_000], b"User-agent: *\nDisallow: /\n".to_vec()].concat();
        for (body, is_text) in [(b"User-agent: *\r\nDisallow: /\x0c\n".to_vec(), true), (controls, false)] {
            let mut kept = record.clone();
            kept.set_body(&body);
            assert_eq!(kept.body.is_some(), is_text);
            assert_eq!(kept.bytes(), body);
            let json = serde_json::to_string(&kept).unwrap();
            assert!(json.len() < 700 + body.len() / 3 * 4, "{}", json.len());
        }
    }
}
