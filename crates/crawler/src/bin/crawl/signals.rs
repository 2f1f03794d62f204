//! SIGINT and SIGTERM: the first finishes what is under way, the second stops at once. They are received on a thread of its own, and messages about
//! them are written on another: nothing that the crawl waits for holds up a signal.

use std::io;
use std::sync::Arc;
use std::thread::{self, Builder};
use std::time::Duration;

use crawler::engine::Stop as Request;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::exit;

/// How long a process that was asked to stop at once may still run. What it has committed survives its end.
const AT_MOST: Duration = Duration::from_millis(1_500);

/// How long its end may take then.
const ENDING: Duration = Duration::from_millis(300);

/// What the first signal has it say of a crawl.
pub(crate) const FINISHING: &str = "finishing the requests in flight; send the signal again to stop at once";
/// What the second one has it say.
pub(crate) const AT_ONCE: &str = "stopping at once";

/// Asks a crawl by `ask` to stop, as signals come. `say` gets the message for the user, and whether the signal may have been typed.
///
/// Whoever asked for it, the process ends within two seconds of a request to stop at once, with exit code 12; another signal ends it
/// without delay.
pub(crate) fn listen(
    ask: watch::Sender<Request>,
    say: impl Fn(&str, bool) + Send + Sync + 'static,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _here = runtime.enter();
        Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? }
    };
    let say = Arc::new(say);
    let listen = async move {
        let mut asked = ask.subscribe();
        while *ask.borrow() != Request::Now {
            let typed = tokio::select! {
                typed = signals.next() => typed,
                // `crawl stop --now` asks without a signal.
                _ = asked.wait_for(|asked| *asked == Request::Now) => break,
            };
            // `crawl stop` may have been the first.
            let (request, words) = match *ask.borrow() {
                Request::No | Request::HandOver => (Request::Drain, FINISHING),
                Request::Drain | Request::Now => (Request::Now, AT_ONCE),
            };
            ask.send_replace(request);
            let say = Arc::clone(&say);
            aside(move || say(words, typed));
        }
        tokio::select! {
            () = pass(AT_MOST) => {}
            _ = signals.next() => {}
        }
        end();
    };
    Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(listen))?;
    Ok(())
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Waits for the next one. True for SIGINT, which may have been typed.
    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.interrupt.recv() => true,
            _ = self.terminate.recv() => false,
        }
    }
}

/// Does something that may wait for a reader of standard error, on a thread of its own. Without a thread it isn't done.
pub(crate) fn aside(what: impl FnOnce() + Send + 'static) {
    drop(Builder::new().name("said".to_owned()).spawn(what));
}

#[expect(clippy::disallowed_methods, reason = "a thread of its own waits for the end of the process")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Ends the process with the exit code of a forced stop, by SIGKILL where its exit is held up.
fn end() {
    // Should even that wait for something.
    aside(|| {
        thread::park_timeout(ENDING);
        let this = rustix::process::getpid();
        let _over = rustix::process::kill_process(this, rustix::process::Signal::KILL);
    });
    std::process::exit(exit::FORCED);
}
