//! The URLs requested, compared with the settings of their runs: the scope, and the limits of depth, pages, bytes and time. Shares no
//! code with `crate::scope` nor with the engine's limits.
//!
//! A URL that an earlier run queued stays queued under the settings of a later one: it has to be within those of its run, or of one before
//! it. The budgets of `[traps]` aren't judged: they hold back by what was known at the time.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use regex::Regex;

use super::host_groups::registrable;
use super::requests::Place;
use super::settings::Run;
use super::{AuditError, AuditRules, Check, LISTED, session};
use crate::config::{CostlyAction, ResourceHosts, ScopeMode, ScopeSettings, Settings};
use crate::costly::changes_something;
use crate::ledger;
use crate::page_store;
use crate::record::{Decided, Decision, Layer, PageRecord, Reason, RepairRecord, RequestMade, SitemapRecord};
use crate::sorter::{self, Sorter};
use crate::store::{AnyStore, Store, Tree};
use page::url::{CrawlUrl, Fingerprint};

/// Kinds of what is sorted by a URL's fingerprint.
const PAGE: u8 = 0;
const SITEMAP: u8 = 1;
const REQUEST: u8 = 2;

/// Flags of a request.
const IS_SUCCESS: u8 = 1;
const IS_OUTSIDE: u8 = 2;
/// An entry that doesn't say whether a page was asked for or a sitemap.
const MAY_BE_SITEMAP: u8 = 4;
/// No settings let it be fetched even as a resource of a page: what it is excluded by concerns those too.
const IS_BARRED: u8 = 8;
/// Its host doesn't belong to the crawl.
const IS_ELSEWHERE: u8 = 16;

/// Flags of a page.
const IS_ERROR: u8 = 1;
const IS_RESOURCE: u8 = 2;

/// What came of reading the ledger.
pub(super) struct Judged {
    pub(super) checks: Vec<Check>,
    /// Links that a later run judged again and let in: the page's fingerprint, [`super::links::ADMITTED`], the target's.
    pub(super) admitted: Sorter,
}

/// The settings of one run, ready to judge by.
struct Bounds<'a> {
    settings: &'a Settings,
    include: Vec<Regex>,
    exclude: Vec<Regex>,
}

impl<'a> Bounds<'a> {
    fn new(settings: &'a Settings) -> Option<Self> {
        let all = |patterns: &[String]| {
            patterns.iter().map(|pattern| Regex::new(pattern).ok()).collect::<Option<Vec<_>>>()
        };
        let (include, exclude) = (all(&settings.scope.include)?, all(&settings.scope.exclude)?);
        Some(Self { settings, include, exclude })
    }

    /// Whether a URL belongs to the crawl, whatever its depth.
    fn holds(&self, url: &CrawlUrl, roots: &Roots) -> bool {
        roots.hold(self.settings.scope.mode, url) && self.matches(url) && !self.excludes(url)
    }

    /// Whether one of the patterns is that of the URL, if there are any.
    fn matches(&self, url: &CrawlUrl) -> bool {
        self.include.is_empty() || matches(&self.include, url)
    }

    /// Whether a URL is kept out as a page and as a resource of one.
    fn excludes(&self, url: &CrawlUrl) -> bool {
        url.as_str().len() > self.settings.limits.max_url_length || matches(&self.exclude, url)
    }

    /// Whether a URL may be fetched as a resource of a page on this host.
    fn holds_resource(&self, url: &CrawlUrl, of: &str, roots: &Roots) -> bool {
        let ScopeSettings { mode, resources, resource_hosts, .. } = &self.settings.scope;
        *resources
            && !self.excludes(url)
            && (roots.hold(*mode, url) || is_near(*resource_hosts, url.host(), of))
    }
}

fn matches(patterns: &[Regex], url: &CrawlUrl) -> bool {
    patterns.iter().any(|pattern| pattern.is_match(url.as_str()))
}

/// Whether the resources of a page on the host `of` may be on this host, whether it belongs to the crawl or not.
fn is_near(hosts: ResourceHosts, host: &str, of: &str) -> bool {
    match hosts {
        ResourceHosts::Host => host == of,
        ResourceHosts::Domain => registrable(host) == registrable(of),
        ResourceHosts::Any => true,
    }
}

