//! The summary as text: at most 100 columns, without colour.

use std::fmt::Display;
use std::io::{self, Write};

use super::coverage::Counted;
use super::coverage::Status;
use super::json;
use super::limits::in_words as limit_in_words;
use super::moment::Moment;
use super::summary::{CheaperWay, HostState, HostSummary, Summary};
use crate::record::in_words;
use page::clean::{clean, clean_to};
use page::quantity;

/// Widest line.
const WIDTH: usize = 100;

/// Reasons that are listed.
const REASONS_LISTED: usize = 12;

/// Hosts in the table of the summary; the table `hosts` has them all.
const HOSTS_LISTED: usize = 200;

/// Hosts that the coverage section lists: incomplete ones, and complete ones. `--json` has them all.
const LACKING_NAMED: usize = 50;
const COMPLETE_NAMED: usize = 20;

/// Unusable lines of the seed file that are named.
const UNUSABLE_NAMED: usize = 5;

/// Reasons that are listed per host.
const HELD_BACK_LISTED: usize = 6;

impl Summary {
    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// The limits that were reached, with what each did.
    pub fn limits_in_words(&self) -> Vec<Counted> {
        let limits = self.limits.iter().map(|Counted { what, count }| Counted {
            what: limit_in_words(what).map_or_else(|| what.clone(), |words| format!("{words} ({what})")),
            count: *count,
        });
        limits.collect()
    }

    /// What the rows of table `pages` are: it has every URL that was answered.
    fn rows_in_words(&self) -> String {
        let totals = &self.totals;
        let rows: u64 = self.statuses.values().sum();
        let failed = rows.saturating_sub(totals.pages + totals.resources + totals.redirects);
        let mut kinds = vec![quantity::count(totals.pages, "page")];
        for (count, kind) in
            [(totals.resources, "resource"), (totals.redirects, "redirect"), (failed, "failed response")]
        {
            if count > 0 {
                kinds.push(quantity::count(count, kind));
            }
        }
        format!("{rows} in table pages: {}", kinds.join(", "))
    }

    /// Writes it for people; `place` is the directory as given by the user, `is_running` says that a crawl has it at this moment.
    pub fn write_text(&self, place: &str, is_running: bool, out: &mut impl Write) -> io::Result<()> {
        let mut page = Lines { out };
        self.about(place, is_running, &mut page)?;
        self.visits(&mut page)?;
        page.counts(&format!("Skipped: {}", urls(self.totals.skipped)), &self.skipped)?;
        if self.skipped_not_listed > 0 {
            let count = urls(self.skipped_not_listed);
            page.line(&format!(
                "  and {count} more that no table lists (column skipped_not_listed of pages)"
            ))?;
        }
        if !self.costly.is_empty() {
            page.counts("Of those, costly for their site, by kind of site and class", &self.costly)?;
        }
        if !self.cheaper.is_empty() {
            page.title("Cheaper ways to the content")?;
            for CheaperWay { host, kind, way, at } in self.cheaper.iter().take(REASONS_LISTED) {
                page.line(&format!("  {host} ({kind}): {way}, {at}"))?;
            }
        }
        if !self.walls.is_empty() {
            let walls = self
                .walls
                .iter()
                .map(|Counted { what, count }| Counted { what: in_words(what), count: *count });
            page.counts(
                "Walls sent instead of pages (columns outcome, vendor and signal of pages)",
                &walls.collect::<Vec<_>>(),
            )?;
        }
        if self.suspects > 0 {
            page.line(&format!(
                "  {} may be walls (column suspect of pages)",
                quantity::count(self.suspects, "response")
            ))?;
        }
        if !self.limits.is_empty() {
            page.counts("Limits reached", &self.limits_in_words())?;
        }
        page.counts("Latest robots.txt by origin", &self.robots)?;
        self.sitemaps(&mut page)?;
        self.moved_seeds(&mut page)?;
        self.hosts(&mut page)?;
        self.groups(&mut page)?;
        self.completeness(&mut page)
    }

