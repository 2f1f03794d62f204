//! URLs as the crawler stores them: [`CrawlUrl`], [`Origin`], [`HostKey`] and the [`Fingerprint`] that identifies equal
//! URLs. The only normalisation in the tree.

mod base;
mod plain;

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;
use url::{Position, Url};

pub use self::base::resolve;
pub use self::base::{Base, Joined};
use self::plain::Ends;
use crate::shared_text::{SharedText, SharedTexts};

/// Why a text is no URL that the crawler can visit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The text can't be parsed (WHATWG URL Standard).
    #[error("not a URL: {}", syntax(*.0))]
    Syntax(url::ParseError),
    /// Neither http nor https.
    #[error("scheme `{0}` is not http or https")]
    Scheme(String),
    /// No host name.
    #[error("URL has no host")]
    NoHost,
}

fn syntax(error: url::ParseError) -> String {
    match error {
        url::ParseError::RelativeUrlWithoutBase => "it begins with neither https:// nor http://".to_owned(),
        error => error.to_string(),
    }
}

/// An http or https URL without fragment and userinfo, as the WHATWG rules write it.
///
/// This is what is requested and stored. Two spellings of one URL that differ in escapes of unreserved characters
/// only (RFC 3986 section 6.2.2) stay as they were written, but share one [`Fingerprint`]. 32 bytes and its text.
#[derive(Clone)]
pub struct CrawlUrl {
    text: SharedText,
    ends: Ends,
}

impl CrawlUrl {
    /// Parses an absolute URL; one that is as the rules write it already is only looked through.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        match plain::absolute(text) {
            Some(ends) => Ok(Self { text: text.into(), ends }),
            None => Self::from_url(Url::parse(text).map_err(UrlError::Syntax)?),
        }
    }

    /// As [`CrawlUrl::parse`], of a text that nobody needs any more.
    pub fn from_text(text: String) -> Result<Self, UrlError> {
        match plain::absolute(&text) {
            Some(ends) => Ok(Self { text: text.into(), ends }),
            None => Self::parse(&text),
        }
    }

    /// Resolves `href` against a base. [`Base`] does it faster for many of one page.
    pub fn join(base: &Url, href: &str) -> Result<Self, UrlError> {
        Self::from_url(resolve(base, href, None).map_err(UrlError::Syntax)?)
    }

    /// Takes a parsed URL; drops its fragment and userinfo, and the dot at the end of a host name.
    pub fn from_url(mut url: Url) -> Result<Self, UrlError> {
        Self::drop_unsent(&mut url)?;
        Ok(Self::of(url))
    }

    /// As [`CrawlUrl::from_url`]; gives the URL back where it can't be requested.
    pub fn try_from_url(mut url: Url) -> Result<Self, Url> {
        match Self::drop_unsent(&mut url) {
            Ok(()) => Ok(Self::of(url)),
            Err(_) => Err(url),
        }
    }

    fn of(url: Url) -> Self {
        let end = |at: Position| url[..at].len() as u32;
        let ends = Ends { host: end(Position::AfterHost), authority: end(Position::BeforePath) };
        Self { text: String::from(url).into(), ends }
    }

    /// The URL that [`Base::join_to`] appended to texts, which are these now, at some bytes.
    pub fn at(texts: &SharedTexts, bytes: Range<usize>, joined: Joined) -> Self {
        Self { text: texts.part(bytes), ends: joined.ends }
    }

    /// Drops what isn't sent of an http or https URL.
    fn drop_unsent(url: &mut Url) -> Result<(), UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme(url.scheme().chars().take(32).collect()));
        }
        if url.fragment().is_some() {
            url.set_fragment(None);
        }
        if !url.username().is_empty() || url.password().is_some() {
            // Credentials are neither sent nor stored.
            url.set_username("").map_err(|()| UrlError::NoHost)?;
            url.set_password(None).map_err(|()| UrlError::NoHost)?;
        }
        let host = url.host_str().ok_or(UrlError::NoHost)?;
        if host.ends_with('.') && host.len() > 1 {
            let bare = host.trim_end_matches('.').to_owned();
            url.set_host(Some(&bare)).map_err(UrlError::Syntax)?;
        }
        Ok(())
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The URL as other libraries take it: its text is parsed again.
    ///
    /// # Panics
    /// Never: the text of a parsed URL is one.
    pub fn to_url(&self) -> Url {
        Url::parse(&self.text).expect("the text of a parsed URL")
    }

    /// The path, which begins with `/`.
    pub fn path(&self) -> &str {
        let path = self.path_and_query();
        memchr::memchr(b'?', path.as_bytes()).map_or(path, |end| &path[..end])
    }

    /// Path and query, as a request line carries them.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.ends.authority as usize..]
    }

    /// The host name (or address literal) that pace and queues belong to.
    pub fn host_key(&self) -> HostKey {
        HostKey(self.host().into())
    }

    /// The host name as text, lower case, punycode.
    #[inline]
    pub fn host(&self) -> &str {
        let start = self.scheme().as_str().len() + "://".len();
        &self.text[start..self.ends.host as usize]
    }

    /// http or https.
    #[inline]
    pub fn scheme(&self) -> Scheme {
        if self.text.as_bytes()[4] == b's' { Scheme::Https } else { Scheme::Http }
    }

    /// The port, if it isn't the scheme's default.
    pub fn port(&self) -> Option<u16> {
        self.text[self.ends.host as usize..self.ends.authority as usize].strip_prefix(':')?.parse().ok()
    }

    /// The scope of one robots.txt.
    pub fn origin(&self) -> Origin {
        Origin { scheme: self.scheme(), host: self.host().into(), port: self.port() }
    }

    /// The key of "the same URL": a keyed hash over the normal form, see [`FingerprintKey`].
    ///
    /// The normal form decodes escapes of unreserved characters and writes the others in upper case
    /// (RFC 3986 sections 6.2.2.1 and 6.2.2.2); a `%` that begins no escape counts as `%25`. 0.02-0.04 microseconds a URL, with a
    /// key of database format 3 0.1-0.2.
    pub fn fingerprint(&self, key: &FingerprintKey) -> Fingerprint {
        let text = self.as_str();
        Fingerprint(if text.contains('%') { key.hash(&normal_escapes(text)) } else { key.hash(text) })
    }
}

