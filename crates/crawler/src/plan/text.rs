//! The plan as text.

use std::io::{self, Write};

use super::{GroupPlan, HostPlan, OriginPlan, Plan};
use crate::record::RobotsAccess;
use crate::view::CheaperWay;
use page::clean::clean_to;
use page::quantity::count;

/// Widest line.
const WIDTH: usize = 160;

/// Rules and sitemaps of one origin that are named.
const NAMED: usize = 20;

impl Plan {
    /// Writes it for people.
    pub fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { agent, allowed, blocked, skipped, unknown, requests, hosts, known_from, .. } = self;
        let more = more(*skipped, *unknown);
        line(
            out,
            &format!("Plan for {agent}: {allowed} of the known URLs may be fetched, {blocked} may not{more}"),
        )?;
        line(out, &format!("  known from {known_from}"))?;
        line(
            out,
            &format!(
                "  at least {} to {}, in at least {}",
                count(*requests, "request"),
                count(hosts.len() as u64, "host"),
                duration(self.least_duration)
            ),
        )?;
        let skipped = hosts.iter().filter(|host| host.skip_reason.is_some()).count();
        if skipped > 0 {
            let words = "would be skipped: only robots.txt is requested";
            line(out, &format!("  {} {words}", count(skipped as u64, "host")))?;
        }
        for moved in self.moved_seeds.iter().take(NAMED) {
            line(out, &format!("  {}", moved.line()))?;
        }
        if self.moved_seeds.len() > NAMED {
            let more = self.moved_seeds.len() - NAMED;
            line(out, &format!("  ... and {more} more moved seeds: see --json"))?;
        }
        if !self.costly.is_empty() {
            let urls: u64 = self.costly.iter().map(|counted| counted.count).sum();
            line(out, &format!("  {} would be skipped as costly for their site:", count(urls, "URL")))?;
            for counted in self.costly.iter().take(NAMED) {
                line(out, &format!("  {:>8}  {}", counted.count, counted.what))?;
            }
        }
        for CheaperWay { host, kind, way, at } in self.cheaper.iter().take(NAMED) {
            line(out, &format!("  a cheaper way to the content of {host} ({kind}): {way}, {at}"))?;
        }
        for GroupPlan { group, hosts, requests, least_duration } in self.groups.iter().take(NAMED) {
            let (hosts, requests) = (count(*hosts, "host"), count(*requests, "request"));
            let least = duration(*least_duration);
            line(
                out,
                &format!("  {hosts} of {group} share one delay: at least {requests}, in at least {least}"),
            )?;
        }
        hosts.iter().try_for_each(|host| host.write_text(out))
    }
}

impl HostPlan {
    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out)?;
        line(out, &self.host)?;
        item(out, "delay", &format!("{} s between requests ({})", self.delay, self.delay_from))?;
        many(out, "wish", self.wishes.iter().cloned(), 0)?;
        if let Some(why) = &self.skip_reason {
            item(out, "skipped", &format!("the host would be skipped: {why}"))?;
        }
        let least = duration(self.least_duration);
        item(out, "requests", &format!("at least {}, in at least {least}", self.requests))?;
        self.origins.iter().try_for_each(|origin| origin.write_text(out))
    }
}

impl OriginPlan {
    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        line(out, &format!("  {}", self.origin))?;
        let words = match &self.access {
            Some(RobotsAccess::Rules) => "robots.txt was read",
            Some(RobotsAccess::Stored) => "robots.txt is unreachable; using the cached copy",
            Some(RobotsAccess::AllowAll) => "everything may be fetched",
            Some(RobotsAccess::DenyAll) => "nothing may be fetched",
            Some(RobotsAccess::Defer) => "robots.txt is unreachable: nothing is fetched until it responds",
            Some(RobotsAccess::Other(_)) | None => "robots.txt wasn't fetched",
        };
        item(out, "access", &format!("{words} ({})", self.reason))?;
        match &self.rules[..] {
            [] if self.access == Some(RobotsAccess::Rules) => item(out, "rules", "no applicable rules")?,
            rules => many(
                out,
                "rules",
                rules.iter().map(|rule| format!("line {}: {}", rule.line, rule.text)),
                self.more_rules,
            )?,
        }
        many(out, "visits", self.visit_times.iter().map(|time| format!("{time} UTC")), 0)?;
        many(out, "sitemap", self.sitemaps.iter().map(|sitemap| sitemap.line().trim_start().to_owned()), 0)?;
        let more = more(self.skipped, self.unknown);
        item(out, "URLs", &format!("{} allowed, {} blocked{more}", self.allowed, self.blocked))?;
        let blocked = self.blocked_by.iter().map(|by| {
            let place = by.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("{} by {place}{}, as {}", by.count, by.rule, by.example)
        });
        many(out, "blocked", blocked, 0)?;
        many(out, "warning", self.warnings.iter().map(|warning| warning.text.clone()), 0)
    }
}

/// What is neither allowed nor blocked.
fn more(skipped: u64, unknown: u64) -> String {
    let skipped = (skipped > 0).then(|| format!(", {skipped} on skipped hosts"));
    let unknown = (unknown > 0).then(|| format!(", {unknown} undetermined"));
    skipped.into_iter().chain(unknown).collect()
}

fn line(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "{}", clean_to(text.trim_end(), WIDTH))
}

fn item(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    line(out, &format!("    {name:<10}{text}"))
}

fn many(out: &mut impl Write, name: &str, texts: impl Iterator<Item = String>, more: u64) -> io::Result<()> {
    let mut omitted = more;
    for (n, text) in texts.enumerate() {
        if n < NAMED {
            item(out, if n == 0 { name } else { "" }, &text)?;
        } else {
            omitted += 1;
        }
    }
    if omitted > 0 { item(out, "", &format!("... and {omitted} more: see --json")) } else { Ok(()) }
}

/// `3 s`, `2 min 5 s`, `1 h 0 min`, `3 d 4 h`: two units, rounded up to a second.
fn duration(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        for (seconds, text) in
            [(0.0, "0 s"), (2.2, "3 s"), (125.0, "2 min 5 s"), (3_600.0, "1 h 0 min"), (273_600.0, "3 d 4 h")]
        {
            assert_eq!(duration(seconds), text);
        }
    }
}