    fn about(&self, place: &str, is_running: bool, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        page.line(&format!("Crawl {} in {place}", self.crawl_id))?;
        let started = self.started.map_or_else(|| "unknown".to_owned(), |at| at.to_string());
        page.item("started", &format!("{started}, runs so far: {}", self.totals.runs))?;
        page.item("agent", self.agent.as_deref().unwrap_or("unknown"))?;
        let first: Vec<_> = self.seeds.iter().take(3).map(String::as_str).collect();
        let more = if self.seeds.len() > first.len() { ", ..." } else { "" };
        page.item("seeds", &format!("{}: {}{more}", self.seeds.len(), first.join(", ")))?;
        if self.unusable_seeds > 0 {
            page.item(
                "",
                &format!(
                    "{} of the seed file can't be crawled:",
                    quantity::count(self.unusable_seeds, "line")
                ),
            )?;
            for bad in self.unusable.iter().take(UNUSABLE_NAMED) {
                page.item("", &format!("  {bad}"))?;
            }
        }
        let queued = match self.queued {
            0 => String::new(),
            queued => format!("; {} queued", urls(queued)),
        };
        page.item("status", &format!("{}{queued}", self.status.words()))?;
        page.item("ended", &self.ended(is_running))?;
        for seed in &self.unfetched_seeds {
            page.line(&format!("  {}: {}", clean_to(&seed.url, 60), seed.answer))?;
        }
        match self.head {
            Some(head) => page.item("head", &format!("{head} (of the ledger)")),
            None => Ok(()),
        }
    }

    fn visits(&self, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        let totals = self.totals;
        page.title("Visits")?;
        page.item("requests", &format!("{}, {} of bodies", totals.requests, quantity::size(totals.bytes)))?;
        let unchanged = match totals.unchanged {
            0 => String::new(),
            many => format!("; {} found a page unchanged", quantity::count(many, "visit")),
        };
        let resources = match totals.resources {
            0 => String::new(),
            many => format!(", {}", quantity::count(many, "resource")),
        };
        page.item(
            "URLs",
            &format!(
                "{}{resources}, {}, {} failed, {} skipped{unchanged}",
                quantity::count(totals.pages, "page"),
                quantity::count(totals.redirects, "redirect"),
                totals.failed,
                totals.skipped
            ),
        )?;
        page.item("rows", &self.rows_in_words())?;
        page.item(
            "pages",
            &format!(
                "{} may be indexed, {} under noindex, {} followed; {} archived",
                self.indexed,
                self.noindex,
                self.followed,
                bodies(self.archived)
            ),
        )?;
        page.wrapped("status", self.statuses.iter().map(|(status, count)| format!("{status}: {count}")))?;
        page.wrapped("errors", self.errors.iter().map(|(kind, count)| format!("{kind}: {count}")))
    }

    fn sitemaps(&self, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        if self.sitemaps.is_empty() {
            return Ok(());
        }
        page.title(&format!("Sitemaps: {}", self.sitemaps_known))?;
        for sitemap in self.sitemaps.iter().take(SITEMAPS_NAMED) {
            page.line(&sitemap.line())?;
        }
        match self.sitemaps_known.saturating_sub(SITEMAPS_NAMED as u64) {
            0 => Ok(()),
            more => page.line(&format!("  ... and {more} more: see --json")),
        }
    }

    fn moved_seeds(&self, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        if self.moved_seeds.is_empty() {
            return Ok(());
        }
        page.title(&format!("Moved seeds: {}", self.moved_seeds_known))?;
        for moved in self.moved_seeds.iter().take(MOVED_SEEDS_NAMED) {
            page.line(&format!("  {}", moved.line()))?;
        }
        match self.moved_seeds_known.saturating_sub(MOVED_SEEDS_NAMED as u64) {
            0 => Ok(()),
            more => page.line(&format!("  ... and {more} more: see --json")),
        }
    }

    fn hosts(&self, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        page.title(&format!("Hosts: {}, {} complete", self.hosts_known, self.hosts_complete))?;
        page.line(&host_line("host", &"pages", &"requests", &"failed", "delay", "set by", "state"))?;
        for host in self.hosts.iter().take(HOSTS_LISTED) {
            let state = match host.state {
                HostState::Complete => "complete".to_owned(),
                HostState::Queued => format!("{} queued", host.queued),
                HostState::Parked => format!("parked, {} queued", host.queued),
            };
            let HostSummary { host, pages, requests, errors, delay, delay_reason, .. } = host;
            let delay = format!("{delay} s");
            page.line(&host_line(host, pages, requests, errors, &delay, delay_reason, &state))?;
        }
        self.others(page)
    }

    fn groups(&self, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        for note in self.notes() {
            page.line(&format!("  {note}"))?;
        }
        if self.groups.is_empty() {
            return Ok(());
        }
        page.title(&format!("Groups of hosts that share one delay: {}", self.groups_known))?;
        for group in self.groups.iter().take(GROUPS_NAMED) {
            page.line(&format!("  {}", group.line()))?;
        }
        match self.groups_known.saturating_sub(GROUPS_NAMED as u64) {
            0 => Ok(()),
            more => page.line(&format!("  ... and {more} more: see --json")),
        }
    }

