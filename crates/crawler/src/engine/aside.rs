//! An origin of a host whose robots.txt was never reachable, beside others of that host that respond: a port where nobody
//! listens, https with a broken certificate. Nothing of it is asked for, as of any such origin, but the host doesn't pause
//! for it: its URLs go to the end of the host's queue, behind those that can be fetched.

use std::collections::HashMap;

use crate::frontier::{HostId, Lease};

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

    /// Whether a URL of an origin whose robots.txt was never reachable goes to the end of the queue: the host has pages of
    /// another origin, and more in its queue (`queued`) than such URLs.
    pub(super) fn stands_aside(&mut self, lease: &Lease, queued: u64) -> bool {
        if lease.state.counts.pages == 0 {
            return false;
        }
        let row = self.row.entry(lease.host).or_default();
        *row += 1;
        if *row > queued.min(IN_A_ROW) {
            self.end_row(lease.host);
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::Permit;

    #[test]
    fn a_host_with_pages_of_another_origin_waits_only_when_its_whole_queue_was_put_back() {
        let mut asides = Asides::default();
        let permit = Permit::of_a_test();
        let mut lease = permit.lease().clone();
        assert!(!asides.stands_aside(&lease, 9), "no page of it was ever had");
        lease.state.counts.pages = 1;
        let row = |asides: &mut Asides, queued| {
            (0..queued + 2).map(|_| asides.stands_aside(&lease, queued)).collect::<Vec<_>>()
        };
        assert_eq!(row(&mut asides, 2), [true, true, false, true]);
        asides.end_row(lease.host);
        assert_eq!(row(&mut asides, 2), [true, true, false, true], "something else had its turn");
        asides.end_row(lease.host);
        let long = (0..=IN_A_ROW).filter(|_| asides.stands_aside(&lease, u64::MAX)).count() as u64;
        assert_eq!(long, IN_A_ROW);
    }
}
