//! Judges every rule of pace from the request log alone: gaps, rates, windows, pauses, back-off, slowing.
//!
//! Stricter than [`oracle`](crate::oracle), which judges robots.txt too. Shares no code with the crawler.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::request_log::{Request, RequestKind};
use crate::rules::Rules;

/// The settings of the crawl.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The configured delay.
    pub delay: Duration,
    /// The gap is at least this many times the last response time ...
    pub adaptive: u32,
    /// ... up to this.
    pub longest_adaptive: Duration,
    /// The time of day (UTC) when the log began.
    pub began: Duration,
}

const SECOND: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_mins(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(15);
/// So many 5xx in a row count like a 503.
const ERRORS: u32 = 5;

/// What one host has published so far.
#[derive(Default)]
struct Host<'a> {
    last: Option<&'a Request>,
    paused_until: Duration,
    pushbacks: u32,
    halvings: u32,
    /// Answers 5xx in a row.
    errors: u32,
}

/// Returns every violation, in words.
pub fn judge(log: &[Request], pace: Pace) -> Vec<String> {
    let mut requests: Vec<&Request> = log.iter().collect();
    requests.sort_by_key(|request| (request.start, request.end));
    let mut hosts: BTreeMap<&str, Host<'_>> = BTreeMap::new();
    let mut told: HashMap<&str, Vec<(Duration, &Rules)>> = HashMap::new();
    for request in &requests {
        if let Some((lesson, rules)) = request.lesson.as_ref().and_then(|l| Some((l, l.rules.as_ref()?))) {
            told.entry(&lesson.origin).or_default().push((request.end, rules));
        }
    }
    let mut found = Vec::new();
    for request in requests {
        let known = told.get(request.origin.as_str()).map_or(&[][..], Vec::as_slice);
        let rules = known.iter().filter(|(at, _)| *at <= request.start).max_by_key(|(at, _)| *at);
        let host = hosts.entry(&request.host).or_default();
        found.extend(host.judge(request, rules.map(|(_, rules)| *rules), pace));
        host.learn(request);
    }
    found
}

impl<'a> Host<'a> {
    fn judge(&self, request: &Request, rules: Option<&Rules>, pace: Pace) -> Option<String> {
        let start = request.start;
        let minute = (pace.began + start).as_secs() / 60 % (24 * 60);
        let within = |(from, to): (u64, u64)| {
            if from <= to { (from..=to).contains(&minute) } else { minute >= from || minute <= to }
        };
        let mut gap = pace.delay;
        // What had no answer had no response time.
        if let Some(last) = self.last.filter(|last| last.status.is_some()) {
            gap = gap.max((last.end.saturating_sub(last.start) * pace.adaptive).min(pace.longest_adaptive));
        }
        if let Some(rules) = rules {
            gap = gap.max(rules.crawl_delay.unwrap_or_default());
            let rates = rules.rates.iter().filter(|rate| rate.within.is_none_or(within));
            gap = rates.map(|rate| rate.per / rate.pages).fold(gap, Duration::max);
        }
        if self.halvings > 0 {
            gap = gap.max(SECOND) * 2_u32.pow(self.halvings);
        }
        let shut = request.purpose == RequestKind::Page
            && rules.and_then(|rules| rules.visit).is_some_and(|v| !within(v));
        let why = match self.last {
            Some(last) if start < last.end => format!("overlaps {last}"),
            Some(last) if start < last.end + gap => {
                format!("{:?} after {last}, due {gap:?}", start.saturating_sub(last.end))
            }
            _ if start < self.paused_until => format!("in the pause until {:?}", self.paused_until),
            _ if shut => "outside the visit time".to_owned(),
            _ => return None,
        };
        Some(format!("{request}: {why}"))
    }

