//! The counts of a crawl, over many webs: the last line of a run, `show --json`, the rows of the tables and the ledger say the same, whenever the
//! crawl was stopped, and at its end the same as one that never was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crawler::commit::{CommitError, Totals};
use crawler::engine::{End, Summary};
use crawler::fetch::ErrorKind;
use crawler::store::{CrashStore, MemoryStore, StoreError};
use crawler::view::{self, Table, View};
use serde_json::Value;
use whole_program::simweb::{SimWeb, Size, Web, generate};

use crate::crawl::Crawl;
use crate::politeness::seeds;
use crate::statements::rows;

/// Processes of one crawl that die; the next one lives.
const DEATHS: usize = 12;

fn sum(rows: &[Value], column: &str) -> u64 {
    rows.iter().map(|row| row[column].as_u64().expect("a number")).sum()
}

fn urls(rows: &[Value]) -> BTreeSet<&str> {
    let all: BTreeSet<&str> = rows.iter().map(text_of("url")).collect();
    assert_eq!(all.len(), rows.len(), "each URL once");
    all
}

fn text_of(column: &str) -> impl Fn(&Value) -> &str {
    move |row| row[column].as_str().expect("a text")
}

fn histogram<'a, K: Ord>(values: impl Iterator<Item = K> + 'a) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts
}

/// What the ledger alone says.
#[derive(Default)]
struct Ledger {
    requests: u64,
    bytes: u64,
    runs: u64,
    /// The last answer of each URL; none where it can't be used, or there was none.
    ends: BTreeMap<String, Option<u64>>,
    /// The status of the last answer of each URL that said something of its page.
    answered: BTreeMap<String, u64>,
    /// URLs that were skipped by at least one entry.
    skipped: BTreeSet<String>,
}

/// Answers after which what is stored of a page stays as it is.
fn says_nothing(status: u64) -> bool {
    matches!(status, 206 | 304 | 408 | 421 | 425 | 429 | 500..)
}

impl Ledger {
    fn read(rows: &[Value]) -> Self {
        let mut ledger = Self::default();
        for row in rows {
            let url = || text_of("url")(row).to_owned();
            let request = &row["evidence"]["request"];
            if !request.is_null() {
                ledger.requests += 1;
                ledger.bytes += request["bytes"].as_u64().expect("a number");
            }
            match text_of("decision")(row) {
                "started" | "resumed" => ledger.runs += 1,
                // Each partition began on its own, and these crawls began once.
                "moved" => ledger.runs = 1,
                "fetched" => {
                    let status = text_of("reason")(row).strip_prefix("http_").expect("a status");
                    let status = status.parse().expect("a number");
                    ledger.ends.insert(url(), Some(status));
                    if !says_nothing(status) {
                        ledger.answered.insert(url(), status);
                    }
                }
                "failed" => {
                    ledger.ends.insert(url(), None);
                }
                "skipped" => {
                    ledger.skipped.insert(url());
                }
                _ => {}
            }
        }
        ledger
    }
}

