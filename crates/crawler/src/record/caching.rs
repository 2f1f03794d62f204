//! What a response says of caches on its way: whether one of them gave it, or the site itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sfv::{BareItem, List, ListEntry, Parser};

use page::clean::clean_within;

/// Bytes of a header value that are kept.
const VALUE_BYTES: usize = 256;

/// Bytes of header values that are read for what they say.
const READ_BYTES: usize = 8 * 1024;

/// The largest `Age`, for which greater ones are taken (RFC 9111 section 1.2.2).
const MOST_SECONDS: u64 = 1 << 31;

/// The header fields whose values are kept.
const FIELDS: [&str; 4] = ["cache-status", "x-cache", "cf-cache-status", "server-timing"];

/// What a response says of caches. Stored where it says anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caching {
    /// Whether a cache gave the response; none if its headers don't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_cache: Option<bool>,
    /// `Age`, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_s: Option<u64>,
    /// `Cache-Status`, `X-Cache`, `cf-cache-status` and `Server-Timing` by their names in lower case, the lines of each joined by `, `, without
    /// control characters, each of at most 256 bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(String, String)>,
}

impl Caching {
    /// What the field lines of a response say, names in lower case; none where they say nothing. Linear in what is read of them.
    pub fn of<'a>(lines: impl Iterator<Item = (&'a str, &'a [u8])>) -> Option<Self> {
        let mut age_s = None;
        let mut found: [Option<Cow<'a, str>>; FIELDS.len()] = Default::default();
        for (name, value) in lines {
            if name == "age" {
                // Of several values the first counts, and the whole field is ignored if that one is invalid.
                age_s = age_s.or_else(|| Some(age(value)));
            } else if let Some(place) = FIELDS.iter().position(|field| *field == name) {
                let value = String::from_utf8_lossy(&value[..value.len().min(READ_BYTES)]);
                match &mut found[place] {
                    Some(so_far) if so_far.len() + value.len() > READ_BYTES => {}
                    Some(so_far) => {
                        let so_far = so_far.to_mut();
                        so_far.push_str(", ");
                        so_far.push_str(&value);
                    }
                    none => *none = Some(value),
                }
            }
        }
        let age_s = age_s.flatten();
        if age_s.is_none() && found.iter().all(Option::is_none) {
            return None;
        }
        let said = |place: usize, read: fn(&str) -> Said| found[place].as_deref().map_or(Said::Nothing, read);
        // Caches on the way to a site add Age: 0 to what the site just sent.
        let by_age = if age_s.is_some_and(|age| age > 0) { Said::Cache } else { Said::Nothing };
        let all = [
            by_age,
            said(0, cache_status),
            said(1, x_cache),
            said(2, cf_cache_status),
            said(3, server_timing),
        ];
        let kept = |(name, value): (&&str, &Option<Cow<'a, str>>)| {
            Some(((*name).to_owned(), clean_within(value.as_deref()?, VALUE_BYTES).0))
        };
        Some(Self {
            from_cache: match all.into_iter().fold(Said::Nothing, Said::or) {
                Said::Nothing => None,
                Said::Origin => Some(false),
                Said::Cache => Some(true),
            },
            age_s,
            lines: FIELDS.iter().zip(&found).filter_map(kept).collect(),
        })
    }

    /// Takes out the texts that the site may choose.
    pub(super) fn withhold(&mut self) {
        self.lines.clear();
    }

    /// Whether it says nothing.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a header field says of where a response comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Origin,
    Cache,
}

impl Said {
    /// Of several caches on the way one had the response, or none.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Cache, _) | (_, Self::Cache) => Self::Cache,
            (Self::Origin, _) | (_, Self::Origin) => Self::Origin,
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }

    /// A word that caches use for what they did.
    fn by_word(word: &str) -> Self {
        const CACHE: [&str; 5] = ["hit", "refreshhit", "stale", "revalidated", "updating"];
        const ORIGIN: [&str; 5] = ["miss", "bypass", "dynamic", "expired", "pass"];
        let is_one_of = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
        match (is_one_of(&CACHE), is_one_of(&ORIGIN)) {
            (true, _) => Self::Cache,
            (_, true) => Self::Origin,
            _ => Self::Nothing,
        }
    }
}

/// Seconds of an `Age` field (RFC 9111 section 5.1): a non-negative integer, the first member if it is a list.
fn age(value: &[u8]) -> Option<u64> {
    let first = value.split(|byte| *byte == b',').next()?.trim_ascii();
    let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    is_number
        .then(|| std::str::from_utf8(first).ok()?.parse().ok().or(Some(MOST_SECONDS)))
        .flatten()
        .map(|age: u64| age.min(MOST_SECONDS))
}

