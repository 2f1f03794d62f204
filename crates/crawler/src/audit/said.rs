//! The statements of robots.txt that page records refer to, read again from the stored file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jiff::Timestamp;
use meta::consent::{ConsentLines, RobotsSignals};
use robots::Robots;

use super::{AuditError, AuditRules};
use crate::record::{PageRecord, RobotsAccess, RobotsRecord};
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

/// Versions held in memory.
const IN_MEMORY: usize = 64;

/// Reads the versions that page records refer to.
pub(super) struct RobotsStatements<'a, S> {
    store: &'a S,
    rules: &'a AuditRules,
    held: RefCell<HashMap<(String, Timestamp), Rc<RobotsSignals>>>,
}

impl<'a, S: Store> RobotsStatements<'a, S> {
    pub(super) fn new(store: &'a S, rules: &'a AuditRules) -> Self {
        Self { store, rules, held: RefCell::default() }
    }

    /// Puts what robots.txt said before the statements of a record. A version that a repair lost says nothing.
    pub(super) fn complete(&self, record: &mut PageRecord) -> Result<(), AuditError> {
        let Some(said) = record.robots_consent.take() else { return Ok(()) };
        let Ok(url) = CrawlUrl::parse(&record.url) else { return Ok(()) };
        let signals = self.signals(&url.origin().to_string(), said.at)?;
        record.consent.splice(0..0, signals.statements(url.path_and_query(), said.at));
        Ok(())
    }

    fn signals(&self, origin: &str, at: Timestamp) -> Result<Rc<RobotsSignals>, AuditError> {
        let key = (origin.to_owned(), at);
        if let Some(held) = self.held.borrow().get(&key) {
            return Ok(Rc::clone(held));
        }
        let mut signals = RobotsSignals::default();
        let mut good: Option<RobotsRecord> = None;
        for pair in self.store.scan(Tree::Robots, &RobotsRecord::prefix(origin)) {
            let record = RobotsRecord::read(&pair?.1).map_err(AuditError::record(Tree::Robots))?;
            let is_this = RobotsRecord::key_of(origin, at) == record.key();
            if record.access == RobotsAccess::Rules {
                good = Some(record);
            }
            if is_this {
                let read = |record: &RobotsRecord| {
                    Robots::parse(&record.bytes(), &self.rules.agent, &self.rules.options, Some(origin))
                };
                signals = good.as_ref().map(read).map(|robots| signals_of(&robots)).unwrap_or_default();
                break;
            }
        }
        let signals = Rc::new(signals);
        let mut held = self.held.borrow_mut();
        if held.len() >= IN_MEMORY {
            held.clear();
        }
        held.insert(key, Rc::clone(&signals));
        Ok(signals)
    }
}

/// The lines of a file that say something to uses of pages.
pub(super) fn signals_of(robots: &Robots) -> RobotsSignals {
    RobotsSignals::new(&ConsentLines::from(robots.signals()))
}
