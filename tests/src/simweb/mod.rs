//! A web in memory: generated from a seed, served over the crawler's own seam `Fetch` on a paused clock.
//!
//! [`generate`] makes a [`Web`] (data, no behaviour), [`SimWeb`] answers requests from it and writes the request log, and
//! [`truth`] computes from the same data which pages a correct crawl asks for.

mod answer;
mod fetch;
mod generate;
mod href;
mod html;
mod model;
mod sim;
mod space;
mod truth;

pub use generate::{LASTING, Size, generate};
pub use model::{
    AGENT, Content, Directive, Failure, Kind, Later, Link, LinkKind, Page, Place, Resource, Robots,
    RobotsForm, Site, Web,
};
pub use sim::SimWeb;
pub use space::{Shown, Space, SpaceKind};
pub use truth::{Limits, Truth, truth};
