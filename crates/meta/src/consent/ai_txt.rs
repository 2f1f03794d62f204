//! `/ai.txt` (Spawning), and the hint given by a robots.txt that blocks AI crawlers.

use jiff::Timestamp;
use robots::memory::{block, list};

use super::{Claim, Consent, Location, Purpose, Signal, Statement};
use crate::agent::product_token;
use crate::walk::cut;
use crate::{Agent, Source, SourceKind};

/// Bytes of the file that are read.
const FILE_LIMIT: usize = 512 * 1024;
/// Rules that are kept.
const RULES: usize = 10_000;
/// Agents that train models or feed them: those that [`ai_block_hint`] looks for.
pub const AI_AGENTS: [&str; 12] = [
    "gptbot",
    "google-extended",
    "applebot-extended",
    "ccbot",
    "claudebot",
    "anthropic-ai",
    "bytespider",
    "meta-externalagent",
    "amazonbot",
    "perplexitybot",
    "cohere-ai",
    "diffbot",
];

/// The site's file `/ai.txt`, as far as it addresses us. Fetch it only for a crawl that trains models.
#[derive(Debug, Clone, Default)]
pub struct AiTxt {
    rules: Vec<Rule>,
    /// The line from which on the file wasn't read: it denies.
    unread: Option<u32>,
}

#[derive(Debug, Clone)]
struct Rule {
    location: Location,
    is_allowed: bool,
    text: String,
    line: u32,
}

impl AiTxt {
    /// Reads the groups for this agent, or else those for `*`. A file without a line `User-Agent:` is something
    /// else of the same name (Markdown about a site, say) and says nothing. Where more rules address us than are kept
    /// (10,000), or the file is longer than what is read (512 KiB), every path is denied.
    pub fn parse(file: &[u8], agent: &Agent) -> Self {
        let text = String::from_utf8_lossy(&file[..file.len().min(FILE_LIMIT)]);
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        let (mut unread, mut has_agents) = (None, false);
        let (mut is_named, mut is_ours, mut is_star, mut in_rules) = (false, false, false, true);
        for (line, number) in text.split(['\n', '\r']).zip(1..) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((field, value)) = line.split_once(':') else { continue };
            let (field, value) =
                (field.trim().trim_start_matches('\u{feff}').to_ascii_lowercase(), value.trim());
            match field.as_str() {
                "user-agent" => {
                    has_agents = true;
                    if in_rules {
                        (is_ours, is_star, in_rules) = (false, false, false);
                    }
                    let name = product_token(value);
                    is_ours |= agent.answers_to(&name);
                    is_star |= name == "*" || name.is_empty();
                    is_named |= agent.answers_to(&name);
                }
                "allow" | "disallow" => {
                    in_rules = true;
                    let is_addressed = !value.is_empty() && (is_ours || is_star);
                    if is_addressed && ours.len() + others.len() >= RULES {
                        unread = unread.or(Some(number));
                    } else if is_addressed {
                        let rule = Rule {
                            location: Location::new(value),
                            is_allowed: field == "allow",
                            text: format!("{field}: {}", cut(value, 200)),
                            line: number,
                        };
                        if is_ours { &mut ours } else { &mut others }.push(rule);
                    }
                }
                _ => {}
            }
        }
        // A file that names no robot as far as it was read is something else of the name.
        if file.len() > FILE_LIMIT && has_agents {
            unread = unread.or(u32::try_from(text.lines().count()).ok());
        }
        Self { rules: if is_named { ours } else { others }, unread }
    }

    /// Returns the bytes that this takes on the heap, with what an allocator adds to each block.
    pub fn memory(&self) -> usize {
        let rules = self.rules.iter().map(|rule| rule.location.memory() + block(rule.text.capacity()));
        list::<Rule>(self.rules.capacity()) + rules.sum::<usize>()
    }

    /// Finds the denial for a path (with query): the longest rule decides, of equal ones Allow. An Allow is no
    /// statement: the file only takes back.
    pub fn statement(&self, path: &str, at: Timestamp) -> Option<Statement> {
        let claim = Claim::Purpose(Purpose::AiTrain, Consent::Deny);
        if let Some(line) = self.unread {
            let source = Source::new(SourceKind::File, line, "/ai.txt", "not read from here on: too long");
            return Some(Statement { signal: Signal::AiTxt, claim, source, at });
        }
        let matching = self.rules.iter().filter(|rule| rule.location.matches(path));
        let rule = matching.max_by_key(|rule| (rule.location.bytes(), rule.is_allowed))?;
        let source = Source::new(SourceKind::File, rule.line, "/ai.txt", &rule.text);
        (!rule.is_allowed).then_some(Statement { signal: Signal::AiTxt, claim, source, at })
    }
}

