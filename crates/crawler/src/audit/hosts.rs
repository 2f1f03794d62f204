//! Judges the requests host by host: one host's, and of them two in a row, are in memory at a time.

use super::operator::Operator;
use super::pace::Pace;
use super::requests::{Asked, Entry, Read};
use super::robots_txt::RobotsTxt;
use super::settings::Run;
use super::wishes::Wishes;
use super::{AuditError, AuditRules, Check, pace};
use crate::record::{DeadOwner, RepairRecord};
use crate::store::Store;

/// The check that says that requests may be missing, and how.
const OVERLAP: &str = "overlap";
const UNKNOWN: &str = "requests_unknown";

/// The checks of pace, then those of robots.txt.
pub(super) fn judge<S: Store>(
    store: &S,
    read: Read,
    rules: &AuditRules,
    (runs, repair): (&[Run], Option<&RepairRecord>),
) -> Result<Vec<Check>, AuditError> {
    let Read { log, hosts, groups, .. } = read;
    let mut pace = Pace::new(&log, rules);
    let mut robots = RobotsTxt::new(store, &log, rules, repair);
    let mut operator = Operator::new(&log);
    let mut wishes = Wishes::new(&log, runs);
    let mut host: Option<String> = None;
    let mut before: Option<Box<Asked>> = None;
    for entry in hosts {
        let (name, entry) = entry?;
        if host.as_ref() != Some(&name) {
            (host, before) = (Some(name.clone()), None);
            pace.begin();
            robots.begin();
            operator.begin();
            wishes.begin();
        }
        match entry {
            Entry::WillPause => pace.will_pause(),
            Entry::Request(asked) => {
                pace.take(before.as_deref(), &asked)?;
                operator.take(&name, before.as_deref(), &asked);
                wishes.take(&name, before.as_deref(), &asked);
                robots.take(&name, before.as_deref(), &asked)?;
                before = Some(asked);
            }
            Entry::Pause(pause) => pace.pause(store, &name, &pause)?,
        }
    }
    let mut checks = pace.checks();
    // Workers that died have requests here that may not be on record.
    for _ in DeadOwner::all(store)? {
        checks.iter_mut().filter(|check| check.name == OVERLAP).for_each(|check| check.unchecked(UNKNOWN));
    }
    checks.extend(pace::judge_groups(&log, groups)?);
    checks.extend(robots.checks());
    checks.extend(operator.check());
    checks.push(wishes.check());
    for check in &mut checks {
        check.unjudged.clone_from(&log.silent);
    }
    Ok(checks)
}
