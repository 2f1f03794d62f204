//! What the consent files say that they take is what the allocator was asked for.

use std::fmt::Write as _;

use allocation_counter::measure;
use meta::Agent;
use meta::consent::tdm::TdmFile;
use meta::consent::{AiTxt, ConsentLines, RobotsSignals};

fn lines(count: usize, line: &str) -> String {
    (0..count).fold(String::new(), |mut file, n| {
        let _written = writeln!(file, "{}", line.replace('#', &n.to_string()));
        file
    })
}

#[test]
fn what_consent_files_take_is_what_the_allocator_was_asked_for() {
    let agent = Agent::new("SuperRobot");
    for count in [0, 1, 3, 40, 1_000] {
        let file = format!(
            "User-agent: *\n{}",
            lines(count, "Disallow: /a-path-that-takes-more-than-a-short-one/#")
        );
        check(&format!("ai.txt, {count}"), || AiTxt::parse(file.as_bytes(), &agent), AiTxt::memory);

        let policy = r#"{"location":"/a-path-that-is-long-enough-#","tdm-reservation":1,"tdm-policy":"https://a.example/policies/#"},"#;
        let file = format!("[{}]", lines(count, policy).trim_end().trim_end_matches(','));
        check(&format!("tdmrep.json, {count}"), || TdmFile::parse(file.as_bytes()), TdmFile::memory);

        for field in [
            "Content-Usage: /a-path-that-is-long-enough-# train-ai=n",
            "Content-Signal: /p# ai-train=no, search=yes",
            "Content-Usage: /p# Train-AI=n",
            &format!("Content-Usage: /a-line-that-is-too-long-#{} train-ai=n", "/x".repeat(1_100)),
        ] {
            let file = format!("User-agent: *\n{}", lines(count, field));
            let robot = robots::Agent::new("SuperRobot/1.0");
            let read =
                robots::Robots::parse(file.as_bytes(), &robot, &robots::Dialect::Hardened.into(), None);
            let make = || ConsentLines::from(read.signals());
            check(&format!("{field}, {count}"), make, ConsentLines::memory);
            let consent = make();
            check(
                &format!("{field}, {count}, prepared"),
                || RobotsSignals::new(&consent),
                RobotsSignals::memory,
            );
        }
    }
}

fn check<T>(what: &str, make: impl FnOnce() -> T, memory: impl FnOnce(&T) -> usize) {
    let mut value = None;
    let taken = measure(|| value = Some(make()));
    let (bytes, blocks) = (taken.bytes_current as usize, taken.count_current as usize);
    // glibc's malloc adds 8 bytes to a block, and rounds it up to 16, to 32 at least.
    let (least, most) = (bytes + 8 * blocks, bytes + 31 * blocks);
    let said = value.as_ref().map_or(0, memory);
    assert!((least..=most).contains(&said), "{what}: {said}, not {least} to {most}");
}