/// `Cache-Status` (RFC 9211): a list with a member for each cache, which has `hit`, or `fwd` and why the request went on.
fn cache_status(value: &str) -> Said {
    let Ok(caches) = Parser::new(value).parse::<List>() else { return Said::Nothing };
    let of_cache = |cache: &ListEntry| {
        let ListEntry::Item(cache) = cache else { return Said::Nothing };
        match (cache.params.get("hit"), cache.params.get("fwd")) {
            (Some(BareItem::Boolean(true)), _) => Said::Cache,
            (_, Some(BareItem::Token(_) | BareItem::String(_))) => Said::Origin,
            _ => Said::Nothing,
        }
    };
    caches.iter().map(of_cache).fold(Said::Nothing, Said::or)
}

/// `X-Cache`, which no standard defines: `HIT`, `MISS, HIT`, `Hit from cloudfront`, `TCP_REFRESH_MISS from a1 (AkamaiGHost)`, `cp1 hit/13`.
/// A member for each cache, whose last known word counts; words after `from` name the cache.
fn x_cache(value: &str) -> Said {
    let of_member = |member: &str| {
        let words = member.split_ascii_whitespace();
        let words = words.take_while(|word| !word.eq_ignore_ascii_case("from") && !word.starts_with('('));
        let words = words.filter(|word| !word.contains('.'));
        let parts = words.flat_map(|word| word.split(['_', '-', '/', ':', ';', '=', '"']));
        parts.map(Said::by_word).filter(|said| *said != Said::Nothing).last().unwrap_or(Said::Nothing)
    };
    value.split(',').map(of_member).fold(Said::Nothing, Said::or)
}

/// `cf-cache-status`: one of the words that Cloudflare documents. `NONE` and `UNKNOWN` say that Cloudflare made the response.
fn cf_cache_status(value: &str) -> Said {
    value.split(',').map(|word| Said::by_word(word.trim())).fold(Said::Nothing, Said::or)
}

