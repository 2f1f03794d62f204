//! The last defence against a body that ends the process, which no parser should let happen.
//!
//! The URL of a body is noted beside the database while the body is read (`notes`). A process that dies leaves its notes: the next one
//! suspects these URLs, asks for them again as for everything that wasn't committed, and has each of their bodies read by a process
//! of its own first ([`Trials`]). Only where that process dies too the URL fails, as `crashed`. So a URL is never blamed for a power cut, a kill or the
//! page that was read beside it, and notes that are old or damaged cost a few milliseconds. Commands that read archived responses again do the same, with notes of
//! their places in the archive in a file of their own.

mod notes;
mod process;

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::notes::Notes;
pub use self::notes::{ARCHIVE_FILE, FILE, Noted};
pub use self::process::{OpenBody, TRIAL_ARGUMENT, TrialEnd, Trials, end_of_trial, may_start_trials};
use crate::store::StoreError;
use page::url::Fingerprint;

/// The URLs that are suspected, and the notes of what is being read. Without notes ([`Default`]), only URLs given to [`Suspects::add`] are suspected.
#[derive(Debug, Default)]
pub struct Suspects {
    notes: Option<Notes>,
    trials: Option<Trials>,
    known: Mutex<Known>,
    is_any: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    suspected: HashSet<Fingerprint>,
    /// Those that an earlier process had noted, without the ones that were read alone since.
    untried: Vec<Fingerprint>,
    /// Those whose trial ended badly.
    died: HashSet<Fingerprint>,
}

