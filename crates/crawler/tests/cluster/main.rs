//! A cluster's database: against a PostgreSQL server that the tests start, where its programs are installed.
#![cfg(all(feature = "cluster", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod address;
mod archives;
#[cfg(feature = "object-storage")]
mod bucket;
mod commits;
mod crashed;
mod databases;
mod equal_bodies;
mod faults;
mod forget;
mod in_flight;
mod judge;
mod limits;
mod lost;
mod member;
mod metrics;
mod migrate;
mod moves;
#[cfg(feature = "object-storage")]
mod objects;
mod owns_many;
mod packages;
mod partitions;
mod pooler;
mod program;
mod proxy;
mod recrawl;
mod robots_hops;
#[cfg(feature = "search")]
mod search;
#[cfg(feature = "serve")]
mod serve;
mod server;
mod shared_address;
#[cfg(feature = "serve")]
mod silent;
mod snapshot;
mod steer;
mod store;
mod withdrawals;
