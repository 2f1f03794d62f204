//! What `hardened` adds to RFC 9309.

use std::fmt;

use serde::{Serialize, Serializer};

/// Holds a set of the additions H1 to H12 of the dialect `hardened`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Additions(u16);

impl Additions {
    /// No addition: RFC 9309.
    pub const NONE: Additions = Additions(0);
    /// A Disallow value with blanks is also split into several paths; an Allow value with blanks is ignored.
    pub const H1: Additions = Additions(1);
    /// A user-agent value is also split at blanks and commas.
    pub const H2: Additions = Additions(1 << 1);
    /// An empty user-agent value counts as `*`.
    pub const H3: Additions = Additions(1 << 2);
    /// A Disallow value without a leading slash gets one, such an Allow value is ignored; full URLs are reduced to their path.
    pub const H4: Additions = Additions(1 << 3);
    /// Misspelt fields and a missing colon are read. `rfc9309` does so as well, as Google's parser does.
    pub const H5: Additions = Additions(1 << 4);
    /// A line over 16,663 bytes is cut (Disallow) or dropped (Allow); UTF-16 with a byte order mark is decoded.
    pub const H6: Additions = Additions(1 << 5);
    /// Rules of `*` also bind us where a group names us. Off by default.
    pub const H7: Additions = Additions(1 << 6);
    /// The Disallow lines of a group that names us only if our own name is cut (`Agent` or `Agent1` for `Agent2`), or in Latin-1,
    /// bind us as well; its Allow lines don't.
    pub const H8: Additions = Additions(1 << 7);
    /// `%24` and `%2A` of a URL are also compared as `$` and `*`; a URL is denied where either reading denies it.
    pub const H9: Additions = Additions(1 << 8);
    /// A file in UTF-16 without a mark or in UTF-32 is decoded; NUL bytes, Unicode spaces, invisible characters and full-width `:`, `/`,
    /// `*` and `#` are read as a person reads them. The file as it is counts as well: a URL is denied where any reading denies it.
    pub const H10: Additions = Additions(1 << 9);
    /// The Disallow lines of a group for a word that means every robot (`bot`, `robots`, `crawler`, `spiders`), or for asterisks that aren't a lone
    /// `*` (`**`, `*.*`), bind us as well, with any quotes, brackets or punctuation around (`"*"`, `*;`, `(robots)`); its Allow lines don't.
    pub const H11: Additions = Additions(1 << 10);
    /// VT, FF, NEL, U+2028, U+2029 and a written `\n` or `\r` are also read as line ends. The file as it is counts as well: a URL is
    /// denied where any reading denies it.
    pub const H12: Additions = Additions(1 << 11);
    /// All but H7.
    pub const HARDENED: Additions = Additions(0b1111_1011_1111);
    /// How many there are.
    const COUNT: usize = 12;

    /// Returns whether every addition of `other` is in the set.
    pub const fn contains(self, other: Additions) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Joins two sets.
    #[must_use]
    pub const fn with(self, other: Additions) -> Additions {
        Additions(self.0 | other.0)
    }

    /// Removes the additions of another set.
    #[must_use]
    pub const fn without(self, other: Additions) -> Additions {
        Additions(self.0 & !other.0)
    }
}

impl fmt::Display for Additions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        for i in (0..Self::COUNT).filter(|i| self.0 >> i & 1 == 1) {
            write!(f, "{gap}H{}", i + 1)?;
            gap = " ";
        }
        Ok(())
    }
}

impl fmt::Debug for Additions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Additions({self})")
    }
}

impl Serialize for Additions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
