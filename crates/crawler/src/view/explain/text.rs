//! The explanation as JSON, and as text: the answer, what would change it, and the evidence.

use std::io::{self, Write};

use super::super::json;
use super::super::skipped::evidence_in_words;
use super::now::LicenseLine;
use super::{Explanation, OriginalBody};
use crate::record::{in_words, outcome_in_words};
use page::clean::clean;
use page::quantity;

impl Explanation {
    /// Writes one JSON object.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        json::write_line(out, self)
    }

    /// Writes it for people, with commands that name the directory as `dir` does (`DIR` where that isn't known).
    pub fn write_text(&self, dir: &str, out: &mut impl Write) -> io::Result<()> {
        let out = &mut Lines { out };
        out.line("", &self.url)?;
        out.line("", &with_directory(&self.answer, dir))?;
        out.title("How it was found")?;
        if self.found.is_empty() {
            out.line("  ", "no page of this crawl links to it, and it isn't a seed")?;
        }
        for (index, step) in self.found.iter().enumerate() {
            let text = step.text.as_ref().map(|text| format!(" \"{text}\"")).unwrap_or_default();
            let rel = step.rel.as_ref().map(|rel| format!(", rel={rel}")).unwrap_or_default();
            let outcome =
                step.outcome.map(|outcome| format!(": {}", outcome_in_words(outcome))).unwrap_or_default();
            let by = match step.by.as_str() {
                "seed" => "a seed".to_owned(),
                "partition" => "a page of another partition, which knows how it was found".to_owned(),
                "from_partition" => "found on the previous page".to_owned(),
                "redirect" => format!("redirect{outcome}"),
                "sitemap" => "listed in that sitemap".to_owned(),
                "robots_txt" => "a sitemap named in robots.txt".to_owned(),
                "well_known" => "a sitemap at the usual path".to_owned(),
                "unknown" => "found on the previous page; the link isn't stored".to_owned(),
                "unlisted" => {
                    "found on the previous page, which is under noindex and nofollow: its links aren't stored"
                        .to_owned()
                }
                element => format!("link <{element}>{text}{rel}{outcome}"),
            };
            out.line("  ", &format!("{}. {}  {by}", index + 1, step.url))?;
        }
        out.title("What was decided")?;
        if self.decisions.is_empty() {
            out.line("  ", "the ledger has no entry about this URL")?;
        }
        for row in &self.decisions {
            let reason = in_words(&row.reason.as_str());
            out.line(
                "  ",
                &format!("{}  {} ({}): {reason}", row.at, in_words(row.decision.as_str()), row.layer),
            )?;
            if let Some(evidence) = &row.evidence {
                out.line("      ", evidence_in_words(&evidence.to_string()))?;
            }
        }
        out.title("Now")?;
        self.write_now(dir, out)?;
        out.title("What would change the answer")?;
        for what in &self.change {
            out.line("  - ", &with_directory(what, dir))?;
        }
        if self.change.is_empty() {
            out.line("  ", "nothing needs to change: it was fetched, and its content may be used")?;
        }
        Ok(())
    }

    fn write_now(&self, dir: &str, out: &mut Lines<'_, impl Write>) -> io::Result<()> {
        match &self.robots {
            Some(robots) => {
                let word = match robots.allowed {
                    _ if robots.is_deferred() => "unreachable; no page is fetched until it responds",
                    true => "allowed",
                    false => "not allowed",
                };
                out.line("  robots.txt  ", &format!("{word}: {}", robots.says))?;
                let versions = if robots.versions > 1 && !self.is_of_cluster {
                    format!(
                        ", response {} of {}: crawl robots log {dir} {}",
                        robots.versions, robots.versions, robots.origin
                    )
                } else {
                    String::new()
                };
                let digest = robots.says.digest.as_deref().map(short).unwrap_or_default();
                let age = format!(
                    "fetched {}, valid until {}{digest}{versions}",
                    robots.fetched_at, robots.expires
                );
                out.line("              ", &age)?;
                for LicenseLine { line, url } in &robots.license {
                    out.line("  licence     ", &format!("{url} (robots.txt line {line})"))?;
                }
            }
            None => out.line("  robots.txt  ", "none stored for this origin")?,
        }
        let scope = self.scope.as_ref().map_or_else(
            || {
                if self.is_scope_known { "inside" } else { "unknown: no settings are stored with it" }
                    .to_owned()
            },
            |outcome| format!("outside: {}", in_words(outcome)),
        );
        out.line("  scope       ", &scope)?;
        if let Some(page) = &self.page {
            let kind = page.content_type.as_deref().unwrap_or("no content type");
            let text = format!(
                "status {}, {kind}, {}, depth {}",
                page.status,
                quantity::count(page.bytes, "byte"),
                page.depth
            );
            out.line("  page        ", &text)?;
            for said in &page.directives {
                out.line("  directive   ", &said.to_string())?;
            }
            for url in &page.license {
                out.line("  licence     ", &format!("{url} (named by the response)"))?;
            }
            if let Some(price) = &page.payment {
                out.line("  price       ", &format!("{price} (crawler-price of the response)"))?;
            }
            if let (Some(file), Some(offset)) = (&page.warc_file, page.warc_offset) {
                out.line("  archive     ", &format!("warc/{file} at {offset}"))?;
            }
            if let Some(OriginalBody { url, date, record_id, dir, file, offset, state }) = &self.original {
                let body = match *state {
                    "withdrawn" => "was stored with, and removed with,",
                    "missing" => "is not found; it was stored with",
                    _ => "is stored with",
                };
                out.line("  body        ", &format!("{body} the response to {url} of {date}"))?;
                let id = record_id.as_ref().map(|id| format!(", {id}")).unwrap_or_default();
                out.line("              ", &format!("{dir}/{file} at {offset}{id}"))?;
            }
        }
        for (to, status) in &self.redirects {
            let status = match status {
                Some(status) => format!("status {status}"),
                None => format!("not fetched; `crawl explain {dir} {to}` says why"),
            };
            out.line("  redirect    ", &format!("{to} ({status})"))?;
        }
        if let Some(host) = &self.host {
            let parked = host.parked.as_ref().map(|why| format!("; skipped: {why}")).unwrap_or_default();
            let text = format!(
                "{}: {} queued, delay {} s ({}){parked}",
                host.host,
                quantity::count(host.queued, "URL"),
                host.delay,
                host.delay_reason
            );
            out.line("  host        ", &text)?;
        }
        Ok(())
    }
}

/// A text whose commands and files name the directory.
fn with_directory(text: &str, dir: &str) -> String {
    let named = |(index, part): (usize, &str)| {
        let is_command = index % 2 == 1 && part.starts_with("crawl ");
        if is_command {
            let words = part.split(' ').map(|word| if word == "DIR" { dir } else { word });
            words.collect::<Vec<_>>().join(" ")
        } else {
            part.replace("DIR/crawl.toml", &format!("{dir}/crawl.toml"))
        }
    };
    // Every other part is between backticks.
    text.split('`').enumerate().map(named).collect::<Vec<_>>().join("`")
}

fn short(digest: &str) -> String {
    let end = digest.char_indices().nth(19).map_or(digest.len(), |(place, _)| place);
    format!(", version {}", &digest[..end])
}

/// Widest line.
const WIDTH: usize = 110;

struct Lines<'a, W> {
    out: &'a mut W,
}

impl<W: Write> Lines<'_, W> {
    fn title(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\n{text}")
    }

    /// A line with an indent; a long one is wrapped at words.
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
