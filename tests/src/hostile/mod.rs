//! A hostile web: each scenario is a host with a listener of its own on loopback, whose connections it treats as it likes.

mod certificates;
pub mod frames;
pub mod http;
mod log;
mod scenario;
mod server;
pub(crate) mod wire;

pub use certificates::{Authority, Fault};
pub use log::{Contact, impolite};
pub use scenario::{At, Expect, Scenario, Serve, Tls};
pub use server::HostileWeb;
pub use wire::{Ask, Wire};
