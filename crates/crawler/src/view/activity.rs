//! What the ledger says of all requests of a crawl: when they were sent, which delays were in effect, and which gaps were kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::coverage::Counted;
use super::gaps::{Gap, RequestTimes};
use super::moment::Moment;
use super::open::{View, ViewError};
use super::runs::RunFigures;
use super::tally::Tally;
use crate::record::{Decided, Decision, RequestMade};
use crate::sorter::{self, Sorter};

/// Most steps of a time line. Its steps double until they are no more.
const MOST_STEPS: i64 = 240;

/// Orders for a delay that are listed; the others are counted.
const ORDERS_LISTED: usize = 100;

/// The requests of a crawl, from its ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Activity {
    /// Requests of which the ledger has the times; all other figures are about these.
    pub requests: u64,
    /// When the first of them was sent.
    pub first_request: Option<Moment>,
    /// When the last of them was sent.
    pub last_request: Option<Moment>,
    /// The requests over time.
    pub timeline: Timeline,
    /// The gaps that were kept.
    pub gaps: GapFigures,
    /// Requests by what had set the delay before them (`configured`, `crawl-delay`, `adaptive` ...), the most frequent first.
    pub delays: Vec<Counted>,
    /// How often hosts were paused, by reason (`retry-after`, `back-off` ...), the most frequent first.
    pub pauses: Vec<Counted>,
    /// Number of responses for each status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a response.
    pub unanswered: u64,
    /// The runs, in the order in which they began.
    pub runs: Vec<RunFigures>,
    /// Delays that the user set while the crawl ran: the first 100.
    pub delay_orders: Vec<DelayOrder>,
    /// How many there were.
    pub delay_order_count: u64,
}

/// A delay that the user set while the crawl ran, by `crawl set`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelayOrder {
    /// The time at which it was set (UTC).
    pub at: Moment,
    /// For which host; none: for every host.
    pub host: Option<String>,
    /// The delay, in seconds; none where the ledger doesn't say it.
    pub delay: Option<f64>,
}

/// Requests over time, in steps of equal length; at most 240.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// When the first step begins; none where there was no request.
    pub start: Option<Moment>,
    /// Length of a step, in seconds: a power of two.
    pub step_s: i64,
    /// The steps, in order, without a gap.
    pub steps: Vec<TimeStep>,
}

/// The requests that were sent in one step of a time line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TimeStep {
    /// How many.
    pub requests: u64,
    /// Those of them that brought no response, or status 4xx or 5xx.
    pub failed: u64,
    /// Bytes of the bodies that came, as transferred.
    pub bytes: u64,
}

/// The gaps between the end of a response and the next request to the same host in the same run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GapFigures {
    /// How many were measured.
    pub count: u64,
    /// Requests that were sent before the last response of the host was complete.
    pub overlaps: u64,
    /// Gaps shorter than the delay that was in effect.
    pub short: u64,
    /// The shortest one, in seconds.
    pub least: Option<f64>,
    /// The gaps as multiples of the delay that was in effect.
    pub classes: Vec<GapClass>,
    /// Gaps before which no delay was in effect.
    pub without_delay: u64,
}

/// How many gaps were that long, as multiples of the delay that was in effect.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GapClass {
    /// From this multiple on.
    pub from: f64,
    /// Up to, and without, this one; none in the last class.
    pub to: Option<f64>,
    /// How many.
    pub count: u64,
}

/// In words: `1.05 to 1.25 times the delay`.
impl fmt::Display for GapClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.to) {
            (from, Some(_)) if from < 1.0 => f.write_str("shorter than the delay"),
            (from, Some(to)) => write!(f, "{from} to {to} times the delay"),
            (from, None) => write!(f, "{from} times the delay or more"),
        }
    }
}

impl Timeline {
    /// When a step begins; none where there is no such step.
    pub fn time_of(&self, place: usize) -> Option<Moment> {
        let start = self.start.filter(|_| place < self.steps.len())?.0.as_second();
        let second = start.checked_add(i64::try_from(place).ok()?.checked_mul(self.step_s)?)?;
        jiff::Timestamp::from_second(second).ok().map(Moment)
    }
}

