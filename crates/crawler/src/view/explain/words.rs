//! The story in plain words: the answer, what would change it, and the whole on a page.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::super::json;
use super::super::moment::Moment;
use super::now::Hints;
use super::{Fate, Story, moment};
use crate::clean::clean;
use crate::record::{Decided, Decision, Layer, LinkOutcome, PageRecord, Reason};

/// What the conclusion is drawn from, besides the story itself.
pub(super) struct Facts<'a> {
    pub(super) record: Option<&'a PageRecord>,
    /// The last decision that left it out.
    pub(super) skip: Option<&'a Decision>,
    /// All decisions about it, in order.
    pub(super) decisions: &'a [(u64, Decision)],
    pub(super) hints: &'a Hints,
    /// Pages may link to it whose links are stored nowhere.
    pub(super) is_perhaps_unlisted: bool,
}

/// What a site's robots.txt has to say for an answer to change.
const OTHER_ROBOTS: &str = "the site: a robots.txt that allows it, read by a new crawl";
const AS_SEED: &str = "the URL in the seed file of a new crawl";
const ASKED_AGAIN: &str = "`crawl resume DIR --revisit 0s` asks for it again";

impl Story {
    /// Draws the conclusion: the answer in one sentence, whether a rule stands against the URL, and what would change it.
    pub(super) fn conclude(&mut self, facts: &Facts<'_>) {
        match self.fate {
            Fate::Fetched | Fate::Redirected | Fate::Error => self.answered(facts),
            Fate::Failed => {
                let record = facts.record;
                let kind = record.and_then(|record| record.error.clone()).unwrap_or_default();
                let detail = record.and_then(|record| record.detail.clone()).unwrap_or_default();
                let tries = record.map_or(0, |record| record.tries);
                self.answer = format!("not fetched: every one of {tries} tries failed: {kind} {detail}");
                self.may(format!("an answer from its host: {ASKED_AGAIN}"));
            }
            Fate::Queued => self.queued(facts.hints),
            Fate::Parked => {
                let why = self.host.as_ref().and_then(|host| host.parked.clone()).unwrap_or_default();
                self.answer =
                    format!("not fetched: its host was left alone ({why}); it still waits in the queue");
                self.may(if let Some(pages) = why.strip_prefix("max-pages-per-host ") {
                    format!("`crawl resume DIR` with a --max-pages-per-host above {pages}")
                } else if why.ends_with("over max-crawl-delay") {
                    "`crawl resume DIR` with a greater --max-crawl-delay".to_owned()
                } else {
                    "`crawl resume DIR` asks the host again".to_owned()
                });
            }
            Fate::LeftOut => self.left_out(facts),
            Fate::Unseen => {
                self.unseen(facts.hints);
                if facts.is_perhaps_unlisted {
                    self.may(
                        "if only pages link to it that may be neither indexed nor followed: a link from another page; the links \
                         of those are counted (`not_listed` in `crawl show DIR ledger`) and stored nowhere",
                    );
                }
            }
        }
    }

    /// Adds to the answer.
    fn add(&mut self, more: &str) {
        self.answer.push_str("; ");
        self.answer.push_str(more);
    }

    fn may(&mut self, what: impl Into<String>) {
        self.change.push(what.into());
    }

    fn queued(&mut self, hints: &Hints) {
        let host = self.host.as_ref();
        let wait = moment(host.map(|host| host.next_at));
        let why = host.map_or("", |host| host.wait_reason);
        self.answer = format!("not fetched yet: it waits in its host's queue, not before {wait} ({why})");
        match &self.robots {
            Some(robots) if robots.is_deferred() => {
                let more = format!(
                    "its robots.txt can't be had ({}), and no page is asked for before it can",
                    robots.says.reason
                );
                let (origin, expires) = (robots.origin.clone(), robots.expires);
                self.add(&more);
                self.may(format!(
                    "a usable answer for {origin}/robots.txt: a new crawl asks for it at once, `crawl resume DIR` from {expires} on"
                ));
            }
            Some(robots) if !robots.allowed => {
                let more = format!("the robots.txt of {} denies it: {}", robots.fetched_at, robots.says);
                self.add(&more);
                self.allowed = false;
                self.may(OTHER_ROBOTS);
            }
            _ => match hints.limit.as_deref().and_then(|limit| limit.split_once(' ')) {
                Some((name @ ("max-pages" | "max-bytes"), value)) => {
                    self.may(format!("`crawl resume DIR` with a --{name} above {value}"));
                }
                _ => self.may("`crawl resume DIR` goes on with it"),
            },
        }
    }

