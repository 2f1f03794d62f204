//! The binary as a user runs it, against a real HTTP server on loopback.

mod adverse;
mod bulk;
mod consent;
mod crawl;
mod demo;
mod directives;
mod export;
mod ledger;
mod robot_directives;
mod robots_fields;
mod scene;
mod stop;
mod surface;
mod traps;
mod withdrawal;