impl Suspects {
    /// Takes up the notes in an output directory, of which there may be none. Without a way to try bodies alone nobody is suspected.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn open(root: &Path, trials: Option<Trials>) -> Result<Self, StoreError> {
        let (notes, left) = Notes::open(root, FILE)?;
        Ok(Self::with(notes, left, trials))
    }

    /// Those of a process that reads archived responses again, by their places. Where the notes can't be read or written nobody is suspected.
    /// `settings` are those of the crawl, as TOML; they are asked for where somebody is suspected.
    pub fn of_archive(root: &Path, settings: impl FnOnce() -> String) -> Self {
        let Ok((notes, left)) = Notes::open(root, ARCHIVE_FILE) else { return Self::default() };
        let trials = if left.is_empty() { None } else { Trials::new(&settings()) };
        Self::with(notes.quiet(), left, trials)
    }

    fn with(notes: Notes, left: Vec<Fingerprint>, trials: Option<Trials>) -> Self {
        let known = Known { suspected: left.iter().copied().collect(), untried: left, died: HashSet::new() };
        let is_any = AtomicBool::new(!known.suspected.is_empty());
        Self { notes: Some(notes), trials, known: Mutex::new(known), is_any }
    }

    /// How a body is tried; none where no process can be started for it.
    pub fn trials(&self) -> Option<&Trials> {
        self.trials.as_ref()
    }

    /// Notes that a body of this URL is being read, until the value that this returns is dropped. Cost: about a microsecond.
    pub fn note(&self, url: Fingerprint) -> Option<Noted<'_>> {
        self.notes.as_ref()?.note(url)
    }

    /// Suspects a URL until a body of it was read in a process of its own.
    pub fn add(&self, url: Fingerprint) {
        if self.trials.is_some() {
            self.lock().suspected.insert(url);
            self.is_any.store(true, Ordering::Release);
        }
    }

    /// The process to try a body of this URL in, if the URL is suspected.
    pub fn trials_of(&self, url: impl FnOnce() -> Fingerprint) -> Option<&Trials> {
        let trials = self.trials.as_ref().filter(|_| self.is_any.load(Ordering::Acquire))?;
        self.lock().suspected.contains(&url()).then_some(trials)
    }

    /// Takes in how a trial ended: a URL whose body was read is suspected no longer.
    pub fn tried(&self, url: Fingerprint, end: &TrialEnd) {
        let mut known = self.lock();
        match end {
            TrialEnd::Survived => {
                known.suspected.remove(&url);
                known.untried.retain(|other| *other != url);
                known.died.remove(&url);
            }
            TrialEnd::Died(_) => {
                known.untried.retain(|other| *other != url);
                known.died.insert(url);
            }
            TrialEnd::Untried(_) => {}
        }
        self.is_any.store(!known.suspected.is_empty(), Ordering::Release);
    }

    /// Drops the notes at the end of a run that didn't die. Those of URLs whose trial ended badly remain, so that the next visit begins with a trial.
    /// Unless the crawl is complete, so do those of an earlier process that no trial has cleared: a later run comes to their URLs.
    pub fn finish(&self, is_complete: bool) {
        let Some(notes) = &self.notes else { return };
        let known = self.lock();
        let untried = known.untried.iter().filter(|_| !is_complete);
        notes.finish(untried.chain(&known.died).copied());
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For tests of the whole program, in builds with debug assertions alone: the body that has the text of the variable
/// `WHOLE_PROGRAM_ABORTS_ON` ends the process that reads it.
#[cfg(debug_assertions)]
pub fn abort_on_mark(body: &[u8]) {
    use std::sync::OnceLock;
    static MARK: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let mark = MARK.get_or_init(|| std::env::var(process::MARK).ok().map(String::into_bytes));
    if let Some(mark) = mark.as_ref().filter(|mark| !mark.is_empty())
        && memchr::memmem::find(body, mark).is_some()
    {
        std::process::abort();
    }
}

/// Does nothing: no text ends a process of a release build.
#[cfg(not(debug_assertions))]
pub fn abort_on_mark(_: &[u8]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_that_died_had_noted_is_suspected_until_it_was_tried() {
        let top = tempfile::tempdir().unwrap();
        let open = || Suspects::open(top.path(), Some(Trials::of_a_test())).unwrap();
        let is_suspected = |suspects: &Suspects, url| suspects.trials_of(|| Fingerprint(url)).is_some();
        let first = open();
        let noted = (first.note(Fingerprint(1)), first.note(Fingerprint(2)));
        assert!(noted.0.is_some() && !is_suspected(&first, 1));
        // As if the process had ended here: nothing is dropped.
        std::mem::forget(noted);
        drop(first);

        let second = open();
        assert!(is_suspected(&second, 1) && is_suspected(&second, 2) && !is_suspected(&second, 3));
        let noted = second.note(Fingerprint(3));
        std::mem::forget(noted);
        second.tried(Fingerprint(1), &TrialEnd::Survived);
        assert!(!is_suspected(&second, 1));
        // It dies again before the others were tried.
        drop(second);

        let third = open();
        assert!([1, 2, 3].iter().all(|url| is_suspected(&third, *url)));
        third.tried(Fingerprint(2), &TrialEnd::Died("signal 6".to_owned()));
        third.tried(Fingerprint(3), &TrialEnd::Untried("no process".to_owned()));
        assert!(is_suspected(&third, 2) && is_suspected(&third, 3));
        // It ends before the first one has its turn.
        third.finish(false);
        drop(third);

        let fourth = open();
        assert!([1, 2, 3].iter().all(|url| is_suspected(&fourth, *url)));
        fourth.tried(Fingerprint(1), &TrialEnd::Survived);
        fourth.tried(Fingerprint(2), &TrialEnd::Died("signal 6".to_owned()));
        fourth.finish(true);
        drop(fourth);

        let fifth = open();
        assert!(is_suspected(&fifth, 2) && !is_suspected(&fifth, 1) && !is_suspected(&fifth, 3));
        fifth.tried(Fingerprint(2), &TrialEnd::Survived);
        fifth.finish(false);
        assert!(!top.path().join(FILE).exists());
    }

    #[test]
    fn a_url_that_is_suspected_for_another_reason_is_not_noted_at_the_end() {
        let top = tempfile::tempdir().unwrap();
        let suspects = Suspects::open(top.path(), Some(Trials::of_a_test())).unwrap();
        suspects.add(Fingerprint(1));
        suspects.finish(false);
        assert!(!top.path().join(FILE).exists(), "what suspects it will suspect it again");
    }

    #[test]
    fn without_trials_nobody_is_suspected() {
        let suspects = Suspects::default();
        suspects.add(Fingerprint(1));
        assert!(suspects.trials_of(|| Fingerprint(1)).is_none() && suspects.note(Fingerprint(1)).is_none());
    }
}
