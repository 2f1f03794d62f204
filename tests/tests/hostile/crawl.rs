//! One crawl of some hostile hosts and the canary.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use whole_program::hostile::{HostileWeb, Scenario};
use whole_program::memory::{Limited, Peak};
use whole_program::oracle::{Promise, assert_polite};
use whole_program::program::{Crawl, Output};
use whole_program::site::{Server, Sites};

use crate::judge;

/// The well-behaved host.
pub(crate) const CANARY: &str = "canary.test";

/// The memory that no crawl may pass, with the processes that it starts.
const MOST_MEMORY: Peak = Peak(300_000_000);

/// How a group is crawled. What isn't said is the default of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) scenarios: &'static [Scenario],
    /// `--delay`.
    pub(crate) delay: Duration,
    /// Further options.
    pub(crate) options: &'static [&'static str],
    /// Pages of the canary.
    pub(crate) canary: usize,
    /// The exit code, by what remains of the group's hosts: 0, 10 or 13 (docs/cli.md).
    pub(crate) exit: i32,
    /// `pace.max_wait`, where it isn't the default.
    pub(crate) max_wait: Option<&'static str>,
    /// How long the whole crawl may take.
    pub(crate) limit: Duration,
}

impl Plan {
    pub(crate) const fn new(name: &'static str, scenarios: &'static [Scenario]) -> Self {
        Self {
            name,
            scenarios,
            delay: Duration::from_millis(100),
            options: &["--timeout", "2s", "--adaptive", "1"],
            canary: 50,
            exit: 0,
            // Hosts that pause for minutes are skipped, as they would be after two minutes by default.
            max_wait: Some("4s"),
            limit: Duration::from_secs(60),
        }
    }

    /// For groups in which a host fails three times in a row: from the second failure on it pauses for a minute.
    pub(crate) const fn with_pauses(self) -> Self {
        Self { max_wait: Some("2m"), limit: Duration::from_mins(4), ..self }
    }
}

/// A crawl that is over.
pub(crate) struct Crawled {
    pub(crate) web: HostileWeb,
    pub(crate) tables: Tables,
    pub(crate) delay: Duration,
    directory: TempDir,
}

/// The exported tables.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) pages: Vec<Value>,
    pub(crate) errors: Vec<Value>,
    pub(crate) skipped: Vec<Value>,
    pub(crate) hosts: Vec<Value>,
    pub(crate) queue: Vec<Value>,
    pub(crate) ledger: Vec<Value>,
}

impl Crawled {
    pub(crate) fn out(&self) -> PathBuf {
        self.directory.path().join("out")
    }

    pub(crate) fn look(&self, command: &str, arguments: &[&str]) -> Output {
        Crawl::new([Path::new(command), &self.out()]).args(arguments).run()
    }

    fn table(&self, table: &str) -> Vec<Value> {
        self.look("export", &["--table", table, "--format", "jsonl"]).expect(0).json()
    }
}

/// Held by every crawl here; by those that take all processors for a minute, against the others.
static MACHINE: RwLock<()> = RwLock::new(());

/// Waits until no other crawl of these tests runs, and lets none begin.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    MACHINE.write().unwrap_or_else(PoisonError::into_inner)
}

/// As [`run`], with no other crawl of these tests beside it.
pub(crate) fn run_alone(plan: &Plan) -> Crawled {
    let _alone = alone();
    crawl(plan)
}

/// Crawls a group, checks everything that holds for every group, and then each scenario by itself.
///
/// # Panics
/// With all that was wrong.
pub(crate) fn run(plan: &Plan) -> Crawled {
    let _beside = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    crawl(plan)
}

