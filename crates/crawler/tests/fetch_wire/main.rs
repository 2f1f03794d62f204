//! The network seam against servers on loopback that send exact bytes, good and bad.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod addresses;
mod bodies;
mod connections;
mod descriptors;
mod dns;
mod failures;
mod no_source;
mod server;
mod tls;