/// Where the classes of gaps begin.
const CLASSES: [f64; 8] = [0.0, 1.0, 1.05, 1.25, 2.0, 5.0, 20.0, 100.0];

impl View {
    /// Reads the ledger once. Memory: some megabytes; the times are sorted in temporary files, 40 bytes a request.
    pub fn activity(&self) -> Result<Activity, ViewError> {
        self.activity_of(None, &|| Ok(()))
    }

    /// The same of one host. `goes_on` is asked after each block of the ledger; its error ends the reading.
    pub fn activity_of(
        &self,
        host: Option<&str>,
        goes_on: &dyn Fn() -> Result<(), ViewError>,
    ) -> Result<Activity, ViewError> {
        let mut requests = Requests::new(self.sorter(), false);
        requests.read(self, host, goes_on)?;
        requests.figures(self.sorter())
    }
}

impl Activity {
    /// As [`View::activity`], of a crawl whose hosts are divided among several stores.
    pub fn of_parts(parts: &[&View]) -> Result<Self, ViewError> {
        let Some(first) = parts.first() else { return Ok(Self::default()) };
        let mut requests = Requests::new(first.sorter(), parts.len() > 1);
        for part in parts {
            requests.read(part, None, &|| Ok(()))?;
        }
        requests.figures(first.sorter())
    }
}

/// The requests that were read so far.
struct Requests {
    times: RequestTimes,
    delays: Tally,
    pauses: Tally,
    first: Option<Moment>,
    last: Option<Moment>,
    run: u64,
    count: u64,
    steps: Steps,
    statuses: BTreeMap<u16, u64>,
    unanswered: u64,
    runs: Vec<RunFigures>,
    /// The place in `runs` of each run, the first one at 0.
    places: Vec<usize>,
    /// The hosts are divided among several stores: runs are distinguished by their settings.
    is_divided: bool,
    /// They were, and became one.
    was_divided: bool,
    orders: Vec<DelayOrder>,
    order_count: u64,
}

impl Requests {
    fn new(sorter: Sorter, is_divided: bool) -> Self {
        Self {
            times: RequestTimes::new(sorter),
            delays: Tally::default(),
            pauses: Tally::default(),
            first: None,
            last: None,
            run: 0,
            count: 0,
            steps: Steps::default(),
            statuses: BTreeMap::new(),
            unanswered: 0,
            runs: Vec::new(),
            places: Vec::new(),
            is_divided,
            was_divided: false,
            orders: Vec::new(),
            order_count: 0,
        }
    }

    /// Takes in an entry that begins or ends a run, or sets a delay.
    fn course(&mut self, view: &View, decision: &Decision) -> Result<(), ViewError> {
        let at = Moment(decision.at);
        if decision.begins_a_run() {
            self.run += 1;
            let begun = RunFigures::begun(view.store(), at, decision.evidence.run.as_deref())?;
            let known = self.runs.iter().position(|run| self.is_divided && run.digest == begun.digest);
            let place = known.unwrap_or(self.runs.len());
            match self.runs.get_mut(place) {
                Some(run) => run.started = run.started.min(at),
                None => self.runs.push(begun),
            }
            self.places.push(place);
        }
        match decision.decision {
            Decided::Ended => {
                let place = self.place(self.run);
                if let Some(run) = place.and_then(|place| self.runs.get_mut(place))
                    && run.ended.is_none_or(|ended| ended < at)
                {
                    (run.ended, run.end) = (Some(at), Some(decision.reason.to_string()));
                }
            }
            Decided::DelaySet => {
                self.order_count += 1;
                if self.orders.len() < ORDERS_LISTED {
                    let host = Some(decision.host.clone()).filter(|host| !host.is_empty());
                    let delay = decision.evidence.pause.as_ref().map(|pause| pause.length.as_secs_f64());
                    self.orders.push(DelayOrder { at, host, delay });
                }
            }
            Decided::Moved if decision.evidence.words.as_deref().is_some_and(is_from_cluster) => self.fold(),
            _ => {}
        }
        Ok(())
    }