/// The narrowest setting that lets a resource in by the host of the page that names it; none where that page isn't stored.
fn nearest<S: Store>(store: &S, resource: &PageRecord) -> Result<Option<ResourceHosts>, AuditError> {
    let Some(via) = resource.via else { return Ok(None) };
    let Some(page) = page_store::record_of(store, via.host, via.page)? else { return Ok(None) };
    let (Ok(url), Ok(of)) = (CrawlUrl::parse(&resource.url), CrawlUrl::parse(&page.url)) else {
        return Ok(None);
    };
    let all = [ResourceHosts::Host, ResourceHosts::Domain, ResourceHosts::Any];
    Ok(all.into_iter().find(|hosts| is_near(*hosts, url.host(), of.host())))
}

/// The wider, the greater.
fn rank(hosts: Option<ResourceHosts>) -> u8 {
    match hosts {
        Some(ResourceHosts::Host) => 0,
        Some(ResourceHosts::Domain) => 1,
        None | Some(ResourceHosts::Any) => 2,
    }
}

/// Where the crawl begins: its seeds, and what those redirect to.
#[derive(Debug, Clone, Default)]
pub(super) struct Roots {
    /// The seeds, and the targets of their redirects, on whatever site.
    urls: HashSet<Box<str>>,
    /// The seed that each of the targets on another site goes back to.
    strays: HashMap<Box<str>, Box<str>>,
    /// Whether a run's settings, those of an earlier version among them, follow seeds to other sites.
    follows: bool,
    hosts: HashSet<Box<str>>,
    domains: HashSet<Box<str>>,
    directories: HashSet<Box<str>>,
}

impl Roots {
    /// The seeds, and of a crawl in several stores where they redirect to. `follows`: settings of a run follow seeds to other sites.
    pub(super) fn of(parts: &[AnyStore], rules: &AuditRules, follows: bool) -> Result<Self, AuditError> {
        let mut roots = Self { follows: follows && parts.len() > 1, ..Self::default() };
        for seed in rules.seeds.iter().filter_map(|seed| CrawlUrl::parse(seed).ok()) {
            roots.add(&seed);
        }
        if parts.len() < 2 {
            return Ok(roots);
        }
        // A redirect may lead on to another store, that was read before.
        let mut known = 0;
        while std::mem::replace(&mut known, roots.urls.len()) != roots.urls.len() {
            for store in parts {
                for pair in store.scan(Tree::Ledger, &[]) {
                    let Ok(block) = ledger::read(&pair?.1) else { continue };
                    for entry in block.decisions {
                        roots.follow(&entry);
                    }
                }
            }
        }
        Ok(roots)
    }

    /// Where a root redirects to is one, too, if it is of the seed's site or the settings follow it. The target itself is fetched on
    /// whatever site.
    fn follow(&mut self, entry: &Decision) {
        if entry.decision == Decided::Fetched
            && let Some(to) = entry.evidence.to.as_deref().and_then(|to| CrawlUrl::parse(to).ok())
            && let Ok(from) = CrawlUrl::parse(&entry.url)
            && self.urls.contains(from.as_str())
        {
            self.lead(&from, &to);
            // It is followed without its session id.
            for bare in session::forms(to.as_str()).iter().filter_map(|form| CrawlUrl::parse(form).ok()) {
                self.lead(&from, &bare);
            }
        }
    }

    fn lead(&mut self, from: &CrawlUrl, to: &CrawlUrl) {
        let seed = self.strays.get(from.as_str()).cloned().unwrap_or_else(|| from.as_str().into());
        let is_of_site = CrawlUrl::parse(&seed).is_ok_and(|seed| one_site(seed.host(), to.host()));
        if is_of_site || self.follows {
            self.add(to);
        } else if !self.urls.contains(to.as_str()) {
            self.urls.insert(to.as_str().into());
            self.strays.insert(to.as_str().into(), seed);
        }
    }

