//! Draws the conclusion: the sentences of the answer, and what would change it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use robots::StatusClass;

use super::super::limits::cut_by;
use super::super::moment::Moment;
use super::super::skipped::evidence_in_words;
use super::now::Hints;
use super::statement::{AS_SEED, Advice, Statement};
use super::{Explanation, Fate, moment};
use crate::costly::Class;
use crate::error_kind::ErrorKind;
use crate::frontier::WALLED;
use crate::pace::DelayReason;
use crate::record::{Decided, Decision, Layer, LinkOutcome, PageRecord, Reason, UnreadText, in_words};
use page::extract::LinkKind;
use walls::Outcome;

/// What the conclusion is drawn from, besides the story itself.
pub(super) struct Facts<'a> {
    pub(super) record: Option<&'a PageRecord>,
    /// Why its text isn't in the full-text index.
    pub(super) unread: Option<UnreadText>,
    /// The statements that keep it out of the full-text search.
    pub(super) unsearched: Option<String>,
    /// The last decision that skipped it.
    pub(super) skip: Option<&'a Decision>,
    /// All decisions about it, in order.
    pub(super) decisions: &'a [(u64, Decision)],
    pub(super) hints: &'a Hints,
    /// A rule of `crawl forget` has removed it, or keeps it out.
    pub(super) is_forgotten: bool,
    /// Pages may link to it whose links are stored nowhere.
    pub(super) is_perhaps_unlisted: bool,
}

/// What would change the answer where robots.txt denies.
const OTHER_ROBOTS: &str = "the site: a robots.txt that allows it, then a new crawl";
const RETRIED: &str = "`crawl resume DIR --retry-crashed` tries it again";
const ASKED_AGAIN: &str = "`crawl recrawl DIR --older-than 0s` fetches it again";
/// What is said of it while not everything of the last recrawl is visited.
const UNFINISHED: &str =
    "; the last recrawl isn't complete: this command continues it, the next one begins another";
/// Part of every advice that has pages fetched again.
const REVISITS: &str = "crawl recrawl DIR --older-than 0s";
const REMOVED: &str =
    "a new crawl in another directory: this one never fetches what `crawl forget` has removed";

impl Explanation {
    /// Concludes: the answer in one sentence, whether a rule denies the URL, and what would change that.
    pub(super) fn conclude(&mut self, facts: &Facts<'_>) {
        self.draw(facts);
        let limit = facts.hints.limit.as_deref().and_then(|limit| limit.split_once(' '));
        let outside = self.scope.as_deref().filter(|_| facts.record.is_some());
        let parked = facts.hints.parked.as_deref().and_then(raised);
        for (advice, words) in self.advice.iter().zip(&mut self.change) {
            let revisits = words.contains(REVISITS);
            if !revisits && *advice != Advice::WithArchive {
                continue;
            }
            if let Some((name @ ("max-pages" | "max-bytes" | "max-time"), value)) = limit.filter(|_| revisits)
            {
                let _ = write!(words, " with --{name} above {value}, which the last run reached");
            }
            if let Some(raised) = parked.as_deref().filter(|_| revisits) {
                if facts.hints.is_of_cluster
                    && let Some((before, _)) = words.split_once(&format!("`{REVISITS}`"))
                {
                    // Workers don't take over another one.
                    *words = format!("{before}a new crawl {raised}");
                } else {
                    let _ = write!(words, " {raised}");
                }
            }
            if facts.hints.is_host_limited && parked.is_none() && revisits {
                words.push_str(" with a higher --max-pages-per-host, which counts each visit");
            }
            if let Some(scope) =
                facts.hints.source_outside.as_deref().filter(|_| outside.is_none() && revisits)
            {
                let scope = in_words(scope);
                let _ = write!(words, " once the settings let that page in: it is outside ({scope})");
            }
            if let Some(scope) = outside {
                let _ = write!(words, " once the settings let it in: it is outside ({})", in_words(scope));
            }
            if facts.hints.is_recrawl_open && revisits {
                words.push_str(UNFINISHED);
            }
        }
    }