/// `Server-Timing`: metrics of which some networks make one that says what their cache did: `cdn-cache; desc=HIT`.
fn server_timing(value: &str) -> Said {
    const METRICS: [&str; 3] = ["cdn-cache", "cache", "cfcachestatus"];
    let of_metric = |metric: &str| {
        let mut parts = metric.split(';').map(str::trim);
        let is_known = parts.next().is_some_and(|name| METRICS.contains(&name.to_ascii_lowercase().as_str()));
        let desc = parts
            .filter_map(|part| part.split_once('='))
            .find(|(key, _)| key.trim().eq_ignore_ascii_case("desc"));
        match desc {
            Some((_, desc)) if is_known => x_cache(desc.trim()),
            _ => Said::Nothing,
        }
    };
    value.split(',').map(of_metric).fold(Said::Nothing, Said::or)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&str, &str)]) -> Option<Caching> {
        Caching::of(lines.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    #[test]
    fn who_gave_a_response() {
        const CACHE: Option<bool> = Some(true);
        const ORIGIN: Option<bool> = Some(false);
        for (name, value, expected) in [
            // RFC 9111 section 5.1.
            ("age", "0", None),
            ("age", "1", CACHE),
            ("age", " 3600 ", CACHE),
            ("age", "5, 0", CACHE),
            ("age", "0, 5", None),
            ("age", "-5", None),
            ("age", "1.5", None),
            ("age", "soon", None),
            ("age", "", None),
            ("age", "99999999999999999999999", CACHE),
            // RFC 9211, examples of sections 2 and 3.
            ("cache-status", "OriginCache; hit; ttl=1100, \"CDN Company Here\"; hit; ttl=545", CACHE),
            ("cache-status", "ExampleCache; hit", CACHE),
            ("cache-status", "ExampleCache; hit=?0", None),
            ("cache-status", "ExampleCache; hit=1", None),
            ("cache-status", "ExampleCache; hit; ttl=376", CACHE),
            ("cache-status", "ExampleCache; fwd=uri-miss; stored", ORIGIN),
            ("cache-status", "ExampleCache; fwd=uri-miss; collapsed=?0", ORIGIN),
            ("cache-status", "ExampleCache; fwd=stale; fwd-status=304", ORIGIN),
            ("cache-status", "ExampleCache; fwd=bypass; detail=\"a; hit\"", ORIGIN),
            ("cache-status", "OriginCache; hit, ExampleCache; fwd=uri-miss; stored", CACHE),
            ("cache-status", "BrowserCache; fwd=uri-miss, ExampleCache; fwd=stale", ORIGIN),
            ("cache-status", "ExampleCache", None),
            ("cache-status", "(a b); hit", None),
            ("cache-status", "ExampleCache; hit,", None),
            // developers.cloudflare.com: Cloudflare cache responses.
            ("cf-cache-status", "HIT", CACHE),
            ("cf-cache-status", "STALE", CACHE),
            ("cf-cache-status", "REVALIDATED", CACHE),
            ("cf-cache-status", "UPDATING", CACHE),
            ("cf-cache-status", "MISS", ORIGIN),
            ("cf-cache-status", "EXPIRED", ORIGIN),
            ("cf-cache-status", "BYPASS", ORIGIN),
            ("cf-cache-status", "DYNAMIC", ORIGIN),
            ("cf-cache-status", "NONE/UNKNOWN", None),
            ("cf-cache-status", "whatever", None),
            // CloudFront: standard log fields, x-edge-result-type.
            ("x-cache", "Hit from cloudfront", CACHE),
            ("x-cache", "RefreshHit from cloudfront", CACHE),
            ("x-cache", "Miss from cloudfront", ORIGIN),
            ("x-cache", "Error from cloudfront", None),
            ("x-cache", "LambdaGeneratedResponse from cloudfront", None),
            // Akamai: debug headers.
            ("x-cache", "TCP_HIT from a1.deploy.akamaitechnologies.com (AkamaiGHost/9.9-1)", CACHE),
            ("x-cache", "TCP_MEM_HIT from a1 (AkamaiGHost/9)", CACHE),
            ("x-cache", "TCP_REFRESH_HIT from a1", CACHE),
            ("x-cache", "TCP_REFRESH_MISS from hit (AkamaiGHost/9)", ORIGIN),
            ("x-cache", "TCP_MISS (hit)", ORIGIN),
            ("x-cache", "TCP_DENIED", None),
            // Azure Front Door: X-Cache.
            ("x-cache", "TCP_REMOTE_HIT", CACHE),
            ("x-cache", "CONFIG_NOCACHE", None),
            ("x-cache", "PRIVATE_NOSTORE", None),
            // Fastly: a word for each cache of a shielded service.
            ("x-cache", "MISS, HIT", CACHE),
            ("x-cache", "MISS, MISS", ORIGIN),
            ("x-cache", "HIT-CLUSTER", CACHE),
            // Wikimedia: X-Cache has the name of each cache before its word.
            ("x-cache", "cp3066 miss, cp3072 hit/13", CACHE),
            ("x-cache", "cp3066 miss, cp3072 pass", ORIGIN),
            ("x-cache", "hit.example.org miss", ORIGIN),
            ("x-cache", "white", None),
            // Akamai's mPulse, Cloudflare and Wikimedia.
            ("server-timing", "cdn-cache; desc=HIT, edge; dur=1", CACHE),
            ("server-timing", "edge; dur=1, cdn-cache;desc=MISS", ORIGIN),
            ("server-timing", "cfCacheStatus;desc=\"DYNAMIC\"", ORIGIN),
            ("server-timing", "cache;desc=\"hit-front\", host;desc=\"cp3066\"", CACHE),
            ("server-timing", "db;desc=\"hit\";dur=5", None),
        ] {
            let found = read(&[(name, value)]).and_then(|caching| caching.from_cache);
            assert_eq!(found, expected, "{name}: {value}");
        }
    }

    #[test]
    fn a_response_is_from_a_cache_if_one_of_several_says_so() {
        for (lines, expected) in [
            (&[("x-cache", "MISS"), ("age", "7")][..], Some(true)),
            (&[("cf-cache-status", "EXPIRED"), ("x-cache", "MISS"), ("x-cache", "HIT")], Some(true)),
            (&[("cf-cache-status", "DYNAMIC"), ("age", "0")], Some(false)),
            (&[("age", "x"), ("age", "7")], None),
        ] {
            assert_eq!(read(lines).and_then(|caching| caching.from_cache), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_says_nothing_of_caches_takes_no_room() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("x-cached", "HIT"), ("cache-control", "max-age=5"), ("age", "-1")]), None);
    }

    #[test]
    fn values_are_short_and_clean() {
        let long = "HIT, ".repeat(100_000);
        let lines =
            [("x-cache", "MI\u{1b}[31mSS"), ("x-cache", &long), ("server-timing", "a;desc=\"\u{1}b\"")];
        let caching = read(&lines).expect("it says something");
        let kept: Vec<_> =
            caching.lines.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(kept[1], ("server-timing", "a;desc=\"b\""));
        let (name, value) = kept[0];
        assert_eq!((name, kept.len()), ("x-cache", 2));
        assert!(value.starts_with("MISS") && value.len() <= VALUE_BYTES, "{value}");
        let many = vec![("x-cache", "HIT"); 100_000];
        assert!(read(&many).expect("it says something").lines[0].1.len() <= VALUE_BYTES);
        assert_eq!(read(&[("age", "99999999999")]).expect("it says something").age_s, Some(MOST_SECONDS));
    }
}
