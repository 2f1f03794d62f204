//! The versions of one origin's robots.txt: a log of the responses, and the difference between two, with its effect on the crawl.

use std::io::{self, Write};

use imara_diff::{Algorithm, Diff, InternedInput};
use robots::Robots;
use serde::Serialize;

use super::json;
use super::moment::Moment;
use super::open::{View, ViewError};
use crate::config::Settings;
use crate::frontier::stored_queue_of;
use crate::record::{Decided, Layer, RobotsAccess, RobotsRecord};
use crate::robots_history::{among, rules, versions};
use crate::store::{Store, Tree};
use page::clean::clean;
use page::quantity;
use page::url::CrawlUrl;

/// URLs whose verdict changed that are named one by one.
const NAMED: usize = 20;

/// One answer to a request for robots.txt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Form of this object: 1.
    pub v: u32,
    /// Its number among the origin's, from 1.
    pub number: usize,
    /// Scheme, host and port.
    pub origin: String,
    /// When the response was complete.
    pub fetched_at: Moment,
    /// The final status.
    pub status: Option<u16>,
    /// What it meant.
    pub access: RobotsAccess,
    /// Why, in words.
    pub reason: String,
    /// Digest of the body; of a response that keeps a stored version in effect (304), that one's.
    pub digest: Option<String>,
    /// Bytes of the body.
    pub bytes: u64,
    /// Until when it holds.
    pub expires: Moment,
    /// True if other rules were in force from then on; the first answer isn't a change.
    pub changed: bool,
}

/// The difference between two answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Form of this object: 1.
    pub v: u32,
    /// The older one.
    pub before: Answer,
    /// The newer one.
    pub after: Answer,
    /// The lines, each behind `-`, `+` or a blank.
    pub lines: Vec<String>,
    /// The gap that each asks of us, in seconds.
    pub delay: [Option<f64>; 2],
    /// URLs of the crawl at this origin that were judged by both: visited, waiting or denied before.
    pub judged: u64,
    /// Those that are denied now and weren't; the first 20.
    pub denied: Vec<String>,
    /// How many they are.
    pub denied_count: u64,
    /// Those that are allowed now and weren't; the first 20.
    pub allowed: Vec<String>,
    /// How many they are.
    pub allowed_count: u64,
}

/// The robots.txt of an origin as it is stored, with the lines that bind the crawl's robot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredRobots {
    /// Form of this object: 1.
    pub v: u32,
    /// The last answer.
    pub answer: Answer,
    /// The text of the rules in force; empty where there are none. What isn't UTF-8 is replaced by U+FFFD.
    pub text: String,
    /// Number and text of each line that binds the robot, in file order.
    pub binding: Vec<BindingLine>,
}

/// A line of robots.txt that binds the crawl's robot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BindingLine {
    /// Its number, from 1.
    pub line: u32,
    /// The rule as it is read.
    pub rule: String,
}

/// Which of an origin's answers is meant: its number from 1, or the beginning of its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Which(pub String);

impl View {
    /// The origins that a text means of which something is stored: an origin or URL means that one, a host's name (with or without a
    /// port) all of that host, in order. Cost of a name: a pass over the stored answers.
    pub fn robots_origins(&self, text: &str) -> Result<Vec<String>, ViewError> {
        if text.contains("://") {
            let Ok(url) = CrawlUrl::parse(text) else { return Ok(Vec::new()) };
            let origin = url.origin().to_string();
            let last = self.store().last(Tree::Robots, &RobotsRecord::prefix(&origin))?;
            return Ok(last.map(|_| origin).into_iter().collect());
        }
        let as_url = |scheme: &str| CrawlUrl::parse(&format!("{scheme}://{text}/")).ok();
        let wanted: Vec<CrawlUrl> = ["https", "http"].into_iter().filter_map(as_url).collect();
        let has_port = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let mut origins: Vec<String> = Vec::new();
        for pair in self.store().scan(Tree::Robots, &[]) {
            let record = RobotsRecord::read(&pair?.1).map_err(ViewError::packed(Tree::Robots))?;
            if origins.last() == Some(&record.origin) {
                continue;
            }
            let Ok(url) = CrawlUrl::parse(&record.origin) else { continue };
            let is_wanted = wanted.iter().any(|wanted| {
                if has_port { wanted.origin() == url.origin() } else { wanted.host() == url.host() }
            });
            if is_wanted && !origins.contains(&record.origin) {
                origins.push(record.origin);
            }
        }
        Ok(origins)
    }

