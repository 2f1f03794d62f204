//! What a worker asks and says in its databases all the time beside its commits: letters, figures, limits, withdrawn captures, what dead
//! workers had in flight. A task of its own: a
//! database that is silent keeps the worker neither from its signals nor from saying so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::handover::Handover;
use super::limits::Keeper;
use super::mail::{Carrier, Outbox};
use super::state::State;
use super::withdrawals::{self, Withdrawals};
use crate::causes::with_causes;

/// How often letters are looked for, and how often it is said how far the partitions are.
const LETTERS: Duration = Duration::from_millis(200);
const REPORT: Duration = Duration::from_secs(1);

/// The partitions that a worker crawls, for all who carry something to them.
#[derive(Debug, Clone, Default)]
pub(super) struct Outboxes(Arc<Mutex<Arc<HashMap<i32, Outbox>>>>);

impl Outboxes {
    /// Those of this moment.
    pub(super) fn now(&self) -> Arc<HashMap<i32, Outbox>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes them; who looks at them already keeps those from before.
    pub(super) fn change(&self, change: impl FnOnce(&mut HashMap<i32, Outbox>)) {
        change(Arc::make_mut(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}

/// A worker's connections for all that.
pub(super) struct Rounds {
    pub(super) carrier: Carrier,
    pub(super) withdrawals: Withdrawals,
    pub(super) handover: Handover,
    /// Where the whole crawl has limits.
    pub(super) keeper: Option<Keeper>,
    pub(super) outboxes: Outboxes,
    /// What the workers are to do, each time that it is read.
    pub(super) states: UnboundedSender<State>,
}

impl Rounds {
    /// Goes on until the task is aborted. What fails is done in the next round.
    #[expect(clippy::disallowed_methods, reason = "waits for letters, which nothing announces")]
    pub(super) async fn run(mut self) {
        let mut reported = page::clock::instant();
        let mut looked = reported;
        loop {
            tokio::time::sleep(LETTERS).await;
            // Not for longer than a round: an engine ends when nobody can send it letters any more.
            let outboxes = self.outboxes.now();
            if let Err(error) = self.carrier.deliver(&outboxes).await {
                tracing::debug!("no letters could be delivered: {}", with_causes(&error));
            }
            if let Err(error) = self.carrier.carry(&outboxes).await {
                tracing::debug!("no letters could be read: {}", with_causes(&error));
            }
            let is_due = reported.elapsed() >= REPORT;
            self.keep_limits(&outboxes, is_due).await;
            if looked.elapsed() >= withdrawals::LOOK {
                self.withdrawals.carry_out().await;
                self.handover.carry_out(self.withdrawals.links()).await;
                looked = page::clock::instant();
            }
            if is_due {
                reported = page::clock::instant();
                let limit = self.keeper.as_ref().and_then(|keeper| keeper.reached().limit());
                match self.carrier.say(&outboxes, limit.as_deref()).await {
                    // A worker that doesn't listen any more is about to end.
                    Ok(state) => drop(state.map(|state| self.states.send(state))),
                    Err(error) => tracing::debug!("the database doesn't answer: {}", with_causes(&error)),
                }
            }
        }
    }

    /// Shares the limits of the whole crawl, and looks whether one is reached where that `is_due`.
    async fn keep_limits(&mut self, outboxes: &HashMap<i32, Outbox>, is_due: bool) {
        let Some(keeper) = &mut self.keeper else { return };
        let mut kept = if is_due { keeper.look(outboxes).await } else { Ok(()) };
        if kept.is_ok() {
            kept = keeper.divide(outboxes).await;
        }
        if let Err(error) = kept {
            tracing::debug!("the limits can't be read: {}", with_causes(&error));
        }
    }
}
