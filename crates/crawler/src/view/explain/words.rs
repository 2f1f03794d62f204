//! The story in plain words: the answer, what would change it, and the whole on a page.

use std::collections::BTreeSet;
use std::io::{self, Write};

use meta::{Because, Origin};

use super::super::json;
use super::{Fate, Story, moment};
use crate::clean::clean;
use crate::record::{Decision, Layer, PageRecord};

impl Story {
    /// Draws the conclusion: the answer in one sentence, whether a rule stands against the URL, and what would change it.
    pub(super) fn conclude(
        &mut self,
        record: Option<&PageRecord>,
        skip: Option<&Decision>,
        is_perhaps_unlisted: bool,
    ) {
        let denied = self.robots.as_ref().is_some_and(|robots| !robots.allowed);
        match self.fate {
            Fate::Fetched | Fate::Redirected | Fate::Error => self.answered(record),
            Fate::Failed => {
                let kind = record.and_then(|record| record.error.clone()).unwrap_or_default();
                let detail = record.and_then(|record| record.detail.clone()).unwrap_or_default();
                let tries = record.map_or(0, |record| record.tries);
                self.answer = format!("not fetched: every one of {tries} tries failed: {kind} {detail}");
                self.may("a new crawl tries it again; --retries and --timeout say how often and how long");
            }
            Fate::Queued => {
                let host = self.host.as_ref();
                let wait = moment(host.map(|host| host.next_at));
                let why = host.map_or("", |host| host.wait_reason);
                self.answer =
                    format!("not fetched yet: it waits in its host's queue, not before {wait} ({why})");
                if denied {
                    self.answer.push_str("; the robots.txt that is stored now denies it");
                    self.allowed = false;
                }
                self.may("`crawl resume DIR` goes on with it");
            }
            Fate::Parked => {
                let why = self.host.as_ref().and_then(|host| host.parked.clone()).unwrap_or_default();
                self.answer =
                    format!("not fetched: its host was left alone ({why}); it still waits in the queue");
                self.may(
                    "`crawl resume DIR` asks the host again, with a higher limit where it was one of ours",
                );
            }
            Fate::LeftOut => self.left_out(skip),
            Fate::Unseen => {
                self.unseen(denied);
                if is_perhaps_unlisted {
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

    fn answered(&mut self, record: Option<&PageRecord>) {
        let Some(record) = record else { return };
        let status = record.status.unwrap_or_default();
        let line = match (record.robots.line, &record.robots.rule) {
            (Some(line), Some(rule)) => format!("line {line} of robots.txt, `{rule}`, allows it"),
            _ => format!("no line of robots.txt stands against it ({})", record.robots.reason),
        };
        let place = record.redirect.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        self.answer = format!("fetched with status {status}{place}: {line}");
        match self.fate {
            Fate::Error => self.may("the site's matter: a page at this address; a new crawl asks again"),
            Fate::Redirected => self.may("nothing on our side: what it leads to has a story of its own"),
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
        for (allowed, what) in [
            (record.indexed, "be indexed"),
            (record.archived, "be archived"),
            (record.followed, "have its links followed"),
        ] {
            if allowed {
                continue;
            }
            let (unread, said): (Vec<_>, Vec<_>) =
                record.directives.iter().partition(|because| because.source.origin == Origin::Unread);
            let sources = |because: &[&Because]| {
                let sources: BTreeSet<_> = because.iter().map(|because| because.source.to_string()).collect();
                Vec::from_iter(sources).join("; ")
            };
            if said.is_empty() && unread.is_empty() && what == "be archived" {
                self.may("to be archived: a crawl with --warc");
            }
            if !said.is_empty() {
                self.may(format!("to {what}: the author's word, now: {}", sources(&said)));
            }
            if !unread.is_empty() && !what.contains("links") {
                self.may(format!("to {what}: a response that can be read whole, now: {}", sources(&unread)));
            }
        }
    }

    fn left_out(&mut self, skip: Option<&Decision>) {
        let Some(skip) = skip else { return };
        self.allowed = false;
        let evidence = skip.evidence.to_string();
        let on = skip.via.as_ref().map(|via| format!(", linked from {via}")).unwrap_or_default();
        let (why, change) = match (skip.layer, skip.reason.as_str()) {
            (Layer::Robots, _) => (
                format!("robots.txt forbids it: {evidence}"),
                "the site's word: another robots.txt".to_owned(),
            ),
            (_, "nofollow_page") => (
                format!("the page that links to it forbids to follow its links: {evidence}"),
                "a link from a page without nofollow, or the URL in the seed file".to_owned(),
            ),
            (_, "nofollow_rel") => (
                format!("the link to it says not to be followed: {evidence}"),
                "a link without rel=nofollow, ugc or sponsored, or the URL in the seed file".to_owned(),
            ),
            (_, "other_host") => (
                "its host doesn't belong to the crawl".to_owned(),
                "a seed on that host, or --scope domain or any".to_owned(),
            ),
            (_, "other_path") => (
                "it lies outside the paths of the seeds".to_owned(),
                "a seed at or above it, or --scope host".to_owned(),
            ),
            (_, "pattern") => {
                ("--include or --exclude leaves it out".to_owned(), "other patterns".to_owned())
            }
            (_, "too_deep") => {
                (format!("it lies deeper than --max-depth: {evidence}"), "a greater --max-depth".to_owned())
            }
            (_, "too_long") => (
                "it is longer than limits.max_url_length".to_owned(),
                "a greater limits.max_url_length in the TOML".to_owned(),
            ),
            (_, "too_many_redirects") => (
                "too many redirects in a row lead to it".to_owned(),
                "a greater limits.max_redirects in the TOML".to_owned(),
            ),
            (_, "resource") => {
                (format!("it is a resource of a page ({evidence}), no page"), "--resources".to_owned())
            }
            (Layer::Consent, _) => (
                format!("its site denies every purpose of this crawl: {evidence}"),
                "the site's word, or other purposes of the crawl".to_owned(),
            ),
            (layer, reason) => (
                format!("{} by {}: {evidence}", reason.replace('_', " "), layer.as_str()),
                format!("see the limits of layer `{}` in docs/limits.md", layer.as_str()),
            ),
        };
        self.answer = format!("not fetched: {why}{on}");
        self.may(change);
        if let Some(robots) = self.robots.as_ref().filter(|_| skip.layer == Layer::Robots) {
            if robots.allowed {
                self.may(format!(
                    "the robots.txt of {} allows it now: a new crawl would fetch it",
                    robots.fetched_at
                ));
            } else {
                self.may(format!("robots.txt is asked for again after {}", robots.expires));
            }
        }
    }

    fn unseen(&mut self, denied: bool) {
        let mut against = Vec::new();
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
        for reason in &against {
            self.add(reason);
        }
        if denied {
            self.may("the site's word: another robots.txt");
        }
        if self.scope.is_some() {
            self.may("a wider --scope, other --include and --exclude, or the URL in the seed file");
        } else {
            self.may("a link to it from a page of the crawl, or the URL in the seed file");
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
            let reason = row.reason.replace('_', " ");
            out.line(
                "  ",
                &format!("{}  {} ({}): {reason}", row.at, row.decision.replace('_', " "), row.layer),
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
                let word = if robots.allowed { "allowed" } else { "not allowed" };
                out.line("  robots.txt  ", &format!("{word}: {}", robots.says))?;
                let versions = if robots.versions > 1 {
                    format!(
                        ", answer {} of {}: crawl robots log {}",
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
            let text = format!("status {}, {kind}, {} octets, depth {}", page.status, page.bytes, page.depth);
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