    /// Every answer of an origin, the oldest first.
    pub fn robots_log(&self, origin: &str) -> Result<Vec<Answer>, ViewError> {
        Ok(answers(&versions(self.store(), origin)?))
    }

    /// The robots.txt of an origin as it was last answered; none where nothing is stored. The robot is that of the last run.
    pub fn stored_robots(&self, origin: &str) -> Result<Option<StoredRobots>, ViewError> {
        let versions = versions(self.store(), origin)?;
        let Some(answer) = answers(&versions).pop() else { return Ok(None) };
        let settings = self.crawl_settings().unwrap_or_default();
        let binding = read(&versions, &settings).map(|rules| rules.binding()).unwrap_or_default();
        let binding = binding.into_iter().map(|(line, rule)| BindingLine { line, rule: rule.to_string() });
        Ok(Some(StoredRobots { v: 1, answer, text: body(&versions), binding: binding.collect() }))
    }

    /// The difference between two answers of an origin: those named, or the last change. None if there is no such pair.
    pub fn robots_diff(
        &self,
        origin: &str,
        pair: Option<&[Which; 2]>,
    ) -> Result<Option<Difference>, ViewError> {
        let versions = versions(self.store(), origin)?;
        let answers = answers(&versions);
        let places = match pair {
            Some([before, after]) => before.place(&answers).zip(after.place(&answers)),
            None => answers.iter().rposition(|answer| answer.changed).and_then(|after| {
                let before = (0..after).rev().find(|place| answers[*place].access != RobotsAccess::Defer)?;
                Some((before, after))
            }),
        };
        let Some((before, after)) = places else { return Ok(None) };
        let texts = [before, after].map(|place| body(&versions[..=place]));
        let settings = self.crawl_settings().unwrap_or_default();
        let read = [before, after].map(|place| read(&versions[..=place], &settings));
        let now = self.now();
        let delay = [&read[0], &read[1]].map(|rules| {
            rules
                .as_ref()
                .and_then(|rules| rules.timing().interval(now))
                .map(|interval| interval.every.as_secs_f64())
        });
        let mut difference = Difference {
            v: 1,
            before: answers[before].clone(),
            after: answers[after].clone(),
            lines: lines(&texts[0], &texts[1]),
            delay,
            judged: 0,
            denied: Vec::new(),
            denied_count: 0,
            allowed: Vec::new(),
            allowed_count: 0,
        };
        if let [Some(before), Some(after)] = &read {
            self.judge_both(origin, before, after, &mut difference)?;
        }
        Ok(Some(difference))
    }

    fn judge_both(
        &self,
        origin: &str,
        before: &Robots,
        after: &Robots,
        difference: &mut Difference,
    ) -> Result<(), ViewError> {
        let mut listed = std::collections::HashSet::new();
        let mut judge = |url: &CrawlUrl| {
            if url.origin().to_string() != origin || !listed.insert(url.fingerprint(self.key())) {
                return;
            }
            difference.judged += 1;
            let path = url.path_and_query();
            let (count, list) = match (before.verdict(path).allowed, after.verdict(path).allowed) {
                (true, false) => (&mut difference.denied_count, &mut difference.denied),
                (false, true) => (&mut difference.allowed_count, &mut difference.allowed),
                _ => return,
            };
            *count += 1;
            if list.len() < NAMED {
                list.push(url.to_string());
            }
        };
        let Some(host) = CrawlUrl::parse(origin).ok().map(|url| url.host().to_owned()) else { return Ok(()) };
        let Some(id) = self.id_of(&host)? else { return Ok(()) };
        for record in self.page_records_of(id) {
            if let Ok(url) = CrawlUrl::parse(&record?.url) {
                judge(&url);
            }
        }
        for stored in stored_queue_of(self.store(), id)? {
            if let Ok(url) = stored?.url.url(&host) {
                judge(&url);
            }
        }
        for block in self.decision_blocks() {
            let denied = block?.1.into_iter().filter(|decision| {
                decision.host == host
                    && decision.layer == Layer::Robots
                    && decision.decision == Decided::Skipped
            });
            denied.filter_map(|decision| CrawlUrl::parse(&decision.url).ok()).for_each(|url| judge(&url));
        }
        Ok(())
    }
}

