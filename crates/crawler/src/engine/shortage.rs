//! A shortage of this machine: no file descriptor, port or memory for a request. No host is at fault, so it doesn't
//! count as an attempt; but repeating failing requests doesn't help either. Where no connection can be made the whole
//! crawl pauses, and one request
//! at a time tries whether it can go on. After `fetch.local_patience` that has an end: the URL in hand fails, and so does the run.

use std::collections::HashMap;
use std::time::Duration;

use super::settlement::Shortfall;
use crate::frontier::{HostId, Lease};
use page::url::CrawlUrl;

/// The first pause; doubled with each try in vain.
const FIRST: Duration = Duration::from_secs(1);

/// The longest pause between two tries.
const MOST: Duration = Duration::from_secs(30);

/// What is known of the shortage.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    /// The crawl's pause, while no connection can be made.
    pause: Option<Pause>,
    /// The URL at the head of a host's queue that couldn't be asked for, by host.
    waiting: HashMap<HostId, Waiting>,
    is_over: bool,
}

#[derive(Debug)]
struct Pause {
    since: Duration,
    length: Duration,
    until: Duration,
    /// The lease that tries whether the shortage is over: host and token.
    trial: Option<(HostId, u64)>,
}

#[derive(Debug)]
struct Waiting {
    url: CrawlUrl,
    since: Duration,
    tries: u32,
}

impl Shortage {
    /// Whether a request may be made.
    pub(super) fn lets(&self, now: Duration) -> bool {
        self.pause.as_ref().is_none_or(|pause| pause.until <= now && pause.trial.is_none())
    }

    /// Until when the crawl pauses. Where one request is out that tries whether it can go on, that ends first.
    pub(super) fn until(&self) -> Option<Duration> {
        let pause = self.pause.as_ref()?;
        Some(if pause.trial.is_some() { Duration::MAX } else { pause.until })
    }

    /// Whether the crawl's patience has come to its end.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// A request goes out.
    pub(super) fn leased(&mut self, lease: &Lease) {
        if let Some(pause) = &mut self.pause {
            pause.trial = Some((lease.host, lease.token));
        }
    }

    /// A visit is over; `asked` says that a request was made.
    pub(super) fn passed(&mut self, lease: &Lease, asked: bool) {
        if self.waiting.get(&lease.host).is_some_and(|waiting| waiting.url == lease.url) {
            self.waiting.remove(&lease.host);
        }
        if let Some(pause) = &mut self.pause
            && pause.trial == Some((lease.host, lease.token))
        {
            pause.trial = None;
            if asked {
                self.pause = None;
            }
        }
    }

    /// A request couldn't be made, or (`asked`) there was no memory for its answer since then.
    pub(super) fn failed(
        &mut self,
        lease: &Lease,
        asked: Option<Duration>,
        patience: Duration,
        now: Duration,
    ) -> Shortfall {
        let first = || Waiting { url: lease.url.clone(), since: asked.unwrap_or(now), tries: 0 };
        let waiting = self.waiting.entry(lease.host).or_insert_with(first);
        if waiting.url != lease.url {
            *waiting = first();
        }
        let end = waiting.since.saturating_add(patience);
        let wait = doubled(waiting.tries).min(end.saturating_sub(now));
        waiting.tries += 1;
        let mut verdict = Shortfall { begins: false, gives_up: now >= end, wait };
        if asked.is_some() {
            // A connection could be made.
            self.pause = None;
        } else {
            verdict.begins = self.pause_all(lease, patience, now);
            verdict.gives_up |= self.is_over;
        }
        if verdict.gives_up {
            self.waiting.remove(&lease.host);
        }
        verdict
    }