impl PartialEq for CrawlUrl {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CrawlUrl {}

impl std::hash::Hash for CrawlUrl {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for CrawlUrl {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CrawlUrl {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

impl From<CrawlUrl> for String {
    fn from(url: CrawlUrl) -> Self {
        url.text.into_string()
    }
}

impl From<CrawlUrl> for SharedText {
    fn from(url: CrawlUrl) -> Self {
        url.text
    }
}

impl Serialize for CrawlUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.as_str())
    }
}

fn normal_escapes(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut rest = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%'
            && at + 2 < bytes.len()
            && let (Some(high), Some(low)) = (hex(bytes[at + 1]), hex(bytes[at + 2]))
        {
            out.push_str(&text[rest..at]);
            let byte = high * 16 + low;
            // Behind a stray '%' a decoded byte would become part of an escape that nobody wrote.
            let joins = at > rest && bytes[at - 1] == b'%'
                || at >= rest + 2 && bytes[at - 2] == b'%' && hex(bytes[at - 1]).is_some();
            let unreserved = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
            if !joins && unreserved {
                out.push(char::from(byte));
            } else {
                out.push('%');
                out.push(char::from(bytes[at + 1].to_ascii_uppercase()));
                out.push(char::from(bytes[at + 2].to_ascii_uppercase()));
            }
            at += 3;
            rest = at;
        } else {
            at += 1;
        }
    }
    out.push_str(&text[rest..]);
    out
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// The secret of one crawl's fingerprints, so that nobody can prepare URLs that collide. Its length names the hash that it is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FingerprintKey(Secret);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Secret {
    /// SipHash-2-4 (Aumasson and Bernstein, 2012), 64 bits.
    Sip([u8; 16]),
    /// Keyed BLAKE3, its first 64 bits: the key of a database that was made with format 3 or before.
    Blake3([u8; 32]),
}

impl FingerprintKey {
    /// A key of the hash that new crawls have, SipHash-2-4. Whoever doesn't know it must not be able to guess it.
    pub const fn new(secret: [u8; 16]) -> Self {
        Self(Secret::Sip(secret))
    }

    /// The key as it is stored: 16 bytes, or the 32 of a key for BLAKE3.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Secret::Sip(secret) => secret,
            Secret::Blake3(secret) => secret,
        }
    }

    /// A stored key; none of another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let sip = bytes.try_into().map(Secret::Sip);
        sip.or_else(|_| bytes.try_into().map(Secret::Blake3)).ok().map(Self)
    }

    /// The hash of a text.
    #[inline]
    pub fn hash(&self, text: &str) -> u64 {
        match &self.0 {
            Secret::Sip(secret) => SipHasher24::new_with_key(secret).hash(text.as_bytes()),
            Secret::Blake3(secret) => {
                let hash = blake3::keyed_hash(secret, text.as_bytes());
                hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
            }
        }
    }
}

impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey(..)")
    }
}

/// 64 bits that stand for one URL within its host's seen set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint(pub u64);

/// A host name or address literal: the scope of pace. Two ports of one machine share one queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostKey(Box<str>);

impl HostKey {
    /// Takes a host name in its normal form (lower case, punycode, no dot at the end).
    pub fn new(host: &str) -> Self {
        Self(host.into())
    }

    /// The host name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The two schemes that are crawled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scheme {
    /// `http`, default port 80.
    Http,
    /// `https`, default port 443.
    Https,
}

impl Scheme {
    /// The scheme's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Scheme, host and port: the scope of one robots.txt (RFC 9309 section 2.3). A default port equals none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The scheme.
    pub scheme: Scheme,
    /// The host name.
    pub host: Box<str>,
    /// The port, if it isn't the scheme's default.
    pub port: Option<u16>,
}

