//! The time between two moments of a crawl whose wall clock may have been set in between.
//!
//! Within a run its own clock tells, which never jumps. Over a restart the clock of the machine tells, if both runs are of the same
//! start of it. If not, two clocks speak: the wall's, and the runs' own, which say how long the crawl was at work at the least. A
//! promise counts as broken only where both say so.

use std::time::Duration;

use jiff::Timestamp;

use page::clock::Boot;

/// The clock of the machine ticks this often, in seconds; both ends of a stretch may be off by as much.
const BOOT_TICK: f64 = 0.01;

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Number of the run, from 1.
    pub(super) run: u32,
    /// Time on the run's own clock.
    pub(super) mono: Duration,
    /// The wall clock at that moment.
    pub(super) wall: Timestamp,
}

impl Moment {
    /// The order in which things happened, whatever the wall clock said.
    pub(super) fn order(&self) -> (u32, Duration) {
        (self.run, self.mono)
    }

    /// Bytes of [`Moment::bytes`].
    pub(super) const BYTES: usize = 4 + 8 + 4 + 8 + 4;

    /// As bytes of fixed length; those of the first [`Moment::ORDER`] are in the order of [`Moment::order`].
    pub(super) fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.run.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.mono.as_secs().to_be_bytes());
        bytes[12..16].copy_from_slice(&self.mono.subsec_nanos().to_be_bytes());
        bytes[16..24].copy_from_slice(&self.wall.as_second().to_be_bytes());
        bytes[24..].copy_from_slice(&self.wall.subsec_nanosecond().to_be_bytes());
        bytes
    }

    /// Bytes that are in the order of time.
    pub(super) const ORDER: usize = 4 + 8 + 4;

    /// Reads [`Moment::bytes`]; none where they aren't.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize, length: usize| {
            bytes
                .get(at..at + length)
                .map(|part| part.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
        };
        let nanos = u32::try_from(number(12, 4)?).ok().filter(|nanos| *nanos < 1_000_000_000)?;
        let wall =
            Timestamp::new(number(16, 8)?.cast_signed(), (number(24, 4)? as u32).cast_signed()).ok()?;
        let run = u32::try_from(number(0, 4)?).ok()?;
        Some(Self { run, mono: Duration::new(number(4, 8)?, nanos), wall })
    }
}

/// What the ledger says of one run's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    /// The machine's clock, and the run's own, when it began.
    pub(super) begun: Option<(Boot, Duration)>,
    /// The latest time on the run's own clock that is on record.
    pub(super) last: Duration,
}

/// The runs, the first one at 1; at 0 what was entered before it.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Run>);

/// A stretch of time in seconds: at the least, and at the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Runs {
    /// The run of this number.
    pub(super) fn of(&mut self, run: u32) -> &mut Run {
        let index = run as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, Run::default());
        }
        &mut self.0[index]
    }

    /// From one moment to a later one.
    pub(super) fn between(&self, before: Moment, after: Moment) -> Span {
        if before.run == after.run {
            let exact = after.mono.as_secs_f64() - before.mono.as_secs_f64();
            return Span { least: exact, most: exact };
        }
        if let Some(seconds) = self.by_the_machine(before, after) {
            return Span { least: seconds - 2.0 * BOOT_TICK, most: seconds + 2.0 * BOOT_TICK };
        }
        let wall = after.wall.duration_since(before.wall).as_secs_f64();
        let work = self.at_work(before, after);
        Span { least: wall.min(work), most: wall.max(work) }
    }

    fn by_the_machine(&self, before: Moment, after: Moment) -> Option<f64> {
        let at = |moment: Moment| {
            let (boot, mono) = self.0.get(moment.run as usize)?.begun?;
            Some((boot.id, boot.ms as f64 / 1e3 - mono.as_secs_f64() + moment.mono.as_secs_f64()))
        };
        let ((first, from), (second, to)) = (at(before)?, at(after)?);
        (first == second && to >= from).then_some(to - from)
    }

    /// How long the crawl is known to have been at work in between.
    fn at_work(&self, before: Moment, after: Moment) -> f64 {
        let last = |run: u32| self.0.get(run as usize).map(|run| run.last).unwrap_or_default();
        let first = last(before.run).saturating_sub(before.mono);
        let whole: Duration = (before.run + 1..after.run).map(last).sum();
        (first + whole + after.mono).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(run: u32, mono: u64, wall: i64) -> Moment {
        Moment { run, mono: Duration::from_secs(mono), wall: Timestamp::from_second(wall).unwrap() }
    }

    fn runs(boots: [Option<(u32, u64)>; 3]) -> Runs {
        let mut runs = Runs::default();
        for (run, boot) in (1..).zip(boots) {
            let begun = boot.map(|(id, second)| (Boot { id, ms: second * 1_000 }, Duration::from_secs(1)));
            *runs.of(run) = Run { begun, last: Duration::from_secs(100) };
        }
        runs
    }

    fn span(least: f64, most: f64) -> Span {
        Span { least, most }
    }

    #[test]
    fn a_moment_comes_back_from_its_bytes_which_are_in_its_order() {
        let mut moments = Vec::new();
        for wall in ["-000100-01-01T00:00:00.123456789Z", "1969-12-31T23:59:59.5Z", "2026-01-01T00:00:00Z"] {
            for (run, nanos) in [(0, 0), (1, 999_999_999), (1, 70_000_000_001), (300, 5)] {
                moments.push(Moment { run, mono: Duration::from_nanos(nanos), wall: wall.parse().unwrap() });
            }
        }
        for moment in &moments {
            let bytes = moment.bytes();
            assert_eq!(Moment::read(&bytes), Some(*moment));
            for other in &moments {
                let order = bytes[..Moment::ORDER].cmp(&other.bytes()[..Moment::ORDER]);
                assert_eq!(order, moment.order().cmp(&other.order()));
            }
        }
        assert_eq!(Moment::read(&[0; 5]), None);
    }

    #[test]
    fn within_a_run_its_own_clock_tells_and_over_a_restart_that_of_the_machine() {
        let runs = runs([Some((7, 1_001)), Some((7, 2_001)), Some((8, 51))]);
        assert_eq!(runs.between(moment(1, 10, 500), moment(1, 40, 5)), span(30.0, 30.0));
        // It began a second before it said so: at 1000 s and 2000 s of the machine.
        let between = runs.between(moment(1, 10, 500), moment(2, 40, 5));
        assert_eq!(between, span(1_030.0 - 0.02, 1_030.0 + 0.02));
    }

    #[test]
    fn after_a_reboot_both_clocks_count() {
        for boots in [[Some((7, 1_001)), Some((8, 2_001)), Some((9, 1))], [None, None, None]] {
            let runs = runs(boots);
            // 90 s to the end of the first run, and 40 s of the second.
            assert_eq!(runs.between(moment(1, 10, 0), moment(2, 40, 999)), span(130.0, 999.0));
            assert_eq!(runs.between(moment(1, 10, 0), moment(2, 40, -999)), span(-999.0, 130.0));
            assert_eq!(runs.between(moment(1, 10, 0), moment(3, 40, 0)), span(0.0, 230.0));
        }
        let reset = runs([Some((7, 2_001)), Some((7, 5)), None]);
        let between = reset.between(moment(1, 10, 0), moment(2, 40, 50));
        assert_eq!(between, span(50.0, 130.0), "its clock was set back");
    }
}