/// Compares all accounts of what is stored; gives the one that `crawl show --json` prints.
pub(crate) fn agreed(store: &Arc<MemoryStore>, what: &str) -> view::Summary {
    let view = View::over(Arc::clone(store)).expect("the store can be read");
    let summary = view.summary().expect("the crawl can be counted");
    let shown = serde_json::to_value(&summary).expect("it is JSON");
    let totals = &shown["totals"];
    let count = |name: &str| totals[name].as_u64().unwrap_or_else(|| panic!("{what}: {name}: {totals}"));

    // The tables.
    let [pages, errors, skipped, queue, hosts] =
        [Table::Pages, Table::Errors, Table::Skipped, Table::Queue, Table::Hosts]
            .map(|table| rows(&view, table));
    let stored = urls(&pages);
    let class = |row: &Value| match (row["error"].is_null(), row["status"].as_u64()) {
        (true, Some(200..300)) if row["resource"] == true => "resources",
        (true, Some(200..300)) => "pages",
        (true, _) => "redirects",
        (false, _) => "failed",
    };
    let classes = histogram(pages.iter().map(class));
    for name in ["pages", "resources", "redirects"] {
        assert_eq!(count(name), classes.get(name).copied().unwrap_or_default(), "{what}: {name}");
    }
    let is = |column: &'static str| pages.iter().filter(move |row| row[column] == true).count() as u64;
    assert_eq!((count("indexed"), count("archived")), (is("indexed"), is("archived")), "{what}");
    assert_eq!(count("failed"), errors.len() as u64, "{what}");
    assert_eq!(summary.errors, histogram(errors.iter().map(|row| text_of("kind")(row).to_owned())), "{what}");
    // What failed is counted as that.
    let kinds = ErrorKind::ALL.map(ErrorKind::as_str);
    let others = skipped.iter().filter(|row| !kinds.contains(&text_of("reason")(row))).cloned();
    let others: Vec<Value> = others.collect();
    assert_eq!(count("skipped"), urls(&others).len() as u64, "{what}");
    let reasons: BTreeMap<String, u64> =
        summary.skipped.iter().map(|counted| (counted.what.clone(), counted.count)).collect();
    assert_eq!(reasons, histogram(others.iter().map(|row| text_of("reason")(row).to_owned())), "{what}");
    let of_hosts = [sum(&hosts, "queued"), sum(&hosts, "requests"), sum(&hosts, "bytes")];
    assert_eq!(of_hosts, [summary.queued, count("requests"), count("bytes")], "{what}");
    assert_eq!(summary.queued, queue.len() as u64, "{what}");

    // The ledger.
    let ledger = Ledger::read(&rows(&view, Table::Ledger));
    let of_ledger = [ledger.requests, ledger.bytes, ledger.runs];
    assert_eq!(of_ledger, [count("requests"), count("bytes"), count("runs")], "{what}");
    let unanswered = || ledger.ends.keys().map(String::as_str).filter(|url| !stored.contains(url));
    let failed: BTreeSet<&str> = errors.iter().map(text_of("url")).collect();
    for url in unanswered() {
        assert!(ledger.ends[url].is_none() && failed.contains(url), "{what}: {url} is in neither table");
    }
    let statuses = histogram(pages.iter().filter_map(|row| row["status"].as_u64()));
    let of_summary = summary.statuses.iter().map(|(status, count)| (u64::from(*status), *count));
    assert_eq!(statuses, of_summary.collect(), "{what}");
    for row in &pages {
        let (url, status) = (text_of("url")(row), row["status"].as_u64());
        let end = ledger.ends.get(url).unwrap_or_else(|| panic!("{what}: the ledger has no answer of {row}"));
        // Of an answer that can't be used the ledger has the fault alone. Where an earlier visit had one that said something of the page, the
        // row is about that.
        let says_nothing = end.is_none_or(says_nothing);
        let is_earlier = says_nothing && ledger.answered.get(url).copied() == status;
        let is_told = is_earlier || end.map_or(!row["error"].is_null(), |end| Some(end) == status);
        assert!(is_told, "{what}: {row} {end:?}");
    }
    let queued: BTreeSet<&str> = queue.iter().map(text_of("url")).collect();
    let parked = queue.iter().filter(|row| !row["parked"].is_null()).map(text_of("url"));
    let by_ledger = ledger.skipped.iter().map(String::as_str).filter(|url| !stored.contains(url));
    let expected: BTreeSet<&str> = unanswered()
        .chain(by_ledger)
        .filter(|url| !queued.contains(url))
        .chain(parked.filter(|url| !stored.contains(url)))
        .collect();
    assert_eq!(urls(&skipped), expected, "{what}");
    summary
}

/// As [`agreed`], of each partition of a crawl; and what is said of all of them together is the sum.
pub(crate) fn agreed_in_parts(
    stores: &[Arc<MemoryStore>],
    parts: &[(String, View)],
    what: &str,
) -> view::Summary {
    let each: Vec<view::Summary> = stores
        .iter()
        .enumerate()
        .map(|(part, store)| agreed(store, &format!("{what}, part {part}")))
        .collect();
    let all = view::summary_of(parts, false, 1).expect("the crawl can be counted");
    let numbers = |summary: &view::Summary| {
        let shown = serde_json::to_value(summary).expect("it is JSON");
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for place in ["totals", "statuses", "errors"] {
            for (name, value) in shown[place].as_object().expect("an object") {
                if name != "runs" {
                    found.insert(format!("{place} {name}"), value.as_u64().expect("a number"));
                }
            }
        }
        for place in ["skipped", "robots", "limits"] {
            for row in shown[place].as_array().expect("a list") {
                let count = row["count"].as_u64().expect("a number");
                *found.entry(format!("{place} {}", row["what"])).or_default() += count;
            }
        }
        for name in ["queued", "indexed", "noindex", "archived", "followed", "hosts_known"] {
            found.insert(name.to_owned(), shown[name].as_u64().expect("a number"));
        }
        found
    };
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in each.iter().flat_map(numbers) {
        *sums.entry(name).or_default() += count;
    }
    assert_eq!(numbers(&all), sums, "{what}");
    let hosts: BTreeSet<&str> =
        each.iter().flat_map(|one| &one.hosts).map(|host| host.host.as_str()).collect();
    let listed: BTreeSet<&str> = all.hosts.iter().map(|host| host.host.as_str()).collect();
    assert_eq!(listed, hosts, "{what}");
    all
}

/// What the last line of a run says: its counters come from the account, or from the engine where that took too long.
fn assert_last_line(run: &Summary, account: &view::Summary, what: &str) {
    let Totals { requests, bytes, runs, .. } = account.totals;
    let counted = (run.totals.requests, run.totals.bytes, run.totals.runs, run.queued);
    assert_eq!(counted, (requests, bytes, runs, account.queued), "{what}");
    let is_complete = account.status == view::Status::Complete;
    assert_eq!(account.complete, is_complete, "{what}");
}

