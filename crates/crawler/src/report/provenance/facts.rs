//! What the database knows of a crawl, as the files say it.

use jiff::Timestamp;

use super::About;
use crate::clean::{clean, markdown};
use crate::config::{Contact, ResourceHosts, ScopeMode, Settings};
use crate::quantity;
use crate::record::in_words;
use crate::report::{ChangedSetting, Report};
use crate::units::format_duration;
use crate::view::{Counted, Moment, Status};

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
    pub(super) scope: String,
    pub(super) pace: String,
    pub(super) dialect: String,
    pub(super) settings: Vec<ChangedSetting>,
    pub(super) status: Status,
    pub(super) counts: Counts,
    pub(super) skipped: Vec<Counted>,
    pub(super) languages: Vec<Counted>,
    pub(super) types: Vec<Counted>,
    pub(super) gaps: String,
    pub(super) head: Option<String>,
}

/// Numbers of a crawl.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    pub(super) hosts: u64,
    pub(super) requests: u64,
    pub(super) pages: u64,
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
        let (summary, settings) = (&report.summary, &report.in_force);
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
            agent: text(summary.agent.as_deref().unwrap_or(&settings.agent.product)),
            product: settings.agent.product.clone(),
            contacts: settings.agent.contact.clone(),
            program: (text(name), text(version)),
            start: summary.started.or(report.activity.first_request),
            end: ended.or(report.activity.last_request),
            runs: totals.runs,
            seeds: summary.seeds.iter().map(|seed| text(seed)).collect(),
            unusable_seeds: summary.unusable_seeds,
            scope: scope(settings),
            pace: pace(settings),
            dialect: settings.robots.dialect.to_string(),
            settings: report.settings.clone(),
            status: summary.status,
            counts: Counts {
                hosts: summary.hosts_known,
                requests: totals.requests,
                pages: totals.pages,
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
        (false, _) => "no images, scripts or style sheets".to_owned(),
        (true, ResourceHosts::Host) => "images, scripts and style sheets of the page's own host".to_owned(),
        (true, ResourceHosts::Domain) => {
            "images, scripts and style sheets of the page's own domain".to_owned()
        }
        (true, ResourceHosts::Any) => "images, scripts and style sheets of any host".to_owned(),
    });
    words.join("; ")
}

fn patterns(patterns: &[String]) -> String {
    patterns.iter().map(|pattern| markdown::code(pattern)).collect::<Vec<_>>().join(", ")
}

/// How fast it went.
fn pace(settings: &Settings) -> String {
    let pace = &settings.pace;
    let adaptive = if pace.adaptive > 0.0 {
        format!(
            ", or {} times the last response time (up to {})",
            pace.adaptive,
            format_duration(pace.max_delay)
        )
    } else {
        String::new()
    };
    format!(
        "one request at a time to each host, with at least {} between the end of a response and the next request{adaptive}, and longer where a site's Crawl-delay, \
         Request-rate, Visit-time or Retry-After asked for it",
        format_duration(pace.delay)
    )
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
    format!("The ledger has {measured} between requests to the same host: {short}, and {overlaps}.")
}
