//! When a host may get the next request. Pure in `now`: data in, a [`Delay`] with its reason out. Nothing here waits.

use std::fmt;
use std::time::Duration;

use robots::StatusClass;
use serde::{Deserialize, Serialize};

/// Why a host isn't asked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DelayReason {
    /// The configured delay.
    #[default]
    Configured,
    /// `Crawl-delay` of its robots.txt.
    CrawlDelay,
    /// `Request-rate` of its robots.txt.
    RequestRate,
    /// A multiple of its last response time.
    Adaptive,
    /// `Retry-After` of a response.
    RetryAfter,
    /// Doubling pauses after failures, 429 and 503.
    BackOff,
    /// Outside the `Visit-time` of its robots.txt.
    VisitTime,
    /// Its robots.txt is unreachable.
    RobotsUnreachable,
    /// Its robots.txt redirects to another host, which is asked first.
    RobotsElsewhere,
    /// Another host on its address is asked, or was just now.
    SharedAddress,
    /// `--max-rate`.
    MaxRate,
    /// `--max-bandwidth`.
    MaxBandwidth,
    /// The crawl was stopped while a request may have been under way.
    Restart,
    /// This machine is out of file descriptors, ports or memory for a request.
    LocalShortage,
    /// The delay that the user set while the crawl runs: `crawl set DIR delay=...`.
    Operator,
    /// `crawl pause`.
    Paused,
    /// It sent walls instead of pages: challenges or refusals, two or more in a row.
    Wall,
    /// Another host of its group is asked, or was just now.
    SharedGroup,
    /// Outside the hours of a wish.
    WishHours,
    /// The requests or bytes of a day of a wish are used up.
    WishDay,
    /// The delay of a wish.
    WishDelay,
}

impl DelayReason {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Configured,
        Self::CrawlDelay,
        Self::RequestRate,
        Self::Adaptive,
        Self::RetryAfter,
        Self::BackOff,
        Self::VisitTime,
        Self::RobotsUnreachable,
        Self::RobotsElsewhere,
        Self::SharedAddress,
        Self::MaxRate,
        Self::MaxBandwidth,
        Self::Restart,
        Self::LocalShortage,
        Self::Operator,
        Self::Paused,
        Self::Wall,
        Self::SharedGroup,
        Self::WishHours,
        Self::WishDay,
        Self::WishDelay,
    ];

    /// The one of this name.
    pub fn of_word(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == name)
    }

    /// The name in records and progress lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::CrawlDelay => "crawl-delay",
            Self::RequestRate => "request-rate",
            Self::Adaptive => "adaptive",
            Self::RetryAfter => "retry-after",
            Self::BackOff => "back-off",
            Self::VisitTime => "visit-time",
            Self::RobotsUnreachable => "robots.txt unreachable",
            Self::RobotsElsewhere => "robots.txt elsewhere",
            Self::SharedAddress => "shared address",
            Self::MaxRate => "max-rate",
            Self::MaxBandwidth => "max-bandwidth",
            Self::Restart => "restart",
            Self::LocalShortage => "local shortage",
            Self::Operator => "operator",
            Self::Paused => "paused by operator",
            Self::Wall => "wall",
            Self::SharedGroup => "shared group",
            Self::WishHours => "wish hours",
            Self::WishDay => "wish day",
            Self::WishDelay => "wish delay",
        }
    }

    /// What a host waits for, after "waits for".
    pub fn awaited(self) -> &'static str {
        match self {
            Self::Configured => "their delay",
            Self::CrawlDelay => "Crawl-delay",
            Self::RequestRate => "Request-rate",
            Self::Adaptive => "slow responses",
            Self::RetryAfter => "Retry-After",
            Self::BackOff => "a pause after failures",
            Self::VisitTime => "Visit-time",
            Self::RobotsUnreachable => "an unreachable robots.txt",
            Self::RobotsElsewhere => "a robots.txt on another host",
            Self::SharedAddress => "another host on their address",
            Self::MaxRate => "--max-rate",
            Self::MaxBandwidth => "--max-bandwidth",
            Self::Restart => "a pause after the restart",
            Self::LocalShortage => "resources of this machine",
            Self::Operator => "the delay set by `crawl set`",
            Self::Paused => "`crawl continue`",
            Self::Wall => "a pause after challenges or refusals",
            Self::SharedGroup => "another host of their group",
            Self::WishHours => "the hours of a wish",
            Self::WishDay => "the next day of a wish",
            Self::WishDelay => "the delay of a wish",
        }
    }

    /// True where other hosts are asked first, with which the host shares one slot and one delay.
    pub fn is_shared(self) -> bool {
        matches!(self, Self::SharedAddress | Self::SharedGroup)
    }

    /// True for the delays between any two requests to a host, false for pauses and what comes from other hosts.
    pub fn is_usual(self) -> bool {
        matches!(
            self,
            Self::Configured | Self::CrawlDelay | Self::RequestRate | Self::Adaptive | Self::Operator
        )
    }

    /// True for pauses that a host's state asks for, false for the ordinary gaps between requests.
    pub fn is_pause(self) -> bool {
        matches!(
            self,
            Self::RetryAfter
                | Self::BackOff
                | Self::VisitTime
                | Self::RobotsUnreachable
                | Self::Wall
                | Self::WishHours
                | Self::WishDay
        )
    }

    /// True for what a host waits for by a wish: looked at again when a process begins, since the wishes may be others.
    pub fn is_wish(self) -> bool {
        matches!(self, Self::WishHours | Self::WishDay | Self::WishDelay)
    }
}

