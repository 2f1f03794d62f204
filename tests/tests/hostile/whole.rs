//! Everything at once, in the default configuration; and what an operator does while a hostile web has the crawl in its hands.

use std::path::Path;
use std::time::Duration;

use whole_program::hostile::{HostileWeb, Scenario, Serve};
use whole_program::oracle::{Promise, assert_polite};
use whole_program::program::Crawl;
use whole_program::site::{Server, Sites};

use crate::crawl::{CANARY, Plan, run};
use crate::hazards;

/// Every host of the suite in one crawl at the default pace and limits (but for the pages of a host), if `WHOLE_PROGRAM_HOSTILE=all` asks for
/// it (it takes minutes); else in one crawl that is asked for less patience.
#[test]
fn all_hosts_in_one_crawl() {
    let all = std::env::var_os("WHOLE_PROGRAM_HOSTILE").is_some_and(|value| value == "all");
    let scenarios: Vec<Scenario> =
        hazards::all().into_iter().map(|scenario| Scenario { expect: &[], ..scenario }).collect();
    let plan = Plan::new("all", scenarios.leak());
    // Some hosts ask for more than a host may: limits were reached.
    let plan = if all {
        let (delay, limit) = (Duration::from_secs(1), Duration::from_mins(20));
        Plan {
            name: "all by default",
            delay,
            // One host has a page of 10,000 links, which would take hours.
            options: &["--max-pages-per-host", "150"],
            canary: 120,
            exit: 10,
            limit,
            max_wait: None,
            ..plan
        }
    } else {
        let options = &["--timeout", "4s", "--adaptive", "0", "--retries", "0", "--max-pages-per-host", "60"];
        Plan { options, exit: 10, canary: 50, ..plan }
    };
    run(&plan);
}

const SILENT: [Scenario; 12] = {
    const fn silent(name: &'static str) -> Scenario {
        Scenario::pages(
            name,
            "deadline",
            Serve::Wire(|w| {
                w.request()?;
                w.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
                w.drip([b'x'; 10_000], Duration::from_millis(50))
            }),
            &[],
        )
    }
    [
        silent("silent-1"),
        silent("silent-2"),
        silent("silent-3"),
        silent("silent-4"),
        silent("silent-5"),
        silent("silent-6"),
        silent("silent-7"),
        silent("silent-8"),
        silent("silent-9"),
        silent("silent-10"),
        silent("silent-11"),
        silent("silent-12"),
    ]
};

#[test]
fn a_crawl_of_dripping_servers_stops_in_ten_seconds_and_resumes_later() {
    let web = HostileWeb::start(&SILENT);
    let canary = Server::start(Sites::new().tree(CANARY, 40, Duration::ZERO));
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let seeds: String = SILENT.iter().map(|scenario| format!("{}/\n", scenario.origin())).collect();
    std::fs::write(path("seeds.txt"), format!("http://{CANARY}/\n{seeds}")).unwrap();
    std::fs::write(path("resolve.txt"), format!("{}{CANARY}:{}\n", web.resolve(), canary.address())).unwrap();
    let running = Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "100ms"])
        .args([Path::new("--seed"), &path("seeds.txt"), Path::new("--out"), &path("out")])
        .args([Path::new("--resolve-file"), &path("resolve.txt")])
        .start();
    while canary.count() < 15 {
        std::thread::yield_now();
    }
    let asked = canary.now();
    running.signal("TERM");
    running.wait(Duration::from_secs(20)).expect(11);
    let took = canary.now() - asked;
    assert!(took < Duration::from_secs(10), "it took {took:?} to stop");
    // The rest of the canary comes with the next run, and nothing twice.
    let resumed =
        Crawl::new([Path::new("resume"), &path("out")]).args(["--timeout", "1s", "--adaptive", "0"]).run();
    assert!(matches!(resumed.code, Some(0)), "{resumed}");
    let mut pages = canary.pages();
    let count = pages.len();
    pages.sort();
    pages.dedup();
    assert_eq!((pages.len(), count), (40, 40));
    assert_polite(&canary.log(), Promise::delay(Duration::from_millis(100)));
    for scenario in &SILENT {
        let errors = Crawl::new([Path::new("show"), &path("out"), Path::new("errors")]).run();
        assert!(errors.stdout.contains(&format!("{}/\ttimeout", scenario.origin())), "{errors}");
    }
}
