//! One request at a time for each host, and the gap in force between any two.

use super::Check;
use super::requests::{Asked, HostLog, Log, between};

/// Times in the ledger are whole microseconds: two of them may be off by one each.
const ROUNDING: f64 = 0.000_002;

pub(super) fn judge(log: &Log) -> [Check; 4] {
    let mut overlap = Check::new("overlap", "never more than one request at a time to one host");
    let mut gap = Check::new("gap", "the gap between two requests is never below the delay then in force");
    let mut configured = Check::new(
        "configured_delay",
        "the gap between two requests is never below the operator's own delay",
    );
    let mut pauses = Check::new(
        "pauses",
        "a host that asked for a pause (Retry-After, 429, 503, failures) is left in peace that long",
    );
    for (host, log) in &log.hosts {
        for pair in log.asked.windows(2) {
            let [before, after] = pair else { continue };
            let between = between(before, after);
            let subject = || format!("{} after {}", after.url, before.url);
            if !overlap.margin(between + ROUNDING) {
                let what = format!("sent {:.6} s before the answer to the one before was complete", -between);
                overlap.broken(subject(), Some(after.started), what);
            }
            if !gap.margin(between - after.gap.as_secs_f64() + ROUNDING) {
                let (asked, why) = (after.gap.as_secs_f64(), &after.gap_reason);
                let what = format!("after {between:.6} s; the delay in force was {asked:.6} s ({why})");
                gap.broken(subject(), Some(after.started), what);
            }
            let own = after.configured.as_secs_f64();
            if !configured.margin(between - own + ROUNDING) {
                let what = format!("after {between:.6} s; the configured delay is {own:.6} s");
                configured.broken(subject(), Some(after.started), what);
            }
        }
        judge_pauses(host, log, &mut pauses);
    }
    for check in [&mut overlap, &mut gap, &mut configured, &mut pauses] {
        check.unjudged.clone_from(&log.silent);
    }
    [overlap, gap, configured, pauses]
}

/// A pause counts from the end of the request that brought it: the last one that had ended when it was entered.
fn judge_pauses(host: &str, log: &HostLog, check: &mut Check) {
    for pause in &log.pauses {
        let next = log.asked.partition_point(|asked: &Asked| asked.ended <= pause.at);
        let (Some(before), Some(after)) =
            (next.checked_sub(1).and_then(|at| log.asked.get(at)), log.asked.get(next))
        else {
            continue;
        };
        let between = between(before, after);
        let length = pause.length.as_secs_f64();
        if !check.margin(between - length + ROUNDING) {
            let what =
                format!("asked {between:.3} s after a pause of {length:.3} s began ({})", pause.reason);
            check.broken(format!("{host}: {}", after.url), Some(after.started), what);
        }
    }
}