    fn answered(&mut self, facts: &Facts<'_>) {
        let Some(record) = facts.record else { return };
        let status = record.status.unwrap_or_default();
        let line = match (record.robots.line, &record.robots.rule) {
            (Some(line), Some(rule)) => format!("line {line} of robots.txt, `{rule}`, allowed it"),
            _ => format!("no line of robots.txt stood against it ({})", record.robots.reason),
        };
        let place = record.redirect.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        self.answer = format!("fetched with status {status}{place}: {line}");
        match self.fate {
            Fate::Error => self.may(format!("a page at this address: {ASKED_AGAIN}")),
            Fate::Redirected => {
                let to = record.redirect.as_deref().unwrap_or("the target");
                self.may(format!("nothing: `crawl explain DIR {to}` says what became of the target"));
            }
            _ => {}
        }
        if self.fate != Fate::Fetched {
            return;
        }
        let say = |what: bool, yes: &str| if what { yes.to_owned() } else { format!("not {yes}") };
        let effects = [
            say(record.indexed, "indexed"),
            say(record.archived, "archived"),
            say(record.followed, "followed"),
        ];
        self.add(&effects.join(", "));
        if let Some(withdrawn) = &record.withdrawn {
            let more =
                format!("its content was withdrawn at {}: {}", Moment(withdrawn.at), withdrawn.because);
            self.add(&more);
            self.may(format!("to be kept: the page without that: {ASKED_AGAIN}"));
            return;
        }
        for (allowed, decision, what) in [
            (record.indexed, Decided::NotIndexed, "be indexed"),
            (record.archived, Decided::NotArchived, "be archived"),
            (record.followed, Decided::NotFollowed, "have its links followed"),
        ] {
            if !allowed {
                self.kept_out(facts, record, &decision, what);
            }
        }
    }

    /// Why something wasn't done with a page, by the decision on record, or else by what is stored with the page.
    fn kept_out(&mut self, facts: &Facts<'_>, record: &PageRecord, decision: &Decided, what: &str) {
        let entered = facts.decisions.iter().rev().map(|(_, entry)| entry);
        // Those of earlier visits don't count.
        let mut of_last = entered.take_while(|entry| entry.decision != Decided::Fetched);
        if let Some(entry) = of_last.find(|entry| entry.decision == *decision) {
            let without = if entry.layer == Layer::Consent {
                "a page or site that permits it"
            } else {
                "a page without it"
            };
            self.may(format!("to {what}: {without} ({}): {ASKED_AGAIN}", entry.evidence));
        } else if let Some(original) =
            record.duplicate_of.as_ref().filter(|_| *decision == Decided::NotArchived)
        {
            self.may(format!("to {what}: nothing: the body is archived as that of {original}"));
        } else if *decision == Decided::NotArchived && facts.hints.is_unarchived {
            self.may("to be archived: a new crawl with --warc");
        } else {
            let sources: BTreeSet<_> = record.directives.iter().map(|said| said.source.to_string()).collect();
            let sources = Vec::from_iter(sources).join("; ");
            self.may(format!("to {what}: a page without what it says now ({sources}): {ASKED_AGAIN}"));
        }
    }

