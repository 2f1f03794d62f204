//! Members of a cluster, in this process: who owns what as they come and go.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use crawler::cluster::{Address, Claim, Member, Order};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::server::{Server, until};
use crate::store::new_crawl;

/// A member with what it owns. It does at once what it is asked to do.
pub(crate) struct Worker {
    pub(crate) member: Member,
    orders: UnboundedReceiver<Order>,
    owned: Vec<Claim>,
    pub(crate) is_gone: bool,
    given_back: usize,
}

impl Worker {
    pub(crate) fn join(address: &Address, name: &str) -> Self {
        let (member, orders) = Member::join(address.clone(), name).unwrap();
        Self { member, orders, owned: Vec::new(), is_gone: false, given_back: 0 }
    }

    /// Carries out the orders that have come; what it owns then.
    pub(crate) fn parts(&mut self) -> BTreeSet<i32> {
        self.obey();
        self.owned.iter().map(|claim| claim.part).collect()
    }

    pub(crate) fn obey(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Take(claim) => self.owned.push(claim),
                Order::GiveBack(part) => {
                    self.owned.retain(|claim| claim.part != part);
                    self.given_back += 1;
                    self.member.give_back(part);
                }
                Order::Gone => {
                    self.owned.clear();
                    self.is_gone = true;
                }
            }
        }
    }

    pub(crate) fn claims(&self) -> &[Claim] {
        &self.owned
    }
}

/// The partitions of `crate::store::new_crawl`.
const ALL: [i32; 4] = [0, 1, 2, 3];

#[test]
fn partitions_are_shared_as_workers_come_and_go_and_no_more_move_than_have_to() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let mut one = Worker::join(&address, "one");
    until(|| one.parts() == ALL.into());
    assert!(one.member.deadline().remaining().is_some_and(|left| left <= Duration::from_millis(2700)));
    let mut two = Worker::join(&address, "two");
    until(|| one.parts().len() == 2 && two.parts().len() == 2);
    let mut three = Worker::join(&address, "three");
    until(|| {
        let parts = [&mut one, &mut two, &mut three].map(Worker::parts);
        parts.iter().map(BTreeSet::len).collect::<Vec<_>>() == [2, 1, 1]
    });
    assert_eq!((one.given_back, two.given_back, three.given_back), (2, 1, 0));
    let all: BTreeSet<i32> = [one.parts(), two.parts(), three.parts()].concat_all();
    assert_eq!(all, ALL.into());
    // It leaves: what it had is taken at once, without a wait for its lease.
    let deadline = one.member.deadline();
    one.member.leave();
    assert_eq!(deadline.remaining(), None);
    assert_eq!(server.sql(&url, "select count(*) from part where owner = 1"), "0");
    until(|| two.parts().len() == 2 && three.parts().len() == 2);
    assert_eq!(server.sql(&url, "select count(*) from worker where alive"), "2");
    assert_eq!((two.given_back, three.given_back), (1, 0));
}

trait ConcatAll {
    fn concat_all(self) -> BTreeSet<i32>;
}

impl<const N: usize> ConcatAll for [BTreeSet<i32>; N] {
    fn concat_all(self) -> BTreeSet<i32> {
        self.into_iter().flatten().collect()
    }
}

#[test]
fn a_worker_that_was_declared_dead_hears_of_it_and_may_come_back() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let mut one = Worker::join(&address, "one");
    until(|| one.parts() == ALL.into());
    server.sql(&url, "update worker set alive = false");
    until(|| {
        one.obey();
        one.is_gone
    });
    assert_eq!(one.member.deadline().remaining(), None);
    assert!(one.parts().is_empty());
    let mut again = Worker::join(&address, "one");
    until(|| again.parts() == ALL.into());
    let fences = server.sql(&url, "select distinct fence from part");
    // Made under 1 and freed under 2.
    assert_eq!(fences, "5", "one claim, one end, one claim");
}

/// The database is away for longer than a lease, for all workers alike: their deadlines pass, and afterwards each continues with what it has.
#[test]
fn an_outage_of_the_database_kills_nobody() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let (mut one, mut two) = (Worker::join(&address, "one"), Worker::join(&address, "two"));
    until(|| one.parts().len() == 2 && two.parts().len() == 2);
    let before = (one.parts(), two.parts());
    server.kill();
    let deadlines = [one.member.deadline(), two.member.deadline()];
    until(|| deadlines.iter().all(|deadline| deadline.remaining().is_none()));
    // The leases are 3 s, and a silence of 3.3 s is death.
    crate::server::wait(Duration::from_secs(2));
    server.run();
    until(|| deadlines.iter().all(|deadline| deadline.remaining().is_some()));
    crate::server::wait(Duration::from_secs(1));
    assert_eq!((one.parts(), two.parts()), before);
    assert!(!one.is_gone && !two.is_gone);
    assert_eq!(server.sql(&url, "select max(fence) from part where owner is not null and fence > 5"), "");
}

/// A commit of a dead worker that reached the server in part holds locks; its connection is cut, and the partition taken over.
#[test]
fn locks_of_a_dead_worker_are_broken() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, address) = new_crawl(&server);
    let mut one = Worker::join(&address, "one");
    until(|| one.parts() == ALL.into());
    let mut psql = server
        .psql(&url)
        .env("PGAPPNAME", "crawl worker 1")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut orders = psql.stdin.take().unwrap();
    orders.write_all(b"begin; update part set commits = commits where id = 2;\n").unwrap();
    until(|| {
        server.sql(&url, "select count(*) from pg_stat_activity where state = 'idle in transaction'") == "1"
    });
    // A crash: no more beats.
    drop(one);
    let mut two = Worker::join(&address, "two");
    until(|| two.parts() == ALL.into());
    drop(orders);
    psql.wait().unwrap();
}
