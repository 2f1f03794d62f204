//! `crawl robots check`: tests URLs against a robots.txt, and lists warnings for its author.

mod batch;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use page::clean::clean;
use robots::{Agent, Dialect, Options, Robots, Warning, WarningKind, origin_of};
use serde_json::json;

use crate::exit;
use crate::terminal::Console;

/// Options of `robots check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  crawl robots check --agent SuperRobot/1.0 robots.txt https://example.org/private/
  crawl robots check --agent SuperRobot/1.0 --dialect strictest robots.txt /a /b
  curl -s https://example.org/robots.txt | crawl robots check --agent SuperRobot/1.0 -
  crawl robots check --batch cases.jsonl

Exit codes: 0 all URLs are allowed, 1 one isn't (--batch: a line couldn't be read)")]
pub(crate) struct RobotsCheckArgs {
    /// Name and version of the robot, as in SuperRobot/1.0
    #[arg(long, value_name = "NAME/VERSION", required_unless_present = "batch")]
    agent: Option<String>,
    /// Other name of the robot, whose groups apply too; repeatable
    #[arg(long, value_name = "NAME")]
    alias: Vec<String>,
    /// How robots.txt is read: koster1994, koster1996, conner1996, rfc9309, hardened, strictest [default: hardened]
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<Dialect>,
    /// Site of the file, for rules that are full URLs [default: that of each URL]
    #[arg(long, value_name = "URL", conflicts_with = "batch")]
    site: Option<String>,
    /// File of cases, one JSON object per line; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agent", "file", "alias"])]
    batch: Option<PathBuf>,
    /// robots.txt file, `-` for standard input
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// URLs or paths to check; without any only the file is checked
    urls: Vec<String>,
}

/// Checks a file, or a batch of cases.
pub(crate) fn run(args: &RobotsCheckArgs, console: Console) -> anyhow::Result<i32> {
    let options = Options::from(args.dialect.unwrap_or_default());
    let out = &mut io::stdout().lock();
    if let Some(file) = &args.batch {
        let reader = io::BufReader::new(open(file)?);
        let clean = batch::run(reader, &options, out).context("checking a batch")?;
        return Ok(if clean { exit::COMPLETE } else { exit::UNEXPECTED });
    }
    let (Some(agent), Some(file)) = (&args.agent, &args.file) else {
        anyhow::bail!("--agent and a file are required");
    };
    let mut body = Vec::new();
    // One byte more than the limit, so that truncation is detected.
    let most = options.max_bytes as u64 + 1;
    open(file)?.take(most).read_to_end(&mut body).with_context(|| format!("reading {}", file.display()))?;
    let check = Check {
        body: &body,
        agent: Agent::new(agent).with_aliases(&args.alias),
        options,
        site: args.site.clone(),
    };
    let allowed = if console.json { check.as_json(&args.urls, out) } else { check.as_text(&args.urls, out) }
        .context("writing the result")?;
    Ok(if allowed { exit::COMPLETE } else { exit::UNEXPECTED })
}

fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file_handle = fs::File::open(file).with_context(|| format!("opening {}", file.display()))?;
    Ok(Box::new(file_handle))
}

struct Check<'a> {
    body: &'a [u8],
    agent: Agent,
    options: Options,
    site: Option<String>,
}