    fn draw(&mut self, facts: &Facts<'_>) {
        if facts.is_forgotten {
            self.forgotten(facts);
            return;
        }
        match self.fate {
            Fate::Fetched | Fate::Redirected | Fate::Error => self.answered(facts),
            Fate::Failed => self.failed(facts),
            Fate::Queued => self.queued(facts.hints),
            Fate::Parked => {
                let why = self.host.as_ref().and_then(|host| host.parked.clone()).unwrap_or_default();
                if let Some(wall) = why.strip_prefix(WALLED) {
                    self.say(
                        Statement::WalledHost,
                        format!("not fetched: its host sends no pages ({wall}), and was skipped; the URL is still queued"),
                    );
                    let again = "the owner's permission: write to the site's contact; `crawl resume DIR` tries the host again";
                    self.may(Advice::HostAdmission, again);
                    return;
                }
                self.say(
                    Statement::HostSkipped,
                    format!("not fetched: its host was skipped ({why}); the URL is still queued"),
                );
                if let Some(pages) = why.strip_prefix("max-pages-per-host ") {
                    let more = format!("`crawl resume DIR` with --max-pages-per-host above {pages}");
                    self.may(Advice::MorePagesOfHost, more);
                } else if why.ends_with("over max-crawl-delay") {
                    self.may(Advice::LongerCrawlDelay, "`crawl resume DIR` with a higher --max-crawl-delay");
                } else {
                    self.may(Advice::HostAgain, "`crawl resume DIR` tries the host again");
                }
            }
            Fate::Skipped => self.skipped(facts),
            Fate::Unseen => {
                self.unseen(facts.hints);
                if facts.is_perhaps_unlisted && self.scope.is_none() {
                    self.may(
                        Advice::ListedLink,
                        "a link from another page, if so far only pages under noindex and nofollow link to it: their links \
                         are only counted (`not_listed` in `crawl show DIR ledger`); so are links of pages that may add no more to the \
                         database; `crawl recrawl DIR --older-than 0s` fetches the pages again",
                    );
                }
            }
        }
    }

    /// Begins the answer.
    fn say(&mut self, what: Statement, answer: impl Into<String>) {
        self.statements.push(what);
        self.answer = answer.into();
    }

    /// Adds to the answer.
    fn add(&mut self, what: Statement, more: &str) {
        self.statements.push(what);
        self.answer.push_str("; ");
        self.answer.push_str(more);
    }

    /// Says what would change the answer.
    fn may(&mut self, what: Advice, words: impl Into<String>) {
        self.advice.push(what);
        self.change.push(words.into());
    }

    /// It was removed by `crawl forget`, or a rule of that keeps it out.
    fn forgotten(&mut self, facts: &Facts<'_>) {
        self.allowed = facts.record.is_some();
        let said = facts.record.and_then(|record| record.withdrawn.as_ref());
        match said {
            Some(withdrawn) => self.say(
                Statement::Removed,
                format!("removed with `crawl forget` at {}: {}", Moment(withdrawn.at), withdrawn.because),
            ),
            None => self.say(Statement::KeptOut, "not fetched: `crawl forget` keeps it out of this crawl"),
        }
        self.may(Advice::OtherDirectory, REMOVED);
    }