    fn others(&self, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        let others = self.hosts_known.saturating_sub(HOSTS_LISTED as u64);
        if others == 0 {
            return Ok(());
        }
        page.line(&format!("  ... and {others} more: see `crawl show DIR hosts`"))
    }

    fn ended(&self, is_running: bool) -> String {
        match self.end.as_ref().map(|end| (end.end.as_str(), end.limit.as_deref(), end.at)) {
            None => "unknown".to_owned(),
            Some(("running", ..)) if is_running => "not yet, the crawl is running".to_owned(),
            Some(("running", ..)) => "killed: `crawl resume` continues it".to_owned(),
            Some((_, Some(limit), at)) => format!("{}, limit {limit}", Moment(at)),
            Some((end, None, at)) => format!("{}, {end}", Moment(at)),
        }
    }

    fn completeness(&self, page: &mut Lines<'_, impl Write>) -> io::Result<()> {
        let (complete, bounded) = (self.hosts_complete, self.hosts_complete_within_limits);
        let walled = match self.hosts_complete_except_walls {
            0 => String::new(),
            walled => format!("{walled} complete except walls, "),
        };
        page.title(&format!(
            "Coverage: {} complete, {bounded} complete within limits, {walled}{} incomplete",
            quantity::count(complete, "host"),
            self.hosts_incomplete
        ))?;
        let (whole, lacking): (Vec<_>, Vec<_>) =
            self.hosts.iter().partition(|host| host.coverage == Status::Complete);
        for (hosts, named, what) in
            [(lacking, LACKING_NAMED, "not complete"), (whole, COMPLETE_NAMED, "complete")]
        {
            for host in hosts.iter().take(named) {
                page.line(&format!("  {} is {}", clean_to(&host.host, 40), host.because))?;
                let reasons: Vec<_> = host
                    .held_back
                    .iter()
                    .take(HELD_BACK_LISTED)
                    .map(|Counted { what, count }| format!("{count} {what}"))
                    .collect();
                if !reasons.is_empty() {
                    let more = if host.held_back.len() > HELD_BACK_LISTED { ", ..." } else { "" };
                    page.line(&format!("      not fetched: {}{more}", reasons.join(", ")))?;
                }
                for note in &host.notes {
                    page.line(&format!("      {note}"))?;
                }
            }
            if hosts.len() > named {
                page.line(&format!("  ... and {} more {what}", hosts.len() - named))?;
            }
        }
        Ok(())
    }
}

fn host_line(
    host: &str,
    pages: &impl Display,
    requests: &impl Display,
    errors: &impl Display,
    delay: &str,
    set_by: &str,
    state: &str,
) -> String {
    let host = clean_to(host, 30);
    format!("  {host:<30} {pages:>7} {requests:>8} {errors:>6} {delay:>9}  {set_by:<12} {state}")
}

fn urls(count: u64) -> String {
    quantity::count(count, "URL")
}

fn bodies(count: u64) -> String {
    format!("{count} {}", if count == 1 { "body" } else { "bodies" })
}

/// Sitemaps that are named.
const SITEMAPS_NAMED: usize = 20;

/// Groups of hosts that are named.
const GROUPS_NAMED: usize = 20;

/// Moved seeds that are named.
const MOVED_SEEDS_NAMED: usize = 20;

/// Lines that are clean and not too long.
struct Lines<'a, W> {
    out: &'a mut W,
}

impl<W: Write> Lines<'_, W> {
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", clean_to(text.trim_end(), WIDTH))
    }

    fn title(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out)?;
        self.line(text)
    }

    fn item(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.line(&format!("  {name:<10}{text}"))
    }

    /// Words, wrapped to several lines where needed.
    fn wrapped(&mut self, name: &str, words: impl Iterator<Item = String>) -> io::Result<()> {
        let mut name = name;
        let mut text = String::new();
        for word in words {
            let word = clean(&word).into_owned();
            if !text.is_empty() && text.chars().count() + word.chars().count() + 14 > WIDTH {
                self.item(name, &format!("{text},"))?;
                name = "";
                text.clear();
            }
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(&word);
        }
        if text.is_empty() && !name.is_empty() {
            text.push_str("none");
        }
        self.item(name, &text)
    }

    fn counts(&mut self, title: &str, counts: &[Counted]) -> io::Result<()> {
        self.title(title)?;
        for Counted { what, count } in counts.iter().take(REASONS_LISTED) {
            self.line(&format!("  {count:>8}  {what}"))?;
        }
        if counts.len() > REASONS_LISTED {
            self.line(&format!("  ... and {} more kinds: see --json", counts.len() - REASONS_LISTED))?;
        }
        Ok(())
    }
}
