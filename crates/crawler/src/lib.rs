//! The polite crawler.