impl Which {
    fn place(&self, answers: &[Answer]) -> Option<usize> {
        let text = self.0.trim().trim_start_matches("blake3:");
        if let Ok(number) = text.parse::<usize>()
            && (1..=answers.len()).contains(&number)
        {
            return Some(number - 1);
        }
        let has = |answer: &Answer| {
            answer
                .digest
                .as_ref()
                .is_some_and(|digest| digest.trim_start_matches("blake3:").starts_with(text))
        };
        (text.len() >= 4).then(|| answers.iter().position(has)).flatten()
    }
}

fn answers(versions: &[RobotsRecord]) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(versions.len());
    for (index, version) in versions.iter().enumerate() {
        let before = among(&versions[..index]);
        let now = among(&versions[..=index]);
        let changed = version.access != RobotsAccess::Defer
            && before
                .zip(now.as_ref())
                .is_some_and(|(before, now)| !before.is_same(&now.access, now.digest.as_deref()));
        answers.push(Answer {
            v: 1,
            number: index + 1,
            origin: version.origin.clone(),
            fetched_at: Moment(version.fetched_at),
            status: version.status,
            access: version.access.clone(),
            reason: version.reason.clone(),
            // A 304 has no body: the version in force is the one before.
            digest: version.digest.clone().or_else(|| {
                now.filter(|_| version.access == RobotsAccess::Stored).and_then(|in_force| in_force.digest)
            }),
            bytes: version.bytes,
            expires: Moment(version.expires),
            changed,
        });
    }
    answers
}

/// The text of the rules that were in force at the end of these versions; empty where there were none.
fn body(versions: &[RobotsRecord]) -> String {
    let rules = match versions.last().map(|version| &version.access) {
        Some(RobotsAccess::Stored) => {
            versions.iter().rev().find(|version| version.access == RobotsAccess::Rules)
        }
        Some(RobotsAccess::Rules) => versions.last(),
        Some(
            RobotsAccess::AllowAll | RobotsAccess::DenyAll | RobotsAccess::Defer | RobotsAccess::Other(_),
        )
        | None => None,
    };
    rules.map(|version| String::from_utf8_lossy(&version.bytes()).into_owned()).unwrap_or_default()
}

fn read(versions: &[RobotsRecord], settings: &Settings) -> Option<Robots> {
    let agent = robots::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases);
    rules(versions, &agent, &settings.robots_options()).map(|(rules, _)| rules)
}

/// Lines around a change that are shown with it.
const AROUND: usize = 3;

/// The lines of two texts that differ, with three around them, each behind `-`, `+` or a blank.
pub(crate) fn lines(before: &str, after: &str) -> Vec<String> {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let texts = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut lines = Vec::new();
    let mut push = |sign: char, texts: &[&str]| {
        lines.extend(texts.iter().map(|line| format!("{sign}{}", line.trim_end_matches(['\r', '\n']))));
    };
    // The lines of the older text that were shown, or belong to a gap.
    let mut shown = 0;
    let mut hunks = diff.hunks().peekable();
    let mut is_first = true;
    while let Some(hunk) = hunks.next() {
        let [removed, added] =
            [hunk.before, hunk.after].map(|range| range.start as usize..range.end as usize);
        let from = removed.start.saturating_sub(AROUND);
        if from > shown && !is_first {
            push(' ', &["..."]);
        }
        is_first = false;
        push(' ', &texts[0][from.max(shown)..removed.start]);
        push('-', &texts[0][removed.clone()]);
        push('+', &texts[1][added]);
        let next = hunks.peek().map_or(texts[0].len(), |next| next.before.start as usize);
        shown = (removed.end + AROUND).min(next);
        push(' ', &texts[0][removed.end..shown]);
    }
    lines
}