impl Origin {
    /// The origin as text. `to_string` gives the same, in a text that grows.
    pub fn name(&self) -> String {
        written(self.scheme, &self.host, self.port, "")
    }

    /// The URL of this origin's robots.txt.
    pub fn robots_url(&self) -> Result<CrawlUrl, UrlError> {
        CrawlUrl::parse(&format!("{self}/robots.txt"))
    }
}

/// A URL as text. `path` begins with `/`, or is empty.
pub fn written(scheme: Scheme, host: &str, port: Option<u16>, path: &str) -> String {
    use fmt::Write as _;

    const MOST_OF_PORT: usize = ":65535".len();
    let scheme = scheme.as_str();
    let mut text = String::with_capacity(scheme.len() + 3 + host.len() + MOST_OF_PORT + path.len());
    for part in [scheme, "://", host] {
        text.push_str(part);
    }
    if let Some(port) = port {
        // Writing to a text doesn't fail.
        let _ = write!(text, ":{port}");
    }
    text.push_str(path);
    text
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: FingerprintKey = FingerprintKey::new([7; 16]);

    fn fingerprint(text: &str) -> Fingerprint {
        CrawlUrl::parse(text).unwrap().fingerprint(&KEY)
    }

    #[test]
    fn fragment_userinfo_and_final_dot_are_dropped() {
        let url = CrawlUrl::parse("http://me:secret@Example.ORG.:80/a?q#top").unwrap();
        assert_eq!(url.as_str(), "http://example.org/a?q");
        assert_eq!(url.path_and_query(), "/a?q");
    }

    #[test]
    fn other_schemes_are_refused() {
        assert_eq!(CrawlUrl::parse("mailto:a@b.example"), Err(UrlError::Scheme("mailto".into())));
        assert!(matches!(CrawlUrl::parse("/path"), Err(UrlError::Syntax(_))));
    }

    #[test]
    fn rfc3986_6_2_2_equal_escapes_share_a_fingerprint() {
        assert_eq!(fingerprint("http://e.example/%7efred"), fingerprint("http://e.example/~fred"));
        assert_eq!(fingerprint("http://e.example/a%2fb"), fingerprint("http://e.example/a%2Fb"));
        assert_ne!(fingerprint("http://e.example/a%2fb"), fingerprint("http://e.example/a/b"));
        assert_ne!(fingerprint("http://e.example/a?"), fingerprint("http://e.example/a"));
        assert_ne!(fingerprint("http://e.example/%%30A"), fingerprint("http://e.example/%0A"));
    }

    #[test]
    fn keys_of_both_lengths_give_the_values_of_the_published_test_vectors() {
        let text: String = (0..15).map(char::from).collect();
        // SipHash: a fast short-input PRF (Aumasson and Bernstein, 2012), appendix A.
        let sip: Vec<u8> = (0..16).collect();
        let sip = FingerprintKey::from_bytes(&sip).unwrap();
        assert_eq!(sip.hash(&text), 0xa129_ca61_49be_45e5);
        // `test_vectors/test_vectors.json` of the BLAKE3 team: `keyed_hash` of 0 bytes and of 1.
        let blake3 = FingerprintKey::from_bytes(b"whats the Elvish word for friend").unwrap();
        assert_eq!((blake3.hash(""), blake3.hash("\0")), (0x92b2_b756_04ed_3c76, 0x6d78_78df_ff2f_4856));
        for key in [sip, blake3] {
            assert_eq!(FingerprintKey::from_bytes(key.bytes()), Some(key));
        }
        for length in [0, 15, 17, 31, 33] {
            assert_eq!(FingerprintKey::from_bytes(&vec![7; length]), None, "{length} bytes");
        }
    }

    #[test]
    fn default_port_equals_none_and_others_part_origins() {
        let origin = |text: &str| CrawlUrl::parse(text).unwrap().origin();
        assert_eq!(origin("http://e.example:80/x"), origin("http://e.example/"));
        assert_ne!(origin("http://e.example:8080/"), origin("http://e.example/"));
        assert_eq!(origin("https://e.example:8443/a").to_string(), "https://e.example:8443");
        assert_eq!(
            origin("http://e.example:81/a").robots_url().unwrap().as_str(),
            "http://e.example:81/robots.txt"
        );
    }

    #[test]
    fn a_byte_behind_a_stray_percent_sign_stays_escaped() {
        for (text, normal) in
            [("%%30a", "%%30a"), ("%3%61", "%3%61"), ("%%30%61", "%%30a"), ("%g%61", "%ga"), ("%41%61", "Aa")]
        {
            assert_eq!(normal_escapes(text), normal, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn normal_form_is_idempotent(text in "[a-z%0-9A-F/~.]{0,40}") {
            let once = normal_escapes(&text);
            proptest::prop_assert_eq!(normal_escapes(&once), once);
        }
    }
}
