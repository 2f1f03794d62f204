//! The one connection that writes: what waits is committed together, for several partitions in one statement, each under its fence.
//!
//! One statement and no transaction of several: a worker that is stopped in between would hold locks.

use tokio::sync::mpsc::UnboundedReceiver;

use super::Claim;
use super::connection::{Error, Link, Pauses, may_pass};
use super::gather::RecentGroups;
use super::part_commit::PartCommit;
use crate::causes::{Cause, with_causes};
use crate::store::StoreError;
use page::clock;

/// `held` are the partitions that are still owned under this fence and have made all commits before this one; nothing else is
/// written. No key may occur twice in one commit.
const COMMIT: &str = "
with held as (
    update part set commits = asked.number
    from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[]) as asked(part, owner, fence, number)
    where part.id = asked.part and part.owner = asked.owner and part.fence = asked.fence
        and part.commits = asked.number - 1::int8
    returning part.id
), gone as (
    delete from kv using unnest($5::int4[], $6::int2[], $7::bytea[]) as gone(part, tree, key)
    where kv.part = gone.part and kv.tree = gone.tree and kv.key = gone.key
        and gone.part in (select id from held)
), kept as (
    insert into kv(part, tree, key, value)
    select new.part, new.tree, new.key, new.value
    from unnest($8::int4[], $9::int2[], $10::bytea[], $11::bytea[]) as new(part, tree, key, value)
    where new.part in (select id from held)
    on conflict (part, tree, key) do update set value = excluded.value
)
select id from held";

/// Writes what is there already: once this is answered, the commit that made it so is as durable as this one.
const CONFIRM: &str = "
update part set commits = commits where id = $1 and owner = $2 and fence = $3 and commits = $4 returning id";

const LOOK: &str = "select commits from part where id = $1 and owner = $2 and fence = $3";

/// What became of a commit whose answer was lost.
enum Outcome {
    Stored,
    NotYet,
    Fenced,
}

/// Why a commit wasn't answered.
enum Trouble {
    /// It may have been stored; the connection is lost, or no commit is acknowledged for the time being.
    Unknown(Cause),
    /// It wasn't, and won't be.
    Refused(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        if may_pass(&error) { Self::Unknown(error.into()) } else { Self::Refused(error) }
    }
}

/// Commits one group after the other.
pub(super) struct Writer {
    link: Link,
}

impl Writer {
    pub(super) fn new(link: Link) -> Self {
        Self { link }
    }

    /// Commits what comes until nothing more can come.
    pub(super) async fn run(mut self, mut asked: UnboundedReceiver<PartCommit>) {
        let mut recent = RecentGroups::default();
        let mut next = asked.recv().await;
        while let Some(first) = next.take() {
            let group = recent.gather(first, &mut asked, clock::instant()).await;
            let parts = group.commits.iter().map(|asked| asked.claim.part).collect();
            let began = clock::instant();
            self.commit(group.commits).await;
            recent.committed(parts, began);
            next = match group.next {
                Some(next) => Some(next),
                None => asked.recv().await,
            };
        }
    }

    /// Commits a group, however often the connection is lost meanwhile, and answers each of it.
    async fn commit(&mut self, mut group: Vec<PartCommit>) {
        let mut pauses = Pauses::new(self.link.patience());
        let mut was_sent = false;
        while !group.is_empty() {
            let source = match self.try_once(&mut group, was_sent).await {
                Ok(()) => return,
                Err(Trouble::Unknown(source)) => source,
                Err(Trouble::Refused(error)) if group.len() > 1 => {
                    tracing::warn!("a commit was refused: {}", with_causes(&error));
                    // One of them is at fault; the others needn't suffer.
                    for alone in group {
                        Box::pin(self.commit(vec![alone])).await;
                    }
                    return;
                }
                Err(Trouble::Refused(error)) => {
                    let mut error = Some(error);
                    for asked in group {
                        let source = error.take().map_or_else(|| "refused".into(), Cause::from);
                        asked.reply(Err(StoreError::Server { doing: "commit", source }));
                    }
                    return;
                }
            };
            was_sent = true;
            self.link.close();
            let why = with_causes(&*source);
            if !pauses.wait().await {
                for asked in group {
                    let source = why.clone().into();
                    asked.reply(Err(StoreError::Server { doing: "commit", source }));
                }
                return;
            }
            tracing::warn!("a commit wasn't answered, trying again: {why}");
        }
    }

