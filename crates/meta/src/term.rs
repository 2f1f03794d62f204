//! One directive.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One directive, as robots meta tags and `X-Robots-Tag` headers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Term {
    /// `all`: index and follow.
    All,
    /// `none`: noindex and nofollow.
    None,
    /// `noindex`: the page may not be in an index or data set.
    NoIndex,
    /// `index`: the page may be in an index.
    Index,
    /// `nofollow`: the page's links may not be used.
    NoFollow,
    /// `follow`: the page's links may be used.
    Follow,
    /// `noarchive`: no copy of the body may be kept.
    NoArchive,
    /// `nocache`: Bing's name of `noarchive`.
    NoCache,
    /// `archive`: a copy may be kept.
    Archive,
    /// `nosnippet`: no excerpt may be shown.
    NoSnippet,
    /// `snippet`: an excerpt may be shown.
    Snippet,
    /// `max-snippet`: longest excerpt, in characters.
    MaxSnippet(Limit),
    /// `max-image-preview`: largest image preview.
    MaxImagePreview(ImagePreview),
    /// `max-video-preview`: longest video preview, in seconds.
    MaxVideoPreview(Limit),
    /// `noimageindex`: images of the page may not be indexed.
    NoImageIndex,
    /// `notranslate`: no translation may be offered.
    NoTranslate,
    /// `unavailable_after`: from this time on the page may not be shown.
    UnavailableAfter(Timestamp),
    /// `indexifembedded`: the page may be indexed as part of another one.
    IndexIfEmbedded,
    /// `noai`: no training of models with the page or its images.
    NoAi,
    /// `noml`: no training of models with the page.
    NoMl,
    /// `noimageai`: no training of models with the page's images.
    NoImageAi,
    /// `noodp`: no text of the Open Directory Project (without effect today).
    NoOdp,
    /// `noydir`: no text of the Yahoo directory (without effect today).
    NoYdir,
    /// `noyaca`: no text of the Yandex catalogue (without effect today).
    NoYaca,
    /// `nositelinkssearchbox`: no search box of the site in results.
    NoSitelinksSearchBox,
}

/// Limits a length: characters of an excerpt, seconds of a video preview. A smaller one is stricter.
///
/// Written as a number, with -1 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// At most this many.
    AtMost(u32),
    /// Said to be unlimited (`-1`).
    Unlimited,
}

impl Limit {
    /// Returns the number that is written for this limit: -1 is unlimited.
    pub fn number(self) -> i64 {
        match self {
            Self::AtMost(most) => i64::from(most),
            Self::Unlimited => -1,
        }
    }

    /// Reads a limit's number; every negative number is unlimited.
    fn from_number(number: i64) -> Self {
        if number < 0 { Self::Unlimited } else { Self::AtMost(u32::try_from(number).unwrap_or(u32::MAX)) }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.number())
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_number)
    }
}

/// Limits the size of an image preview. A smaller one is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImagePreview {
    /// No preview.
    None,
    /// A preview of the default size.
    Standard,
    /// A preview up to the width of the viewport.
    Large,
}

impl ImagePreview {
    /// Returns the value as it's written.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Standard => "standard",
            Self::Large => "large",
        }
    }
}

/// The terms without a value, under the [`Key`] that is made of them.
const WORDS: [(&str, Term); 21] = [
    ("all", Term::All),
    ("none", Term::None),
    ("noindex", Term::NoIndex),
    ("index", Term::Index),
    ("nofollow", Term::NoFollow),
    ("follow", Term::Follow),
    ("noarchive", Term::NoArchive),
    ("nocache", Term::NoCache),
    ("archive", Term::Archive),
    ("nosnippet", Term::NoSnippet),
    ("snippet", Term::Snippet),
    ("noimageindex", Term::NoImageIndex),
    ("notranslate", Term::NoTranslate),
    ("indexifembedded", Term::IndexIfEmbedded),
    ("noai", Term::NoAi),
    ("noml", Term::NoMl),
    ("noimageai", Term::NoImageAi),
    ("noodp", Term::NoOdp),
    ("noydir", Term::NoYdir),
    ("noyaca", Term::NoYaca),
    ("nositelinkssearchbox", Term::NoSitelinksSearchBox),
];

impl Term {
    /// Returns whether a term restricts something.
    pub(crate) fn restricts(self) -> bool {
        match self {
            Self::None
            | Self::NoIndex
            | Self::NoFollow
            | Self::NoArchive
            | Self::NoCache
            | Self::NoSnippet
            | Self::MaxSnippet(_)
            | Self::MaxImagePreview(_)
            | Self::MaxVideoPreview(_)
            | Self::NoImageIndex
            | Self::NoTranslate
            | Self::UnavailableAfter(_)
            | Self::NoAi
            | Self::NoMl
            | Self::NoImageAi => true,
            Self::All
            | Self::Index
            | Self::Follow
            | Self::Archive
            | Self::Snippet
            | Self::IndexIfEmbedded
            | Self::NoOdp
            | Self::NoYdir
            | Self::NoYaca
            | Self::NoSitelinksSearchBox => false,
        }
    }

    /// Returns whether a term may lift, in some dialect, a restriction of another.
    pub(crate) fn allows(self) -> bool {
        matches!(
            self,
            Self::All | Self::Index | Self::Follow | Self::Archive | Self::Snippet | Self::IndexIfEmbedded
        )
    }

