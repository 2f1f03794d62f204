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
        let name = self.agent.as_deref().and_then(|agent| agent.split_whitespace().next());
        writeln!(out, "# What {} asked of {}\n", clean(name.unwrap_or("a web crawler")), clean(&self.host))?;
        self.requests(out)?;
        self.pace(out)?;
        self.robots(out)?;
        self.slow(out)?;
        self.broken(out)
    }

    fn requests(&self, out: &mut impl Write) -> io::Result<()> {
        if let (Some(first), Some(last)) = (self.first_request, self.last_request) {
            writeln!(out, "- from {first} to {last}")?;
        }
        if let Some(agent) = &self.agent {
            writeln!(out, "- User-Agent: `{}`", clean(agent))?;
        }
        writeln!(
            out,
            "- {}, {} of them for robots.txt; {} answered with a page (status 2xx)",
            count(self.requests, "request"),
            self.robots_requests,
            self.pages
        )?;
        writeln!(out, "- {} of bodies were received", count(self.bytes, "byte"))?;
        if let Some(program) = &self.program {
            writeln!(out, "- program: {}", clean(program))?;
        }
        Ok(())
    }

    fn pace(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## How fast\n")?;
        if self.recorded_requests < self.requests {
            writeln!(
                out,
                "- the times of {} of {} are on record; nothing is said here of the others",
                self.recorded_requests,
                count(self.requests, "request")
            )?;
        } else if self.requests > 0 && self.overlaps == 0 {
            writeln!(out, "- never two requests at once")?;
        }
        if self.overlaps > 0 {
            let (requests, were) = (count(self.overlaps, "request"), were(self.overlaps));
            writeln!(out, "- {requests} {were} sent before the answer to an earlier one was complete")?;
        }
        if let Some(gaps) = &self.gaps {
            writeln!(
                out,
                "- between the end of an answer and the next request: {} s at least, {} s in the median ({} measured)",
                gaps.least,
                gaps.median,
                count(gaps.count, "pause")
            )?;
            if gaps.short == 0 {
                writeln!(out, "- none of them was shorter than the delay then in force")?;
            } else {
                writeln!(
                    out,
                    "- {} of them {} shorter than the delay then in force",
                    gaps.short,
                    were(gaps.short)
                )?;
            }
        }
        writeln!(out, "- the delay in force at the end was {} s, set by: {}", self.delay, self.delay_reason)?;
        for (reason, times) in &self.pauses {
            writeln!(out, "- the whole host was paused {}: {}", count(*times, "time"), clean(reason))?;
        }
        Ok(())
    }

    fn robots(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## robots.txt\n")?;
        if self.robots.is_empty() {
            writeln!(out, "No answer is on record.")?;
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
        if self.recorded_requests == 0 && self.requests > 0 {
            return writeln!(out, "- the URLs that robots.txt denied aren't on record");
        }
        let (urls, are) = (count(self.denied, "URL"), were(self.denied));
        if self.recorded_requests < self.requests {
            writeln!(
                out,
                "- {urls} {are} denied by robots.txt and not requested, as far as requests are on record"
            )?;
        } else {
            writeln!(out, "- {urls} {are} found and not requested, since robots.txt denied access")?;
        }
        if self.denied_requested > 0 {
            let (urls, are) = (count(self.denied_requested, "URL"), were(self.denied_requested));
            let later = self.denied_requested_later;
            writeln!(
                out,
                "- {urls} {are} denied at one time and requested at another, {later} of them after the denial"
            )?;
        }
        Ok(())
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
            return writeln!(out, "None are on record.");
        }
        let kinds: Vec<_> = self.errors.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        writeln!(out, "{} failed ({}).\n", count(self.broken_count, "URL"), clean(&kinds.join(", ")))?;
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

/// `1 request`, `2 requests`.
fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn were(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
}
