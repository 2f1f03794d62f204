#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod any_site;
mod class;
mod glob;
mod judge;
mod kind;
mod site;
mod strip;
mod url;

pub use any_site::Month;
pub use class::{CLASSES, Class, Mode, Switches, UnknownClass};
pub use judge::{ANY, Action, BUDGET, Judge, Judgement, Link, Reason, Standing, group};
pub use kind::{Case, Instead, Kind, KindError, Kinds};

pub use site::{PageSigns, Shown, Site, Sites, recognise};
pub use strip::normal_forms;