    /// Takes the runs of partitions together whose ledgers became one: those with the same settings.
    fn fold(&mut self) {
        self.was_divided = true;
        let mut folded: Vec<RunFigures> = Vec::new();
        let mut moved = Vec::with_capacity(self.runs.len());
        for run in std::mem::take(&mut self.runs) {
            let known = folded.iter().position(|known| known.digest == run.digest);
            moved.push(known.unwrap_or(folded.len()));
            match known.and_then(|place| folded.get_mut(place)) {
                Some(known) => {
                    known.started = known.started.min(run.started);
                    known.requests += run.requests;
                    if run.ended > known.ended {
                        (known.ended, known.end) = (run.ended, run.end);
                    }
                }
                None => folded.push(run),
            }
        }
        for place in &mut self.places {
            *place = moved.get(*place).copied().unwrap_or(*place);
        }
        self.runs = folded;
    }

    /// The place in `runs` of the run with this number.
    fn place(&self, run: u64) -> Option<usize> {
        place_of(&self.places, run)
    }

    /// Takes in the ledger of a store whose hosts are in no other one.
    fn read(
        &mut self,
        view: &View,
        host: Option<&str>,
        goes_on: &dyn Fn() -> Result<(), ViewError>,
    ) -> Result<(), ViewError> {
        for block in view.decision_blocks() {
            goes_on()?;
            for decision in block?.1 {
                self.course(view, &decision)?;
                if host.is_some_and(|host| decision.host != host) {
                    continue;
                }
                if decision.decision == Decided::Paused {
                    self.pauses.add(&decision.reason.as_str());
                }
                let Some(made) = &decision.evidence.request else { continue };
                self.count += 1;
                let at = Moment(made.started);
                self.first = self.first.map(|first| first.min(at)).or(Some(at));
                self.last = self.last.map(|last| last.max(at)).or(Some(at));
                self.delays.add(&made.gap_reason);
                self.steps.add(made);
                match made.status {
                    Some(status) => *self.statuses.entry(status).or_default() += 1,
                    None => self.unanswered += 1,
                }
                let run = self.run.saturating_sub(u64::from(decision.runs_earlier()));
                if let Some(place) = self.place(run) {
                    self.runs[place].requests += 1;
                }
                self.times.push(host_mark(&decision.host), run, made)?;
            }
        }
        Ok(())
    }

    fn figures(mut self, sorter: Sorter) -> Result<Activity, ViewError> {
        let gaps = gap_figures(self.times, &mut self.runs, &self.places, sorter)?;
        if self.is_divided || self.was_divided {
            self.runs.sort_by_key(|run| run.started);
        }
        for (number, run) in (1..).zip(&mut self.runs) {
            run.run = number;
        }
        self.orders.sort_by_key(|order| order.at);
        Ok(Activity {
            requests: self.count,
            first_request: self.first,
            last_request: self.last,
            timeline: self.steps.into_timeline(),
            gaps,
            delays: self.delays.into_counts(),
            pauses: self.pauses.into_counts(),
            statuses: self.statuses,
            unanswered: self.unanswered,
            runs: self.runs,
            delay_orders: self.orders,
            delay_order_count: self.order_count,
        })
    }
}

/// Whether the entry of a move says that the crawl was one on many machines.
fn is_from_cluster(words: &str) -> bool {
    words.starts_with("from a cluster")
}

/// A number for a host's name.
fn host_mark(host: &str) -> u64 {
    sorter::number(blake3::hash(host.as_bytes()).as_bytes(), 0, 8)
}

/// The place of the run with this number, from 1.
fn place_of(places: &[usize], run: u64) -> Option<usize> {
    let number = usize::try_from(run).ok()?.checked_sub(1)?;
    places.get(number).copied()
}

