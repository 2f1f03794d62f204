//! `explain` against the tables and the simulated web.

use std::collections::BTreeSet;

use crawler::config::{ScopeMode, Settings};
use crawler::record::{LinkOutcome, Reason};
use crawler::view::{Advice, Explanation, Fate, Statement};
use page::url::CrawlUrl;
use serde_json::Value;
use whole_program::rules::{Rule, Rules};
use whole_program::simweb::{AGENT, Directive, Kind, LASTING, Later, LinkKind, Page, RobotsForm, Web};

use super::tables::{Tables, text};

/// What the statements about one crawl are compared with.
pub(crate) struct Known<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) web: &'a Web,
    /// The settings of the last run.
    pub(crate) settings: &'a Settings,
    /// Responses are archived.
    pub(crate) is_archived: bool,
    /// Files that couldn't be read for the full-text index.
    pub(crate) unread: &'a BTreeSet<String>,
    /// Nothing of the web has changed since the first request.
    pub(crate) is_same_web: bool,
}

/// How a page was found that the links of the page before it don't tell.
const WAYS: [&str; 8] =
    ["seed", "redirect", "sitemap", "robots_txt", "well_known", "unlisted", "unknown", "from_partition"];

/// Kinds of links as the ledger has them, and as tables and sentences do.
const KINDS: [(&str, &str); 14] = [
    ("a", "link <a>"),
    ("area", "link <area>"),
    ("frame", "frame <frame>"),
    ("iframe", "frame <iframe>"),
    ("link", "link <link>"),
    ("refresh", "refresh after a time"),
    ("img", "image <img>"),
    ("script", "script <script>"),
    ("source", "source <source>"),
    ("media", "media file"),
    ("form", "form target"),
    ("css_import", "style sheet of a style sheet"),
    ("css_font", "font of a style sheet"),
    ("css_image", "image of a style sheet"),
];

/// The evidence of a skip as table `skipped` has it.
fn detail_of(evidence: &str) -> &str {
    KINDS.iter().find(|(name, _)| *name == evidence).map_or(evidence, |(_, words)| words)
}

/// The lines of robots.txt that an answer quotes, with their numbers: `line 3: Disallow: /x (group ...`, or ``line 3 of robots.txt, `Allow: /x`, ``.
fn quoted_lines(answer: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, mark) in answer.match_indices("line ") {
        let rest = &answer[at + mark.len()..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (Ok(number), rest) = (rest[..digits].parse(), &rest[digits..]) else { continue };
        let words = match (rest.strip_prefix(": "), rest.strip_prefix(" of robots.txt, `")) {
            (Some(words), _) => words.split(" (group").next().unwrap_or_default().split(')').next(),
            (_, Some(words)) => words.split('`').next(),
            _ => continue,
        };
        found.push((number, words.unwrap_or_default().to_owned()));
    }
    found
}

/// Compares one explanation; gives what is wrong with it.
pub(crate) fn judge(story: &Explanation, known: &Known<'_>) -> Vec<String> {
    let mut judge = Judge { story, known, url: &story.url, wrong: Vec::new() };
    judge.fate();
    judge.path();
    judge.ledger();
    judge.page();
    judge.robots();
    judge.scope();
    judge.host();
    judge.redirects();
    judge.allowed();
    for statement in &story.statements {
        judge.statement(*statement);
    }
    judge.silence();
    judge.quotes();
    judge.wrong
}

struct Judge<'a> {
    story: &'a Explanation,
    known: &'a Known<'a>,
    url: &'a str,
    wrong: Vec<String>,
}

impl<'a> Judge<'a> {
    fn check(&mut self, is_true: bool, what: impl FnOnce() -> String) {
        if !is_true {
            self.wrong.push(what());
        }
    }

    fn says(&mut self, words: &str) {
        let answer = &self.story.answer;
        self.check(answer.contains(words), || format!("doesn't say \"{words}\""));
    }

