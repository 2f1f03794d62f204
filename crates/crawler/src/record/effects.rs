//! What of a page was kept and used.

use std::fmt;

use meta::Effects;
use serde::Serialize;

/// What of a page was kept and used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EffectsTaken {
    /// It may be indexed: its content fields are kept.
    pub indexed: bool,
    /// Its body is in the archive.
    pub archived: bool,
    /// Its links may be queued.
    pub followed: bool,
}

impl From<&Effects> for EffectsTaken {
    fn from(may: &Effects) -> Self {
        Self {
            indexed: may.store_text.is_allowed(),
            archived: may.store_body.is_allowed(),
            followed: may.enqueue_links.is_allowed(),
        }
    }
}

impl fmt::Display for EffectsTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |yes: bool, word: &str| if yes { word.to_owned() } else { format!("not {word}") };
        let Self { indexed, archived, followed } = *self;
        let words = [word(indexed, "indexed"), word(archived, "archived"), word(followed, "followed")];
        f.write_str(&words.join(", "))
    }
}
