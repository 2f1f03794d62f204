//! What robots.txt and consent files take in memory once they are read, measured by a counting allocator, against the bytes that they
//! count for in the budget `limits.origin_cache`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use allocation_counter::measure;
use crawler::origin_cache::OriginCache;
use crawler::record::RobotsRecord;
use crawler::robots_cache::{Known, RobotsCache};
use crawler::store::{MemoryStore, Store, Tree, Write};
use meta::consent::AiTxt;
use meta::consent::tdm::TdmFile;
use page::clock::Now;
use page::url::CrawlUrl;
use robots::{Agent, Dialect, Options};

/// Bytes asked for of the allocator, and blocks, that a value holds.
fn measured<T>(make: impl FnOnce() -> T) -> (T, usize, usize) {
    let mut value = None;
    let taken = measure(|| value = Some(make()));
    (value.unwrap(), taken.bytes_current as usize, taken.count_current as usize)
}

/// The weight is never less than what was asked for, and within a quarter of what malloc takes for that: 8 bytes more for each
/// block, in steps of 16.
fn assert_honest(name: &str, weight: usize, bytes: usize, blocks: usize) {
    let least = bytes + 8 * blocks;
    let most = (bytes + 24 * blocks) * 5 / 4 + 1_024;
    println!("{name}: weight {weight}, {bytes} bytes in {blocks} blocks");
    assert!((bytes..=most).contains(&weight), "{name}: weight {weight}, measured {least} to {most}");
}

/// A file of 500 KiB of these lines.
fn filled(start: &str, line: impl Fn(usize) -> String) -> String {
    let lines = (0..).map(line).scan(start.len(), |length, line| {
        *length += line.len();
        (*length <= 500 << 10).then_some(line)
    });
    start.to_owned() + &lines.collect::<String>()
}

#[test]
fn what_files_count_for_is_what_they_take() {
    let signals: Vec<String> =
        (0..9_400).map(|n| format!("Content-Signal: /p{n} search=yes, ai-train=no\n")).collect();
    let signals = signals.concat();
    let files = [
        ("none", String::new()),
        ("few rules", "User-agent: *\nDisallow: /a\nAllow: /a/b\nSitemap: /s.xml\n".to_owned()),
        ("30,000 rules", filled("User-agent: *\n", |n| format!("Disallow: /p{n}\n"))),
        ("9,400 Content-Signal lines", format!("User-agent: *\n{signals}")),
        ("many groups", filled("", |n| format!("User-agent: r{n}\nDisallow: /\n"))),
        ("many groups of ours", filled("", |n| format!("User-agent: superrobot\nDisallow: /{n}\n"))),
        ("groups that restrict", filled("User-agent: super\n", |n| format!("Disallow: /p{n}\n"))),
        ("no-break spaces", filled("User-agent:\u{a0}*\n", |n| format!("Disallow:\u{a0}/p{n}\n"))),
        ("sitemaps", filled("", |n| format!("Sitemap: https://a.test/{n}.xml\n"))),
        ("timing", filled("User-agent: *\n", |n| format!("Crawl-delay: {}\nRequest-rate: 1/{n}s\n", n % 60))),
        ("other fields", filled("User-agent: *\n", |n| format!("Noindex: /{n}\nClean-param: a&b /{n}\n"))),
        (
            "comments",
            filled("User-agent: *\n", |n| format!("Comment: {n}\nHost: h{n}.test\nLicense: /{n}\n")),
        ),
        ("escapes of `$`", filled("User-agent: *\n", |_| "Disallow: %24%24%24%24 %24%24%24%24\n".to_owned())),
        ("single characters", filled("User-agent: *\n", |_| "Disallow: / / / / / / / / / /\n".to_owned())),
        ("shortest rules", filled("User-agent: *\n# \0\n", |_| "Allow:/\n".to_owned())),
        ("quotes", filled("User-agent: *\n", |_| format!("Disallow: /{}\n", "\"".repeat(60)))),
        ("mirrors", filled("User-agent: *\n", |_| "Host:a\n".to_owned())),
        ("many parameters", filled("User-agent: *\n", |_| "Clean-param:a&b&c&d&e&f&g\n".to_owned())),
        ("names", filled("", |_| "User-agent:a\n".to_owned())),
    ];
    for dialect in [Dialect::Hardened, Dialect::Strictest] {
        for (name, file) in &files {
            let options = Options::from(dialect);
            let agent = Agent::new("SuperRobot");
            let store = Arc::new(MemoryStore::default());
            // Nothing stays in a cache of one byte: what is measured is the entry alone.
            let cache = Arc::new(OriginCache::new(1));
            let origin = CrawlUrl::parse("http://a.test/").unwrap().origin();
            let mut record = serde_json::from_value::<RobotsRecord>(serde_json::json!({
                "v": 1, "origin": "http://a.test", "fetched_at": "2026-03-01T12:00:00Z", "status": 200, "access": "rules",
                "reason": "rules", "expires": "2026-03-02T12:00:00Z", "digest": null, "bytes": 0, "body": null,
                "headers": [["content-type", "text/plain"], ["etag", "\"x\""]],
            }))
            .unwrap();
            record.set_body(file.as_bytes());
            store.commit(vec![Write::put(Tree::Robots, record.key(), record.write().unwrap())]).unwrap();
            drop(record);
            let now = Now::of_day("2026-03-01T13:00:00Z".parse().unwrap());
            let look_up = || {
                let (store, cache) = (Arc::clone(&store), Arc::clone(&cache));
                let (agent, options) = (agent.clone(), options.clone());
                let robots =
                    RobotsCache::new(store, agent, options, robots::access::Policy::default(), cache);
                robots.lookup(&origin, now).unwrap()
            };
            // What is allocated once and for all isn't the entry's.
            drop(look_up());
            let (known, bytes, blocks) = measured(look_up);
            let Known::Fresh(entry) = known else { panic!("{known:?}") };
            assert_honest(&format!("{dialect} {name}"), entry.memory(), bytes, blocks);
            // With the record, which holds the file as it was sent.
            let most = 4 * file.len() + (128 << 10);
            assert!(entry.memory() <= most, "{dialect} {name}: {} of {}", entry.memory(), file.len());
        }
    }
    let agent = meta::Agent::new("SuperRobot");
    let file = filled("User-agent: *\n", |n| format!("Disallow: /p{n}\n"));
    let (ai, bytes, blocks) = measured(|| AiTxt::parse(file.as_bytes(), &agent));
    assert_honest("ai.txt", ai.memory(), bytes, blocks);
    let entries: Vec<String> = (0..1_000)
        .map(|n| {
            format!(r#"{{"location":"/{n}{}","tdm-reservation":1,"tdm-policy":"/{n}"}}"#, "x".repeat(400))
        })
        .collect();
    let file = format!("[{}]", entries.join(","));
    let (tdm, bytes, blocks) = measured(|| TdmFile::parse(file.as_bytes()));
    assert_honest("tdmrep.json", tdm.memory(), bytes, blocks);
    // What isn't kept isn't made either: a tree of these values would take forty megabytes.
    let file = format!("[{}]", r#"{"a":0},"#.repeat(60_000) + "0");
    let mut parsed = None;
    let taken = measure(|| parsed = Some(TdmFile::parse(file.as_bytes())));
    let is_reserved = parsed.unwrap().lookup("/").is_some();
    assert!(is_reserved, "more than a thousand elements: what wasn't read reserves");
    assert!(taken.bytes_total < 2 << 20, "{} bytes for what isn't kept", taken.bytes_total);
}
