//! Keeps a call of sled from waiting forever after a failed write.
//!
//! sled 0.34.7 writes its buffers on threads of its own. Where such a write fails, `exit_reservation` records the error
//! but doesn't wake the thread that waits in `flush` for the write. Each later call of `flush` finds the error and wakes
//! all that wait, so one is made when the first takes long.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder};
use std::time::Duration;

/// How long a call may take before another thread looks for an error. Doubled each time.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// The longest time between two looks.
const LONGEST: Duration = Duration::from_secs(60);

/// Makes a call that may wait for a write. Cost: one thread for the time of the call.
#[expect(clippy::disallowed_methods, reason = "a thread of its own watches another")]
pub(super) fn watched<T>(db: &sled::Db, call: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (over, is_over) = channel::<()>();
        let watch = move || {
            let mut patience = FIRST_LOOK;
            while is_over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                // On a thread of its own: where there is no error it waits as long as the call itself.
                let look = || drop(super::guard::caught(|| db.flush()));
                // Without another thread there is no look this time.
                drop(Builder::new().name("sled-look".to_owned()).spawn_scoped(scope, look));
                patience = (2 * patience).min(LONGEST);
            }
        };
        // Where no thread can be started the call is made unwatched.
        drop(Builder::new().name("sled-watch".to_owned()).spawn_scoped(scope, watch));
        let result = call();
        drop(over);
        result
    })
}