/// What doesn't depend on how often the crawl was stopped. Which of several reasons counts for a URL depends on the order of pages.
fn lasting(summary: &view::Summary, store: &Arc<MemoryStore>) -> Value {
    let view = View::over(Arc::clone(store)).expect("the store can be read");
    let skipped_rows = rows(&view, Table::Skipped);
    let Totals { pages, redirects, failed, skipped, indexed, archived, .. } = summary.totals;
    serde_json::json!({
        "status": summary.status, "queued": summary.queued, "statuses": summary.statuses, "errors": summary.errors,
        "skipped": urls(&skipped_rows), "noindex": summary.noindex, "followed": summary.followed,
        "totals": [pages, redirects, failed, skipped, indexed, archived],
        "hosts": [summary.hosts_complete, summary.hosts_complete_within_limits, summary.hosts_complete_except_walls, summary.hosts_incomplete],
    })
}

/// A crawl that nothing stops.
async fn whole(web: &Web, archive: Option<&Path>, what: &str) -> (Totals, Value) {
    let crawl = Crawl::new(&SimWeb::new(web.clone()), Arc::new(MemoryStore::default()));
    let run = crawl.run(archive).await.expect("the crawl ends");
    let account = agreed(&crawl.store, what);
    assert_last_line(&run, &account, what);
    // Nothing was visited twice: the engine counts visits, the account URLs.
    let of_engine = [run.totals.pages, run.totals.redirects, run.totals.indexed, run.totals.archived];
    let Totals { pages, redirects, indexed, archived, .. } = account.totals;
    assert_eq!(of_engine, [pages, redirects, indexed, archived], "{what}");
    (account.totals, lasting(&account, &crawl.store))
}

/// The same web, with a process that dies at every `step`-th commit; gives the number of deaths too.
async fn stopped(web: &Web, step: u64, lands: bool, archive: Option<&Path>, what: &str) -> (Value, usize) {
    let crawl = Crawl::new(&SimWeb::new(web.clone()), Arc::new(MemoryStore::default()));
    let mut deaths = 0;
    loop {
        // A process that dies at its first commits may come no further than the one before it.
        let step = if deaths < DEATHS { step } else { u64::MAX };
        let dying = crawl.on(Arc::new(CrashStore::new(Arc::clone(&crawl.store), step, lands)));
        match dying.run(archive).await {
            Ok(run) => {
                let account = agreed(&crawl.store, what);
                assert_last_line(&run, &account, what);
                assert_eq!(run.end, End::Complete, "{what}");
                break;
            }
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => deaths += 1,
            Err(error) => panic!("{what}: {error}"),
        }
        agreed(&crawl.store, &format!("{what}, after death {deaths}"));
    }
    // A run that finds nothing to do changes nothing.
    let before = lasting(&agreed(&crawl.store, what), &crawl.store);
    let run = crawl.run(archive).await.expect("the crawl ends");
    let account = agreed(&crawl.store, what);
    assert_last_line(&run, &account, what);
    let after = lasting(&account, &crawl.store);
    assert_eq!(after, before, "{what}");
    (after, deaths)
}

#[tokio::test(start_paused = true)]
async fn every_account_agrees_wherever_a_crawl_was_stopped_and_at_its_end_with_one_that_never_was() {
    let (mut deaths, mut counted) = (0, Totals::default());
    // Each web is crawled twice and counted at each stop.
    let is_set =
        ["WHOLE_PROGRAM_SEED", "WHOLE_PROGRAM_SEEDS"].iter().any(|name| std::env::var_os(name).is_some());
    for seed in seeds().take(if is_set { usize::MAX } else { 16 }) {
        let web = generate(seed, Size { hosts: 4, resources: 14, outside: 1, lasting_outages: false });
        let directory = tempfile::tempdir().expect("a directory");
        let archive = seed.is_multiple_of(3).then(|| directory.path());
        let (totals, whole) = whole(&web, archive, &format!("seed {seed}")).await;
        let (step, lands) = ([4, 5, 7, 11][seed as usize % 4], seed % 8 < 4);
        let again = tempfile::tempdir().expect("a directory");
        let archive = archive.map(|_| again.path());
        let what = format!("seed {seed}, step {step}, lands {lands}");
        let (stopped, died) = stopped(&web, step, lands, archive, &what).await;
        assert_eq!(stopped, whole, "{what}");
        deaths += died;
        let Totals { pages, redirects, failed, skipped, archived, .. } = totals;
        counted.pages += pages;
        counted.redirects += redirects;
        counted.failed += failed;
        counted.skipped += skipped;
        counted.archived += archived;
    }
    assert!(deaths > 10 || seeds().count() < 10, "only {deaths} deaths");
    let Totals { pages, redirects, failed, skipped, archived, .. } = counted;
    assert!([pages, redirects, failed, skipped, archived].iter().all(|count| *count > 0), "{counted:?}");
}
