//! The polite crawler.
pub mod clock;
pub mod store;
pub mod url;
