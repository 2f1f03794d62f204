#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod about;
mod agent;
pub mod consent;
mod dialect;
mod directives;
mod effects;
mod evidence;
mod fold;
mod gather;
mod header;
mod link;
mod malformed;
mod refresh;
mod resolve;

mod tag;
mod term;
mod walk;

/// The crate whose [`Timestamp`](jiff::Timestamp) is used for points in time, in the version used here.
pub use jiff;

pub use about::DocumentState;
pub use consent::Consent;
pub use dialect::{Dialect, UnknownDialect};
pub use directives::Directives;
pub use effects::{Cause, Effect, Effects};
pub use evidence::{DirectiveSource, Source, SourceKind, Warning};
pub use header::{Scope, Scoped, parse_header_line};
pub use link::{NoFollow, RelEffects, link_rel};
pub use refresh::Refresh;
pub use resolve::{Sources, resolve};
pub use robots::{Agent, parse_date};
pub use tag::{MetaTag, parse_content};
pub use term::{ImagePreview, Limit, Term};
