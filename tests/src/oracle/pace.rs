//! I1 and I2: one request at a time to each host, and the whole gap before it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Invariant, Lessons, Violation};
use crate::request_log::{Request, RequestKind};
use crate::rules::Rules;

/// What the settings of a crawl promise about its pace.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// The configured delay between the end of a response and the next request to the same host.
    pub delay: Duration,
    /// Judges every rule of pace; without it gaps, `Crawl-delay` and `Retry-After` are judged.
    pub strict: Option<Strict>,
}

impl Promise {
    /// A promise of this delay.
    pub const fn delay(delay: Duration) -> Self {
        Self { delay, strict: None }
    }
}

/// What the other rules of pace depend on: response times, rates, hours, pauses after errors, slowing.
#[derive(Clone, Copy, Debug)]
pub struct Strict {
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
/// `Retry-After` beyond this is cut to this.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(7 * 24);
/// So many 5xx in a row count like a 503.
const ERRORS: u32 = 5;

/// Returns every violation, by host.
pub(super) fn judge(log: &[Request], lessons: &Lessons<'_>, promise: Promise) -> Vec<Violation> {
    let mut hosts: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in log {
        hosts.entry(&request.host).or_default().push(request);
    }
    let mut found = Vec::new();
    for requests in hosts.values_mut() {
        requests.sort_by_key(|request| (request.start, request.end));
        let mut host = Host::default();
        for request in requests {
            found.extend(host.judge(request, lessons.rules(request), promise));
            host.learn(request, promise.strict.is_some());
        }
    }
    found
}

/// What one host has asked for so far.
#[derive(Default)]
struct Host<'a> {
    last: Option<&'a Request>,
    /// Until when it pauses, and the response that says so.
    pause: Option<(Duration, &'a Request)>,
    pushbacks: u32,
    halvings: u32,
    /// Responses 5xx in a row.
    errors: u32,
}

impl<'a> Host<'a> {
    fn judge(&self, request: &Request, rules: Option<&Rules>, promise: Promise) -> Option<Violation> {
        let violation = |invariant, earlier: Option<&Request>, because: String| {
            Some(Violation { invariant, earlier: earlier.cloned(), later: request.clone(), because })
        };
        let start = request.start;
        let gap = self.gap(request, rules, promise);
        if let Some(last) = self.last {
            if start < last.end {
                let because = format!("two requests in flight at {}", request.host);
                return violation(Invariant::I1, Some(last), because);
            }
            if start < last.end + gap {
                let waited = start.saturating_sub(last.end);
                return violation(Invariant::I2, Some(last), format!("{waited:?} after it, due {gap:?}"));
            }
        }
        if let Some((until, earlier)) = self.pause.filter(|(until, _)| start < *until) {
            return violation(Invariant::I2, Some(earlier), format!("in the pause until {until:?}"));
        }
        let strict = promise.strict.filter(|_| request.purpose == RequestKind::Page)?;
        let is_shut = rules.and_then(|rules| rules.visit).is_some_and(|hours| !strict.is_in(hours, start));
        if is_shut { violation(Invariant::I2, None, "outside of the visit time".to_owned()) } else { None }
    }

    /// The gap that is due before a request.
    fn gap(&self, request: &Request, rules: Option<&Rules>, promise: Promise) -> Duration {
        let asked = rules.and_then(|rules| rules.crawl_delay).unwrap_or_default();
        let mut gap = promise.delay.max(asked);
        let Some(strict) = promise.strict else { return gap };
        // What had no answer had no response time.
        if let Some(last) = self.last.filter(|last| last.status.is_some()) {
            let took = last.end.saturating_sub(last.start);
            gap = gap.max((took * strict.adaptive).min(strict.longest_adaptive));
        }
        for rate in rules.iter().flat_map(|rules| &rules.rates) {
            if rate.within.is_none_or(|hours| strict.is_in(hours, request.start)) {
                gap = gap.max(rate.per / rate.pages);
            }
        }
        if self.halvings > 0 { gap.max(SECOND) * 2_u32.pow(self.halvings) } else { gap }
    }

