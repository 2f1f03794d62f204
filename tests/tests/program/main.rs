//! The binary as a user runs it, against a real HTTP server on loopback.

mod adverse;
mod audit;
mod bulk;
mod consent;
mod crawl;
mod demo;
mod directives;
mod duplicates;
mod export;
mod gates;
mod ledger;
mod limits;
mod many_hosts;
mod memory;
mod pace;
mod plan;
mod rebinding;
mod robot_directives;
mod robots_change;
mod robots_fields;
mod scene;
mod sitemaps;
mod stop;
mod surface;
mod traps;
mod withdrawal;
