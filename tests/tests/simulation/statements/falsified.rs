//! Explanations that are made false, each of which `explained::judge` has to notice: a check that lets everything pass checks nothing. Each URL is said to be
//! as another one of the same fate, and each number and quoted text of its answer is changed.

use std::collections::{BTreeMap, BTreeSet};

use crawler::view::{Explanation, Statement};

use super::explained::{self, Known};

/// So many false ones are tried of each kind.
const TRIES: u64 = 200;

/// False explanations that a message shows.
const SHOWN: usize = 30;

/// What was tried, and what of it was noticed.
#[derive(Debug, Default)]
pub(crate) struct Falsified {
    /// The last explanation of each fate and kinds.
    seen: BTreeMap<(String, Vec<Statement>), Explanation>,
    /// What was said of another URL, of these kinds: noticed, tried.
    borrowed: BTreeMap<Vec<Statement>, (u64, u64)>,
    /// Another number or name in a sentence of these kinds.
    altered: BTreeMap<Vec<Statement>, (u64, u64)>,
    missed: Vec<String>,
}

impl Falsified {
    /// Another crawl: what was said in the one before isn't tried.
    pub(crate) fn begin(&mut self) {
        self.seen.clear();
    }

    /// Has false variants of a true explanation judged.
    pub(crate) fn judge(&mut self, story: &Explanation, known: &Known<'_>) {
        let fate = format!("{:?}", story.fate);
        for ((of, kinds), other) in &self.seen {
            let (noticed, tried) = self.borrowed.entry(kinds.clone()).or_default();
            if *of != fate || other.answer == story.answer || *tried >= TRIES {
                continue;
            }
            let mut wrong = story.clone();
            wrong.answer.clone_from(&other.answer);
            wrong.statements.clone_from(&other.statements);
            wrong.skip.clone_from(&other.skip);
            *tried += 1;
            if explained::judge(&wrong, known).is_empty() {
                self.missed.push(format!("of {}: {}, and it is: {}", story.url, wrong.answer, story.answer));
            } else {
                *noticed += 1;
            }
        }
        let (noticed, tried) = self.altered.entry(story.statements.clone()).or_default();
        if *tried < TRIES {
            for answer in altered(&story.answer) {
                let mut wrong = story.clone();
                wrong.answer = answer;
                *tried += 1;
                if explained::judge(&wrong, known).is_empty() {
                    self.missed
                        .push(format!("of {}: {}, and it is: {}", story.url, wrong.answer, story.answer));
                } else {
                    *noticed += 1;
                }
            }
        }
        self.seen.insert((fate, story.statements.clone()), story.clone());
    }

    /// Panics with the first false ones that passed, or with the kinds of which none was tried.
    #[track_caller]
    pub(crate) fn assert_noticed(&self, not_stated: &[Statement]) {
        let first = self.missed.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(self.missed.is_empty(), "{} false explanations passed:\n{first}", self.missed.len());
        let tried: BTreeSet<Statement> = self.borrowed.keys().flatten().copied().collect();
        let untried: Vec<_> = Statement::ALL
            .into_iter()
            .filter(|kind| !tried.contains(kind) && !not_stated.contains(kind))
            .collect();
        assert!(untried.is_empty(), "never said falsely: {untried:?}");
    }

    /// How many were tried.
    pub(crate) fn tried(&self) -> u64 {
        self.borrowed.values().chain(self.altered.values()).map(|(_, tried)| tried).sum()
    }
}

/// The sentence with another number or quoted text at each place.
fn altered(answer: &str) -> Vec<String> {
    let mut all = Vec::new();
    let bytes = answer.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = at + bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if end > at {
            // Far away: a file may have the same line twice in a row.
            let other = char::from(b'0' + (bytes[end - 1] - b'0' + 5) % 10);
            all.push(format!("{}{other}{}", &answer[..end - 1], &answer[end..]));
        }
        at = end.max(at + 1);
    }
    for mark in ['`', '"'] {
        let quoted: Vec<usize> = answer.match_indices(mark).map(|(at, _)| at).collect();
        for pair in quoted.chunks_exact(2) {
            all.push(format!("{}another{}", &answer[..=pair[0]], &answer[pair[1]..]));
        }
    }
    all
}