    /// A run begins. One that follows seeds to other sites follows those that moved before, too.
    fn begin_run(&mut self, follows: bool) {
        if follows && !std::mem::replace(&mut self.follows, true) {
            for (stray, _) in std::mem::take(&mut self.strays) {
                if let Ok(stray) = CrawlUrl::parse(&stray) {
                    self.add(&stray);
                }
            }
        }
    }

    /// Whether a seed redirects to this URL on another site, which isn't followed.
    fn is_stray(&self, url: &CrawlUrl) -> bool {
        self.strays.contains_key(url.as_str())
    }

    fn add(&mut self, url: &CrawlUrl) {
        self.urls.insert(url.as_str().into());
        self.hosts.insert(url.host().into());
        self.domains.insert(registrable(url.host()).into());
        self.directories.insert(directories(url.as_str()).next().unwrap_or_default().into());
    }

    fn hold(&self, mode: ScopeMode, url: &CrawlUrl) -> bool {
        match mode {
            ScopeMode::Any => true,
            ScopeMode::Host => self.hosts.contains(url.host()),
            ScopeMode::Domain => self.domains.contains(registrable(url.host())),
            ScopeMode::Prefix => directories(url.as_str()).any(|part| self.directories.contains(part)),
        }
    }
}

/// Whether two hosts are of one site: the same name with or without `www.`, or of one registrable domain.
fn one_site(one: &str, other: &str) -> bool {
    let with_www = |bare: &str, long: &str| long.strip_prefix("www.") == Some(bare);
    one == other || with_www(one, other) || with_www(other, one) || registrable(one) == registrable(other)
}

/// The directories that a URL lies in, each with its last slash, the innermost first; the outermost is the origin's.
fn directories(url: &str) -> impl Iterator<Item = &str> {
    let path = url.split('?').next().unwrap_or_default();
    let origin = path.find("://").map_or(0, |at| at + 3);
    path.rmatch_indices('/').map(|(at, _)| at).take_while(move |at| *at >= origin).map(move |at| &path[..=at])
}

/// A run's own limits, while its requests are read.
#[derive(Default)]
struct Spent {
    /// When the whole crawl had received as many bytes as the run allows, on the run's own clock.
    bytes_at: Option<Duration>,
    is_reported: bool,
}

struct Reading<'a> {
    rules: &'a AuditRules,
    /// By run, the first one at 0; none where its settings aren't on record.
    bounds: Vec<Option<Bounds<'a>>>,
    /// By run, whether it follows seeds to other sites.
    follows: Vec<bool>,
    repaired: bool,
    roots: Roots,
    seeds: HashSet<Box<str>>,
    sorter: Sorter,
    admitted: Sorter,
    /// Runs that have begun.
    begun: usize,
    bytes: u64,
    spent: Spent,
    scope: Check,
    limits: Check,
    costly: Check,
}

/// Judges every request for a page. Cost: one pass over the ledger, one over the page records. Memory: the seeds and where they redirect
/// to; requests are sorted in temporary files, some 40 bytes each.
pub(super) fn judge<S: Store>(
    store: &S,
    runs: &[Run],
    rules: &AuditRules,
    repair: Option<&RepairRecord>,
    (silent, roots): (Option<&String>, Roots),
) -> Result<Judged, AuditError> {
    let mut reading = Reading {
        rules,
        bounds: runs.iter().map(|run| run.settings.as_ref().and_then(Bounds::new)).collect(),
        follows: runs.iter().map(Run::follows_moved_seeds).collect(),
        repaired: repair.is_some(),
        roots,
        seeds: rules.seeds.iter().map(|seed| seed.as_str().into()).collect(),
        sorter: rules.sorter(),
        admitted: rules.sorter(),
        begun: 0,
        bytes: 0,
        spent: Spent::default(),
        costly: Check::new(
            "costly",
            "no URL is requested that changes something on its site by the rules for any site, unless it is a seed",
        ),
        scope: Check::new(
            "scope",
            "each URL requested is within the hosts, paths, patterns and length that the settings of its run, or of an earlier one, allow",
        ),
        limits: Check::new(
            "limits",
            "no page is deeper, and no run has more pages, pages of a host, bytes or time, than its settings allow",
        ),
    };
    for pair in store.scan(Tree::Ledger, &[]) {
        let (key, value) = pair?;
        // What can't be read is a fault of the chain, and reported there.
        let Ok(block) = ledger::read(&value) else { continue };
        for (number, entry) in (0..).zip(block.decisions) {
            reading.take(&entry, Place::new(sorter::number(&key, 0, 8), number))?;
        }
    }
    if let Some(silent) = silent {
        reading.scope.unjudged = Some(silent.clone());
        reading.limits.unjudged = Some(silent.clone());
        reading.costly.unjudged = Some(silent.clone());
    } else if reading.bounds.iter().all(Option::is_none) {
        let why = "no run's settings are recorded: an older crawl, or its ledger was off";
        reading.scope.unjudged = Some(why.to_owned());
        reading.limits.unjudged = Some(why.to_owned());
        reading.costly.unjudged = Some(why.to_owned());
    }
    reading.judge(store)
}

