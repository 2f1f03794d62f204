//! Records that don't fit together, and those that a repair lost.

use super::*;
use crate::record::Wall;

#[test]
fn inconsistent_records_are_reported() {
    assert_eq!(broken_by(|r| r.requests += 1), ["requests"]);
    assert_eq!(broken_by(|r| drop(r.decisions.pop())), ["accounts"]);
    assert_eq!(broken_by(|r| r.forgotten.push(format!("{SITE}/b"))), ["archive", "seals", "accounts"]);
    let ledger = broken_by(|r| r.after.push(Write::put(Tree::Ledger, 0_u64.to_be_bytes(), vec![9; 80])));
    assert!(ledger.contains(&"ledger"), "{ledger:?}");
    assert_eq!(
        broken_by(|r| {
            let place =
                Archived { file: "crawl-20260101120000-00009.warc.gz".to_owned(), offset: 7, length: 9 };
            r.pages[1].0.earlier.push(place);
        }),
        ["archive"]
    );
    let withdrawn = broken_by(|r| {
        // The second response is on the list of what was withdrawn, and still there.
        for offset in 0..3_000 {
            let withdrawal = Withdrawal {
                v: 1,
                url: format!("{SITE}/b"),
                place: Archived { file: "crawl-20260101120000-00001.warc.gz".to_owned(), offset, length: 1 },
                at: at(7.0).wall,
                because: "noindex".to_owned(),
                done: true,
            };
            let value = serde_json::to_vec(&withdrawal).unwrap();
            r.after.push(Write::put(Tree::Withdrawn, withdrawal.key(), value));
        }
    });
    assert!(withdrawn.contains(&"withdrawn"), "{withdrawn:?}");
}

#[test]
fn what_a_repair_couldnt_save_is_lost_and_what_came_after_it_is_judged() {
    let repaired = |r: &mut Records, second: f64, requests_lost: u64| {
        let record = RepairRecord { v: 1, at: at(second).wall, requests_lost };
        r.after.push(Write::put(Tree::Meta, RepairRecord::KEY, record.write().unwrap()));
    };
    // The request for /b, how it was found, and why /denied was skipped, are gone.
    let damaged = |r: &mut Records| {
        r.decisions.truncate(3);
        r.pages[1].0 = page("/b", 6.0, None);
        r.pages[0].1 = vec![link("/b", LinkOutcome::Seen), link("/denied", LinkOutcome::RelNofollow)];
    };
    assert_eq!(broken_by(damaged), ["requests", "discovery", "accounts"]);
    let mut records = Records::kept();
    damaged(&mut records);
    records.robots.clear();
    repaired(&mut records, 10.0, 1);
    let report = records.judge();
    assert_eq!(broken(&report), [""; 0], "{report:#?}");
    let lost: Vec<_> = report.checks.iter().map(|c| (c.name, c.lost)).filter(|(_, lost)| *lost > 0).collect();
    assert_eq!(lost, [("requests", 1), ("robots_known", 1), ("discovery", 1), ("accounts", 1)]);
    let mut text = Vec::new();
    report.write_text(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("ok; 1 can't be judged after the repair\n"), "{text}");
    assert!(text.ends_with("No violations; 4 cases can't be judged after the repair.\n"), "{text}");

    let after = broken_by(|r| {
        damaged(r);
        r.robots.clear();
        r.asked("/b", 6.0, 2.0);
        repaired(r, 5.0, 0);
        // Nothing tells what became of a link that was queued.
        r.pages[0].1 = vec![link("/b", LinkOutcome::Seen), link("/denied", LinkOutcome::Queued)];
    });
    assert_eq!(after, ["requests", "robots_known", "discovery", "accounts"]);
}

#[test]
fn content_that_was_stored_unread_is_reported() {
    let unread = |part: &str| {
        broken_by(|r| {
            r.pages[1].0.unread.push(format!("{part}: it wasn't read"));
        })
    };
    assert_eq!(unread("head"), ["noindex", "noarchive", "archive"]);
    assert_eq!(unread("body"), ["noindex", "noarchive", "archive"]);
    assert_eq!(
        broken_by(|r| r.pages[1].0.error = Some("mime".to_owned())),
        ["noindex", "noarchive", "archive"]
    );
    // The archived response, read again, tells by itself.
    let late = format!("<head><style>{}</style><meta name=x content=y></head>", "x".repeat(512 * 1024));
    let utf_16 =
        "<\0m\0e\0t\0a\0 \0n\0a\0m\0e\0=\0r\0o\0b\0o\0t\0s\0 \0c\0o\0n\0t\0e\0n\0t\0=\0n\0o\0n\0e\0>\0";
    for body in [&late, "%PDF-1.7", utf_16] {
        assert_eq!(broken_by(|r| r.pages[1].2 = Some(body.to_owned())), ["archived_words"], "{}", &body[..8]);
    }
}

#[test]
fn a_wall_that_is_used_as_a_page_is_reported() {
    let wall = |likely| {
        let signal = "cf-mitigated: challenge".to_owned();
        Some(Wall { outcome: walls::Outcome::Challenged, vendor: None, signal, likely })
    };
    assert_eq!(broken_by(|r| r.pages[1].0.wall = wall(None)), ["walls"]);
    // One that only looks like a wall is a page.
    assert_eq!(broken_by(|r| r.pages[1].0.wall = wall(Some(7))), Vec::<&str>::new());
}

#[test]
fn a_head_that_was_not_read_may_be_kept_where_the_dialect_closes_nothing() {
    let mut records = Records::kept();
    records.pages[1].0.unread.push("head: it wasn't read".to_owned());
    let mut rules = rules();
    rules.options.dialect = robots::Dialect::Rfc9309;
    assert_eq!(broken(&records.judge_by(&rules)), [""; 0]);
}
