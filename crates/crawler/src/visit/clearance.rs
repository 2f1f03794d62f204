//! Clearance: may this URL be asked for now? By the rules that are known of robots.txt, of its timing and of consent, at this
//! moment; without a request.

use robots::{Dialect, IntervalReason, Verdict};

use super::outcome::{Event, Outcome};
use super::{VisitContext, without_request};
use crate::consent::{Before, SiteStatements};
use crate::fetch::Fetch;
use crate::frontier::{Lease, RobotsFetch, Work};
use crate::pace::{Delay, DelayReason};
use crate::record::{RobotsEvidence, SiteFile};
use crate::robots_cache::{Entry, Known};
use crate::store::{Store, StoreError, Tree};
use page::clean::clean_within;
use page::clock::Now;
use page::url::{CrawlUrl, Origin};

/// Bytes kept of a line of robots.txt as evidence. Its record has the whole of it.
const LINE_BYTES: usize = 2_048;

/// What is known before anything is asked for.
pub(super) enum Clearance {
    /// Nothing is asked for.
    Over(Box<Outcome>),
    /// robots.txt comes first.
    Robots(RobotsFetch),
    /// A sitemap may be asked for.
    Sitemap { asked: Option<Delay>, half_rate: bool, evidence: RobotsEvidence },
    /// A consent file comes first.
    File { asked: Option<Delay>, half_rate: bool, file: SiteFile, url: CrawlUrl },
    /// The page may be asked for.
    Page(Box<MayAsk>),
}

/// What the rules say of a page that may be asked for, without the rules: they may be large, and nobody holds them while a server
/// takes its time.
pub(super) struct MayAsk {
    pub(super) asked: Option<Delay>,
    pub(super) half_rate: bool,
    pub(super) evidence: RobotsEvidence,
    pub(super) noindex: Option<meta::DirectiveSource>,
    pub(super) said: SiteStatements,
}

/// Judges what a lease is for by the rules that are known.
pub(super) fn clearance<F: Fetch, S: Store>(
    context: &VisitContext<F, S>,
    lease: &Lease,
    only_judge: bool,
) -> Result<Clearance, StoreError> {
    let now = context.clock.now();
    let over = |asked, event| Ok(Clearance::Over(Box::new(without_request(asked, event))));

    // Layer one: robots.txt. Its freshness is judged now, at the moment of sending.
    let origin = lease.url.origin();
    let entry = match context.robots.lookup(&origin, now)? {
        Known::Fresh(entry) => entry,
        // The file that was in force binds the request for the next one.
        Known::Stale(entry) if let Some(wait) = rest(context, asked_gap(&entry, now), lease) => {
            return Ok(Clearance::Over(Box::new(wait)));
        }
        Known::Stale(_) | Known::Missing => {
            let url = robots_url(&origin)?;
            return Ok(Clearance::Robots(RobotsFetch::new(origin, url)));
        }
    };
    if entry.deferred {
        let wait = Delay { length: entry.remaining(now), why: DelayReason::RobotsUnreachable };
        let reason = entry.record.reason.clone();
        let event = match (entry.record.good_copy, &lease.work) {
            (None, Work::Visit(_)) => Event::NeverKnown(wait, reason),
            // Another origin's robots.txt named it: the host has better to do than to wait for it.
            (None, Work::Sitemap(_)) => Event::Denied(RobotsEvidence { reason, ..RobotsEvidence::default() }),
            _ => Event::Wait(wait, reason),
        };
        return over(None, event);
    }
    let verdict = entry.robots.verdict(lease.url.path_and_query());
    let evidence = evidence(&verdict, &entry);
    if !verdict.allowed {
        return over(None, Event::Denied(evidence));
    }
    let is_page = matches!(lease.work, Work::Visit(_));
    let asked = asked_gap(&entry, now);
    if only_judge && is_page {
        return over(asked, Event::Judged(evidence));
    }
    if let Some(gap) = asked.filter(|gap| gap.length > context.max_crawl_delay) {
        return over(None, Event::TooSlow(gap));
    }
    if let Some(length) = entry.robots.timing().visit_wait(now.wall).filter(|wait| !wait.is_zero()) {
        let wait = Delay { length, why: DelayReason::VisitTime };
        return over(asked, Event::Wait(wait, "Visit-time".to_owned()));
    }

    if let Some(wait) = rest(context, asked, lease) {
        return Ok(Clearance::Over(Box::new(wait)));
    }
    let half_rate = entry.half_rate;
    if !is_page {
        return Ok(Clearance::Sitemap { asked, half_rate, evidence });
    }

    // Consent, as far as it is known before the page: robots.txt and the site's files.
    let said = match context.consent.before(&entry, &lease.url, now.wall)? {
        Before::Ask(file, url) => return Ok(Clearance::File { asked, half_rate, file, url }),
        Before::SiteStatements(said) => said,
    };
    if !context.consent.policy().may_fetch(said.before()) {
        return over(asked, Event::Refused(said.before().cloned().collect()));
    }
    let noindex = noindex(&entry, &lease.url);
    Ok(Clearance::Page(Box::new(MayAsk { asked, half_rate, evidence, noindex, said })))
}