/// The gaps of all runs together, and those of each, which are entered in it. `places`: the place in `runs` of each run by its number. The lengths are sorted
/// by `lengths`.
fn gap_figures(
    times: RequestTimes,
    runs: &mut [RunFigures],
    places: &[usize],
    mut lengths: Sorter,
) -> Result<GapFigures, ViewError> {
    let mut figures = GapFigures::default();
    let mut counts = [0_u64; CLASSES.len()];
    let mut least: Option<u64> = None;
    times.each_gap(|gap| {
        figures.count += 1;
        figures.overlaps += u64::from(gap.overlaps);
        figures.short += u64::from(gap.is_short());
        least = Some(least.map_or(gap.length, |least| least.min(gap.length)));
        if let Some(place) = place_of(places, gap.run) {
            runs[place].gaps += 1;
            let parts = [place as u64, gap.length].map(u64::to_be_bytes);
            lengths.push_parts(&parts.each_ref().map(<[u8; 8]>::as_slice))?;
        }
        match class(gap) {
            Some(class) => counts[class] += 1,
            None => figures.without_delay += 1,
        }
        Ok(())
    })?;
    figures.least = least.map(|least| least as f64 / 1e6);
    enter_lengths(runs, lengths)?;
    let ends = CLASSES.iter().skip(1).copied().map(Some).chain([None]);
    let classes = CLASSES.iter().zip(ends).zip(counts);
    figures.classes = classes.map(|((&from, to), count)| GapClass { from, to, count }).collect();
    Ok(figures)
}

/// Enters the shortest and the middle gap of each run. `lengths`: the place of the run and the length of each of its gaps.
fn enter_lengths(runs: &mut [RunFigures], lengths: Sorter) -> Result<(), ViewError> {
    let (mut current, mut passed) = (None, 0_u64);
    for record in lengths.sorted()? {
        let record = record?;
        let (place, length) = (sorter::number(&record, 0, 8), sorter::number(&record, 8, 8) as f64 / 1e6);
        if current != Some(place) {
            (current, passed) = (Some(place), 0);
        }
        let Some(run) = usize::try_from(place).ok().and_then(|place| runs.get_mut(place)) else { continue };
        if passed == 0 {
            run.least_gap = Some(length);
        }
        if passed == run.gaps / 2 {
            run.median_gap = Some(length);
        }
        passed += 1;
    }
    Ok(())
}

/// The class of a gap; none where no delay was in effect.
fn class(gap: Gap) -> Option<usize> {
    if gap.asked == 0 {
        return None;
    }
    if gap.is_short() {
        return Some(0);
    }
    // What is short by rounding alone isn't short.
    let multiple = (gap.length as f64 / gap.asked as f64).max(1.0);
    CLASSES.iter().rposition(|from| multiple >= *from)
}

/// Steps of a time line by their number since 1970.
#[derive(Debug)]
struct Steps {
    length: i64,
    steps: BTreeMap<i64, TimeStep>,
}

impl Default for Steps {
    fn default() -> Self {
        Self { length: 1, steps: BTreeMap::new() }
    }
}

impl Steps {
    fn add(&mut self, made: &RequestMade) {
        let second = made.started.as_second();
        let step = TimeStep {
            requests: 1,
            failed: u64::from(made.status.is_none_or(|status| status >= 400)),
            bytes: made.bytes,
        };
        self.put(second.div_euclid(self.length), step);
        while self.span() > MOST_STEPS {
            self.length *= 2;
            for (number, step) in std::mem::take(&mut self.steps) {
                self.put(number.div_euclid(2), step);
            }
        }
    }

    fn put(&mut self, number: i64, step: TimeStep) {
        let sum = self.steps.entry(number).or_default();
        sum.requests += step.requests;
        sum.failed += step.failed;
        sum.bytes = sum.bytes.saturating_add(step.bytes);
    }

    fn span(&self) -> i64 {
        match (self.steps.first_key_value(), self.steps.last_key_value()) {
            (Some((first, _)), Some((last, _))) => last - first + 1,
            _ => 0,
        }
    }

    fn into_timeline(self) -> Timeline {
        let Some((&first, _)) = self.steps.first_key_value() else { return Timeline::default() };
        let numbers = first..first + self.span();
        let steps = numbers.map(|number| self.steps.get(&number).copied().unwrap_or_default()).collect();
        let start = jiff::Timestamp::from_second(first.saturating_mul(self.length)).ok().map(Moment);
        Timeline { start, step_s: self.length, steps }
    }
}