    fn left_out(&mut self, facts: &Facts<'_>) {
        let Some(skip) = facts.skip else { return };
        let hints = facts.hints;
        self.allowed = false;
        let evidence = skip.evidence.to_string();
        let on = skip.via.as_ref().map(|via| format!(", linked from {via}")).unwrap_or_default();
        let in_file = |key: &str| vec![format!("a greater {key} in DIR/crawl.toml, then `crawl resume DIR`")];
        let (why, change) = match (skip.layer, &skip.reason) {
            (Layer::Robots, _) => {
                let has_line = skip.evidence.robots.as_ref().is_some_and(|robots| robots.line.is_some());
                let why = if has_line { "robots.txt forbids it" } else { "the site is closed by its robots.txt" };
                (format!("{why}: {evidence}"), vec![OTHER_ROBOTS.to_owned()])
            }
            (_, Reason::Link(LinkOutcome::PageNofollow)) => (
                format!("the page that links to it forbids to follow its links: {evidence}"),
                vec![
                    "that page without nofollow: `crawl resume DIR --revisit 0s` reads it again".to_owned(),
                    AS_SEED.to_owned(),
                ],
            ),
            (_, Reason::Link(LinkOutcome::RelNofollow)) => (
                format!("the link to it says not to be followed: {evidence}"),
                vec![
                    "a link without nofollow, ugc or sponsored: `crawl resume DIR --revisit 0s` reads the page again"
                        .to_owned(),
                    AS_SEED.to_owned(),
                ],
            ),
            (_, Reason::Link(LinkOutcome::OtherHost)) => ("its host doesn't belong to the crawl".to_owned(), hints.wider()),
            (_, Reason::Link(LinkOutcome::OtherPath)) => ("it lies outside the paths of the seeds".to_owned(), hints.wider()),
            (_, Reason::Link(LinkOutcome::Pattern)) if hints.is_excluded => (
                "--exclude leaves it out".to_owned(),
                vec!["`crawl resume DIR --exclude` with patterns that don't match it".to_owned()],
            ),
            (_, Reason::Link(LinkOutcome::Pattern)) => (
                "no --include matches it".to_owned(),
                vec!["`crawl resume DIR --include` with a pattern that matches it".to_owned()],
            ),
            (_, Reason::Link(LinkOutcome::TooDeep)) => (
                format!("it lies deeper than --max-depth: {evidence}"),
                vec![format!("`crawl resume DIR --max-depth {}`", hints.depth)],
            ),
            (_, Reason::Link(LinkOutcome::TooLong)) => {
                ("it is longer than limits.max_url_length".to_owned(), in_file("limits.max_url_length"))
            }
            (_, Reason::Link(LinkOutcome::TooManyRedirects)) => {
                ("too many redirects in a row lead to it".to_owned(), in_file("limits.max_redirects"))
            }
            (_, Reason::Link(LinkOutcome::Resource)) if !hints.is_barred && evidence != "form" => (
                format!("it is a resource of a page ({evidence}), no page"),
                vec!["`crawl resume DIR --resources`".to_owned()],
            ),
            (Layer::Consent, _) => (
                format!("its site denies every purpose of this crawl: {evidence}"),
                vec!["a new crawl with another --purpose that the site permits".to_owned()],
            ),
            (Layer::Trap, reason) => {
                let key = match reason {
                    Reason::Link(outcome) => outcome.keys().first(),
                    _ => None,
                };
                let change = key.map_or_else(|| vec![AS_SEED.to_owned()], |key| in_file(key));
                (format!("{} by trap: {evidence}", reason.as_str().replace('_', " ")), change)
            }
            (layer, reason) => (
                format!("{} by {}: {evidence}", reason.as_str().replace('_', " "), layer),
                vec![AS_SEED.to_owned()],
            ),
        };
        self.answer = format!("not fetched: {why}{on}");
        self.change.extend(change);
        if let Some(robots) = self.robots.as_ref().filter(|_| skip.layer == Layer::Robots)
            && robots.allowed
        {
            self.may(format!("the robots.txt of {} allows it: a new crawl fetches it", robots.fetched_at));
        }
    }

