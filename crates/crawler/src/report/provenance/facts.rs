//! What the database knows of a crawl, as the files say it.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::About;
use crate::config::{Contact, ResourceHosts, ScopeMode, Settings};
use crate::record::in_words;
use crate::report::{ChangedSetting, Course, Report};
use crate::view::{Activity, Counted, KindCount, Moment, RunFigures, Status};
use page::clean::{clean, markdown};
use page::quantity;
use page::units::format_duration;

/// Runs whose gaps a sentence names; the table of the runs has all.
const RUNS_NAMED: usize = 12;

/// Delays set while the crawl ran that a sentence names.
const ORDERS_NAMED: usize = 5;

/// What every file is made of.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) title: String,
    pub(super) crawl_id: String,
    /// Day on which the files were made, `2026-11-22`.
    pub(super) day: String,
    pub(super) authors: Vec<String>,
    pub(super) license: Option<String>,
    pub(super) agent: String,
    /// `SuperRobot/1.0`.
    pub(super) product: String,
    pub(super) contacts: Vec<Contact>,
    /// `crawl`, and `0.1.0`.
    pub(super) program: (String, String),
    pub(super) start: Option<Moment>,
    pub(super) end: Option<Moment>,
    pub(super) runs: u64,
    pub(super) seeds: Vec<String>,
    pub(super) unusable_seeds: u64,
    /// Which URLs belong to the crawl, as a sentence for each value that a run had.
    pub(super) scope: String,
    pub(super) pace: String,
    pub(super) dialect: String,
    /// Settings that differ from the defaults or between runs, with their values.
    pub(super) settings: Vec<(&'static str, String)>,
    /// Those of them that differ between runs.
    pub(super) changed: Vec<(&'static str, String)>,
    /// The runs, as the ledger has them.
    pub(super) course: Vec<RunFigures>,
    /// The delays that the user set while the crawl ran, as a sentence; empty where there was none.
    pub(super) orders: String,
    pub(super) status: Status,
    pub(super) counts: Counts,
    pub(super) skipped: Vec<Counted>,
    pub(super) languages: Vec<Counted>,
    pub(super) types: Vec<Counted>,
    pub(super) kinds: Vec<KindCount>,
    /// Responses by status, as a phrase with the requests that have none; empty without a ledger.
    pub(super) responses: String,
    /// What had set the delay before a request.
    pub(super) delays: Vec<Counted>,
    pub(super) gaps: String,
    pub(super) head: Option<String>,
}

/// Numbers of a crawl.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// Hosts that have a document.
    pub(super) hosts_with_documents: u64,
    pub(super) requests: u64,
    pub(super) redirects: u64,
    pub(super) failed: u64,
    pub(super) skipped: u64,
    pub(super) queued: u64,
    pub(super) noindex: u64,
    pub(super) archived: u64,
    pub(super) bytes: u64,
}

