//! Parsing and matching over the real files, beside `texting_robots` and `robotstxt`, in one run.
//!
//! Reads the files from the directory `shared` beside the checkout (or `SHARED_DATA`); without it only the hostile file is timed.
#![allow(clippy::unwrap_used, reason = "a test that can't read its table has failed")]

#[path = "../tests/kit/mod.rs"]
mod kit;

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Throughput, criterion_group, criterion_main};
use robots::{Agent, Dialect, Options, Robots};

type Criterion = criterion::Criterion<CpuTime>;

/// The time that this thread spent on a processor, so that a busy machine gives the same figures. Wall time where the system
/// doesn't tell. Its step is a tick of the scheduler: for runs of many milliseconds only.
struct CpuTime;

impl CpuTime {
    fn now() -> Duration {
        let counters = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanos = counters.and_then(|text| text.split(' ').next()?.parse().ok());
        nanos.map_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap_or_default(), Duration::from_nanos)
    }
}

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        Self::now()
    }

    fn end(&self, start: Duration) -> Duration {
        Self::now().saturating_sub(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

struct File {
    body: Vec<u8>,
    text: String,
    urls: Vec<String>,
}

fn files() -> Vec<File> {
    kit::real()
        .iter()
        .map(|row| {
            let body = kit::body(row);
            let text = String::from_utf8_lossy(&body).into_owned();
            let urls =
                row["urls"].as_array().unwrap().iter().map(|url| url.as_str().unwrap().to_owned()).collect();
            File { body, text, urls }
        })
        .collect()
}

fn parse(criterion: &mut Criterion) {
    let files = files();
    if files.is_empty() {
        return;
    }
    let bytes = files.iter().map(|file| file.body.len() as u64).sum();
    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(bytes)).sample_size(20);
    let agent = Agent::new("SuperRobot/1.0");
    for dialect in [Dialect::Hardened, Dialect::Rfc9309, Dialect::Strictest] {
        let options = Options::from(dialect);
        group.bench_function(format!("robots {dialect}"), |bencher| {
            bencher.iter(|| {
                for file in &files {
                    black_box(Robots::parse(&file.body, &agent, &options, Some("https://site.example")));
                }
            });
        });
    }
    group.bench_function("texting_robots", |bencher| {
        bencher.iter(|| {
            for file in &files {
                drop(black_box(texting_robots::Robot::new("SuperRobot", &file.body)));
            }
        });
    });
    // Parses with a handler that drops everything; panics on some files, which are omitted.
    let sound: Vec<&File> = files.iter().filter(|file| file.text.is_ascii()).collect();
    group.bench_function("robotstxt (ASCII files, null handler)", |bencher| {
        bencher.iter(|| {
            for file in &sound {
                robotstxt::parse_robotstxt(&file.text, &mut Null);
            }
        });
    });
    group.finish();
}

struct Null;

impl robotstxt::RobotsParseHandler for Null {
    fn handle_robots_start(&mut self) {}
    fn handle_robots_end(&mut self) {}
    fn handle_user_agent(&mut self, _: u32, _: &str) {}
    fn handle_allow(&mut self, _: u32, _: &str) {}
    fn handle_disallow(&mut self, _: u32, _: &str) {}
    fn handle_sitemap(&mut self, _: u32, _: &str) {}
    fn handle_unknown_action(&mut self, _: u32, _: &str, _: &str) {}
}

fn matching(criterion: &mut Criterion) {
    let files = files();
    if files.is_empty() {
        return;
    }
    let questions = files.iter().map(|file| file.urls.len() as u64).sum();
    let mut group = criterion.benchmark_group("match");
    group.throughput(Throughput::Elements(questions)).sample_size(20);
    let agent = Agent::new("SuperRobot/1.0");
    for dialect in [Dialect::Hardened, Dialect::Strictest] {
        let prepared: Vec<_> = files
            .iter()
            .map(|file| (Robots::parse(&file.body, &agent, &dialect.into(), None), &file.urls))
            .collect();
        group.bench_function(format!("robots {dialect}"), |bencher| {
            bencher.iter(|| {
                for (robots, urls) in &prepared {
                    for url in *urls {
                        black_box(robots.verdict(url));
                    }
                }
            });
        });
    }
    // It wants absolute URLs: made beforehand.
    let prepared: Vec<_> = files
        .iter()
        .filter_map(|file| {
            let robot = texting_robots::Robot::new("SuperRobot", &file.body).ok()?;
            let urls: Vec<_> = file.urls.iter().map(|url| format!("https://site.example{url}")).collect();
            Some((robot, urls))
        })
        .collect();
    group.bench_function("texting_robots", |bencher| {
        bencher.iter(|| {
            for (robot, urls) in &prepared {
                for url in urls {
                    black_box(robot.allowed(url));
                }
            }
        });
    });
    group.finish();
}

fn hostile(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hostile");
    group.sample_size(10);
    let agent = Agent::new("SuperRobot/1.0");
    let url = format!("/b{}", "a".repeat(2_000));
    for line in
        ["Disallow: *a*a*a*a*a*a*a*a*a*a*ab\n", "Disallow:*aab*aac\n", "Disallow:*ab\n", "Disallow: *a*ab$\n"]
    {
        let file = format!("User-agent: *\n{}", line.repeat(511_000 / line.len()));
        let robots = Robots::parse(file.as_bytes(), &agent, &Options::default(), None);
        group.bench_function(format!("500 KiB of {}", line.trim()), |bencher| {
            bencher.iter(|| black_box(robots.verdict(&url)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = criterion::Criterion::default().with_measurement(CpuTime);
    targets = parse, matching, hostile
}
criterion_main!(benches);
