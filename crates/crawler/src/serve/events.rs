//! Server-sent events: the status of a running crawl, once a second while it changes, and that the figures were counted again.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::failure::Failure;
use super::state::{App, EVENT_STREAMS};
use super::stream::pieces;

/// The type of a stream of events.
pub(super) const TYPE: &str = "text/event-stream";

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Looks without an event before a comment is sent, which shows whether anybody listens.
const SILENT: u32 = 15;

/// Looks between two at the figures that are counted.
const FIGURES_EVERY: u32 = 5;

/// How long a listener may take nothing.
const STALLED: Duration = Duration::from_secs(30);

/// A stream of events; it ends when no crawl runs any more, with an event that says so.
pub(super) fn stream(app: &Arc<App>) -> Result<Body, Failure> {
    let Ok(turn) = Arc::clone(&app.streams).try_acquire_owned() else {
        let what = format!(
            "{EVENT_STREAMS} streams of events are open already: ask /api/v1/status from time to time"
        );
        return Err(Failure::busy(what));
    };
    let (mut sender, body) = pieces();
    let app = Arc::clone(app);
    tokio::spawn(async move {
        let _turn = turn;
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut last, mut silent): (Option<Value>, u32) = (None, 0);
        let (mut looks, mut figures) = (0_u32, figures_at(&app).await);
        loop {
            ticks.tick().await;
            let now = app.running().await;
            let is_over = now.is_none();
            let now = now.unwrap_or_else(|| json!({"v": 1, "state": "ended"}));
            looks += 1;
            let at = if looks % FIGURES_EVERY == 0 && !is_over { figures_at(&app).await } else { figures };
            let recounted = if at == figures { "" } else { "event: figures\ndata: {}\n\n" };
            figures = at;
            let text = if last.as_ref() != Some(&now) || !recounted.is_empty() {
                silent = 0;
                format!("{}{recounted}", event(&now))
            } else if silent >= SILENT {
                silent = 0;
                ": still here\n\n".to_owned()
            } else {
                silent += 1;
                continue;
            };
            last = Some(now);
            let sent = timeout(STALLED, sender.send_data(Bytes::from(text))).await;
            if is_over || !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
    });
    Ok(body)
}

/// When the figures of the overview were counted last; begins another count where that is due.
async fn figures_at(app: &App) -> Option<Timestamp> {
    let (summary, activity) = (app.summary(Duration::ZERO).await, app.activity(Duration::ZERO).await);
    let at = [summary.ok().map(|summary| summary.at), activity.ok().map(|activity| activity.at)];
    at.into_iter().flatten().max()
}

/// An event. JSON has no line ends in it.
fn event(status: &Value) -> String {
    format!("event: status\ndata: {status}\n\n")
}
