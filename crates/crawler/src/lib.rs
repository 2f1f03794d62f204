//! The polite crawler.

pub mod fetch;
