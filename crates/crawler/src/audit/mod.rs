//! Verifies a crawl's output: was it polite, and did it store only what it was allowed to?
//!
//! Works from the records alone: the ledger's requests, the stored robots.txt versions, page records, links, queue and
//! archive. Of the crawl itself it uses the readers of those records and the parsers (`robots`, `meta`, `extract`), and nothing
//! that decides anything: a mistake of frontier, pace or pipeline shows here. Archived responses are read by the crawl's own reader, so
//! that whatever it takes for a page is one here; what follows from the words in it is judged here.

mod access;
mod accounts;
mod addresses;
mod archive;
mod clocks;
mod content;
mod forgotten;
mod host_groups;
mod hosts;
mod kept;
mod links;
mod none;
mod operator;
mod orders;
mod pace;
#[cfg(feature = "cluster")]
mod partitions;
mod report;
mod requests;
mod robots_txt;
mod said;
mod scope;
mod seals;
mod session;
mod settings;
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod wishes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use meta::consent::Policy;
use serde::Serialize;

use self::archive::Files;
use self::scope::Roots;
use self::shared::Shared;
use crate::causes::Cause;
use crate::config::Settings;
use crate::ledger::{self, Head};
#[cfg(feature = "cluster")]
use crate::post::Series;
use crate::record::RepairRecord;
use crate::sorter::{SortError, Sorter};
use crate::store::{AnyStore, Store, StoreError, Tree};
#[cfg(feature = "cluster")]
use crate::warc;
use page::extract::ExtractLimits;
use page::url::FingerprintKey;

/// Violations of one check that are listed in full; further ones are counted.
pub const LISTED: usize = 20;

/// What the audit has to know of the crawl beside its records.
#[derive(Debug)]
pub struct AuditRules {
    /// The robot, as robots.txt groups name it.
    pub agent: robots::Agent,
    /// How robots.txt is read.
    pub options: robots::Options,
    /// How much of a page is read.
    pub limits: ExtractLimits,
    /// Whose page directives bind the crawl.
    pub page_agent: meta::Agent,
    /// The purposes that were declared.
    pub policy: Policy,
    /// The configured delay, where a run has none on record.
    pub delay: Duration,
    /// What `crawl.toml` says.
    pub settings: Settings,
    /// The seeds.
    pub seeds: Vec<String>,
    /// The crawl's fingerprint key.
    pub key: FingerprintKey,
    /// The ledger's head as somebody wrote it down, in hex: the whole of it, or its first 16 digits at least.
    pub head: Option<String>,
    /// The directory for temporary files, and for notes of what is being read; without one temporary files go where the system has them.
    pub temporary: Option<PathBuf>,
    /// The crawl is running: what its archive holds behind the commit that is judged isn't.
    pub is_running: bool,
}

impl AuditRules {
    fn sorter(&self) -> Sorter {
        Sorter::new(self.temporary.as_deref())
    }
}

impl AuditRules {
    /// Whether a page whose head wasn't read to its end may be neither indexed nor archived.
    fn closes_unread_head(&self) -> bool {
        matches!(self.options.dialect, robots::Dialect::Hardened | robots::Dialect::Strictest)
    }
}

/// Something that should not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The URL, origin or file concerned.
    pub subject: String,
    /// When, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// What is wrong.
    pub what: String,
}

/// One promise, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The promise in words.
    pub promise: &'static str,
    /// How many cases were judged.
    pub judged: u64,
    /// By how many seconds the closest case kept the promise; negative where it was broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_s: Option<f64>,
    /// How many cases broke it.
    pub violations: u64,
    /// The first of them.
    pub first: Vec<Violation>,
    /// How many cases can't be judged, because a repair couldn't save what speaks for them.
    #[serde(skip_serializing_if = "is_none_lost")]
    pub lost: u64,
    /// How many cases can't be judged, because they are of a version that entered no digests into the ledger.
    #[serde(skip_serializing_if = "is_none_lost")]
    pub unbound: u64,
    /// How many cases can't be judged, because what they are to be derived from isn't kept: by the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unchecked: BTreeMap<&'static str, u64>,
    /// Why nothing could be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
}

