//! Judges politeness from the request log alone.
//!
//! The oracle knows nothing of the crawler: no types, no code, no events. What a log entry tells (rules, `Retry-After`, status)
//! is what the web answered, so that a crawler can't talk itself out of a violation.

mod pace;

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

pub use self::pace::{Promise, Strict};
use crate::request_log::{Lesson, Request, RequestKind};
use crate::rules::Rules;

/// The rule of docs/ARCHITECTURE.md that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// At most one request in flight per host.
    I1,
    /// The gap after a response is never below the delay in force.
    I2,
    /// No page before its origin's robots.txt is known, fresh and at most 24 h old.
    I3,
    /// An unreachable robots.txt means no pages.
    I4,
    /// No denied URL is requested.
    I5,
}

/// A broken rule with its evidence.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which rule.
    pub invariant: Invariant,
    /// The log entry that the rule follows from, if there is one.
    pub earlier: Option<Request>,
    /// The request that should not have been made, or not yet.
    pub later: Request,
    /// What was expected.
    pub because: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}\n  later   {}", self.invariant, self.because, self.later)?;
        self.earlier.as_ref().map_or(Ok(()), |earlier| write!(f, "\n  earlier {earlier}"))
    }
}

const DAY: Duration = Duration::from_hours(24);
/// How long a host stays closed when its robots.txt is unreachable, before an older copy may be used.
const CLOSED_WITHOUT_ANSWER: Duration = Duration::from_hours(12);
const OLDEST_COPY: Duration = Duration::from_hours(30 * 24);

/// Returns every violation in a log, in the order of the requests.
pub fn judge(log: &[Request], promise: Promise) -> Vec<Violation> {
    let lessons = Lessons::of(log);
    let mut found = pace::judge(log, &lessons, promise);
    for request in log.iter().filter(|request| request.purpose == RequestKind::Page) {
        found.extend(judge_robots(request, &lessons));
    }
    found.sort_by_key(|violation| (violation.later.start, violation.invariant));
    found
}

/// Panics with every violation, for tests.
///
/// # Panics
/// If the log breaks a rule.
pub fn assert_polite(log: &[Request], promise: Promise) {
    let found = judge(log, promise);
    let text: Vec<String> = found.iter().take(20).map(ToString::to_string).collect();
    assert!(found.is_empty(), "{} violations in {} requests:\n{}", found.len(), log.len(), text.join("\n"));
}

/// I3, I4 and I5 on one page request.
fn judge_robots(page: &Request, lessons: &Lessons<'_>) -> Option<Violation> {
    let violation = |invariant, earlier: Option<&Request>, because: &str| {
        let because = because.to_owned();
        Some(Violation { invariant, earlier: earlier.cloned(), later: page.clone(), because })
    };
    let known = lessons.before(page);
    let Some((request, lesson)) = known.last() else {
        return violation(Invariant::I3, None, "robots.txt wasn't asked for");
    };
    let copy = known.iter().rev().find_map(|(at, lesson)| Some((at, lesson, lesson.rules.as_ref()?)));
    let rules = match (&lesson.rules, copy) {
        (Some(rules), _) => {
            if page.start > request.end + lesson.fresh_for.min(DAY) {
                return violation(Invariant::I3, Some(request), "robots.txt is too old");
            }
            rules
        }
        (None, None) => return violation(Invariant::I4, Some(request), "robots.txt is unreachable, no copy"),
        (None, Some((at, _, rules))) => {
            let since = known
                .iter()
                .find(|(failed, _)| failed.start >= at.end)
                .map_or(request.end, |(failed, _)| failed.end);
            if page.start < since + CLOSED_WITHOUT_ANSWER {
                return violation(
                    Invariant::I4,
                    Some(request),
                    "robots.txt is unreachable for less than 12 h",
                );
            }
            if page.start > at.end + OLDEST_COPY {
                return violation(Invariant::I4, Some(at), "robots.txt is unreachable, the copy too old");
            }
            rules
        }
    };
    if rules.allows(&page.path) {
        return None;
    }
    violation(Invariant::I5, Some(request), "robots.txt denies it")
}

/// What was published by each origin, in the order in which the responses ended.
struct Lessons<'a> {
    of_origin: HashMap<&'a str, Vec<(&'a Request, &'a Lesson)>>,
}

