//! The checks of pace over requests that are sorted in files say what plain lists say.

use std::collections::BTreeMap;
use std::net::IpAddr;

use proptest::prelude::*;

use super::super::clocks::{Moment, Runs};
use super::*;

/// An entry of a generated ledger.
#[derive(Debug, Clone)]
enum Made {
    Resumed { per_ip: bool, delay_ms: u64 },
    Request { host: usize, at_ms: u64, gap_ms: u64, address: u8 },
    Pause { host: usize, at_ms: u64, length_ms: u64, has_clock: bool },
}

const HOSTS: [&str; 4] = ["a.test", "a.test-b.test", "aa.test", "b.test"];

/// How long each request takes.
const TOOK: Duration = Duration::from_millis(100);

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        1 => (any::<bool>(), 0..2_000_u64).prop_map(|(per_ip, delay_ms)| Made::Resumed { per_ip, delay_ms }),
        8 => (0..HOSTS.len(), 0..20_000_u64, 0..3_000_u64, 0..3_u8)
            .prop_map(|(host, at_ms, gap_ms, address)| Made::Request { host, at_ms, gap_ms, address }),
        2 => (0..HOSTS.len(), 0..20_000_u64, 0..9_000_u64, any::<bool>())
            .prop_map(|(host, at_ms, length_ms, has_clock)| Made::Pause { host, at_ms, length_ms, has_clock }),
    ]
}

/// A request in memory.
struct Asked {
    url: String,
    from: Moment,
    to: Moment,
    gap: f64,
    configured: f64,
    machine: Option<IpAddr>,
}

/// A pause: its run, when it was entered, how long it is.
struct Paused {
    run: u32,
    clock: Option<Duration>,
    at: Timestamp,
    length: f64,
}

/// The ledger, and the same in plain lists.
#[derive(Default)]
struct Lists {
    decisions: Vec<Decision>,
    hosts: BTreeMap<&'static str, (Vec<Asked>, Vec<Paused>)>,
    runs: Runs,
}

impl Lists {
    fn new(entries: &[Made]) -> Self {
        let mut lists = Self::default();
        let (mut run, mut configured, mut is_per_ip) = (0, 1.0, false);
        let entries = entries.iter().enumerate();
        let first = Made::Resumed { per_ip: true, delay_ms: 1_000 };
        for (number, entry) in
            std::iter::once((0, &first)).chain(entries.map(|(number, made)| (number + 1, made)))
        {
            if matches!(entry, Made::Resumed { .. }) {
                run += 1;
            }
            let moment = |at_ms: u64| {
                let mono = Duration::from_millis(at_ms);
                let wall = at(0.0).wall + SignedDuration::from_secs(100 * i64::from(run));
                Now { mono, wall: wall + SignedDuration::try_from(mono).unwrap() }
            };
            match *entry {
                Made::Resumed { per_ip, delay_ms } => {
                    (configured, is_per_ip) = (Duration::from_millis(delay_ms).as_secs_f64(), per_ip);
                    lists.runs.of(run);
                    let option = if per_ip { ", per-ip" } else { "" };
                    let words =
                        format!("run {run}; delay {configured} s, adaptive 5, max-delay 30 s{option}");
                    lists.decisions.push(decision(
                        moment(0),
                        "",
                        "resumed",
                        Layer::Stop,
                        words.as_str().into(),
                    ));
                }
                Made::Request { host, at_ms, gap_ms, address } => {
                    let (from, to) = (moment(at_ms), moment(at_ms + TOOK.as_millis() as u64));
                    let url = format!("http://{}/{number}", HOSTS[host]);
                    let gap = Delay { length: Duration::from_millis(gap_ms), why: DelayReason::Configured };
                    let address = (address > 0).then(|| IpAddr::from([10, 0, 0, address]));
                    let request = RequestMade::new(from, to, Some(200), 10, gap).with_address(address);
                    let evidence = Evidence::default().with_request(Some(request));
                    let entry = decision(to, &url, "fetched", Layer::Fetch, evidence);
                    lists.decisions.push(Decision { host: HOSTS[host].to_owned(), ..entry });
                    lists.runs.of(run).last = lists.runs.of(run).last.max(to.mono);
                    let of_run = |now: Now| Moment { run, mono: now.mono, wall: now.wall };
                    lists.hosts.entry(HOSTS[host]).or_default().0.push(Asked {
                        url,
                        from: of_run(from),
                        to: of_run(to),
                        gap: gap.length.as_secs_f64(),
                        configured,
                        machine: address.filter(|_| is_per_ip),
                    });
                }
                Made::Pause { host, at_ms, length_ms, has_clock } => {
                    let now = moment(at_ms);
                    let delay =
                        Delay { length: Duration::from_millis(length_ms), why: DelayReason::RetryAfter };
                    let clock = has_clock.then_some(now.mono);
                    let evidence = Evidence { clock, ..delay.into() };
                    let entry = decision(now, HOSTS[host], "paused", Layer::Pace, evidence);
                    lists.decisions.push(Decision { host: HOSTS[host].to_owned(), ..entry });
                    lists.runs.of(run).last = lists.runs.of(run).last.max(clock.unwrap_or_default());
                    let length = delay.length.as_secs_f64();
                    lists.hosts.entry(HOSTS[host]).or_default().1.push(Paused {
                        run,
                        clock,
                        at: now.wall,
                        length,
                    });
                }
            }
        }
        for (asked, _) in lists.hosts.values_mut() {
            asked.sort_by_key(|asked| asked.from.order());
        }
        lists
    }