    /// No usable response came.
    fn failed(&mut self, facts: &Facts<'_>) {
        let Some(record) = facts.record else { return };
        let kind = record.error.as_deref().unwrap_or_default();
        let detail = record.detail.as_deref().unwrap_or_default();
        if kind == ErrorKind::Crashed.as_str() {
            self.say(Statement::Crashed, format!("fetched, and not read: {kind}: {detail}"));
            let other = format!("another page at this URL, or another version of this program; {RETRIED}");
            self.may(Advice::RetryCrashed, other);
            return;
        }
        if kind == ErrorKind::BlockedAddress.as_str() {
            self.say(Statement::Blocked, format!("not fetched: no connection was made: {detail}"));
            match net_to_allow(detail) {
                Some(net) => {
                    self.may(Advice::AllowNet, format!("`crawl resume DIR --allow-net {net}`"));
                }
                None => self.may(Advice::Resolve, "`crawl resume DIR --resolve` with a rule for its host"),
            }
            return;
        }
        let attempts = match record.tries {
            0 | 1 => "the attempt".to_owned(),
            tries => format!("all {tries} attempts"),
        };
        self.say(Statement::Failed, format!("not fetched: {attempts} failed: {} {detail}", in_words(kind)));
        self.may(Advice::Response, format!("a response from its host; {ASKED_AGAIN}"));
    }

    fn queued(&mut self, hints: &Hints) {
        let host = self.host.as_ref();
        let wait = moment(host.map(|host| host.next_at));
        let why = host.map_or("", |host| host.wait_reason);
        let group = host.and_then(|host| host.group.as_ref());
        let group = group.map(|group| format!(", which shares its delay with the group {group}"));
        let group = group.unwrap_or_default();
        self.say(
            Statement::Queued,
            format!("not fetched yet: queued, its host's next request is not before {wait} ({why}){group}"),
        );
        if let Some(wish) = self.host.as_ref().and_then(|host| host.wish.clone()) {
            self.add(Statement::QueuedWished, &format!("the owner of its host asked for it: {wish}"));
        }
        match &self.robots {
            Some(robots) if robots.is_deferred() => {
                let more = format!(
                    "its robots.txt is unreachable ({}), and no page is fetched until it responds",
                    robots.says.reason
                );
                let (origin, expires) = (robots.origin.clone(), robots.expires);
                self.add(Statement::QueuedUnreachable, &more);
                self.may(Advice::UsableRobots, format!(
                    "a usable response for {origin}/robots.txt: a new crawl requests it at once, `crawl resume DIR` from {expires} on"
                ));
            }
            Some(robots) if !robots.allowed => {
                let more = format!("the robots.txt of {} denies it: {}", robots.fetched_at, robots.says);
                self.add(Statement::QueuedDenied, &more);
                self.allowed = false;
                self.may(Advice::OtherRobots, OTHER_ROBOTS);
            }
            known => match hints.limit.as_deref().and_then(|limit| limit.split_once(' ')) {
                _ if known.is_none() && why == DelayReason::BackOff.as_str() => {
                    self.add(
                        Statement::QueuedBackOff,
                        "the requests for its robots.txt had no response, and it is requested again then",
                    );
                    self.may(
                        Advice::RobotsResponse,
                        "a response for its robots.txt: `crawl resume DIR` requests it again",
                    );
                }
                Some((name @ ("max-pages" | "max-bytes"), value)) => {
                    let above = format!("`crawl resume DIR` with --{name} above {value}");
                    self.may(Advice::HigherLimit, above);
                }
                _ => self.may(Advice::Continue, "`crawl resume DIR` continues the crawl"),
            },
        }
    }

