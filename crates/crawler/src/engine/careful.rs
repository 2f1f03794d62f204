//! A partition whose last owner died: what it may have been reading is read alone first.
//!
//! The dead worker's notes are on its own machine. But whatever it was reading was the first of a queue of its host, and still is, since nothing of
//! it was committed; or it was a file of the host that is asked for before. So the first URL of each queue of each host is suspected once, and the host's
//! files with it. An owner that ends in order may not have come to all of them: until the partition is complete, each further owner does the same.

use std::collections::HashMap;

use super::Engine;
use crate::fetch::Fetch;
use crate::frontier::{Lease, Priority, QueuedUrl, Work};
use crate::record::{EndRecord, RUN_END, SiteFile};
use crate::store::{Store, StoreError, Tree};
use page::ids::HostId;
use page::url::CrawlUrl;

/// Key in tree `meta` of a partition, from the first commit after a death until the partition is complete; empty.
const CAREFUL: &[u8] = b"careful";

/// The queues of each host from which a URL was suspected, as bits; none where no owner died since the partition was complete. 16 bytes a host that
/// was asked.
#[derive(Debug, Default)]
pub(super) struct Careful(Option<HashMap<HostId, u8>>);

impl Careful {
    /// For a partition, by how its last owners ended.
    pub(super) fn of_partition<S: Store>(store: &S) -> Result<Self, StoreError> {
        let end = store.get(Tree::Meta, RUN_END.as_bytes())?;
        let end = end.and_then(|end| serde_json::from_slice::<EndRecord>(&end).ok());
        let has_died = end.is_some_and(|end| end.is_of_death()) || store.get(Tree::Meta, CAREFUL)?.is_some();
        Ok(Self(has_died.then(HashMap::new)))
    }

    /// Whether it is the first of its queue, and whether the first of its host.
    fn firsts(&mut self, lease: &Lease) -> (bool, bool) {
        let Some(hosts) = &mut self.0 else { return (false, false) };
        let bit = 1
            << match &lease.work {
                Work::Visit(item) => queue(item),
                Work::Sitemap(_) => 6,
                Work::RobotsFetch(_) => 7,
            };
        let met = hosts.entry(lease.host).or_default();
        let firsts = (*met & bit == 0, *met == 0);
        *met |= bit;
        firsts
    }
}

/// The number of the queue that a URL is in.
fn queue(item: &QueuedUrl) -> u8 {
    let is_again = item.tries > 0 || item.has_head_seen();
    match item.priority() {
        Priority::Resource => 0,
        _ if is_again => 1,
        Priority::First => 1,
        Priority::Link | Priority::Untested => 2,
        Priority::Costly => 3,
    }
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Leaves the next owners of the partition word that one has died. Enters it with the start of a run.
    pub(super) fn stay_careful(&mut self) {
        if self.careful.0.is_some() {
            self.frontier.put(Tree::Meta, CAREFUL.to_vec(), Vec::new());
        }
    }

    /// Takes that back, once nothing is queued that the dead owner may have been reading.
    pub(super) fn end_careful(&mut self) {
        if self.careful.0.is_some() {
            self.frontier.remove(Tree::Meta, CAREFUL.to_vec());
        }
    }

    /// Suspects what is about to be asked for, where the last owner of the partition may have died of it.
    pub(super) fn suspect_first(&mut self, lease: &Lease) {
        let (is_first_of_queue, is_first_of_host) = self.careful.firsts(lease);
        let suspects = &self.context.pages.suspects;
        if is_first_of_queue {
            let url = if let Work::RobotsFetch(robots_fetch) = &lease.work {
                &robots_fetch.url
            } else {
                &lease.url
            };
            suspects.add(url.fingerprint(&self.key));
        }
        if is_first_of_host {
            let base = lease.url.to_url();
            for path in ["/robots.txt", SiteFile::TdmRep.path(), SiteFile::AiTxt.path()] {
                if let Ok(url) = CrawlUrl::join(&base, path) {
                    suspects.add(url.fingerprint(&self.key));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{Marks, Permit};
    use crate::store::{MemoryStore, Write};

    fn lease(host: u32, work: Work) -> Lease {
        Lease { host: HostId(host), work, ..Permit::of_a_test().lease().clone() }
    }

    fn item(marks: Marks, tries: u8) -> Work {
        let url = CrawlUrl::parse("http://a.test/x").unwrap();
        Work::Visit(QueuedUrl { tries, ..QueuedUrl::link(&url, 1, None).marked(marks) })
    }

    #[test]
    fn the_first_of_each_queue_of_each_host_is_suspected_once() {
        let none = Marks::default();
        let mut careful = Careful(Some(HashMap::new()));
        for (host, work, expected) in [
            (1, item(none, 0), (true, true)),
            (1, item(none, 0), (false, false)),
            (1, item(none, 1), (true, false)),
            (1, item(Marks::SEED, 0), (false, false)),
            (1, item(Marks::RESOURCE, 0), (true, false)),
            (1, item(Marks::RESOURCE, 1), (false, false)),
            (2, item(Marks::SEED, 0), (true, true)),
            (2, item(none, 0), (true, false)),
        ] {
            assert_eq!(careful.firsts(&lease(host, work.clone())), expected, "{host} {work:?}");
        }
        assert_eq!(Careful::default().firsts(&lease(1, item(none, 0))), (false, false));
    }

    #[test]
    fn only_an_owner_that_died_leaves_a_partition_with_suspects() {
        for (end, expected) in [(None, false), (Some("running"), true), (Some("interrupted"), false)] {
            let store = MemoryStore::default();
            if let Some(end) = end {
                let at = jiff::Timestamp::UNIX_EPOCH;
                let record = EndRecord { end: end.to_owned(), limit: None, at };
                let value = serde_json::to_vec(&record).unwrap();
                store.commit(vec![Write::put(Tree::Meta, RUN_END, value)]).unwrap();
            }
            assert_eq!(Careful::of_partition(&store).unwrap().0.is_some(), expected, "{end:?}");
        }
    }

    #[test]
    fn an_owner_in_between_that_ends_in_order_clears_no_suspicion() {
        let store = MemoryStore::default();
        let end = |end: &str| {
            let record = EndRecord { end: end.to_owned(), limit: None, at: jiff::Timestamp::UNIX_EPOCH };
            Write::put(Tree::Meta, RUN_END, serde_json::to_vec(&record).unwrap())
        };
        store.commit(vec![Write::put(Tree::Meta, CAREFUL, Vec::new()), end("interrupted")]).unwrap();
        assert!(Careful::of_partition(&store).unwrap().0.is_some());
    }
}
