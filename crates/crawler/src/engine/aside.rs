//! An origin of a host whose robots.txt was never reachable, beside others of that host that respond: a port where nobody
//! listens, https with a broken certificate. Nothing of it is asked for, as of any such origin, but the host doesn't pause
//! for it: its URLs go to the end of the host's queue, behind those that can be fetched.

use std::collections::HashMap;
use std::sync::Arc;

use super::Engine;
use crate::clock::Now;
use crate::fetch::Fetch;
use crate::frontier::{HostId, Lease, QueuedUrl};
use crate::origin_cache::Kind;
use crate::pace::DelayReason;
use crate::record::{Decided, Evidence, Layer};
use crate::store::Store;

/// So many URLs of a host are put back one after the other at most. Then it pauses as a whole, until robots.txt is asked for
/// again.
const IN_A_ROW: u64 = 1_000;

/// What was put back.
#[derive(Debug, Default)]
pub(super) struct Asides {
    /// URLs in a row, by host: of hosts that have one of them at the head of their queue.
    row: HashMap<HostId, u64>,
}

impl Asides {
    /// Something else of the host had its turn.
    pub(super) fn end_row(&mut self, host: HostId) {
        self.row.remove(&host);
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Whether a URL of an origin whose robots.txt was never reachable goes to the end of the queue: the host has pages of
    /// another origin, and more in its queue than such URLs.
    pub(super) fn stands_aside(&mut self, lease: &Lease) -> bool {
        if lease.state.counts.pages == 0 {
            return false;
        }
        let most = self.frontier.queued_of(lease.host).min(IN_A_ROW);
        let row = self.asides.row.entry(lease.host).or_default();
        *row += 1;
        if *row > most {
            self.asides.end_row(lease.host);
            return false;
        }
        true
    }

    /// Puts it there. `gap` is what the host waits for anyhow.
    pub(super) fn set_aside(&mut self, lease: &Lease, item: QueuedUrl, why: &str, now: Now) {
        let origin = lease.url.origin().to_string();
        let caches = &self.context.caches;
        if caches.get::<()>(Kind::SetAside, &origin).is_none() {
            caches.keep(Kind::SetAside, &origin, Arc::new(()), 0);
            let words =
                format!("{origin}: {why}; its URLs are queued behind those of the host's other origins");
            let evidence = Evidence::from(words);
            self.decided(
                lease,
                now,
                Decided::PutBack,
                Layer::Robots,
                DelayReason::RobotsUnreachable,
                evidence,
            );
        }
        self.frontier.requeue(lease.host, item);
    }
}
