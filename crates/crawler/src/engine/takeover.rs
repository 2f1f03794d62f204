//! A partition whose last owner died: how long its hosts rest, and which requests that owner had in flight.
//!
//! The file in which the dead worker noted its requests is on its own machine, so the next owner doesn't know which hosts were asked: all of them rest
//! for as long as a request may take. When the dead worker is started again with its directory, it sends what its file has as a letter, and the
//! requests are entered that aren't on record. Until then a [`DeadOwner`] says that some may be missing.

use std::time::Duration;

use super::{Engine, interrupted};
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::intents::Intent;
use crate::ledger;
use crate::pace::{Delay, DelayReason};
use crate::record::{DeadOwner, OWNER, PlainReason, RequestMade};
use crate::store::{Store, StoreError, Tree};
use page::clock::Now;

/// The owner of a partition, and those before it that died.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// The number of the worker; none for a crawl that is whole.
    worker: Option<i64>,
    died: Vec<DeadOwner>,
    /// For how long from now hosts may work on requests of dead owners.
    pub(super) at_work: Duration,
}

impl Takeover {
    /// Of partition `part`, which this worker takes over after so many runs. A request takes `timeout` at most.
    pub(super) fn of_partition<S: Store>(
        store: &S,
        (part, worker): (u32, i64),
        run: u64,
        timeout: Duration,
        now: Now,
    ) -> Result<Self, StoreError> {
        let mut died = DeadOwner::all(store)?;
        let before = store.get(Tree::Meta, OWNER)?;
        let before = before.and_then(|number| std::str::from_utf8(&number).ok()?.parse().ok());
        if let Some(before) = before {
            let until = now.wall.checked_add(timeout).unwrap_or(now.wall);
            let entries = ledger::count(store)?;
            died.push(DeadOwner { v: 1, worker: before, part, run, entries, until, lost: false });
        }
        let longest = died.iter().map(|died| died.until).max().unwrap_or(now.wall);
        let at_work = Duration::try_from(longest.duration_since(now.wall)).unwrap_or_default().min(timeout);
        Ok(Self { worker: Some(worker), died, at_work })
    }

