//! Which standard a file is read by, and the choices that a standard leaves open.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Additions;

/// Names the standard by which a file is read and decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Dialect {
    /// A Standard for Robot Exclusion, 1994: Disallow alone.
    Koster1994,
    /// The Internet draft of 1996: Allow, the first matching line decides.
    Koster1996,
    /// The extended standard 2.0 of 1996: patterns, timing, versions.
    Conner1996,
    /// RFC 9309 with the detail of Google's open parser: the longest match decides.
    Rfc9309,
    /// RFC 9309 and the [`Additions`] H1 to H12, which forbid more or repair a clear slip.
    #[default]
    Hardened,
    /// Allows only what 1994, 1996, 2.0 and `hardened` all allow.
    Strictest,
}

impl Dialect {
    /// Lists every dialect, oldest first.
    pub const ALL: [Dialect; 6] = [
        Dialect::Koster1994,
        Dialect::Koster1996,
        Dialect::Conner1996,
        Dialect::Rfc9309,
        Dialect::Hardened,
        Dialect::Strictest,
    ];

    /// Returns the name used in configuration, on the command line and in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Koster1994 => "koster1994",
            Dialect::Koster1996 => "koster1996",
            Dialect::Conner1996 => "conner1996",
            Dialect::Rfc9309 => "rfc9309",
            Dialect::Hardened => "hardened",
            Dialect::Strictest => "strictest",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Says that a word names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{0}` (one of koster1994, koster1996, conner1996, rfc9309, hardened, strictest)")]
pub struct UnknownDialect(pub String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wanted = name.trim();
        Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.name().eq_ignore_ascii_case(wanted))
            .ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// Holds the choices by which a file is read. The default is the dialect `hardened` with its additions.
///
/// ```
/// use robots::{Additions, Dialect, Options};
///
/// let google = Options::from(Dialect::Rfc9309).with_index_folder(true);
/// let stricter = Options::default().with_additions(Additions::HARDENED.with(Additions::H7)).with_max_bytes(1_000_000);
/// # assert_eq!((google.dialect, stricter.max_bytes), (Dialect::Rfc9309, 1_000_000));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The standard.
    pub dialect: Dialect,
    /// The additions that `hardened` makes, also as a member of `strictest`. Default: all but H7. Without any, `hardened` decides as
    /// `rfc9309` does, but for H5.
    pub additions: Additions,
    /// Lets `Allow: /x/index.html` also allow exactly `/x/`, as Google does. `rfc9309` only. Default: off.
    pub index_folder: bool,
    /// Bytes read of a file; the rest is dropped with the incomplete line. Default 512,000 (RFC 9309 section 2.5).
    pub max_bytes: usize,
}

impl Options {
    /// Sets the additions that `hardened` makes.
    #[must_use]
    pub fn with_additions(mut self, additions: Additions) -> Self {
        self.additions = additions;
        self
    }

    /// Sets whether `Allow: /x/index.html` also allows exactly `/x/` (`rfc9309` only).
    #[must_use]
    pub fn with_index_folder(mut self, index_folder: bool) -> Self {
        self.index_folder = index_folder;
        self
    }

    /// Sets how many bytes of a file are read.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dialect: Dialect::Hardened,
            additions: Additions::HARDENED,
            index_folder: false,
            max_bytes: 512_000,
        }
    }
}

impl From<Dialect> for Options {
    fn from(dialect: Dialect) -> Self {
        Self { dialect, ..Self::default() }
    }
}