impl Answer {
    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// Writes one line for people.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { number, fetched_at, access, bytes, reason, .. } = self;
        let digest: String =
            self.digest.as_deref().unwrap_or("-").trim_start_matches("blake3:").chars().take(12).collect();
        let changed = if self.changed { "  CHANGED" } else { "" };
        let line =
            format!("{number:>4}  {fetched_at}  {access:<9}  {digest:<12}  {bytes:>7}  {reason}{changed}");
        writeln!(out, "{}", clean(&line))
    }
}

impl StoredRobots {
    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// Writes the file with the numbers of its lines; a line that applies to the robot is marked with `>`.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let Answer { number, origin, fetched_at, access, reason, .. } = &self.answer;
        let head = format!("# {origin}/robots.txt  response {number}, {fetched_at}: {access} ({reason})");
        writeln!(out, "{}", clean(&head))?;
        match self.binding.len() {
            0 => writeln!(out, "# no line applies to this crawl's robot")?,
            count => writeln!(out, "# lines that apply to this crawl's robot, marked with `>`: {count}")?,
        }
        // Line ends as robots.txt readers take them: CR, LF or both.
        let text = self.text.replace("\r\n", "\n").replace('\r', "\n");
        for (number, line) in (1..).zip(text.lines()) {
            let mark = if self.binding.iter().any(|binding| binding.line == number) { '>' } else { ' ' };
            writeln!(out, "{mark}{number:>5}  {}", clean(line))?;
        }
        Ok(())
    }
}

impl Difference {
    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// Writes it for people: the lines, then what changes for us.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        for (sign, answer) in [("---", &self.before), ("+++", &self.after)] {
            let Answer { number, origin, fetched_at, access, reason, .. } = answer;
            writeln!(
                out,
                "{sign} {}",
                clean(&format!("{origin}/robots.txt  response {number}, {fetched_at}: {access} ({reason})"))
            )?;
        }
        if self.lines.is_empty() {
            writeln!(out, "the text is the same")?;
        }
        for line in &self.lines {
            writeln!(out, "{}", clean(line))?;
        }
        writeln!(out, "\nChanges for this crawl")?;
        let gap = |delay: Option<f64>| delay.map_or_else(|| "none".to_owned(), |delay| format!("{delay} s"));
        if self.delay[0] == self.delay[1] {
            writeln!(out, "  requested delay: unchanged, {}", gap(self.delay[0]))?;
        } else {
            writeln!(out, "  requested delay: {} before, {} now", gap(self.delay[0]), gap(self.delay[1]))?;
        }
        writeln!(
            out,
            "  of {} known to the crawl there, {} are now denied and {} are now allowed",
            quantity::count(self.judged, "URL"),
            self.denied_count,
            self.allowed_count
        )?;
        for (sign, list, count) in
            [('-', &self.denied, self.denied_count), ('+', &self.allowed, self.allowed_count)]
        {
            for url in list {
                writeln!(out, "    {sign} {}", clean(url))?;
            }
            if count > list.len() as u64 {
                writeln!(out, "    {sign} and {} more: see --json", count - list.len() as u64)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn texts_are_compared_with_any_number_of_differences() {
        use std::fmt::Write as _;

        // Files in which the unique lines, and longer and longer blocks, are behind each other.
        let mut texts = [String::new(), String::new()];
        for block in 1..500 {
            for (of, text) in texts.iter_mut().enumerate() {
                for line in 0..block {
                    let _ = writeln!(text, "Disallow: /{block}-{line}");
                }
                let _ = writeln!(text, "Allow: /{of}-{block}");
            }
        }
        let [one, two] = &texts;
        let differences = std::thread::scope(|scope| {
            let compare = || super::lines(one, two).len();
            let small = std::thread::Builder::new().stack_size(256 * 1024);
            small.spawn_scoped(scope, compare).unwrap().join().unwrap()
        });
        assert!(differences > 998);
    }
}
