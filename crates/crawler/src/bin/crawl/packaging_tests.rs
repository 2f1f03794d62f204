//! The units and the compose file of `packaging/`: what they deny, and which ends start a process again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit;

const UNITS: [&str; 2] = ["crawl@.service", "crawl-worker@.service"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// The words of all settings of this name in a unit.
fn words(unit: &str, name: &str) -> Vec<String> {
    let settings = unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    settings.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

/// Whether systemd starts a unit again whose process ends with this code (systemd.service(5), `Restart=`).
fn starts_again(unit: &str, code: i32) -> bool {
    let has = |name| words(unit, name).contains(&code.to_string());
    let is_clean = code == 0 || has("SuccessExitStatus");
    let by_rule = match words(unit, "Restart").as_slice() {
        [rule] => match rule.as_str() {
            "no" | "on-abnormal" | "on-watchdog" | "on-abort" => false,
            "on-success" => is_clean,
            "on-failure" => !is_clean,
            "always" => true,
            other => panic!("Restart={other}"),
        },
        other => panic!("{other:?}"),
    };
    !has("RestartPreventExitStatus") && (by_rule || has("RestartForceExitStatus"))
}

/// Name servers and the credentials of cloud machines are at link-local addresses.
#[test]
fn units_leave_link_local_addresses_open() {
    for name in UNITS {
        let unit = fs::read_to_string(path(name)).unwrap();
        for denied in words(&unit, "IPAddressDeny") {
            let closes = ["any", "link-local", "localhost", "0.0.0.0/0", "::/0"].contains(&denied.as_str())
                || ["169.254.", "fe80:", "fe8", "127."].iter().any(|begin| denied.starts_with(begin));
            assert!(!closes, "{name}: {denied}");
        }
    }
}

/// A crawl answers `crawl status` and `crawl stop` on a Unix socket in its directory; a worker reaches a database of its machine by one.
#[test]
fn units_allow_the_sockets_that_the_program_uses() {
    for name in UNITS {
        let unit = fs::read_to_string(path(name)).unwrap();
        for family in ["AF_INET", "AF_INET6", "AF_UNIX"] {
            assert!(words(&unit, "RestrictAddressFamilies").contains(&family.to_owned()), "{name}: {family}");
        }
    }
}

#[test]
fn nothing_that_has_ended_or_was_stopped_is_started_again() {
    let unit = fs::read_to_string(path("crawl-worker@.service")).unwrap();
    let ends = [
        exit::COMPLETE,
        exit::USAGE,
        exit::CONFIG,
        exit::NO_SEED,
        exit::LIMIT,
        exit::INTERRUPTED,
        exit::FORCED,
        exit::REMAINING,
    ];
    for code in ends {
        assert!(!starts_again(&unit, code), "a worker after {code}");
    }
    assert!(starts_again(&unit, exit::STORAGE), "a worker whose database was away");
    let unit = fs::read_to_string(path("crawl@.service")).unwrap();
    for code in ends.into_iter().filter(|code| *code != exit::REMAINING) {
        assert!(!starts_again(&unit, code), "a crawl after {code}");
    }
    assert!(starts_again(&unit, exit::REMAINING), "a crawl with URLs that remain");

    // Container engines know no exit codes: any of these starts a worker again that was stopped.
    let compose = fs::read_to_string(path("compose.yaml")).unwrap();
    let rules: Vec<_> =
        compose.lines().filter_map(|line| line.trim().strip_prefix("restart:")).map(str::trim).collect();
    assert_eq!(rules, ["\"no\""]);
    assert!(!compose.contains("restart_policy"));
}

#[test]
fn systemd_reads_the_units() {
    if !Command::new("systemd-analyze").arg("--version").output().is_ok_and(|found| found.status.success()) {
        eprintln!("SKIPPED: systemd-analyze isn't installed (Debian: apt-get install systemd)");
        return;
    }
    for name in UNITS {
        let top = tempfile::tempdir().unwrap();
        // The program needn't be installed.
        let unit = fs::read_to_string(path(name)).unwrap().replace("/usr/bin/crawl", "/bin/true");
        let copy = top.path().join(name);
        fs::write(&copy, unit).unwrap();
        let verified =
            Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&copy).output().unwrap();
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(verified.status.success() && !said.contains(name), "{name}: {said}");
    }
}
