//! What a hostile host saw of a crawl, and whether the crawl was polite to it all the same.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::wire::{contact, now};

/// A request, or a connection on which none was read.
#[derive(Clone, Debug)]
pub struct Contact {
    /// The host.
    pub host: String,
    /// When the request was here; where none was read: when the connection was made.
    pub start: Duration,
    /// When the last write of the answer began.
    pub end: Duration,
    /// When the connection was closed, if it was, during this contact.
    pub closed: Option<Duration>,
    /// Path and query, if a request was read.
    pub path: Option<String>,
    /// The request's fields, names in lower case.
    pub fields: Vec<(String, String)>,
}

#[derive(Debug)]
pub(super) struct Log {
    pub(super) host: String,
    pub(super) secret: u16,
    zero: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    contacts: Vec<Contact>,
    paths: HashMap<String, usize>,
    requests: usize,
}

impl Log {
    pub(super) fn new(host: String, secret: u16, zero: Instant) -> Self {
        Self { host, secret, zero, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection.
    pub(super) fn begin(&self) -> usize {
        let mut state = self.state();
        state.contacts.push(contact(&self.host, now() - self.zero));
        state.contacts.len() - 1
    }

    /// Enters a request; gives its contact, its number, and how often its path was asked for before.
    pub(super) fn asked(&self, on: usize, path: &str, fields: &[(String, String)]) -> (usize, usize, usize) {
        let mut state = self.state();
        let at = now() - self.zero;
        let mut place = on;
        if state.contacts[on].path.is_some() {
            // A further request on a kept connection.
            state.contacts.push(contact(&self.host, at));
            place = state.contacts.len() - 1;
        }
        let entry = &mut state.contacts[place];
        (entry.start, entry.end) = (at, at);
        entry.path = Some(path.to_owned());
        entry.fields = fields.to_vec();
        let nth = state.requests;
        state.requests += 1;
        let before = state.paths.entry(path.to_owned()).or_default();
        *before += 1;
        (place, nth, *before - 1)
    }

    pub(super) fn ends(&self, contact: usize) {
        self.state().contacts[contact].end = now() - self.zero;
    }

    pub(super) fn closed(&self, contact: usize) {
        self.state().contacts[contact].closed = Some(now() - self.zero);
    }

    pub(super) fn contacts(&self) -> Vec<Contact> {
        self.state().contacts.clone()
    }
}

/// Returns where a crawl was impolite to one host: too early, two requests at once, a page before robots.txt, or something in a
/// request that doesn't belong there. `delay` is the minimum delay.
///
/// The gap is measured from start to start: a server that only writes, or only waits, can't know when its client turned away.
pub fn impolite(contacts: &[Contact], delay: Duration) -> Vec<String> {
    let mut found = Vec::new();
    let mut sorted: Vec<&Contact> = contacts.iter().collect();
    sorted.sort_by_key(|contact| contact.start);
    for pair in sorted.windows(2) {
        let (earlier, later) = (pair[0], pair[1]);
        let gap = later.start.saturating_sub(earlier.start);
        if gap < delay {
            found.push(format!("{gap:?} from the start of {:?} to {:?}", earlier.path, later.path));
        }
        if later.start < earlier.end {
            found.push(format!("{:?} while {:?} was under way", later.path, earlier.path));
        }
    }
    if let Some(first) = sorted.iter().find_map(|contact| contact.path.as_deref())
        && first != "/robots.txt"
    {
        found.push(format!("{first} was asked for before robots.txt"));
    }
    for contact in sorted {
        for (name, value) in &contact.fields {
            if ["cookie", "authorization", "proxy-authorization", "referer"].contains(&name.as_str()) {
                found.push(format!("{:?} came with {name}: {value}", contact.path));
            }
        }
    }
    found
}