    fn learn(&mut self, request: &'a Request, is_strict: bool) {
        if self.last.is_none_or(|last| last.end < request.end) {
            self.last = Some(request);
        }
        // It pauses the whole host, on any URL and with any status.
        let mut pause = request.retry_after.map(|after| after.min(LONGEST_RETRY_AFTER));
        if is_strict {
            pause = pause.map(|after| after.max(SECOND)).max(self.pushed_back(request));
        }
        let Some(until) = pause.map(|pause| request.end + pause) else { return };
        if self.pause.is_none_or(|(before, _)| before < until) {
            self.pause = Some((until, request));
        }
    }

    /// The pause after 429, 503, errors in a row or no answer.
    fn pushed_back(&mut self, request: &Request) -> Option<Duration> {
        if request.purpose != RequestKind::Page {
            return None;
        }
        let is_error = matches!(request.status, Some(500..600));
        self.errors = if is_error { self.errors + 1 } else { 0 };
        let is_pushback = matches!(request.status, Some(429 | 503));
        if is_pushback || self.errors >= ERRORS {
            self.pushbacks += 1;
            self.halvings += u32::from(is_pushback && self.pushbacks.is_multiple_of(3));
            let doubled = FIRST_PAUSE * 2_u32.pow((self.pushbacks - 1).min(10));
            return Some(doubled.min(LONGEST_PAUSE));
        }
        self.pushbacks = 0;
        request.status.is_none().then_some(SECOND)
    }
}

impl Strict {
    /// Whether a moment of the log is within these minutes of the day.
    fn is_in(&self, (from, to): (u64, u64), moment: Duration) -> bool {
        let minute = (self.began + moment).as_secs() / 60 % (24 * 60);
        if from <= to { (from..=to).contains(&minute) } else { minute >= from || minute <= to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_log::Lesson;

    const STRICT: Strict =
        Strict { adaptive: 5, longest_adaptive: Duration::from_secs(30), began: Duration::ZERO };
    const PROMISE: Promise = Promise { delay: SECOND, strict: Some(STRICT) };

    fn judge(log: &[Request], promise: Promise) -> Vec<String> {
        super::judge(log, &Lessons::of(log), promise).iter().map(ToString::to_string).collect()
    }

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
        next_at_when(PROMISE, before, at);
    }

    fn next_at_when(promise: Promise, before: &[Request], at: u64) {
        let with = |start| {
            let log: Vec<Request> =
                before.iter().cloned().chain([page(start, 10, Some(200), None)]).collect();
            judge(&log, promise)
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
        let began = Duration::from_mins(13 * 60 + 10);
        let later = Promise { strict: Some(Strict { began, ..STRICT }), ..PROMISE };
        next_at_when(later, &[robots(Rules::default().visit(793, 793))], 180_000);
        next_at_when(later, &[robots(rate(Some((789, 791))))], 7_100);
        let window = [robots(Rules::default().visit(0, 2)), page(179_999, 0, ok, None)];
        assert_eq!(judge(&window, PROMISE), Vec::<String>::new());
        assert_eq!(
            judge(&[window[0].clone(), page(180_000, 0, ok, None)], PROMISE).len(),
            1,
            "a minute later"
        );
        // Each of two requests is one too many.
        let pause = [page(0, 0, Some(404), Some(9)), page(7_000, 0, ok, None), page(8_000, 0, ok, None)];
        assert_eq!(judge(&pause, PROMISE).len(), 2);
        let slow = [page(0, 2_000, ok, None), page(11_000, 10, None, None), page(11_500, 10, ok, None)];
        assert_eq!(judge(&slow, PROMISE).len(), 2, "five times two seconds, then a second");
        let errors = [0, 2_000, 4_000, 6_000, 8_000].map(|start| page(start, 100, Some(500), None));
        next_at(&errors[..4], 7_100);
        next_at(&errors, 68_100);
        let pushed =
            [0, 70_000, 200_000, 450_000, 950_000, 1_950_000].map(|start| page(start, 100, Some(503), None));
        next_at(&pushed, 1_950_100 + 900_000);
        let open = [page(0, 5_000, ok, None), page(4_000, 100, ok, None)];
        assert_eq!(judge(&open, PROMISE).len(), 1, "two at once");
        for after in [0, 5, 59] {
            next_at(&[page(0, 100, Some(503), Some(after))], 60_100);
        }
        let three = [0, 70_000, 200_000].map(|start| page(start, 100, Some(503), Some(5)));
        let after = [&three[..], &[page(450_000, 100, ok, None)]].concat();
        next_at(&after, 452_100);
    }
}
