//! What a read file says that it takes is what the allocator was asked for.
#![allow(clippy::unwrap_used, reason = "a file of the test can't fail to be written")]

use std::fmt::Write as _;

use allocation_counter::measure;
use robots::{Agent, Dialect, Robots};

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

#[test]
fn what_a_file_takes_is_what_the_allocator_was_asked_for() {
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
            let mut read = None;
            let taken =
                measure(|| read = Some(Robots::parse(file.as_bytes(), &agent, &dialect.into(), None)));
            let (bytes, blocks) = (taken.bytes_current as usize, taken.count_current as usize);
            // glibc's malloc adds 8 bytes to a block, and rounds it up to 16, to 32 at least.
            let (least, most) = (bytes + 8 * blocks, bytes + 32 * blocks);
            let said = read.unwrap().memory();
            assert!(
                (least..=most).contains(&said),
                "{dialect}, {kind}: {said}, not {least} to {most}\n{group}"
            );
        }
    }
}
