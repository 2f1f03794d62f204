//! Walls in a row: pauses, ends, and what makes likely ones certain. The numbers are those of docs/politeness.md.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use walls::{Answer, Decision, Outcome, Streak, Verdict, classify};

const PAUSE: Option<Duration> = Some(Duration::from_secs(600));
const LONGER: Option<Duration> = Some(Duration::from_secs(3_600));

fn answer(status: u16, fields: &[(&str, &str)], body: &str) -> Verdict {
    let fields = fields.iter().map(|(name, value)| (*name, value.as_bytes()));
    classify(&Answer::new(status, "https://a.test/x").with_headers(fields).with_body(body.as_bytes()))
}

fn challenge() -> Verdict {
    answer(403, &[("cf-mitigated", "challenge")], "")
}

fn refusal() -> Verdict {
    answer(403, &[("x-sucuri-block", "1")], "")
}

fn page() -> Verdict {
    answer(200, &[], "<h1>Owls</h1><a href=/x>x</a>")
}

fn login() -> Verdict {
    answer(302, &[("location", "/login?next=/x")], "")
}

fn likely(number: usize) -> Verdict {
    answer(200, &[], &format!("<title>Checking your browser</title><p>Visitor {number}, please wait.</p>"))
}

/// What follows from the last of some answers, each of a URL of its own.
fn after(verdicts: &[Verdict]) -> (Decision, Streak) {
    let mut streak = Streak::default();
    let last = verdicts.iter().zip(0..).map(|(verdict, url)| streak.observe(verdict, url)).last();
    (last.unwrap(), streak)
}

#[test]
fn pauses_begin_with_the_second_wall_and_the_fourth_ends_the_host() {
    let row = [challenge(), refusal(), challenge(), refusal()];
    let pauses: Vec<_> = (1..=3).map(|count| after(&row[..count]).0.pause).collect();
    assert_eq!(pauses, [None, PAUSE, LONGER]);
    let (last, streak) = after(&row);
    assert_eq!((last.end, last.pause), (Some(Outcome::Refused), None));
    assert_eq!(streak.ended(), Some(Outcome::Refused));
}

#[test]
fn a_page_between_starts_again_and_an_error_changes_nothing() {
    let (last, _) = after(&[challenge(), challenge(), challenge(), page(), challenge()]);
    assert_eq!(last, Decision::default());
    let error = answer(500, &[], "");
    let redirect = answer(302, &[("location", "/y")], "");
    let (last, _) = after(&[challenge(), error, redirect, challenge()]);
    assert_eq!(last.pause, PAUSE);
}

#[test]
fn what_concerns_one_url_and_what_has_a_back_off_of_its_own_is_not_counted() {
    let rows = [answer(451, &[], ""), answer(402, &[], ""), answer(429, &[], "slow down")];
    for verdict in rows {
        assert!(verdict.is_certain());
        assert_eq!(after(&vec![verdict; 30]).0, Decision::default());
    }
}

#[test]
fn the_other_walls_end_a_host_by_their_own_numbers() {
    for (verdict, most) in [
        (login(), 20),
        (answer(302, &[("location", "https://consent.youtube.com/m?continue=x")], ""), 3),
        (answer(302, &[("location", "/cgi-sys/suspendedpage.cgi")], ""), 1),
    ] {
        let row = vec![verdict; most];
        assert_eq!(after(&row).0.end, Some(row[0].outcome));
        if most > 1 {
            assert_eq!(after(&row[1..]).0, Decision::default());
        }
    }
    let shell = answer(200, &[], "<div id=app></div><script src=/m.js></script>");
    assert_eq!(shell.outcome, Outcome::Shell);
    assert_eq!(after(&vec![shell; 50]).0, Decision::default());
}

#[test]
fn five_equal_likely_ones_in_a_row_become_certain() {
    let row: Vec<_> = (0..6).map(likely).collect();
    assert_eq!(row[0].suspect.map(|suspect| suspect.outcome), Some(Outcome::Challenged));
    assert_eq!(after(&row[..4]).0, Decision::default());
    let (fifth, _) = after(&row[..5]);
    assert_eq!((fifth.now_certain, fifth.end), (Some(Outcome::Challenged), Some(Outcome::Challenged)));
    assert_eq!(fifth.earlier, [0, 1, 2, 3]);
    let (sixth, _) = after(&row);
    assert_eq!((sixth.now_certain, sixth.earlier), (Some(Outcome::Challenged), Vec::new()));

    // Another text, a page between, or one URL again and again.
    let other = answer(200, &[], "<title>Checking your browser</title><p>Something else.</p>");
    for broken in [other, page()] {
        let row = [&row[..2], &[broken], &row[2..5]].concat();
        assert_eq!(after(&row).0, Decision::default());
    }
    let mut streak = Streak::default();
    assert!((0..9).all(|_| streak.observe(&row[0], 1) == Decision::default()));
}

#[test]
fn the_next_run_tries_one_first() {
    let (_, mut streak) = after(&[challenge(), challenge(), challenge(), challenge()]);
    streak.next_run();
    let mut again = streak.clone();
    assert_eq!(streak.ended(), None);
    assert_eq!(streak.observe(&challenge(), 1).end, Some(Outcome::Challenged));
    assert_eq!(again.observe(&page(), 1), Decision::default());
    assert_eq!(again.observe(&challenge(), 2), Decision::default());
}