impl<'a> Lessons<'a> {
    fn of(log: &'a [Request]) -> Self {
        let mut of_origin: HashMap<&str, Vec<(&Request, &Lesson)>> = HashMap::new();
        for request in log {
            if let Some(lesson) = &request.lesson {
                of_origin.entry(&lesson.origin).or_default().push((request, lesson));
            }
        }
        for lessons in of_origin.values_mut() {
            lessons.sort_by_key(|(request, _)| request.end);
        }
        Self { of_origin }
    }

    fn before(&self, request: &Request) -> &[(&'a Request, &'a Lesson)] {
        let lessons = self.of_origin.get(request.origin.as_str()).map_or(&[][..], Vec::as_slice);
        &lessons[..lessons.partition_point(|(lesson, _)| lesson.end <= request.start)]
    }

    /// The rules that were known when a request started.
    fn rules(&self, request: &Request) -> Option<&'a Rules> {
        self.before(request).iter().rev().find_map(|(_, lesson)| lesson.rules.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISE: Promise = Promise::delay(Duration::from_secs(1));

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn page(start: u64, end: u64, path: &str) -> Request {
        Request {
            start: ms(start),
            end: ms(end),
            host: "a.test".into(),
            origin: "http://a.test".into(),
            path: path.into(),
            purpose: RequestKind::Page,
            status: Some(200),
            retry_after: None,
            lesson: None,
        }
    }

    fn robots(start: u64, end: u64, rules: Option<Rules>) -> Request {
        let lesson = Some(Lesson { origin: "http://a.test".into(), rules, fresh_for: DAY });
        Request { purpose: RequestKind::Robots, lesson, ..page(start, end, "/robots.txt") }
    }

    fn broken(log: &[Request]) -> Vec<Invariant> {
        judge(log, PROMISE).into_iter().map(|violation| violation.invariant).collect()
    }

    #[test]
    fn a_polite_log_has_no_violation() {
        let log = [
            robots(0, 100, Some(Rules::default().deny("/x/"))),
            page(1100, 1200, "/"),
            page(2200, 2300, "/y"),
            Request { host: "b.test".into(), origin: "http://b.test".into(), ..robots(50, 60, None) },
        ];
        assert_eq!(broken(&log), []);
    }

    #[test]
    fn i1_an_overlap_is_seen_whatever_the_order_of_the_log() {
        let log = [page(1100, 5000, "/a"), robots(0, 100, Some(Rules::default())), page(3000, 3100, "/b")];
        let found = judge(&log, PROMISE);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].invariant, Invariant::I1);
        assert_eq!(
            (found[0].earlier.as_ref().unwrap().path.as_str(), found[0].later.path.as_str()),
            ("/a", "/b")
        );
    }

    #[test]
    fn i1_a_short_request_inside_a_long_one_doesnt_hide_the_next_overlap() {
        let log = [
            robots(0, 1, Some(Rules::default())),
            page(1100, 9000, "/a"),
            page(1200, 1300, "/b"),
            page(8000, 8001, "/c"),
        ];
        assert_eq!(broken(&log), [Invariant::I1, Invariant::I1]);
    }

    #[test]
    fn i1_two_ports_of_a_host_share_its_pace() {
        let other =
            Lesson { origin: "http://a.test:81".into(), rules: Some(Rules::default()), fresh_for: DAY };
        let log = [
            robots(0, 100, Some(Rules::default())),
            Request { origin: "http://a.test:81".into(), lesson: Some(other), ..robots(50, 150, None) },
        ];
        assert_eq!(broken(&log), [Invariant::I1]);
    }

    #[test]
    fn i2_a_gap_of_a_millisecond_too_little_is_seen() {
        assert_eq!(broken(&[robots(0, 100, Some(Rules::default())), page(1099, 1200, "/")]), [Invariant::I2]);
    }

    #[test]
    fn i2_crawl_delay_applies_from_the_response_that_set_it() {
        let published = Some(Rules::default().delay(Duration::from_secs(10)));
        assert_eq!(broken(&[robots(0, 100, published.clone()), page(5000, 5100, "/")]), [Invariant::I2]);
        assert_eq!(
            broken(&[
                robots(0, 100, published.clone()),
                page(10_100, 10_200, "/"),
                page(20_200, 20_300, "/a")
            ]),
            []
        );
        // A crawl delay below the configured one doesn't shorten it.
        let short = Some(Rules::default().delay(ms(10)));
        assert_eq!(broken(&[robots(0, 100, short), page(600, 700, "/")]), [Invariant::I2]);
    }

    #[test]
    fn i2_retry_after_pauses_the_whole_host() {
        let busy = |status| Request {
            status: Some(status),
            retry_after: Some(Duration::from_secs(30)),
            ..page(1100, 1200, "/busy")
        };
        let start = robots(0, 100, Some(Rules::default()));
        for status in [200, 301, 404, 429, 503] {
            assert_eq!(broken(&[start.clone(), busy(status), page(3000, 3100, "/other")]), [Invariant::I2]);
            assert_eq!(broken(&[start.clone(), busy(status), page(31_200, 31_300, "/other")]), []);
        }
    }

    #[test]
    fn i3_a_page_without_or_before_robots_is_seen() {
        assert_eq!(broken(&[page(0, 100, "/")]), [Invariant::I3]);
        assert_eq!(broken(&[page(0, 100, "/"), robots(1100, 1200, Some(Rules::default()))]), [Invariant::I3]);
        // A redirect of robots.txt has published nothing yet.
        let moved = Request { status: Some(301), lesson: None, ..robots(0, 100, None) };
        assert_eq!(broken(&[moved, page(1100, 1200, "/")]), [Invariant::I3]);
    }

    #[test]
    fn i3_robots_older_than_a_day_or_than_its_lifetime_is_seen() {
        let hour = 3_600_000;
        assert_eq!(
            broken(&[robots(0, 100, Some(Rules::default())), page(24 * hour + 101, 25 * hour, "/")]),
            [Invariant::I3]
        );
        let mut short = robots(0, 100, Some(Rules::default()));
        if let Some(lesson) = &mut short.lesson {
            lesson.fresh_for = Duration::from_mins(10);
        }
        assert_eq!(broken(&[short.clone(), page(600_101, 600_200, "/")]), [Invariant::I3]);
        assert_eq!(broken(&[short, page(600_100, 600_200, "/")]), []);
    }

    #[test]
    fn i4_a_page_while_robots_is_unreachable_is_seen() {
        assert_eq!(broken(&[robots(0, 100, None), page(1100, 1200, "/")]), [Invariant::I4]);
        let known = robots(0, 100, Some(Rules::default()));
        let failed = robots(5000, 5100, None);
        assert_eq!(broken(&[known.clone(), failed.clone(), page(7000, 7100, "/")]), [Invariant::I4]);
        // After 12 h the copy may be used, under its own rules.
        let later = 5100 + 12 * 3_600_000;
        assert_eq!(broken(&[known, failed.clone(), page(later, later + 1, "/")]), []);
        let strict = robots(0, 100, Some(Rules::default().deny("/x")));
        assert_eq!(broken(&[strict, failed, page(later, later + 1, "/x")]), [Invariant::I5]);
    }

    #[test]
    fn i5_a_denied_page_is_seen_and_a_redirect_target_is_judged_like_any_other() {
        let rules = Rules::default().deny("/private");
        let log = [robots(0, 100, Some(rules)), page(1100, 1200, "/go"), page(2200, 2300, "/private/x")];
        let found = judge(&log, PROMISE);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].invariant, found[0].later.path.as_str()), (Invariant::I5, "/private/x"));
        assert_eq!(found[0].earlier.as_ref().unwrap().path, "/robots.txt");
    }

    #[test]
    fn i5_rules_of_another_origin_dont_count() {
        let other = Lesson { origin: "http://b.test".into(), rules: Some(Rules::closed()), fresh_for: DAY };
        let log = [
            robots(0, 100, Some(Rules::default())),
            // robots.txt of b, moved to a: it binds b, and costs a's turn.
            Request { lesson: Some(other), path: "/robots-of-b.txt".into(), ..robots(1100, 1200, None) },
            page(2200, 2300, "/"),
        ];
        assert_eq!(broken(&log), []);
    }
}