    fn learn(&mut self, request: &'a Request) {
        if self.last.is_none_or(|last| last.end < request.end) {
            self.last = Some(request);
        }
        let mut pause = request.retry_after.map(|after| after.clamp(SECOND, 7 * 24 * 3600 * SECOND));
        if request.purpose == RequestKind::Page {
            let is_error = matches!(request.status, Some(500..600));
            self.errors = if is_error { self.errors + 1 } else { 0 };
            let is_pushback = matches!(request.status, Some(429 | 503));
            if is_pushback || self.errors >= ERRORS {
                self.pushbacks += 1;
                self.halvings += u32::from(is_pushback && self.pushbacks.is_multiple_of(3));
                let doubled = FIRST_PAUSE * 2_u32.pow((self.pushbacks - 1).min(10));
                pause = pause.max(Some(doubled.min(LONGEST_PAUSE)));
            } else {
                if request.status.is_none() {
                    pause = pause.max(Some(SECOND));
                }
                self.pushbacks = 0;
            }
        }
        self.paused_until = self.paused_until.max(request.end + pause.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_log::Lesson;

    const PACE: Pace =
        Pace { delay: SECOND, adaptive: 5, longest_adaptive: Duration::from_secs(30), began: Duration::ZERO };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn page(start: u64, took: u64, status: Option<u16>, retry_after: Option<u64>) -> Request {
        Request {
            start: ms(start),
            end: ms(start + took),
            host: "a.test".into(),
            origin: "http://a.test".into(),
            path: "/".into(),
            purpose: RequestKind::Page,
            status,
            retry_after: retry_after.map(Duration::from_secs),
            lesson: None,
        }
    }

    fn robots(rules: Rules) -> Request {
        let lesson =
            Lesson { origin: "http://a.test".into(), rules: Some(rules), fresh_for: 86_400 * SECOND };
        Request { purpose: RequestKind::Robots, lesson: Some(lesson), ..page(0, 100, Some(200), None) }
    }

    /// The requests before, and the earliest start of the next one, in ms.
    fn next_at(before: &[Request], at: u64) {
        next_at_when(PACE, before, at);
    }

    fn next_at_when(pace: Pace, before: &[Request], at: u64) {
        let with = |start| {
            let log: Vec<Request> =
                before.iter().cloned().chain([page(start, 10, Some(200), None)]).collect();
            judge(&log, pace)
        };
        assert_eq!(with(at), Vec::<String>::new(), "at {at}");
        assert_eq!(with(at - 1).len(), 1, "a millisecond before {at}");
    }

    #[test]
    fn each_rule_counts_to_the_millisecond() {
        let ok = Some(200);
        let rate = |within| Rules::default().rate(1, 7 * SECOND, within);
        next_at(&[page(0, 100, ok, None)], 1_100);
        next_at(&[page(0, 2_000, ok, None)], 12_000);
        next_at(&[page(0, 20_000, ok, None)], 50_000);
        next_at(&[robots(Rules::default().delay(10 * SECOND))], 10_100);
        next_at(&[robots(rate(None))], 7_100);
        next_at(&[robots(rate(Some((0, 3))))], 7_100);
        next_at(&[robots(rate(Some((1, 3))))], 1_100);
        next_at(&[robots(Rules::default().visit(2, 3))], 120_000);
        for status in [200, 301, 404, 503, 429] {
            next_at(&[page(0, 100, Some(status), Some(90))], 90_100);
        }
        next_at(&[Request { purpose: RequestKind::Robots, ..page(0, 100, Some(404), Some(90)) }], 90_100);
        next_at(&[page(0, 100, Some(503), None)], 60_100);
        next_at(&[page(0, 100, Some(503), None), page(70_000, 100, Some(429), None)], 190_100);
        next_at(&[page(0, 100, None, None)], 1_100);
        // A day that began at 13:10: the window opens in its third minute, and its last minute is whole.
        let later = Pace { began: Duration::from_mins(13 * 60 + 10), ..PACE };
        next_at_when(later, &[robots(Rules::default().visit(793, 793))], 180_000);
        next_at_when(later, &[robots(rate(Some((789, 791))))], 7_100);
        let window = [robots(Rules::default().visit(0, 2)), page(179_999, 0, ok, None)];
        assert_eq!(judge(&window, PACE), Vec::<String>::new());
        assert_eq!(judge(&[window[0].clone(), page(180_000, 0, ok, None)], PACE).len(), 1, "a minute later");
        // Each of two requests is one too many.
        let pause = [page(0, 0, Some(404), Some(9)), page(7_000, 0, ok, None), page(8_000, 0, ok, None)];
        assert_eq!(judge(&pause, PACE).len(), 2);
        let slow = [page(0, 2_000, ok, None), page(11_000, 10, None, None), page(11_500, 10, ok, None)];
        assert_eq!(judge(&slow, PACE).len(), 2, "five times two seconds, then a second");
        let errors = [0, 2_000, 4_000, 6_000, 8_000].map(|start| page(start, 100, Some(500), None));
        next_at(&errors[..4], 7_100);
        next_at(&errors, 68_100);
        let pushed =
            [0, 70_000, 200_000, 450_000, 950_000, 1_950_000].map(|start| page(start, 100, Some(503), None));
        next_at(&pushed, 1_950_100 + 900_000);
        let open = [page(0, 5_000, ok, None), page(4_000, 100, ok, None)];
        assert_eq!(judge(&open, PACE).len(), 1, "two at once");
        for after in [0, 5, 59] {
            next_at(&[page(0, 100, Some(503), Some(after))], 60_100);
        }
        let three = [0, 70_000, 200_000].map(|start| page(start, 100, Some(503), Some(5)));
        let after = [&three[..], &[page(450_000, 100, ok, None)]].concat();
        next_at(&after, 452_100);
    }
}
