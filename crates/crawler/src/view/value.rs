//! The value of a cell of any table: what output formats and comparisons use.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use super::json;
use super::moment::Moment;

/// A value. The variant is that of the column's [`Kind`](super::Kind), or null.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// None.
    Null,
    /// Text, as it was found.
    Text(Cow<'static, str>),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// A time, in milliseconds since 1970.
    Time(i64),
    /// A list or an object.
    Compound {
        /// As JSON.
        json: Cow<'static, str>,
        /// In words: the members of a list joined by `; `.
        text: Cow<'static, str>,
    },
}

/// A [`Value`] that borrows its texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'a> {
    /// None.
    Null,
    /// Text, as it was found.
    Text(&'a str),
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// A time, in milliseconds since 1970.
    Time(i64),
    /// A list or an object: see [`Value::Compound`].
    Compound {
        /// As JSON.
        json: &'a str,
        /// In words.
        text: &'a str,
    },
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Text(text) => Self::Text(text),
            Value::Integer(number) => Self::Integer(*number),
            Value::Number(number) => Self::Number(*number),
            Value::Boolean(value) => Self::Boolean(*value),
            Value::Time(at) => Self::Time(*at),
            Value::Compound { json, text } => Self::Compound { json, text },
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Text(text) => Self::Text(Cow::Owned(text.to_owned())),
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Number(number) => Self::Number(number),
            ValueRef::Boolean(value) => Self::Boolean(value),
            ValueRef::Time(at) => Self::Time(at),
            ValueRef::Compound { json: "[]", text: "" } => Self::empty_list(),
            ValueRef::Compound { json, text } => {
                Self::Compound { json: Cow::Owned(json.to_owned()), text: Cow::Owned(text.to_owned()) }
            }
        }
    }
}

impl<'a> ValueRef<'a> {
    /// As [`Value::text`].
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Null => None,
            Self::Text(text) | Self::Compound { text, .. } => Some(Cow::Borrowed(text)),
            Self::Integer(number) => Some(Cow::Owned(number.to_string())),
            Self::Number(number) => Some(Cow::Owned(number.to_string())),
            Self::Boolean(value) => Some(Cow::Borrowed(if value { "true" } else { "false" })),
            Self::Time(_) => self.time().map(|time| Cow::Owned(Moment(time).to_string())),
        }
    }

    fn time(self) -> Option<Timestamp> {
        match self {
            // The last millisecond that a `Timestamp` has isn't one that it is made from.
            Self::Time(at) => Some(Timestamp::from_millisecond(at).unwrap_or(match at {
                ..0 => Timestamp::MIN,
                0.. => Timestamp::MAX,
            })),
            _ => None,
        }
    }

    /// Writes it as JSON that can be printed.
    pub(super) fn write_json(self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Null => out.write_all(b"null"),
            Self::Text(text) => json::write(out, text),
            Self::Integer(number) => write!(out, "{number}"),
            Self::Number(number) => json::write(out, &number),
            Self::Boolean(value) => write!(out, "{value}"),
            Self::Time(_) => match self.time() {
                Some(time) => write!(out, "\"{}\"", Moment(time)),
                None => out.write_all(b"null"),
            },
            Self::Compound { json, .. } => json::write_fragment(out, json),
        }
    }
}

impl Value {
    /// A list or an object. What can't be written as JSON becomes null.
    pub(crate) fn compound(value: &impl Serialize, text: String) -> Self {
        match serde_json::to_string(value) {
            Ok(json) => Self::Compound { json: Cow::Owned(json), text: Cow::Owned(text) },
            Err(_) => Self::Null,
        }
    }

    /// A list without members.
    pub(crate) fn empty_list() -> Self {
        Self::Compound { json: Cow::Borrowed("[]"), text: Cow::Borrowed("") }
    }

    /// An object without members.
    pub(crate) fn empty_object() -> Self {
        Self::Compound { json: Cow::Borrowed("{}"), text: Cow::Borrowed("") }
    }

    /// The text form; none for null. Foreign text is not cleaned yet.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        ValueRef::from(self).text()
    }

    /// The time, where it is one.
    pub fn time(&self) -> Option<Timestamp> {
        ValueRef::from(self).time()
    }

    /// The text, where it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Writes it as JSON that can be printed.
    #[cfg(feature = "serve")]
    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        ValueRef::from(self).write_json(out)
    }

    /// Compares two values of one column; null comes first. Lists and objects are compared as text.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Less,
            (_, Self::Null) => Ordering::Greater,
            (Self::Integer(a), Self::Integer(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Boolean(a), Self::Boolean(b)) => a.cmp(b),
            (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (a, b) => a.text().cmp(&b.text()),
        }
    }
}
