//! A hostile web against the binary in its default configuration: more than a hundred hosts that do what breaks crawlers, each with
//! a row in a table. Every crawl is bounded in time and memory, and has a canary beside it: a well-behaved host that must be crawled
//! whole and at full pace.
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::format_collect,
    clippy::redundant_closure_for_method_calls,
    clippy::format_push_string,
    clippy::unchecked_time_subtraction,
    reason = "hostile pages are written down as they read best; the times are those of one clock"
)]

mod addresses;
mod codings;
mod crawl;
mod hazards;
mod head;
mod html;
mod judge;
mod memory;
mod origins;
mod output;
mod records;
mod redirects;
mod robots;
mod sitemaps;
mod tls;
mod traps;
mod whole;
mod wire;
