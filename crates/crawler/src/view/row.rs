//! A row: a struct whose fields are the columns, in order. The list of fields is the one definition of a table: its
//! JSON form, every export, `crawl schema` and `docs/schema.md` come from it.

use std::borrow::Cow;

use serde::Serialize;

use super::cell::Kind;
use super::value::{Value, ValueRef};

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its type.
    pub kind: Kind,
    /// True if it may be null.
    pub nullable: bool,
    /// What null means; `never` where it can't be null.
    pub null_when: &'static str,
    /// Its unit: `ms`, `s`, `bytes`, `days`, `characters`; empty for a text, a time, a number of things.
    pub unit: &'static str,
    /// What it says, as Markdown.
    pub about: Cow<'static, str>,
    /// The version of the program that had it first.
    pub since: &'static str,
    /// It has few different values: Parquet stores it as a dictionary.
    pub has_few_values: bool,
    /// Most rows of most crawls have nothing in it: CSV leaves it out unless it is asked for.
    pub is_detail: bool,
    /// The members of a list's elements; none where they are texts, and where it is no list.
    pub members: &'static [(&'static str, Kind)],
}

impl Column {
    /// A column that was there from the first version on.
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        nullable: bool,
        members: &'static [(&'static str, Kind)],
        about: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind,
            nullable,
            null_when: "never",
            unit: "",
            about: Cow::Borrowed(about),
            since: "0.1.0",
            has_few_values: false,
            is_detail: false,
            members,
        }
    }

    /// Returns what null means.
    pub(crate) const fn null(mut self, when: &'static str) -> Self {
        self.null_when = when;
        self
    }

    /// Returns the unit.
    pub(crate) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Marks a column with few different values.
    pub(crate) const fn names(mut self) -> Self {
        self.has_few_values = true;
        self
    }

    /// Says that most rows have nothing in it.
    pub(crate) const fn detail(mut self) -> Self {
        self.is_detail = true;
        self
    }
}

/// One row of a table.
pub trait Row: Serialize {
    /// The columns, in order.
    const COLUMNS: &'static [Column];

    /// Returns the value of each column, in order. Foreign text is not cleaned yet.
    fn into_values(self) -> Vec<Value>;

    /// Gives the same values to a function, in order. Texts aren't copied.
    fn give(&self, take: &mut dyn FnMut(ValueRef<'_>));
}

/// Declares a row: the struct, its JSON form and its columns from one list of fields. A field's doc comment is what
/// `crawl schema` says of the column; further properties may follow its type, as methods of [`Column`].
macro_rules! row {
    ($(#[$about:meta])* $name:ident {
        $($(#[doc = $doc:literal])* $column:ident: $of:ty $([$($fact:ident $(= $value:literal)?),+])?,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[doc = $doc])* pub $column: $of,)+
        }

        impl $crate::view::Row for $name {
            const COLUMNS: &'static [$crate::view::Column] = &[$(
                $crate::view::Column::new(
                    stringify!($column),
                    <$of as $crate::view::Field>::KIND,
                    <$of as $crate::view::Field>::NULLABLE,
                    <$of as $crate::view::Field>::MEMBERS,
                    concat!($($doc),*),
                )
                $($(.$fact($($value)?))+)?
            ),+];

            fn into_values(self) -> Vec<$crate::view::Value> {
                vec![$($crate::view::Field::into_value(self.$column)),+]
            }

            fn give(&self, take: &mut dyn FnMut($crate::view::ValueRef<'_>)) {
                $($crate::view::Field::give(&self.$column, take);)+
            }
        }
    };
}

pub(crate) use row;
