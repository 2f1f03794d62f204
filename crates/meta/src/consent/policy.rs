//! The purposes of a crawl, and which of them the statements of a site permit.

use serde::{Deserialize, Serialize};

use super::{Combined, Consent, Grade, Purpose, Statement, combine};
use crate::{Cause, Effects};

/// Holds the purposes that the operator declared, and what the absence of a statement means for each.
///
/// Default: search and archive. Silence permits search and archive, and denies AI input, AI training and text and
/// data mining, unless [`Policy::presume`] says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    purposes: Vec<Purpose>,
    presumed: Vec<(Purpose, Consent)>,
}

impl Default for Policy {
    fn default() -> Self {
        Self::new([Purpose::Search, Purpose::Archive])
    }
}

/// The answer for one declared purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answer {
    /// The purpose.
    pub purpose: Purpose,
    /// What the site said; nothing = unknown.
    pub said: Option<Consent>,
    /// What follows from it, or from silence.
    pub consent: Consent,
}

/// Says which of the declared purposes a page may serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judgement {
    /// The answer for each declared purpose, sorted by purpose.
    pub answers: Vec<Answer>,
    /// Other purposes that were denied in words, sorted.
    pub denied: Vec<Purpose>,
    /// The strictest grade of use that was given.
    pub grade: Option<Grade>,
}

impl Policy {
    /// Declares purposes.
    pub fn new(purposes: impl IntoIterator<Item = Purpose>) -> Self {
        let mut purposes: Vec<Purpose> = purposes.into_iter().collect();
        purposes.sort();
        purposes.dedup();
        Self { purposes, presumed: Vec::new() }
    }

    /// Sets what the absence of a statement means for a purpose.
    #[must_use]
    pub fn presume(mut self, purpose: Purpose, consent: Consent) -> Self {
        self.presumed.retain(|(other, _)| *other != purpose);
        self.presumed.push((purpose, consent));
        self
    }

    /// Returns the declared purposes, sorted.
    pub fn purposes(&self) -> &[Purpose] {
        &self.purposes
    }

    /// Returns what the absence of a statement means for a purpose.
    pub fn presumed(&self, purpose: Purpose) -> Consent {
        let set = self.presumed.iter().find(|(other, _)| *other == purpose);
        set.map_or(
            match purpose {
                Purpose::Search | Purpose::Archive => Consent::Allow,
                Purpose::AiInput | Purpose::AiTrain | Purpose::AiTrainImages | Purpose::Tdm => Consent::Deny,
            },
            |(_, consent)| *consent,
        )
    }

    /// Tells, from what is known before the fetch (robots.txt, files), whether a page may be fetched: not if every
    /// declared purpose is denied in words. The response may still state something.
    pub fn may_fetch<'a>(&self, statements: impl IntoIterator<Item = &'a Statement>) -> bool {
        let combined = combine(statements);
        self.purposes.is_empty() || self.purposes.iter().any(|p| said(&combined, *p) != Some(Consent::Deny))
    }

    /// Judges a page from all statements about it.
    pub fn judge<'a>(&self, statements: impl IntoIterator<Item = &'a Statement>) -> Judgement {
        let combined = combine(statements);
        let answer = |purpose: &Purpose| {
            let said = said(&combined, *purpose);
            Answer { purpose: *purpose, said, consent: said.unwrap_or_else(|| self.presumed(*purpose)) }
        };
        let is_denied = |purpose: &Purpose| said(&combined, *purpose) == Some(Consent::Deny);
        let others = Purpose::ALL.into_iter().filter(|purpose| !self.purposes.contains(purpose));
        Judgement {
            answers: self.purposes.iter().map(answer).collect(),
            denied: others.filter(is_denied).collect(),
            grade: combined.grade,
        }
    }
}

/// Returns what was said to a purpose; a grade says something to archiving.
fn said(combined: &Combined, purpose: Purpose) -> Option<Consent> {
    let by_grade = match (purpose, combined.grade) {
        (Purpose::Archive, Some(Grade::Reference | Grade::Immediate)) => Some(Consent::Deny),
        _ => None,
    };
    combined.consent(purpose).max(by_grade)
}

impl Judgement {
    /// Returns whether a page serves a declared purpose.
    pub fn serves(&self, purpose: Purpose) -> bool {
        self.answers.iter().any(|answer| answer.purpose == purpose && answer.consent == Consent::Allow)
    }

    /// Returns whether a page may be used for a purpose that needn't be declared: of one that is declared as [`serves`](Self::serves)
    /// says, of another one unless it was denied in words.
    pub fn permits(&self, purpose: Purpose) -> bool {
        match self.answers.iter().find(|answer| answer.purpose == purpose) {
            Some(answer) => answer.consent == Consent::Allow,
            None => !self.denied.contains(&purpose),
        }
    }

    /// Returns whether no declared purpose is served: text and body are dropped.
    pub fn is_refused(&self) -> bool {
        !self.answers.is_empty() && self.answers.iter().all(|answer| answer.consent == Consent::Deny)
    }

    /// Takes from the effects of the directives what the site doesn't consent to; nothing is ever added.
    ///
    /// Refused by every purpose or `use=immediate`: neither text nor body. `use=reference`, or archiving declared and
    /// denied: no body. Links are no use of content and stay as they are.
    #[must_use]
    pub fn limit(&self, effects: Effects) -> Effects {
        let consent = || Cause::Consent;
        Effects {
            store_text: effects.store_text.and(self.permits_text(), consent),
            store_body: effects.store_body.and(self.permits_body(), consent),
            ..effects
        }
    }

