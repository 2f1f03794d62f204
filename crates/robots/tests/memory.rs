//! What a read file says that it takes is what the allocator was asked for.
//!
//! One test alone in this file, since the counts are those of the whole process.
#![allow(clippy::unwrap_used, reason = "a file of the test can't fail to be written")]

use std::fmt::Write as _;

use robots::{Agent, Dialect, Robots};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Lines of each kind that a file is remembered by. `#` in a line is replaced by its number, so that each is another one.
const KINDS: &[(&str, &str)] = &[
    ("rules", "Disallow: /a-path-that-takes-more-than-a-short-one/#"),
    ("rules with wildcards", "Disallow: /*/a-path-with-a-star/#$"),
    ("exceptions", "Allow: /a-path-that-takes-more-than-a-short-one/#"),
    ("pages out of the index", "Noindex: /a-path-that-takes-more-than-a-short-one/#"),
    ("preferences", "Content-Usage: /a-path-that-takes-more-than-a-short-one/# train-ai=n"),
    ("signals", "Content-Signal: /a-path-that-takes-more-than-a-short-one/# ai-train=no"),
    ("parameters", "Clean-param: first#&second#&third# /a-path-that-takes-more-than-a-short-one/#"),
    ("names of the host", "Host: a-name-of-the-host-that-is-longer-than-a-short-one-#.example"),
    ("licences", "License: https://site.example/a-licence-that-takes-more-than-a-short-one/#"),
    ("comments", "Comment: a remark of the author to the people who read the logs of robots, number #"),
    ("sitemaps", "Sitemap: https://site.example/a-sitemap-that-takes-more-than-a-short-one/#.xml"),
    ("delays", "Crawl-delay: #"),
    ("rates", "Request-rate: 1/#"),
    ("times of visits", "Visit-time: 0100-02#"),
    ("warnings", "Unknown-field-#: a value"),
    ("sets of characters", "Disallow: /[abcdefgh][ijklmnop]?[!a-z]*[qrstuvwx]/#"),
];

/// What comes before the lines: a group of ours, one that restricts us (H8), and one of version 2.
const GROUPS: &[&str] = &[
    "User-agent: Super2Robot\nDisallow: /x\n",
    "User-agent: Super2Robot\nDisallow: /x\n\nUser-agent: Super\nDisallow: /y\n",
    "User-agent: Super2Robot\nRobot-version: 2.0.0\nDisallow: /x\n",
];

/// What a function makes, and the bytes and blocks that it was given for it. The thread that runs the tests takes some as well, now and then: counted until two
/// counts in a row are the same.
fn taken<T>(make: impl Fn() -> T) -> (T, usize, usize) {
    let count = || {
        let before = dhat::HeapStats::get();
        let value = make();
        let after = dhat::HeapStats::get();
        let bytes = after.curr_bytes.wrapping_sub(before.curr_bytes);
        (value, bytes, after.curr_blocks.wrapping_sub(before.curr_blocks))
    };
    let mut last = count();
    for _ in 0..100 {
        let next = count();
        if (next.1, next.2) == (last.1, last.2) {
            return next;
        }
        last = next;
    }
    panic!("no two counts are the same");
}

#[test]
fn what_a_file_takes_is_what_the_allocator_was_asked_for() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let agent = Agent::new("Super2Robot/1.0").with_aliases(["OtherRobot/1.0"]);
    for dialect in
        [Dialect::Rfc9309, Dialect::Hardened, Dialect::Strictest, Dialect::Koster1994, Dialect::Conner1996]
    {
        for (group, (kind, line)) in
            GROUPS.iter().flat_map(|group| KINDS.iter().map(move |kind| (group, kind)))
        {
            let mut file = (*group).to_owned();
            for n in 10..40 {
                writeln!(file, "{}", line.replace('#', &n.to_string())).unwrap();
            }
            let (robots, bytes, blocks) =
                taken(|| Robots::parse(file.as_bytes(), &agent, &dialect.into(), None));
            // glibc's malloc adds 8 bytes to a block, and rounds it up to 16, to 32 at least.
            let (least, most) = (bytes + 8 * blocks, bytes + 32 * blocks);
            let said = robots.memory();
            assert!(
                (least..=most).contains(&said),
                "{dialect}, {kind}: {said}, not {least} to {most}\n{group}"
            );
        }
    }
}
