//! Table `ledger`: every decision.

use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use crate::ledger;
use crate::record::{Decided, Decision, Evidence, Layer, Reason};
use crate::store::{Pair, Store, Tree};

row! {
    /// A decision.
    LedgerRow {
        /// Its number, from 0.
        seq: u64,
        /// When it was decided.
        at: Moment,
        /// The URL, origin or host it is about; empty for the crawl itself.
        url: String,
        /// The host; empty if the URL has none.
        host: String [names],
        /// The decision: one of [these](outputs.md#ledger).
        decision: Decided [names],
        /// What decided: `scope seen robots pace fetch address directive consent limit trap dedup stop`.
        layer: Layer [names],
        /// The reason, from a fixed vocabulary.
        reason: Reason [names],
        /// The evidence: a line, tag, limit, delay or request; in CSV and on a terminal as text.
        evidence: Option<Evidence> [null = "there is none"],
        /// URL of the page on which it was found.
        via: Option<String> [null = "it isn't known"],
    }
}

impl View {
    /// The rows of table `ledger`, in the order of the decisions.
    pub fn ledger(&self) -> impl Iterator<Item = Result<LedgerRow, ViewError>> + '_ {
        self.decision_blocks().flat_map(|block| {
            let (block, error) = match block {
                Ok(block) => (block, None),
                Err(error) => ((0, Vec::new()), Some(Err(error))),
            };
            let (first, decisions) = block;
            (first..).zip(decisions).map(|(seq, decision)| Ok(ledger_row(seq, decision))).chain(error)
        })
    }

    /// Checks the ledger's chain.
    pub fn verify_ledger(&self) -> Result<ledger::Verdict, ViewError> {
        Ok(ledger::verify(self.store())?)
    }

    /// The runs of decisions as they were committed, each with the number of its first.
    pub(super) fn decision_blocks(
        &self,
    ) -> impl Iterator<Item = Result<(u64, Vec<Decision>), ViewError>> + '_ {
        self.store().scan(Tree::Ledger, &[]).map(|pair| decisions(&pair?))
    }

    /// As [`View::decision_blocks`]; runs without a decision of these kinds are empty, and cost less.
    pub(super) fn decision_blocks_with<'a>(
        &'a self,
        kinds: &'a [Decided],
    ) -> impl Iterator<Item = Result<(u64, Vec<Decision>), ViewError>> + 'a {
        let words: Vec<_> = kinds.iter().map(Decided::as_str).collect();
        self.store().scan(Tree::Ledger, &[]).map(move |pair| {
            let (key, value) = pair?;
            let decisions = ledger::read_saying(&value, &words);
            Ok((first_of(&key)?, decisions.map_err(|error| ViewError::record(Tree::Ledger, error))?))
        })
    }
}

pub(super) fn decisions((key, value): &Pair) -> Result<(u64, Vec<Decision>), ViewError> {
    let block = ledger::read(value).map_err(|error| ViewError::record(Tree::Ledger, error))?;
    Ok((first_of(key)?, block.decisions))
}

/// The number of a run's first decision.
fn first_of(key: &[u8]) -> Result<u64, ViewError> {
    let first = <[u8; 8]>::try_from(key).map_err(|error| ViewError::record(Tree::Ledger, error))?;
    Ok(u64::from_be_bytes(first))
}

pub(super) fn ledger_row(seq: u64, decision: Decision) -> LedgerRow {
    LedgerRow {
        seq,
        at: Moment(decision.at),
        url: decision.url,
        host: decision.host,
        decision: decision.decision,
        layer: decision.layer,
        reason: decision.reason,
        evidence: (!decision.evidence.is_empty()).then_some(decision.evidence),
        via: decision.via,
    }
}
