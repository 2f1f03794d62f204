//! robots.txt: bytes, agent and URL to a [`Verdict`] with its reason.
//!
//! Pure: no network, no clock, no global state. Time is an argument.
//!
//! ```
//! use robots::{Agent, Options, Robots};
//!
//! let agent = Agent::new("SuperRobot/1.0 (+https://robots.example/about)");
//! let file = b"User-agent: SuperRobot\nDisallow: /private\n";
//! let robots = Robots::parse(file, &agent, &Options::default(), Some("https://site.example"));
//!
//! let verdict = robots.verdict("/private/notes.html");
//! assert!(!verdict.allowed);
//! assert_eq!(verdict.line, Some(2));
//! assert_eq!(verdict.rule.as_deref(), Some("Disallow: /private"));
//! assert!(robots.verdict("/index.html").allowed);
//! ```

pub mod access;
mod additions;
mod agent;
mod bytes;
mod choose;
mod collector;
mod conner;
mod dialect;
mod encoding;
mod field;
mod file;
mod hardened;
mod lex;
mod lint;
mod longest;
mod member;
pub mod memory;
mod pattern;
mod prefix;
mod read;
mod repair;
mod rules;
mod select;
mod signals;
mod status;
mod target;
mod timing;
mod verdict;
mod warning;

pub use additions::Additions;
pub use agent::{Agent, is_product_token};
pub use collector::Collector;
pub use dialect::{AgentRelation, Dialect, Options, UnknownDialect};
pub use file::Robots;
pub use lint::lint;
pub use rules::{Decision, RobotRules};
pub use signals::{CleanParam, Consent, Grade, PathSignal, Purpose, Signals};
pub use status::StatusClass;
pub use target::{origin_of, path_of_url, robots_url};
pub use timing::{CrawlDelay, Interval, IntervalReason, RequestRate, Timing, VisitTime};
pub use verdict::{Reason, Verdict};
pub use warning::{Warning, WarningKind};
