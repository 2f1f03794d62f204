//! Page directives and consent signals: what an author says on a page, in a header or about a link, as a
//! decision with its evidence.
//!
//! The crate is pure: no clock, no network, no HTML parser. The caller hands over the response's header
//! lines and the page's meta tags ([`Sources`]), our name ([`Agent`]), a [`Dialect`] and `now`; [`resolve`]
//! gives [`Directives`], and [`Directives::effects`] says what that means for storing and queueing.
//! No function here fails or panics, whatever the text.

mod about;
mod agent;
pub mod consent;
mod date;
mod dialect;
mod directives;
mod effects;
mod evidence;
mod fold;
mod header;
mod link;
mod out_of_form;
mod refresh;
mod resolve;
mod said;
mod tag;
mod term;
mod walk;

pub use about::DocumentState;
pub use consent::Consent;
pub use date::parse_date;
pub use dialect::{Dialect, UnknownDialect};
pub use directives::Directives;
pub use effects::{Cause, Effect, Effects};
pub use evidence::{Because, Origin, Source, Warning};
pub use header::{Scope, Scoped, parse_header_line};
pub use link::{NoFollow, RelEffects, link_rel};
pub use refresh::Refresh;
pub use resolve::{Sources, resolve};
pub use robots::Agent;
pub use tag::{MetaTag, parse_content};
pub use term::{ImagePreview, Limit, Term};