    fn unseen(&mut self, hints: &Hints) {
        let mut against = Vec::new();
        let deferred = self.robots.as_ref().filter(|robots| robots.is_deferred());
        let deferred = deferred.map(|robots| format!("its robots.txt can't be had ({})", robots.says.reason));
        let denied = deferred.is_none() && self.robots.as_ref().is_some_and(|robots| !robots.allowed);
        if let Some(robots) = &self.robots
            && denied
        {
            against.push(format!("robots.txt would forbid it: {}", robots.says));
        }
        if let Some(scope) = &self.scope {
            against.push(format!("it would lie outside the crawl ({})", scope.replace('_', " ")));
        }
        self.allowed = against.is_empty();
        "not fetched: this crawl never met it".clone_into(&mut self.answer);
        match &self.robots {
            None => self.add("nothing is stored of its robots.txt"),
            Some(robots) if robots.allowed => {
                let says = format!("the stored robots.txt would allow it: {}", robots.says);
                self.add(&says);
            }
            Some(_) => {}
        }
        for reason in deferred.iter().chain(&against) {
            self.add(reason);
        }
        if denied {
            self.may(OTHER_ROBOTS);
        }
        if self.scope.is_some() {
            self.change.extend(hints.wider());
        } else {
            self.may(
                "a link to it from a page of the crawl: `crawl resume DIR --revisit 0s` reads them again",
            );
            self.may(AS_SEED);
        }
    }

    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// Writes it for people.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let out = &mut Page { out };
        out.line("", &self.url)?;
        out.line("", &self.answer)?;
        out.title("How it was found")?;
        if self.found.is_empty() {
            out.line("  ", "no page of this crawl links to it, and it is no seed")?;
        }
        for (index, step) in self.found.iter().enumerate() {
            let text = step.text.as_ref().map(|text| format!(" \"{text}\"")).unwrap_or_default();
            let rel = step.rel.as_ref().map(|rel| format!(", rel={rel}")).unwrap_or_default();
            let outcome =
                step.outcome.map(|outcome| format!(": {}", outcome.replace('_', " "))).unwrap_or_default();
            let by = match step.by.as_str() {
                "seed" => "a seed".to_owned(),
                "redirect" => format!("redirect{outcome}"),
                "sitemap" => "named by that sitemap".to_owned(),
                "robots_txt" => "a sitemap that robots.txt names".to_owned(),
                "well_known" => "a sitemap at its usual place".to_owned(),
                "unknown" => "found on the page before, the link isn't stored".to_owned(),
                "unlisted" => {
                    "found on the page before, which may be neither indexed nor followed: its links aren't stored".to_owned()
                }
                element => format!("link <{element}>{text}{rel}{outcome}"),
            };
            out.line("  ", &format!("{}. {}  {by}", index + 1, step.url))?;
        }
        out.title("What was decided")?;
        if self.decisions.is_empty() {
            out.line("  ", "nothing about this URL stands in the ledger")?;
        }
        for row in &self.decisions {
            let reason = row.reason.as_str().replace('_', " ");
            out.line(
                "  ",
                &format!("{}  {} ({}): {reason}", row.at, row.decision.as_str().replace('_', " "), row.layer),
            )?;
            if let Some(evidence) = &row.evidence {
                out.line("      ", &evidence.to_string())?;
            }
        }
        out.title("Now")?;
        self.write_now(out)?;
        out.title("What would change the answer")?;
        for what in &self.change {
            out.line("  - ", what)?;
        }
        if self.change.is_empty() {
            out.line("  ", "nothing needs to: it was fetched, and what it holds may be used")?;
        }
        Ok(())
    }

    fn write_now(&self, out: &mut Page<'_, impl Write>) -> io::Result<()> {
        match &self.robots {
            Some(robots) => {
                let word = match robots.allowed {
                    _ if robots.is_deferred() => "can't be had, and no page is asked for before it can",
                    true => "allowed",
                    false => "not allowed",
                };
                out.line("  robots.txt  ", &format!("{word}: {}", robots.says))?;
                let versions = if robots.versions > 1 {
                    format!(
                        ", answer {} of {}: crawl robots log DIR {}",
                        robots.versions, robots.versions, robots.origin
                    )
                } else {
                    String::new()
                };
                let digest = robots.says.digest.as_deref().map(short).unwrap_or_default();
                let age =
                    format!("asked {}, holds until {}{digest}{versions}", robots.fetched_at, robots.expires);
                out.line("              ", &age)?;
            }
            None => out.line("  robots.txt  ", "nothing is stored of this origin")?,
        }
        let scope = self.scope.as_ref().map_or_else(
            || "inside, or the settings don't say".to_owned(),
            |outcome| format!("outside: {}", outcome.replace('_', " ")),
        );
        out.line("  scope       ", &scope)?;
        if let Some(page) = &self.page {
            let kind = page.content_type.as_deref().unwrap_or("no content type");
            let text = format!("status {}, {kind}, {} bytes, depth {}", page.status, page.bytes, page.depth);
            out.line("  page        ", &text)?;
            for said in &page.directives {
                out.line("  directive   ", &said.to_string())?;
            }
            if let (Some(file), Some(offset)) = (&page.warc_file, page.warc_offset) {
                out.line("  archive     ", &format!("warc/{file} at {offset}"))?;
            }
        }
        for (to, status) in &self.redirects {
            let status =
                status.map_or_else(|| "not answered".to_owned(), |status| format!("status {status}"));
            out.line("  redirect    ", &format!("{to} ({status})"))?;
        }
        if let Some(host) = &self.host {
            let parked = host.parked.as_ref().map(|why| format!("; left alone: {why}")).unwrap_or_default();
            let text = format!(
                "{}: {} URLs wait, a gap of {} s ({}){parked}",
                host.host, host.queued, host.delay, host.delay_reason
            );
            out.line("  host        ", &text)?;
        }
        Ok(())
    }
}

fn short(digest: &str) -> String {
    let end = digest.char_indices().nth(19).map_or(digest.len(), |(place, _)| place);
    format!(", version {}", &digest[..end])
}

/// Widest line.
const WIDTH: usize = 110;

struct Page<'a, W> {
    out: &'a mut W,
}

impl<W: Write> Page<'_, W> {
    fn title(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\n{text}")
    }

    /// A line behind `indent`; a long one goes on below, word by word.
    fn line(&mut self, indent: &str, text: &str) -> io::Result<()> {
        let text = clean(text);
        let mut line = indent.to_owned();
        let mut is_empty = true;
        for word in text.split(' ') {
            if !is_empty && line.chars().count() + word.chars().count() >= WIDTH {
                writeln!(self.out, "{}", line.trim_end())?;
                line = " ".repeat(indent.len());
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}
