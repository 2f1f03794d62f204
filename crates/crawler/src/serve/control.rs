//! Pausing, slowing down and stopping the crawl, where that is allowed.

use std::path::Path;

use maud::{Markup, html};

use super::failure::Failure;
use super::layout::sentence;
use super::params::Params;
use crate::live::{self, Answer, Order, Steered};
use page::units::parse_duration;

/// What the signature of a form is for.
pub(super) const FORM: &str = "control";

/// Gives an order to the running crawl. Blocks until it has answered.
pub(super) fn give(root: &Path, params: &Params) -> Result<String, Failure> {
    let host = params.get("host").map(str::to_owned);
    let steer = |change| Order::Steer { host: host.clone(), change };
    let order = match params.get("action") {
        Some("pause") => steer(Steered::Pause),
        Some("continue") => steer(Steered::Continue),
        Some("stop") => Order::Stop { now: false },
        Some("delay") => {
            let text = params.get("delay").ok_or_else(|| Failure::bad("a delay is missing, as in 2s"))?;
            steer(Steered::Delay(parse_duration(text).map_err(|error| Failure::bad(error.to_string()))?))
        }
        _ => return Err(Failure::bad("action is pause, continue, delay or stop")),
    };
    match live::give(root, order, false) {
        Ok(Some(Answer::Done(what))) => Ok(what),
        Ok(Some(Answer::Refused(why))) => Err(Failure::bad(page::clean::clean(&why))),
        Ok(None) => Err(Failure::not_found("no crawl runs in this directory")),
        Err(error) => Err(Failure::busy(crate::causes::with_causes(&error))),
    }
}

/// The page's main part. `done` is what was done last, or why not.
pub(super) fn main(signature: &str, done: Option<&Result<String, Failure>>) -> Markup {
    let signed = html! { input type="hidden" name="signature" value=(signature); };
    html! {
        h1 { "Control" }
        @match done {
            Some(Ok(what)) => div .notice .good role="status" { p { (sentence(what)) } },
            Some(Err(failure)) => div .notice role="alert" { p { (sentence(&failure.what)) } },
            None => {},
        }
        p { "Each of these is entered in the ledger. A delay can only be longer than what the crawl and the host ask for." }
        form .query action="/control" method="post" {
            (signed)
            div .field .wide {
                label for="host" { "Host (empty: all hosts)" }
                input #host name="host" type="text" spellcheck="false" autocomplete="off";
            }
            div .field { label for="delay" { "Delay" } input #delay name="delay" type="text" placeholder="2s" autocomplete="off"; }
            div .field .button {
                button type="submit" name="action" value="pause" { "Pause" }
                button type="submit" name="action" value="continue" { "Continue" }
                button type="submit" name="action" value="delay" { "Set delay" }
            }
        }
        h2 { "Stop the crawl" }
        p { "Requests in flight are finished; " code { "crawl resume" } " continues it." }
        form action="/control" method="post" { (signed) button .danger type="submit" name="action" value="stop" { "Stop" } }
    }
}
