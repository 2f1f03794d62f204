//! The start and the end of a run: why it ends, and how the ledger and the database say so.

use super::run::Run;
use super::{End, Engine, HOSTS_LISTED, Summary};
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::host_groups::HostGroups;
use crate::record::{Decided, Decision, EndRecord, Evidence, Layer, PlainReason, RUN_END};
use crate::store::{Store, StoreError, Tree};
use page::clock::Now;

/// Which hosts are one group, for the ledger: nothing where each is by itself.
fn groups_in_words(groups: &HostGroups) -> String {
    if groups.is_none() {
        return String::new();
    }
    let by = groups.by().as_str();
    match groups.lists() {
        0 => format!(", groups {by}"),
        lists => format!(", groups {by}, lists {lists}"),
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// True if no host is ready, nor will be soon enough to wait for it.
    pub(super) fn nothing_to_do(&mut self, now: Now) -> bool {
        // What is paused goes on once the user says so.
        let is_paused = self.steers.now.paused && self.frontier.counts().queued > 0;
        !is_paused
            && (self.limits.whole().is_some()
                || !self.hops.waits()
                    && self.frontier.next_ready().is_none_or(|at| at > now.mono)
                    && !self.frontier.has_prospect(now, self.settings.max_wait))
    }

    /// The limit that ends the run, with its value, where one is reached.
    pub(super) fn limit_reached(&self, now: Now) -> Option<String> {
        self.limits
            .reached(&self.totals, self.frontier.open_queues())
            .or_else(|| {
                let patience = self.settings.local_patience.as_secs_f64();
                let is_over = self.gates.shortage.is_over() && self.frontier.counts().queued > 0;
                is_over.then(|| format!("local-patience {patience}s"))
            })
            .or_else(|| self.limits.time_over(now))
    }

    /// Enters the start of a run.
    pub(super) fn enter_start(&mut self, now: Now) -> Result<(), CommitError> {
        let (decision, pace) =
            (if self.totals.runs > 1 { Decided::Resumed } else { Decided::Started }, self.settings.pace);
        let words = format!(
            "run {}; delay {} s, adaptive {}, max-delay {} s{}",
            self.totals.runs,
            pace.delay.as_secs_f64(),
            pace.adaptive,
            pace.max_delay.as_secs_f64(),
            groups_in_words(&self.settings.groups)
        );
        let boot = self.clock.boot().map(Box::new);
        let run = self.settings.run.take().map(|(run, text)| {
            self.frontier.put(Tree::Meta, run.key(), text.into_bytes());
            Box::new(run)
        });
        let evidence = Evidence { boot, run, ..words.into() };
        self.enter_run(decision, PlainReason::Run, evidence, now);
        self.stay_careful();
        self.enter_owner()?;
        self.put_end(&EndRecord { end: "running".to_owned(), limit: None, at: now.wall })
    }

    /// Ends a run for which nothing is under way: the summary if its end is on record; none where that is still to be committed.
    pub(super) fn end(&mut self, run: &mut Run<S>, now: Now) -> Result<Option<Summary>, CommitError> {
        let end = match run.stopping.clone() {
            Some(end) => end,
            None => self.parked()?.unwrap_or(End::Complete),
        };
        let summary = self.summary(end, now)?;
        if std::mem::replace(&mut run.end_entered, true) {
            return Ok(Some(summary));
        }
        self.enter_end(&summary, now)?;
        Ok(None)
    }

    /// The limit because of which pages, hosts or resources were skipped, if any were.
    fn parked(&mut self) -> Result<Option<End>, StoreError> {
        let closed = || self.limits.closed(self.frontier.open_queues(), self.frontier.has_closed());
        let limit = match self.limits.whole().or_else(closed) {
            Some(limit) => Some(limit),
            None => self.frontier.parked_for()?,
        };
        Ok(limit.map(End::Limit))
    }

    fn summary(&mut self, end: End, now: Now) -> Result<Summary, StoreError> {
        let remaining = self.frontier.remaining(now, HOSTS_LISTED)?;
        let remaining_hosts = self.frontier.remaining_hosts();
        Ok(Summary {
            end,
            totals: self.totals,
            queued: self.frontier.counts().queued,
            remaining,
            remaining_hosts,
        })
    }

    /// Enters the end of a run and puts it on record.
    fn enter_end(&mut self, summary: &Summary, now: Now) -> Result<(), CommitError> {
        let (reason, limit) = match &summary.end {
            End::Complete => (PlainReason::Complete, None),
            End::Limit(limit) => (PlainReason::Limit, Some(limit.clone())),
            End::Interrupted => (PlainReason::Interrupted, None),
            End::Forced => (PlainReason::Forced, None),
        };
        let words = format!("{} URLs still queued", summary.queued);
        let evidence = match limit.as_deref().and_then(|limit| limit.split_once(' ')) {
            Some((name, value)) => Evidence::limit(name, value).with_words(words),
            None => words.into(),
        };
        let end = reason.to_string();
        self.enter_run(Decided::Ended, reason, evidence, now);
        self.put_end(&EndRecord { end, limit, at: now.wall })?;
        if summary.end == End::Complete && summary.queued == 0 {
            self.end_careful();
        }
        self.remove_owner();
        self.touch(64);
        Ok(())
    }

    fn enter_run(&mut self, decision: Decided, reason: PlainReason, evidence: Evidence, now: Now) {
        self.decide(Decision {
            at: now.wall,
            url: String::new(),
            host: String::new(),
            decision,
            layer: Layer::Stop,
            reason: reason.into(),
            evidence: evidence.with_clock(now.mono),
            via: None,
        });
    }

    fn put_end(&mut self, record: &EndRecord) -> Result<(), CommitError> {
        self.frontier.put(Tree::Meta, RUN_END.into(), serde_json::to_vec(record)?);
        Ok(())
    }
}
