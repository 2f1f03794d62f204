//! Fixed vocabularies of records: an enum whose values are written as the words that the documents list. A word that another
//! version wrote is kept as it is.

/// A word that isn't among those of this version. Made by reading records alone, so that no value has two forms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OtherWord(Box<str>);

impl OtherWord {
    pub(super) fn new(word: &str) -> Self {
        Self(word.into())
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Bytes of memory beyond its own size.
    pub(super) fn memory(&self) -> usize {
        self.0.len()
    }
}

/// Declares an enum of words, its names, and the forms that records and tables give them.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $value,)+
            /// A word of another version.
            Other($crate::record::OtherWord),
        }

        impl $name {
            /// All words of this version.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            /// The word, as records and tables hold it.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$value => $word,)+
                    Self::Other(word) => word.as_str(),
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$value,)+
                    _ => Self::Other($crate::record::OtherWord::new(word)),
                }
            }
        }

        $crate::record::words::written_as_word!($name);
    };
}

/// Writes and reads a type as its word: in text, and in records by serde.
macro_rules! written_as_word {
    ($name:ident) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Ok(Self::from(&*word))
            }
        }
    };
}

pub(super) use {words, written_as_word};
