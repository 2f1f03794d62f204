//! What can stand in a column: each type has a JSON form (by serde), a text form for CSV and terminals, and a [`Kind`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::record::{Decided, Evidence, Layer, Reason, RobotsAccess};

/// The type of a column, as users of the tables know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// A whole number, not negative.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A time: RFC 3339, UTC, milliseconds.
    Time,
    /// A list; in CSV its members joined by `; `.
    List,
    /// A JSON object; in CSV and on a terminal as text.
    Object,
}

impl Kind {
    /// The name in `docs/outputs.md`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Time => "time",
            Self::List => "list",
            Self::Object => "object",
        }
    }
}

/// A type that a column can have.
pub trait Field: Serialize {
    /// Which type it is to users.
    const KIND: Kind;
    /// True if it may be null.
    const NULLABLE: bool = false;

    /// The text form; none for null. Foreign text is not cleaned yet.
    fn text(&self) -> Option<Cow<'_, str>>;
}

impl Field for String {
    const KIND: Kind = Kind::Text;

    fn text(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self))
    }
}

impl Field for &'static str {
    const KIND: Kind = Kind::Text;

    fn text(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self))
    }
}

macro_rules! plain {
    ($($kind:ident: $($of:ty),+;)+) => {
        $($(impl Field for $of {
            const KIND: Kind = Kind::$kind;

            fn text(&self) -> Option<Cow<'_, str>> {
                Some(Cow::Owned(self.to_string()))
            }
        })+)+
    };
}

plain! {
    Integer: u8, u16, u32, u64;
    Number: f64;
    Boolean: bool;
    Time: Moment;
    Text: Decided, Layer, Reason, RobotsAccess;
}

impl Field for Evidence {
    const KIND: Kind = Kind::Object;

    fn text(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Owned(self.to_string()))
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;

    fn text(&self) -> Option<Cow<'_, str>> {
        self.as_ref().and_then(Field::text)
    }
}

impl<T: Display + Serialize> Field for Vec<T> {
    const KIND: Kind = Kind::List;

    fn text(&self) -> Option<Cow<'_, str>> {
        let members: Vec<_> = self.iter().map(ToString::to_string).collect();
        let text = members.join("; ");
        Some(Cow::Owned(text))
    }
}

impl Field for BTreeMap<String, Vec<String>> {
    const KIND: Kind = Kind::Object;

    fn text(&self) -> Option<Cow<'_, str>> {
        if self.is_empty() {
            return Some(Cow::Borrowed(""));
        }
        serde_json::to_string(self).ok().map(Cow::Owned)
    }
}

/// A time as the tables show it: `2026-03-01T12:00:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Timestamp);

impl Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
