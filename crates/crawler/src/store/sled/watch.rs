//! Keeps a call of sled from waiting forever after a failed write.
//!
//! sled 0.34.7 writes its buffers on threads of its own. Where such a write fails, `exit_reservation` records the error
//! but doesn't wake the thread that waits in `flush` for the write. Each later call of `flush` finds the error and wakes
//! all that wait, so one is made when the first takes long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;

/// The time between two looks at the call under way.
const TICK: Duration = Duration::from_secs(1);

/// The longest time between two calls of `flush` for one call, in ticks.
const LONGEST: u32 = 60;

/// The thread that watches the calls of one database, from the first of them on: starting a thread for each of them takes as long as a small commit.
#[derive(Default)]
pub(super) struct Watch {
    /// How many calls have begun and ended: odd while one is under way.
    calls: Arc<AtomicU64>,
    thread: Mutex<Option<Watcher>>,
}

struct Watcher {
    over: Sender<()>,
    thread: JoinHandle<()>,
}

/// Counts the end of a call, however it ends.
struct UnderWay<'a>(&'a AtomicU64);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        count(self.0);
    }
}

fn count(calls: &AtomicU64) {
    calls.fetch_add(1, Ordering::Relaxed);
}

impl Watch {
    /// Makes a call that may wait for a write. One is made at a time. Cost: the first starts a thread, which looks once a second.
    pub(super) fn watched<T>(&self, db: &sled::Db, call: impl FnOnce() -> T) -> T {
        self.start(db);
        count(&self.calls);
        let _under_way = UnderWay(&self.calls);
        call()
    }

    /// Where no thread can be started the call is made unwatched, and the next one tries again.
    fn start(&self, db: &sled::Db) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (over, is_over) = channel();
            let (calls, db) = (Arc::clone(&self.calls), db.clone());
            // Where there is no error it waits as long as the call itself.
            let look = move || drop(super::guard::caught(|| db.flush()));
            let started = Builder::new()
                .name("sled-watch".to_owned())
                .spawn(move || watch(&calls, &is_over, TICK, &look));
            *thread = started.ok().map(|thread| Watcher { over, thread });
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Watcher { over, thread }) = thread {
            drop(over);
            drop(thread.join());
        }
    }
}

/// Calls `look`, on a thread of its own, where one call is under way for long: after one to two ticks, and then each time after twice as long.
#[expect(clippy::disallowed_methods, reason = "a thread of its own watches another")]
fn watch(calls: &AtomicU64, is_over: &Receiver<()>, tick: Duration, look: &(impl Fn() + Sync)) {
    thread::scope(|scope| {
        let (mut seen, mut ticks, mut patience) = (0, 0, 1);
        while is_over.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
            let now = calls.load(Ordering::Relaxed);
            if now.is_multiple_of(2) || now != seen {
                (seen, ticks, patience) = (now, 0, 1);
                continue;
            }
            ticks += 1;
            if ticks == patience {
                (ticks, patience) = (0, (2 * patience).min(LONGEST));
                // Without another thread there is no look this time.
                drop(Builder::new().name("sled-look".to_owned()).spawn_scoped(scope, look));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "waits for another thread, with an end")]
    fn a_call_that_takes_long_is_looked_after_and_one_that_does_not_is_not() {
        let (calls, looks) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let (over, is_over) = channel();
        let (looked, looks_come) = channel();
        let looked = Mutex::new(looked);
        let look = || {
            looks.lock().unwrap().push(calls.load(Ordering::Relaxed));
            looked.lock().unwrap().send(()).unwrap_or_default();
        };
        thread::scope(|scope| {
            let (calls, look) = (&calls, &look);
            scope.spawn(move || watch(calls, &is_over, Duration::from_millis(400), look));
            // Many short ones: each has another number whenever the thread looks.
            let (_never, pause) = channel::<()>();
            for _ in 0..100 {
                count(calls);
                let _under_way = UnderWay(calls);
                pause.recv_timeout(Duration::from_millis(10)).unwrap_err();
            }
            assert!(looks.lock().unwrap().is_empty());
            count(calls);
            let under_way = UnderWay(calls);
            looks_come.recv_timeout(Duration::from_secs(60)).unwrap();
            looks_come.recv_timeout(Duration::from_secs(60)).unwrap();
            drop(under_way);
            drop(over);
        });
        assert!(looks.into_inner().unwrap().iter().all(|call| *call == 201));
    }
}
