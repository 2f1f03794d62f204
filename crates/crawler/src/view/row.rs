//! A row: a struct whose fields are the columns, in their order.

use std::borrow::Cow;

use serde::Serialize;

use super::cell::Kind;

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// True if it may be null.
    pub nullable: bool,
}

/// One row of a table.
pub trait Row: Serialize {
    /// The columns, in order.
    const COLUMNS: &'static [Column];

    /// Gives the text of each column, in order; none for null. Foreign text is not cleaned yet.
    fn cells(&self) -> Vec<Option<Cow<'_, str>>>;
}

/// Declares a row: the struct, its JSON form and its columns from one list of fields.
macro_rules! row {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $column:ident: $of:ty,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[$doc])* pub $column: $of,)+
        }

        impl $crate::view::Row for $name {
            const COLUMNS: &'static [$crate::view::Column] = &[$($crate::view::Column {
                name: stringify!($column),
                kind: <$of as $crate::view::Field>::KIND,
                nullable: <$of as $crate::view::Field>::NULLABLE,
            }),+];

            fn cells(&self) -> Vec<Option<std::borrow::Cow<'_, str>>> {
                vec![$($crate::view::Field::text(&self.$column)),+]
            }
        }
    };
}

pub(crate) use row;
