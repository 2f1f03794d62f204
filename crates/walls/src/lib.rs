#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod answer;
mod page;
mod robots;
mod rules;
mod streak;
mod target;
pub mod vendors;
mod verdict;
mod words;

pub use answer::{Answer, Asked};
pub use robots::{FIRST_RETRY, RobotsReading, robots_reading};
pub use rules::classify;
pub use streak::{Decision, ENOUGH, Streak};
pub use verdict::{Outcome, Place, Signal, Suspicion, Verdict};
