//! The evidence of a decision, in machine-readable parts: the line, the tag, the limit, the delay, the request.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::effects::EffectsTaken;
use super::{RobotsEvidence, RunSettings, Stored};
use crate::pace::Delay;
use page::clock::{Boot, Now};

/// The evidence of one decision; parts that don't apply are omitted, in JSON too. `Display` says it in words.
///
/// JSON: a new part or field goes to the end, and stays out where it is empty: the ledger's chain is taken over this form.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// What no other part can say, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The request that was made. Each request is in exactly one entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestMade>,
    /// What robots.txt said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots: Option<RobotsEvidence>,
    /// What of the page was kept and used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsTaken>,
    /// The tag or header that said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directive: Option<DirectiveEvidence>,
    /// The limit that was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitReached>,
    /// The gap or pause that was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseSet>,
    /// The robots.txt version that was in force before, and the one that is in force now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versions: Option<Versions>,
    /// The target of a redirect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Time since the run began when this was entered, on a clock that never jumps, in whole microseconds: of pauses, answers for
    /// robots.txt, and the run itself.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_seconds")]
    pub clock: Option<Duration>,
    /// The same moment on the machine's own clock: of the start of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<Box<Boot>>,
    /// What the run was started with: of the start of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RunSettings>>,
    /// Digests of what was stored with the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<Box<Stored>>,
}

/// A request: when, for how long, what came, and the gap that it had to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMade {
    /// When it was sent, in whole microseconds.
    pub started: Timestamp,
    /// From then to the last byte of the answer, or to the failure, in whole microseconds.
    pub took: Duration,
    /// Time since the run began when it was sent, on a clock that never jumps, in whole microseconds.
    pub clock: Duration,
    /// The status; none if no answer came.
    pub status: Option<u16>,
    /// Bytes of the body as sent.
    pub bytes: u64,
    /// The gap that had to lie between the end of the host's last answer and `started`, in whole microseconds.
    pub gap: Duration,
    /// The rule that had set the gap: a name as in [`DelayReason`](crate::pace::DelayReason).
    pub gap_reason: Cow<'static, str>,
    /// The IP address that was asked, where that is known.
    pub address: Option<IpAddr>,
}

/// A directive and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DirectiveEvidence {
    /// Its plain form: `noindex` ...
    pub directive: String,
    /// The tag or header line.
    pub source: String,
}

/// A limit and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitReached {
    /// Its name, as an option.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A gap or pause and its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseSet {
    /// How long, from the end of the last answer, in whole microseconds.
    pub length: Duration,
    /// The rule: a name as in [`DelayReason`](crate::pace::DelayReason).
    pub reason: Cow<'static, str>,
}

/// Digests of two robots.txt versions; none where there were no rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Versions {
    /// The one before.
    pub before: Option<String>,
    /// The one now.
    pub after: Option<String>,
}

impl Evidence {
    /// True if nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the request that the decision came from.
    #[must_use]
    pub fn with_request(self, request: Option<RequestMade>) -> Self {
        Self { request, ..self }
    }

    /// Adds the moment on the run's own clock.
    #[must_use]
    pub(crate) fn with_clock(self, mono: Duration) -> Self {
        Self { clock: Some(micros(mono)), ..self }
    }

    /// Adds words.
    #[must_use]
    pub fn with_words(self, words: impl Into<String>) -> Self {
        Self { words: Some(words.into()), ..self }
    }

    /// Evidence that is a limit.
    pub fn limit(name: impl Into<String>, value: impl Into<String>) -> Self {
        let limit = Some(LimitReached { name: name.into(), value: value.into() });
        Self { limit, ..Self::default() }
    }

    /// Evidence that is a directive.
    pub fn directive(because: &meta::DirectiveSource) -> Self {
        let source = because.source.to_string();
        let directive = Some(DirectiveEvidence { directive: because.directive.clone(), source });
        Self { directive, ..Self::default() }
    }
}

impl RequestMade {
    /// Notes a request. `gap` is the wait that was in force when it was sent.
    pub fn new(started: Now, ended: Now, status: Option<u16>, bytes: u64, gap: Delay) -> Self {
        let clock = micros(started.mono);
        Self {
            started: whole_micros(started.wall),
            took: micros(ended.mono).saturating_sub(clock),
            clock,
            status,
            bytes,
            gap: micros(gap.length),
            gap_reason: Cow::Borrowed(gap.why.as_str()),
            address: None,
        }
    }

