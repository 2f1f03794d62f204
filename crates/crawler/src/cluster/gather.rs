//! Which commits go together: those that wait, and those that are about to come.
//!
//! A statement costs the server about as much as the rows of several commits, so a commit waits for others where partitions have
//! committed just before that aren't among those that wait. It waits no longer than the last commit took, and [`MOST`] at most; one whose partition is the only
//! one never waits.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};

use super::part_commit::PartCommit;
use page::clock;

/// No further commit joins a group of this size, in bytes.
const GROUP_BYTES: usize = 16 * 1024 * 1024;

/// The longest that a commit waits for others.
const MOST: Duration = Duration::from_millis(5);

/// Commits of different partitions, which are made together, and one that has to be behind them.
pub(super) struct Group {
    pub(super) commits: Vec<PartCommit>,
    pub(super) next: Option<PartCommit>,
}

/// The partitions of the last two groups, and how long the last one took.
#[derive(Debug, Default)]
pub(super) struct RecentGroups {
    last: Vec<i32>,
    before: Vec<i32>,
    took: Duration,
}

impl RecentGroups {
    /// Puts a commit together with others.
    pub(super) async fn gather(
        &self,
        first: PartCommit,
        asked: &mut UnboundedReceiver<PartCommit>,
        now: Instant,
    ) -> Group {
        let until = now.checked_add(self.took.min(MOST)).unwrap_or(now);
        let mut bytes = first.bytes();
        let mut commits = vec![first];
        while bytes < GROUP_BYTES {
            let more = match asked.try_recv() {
                Ok(more) => Some(more),
                Err(_) if self.expects_more(&commits) => timeout_at(until, asked.recv()).await.ok().flatten(),
                Err(_) => None,
            };
            let Some(more) = more else { break };
            if commits.iter().any(|other| other.claim.part == more.claim.part) {
                return Group { commits, next: Some(more) };
            }
            bytes += more.bytes();
            commits.push(more);
        }
        Group { commits, next: None }
    }

    /// Whether fewer partitions are there than in the last two groups.
    fn expects_more(&self, commits: &[PartCommit]) -> bool {
        let earlier = self.before.iter().filter(|part| !self.last.contains(part));
        commits.len() < self.last.len() + earlier.count()
    }

    /// A group is over that was begun at this time.
    pub(super) fn committed(&mut self, parts: Vec<i32>, began: Instant) {
        self.took = clock::instant().saturating_duration_since(began);
        self.before = std::mem::replace(&mut self.last, parts);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::super::Claim;
    use super::*;

    fn commit(part: i32) -> PartCommit {
        let claim = Claim { part, owner: 1, fence: 1, commits: 1 };
        PartCommit { claim, removes: Vec::new(), puts: Vec::new(), reply: Box::new(drop) }
    }

    fn recent(last: &[i32], before: &[i32]) -> RecentGroups {
        RecentGroups { last: last.to_vec(), before: before.to_vec(), took: Duration::from_hours(1) }
    }

    /// What is gathered from partition 1 and those that are sent, and what has to follow.
    async fn gather(
        recent: &RecentGroups,
        send: impl FnOnce(UnboundedSender<PartCommit>),
    ) -> (Vec<i32>, Option<i32>) {
        let (sender, mut asked) = unbounded_channel();
        send(sender);
        // Far ahead: it doesn't count how long the test takes.
        let now = clock::instant() + Duration::from_hours(1);
        let group = recent.gather(commit(1), &mut asked, now).await;
        let parts = group.commits.iter().map(|commit| commit.claim.part).collect();
        (parts, group.next.map(|commit| commit.claim.part))
    }

    /// Sends partitions one after the other, each when the one before may have been taken.
    fn one_by_one(parts: &'static [i32]) -> impl FnOnce(UnboundedSender<PartCommit>) {
        move |sender| {
            drop(tokio::spawn(async move {
                for part in parts {
                    tokio::task::yield_now().await;
                    sender.send(commit(*part)).unwrap();
                }
                // The channel stays open.
                std::future::pending::<()>().await;
            }));
        }
    }

    #[tokio::test]
    async fn a_commit_waits_for_as_many_partitions_as_committed_just_before() {
        // Partition 2 was in both groups: three partitions, and the fourth one comes too late.
        let recent = recent(&[1, 2], &[2, 7]);
        assert_eq!(gather(&recent, one_by_one(&[3, 4, 5])).await, (vec![1, 3, 4], None));
    }

    #[tokio::test]
    async fn a_partition_that_is_alone_does_not_wait() {
        for alone in [RecentGroups::default(), recent(&[1], &[1])] {
            assert_eq!(gather(&alone, one_by_one(&[2])).await, (vec![1], None));
        }
    }

    #[tokio::test]
    async fn all_that_waits_goes_together_and_the_next_of_a_partition_behind_it() {
        let send = |sender: UnboundedSender<PartCommit>| {
            for part in [2, 3, 2, 4] {
                sender.send(commit(part)).unwrap();
            }
        };
        assert_eq!(gather(&RecentGroups::default(), send).await, (vec![1, 2, 3], Some(2)));
    }

    #[tokio::test]
    async fn nothing_is_waited_for_that_can_no_longer_come() {
        assert_eq!(gather(&recent(&[1, 2], &[3]), drop).await, (vec![1], None));
    }

    #[tokio::test]
    async fn a_commit_waits_no_longer_than_the_last_one_took() {
        let mut recent = recent(&[1, 2], &[3]);
        recent.took = Duration::ZERO;
        let (_open, mut asked) = unbounded_channel();
        let group = recent.gather(commit(1), &mut asked, clock::instant()).await;
        assert_eq!((group.commits.len(), group.next.is_none()), (1, true));
    }
}