impl Facts {
    pub(super) fn of(report: &Report, about: &About) -> Self {
        let (summary, settings, course) = (&report.summary, &report.in_force, &report.course);
        let agent = course.say(|settings| settings.agent.user_agent());
        let totals = &summary.totals;
        let text = |text: &str| clean(text).into_owned();
        let id = text(&summary.crawl_id);
        let title = about
            .title
            .as_deref()
            .map_or_else(|| format!("Crawl {}", id.split('-').next().unwrap_or_default()), text);
        let program = report.program.clone().unwrap_or_default();
        let (name, version) = program.split_once(' ').unwrap_or(("crawl", "unknown"));
        let ended = summary.end.as_ref().filter(|end| end.end != "running").map(|end| Moment(end.at));
        Self {
            title,
            crawl_id: id,
            day: day(report.generated.0),
            authors: about.authors.iter().map(|author| text(author)).collect(),
            license: about.license.clone(),
            agent: text(if agent.is_empty() { summary.agent.as_deref().unwrap_or_default() } else { &agent }),
            product: settings.agent.product.clone(),
            contacts: settings.agent.contact.clone(),
            program: (text(name), text(version)),
            start: summary.started.or(report.activity.first_request),
            end: ended.or(report.activity.last_request),
            runs: totals.runs,
            seeds: summary.seeds.iter().map(|seed| text(seed)).collect(),
            unusable_seeds: summary.unusable_seeds,
            scope: course.sentences("Scope", scope),
            pace: pace(course),
            dialect: course.say(|settings| format!("`{}`", settings.robots.dialect)),
            settings: values(report, |_| true),
            changed: values(report, |setting| !setting.by_run.is_empty()),
            course: report.activity.runs.clone(),
            orders: orders(&report.activity),
            status: summary.status,
            counts: Counts {
                hosts_with_documents: report.contents.hosts,
                requests: totals.requests,
                redirects: totals.redirects,
                failed: totals.failed,
                skipped: totals.skipped,
                queued: summary.queued,
                noindex: summary.noindex,
                archived: summary.archived,
                bytes: totals.bytes,
            },
            skipped: summary.skipped.clone(),
            languages: report.contents.languages.clone(),
            types: report.contents.types.clone(),
            kinds: report.contents.kinds.clone(),
            responses: responses(&report.activity),
            delays: report.activity.delays.clone(),
            gaps: gaps(report),
            head: summary.head.map(|head| head.to_string()),
        }
    }

    /// The same with all text from elsewhere escaped for Markdown.
    pub(super) fn for_markdown(&self) -> Self {
        let text = |text: &String| markdown::text(text);
        let counted = |counts: &[Counted]| {
            let escaped = |one: &Counted| Counted { what: text(&in_words(&one.what)), count: one.count };
            counts.iter().map(escaped).collect()
        };
        Self {
            title: text(&self.title),
            authors: self.authors.iter().map(text).collect(),
            license: self.license.as_ref().map(text),
            agent: text(&self.agent),
            product: text(&self.product),
            program: (text(&self.program.0), text(&self.program.1)),
            languages: counted(&self.languages),
            types: counted(&self.types),
            ..self.clone()
        }
    }

    /// Who made the data: the authors that were named, or the operators of the robot.
    pub(super) fn creators(&self) -> Vec<String> {
        if self.authors.is_empty() {
            return vec![format!("The operators of {}", self.product)];
        }
        self.authors.clone()
    }

    /// The first contact that is a web page.
    pub(super) fn website(&self) -> Option<String> {
        self.contacts.iter().find_map(Contact::url).map(ToString::to_string)
    }

    /// The first contact that is an e-mail address.
    pub(super) fn email(&self) -> Option<&str> {
        self.contacts.iter().find_map(Contact::email)
    }

    /// Counts as a phrase: `other host: 12, robots.txt: 3`.
    pub(super) fn phrase(counts: &[Counted], most: usize) -> String {
        let named = counts.iter().take(most);
        let mut words: Vec<String> =
            named.map(|counted| format!("{}: {}", clean(&in_words(&counted.what)), counted.count)).collect();
        if counts.len() > most {
            let rest = counts.iter().skip(most).map(|counted| counted.count).sum::<u64>();
            words.push(format!("{} others: {rest}", counts.len() - most));
        }
        words.join(", ")
    }
}