impl Check {
    fn new(name: &'static str, promise: &'static str) -> Self {
        Self {
            name,
            promise,
            judged: 0,
            margin_s: None,
            violations: 0,
            first: Vec::new(),
            lost: 0,
            unbound: 0,
            unchecked: BTreeMap::new(),
            unjudged: None,
        }
    }

    /// Counts a case.
    fn case(&mut self) {
        self.judged += 1;
    }

    /// Counts a case whose evidence a repair couldn't save, or which is broken: only what was there before the repair is
    /// forgiven.
    fn lost_or_broken(
        &mut self,
        is_lost: bool,
        subject: &str,
        at: Option<Timestamp>,
        what: impl Into<String>,
    ) {
        if is_lost {
            self.lost += 1;
        } else {
            self.broken(subject, at, what);
        }
    }

    /// Counts a case of which nothing is kept that it could be judged by.
    fn unchecked(&mut self, reason: &'static str) {
        *self.unchecked.entry(reason).or_default() += 1;
    }

    /// Counts a case that has a margin in seconds; true if it kept the promise.
    fn margin(&mut self, seconds: f64) -> bool {
        self.case();
        self.margin_s = Some(self.margin_s.map_or(seconds, |least| least.min(seconds)));
        seconds >= 0.0
    }

    /// Adds the findings of one store to those of others.
    fn merge(all: &mut Vec<Self>, more: Vec<Self>) {
        for check in more {
            match all.iter_mut().find(|of_all| of_all.name == check.name) {
                Some(of_all) => of_all.add(check),
                None => all.push(check),
            }
        }
    }

    fn add(&mut self, more: Self) {
        let Self {
            name: _,
            promise: _,
            judged,
            margin_s,
            violations,
            first,
            lost,
            unbound,
            unchecked,
            unjudged,
        } = more;
        // What one store lacks, another may have: a partition without a host has no run to judge.
        if self.unjudged.is_some() && (unjudged.is_none() || self.judged == 0 && judged > 0) {
            self.unjudged = unjudged;
        }
        self.judged += judged;
        self.violations += violations;
        self.lost += lost;
        self.unbound += unbound;
        self.margin_s = match (self.margin_s, margin_s) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.first.extend(first);
        self.first.truncate(LISTED);
        for (reason, count) in unchecked {
            *self.unchecked.entry(reason).or_default() += count;
        }
    }

