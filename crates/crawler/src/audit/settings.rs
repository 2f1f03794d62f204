//! The settings of each run: recorded, unchanged, and equal to `crawl.toml`.

use std::collections::{BTreeMap, HashMap};

use super::{AuditError, AuditRules, Check};
use crate::config::{
    Settings, differences, is_of_the_crawl, read_record_text, read_settings_in_force, without_places,
};
use crate::ledger;
use crate::post::Place;
use crate::record::run_settings::{SeedsDigest, digest, seeds_digest};
use crate::record::{Decision, RepairRecord, RunSettings};
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

/// A run of the crawl.
#[derive(Debug)]
pub(super) struct Run {
    /// What its first entry says that it was started with; none in ledgers of older versions.
    digests: Option<RunSettings>,
    /// The settings, where their text is stored and is the one that the ledger names.
    pub(super) settings: Option<Settings>,
    /// What is wrong with the text.
    fault: Option<&'static str>,
    /// Its settings follow seeds to other sites. Those of versions without the setting always did.
    follows_moved_seeds: bool,
}

impl Run {
    /// Whether the scope follows seeds to other sites.
    pub(super) fn follows_moved_seeds(&self) -> bool {
        self.follows_moved_seeds
    }
}

/// Reads the runs, the first one first. Cost: a pass over the ledger.
pub(super) fn runs<S: Store>(store: &S) -> Result<Vec<Run>, AuditError> {
    let mut runs = Vec::new();
    for pair in store.scan(Tree::Ledger, &[]) {
        // What can't be read is a fault of the chain, and reported there.
        let Ok(block) = ledger::read(&pair?.1) else { continue };
        for entry in block.decisions.into_iter().filter(Decision::begins_a_run) {
            runs.push(run(store, entry.evidence.run.map(|run| *run))?);
        }
    }
    Ok(runs)
}

fn run<S: Store>(store: &S, digests: Option<RunSettings>) -> Result<Run, AuditError> {
    let Some(digests) = digests else {
        return Ok(Run { digests: None, settings: None, fault: None, follows_moved_seeds: true });
    };
    let text = store.get(Tree::Meta, &digests.key())?.map(|text| String::from_utf8_lossy(&text).into_owned());
    let is_older = text.as_ref().is_some_and(|text| !text.contains("follow_moved_seeds"));
    let read = match text {
        None => Err("the settings that it was started with are missing from the database"),
        Some(text) if digest(&text) != digests.settings => {
            Err("the stored settings don't have the digest in the ledger")
        }
        Some(text) => read_settings_in_force(&text).map_err(|_| "its stored settings can't be read"),
    };
    let fault = read.as_ref().err().copied();
    let settings = read.ok();
    let follows_moved_seeds =
        is_older || settings.as_ref().is_none_or(|settings| settings.scope.follow_moved_seeds);
    Ok(Run { digests: Some(digests), settings, fault, follows_moved_seeds })
}

/// The partition that a store holds: of a cluster's crawl, `3 of 256`.
fn place<S: Store>(store: &S) -> Result<Option<Place>, AuditError> {
    let Some(value) = store.get(Tree::Meta, b"partition")? else { return Ok(None) };
    let text = String::from_utf8_lossy(&value).into_owned();
    let place = text
        .split_once(" of ")
        .and_then(|(part, of)| Some(Place { part: part.parse().ok()?, of: of.parse().ok()? }));
    place.map(Some).ok_or_else(|| AuditError::record(Tree::Meta)(format!("partition: {text}")))
}

/// Compares what the runs were started with, and what `crawl.toml` and the database say that it was.
pub(super) fn judge<S: Store>(
    store: &S,
    runs: &[Run],
    rules: &AuditRules,
    repair: Option<&RepairRecord>,
) -> Result<Check, AuditError> {
    let mut check =
        Check::new("settings", "each run's settings and seeds are recorded, and crawl.toml matches them");
    let on_record: Vec<(usize, &RunSettings, &Run)> =
        (1..).zip(runs).filter_map(|(number, run)| Some((number, run.digests.as_ref()?, run))).collect();
    let Some((_, first, _)) = on_record.first() else {
        check.unjudged =
            Some("no run's settings are recorded: an older crawl, or its ledger was off".to_owned());
        return Ok(check);
    };
    let beginnings = beginnings(&rules.seeds);
    let begins = beginnings.get(&first.seeds);
    let mut seeds = 0;
    for (number, digests, run) in &on_record {
        check.case();
        let subject = format!("run {number}");
        if let Some(fault) = run.fault {
            check.lost_or_broken(repair.is_some(), &subject, None, fault);
        }
        // A run that is begun in the directory of a crawl without a page may add seeds behind those of before.
        let is_same = match begins {
            Some(_) => beginnings.get(&digests.seeds).is_some_and(|many| {
                let grows = *many >= seeds;
                seeds = seeds.max(*many);
                grows
            }),
            None => digests.seeds == first.seeds,
        };
        if !is_same {
            check.broken(&subject, None, "it was started with other seeds than the first run");
        }
    }
    check.case();
    if begins.is_none() || seeds != rules.seeds.len() {
        check.broken("crawl.toml", None, "its seeds aren't those that the crawl was started with");
    }
    let settings: Vec<(usize, Settings)> = on_record
        .iter()
        .filter_map(|(number, _, run)| Some((*number, without_places(run.settings.as_ref()?))))
        .collect();
    let file = without_places(&rules.settings);
    // What a run was really started with, by key; a file that was edited for a resume has a value of a later run.
    let mut other: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    for (number, of_run) in &settings {
        for key in differences(&file, of_run) {
            other.entry(key).or_default().push(*number);
        }
    }
    for (key, differing) in other {
        let binds_all = is_of_the_crawl(key);
        // A repair may have lost the run that had the value.
        if binds_all || differing.len() == settings.len() && repair.is_none() {
            let what = format!("{key} isn't what run {} was started with", differing[0]);
            check.broken("crawl.toml", None, what);
        }
    }
    check.case();
    let begun = store.get(Tree::Meta, b"settings")?.map(|text| String::from_utf8_lossy(&text).into_owned());
    match begun.as_deref().map(read_record_text) {
        Some(Ok((begun, record))) => {
            if let Some((_, of_first)) = settings.first().filter(|(number, _)| *number == 1)
                && repair.is_none()
                && let Some(key) = differences(&without_places(&begun), of_first).first()
            {
                check.broken("meta/settings", None, format!("{key} isn't what run 1 was started with"));
            }
            let are_those = match place(store)? {
                // A partition has the seeds of its own hosts; those of the whole crawl were compared above.
                Some(place) => {
                    let is_own = |seed: &&String| {
                        CrawlUrl::parse(seed).is_ok_and(|seed| place.elsewhere(seed.host()).is_none())
                    };
                    rules.seeds.iter().filter(is_own).eq(&record.seeds)
                }
                None => seeds_digest(record.seeds.iter().map(String::as_str)) == first.seeds,
            };
            if !are_those {
                check.broken("meta/settings", None, "its seeds aren't those that the crawl was started with");
            }
        }
        Some(Err(_)) => check.broken("meta/settings", None, "it can't be read"),
        None => check.broken("meta/settings", None, "it is missing"),
    }
    Ok(check)
}

/// The digests of the seeds up to each of them, with their number; of no seed, too.
fn beginnings(seeds: &[String]) -> HashMap<String, usize> {
    let mut digest = SeedsDigest::default();
    let mut all = HashMap::from([(digest.hex(), 0)]);
    for (number, seed) in (1..).zip(seeds) {
        digest.add(seed);
        all.insert(digest.hex(), number);
    }
    all
}
