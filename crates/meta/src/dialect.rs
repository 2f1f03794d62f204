//! How conflicting and missing terms are resolved.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Chooses how contradicting terms are resolved.
///
/// [`Dialect::Strict`] is the default and the only one that a crawl should use; the others exist for
/// comparison and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Dialect {
    /// Takes the sum of all restrictions of all tags and headers; nothing is ever lifted.
    #[default]
    Strict,
    /// As strict, also listens to `googlebot`, and gives `noarchive` and `nocache` no effect.
    Google,
    /// An allowing term in a tag beats the prohibiting one, that of a header too; headers only prohibit.
    Yandex,
    /// The interpretation of 1997: only `robots`, ALL overrides, and of contradicting terms the permission wins.
    LycosRu,
    /// As strict, with "index, nofollow" where nothing is said.
    Inktomi,
}

impl Dialect {
    /// Lists every dialect.
    pub const ALL: [Self; 5] = [Self::Strict, Self::Google, Self::Yandex, Self::LycosRu, Self::Inktomi];

    /// Returns the name used in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Google => "google",
            Self::Yandex => "yandex",
            Self::LycosRu => "lycos_ru",
            Self::Inktomi => "inktomi",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name isn't that of a dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown directive dialect {0:?} (strict, google, yandex, lycos_ru or inktomi)")]
pub struct UnknownDialect(pub String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    /// Reads a dialect's name; case doesn't matter, and `-` counts as `_`.
    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let wanted = name.trim().to_lowercase().replace('-', "_");
        Self::ALL.into_iter().find(|d| d.name() == wanted).ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        assert_eq!("Lycos-RU".parse(), Ok(Dialect::LycosRu));
        assert!("".parse::<Dialect>().is_err());
        assert_eq!(Dialect::default(), Dialect::Strict);
    }
}
