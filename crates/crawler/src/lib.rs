//! The polite crawler.

pub mod config;
pub mod seeds;
