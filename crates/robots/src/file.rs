//! One file prepared for one agent.

use std::sync::Arc;

use crate::{Agent, Dialect, Options, Reason, Signals, Timing, Verdict, Warning};

/// Holds one robots.txt, prepared for one agent once and asked many times.
///
/// Always answers: a file that could not be fetched is held as [`Robots::allow_all`] or [`Robots::deny_all`].
#[derive(Debug, Clone)]
pub struct Robots {
    dialect: Dialect,
    whole: Option<(bool, Reason)>,
    warnings: Vec<Warning>,
    sitemaps: Vec<String>,
    timing: Timing,
    signals: Signals,
    truncated: bool,
    known_fields: usize,
}

impl Robots {
    /// Reads a file for an agent. Total: any octets give a value and warnings.
    ///
    /// `site` is the origin (`https://site.example`) that full URLs in rules are compared with (H4).
    pub fn parse(body: &[u8], agent: &Agent, options: &Options, site: Option<&str>) -> Robots {
        let _ = (body, agent, site);
        Self { dialect: options.dialect, whole: None, ..Self::allow_all("") }
    }

    /// Answers everything with "allowed" for a reason that no file gave, e.g. `unavailable: 404`.
    pub fn allow_all(reason: impl Into<Arc<str>>) -> Robots {
        Self::whole(true, reason.into())
    }

    /// Answers everything but `/robots.txt` with "not allowed" for a reason that no file gave, e.g. `closed: 403`.
    pub fn deny_all(reason: impl Into<Arc<str>>) -> Robots {
        Self::whole(false, reason.into())
    }

    fn whole(allowed: bool, reason: Arc<str>) -> Robots {
        Self {
            dialect: Dialect::default(),
            whole: Some((allowed, Reason::Access(reason))),
            warnings: Vec::new(),
            sitemaps: Vec::new(),
            timing: Timing::default(),
            signals: Signals::default(),
            truncated: false,
            known_fields: 0,
        }
    }

    /// Names the dialect used in verdicts.
    #[must_use]
    pub fn with_dialect(mut self, dialect: Dialect) -> Robots {
        self.dialect = dialect;
        self
    }

    /// Decides a path with query (`/a?b`) or an absolute URL; a fragment is dropped.
    pub fn verdict(&self, _path_and_query: &str) -> Verdict {
        let (allowed, reason) = self.whole.clone().unwrap_or((true, Reason::NoRules));
        Verdict { allowed, dialect: self.dialect, reason, line: None, rule: None, group: None }
    }

    /// Gives what is odd about the file, in line order.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Gives the Sitemap values in file order, without repeats, case kept.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Gives the timing lines that bind us.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Gives the fields beside rules.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Answers whether the file was longer than the limit and was cut.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// Counts the lines whose field is known: 0 tells HTML and junk from a robots.txt.
    pub fn known_fields(&self) -> usize {
        self.known_fields
    }
}
