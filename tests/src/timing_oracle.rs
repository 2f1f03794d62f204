//! Judges the finer rules of pace from the request log alone: Request-rate, Visit-time, slow answers, Retry-After on any answer,
//! and pauses where 429 and 503 come without one.
//!
//! As [`oracle`](crate::oracle), it knows nothing of the crawler, and shares no code with it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::request_log::{Purpose, Request};
use crate::rules::Rules;

/// What the crawl had promised, and when it was.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The gap is at least this many times the last response time ...
    pub adaptive: f64,
    /// ... up to this.
    pub most: Duration,
    /// Pause after 429 or 503 on a page, where it names none (digest 2.6).
    pub push_back: Duration,
    /// Time of day when the log began, UTC.
    pub began: Duration,
}

const DAY: Duration = Duration::from_hours(24);
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(7 * 24);

/// What is wrong, in words, in the order of the requests of each host.
pub fn judge_timing(log: &[Request], timing: Timing) -> Vec<String> {
    let mut hosts: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in log {
        hosts.entry(&request.host).or_default().push(request);
    }
    let mut wrong = Vec::new();
    for requests in hosts.values_mut() {
        requests.sort_by_key(|request| (request.start, request.end));
        for (at, later) in requests.iter().enumerate() {
            let rules = rules_before(log, later);
            for earlier in &requests[..at] {
                wrong.extend(
                    too_early(earlier, later, timing).map(|why| format!("{why}\n  {earlier}\n  {later}")),
                );
            }
            let gap = |each: Duration| {
                requests[..at].last().filter(|earlier| later.start < earlier.end + each).copied()
            };
            if let Some(each) = rules.and_then(rate)
                && let Some(earlier) = gap(each)
            {
                wrong.push(format!("Request-rate of 1/{}\n  {earlier}\n  {later}", each.as_secs()));
            }
            if let (Some((from, to)), Purpose::Page) = (rules.and_then(|rules| rules.visit), later.purpose) {
                let minute = minute_of_day(timing.began + later.start);
                if !(from as f64..(to + 1) as f64).contains(&minute) {
                    wrong.push(format!("Visit-time {from}-{to}, asked in minute {minute:.2}\n  {later}"));
                }
            }
        }
    }
    wrong
}

/// Why a request came too early after another one of its host.
fn too_early(earlier: &Request, later: &Request, timing: Timing) -> Option<&'static str> {
    let gap = later.start.checked_sub(earlier.end)?;
    let took = earlier.end.checked_sub(earlier.start)?;
    // A request that brought no answer has no response time; it may be one that a killed process had under way.
    if earlier.status.is_some() && gap < took.mul_f64(timing.adaptive).min(timing.most) {
        return Some("too soon after a slow answer");
    }
    if earlier.retry_after.is_some_and(|after| gap < after.min(LONGEST_RETRY_AFTER)) {
        return Some("Retry-After isn't over");
    }
    let pushed = earlier.purpose == Purpose::Page && matches!(earlier.status, Some(429 | 503));
    (pushed && earlier.retry_after.is_none() && gap < timing.push_back).then_some("pushed back a moment ago")
}

/// The time that each page takes of the Request-rate that holds all day.
fn rate(rules: &Rules) -> Option<Duration> {
    let rate = rules.rates.first().filter(|rate| rate.within.is_none())?;
    Some(rate.per / rate.pages)
}

fn minute_of_day(time: Duration) -> f64 {
    (time.as_secs_f64() % DAY.as_secs_f64()) / 60.0
}

/// The rules of the request's origin that were known when it was sent.
fn rules_before<'a>(log: &'a [Request], request: &Request) -> Option<&'a Rules> {
    let known = log.iter().filter(|known| known.end <= request.start);
    let lessons = known.filter_map(|known| Some((known.end, known.lesson.as_ref()?)));
    let own = lessons.filter(|(_, lesson)| lesson.origin == request.origin);
    own.max_by_key(|(end, _)| *end)?.1.rules.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_log::Lesson;
    use crate::rules::Rate;

    const TIMING: Timing = Timing {
        adaptive: 5.0,
        most: Duration::from_secs(30),
        push_back: Duration::from_secs(60),
        began: Duration::ZERO,
    };

    fn page(start: u64, end: u64, status: u16, retry_after: Option<u64>) -> Request {
        Request {
            start: Duration::from_secs(start),
            end: Duration::from_secs(end),
            host: "a.test".into(),
            origin: "http://a.test".into(),
            path: "/".into(),
            purpose: Purpose::Page,
            status: Some(status),
            retry_after: retry_after.map(Duration::from_secs),
            lesson: None,
        }
    }

    fn count(log: &[Request]) -> usize {
        judge_timing(log, TIMING).len()
    }

    #[test]
    fn each_rule_is_judged() {
        assert_eq!(count(&[page(0, 2, 200, None), page(12, 13, 200, None)]), 0);
        assert_eq!(count(&[page(0, 2, 200, None), page(11, 12, 200, None)]), 1, "five times two seconds");
        assert_eq!(count(&[page(0, 20, 200, None), page(50, 51, 200, None)]), 0, "thirty at the most");
        assert_eq!(count(&[page(0, 0, 503, None), page(59, 59, 200, None)]), 1);
        assert_eq!(count(&[page(0, 0, 503, Some(7)), page(7, 7, 200, None)]), 0);
        assert_eq!(count(&[page(0, 0, 404, Some(9)), page(7, 7, 200, None), page(8, 8, 200, None)]), 2);
        let rules = Rules {
            rates: vec![Rate { pages: 1, per: Duration::from_secs(20), within: None }],
            visit: Some((1, 2)),
            ..Rules::default()
        };
        let lesson = Some(Lesson { origin: "http://a.test".into(), rules: Some(rules), fresh_for: DAY });
        let robots = Request { purpose: Purpose::Robots, lesson, ..page(0, 0, 200, None) };
        assert_eq!(count(&[robots.clone(), page(60, 60, 200, None), page(80, 80, 200, None)]), 0);
        assert_eq!(count(&[robots.clone(), page(60, 60, 200, None), page(79, 79, 200, None)]), 1);
        assert_eq!(count(&[robots.clone(), page(59, 59, 200, None)]), 1);
        assert_eq!(count(&[robots, page(180, 180, 200, None)]), 1, "the last minute is whole");
    }
}