fn day(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

/// Which URLs belonged to the crawl.
fn scope(settings: &Settings) -> String {
    let scope = &settings.scope;
    let mut words = vec![
        match scope.mode {
            ScopeMode::Host => "the hosts of the seeds",
            ScopeMode::Domain => "the registrable domains of the seeds",
            ScopeMode::Prefix => "the folders of the seeds",
            ScopeMode::Any => "any host",
        }
        .to_owned(),
    ];
    if scope.follow_moved_seeds {
        words.push("the sites that seeds redirect to".to_owned());
    }
    if !scope.include.is_empty() {
        words.push(format!("URLs that match one of {}", patterns(&scope.include)));
    }
    if !scope.exclude.is_empty() {
        words.push(format!("no URL that matches one of {}", patterns(&scope.exclude)));
    }
    if !scope.types.is_empty() {
        words.push(format!("only the MIME types {}", patterns(&scope.types)));
    }
    words.push(match (scope.resources, scope.resource_hosts) {
        (false, _) => "not the resources that pages embed (images, scripts, style sheets)".to_owned(),
        (true, ResourceHosts::Host) => embedded("on the page's own host"),
        (true, ResourceHosts::Domain) => embedded("in the page's own domain"),
        (true, ResourceHosts::Any) => embedded("on any host"),
    });
    words.join("; ")
}

fn patterns(patterns: &[String]) -> String {
    patterns.iter().map(|pattern| markdown::code(pattern)).collect::<Vec<_>>().join(", ")
}

fn embedded(place: &str) -> String {
    format!("the resources that pages embed (images, scripts, style sheets), {place}")
}

/// How fast it went, as it was set.
fn pace(course: &Course) -> String {
    let delay = course.say(|settings| format_duration(settings.pace.delay));
    let adaptive = course.say(|settings| {
        let pace = &settings.pace;
        if pace.adaptive > 0.0 {
            format!(
                "or {} times the last response time (up to {})",
                pace.adaptive,
                format_duration(pace.max_delay)
            )
        } else {
            "whatever the response time".to_owned()
        }
    });
    format!(
        "one request at a time to each host, with at least {delay} between the end of a response and the next request, {adaptive}, and longer where a site's \
         Crawl-delay, Request-rate, Visit-time or Retry-After asked for it"
    )
}

/// The changed settings of this kind, with their values.
fn values(report: &Report, of: impl Fn(&ChangedSetting) -> bool) -> Vec<(&'static str, String)> {
    let settings = report.settings.iter().filter(|setting| of(setting));
    settings.map(|setting| (setting.key, clean(&report.course.value(setting)).into_owned())).collect()
}

/// Responses by status: `200: 40, 404: 3, no response: 1`.
fn responses(activity: &Activity) -> String {
    let mut words: Vec<String> =
        activity.statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
    if activity.unanswered > 0 {
        words.push(format!("no response: {}", activity.unanswered));
    }
    words.join(", ")
}

/// The delays that the user set while the crawl ran.
fn orders(activity: &Activity) -> String {
    let orders = activity.delay_orders.iter().take(ORDERS_NAMED).filter_map(|order| {
        let host = order.host.as_deref().map_or_else(|| "every host".to_owned(), markdown::code);
        Some(format!("{} s for {host} at {}", order.delay?, order.at))
    });
    let orders: Vec<String> = orders.collect();
    if orders.is_empty() {
        return String::new();
    }
    let more = match activity.delay_order_count.saturating_sub(orders.len() as u64) {
        0 => String::new(),
        more => format!("; {more} more are in the ledger"),
    };
    format!(" While it ran, its operators set longer delays: {}{more}.", orders.join("; "))
}

/// The gaps of a run in words.
fn kept(run: &RunFigures) -> Option<String> {
    let (least, median) = run.least_gap.zip(run.median_gap)?;
    Some(format!("at least {least:.3} s in run {}, median {median:.3} s", run.run))
}

/// What the ledger says of the gaps.
fn gaps(report: &Report) -> String {
    let gaps = &report.activity.gaps;
    if gaps.count == 0 {
        return "The ledger has no two requests to one host.".to_owned();
    }
    let measured = quantity::count(gaps.count, "gap");
    let short = match gaps.short {
        0 => "none was shorter than the delay that was in effect".to_owned(),
        short => format!("{short} were shorter than the delay that was in effect"),
    };
    let overlaps = match gaps.overlaps {
        0 => "no two requests to one host overlapped".to_owned(),
        overlaps => format!("{overlaps} requests overlapped with the one before"),
    };
    let mut text =
        format!("The ledger has {measured} between requests to the same host: {short}, and {overlaps}.");
    let runs: Vec<String> = report.activity.runs.iter().filter_map(kept).collect();
    if !runs.is_empty() && runs.len() <= RUNS_NAMED {
        let _ = write!(text, " Gaps as they were kept: {}.", runs.join("; "));
    }
    text
}
