//! What the process does that reads one response alone.

use std::sync::Arc;

use bytes::Bytes;

use super::{consent_cache, origin_cache, page_rules, robots_cache, selectors};
use crate::config::read_settings_in_force;
use crate::store::MemoryStore;
use crate::suspects;
use crate::visit;
use page::url::FingerprintKey;

/// Reads a response from standard input as a crawl does, within limits that the kernel holds, and keeps nothing of it. What the process with
/// [`TRIAL_ARGUMENT`](suspects::TRIAL_ARGUMENT) does. Gives the exit code.
pub fn read_response_alone() -> i32 {
    suspects::end_of_trial(read)
}

fn read(head: &str, settings: &str, body: Bytes) -> Option<()> {
    let settings = read_settings_in_force(settings).ok()?;
    let (store, caches) = (Arc::<MemoryStore>::default(), origin_cache(&settings));
    let robots = robots_cache(&settings, Arc::clone(&store), &caches);
    let consent = consent_cache(&settings, store, &caches);
    let rules = page_rules(&settings, selectors(&settings).ok()?, FingerprintKey::new([0; 16]));
    visit::read_alone(rules, &robots, &consent, head, body)
}