    /// Finds a term without a value; blanks, `-` and `_` inside are passed over, case is ignored.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let key = Key::new(word)?;
        WORDS.iter().find(|(word, _)| word.as_bytes() == key.bytes()).map(|(_, term)| *term)
    }

    /// Reads a term with a value: nothing if the name is no such term's, `Err` if the value is no good.
    pub(crate) fn from_pair(name: &str, value: &str) -> Option<Result<Self, BadValue>> {
        let value = value.trim();
        match Key::new(name)?.bytes() {
            b"maxsnippet" => Some(limit(value).map(Self::MaxSnippet)),
            b"maxvideopreview" => Some(limit(value).map(Self::MaxVideoPreview)),
            b"maximagepreview" => {
                let sizes = [ImagePreview::None, ImagePreview::Standard, ImagePreview::Large];
                let size = sizes.into_iter().find(|size| value.eq_ignore_ascii_case(size.word()));
                Some(size.map(Self::MaxImagePreview).ok_or(BadValue))
            }
            _ => None,
        }
    }

    /// Returns whether a name is `unavailable_after`, in any spelling.
    pub(crate) fn is_date_name(name: &str) -> bool {
        Key::new(name).is_some_and(|key| key.bytes() == b"unavailableafter")
    }

    /// Returns whether the key of a term begins so.
    pub(crate) fn has_prefix(start: &str) -> bool {
        const WITH_VALUES: [&str; 4] =
            ["maxsnippet", "maxvideopreview", "maximagepreview", "unavailableafter"];
        WORDS.iter().map(|(word, _)| word).chain(&WITH_VALUES).any(|word| word.starts_with(start))
    }

    /// Returns whether a name is any term's, with a value or without.
    pub(crate) fn is_name(name: &str) -> bool {
        Self::from_word(name).is_some() || Self::from_pair(name, "").is_some() || Self::is_date_name(name)
    }
}

/// The value of a term can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadValue;

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaxSnippet(limit) => write!(f, "max-snippet:{}", limit.number()),
            Self::MaxVideoPreview(limit) => write!(f, "max-video-preview:{}", limit.number()),
            Self::MaxImagePreview(size) => write!(f, "max-image-preview:{}", size.word()),
            Self::UnavailableAfter(date) => write!(f, "unavailable_after: {date}"),
            plain => {
                let name = WORDS.iter().find(|(_, term)| term == plain).map_or("", |(word, _)| word);
                f.write_str(name)
            }
        }
    }
}

/// What spellings of one term have in common (`No-Index`, `no index`).
struct Key {
    bytes: [u8; Key::LONGEST],
    length: usize,
}

impl Key {
    /// Longest key of a term, in bytes.
    const LONGEST: usize = 24;

    /// Makes the key of a name: nothing if it can't be a term's.
    fn new(name: &str) -> Option<Self> {
        let mut key = Self { bytes: [0; Self::LONGEST], length: 0 };
        for c in name.chars() {
            if c.is_ascii_alphanumeric() {
                *key.bytes.get_mut(key.length)? = c.to_ascii_lowercase() as u8;
                key.length += 1;
            } else if !c.is_whitespace() && !matches!(c, '-' | '_' | '\u{2010}' | '\u{2011}' | '\u{2013}') {
                return None;
            }
        }
        Some(key)
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Reads a limit: a number, or -1 for none (Google: without a number the rule is ignored).
fn limit(value: &str) -> Result<Limit, BadValue> {
    if value == "-1" {
        return Ok(Limit::Unlimited);
    }
    if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
        return Err(BadValue);
    }
    Ok(Limit::AtMost(value.parse().unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_every_spelling() {
        for (word, term) in WORDS {
            assert_eq!(Term::from_word(word), Some(term));
            assert_eq!(Term::from_word(&word.to_uppercase()), Some(term));
            assert!(word.len() <= Key::LONGEST);
        }
        assert_eq!(Term::from_word("No-Sitelinks_Search Box"), Some(Term::NoSitelinksSearchBox));
        assert_eq!(Term::from_word("indexnow"), None);
        assert_eq!(Term::from_word(""), None);
    }

    #[test]
    fn limits_are_numbers_or_minus_one() {
        let read = |value| Term::from_pair("max-snippet", value);
        assert_eq!(read("20"), Some(Ok(Term::MaxSnippet(Limit::AtMost(20)))));
        assert_eq!(read("-1"), Some(Ok(Term::MaxSnippet(Limit::Unlimited))));
        assert_eq!(read("99999999999999999999"), Some(Ok(Term::MaxSnippet(Limit::AtMost(u32::MAX)))));
        for bad in ["", "many", "-2", "+5", "5px", "1.5", "٣"] {
            assert_eq!(read(bad), Some(Err(BadValue)), "{bad}");
        }
        assert_eq!(Term::from_pair("noindex", "1"), None);
    }

    #[test]
    fn a_smaller_limit_is_stricter_and_unlimited_is_weakest() {
        assert!(Limit::AtMost(0) < Limit::AtMost(30));
        assert!(Limit::AtMost(u32::MAX) < Limit::Unlimited);
        assert!(ImagePreview::None < ImagePreview::Standard && ImagePreview::Standard < ImagePreview::Large);
    }

    #[test]
    fn limits_are_written_as_numbers() {
        for (limit, json) in [(Limit::AtMost(0), "0"), (Limit::AtMost(30), "30"), (Limit::Unlimited, "-1")] {
            assert_eq!(serde_json::to_string(&limit).unwrap(), json);
            assert_eq!(serde_json::from_str::<Limit>(json).unwrap(), limit);
        }
    }
}
