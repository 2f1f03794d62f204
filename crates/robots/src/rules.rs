//! Many sites in one object, in the shape of the classic Perl module.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::{Agent, Options, Robots, Verdict, origin_of};

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

impl Decision {
    /// Returns whether the URL is known to be allowed.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Known(verdict) if verdict.allowed)
    }
}

/// Holds the rules of many sites in one object, as `WWW::RobotRules` does.
///
/// Unlike it: Allow is read, files are fresh for 24 h and not for a year, and the answer names the deciding line.
///
/// ```
/// use robots::RobotRules;
///
/// let now = "2026-03-01T12:00:00Z".parse()?;
/// let mut rules = RobotRules::new("SuperRobot/1.0");
/// rules.parse("https://site.example/robots.txt", b"User-agent: *\nDisallow: /private", None, now);
/// assert!(rules.allowed("https://site.example/index.html", now).is_allowed());
/// assert!(!rules.allowed("https://site.example/private/x", now).is_allowed());
/// assert!(!rules.allowed("https://other.example/", now).is_allowed()); // no file yet
/// # Ok::<(), jiff::Error>(())
/// ```
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
    /// For how long a file is fresh where the caller doesn't say (RFC 9309 section 2.4).
    pub const DEFAULT_LIFETIME: Duration = Duration::from_hours(24);

    /// Makes an empty store for a robot, e.g. `SuperRobot/1.0`.
    pub fn new(agent: &str) -> Self {
        Self::with_options(Agent::new(agent), Options::default())
    }

    /// Makes an empty store with a dialect of choice.
    pub fn with_options(agent: Agent, options: Options) -> Self {
        Self { agent, options, sites: HashMap::new() }
    }

    /// Returns the robot.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Changes the robot; a changed name clears all stored files and counts.
    pub fn set_agent(&mut self, agent: Agent) {
        if agent.name() != self.agent.name() || agent.aliases() != self.agent.aliases() {
            self.sites.clear();
        }
        self.agent = agent;
    }

    /// Stores a file under the origin of `url`, replacing an older one. Without `fresh_until` it is fresh for 24 h from `now`.
    ///
    /// Returns the prepared file; none where the URL has no http or https origin.
    pub fn parse(
        &mut self,
        url: &str,
        content: &[u8],
        fresh_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Arc<Robots>> {
        let origin = origin_of(url)?;
        let robots = Arc::new(Robots::parse(content, &self.agent, &self.options, Some(&origin)));
        self.store(url, Arc::clone(&robots), fresh_until, now);
        Some(robots)
    }

    /// Stores a prepared file, e.g. [`Robots::allow_all`] after a 404, under the origin of `url`.
    pub fn store(&mut self, url: &str, robots: Arc<Robots>, fresh_until: Option<Timestamp>, now: Timestamp) {
        let Some(origin) = origin_of(url) else { return };
        let site = self.sites.entry(origin).or_default();
        site.robots = Some(robots);
        site.fresh_until = Some(
            fresh_until
                .unwrap_or_else(|| now.saturating_add(Self::DEFAULT_LIFETIME).unwrap_or(Timestamp::MAX)),
        );
    }

    /// Decides a URL by the stored file of its origin.
    pub fn allowed(&self, url: &str, now: Timestamp) -> Decision {
        let Some(origin) = origin_of(url) else { return Decision::Unsupported };
        match self.sites.get(&origin) {
            Some(Site { robots: Some(robots), fresh_until: Some(until), .. }) if now < *until => {
                Decision::Known(robots.verdict(url))
            }
            _ => Decision::Unknown,
        }
    }

    /// Returns until when the file of a URL's origin is fresh.
    pub fn fresh_until(&self, url: &str) -> Option<Timestamp> {
        self.site(url)?.fresh_until
    }

    /// Changes until when the file of a URL's origin is fresh, e.g. after a 304. Nothing happens where no file is stored.
    pub fn set_fresh_until(&mut self, url: &str, until: Timestamp) {
        let stored = origin_of(url).and_then(|origin| self.sites.get_mut(&origin));
        if let Some(site) = stored.filter(|site| site.robots.is_some()) {
            site.fresh_until = Some(until);
        }
    }

    /// Counts a visit of a URL's origin.
    pub fn visit(&mut self, url: &str, now: Timestamp) {
        if let Some(origin) = origin_of(url) {
            let site = self.sites.entry(origin).or_default();
            site.visits += 1;
            site.last_visit = Some(now);
        }
    }

    /// Returns the visits counted for a URL's origin (`no_visits` of the Perl module).
    pub fn visits(&self, url: &str) -> u64 {
        self.site(url).map_or(0, |site| site.visits)
    }

    /// Returns the last visit of a URL's origin.
    pub fn last_visit(&self, url: &str) -> Option<Timestamp> {
        self.site(url)?.last_visit
    }

    /// Returns the stored file of a URL's origin, fresh or stale.
    pub fn robots(&self, url: &str) -> Option<&Arc<Robots>> {
        self.site(url)?.robots.as_ref()
    }

    fn site(&self, url: &str) -> Option<&Site> {
        self.sites.get(&origin_of(url)?)
    }
}
