#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod access;
mod additions;
mod agent;
mod bytes;
mod choice;
mod choose;
mod collector;
mod conner;
mod date;
mod dialect;
mod encoding;
mod field;
mod file;
mod from_response;
mod group_set;
mod hardened;
mod lex;
mod lint;
mod longest;
mod member;
pub mod memory;
mod pattern;
mod places;
mod prefix;
mod read;
mod repair;
mod room;
mod rules;
mod scan;
mod select;
mod separators;
mod signals;
mod source;
mod status;
mod target;
mod timing;
mod verdict;
mod warning;

/// The crate whose [`Timestamp`](jiff::Timestamp) is used for points in time, in the version used here.
pub use jiff;

pub use additions::Additions;
pub use agent::{Agent, is_product_token};
pub use collector::Collector;
pub use date::parse_date;
pub use dialect::{Dialect, Options, UnknownDialect};
pub use file::Robots;
pub use lint::lint;
pub use rules::{Decision, RobotRules};
pub use signals::{CleanParam, SignalLine, Signals};
pub use status::StatusClass;
pub use target::{origin_of, path_of_url, robots_url};
pub use timing::{CrawlDelay, Interval, IntervalReason, RequestRate, Timing, VisitTime};
pub use verdict::{Reason, Verdict};
pub use warning::{Warning, WarningKind};
