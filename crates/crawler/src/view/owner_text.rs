//! The report for a site's owner as Markdown that can be read as plain text.

use std::io::{self, Write};

use super::json;
use super::owner::{AnsweredBy, OwnerReport};
use page::clean::markdown;
use page::quantity::{self, count};

impl OwnerReport {
    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// Writes it as Markdown.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let name = self.agent.as_deref().and_then(|agent| agent.split_whitespace().next());
        writeln!(
            out,
            "# Requests by {} to {}\n",
            markdown::text(name.unwrap_or("a web crawler")),
            markdown::text(&self.host)
        )?;
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
            writeln!(out, "- User-Agent: {}", markdown::code(agent))?;
        }
        writeln!(
            out,
            "- {}, {} of them for robots.txt; {} with status 2xx",
            count(self.requests, "request"),
            self.robots_requests,
            self.pages
        )?;
        writeln!(out, "- {} of bodies received", quantity::size(self.bytes))?;
        let AnsweredBy { cache, site, unknown } = self.answered_by;
        if cache + site > 0 {
            let urls = count(cache + site + unknown, "URL");
            let share = 100.0 * site as f64 / (cache + site) as f64;
            writeln!(
                out,
                "- of the last responses to {urls} a cache gave {cache} and the site itself {site} ({share:.0}% of these), by their headers; \
                 {unknown} don't say"
            )?;
        }
        if let Some(program) = &self.program {
            writeln!(out, "- program: {}", markdown::text(program))?;
        }
        Ok(())
    }

    fn pace(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## Request rate\n")?;
        if self.recorded_requests < self.requests {
            writeln!(
                out,
                "- the times of {} of {} are recorded; the figures below are about those",
                self.recorded_requests,
                count(self.requests, "request")
            )?;
        } else if self.requests > 0 && self.overlaps == 0 {
            writeln!(out, "- never more than one request at a time")?;
        }
        if self.interrupted > 0 {
            let (requests, were) = (count(self.interrupted, "request"), were(self.interrupted));
            writeln!(
                out,
                "- {requests} {were} in flight when the crawl was killed or stopped, and may have reached the host"
            )?;
        }
        if self.overlaps > 0 {
            let (requests, were) = (count(self.overlaps, "request"), were(self.overlaps));
            writeln!(out, "- {requests} {were} sent before an earlier response was complete")?;
        }
        if let Some(gaps) = &self.gaps {
            writeln!(
                out,
                "- from the end of a response to the next request: minimum {} s, median {} s ({} measured)",
                gaps.least,
                gaps.median,
                count(gaps.count, "pause")
            )?;
            if gaps.short == 0 {
                writeln!(out, "- none was shorter than the delay in effect")?;
            } else {
                writeln!(out, "- {} {} shorter than the delay in effect", gaps.short, were(gaps.short))?;
            }
        }
        writeln!(out, "- delay at the end: {} s, set by: {}", self.delay, self.delay_reason)?;
        for wish in &self.wishes {
            writeln!(out, "- asked for by the owner, and kept: {}", markdown::text(wish))?;
        }
        for (reason, times) in &self.pauses {
            writeln!(
                out,
                "- the whole host was paused {}: {}",
                count(*times, "time"),
                markdown::text(reason)
            )?;
        }
        Ok(())
    }

    fn robots(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## robots.txt\n")?;
        if self.robots.is_empty() {
            writeln!(out, "No response is recorded.")?;
        }
        for file in &self.robots {
            writeln!(
                out,
                "- {}, {}: {} ({})",
                markdown::url(&format!("{}/robots.txt", file.origin)),
                file.fetched_at,
                markdown::text(file.access.as_str()),
                markdown::text(&file.reason)
            )?;
            for warned in &file.warnings {
                writeln!(out, "  - {}", markdown::text(&warned.to_string()))?;
            }
        }
        if self.recorded_requests == 0 && self.requests > 0 {
            return writeln!(out, "- the URLs that robots.txt denied aren't recorded");
        }
        let (urls, are) = (count(self.denied, "URL"), were(self.denied));
        if self.recorded_requests < self.requests {
            writeln!(
                out,
                "- {urls} {are} denied by robots.txt and not requested, as far as requests are recorded"
            )?;
        } else {
            writeln!(out, "- {urls} {are} found but not requested, because robots.txt denied access")?;
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
        writeln!(out, "\n## Slowest responses\n")?;
        for slow in &self.slowest {
            writeln!(out, "- {} ms  {}  ({})", slow.duration_ms, markdown::url(&slow.url), slow.at)?;
        }
        Ok(())
    }

    fn broken(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n## Broken links and errors\n")?;
        if self.broken_count == 0 {
            return writeln!(out, "None recorded.");
        }
        let kinds: Vec<_> = self.errors.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
        writeln!(
            out,
            "{} failed ({}).\n",
            count(self.broken_count, "URL"),
            markdown::text(&kinds.join(", "))
        )?;
        for broken in &self.broken {
            writeln!(out, "- {}  {}", markdown::text(&broken.kind), markdown::url(&broken.url))?;
            for page in &broken.linked_from {
                writeln!(out, "  - linked from {}", markdown::url(page))?;
            }
            let more = broken.linked_from_count.saturating_sub(broken.linked_from.len() as u64);
            if more > 0 {
                writeln!(out, "  - and from {more} more")?;
            }
        }
        if self.broken_count > self.broken.len() as u64 {
            writeln!(out, "- and {} more", self.broken_count - self.broken.len() as u64)?;
        }
        Ok(())
    }
}

fn were(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
}