    /// Returns whether text may be stored, as far as consent goes.
    pub fn permits_text(&self) -> bool {
        !self.is_refused() && self.grade != Some(Grade::Immediate)
    }

    /// Returns whether the body may be stored, as far as consent goes.
    pub fn permits_body(&self) -> bool {
        let archive = self.answers.iter().find(|answer| answer.purpose == Purpose::Archive);
        let is_archive_denied = archive.is_some_and(|answer| answer.consent == Consent::Deny);
        self.permits_text() && !is_archive_denied && self.grade != Some(Grade::Reference)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::consent::{Claim, Signal};
    use crate::{Effect, Source, SourceKind};

    fn statements(claims: &[Claim]) -> Vec<Statement> {
        let source = Source::new(SourceKind::Header, 0, "x", "y");
        let statement = |claim: &Claim| Statement {
            signal: Signal::ContentSignal,
            claim: *claim,
            source: source.clone(),
            at: Timestamp::UNIX_EPOCH,
        };
        claims.iter().map(statement).collect()
    }

    fn limited(policy: &Policy, claims: &[Claim]) -> (bool, bool) {
        let effects = policy.judge(&statements(claims)).limit(Effects::default());
        assert!(effects.enqueue_links.is_allowed());
        for effect in [&effects.store_text, &effects.store_body] {
            assert!(effect.cause().is_none_or(|cause| *cause == Cause::Consent));
        }
        (effects.store_text.is_allowed(), effects.store_body.is_allowed())
    }

    #[test]
    fn silence_permits_search_and_archive_alone() {
        let policy = Policy::new(Purpose::ALL);
        let judgement = policy.judge(&[]);
        let served: Vec<_> = Purpose::ALL.into_iter().filter(|p| judgement.serves(*p)).collect();
        assert_eq!(served, [Purpose::Search, Purpose::Archive]);
        let training = Policy::new([Purpose::AiTrain]);
        assert!(training.may_fetch(&[]));
        assert!(training.judge(&[]).is_refused());
        assert!(!training.presume(Purpose::AiTrain, Consent::Allow).judge(&[]).is_refused());
    }

    #[test]
    fn a_page_that_every_purpose_is_denied_is_neither_fetched_nor_stored() {
        let policy = Policy::new([Purpose::AiTrain, Purpose::Search]);
        let deny = |purpose| Claim::Purpose(purpose, Consent::Deny);
        let both = [deny(Purpose::AiTrain), deny(Purpose::Search)];
        assert!(!policy.may_fetch(&statements(&both)));
        assert_eq!(limited(&policy, &both), (false, false));
        assert!(policy.may_fetch(&statements(&both[..1])));
        assert_eq!(limited(&policy, &both[..1]), (true, true));
        assert!(!policy.judge(&statements(&both[..1])).serves(Purpose::AiTrain));
        assert!(Policy::new([]).may_fetch(&statements(&both)));
    }

    #[test]
    fn grades_limit_what_is_stored() {
        let policy = Policy::default();
        assert_eq!(limited(&policy, &[]), (true, true));
        assert_eq!(limited(&policy, &[Claim::Use(Grade::Full)]), (true, true));
        assert_eq!(limited(&policy, &[Claim::Use(Grade::Reference)]), (true, false));
        assert_eq!(limited(&policy, &[Claim::Use(Grade::Immediate)]), (false, false));
        assert_eq!(limited(&Policy::new([Purpose::Search]), &[Claim::Use(Grade::Reference)]), (true, false));
    }

    #[test]
    fn a_purpose_is_permitted_as_declared_or_unless_it_is_denied_in_words() {
        let searched = |policy: &Policy, claims: &[Claim]| {
            let judgement = policy.judge(&statements(claims));
            judgement.permits(Purpose::Search)
        };
        let (allow, deny) = (Consent::Allow, Consent::Deny);
        let said = |consent| [Claim::Purpose(Purpose::Search, consent)];
        for purposes in
            [vec![Purpose::Search], vec![Purpose::Archive], vec![Purpose::Search, Purpose::Archive], vec![]]
        {
            let policy = Policy::new(purposes.clone());
            assert!(searched(&policy, &[]), "{purposes:?}");
            assert!(searched(&policy, &said(allow)), "{purposes:?}");
            assert!(!searched(&policy, &said(deny)), "{purposes:?}");
            assert!(
                !searched(&policy, &[said(allow), said(deny)].concat()),
                "{purposes:?}: a denial outranks"
            );
            assert!(searched(&policy, &[Claim::Purpose(Purpose::AiTrain, deny)]), "{purposes:?}");
            // What silence means is said for declared purposes.
            let silent = policy.presume(Purpose::Search, deny);
            assert_eq!(searched(&silent, &[]), !purposes.contains(&Purpose::Search), "{purposes:?}");
        }
    }

    #[test]
    fn archiving_may_be_denied_alone() {
        let policy = Policy::default();
        assert_eq!(limited(&policy, &[Claim::Purpose(Purpose::Archive, Consent::Deny)]), (true, false));
        let forbidden = || Effect::Forbidden(Cause::Unstated);
        let none = Effects { store_text: forbidden(), store_body: forbidden(), enqueue_links: forbidden() };
        assert_eq!(policy.judge(&[]).limit(none.clone()), none);
        let refused = policy.judge(&statements(&[Claim::Use(Grade::Immediate)]));
        assert_eq!(refused.limit(none.clone()), none, "the first reason is kept");
    }
}
