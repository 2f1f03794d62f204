//! A page's outlinks, packed: postcard, compressed, one value a page.

use serde::{Deserialize, Serialize};

use super::RecordError;

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LinkOutcome {
    /// It was new, and queued.
    Queued,
    /// Its URL was known already.
    Seen,
    /// It waits to be compared with what is known of its host.
    Untested,
    /// The page is under nofollow.
    PageNofollow,
    /// `rel` has nofollow, ugc or sponsored.
    RelNofollow,
    /// A resource of the page (image, script, style); queued only with `--resources`.
    Resource,
    /// Outside the crawl's hosts.
    OtherHost,
    /// Outside the crawl's path prefixes.
    OtherPath,
    /// Left out by `--include` or `--exclude`.
    Pattern,
    /// Deeper than `--max-depth`.
    TooDeep,
    /// Longer than `max_url_length`.
    TooLong,
    /// More redirects in a row than `max_redirects`.
    TooManyRedirects,
    /// Neither http nor https, or no URL at all.
    NotHttp,
    /// Held back: more links from a seed than `traps.depth`.
    TrapDepth,
    /// Held back: more segments than `traps.segments`.
    TrapSegments,
    /// Held back: its path repeats itself.
    TrapRepeats,
    /// Held back: its host has enough URLs.
    TrapHost,
    /// Held back: its domain has enough hosts.
    TrapDomain,
    /// Held back: enough URLs differ from it in the query alone.
    TrapQuery,
    /// Held back: enough URLs differ from it in digits alone.
    TrapShape,
    /// Held back: pages like it go on saying the same.
    TrapSame,
}

impl LinkOutcome {
    /// The name in exports and reasons.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Seen => "seen",
            Self::Untested => "untested",
            Self::PageNofollow => "nofollow_page",
            Self::RelNofollow => "nofollow_rel",
            Self::Resource => "resource",
            Self::OtherHost => "other_host",
            Self::OtherPath => "other_path",
            Self::Pattern => "pattern",
            Self::TooDeep => "too_deep",
            Self::TooLong => "too_long",
            Self::TooManyRedirects => "too_many_redirects",
            Self::NotHttp => "not_http",
            Self::TrapDepth => "trap_depth",
            Self::TrapSegments => "trap_segments",
            Self::TrapRepeats => "trap_repeats",
            Self::TrapHost => "trap_host",
            Self::TrapDomain => "trap_domain",
            Self::TrapQuery => "trap_query",
            Self::TrapShape => "trap_shape",
            Self::TrapSame => "trap_same",
        }
    }

    /// True where the URL was found and will not be fetched through this link.
    pub fn is_skip(self) -> bool {
        !matches!(self, Self::Queued | Self::Seen | Self::Untested)
    }
}

/// One link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// The target, or the reference as written where it is no URL.
    pub to: String,
    /// The element: `a`, `img`, `redirect` ...
    pub kind: String,
    /// The `rel` attribute.
    pub rel: String,
    /// The anchor text; empty on pages under noindex.
    pub text: String,
    /// True if page or `rel` forbid to follow it.
    pub nofollow: bool,
    /// What became of it.
    pub outcome: LinkOutcome,
}

const FORM: u8 = 1;

/// Packs a page's links.
pub fn write_links(links: &[LinkRecord]) -> Result<Vec<u8>, RecordError> {
    let mut plain = vec![FORM];
    plain.extend(postcard::to_stdvec(links).map_err(|error| RecordError::new(&error))?);
    Ok(crate::packed::pack(plain))
}

/// Unpacks a page's links.
pub fn read_links(value: &[u8]) -> Result<Vec<LinkRecord>, RecordError> {
    let plain = crate::packed::unpack(value).map_err(|error| RecordError::new(&error))?;
    match plain.split_first() {
        Some((&FORM, rest)) => postcard::from_bytes(rest).map_err(|error| RecordError::new(&error)),
        _ => Err(RecordError::new(&"links of an unknown form")),
    }
}
