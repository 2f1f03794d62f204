//! robots.txt rules as the tests know them: a dozen lines of matching that share no code with the crate they judge.

use std::fmt::Write as _;
use std::time::Duration;

/// One `Allow` or `Disallow` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `Allow` (true) or `Disallow`.
    pub allow: bool,
    /// The path pattern: plain ASCII, `*` and a final `$` as in RFC 9309 section 2.2.3.
    pub pattern: String,
}

/// One `Request-rate` line: so many pages in so long, always or from one minute of the day (UTC) through another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Pages.
    pub pages: u32,
    /// The time for them.
    pub per: Duration,
    /// First and last minute; the last one counts whole.
    pub within: Option<(u64, u64)>,
}

/// What a robots.txt says to our robot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The lines in file order.
    pub lines: Vec<Rule>,
    /// What a `Content-Signal` line says.
    pub signal: Option<&'static str>,
    /// The least time between two visits.
    pub crawl_delay: Option<Duration>,
    /// How many visits in which time.
    pub rates: Vec<Rate>,
    /// The minutes of the day (UTC) in which visits are welcome, the last one whole; none: always.
    pub visit: Option<(u64, u64)>,
}

impl Rules {
    /// Rules that close a whole site.
    pub fn closed() -> Self {
        Self::default().deny("/")
    }

    /// Adds a `Disallow` line.
    #[must_use]
    pub fn deny(mut self, pattern: &str) -> Self {
        self.lines.push(Rule { allow: false, pattern: pattern.to_owned() });
        self
    }

    /// Adds an `Allow` line.
    #[must_use]
    pub fn allow(mut self, pattern: &str) -> Self {
        self.lines.push(Rule { allow: true, pattern: pattern.to_owned() });
        self
    }

    /// Sets the `Crawl-delay`.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.crawl_delay = Some(delay);
        self
    }

    /// Adds a `Request-rate`.
    #[must_use]
    pub fn rate(mut self, pages: u32, per: Duration, within: Option<(u64, u64)>) -> Self {
        self.rates.push(Rate { pages, per, within });
        self
    }

    /// Sets the `Visit-time`.
    #[must_use]
    pub fn visit(mut self, from: u64, to: u64) -> Self {
        self.visit = Some((from, to));
        self
    }

    /// Returns whether a path with its query may be fetched: the longest pattern decides, `Allow` among equals, and without one
    /// everything is allowed (RFC 9309 section 2.2.2).
    pub fn allows(&self, path: &str) -> bool {
        self.deciding(path).is_none_or(|rule| rule.allow)
    }

    /// Returns the line that decides about a path; none where no line matches it.
    pub fn deciding(&self, path: &str) -> Option<&Rule> {
        let matching = self.lines.iter().filter(|rule| matches(rule.pattern.as_bytes(), path.as_bytes()));
        matching.max_by_key(|rule| (rule.pattern.len(), rule.allow))
    }

    /// Writes the group for `agent` (a product token or `*`).
    pub fn text(&self, agent: &str) -> String {
        let mut text = format!("User-agent: {agent}\n");
        if let Some(delay) = self.crawl_delay {
            let _ = writeln!(text, "Crawl-delay: {}", delay.as_secs_f64());
        }
        let minutes =
            |from: u64, to: u64| format!("{:02}{:02}-{:02}{:02}", from / 60, from % 60, to / 60, to % 60);
        if let Some(signal) = self.signal {
            let _ = writeln!(text, "Content-Signal: {signal}");
        }
        for rate in &self.rates {
            let within = rate.within.map_or_else(String::new, |(from, to)| format!(" {}", minutes(from, to)));
            let _ = writeln!(text, "Request-rate: {}/{}{within}", rate.pages, rate.per.as_secs());
        }
        if let Some((from, to)) = self.visit {
            let _ = writeln!(text, "Visit-time: {}", minutes(from, to));
        }
        for rule in &self.lines {
            let _ = writeln!(text, "{}", rule.line());
        }
        text
    }
}

impl Rule {
    /// Writes it as a line of robots.txt, without its end.
    pub fn line(&self) -> String {
        format!("{}: {}", if self.allow { "Allow" } else { "Disallow" }, self.pattern)
    }
}

fn matches(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], _) => true,
        (b"$", rest) => rest.is_empty(),
        ([b'*', pattern @ ..], path) => (0..=path.len()).any(|skip| matches(pattern, &path[skip..])),
        ([p, pattern @ ..], [c, path @ ..]) => p == c && matches(pattern, path),
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_rfc9309() {
        let rules = Rules::default()
            .deny("/a/")
            .allow("/a/b$")
            .deny("/*.pdf$")
            .deny("/q?")
            .allow("/same")
            .deny("/same");
        for (path, allowed) in [
            ("/", true),
            ("/a", true),
            ("/a/", false),
            ("/a/b", true),
            ("/a/bc", false),
            ("/x/y.pdf", false),
            ("/x/y.pdf?z", true),
            ("/q", true),
            ("/q?x=1", false),
            ("/same", true),
        ] {
            assert_eq!(rules.allows(path), allowed, "{path}");
        }
        assert!(!Rules::closed().allows("/anything"));
    }

    #[test]
    fn text_is_a_group() {
        let rules = Rules::default().allow("/x").deny("/").delay(Duration::from_millis(2500));
        assert_eq!(
            rules.text("superrobot"),
            "User-agent: superrobot\nCrawl-delay: 2.5\nAllow: /x\nDisallow: /\n"
        );
    }
}