impl fmt::Display for DelayReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A gap or pause, and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delay {
    /// How long, from the end of the last response.
    pub length: Duration,
    /// The rule that asked for it.
    pub why: DelayReason,
}

impl Delay {
    /// The longer of two; the first where they are equal.
    #[must_use]
    pub fn or_longer(self, other: Self) -> Self {
        if other.length > self.length { other } else { self }
    }

    /// Why a host that asks for this is skipped, where it is longer than `pace.max_crawl_delay`.
    pub fn over_max_crawl_delay(self) -> String {
        format!("{} {} s is over max-crawl-delay", self.why, self.length.as_secs())
    }

    /// Whether it is a delay between pages that robots.txt asks for.
    pub fn is_asked(self) -> bool {
        matches!(self.why, DelayReason::CrawlDelay | DelayReason::RequestRate)
    }
}

/// What the configuration says about pace.
#[derive(Debug, Clone, Copy)]
pub struct PaceRules {
    /// The minimum delay between two requests to a host.
    pub delay: Duration,
    /// The gap is at least this many times the last response time; 0 turns it off.
    pub adaptive: f64,
    /// The adaptive gap grows to this at most. Never shortens what a site asks for.
    pub max_delay: Duration,
    /// Where the doubling of back-off stops. Never shortens a first pause, nor what a site asks for.
    pub max_backoff: Duration,
}

/// A host's own state of pace, kept across restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPace {
    /// Failures, 429 and 503 in a row.
    pub pushbacks: u32,
    /// Gaps are doubled this many times for the rest of the crawl (after three pushbacks in a row).
    pub slowed: u32,
    /// Answers 5xx in a row.
    #[serde(default)]
    pub server_errors: u32,
    /// Requests for a robots.txt without an answer since the last one with an answer; part of `pushbacks`. Not stored: a later
    /// process counts `pushbacks` for them.
    #[serde(skip)]
    pub robots_failures: u32,
}

/// The pause after a first pushback, and after a second failure in a row; doubled with each further one up to
/// [`PaceRules::max_backoff`].
pub const BACK_OFF_FIRST: Duration = Duration::from_secs(60);

/// The pause after a failed connection or time-out that is the first in a row.
pub const FAILURE_FIRST: Duration = Duration::from_secs(1);

/// So many answers 5xx in a row are a pushback of the whole host: one alone is the fault of its page.
pub const SERVER_ERRORS: u32 = 5;

