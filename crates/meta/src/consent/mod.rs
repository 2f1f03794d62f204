//! Consent signals: which uses of a page its site permits.
//!
//! Each signal is read into [`Statement`]s, which are stored with the page. [`combine`] makes one answer per
//! purpose of them: any denial denies, else any permission permits, else the answer is unknown (AIPREF
//! vocabulary). A [`Policy`] holds the purposes that the operator declared and what an unknown answer means.
//! Signals never widen robots.txt: a path that it closes is not fetched, and has no preference at all.

mod ai_txt;
mod content_signal;
mod content_usage;
mod in_robots;
mod location;
mod malformed;
mod on_page;
mod policy;
mod purpose;
mod statement;
pub mod tdm;

pub use ai_txt::{AI_AGENTS, AiTxt, ai_block_hint};
pub use content_signal::content_signal;
pub use content_usage::content_usage;
pub use in_robots::{ConsentLine, ConsentLines, RobotsLine, RobotsSignals, UnreadLines, robots_statements};
pub use location::Location;
pub use on_page::page_statements;
pub use policy::{Answer, Judgement, Policy};
pub use purpose::{Consent, Grade, Purpose, UnknownPurpose};
pub use statement::{Claim, Combined, Signal, Statement, combine};
