//! The types of columns: each has a JSON form (by serde), a [`Kind`], and a [`Value`] for all forms of output.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Serialize;

use super::moment::Moment;
use super::value::{Value, ValueRef};
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
    /// The name in `docs/schema.md`.
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
pub trait Field: Serialize + Clone {
    /// Which type it is to users.
    const KIND: Kind;
    /// True if it may be null.
    const NULLABLE: bool = false;
    /// The members of a list's elements; none where they are texts.
    const MEMBERS: &'static [(&'static str, Kind)] = &[];

    /// The value. Foreign text is not cleaned yet.
    fn into_value(self) -> Value;

    /// Gives the same value to a function. A text isn't copied.
    fn give(&self, take: &mut dyn FnMut(ValueRef<'_>)) {
        take((&self.clone().into_value()).into());
    }
}

impl Field for String {
    const KIND: Kind = Kind::Text;

    fn into_value(self) -> Value {
        Value::Text(Cow::Owned(self))
    }

    fn give(&self, take: &mut dyn FnMut(ValueRef<'_>)) {
        take(ValueRef::Text(self));
    }
}

impl Field for &'static str {
    const KIND: Kind = Kind::Text;

    fn into_value(self) -> Value {
        Value::Text(Cow::Borrowed(self))
    }
}

macro_rules! word {
    ($($of:ty),+) => {
        $(impl Field for $of {
            const KIND: Kind = Kind::Text;

            fn into_value(self) -> Value {
                Value::Text(Cow::Owned(self.to_string()))
            }
        })+
    };
}

word!(Decided, Layer, Reason, RobotsAccess);

macro_rules! whole_number {
    ($($of:ty),+) => {
        $(impl Field for $of {
            const KIND: Kind = Kind::Integer;

            fn into_value(self) -> Value {
                Value::Integer(self.into())
            }
        })+
    };
}

whole_number!(u8, u16, u32, u64);

impl Field for f64 {
    const KIND: Kind = Kind::Number;

    fn into_value(self) -> Value {
        Value::Number(self)
    }
}

impl Field for bool {
    const KIND: Kind = Kind::Boolean;

    fn into_value(self) -> Value {
        Value::Boolean(self)
    }
}

impl Field for Moment {
    const KIND: Kind = Kind::Time;

    fn into_value(self) -> Value {
        Value::Time(self.0.as_millisecond())
    }
}

impl Field for Evidence {
    const KIND: Kind = Kind::Object;

    fn into_value(self) -> Value {
        Value::compound(&self, self.to_string())
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    const MEMBERS: &'static [(&'static str, Kind)] = T::MEMBERS;

    fn into_value(self) -> Value {
        self.map_or(Value::Null, Field::into_value)
    }

    fn give(&self, take: &mut dyn FnMut(ValueRef<'_>)) {
        match self {
            Some(value) => value.give(take),
            None => take(ValueRef::Null),
        }
    }
}

/// An element of a list.
pub trait Element: Display + Serialize + Clone {
    /// Its members; none where it is a text.
    const MEMBERS: &'static [(&'static str, Kind)];
}

impl Element for String {
    const MEMBERS: &'static [(&'static str, Kind)] = &[];
}

impl<T: Element> Field for Vec<T> {
    const KIND: Kind = Kind::List;
    const MEMBERS: &'static [(&'static str, Kind)] = T::MEMBERS;

    fn into_value(self) -> Value {
        list(&self)
    }

    fn give(&self, take: &mut dyn FnMut(ValueRef<'_>)) {
        take((&list(self)).into());
    }
}

fn list<T: Element>(members: &[T]) -> Value {
    if members.is_empty() {
        return Value::empty_list();
    }
    let texts: Vec<_> = members.iter().map(ToString::to_string).collect();
    Value::compound(&members, texts.join("; "))
}

impl Field for BTreeMap<String, Vec<String>> {
    const KIND: Kind = Kind::Object;

    fn into_value(self) -> Value {
        if self.is_empty() {
            return Value::empty_object();
        }
        Value::compound(&self, serde_json::to_string(&self).unwrap_or_default())
    }
}