/// A gap as it is waited for, so that the site's own log shows none shorter than it asked for: a fiftieth longer, or 5 ms and a
/// two-thousandth where that is less. The site notes the end of its response when the last byte was sent, which may be some
/// milliseconds after it came here; and its clock may run by 500 ppm slower than it should, as far as NTP slews a clock
/// (MAXFREQ of RFC 5905, appendix A.1.1).
pub fn as_the_site_sees(length: Duration) -> Duration {
    length.saturating_add((length / 50).min(Duration::from_millis(5).saturating_add(length / 2000)))
}

/// The gap after a response that was given up, as it is waited for: like [`as_the_site_sees`], but at least 25 ms longer. The
/// server sees that the connection was closed when it next writes to it, and that is the end of the response in its log; one with much to do
/// saw it 9 ms later.
pub fn after_giving_up(length: Duration) -> Duration {
    as_the_site_sees(length).max(length.saturating_add(Duration::from_millis(25)))
}

impl HostPace {
    /// The gap after a response: the largest of what is configured, what robots.txt asks for, and what the server's
    /// own speed suggests.
    pub fn gap(self, rules: &PaceRules, asked: Option<Delay>, response_time: Duration) -> Delay {
        let adaptive = response_time.mul_f64(rules.adaptive.clamp(0.0, 1e6)).min(rules.max_delay);
        let delay = Delay { length: rules.delay, why: DelayReason::Configured }
            .or_longer(Delay { length: adaptive, why: DelayReason::Adaptive });
        let delay = asked.map_or(delay, |asked| asked.or_longer(delay));
        if self.slowed == 0 {
            return delay;
        }
        let length = delay.length.max(Duration::from_secs(1)).saturating_mul(1 << self.slowed.min(10));
        Delay { length, why: DelayReason::BackOff }
    }

    /// Enters an answer with this status, whatever became of its body, and gives the pause that it asks of the whole host: by
    /// `Retry-After`, by 429 and 503, or as the fifth 5xx in a row or a later one.
    pub fn answered(
        &mut self,
        status: u16,
        retry_after: Option<Duration>,
        rules: &PaceRules,
        jitter: f64,
    ) -> Option<Delay> {
        let class = StatusClass::of(status);
        self.server_errors = if class.is_server_error() { self.server_errors.saturating_add(1) } else { 0 };
        if class.is_pushback() || self.server_errors >= SERVER_ERRORS {
            self.pushbacks = self.pushbacks.saturating_add(1);
        } else {
            self.pushbacks = 0;
        }
        if class.is_pushback() && self.pushbacks.is_multiple_of(3) {
            self.slowed = (self.slowed + 1).min(10);
        }
        let asked = retry_after.map(|length| Delay { length, why: DelayReason::RetryAfter });
        let own = (self.pushbacks > 0).then(|| back_off(BACK_OFF_FIRST, self.pushbacks, rules, jitter));
        // No answer makes a host be asked sooner than it would be without its Retry-After.
        own.map_or(asked, |own| Some(asked.map_or(own, |asked| own.or_longer(asked))))
    }

    /// Enters an answer whose status can't be read: the host is there, and the page alone is at fault.
    pub fn answered_badly(&mut self) {
        self.pushbacks = 0;
        self.server_errors = 0;
    }

    /// Enters a failed connection or time-out, and gives the host's pause.
    pub fn failed(&mut self, rules: &PaceRules, jitter: f64) -> Delay {
        self.pushbacks = self.pushbacks.saturating_add(1);
        match self.pushbacks {
            1 => back_off(FAILURE_FIRST, 1, rules, jitter),
            in_a_row => back_off(BACK_OFF_FIRST, in_a_row - 1, rules, jitter),
        }
    }
}

impl HostPace {
    /// Enters a failed connection or time-out of a request for a robots.txt, and gives the host's pause, as [`HostPace::failed`] does.
    pub fn robots_failed(&mut self, rules: &PaceRules, jitter: f64) -> Delay {
        self.robots_failures = self.robots_failures.saturating_add(1);
        self.failed(rules, jitter)
    }

    /// Enters that a request for a robots.txt was answered: the failed ones before it are no row any more.
    pub fn robots_answered(&mut self) {
        self.pushbacks = self.pushbacks.saturating_sub(std::mem::take(&mut self.robots_failures));
    }

