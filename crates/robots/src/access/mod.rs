//! From the way a fetch of /robots.txt ended to what it permits, and for how long. Pure functions of `now`.

mod head;
mod judge;
mod wait;

pub use head::{ResponseHead, retry_after};
pub use judge::{
    Access, BadRedirect, Failure, History, Judgement, OnForbidden, Outcome, Policy, UnreachableAfter30Days,
    judge,
};
