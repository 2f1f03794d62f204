//! What the crawl does now: asked of its process at most once a second, however many look.

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::Value;

use crate::live::{self, Answer, Order};
use page::clock;

/// How long an answer holds.
const FRESH: Duration = Duration::from_millis(900);

/// The last answer of the running crawl, and when it came.
#[derive(Debug, Default)]
pub(super) struct LastStatus(Mutex<Option<(std::time::Instant, Option<Value>)>>);

impl LastStatus {
    /// What the running crawl says of itself; none if none runs. Blocks for as long as the crawl takes to answer.
    pub(super) fn running(&self, root: &Path) -> Option<Value> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::real_time();
        if let Some((at, value)) = &*last
            && now.saturating_duration_since(*at) < FRESH
        {
            return value.clone();
        }
        let value = match live::give(root, Order::Status, false) {
            Ok(Some(Answer::Done(text))) => serde_json::from_str(&text).ok(),
            _ => None,
        };
        *last = Some((now, value.clone()));
        value
    }
}
