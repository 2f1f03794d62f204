//! The requests to one group of hosts (`pace.groups`) whose hosts are in different partitions of a cluster's crawl.
//!
//! Within a partition the clocks of its runs tell exactly ([`judge_groups`](super::pace::judge_groups)). Two partitions may have been crawled by two
//! machines at a time: then the times of day count, which all of them have from the database's clock.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::host_groups::{GroupOf, group_key};
use super::{AuditError, AuditRules, Check};
use crate::sorter::Sorter;
use crate::store::Tree;

/// The check of requests to one machine.
pub(super) fn of_addresses() -> Check {
    Check::new(
        "shared_address",
        "with --groups address, never more than one request at a time to one IP address, with the delay in effect between any two",
    )
}

/// The check of requests to the hosts of one list or registrable domain.
pub(super) fn of_names() -> Check {
    Check::new(
        "shared_group",
        "with --groups domain or lists of hosts, never more than one request at a time to one group, with the delay in effect between any two",
    )
}

/// Bytes of the hash by which groups are sorted.
const KEY: usize = 16;

/// How far the times of two machines may be apart that have them from the same clock over a network, in seconds.
const CLOCKS: f64 = 0.1;

/// What is known of a request, behind the key that it is sorted by.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Asked {
    name: String,
    is_address: bool,
    /// Microseconds of Unix time.
    from: i64,
    to: i64,
    configured: Duration,
    host: String,
    url: String,
}

/// The requests of all partitions, sorted by group and time.
#[derive(Debug)]
pub(super) struct Shared(Sorter);

impl Shared {
    pub(super) fn new(rules: &AuditRules) -> Self {
        Self(rules.sorter())
    }

    /// Takes a request in.
    pub(super) fn push(
        &mut self,
        group: &GroupOf,
        (from, to): (Timestamp, Timestamp),
        configured: Duration,
        (host, url): (&str, &str),
    ) -> Result<(), AuditError> {
        let (name, is_address) = match group {
            GroupOf::Address(address) => (address.to_string(), true),
            GroupOf::Named(name) => (name.clone(), false),
        };
        let asked = Asked {
            name,
            is_address,
            from: from.as_microsecond(),
            to: to.as_microsecond(),
            configured,
            host: host.to_owned(),
            url: url.to_owned(),
        };
        // In the order of signed numbers.
        let order = (asked.from as u64 ^ 1 << 63).to_be_bytes();
        let rest = postcard::to_stdvec(&asked).map_err(AuditError::record(Tree::Ledger))?;
        Ok(self.0.push_parts(&[&blake3::hash(&group_key(group)).as_bytes()[..KEY], &order, &rest])?)
    }

    pub(super) fn take_all(&mut self, other: Self) -> Result<(), AuditError> {
        Ok(self.0.take_all(other.0)?)
    }

    /// Judges any two requests in a row to a group whose hosts `are_apart`.
    pub(super) fn judge(self, are_apart: impl Fn(&str, &str) -> bool) -> Result<[Check; 2], AuditError> {
        let (mut of_addresses, mut of_names) = (of_addresses(), of_names());
        let mut last: Option<Asked> = None;
        for record in self.0.sorted()? {
            let record = record?;
            let rest = record.get(KEY + 8..).unwrap_or_default();
            let asked: Asked = postcard::from_bytes(rest).map_err(AuditError::record(Tree::Ledger))?;
            let is_same = |one: &&Asked| (one.is_address, &one.name) == (asked.is_address, &asked.name);
            let before = last.as_ref().filter(is_same);
            if let Some(before) = before.filter(|before| are_apart(&before.host, &asked.host)) {
                let after = (asked.from - before.to) as f64 / 1e6;
                let check = if asked.is_address { &mut of_addresses } else { &mut of_names };
                if !check.margin(after - asked.configured.as_secs_f64() + CLOCKS) {
                    let what = format!(
                        "{} got a request {after:.3} s after its response to {}, which is in another partition",
                        asked.name, before.url
                    );
                    check.broken(&asked.url, Timestamp::from_microsecond(asked.from).ok(), what);
                }
            }
            // The one that ended last counts.
            if before.is_none_or(|before| before.to <= asked.to) {
                last = Some(asked);
            }
        }
        Ok([of_addresses, of_names])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_two_partitions_to_one_address_keep_its_gap() {
        let at = |ms: i64| Timestamp::from_millisecond(1_772_323_200_000 + ms).unwrap();
        let judge = |requests: &[(u8, i64, i64, &str)]| {
            let mut shared = Shared(Sorter::new(None));
            for (address, from, to, host) in requests {
                let times = (at(*from), at(*to));
                for group in [
                    GroupOf::Address(std::net::IpAddr::from([192, 0, 2, *address])),
                    GroupOf::Named(format!("list{address}")),
                ] {
                    shared.push(&group, times, Duration::from_secs(1), (host, host)).unwrap();
                }
            }
            let [one, other] = shared.judge(|a, b| a != b).unwrap();
            assert_eq!((one.judged, one.violations), (other.judged, other.violations));
            (one.judged, one.violations)
        };
        assert_eq!(judge(&[(1, 0, 100, "a"), (1, 1_050, 1_100, "b")]), (1, 0), "clocks are that far apart");
        assert_eq!(judge(&[(1, 0, 100, "a"), (1, 900, 1_000, "b")]), (1, 1));
        assert_eq!(judge(&[(1, 900, 1_000, "b"), (1, 0, 100, "a")]), (1, 1), "in the order of time");
        assert_eq!(judge(&[(1, 0, 5_000, "a"), (1, 100, 200, "a"), (1, 5_500, 5_600, "b")]), (1, 1));
        assert_eq!(judge(&[(1, 0, 100, "a"), (2, 200, 300, "b"), (1, 150, 160, "a")]), (0, 0));
    }
}
