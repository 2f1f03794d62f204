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

/// Lines that take many times their bytes where each is prepared, or kept as it is. `#` is replaced by a number.
const HOSTILE: &[(&str, &str)] = &[
    ("escapes of `$`", "Disallow: %24%24%24%24 %24%24%24%24 %24%24%24%24 %24%24%24%24"),
    ("escapes of `*`", "Disallow: /%2A%2a%2A%2a/%2A"),
    ("single characters", "Disallow: / / / / / / / / / / / / / / / / /"),
    ("shortest rules", "Allow:/"),
    ("quotes", "Disallow: /\"\"\"\"\"\"\"\"\"\"\"\"\"\""),
    ("letters", "Disallow: /\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"),
    ("plain rules", "Disallow: /#"),
    ("groups of ours", "User-agent:*\nAllow:"),
    ("names", "User-agent:a"),
    ("other groups", "User-agent:q#\nAllow:/"),
    ("spaces", "Disallow:\u{a0}/#\u{200b}"),
    ("sets", "Disallow: [a][b][c][d]"),
    ("brackets", "Disallow: *[[[[[[[[[[[[[[["),
    ("mirrors", "Host:a"),
    ("licences", "License:a"),
    ("remarks", "Comment:a"),
    ("parameters", "Clean-param:a&b&c&d&e&f&g&h&i&j&k"),
    ("many parameters", "Clean-param:a"),
    ("short sitemaps", "Sitemap:a"),
    ("sitemaps", "Sitemap: https://a.example/#.xml"),
    ("delays", "Crawl-delay:#"),
    ("rates", "Request-rate:1/#"),
    ("visits", "Visit-time:0000-0100"),
    ("unindexed", "Noindex:/#"),
    ("signals", "Content-Signal:a"),
    ("signals with paths", "Content-Usage:/# train-ai=n"),
    ("junk", "D:/"),
    ("blank lines", ""),
];

/// What stands before the lines.
const HEADS: &[&str] = &[
    "User-agent: *\n",
    "User-agent: *\nDisallow:\u{200b} /zz\n# \0\n",
    "User-agent: Super\n\nUser-agent: *\nRobot-version: 2\n",
];

/// 500 KiB of hostile lines in several encodings, each with its name.
fn hostile() -> impl Iterator<Item = (String, Vec<u8>)> {
    let files = HEADS.iter().flat_map(|head| HOSTILE.iter().map(move |line| (head, line)));
    files.flat_map(|(head, (name, line))| {
        let mut file = (*head).to_owned();
        for n in 0.. {
            let line = line.replace('#', &n.to_string());
            if file.len() + line.len() + 1 > 500 << 10 {
                break;
            }
            file.push_str(&line);
            file.push('\n');
        }
        let wide: Vec<u8> = file[..file.floor_char_boundary(250 << 10)]
            .chars()
            .flat_map(|c| (c as u16).to_le_bytes())
            .collect();
        let latin: Vec<u8> = file.bytes().map(|b| if b == b'a' { 0xff } else { b }).collect();
        [("", file.into_bytes()), ("UTF-16, ", wide), ("not UTF-8, ", latin)]
            .map(|(how, file)| (format!("{how}{name} behind {head:?}"), file))
    })
}

/// Twice and a half of the file, and 256 KiB: with the file as it was sent, which a crawler keeps beside it, less than four times its bytes.
#[test]
fn no_file_takes_more_than_a_multiple_of_its_bytes() {
    let agent = Agent::new("Super2Robot/1.0");
    for dialect in [Dialect::Hardened, Dialect::Strictest] {
        for (name, file) in hostile() {
            let mut read = None;
            let taken = measure(|| read = Some(Robots::parse(&file, &agent, &dialect.into(), None)));
            let robots = read.unwrap();
            let most = file.len() * 5 / 2 + (256 << 10);
            assert!(robots.memory() <= most, "{dialect}, {name}: {} of {most}", robots.memory());
            let (bytes, blocks) = (taken.bytes_current as usize, taken.count_current as usize);
            let (least, most) = (bytes + 8 * blocks, bytes + 32 * blocks);
            assert!(
                (least..=most).contains(&robots.memory()),
                "{dialect}, {name}: {}, not {least} to {most}",
                robots.memory()
            );
            // While it is read, too.
            assert!(
                taken.bytes_max < 64 * file.len() as u64,
                "{dialect}, {name}: {} at most",
                taken.bytes_max
            );
            println!(
                "{dialect}, {name}: {} of {}, {} while it is read",
                robots.memory(),
                file.len(),
                taken.bytes_max
            );
        }
    }
}
