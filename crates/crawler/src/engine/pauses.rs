//! What the hosts of an earlier process wait for: pauses that it recorded and may not have committed, delays that are too long.

use std::time::Duration;

use super::{Engine, settlement};
use crate::fetch::Fetch;
use crate::pauses::Noted;
use crate::record::{Decided, Decision, Evidence, Layer};
use crate::store::{Store, StoreError};

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Lets every host wait for the rest of a pause that it asked for before the last process was killed. The run's first
    /// commit puts it on record.
    pub(super) fn restore_pauses(&mut self) -> Result<(), StoreError> {
        let Some(pauses) = self.pauses.clone() else { return Ok(()) };
        let (now, boot) = (self.clock.now(), self.clock.boot());
        // If the machine was rebooted since, the last of them shows at least how old the others were by then.
        let newest = pauses.noted()?.last().and_then(|noted| noted.boot);
        for noted in pauses.noted()? {
            let mut wait = noted.remaining(boot);
            wait.length = wait.length.min(noted.remaining(newest).length);
            let Noted { host, status, .. } = noted;
            if wait.length.is_zero() || self.elsewhere(&host).is_some() {
                continue;
            }
            let id = self.frontier.host_id(&host)?;
            let until = now.mono + crate::pace::as_the_site_sees(wait.length);
            // As a rule it is on record: then the host waits already.
            let slack = Duration::from_millis(100);
            if self.frontier.not_before(id) + slack >= until {
                continue;
            }
            self.frontier.wait(id, until, wait);
            self.group_pauses(id, until, wait.why)?;
            let words = format!("status {status}; recorded before the last run was killed");
            self.decide(Decision {
                at: now.wall,
                url: host.clone(),
                host,
                decision: Decided::Paused,
                layer: Layer::Pace,
                reason: wait.why.into(),
                evidence: Evidence::from(wait).with_words(words),
                via: None,
            });
        }
        Ok(())
    }

    /// Skips the hosts that still wait for a delay which is longer than the crawl accepts.
    pub(super) fn park_slow(&mut self) -> Result<(), StoreError> {
        let now = self.clock.now();
        for (host, asked) in self.frontier.park_slow(self.context.max_crawl_delay)? {
            let entry = settlement::too_slow(&host, &host, asked, &self.judge.rules, now).1;
            self.decide(entry);
        }
        Ok(())
    }

    /// Drops what is noted where all of it is on record: nothing is under way, and nothing waits to be committed.
    pub(super) fn drop_noted(&self, is_quiet: bool) {
        // The file of a worker holds those of all its partitions.
        let is_quiet = is_quiet && self.group.since.is_none() && self.post.is_none();
        if let Some(pauses) = self.pauses.as_ref().filter(|_| is_quiet) {
            pauses.clear();
        }
    }
}