    fn broken(&mut self, subject: impl Into<String>, at: Option<Timestamp>, what: impl Into<String>) {
        self.violations += 1;
        if self.first.len() < LISTED {
            self.first.push(Violation { subject: subject.into(), at, what: what.into() });
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_none_lost(lost: &u64) -> bool {
    *lost == 0
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The promises, in the order of the promises' document.
    pub checks: Vec<Check>,
}

impl Report {
    /// All violations together.
    pub fn violations(&self) -> u64 {
        self.checks.iter().map(|check| check.violations).sum()
    }
}

/// Why an audit couldn't be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What has to be sorted can't be.
    #[error(transparent)]
    Sort(#[from] SortError),
    /// A record can't be read.
    #[error("a record of tree `{tree}` can't be read")]
    Record {
        /// The tree.
        tree: &'static str,
        /// What is wrong.
        source: Cause,
    },
    /// The system starts no thread.
    #[error("a part of the audit can't be started")]
    Thread(#[source] std::io::Error),
}

impl AuditError {
    fn record<E: Into<Cause>>(tree: Tree) -> impl Fn(E) -> Self {
        move |cause| Self::Record { tree: tree.name(), source: cause.into() }
    }
}

/// Judges a crawl. Cost: some passes over every tree and one over every archive file, by up to five threads. Memory: some tens of megabytes a thread, whatever the
/// crawl's size; requests, links and places of the archive are sorted in temporary files, about 300 bytes a request and 30 a link.
pub fn audit<S: Store>(
    store: &Arc<S>,
    warc: Option<&Path>,
    rules: &AuditRules,
) -> Result<Report, AuditError> {
    let store: AnyStore = Arc::<S>::clone(store);
    audit_step_by_step(&store, warc, rules, &mut |_| {})
}

/// As [`audit`]; `step` is called before each part of it with what is read then, in a few words.
pub fn audit_step_by_step(
    store: &AnyStore,
    warc: Option<&Path>,
    rules: &AuditRules,
    step: &mut dyn FnMut(&'static str),
) -> Result<Report, AuditError> {
    let dirs: Vec<&Path> = warc.into_iter().collect();
    let head = ledger::head(store)?;
    judge(std::slice::from_ref(store), head, rules, &|_| Some(Files::of(&dirs, |_| true, false)), step)
}

/// Judges a crawl on many machines, as [`audit_step_by_step`] does one on a single machine: `parts` are its partitions by number, `archive` the
/// directories of its workers' archives. Without any of these, the archive isn't judged. Cost and memory: as for one crawl, and what the
/// checks of each partition need at a time.
#[cfg(feature = "cluster")]
pub fn audit_cluster(
    parts: &[AnyStore],
    archive: &[PathBuf],
    rules: &AuditRules,
    step: &mut dyn FnMut(&'static str),
) -> Result<Report, AuditError> {
    let of_part = |part: usize| {
        // A file of no series is of the time before the crawl was a cluster's: pages of all partitions are in it.
        let is_of_part = |name: &str| match warc::series(name) {
            Some(series) => Series::read(series).is_some_and(|of| of.part as usize == part),
            None => true,
        };
        (!archive.is_empty()).then(|| Files::of(archive, is_of_part, true))
    };
    let head = ledger::joint_head(parts)?;
    let mut report = judge(parts, Some(head), rules, &of_part, step)?;
    report.checks.insert(0, partitions::judge(parts)?);
    Ok(report)
}

/// A store of the crawl, with what is known of its runs.
struct Part<'a> {
    store: &'a AnyStore,
    runs: Vec<settings::Run>,
    repair: Option<RepairRecord>,
}

impl<'a> Part<'a> {
    fn read(store: &'a AnyStore) -> Result<Self, AuditError> {
        let repair = store.get(Tree::Meta, RepairRecord::KEY.as_bytes())?;
        let repair = repair.map(|value| RepairRecord::read(&value)).transpose();
        let repair = repair.map_err(AuditError::record(Tree::Meta))?;
        Ok(Self { store, runs: settings::runs(store)?, repair })
    }
}

/// Judges each store by itself, and then what may lead from one to another. `files` are the archive files of a store.
fn judge(
    parts: &[AnyStore],
    head: Option<Head>,
    rules: &AuditRules,
    files: &dyn Fn(usize) -> Option<Files>,
    step: &mut dyn FnMut(&'static str),
) -> Result<Report, AuditError> {
    let read = parts.iter().map(Part::read).collect::<Result<Vec<_>, _>>()?;
    thread::scope(|scope| {
        let accounts = beside(scope, || accounts::judge(&read, rules))?;
        let (mut checks, mut archive): (Vec<Check>, Vec<Check>) = (Vec::new(), Vec::new());
        let (mut admitted, mut shared) = (rules.sorter(), Shared::new(rules));
        let follows = read.iter().flat_map(|part| &part.runs).any(settings::Run::follows_moved_seeds);
        let roots = Roots::of(parts, rules, follows)?;
        for (number, part) in read.iter().enumerate() {
            let of_part =
                judge_part(part, files(number), rules, roots.clone(), (&mut admitted, &mut shared), step)?;
            Check::merge(&mut checks, of_part.records);
            Check::merge(&mut archive, of_part.archive);
        }
        if let Ok(of) = u32::try_from(parts.len())
            && of > 1
        {
            let part = |host: &str| crate::post::partition(host, of);
            let apart = shared.judge(|one, other| part(one) != part(other))?;
            Check::merge(&mut checks, apart.into());
        }
        if let Some(check) = judge_head(head, rules) {
            checks.insert(1.min(checks.len()), check);
        }
        step("links");
        checks.push(links::judge(&read, rules, admitted)?);
        checks.extend(archive);
        step("accounting of URLs");
        checks.push(joined(accounts)?);
        Ok(Report { checks })
    })
}

/// What was found in one store.
struct PartReport {
    records: Vec<Check>,
    archive: Vec<Check>,
}

/// Judges one store: its chain, its requests, its page records and its archive each in a thread of its own.
fn judge_part(
    part: &Part<'_>,
    files: Option<Files>,
    rules: &AuditRules,
    roots: Roots,
    (admitted, shared): (&mut Sorter, &mut Shared),
    step: &mut dyn FnMut(&'static str),
) -> Result<PartReport, AuditError> {
    let Part { store, runs, repair } = part;
    let (store, repair) = (*store, repair.as_ref());
    thread::scope(|scope| {
        let chain = beside(scope, || chain(store))?;
        let archive = beside(scope, move || judge_archive(part, files, rules))?;
        let pages = beside(scope, || {
            let mut checks = content::judge(store, rules)?.checks;
            checks.push(none::judge(store, rules, repair)?);
            checks.push(forgotten::judge(store)?);
            Ok(checks)
        })?;
        step("requests");
        let mut read = requests::read(store, runs, rules)?;
        shared.take_all(std::mem::replace(&mut read.shared, Shared::new(rules)))?;
        let mut checks = vec![settings::judge(store, runs, rules, repair)?];
        checks.push(requests::complete(store, &read.log, repair)?);
        checks.push(addresses::judge(store, runs, rules)?);
        step("scope and limits");
        let judged = scope::judge(store, runs, rules, repair, (read.log.silent.as_ref(), roots))?;
        checks.extend(judged.checks);
        admitted.take_all(judged.admitted)?;
        step("pace and robots.txt");
        checks.extend(hosts::judge(store, read, rules, (runs, repair))?);
        checks.push(access::judge(store, rules)?);
        step("the ledger's chain");
        checks.insert(0, joined(chain)?);
        step("page records");
        checks.extend(joined(pages)?);
        step("digests of records and the archive");
        Ok(PartReport { records: checks, archive: joined(archive)? })
    })
}

fn judge_archive(
    part: &Part<'_>,
    files: Option<Files>,
    rules: &AuditRules,
) -> Result<Vec<Check>, AuditError> {
    let Part { store, runs, repair } = part;
    let (mut sealed, mut captures) =
        seals::Seals::read(*store, rules)?.judge(*store, rules, repair.as_ref())?;
    let mut archive = if let Some(files) = files {
        let checks = archive::judge(*store, files, runs, rules, &mut captures, &mut sealed)?;
        captures.judge(&mut sealed)?;
        checks
    } else {
        vec![archive::not_given()]
    };
    archive.push(sealed);
    Ok(archive)
}

/// Begins a part of the audit in a thread of its own.
fn beside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> Result<T, AuditError> + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Result<T, AuditError>>, AuditError> {
    thread::Builder::new().name("audit".to_owned()).spawn_scoped(scope, work).map_err(AuditError::Thread)
}

/// Waits for a part of the audit.
fn joined<T>(part: ScopedJoinHandle<'_, Result<T, AuditError>>) -> Result<T, AuditError> {
    part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Compares the head of the chain with the one that was written down.
fn judge_head(head: Option<Head>, rules: &AuditRules) -> Option<Check> {
    let expected = rules.head.as_ref()?;
    let mut check = Check::new("head", "the ledger's chain ends with the expected head");
    check.case();
    match head {
        Some(head) if head.to_string().starts_with(&expected.to_ascii_lowercase()) => {}
        Some(head) => check.broken(
            "ledger",
            None,
            format!("its head is {head}, not {expected}: it was changed, or the crawl was resumed"),
        ),
        None => check.broken("ledger", None, "there is no ledger"),
    }
    Some(check)
}

fn chain<S: Store>(store: &S) -> Result<Check, AuditError> {
    let mut check = Check::new("ledger", "the ledger's chain is intact");
    let verdict = ledger::verify(store)?;
    check.judged = verdict.entries;
    for fault in &verdict.faults {
        let what = serde_json::to_string(fault).unwrap_or_else(|_| format!("{fault:?}"));
        check.broken("ledger", None, what);
    }
    check.violations = check.violations.max(verdict.fault_count);
    Ok(check)
}
