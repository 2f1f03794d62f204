//! What a running crawl can be asked to do.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use page::units::format_duration;

/// What is asked of a running crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Describe what it does now, as JSON.
    Status,
    /// Finish the requests in flight, then end; or end at once.
    Stop {
        /// End at once.
        now: bool,
    },
    /// Change what is crawled, or how fast.
    Steer {
        /// The host; none is all of them.
        host: Option<String>,
        /// What changes.
        change: Steered,
    },
    /// Keep to what the owner of hosts asked for, or to what was asked for before: JSON of [`WishSettings`](crate::wishes::WishSettings).
    Wish(String),
}

/// What can be changed while a crawl runs: nothing that makes it less polite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Steered {
    /// Make no further requests.
    Pause,
    /// End a pause.
    Continue,
    /// Wait at least so long between two requests to a host.
    Delay(Duration),
}

impl Steered {
    /// What then holds for a host, or for every host, in words.
    pub fn in_words(self, host: Option<&str>) -> String {
        let all = "all hosts";
        match (self, host) {
            (Self::Pause, Some(host)) => format!("{host} is paused"),
            (Self::Pause, None) => format!("{all} are paused"),
            (Self::Continue, Some(host)) => format!("{host} continues"),
            (Self::Continue, None) => format!("{all} continue"),
            (Self::Delay(length), host) => {
                format!("the delay of {} is at least {}", host.unwrap_or(all), format_duration(length))
            }
        }
    }
}

/// What the crawl answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It was done, or will be: what, in words or as JSON.
    Done(String),
    /// It was refused: why.
    Refused(String),
}

/// Takes orders for a running crawl. Called on threads of the server.
pub trait Control: Send + Sync {
    /// Carries out what the user with this id asks for.
    fn order(&self, order: Order, uid: u32) -> Answer;
}

/// A crawl that takes no orders: it is read, and ends by itself.
#[derive(Debug, Clone, Copy)]
pub struct NoOrders;

impl Control for NoOrders {
    fn order(&self, _: Order, _: u32) -> Answer {
        Answer::Refused("this crawl takes no orders".to_owned())
    }
}
