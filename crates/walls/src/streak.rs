//! Walls of a host in a row: when it pauses, when it ends, and when what was likely becomes certain.

use std::hash::Hasher;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::verdict::{Outcome, Suspicion, Verdict};

/// Likely walls with one signal and one text, on different URLs, that make them certain.
pub const ENOUGH: usize = 5;

/// Challenges and refusals in a row that end a host.
const REFUSALS: u32 = 4;
/// Sign-ins in a row that end a host.
const LOGINS: u32 = 20;
/// Consent walls in a row that end a host.
const CONSENTS: u32 = 3;
/// Pauses from the second refusal in a row on.
const FIRST_PAUSE: Duration = Duration::from_secs(10 * 60);
const NEXT_PAUSE: Duration = Duration::from_secs(60 * 60);

/// What a host has answered of late, in a few numbers: 100 bytes, to be kept with the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streak {
    refusals: u32,
    logins: u32,
    consents: u32,
    likely: Option<Likely>,
    ended: Option<Outcome>,
    on_trial: bool,
}

/// Likely walls in a row with one signal and one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Likely {
    outcome: Outcome,
    signal: u64,
    text: u64,
    /// The numbers of their URLs, different ones, up to [`ENOUGH`].
    urls: Vec<u64>,
}

/// What follows from an answer for its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// How long the host isn't asked.
    pub pause: Option<Duration>,
    /// The host isn't asked any more in this run: its URLs stay queued, with this wall as the reason.
    pub end: Option<Outcome>,
    /// What was likely is certain: this answer, and those of `earlier`.
    pub now_certain: Option<Outcome>,
    /// The numbers of the URLs whose answers before this one become certain with it.
    pub earlier: Vec<u64>,
}

impl Streak {
    /// Takes an answer of the host into account. `url`: a number that the caller gives to the URL, the same at each visit.
    ///
    /// A page in between starts again from nothing; ordinary errors and redirects, `rate_limited`, `payment` and 451 change nothing.
    pub fn observe(&mut self, verdict: &Verdict, url: u64) -> Decision {
        let mut decision = Decision::default();
        if verdict.is_certain() {
            // What is a wall of another kind is not one in a row of likely ones.
            self.likely = None;
            if !verdict.only_this_url {
                self.count(verdict.outcome, 1, &mut decision);
            }
            return decision;
        }
        match &verdict.suspect {
            Some(suspect) => self.observe_likely(suspect, url, &mut decision),
            None if verdict.outcome == Outcome::Page => *self = Self::default(),
            None => {}
        }
        decision
    }

    /// A new run: the first URL of a host that ended is a trial, and a wall in place of it ends the host again.
    pub fn next_run(&mut self) {
        if self.ended.is_some() {
            *self = Self { on_trial: true, ..Self::default() };
        }
    }

    /// The wall that ended the host, if one did.
    pub fn ended(&self) -> Option<Outcome> {
        self.ended
    }

    fn observe_likely(&mut self, suspect: &Suspicion, url: u64, decision: &mut Decision) {
        let signal = mark(suspect.signal.what);
        let is_same = |likely: &Likely| {
            likely.outcome == suspect.outcome && likely.signal == signal && likely.text == suspect.text
        };
        let likely = match self.likely.take().filter(is_same) {
            Some(likely) => self.likely.insert(likely),
            None => self.likely.insert(Likely {
                outcome: suspect.outcome,
                signal,
                text: suspect.text,
                urls: Vec::new(),
            }),
        };
        let was_enough = likely.urls.len() >= ENOUGH;
        if !was_enough {
            if likely.urls.contains(&url) {
                return;
            }
            likely.urls.push(url);
        }
        if likely.urls.len() >= ENOUGH {
            if !was_enough {
                decision.earlier.extend(likely.urls.iter().filter(|other| **other != url));
            }
            decision.now_certain = Some(suspect.outcome);
            self.count(suspect.outcome, if was_enough { 1 } else { ENOUGH as u32 }, decision);
        }
    }

    fn count(&mut self, outcome: Outcome, more: u32, decision: &mut Decision) {
        let (count, most) = match outcome {
            Outcome::Challenged | Outcome::Refused => (&mut self.refusals, REFUSALS),
            Outcome::Login => (&mut self.logins, LOGINS),
            Outcome::Consent => (&mut self.consents, CONSENTS),
            Outcome::Placeholder => {
                self.ended = Some(outcome);
                decision.end = Some(outcome);
                return;
            }
            // The site answers as ever.
            Outcome::Shell => {
                *self = Self { likely: self.likely.take(), ..Self::default() };
                return;
            }
            Outcome::Page | Outcome::Redirect | Outcome::Error | Outcome::RateLimited | Outcome::Payment => {
                return;
            }
        };
        *count = count.saturating_add(more);
        if *count >= most || self.on_trial {
            self.ended = Some(outcome);
            decision.end = Some(outcome);
        } else if matches!(outcome, Outcome::Challenged | Outcome::Refused) && *count > 1 {
            decision.pause = Some(if *count == 2 { FIRST_PAUSE } else { NEXT_PAUSE });
        }
    }
}

fn mark(text: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}
