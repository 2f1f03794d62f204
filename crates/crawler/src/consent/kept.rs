//! The statements of robots.txt about uses of pages, stored once per version: page records refer to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use meta::consent::{RobotsSignals, Statement};

use crate::record::{PageRecord, RobotsRecord};
use crate::store::{Store, StoreError, Tree};
use page::url::CrawlUrl;

/// Versions held in memory while records are read.
const IN_MEMORY: usize = 64;

/// Finds the statements that page records refer to.
#[derive(Debug, Default)]
pub struct RobotsStatements {
    held: Mutex<HashMap<Vec<u8>, Arc<RobotsSignals>>>,
}

impl RobotsStatements {
    /// Puts the statements that a record refers to before its own, in place of the reference. A version that isn't there any
    /// more (after a repair) gives none.
    pub fn complete<S: Store>(&self, store: &S, record: &mut PageRecord) -> Result<(), StoreError> {
        let Some(said) = record.robots_consent.take() else { return Ok(()) };
        let Ok(url) = CrawlUrl::parse(&record.url) else { return Ok(()) };
        let key = RobotsRecord::key_of(&url.origin().to_string(), said.at);
        let signals = self.signals(store, key)?;
        let (statements, more) = first_places(signals.statements(url.path_and_query(), said.at));
        record.consent.splice(0..0, statements);
        record.consent_more = more;
        Ok(())
    }

    fn signals<S: Store>(&self, store: &S, key: Vec<u8>) -> Result<Arc<RobotsSignals>, StoreError> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(held) = held {
            return Ok(held);
        }
        let record = store.get(Tree::Robots, &key)?.map(|value| RobotsRecord::read(&value)).transpose();
        let record = record
            .map_err(|error| StoreError::Unreadable { tree: Tree::Robots.name(), source: error.into() })?;
        let lines = record.and_then(|record| record.consent_lines).unwrap_or_default();
        let signals = Arc::new(RobotsSignals::new(&lines));
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= IN_MEMORY {
            held.clear();
        }
        held.insert(key, Arc::clone(&signals));
        Ok(signals)
    }
}

/// Places of one claim that are given: a thousand lines may make the same few claims.
const PLACES: usize = 8;

/// The first places of each claim, and how many there are beside them.
pub(super) fn first_places(all: Vec<Statement>) -> (Vec<Statement>, u64) {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut first = Vec::new();
    let mut more = 0;
    for statement in all {
        let count = places.entry((statement.signal, statement.claim)).or_default();
        *count += 1;
        if *count <= PLACES {
            first.push(statement);
        } else {
            more += 1;
        }
    }
    (first, more)
}

/// Writes what is denied in words, for the ledger: the first statements, and how many more there are.
pub(crate) fn denials<'a>(statements: impl IntoIterator<Item = &'a Statement>) -> Option<String> {
    const LISTED: usize = 8;
    let mut words = Vec::new();
    let mut more = 0;
    for statement in statements {
        let claim = &statement.claim;
        match claim.verdict_name() {
            "allow" => {}
            _ if words.len() >= LISTED => more += 1,
            verdict => words.push(format!("{} {verdict} ({})", claim.purpose_name(), statement.source)),
        }
    }
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    (!words.is_empty()).then(|| words.join("; "))
}
