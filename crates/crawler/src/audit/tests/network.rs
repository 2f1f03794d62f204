//! Records of requests to the wrong machine.

use super::*;

/// A request for the robots.txt of another host, to `address`, of a tenth of a second.
fn to(address: &str, host: &str, second: f64) -> Decision {
    let evidence = request(second, 0.0);
    let made = evidence.request.map(|made| made.with_address(Some(address.parse().unwrap())));
    let entry = decision(
        at(second + 0.1),
        &format!("http://{host}"),
        "robots_rules",
        Layer::Robots,
        Evidence::default(),
    );
    Decision { host: host.to_owned(), evidence: Evidence::default().with_request(made), ..entry }
}

/// The checks that these requests break, with `--per-ip` in force and without it.
fn broken_with(requests: &[(&str, &str, f64)]) -> [Vec<&'static str>; 2] {
    [", per-ip", ""].map(|option| {
        broken_by(|records| {
            let words = format!("run 1; delay 1 s, adaptive 5, max-delay 30 s{option}");
            records.decisions[0].evidence = words.into();
            records.requests += requests.len() as u64;
            records
                .decisions
                .extend(requests.iter().map(|(host, address, second)| to(address, host, *second)));
        })
    })
}

#[test]
fn hosts_of_one_address_that_didnt_take_turns_are_told() {
    let shared = vec!["shared_address"];
    let none: Vec<&str> = Vec::new();
    // At the same time, and sooner than the operator's delay of a second after the other's answer.
    for second in [9.05, 10.0] {
        for other in ["1.2.3.4", "::ffff:1.2.3.4", "::1.2.3.4", "64:ff9b::102:304"] {
            let found = broken_with(&[("b.test", "1.2.3.4", 9.0), ("c.test", other, second)]);
            assert_eq!(found, [shared.clone(), none.clone()], "{other} at {second}");
        }
    }
    // Later, or elsewhere.
    for (other, second) in [("1.2.3.4", 10.2), ("1.2.3.5", 9.05), ("::2", 9.05)] {
        let found = broken_with(&[("b.test", "1.2.3.4", 9.0), ("c.test", other, second)]);
        assert_eq!(found, [none.clone(), none.clone()], "{other} at {second}");
    }
    // Not in the order of the ledger, and with a short one within a long one.
    let found = broken_with(&[("b.test", "1.2.3.4", 20.0), ("c.test", "1.2.3.4", 19.5)]);
    assert_eq!(found, [shared, none]);
}