    /// Starts or continues the crawl's pause; true if it started.
    fn pause_all(&mut self, lease: &Lease, patience: Duration, now: Duration) -> bool {
        let Some(pause) = &mut self.pause else {
            let until = now.saturating_add(FIRST.min(patience));
            self.pause = Some(Pause { since: now, length: FIRST, until, trial: None });
            self.is_over |= patience.is_zero();
            return true;
        };
        // What was under way when the pause began doesn't make it longer.
        if pause.trial == Some((lease.host, lease.token)) {
            pause.trial = None;
            let end = pause.since.saturating_add(patience);
            self.is_over |= now >= end;
            pause.length = pause.length.saturating_mul(2).min(MOST);
            pause.until = now.saturating_add(pause.length).min(end.max(now));
        }
        false
    }
}

fn doubled(tries: u32) -> Duration {
    FIRST.saturating_mul(1 << tries.min(16)).min(MOST)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frontier::{HostState, QueuedUrl, Work};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn lease(host: u32, token: u64) -> Lease {
        let url = CrawlUrl::parse(&format!("http://h{host}.test/")).unwrap();
        let work = Work::Visit(QueuedUrl::link(&url, 0, None));
        let (class, state) = (Arc::default(), HostState::of_a_test());
        Lease { host: HostId(host), token, url, work, rested: None, class, booking: None, state }
    }

    #[test]
    fn one_request_at_a_time_tries_and_a_connection_ends_the_pause() {
        let mut shortage = Shortage::default();
        assert!(shortage.lets(secs(0)));
        assert!(shortage.failed(&lease(0, 1), None, PATIENCE, secs(5)).begins);
        // What was under way by then joins it.
        assert!(!shortage.failed(&lease(1, 1), None, PATIENCE, secs(5)).begins);
        assert_eq!((shortage.lets(secs(5)), shortage.until()), (false, Some(secs(6))));
        assert!(shortage.lets(secs(6)));
        shortage.leased(&lease(2, 1));
        assert!(!shortage.lets(secs(6)), "one is out already");
        assert!(!shortage.failed(&lease(2, 1), None, PATIENCE, secs(6)).begins);
        assert_eq!(shortage.until(), Some(secs(8)), "twice as long");
        shortage.leased(&lease(2, 2));
        shortage.passed(&lease(2, 2), false);
        assert!(shortage.lets(secs(8)), "it asked nobody: another one may try");
        shortage.leased(&lease(0, 2));
        shortage.passed(&lease(0, 2), true);
        assert!(shortage.lets(secs(8)) && shortage.until().is_none());
        assert!(shortage.failed(&lease(1, 2), None, PATIENCE, secs(9)).begins, "another pause");
    }

    #[test]
    fn patience_has_an_end_for_a_url_and_for_the_crawl() {
        let mut shortage = Shortage::default();
        let mut now = secs(0);
        let mut tries = 0;
        // Others get connections all the time: no memory for this one's response.
        loop {
            let Shortfall { begins, gives_up, wait } =
                shortage.failed(&lease(0, tries), Some(now), PATIENCE, now);
            assert!(!begins && shortage.lets(now));
            if gives_up {
                break;
            }
            now += wait;
            tries += 1;
        }
        assert_eq!((now, tries), (PATIENCE, 6), "1 + 2 + 4 + 8 + 16 s, and the rest of 30 s");
        assert!(!shortage.is_over());
        assert!(
            !shortage.failed(&lease(0, 9), Some(now), PATIENCE, now).gives_up,
            "the next URL has its own time"
        );

        let waited = shortage.failed(&lease(1, 0), Some(now), PATIENCE, now + PATIENCE);
        assert!(waited.gives_up, "its answer has waited for memory all that time");

        let mut shortage = Shortage::default();
        shortage.failed(&lease(0, 0), None, PATIENCE, secs(0));
        let mut tries = 1;
        while let Some(until) = shortage.until().filter(|_| !shortage.is_over()) {
            assert!(until <= PATIENCE);
            shortage.leased(&lease(tries, 0));
            let verdict = shortage.failed(&lease(tries, 0), None, PATIENCE, until);
            assert_eq!(verdict.gives_up, until == PATIENCE, "the URL in hand");
            tries += 1;
        }
        assert_eq!(tries, 7);
    }
}
