//! The Rust side of `compare.py`: answers questions and times rounds, for crates/robots, `robotstxt` and `texting_robots`.
//!
//! Standard input has one request a line, as JSON: `{"answers": [[robots.txt in Base64, agent, URL], ...]}` gives for each library a
//! string of one character a question (`1` allowed, `0` denied, `!` it failed). `{"files": [[Base64, agent, [URL, ...]], ...],
//! "times": N}` gives for each library the processor time, in nanoseconds, of parsing all files, of deciding all URLs by parsed files,
//! and of doing both for each URL; each N times.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use data_encoding::BASE64;
use robots::{Agent, Dialect, Options, Robots};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    // Some files make `robotstxt` panic: that is an answer, and its message is of no use here.
    std::panic::set_hook(Box::new(|_| {}));
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = if request["answers"].is_array() { answers(&request)? } else { round(&request)? };
        println!("{answer}");
        io::stdout().flush()?;
    }
    Ok(())
}

fn text(value: &Value) -> Result<&str, Failure> {
    value.as_str().ok_or_else(|| "a string is wanted".into())
}

fn list(value: &Value) -> Result<&Vec<Value>, Failure> {
    value.as_array().ok_or_else(|| "a list is wanted".into())
}

/// crates/robots as Google's parser reads: the dialect of the RFC, and `Allow: /x/index.html` allows `/x/`.
fn like_google() -> Options {
    Options::from(Dialect::Rfc9309).with_index_folder(true)
}

fn once(options: &Options, body: &[u8], agent: &str, url: &str) -> bool {
    Robots::parse(body, &Agent::new(agent), options, None).verdict(url).allowed
}

fn robotstxt(body: &str, agent: &str, url: &str) -> bool {
    robotstxt::DefaultMatcher::default().one_agent_allowed_by_robots(body, agent, url)
}

fn texting_robots(body: &[u8], agent: &str, url: &str) -> Option<bool> {
    Some(texting_robots::Robot::new(agent, body).ok()?.allowed(url))
}

fn answers(request: &Value) -> Result<Value, Failure> {
    let mut given: BTreeMap<&str, String> = BTreeMap::new();
    for question in list(&request["answers"])? {
        let body = BASE64.decode(text(&question[0])?.as_bytes())?;
        let (agent, url) = (text(&question[1])?, text(&question[2])?);
        let lossy = String::from_utf8_lossy(&body);
        let mut answer = |name, allowed: &dyn Fn() -> Option<bool>| {
            let sign = match catch_unwind(AssertUnwindSafe(allowed)) {
                Ok(Some(true)) => '1',
                Ok(Some(false)) => '0',
                _ => '!',
            };
            given.entry(name).or_default().push(sign);
        };
        answer("hardened", &|| Some(once(&Options::default(), &body, agent, url)));
        answer("rfc9309", &|| Some(once(&Dialect::Rfc9309.into(), &body, agent, url)));
        answer("like google", &|| Some(once(&like_google(), &body, agent, url)));
        answer("robotstxt", &|| Some(robotstxt(&lossy, agent, url)));
        answer("texting_robots", &|| texting_robots(&body, agent, url));
    }
    Ok(json!(given))
}

/// The time that this thread spends on a processor, so that a busy machine gives the same figures.
fn timed(times: u64, mut work: impl FnMut()) -> u64 {
    let start = cpu_time::ThreadTime::now();
    (0..times).for_each(|_| work());
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

struct File {
    body: Vec<u8>,
    text: String,
    agent: String,
    urls: Vec<String>,
}

fn round(request: &Value) -> Result<Value, Failure> {
    let times = request["times"].as_u64().unwrap_or(1);
    let mut files = Vec::new();
    for file in list(&request["files"])? {
        let body = BASE64.decode(text(&file[0])?.as_bytes())?;
        let urls = list(&file[2])?.iter().map(|url| text(url).map(str::to_owned)).collect::<Result<_, _>>()?;
        let text_of = String::from_utf8_lossy(&body).into_owned();
        files.push(File { text: text_of, body, agent: text(&file[1])?.to_owned(), urls });
    }
    let mut result = serde_json::Map::new();
    for (name, options) in [("hardened", Options::default()), ("rfc9309", Dialect::Rfc9309.into())] {
        let read = |file: &File| Robots::parse(&file.body, &Agent::new(&file.agent), &options, None);
        let parse = timed(times, || files.iter().for_each(|file| drop(black_box(read(file)))));
        let prepared: Vec<_> = files.iter().map(|file| (read(file), &file.urls)).collect();
        let decide = timed(times, || {
            for (robots, urls) in &prepared {
                urls.iter().for_each(|url| drop(black_box(robots.verdict(url))));
            }
        });
        let both = timed(times, || {
            for file in &files {
                file.urls.iter().for_each(|url| drop(black_box(read(file).verdict(url))));
            }
        });
        result.insert(name.to_owned(), json!([parse, decide, both]));
    }
    let read = |file: &File| texting_robots::Robot::new(&file.agent, &file.body).ok();
    let parse = timed(times, || files.iter().for_each(|file| drop(black_box(read(file)))));
    let prepared: Vec<_> = files.iter().filter_map(|file| Some((read(file)?, &file.urls))).collect();
    let decide = timed(times, || {
        for (robot, urls) in &prepared {
            urls.iter().for_each(|url| {
                black_box(robot.allowed(url));
            });
        }
    });
    let both = timed(times, || {
        for file in &files {
            file.urls.iter().for_each(|url| {
                black_box(texting_robots(&file.body, &file.agent, url));
            });
        }
    });
    result.insert("texting_robots".to_owned(), json!([parse, decide, both]));
    // It keeps no parsed form.
    let both = timed(times, || {
        for file in &files {
            file.urls.iter().for_each(|url| {
                black_box(catch_unwind(|| robotstxt(&file.text, &file.agent, url)).ok());
            });
        }
    });
    result.insert("robotstxt".to_owned(), json!([null, null, both]));
    Ok(Value::Object(result))
}
