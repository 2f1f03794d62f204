//! Asks for the head of what may be large, before the URL itself is asked for.

use std::sync::Arc;

use super::ask::{Answered, ask};
use super::outcome::{Event, HeadAnswer, Outcome, UnwantedAnswer};
use super::read_pool::BacklogBytes;
use super::{VisitContext, local, unanswered};
use crate::fetch::{ErrorKind, Fetch, FetchError, RequestKind, Response};
use crate::frontier::Permit;
use crate::pace::Delay;
use crate::record::RobotsEvidence;
use crate::store::Store;
use crate::wanted::Unwanted;

/// Sends a HEAD request for the URL of a permit. Only an answer of status 2xx decides; any other, and a connection that ends without one, says
/// nothing of the URL: many servers answer HEAD with 405 or 501, or badly. Then the URL is asked for at the host's next turn, and the head of
/// that response decides.
pub(super) async fn ask_head<F: Fetch, S: Store>(
    context: &Arc<VisitContext<F, S>>,
    permit: &Permit,
    asked: Option<Delay>,
    half_rate: bool,
    robots: RobotsEvidence,
) -> Outcome {
    let url = &permit.lease().url;
    let Answered { answer, requested, again, .. } =
        ask(context, permit, url, RequestKind::Head, Vec::new()).await;
    if again {
        return unanswered(requested, asked, half_rate);
    }
    let event = match answer {
        Err(error) if error.kind == ErrorKind::Local => return local(error, requested, asked, half_rate),
        Err(error) if !error.connected => Event::Failed(error, robots),
        Err(error) => Event::Head(Box::new(failed(error, robots))),
        Ok(response) => {
            let path = url.path();
            let length = response.header("content-length").and_then(|length| length.trim().parse().ok());
            let judged = context.pages.wanted.judge(path, response.content_type(), length);
            match judged {
                Err(unwanted) if (200..300).contains(&response.status) => Event::Unwanted(UnwantedAnswer {
                    is_limit: matches!(unwanted, Unwanted::Large { .. }),
                    status: response.status,
                    words: format!("HEAD: {unwanted}"),
                    robots,
                }),
                _ => Event::Head(Box::new(answered(&response, length, robots))),
            }
        }
    };
    let held = BacklogBytes::default();
    Outcome { request: requested, robots_url: None, asked, half_rate, held, captured: None, event }
}

fn failed(error: FetchError, robots: RobotsEvidence) -> HeadAnswer {
    HeadAnswer { words: format!("HEAD: {error}; GET follows"), status: None, failure: Some(error), robots }
}

fn answered(response: &Response, length: Option<u64>, robots: RobotsEvidence) -> HeadAnswer {
    let status = response.status;
    let words = if (200..300).contains(&status) {
        let mime_type = page::clean::clean_within(response.content_type().unwrap_or("no type"), 100).0;
        let length = length.map_or_else(|| "unknown length".to_owned(), |length| format!("{length} bytes"));
        format!("HEAD: {mime_type}, {length}; GET follows")
    } else {
        format!("HEAD: status {status}; GET follows")
    };
    HeadAnswer { words, status: Some(status), failure: None, robots }
}