impl Check<'_> {
    fn robots(&self, site: Option<&str>) -> Robots {
        Robots::parse(self.body, &self.agent, &self.options, site)
    }

    /// Answers each URL by the file as the file of the URL's own site.
    fn verdicts<'u>(&self, urls: &'u [String]) -> Vec<(&'u str, robots::Verdict)> {
        let mut by_site: HashMap<Option<String>, Robots> = HashMap::new();
        let verdict = |url: &'u String| {
            let site = self.site.clone().or_else(|| origin_of(url));
            let robots = by_site.entry(site.clone()).or_insert_with(|| self.robots(site.as_deref()));
            (url.as_str(), robots.verdict(url))
        };
        urls.iter().map(verdict).collect()
    }

    /// The site for the view of the whole file: that of `--site`, else of the first URL that has one.
    fn file(&self, urls: &[String]) -> Robots {
        let site = self.site.clone().or_else(|| urls.iter().find_map(|url| origin_of(url)));
        self.robots(site.as_deref())
    }

    /// Everything that the author of the file should know, in line order.
    fn warnings(&self, robots: &Robots) -> Vec<Warning> {
        let mut warnings = robots.warnings().to_vec();
        warnings.extend(robots::lint(self.body, &self.options));
        warnings.sort_by_key(|warning| (warning.kind == WarningKind::More, warning.line));
        warnings
    }

    fn as_text(&self, urls: &[String], out: &mut impl Write) -> io::Result<bool> {
        let robots = self.file(urls);
        let name = if self.agent.name().is_empty() { "an unnamed robot" } else { self.agent.name() };
        let fields = robots.known_fields();
        let cut = if robots.truncated() { ", truncated at the size limit" } else { "" };
        writeln!(
            out,
            "{fields} line{} with a known field{cut}, read as {} for {}",
            s(fields),
            robots.dialect(),
            clean(name)
        )?;
        describe(&robots, out)?;
        let verdicts = self.verdicts(urls);
        if !verdicts.is_empty() {
            writeln!(out)?;
        }
        for (url, verdict) in &verdicts {
            let sentence = verdict.to_string();
            let (word, why) = sentence.split_once(": ").unwrap_or((&sentence, ""));
            writeln!(out, "{word:<11}  {}\n             {}", clean(url), clean(why))?;
        }
        let warnings = self.warnings(&robots);
        writeln!(out)?;
        if warnings.is_empty() {
            writeln!(out, "no warnings")?;
        } else {
            writeln!(out, "{} warning{}:", warnings.len(), s(warnings.len()))?;
        }
        for warning in &warnings {
            let place = if warning.line == 0 { "file".to_owned() } else { format!("line {}", warning.line) };
            writeln!(out, "  {place:<9} {}", warning.kind.advice())?;
            if !warning.text.is_empty() {
                writeln!(out, "            {}", clean(&warning.text))?;
            }
        }
        Ok(verdicts.iter().all(|(_, verdict)| verdict.allowed))
    }

    /// One object for the file, then one for each URL.
    fn as_json(&self, urls: &[String], out: &mut impl Write) -> io::Result<bool> {
        let robots = self.file(urls);
        let warnings: Vec<_> = self
            .warnings(&robots)
            .iter()
            .map(|warning| {
                json!({
                    "line": (warning.line > 0).then_some(warning.line), "kind": warning.kind,
                    "text": warning.text, "advice": warning.kind.advice(),
                })
            })
            .collect();
        let file = json!({
            "v": 1, "agent": self.agent.full(), "dialect": robots.dialect(), "known_fields": robots.known_fields(),
            "truncated": robots.truncated(), "additions": robots.additions(), "sitemaps": robots.sitemaps(),
            "crawl_delay": batch::crawl_delay(&robots), "request_rate": batch::request_rate(&robots),
            "visit_time": batch::visit_time(&robots), "warnings": warnings,
        });
        writeln!(out, "{file}")?;
        let verdicts = self.verdicts(urls);
        for (url, verdict) in &verdicts {
            let line = json!({
                "v": 1, "url": url, "allowed": verdict.allowed, "dialect": verdict.dialect, "line": verdict.line,
                "rule": verdict.rule, "group": verdict.group, "reason": verdict.reason,
            });
            writeln!(out, "{line}")?;
        }
        Ok(verdicts.iter().all(|(_, verdict)| verdict.allowed))
    }
}

/// Lists delays, visit times and the other contents of the file.
fn describe(robots: &Robots, out: &mut impl Write) -> io::Result<()> {
    let timing = robots.timing();
    for line in timing.crawl_delays() {
        writeln!(out, "  delay      {} s between requests (line {})", line.delay.as_secs_f64(), line.line)?;
    }
    for rate in timing.rates() {
        let when = rate.range.map_or("at any time".to_owned(), |range| format!("{range} UTC"));
        let every = rate.interval().as_secs_f64();
        writeln!(out, "  rate       one request in {every} s, {when} (line {})", rate.line)?;
    }
    for range in timing.visits() {
        writeln!(out, "  visits     {range} UTC (line {})", range.line)?;
    }
    let signals = robots.signals();
    for line in signals.content_usage().iter().chain(signals.content_signal()) {
        writeln!(out, "  use        {} (line {})", clean(&line.raw), line.line)?;
    }
    for comment in signals.comments() {
        writeln!(out, "  comment    {}", clean(comment))?;
    }
    for sitemap in robots.sitemaps() {
        writeln!(out, "  sitemap    {}", clean(sitemap))?;
    }
    let additions = robots.additions();
    if !additions.is_empty() {
        writeln!(out, "  hardened   {additions} applied (docs/robots.md)")?;
    }
    Ok(())
}