    fn answered(&mut self, facts: &Facts<'_>) {
        let Some(record) = facts.record else { return };
        let status = record.status.unwrap_or_default();
        let line = match (record.robots.line, &record.robots.rule) {
            (Some(line), Some(rule)) => format!("line {line} of robots.txt, `{rule}`, allowed it"),
            _ => format!("no line of robots.txt denied it ({})", record.robots.reason),
        };
        let place = record.redirect.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
        self.say(Statement::Answered, format!("fetched with status {status}{place}: {line}"));
        if let Some(wall) = record.certain_wall() {
            self.add(Statement::Walled, &format!("it isn't the page: {}", wall.in_words()));
            let ways = match wall.outcome {
                Outcome::Shell => "content without scripts".to_owned(),
                Outcome::Placeholder => "a site at this address".to_owned(),
                Outcome::Payment => "the price, agreed with the owner".to_owned(),
                _ => "the owner's permission: write to the site's contact".to_owned(),
            };
            self.may(Advice::Admission, format!("{ways}; {ASKED_AGAIN}"));
            return;
        }
        if let Some(wall) = &record.wall {
            let taken = if self.fate == Fate::Error { "an error" } else { "a page" };
            let more = format!("it looks like a wall, and was taken for {taken}: {}", wall.in_words());
            self.add(Statement::Suspect, &more);
        }
        let is_unusable = self.fate == Fate::Error && StatusClass::of(status).is_success();
        if let Some(kind) = record.error.as_deref().filter(|_| is_unusable) {
            let detail = record.detail.as_deref().unwrap_or_default();
            self.add(
                Statement::Unusable,
                &format!("the response can't be used: {} {detail}", in_words(kind)),
            );
            self.may(Advice::Response, format!("a response that can be used; {ASKED_AGAIN}"));
            return;
        }
        match self.fate {
            Fate::Error => self.may(Advice::PageHere, format!("a page at this URL; {ASKED_AGAIN}")),
            Fate::Redirected => {
                let to = record.redirect.as_deref().unwrap_or("the target");
                let see = format!("nothing; see `crawl explain DIR {to}` for the target");
                self.may(Advice::SeeTarget, see);
            }
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
        self.add(Statement::Effects, &effects.join(", "));
        self.cut(record);
        if let Some(unread) = facts.unread {
            self.add(Statement::Unread, unread.words());
            self.may(Advice::IndexAgain, "for its text: `crawl index DIR` reads it again");
        }
        if let Some(words) = &facts.unsearched {
            self.add(Statement::Unsearched, &format!("not in the full-text search: {words}"));
            self.may(
                Advice::Searchable,
                format!("to be found by `crawl search`: a page or site that permits it; {ASKED_AGAIN}"),
            );
        }
        if let Some(withdrawn) = &record.withdrawn {
            let more =
                format!("its content was withdrawn at {}: {}", Moment(withdrawn.at), withdrawn.because);
            self.add(Statement::Withdrawn, &more);
            self.may(
                Advice::WithoutWithdrawal,
                format!("to be stored: the page without that directive; {ASKED_AGAIN}"),
            );
            return;
        }
        for (allowed, decision, what) in [
            (record.indexed, Decided::NotIndexed, "be indexed"),
            (record.archived, Decided::NotArchived, "be archived"),
            (record.followed, Decided::NotFollowed, "have its links followed"),
        ] {
            if !allowed {
                self.kept_out(facts, record, &decision, what);
            }
        }
    }

    /// What is missing of a page that was read in part.
    fn cut(&mut self, record: &PageRecord) {
        if let Some(limit) = cut_by(record) {
            self.add(Statement::ReadInPart, &format!("read in part: {limit} was reached"));
            if limit.contains('.') {
                self.may(
                    Advice::HigherBodyLimit,
                    format!("for the rest: a higher {limit} in DIR/crawl.toml; {ASKED_AGAIN}"),
                );
            }
        } else if record.is_cut() {
            self.add(Statement::ReadInPart, "read in part: the end of its body didn't arrive");
            self.may(
                Advice::WholeResponse,
                format!("for the rest: a whole response from its host; {ASKED_AGAIN}"),
            );
        }
    }

    /// Why something wasn't done with a page, by the decision on record, or else by what is stored with the page.
    fn kept_out(&mut self, facts: &Facts<'_>, record: &PageRecord, decision: &Decided, what: &str) {
        let entered = facts.decisions.iter().rev().map(|(_, entry)| entry);
        if let Some(original) = record.duplicate_of.as_ref().filter(|_| *decision == Decided::NotArchived) {
            self.may(
                Advice::SameBody,
                format!("to {what}: nothing; the same body is archived as {original}"),
            );
            return;
        }
        // Those of earlier visits don't count.
        let mut of_last = entered.take_while(|entry| entry.decision != Decided::Fetched);
        if let Some(entry) = of_last.find(|entry| entry.decision == *decision) {
            let (what_helps, without) = if entry.layer == Layer::Consent {
                (Advice::Permission, "a page or site that permits it")
            } else {
                (Advice::WithoutDirective, "a page without it")
            };
            self.may(what_helps, format!("to {what}: {without} ({}); {ASKED_AGAIN}", entry.evidence));
        } else if *decision == Decided::NotArchived && facts.hints.is_unarchived {
            self.may(Advice::WithArchive, "to be archived: a new crawl with --warc");
        } else {
            let sources: BTreeSet<_> = record.directives.iter().map(|said| said.source.to_string()).collect();
            let sources = Vec::from_iter(sources).join("; ");
            self.may(
                Advice::WithoutDirective,
                format!("to {what}: a page without its present directives ({sources}); {ASKED_AGAIN}"),
            );
        }
    }

    fn skipped(&mut self, facts: &Facts<'_>) {
        let Some(skip) = facts.skip else { return };
        let hints = facts.hints;
        self.allowed = false;
        let evidence = skip.evidence.to_string();
        let on = skip.via.as_ref().map(|via| format!(", linked from {via}")).unwrap_or_default();
        let in_file = |key: &str| {
            vec![(
                Advice::HigherSetting,
                format!("a higher {key} in DIR/crawl.toml, then `crawl resume DIR`"),
            )]
        };
        let as_seed = || (Advice::AsSeed, AS_SEED.to_owned());
        let (what, why, change) = match (skip.layer, &skip.reason) {
            (Layer::Robots, _) => {
                let has_line = skip.evidence.robots.as_ref().is_some_and(|robots| robots.line.is_some());
                let (what, why) = if has_line {
                    (Statement::DeniedByLine, "robots.txt denies it")
                } else {
                    (Statement::DeniedBySite, "robots.txt closes the site")
                };
                (what, format!("{why}: {evidence}"), vec![(Advice::OtherRobots, OTHER_ROBOTS.to_owned())])
            }
            (_, Reason::Link(LinkOutcome::PageNofollow)) => (
                Statement::PageNofollow,
                format!("the page that links to it is under nofollow: {evidence}"),
                vec![
                    (
                        Advice::PageWithoutNofollow,
                        "that page without nofollow; `crawl recrawl DIR --older-than 0s` fetches it again".to_owned(),
                    ),
                    as_seed(),
                ],
            ),
            (_, Reason::Link(LinkOutcome::RelNofollow)) => (
                Statement::RelNofollow,
                format!("the link to it has nofollow, ugc or sponsored: {evidence}"),
                vec![
                    (
                        Advice::LinkWithoutNofollow,
                        "a link without nofollow, ugc or sponsored; `crawl recrawl DIR --older-than 0s` fetches the page again"
                            .to_owned(),
                    ),
                    as_seed(),
                ],
            ),
            (_, Reason::Link(LinkOutcome::OtherHost)) => {
                (Statement::OtherHost, "its host is outside the scope".to_owned(), hints.wider())
            }
            (_, Reason::Link(LinkOutcome::OtherPath)) => {
                (Statement::OtherPath, "it is outside the paths of the seeds".to_owned(), hints.wider())
            }
            (_, Reason::Link(LinkOutcome::Pattern)) if hints.is_excluded => (
                Statement::Excluded,
                "--exclude matches it".to_owned(),
                vec![(
                    Advice::OtherExclude,
                    "`crawl resume DIR --exclude` with patterns that don't match it".to_owned(),
                )],
            ),
            (_, Reason::Link(LinkOutcome::Pattern)) => (
                Statement::NotIncluded,
                "no --include matches it".to_owned(),
                vec![(
                    Advice::OtherInclude,
                    "`crawl resume DIR --include` with a pattern that matches it".to_owned(),
                )],
            ),
            (_, Reason::Link(LinkOutcome::TooDeep)) => (
                Statement::TooDeep,
                "it is deeper than --max-depth".to_owned(),
                vec![(Advice::MaxDepth, format!("`crawl resume DIR --max-depth {}`", hints.depth))],
            ),
            (_, Reason::Link(LinkOutcome::TooLong)) => (
                Statement::TooLong,
                "it is longer than limits.max_url_length".to_owned(),
                in_file("limits.max_url_length"),
            ),
            (_, Reason::Link(LinkOutcome::TooManyRedirects)) => (
                Statement::TooManyRedirects,
                "too many redirects in a row lead to it".to_owned(),
                in_file("limits.max_redirects"),
            ),
            (_, Reason::Link(LinkOutcome::Resource)) if evidence == LinkKind::Form.name() => (
                Statement::Form,
                "it is the target of a form, and forms aren't submitted".to_owned(),
                vec![as_seed()],
            ),
            (_, Reason::Link(LinkOutcome::Resource)) if !hints.is_barred => (
                Statement::Resource,
                format!("it is a resource of a page ({}), not a page", evidence_in_words(&evidence)),
                vec![(Advice::Resources, "`crawl resume DIR --resources`".to_owned())],
            ),
            (_, Reason::Link(LinkOutcome::Growth)) => (
                Statement::Growth,
                "the page that links to it may add no more to the database".to_owned(),
                vec![(Advice::OtherLink, "a link from another page".to_owned()), as_seed()],
            ),
            (_, Reason::Link(LinkOutcome::Type)) => (
                Statement::Type,
                format!("its type or size isn't wanted: {evidence}"),
                if evidence.contains("limits.max_media") {
                    [in_file("limits.max_media"), vec![as_seed()]].concat()
                } else {
                    let types = "`crawl resume DIR --types` with one that it has".to_owned();
                    vec![(Advice::OtherTypes, types)]
                },
            ),
            (_, Reason::Link(LinkOutcome::Costly)) => costly(&evidence),
            (Layer::Consent, _) => (
                Statement::Consent,
                format!("its site denies every purpose of this crawl: {evidence}"),
                vec![(
                    Advice::OtherPurpose,
                    "a new crawl with another --purpose that the site permits".to_owned(),
                )],
            ),
            (Layer::Trap, reason) => {
                let key = match reason {
                    Reason::Link(outcome) => outcome.keys().first(),
                    _ => None,
                };
                let change = key.map_or_else(|| vec![as_seed()], |key| in_file(key));
                (Statement::Trap, format!("{}: {evidence}", in_words(&reason.as_str())), change)
            }
            (layer, reason) => (
                Statement::LeftOut,
                format!("{} by {}: {}", in_words(&reason.as_str()), layer, evidence_in_words(&evidence)),
                vec![as_seed()],
            ),
        };
        self.say(what, format!("not fetched: {why}{on}"));
        let is_gone = skip.via.is_some() && self.found.last().is_some_and(|step| step.by == "unknown");
        if is_gone {
            self.add(Statement::LinkGone, "the links that are stored of that page no longer lead to it");
            if skip.layer == Layer::Robots {
                let robots = format!("{OTHER_ROBOTS} with the URL in its seed file");
                self.may(Advice::OtherRobots, robots);
            } else {
                self.may(Advice::AsSeed, AS_SEED);
            }
            return;
        }
        for (what, words) in change {
            self.may(what, words);
        }
        if let Some(robots) = self.robots.as_ref().filter(|_| skip.layer == Layer::Robots)
            && robots.allowed
        {
            let allows =
                format!("the robots.txt of {} allows it: a new crawl would fetch it", robots.fetched_at);
            self.may(Advice::RobotsAllowsNow, allows);
        }
    }

    fn unseen(&mut self, hints: &Hints) {
        let mut against = Vec::new();
        let deferred = self.robots.as_ref().filter(|robots| robots.is_deferred());
        let deferred = deferred.map(|robots| {
            (Statement::Unreachable, format!("its robots.txt is unreachable ({})", robots.says.reason))
        });
        let denied = deferred.is_none() && self.robots.as_ref().is_some_and(|robots| !robots.allowed);
        if let Some(robots) = &self.robots
            && denied
        {
            against.push((Statement::WouldDeny, format!("robots.txt would deny it: {}", robots.says)));
        }
        if let Some(scope) = &self.scope {
            against.push((Statement::Outside, format!("it is outside the scope ({})", in_words(scope))));
        }
        self.allowed = against.is_empty();
        self.say(Statement::NeverFound, "not fetched: this crawl never found it");
        match &self.robots {
            None => self.add(Statement::NoRobots, "no robots.txt is stored for it"),
            Some(robots) if robots.allowed => {
                let says = format!("the stored robots.txt would allow it: {}", robots.says);
                self.add(Statement::WouldAllow, &says);
            }
            Some(_) => {}
        }
        for (what, reason) in deferred.iter().chain(&against) {
            self.add(*what, reason);
        }
        if denied {
            self.may(Advice::OtherRobots, OTHER_ROBOTS);
        }
        if self.scope.as_deref() == Some(LinkOutcome::Pattern.as_str()) {
            if hints.is_excluded {
                self.may(
                    Advice::OtherExclude,
                    "`crawl resume DIR --exclude` with patterns that don't match it, if a page links to it",
                );
            } else {
                self.may(
                    Advice::OtherInclude,
                    "`crawl resume DIR --include` with a pattern that matches it, if a page links to it",
                );
            }
        } else if self.scope.is_some() {
            for (what, words) in hints.wider() {
                self.may(what, words);
            }
        } else {
            if !hints.has_no_pages {
                self.may(
                    Advice::LinkFromPage,
                    "a link to it from a page of the crawl; `crawl recrawl DIR --older-than 0s` fetches the pages again",
                );
            }
            self.may(Advice::AsSeed, AS_SEED);
        }
    }
}

/// The limit that has a host skipped, and how far it would have to be raised.
fn raised(parked: &str) -> Option<String> {
    if let Some(pages) = parked.strip_prefix("max-pages-per-host ") {
        return Some(format!("with --max-pages-per-host above {pages}, which the host has reached"));
    }
    let is_slow = parked.ends_with("over max-crawl-delay");
    is_slow.then(|| "with a higher --max-crawl-delay, which the host's delay exceeds".to_owned())
}

/// The network that the address guard says would have to be allowed.
fn net_to_allow(detail: &str) -> Option<&str> {
    let (_, net) = detail.split_once("--allow-net ")?;
    net.split([' ', ')']).next()
}

/// What is said of a URL that costs its site much, by the kind of the site and the class, and what would change it.
fn costly(evidence: &str) -> (Statement, String, Vec<(Advice, String)>) {
    let as_seed = (Advice::AsSeed, AS_SEED.to_owned());
    let keep = "`crawl resume DIR --costly keep`";
    let named = evidence.split_once(':').and_then(|(kind, class)| Some((kind, class.parse::<Class>().ok()?)));
    let Some((kind, class)) = named else {
        let why = format!("a few of such costly URLs are requested: {evidence}");
        return (Statement::Costly, why, vec![(Advice::KeepCostly, keep.to_owned()), as_seed]);
    };
    let why = format!("it costs its site much and brings nothing new: {evidence} ({})", class.words());
    if class == Class::Effect {
        return (Statement::Costly, why, vec![as_seed]);
    }
    let keep = format!(
        "{keep}; for these alone, {class} = \"keep\" in [costly.classes] or {kind} = \"keep\" in [costly.kinds] of DIR/crawl.toml, then `crawl resume DIR`"
    );
    (Statement::Costly, why, vec![(Advice::KeepCostly, keep), as_seed])
}