impl<'a> Reading<'a> {
    fn print(&self, url: &CrawlUrl) -> [u8; 8] {
        url.fingerprint(&self.rules.key).0.to_be_bytes()
    }

    /// The bounds of the run that is read, and of those before it; none where one of them isn't known.
    fn known(&self, upto: usize) -> Option<Vec<&Bounds<'a>>> {
        self.bounds.get(..upto).filter(|bounds| !bounds.is_empty())?.iter().map(Option::as_ref).collect()
    }

    fn take(&mut self, entry: &Decision, place: Place) -> Result<(), AuditError> {
        if entry.begins_a_run() {
            self.begun += 1;
            self.spent = Spent::default();
            let follows = self.follows.get(self.begun - 1).copied().unwrap_or_default();
            self.roots.begin_run(follows);
            return Ok(());
        }
        let Ok(url) = CrawlUrl::parse(&entry.url) else { return Ok(()) };
        if entry.decision == Decided::Admitted {
            if let Some(via) = entry.via.as_deref().and_then(|via| CrawlUrl::parse(via).ok()) {
                let (from, to) = (self.print(&via), self.print(&url));
                self.admitted.push_parts(&[&from, &[super::links::ADMITTED], &to])?;
            }
            return Ok(());
        }
        self.roots.follow(entry);
        let Some(request) = &entry.evidence.request else { return Ok(()) };
        if entry.runs_earlier() == 0 {
            self.spend(&entry.url, request);
        }
        let is_sitemap = matches!(
            entry.decision,
            Decided::SitemapRead
                | Decided::SitemapRedirects
                | Decided::SitemapFailed
                | Decided::SitemapRefused
        );
        let is_other = matches!(entry.layer, Layer::Robots | Layer::Consent) || is_sitemap;
        if is_other { Ok(()) } else { self.page(entry, &url, place) }
    }

    /// Judges the run's own limits of bytes and time. Every request counts, that for a robots.txt too.
    fn spend(&mut self, url: &str, request: &RequestMade) {
        let Some(Some(bounds)) = self.begun.checked_sub(1).and_then(|run| self.bounds.get(run)) else {
            self.bytes = self.bytes.saturating_add(request.bytes);
            return;
        };
        let Settings { limits, fetch, .. } = bounds.settings;
        // What was begun before the limit was reached may wait for its name and its connection as long as a request may take.
        let is_after = |at: Duration| request.clock > at + fetch.timeout;
        let said = if limits.max_time.is_some_and(is_after) {
            limits.max_time.map(|most| format!("after max_time, {} s", most.as_secs()))
        } else if self.spent.bytes_at.is_some_and(is_after) {
            limits.max_bytes.map(|most| format!("after max_bytes, {most} bytes, were received"))
        } else {
            None
        };
        if let Some(said) = said
            && !std::mem::replace(&mut self.spent.is_reported, true)
        {
            let what = format!("requested in run {}, {said}", self.begun);
            self.limits.broken(url, Some(request.started), what);
        }
        self.bytes = self.bytes.saturating_add(request.bytes);
        if limits.max_bytes.is_some_and(|most| self.bytes >= most) {
            self.spent.bytes_at.get_or_insert(request.clock + request.took);
        }
    }

    fn page(&mut self, entry: &Decision, url: &CrawlUrl, place: Place) -> Result<(), AuditError> {
        let is_success =
            entry.decision == Decided::Fetched && matches!(entry.reason, Reason::Http(200..=299));
        let mut flags = if is_success { IS_SUCCESS } else { 0 };
        if matches!(entry.decision, Decided::Asked | Decided::Interrupted) {
            flags |= MAY_BE_SITEMAP;
        }
        if let Some(bounds) = self.known(self.begun)
            && !bounds.iter().rev().any(|bounds| {
                bounds.holds(url, &self.roots)
                    || self.roots.is_stray(url) && bounds.matches(url) && !bounds.excludes(url)
            })
        {
            let via = entry.via.as_deref().and_then(|via| CrawlUrl::parse(via).ok());
            let by_page = |of: &CrawlUrl| {
                bounds.iter().any(|bounds| bounds.holds_resource(url, of.host(), &self.roots))
            };
            // Of what has no record nobody knows whether it was asked for as a resource: that its page may have had it is enough.
            if !via.as_ref().is_some_and(by_page) {
                flags |= IS_OUTSIDE;
            }
            if bounds.iter().all(|bounds| !bounds.settings.scope.resources || bounds.excludes(url)) {
                flags |= IS_BARRED;
            }
            if !bounds.iter().any(|bounds| self.roots.hold(bounds.settings.scope.mode, url)) {
                flags |= IS_ELSEWHERE;
            }
        }
        let run = self.begun.checked_sub(1).and_then(|run| self.bounds.get(run)).and_then(Option::as_ref);
        // Of a request that an earlier run made, that run's settings aren't at hand.
        if run.is_some_and(|run| run.settings.costly.action != CostlyAction::Sessions)
            && entry.runs_earlier() == 0
        {
            self.costly.case();
            if changes_something(url.as_str()) && !self.seeds.contains(url.as_str()) {
                let at = entry.evidence.request.as_ref().map(|request| request.started);
                self.costly.broken(url.as_str(), at, "it changes something, and is no seed");
            }
        }
        let host = blake3::hash(entry.host.as_bytes());
        let run = (self.begun as u32).to_be_bytes();
        let print = self.print(url);
        let host = &host.as_bytes()[..8];
        Ok(self.sorter.push_parts(&[&print, &[REQUEST], &run, &[flags], &place.bytes(), host])?)
    }

    fn judge<S: Store>(mut self, store: &S) -> Result<Judged, AuditError> {
        for page in page_store::scan(store) {
            let page = page?;
            let record = page.record()?;
            let mut flags = if record.error.is_some() { IS_ERROR } else { 0 };
            let mut near = None;
            if record.resource {
                flags |= IS_RESOURCE;
                near = nearest(store, &record)?;
            }
            let print = page.page.0.to_be_bytes();
            self.sorter.push_parts(&[&print, &[PAGE, flags, rank(near)], &record.depth.to_be_bytes()])?;
        }
        for pair in store.scan(Tree::Sitemaps, &[]) {
            let record = SitemapRecord::read(&pair?.1).map_err(AuditError::record(Tree::Sitemaps))?;
            if let Ok(url) = CrawlUrl::parse(&record.url) {
                let print = self.print(&url);
                self.sorter.push_parts(&[&print, &[SITEMAP]])?;
            }
        }
        let sorter = std::mem::replace(&mut self.sorter, self.rules.sorter());
        let mut of: Option<Fingerprint> = None;
        let (mut page, mut is_sitemap) = (None, false);
        let by_run = vec![0; self.begun + 1];
        let mut pages = Pages { resources_by_run: by_run.clone(), by_run, by_host: self.rules.sorter() };
        for record in sorter.sorted()? {
            let record = record?;
            let print = Fingerprint(sorter::number(&record, 0, 8));
            if of.replace(print) != Some(print) {
                (page, is_sitemap) = (None, false);
            }
            match record.get(8) {
                Some(&PAGE) => {
                    let flags = record.get(9).copied().unwrap_or_default();
                    let near = record.get(10).copied().unwrap_or_default();
                    page = Some(Requested { depth: sorter::number(&record, 11, 4) as u32, flags, near });
                }
                Some(&SITEMAP) => is_sitemap = true,
                _ => {
                    let rest = &record[9..];
                    let run = sorter::number(rest, 0, 4) as usize;
                    let flags = rest.get(4).copied().unwrap_or_default();
                    let place = Place::read(rest.get(5..).unwrap_or_default());
                    if flags & MAY_BE_SITEMAP != 0 && is_sitemap {
                        continue;
                    }
                    self.judge_request(store, run, flags, place, page)?;
                    if flags & IS_SUCCESS != 0
                        && let Some(page) = page.filter(|page| page.flags & IS_ERROR == 0)
                    {
                        if page.is_resource() {
                            pages.count_resource(run);
                            continue;
                        }
                        pages.count(run, place, rest.get(5 + Place::BYTES..).unwrap_or_default())?;
                    }
                }
            }
        }
        self.judge_pages(store, pages)?;
        Ok(Judged { checks: vec![self.scope, self.limits, self.costly], admitted: self.admitted })
    }

    fn judge_request<S: Store>(
        &mut self,
        store: &S,
        run: usize,
        flags: u8,
        place: Place,
        page: Option<Requested>,
    ) -> Result<(), AuditError> {
        let Some(bounds) = self.known(run) else {
            self.scope.unbound += 1;
            self.limits.unbound += u64::from(page.is_some());
            return Ok(());
        };
        let most = bounds.iter().map(|bounds| bounds.settings.limits.max_depth);
        // None is no limit, which is more than any.
        let most = most.max_by_key(|most| most.map_or(u64::from(u32::MAX) + 1, u64::from)).flatten();
        let is_outside = match page.filter(|page| page.is_resource()) {
            // Within the crawl's hosts, or as near to its page as the settings of a run allow.
            Some(page) => {
                let is_near = bounds.iter().any(|bounds| {
                    let scope = &bounds.settings.scope;
                    scope.resources && page.near <= rank(Some(scope.resource_hosts))
                });
                flags & IS_BARRED != 0 || flags & IS_ELSEWHERE != 0 && !is_near
            }
            None => flags & IS_OUTSIDE != 0,
        };
        self.scope.case();
        if is_outside {
            let url = if self.scope.first.len() < LISTED { place.url(store)? } else { String::new() };
            let what = format!("requested in run {run}, whose settings exclude it");
            self.scope.lost_or_broken(self.repaired, &url, None, what);
        }
        // A resource belongs to its page, however deep that is.
        if let Some(Requested { depth, .. }) = page.filter(|page| !page.is_resource()) {
            self.limits.case();
            if let Some(most) = most.filter(|most| depth > *most) {
                let url = if self.limits.first.len() < LISTED { place.url(store)? } else { String::new() };
                let what = format!("requested in run {run} at depth {depth}; max_depth is {most}");
                self.limits.lost_or_broken(self.repaired, &url, None, what);
            }
        }
        Ok(())
    }

    /// Pages of the crawl and of each host, by the end of each run that brought any.
    fn judge_pages<S: Store>(&mut self, store: &S, pages: Pages) -> Result<(), AuditError> {
        let limit = |run: usize, of: fn(&Settings) -> Option<u64>| {
            let bounds = self.bounds.get(run.checked_sub(1)?)?.as_ref()?;
            of(bounds.settings)
        };
        let mut sum = 0;
        for (run, count) in pages.resources_by_run.iter().enumerate() {
            sum += count;
            let Some(most) = limit(run, |settings| settings.limits.max_resources).filter(|_| *count > 0)
            else {
                continue;
            };
            self.limits.case();
            if sum > most {
                let what = format!("{sum} resources by its end; max_resources is {most}");
                self.limits.broken(format!("run {run}"), None, what);
            }
        }
        let mut sum = 0;
        for (run, count) in pages.by_run.iter().enumerate() {
            sum += count;
            let Some(most) = limit(run, |settings| settings.limits.max_pages).filter(|_| *count > 0) else {
                continue;
            };
            self.limits.case();
            if sum > most {
                let what = format!("{sum} pages by its end; max_pages is {most}");
                self.limits.broken(format!("run {run}"), None, what);
            }
        }
        let (mut host, mut sum, mut reported) = (0, 0_u64, 0);
        for record in pages.by_host.sorted()? {
            let record = record?;
            let of = sorter::number(&record, 0, 8);
            if host != of {
                (host, sum, reported) = (of, 0, 0);
            }
            sum += 1;
            let run = sorter::number(&record, 8, 4) as usize;
            let Some(most) = limit(run, |settings| settings.limits.max_pages_per_host) else { continue };
            self.limits.case();
            if sum > most && reported != run {
                reported = run;
                let url = Place::read(record.get(12..).unwrap_or_default()).url(store)?;
                let what = format!("page {sum} of its host in run {run}; max_pages_per_host is {most}");
                self.limits.broken(url, None, what);
            }
        }
        Ok(())
    }
}

