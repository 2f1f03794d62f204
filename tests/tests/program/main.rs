//! The binary as a user runs it, against a real HTTP server on loopback.

mod adverse;
mod bulk;
mod crawl;
mod demo;
mod export;
mod gates;
mod memory;
mod robot_directives;
mod robots_fields;
mod scene;
mod stop;
mod surface;
