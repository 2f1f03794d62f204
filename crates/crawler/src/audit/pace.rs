//! One request at a time for each host, and the gap in force between any two.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::Check;
use super::requests::{Asked, HostLog, Log, Pause};

/// Times in the ledger are whole microseconds: two of them may be off by one each.
const ROUNDING: f64 = 0.000_002;

pub(super) fn judge(log: &Log) -> [Check; 5] {
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
    let mut shared = judge_addresses(log);
    for check in [&mut overlap, &mut gap, &mut configured, &mut pauses, &mut shared] {
        check.unjudged.clone_from(&log.silent);
    }
    [overlap, gap, configured, pauses, shared]
}

/// With `--per-ip` all hosts of one machine are like one host: a case is any two of its requests in a row, whatever the hosts.
fn judge_addresses(log: &Log) -> Check {
    let mut check = Check::new(
        "shared_address",
        "with --per-ip, never more than one request at a time to one IP address, and the operator's own delay between any two",
    );
    let mut machines: BTreeMap<IpAddr, Vec<&Asked>> = BTreeMap::new();
    for asked in log.hosts.values().flat_map(|log| &log.asked).filter(|asked| asked.per_ip) {
        if let Some(address) = asked.address {
            machines.entry(machine(address)).or_default().push(asked);
        }
    }
    for (address, mut all) in machines {
        all.sort_by_key(|asked| asked.from.order());
        let mut last: Option<&Asked> = None;
        for asked in all {
            let left = last.map(|last| (last, log.between(last, asked) - asked.configured.as_secs_f64()));
            if let Some((last, left)) = left
                && !check.margin(left + ROUNDING)
            {
                let after = log.between(last, asked);
                let what = format!("{address} was asked {after:.6} s after its answer to {}", last.url);
                check.broken(&asked.url, Some(asked.from.wall), what);
            }
            // The one that ended last counts.
            if last.is_none_or(|last| last.to.order() <= asked.to.order()) {
                last = Some(asked);
            }
        }
    }
    check
}

/// One address for each machine: an IPv4 address where an IPv6 one is a form of it (mapped, compatible, NAT64).
fn machine(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [.., high, low] = v6.segments();
    let last = Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => IpAddr::V4(last),
        _ => v6.to_ipv4().map_or(address, IpAddr::V4),
    }
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