    /// Adds the address that was asked.
    #[must_use]
    pub fn with_address(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// When the response was complete.
    pub fn ended(&self) -> Timestamp {
        let took = SignedDuration::try_from(self.took).unwrap_or_default();
        self.started.checked_add(took).unwrap_or(Timestamp::MAX)
    }
}

impl From<Delay> for PauseSet {
    fn from(delay: Delay) -> Self {
        Self { length: micros(delay.length), reason: Cow::Borrowed(delay.why.as_str()) }
    }
}

impl From<String> for Evidence {
    fn from(words: String) -> Self {
        Self { words: Some(words), ..Self::default() }
    }
}

impl From<&str> for Evidence {
    fn from(words: &str) -> Self {
        Self::from(words.to_owned())
    }
}

impl From<Option<String>> for Evidence {
    fn from(words: Option<String>) -> Self {
        Self { words, ..Self::default() }
    }
}

impl From<RobotsEvidence> for Evidence {
    fn from(robots: RobotsEvidence) -> Self {
        Self { robots: Some(robots), ..Self::default() }
    }
}

impl From<Delay> for Evidence {
    fn from(delay: Delay) -> Self {
        Self { pause: Some(delay.into()), ..Self::default() }
    }
}

/// A time without what lies below a microsecond, the finest that the ledger keeps.
pub(crate) fn whole_micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

fn micros(length: Duration) -> Duration {
    Duration::from_micros(u64::try_from(length.as_micros()).unwrap_or(u64::MAX))
}

fn seconds(length: Duration) -> f64 {
    // Both steps are exact for what the ledger keeps: whole microseconds below 2^53.
    length.as_micros() as f64 / 1e6
}

#[expect(clippy::ref_option, reason = "the form that serde calls")]
fn optional_seconds<S: Serializer>(length: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    length.map(seconds).serialize(serializer)
}

impl Serialize for RequestMade {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = 7 + usize::from(self.address.is_some());
        let mut object = serializer.serialize_struct("RequestMade", fields)?;
        object.serialize_field("started", &format_args!("{:.6}", self.started))?;
        object.serialize_field("ended", &format_args!("{:.6}", self.ended()))?;
        object.serialize_field("clock", &seconds(self.clock))?;
        object.serialize_field("status", &self.status)?;
        object.serialize_field("bytes", &self.bytes)?;
        object.serialize_field("gap", &seconds(self.gap))?;
        object.serialize_field("gap_reason", &self.gap_reason)?;
        if let Some(address) = self.address {
            object.serialize_field("address", &address)?;
        }
        object.end()
    }
}

impl Serialize for PauseSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("PauseSet", 2)?;
        object.serialize_field("seconds", &seconds(self.length))?;
        object.serialize_field("reason", &self.reason)?;
        object.end()
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.words.clone());
        parts.extend(self.limit.as_ref().map(|limit| format!("{} {}", limit.name, limit.value)));
        parts.extend(self.directive.as_ref().map(|said| said.source.clone()));
        parts.extend(self.to.as_ref().map(|to| format!("to {to}")));
        parts.extend(self.versions.as_ref().map(|versions| {
            let name = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "no rules".to_owned());
            format!("from {} to {}", name(&versions.before), name(&versions.after))
        }));
        parts.extend(
            self.pause.as_ref().map(|pause| format!("{} s ({})", seconds(pause.length), pause.reason)),
        );
        parts.extend(self.robots.as_ref().filter(|robots| robots.is_known()).map(RobotsEvidence::to_string));
        parts.extend(self.effects.as_ref().map(EffectsTaken::to_string));
        parts.extend(self.request.as_ref().map(RequestMade::to_string));
        f.write_str(&parts.join("; "))
    }
}

impl fmt::Display for RequestMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = self.took.as_micros() as f64 / 1e3;
        match self.status {
            Some(status) => write!(f, "status {status} in {took:.0} ms, {} bytes", self.bytes)?,
            None => write!(f, "no response after {took:.0} ms")?,
        }
        write!(f, "; delay {} s ({})", seconds(self.gap), self.gap_reason)
    }
}
