//! The report of a crawl for its researcher: one HTML file without scripts that loads nothing, or the figures as JSON.

mod course;
mod html;
mod network;
mod plot;
mod provenance;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use serde::Serialize;

use self::course::Course;
pub use self::course::RunValue;
pub use self::provenance::{About, Provenance, ProvenanceError, write_provenance};
use crate::config::Settings;
#[cfg(feature = "cluster")]
use crate::view::summary_of;
use crate::view::{Activity, Contents, HostLinks, Moment, Summary, View, ViewError, write_json_line};

/// Connections between hosts that the graph shows.
const CONNECTIONS: usize = 120;

/// The figures of a crawl, as `crawl report DIR --json` gives them.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Form of this object: 1.
    pub v: u32,
    /// When the figures were computed.
    pub generated: Moment,
    /// The program that crawled.
    pub program: Option<String>,
    /// The settings of the last run.
    #[serde(skip)]
    in_force: Settings,
    /// The settings of each run.
    #[serde(skip)]
    course: Course,
    /// Settings that differ from the defaults in a run, or between runs, as `crawl.toml` has them.
    pub settings: Vec<ChangedSetting>,
    /// What owners of hosts asked for, as the last run kept it.
    pub wishes: Vec<WishKept>,
    /// What `crawl show DIR` says.
    pub summary: Summary,
    /// The requests, from the ledger.
    pub activity: Activity,
    /// What the pages are.
    pub contents: Contents,
    /// The strongest connections between hosts, at most 120.
    pub host_links: HostLinks,
}

/// A setting that differs from its default, or between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedSetting {
    /// Its key in `crawl.toml`.
    pub key: &'static str,
    /// Its value in the last run.
    pub value: String,
    /// Its values, each with the runs that had it; empty where all runs had the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_run: Vec<RunValue>,
}

/// A wish of the owner of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WishKept {
    /// The hosts, as the settings name them.
    pub hosts: Vec<String>,
    /// What was asked for, and who asked.
    pub wish: String,
}

impl WishKept {
    fn of(view: &View) -> Vec<Self> {
        let wishes = view.wishes();
        wishes.iter().map(|wish| Self { hosts: wish.hosts().to_vec(), wish: wish.in_words() }).collect()
    }
}

impl Report {
    /// Computes the figures: reads pages, links and ledger several times, one after the other. Memory as [`View::skipped`].
    pub fn of(view: &View) -> Result<Self, ViewError> {
        Self::with_summary(view.summary()?, &[view])
    }

    /// The same of a crawl on many machines, with the names of its partitions. `is_running`: workers crawl it. `runs`: how often it was begun or continued.
    #[cfg(feature = "cluster")]
    pub fn of_parts(parts: &[(String, View)], is_running: bool, runs: u64) -> Result<Self, ViewError> {
        let views: Vec<&View> = parts.iter().map(|(_, view)| view).collect();
        Self::with_summary(summary_of(parts, is_running, runs)?, &views)
    }

    fn with_summary(summary: Summary, parts: &[&View]) -> Result<Self, ViewError> {
        let in_force = parts.first().and_then(|view| view.crawl_settings()).unwrap_or_default();
        let activity = Activity::of_parts(parts)?;
        let course = Course::of(&activity, parts, &in_force)?;
        Ok(Self {
            v: 1,
            generated: parts.first().map_or_else(|| Moment(page::clock::wall()), |view| view.looked_at()),
            program: parts.first().and_then(|view| view.program()),
            settings: course.changed(),
            wishes: parts.first().map(|view| WishKept::of(view)).unwrap_or_default(),
            in_force,
            course,
            summary,
            activity,
            contents: Contents::of_parts(parts)?,
            host_links: HostLinks::of_parts(parts, CONNECTIONS)?,
        })
    }

    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        write_json_line(out, self)
    }

    /// Writes the HTML file.
    pub fn write_html(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(html::page(self).into_string().as_bytes())
    }
}
