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

/// Returns a word of a record for people: `robots.txt` for `robots_txt`, `HTTP 404` for `http_404`, and blanks for underscores.
pub fn in_words(word: &str) -> String {
    match (word, word.strip_prefix("http_")) {
        ("robots_txt", _) => "robots.txt".to_owned(),
        (_, Some(status)) if !status.is_empty() && status.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("HTTP {status}")
        }
        _ => word.replace('_', " "),
    }
}

/// What became of a link for people. It was decided when the link was found: a URL that was queued then may have been fetched since.
pub fn outcome_in_words(outcome: &str) -> String {
    match outcome {
        "queued" => "queued when it was found".to_owned(),
        "seen" => "known already when it was found".to_owned(),
        outcome => in_words(outcome),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Debug;

    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use crate::record::{Decided, Layer, Reason, RobotsAccess};

    /// Each word comes back as the same value, and is written as nothing but itself.
    fn come_back<T>(words: &[T], of: impl Fn(&str) -> T)
    where
        T: Debug + PartialEq + ToString + Serialize + DeserializeOwned,
    {
        for value in words {
            let word = value.to_string();
            assert_eq!(of(&word), *value, "{word}");
            let json = serde_json::to_string(value).unwrap();
            assert_eq!(json, serde_json::to_string(&word).unwrap());
            assert_eq!(serde_json::from_str::<T>(&json).unwrap(), *value);
            assert_eq!(postcard::to_stdvec(value).unwrap(), postcard::to_stdvec(&word).unwrap());
        }
        let distinct: BTreeSet<_> = words.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), words.len(), "each word is there once");
    }

    #[test]
    fn every_word_comes_back_and_one_of_another_version_is_kept() {
        let other = "a word of 2031";
        let with = |mut known: Vec<Decided>| {
            known.push(other.into());
            known
        };
        come_back(&with(Decided::ALL.into()), |word| word.into());
        come_back(&[RobotsAccess::ALL.to_vec(), vec![other.into()]].concat(), |word| word.into());
        come_back(&[Reason::all(), vec![other.into()]].concat(), |word| word.into());
        assert_eq!(
            serde_json::from_str::<Decided>("\"cut\\u005foff\"").unwrap(),
            Decided::CutOff,
            "an escape"
        );
    }

    /// The words that the row of a column lists.
    fn documented(section: &str, column: &str) -> BTreeSet<String> {
        let document = include_str!("../../../../docs/schema.md");
        let section =
            document.split(&format!("\n## {section}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
        let row = section.lines().find(|line| line.starts_with(&format!("| `{column}` |"))).unwrap();
        row.rsplit('`').nth(1).unwrap().split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn words_for_people_have_no_underscores() {
        for (word, expected) in [
            ("robots_txt", "robots.txt"),
            ("http_404", "HTTP 404"),
            ("http_", "http "),
            ("nofollow_page", "nofollow page"),
            ("complete", "complete"),
        ] {
            assert_eq!(super::in_words(word), expected);
        }
    }

    #[test]
    fn the_words_are_those_that_the_documents_list() {
        let texts = |words: Vec<String>| words.into_iter().collect::<BTreeSet<_>>();
        let access = RobotsAccess::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(documented("robots", "access"), texts(access));
        let layers = Layer::ALL.iter().map(|layer| layer.as_str().to_owned()).collect();
        assert_eq!(documented("ledger", "layer"), texts(layers));

        let document = include_str!("../../../../docs/outputs.md");
        let table = |title: &str| -> BTreeSet<String> {
            let rows =
                document.split(title).nth(1).unwrap().lines().skip_while(|line| !line.starts_with('|'));
            let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
            let cells = rows.map(|line| line.split('|').nth(1).unwrap());
            cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned)).collect()
        };
        let decided = Decided::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(table("\n## Decisions\n"), texts(decided));
        let reasons = Reason::all().iter().map(ToString::to_string).collect();
        assert_eq!(table("\n## Reasons\n"), texts(reasons));
    }
}
