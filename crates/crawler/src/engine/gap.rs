//! A host's next time, while a visit is settled.

use std::time::Duration;

use crate::clock::Now;
use crate::pace::{self, Delay};

/// A host's next time, and the rule that set it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) not_before: Duration,
    pub(super) delay: Delay,
    /// A request was made.
    pub(super) asked: bool,
}

impl Gap {
    /// The host's next time, and what it waits for.
    pub(super) fn wait(self) -> (Duration, Delay) {
        (self.not_before, self.delay)
    }

    /// The later of this and a pause that begins with the end of the response.
    pub(super) fn or_later(self, ended: Now, pause: Delay) -> Self {
        let not_before = ended.mono.saturating_add(pace::as_the_site_sees(pause.length));
        if not_before > self.not_before { Self { not_before, delay: pause, ..self } } else { self }
    }
}
