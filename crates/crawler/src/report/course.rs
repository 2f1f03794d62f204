//! The settings of all runs of a crawl: what held in each, and what changed between them.

use std::fmt::Write as _;

use serde::Serialize;

use super::ChangedSetting;
use crate::config::{KEYS, Settings, changed_values, differences, value_of, without_places};
use crate::view::{Activity, View, ViewError, all_runs};

/// The settings of each run, with its number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Course {
    /// In the order in which the runs began; none where the settings of a run aren't on record.
    runs: Vec<(u64, Option<Settings>)>,
    /// What the numbers count: `run`, or `settings` where it isn't known which run had which.
    noun: &'static str,
}

/// The value of a setting in some of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunValue {
    /// The numbers of the runs.
    pub runs: Vec<u64>,
    /// The value, as `crawl.toml` has it.
    pub value: String,
}

impl Course {
    /// Where every run had these settings.
    pub(super) fn of_one(settings: Settings) -> Self {
        Self { runs: vec![(1, Some(settings))], noun: "run" }
    }

    /// Of runs with these settings, in order.
    #[cfg(test)]
    pub(super) fn of_runs(settings: Vec<Option<Settings>>) -> Self {
        Self { runs: (1..).zip(settings).collect(), noun: "run" }
    }

    /// What the ledger says of the runs; without a ledger the settings that the database has, in no order.
    pub(super) fn of(activity: &Activity, parts: &[&View], last: &Settings) -> Result<Self, ViewError> {
        if activity.runs.iter().any(|run| run.settings.is_some()) {
            let runs = activity.runs.iter().map(|run| (run.run, run.settings.as_ref().map(without_places)));
            let noun = if parts.len() > 1 { "settings" } else { "run" };
            return Ok(Self { runs: runs.collect(), noun });
        }
        let mut found: Vec<Settings> = Vec::new();
        for part in parts {
            for settings in
                all_runs(part.store())?.into_iter().flatten().map(|settings| without_places(&settings))
            {
                if !found.contains(&settings) {
                    found.push(settings);
                }
            }
        }
        if found.len() < 2 {
            return Ok(Self::of_one(without_places(last)));
        }
        Ok(Self { runs: (1..).zip(found.into_iter().map(Some)).collect(), noun: "settings" })
    }

    /// What is said of the settings of each run: once where it is the same of all, else with the runs of which it is said.
    pub(super) fn say(&self, say: impl Fn(&Settings) -> String) -> String {
        self.joined(&self.values(say))
    }

    /// The same of a setting.
    pub(super) fn value(&self, setting: &ChangedSetting) -> String {
        if setting.by_run.is_empty() { setting.value.clone() } else { self.joined(&setting.by_run) }
    }

    fn joined(&self, values: &[RunValue]) -> String {
        match values {
            [one] => one.value.clone(),
            several => several.iter().map(|value| self.labelled(value)).collect::<Vec<_>>().join("; "),
        }
    }

    /// The same as sentences: `Scope: ...`, or `Scope in run 1: ... Scope in runs 2 and 3: ...`.
    pub(super) fn sentences(&self, subject: &str, say: impl Fn(&Settings) -> String) -> String {
        match self.values(say).as_slice() {
            [one] => format!("{subject}: {}.", one.value),
            several => {
                let sentence =
                    |said: &RunValue| format!("{subject} in {}: {}.", self.numbers(&said.runs), said.value);
                several.iter().map(sentence).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// `200ms (run 1)`.
    fn labelled(&self, value: &RunValue) -> String {
        format!("{} ({})", value.value, self.numbers(&value.runs))
    }

    /// `run 1`, `runs 2 and 3`, `runs 2 to 9 and 11`.
    fn numbers(&self, runs: &[u64]) -> String {
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for run in runs {
            match spans.last_mut() {
                Some((_, last)) if *last + 1 == *run => *last = *run,
                _ => spans.push((*run, *run)),
            }
        }
        let words: Vec<String> = spans
            .iter()
            .flat_map(|(first, last)| match last - first {
                0 => vec![first.to_string()],
                1 => vec![first.to_string(), last.to_string()],
                _ => vec![format!("{first} to {last}")],
            })
            .collect();
        let mut text = self.noun.to_owned();
        if runs.len() > 1 && !text.ends_with('s') {
            text.push('s');
        }
        for (place, word) in words.iter().enumerate() {
            let before = match place {
                0 => " ",
                place if place + 1 == words.len() => " and ",
                _ => ", ",
            };
            let _ = write!(text, "{before}{word}");
        }
        text
    }

    /// Equal values together, in the order in which they first held.
    fn values(&self, say: impl Fn(&Settings) -> String) -> Vec<RunValue> {
        let mut values: Vec<RunValue> = Vec::new();
        for (run, settings) in &self.runs {
            let value = settings.as_ref().map_or_else(|| "not on record".to_owned(), &say);
            match values.iter_mut().find(|known| known.value == value) {
                Some(known) => known.runs.push(*run),
                None => values.push(RunValue { runs: vec![*run], value }),
            }
        }
        values
    }

    /// The settings that differ from the defaults in a run, or between runs.
    pub(super) fn changed(&self) -> Vec<ChangedSetting> {
        let all = || self.runs.iter().filter_map(|(_, settings)| settings.as_ref());
        let Some(last) = all().next_back() else { return Vec::new() };
        let differing: Vec<&'static str> = all()
            .flat_map(changed_values)
            .map(|(key, _)| key)
            .chain(all().flat_map(|settings| differences(last, settings)))
            .collect();
        let keys = KEYS.iter().map(|key| key.path).filter(|key| differing.contains(key));
        keys.map(|key| {
            let mut by_run = self.values(|settings| value_of(settings, key));
            if by_run.len() == 1 {
                by_run.clear();
            }
            ChangedSetting { key, value: value_of(last, key), by_run }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn with_delay(millis: u64) -> Settings {
        let mut settings = Settings::default();
        settings.pace.delay = Duration::from_millis(millis);
        settings
    }

    #[test]
    fn what_is_the_same_in_all_runs_is_said_once() {
        let delay = |settings: &Settings| format!("{} ms", settings.pace.delay.as_millis());
        let course =
            |runs: &[Option<u64>]| Course::of_runs(runs.iter().map(|delay| delay.map(with_delay)).collect());
        for (runs, said) in [
            (&[Some(200), Some(200)][..], "200 ms"),
            (&[Some(200), Some(500), Some(500)], "200 ms (run 1); 500 ms (runs 2 and 3)"),
            (
                &[Some(5), Some(5), Some(5), Some(9), Some(5), None],
                "5 ms (runs 1 to 3 and 5); 9 ms (run 4); not on record (run 6)",
            ),
        ] {
            assert_eq!(course(runs).say(delay), said);
        }
    }

    #[test]
    fn a_setting_that_an_earlier_run_had_is_named_though_the_last_one_has_the_default() {
        let course = Course::of_runs(vec![Some(with_delay(200)), Some(with_delay(1000))]);
        let changed = course.changed();
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!((changed[0].key, changed[0].value.as_str()), ("pace.delay", "1s"));
        let values: Vec<String> = changed[0].by_run.iter().map(|value| course.labelled(value)).collect();
        assert_eq!(values, ["200ms (run 1)", "1s (run 2)"]);
        // The same in all runs: no values by run.
        let course = Course::of_runs(vec![Some(with_delay(200)), Some(with_delay(200))]);
        assert_eq!(course.changed()[0].by_run, []);
    }
}