    fn row(&self) -> Option<&'a Value> {
        self.known.tables.pages.get(self.url)
    }

    /// What it came to, by the tables alone.
    fn fate(&mut self) {
        let tables = self.known.tables;
        let queued = tables.queue.get(self.url);
        let failed = tables.errors.get(self.url).filter(|row| {
            // The other rows are of URLs that wait for a robots.txt.
            queued.is_none() || !text(row, "detail").starts_with("robots.txt ")
        });
        let expected = match (self.row(), failed, queued) {
            (Some(row), ..) => match (row["status"].as_u64(), row["error"].is_null()) {
                (Some(200..300), true) => Fate::Fetched,
                (Some(300..400), _) => Fate::Redirected,
                _ => Fate::Error,
            },
            (None, Some(_), _) => Fate::Failed,
            (None, None, Some(row)) if !row["parked"].is_null() => Fate::Parked,
            (None, None, Some(_)) => Fate::Queued,
            (None, None, None) if tables.skipped.contains_key(self.url) => Fate::Skipped,
            // The links of a page that lists no more have it.
            (None, None, None) if self.is_counted_only() => Fate::Skipped,
            _ => Fate::Unseen,
        };
        let fate = self.story.fate;
        self.check(fate == expected, || format!("fate {fate:?}, not {expected:?}"));
    }

    /// Whether only links of pages have it that count what they skip.
    fn is_counted_only(&self) -> bool {
        let tables = self.known.tables;
        let links = tables.links.get(self.url).into_iter().flatten();
        links
            .filter(|link| LinkOutcome::of_word(text(link, "outcome")).is_some_and(LinkOutcome::is_skip))
            .filter_map(|link| tables.pages.get(text(link, "from")))
            .any(|page| page["skipped_not_listed"].as_u64() > Some(0))
    }

    /// How it was found: the page before it is that of its row, and each step is a link, a redirect or a seed.
    fn path(&mut self) {
        let tables = self.known.tables;
        let found = &self.story.found;
        let Some(last) = found.last() else {
            let is_seed = self.known.web.seeds.iter().any(|seed| seed == self.url);
            self.check(!is_seed, || "it is a seed, and its path is empty".to_owned());
            let links = tables.links.get(self.url).map_or(0, Vec::len);
            self.check(links == 0, || format!("{links} links lead to it, and its path is empty"));
            return;
        };
        let is_itself = last.url == self.url;
        self.check(is_itself, || format!("its path ends with {}", last.url));
        let of_row = [&tables.pages, &tables.errors, &tables.queue].into_iter().find_map(|t| t.get(self.url));
        let via = match (of_row, &self.story.skip) {
            (Some(row), _) => Some(text(row, "via")),
            (None, Some(skip)) => Some(skip.via.as_deref().unwrap_or_default()),
            (None, None) => None,
        };
        let before = found.len().checked_sub(2).map_or("", |at| &found[at].url);
        self.check(via.is_none_or(|via| via == before), || format!("via {before:?}, not {via:?}"));
        for (at, step) in found.iter().enumerate() {
            let from = at.checked_sub(1).map_or("", |at| &found[at].url);
            let leads = |link: &&Value| text(link, "from") == from && text(link, "kind") == step.by;
            let is_true = match step.by.as_str() {
                "seed" => self.known.web.seeds.contains(&step.url) && at == 0,
                "redirect" => tables.pages.get(from).is_some_and(|page| text(page, "redirect") == step.url),
                "unlisted" => !tables.links.get(&step.url).into_iter().flatten().any(|link| leads(&link)),
                "unknown" => self.lacks_link(from, &step.url),
                by if WAYS.contains(&by) => true,
                _ => tables.links.get(&step.url).into_iter().flatten().any(|link| leads(&link)),
            };
            self.check(is_true, || format!("step {at} of its path isn't so: {step:?}"));
        }
    }

    /// Whether no stored link leads from a page to a URL.
    fn lacks_link(&self, from: &str, url: &str) -> bool {
        !self.known.tables.links.get(url).into_iter().flatten().any(|link| text(link, "from") == from)
    }

    /// The decisions are those of the ledger, all of them, in order.
    fn ledger(&mut self) {
        let rows = self.known.tables.ledger.get(self.url).map_or(&[][..], Vec::as_slice);
        let of_table: Vec<_> = rows
            .iter()
            .map(|row| (row["seq"].as_u64(), text(row, "decision"), text(row, "reason"), text(row, "layer")))
            .map(|(seq, decision, reason, layer)| {
                (seq, decision.to_owned(), reason.to_owned(), layer.to_owned())
            })
            .collect();
        let said: Vec<_> = self
            .story
            .decisions
            .iter()
            .map(|row| {
                let (decision, reason) = (row.decision.as_str().to_owned(), row.reason.to_string());
                (Some(row.seq), decision, reason, row.layer.to_string())
            })
            .collect();
        self.check(said == of_table, || format!("decisions {said:?}, not {of_table:?}"));
    }

    /// Its record is its row in table `pages`.
    fn page(&mut self) {
        let said = self.story.page.as_ref().map(|page| serde_json::to_value(page).expect("it is JSON"));
        let columns =
            ["status", "depth", "via", "indexed", "archived", "followed", "bytes", "error", "tries"];
        for column in columns {
            let said = said.as_ref().map_or(&Value::Null, |page| &page[column]);
            let row = self.row().map_or(&Value::Null, |row| &row[column]);
            self.check(said == row, || format!("its record's {column} is {said}, not {row}"));
        }
    }

    /// What the stored robots.txt says is what the site's own rules say.
    fn robots(&mut self) {
        let Some(robots) = self.story.robots.as_ref() else {
            let origin = self.url.split('/').take(3).collect::<Vec<_>>().join("/");
            let is_stored = self.known.tables.robots.contains_key(&origin);
            self.check(!is_stored, || "its robots.txt is stored, and not said".to_owned());
            return;
        };
        let row = self.known.tables.robots.get(&robots.origin);
        let last = row.map(|row| (text(row, "access").to_owned(), text(row, "fetched_at").to_owned()));
        let said = (robots.access.to_string(), robots.fetched_at.to_string());
        self.check(last.as_ref() == Some(&said), || format!("robots.txt {said:?}, not {last:?}"));
        let allowed = self.allowed_by_site().filter(|_| !robots.is_deferred() && self.known.is_same_web);
        let said = robots.allowed;
        self.check(allowed.is_none_or(|allowed| allowed == said), || {
            format!("robots.txt allows it: {said}, and by the site: {allowed:?}")
        });
    }

    /// Whether the rules of its site allow it, whoever has read them; none where its robots.txt lies elsewhere or has other versions.
    fn allowed_by_site(&self) -> Option<bool> {
        let (host, path) = Web::split(self.url);
        let robots = &self.known.web.sites.get(host)?.robots;
        match robots.form {
            _ if !robots.later.is_empty() || robots.failures.len() >= LASTING => None,
            RobotsForm::Missing | RobotsForm::Html => Some(true),
            RobotsForm::Forbidden | RobotsForm::Circle => Some(false),
            RobotsForm::Star | RobotsForm::Named | RobotsForm::Oversize => Some(robots.rules.allows(path)),
            RobotsForm::Moved(_) => None,
        }
    }

    /// The versions of the rules that its site serves, and of each the lines of the file; none where it has no file.
    fn versions(&self) -> Vec<(&'a Rules, Vec<String>)> {
        let Some(site) = self.known.web.sites.get(Web::split(self.url).0) else { return Vec::new() };
        let robots = &site.robots;
        let text = |rules: &Rules| match robots.form {
            RobotsForm::Star | RobotsForm::Oversize => Some(rules.text("*")),
            RobotsForm::Named => Some(format!("{}\n{}", Rules::closed().text("*"), rules.text(AGENT))),
            RobotsForm::Moved(_) => Some(rules.text(AGENT)),
            _ => None,
        };
        let later = robots.later.iter().filter_map(|later| match later {
            Later::Rules(rules) => Some(rules),
            Later::Failure(_) => None,
        });
        let all = std::iter::once(&robots.rules).chain(later);
        all.filter_map(|rules| Some((rules, text(rules)?.lines().map(str::to_owned).collect()))).collect()
    }

    /// Each line of robots.txt that is quoted is a line of a version of it, with this number.
    fn quotes(&mut self) {
        let versions = self.versions();
        for (number, words) in quoted_lines(&self.story.answer).into_iter().filter(|_| !versions.is_empty()) {
            let at = |lines: &Vec<String>| number.checked_sub(1).and_then(|at| lines.get(at)).cloned();
            let found: Vec<_> = versions.iter().filter_map(|(_, lines)| at(lines)).collect();
            self.check(found.contains(&words), || format!("line {number} is {found:?}, not {words:?}"));
        }
    }

    /// The line that decides about it is the one that is quoted, or none is where none matches, or where there is no file. `is_now`: by
    /// the version that is stored last, which its size names.
    fn deciding_line(&mut self, is_now: bool) {
        let row = self.robots_row();
        if row.is_some_and(|row| !["rules", "stored"].contains(&text(row, "access"))) {
            self.says(&format!(": {} (", row.map(|row| text(row, "reason")).unwrap_or_default()));
            return;
        }
        let path = Web::split(self.url).1;
        let mut versions = self.versions();
        let form = self.known.web.sites.get(Web::split(self.url).0).map(|site| &site.robots.form);
        let is_plain = form.is_some_and(|form| *form != RobotsForm::Oversize) && self.known.is_same_web;
        let bytes = row.filter(|row| is_now && is_plain && row["access"] == "rules");
        let bytes = bytes.and_then(|row| row["bytes"].as_u64()).filter(|_| !versions.is_empty());
        if let Some(bytes) = bytes {
            let size = |lines: &[String]| lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>();
            versions.retain(|(_, lines)| size(lines) == bytes);
            self.check(!versions.is_empty(), || format!("no version of its robots.txt has {bytes} bytes"));
        }
        let decide = |rules: &Rules| rules.deciding(path).map(Rule::line).unwrap_or_default();
        let lines: Vec<String> = versions.iter().map(|(rules, _)| decide(rules)).collect();
        let quoted = quoted_lines(&self.story.answer).pop().map(|(_, words)| words).unwrap_or_default();
        self.says(match form {
            Some(RobotsForm::Star | RobotsForm::Oversize) => " (group *, hardened)",
            Some(RobotsForm::Named | RobotsForm::Moved(_)) => " (group superrobot, hardened)",
            _ => "no robots.txt: HTML without a known field (hardened)",
        });
        let is_so = lines.is_empty() || lines.contains(&quoted);
        self.check(is_so, || format!("{quoted:?} decides, and by the site one of {lines:?}"));
        if quoted.is_empty() && !versions.is_empty() {
            let why = |(rules, _): &(&Rules, _)| {
                if rules.lines.is_empty() { "group without rules" } else { "no rule matches" }.to_owned()
            };
            let all: Vec<String> = versions.iter().map(why).collect();
            self.says_one_of(&all);
        }
    }

    /// Whether it lies in the scope, by the seeds.
    fn scope(&mut self) {
        if self.known.settings.scope.mode != ScopeMode::Host {
            return;
        }
        let is_of_seeds = self.is_of_a_seeds_host();
        let said = self.story.scope.as_deref();
        let is_outside = matches!(said, Some("other_host"));
        self.check(is_outside != is_of_seeds, || {
            format!("scope {said:?}, and on a seed's host: {is_of_seeds}")
        });
        self.check(self.story.is_scope_known, || "its scope is unknown".to_owned());
    }

    fn is_of_a_seeds_host(&self) -> bool {
        let web = self.known.web;
        // What a seed redirects to belongs to the crawl.
        let is_target = |seed: &String| {
            web.resource(seed)
                .is_some_and(|found| matches!(&found.kind, Kind::Redirect(_, to) if to == self.url))
        };
        if web.seeds.iter().any(is_target) {
            return true;
        }
        let hosts: BTreeSet<&str> = web.seeds.iter().map(|seed| Web::split(seed).0).collect();
        hosts.contains(Web::split(self.url).0)
    }

    /// The state of its host is its row in table `hosts`.
    fn host(&mut self) {
        let name = Web::split(self.url).0;
        let row = self.known.tables.hosts.get(name);
        let Some(host) = &self.story.host else {
            self.check(row.is_none(), || "its host has a row, and isn't said".to_owned());
            return;
        };
        let said = serde_json::to_value(host).expect("it is JSON");
        for column in ["queued", "next_at", "wait_reason", "delay", "delay_reason", "parked"] {
            let row = row.map_or(&Value::Null, |row| &row[column]);
            self.check(said[column] == *row, || {
                format!("its host's {column} is {}, not {row}", said[column])
            });
        }
        let waiting = self.known.tables.queue.values().filter(|row| text(row, "host") == name).count() as u64;
        let queued = host.queued;
        self.check(waiting == queued, || {
            format!("{queued} URLs of its host wait, and table queue has {waiting}")
        });
    }

    fn redirects(&mut self) {
        for (target, status) in &self.story.redirects {
            let row = self.known.tables.pages.get(target).and_then(|row| row["status"].as_u64());
            self.check(row == status.map(u64::from), || {
                format!("{target} has status {row:?}, not {status:?}")
            });
        }
    }

    fn allowed(&mut self) {
        let against = [Statement::QueuedDenied, Statement::KeptOut, Statement::WouldDeny, Statement::Outside];
        let denied = self.story.fate == Fate::Skipped
            || against.iter().any(|what| self.story.statements.contains(what));
        let allowed = self.story.allowed;
        self.check(allowed != denied, || format!("allowed: {allowed}, denied: {denied}"));
    }

    /// What has to be said is said; and where nothing would change the answer, nothing is missing.
    fn silence(&mut self) {
        let row = self.row();
        let is_cut = row.is_some_and(|row| !row["truncated"].is_null()) && self.story.fate == Fate::Fetched;
        let is_denied = row.is_some_and(|row| row["searchable"] == false && row["indexed"] == true);
        let is_of_last = row.is_some_and(|row| row["withdrawn_at"].is_null());
        let is_removed = self.story.statements.contains(&Statement::Removed);
        let is_withdrawn = row.is_some_and(|row| !row["withdrawn_at"].is_null()) && !is_removed;
        let skip_via = self.story.skip.as_ref().and_then(|skip| skip.via.as_ref());
        let is_gone = skip_via.is_some() && self.story.found.last().is_some_and(|step| step.by == "unknown");
        let is_never_found = self.story.statements.contains(&Statement::NeverFound);
        for (statement, has_to) in [
            (Statement::Normalised, self.story.normalised_from.is_some()),
            (Statement::ReadInPart, is_cut && is_of_last),
            (Statement::Withdrawn, is_withdrawn && self.story.fate == Fate::Fetched),
            (Statement::Unsearched, is_denied && is_of_last),
            (Statement::Outside, is_never_found && self.story.scope.is_some()),
            (Statement::Unread, self.known.unread.contains(self.url) && is_of_last),
            (Statement::LinkGone, is_gone && self.story.fate == Fate::Skipped),
        ] {
            let is_said = self.story.statements.contains(&statement);
            self.check(is_said || !has_to, || format!("{statement:?} isn't said"));
        }
        if !self.story.change.is_empty() {
            return;
        }
        let is_whole = self.row().is_some_and(|row| {
            let yes = |column: &str| row[column] == true;
            row["error"].is_null()
                && row["truncated"].is_null()
                && yes("indexed")
                && yes("archived")
                && yes("followed")
        });
        self.check(is_whole, || "\"nothing needs to change\"".to_owned());
    }

    /// The model of the page that it was found on.
    fn source(&self) -> Option<(&'a Page, &'a str)> {
        let via = self.story.skip.as_ref()?.via.as_deref()?;
        match &self.known.web.resource(via)?.kind {
            Kind::Page(page) => Some((page, via)),
            _ => None,
        }
    }

    /// A link to it on the page that it was found on is as the statement says.
    fn link_is(&mut self, what: &str, is_so: impl Fn(&Page, &LinkKind, bool) -> bool) {
        if !self.known.is_same_web {
            return;
        }
        let source = self.source();
        let url = self.url;
        let is_true = source.is_some_and(|(page, _)| {
            page.links.iter().any(|link| link.to == url && is_so(page, &link.kind, link.nofollow))
        });
        self.check(is_true, || format!("no link on {:?} is {what}", source.map(|(_, via)| via)));
    }

    /// The skip that is said is that of table `skipped`, which has its evidence.
    fn skipped(&mut self, outcome: Option<LinkOutcome>) {
        let Some(skip) = &self.story.skip else {
            self.check(false, || "it is said as skipped, without a decision".to_owned());
            return;
        };
        if let Some(outcome) = outcome {
            let said = &skip.reason;
            self.check(*said == Reason::Link(outcome), || format!("{said:?}, not {outcome:?}"));
        }
        let said = self.story.answer.split_once(", linked from ").map_or("", |(_, rest)| rest);
        let said = said.split(';').next().unwrap_or_default();
        let via = skip.via.as_deref().unwrap_or_default();
        self.check(said == via, || format!("linked from {said:?}, not {via:?}"));
        if let Some(rows) = self.known.tables.all_skipped.get(self.url) {
            let said = (
                skip.reason.to_string(),
                detail_of(&skip.evidence.to_string()).to_owned(),
                skip.via.clone().unwrap_or_default(),
            );
            let of_row = |row| {
                let (reason, detail, via) = (text(row, "reason"), text(row, "detail"), text(row, "via"));
                (reason.to_owned(), detail.to_owned(), via.to_owned())
            };
            let of_rows: Vec<_> = rows.iter().map(of_row).collect();
            self.check(of_rows.contains(&said), || {
                format!("skipped for {said:?}, and table skipped says {of_rows:?}")
            });
        }
    }

    /// The details of its rows in table `skipped`.
    fn details(&self) -> Vec<&'a str> {
        let rows = self.known.tables.all_skipped.get(self.url).into_iter().flatten();
        rows.map(|row| text(row, "detail")).collect()
    }

    fn says_one_of(&mut self, all: &[String]) {
        let answer = &self.story.answer;
        let is_said = all.is_empty() || all.iter().any(|words| answer.contains(words));
        self.check(is_said, || format!("says none of {all:?}"));
    }

    /// The evidence of the skip is that of its row in table `skipped`.
    fn evidence(&mut self) {
        let details: Vec<String> = self.details().iter().map(|detail| format!(": {detail}")).collect();
        self.says_one_of(&details);
    }

    fn statement(&mut self, statement: Statement) {
        use Statement as S;
        let tables = self.known.tables;
        let settings = self.known.settings;
        match statement {
            S::Answered => {
                let Some(row) = self.row() else { return self.check(false, || "it has no row".to_owned()) };
                let place = row["redirect"].as_str().map(|to| format!(" to {to}")).unwrap_or_default();
                self.says(&format!("fetched with status {}{place}: ", row["status"]));
                match (row["robots_line"].as_u64(), row["robots_rule"].as_str()) {
                    (Some(line), Some(rule)) => {
                        self.says(&format!("line {line} of robots.txt, `{rule}`, allowed it"));
                    }
                    _ => self
                        .says(&format!("no line of robots.txt denied it ({})", text(row, "robots_reason"))),
                }
                let allowed = self.allowed_by_site().filter(|_| self.known.is_same_web);
                self.check(allowed != Some(false), || "its site denies it".to_owned());
                let says = |kind| self.story.statements.contains(&kind);
                let said = (says(S::Walled), says(S::Suspect));
                if self.known.is_same_web {
                    let sent = self.wall_sent();
                    let expected = (sent == Some("certain"), sent == Some("likely"));
                    self.check(said == expected, || format!("the site sends {sent:?}"));
                }
            }
            S::Effects => {
                for (column, word) in
                    [("indexed", "indexed"), ("archived", "archived"), ("followed", "followed")]
                {
                    let is_done = self.row().is_some_and(|row| row[column] == true);
                    let said = !self.story.answer.contains(&format!("not {word}"));
                    self.check(is_done == said, || format!("{word}: {said}, and its row says {is_done}"));
                }
                self.effects_by_model();
            }
            S::ReadInPart => {
                let is_cut = self.row().is_some_and(|row| {
                    !row["truncated"].is_null()
                        || row["limits_hit"].as_array().is_some_and(|hit| !hit.is_empty())
                });
                self.check(is_cut, || "nothing of it is missing".to_owned());
            }
            S::Unread => {
                let is_unread = self.row().is_some_and(|row| text(row, "content_type").contains("pdf"));
                self.check(is_unread, || "it isn't a PDF file".to_owned());
            }
            S::Unsearched => {
                let is_searchable = self.row().is_some_and(|row| row["searchable"] == true);
                self.check(!is_searchable, || "it is searchable".to_owned());
            }
            S::Withdrawn | S::Removed => {
                self.says(if statement == S::Removed {
                    "removed with `crawl forget` at "
                } else {
                    "its content was withdrawn at "
                });
                let row = self.row();
                let because = row.map(|row| text(row, "withdrawn_because")).unwrap_or_default();
                self.check(!because.is_empty(), || "its row has no withdrawal".to_owned());
                self.says(because);
                self.says(row.map(|row| text(row, "withdrawn_at")).unwrap_or_default());
            }
            S::KeptOut => {
                self.check(self.row().is_none(), || "it has a row".to_owned());
                self.says("`crawl forget` keeps it out");
            }
            S::Crashed | S::Blocked | S::Failed => {
                let row = tables.errors.get(self.url);
                let kind = row.map(|row| text(row, "kind")).unwrap_or_default();
                let is_of_kind = match statement {
                    S::Crashed => kind == "crashed",
                    S::Blocked => kind == "blocked_address",
                    _ => !kind.is_empty() && kind != "crashed" && kind != "blocked_address",
                };
                self.check(is_of_kind, || format!("it failed as {kind:?}"));
                self.says(row.map(|row| text(row, "detail")).unwrap_or_default());
                if let Some(tries) =
                    row.and_then(|row| row["tries"].as_u64()).filter(|_| statement == S::Failed)
                {
                    self.says(&if tries > 1 {
                        format!("all {tries} attempts")
                    } else {
                        "the attempt".to_owned()
                    });
                }
            }
            S::Queued | S::QueuedUnreachable | S::QueuedDenied | S::QueuedBackOff => {
                let row = tables.queue.get(self.url);
                self.check(row.is_some_and(|row| row["parked"].is_null()), || "it doesn't wait".to_owned());
                let host = row.and_then(|row| tables.hosts.get(text(row, "host")));
                self.says(row.map(|row| text(row, "next_at")).unwrap_or_default());
                self.says(host.map(|host| text(host, "wait_reason")).unwrap_or_default());
                let access = self.last_robots();
                let is_so = match statement {
                    S::QueuedUnreachable => {
                        let reason = self.robots_row().map(|row| text(row, "reason")).unwrap_or_default();
                        self.says(&format!("its robots.txt is unreachable ({reason})"));
                        access == Some("defer")
                    }
                    S::QueuedDenied => {
                        let of = self.robots_row().map(|row| text(row, "fetched_at")).unwrap_or_default();
                        self.says(&format!("the robots.txt of {of} denies it: "));
                        self.deciding_line(false);
                        self.allowed_by_site() != Some(true)
                    }
                    S::QueuedBackOff => access.is_none(),
                    _ => true,
                };
                self.check(is_so, || format!("{statement:?}, and its robots.txt is {access:?}"));
            }
            S::QueuedWished => {
                let host = CrawlUrl::parse(self.url).map(|url| url.host().to_owned()).unwrap_or_default();
                let pace = &settings.pace;
                let wish = pace.wishes.iter().find(|wish| wish.hosts.contains(&host));
                self.check(wish.is_some(), || "nobody asked for anything".to_owned());
                let Some(wish) = wish else { return };
                let (hours, requests) = (wish.hours.as_deref(), wish.requests_per_day);
                let asked = hours.map(|hours| format!("only {hours}"));
                let asked = asked.or_else(|| requests.map(|most| format!("{most} requests a day")));
                let zone = wish.zone.as_ref().unwrap_or(&pace.zone);
                let reason =
                    if wish.reason.is_empty() { String::new() } else { format!(": {}", wish.reason) };
                let asked = asked.unwrap_or_default();
                self.says(&format!("the owner of its host asked for it: {asked} ({zone}){reason}"));
                let why = if hours.is_some() { "wish hours" } else { "wish day" };
                self.says(&format!("({why})"));
            }
            S::HostSkipped => {
                let parked = tables.queue.get(self.url).map(|row| text(row, "parked")).unwrap_or_default();
                self.check(!parked.is_empty(), || "its host isn't skipped".to_owned());
                self.says(parked);
            }
            S::DeniedByLine | S::DeniedBySite => {
                self.skipped(None);
                let layer = self.story.skip.as_ref().map(|skip| skip.layer.as_str());
                self.check(layer == Some("robots"), || format!("{layer:?}"));
                let is_line = !quoted_lines(&self.story.answer).is_empty();
                self.check(is_line == (statement == S::DeniedByLine), || {
                    format!("{statement:?}, and a line is quoted: {is_line}")
                });
                self.evidence();
                let changed = self.story.advice.contains(&Advice::RobotsAllowsNow);
                let allowed = self.allowed_by_site().filter(|_| self.known.is_same_web);
                self.check(changed || allowed != Some(true), || "its site allows it".to_owned());
            }
            S::PageNofollow => {
                self.skipped(Some(LinkOutcome::PageNofollow));
                self.evidence();
                self.link_is("on a page under nofollow", |page, _, _| page.asks(Directive::Nofollow));
            }
            S::RelNofollow => {
                self.skipped(Some(LinkOutcome::RelNofollow));
                self.evidence();
                self.link_is("under nofollow", |_, _, nofollow| nofollow);
            }
            S::OtherHost => {
                self.skipped(Some(LinkOutcome::OtherHost));
                let is_inside = settings.scope.mode == ScopeMode::Host && self.is_of_a_seeds_host();
                self.check(!is_inside, || "it is on a seed's host".to_owned());
            }
            S::OtherPath => {
                self.skipped(Some(LinkOutcome::OtherPath));
                let prefix = settings.scope.mode == ScopeMode::Prefix;
                self.check(prefix, || "the scope has no paths".to_owned());
            }
            S::Excluded | S::NotIncluded => {
                self.skipped(Some(LinkOutcome::Pattern));
                let matches =
                    |patterns: &[String]| patterns.iter().any(|part| self.url.contains(part.as_str()));
                let is_so = match statement {
                    S::Excluded => matches(&settings.scope.exclude),
                    _ => !settings.scope.include.is_empty() && !matches(&settings.scope.include),
                };
                self.check(is_so, || "no pattern says so".to_owned());
            }
            S::TooDeep => {
                self.skipped(Some(LinkOutcome::TooDeep));
                self.says("it is deeper than --max-depth");
                let depth = self.story.found.len() as u64;
                let most = settings.limits.max_depth.map(u64::from);
                self.check(most.is_some_and(|most| depth > most), || {
                    format!("{depth} steps, and at most {most:?}")
                });
            }
            S::TooLong => {
                self.skipped(Some(LinkOutcome::TooLong));
                let is_long = self.url.len() as u64 > settings.limits.max_url_length as u64;
                self.check(is_long, || "it isn't longer".to_owned());
            }
            S::TooManyRedirects => self.skipped(Some(LinkOutcome::TooManyRedirects)),
            S::Form => {
                self.skipped(Some(LinkOutcome::Resource));
                self.link_is("a form", |_, kind, _| *kind == LinkKind::Form);
            }
            S::Resource => {
                self.skipped(Some(LinkOutcome::Resource));
                self.link_is("a resource", |_, kind, _| !kind.is_queued() && *kind != LinkKind::Form);
                let words = |detail: &&str| format!("it is a resource of a page ({detail})");
                let words: Vec<String> = self.details().iter().map(words).collect();
                self.says_one_of(&words);
            }
            S::Growth => {
                let outcome = self.story.skip.as_ref().map(|skip| skip.reason.clone());
                self.check(outcome == Some(Reason::Link(LinkOutcome::Growth)), || format!("{outcome:?}"));
            }
            S::Type => {
                self.skipped(Some(LinkOutcome::Type));
                self.evidence();
            }
            S::Consent => {
                self.skipped(None);
                let layer = self.story.skip.as_ref().map(|skip| skip.layer.as_str());
                self.check(layer == Some("consent"), || format!("{layer:?}"));
                self.evidence();
            }
            S::Trap => {
                self.skipped(None);
                let layer = self.story.skip.as_ref().map(|skip| skip.layer.as_str());
                self.check(layer == Some("trap"), || format!("{layer:?}"));
                self.evidence();
            }
            S::Costly => {
                self.skipped(Some(LinkOutcome::Costly));
                self.evidence();
            }
            S::LeftOut => {
                self.skipped(None);
                self.evidence();
            }
            S::Unusable => {
                let row = tables.errors.get(self.url);
                self.check(row.is_some(), || "no row of table errors has it".to_owned());
                self.says(row.map(|row| text(row, "detail")).unwrap_or_default());
            }
            S::Walled => {
                let row = tables.pages.get(self.url);
                let outcome = row.map(|row| text(row, "outcome")).unwrap_or_default().replace('_', " ");
                let is_sent = self.wall_sent();
                self.check(is_sent == Some("certain"), || format!("the site sends {is_sent:?}"));
                self.says(&format!("it isn't the page: {outcome}"));
                self.says(row.map(|row| text(row, "signal")).unwrap_or_default());
                self.check(
                    self.story.page.as_ref().is_some_and(|page| !page.indexed && !page.followed),
                    || "it is indexed or followed".to_owned(),
                );
            }
            S::Suspect => {
                let row = tables.pages.get(self.url);
                let suspect = row.map(|row| text(row, "suspect")).unwrap_or_default();
                let is_sent = self.wall_sent();
                self.check(is_sent == Some("likely"), || format!("the site sends {is_sent:?}"));
                self.says(&format!("it looks like a wall, and was taken for a page: {suspect} ("));
            }
            S::WalledHost => {
                let parked = tables.queue.get(self.url).map(|row| text(row, "parked")).unwrap_or_default();
                let wall = parked.strip_prefix("wall: ").unwrap_or_default();
                self.check(!wall.is_empty(), || format!("its host is skipped for {parked:?}"));
                self.says(&format!("its host sends no pages ({wall})"));
            }
            S::LinkGone => {
                let via = self.story.skip.as_ref().and_then(|skip| skip.via.as_deref()).unwrap_or_default();
                self.check(self.lacks_link(via, self.url), || format!("{via} links to it"));
            }
            S::NeverFound => {
                let row = [&tables.pages, &tables.errors, &tables.queue, &tables.skipped]
                    .into_iter()
                    .any(|table| table.contains_key(self.url));
                self.check(!row, || "a table has it".to_owned());
                let links = tables.links.get(self.url).map_or(0, Vec::len);
                self.check(links == 0, || format!("{links} links lead to it"));
            }
            S::NoRobots => {
                let access = self.last_robots();
                self.check(access.is_none(), || format!("its robots.txt is {access:?}"));
            }
            S::WouldAllow | S::WouldDeny => {
                self.says(if statement == S::WouldAllow { "would allow it: " } else { "would deny it: " });
                self.deciding_line(true);
                self.check(self.robots_row().is_some(), || "no robots.txt is stored".to_owned());
                let allowed = self.allowed_by_site().filter(|_| self.known.is_same_web);
                let is_so = allowed.is_none_or(|allowed| allowed == (statement == S::WouldAllow));
                self.check(is_so, || format!("{statement:?}, and the site allows it: {allowed:?}"));
            }
            S::Unreachable => {
                let access = self.last_robots();
                self.check(access == Some("defer"), || format!("its robots.txt is {access:?}"));
                let reason = self.robots_row().map(|row| text(row, "reason")).unwrap_or_default();
                self.says(&format!("its robots.txt is unreachable ({reason})"));
            }
            S::Outside => {
                let scope = self.story.scope.as_deref().unwrap_or_default().replace('_', " ");
                self.check(!scope.is_empty(), || "it is inside".to_owned());
                self.says(&format!("it is outside the scope ({scope})"));
            }
            S::Normalised => {
                let from = self.story.normalised_from.as_deref().unwrap_or_default();
                self.check(!from.is_empty() && from != self.url, || format!("from {from:?}"));
                self.says(&format!("Normalised to {} (costly.session). ", self.url));
            }
        }
    }

    /// Whether the site sends a wall at this URL, by its path.
    fn wall_sent(&self) -> Option<&'static str> {
        let (_, path) = Web::split(self.url);
        let kinds = [("/wall", "certain"), ("/likely", "likely")];
        kinds.into_iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, kind)| kind)
    }

    fn robots_row(&self) -> Option<&'a Value> {
        let origin = self.url.split('/').take(3).collect::<Vec<_>>().join("/");
        self.known.tables.robots.get(&origin)
    }

    fn last_robots(&self) -> Option<&'a str> {
        self.robots_row().map(|row| text(row, "access"))
    }

    /// What was done with a page is what it permits.
    fn effects_by_model(&mut self) {
        let (Some(row), true) = (self.row(), self.known.is_same_web) else { return };
        let Some(Kind::Page(page)) = self.known.web.resource(self.url).map(|resource| &resource.kind) else {
            return;
        };
        for (column, denial) in [
            ("indexed", Directive::Noindex),
            ("followed", Directive::Nofollow),
            ("archived", Directive::Noarchive),
        ] {
            let denied = page.asks(denial) || column == "archived" && page.asks(Directive::Noindex);
            let is_off = column == "archived" && !self.known.is_archived;
            let is_done = row[column] == true;
            self.check(is_done != (denied || is_off), || {
                format!("{column}: {is_done}, and {denial:?} is asked: {denied}")
            });
        }
    }
}