    /// Commits what isn't yet, answers what is known, and leaves the rest in the group. `was_sent` where some of it may be
    /// stored already.
    async fn try_once(&mut self, group: &mut Vec<PartCommit>, was_sent: bool) -> Result<(), Trouble> {
        if was_sent {
            self.sort_out(group).await?;
            if group.is_empty() {
                return Ok(());
            }
        }
        let held = self.send(group).await?;
        let (stored, others): (Vec<_>, Vec<_>) =
            group.drain(..).partition(|asked| held.contains(&asked.claim.part));
        for asked in stored {
            asked.reply(Ok(()));
        }
        *group = others;
        // An earlier attempt may have come through in the meantime.
        self.sort_out(group).await?;
        if group.is_empty() { Ok(()) } else { Err(Trouble::Unknown("the partition was locked".into())) }
    }

    /// Answers those whose outcome is known, and leaves those that have to be sent again.
    async fn sort_out(&mut self, group: &mut Vec<PartCommit>) -> Result<(), Trouble> {
        let mut at = 0;
        while let Some(asked) = group.get(at) {
            let part = asked.claim.part;
            match self.outcome(asked.claim).await? {
                Outcome::Stored => group.swap_remove(at).reply(Ok(())),
                Outcome::Fenced => group.swap_remove(at).reply(Err(StoreError::Fenced { part })),
                Outcome::NotYet => at += 1,
            }
        }
        Ok(())
    }

    async fn send(&mut self, group: &[PartCommit]) -> Result<Vec<i32>, Trouble> {
        let claims = || group.iter().map(|asked| asked.claim);
        let parts: Vec<i32> = claims().map(|claim| claim.part).collect();
        let owners: Vec<i64> = claims().map(|claim| claim.owner).collect();
        let fences: Vec<i64> = claims().map(|claim| claim.fence).collect();
        let numbers: Vec<i64> = claims().map(|claim| claim.commits).collect();
        let mut gone = (Vec::new(), Vec::new(), Vec::new());
        let mut kept = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for PartCommit { claim, removes, puts, .. } in group {
            for (tree, key) in removes {
                gone.0.push(claim.part);
                gone.1.push(*tree);
                gone.2.push(&key[..]);
            }
            for (tree, key, value) in puts {
                kept.0.push(claim.part);
                kept.1.push(*tree);
                kept.2.push(&key[..]);
                kept.3.push(&value[..]);
            }
        }
        let connection = self.link.connection().await?;
        connection.has_warned();
        let rows = connection
            .query(
                COMMIT,
                &[
                    &parts, &owners, &fences, &numbers, &gone.0, &gone.1, &gone.2, &kept.0, &kept.1, &kept.2,
                    &kept.3,
                ],
            )
            .await?;
        if connection.has_warned() {
            return Err(Trouble::Unknown("the standby server didn't confirm it".into()));
        }
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn outcome(&mut self, claim: Claim) -> Result<Outcome, Trouble> {
        let Claim { part, owner, fence, commits } = claim;
        let connection = self.link.connection().await?;
        connection.has_warned();
        let confirmed = connection.query(CONFIRM, &[&part, &owner, &fence, &commits]).await?;
        if connection.has_warned() {
            return Err(Trouble::Unknown("the standby server didn't confirm it".into()));
        }
        if !confirmed.is_empty() {
            return Ok(Outcome::Stored);
        }
        let found = connection.query(LOOK, &[&part, &owner, &fence]).await?;
        match found.first().map(|row| row.get::<_, i64>(0)) {
            Some(found) if found == commits - 1 => Ok(Outcome::NotYet),
            // It came through between the two statements: asked again, it is confirmed.
            Some(found) if found == commits => Err(Trouble::Unknown("it was being stored".into())),
            _ => Ok(Outcome::Fenced),
        }
    }
}
