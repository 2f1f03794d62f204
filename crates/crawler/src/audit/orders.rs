//! Orders of the user that the ledger holds: pauses, and longer delays.

use std::time::Duration;

use super::clocks::Moment;
use crate::record::{Decided, Decision};

/// An order, in the ledger's order.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) run: u32,
    pub(super) clock: Duration,
    /// Empty: every host.
    pub(super) host: String,
    pub(super) what: Change,
}

/// What is to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Pause,
    Continue,
    Delay(Duration),
}

impl Given {
    /// The order that an entry of the ledger has, if it is one.
    pub(super) fn read(entry: &Decision, run: u32) -> Option<Self> {
        let what = match entry.decision {
            Decided::OperatorPaused => Change::Pause,
            Decided::OperatorContinued => Change::Continue,
            Decided::DelaySet => Change::Delay(entry.evidence.pause.as_ref()?.length),
            _ => return None,
        };
        let clock = entry.evidence.clock?;
        Some(Self { run, clock, host: entry.host.clone(), what })
    }

    /// Whether it was given before a moment.
    pub(super) fn is_before(&self, moment: Moment) -> bool {
        (self.run, self.clock) < moment.order()
    }
}