fn crawl(plan: &Plan) -> Crawled {
    let web = HostileWeb::start(plan.scenarios);
    let canary = Server::start(Sites::new().tree(CANARY, plan.canary, Duration::ZERO));
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = |name: &str| directory.path().join(name);
    let mut seeds = format!("http://{CANARY}/\n");
    for scenario in plan.scenarios {
        for seed in scenario.seeds {
            seeds.push_str(&format!("{}{seed}\n", scenario.origin()));
        }
    }
    let write = |name: &str, text: &str| {
        std::fs::write(path(name), text).expect("the test's own directory can be written to");
    };
    write("seeds.txt", &seeds);
    write("resolve.txt", &format!("{}{CANARY}:{}\n", web.resolve(), canary.address()));
    write("ca.pem", &web.authority());
    // A calendar of a hundred months is enough to see that it ends.
    let wait = plan.max_wait.map(|wait| format!("[pace]\nmax_wait = \"{wait}\"\n")).unwrap_or_default();
    write("crawl.toml", &format!("{wait}[traps]\ndepth = 100\n"));

    // Built before the clock runs.
    let _built = whole_program::program::binary();
    let start = canary.now();
    let delay = format!("{}ms", plan.delay.as_millis());
    // Never reached by a crawl that ends by itself: its exit code would show it.
    let most = format!("{}s", plan.limit.as_secs());
    let command = Crawl::new(["--agent", "SuperRobot/1.0", "--delay", &delay])
        .args([Path::new("--seed"), &path("seeds.txt"), Path::new("--out"), &path("out")])
        .args([Path::new("--config"), &path("crawl.toml")])
        .args([Path::new("--resolve-file"), &path("resolve.txt")])
        .args(["--max-time", &most])
        .args(plan.options)
        .env("SSL_CERT_FILE", path("ca.pem"));
    let running = Limited::start(command, MOST_MEMORY);
    let (output, peak) = running.wait(plan.limit + Duration::from_mins(1));
    let took = canary.now() - start;

    let mut crawled = Crawled { web, tables: Tables::default(), delay: plan.delay, directory };
    crawled.tables = Tables {
        pages: crawled.table("pages"),
        errors: crawled.table("errors"),
        skipped: crawled.table("skipped"),
        hosts: crawled.table("hosts"),
        queue: crawled.table("queue"),
        ledger: crawled.table("ledger"),
    };
    if let Some(kept) = std::env::var_os("WHOLE_PROGRAM_KEEP").filter(|kept| !kept.is_empty()) {
        let _status = std::process::Command::new("rm")
            .args([Path::new("-rf"), &Path::new(&kept).join(plan.name)])
            .status();
        let _status = std::process::Command::new("cp")
            .args([Path::new("-r"), directory_of(&crawled), &Path::new(&kept).join(plan.name)])
            .status();
    }
    let mut wrong = Vec::new();
    if output.code != Some(plan.exit) {
        wrong.push(format!("exit code {:?}, expected {}:\n{output}", output.code, plan.exit));
    }
    if took >= plan.limit {
        wrong.push(format!("it didn't end by itself within {:?}:\n{output}", plan.limit));
    }
    if output.stderr.contains("panicked") {
        wrong.push(format!("it panicked:\n{}", output.stderr));
    }
    let pace = canary_pace(plan, &canary, &mut wrong);
    judge::hygiene(&crawled, &output, &mut wrong);
    for contact in crawled.web.secrets() {
        wrong.push(format!("the secret port was asked: {:?}", contact.path));
    }
    for scenario in plan.scenarios {
        let found = judge::scenario(scenario, &crawled);
        wrong
            .extend(found.into_iter().map(|what| format!("{} ({}): {what}", scenario.name, scenario.hazard)));
    }
    // Past the harness, which keeps what passing tests print to itself: these figures are to be quoted.
    let _written = writeln!(
        std::io::stderr(),
        "hostile web, {}: {} scenarios, {:.1} s, peak {peak}; canary: {pace}",
        plan.name,
        plan.scenarios.len(),
        took.as_secs_f64(),
    );
    assert!(wrong.is_empty(), "{} findings in group {}:\n{}", wrong.len(), plan.name, wrong.join("\n"));
    crawled
}

fn directory_of(crawled: &Crawled) -> &Path {
    crawled.directory.path()
}

/// Checks that the canary was crawled whole, politely, and as fast as its delay allows.
fn canary_pace(plan: &Plan, canary: &Server, wrong: &mut Vec<String>) -> String {
    let log = canary.log();
    assert_polite(&log, Promise::delay(plan.delay));
    let mut starts: Vec<_> = log.iter().map(|request| request.start).collect();
    starts.sort();
    let (Some(first), Some(last)) = (starts.first(), starts.last()) else {
        wrong.push("the canary wasn't asked at all".to_owned());
        return String::new();
    };
    // robots.txt, /sitemap.xml and the consent files where they are asked for, and the pages.
    let purposes = plan.options.iter().skip_while(|option| **option != "--purpose").nth(1).unwrap_or(&"");
    let files = purposes.split(',').filter(|purpose| ["tdm", "ai-train"].contains(purpose)).count();
    let due = plan.canary + 1 + usize::from(plan.options.contains(&"--sitemaps")) + files;
    if log.len() != due {
        wrong.push(format!("the canary had {} requests, not {}", log.len(), due));
    }
    let (took, ideal) = (*last - *first, plan.delay * plan.canary as u32);
    // The machine also serves the hostile web, and perhaps other tests. A canary that waited for the hosts beside it would
    // take minutes: each holds what waits for it for the whole of its deadline.
    if took > ideal + Duration::from_secs(20) {
        wrong.push(format!("the canary took {took:?}, its delay alone is {ideal:?}"));
    }
    let widest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
    format!(
        "{} pages in {:.1} of {:.1} s, widest gap {} ms",
        log.len() - 1,
        took.as_secs_f64(),
        ideal.as_secs_f64(),
        widest.as_millis()
    )
}