/// Takes it as a denial of training that robots.txt closes the whole site to three AI crawlers or more. Give the
/// agents that are closed to `/`. Off by default in a crawl, since it is only a guess.
pub fn ai_block_hint<'a>(
    closed_agents: impl IntoIterator<Item = &'a str>,
    at: Timestamp,
) -> Option<Statement> {
    const ENOUGH: usize = 3;
    let mut closed: Vec<String> = closed_agents.into_iter().map(product_token).collect();
    closed.retain(|agent| AI_AGENTS.contains(&agent.as_str()));
    closed.sort();
    closed.dedup();
    let source = Source::new(SourceKind::RobotsTxt, 0, "User-agent", &closed.join(", "));
    let claim = Claim::Purpose(Purpose::AiTrain, Consent::Deny);
    (closed.len() >= ENOUGH).then_some(Statement { signal: Signal::AiBlockHint, claim, source, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denies(file: &str, path: &str) -> bool {
        let agent = Agent::new("ExampleBot/1.0");
        AiTxt::parse(file.as_bytes(), &agent).statement(path, Timestamp::UNIX_EPOCH).is_some()
    }

    #[test]
    fn the_longest_rule_of_our_group_decides() {
        let file = "User-Agent: *\nDisallow: *.jpg\nDisallow: /p # c\nAllow: /p/free\n";
        assert!(denies(file, "/a.jpg"));
        assert!(denies(file, "/p/x"));
        assert!(!denies(file, "/p/free/x"));
        assert!(!denies(file, "/"));
        assert!(!denies("User-Agent: *\nDisallow: /x\nAllow: /x\n", "/x"));
        assert!(!denies("User-Agent: *\nDisallow:\n", "/x"));
    }

    #[test]
    fn our_own_group_replaces_that_of_everybody() {
        let file = "User-Agent: other\nUser-Agent: examplebot\nDisallow: /a\r\nUser-Agent: *\nDisallow: /b\n";
        assert!(denies(file, "/a"));
        assert!(!denies(file, "/b"));
        assert!(!denies("User-Agent: *\nDisallow: /\n\nUser-Agent: ExampleBot\nAllow: /\n", "/x"));
    }

    #[test]
    fn what_was_not_read_of_a_file_denies() {
        let rules = |count: usize| format!("User-Agent: *\n{}", "Allow: /a\n".repeat(count));
        assert!(!denies(&rules(RULES), "/a"));
        assert!(denies(&format!("{}Disallow: /b\n", rules(RULES)), "/b"));
        let others =
            format!("User-Agent: other\n{}User-Agent: *\nAllow: /\n", "Disallow: /a\n".repeat(RULES + 1));
        assert!(!denies(&others, "/a"), "rules of others don't count");
        let long = format!("{}#{}\nDisallow: /b\n", rules(1), "x".repeat(FILE_LIMIT));
        assert!(denies(&long, "/b") && denies(&long, "/a"));
        assert!(!denies(&format!("# Markdown\n{}", "x".repeat(FILE_LIMIT)), "/a"));
    }

    #[test]
    fn another_file_of_the_name_says_nothing() {
        for file in ["", "# About\nDisallow: nothing: ever\n", "<html>", "\u{0}\u{1}:::"] {
            assert!(!denies(file, "/"));
        }
    }

    #[test]
    fn three_closed_agents_are_a_hint() {
        let hint = |agents: &[&str]| ai_block_hint(agents.iter().copied(), Timestamp::UNIX_EPOCH).is_some();
        assert!(hint(&["GPTBot", "CCBot/2.0", "ClaudeBot", "x"]));
        assert!(!hint(&["GPTBot", "gptbot", "CCBot", "x"]));
    }
}