    fn between(&self, before: &Asked, after: &Asked) -> f64 {
        self.runs.between(before.to, after.from).most
    }

    /// Overlap, gap, configured delay, pauses, shared address: what was judged, and what was reported.
    fn judge(&self) -> [Check; 5] {
        let mut checks = ["overlap", "gap", "configured_delay", "pauses", "shared_address"]
            .map(|name| Check::new(name, ""));
        let mut machines: BTreeMap<IpAddr, Vec<&Asked>> = BTreeMap::new();
        for (host, (asked, pauses)) in &self.hosts {
            for pair in asked.windows(2) {
                let [before, after] = pair else { continue };
                let between = self.between(before, after);
                for (check, least) in checks.iter_mut().zip([0.0, after.gap, after.configured]) {
                    if !check.margin(between - least + 0.000_002) {
                        check.broken(
                            format!("{} after {}", after.url, before.url),
                            Some(after.from.wall),
                            "",
                        );
                    }
                }
            }
            for pause in pauses {
                let next = asked.iter().filter(|asked| match pause.clock {
                    Some(clock) => asked.to.order() <= (pause.run, clock),
                    None => {
                        asked.to.run < pause.run || asked.to.run == pause.run && asked.to.wall <= pause.at
                    }
                });
                let next = next.count();
                if let (Some(before), Some(after)) =
                    (next.checked_sub(1).map(|last| &asked[last]), asked.get(next))
                    && !checks[3].margin(self.between(before, after) - pause.length + 0.000_002)
                {
                    checks[3].broken(format!("{host}: {}", after.url), Some(after.from.wall), "");
                }
            }
            for asked in asked {
                machines.entry(asked.machine.unwrap_or(IpAddr::from([0; 4]))).or_default().push(asked);
            }
        }
        machines.remove(&IpAddr::from([0; 4]));
        for mut all in machines.into_values() {
            all.sort_by_key(|asked| asked.from.order());
            for pair in all.windows(2) {
                let [before, after] = pair else { continue };
                if !checks[4].margin(self.between(before, after) - after.configured + 0.000_002) {
                    checks[4].broken(&after.url, Some(after.from.wall), "");
                }
            }
        }
        checks
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn requests_in_any_order_are_judged_as_plain_lists_are(entries in proptest::collection::vec(made(), 0..120)) {
        let lists = Lists::new(&entries);
        let mut records = Records::kept();
        records.requests = lists.hosts.values().map(|(asked, _)| asked.len() as u64).sum();
        records.decisions.clone_from(&lists.decisions);
        let report = records.judge();
        for expected in lists.judge() {
            let mut found = report.checks.iter().find(|check| check.name == expected.name).unwrap().clone();
            found.promise = "";
            for violation in &mut found.first {
                violation.what.clear();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
