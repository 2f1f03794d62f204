//! A text of its own, or a part of one that many share.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text. The URLs of a page's links are parts of one block of memory, and so are their anchor texts: a hundred blocks, which one thread takes and
/// another gives back, cost more than what is done with them. A clone is a text of its own, so that who keeps one link doesn't keep the page's others
/// in memory. 24 bytes, and its own text.
pub struct SharedText(Form);

enum Form {
    Own(String),
    Part { whole: Arc<String>, from: u32, to: u32 },
}

impl SharedText {
    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Own(text) => text,
            Form::Part { whole, from, to } => &whole[*from as usize..*to as usize],
        }
    }

    /// The text without those that it shares memory with.
    pub fn into_string(self) -> String {
        match self.0 {
            Form::Own(text) => text,
            Form::Part { .. } => self.as_str().to_owned(),
        }
    }

    /// Makes it empty.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Texts that share memory, one behind the other.
#[derive(Debug)]
pub struct SharedTexts(Arc<String>);

impl SharedTexts {
    /// Takes texts that were written one behind the other.
    pub fn new(mut texts: String) -> Self {
        // To give little back takes as long as to take it.
        if texts.capacity() / 2 > texts.len() {
            texts.shrink_to_fit();
        }
        Self(Arc::new(texts))
    }

    /// The text of some bytes. One that ends behind 4 GiB is copied.
    ///
    /// # Panics
    /// If there are no such bytes, or a character lies across their beginning or end.
    pub fn part(&self, bytes: Range<usize>) -> SharedText {
        let text = &self.0[bytes.clone()];
        match (u32::try_from(bytes.start), u32::try_from(bytes.end)) {
            (Ok(from), Ok(to)) if !text.is_empty() => {
                SharedText(Form::Part { whole: Arc::clone(&self.0), from, to })
            }
            _ => text.into(),
        }
    }
}

impl Default for SharedText {
    fn default() -> Self {
        String::new().into()
    }
}

impl Clone for SharedText {
    fn clone(&self) -> Self {
        self.as_str().into()
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self(Form::Own(text))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<SharedText> for String {
    fn from(text: SharedText) -> Self {
        text.into_string()
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for SharedText {}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for SharedText {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SharedText {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl std::hash::Hash for SharedText {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_the_text_of_its_bytes_and_a_clone_of_it_shares_nothing() {
        let texts = SharedTexts::new("one; zwölf".to_owned());
        let (one, twelve, none) = (texts.part(0..3), texts.part(5..11), texts.part(3..3));
        assert_eq!((one.as_str(), twelve.as_str(), none.as_str()), ("one", "zwölf", ""));
        assert_eq!(Arc::strong_count(&texts.0), 3, "an empty text needs no memory");
        let kept = twelve.clone();
        assert_eq!(kept, twelve);
        drop((one, twelve));
        assert_eq!(Arc::strong_count(&texts.0), 1);
        assert_eq!(kept.into_string(), "zwölf");
        assert_eq!(size_of::<SharedText>(), 24);
    }

    #[test]
    fn it_is_written_and_read_as_the_text_that_it_is() {
        let part = SharedTexts::new("a \"b\"".to_owned()).part(2..5);
        assert_eq!(serde_json::to_string(&part).unwrap(), r#""\"b\"""#);
        let bytes = postcard::to_allocvec(&part).unwrap();
        assert_eq!(postcard::from_bytes::<String>(&bytes).unwrap(), "\"b\"");
        assert_eq!(postcard::from_bytes::<SharedText>(&bytes).unwrap(), part);
        assert_eq!(format!("{part} {part:?} {part:>5}"), r#""b" "\"b\""   "b""#);
    }
}