fn s(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &[u8]) -> Check<'_> {
        Check { body, agent: Agent::new("SuperRobot/1.0"), options: Options::default(), site: None }
    }

    #[test]
    fn a_site_owner_sees_what_is_decided_and_why() {
        let file = b"User-agent: *\nDisalow: /private\nCrawl-delay: 10\nSitemap: https://a.example/s.xml\n";
        let urls = ["https://a.example/".to_owned(), "/private/x".to_owned()];
        let mut out = Vec::new();
        let allowed = check(file).as_text(&urls, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!allowed);
        for part in [
            "4 lines with a known field, read as hardened for SuperRobot\n",
            "  delay      10 s between requests (line 3)\n",
            "  sitemap    https://a.example/s.xml\n",
            "allowed      https://a.example/\n             no rule matches in the group `*` (hardened)\n",
            "not allowed  /private/x\n             line 2 `Disalow: /private` in the group `*` (hardened)\n",
            "1 warning:\n  line 2    the field is misspelt; some robots will skip the line\n            Disalow: /private\n",
        ] {
            assert!(text.contains(part), "{part}\n--\n{text}");
        }
    }

    #[test]
    fn the_classic_mistakes_are_reported_in_line_order() {
        let file = b"User-agent: *\nDisallow: /tmp/*\nDisallow: /a /b\n\nUser-agent: *\nAllow: /c\nCrawl-delay: 5 s\n";
        let kinds = |warnings: Vec<Warning>| -> Vec<_> {
            warnings.iter().map(|warning| format!("{} {}", warning.line, warning.kind.name())).collect()
        };
        let check = check(file);
        let want = [
            "2 trailing-star",
            "3 several-paths",
            "5 repeated-agent",
            "6 allow-without-effect",
            "7 text-after-value",
        ];
        assert_eq!(kinds(check.warnings(&check.file(&[]))), want);
        let mut out = Vec::new();
        check.as_text(&[], &mut out).unwrap();
        assert!(
            String::from_utf8(out)
                .unwrap()
                .contains("5 warnings:\n  line 2    a `*` at the end means nothing")
        );
        let mut out = Vec::new();
        check.as_json(&[], &mut out).unwrap();
        let object: serde_json::Value = serde_json::from_slice(out.trim_ascii()).unwrap();
        assert_eq!(object["warnings"][0]["kind"], "trailing-star");
    }

    #[test]
    fn full_urls_belong_to_the_site_of_the_url_asked() {
        let file = b"User-agent: *\nDisallow: https://a.example/x\n";
        let urls = ["https://a.example/x".to_owned(), "https://b.example/x".to_owned()];
        let verdicts = check(file).verdicts(&urls);
        assert_eq!(verdicts.iter().map(|(_, verdict)| verdict.allowed).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let mut out = Vec::new();
        let urls = ["/\x1b[2J".to_owned()];
        check(b"User-agent: *\nDisallow: /\x1b[31m /y\nComment: \x07bell\n")
            .as_text(&urls, &mut out)
            .unwrap();
        assert!(!String::from_utf8(out).unwrap().contains(['\x1b', '\x07']));
    }

    #[test]
    fn json_gives_the_file_and_then_each_url() {
        let mut out = Vec::new();
        let allowed = check(b"User-agent: *\nDisallow: /x\n").as_json(&["/x".to_owned()], &mut out).unwrap();
        let lines: Vec<serde_json::Value> =
            String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!allowed);
        assert_eq!((&lines[0]["v"], &lines[0]["known_fields"]), (&json!(1), &json!(2)));
        assert_eq!((&lines[1]["allowed"], &lines[1]["line"]), (&json!(false), &json!(2)));
    }
}