/// The rest of a delay that the host's last request didn't know of: a Request-rate that began to count since, a file that
/// changed, or that of another port.
pub(super) fn rest<F, S>(
    context: &VisitContext<F, S>,
    asked: Option<Delay>,
    lease: &Lease,
) -> Option<Outcome> {
    let gap = asked.filter(|gap| gap.length <= context.max_crawl_delay)?;
    let rested = lease.rested?;
    let length = gap.length.checked_sub(rested).filter(|left| !left.is_zero())?;
    let words = format!("{} s", gap.length.as_secs_f64());
    Some(without_request(asked, Event::Wait(Delay { length, why: gap.why }, words)))
}

/// The `Noindex` line of robots.txt that covers a URL: the careful dialects take it for a page's noindex.
fn noindex(entry: &Entry, url: &CrawlUrl) -> Option<meta::DirectiveSource> {
    if !matches!(entry.robots.dialect(), Dialect::Hardened | Dialect::Strictest) {
        return None;
    }
    let line = entry.robots.signals().noindex(url.path_and_query())?;
    let source = meta::Source::new(meta::SourceKind::RobotsTxt, line, "Noindex", url.path_and_query());
    Some(meta::DirectiveSource { directive: "noindex".to_owned(), source })
}

/// The gap that a robots.txt asks for at this moment.
pub(crate) fn asked_gap(entry: &Entry, now: Now) -> Option<Delay> {
    entry.robots.timing().interval(now.wall).map(|interval| {
        let why = match interval.reason {
            IntervalReason::RequestRate => DelayReason::RequestRate,
            IntervalReason::CrawlDelay => DelayReason::CrawlDelay,
        };
        Delay { length: interval.every, why }
    })
}

/// A verdict as evidence.
pub(crate) fn evidence(verdict: &Verdict, entry: &Entry) -> RobotsEvidence {
    RobotsEvidence {
        line: verdict.line,
        rule: verdict.rule.as_deref().map(|rule| clean_within(rule, LINE_BYTES).0),
        group: verdict.group.as_deref().map(|group| clean_within(group, LINE_BYTES).0),
        dialect: verdict.dialect,
        reason: verdict.reason.to_string(),
        digest: rules_digest(entry),
    }
}

fn rules_digest(entry: &Entry) -> Option<String> {
    entry.record.access.has_rules().then(|| entry.digest.clone()).flatten()
}

/// Where the robots.txt of an origin is.
pub(super) fn robots_url(origin: &Origin) -> Result<CrawlUrl, StoreError> {
    origin
        .robots_url()
        .map_err(|error| StoreError::Unreadable { tree: Tree::Queue.name(), source: error.into() })
}