    /// How many requests of this day a host may have had that aren't counted yet: one of each owner that died in the last two days.
    pub(super) fn uncounted(&self, now: Now) -> u64 {
        let day = jiff::SignedDuration::from_hours(48);
        let is_late = |died: &&DeadOwner| died.until.saturating_add(day).is_ok_and(|end| end > now.wall);
        self.died.iter().filter(is_late).count() as u64
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Enters with the start of a run who has the partition, and who died with it.
    pub(super) fn enter_owner(&mut self) -> Result<(), CommitError> {
        let Some(worker) = self.takeover.worker else { return Ok(()) };
        self.frontier.put(Tree::Meta, OWNER.to_vec(), worker.to_string().into_bytes());
        for died in &self.takeover.died {
            self.frontier.put(Tree::Meta, died.key(), serde_json::to_vec(died)?);
        }
        Ok(())
    }

    /// Enters with the end of a run that nothing is in flight.
    pub(super) fn remove_owner(&mut self) {
        if self.takeover.worker.is_some() {
            self.frontier.remove(Tree::Meta, OWNER.to_vec());
        }
    }

    /// Enters the requests that a dead owner had in flight, from its file: those that aren't on record. No host waits for them: all have rested since the
    /// partition was taken over. Cost: the entries are read that the ledger got since the first of them was sent, until the owner died.
    pub(super) fn enter_handed_in(&mut self, worker: i64, intents: &[Intent]) -> Result<(), CommitError> {
        let (known, others) =
            std::mem::take(&mut self.takeover.died).into_iter().partition(|died| died.worker == worker);
        self.takeover.died = others;
        let known: Vec<DeadOwner> = known;
        for died in known {
            let of_run: Vec<&Intent> = intents.iter().filter(|intent| intent.run == died.run).collect();
            let missing = missing(&**self.frontier.store(), &died, of_run)?;
            for intent in missing {
                let id = self.frontier.host_id(&intent.host)?;
                let no_wait = Delay { length: Duration::ZERO, why: DelayReason::Restart };
                self.frontier.begin_days(id, &self.settings.wishes, intent.started());
                self.frontier.count_interrupted(id, intent.aim.is_robots(), Duration::ZERO, no_wait);
                let earlier = self.totals.runs.saturating_sub(intent.run);
                self.enter_interrupted(
                    intent,
                    PlainReason::Interrupted,
                    None,
                    made(intent, self.clock.now()),
                    earlier,
                );
            }
            self.frontier.remove(Tree::Meta, died.key());
        }
        self.touch(64);
        Ok(())
    }

    /// The directories of these workers are lost: nobody will know which requests they had in flight.
    pub(super) fn give_up_requests(&mut self, workers: &[i64]) -> Result<(), CommitError> {
        for died in self.takeover.died.iter_mut().filter(|died| workers.contains(&died.worker)) {
            died.lost = true;
            self.frontier.put(Tree::Meta, died.key(), serde_json::to_vec(died)?);
        }
        self.touch(64);
        Ok(())
    }
}

/// The record of a request of a run that is over.
fn made(intent: &Intent, now: Now) -> RequestMade {
    let passed = Duration::try_from(now.wall.duration_since(intent.started())).unwrap_or_default();
    interrupted::request(intent, intent.timeout().saturating_sub(passed))
}

/// Those of these requests that a dead owner didn't put on record.
fn missing<'a, S: Store>(
    store: &S,
    died: &DeadOwner,
    mut open: Vec<&'a Intent>,
) -> Result<Vec<&'a Intent>, CommitError> {
    let Some(first) = open.iter().map(|intent| intent.started()).min() else { return Ok(open) };
    let mut upto = died.entries;
    while upto > 0 && !open.is_empty() {
        let (from, entries) = ledger::entries_with(store, upto - 1)?;
        for request in
            entries.iter().filter_map(|entry| Some((&entry.host, entry.evidence.request.as_ref()?)))
        {
            open.retain(|intent| intent.host != *request.0 || intent.started() != request.1.started);
        }
        if from >= upto || entries.iter().all(|entry| entry.at < first) {
            break;
        }
        upto = from;
    }
    Ok(open)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::intents::Aim;
    use crate::record::{Decided, Decision, Evidence, Layer};
    use crate::store::{MemoryStore, Write};

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn at(secs: i64) -> Now {
        Now { mono: Duration::ZERO, wall: Timestamp::from_second(1_800_000_000 + secs).unwrap() }
    }

    fn put(store: &MemoryStore, key: &[u8], value: Vec<u8>) {
        store.commit(vec![Write::put(Tree::Meta, key.to_vec(), value)]).unwrap();
    }

    #[test]
    fn hosts_of_an_owner_that_died_rest_for_as_long_as_a_request_may_take() {
        let store = MemoryStore::default();
        let open = |run, secs| Takeover::of_partition(&store, (9, 4), run, TIMEOUT, at(secs)).unwrap();
        assert_eq!((open(0, 0).at_work, open(0, 0).died), (Duration::ZERO, Vec::new()), "a new partition");
        put(&store, OWNER, b"3".to_vec());
        let takeover = open(5, 100);
        let expected =
            DeadOwner { v: 1, worker: 3, part: 9, run: 5, entries: 0, until: at(130).wall, lost: false };
        assert_eq!((takeover.at_work, &takeover.died[..]), (TIMEOUT, &[expected.clone()][..]));
        // An owner that ends in order, before the time is over, leaves the rest of it to the next.
        store.commit(vec![Write::remove(Tree::Meta, OWNER)]).unwrap();
        put(&store, &expected.key(), serde_json::to_vec(&expected).unwrap());
        assert_eq!(open(6, 110).at_work, Duration::from_secs(20));
        assert_eq!(open(6, 131).at_work, Duration::ZERO);
        assert_eq!(open(6, 131).died, [expected], "what it had in flight isn't known yet");
        // No clock makes it longer.
        assert_eq!(open(6, -1_000).at_work, TIMEOUT);
    }

    fn intent(host: &str, secs: i64) -> Intent {
        Intent {
            run: 5,
            number: 0,
            host: host.to_owned(),
            url: format!("http://{host}/"),
            aim: Aim::Url,
            started_us: at(secs).wall.as_microsecond(),
            clock_us: 0,
            boot: None,
            timeout_ms: 30_000,
            gap_us: 0,
            gap_why: DelayReason::Configured,
            address: None,
        }
    }

    fn entry(host: &str, ended: i64, request: Option<RequestMade>) -> Decision {
        Decision {
            at: at(ended).wall,
            url: format!("http://{host}/"),
            host: host.to_owned(),
            decision: Decided::Fetched,
            layer: Layer::Fetch,
            reason: PlainReason::Run.into(),
            evidence: Evidence::default().with_request(request),
            via: None,
        }
    }

    /// Appends entries to the ledger of a store, and returns how many there are.
    fn append(store: &MemoryStore, entries: Vec<Decision>) -> u64 {
        let mut ledger = ledger::Ledger::open(store).unwrap();
        store.commit(ledger.append(entries).unwrap()).unwrap();
        ledger::count(store).unwrap()
    }

    #[test]
    fn what_a_dead_owner_put_on_record_is_not_entered_again() {
        let store = MemoryStore::default();
        let made = |host: &str, secs| Some(made(&intent(host, secs), at(secs + 1)));
        append(&store, (0..300).map(|secs| entry("a.test", secs + 1, made("a.test", secs))).collect());
        append(&store, vec![entry("b.test", 302, made("b.test", 299)), entry("c.test", 303, None)]);
        let others = (0..200).map(|number| entry("d.test", 304 + number, None));
        let entries = append(&store, others.collect());
        // Of the next owner: it asks for the same at another time.
        append(&store, vec![entry("c.test", 900, made("c.test", 899))]);
        let died = DeadOwner { v: 1, worker: 3, part: 9, run: 5, entries, until: at(0).wall, lost: false };
        let intents =
            [intent("a.test", 299), intent("b.test", 299), intent("b.test", 301), intent("c.test", 300)];
        let found = missing(&store, &died, intents.iter().collect()).unwrap();
        assert_eq!(found, [&intents[2], &intents[3]]);
        assert_eq!(missing(&store, &died, Vec::new()).unwrap(), Vec::<&Intent>::new());
        let none = DeadOwner { entries: 0, ..died };
        assert_eq!(
            missing(&store, &none, vec![&intents[0]]).unwrap(),
            [&intents[0]],
            "it died before its first"
        );
    }

    #[test]
    fn a_request_is_of_the_run_in_which_it_was_made() {
        let of = |words: &str, decision| Decision {
            decision,
            evidence: Evidence::default().with_words(words),
            ..entry("a.test", 0, None)
        };
        for (words, runs) in [
            ("what came of it isn't known; runs begun since: 2", 2),
            ("robots.txt of http://b.test; runs begun since: 1", 1),
            ("what came of it isn't known", 0),
            ("what came of it isn't known; runs begun since: x", 0),
        ] {
            assert_eq!(of(words, Decided::Interrupted).runs_earlier(), runs, "{words}");
            assert_eq!(of(words, Decided::Fetched).runs_earlier(), 0, "{words}");
        }
    }
}