    /// Whether a robots.txt whose request failed is asked for again, with so many retries: not if the pause before that is longer than
    /// `max_wait`, as long as a crawl waits for a host. The failures of its host count, whatever was asked for, so that a process that takes the
    /// crawl up counts them too.
    pub fn may_ask_robots_again(self, retries: u32, max_wait: Duration) -> bool {
        self.pushbacks.max(self.robots_failures) < retries
            && failure_pause(self.pushbacks.saturating_add(1)) <= max_wait
    }
}

/// The pause after so many failures in a row, as it is before [`PaceRules::max_backoff`] bounds it and chance adds to it.
fn failure_pause(in_a_row: u32) -> Duration {
    match in_a_row.checked_sub(2) {
        None => FAILURE_FIRST,
        Some(doubled) => BACK_OFF_FIRST.saturating_mul(1 << doubled.min(24)),
    }
}

/// Doubles `first` with each pushback after the first, up to [`PaceRules::max_backoff`]; `jitter` in 0..1 adds up to a quarter.
fn back_off(first: Duration, pushbacks: u32, rules: &PaceRules, jitter: f64) -> Delay {
    let most = rules.max_backoff.max(first);
    let doubled = first.saturating_mul(1 << pushbacks.saturating_sub(1).min(24)).min(most);
    let length = doubled.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 4.0).min(most);
    Delay { length, why: DelayReason::BackOff }
}

/// The crawl's one source of chance: a small seeded generator (xorshift64*), for the jitter of pauses.
#[derive(Debug, Clone)]
pub struct Jitter(u64);

