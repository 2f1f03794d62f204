//! The polite crawler.

pub mod warc;