/// What is stored of a URL that was requested.
#[derive(Clone, Copy)]
struct Requested {
    depth: u32,
    flags: u8,
    /// The [`rank`] of the narrowest setting that lets a resource in by its page's host.
    near: u8,
}

impl Requested {
    fn is_resource(self) -> bool {
        self.flags & IS_RESOURCE != 0
    }
}

/// Visits that brought a page.
struct Pages {
    by_run: Vec<u64>,
    /// Resources of pages.
    resources_by_run: Vec<u64>,
    /// The host, hashed; the run; the place in the ledger.
    by_host: Sorter,
}

impl Pages {
    fn count_resource(&mut self, run: usize) {
        if let Some(count) = self.resources_by_run.get_mut(run) {
            *count += 1;
        }
    }

    fn count(&mut self, run: usize, place: Place, host: &[u8]) -> Result<(), AuditError> {
        if let Some(count) = self.by_run.get_mut(run) {
            *count += 1;
        }
        Ok(self.by_host.push_parts(&[host, &(run as u32).to_be_bytes(), &place.bytes()])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    const URLS: [&str; 16] = [
        "http://www.shop.co.uk/a/b/c",
        "http://www.shop.co.uk/a/b?x=/y/z",
        "http://www.shop.co.uk/a/",
        "http://www.shop.co.uk/a?/b/",
        "http://www.shop.co.uk/",
        "https://www.shop.co.uk/a/b",
        "http://www.shop.co.uk:81/a/b",
        "http://cdn.shop.co.uk/a/b",
        "http://shop.co.uk/a/b.pdf",
        "http://other.co.uk/a/b",
        "http://co.uk/",
        "http://127.0.0.1/a/b",
        "http://1.0.0.1/a/b",
        "http://[::1]/a/b",
        "http://localhost/a/b",
        "http://www.shop.co.uk/a/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ];

    #[test]
    fn the_audit_and_the_crawl_know_the_same_urls_as_theirs() {
        let url = |text: &str| CrawlUrl::parse(text).unwrap();
        let patterns =
            [(vec![], vec![]), (vec!["/a/".to_owned()], vec![r"\.pdf$".to_owned(), "other".to_owned()])];
        let modes = [ScopeMode::Host, ScopeMode::Domain, ScopeMode::Prefix, ScopeMode::Any];
        let (mut inside, mut outside) = (0, 0);
        for (mode, (include, exclude)) in
            modes.iter().flat_map(|mode| patterns.iter().map(move |all| (*mode, all)))
        {
            for seed in URLS {
                let mut settings = Settings::default();
                settings.scope.mode = mode;
                settings.scope.include.clone_from(include);
                settings.scope.exclude.clone_from(exclude);
                settings.limits.max_url_length = 60;
                let mut scope = Scope::new(mode, include, exclude, None, 60).unwrap();
                scope.add_seed(&url(seed));
                let mut roots = Roots::default();
                roots.add(&url(seed));
                let bounds = Bounds::new(&settings).unwrap();
                for target in URLS {
                    let holds = scope.judge(&url(target), 0).is_none();
                    assert_eq!(bounds.holds(&url(target), &roots), holds, "{mode:?} {seed} {target}");
                    *(if holds { &mut inside } else { &mut outside }) += 1;
                }
            }
        }
        assert!(inside > 100 && outside > 100, "{inside} {outside}");
    }
}