impl Jitter {
    /// A generator that always gives the same run for one seed.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number in 0..1.
    pub fn draw(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: PaceRules = PaceRules {
        delay: Duration::from_secs(1),
        adaptive: 5.0,
        max_delay: Duration::from_secs(60),
        max_backoff: Duration::from_mins(15),
    };

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_gap_is_waited_for_a_little_longer() {
        // In microseconds: a fiftieth, from 256.4 ms on 5 ms and 500 ppm.
        for (gap, more) in [
            (0, 0),
            (20_000, 400),
            (250_000, 5_000),
            (1_000_000, 5_500),
            (5_000_000, 7_500),
            (60_000_000, 35_000),
            (3_600_000_000, 1_805_000),
        ] {
            let gap = Duration::from_micros(gap);
            assert_eq!(as_the_site_sees(gap), gap + Duration::from_micros(more), "{gap:?}");
        }
        assert_eq!(as_the_site_sees(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn after_a_response_that_was_given_up_a_gap_is_25_ms_longer_at_least() {
        for (gap, more) in
            [(0, 25_000), (20_000, 25_000), (250_000, 25_000), (1_000_000, 25_000), (60_000_000, 35_000)]
        {
            let gap = Duration::from_micros(gap);
            assert_eq!(after_giving_up(gap), gap + Duration::from_micros(more), "{gap:?}");
        }
        assert_eq!(after_giving_up(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn spec_3_4_the_largest_wins_and_says_why() {
        let pace = HostPace::default();
        let asked = |n| Some(Delay { length: secs(n), why: DelayReason::CrawlDelay });
        assert_eq!(
            pace.gap(&RULES, None, Duration::ZERO),
            Delay { length: secs(1), why: DelayReason::Configured }
        );
        assert_eq!(
            pace.gap(&RULES, asked(10), Duration::ZERO),
            Delay { length: secs(10), why: DelayReason::CrawlDelay }
        );
        assert_eq!(pace.gap(&RULES, None, secs(2)), Delay { length: secs(10), why: DelayReason::Adaptive });
        assert_eq!(
            pace.gap(&RULES, asked(300), secs(900)).length,
            secs(300),
            "max_delay binds the adaptive gap only"
        );
        assert_eq!(pace.gap(&RULES, None, secs(900)).length, secs(60));
    }

    #[test]
    fn of_two_equal_gaps_the_first_says_why() {
        let of = |why| Delay { length: secs(3), why };
        let (first, second) = (of(DelayReason::CrawlDelay), of(DelayReason::Configured));
        assert_eq!(first.or_longer(second), first);
        assert_eq!(second.or_longer(first), second);
    }

    #[test]
    fn jitter_adds_up_to_a_quarter_of_a_pause() {
        for (jitter, failed, busy) in [(0.0, 1_000, 60_000), (0.5, 1_125, 67_500), (1.0, 1_250, 75_000)] {
            let pause = HostPace::default().failed(&RULES, jitter).length;
            assert_eq!(pause, Duration::from_millis(failed), "{jitter}");
            let pause = HostPace::default().answered(429, None, &RULES, jitter).unwrap().length;
            assert_eq!(pause, Duration::from_millis(busy), "{jitter}");
        }
    }

    #[test]
    fn a_robots_txt_is_tried_as_often_as_a_page_and_its_answer_ends_the_row() {
        for retries in 0..5 {
            let mut pace = HostPace::default();
            let tries = 1
                + (0..9)
                    .take_while(|_| {
                        let again = pace.may_ask_robots_again(retries, secs(3_600));
                        if again {
                            pace.robots_failed(&RULES, 0.0);
                        }
                        again
                    })
                    .count();
            assert_eq!(tries, 1 + retries as usize);
        }
        let mut pace = HostPace::default();
        let pauses = [(); 3].map(|()| pace.robots_failed(&RULES, 0.0).length.as_secs());
        assert_eq!((pauses, pace.pushbacks), ([1, 60, 120], 3), "as after failed pages");
        // Another process knows of the row, and not what was asked for.
        let taken_up = HostPace { robots_failures: 0, ..pace };
        assert!(!taken_up.may_ask_robots_again(2, secs(3_600)));
        pace.robots_answered();
        assert_eq!(pace, HostPace::default());
        // Nor is it asked for again after a pause that no crawl waits for.
        for (failures, pause) in [(0, 1), (1, 60), (2, 120), (3, 240)] {
            let pace = HostPace { pushbacks: failures, robots_failures: failures, ..HostPace::default() };
            assert!(pace.may_ask_robots_again(9, secs(pause)), "{failures}");
            assert!(
                !pace.may_ask_robots_again(9, secs(pause).saturating_sub(Duration::from_millis(1))),
                "{failures}"
            );
        }
        // What pages were refused by stays: a robots.txt that is there doesn't end the pauses of its host.
        pace.answered(429, None, &RULES, 0.0);
        pace.robots_failed(&RULES, 0.0);
        pace.robots_answered();
        assert_eq!((pace.pushbacks, pace.robots_failures), (1, 0));
    }

    #[test]
    fn chance_is_the_published_generator() {
        // xorshift64* (Vigna 2016, shifts 12, 25, 27), seed 1. Of each number the upper 53 bits are drawn, which a float holds exactly.
        let published: [u64; 3] =
            [5_180_492_295_206_395_165, 12_380_297_144_915_551_517, 13_389_498_078_930_870_103];
        let mut jitter = Jitter::new(1);
        for number in published {
            let expected = (number / 2048) as f64 / 9_007_199_254_740_992.0;
            assert_eq!(jitter.draw().to_bits(), expected.to_bits(), "{number}");
        }
    }

    #[test]
    fn pauses_double_and_three_in_a_row_slow_the_rest() {
        let mut pace = HostPace::default();
        let mut busy = |retry_after| pace.answered(503, retry_after, &RULES, 0.0).unwrap();
        assert_eq!(busy(None), Delay { length: secs(60), why: DelayReason::BackOff });
        assert_eq!(busy(None).length, secs(120));
        assert_eq!(busy(Some(secs(700))), Delay { length: secs(700), why: DelayReason::RetryAfter });
        assert_eq!(pace.slowed, 1);
        assert_eq!(pace.answered(200, None, &RULES, 0.0), None);
        assert_eq!(
            pace.gap(&RULES, None, Duration::ZERO),
            Delay { length: secs(2), why: DelayReason::BackOff }
        );
        assert_eq!(pace.answered(429, None, &RULES, 0.0).unwrap().length, secs(60), "a new row");
    }

    #[test]
    fn doubling_stops_at_its_limit_and_a_site_may_ask_for_more() {
        let mut pace = HostPace::default();
        let pauses: Vec<_> = (0..20).map(|_| pace.failed(&RULES, 0.0).length.as_secs()).collect();
        assert_eq!(pauses[..8], [1, 60, 120, 240, 480, 900, 900, 900]);
        assert!((0..40).all(|_| pace.failed(&RULES, 1.0).length == secs(900)), "jitter adds nothing there");
        assert_eq!(pace.answered(503, None, &RULES, 1.0).unwrap().length, secs(900));
        assert_eq!(pace.answered(503, Some(secs(7_200)), &RULES, 0.0).unwrap().length, secs(7_200));
        let short = PaceRules { max_backoff: secs(5), ..RULES };
        let mut pace = HostPace::default();
        assert_eq!(
            pace.answered(503, None, &short, 0.0).unwrap().length,
            secs(60),
            "a first pause isn't doubled"
        );
        assert_eq!(pace.answered(503, None, &short, 0.5).unwrap().length, secs(60));
    }

    #[test]
    fn a_server_error_is_its_pages_and_the_fifth_in_a_row_the_hosts() {
        let mut pace = HostPace::default();
        let mut error = |status| pace.answered(status, None, &RULES, 0.0).map(|pause| pause.length.as_secs());
        for status in [500, 502, 504, 599, 404, 500, 500, 507, 500] {
            assert_eq!(error(status), None, "{status}");
        }
        assert_eq!([error(500), error(502), error(200), error(500)], [Some(60), Some(120), None, None]);
        // 503 is a 5xx too, and pauses the host by itself.
        assert_eq!([500, 503, 500, 500].map(&mut error), [None, Some(60), None, Some(60)]);
        assert_eq!(pace.slowed, 0, "three 429 or 503 slow the host, other errors don't");
        pace.answered_badly();
        assert_eq!((pace.pushbacks, pace.server_errors), (0, 0));
    }

    #[test]
    fn rfc9110_15_a_status_that_is_none_counts_as_a_server_error() {
        let mut pace = HostPace::default();
        let pauses = [600, 777, 500, 999, 600].map(|status| pace.answered(status, None, &RULES, 0.0));
        assert_eq!(
            pauses.map(|pause| pause.map(|pause| pause.length)),
            [None, None, None, None, Some(secs(60))]
        );
    }

    #[test]
    fn a_host_pauses_for_a_minute_from_the_second_failure_in_a_row() {
        let seconds = |pace: &mut HostPace| pace.failed(&RULES, 0.0).length.as_secs();
        let mut pace = HostPace::default();
        assert_eq!([seconds(&mut pace), seconds(&mut pace), seconds(&mut pace)], [1, 60, 120]);
        // A response ends the row.
        assert_eq!(pace.answered(200, None, &RULES, 0.0), None);
        assert_eq!([seconds(&mut pace), seconds(&mut pace)], [1, 60]);
        pace.answered_badly();
        assert_eq!(seconds(&mut pace), 1);
        // 429 and 503 are of the same row.
        assert_eq!(pace.answered(503, None, &RULES, 0.0).map(|pause| pause.length), Some(secs(120)));
        assert_eq!(seconds(&mut pace), 120);
    }

    proptest::proptest! {
        #[test]
        fn retry_after_never_shortens_the_back_off(
            asked in proptest::collection::vec(proptest::option::of(0_u64..700_000), 1..12),
            jitter in 0.0_f64..1.0,
        ) {
            let (mut with, mut without) = (HostPace::default(), HostPace::default());
            for asked in asked {
                let asked = asked.map(secs);
                let pause = with.answered(503, asked, &RULES, jitter).unwrap();
                let back_off = without.answered(503, None, &RULES, jitter).unwrap();
                proptest::prop_assert_eq!(pause.length, back_off.length.max(asked.unwrap_or_default()));
                let expected = if pause.length > back_off.length { DelayReason::RetryAfter } else { DelayReason::BackOff };
                proptest::prop_assert_eq!(pause.why, expected);
            }
        }
    }
}
