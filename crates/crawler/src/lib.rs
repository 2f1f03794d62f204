//! The polite crawler.

pub mod extract;
