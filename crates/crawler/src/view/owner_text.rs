//! The report for a site's owner as Markdown that can be read as plain text.

use std::io::{self, Write};

use super::json;
use super::owner::OwnerReport;
use crate::clean::clean;

impl OwnerReport {
    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// Writes it as Markdown.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let agent = self.agent.as_deref().unwrap_or("a web crawler");
        let name = agent.split_whitespace().next().unwrap_or(agent);
        writeln!(out, "# What {} asked of {}\n", clean(name), clean(&self.host))?;
        self.requests(agent, out)?;
        self.pace(out)?;
        self.robots(out)?;
        self.slow(out)?;
        self.broken(out)
    }

    fn requests(&self, agent: &str, out: &mut impl Write) -> io::Result<()> {
        if let (Some(first), Some(last)) = (self.first_request, self.last_request) {
            writeln!(out, "- from {first} to {last}")?;
        }
        writeln!(out, "- User-Agent: `{}`", clean(agent))?;
        writeln!(
            out,
            "- {} requests, {} of them for robots.txt; {} pages were answered",
            self.requests, self.robots_requests, self.pages
        )?;
        writeln!(out, "- {} octets of bodies were received", self.bytes)?;
        if let Some(program) = &self.program {
            writeln!(out, "- program: {}", clean(program))?;
        }
        Ok(())
    }

    fn pace(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## How fast\n")?;
        match &self.gaps {
            Some(gaps) => writeln!(
                out,
                "- never two requests at once; between the end of an answer and the next request: {} s at least, {} s \
                 in the median ({} pauses measured)",
                gaps.least, gaps.median, gaps.count
            )?,
            None => writeln!(out, "- never two requests at once; the pauses weren't recorded")?,
        }
        writeln!(out, "- the pause in force at the end was {} s, set by: {}", self.delay, self.delay_reason)?;
        for (reason, count) in &self.pauses {
            writeln!(out, "- {count} times the whole host was left to rest: {}", clean(reason))?;
        }
        Ok(())
    }

    fn robots(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## robots.txt\n")?;
        if self.robots.is_empty() {
            writeln!(out, "It was never answered.")?;
        }
        for file in &self.robots {
            let line = format!(
                "- {}/robots.txt, {}: {} ({})",
                file.origin, file.fetched_at, file.access, file.reason
            );
            writeln!(out, "{}", clean(&line))?;
            for warned in &file.warnings {
                writeln!(out, "  - {}", clean(&warned.to_string()))?;
            }
        }
        writeln!(out, "- {} URLs were found and not requested, since robots.txt forbids them", self.denied)
    }

    fn slow(&self, out: &mut impl Write) -> io::Result<()> {
        if self.slowest.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n## The slowest answers\n")?;
        for slow in &self.slowest {
            writeln!(out, "- {} ms  {}  ({})", slow.duration_ms, clean(&slow.url), slow.at)?;
        }
        Ok(())
    }

    fn broken(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## Broken links and errors\n")?;
        if self.broken_count == 0 {
            return writeln!(out, "None were seen.");
        }
        let kinds: Vec<_> = self.errors.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        writeln!(out, "{} URLs couldn't be had ({}).\n", self.broken_count, clean(&kinds.join(", ")))?;
        for broken in &self.broken {
            writeln!(out, "- {}  {}", clean(&broken.kind), clean(&broken.url))?;
            for page in &broken.linked_from {
                writeln!(out, "  - linked from {}", clean(page))?;
            }
            let more = broken.linked_from_count.saturating_sub(broken.linked_from.len() as u64);
            if more > 0 {
                writeln!(out, "  - and from {more} more pages")?;
            }
        }
        if self.broken_count > self.broken.len() as u64 {
            writeln!(out, "- and {} more", self.broken_count - self.broken.len() as u64)?;
        }
        Ok(())
    }
}
