//! One request at a time for each host, and the gap in force between any two.

use super::Check;
use super::requests::{Asked, HostLog, Log, Pause};

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
    for (host, of_host) in &log.hosts {
        for pair in of_host.asked.windows(2) {
            let [before, after] = pair else { continue };
            let between = log.between(before, after);
            let subject = || format!("{} after {}", after.url, before.url);
            if !overlap.margin(between + ROUNDING) {
                let what = format!("sent {:.6} s before the answer to the one before was complete", -between);
                overlap.broken(subject(), Some(after.from.wall), what);
            }
            if !gap.margin(between - after.gap.as_secs_f64() + ROUNDING) {
                let (asked, why) = (after.gap.as_secs_f64(), &after.gap_reason);
                let what = format!("after {between:.6} s; the delay in force was {asked:.6} s ({why})");
                gap.broken(subject(), Some(after.from.wall), what);
            }
            let own = after.configured.as_secs_f64();
            if !configured.margin(between - own + ROUNDING) {
                let what = format!("after {between:.6} s; the configured delay is {own:.6} s");
                configured.broken(subject(), Some(after.from.wall), what);
            }
        }
        judge_pauses(host, of_host, log, &mut pauses);
    }
    for check in [&mut overlap, &mut gap, &mut configured, &mut pauses] {
        check.unjudged.clone_from(&log.silent);
    }
    [overlap, gap, configured, pauses]
}

/// A pause counts from the end of the request that brought it: the last one that had ended when it was entered.
fn judge_pauses(host: &str, of_host: &HostLog, log: &Log, check: &mut Check) {
    for pause in &of_host.pauses {
        let next = ended_by(&of_host.asked, pause);
        let (Some(before), Some(after)) =
            (next.checked_sub(1).and_then(|at| of_host.asked.get(at)), of_host.asked.get(next))
        else {
            continue;
        };
        let between = log.between(before, after);
        let length = pause.length.as_secs_f64();
        if !check.margin(between - length + ROUNDING) {
            let what =
                format!("asked {between:.3} s after a pause of {length:.3} s began ({})", pause.reason);
            check.broken(format!("{host}: {}", after.url), Some(after.from.wall), what);
        }
    }
}

/// How many of a host's requests had ended when a pause was entered.
fn ended_by(asked: &[Asked], pause: &Pause) -> usize {
    match pause.clock {
        Some(clock) => asked.partition_point(|asked| asked.to.order() <= (pause.run, clock)),
        // An older version: the wall clock, within the pause's run.
        None => asked.partition_point(|asked| {
            asked.to.run < pause.run || (asked.to.run == pause.run && asked.to.wall <= pause.at)
        }),
    }
}
