//! The demo: two classic sites on loopback, three robots, and a table of what each could see and why.
//!
//! Joe's Hardware and Mary's Antiques are the example sites of "HTTP: The Definitive Guide", chapter 9; their
//! robots.txt is that of its table 9-4, all pages are written for this demo. [`sites`] holds them as data,
//! [`server`] serves them, [`report`] prints what became of the six classic URLs and of everything else. The
//! crawl in between is the ordinary one.

pub mod report;
pub mod server;
pub mod sites;
mod tour;

pub use self::tour::{TourError, tour};

/// The robots that visit, as `--agent` takes them: the two that the sites name, and one that they don't.
pub const ROBOTS: [&str; 3] = ["Suzy-Spider/1.0", "Furniture-Finder/1.0", "Nosy-Bot/1.0"];
